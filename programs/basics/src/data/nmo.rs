//! `sfnmo`: normal moveout.

use std::f32::consts::FRAC_PI_2;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};
use rsf_io::{Axis, Job, Kind, Param, Program};

use super::mutter::{CDP_TYPE, offsets};
use super::spline::Spline;
use super::stretch::inside;
use super::{cube, lines};

pub static SPEC: Program = Program {
    name: "sfnmo",
    about: "Normal moveout correction of gathers.",
    usage: "< gathers.rsf velocity=velocity.rsf half=y str=0.5 mute=12 > corrected.rsf",
    comments: "The output at time t of a trace at offset x is the input at sqrt(t^2 + (x^2-h0^2)/v(t)^2), interpolated \
    by a cubic spline, and 0 beyond the ends of the trace. velocity= has the time axis of the data as axis 1 and one \
    trace for every gather. With half=y axis 2 (or offset=) and h0 are half-offsets. The trace is muted where the input time \
    advances by less than 1-str samples per sample, and at all earlier times; the next mute= samples are tapered by a \
    squared sine.\n\n\
    In midpoint gathers on three axes, gathers can alternate between CDPtype sets of offsets, as in sfmutter; with \
    CDPtype=1 all gathers have the same offsets.\n\n\
    Differs from Madagascar: the spline is a natural one over the whole trace, without extend=, s=, a= and mask=; values \
    agree for well-sampled waves, and the edge of the mute can differ by a few samples.",
    example: "sfnmo < cmp.rsf velocity=vnmo.rsf half=n | sfstack > stack.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 9] = [
    Param::input("velocity")
        .required()
        .doc("velocity, or slowness, on the time axis of the data"),
    Param::input("offset")
        .default_text("axis 2")
        .doc("offsets, one for every trace of a gather or of all gathers"),
    CDP_TYPE,
    Param::bool("half")
        .default("y")
        .doc("y: offsets are half-offsets"),
    Param::float("h0").default("0").doc("reference offset"),
    Param::bool("slowness")
        .default("n")
        .doc("y: velocity= holds slowness"),
    Param::bool("squared")
        .default("n")
        .doc("y: velocity= holds squares of velocity, or of slowness"),
    Param::float("str")
        .default("0.5")
        .range("0 to 1", Some(0.0), Some(1.0))
        .doc("largest stretch, beyond which the trace is muted"),
    Param::int("mute")
        .default("12")
        .range(">= 0", Some(0.0), None)
        .doc("number of samples of the taper after the mute"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    cube::warn_of_time_axis(job, &input)?;
    cube::warn_of_milliseconds(job, &input, "offsets and velocity=");
    let axes = cube::shape_to(&input, 2)?;
    let (axis, traces) = (axes[0].clone(), axes[1].n as u64);
    ensure!(axis.n >= 2, "n1={}: a trace needs at least two samples", axis.n);
    let offsets = offsets(job, &input)?;
    let mut velocity = job.input("velocity")?;
    cube::expect(&velocity, Kind::Float)?;
    let gathers = input.len() / (axis.n as u64 * traces);
    ensure!(
        velocity.len() == axis.n as u64 * gathers,
        "{} has {} values, but {gathers} gathers of {} samples need {}: a velocity trace for each gather",
        velocity.name(),
        velocity.len(),
        axis.n,
        axis.n as u64 * gathers
    );
    cube::in_order(&velocity, &input, 2)?;
    let other = velocity.axis(1);
    let apart = |a: f32, b: f32| (a - b).abs() > 0.01 * axis.d.abs();
    if apart(other.d, axis.d) || apart(other.o, axis.o) {
        job.warn(&format!(
            "{} has o1={} d1={}, but the data have o1={} d1={}: its samples are used as if they were at the \
            times of the data (sfspline or sfremap1 interpolates it to that axis, and sfput corrects a \
            header)",
            velocity.name(),
            other.o,
            other.d,
            axis.o,
            axis.d
        ));
    }
    let velocities = velocity.read_all_f32()?;
    let (slowness, squared) = (job.flag("slowness")?, job.flag("squared")?);
    // The factor of the squared offset is the squared slowness.
    let factor = |v: f32| {
        let v = f64::from(if squared { v } else { v * v });
        if slowness { v } else { 1.0 / v }
    };
    let factors: Vec<f64> = velocities.into_iter().map(factor).collect();
    let whole = if job.flag("half")? { 2.0 } else { 1.0 };
    let (h0, stretch) = (job.double("h0")? * whole, job.double("str")?);
    let taper = job.int("mute")? as usize;
    let mut output = job.output()?;
    let (there, left) = (AtomicBool::new(false), AtomicBool::new(false));
    let is_loud = |line: &[f32]| line.iter().any(|x| *x != 0.0);
    lines::each(
        &mut input,
        &mut output,
        (axis.n, axis.n),
        Spline::default,
        |spline, trace, line: &[f32], result: &mut [f32]| {
            let x = f64::from(offsets.of(trace)) * whole;
            let of_gather = &factors[(trace / traces) as usize * axis.n..][..axis.n];
            let times = times(&axis, x * x - h0 * h0, of_gather);
            spline.through(line);
            correct(spline, &times, (1.0 - stretch, taper), result);
            // At offset 0 there is no moveout.
            if x != 0.0 {
                there.fetch_or(is_loud(line), Ordering::Relaxed);
                left.fetch_or(is_loud(result), Ordering::Relaxed);
            }
            Ok(())
        },
    )?;
    if there.into_inner() && !left.into_inner() {
        job.warn(
            "at offsets other than 0 no sample is left, because all lie beyond the ends of the traces \
            or are muted: check that velocity= and the offsets are in the same units, and that half=, slowness= \
            and squared= are right",
        );
    }
    Ok(output.finish()?)
}

/// The index in the input, in fractions of samples, of each output sample; `x2` is the squared offset.
fn times(axis: &Axis, x2: f64, factors: &[f64]) -> Vec<f64> {
    let (o, d) = (f64::from(axis.o), f64::from(axis.d));
    let from = |(i, factor): (usize, &f64)| {
        let t = o + i as f64 * d;
        let square = t * t + x2 * factor;
        (if square > 0.0 { square.sqrt() } else { square } - o) / d
    };
    factors.iter().enumerate().map(from).collect()
}

/// Interpolates a trace at `times`, mutes it up to the last place where they advance by less than `least` samples, and
/// tapers the next `taper` samples.
fn correct(spline: &Spline, times: &[f64], (least, taper): (f64, usize), result: &mut [f32]) {
    let muted = times
        .windows(2)
        .rposition(|pair| pair[1] - pair[0] < least)
        .map_or(0, |i| i + 2);
    for (i, (value, at)) in result.iter_mut().zip(times).enumerate().skip(muted) {
        let gain = match i - muted {
            past if muted > 0 && past < taper => {
                (FRAC_PI_2 * (past + 1) as f32 / (taper + 1) as f32).sin().powi(2)
            }
            _ => 1.0,
        };
        *value = if inside(*at, times.len()) {
            gain * spline.at(*at) as f32
        } else {
            0.0
        };
    }
}
