//! `sfbandpass`: Butterworth filters along axis 1.

use std::f64::consts::PI;

use anyhow::{Result, ensure};
use rsf_io::{Job, Kind, Param, Program, format_g};

use super::{cube, lines};

/// The largest number of poles.
const MOST_POLES: i64 = 1000;

/// A filter is left out if its cut-off is closer than this to 0 or to the Nyquist frequency (0.5).
const NOTHING: f64 = 1e-4;

pub static SPEC: Program = Program {
    name: "sfbandpass",
    about: "Bandpass filter along axis 1 (recursive, Butterworth).",
    usage: "< in.rsf flo= fhi= phase=n nplo=6 nphi=6 > out.rsf",
    comments: "Applies a high-pass filter at flo= and a low-pass filter at fhi=, each designed with the bilinear \
transform. At its cut-off a filter of n poles reduces the amplitude to 1/sqrt(2). With phase=n (zero phase) each filter \
runs forwards and then backwards with half as many poles, so that the amplitude at the cut-off is 1/2. Traces are taken \
to be zero beyond their ends.\n\n\
Differs from Madagascar: the recursion is in double precision, so that a low flo= is not lost in rounding errors; a flo= \
at or above the Nyquist frequency is an error.",
    example: "sfbandpass < shot.rsf flo=5 fhi=40 > band.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::float("flo")
        .default("0")
        .range(">= 0", Some(0.0), None)
        .doc("low cut-off, in Hz if the unit of d1 is s"),
    Param::float("fhi")
        .default_text("Nyquist")
        .doc("high cut-off, in Hz if the unit of d1 is s"),
    Param::bool("phase")
        .default("n")
        .doc("y: minimum phase; n: zero phase"),
    Param::int("nplo")
        .default("6")
        .doc("number of poles of the low cut-off"),
    Param::int("nphi")
        .default("6")
        .doc("number of poles of the high cut-off"),
    Param::bool("verb")
        .default("n")
        .doc("y: print cut-offs (as fractions of the sampling frequency) and poles"),
];

/// A section of the filter, of second order, y(t) = gain (x(t) +- 2 x(t-1) + x(t-2)) - a1 y(t-1) - a2 y(t-2), or of
/// first order, y(t) = gain (x(t) +- x(t-1)) - a1 y(t-1).
#[derive(Clone, Copy, Debug)]
struct Section {
    gain: f64,
    /// +1 for a low-pass filter (its zeros lie at the Nyquist frequency), -1 for a high-pass filter.
    sign: f64,
    a1: f64,
    /// `None` in a section of first order.
    a2: Option<f64>,
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let mut axes = cube::shape(&input)?;
    cube::warn_of_time_axis(job, &input)?;
    let axis = axes.swap_remove(0);
    let d = f64::from(axis.d);
    ensure!(
        d > 0.0,
        "d1={d} in the header, but the sampling interval must be positive (sfput d1= sets it)"
    );
    if !job.given("flo") && !job.given("fhi") {
        job.warn("neither flo= nor fhi= is given, so nothing is filtered");
    }
    let (nyquist, low) = (0.5 / d, job.double("flo")?);
    let high = job.double_opt("fhi")?;
    ensure!(
        low < nyquist && high.is_none_or(|high| high <= nyquist * (1.0 + 1e-6)),
        "flo={low}, fhi={}: the Nyquist frequency is {} (d1={}), and both cut-offs must lie below it",
        format_g(high.unwrap_or(nyquist), 6),
        format_g(nyquist, 6),
        axis.d
    );
    let high = high.unwrap_or(nyquist);
    ensure!(
        low <= high,
        "flo={low} is above fhi={high}: no frequency lies between them"
    );
    let minimum = job.flag("phase")?;
    let [nplo, nphi] = [poles(job, "nplo", minimum)?, poles(job, "nphi", minimum)?];
    let (low, high) = (low * d, high * d);
    if job.flag("verb")? {
        job.say(&format!("flo={low} fhi={high} nplo={nplo} nphi={nphi}"));
    }
    let mut filters = Vec::new();
    if low > NOTHING {
        filters.push(butterworth(low, nplo, false));
    }
    if high < 0.5 - NOTHING {
        filters.push(butterworth(high, nphi, true));
    }
    let mut output = job.output()?;
    if filters.is_empty() {
        cube::copy_all(&mut input, &mut output)?;
        return Ok(output.finish()?);
    }
    lines::each(
        &mut input,
        &mut output,
        (axis.n, axis.n),
        || vec![0.0f64; axis.n],
        |trace, _, line: &[f32], result: &mut [f32]| {
            trace
                .iter_mut()
                .zip(line)
                .for_each(|(x, value)| *x = f64::from(*value));
            for filter in &filters {
                filter.iter().for_each(|section| section.run(trace.iter_mut()));
                if !minimum {
                    filter
                        .iter()
                        .for_each(|section| section.run(trace.iter_mut().rev()));
                }
            }
            result
                .iter_mut()
                .zip(trace)
                .for_each(|(result, x)| *result = *x as f32);
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

/// The number of poles of one pass over the data, from the parameter `name`.
fn poles(job: &Job, name: &str, minimum: bool) -> Result<usize> {
    let given = job.int(name)?;
    let poles = given.clamp(1, MOST_POLES);
    if poles != given {
        job.warn(&format!("{name}={given} is taken as {poles}: a filter has 1 to {MOST_POLES} poles (without flo= or fhi= that filter is left out)"));
    }
    let poles = poles as usize;
    Ok(if poles > 1 && !minimum { poles / 2 } else { poles })
}

/// A Butterworth filter with its cut-off at `frequency` (a fraction of the sampling frequency), by the bilinear
/// transform s = (1 - z)/(1 + z) / tan(pi frequency). The analogue poles lie on the unit circle, and a pair of them
/// gives the factor s^2 + 2 sin(angle) s + 1.
fn butterworth(frequency: f64, poles: usize, low: bool) -> Vec<Section> {
    let k = (PI * frequency).tan();
    let (sign, top) = if low { (1.0, k) } else { (-1.0, 1.0) };
    let pairs = (0..poles / 2).map(|j| {
        let damping = 2.0 * (PI * (2 * j + 1) as f64 / (2 * poles) as f64).sin() * k;
        let whole = 1.0 + damping + k * k;
        Section {
            gain: top * top / whole,
            sign,
            a1: 2.0 * (k * k - 1.0) / whole,
            a2: Some((1.0 - damping + k * k) / whole),
        }
    });
    let single = (poles % 2 == 1).then_some(Section {
        gain: top / (1.0 + k),
        sign,
        a1: (k - 1.0) / (k + 1.0),
        a2: None,
    });
    single.into_iter().chain(pairs).collect()
}

impl Section {
    /// Filters the trace in place, in the order of the samples.
    fn run<'a>(self, samples: impl Iterator<Item = &'a mut f64>) {
        let Self { gain, sign, a1, a2 } = self;
        let (mut x1, mut x2, mut y1, mut y2) = (0.0, 0.0, 0.0, 0.0);
        for sample in samples {
            let x = *sample;
            let y = match a2 {
                Some(a2) => gain * (x + 2.0 * sign * x1 + x2) - a1 * y1 - a2 * y2,
                None => gain * (x + sign * x1) - a1 * y1,
            };
            (x2, x1, y2, y1) = (x1, x, y1, y);
            *sample = y;
        }
    }
}
