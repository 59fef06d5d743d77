//! `sfbyte`: conversion of real values to bytes for pictures.

use anyhow::{Result, bail, ensure};
use rsf_io::{Input, Job, Kind, Output, Param, Program};

use super::cube;

pub static SPEC: Program = Program {
    name: "sfbyte",
    about: "Turn reals into bytes for pictures.",
    usage: "< in.rsf pclip=99 gainpanel=all > bytes.rsf",
    comments: "The value bias= becomes 129, and values at a distance of clip= from it become 3 and 254. With allpos=y, \
bias= becomes 0 and bias=+clip= becomes 255. If clip= is not given, it is the value below which pclip= percent of the \
absolute values (after bias= is subtracted) lie: in the panel gainpanel= (a panel is a plane of axes 1 and 2), in each \
panel separately (each), or the same percentile of the clips of all panels (all).",
    example: "sfbyte < wfl.rsf gainpanel=all pclip=100 bar=bar.rsf > bytes.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 16] = [
    Param::float("clip")
        .default_text("from pclip=")
        .doc("distance from bias= at which the last colour is reached"),
    Param::float("pclip")
        .default("99")
        .range("> 0 and <= 100", Some(1e-6), Some(100.0))
        .doc("percentage of values within clip="),
    Param::string("gainpanel")
        .default("1")
        .doc("panel that determines the clip: a number counted from 1, each or all; e and a are enough"),
    Param::int("gainstep")
        .default_text("0.5+n1/256")
        .range(">= 0", Some(0.0), None)
        .doc("step on axis 1 between the samples used to find the clip"),
    Param::float("bias")
        .default("0")
        .doc("value of the middle colour (with allpos=y, of the first colour)"),
    Param::bool("mean")
        .default("n")
        .doc("y: bias= is the mean of the panels that determine the clip"),
    Param::bool("allpos").default("n").doc("y: data are positive"),
    Param::bool("polarity")
        .default("n")
        .doc("y: reverse the polarity (every byte becomes 255 minus its value)"),
    Param::bool("symcp")
        .default("n")
        .doc("y: bytes are symmetric about 128, for a palette of 255 colours"),
    Param::float("gpow")
        .default("1")
        .doc("power of the distance from bias= (<= 0: computed from phalf=)"),
    Param::float("phalf")
        .default("85")
        .range("> 0 and <= 100", Some(1e-6), Some(100.0))
        .doc("with gpow=0, percentage of values in the lower half of the colours"),
    Param::output("bar")
        .default_text("none")
        .doc("file for the colour scale: for each panel its extremes (two real numbers) and 256 bytes between them; its \
name is written to the header, where sfgrey and sfgrey3 find it for scalebar=y"),
    Param::float("minval")
        .default_text("from the data")
        .doc("smallest value of the scale"),
    Param::float("maxval")
        .default_text("from the data")
        .doc("largest value of the scale"),
    Param::bool("barreverse")
        .default("n")
        .doc("y: the scale is reversed"),
    Param::bool("verb")
        .default("n")
        .doc("y: print bias, clip and power"),
];

/// Number of intervals of the lookup table between the smallest and the largest value.
const STEPS: usize = 4096;
/// Number of bytes of a colour scale.
const BAR: usize = 256;

/// The parameters of the mapping from values to bytes.
#[derive(Clone, Copy, Debug)]
struct Gain {
    bias: f32,
    clip: f32,
    power: f32,
}

/// The panels that determine the gain.
#[derive(Clone, Copy, PartialEq)]
enum Panel {
    Number(usize),
    Each,
    All,
}

/// The parameters that determine the gain.
struct Rules {
    panel: Panel,
    bias: f32,
    mean: bool,
    clip: Option<f32>,
    percent: f32,
    power: Option<f32>,
    half: f32,
    step: usize,
    n1: usize,
}

pub fn run(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let axes = cube::shape(&input)?;
    let size = cube::count(&axes[..axes.len().min(2)]);
    let panels = input.len() as usize / size;
    let rules = rules(job, axes[0].n, panels)?;
    // The gain may depend on panels after the first one that is written, so the input is read by position.
    let mut input = job.by_position(input)?;
    let whole = match rules.panel {
        Panel::Each => None,
        _ => Some(rules.of_file(&input, size, panels)?),
    };
    let mut output = job.output()?;
    output.set_kind(Kind::Uchar);
    if let Some(gain) = whole.filter(|_| rules.clip.is_none()) {
        output.put_float("clip", gain.clip);
    }
    let turns = Turns {
        allpos: job.flag("allpos")?,
        polarity: job.flag("polarity")?,
        symmetric: job.flag("symcp")?,
    };
    if let Some(bar) = Bar::open(job, panels)? {
        // The scale must be complete before a program reads this output through a pipe.
        output.put_text("bar", &bar.name);
        bar.fill(&input, size, |values| {
            Table::new(whole.unwrap_or_else(|| rules.of_its_own(values)), turns)
        })?;
    }
    let (mut values, mut bytes) = (cube::room(size)?, cube::room(size)?);
    for panel in 0..panels {
        input.read_f32(&mut values)?;
        let gain = whole.unwrap_or_else(|| rules.of_its_own(&values));
        if job.flag("verb")? && (panel == 0 || whole.is_none()) {
            job.say(&format!(
                "panel {}: bias={} clip={} gpow={}",
                panel + 1,
                gain.bias,
                gain.clip,
                gain.power
            ));
        }
        let table = Table::new(gain, turns);
        bytes
            .iter_mut()
            .zip(&values)
            .for_each(|(byte, value)| *byte = table.byte(*value));
        output.write_bytes(&bytes)?;
    }
    Ok(output.finish()?)
}

fn rules(job: &Job, n1: usize, panels: usize) -> Result<Rules> {
    let panel = match job.text("gainpanel")?.unwrap_or_default() {
        word if word.starts_with('a') => Panel::All,
        word if word.starts_with('e') => Panel::Each,
        word => match word.parse::<usize>() {
            Ok(number) if (1..=panels).contains(&number) => Panel::Number(number - 1),
            _ => bail!(
                "gainpanel={word} is not allowed: gainpanel= must be each, all or a number from 1 to {panels}"
            ),
        },
    };
    let clip = job.float_opt("clip")?;
    ensure!(
        clip.is_none_or(|clip| clip > 0.0),
        "clip= must be more than 0; leave it out to compute it from pclip="
    );
    let step = job
        .int_opt("gainstep")?
        .map_or(((0.5 + n1 as f64 / 256.0) as usize).max(1), |step| {
            step.max(1) as usize
        });
    Ok(Rules {
        panel,
        bias: job.float("bias")?,
        mean: job.flag("mean")?,
        clip,
        percent: job.float("pclip")?,
        power: Some(job.float("gpow")?).filter(|power| *power > 0.0),
        half: job.float("phalf")?,
        step: step.min(n1),
        n1,
    })
}

impl Rules {
    /// The values from which the gain is computed: every `step`-th sample of each line.
    fn sampled<'a>(&self, values: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        let (n1, step) = (self.n1, self.step);
        let count = n1 / step;
        values
            .chunks(n1)
            .flat_map(move |line| line.iter().step_by(step).take(count).copied())
    }

    fn mean_of(&self, values: &[f32]) -> f32 {
        let (sum, count) = self.sampled(values).fold((0.0f64, 0u64), |(sum, count), value| {
            (sum + f64::from(value), count + 1)
        });
        (sum / count as f64) as f32
    }

    /// The gain of a panel, whose mean is the bias if `mean=y`.
    fn of_its_own(&self, values: &[f32]) -> Gain {
        let bias = if self.mean {
            self.mean_of(values)
        } else {
            self.bias
        };
        self.of_panel(values, bias)
    }

    /// The gain of a panel about a given bias.
    fn of_panel(&self, values: &[f32], bias: f32) -> Gain {
        let mut sizes: Vec<f32> = self
            .sampled(values)
            .map(|value| (value - bias).abs())
            .filter(|size| size.is_finite())
            .collect();
        let clip = self.clip.unwrap_or_else(|| quantile(&mut sizes, self.percent));
        let power = self.power.unwrap_or_else(|| {
            let half = quantile(&mut sizes, self.half);
            if clip == 0.0 || half == clip || half / clip < 0.001 {
                1.0
            } else {
                (0.5f32.ln() / (half / clip).ln()).clamp(0.1, 10.0)
            }
        });
        Gain { bias, clip, power }
    }

    /// The gain that all panels of the file share.
    fn of_file(&self, input: &Input, size: usize, panels: usize) -> Result<Gain> {
        let mut values = vec![0.0f32; size];
        if let Panel::Number(panel) = self.panel {
            input.read_f32_at((panel * size) as u64, &mut values)?;
            return Ok(self.of_its_own(&values));
        }
        let mut bias = self.bias;
        if self.mean {
            let mut sum = 0.0f64;
            for panel in 0..panels {
                input.read_f32_at((panel * size) as u64, &mut values)?;
                sum += f64::from(self.mean_of(&values));
            }
            bias = (sum / panels as f64) as f32;
        }
        let (mut clips, mut powers) = (Vec::new(), Vec::new());
        if let (Some(clip), Some(power)) = (self.clip, self.power) {
            return Ok(Gain { bias, clip, power });
        }
        for panel in 0..panels {
            input.read_f32_at((panel * size) as u64, &mut values)?;
            let gain = self.of_panel(&values, bias);
            clips.push(gain.clip);
            powers.push(gain.power);
        }
        Ok(Gain {
            bias,
            clip: quantile(&mut clips, self.percent),
            power: quantile(&mut powers, self.half),
        })
    }
}

/// The value below which `percent` of the values lie; 0 if there are no values.
fn quantile(values: &mut [f32], percent: f32) -> f32 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let place = (values.len() as f32 * percent / 100.0 + 0.5) as usize;
    *values.select_nth_unstable_by(place.min(last), f32::total_cmp).1
}

/// How values are mapped to bytes.
#[derive(Clone, Copy)]
struct Turns {
    allpos: bool,
    polarity: bool,
    /// Whether the bytes are symmetric about 128.
    symmetric: bool,
}

/// A lookup table from values to bytes.
struct Table {
    bytes: Vec<u8>,
    /// The index of the value `bias`.
    shift: f32,
    scale: f32,
    bias: f32,
}

impl Table {
    fn new(gain: Gain, turns: Turns) -> Self {
        let steps = STEPS as f64;
        let power = |part: f64| {
            if gain.power == 1.0 {
                part
            } else {
                part.powf(f64::from(gain.power))
            }
        };
        // The width of the range of bytes, its first byte, and the sum of two bytes that are symmetric about the
        // middle.
        let (colours, first, pair) = if turns.symmetric {
            (254.0, 1.0, 256)
        } else {
            (252.0, 3.0, 257)
        };
        let mut bytes = vec![0u8; STEPS + 1];
        if turns.allpos {
            // Madagascar truncates these bytes, and with symcp=y it rounds them.
            let half = if turns.symmetric { 0.5 } else { 0.0 };
            (1..STEPS).for_each(|i| bytes[i] = (256.0 * power((i as f64 - 1.0) / steps) + half) as u8);
        } else {
            for i in 1..=STEPS / 2 {
                let part = power((steps - 2.0 * i as f64) / steps);
                let upper = (colours * (part + 1.0) / 2.0 + first) as u8;
                bytes[STEPS - i] = upper;
                bytes[i] = (pair - i32::from(upper)) as u8;
            }
        }
        bytes[0] = bytes[1];
        bytes[STEPS] = bytes[STEPS - 1];
        if turns.polarity {
            bytes.iter_mut().for_each(|byte| *byte = 255 - *byte);
        }
        // If all values equal the bias, any clip other than 0 can be used.
        let clip = if gain.clip > 0.0 { gain.clip } else { 1.0 };
        let (shift, width) = if turns.allpos {
            (0.0, clip)
        } else {
            (STEPS as f32 / 2.0, 2.0 * clip)
        };
        Self {
            bytes,
            shift,
            scale: STEPS as f32 / width,
            bias: gain.bias,
        }
    }

    fn byte(&self, value: f32) -> u8 {
        // The conversion to usize saturates at 0 and turns NaN into 0.
        let step = ((value - self.bias) * self.scale + self.shift) as usize;
        self.bytes[step.min(STEPS)]
    }
}

/// The file of the colour scale that belongs to a picture.
struct Bar {
    output: Output,
    /// The name as the user typed it.
    name: String,
    low: Option<f32>,
    high: Option<f32>,
    reversed: bool,
}

impl Bar {
    fn open(job: &mut Job, panels: usize) -> Result<Option<Self>> {
        let Some(name) = job.text("bar")? else {
            return Ok(None);
        };
        let mut output = job.tagged_output("bar")?;
        output.set_kind(Kind::Uchar);
        output.put_int("n1", (BAR + 2 * size_of::<f32>()) as i64);
        output.put_int("n2", 1);
        output.put_int("n3", panels as i64);
        output.set_rank(3);
        let (low, high) = (job.float_opt("minval")?, job.float_opt("maxval")?);
        for (key, value) in [("minval", low), ("maxval", high)] {
            if let Some(value) = value {
                output.put_float(key, value);
            }
        }
        Ok(Some(Self {
            output,
            name,
            low,
            high,
            reversed: job.flag("barreverse")?,
        }))
    }

    /// Writes the scales of all panels.
    fn fill(mut self, input: &Input, size: usize, table: impl Fn(&[f32]) -> Table) -> Result<()> {
        let mut values = cube::room(size)?;
        for panel in 0..(input.len() as usize / size) {
            input.read_f32_at((panel * size) as u64, &mut values)?;
            self.write(&values, &table(&values))?;
        }
        Ok(self.output.finish()?)
    }

    fn write(&mut self, values: &[f32], table: &Table) -> Result<()> {
        let low = self
            .low
            .unwrap_or_else(|| values.iter().copied().fold(f32::INFINITY, f32::min));
        let high = self
            .high
            .unwrap_or_else(|| values.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let mut bytes = [low.to_ne_bytes(), high.to_ne_bytes()].concat();
        let last = (BAR - 1) as f32;
        bytes.extend((0..BAR).map(|i| {
            let (up, down) = (i as f32, (BAR - 1 - i) as f32);
            let (up, down) = if self.reversed { (down, up) } else { (up, down) };
            table.byte((high * up + low * down) / last)
        }));
        Ok(self.output.write_bytes(&bytes)?)
    }
}
