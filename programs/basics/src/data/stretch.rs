//! `sfnmostretch` and `sfdatstretch`: stretching and shifting traces in time.

use std::f64::consts::FRAC_PI_2;

use anyhow::{Result, ensure};
use rsf_io::{Axis, Input, Job, Kind, Output, Param, Program};

use super::mutter;
use super::spline::Spline;
use super::{cube, lines};

pub static NMO: Program = Program {
    name: "sfnmostretch",
    about: "Flatten hyperbolas of constant velocity to their times at offset 0, or do the reverse.",
    usage: "< gathers.rsf v0= half=y inv=n maxstr=0 mute=0 > flat.rsf",
    comments: "The output at time t of a trace at offset x is the input, interpolated by a cubic spline, at sqrt(t^2 + \
    x^2/v0^2), or with inv=y at sqrt(t^2 - x^2/v0^2), where time 0 is used if the argument of the root is negative. \
    Beyond the ends of the trace the result is 0. With half=y axis 2 holds half-offsets; in midpoint gathers on three \
    axes, gathers can alternate between CDPtype sets of them, as in sfmutter. The output has nout= samples over the same \
    range of times; inv=y restores the previous number, which the header keeps as nmonin.\n\n\
    Differs from Madagascar: the spline is a natural one over the whole trace, without extend=, and the result is 0 \
    beyond the last sample.",
    example: "sfnmostretch < cmp.rsf v0=1.5 half=n > flat.rsf",
    params: &NMO_PARAMS,
};

static NMO_PARAMS: [Param; 8] = [
    Param::float("v0").required().doc("velocity"),
    Param::bool("half")
        .default("y")
        .doc("y: axis 2 holds half-offsets"),
    mutter::CDP_TYPE,
    INV,
    NOUT,
    DENS,
    MAXSTR,
    MUTE,
];

pub static DAT: Program = Program {
    name: "sfdatstretch",
    about: "Shift every trace by a time that is given for it.",
    usage: "< traces.rsf datum=times.rsf inv=n > shifted.rsf",
    comments: "The output at time t is the input, interpolated by a cubic spline, at t + datum, or with inv=y at t - \
    datum. Beyond the ends of the trace the result is 0. The output has nout= samples over the same range of times; \
    inv=y restores the previous number, which the header keeps as datnin.\n\n\
    Differs from Madagascar: the spline is a natural one over the whole trace, without extend=, and the result is 0 \
    beyond the last sample.",
    example: "sfdatstretch < shot.rsf datum=statics.rsf > corrected.rsf",
    params: &DAT_PARAMS,
};

static DAT_PARAMS: [Param; 6] = [
    Param::input("datum")
        .required()
        .doc("file with a time for every trace, in units of axis 1"),
    INV,
    NOUT,
    DENS,
    MAXSTR,
    MUTE,
];

const INV: Param = Param::bool("inv")
    .default("n")
    .doc("y: transform in the reverse direction");
const NOUT: Param = Param::int("nout")
    .default_text("dens*n1")
    .range(">= 1", Some(1.0), None)
    .doc("number of samples of the output, if inv=n");
const DENS: Param = Param::int("dens")
    .default("1")
    .range(">= 1", Some(1.0), None)
    .doc("factor by which the number of samples increases, if inv=n");
const MAXSTR: Param = Param::float("maxstr")
    .default("0")
    .range(">= 0", Some(0.0), None)
    .doc("a sample is muted where the input time advances by less than this fraction of d1");
const MUTE: Param = Param::int("mute")
    .default("0")
    .range(">= 0", Some(0.0), None)
    .doc("number of samples tapered next to muted ones");

pub fn nmo(job: &mut Job) -> Result<()> {
    let input = traces(job)?;
    let (offsets, v0) = (mutter::of_axis(job, &input)?, job.double("v0")?);
    ensure!(v0 != 0.0, "v0=0: the moveout is infinite; give another velocity");
    let scale = if job.flag("half")? { 2.0 } else { 1.0 } / v0;
    let sign = if job.flag("inv")? { -1.0 } else { 1.0 };
    let mut output = job.output()?;
    output.put_float("v0", v0 as f32);
    each(job, input, output, "nmonin", |trace, t| {
        let x = f64::from(offsets.of(trace)) * scale;
        (t * t + sign * x * x).max(0.0).sqrt()
    })
}

pub fn dat(job: &mut Job) -> Result<()> {
    let input = traces(job)?;
    let count = input.len() / input.axis(1).n as u64;
    let mut datum = job.input("datum")?;
    cube::expect(&datum, Kind::Float)?;
    ensure!(
        datum.len() == count,
        "{} holds {} times, but one is needed for each of the {count} traces",
        datum.name(),
        datum.len()
    );
    cube::in_order(&datum, &input, 1)?;
    let times = datum.read_all_f32()?;
    let sign = if job.flag("inv")? { -1.0 } else { 1.0 };
    let output = job.output()?;
    each(job, input, output, "datnin", |trace, t| {
        t + sign * f64::from(times[trace as usize])
    })
}

/// Opens the input and checks its traces.
///
/// # Errors
/// Returns an error if the data are not float, or traces have fewer than two samples or d1=0.
fn traces(job: &mut Job) -> Result<Input> {
    let input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    cube::warn_of_time_axis(job, &input)?;
    let axis = &cube::shape(&input)?[0];
    ensure!(
        axis.n >= 2 && axis.d != 0.0,
        "n1={} d1={} in the header, but a trace needs at least two samples and a sampling interval other than 0",
        axis.n,
        axis.d
    );
    Ok(input)
}

/// Fills every output trace with the values of the input trace at the times `from(trace, time)`. With inv=n the header
/// stores the length of the input as `kept`; with inv=y the output has that length.
fn each(
    job: &Job,
    mut input: Input,
    mut output: Output,
    kept: &str,
    from: impl Fn(u64, f64) -> f64 + Send + Sync,
) -> Result<()> {
    let axis = input.axis(1);
    let dense = job.int("dens")? as usize;
    let n = if job.flag("inv")? {
        let before = input.header().large_int(kept);
        before.unwrap_or((axis.n / dense) as i64)
    } else {
        output.put_int(kept, axis.n as i64);
        job.int_opt("nout")?.unwrap_or((axis.n * dense) as i64)
    };
    ensure!(
        (2..1 << 40).contains(&n),
        "the output would have {n} samples, but at least two and fewer than 2^40 are needed (nout=, dens=, {kept} in the header)"
    );
    let (o, d, n) = (f64::from(axis.o), f64::from(axis.d), n as usize);
    let step = (axis.n - 1) as f64 * d / (n - 1) as f64;
    output.set_axis(
        1,
        &Axis {
            n,
            d: step as f32,
            ..axis.clone()
        },
    );
    let (least, taper) = (job.double("maxstr")?, job.int("mute")? as usize);
    lines::each(
        &mut input,
        &mut output,
        (axis.n, n),
        Spline::default,
        |spline, trace, line: &[f32], result: &mut [f32]| {
            spline.through(line);
            let place = |i: usize| (from(trace, o + i as f64 * step) - o) / d;
            stretch(spline, axis.n, place, (least, taper), result);
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

/// Whether a fractional index lies between the first and the last of `n` samples, with a tolerance for rounding.
pub(super) fn inside(place: f64, n: usize) -> bool {
    (-1e-6..=(n - 1) as f64 + 1e-6).contains(&place)
}

/// Sets sample i of `result` to the value of a trace of `n` samples at the fractional index `place(i)`. Samples are
/// muted beyond the ends of the trace and where `place` advances by less than `least`; `taper` samples on each side of
/// a muted range are weighted by a squared sine.
pub(super) fn stretch(
    spline: &Spline,
    n: usize,
    place: impl Fn(usize) -> f64,
    (least, taper): (f64, usize),
    result: &mut [f32],
) {
    let weight = |i: usize| (FRAC_PI_2 * (i + 1) as f64 / (taper + 1) as f64).sin().powi(2) as f32;
    let (mut before, mut since, mut gap) = (-1.0, taper, true);
    for i in 0..result.len() {
        let at = place(i);
        let muted = !inside(at, n) || before > 0.0 && (at - before).abs() < least;
        before = at;
        if !muted {
            result[i] = spline.at(at) as f32 * if since < taper { weight(since) } else { 1.0 };
            since += 1;
        } else {
            if !gap {
                let tapered = result[..i].iter_mut().rev().take(taper).enumerate();
                tapered.for_each(|(k, value)| *value *= weight(k));
            }
            (result[i], since) = (0.0, 0);
        }
        gap = muted;
    }
}
