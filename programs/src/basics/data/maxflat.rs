//! `sfenvelope` and `sfderiv`: maximally flat filters, from power series (Pei and Wang, IEEE Transactions on Circuits and
//! Systems I 48, 2001, 389-398).
//!
//! The Hilbert transform is -i sign(sin w), and 1/|sin w| = (1 - cos^2 w)^(-1/2) is a power series in cos^2 w; the derivative
//! is i w, and w/sin w is a power series in sin^2(w/2). A filter takes the first terms, by Horner's scheme: each step applies
//! a filter of three taps. At the ends of a trace the taps that are missing are made from the samples that are there.

use anyhow::{Result, ensure};
use rsf_io::{Input, Job, Kind, Param, Program};

use super::{cube, lines};

/// What the user sees.
pub static ENVELOPE: Program = Program {
    name: "sfenvelope",
    about: "Envelope along axis 1, or a rotation of the phase.",
    usage: "< in.rsf order=100 ref=1 hilb=n phase=90 > out.rsf",
    comments: "The envelope is sqrt(x^2 + h^2) with the Hilbert transform h of a trace x (cos becomes sin). hilb=y writes \
x cos(phase) + h sin(phase) instead, which is h itself for the usual phase=90.\n\nThe transform is a filter of finite length \
(a maximally flat one of order=, 4 order + 3 samples long): exact in the middle of the band for ref=1, it loses the lowest and the \
highest frequencies, below about 1/(pi sqrt(order)) of the Nyquist frequency; a higher order= reaches further.\n\n\
Differs from Madagascar: the filter is in double precision; traces of less than 4 samples are an error.",
    example: "sfenvelope < shot.rsf > envelope.rsf",
    params: &ENVELOPE_PARAMS,
};

static ENVELOPE_PARAMS: [Param; 4] = [
    Param::int("order")
        .default("100")
        .range("1 to 100000", Some(1.0), Some(1e5))
        .doc("order of the Hilbert transform"),
    Param::float("ref")
        .default("1")
        .range("more than 0.5, at most 1", Some(0.500_001), Some(1.0))
        .doc("where the Hilbert transform is flattest: the square of the sine of the frequency"),
    Param::bool("hilb")
        .default("n")
        .doc("y: the trace with its phase turned by phase="),
    Param::float("phase")
        .default("90")
        .doc("with hilb=y: angle in degrees by which the phase is turned"),
];

/// What the user sees.
pub static DERIV: Program = Program {
    name: "sfderiv",
    about: "First derivative along axis 1 (maximally linear filter).",
    usage: "< in.rsf order=6 scale=n > out.rsf",
    comments: "The derivative with respect to the number of the sample; scale=y divides by d1. Away from the ends (order+1 \
samples) it is exact for polynomials up to degree 2 order+2.\n\nDiffers from Madagascar: the filter is in double precision; \
traces of less than 3 samples are an error.",
    example: "sfderiv < displacement.rsf scale=y > velocity.rsf",
    params: &DERIV_PARAMS,
};

static DERIV_PARAMS: [Param; 2] = [
    Param::int("order")
        .default("6")
        .range("1 to 100000", Some(1.0), Some(1e5))
        .doc("order of the filter"),
    Param::bool("scale").default("n").doc("y: divide by d1"),
];

/// The input and the length of its traces.
fn traces(job: &mut Job, least: usize) -> Result<(Input, usize)> {
    let input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let n = cube::shape(&input)?[0].n;
    ensure!(
        n >= least,
        "n1={n}: the filter needs traces of {least} samples or more"
    );
    Ok((input, n))
}

/// Envelopes.
pub fn envelope(job: &mut Job) -> Result<()> {
    let (mut input, n) = traces(job, 4)?;
    let (order, reference) = (job.int("order")?, job.double("ref")?);
    let turned = job.flag("hilb")?;
    let (sin, cos) = job.double("phase")?.to_radians().sin_cos();
    let mut output = job.output()?;
    lines::each(
        &mut input,
        &mut output,
        (n, n),
        || (vec![0.0; n], vec![0.0; n], vec![0.0; n]),
        |(x, h, step), _, line: &[f32], result: &mut [f32]| {
            x.iter_mut()
                .zip(line)
                .for_each(|(x, value)| *x = f64::from(*value));
            hilbert(x, h, step, order, reference);
            for ((result, x), h) in result.iter_mut().zip(&*x).zip(&*step) {
                *result = if turned { x * cos + h * sin } else { x.hypot(*h) } as f32;
            }
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

/// Differentiates.
pub fn deriv(job: &mut Job) -> Result<()> {
    let (mut input, n) = traces(job, 3)?;
    let order = job.int("order")?;
    let d = f64::from(input.axis(1).d);
    let scaled = job.flag("scale")?;
    ensure!(
        !scaled || d != 0.0,
        "d1=0 in the header: scale=y divides by it (sfput d1= sets it)"
    );
    let factor = if scaled { 1.0 / d } else { 1.0 };
    let mut output = job.output()?;
    lines::each(
        &mut input,
        &mut output,
        (n, n),
        || (vec![0.0; n], vec![0.0; n], vec![0.0; n]),
        |(x, h, step), _, line: &[f32], result: &mut [f32]| {
            x.iter_mut()
                .zip(line)
                .for_each(|(x, value)| *x = f64::from(*value));
            derivative(x, h, step, order);
            let both = result.iter_mut().zip(&*step);
            both.for_each(|(result, value)| *result = (value * factor) as f32);
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

/// The Hilbert transform of `x` into `out`; `h` is room to work in. All have the same length, 4 or more.
fn hilbert(x: &[f64], h: &mut [f64], out: &mut [f64], order: i64, reference: f64) {
    let (n, half) = (x.len(), 0.5 / reference.sqrt());
    let c = half * half;
    h.copy_from_slice(x);
    for i in (1..=order).rev() {
        // 1 - sin^2 w / ref, as a filter with taps two samples apart.
        out[0] = h[0] + (h[2] - 2.0 * h[1] + h[0]) * c;
        out[1] = h[1] + (h[3] - 3.0 * h[1] + 2.0 * h[0]) * c;
        for (out, h) in out[2..n - 2].iter_mut().zip(h.windows(5)) {
            *out = h[2] + (h[4] - 2.0 * h[2] + h[0]) * c;
        }
        out[n - 2] = h[n - 2] + (h[n - 4] - 3.0 * h[n - 2] + 2.0 * h[n - 1]) * c;
        out[n - 1] = h[n - 1] + (h[n - 3] - 2.0 * h[n - 2] + h[n - 1]) * c;
        let ratio = (2 * i - 1) as f64 / (2 * i) as f64;
        for ((h, x), out) in h.iter_mut().zip(x).zip(&*out) {
            *h = x + out * ratio;
        }
    }
    out[0] = 2.0 * (h[0] - h[1]) * half;
    for (out, h) in out[1..n - 1].iter_mut().zip(h.windows(3)) {
        *out = (h[0] - h[2]) * half;
    }
    out[n - 1] = 2.0 * (h[n - 2] - h[n - 1]) * half;
}

/// The derivative of `x` into `out`; `h` is room to work in. All have the same length, 3 or more.
fn derivative(x: &[f64], h: &mut [f64], out: &mut [f64], order: i64) {
    let n = x.len();
    h.copy_from_slice(x);
    for i in (1..=order).rev() {
        // 2 sin^2(w/2), as a filter.
        for (out, h) in out[1..n - 1].iter_mut().zip(h.windows(3)) {
            *out = h[1] - 0.5 * (h[2] + h[0]);
        }
        (out[0], out[n - 1]) = (out[1], out[n - 2]);
        let ratio = i as f64 / (2 * i + 1) as f64;
        for ((h, x), out) in h.iter_mut().zip(x).zip(&*out) {
            *h = x + out * ratio;
        }
    }
    out[0] = h[1] - h[0];
    for (out, h) in out[1..n - 1].iter_mut().zip(h.windows(3)) {
        *out = 0.5 * (h[2] - h[0]);
    }
    out[n - 1] = h[n - 1] - h[n - 2];
}
