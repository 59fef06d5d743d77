//! A picture as SVG, made of a few kinds of marks; the PNG is the rendering of that SVG.
//!
//! Both have the same layout, so the results of tests on the SVG also apply to the PNG. The font is part of the binary,
//! so that a machine without fonts draws the same pixels.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg;
use xmlwriter::{Options, XmlWriter};

use super::clipping;
pub use super::markup::{Anchor, Text, text_width};
use super::markup::{SMALL, lift, pieces};
use super::pdf;
use super::pixels::{Pixels, room_for};

/// The font of all pictures.
pub static FONT: &[u8] = include_bytes!("../../assets/DejaVuSans.ttf");
/// Font families for viewers of the SVG. The later families, which replace the first if it is missing, are not wider.
const FAMILIES: &str = "DejaVu Sans, Verdana, sans-serif";
/// The height of a capital letter as a fraction of the size of letters.
pub const CAPITAL: f64 = 0.73;
/// The largest number of pixels on each side of a picture.
pub const LARGEST_SIDE: f64 = 30_000.0;
/// The largest coordinate in pixels that is rendered, well within the limits of the renderer.
const FARTHEST: f64 = 1e6;

static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];
/// A point: x to the right and y downwards, in units of the drawing.
pub type Place = (f64, f64);

/// A rectangle, in units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Distance from the left to the right edge.
    pub width: f64,
    /// Distance from the upper to the lower edge.
    pub height: f64,
}

impl Rect {
    /// The right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// The centre.
    pub fn middle(&self) -> Place {
        (self.x + 0.5 * self.width, self.y + 0.5 * self.height)
    }
}

/// The appearance of a line.
#[derive(Clone, Debug)]
pub struct Stroke {
    /// Colour in which the line is drawn.
    pub colour: Rgb,
    /// Width in units of the drawing.
    pub width: f64,
    /// Lengths of dashes and gaps in turn; empty for a solid line.
    pub dashes: Vec<f64>,
    /// Whether the line is aligned to whole pixels, for horizontal and vertical lines.
    pub crisp: bool,
}

impl Stroke {
    /// A solid line.
    pub fn solid(colour: Rgb, width: f64) -> Self {
        Self {
            colour,
            width,
            dashes: Vec::new(),
            crisp: false,
        }
    }

    /// A solid line aligned to whole pixels, for frames, ticks and grids.
    pub fn crisp(colour: Rgb, width: f64) -> Self {
        Self {
            crisp: true,
            ..Self::solid(colour, width)
        }
    }
}

/// A picture that is being drawn.
pub struct Drawing {
    xml: XmlWriter,
    size: (f64, f64),
    frame: Rect,
    clips: usize,
}

impl Drawing {
    /// An empty drawing of `size` (width, height) on `background`, or on a transparent background. `frame` is the box
    /// of its axes, by which drawings are aligned when they are combined.
    pub fn new(size: (f64, f64), frame: Rect, background: Option<Rgb>) -> Self {
        let mut xml = XmlWriter::new(Options {
            indent: xmlwriter::Indent::None,
            ..Options::default()
        });
        let size = (size.0.ceil(), size.1.ceil());
        xml.start_element("svg");
        xml.write_attribute("xmlns", "http://www.w3.org/2000/svg");
        xml.write_attribute("width", &size.0);
        xml.write_attribute("height", &size.1);
        xml.write_attribute_fmt("viewBox", format_args!("0 0 {} {}", size.0, size.1));
        xml.write_attribute("data-frame", &frame_text(frame));
        xml.write_attribute("font-family", FAMILIES);
        let mut drawing = Self {
            xml,
            size,
            frame,
            clips: 0,
        };
        if let Some(colour) = background {
            drawing.xml.start_element("rect");
            drawing.xml.write_attribute("class", "background");
            drawing.xml.write_attribute("width", "100%");
            drawing.xml.write_attribute("height", "100%");
            drawing.xml.write_attribute("fill", &hex(colour));
            drawing.xml.end_element();
        }
        drawing
    }

    /// Draws a line through `points`, clipped to the neighbourhood of the page.
    pub fn line(&mut self, points: &[Place], stroke: &Stroke) {
        let pieces = clipping::lines(points, self.reach(stroke.width));
        let words: String = pieces.iter().map(|piece| path_through(piece)).collect();
        self.path(&words, Some(stroke), None);
    }

    /// Fills the area inside the polygon `rim`, clipped to the neighbourhood of the page.
    pub fn area(&mut self, rim: &[Place], colour: Rgb) {
        let words = path_through(&clipping::area(rim, self.reach(0.0)));
        if !words.is_empty() {
            self.path(&format!("{words}Z"), None, Some(colour));
        }
    }

    /// Width and height of the page.
    pub fn page(&self) -> (f64, f64) {
        self.size
    }

    /// The page and its neighbourhood, from which marks of `size` may extend into the page.
    pub fn reach(&self, size: f64) -> Rect {
        let page = Rect {
            x: 0.0,
            y: 0.0,
            width: self.size.0,
            height: self.size.1,
        };
        clipping::grown(page, 100.0 + size)
    }

    /// Draws a path given as SVG path data, stroked, filled or both.
    pub fn path(&mut self, words: &str, stroke: Option<&Stroke>, fill: Option<Rgb>) {
        if words.is_empty() {
            return;
        }
        self.xml.start_element("path");
        self.xml.write_attribute("d", words);
        self.xml
            .write_attribute("fill", &fill.map_or_else(|| "none".to_string(), hex));
        if let Some(stroke) = stroke {
            self.stroke(stroke);
        }
        self.xml.end_element();
    }

    /// Draws a rectangle, stroked, or filled with a colour and an opacity, or both.
    pub fn rect(&mut self, rect: Rect, stroke: Option<&Stroke>, fill: Option<(Rgb, f64)>) {
        self.xml.start_element("rect");
        self.place(rect);
        match fill {
            Some((colour, opacity)) => {
                self.xml.write_attribute("fill", &hex(colour));
                if opacity < 1.0 {
                    self.xml.write_attribute("fill-opacity", &short(opacity));
                }
            }
            None => self.xml.write_attribute("fill", "none"),
        }
        if let Some(stroke) = stroke {
            self.stroke(stroke);
        }
        self.xml.end_element();
    }

    /// Draws a text, unless it lies far outside the page.
    pub fn text(&mut self, text: &Text) {
        let reach = self.reach(self.size.0 + self.size.1);
        if text.words.trim().is_empty() || !clipping::holds(reach, text.at) {
            return;
        }
        let (x, y) = text.at;
        self.xml.start_element("text");
        self.xml.write_attribute("x", &short(x));
        self.xml.write_attribute("y", &short(y));
        self.xml.write_attribute("font-size", &short(text.size));
        match text.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.xml.write_attribute("text-anchor", "middle"),
            Anchor::End => self.xml.write_attribute("text-anchor", "end"),
        }
        self.xml.write_attribute("fill", &hex(text.colour));
        if text.fat > 0.0 {
            self.xml.write_attribute("stroke", &hex(text.colour));
            self.xml.write_attribute("stroke-width", &short(text.fat));
        }
        if text.turned != 0.0 {
            self.xml.write_attribute_fmt(
                "transform",
                format_args!("rotate({} {} {})", short(text.turned), short(x), short(y)),
            );
        }
        self.xml.set_preserve_whitespaces(true);
        self.pieces(text);
        self.xml.end_element();
        self.xml.set_preserve_whitespaces(false);
    }

    /// Writes the letters of a text, with raised and lowered letters in separate elements.
    fn pieces(&mut self, text: &Text) {
        let mut height = 0;
        for piece in pieces(text.words) {
            if piece.height == height && height == 0 {
                self.xml.write_text(&escaped(&piece.letters));
                continue;
            }
            self.xml.start_element("tspan");
            self.xml
                .write_attribute("dy", &short(text.size * (lift(height) - lift(piece.height))));
            if piece.height != 0 {
                self.xml.write_attribute("font-size", &short(SMALL * text.size));
            }
            self.xml.write_text(&escaped(&piece.letters));
            self.xml.end_element();
            height = piece.height;
        }
    }

    /// Draws an image file (`kind` is `png` or `svg+xml`) stretched over `rect`, without interpolation of pixels.
    pub fn image(&mut self, kind: &str, bytes: &[u8], rect: Rect) {
        self.xml.start_element("image");
        self.place(rect);
        self.image_rest(kind, bytes);
    }

    /// Draws a PNG with its upper left, upper right and lower left corners at `corners`.
    pub fn slanted_image(&mut self, bytes: &[u8], corners: [Place; 3]) {
        let [at, right, down] = corners;
        let along = |to: Place| (to.0 - at.0, to.1 - at.1);
        let ((a, b), (c, d)) = (along(right), along(down));
        self.xml.start_element("image");
        self.xml.write_attribute("width", "1");
        self.xml.write_attribute("height", "1");
        self.xml.write_attribute_fmt(
            "transform",
            format_args!(
                "matrix({} {} {} {} {} {})",
                short(a),
                short(b),
                short(c),
                short(d),
                short(at.0),
                short(at.1)
            ),
        );
        self.image_rest("png", bytes);
    }

    fn image_rest(&mut self, kind: &str, bytes: &[u8]) {
        self.xml.write_attribute("preserveAspectRatio", "none");
        if kind == "png" {
            self.xml.write_attribute("image-rendering", "optimizeSpeed");
            self.xml.write_attribute("style", "image-rendering:pixelated");
        }
        let coded = base64::engine::general_purpose::STANDARD.encode(bytes);
        self.xml
            .write_attribute_fmt("href", format_args!("data:image/{kind};base64,{coded}"));
        self.xml.end_element();
    }

    /// Clips everything that is drawn until [`Drawing::end`] to `rect`.
    pub fn inside(&mut self, rect: Rect) {
        self.clips += 1;
        self.xml.start_element("clipPath");
        self.xml
            .write_attribute_fmt("id", format_args!("clip{}", self.clips));
        self.xml.start_element("rect");
        self.place(rect);
        self.xml.end_element();
        self.xml.end_element();
        self.xml.start_element("g");
        self.xml
            .write_attribute_fmt("clip-path", format_args!("url(#clip{})", self.clips));
    }

    /// Ends the clipping of [`Drawing::inside`].
    pub fn end(&mut self) {
        self.xml.end_element();
    }

    fn stroke(&mut self, stroke: &Stroke) {
        self.xml.write_attribute("stroke", &hex(stroke.colour));
        self.xml.write_attribute("stroke-width", &short(stroke.width));
        if stroke.crisp {
            self.xml.write_attribute("shape-rendering", "crispEdges");
        } else {
            self.xml.write_attribute("stroke-linejoin", "round");
        }
        if !stroke.dashes.is_empty() {
            let dashes: Vec<String> = stroke.dashes.iter().map(|&length| short(length)).collect();
            self.xml.write_attribute("stroke-dasharray", &dashes.join(" "));
        }
    }

    fn place(&mut self, rect: Rect) {
        for (key, value) in [
            ("x", rect.x),
            ("y", rect.y),
            ("width", rect.width),
            ("height", rect.height),
        ] {
            self.xml.write_attribute(key, &short(value));
        }
    }

    /// Finishes the drawing.
    pub fn finish(self) -> Svg {
        Svg {
            text: self.xml.end_document(),
            size: self.size,
            frame: self.frame,
        }
    }
}

/// A finished drawing.
#[derive(Clone, Debug)]
pub struct Svg {
    /// The text of the SVG file.
    pub text: String,
    /// Width and height.
    pub size: (f64, f64),
    /// The box of the axes.
    pub frame: Rect,
}

impl Svg {
    /// Parses the SVG for rendering.
    fn tree(&self) -> Result<usvg::Tree> {
        let options = usvg::Options {
            font_family: "DejaVu Sans".into(),
            fontdb: FONTS.clone(),
            ..usvg::Options::default()
        };
        usvg::Tree::from_str(&self.text, &options).context("the SVG of the picture could not be parsed")
    }

    /// Converts the drawing to PDF.
    pub fn pdf(&self) -> Result<Vec<u8>> {
        pdf::of_tree(&self.tree()?)
    }

    /// Renders the drawing with `fineness` pixels per unit.
    ///
    /// # Errors
    /// Returns an error if a side has more than 30000 pixels, there is not enough memory, or a mark lies too
    /// far outside the page.
    pub fn pixels(&self, fineness: f64) -> Result<Pixels> {
        let (width, height) = (self.size.0 * fineness, self.size.1 * fineness);
        if !(width <= LARGEST_SIDE && height <= LARGEST_SIDE) {
            return Err(anyhow!(
                "the picture would have {width:.0} x {height:.0} pixels, but at most {LARGEST_SIDE} on a side are allowed; \
                make it smaller, with res= width= or screenht="
            ));
        }
        room_for(width * height, 1)?;
        let tree = self.tree()?;
        ensure!(
            f64::from(clipping::farthest(tree.root())) * fineness <= FARTHEST,
            "a mark of the picture lies too far outside the page to be drawn as pixels: check min#=, max#= \
            and the sizes, or use SVG"
        );
        let mut canvas = Pixmap::new(width.round().max(1.0) as u32, height.round().max(1.0) as u32)
            .context("there is not enough memory for the picture; make it smaller with res= or width=")?;
        let scale = fineness as f32;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut canvas.as_mut());
        let frame = self.frame;
        Ok(Pixels {
            size: (canvas.width(), canvas.height()),
            rgba: canvas.take_demultiplied(),
            frame: Rect {
                x: frame.x * fineness,
                y: frame.y * fineness,
                width: frame.width * fineness,
                height: frame.height * fineness,
            },
        })
    }
}

/// SVG path data of a line through `points`, `M x y L x y ...`; empty without points.
pub fn path_through(points: &[Place]) -> String {
    let mut path = String::new();
    for (number, &(x, y)) in points.iter().enumerate() {
        let letter = match number {
            0 => "M",
            1 => "L",
            _ => " ",
        };
        // Writing to a string cannot fail.
        let _ = write!(path, "{letter}{} {}", short(x), short(y));
    }
    path
}

/// A number with at most two decimals, without trailing zeros.
pub fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The box of the axes as text, as it is stored in files.
pub fn frame_text(frame: Rect) -> String {
    [frame.x, frame.y, frame.width, frame.height].map(short).join(" ")
}

/// Reads a box from the text of [`frame_text`].
pub fn frame_from_text(text: &str) -> Option<Rect> {
    let numbers: Vec<f64> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
    let &[x, y, width, height] = numbers.as_slice() else {
        return None;
    };
    Some(Rect { x, y, width, height })
}

/// Removes control characters, which XML does not allow, and escapes `&`; the writer itself escapes `<`.
fn escaped(words: &str) -> String {
    let allowed: String = words.chars().filter(|letter| !letter.is_control()).collect();
    allowed.replace('&', "&amp;")
}
