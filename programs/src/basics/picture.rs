//! A plane of numbers as a PNG: raster, two axes, title, colour bar.
//!
//! The font lies inside the binary, so that a machine without fonts draws the same picture.

use std::ops::Range;
use std::sync::Once;

use anyhow::{Context, Result, anyhow};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

static FONT: &[u8] = include_bytes!("../../assets/DejaVuSans.ttf");
static REGISTER_FONT: Once = Once::new();

/// Pixels of the colour bar with its numbers, and of the margins.
const BAR_WIDTH: i32 = 130;
const MARGIN: i32 = 12;
const LABEL_AREA: i32 = 62;
/// Pixels of the numbers and text left of the raster, and of the title above it.
const LEFT_AREA: i32 = 80;
const TITLE_AREA: i32 = 36;
/// What is not a number has a colour that no table holds.
const NOT_A_NUMBER: RGBColor = RGBColor(255, 0, 255);

/// One side of the picture: `n` samples, the first at `first`, then every `step`.
#[derive(Clone, Debug)]
pub struct Side {
    /// Number of samples.
    pub n: usize,
    /// Coordinate of the first sample.
    pub first: f64,
    /// Distance between samples; not zero.
    pub step: f64,
    /// Written beside the side.
    pub label: String,
    /// False: coordinates as they come run rightwards and downwards. True: the other way.
    pub backwards: bool,
}

impl Side {
    /// Coordinates of the outer rims of the first and the last sample, in drawing direction.
    fn rims(&self) -> Range<f64> {
        let near = self.first - 0.5 * self.step;
        let far = near + self.n as f64 * self.step;
        if self.backwards { far..near } else { near..far }
    }

    /// The samples that pixel `pixel` of `pixels` shows: at least one.
    fn samples(&self, pixel: usize, pixels: usize) -> Range<usize> {
        let pixel = if self.backwards { pixels - 1 - pixel } else { pixel };
        let first = (pixel * self.n / pixels).min(self.n - 1);
        let end = ((pixel + 1) * self.n / pixels).max(first + 1);
        first..end
    }
}

/// A table of colours that the colour-blind can read.
#[derive(Clone, Copy, Debug)]
pub struct Colours {
    gradient: colorous::Gradient,
    from_its_end: bool,
}

/// Name, table, and whether it is read from its end, so that low is dark or cold.
const TABLES: [(&str, colorous::Gradient, bool); 8] = [
    ("grey", colorous::GREYS, true),
    ("bluered", colorous::RED_BLUE, true),
    ("purpleorange", colorous::PURPLE_ORANGE, false),
    ("viridis", colorous::VIRIDIS, false),
    ("cividis", colorous::CIVIDIS, false),
    ("inferno", colorous::INFERNO, false),
    ("magma", colorous::MAGMA, false),
    ("plasma", colorous::PLASMA, false),
];

impl Colours {
    /// The table called `name`; `i` and `j`, Madagascar's names, are grey and viridis.
    pub fn named(name: &str) -> Result<Self> {
        let wanted = match name {
            "i" => "grey",
            "j" => "viridis",
            other => other,
        };
        let found = TABLES.iter().find(|(known, ..)| *known == wanted);
        let (_, gradient, from_its_end) = found.copied().ok_or_else(|| {
            let known = TABLES.map(|(known, ..)| known).join(", ");
            anyhow!("color={name} is unknown; take one of {known}")
        })?;
        Ok(Self {
            gradient,
            from_its_end,
        })
    }

    /// The same colours from the other end.
    pub fn turned(self) -> Self {
        Self {
            from_its_end: !self.from_its_end,
            ..self
        }
    }

    /// The colour at `share`, 0 for the lowest value and 1 for the highest.
    fn at(self, share: f64) -> RGBColor {
        let found = self
            .gradient
            .eval_continuous(if self.from_its_end { 1.0 - share } else { share });
        RGBColor(found.r, found.g, found.b)
    }
}

/// Everything that is drawn.
#[derive(Debug)]
pub struct Picture<'a> {
    /// `across.n` columns of `down.n` values each.
    pub values: &'a [f32],
    /// The side that runs down.
    pub down: Side,
    /// The side that runs to the right.
    pub across: Side,
    /// Above the raster.
    pub title: String,
    /// Beside the colour bar; no bar when `None`.
    pub bar: Option<String>,
    /// Colours from `low` to `high`.
    pub colours: Colours,
    /// Value of the first colour.
    pub low: f32,
    /// Value of the last colour; more than `low`.
    pub high: f32,
    /// Size in pixels: width, height.
    pub size: (u32, u32),
}

impl Picture<'_> {
    /// Draws the picture and gives the bytes of its PNG.
    pub fn png(&self) -> Result<Vec<u8>> {
        register_own_font()?;
        let (width, height) = self.size;
        let mut pixels = vec![255; width as usize * height as usize * 3];
        {
            let canvas = BitMapBackend::with_buffer(&mut pixels, self.size).into_drawing_area();
            self.draw(&canvas)
                .map_err(|e| anyhow!("the picture could not be drawn: {e}"))?;
        }
        encode(&pixels, self.size).context("the PNG could not be encoded")
    }

    /// Pixels of the picture beside and above the raster together, for whoever wants a raster of some shape.
    pub fn around() -> (u32, u32) {
        (
            (2 * MARGIN + LEFT_AREA + BAR_WIDTH) as u32,
            (2 * MARGIN + TITLE_AREA + LABEL_AREA) as u32,
        )
    }

    fn draw(&self, canvas: &Canvas) -> std::result::Result<(), Fault> {
        canvas.fill(&WHITE)?;
        let area = canvas.margin(MARGIN, MARGIN, MARGIN, MARGIN);
        let bar_width = if self.bar.is_some() { BAR_WIDTH } else { MARGIN };
        let (left, right) = area.split_horizontally(self.size.0 as i32 - 2 * MARGIN - bar_width);

        // plotters counts y upwards; the picture counts downwards.
        let (x, y) = (self.across.rims(), self.down.rims());
        let mut chart = ChartBuilder::on(&left)
            .caption(&self.title, ("sans-serif", 22))
            .x_label_area_size(LABEL_AREA)
            .y_label_area_size(LEFT_AREA)
            .build_cartesian_2d(x.clone(), y.end..y.start)?;
        self.raster(chart.plotting_area())?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc(&self.across.label)
            .y_desc(&self.down.label)
            .x_label_formatter(&|value| number(*value, &x))
            .y_label_formatter(&|value| number(*value, &y))
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .draw()?;
        if let Some(label) = &self.bar {
            // Level with the raster, whose height is known only now.
            let (_, rows) = chart.plotting_area().get_pixel_range();
            let top = rows.start - right.get_base_pixel().1;
            let bottom = self.size.1 as i32 - rows.end - MARGIN;
            self.draw_bar(&right.margin(top, bottom, 0, 0), label)?;
        }
        Ok(())
    }

    fn raster(&self, area: &Plot) -> std::result::Result<(), Fault> {
        let (columns, rows) = area.get_pixel_range();
        let plain = area.strip_coord_spec();
        let (wide, high) = (columns.len(), rows.len());
        for column in 0..wide {
            let across = self.across.samples(column, wide);
            for row in 0..high {
                let value = self.mean(across.clone(), self.down.samples(row, high));
                plain.draw_pixel((column as i32, row as i32), &self.colour(value))?;
            }
        }
        Ok(())
    }

    fn draw_bar(&self, area: &Canvas, label: &str) -> std::result::Result<(), Fault> {
        let values = f64::from(self.low)..f64::from(self.high);
        let mut chart = ChartBuilder::on(area)
            .margin_left(16)
            .right_y_label_area_size(LABEL_AREA + 28)
            .build_cartesian_2d(0.0..1.0, values.clone())?;
        let (columns, rows) = chart.plotting_area().get_pixel_range();
        let plain = chart.plotting_area().strip_coord_spec();
        for row in 0..rows.len() {
            let share = 1.0 - (row as f32 + 0.5) / rows.len() as f32;
            let colour = self.colour(self.low + share * (self.high - self.low));
            for column in 0..columns.len() {
                plain.draw_pixel((column as i32, row as i32), &colour)?;
            }
        }
        chart
            .configure_mesh()
            .disable_mesh()
            .disable_x_axis()
            .y_desc(label)
            .set_tick_mark_size(LabelAreaPosition::Right, 5)
            .y_label_formatter(&|value| number(*value, &values))
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .draw()?;
        Ok(())
    }

    /// Mean over the samples a pixel covers: waves finer than a pixel fade instead of turning into others.
    fn mean(&self, across: Range<usize>, down: Range<usize>) -> f32 {
        let count = (across.len() * down.len()) as f64;
        let columns = across.map(|column| &self.values[column * self.down.n..][down.clone()]);
        let sum: f64 = columns.flatten().map(|&value| f64::from(value)).sum();
        (sum / count) as f32
    }

    fn colour(&self, value: f32) -> RGBColor {
        if value.is_nan() {
            return NOT_A_NUMBER;
        }
        let (value, low, high) = (f64::from(value), f64::from(self.low), f64::from(self.high));
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        self.colours.at(share)
    }
}

type Canvas<'b> = DrawingArea<BitMapBackend<'b>, plotters::coord::Shift>;
type Plot<'b> = DrawingArea<BitMapBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Fault = Box<dyn std::error::Error>;

fn register_own_font() -> Result<()> {
    let mut outcome = Ok(());
    REGISTER_FONT.call_once(|| {
        outcome = register_font("sans-serif", FontStyle::Normal, FONT)
            .map_err(|_| anyhow!("the font inside this program could not be read"));
    });
    outcome
}

fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// A number on an axis that runs over `ends`, as short as it can be told from its neighbours.
fn number(value: f64, ends: &Range<f64>) -> String {
    let span = (ends.end - ends.start).abs();
    let largest = ends.start.abs().max(ends.end.abs());
    if value.abs() < 1e-6 * span {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&largest) {
        let digits = (1.0 + (largest / span).log10().round()).clamp(1.0, 6.0) as usize;
        return format!("{value:.digits$e}");
    }
    let digits = (2.0 - span.log10()).ceil().clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(n: usize) -> Side {
        Side {
            n,
            first: 0.0,
            step: 0.5,
            label: "depth (km)".into(),
            backwards: false,
        }
    }

    #[test]
    fn every_sample_is_shown_and_no_pixel_is_empty() {
        for (n, pixels) in [(1, 7), (5, 7), (7, 7), (100, 7)] {
            for backwards in [false, true] {
                let side = Side { backwards, ..side(n) };
                let mut seen = vec![false; n];
                for pixel in 0..pixels {
                    let samples = side.samples(pixel, pixels);
                    assert!(
                        !samples.is_empty() && samples.end <= n,
                        "{n} samples, pixel {pixel}: {samples:?}"
                    );
                    seen[samples].fill(true);
                }
                assert!(
                    seen.iter().all(|&one| one),
                    "{n} samples on {pixels} pixels: some are not shown"
                );
            }
        }
    }

    #[test]
    fn low_is_dark_or_cold() {
        let sum = |c: RGBColor| u32::from(c.0) + u32::from(c.1) + u32::from(c.2);
        for name in [
            "grey", "i", "viridis", "j", "cividis", "inferno", "magma", "plasma",
        ] {
            let colours = Colours::named(name).unwrap();
            assert!(sum(colours.at(0.0)) < sum(colours.at(0.5)), "{name}");
            assert!(sum(colours.at(0.5)) < sum(colours.at(1.0)), "{name}");
            assert!(
                sum(colours.turned().at(0.0)) > sum(colours.turned().at(1.0)),
                "{name}"
            );
        }
        for name in ["bluered", "purpleorange"] {
            let (cold, warm) = (
                Colours::named(name).unwrap().at(0.0),
                Colours::named(name).unwrap().at(1.0),
            );
            assert!(cold.2 > cold.0 && warm.0 > warm.2, "{name}: {cold:?} {warm:?}");
        }
        assert!(
            Colours::named("rainbow")
                .unwrap_err()
                .to_string()
                .contains("cividis")
        );
    }

    #[test]
    fn numbers_are_short() {
        let texts = |values: [f64; 3]| values.map(|value| number(value, &(values[0]..values[2])));
        assert_eq!(texts([-0.25, 1e-17, 0.5]), ["-0.25", "0", "0.5"]);
        assert_eq!(texts([1000.0, 1200.0, 2000.0]), ["1000", "1200", "2000"]);
        assert_eq!(texts([0.0, 0.1 + 0.2, 3.0]), ["0", "0.3", "3"]);
        assert_eq!(texts([-5e-6, 1.7e-21, 5e-6]), ["-5.0e-6", "0", "5.0e-6"]);
        assert_eq!(
            texts([2e6, 2.001e6, 2.002e6]),
            ["2.0000e6", "2.0010e6", "2.0020e6"]
        );
    }
}
