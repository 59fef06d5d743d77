//! `sfpow`, `sftpow` and `sfcostaper`: multiplication by products of one factor for each axis.

use std::f32::consts::PI;

use anyhow::{Result, ensure};
use rsf_io::{Axis, Input, Job, Kind, Param, Program};

use super::{cube, lines};

pub static POW: Program = Program {
    name: "sfpow",
    about: "Gain by a power of the coordinate on any axis.",
    usage: "< in.rsf pow1=2 > out.rsf",
    comments: "Sample i of axis # (counted from 0) is multiplied by (o# + (i+1) d#)^pow#, the power of the coordinate of \
the next sample, so that the first sample of an axis that begins at 0 does not become zero.\n\n\
Differs from Madagascar: pow# of an axis that the data do not have is an error.",
    example: "sfpow < shot.rsf pow1=2 > gained.rsf",
    params: &POW_PARAMS,
};

static POW_PARAMS: [Param; 1] = [Param::float("pow#").default_text("0").doc("power on axis #")];

pub static TPOW: Program = Program {
    name: "sftpow",
    about: "Gain by a power of time.",
    usage: "< in.rsf tpow=2 > out.rsf",
    comments: "Sample i of axis 1 (counted from 0) is multiplied by (o1 + (i+1) d1)^tpow, as by sfpow pow1=.\n\n\
Differs from Madagascar: tpow= is not estimated from the data.",
    example: "sftpow < shot.rsf tpow=2 > gained.rsf",
    params: &TPOW_PARAMS,
};

static TPOW_PARAMS: [Param; 1] = [Param::float("tpow").required().doc("power")];

pub static COSTAPER: Program = Program {
    name: "sfcostaper",
    about: "Taper both ends of any axis by a squared sine.",
    usage: "< in.rsf nw1=10 nw2=5 > out.rsf",
    comments: "The sample number i from an end (counted from 0) is multiplied by sin^2(pi/2 (i+1)/(nw#+1)) for all i \
below nw#. Where two tapers overlap, both factors apply.\n\n\
Differs from Madagascar: nw# longer than the axis is an error.",
    example: "sfcostaper < shot.rsf nw1=20 nw2=10 > tapered.rsf",
    params: &COSTAPER_PARAMS,
};

static COSTAPER_PARAMS: [Param; 1] = [Param::int("nw#")
    .default_text("0")
    .range(">= 0", Some(0.0), None)
    .doc("number of samples tapered at each end of axis #")];

/// Factors along each axis; `None` for an axis whose factors are all 1.
type Gains = Vec<Option<Vec<f32>>>;

pub fn pow(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    multiply(job, input, "pow", |job, i, axis| {
        let power = job.float_opt(&format!("pow{i}"))?.unwrap_or(0.0);
        Ok((power != 0.0).then(|| powers(job, (&format!("pow{i}"), power), (i, axis))))
    })
}

pub fn tpow(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    cube::warn_of_time_axis(job, &input)?;
    multiply(job, input, "pow", |job, i, axis| {
        let power = job.float("tpow")?;
        Ok((i == 1).then(|| powers(job, ("tpow", power), (i, axis))))
    })
}

/// The powers of the coordinates on axis `i`; warns of powers that are not finite.
fn powers(job: &Job, (key, power): (&str, f32), (i, axis): (usize, &Axis)) -> Vec<f32> {
    let coordinate = |at: usize| axis.o + (at + 1) as f32 * axis.d;
    let gains: Vec<f32> = (0..axis.n).map(|at| coordinate(at).powf(power)).collect();
    if let Some(first) = gains.iter().position(|gain| !gain.is_finite()) {
        let count = gains.iter().filter(|gain| !gain.is_finite()).count();
        job.warn(&format!(
            "{key}={power}: {count} of {} factors on axis {i} are not finite, the first for sample {first}, \
            counted from 0 ({} to the power of {power} is {}): a negative number has no fractional power, \
            and 0 has no negative one",
            axis.n,
            coordinate(first),
            gains[first]
        ));
    }
    gains
}

pub fn costaper(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    multiply(job, input, "nw", |job, i, axis| {
        let width = job.int_opt(&format!("nw{i}"))?.unwrap_or(0) as usize;
        ensure!(
            width <= axis.n,
            "nw{i}={width}: axis {i} has only {} samples, and a taper cannot be longer than its axis",
            axis.n
        );
        let mut gains = vec![1.0f32; axis.n];
        for at in 0..width {
            let weight = (0.5 * PI * (at + 1) as f32 / (width + 1) as f32).sin().powi(2);
            gains[at] *= weight;
            gains[axis.n - 1 - at] *= weight;
        }
        Ok((width > 0).then_some(gains))
    })
}

/// Multiplies all elements by the factors that `gain` returns for the number of an axis and the axis. The
/// parameter `name` with a number beyond the axes of the data is an error.
fn multiply(
    job: &mut Job,
    mut input: Input,
    name: &str,
    gain: impl Fn(&Job, usize, &Axis) -> Result<Option<Vec<f32>>>,
) -> Result<()> {
    cube::expect(&input, Kind::Float)?;
    let axes = cube::shape_to(&input, cube::present(&input))?;
    lines::refuse_beyond(job, name, &axes)?;
    let numbered = axes.iter().enumerate();
    let gains: Gains = numbered
        .map(|(i, axis)| gain(job, i + 1, axis))
        .collect::<Result<_>>()?;
    let (first, outer) = (&gains[0], &gains[1..]);
    let mut output = job.output()?;
    lines::runs(&mut input, &mut output, &axes, |place, at, run: &mut [f32]| {
        if let Some(first) = first {
            run.iter_mut().zip(&first[at..]).for_each(|(x, gain)| *x *= gain);
        }
        for (gains, i) in outer.iter().zip(place) {
            if let Some(gains) = gains {
                run.iter_mut().for_each(|x| *x *= gains[*i]);
            }
        }
    })?;
    Ok(output.finish()?)
}
