//! The mapping from values to colours: clip, bias and power, from the user or from the data.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Input, Job, Param};

use super::axes::Axis;
use super::colours::{Colours, WHITE};
use super::drawing::Rgb;
use super::frame::{BAR_STEPS, Bar};
use super::pixels::Rgba;
use super::plane::holds_colours;
use super::samples::Samples;
use super::standard::{INCH, rule};
use super::words::{real, word};
use crate::data::cube;

/// The parameters of [`Scale`] and its colour bar.
pub const GAIN: [Param; 30] = [
    word(
        "color",
        "grey",
        "grey, bluered, purpleorange, browngreen, viridis, cividis, inferno, magma or plasma; each of Madagascar's \
        letters stands for one of these, a capital letter reverses it, and a C after a letter (iC) marks values beyond \
        the clip",
    ),
    Param::bool("polarity")
        .default("n")
        .doc("y: reverse the order of the colours"),
    Param::bool("allpos")
        .default("n")
        .doc("y: colours begin at bias= and go upwards; n: they extend to both sides of bias="),
    Param::float("bias")
        .default("0")
        .doc("value of the middle colour (with allpos=y, of the first colour)"),
    Param::bool("mean")
        .default("n")
        .doc("y: bias= is the mean of the values"),
    real(
        "clip",
        "from pclip=",
        "distance from bias= at which the last colour is reached, more than 0",
    ),
    Param::float("pclip")
        .default("99")
        .range("0 to 100", Some(0.0), Some(100.0))
        .doc("percentage of values within clip"),
    word(
        "gainpanel",
        "each",
        "data to which pclip= applies: e(ach), this plane only; a(ll), all planes of axes 1 and 2, using the same \
percentile of their clips; or a number, for that plane, counted from 1",
    ),
    Param::float("gpow")
        .default("1")
        .doc("power to which values are raised before they are coloured; 0: computed from phalf="),
    Param::float("phalf")
        .default("85")
        .range("0 to 100", Some(0.0), Some(100.0))
        .doc("with gpow=0, percentage of values in the lower half of the colours"),
    Param::float("fade")
        .default("0")
        .range("0 to 1", Some(0.0), Some(1.0))
        .doc(
            "fraction of clip= within which colours become transparent towards bias=, so that in an overlay (sfpictures \
mode=overlay) only large values hide the picture below; 0: no transparency",
        ),
    Param::bool("smooth")
        .default("n")
        .doc("y: values are interpolated between samples; n: each sample is a rectangle of one colour"),
    Param::bool("scalebar")
        .alias("wantscalebar")
        .default_text("y, n for bytes")
        .doc("draw the colour bar"),
    Param::bool("wantbaraxis")
        .default("y")
        .doc("draw the numbers and the label of the colour bar"),
    word("barlabel", "from the header", "label of the colour bar"),
    word("barunit", "from the header", "unit of the colour bar"),
    word(
        "bartype",
        "v",
        "v: the colour bar is vertical, next to the picture; h: horizontal, below it",
    ),
    real(
        "barwidth",
        "0.36",
        "thickness of the colour bar, in units of 66 pixels",
    )
    .range("0.05 to 5", Some(0.05), Some(5.0)),
    Param::bool("barreverse")
        .default("n")
        .doc("y: the colour bar begins with its largest value"),
    real(
        "minval",
        "where the colours end",
        "smallest value of the colour bar",
    ),
    real(
        "maxval",
        "where the colours end",
        "largest value of the colour bar",
    ),
    word(
        "formatbar",
        "as needed",
        "format of the numbers on the colour bar, such as %4.1f",
    ),
    Param::int("nbartic")
        .default_text("as many as fit")
        .range("1 to 500", Some(1.0), Some(500.0))
        .doc("largest number of labelled ticks on the colour bar"),
    real("dbarnum", "a round number", "interval between the numbers on the colour bar"),
    real("obarnum", "0", "one of the numbers on the colour bar"),
    Param::input("bar")
        .default_text("from the header")
        .doc("values of the colours of byte data, as written by sfbyte bar="),
    Param::int("vertical")
        .default("1")
        .range("1 to 9", Some(1.0), Some(9.0))
        .doc("axis of the data that is drawn as axis 1"),
    Param::int("horizontal")
        .default("2")
        .range("1 to 9", Some(1.0), Some(9.0))
        .doc("axis of the data that is drawn as axis 2"),
    Param::ints("frame")
        .default_text("0,0,...")
        .doc("index on each axis that is not shown, counted from 0"),
    Param::bool("verb")
        .default("n")
        .doc("y: print the range of the colours"),
];

/// A mapping from values to colours.
#[derive(Clone, Debug)]
pub struct Scale {
    colours: Colours,
    bias: f32,
    clip: f32,
    power: f32,
    allpos: bool,
    fade: f32,
    /// Whether values are interpolated between samples.
    pub smooth: bool,
}

/// Warns of values that share a colour, because `bias` is far from them.
fn warn_of_one_colour(job: &Job, samples: &Samples, [bias, clip]: [f32; 2]) {
    if bias == 0.0 || clip == 0.0 || !samples.holds_numbers() {
        return;
    }
    let mean = samples.mean();
    let spread = samples.distance(mean, 100.0);
    // There are 256 colours between the ends.
    if spread > 0.0 && spread < clip / 128.0 && (mean - bias).abs() > spread {
        job.warn(&format!(
            "nothing to see: all values lie within {spread:e} of {mean:e} and are drawn in one of the colours from {} \
            to {}; leave out bias={bias}, or give a bias= near their mean",
            bias - clip,
            bias + clip
        ));
    }
}

impl Scale {
    /// Reads the parameters; a missing clip is computed from `samples` of the data.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range, or `fade=` is given for bytes.
    pub fn of(job: &Job, input: &Input, samples: &Samples) -> Result<Self> {
        let colours = colours(job)?;
        let fade = job.float("fade")?;
        if holds_colours(input) {
            ensure!(
                fade == 0.0,
                "fade={fade}: byte data do not hold the values on which fading depends; draw the real data instead"
            );
            return Ok(Self {
                colours,
                bias: 0.0,
                clip: 255.0,
                power: 1.0,
                allpos: true,
                fade: 0.0,
                smooth: job.flag("smooth")?,
            });
        }
        let bias = if job.flag("mean")? {
            samples.mean()
        } else {
            job.float("bias")?
        };
        let clip = match job.float_opt("clip")? {
            Some(clip) => {
                ensure!(
                    clip > 0.0,
                    "clip={clip}: it must be more than 0; leave it out to compute it from pclip="
                );
                clip
            }
            None => samples.distance(bias, job.float("pclip")?),
        };
        if clip == 0.0 {
            job.warn(
                &match (samples.holds_numbers(), cube::across_time(&cube::shape(input)?)) {
                    (true, _) if samples.distance(bias, 100.0) == 0.0 => {
                        format!("nothing to see: all values are {bias}{}", cube::of_planes(input))
                    }
                    (true, Some(odd)) => format!("nothing to see: {odd}"),
                    (true, None) => {
                        format!("nothing to see: all values that pclip= uses are {bias}; try pclip=100")
                    }
                    (false, _) => "nothing to see: all values are NaN or infinite".into(),
                },
            );
        }
        warn_of_one_colour(job, samples, [bias, clip]);
        let [all, odd] = samples.count();
        if samples.holds_numbers() && odd > 0 {
            job.warn(&format!(
                "{odd} of {all} values are not finite, and NaN is drawn in magenta"
            ));
        }
        // The range of the colours must not vanish relative to bias in single precision.
        let clip = if clip > 0.0 {
            clip.max(bias.abs() * 1e-6)
        } else {
            1.0
        };
        let scale = Self {
            colours,
            bias,
            clip,
            power: power(job, samples, bias, clip)?,
            allpos: job.flag("allpos")?,
            fade,
            smooth: job.flag("smooth")?,
        };
        if job.flag("verb")? {
            let (low, high) = scale.ends();
            job.say(&format!("colours from {low} to {high}"));
        }
        Ok(scale)
    }

    /// The values of the first and the last colour.
    pub fn ends(&self) -> (f32, f32) {
        let low = if self.allpos {
            self.bias
        } else {
            self.bias - self.clip
        };
        (low, self.bias + self.clip)
    }

    /// The colour of a value.
    pub fn colour(&self, value: f32) -> Rgb {
        let part = (value - self.bias) / self.clip;
        if self.allpos {
            return self.colours.at(part);
        }
        let bent = if self.power == 1.0 {
            part
        } else {
            part.abs().powf(self.power).copysign(part)
        };
        self.colours.at(0.5 * (bent + 1.0))
    }

    /// The colour of a value, with its opacity (`fade=`). NaN is opaque.
    pub fn pixel(&self, value: f32) -> Rgba {
        let [r, g, b] = self.colour(value);
        [r, g, b, (255.0 * self.opacity(value)).round() as u8]
    }

    /// The opacity: it grows from 0 at `bias=` to 1 at the fraction `fade=` of the clip.
    fn opacity(&self, value: f32) -> f32 {
        let part = (value - self.bias).abs() / self.clip;
        if part < self.fade { part / self.fade } else { 1.0 }
    }

    /// The colour of a value on a white background.
    fn on_paper(&self, value: f32) -> Rgb {
        let opacity = self.opacity(value);
        let blend = |colour: u8, paper: u8| {
            (opacity * f32::from(colour) + (1.0 - opacity) * f32::from(paper)).round() as u8
        };
        let (colour, paper) = (self.colour(value), WHITE);
        [0, 1, 2].map(|i| blend(colour[i], paper[i]))
    }

    /// The colour bar, unless `scalebar=n`; `plane` is the number of the plane in a bar file of bytes.
    ///
    /// # Errors
    /// Returns an error if byte data have neither a bar file nor `minval=` and `maxval=`, or the range is
    /// empty.
    pub fn bar(&self, job: &mut Job, input: &Input, plane: u64) -> Result<Option<Bar>> {
        let bytes = holds_colours(input);
        if !job.flag_opt("scalebar")?.unwrap_or(!bytes) {
            return Ok(None);
        }
        let (low, high) = (job.double_opt("minval")?, job.double_opt("maxval")?);
        let ends = self.ends();
        let (mut ends, mut table) = ((f64::from(ends.0), f64::from(ends.1)), None);
        if bytes {
            let needed = low.is_none() || high.is_none();
            let known = byte_bar(job, input, plane, needed)?;
            if known.is_none() && needed {
                bail!(
                    "a colour bar of byte data needs their values: give bar= (a file of sfbyte) or minval= and maxval="
                );
            }
            if let Some((range, colours)) = known {
                (ends, table) = (range, Some(colours));
            }
        }
        // A constant panel has a bar as well, with its value in the middle.
        if bytes && low.is_none() && high.is_none() && ends.0 == ends.1 {
            let half = if ends.0 == 0.0 { 1.0 } else { 0.04 * ends.0.abs() };
            ends = (ends.0 - half, ends.1 + half);
        }
        let (low, high) = (low.unwrap_or(ends.0), high.unwrap_or(ends.1));
        ensure!(
            low < high,
            "the colour bar would run from minval={low} to maxval={high}: minval= must be less than maxval="
        );
        let colours = (0..BAR_STEPS).map(|step| {
            let share = (step as f64 + 0.5) / BAR_STEPS as f64;
            match (&table, bytes) {
                (Some(table), _) => self.colour(f32::from(table[(share * table.len() as f64) as usize])),
                (None, true) => self.colours.at(share as f32),
                (None, false) => self.on_paper((low + share * (high - low)) as f32),
            }
        });
        bar_of(job, input, (low, high), colours.collect()).map(Some)
    }
}

/// The colour table of `color=` and `polarity=`.
pub fn colours(job: &Job) -> Result<Colours> {
    let colours = Colours::named(&job.text("color")?.unwrap_or_else(|| "grey".into()))?;
    Ok(if job.flag("polarity")? {
        colours.turned()
    } else {
        colours
    })
}

/// A bar of `colours` from low to high, with the place, numbers and label that the parameters give.
pub fn bar_of(job: &Job, input: &Input, (low, high): (f64, f64), mut colours: Vec<Rgb>) -> Result<Bar> {
    let label = job.text("barlabel")?.or_else(|| input.header().text("label"));
    let unit = job.text("barunit")?.or_else(|| input.header().text("unit"));
    let level = match job.text("bartype")?.unwrap_or_else(|| "v".into()).as_str() {
        "v" => false,
        "h" => true,
        other => {
            bail!("bartype={other} is not allowed: bartype= must be v (next to the picture) or h (below)")
        }
    };
    // The largest value is at the top of a vertical bar and at the right end of a horizontal one.
    let from_high = level == job.flag("barreverse")?;
    if from_high {
        colours.reverse();
    }
    let (low, high) = if from_high { (high, low) } else { (low, high) };
    let mut rule = rule(job, "bar")?;
    let written = job.flag("wantbaraxis")?;
    rule.silent = !written;
    Ok(Bar {
        axis: Axis {
            low,
            high,
            label: if written {
                label.unwrap_or_default()
            } else {
                String::new()
            },
            unit: if written {
                unit.unwrap_or_default()
            } else {
                String::new()
            },
            rule,
        },
        colours,
        width: job.double_opt("barwidth")?.unwrap_or(0.36) * INCH,
        level,
    })
}

/// The power to which values are raised: `gpow=`, or computed from `phalf=`.
fn power(job: &Job, samples: &Samples, bias: f32, clip: f32) -> Result<f32> {
    let power = job.float("gpow")?;
    if power > 0.0 {
        return Ok(power);
    }
    let half = samples.distance(bias, job.float("phalf")?) / clip;
    // Powers outside 0.1 to 10 would leave a picture with two colours only.
    Ok(if half > 0.001 && half < 1.0 {
        (0.5f32.ln() / half.ln()).clamp(0.1, 10.0)
    } else {
        1.0
    })
}

/// The smallest and the largest value, and the bytes of equally spaced values between them.
type ByteBar = ((f64, f64), Vec<u8>);

/// Reads the bar of a plane from a file of `sfbyte bar=`, which contains two reals and the bytes for every plane.
/// Without `needed`, a file that only the header names may be missing.
fn byte_bar(job: &mut Job, input: &Input, plane: u64, needed: bool) -> Result<Option<ByteBar>> {
    let named = input.header().text("bar");
    let mut file = match (job.given("bar"), named) {
        (true, _) => job.input("bar")?,
        (false, Some(name)) if needed || Path::new(&name).exists() => {
            Input::open(name.as_ref()).with_context(|| format!("bar={name} of the header"))?
        }
        (false, _) => return Ok(None),
    };
    let length = file.axis(1).n;
    ensure!(
        holds_colours(&file) && length > 8 && file.len() >= length as u64,
        "{} is not a colour bar of sfbyte, which holds more than 8 bytes for every plane",
        file.name()
    );
    let planes = file.len() / length as u64;
    file.skip(plane.min(planes - 1) * length as u64)?;
    let mut bytes = vec![0u8; length];
    file.read_bytes(&mut bytes)?;
    let end = |at: usize| {
        f64::from(f32::from_ne_bytes([
            bytes[at],
            bytes[at + 1],
            bytes[at + 2],
            bytes[at + 3],
        ]))
    };
    let ends = (end(0), end(4));
    Ok(Some((ends, bytes.split_off(8))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_colour_is_that_of_the_bias() {
        let scale = |power, allpos| Scale {
            colours: Colours::named("grey").unwrap(),
            bias: 2.0,
            clip: 4.0,
            power,
            allpos,
            fade: 0.0,
            smooth: false,
        };
        let red = |scale: &Scale, value| scale.colour(value)[0];
        let even = scale(1.0, false);
        assert_eq!([-2.0, 2.0, 6.0, 9.0].map(|v| red(&even, v)), [0, 128, 255, 255]);
        let bent = scale(0.5, false);
        assert!(red(&bent, 3.0) > red(&even, 3.0) && red(&bent, 1.0) < red(&even, 1.0));
        assert_eq!([2.0, 4.0, 6.0].map(|v| red(&scale(1.0, true), v)), [0, 128, 255]);
    }

    #[test]
    fn colours_fade_towards_the_bias_only() {
        let scale = Scale {
            colours: Colours::named("bluered").unwrap(),
            bias: 1.0,
            clip: 2.0,
            power: 1.0,
            allpos: false,
            fade: 0.5,
            smooth: false,
        };
        let opacity = [1.0, 1.5, 0.5, 2.0, -1.0, 9.0, f32::NAN].map(|value| scale.pixel(value)[3]);
        assert_eq!(opacity, [0, 128, 128, 255, 255, 255, 255]);
        assert_eq!(scale.on_paper(1.0), WHITE);
        assert_eq!(scale.on_paper(3.0), scale.colour(3.0));
    }
}
