//! `sftimedisp`: the time-dispersion transforms of source time functions and records, along axis 1.

use std::sync::atomic::{AtomicU64, Ordering};

use ::fourier::time_dispersion::{Reading, Sampling, TimeDispersion};
use anyhow::{Result, bail, ensure};
use rsf_io::{Job, Kind, Param, Program, format_g};

use super::{cube, lines};

pub static SPEC: Program = Program {
    name: "sftimedisp",
    about: "Add time dispersion to sources, or remove it from records, along axis 1.",
    usage: "< in.rsf inv=n adj=n > out.rsf",
    comments: "A program that solves the wave equation with second-order time steps dt (leap-frog, central differences \
or the explicit Newmark scheme) gives the exact solution at the frequency 2/dt sin(w dt/2) instead of w, so waves \
arrive early. With inv=n this program changes a source in the same way, and with inv=y it reverses the change in \
the records: if both are applied, before and after such a program, the records have no error from the time step \
(Stork 2013; Wang and Xu 2015; Koene et al. 2018). Observed data that are injected into such a program are \
transformed with inv=n as well. With tdc=y the modelling programs of this suite do all of this themselves.\n\n\
Series must begin at rest, and sources must have no frequencies above 1/(pi dt); frequencies above 0.8 of the Nyquist \
frequency of d1 are weakened. Record more steps than you need, by 3 times the cube root of their number, because the \
last records depend on them. first= is the time of the first sample: velocities of a staggered scheme have \
first=0.5.\n\n\
inv=n followed by inv=y restores the series. Each of the two is a linear operator, and adj=y is its exact adjoint.",
    example: "# a source for a program with steps of 2 ms, and its records\n\
sftimedisp < wavelet.rsf > for-the-run.rsf\n\
sftimedisp < records.rsf inv=y first=1 > exact.rsf\n\
sfdottest sftimedisp mod=records.rsf dat=records.rsf inv=y first=1",
    params: &PARAMS,
};

static PARAMS: [Param; 5] = [
    Param::bool("adj").default("n").doc("y: the adjoint"),
    Param::bool("inv")
        .default("n")
        .doc("n: add time dispersion, for sources; y: remove it, for records"),
    Param::float("dt")
        .default_text("d1")
        .doc("time step of the modelling program, not above d1, s"),
    Param::float("first")
        .default("0")
        .range("from -1e6 to 1e6", Some(-1e6), Some(1e6))
        .doc("time of the first sample, in time steps after the beginning of the run"),
    Param::bool("mean").default("n").doc(
        "with inv=y: the records are means of values at two times one step apart, or differences over two \
        steps, as are velocities of the Newmark scheme",
    ),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    cube::warn_of_time_axis(job, &input)?;
    let axis = cube::shape(&input)?.swap_remove(0);
    let (adjoint, inverse, mean) = (job.flag("adj")?, job.flag("inv")?, job.flag("mean")?);
    ensure!(
        inverse || !mean,
        "mean=y applies to records, but inv=n transforms sources: give inv=y, or leave out mean="
    );
    let sampling = f64::from(axis.d);
    let dt = job.double_opt("dt")?.unwrap_or(sampling);
    // The tolerance allows for a d1 in single precision.
    if !(sampling > 0.0 && dt > 0.0 && dt <= sampling * (1.0 + 1e-6)) {
        bail!(
            "dt={} and d1={}: both must be positive, and d1, the time between samples, must not be less than dt (sfput d1= sets it)",
            format_g(dt, 6),
            axis.d
        );
    }
    let plan = TimeDispersion::new(Sampling {
        samples: axis.n,
        steps: axis.n,
        every: (sampling / dt).max(1.0),
        first: job.double("first")?,
    });
    let reading = match mean {
        true => Reading::OfTwoTimes,
        false => Reading::OfOneTime,
    };
    let moving = AtomicU64::new(0);
    let mut output = job.output()?;
    lines::each(
        &mut input,
        &mut output,
        (axis.n, axis.n),
        || (),
        |(), _, line: &[f32], result: &mut [f32]| {
            let line: Vec<f64> = line.iter().map(|&x| f64::from(x)).collect();
            if line[0].abs() > 0.01 * line.iter().fold(0.0, |most: f64, x| most.max(x.abs())) {
                moving.fetch_add(1, Ordering::Relaxed);
            }
            let change = match (inverse, adjoint) {
                (false, false) => plan.to_steps(&line),
                (false, true) => plan.to_steps_adjoint(&line),
                (true, false) => plan.to_time(&line, reading),
                (true, true) => plan.to_time_adjoint(&line, reading),
            };
            let both = result.iter_mut().zip(change);
            both.for_each(|(result, x)| *result = x as f32);
            Ok(())
        },
    )?;
    let moving = moving.into_inner();
    if moving > 0 && !adjoint {
        job.warn(&format!(
            "{moving} of {} traces do not begin at rest (the first sample is more than 1 % of the largest): \
            the transform assumes zeros before the first sample, so the beginning of the result is wrong; \
            taper the traces, or add zeros with sfpad beg1=",
            input.len() / axis.n as u64
        ));
    }
    Ok(output.finish()?)
}
