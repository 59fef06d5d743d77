//! `sfvscan`: velocity analysis.

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use rsf_io::{Axis, Input, Job, Kind, Output, Param, Program};

use super::cube;
use super::mutter::{CDP_TYPE, offsets};
use super::spline::Spline;
use super::stretch::stretch;

pub static SPEC: Program = Program {
    name: "sfvscan",
    about: "Analyse velocities: compute stacks or semblance of gathers along hyperbolas of many velocities.",
    usage: "< gathers.rsf v0= dv= nv= semblance=y half=n weight=n > scan.rsf",
    comments: "For each velocity v of the new axis 2, traces are corrected for moveout along t -> sqrt(t^2 + x^2/v^2), \
    averaged and divided by n1; with weight=y each trace is first multiplied by |x/v|. semblance=y gives the energy of \
    the sum divided by the sum of energies and by the number of traces, both over 2 nb+1 samples (traces that contain \
    only zeros, as in empty bins, and traces that mask= excludes do not count). With weight=n the semblance is 1 where \
    all traces are equal; with weight=y, the default as in Madagascar, it is mostly below 1, and its maximum may be \
    displaced from the true velocity. avosemblance=y uses the best straight line of amplitude over offset instead of the \
    mean (Fomel, 2009, AB semblance); diffsemblance=y sums the squared differences of neighbouring traces. squared=y \
    scans squares of velocity (or slowness). v1= is the velocity of an earlier moveout correction of the gathers. With \
    ns= above 1, axis 3 holds the heterogeneity s, from 1 to smax=, of the shifted hyperbola t (1-1/s) + sqrt(t^2 + s \
    x^2/v^2)/s.\n\n\
    v0=, dv= and nv= may also be given in the header.\n\n\
    Differs from Madagascar: it counts traces of zeros and traces that mask= excludes in the number of traces of a \
    semblance; the spline is a natural one over the whole trace, without extend=; a scan over velocity 0 is an error; \
    the label of a semblance is Semblance, and its unit is empty.",
    example: "sfvscan < cmp.rsf semblance=y half=n v0=1.4 dv=0.02 nv=81 weight=n | sfpick rect1=20 > vnmo.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 19] = [
    Param::float("v0")
        .default_text("of the header")
        .doc("first velocity"),
    Param::float("dv").default_text("of the header").doc("step"),
    Param::int("nv")
        .default_text("of the header")
        .range(">= 1", Some(1.0), None)
        .doc("number of velocities"),
    Param::bool("semblance")
        .default("n")
        .doc("y: compute semblance instead of a stack"),
    Param::bool("diffsemblance")
        .default("n")
        .doc("y: differential semblance"),
    Param::bool("avosemblance")
        .default("n")
        .doc("y: compute a semblance that allows for amplitudes changing with offset"),
    Param::int("nb")
        .default("2")
        .range(">= 0", Some(0.0), None)
        .doc("half width in samples of the window over which the energies of a semblance are summed"),
    Param::bool("weight")
        .default("y")
        .doc("y: multiply by |x/v|, for a nearly unitary transform"),
    Param::bool("half")
        .default("y")
        .doc("y: offsets are half-offsets"),
    Param::input("offset")
        .default_text("axis 2")
        .doc("file of offsets, one for every trace of a gather or of all gathers"),
    CDP_TYPE,
    Param::input("mask").default_text("none").doc(
        "file with an integer for every trace of a gather or of all gathers; traces with 0 are left out",
    ),
    Param::float("smax").default("2").doc("largest heterogeneity"),
    Param::int("ns")
        .default("1")
        .range(">= 1", Some(1.0), None)
        .doc("number of heterogeneities"),
    Param::bool("slowness")
        .default("n")
        .doc("y: scan slowness; v1= is then also a slowness"),
    Param::bool("squared")
        .default("n")
        .doc("y: scan squares; v1= is then also a square"),
    Param::float("v1")
        .default_text("none")
        .doc("velocity of an earlier moveout correction"),
    Param::int("mute")
        .default("12")
        .range(">= 0", Some(0.0), None)
        .doc("number of samples tapered next to muted ones"),
    Param::float("str")
        .default("0.5")
        .range("0 to 1", Some(0.0), Some(1.0))
        .doc("a sample is muted where the input time advances by less than this fraction of d1"),
];

/// The measure that is computed from the corrected traces.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Stack,
    Semblance,
    Differences,
    /// Semblance with a straight line of amplitude over offset.
    Line,
}

impl Measure {
    /// The label of values that no longer have the meaning of the data; the sums of the other measures keep the label
    /// of the data.
    fn label(self) -> Option<&'static str> {
        match self {
            Self::Stack | Self::Differences => None,
            Self::Semblance => Some("Semblance"),
            Self::Line => Some("AB semblance"),
        }
    }
}

/// The parameters of a scan, which are the same for all gathers.
struct Scan {
    time: Axis,
    traces: usize,
    velocity: Axis,
    heterogeneity: Axis,
    slowness: bool,
    squared: bool,
    /// Squared slowness of an earlier moveout correction; 0 if there was none.
    before: f64,
    measure: Measure,
    weight: bool,
    window: usize,
    mute: (f64, usize),
}

/// A trace that is used: its offset and its spline.
type Trace = (f64, Spline);

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    cube::warn_of_time_axis(job, &input)?;
    cube::warn_of_milliseconds(job, &input, "offsets and the velocities of v0= and dv=");
    let axes = cube::shape_to(&input, 2)?;
    let scan = Scan::of(job, &input, &axes)?;
    let whole = if job.flag("half")? { 2.0 } else { 1.0 };
    let offsets = offsets(job, &input)?;
    let mask = mask(job, &input)?;
    let mut output = job.output()?;
    scan.write_axes(&axes, job.has_input("offset"), &mut output);
    // A semblance has no unit, even if the data have one.
    if let Some(label) = scan.measure.label() {
        output.put_text("label", label);
        output.put_text("unit", "");
    }
    let n = scan.time.n;
    let mut gather: Vec<f32> = cube::room(n * scan.traces)?;
    let mut panels: Vec<f32> = cube::room(n * scan.velocity.n * scan.heterogeneity.n)?;
    let (mut first, mut beyond) = (0, true);
    while input.remaining() > 0 {
        input.read_f32(&mut gather)?;
        let traces: Vec<Trace> = gather
            .chunks_exact(n)
            .zip(first..)
            .filter(|(line, number)| mask[*number as usize % mask.len()] && scan.takes(line))
            .map(|(line, number)| {
                let mut spline = Spline::default();
                spline.through(line);
                (whole * f64::from(offsets.of(number)), spline)
            })
            .collect();
        first += scan.traces as u64;
        panels
            .par_chunks_exact_mut(n)
            .enumerate()
            .for_each(|(i, line)| scan.line(&traces, (i % scan.velocity.n, i / scan.velocity.n), line));
        beyond &= scan.is_beyond(&traces);
        output.write_f32(&panels)?;
    }
    if beyond && first > 0 {
        job.warn(
            "at all velocities, arrivals at all offsets other than 0 lie beyond the ends of the traces, \
            so the scan shows nothing: check that the velocities (v0=, dv=, nv=) and the offsets are in \
            consistent units, and that half= is right",
        );
    }
    Ok(output.finish()?)
}

/// Whether each trace is used: a value for each trace of a gather or of all gathers, or one value for all.
fn mask(job: &mut Job, input: &Input) -> Result<Vec<bool>> {
    if !job.has_input("mask") {
        return Ok(vec![true]);
    }
    let (gather, traces) = (input.axis(2).n as u64, input.len() / input.axis(1).n as u64);
    let mut mask = job.input("mask")?;
    cube::expect(&mask, Kind::Int)?;
    ensure!(
        mask.len() == gather || mask.len() == traces,
        "{} holds {} integers, but {gather} are needed (one for each trace of a gather) or {traces} (one for each trace of all gathers)",
        mask.name(),
        mask.len()
    );
    cube::in_order(&mask, input, 1)?;
    let numbers: Vec<i32> = mask.read_all()?;
    Ok(numbers.into_iter().map(|number| number != 0).collect())
}

impl Scan {
    fn of(job: &Job, input: &Input, axes: &[Axis]) -> Result<Self> {
        let header = input.header();
        let lacking =
            |key: &str| format!("{key}= is missing: v0=, dv= and nv= set the velocities that are scanned");
        let real = |key: &str| -> Result<f32> {
            let given = job.float_opt(key)?.or_else(|| header.float(key));
            given.with_context(|| lacking(key))
        };
        let count = job.int_opt("nv")?.or_else(|| header.large_int("nv"));
        let count = count.filter(|n| *n >= 1).with_context(|| lacking("nv"))? as usize;
        let (slowness, squared) = (job.flag("slowness")?, job.flag("squared")?);
        let label = if slowness { "Slowness" } else { "Velocity" };
        let mut velocity = Axis::new(count, real("v0")?, real("dv")?).label(label);
        velocity.unit = match (&axes[0].unit, &axes[1].unit) {
            (Some(time), Some(space)) if slowness => Some(format!("{time}/{space}")),
            (Some(time), Some(space)) => Some(format!("{space}/{time}")),
            _ => None,
        };
        ensure!(
            slowness || (0..count).all(|i| at(&velocity, i) != 0.0),
            "the scan from v0={} with nv={count} steps of dv={} contains velocity 0, which has no finite moveout: choose other velocities",
            velocity.o,
            velocity.d
        );
        ensure!(
            count == 1 || velocity.d != 0.0,
            "dv=0: all {count} velocities would be equal; give the step between velocities, or nv=1"
        );
        let before = job.double_opt("v1")?.map_or(0.0, |v| {
            let square = if squared { v } else { v * v };
            if slowness { square } else { 1.0 / square }
        });
        let ns = job.int("ns")? as usize;
        let step = (job.float("smax")? - 1.0) / (ns - 1).max(1) as f32;
        let measure = match ["semblance", "diffsemblance", "avosemblance"].map(|key| job.flag(key)) {
            [Ok(true), ..] => Measure::Semblance,
            [_, Ok(true), _] => Measure::Differences,
            [.., Ok(true)] => Measure::Line,
            _ => Measure::Stack,
        };
        ensure!(
            axes[0].n >= 2,
            "n1={}: a trace needs at least two samples",
            axes[0].n
        );
        Ok(Self {
            time: axes[0].clone(),
            traces: axes[1].n,
            velocity,
            heterogeneity: Axis::new(ns, 1.0, step),
            slowness,
            squared,
            before,
            measure,
            weight: job.flag("weight")?,
            window: job.int("nb")? as usize,
            mute: (job.double("str")?, job.int("mute")? as usize),
        })
    }

    /// Whether a trace is used. In a semblance, a trace that contains only zeros, such as an empty bin, is
    /// not.
    fn takes(&self, line: &[f32]) -> bool {
        !matches!(self.measure, Measure::Semblance | Measure::Line) || line.iter().any(|a| *a != 0.0)
    }

    /// Writes the axes of the output: time, velocity, heterogeneity if there are several, and the axes after the axes
    /// of the gathers. Unless `own_offsets`, the header also stores the axis of offsets.
    fn write_axes(&self, axes: &[Axis], own_offsets: bool, output: &mut Output) {
        let several = self.heterogeneity.n > 1;
        let new = [&self.time, &self.velocity, &self.heterogeneity];
        let new = new.into_iter().take(if several { 3 } else { 2 });
        let all: Vec<Axis> = new.chain(&axes[2..]).cloned().collect();
        cube::write_axes(output, &all);
        if !own_offsets {
            output.put_float("h0", axes[1].o);
            output.put_float("dh", axes[1].d);
            output.put_int("nh", axes[1].n as i64);
        }
    }

    /// The squared moveout time at an offset and a velocity, minus the squared moveout time of the earlier correction.
    fn moveout(&self, x: f64, v: f64) -> f64 {
        let ratio = if self.slowness { x * v } else { x / v };
        ratio * if self.squared { x } else { ratio } - self.before * x * x
    }

    /// Whether, at all velocities, the moveout times at all offsets other than 0 exceed the length of the
    /// traces.
    fn is_beyond(&self, traces: &[Trace]) -> bool {
        let mut offsets = traces
            .iter()
            .map(|trace| trace.0)
            .filter(|x| *x != 0.0)
            .peekable();
        let end = at(&self.time, self.time.n - 1);
        let late = |x: f64| (0..self.velocity.n).all(|i| self.moveout(x, at(&self.velocity, i)) > end * end);
        offsets.peek().is_some() && offsets.all(late)
    }

    /// Computes the output trace for a velocity and a heterogeneity.
    fn line(&self, traces: &[Trace], (iv, is): (usize, usize), result: &mut [f32]) {
        let n = self.time.n;
        let (v, s) = (at(&self.velocity, iv), at(&self.heterogeneity, is));
        let mut corrected = vec![0.0f32; n];
        // The sums of amplitudes, of their squares and of their products with offset; for `Differences` only
        // the sum of squared differences is used.
        let (mut sums, mut before) = (vec![[0.0f64; 3]; n], Vec::new());
        for (x, spline) in traces {
            let ratio = if self.slowness { x * v } else { x / v };
            let square = self.moveout(*x, v);
            let place = |i: usize| {
                let t = at(&self.time, i);
                let root = (t * t + s * square).max(0.0).sqrt();
                (t * (1.0 - 1.0 / s) + root / s - f64::from(self.time.o)) / f64::from(self.time.d)
            };
            stretch(spline, n, place, self.mute, &mut corrected);
            let scale = if self.weight { ratio.abs() } else { 1.0 } / (n * self.traces) as f64;
            let now: Vec<f64> = corrected.iter().map(|a| scale * f64::from(*a)).collect();
            for (i, (sums, a)) in sums.iter_mut().zip(&now).enumerate() {
                if self.measure != Measure::Differences {
                    *sums = [sums[0] + a, sums[1] + a * a, sums[2] + a * x];
                } else if let Some(other) = before.get(i) {
                    sums[0] += (a - other) * (a - other);
                }
            }
            before = now;
        }
        match self.measure {
            Measure::Stack | Measure::Differences => {
                let pairs = result.iter_mut().zip(&sums);
                pairs.for_each(|(value, sums)| *value = sums[0] as f32);
            }
            Measure::Semblance | Measure::Line => self.semblance(traces, &sums, result),
        }
    }

    /// Computes the ratio of energies, each summed over a window.
    fn semblance(&self, traces: &[Trace], sums: &[[f64; 3]], result: &mut [f32]) {
        let count = traces.len() as f64;
        let (sx, sxx) = traces
            .iter()
            .fold((0.0, 0.0), |(sx, sxx), (x, _)| (sx + x, sxx + x * x));
        let energies = |[s, squares, products]: &[f64; 3]| match self.measure {
            Measure::Line => (
                s * s + (count * products * products - 2.0 * sx * s * products) / sxx,
                (count - sx * sx / sxx) * squares,
            ),
            _ => (s * s, count * squares),
        };
        let energies: Vec<(f64, f64)> = sums.iter().map(energies).collect();
        for (i, value) in result.iter_mut().enumerate() {
            let window = &energies[i.saturating_sub(self.window)..(i + self.window + 1).min(sums.len())];
            let (above, below) = window
                .iter()
                .fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1));
            *value = if below > 0.0 { (above / below) as f32 } else { 0.0 };
        }
    }
}

/// The coordinate of a sample.
fn at(axis: &Axis, i: usize) -> f64 {
    f64::from(axis.o) + i as f64 * f64::from(axis.d)
}
