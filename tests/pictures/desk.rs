//! Datasets to be drawn, the programs, and pictures that are read back.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use resvg::tiny_skia::PathSegment;
use resvg::usvg;
use tempfile::TempDir;

use crate::built;

/// A folder with datasets.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes `name.rsf` with `header` (without in= and data_format).
    fn dataset(&self, name: &str, header: &str, form: &str, bytes: &[u8]) {
        fs::write(self.path(&format!("{name}.rsf@")), bytes).unwrap();
        let keys = format!("data_format=\"native_{form}\" in=\"./{name}.rsf@\"");
        fs::write(self.path(&format!("{name}.rsf")), format!("{header}\n{keys}\n")).unwrap();
    }

    pub fn floats(&self, name: &str, header: &str, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.dataset(name, header, "float", &bytes);
    }

    pub fn complex(&self, name: &str, header: &str, values: &[[f32; 2]]) {
        let bytes: Vec<u8> = values
            .as_flattened()
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect();
        self.dataset(name, header, "complex", &bytes);
    }

    pub fn bytes(&self, name: &str, header: &str, values: &[u8]) {
        self.dataset(name, header, "uchar", values);
    }

    /// Runs `sfbasics` with the arguments in `line`, in which `_` stands for a blank in a value.
    pub fn run(&self, line: &str, input: &str) -> Output {
        self.run_within("unlimited", line, input)
    }

    /// Like [`Desk::run`], with an address space of a number of kilobytes.
    pub fn run_within(&self, kilobytes: &str, line: &str, input: &str) -> Output {
        let words = line.split_whitespace().map(|word| match word.split_once('=') {
            Some((key, value)) => format!("{key}={}", value.replace('_', " ")),
            None => word.to_string(),
        });
        let stdin = fs::File::open(self.path(&format!("{input}.rsf")));
        Command::new("sh")
            .args(["-c", "ulimit -v $0 && exec \"$@\"", kilobytes])
            .arg(built::program(env!("CARGO_BIN_EXE_sfbasics")))
            .args(words)
            .current_dir(self.folder.path())
            .stdin(stdin.map_or_else(|_| Stdio::null(), Stdio::from))
            .output()
            .unwrap()
    }

    /// The output of a run that succeeds, and its messages.
    pub fn picture(&self, line: &str, input: &str) -> (Vec<u8>, String) {
        let output = self.run(line, input);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {text}");
        (output.stdout, text)
    }

    /// The PNG of a run that prints no messages.
    pub fn pixels(&self, line: &str, input: &str) -> Pixels {
        let (bytes, text) = self.picture(line, input);
        assert_eq!(text, "", "{line}");
        Pixels::read(&bytes)
    }

    /// The SVG of a run.
    pub fn svg(&self, line: &str, input: &str) -> Svg {
        let (bytes, _) = self.picture(&format!("{line} format=svg"), input);
        Svg::read(&bytes)
    }

    /// The messages of a run that fails, which must not write any output.
    pub fn complaint(&self, line: &str, input: &str) -> String {
        let output = self.run(line, input);
        assert_eq!(output.status.code(), Some(1), "{line} must fail");
        assert!(
            output.stdout.is_empty(),
            "{line}: a run that fails does not write part of a picture"
        );
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains("internal error"), "{line}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{line}: {text}");
        text
    }
}

pub type Rgb = [u8; 3];

/// A picture as pixels.
pub struct Pixels {
    pub width: usize,
    pub height: usize,
    /// Left, top, width and height of the box of the axes.
    pub frame: [f64; 4],
    /// Bytes per pixel: three, or four with an alpha channel.
    pub depth: usize,
    pub bytes: Vec<u8>,
}

impl Pixels {
    pub fn read(bytes: &[u8]) -> Self {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
            .read_info()
            .unwrap();
        let text = reader.info().uncompressed_latin1_text.clone();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let frame = text.iter().find(|chunk| chunk.keyword == "frame");
        Self {
            width: info.width as usize,
            height: info.height as usize,
            frame: frame.map_or([0.0; 4], |chunk| numbers(&chunk.text)),
            depth: info.color_type.samples(),
            bytes,
        }
    }

    pub fn at(&self, x: usize, y: usize) -> Rgb {
        let place = self.depth * (y * self.width + x);
        [self.bytes[place], self.bytes[place + 1], self.bytes[place + 2]]
    }

    /// The pixel at these fractions (0 to 1) of width and height of the box of the axes.
    pub fn inside(&self, across: f64, down: f64) -> Rgb {
        let [x, y, width, height] = self.frame;
        self.at((x + across * width) as usize, (y + down * height) as usize)
    }

    /// Number of pixels inside the box for which `is` holds.
    pub fn count(&self, is: impl Fn(Rgb) -> bool) -> usize {
        let [x, y, width, height] = self.frame.map(|part| part as usize);
        let rows = y + 1..y + height;
        rows.flat_map(|y| (x + 1..x + width).map(move |x| (x, y)))
            .filter(|&(x, y)| is(self.at(x, y)))
            .count()
    }

    /// The darkness of the inside of the box, without its outermost pixels, summed over the red channel in units of
    /// black pixels.
    pub fn ink(&self) -> f64 {
        let [x, y, width, height] = self.frame.map(|part| part as usize);
        let rows = y + 4..y + height - 4;
        let inside = rows.flat_map(|y| (x + 4..x + width - 4).map(move |x| (x, y)));
        inside
            .map(|(x, y)| f64::from(255 - self.at(x, y)[0]) / 255.0)
            .sum()
    }

    pub fn colours(&self) -> usize {
        self.bytes
            .chunks(self.depth)
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    }
}

/// A rectangle: left, top, right, bottom.
type Place = [f64; 4];

/// A text of an SVG.
#[derive(Clone, Debug)]
pub struct Words {
    pub text: String,
    /// The rectangle around its letters.
    pub place: Place,
    /// A rectangle around every outline of a letter, which is a closer fit if the text is slanted.
    pub outlines: Vec<Place>,
}

/// An SVG.
pub struct Svg {
    pub text: String,
    pub size: (f64, f64),
    pub frame: [f64; 4],
    pub words: Vec<Words>,
}

impl Svg {
    pub fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut options = usvg::Options::default();
        let font = built::checkout("programs/basics/assets/DejaVuSans.ttf");
        options.fontdb_mut().load_font_data(fs::read(font).unwrap());
        let tree = usvg::Tree::from_str(&text, &options).unwrap();
        let mut words = Vec::new();
        gather(tree.root(), &mut words);
        let (_, rest) = text.split_once("data-frame=\"").unwrap();
        let frame = numbers(rest.split_once('"').unwrap().0);
        Self {
            size: (f64::from(tree.size().width()), f64::from(tree.size().height())),
            words,
            frame,
            text,
        }
    }

    pub fn has(&self, text: &str) -> bool {
        self.words.iter().any(|words| words.text == text)
    }

    pub fn place(&self, text: &str) -> [f64; 4] {
        let word = self.words.iter().find(|words| words.text == text);
        word.unwrap_or_else(|| panic!("no text `{text}` in {:?}", self.texts()))
            .place
    }

    pub fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|words| words.text.as_str()).collect()
    }

    /// Checks that texts neither touch each other nor extend beyond the picture.
    pub fn check_texts(&self, what: &str) {
        for (number, one) in self.words.iter().enumerate() {
            let [left, top, right, bottom] = one.place;
            let inside = left >= 0.0 && top >= 0.0 && right <= self.size.0 && bottom <= self.size.1;
            assert!(inside, "{what}: {one:?} leaves the picture of {:?}", self.size);
            for other in &self.words[..number] {
                let near = |place: &Place| other.outlines.iter().any(|outline| touch(*place, *outline));
                assert!(
                    !one.outlines.iter().any(near),
                    "{what}: `{}` {:?} touches `{}` {:?}",
                    one.text,
                    one.place,
                    other.text,
                    other.place
                );
            }
        }
    }
}

fn touch([left, top, right, bottom]: Place, [l, t, r, b]: Place) -> bool {
    right >= l && r >= left && bottom >= t && b >= top
}

fn around(places: impl Iterator<Item = Place>) -> Place {
    let outer = |a: Place, b: Place| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])];
    places.reduce(outer).expect("a text has letters")
}

fn gather(group: &usvg::Group, words: &mut Vec<Words>) {
    for node in group.children() {
        match node {
            usvg::Node::Group(group) => gather(group, words),
            usvg::Node::Text(text) => {
                let mut outlines = Vec::new();
                trace(text.flattened(), &mut outlines);
                words.push(Words {
                    text: text.chunks().iter().map(|chunk| chunk.text()).collect(),
                    place: around(outlines.iter().copied()),
                    outlines,
                });
            }
            _ => {}
        }
    }
}

/// Rectangles around all outlines of letters, at their position in the picture.
fn trace(group: &usvg::Group, outlines: &mut Vec<Place>) {
    for node in group.children() {
        let path = match node {
            usvg::Node::Group(group) => {
                trace(group, outlines);
                continue;
            }
            usvg::Node::Path(path) => path,
            _ => continue,
        };
        let mut outline: Vec<Place> = Vec::new();
        for segment in path.data().segments() {
            let mut points = match segment {
                PathSegment::MoveTo(a) | PathSegment::LineTo(a) => vec![a],
                PathSegment::QuadTo(a, b) => vec![a, b],
                PathSegment::CubicTo(a, b, c) => vec![a, b, c],
                PathSegment::Close => {
                    outlines.push(around(outline.drain(..)));
                    continue;
                }
            };
            path.abs_transform().map_points(&mut points);
            let places = points
                .iter()
                .map(|point| [point.x, point.y, point.x, point.y].map(f64::from));
            outline.extend(places);
        }
    }
}

fn numbers(text: &str) -> [f64; 4] {
    let numbers: Vec<f64> = text.split(' ').map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// Writes n1=40 n2=60 values: -1 in the upper left quarter, +1 in the lower right quarter, 0 elsewhere.
pub fn quarters(desk: &Desk) {
    let value = |z: usize, x: usize| match (z < 20, x < 30) {
        (true, true) => -1.0,
        (false, false) => 1.0,
        _ => 0.0,
    };
    let values: Vec<f32> = (0..60).flat_map(|x| (0..40).map(move |z| value(z, x))).collect();
    let header =
        "n1=40 o1=0.05 d1=0.1 label1=z unit1=km n2=60 o2=0.05 d2=0.1 label2=x unit2=km label=uz unit=m";
    desk.floats("quarters", header, &values);
}

/// Writes a cube of 12 x 16 x 5 values of waves, which are small in the first plane and grow, with all labels.
pub fn waves(desk: &Desk) {
    let at = |t: usize, x: usize, z: usize| {
        let r = (z as f32 - 6.0).hypot(x as f32 - 8.0);
        (1 + t) as f32 * 1e-9 * (r - t as f32).cos()
    };
    let plane = |t: usize| (0..16).flat_map(move |x| (0..12).map(move |z| at(t, x, z)));
    let values: Vec<f32> = (0..5).flat_map(plane).collect();
    let header = "n1=12 o1=0 d1=0.01 label1=Depth unit1=km n2=16 o2=-0.08 d2=0.01 label2=Distance unit2=km \
n3=5 o3=0 d3=0.04 label3=Time unit3=s label=Displacement unit=m title=\"Waves & <things>\"";
    desk.floats("waves", header, &values);
}
