//! `sfenvelope` and `sfderiv`: maximally flat filters, from power series (Pei and Wang, IEEE Transactions on Circuits and
//! Systems I 48, 2001, 389-398).
//!
//! With s = sin w the Hilbert transform is -i s/|s|, and 1/|s| = (1 - (1 - s^2))^(-1/2) is a power series in
//! 1 - s^2; the derivative is i w = i s (w/s), and w/s is a power series in sin^2(w/2). A series that ends
//! after `order` terms is exact to that order at one frequency, where the filter is flattest. Every further
//! power is one more pass of a short symmetric filter. Beyond its ends a trace is continued along straight
//! lines.

use anyhow::{Result, ensure};
use rsf_io::{Input, Job, Kind, Param, Program};

use super::{cube, lines};

pub static ENVELOPE: Program = Program {
    name: "sfenvelope",
    about: "Envelope along axis 1, or a rotation of the phase.",
    usage: "< in.rsf order=100 ref=1 hilb=n phase=90 > out.rsf",
    comments: "The envelope is sqrt(x^2 + h^2), where h is the Hilbert transform of a trace x (cos becomes sin). hilb=y \
writes x cos(phase) + h sin(phase) instead, which is h itself for the default phase=90.\n\n\
The transform is a maximally flat filter of finite length with 4 order + 3 samples. With ref=1 it is exact in the \
middle of the band and loses the lowest and the highest frequencies, within about 1/(pi sqrt(order)) of the Nyquist \
frequency of either end; a higher order= covers more of the band.\n\n\
Differs from Madagascar: the filter is computed in double precision; traces of fewer than 4 samples are an error.",
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
        .doc("square of the sine of the frequency at which the Hilbert transform is flattest"),
    Param::bool("hilb")
        .default("n")
        .doc("y: write the trace with its phase rotated by phase="),
    Param::float("phase")
        .default("90")
        .doc("with hilb=y: angle in degrees by which the phase is rotated"),
];

pub static DERIV: Program = Program {
    name: "sfderiv",
    about: "First derivative along axis 1 (maximally linear filter).",
    usage: "< in.rsf order=6 scale=n > out.rsf",
    comments: "Computes the derivative with respect to the sample number; scale=y divides it by d1. Except within \
order+1 samples of the ends it is exact for polynomials up to degree 2 order+2.\n\n\
Differs from Madagascar: the filter is computed in double precision; traces of fewer than 3 samples are an error.",
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
///
/// # Errors
/// Returns an error if the data are not float, or the traces have fewer than `least` samples.
fn traces(job: &mut Job, least: usize) -> Result<(Input, usize)> {
    let input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    cube::warn_of_time_axis(job, &input)?;
    let n = cube::shape(&input)?[0].n;
    ensure!(
        n >= least,
        "n1={n}: the filter needs traces of at least {least} samples"
    );
    Ok((input, n))
}

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
        || Series::of_length(n),
        |series, _, line: &[f32], result: &mut [f32]| {
            let turned_by_90 = series.hilbert(line, order, reference);
            for ((result, x), h) in result.iter_mut().zip(line).zip(turned_by_90) {
                let x = f64::from(*x);
                *result = if turned { x * cos + h * sin } else { x.hypot(h) } as f32;
            }
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

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
        || Series::of_length(n),
        |series, _, line: &[f32], result: &mut [f32]| {
            for (result, slope) in result.iter_mut().zip(series.derivative(line, order)) {
                *result = (slope * factor) as f32;
            }
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

/// The number of samples by which a trace is extended beyond each end: half of the length of the longest
/// filter.
const BEYOND: usize = 2;

/// A power series of filters that is applied to a trace. Each buffer holds a trace with [`BEYOND`] additional
/// samples at each end.
struct Series {
    /// The current term of the series.
    term: Vec<f64>,
    /// The sum of the terms so far.
    sum: Vec<f64>,
    /// A buffer for the next term.
    next: Vec<f64>,
}

impl Series {
    /// Buffers for traces of `n` samples.
    fn of_length(n: usize) -> Self {
        let room = vec![0.0; n + 2 * BEYOND];
        Self {
            term: room.clone(),
            sum: room.clone(),
            next: room,
        }
    }

    /// Computes the sum of `order` + 1 terms. The first term is the trace; term k is `filter` applied to term k - 1,
    /// times `ratio(k)`, the ratio of their coefficients.
    fn add_up(
        &mut self,
        line: &[f32],
        order: i64,
        ratio: impl Fn(f64) -> f64,
        filter: impl Fn(&[f64], &mut [f64]),
    ) {
        let inside = BEYOND..BEYOND + line.len();
        let samples = self.term[inside.clone()].iter_mut().zip(line);
        samples.for_each(|(term, value)| *term = f64::from(*value));
        self.sum.copy_from_slice(&self.term);
        for k in 1..=order {
            straight_on(&mut self.term);
            filter(&self.term, &mut self.next[inside.clone()]);
            let factor = ratio(k as f64);
            self.next[inside.clone()]
                .iter_mut()
                .for_each(|value| *value *= factor);
            std::mem::swap(&mut self.term, &mut self.next);
            let new = self.term[inside.clone()].iter();
            self.sum[inside.clone()]
                .iter_mut()
                .zip(new)
                .for_each(|(sum, term)| *sum += term);
        }
        straight_on(&mut self.sum);
    }

    /// The Hilbert transform of `line`. `reference` is the square of the sine of the frequency where it is flattest.
    fn hilbert(&mut self, line: &[f32], order: i64, reference: f64) -> impl Iterator<Item = f64> {
        // (2k)! / (k! 2^k)^2 is coefficient k of (1 - y)^(-1/2).
        let ratio = |k: f64| (2.0 * k - 1.0) / (2.0 * k);
        // y = 1 - s^2 / reference, and -4 s^2 is the second difference over two samples.
        self.add_up(line, order, ratio, |x, y| {
            for (y, x) in y.iter_mut().zip(x.windows(5)) {
                *y = x[2] + (x[0] - 2.0 * x[2] + x[4]) / (4.0 * reference);
            }
        });
        let scale = 0.5 / reference.sqrt();
        self.around().map(move |(before, after)| (before - after) * scale)
    }

    /// The derivative of `line` with respect to the sample number.
    fn derivative(&mut self, line: &[f32], order: i64) -> impl Iterator<Item = f64> {
        // 2^k k! / (1 3 5 ... (2k+1)) is coefficient k of w/s in powers of y = 2 sin^2(w/2), half a second difference.
        let ratio = |k: f64| k / (2.0 * k + 1.0);
        self.add_up(line, order, ratio, |x, y| {
            let inside = &x[BEYOND - 1..x.len() - BEYOND + 1];
            for (y, x) in y.iter_mut().zip(inside.windows(3)) {
                *y = x[1] - 0.5 * (x[0] + x[2]);
            }
            // The straight continuation has a second difference of zero, so the ends take the second difference of
            // their neighbours.
            let last = y.len() - 1;
            (y[0], y[last]) = (y[1], y[last - 1]);
        });
        self.around().map(|(before, after)| 0.5 * (after - before))
    }

    /// The two neighbours of every sample of the sum.
    fn around(&self) -> impl Iterator<Item = (f64, f64)> {
        let inside = &self.sum[BEYOND - 1..self.sum.len() - BEYOND + 1];
        inside.windows(3).map(|three| (three[0], three[2]))
    }
}

/// Extrapolates a trace beyond each end along the line through its last two samples there.
fn straight_on(trace: &mut [f64]) {
    let (first, last) = (BEYOND, trace.len() - BEYOND - 1);
    let slopes = (trace[first] - trace[first + 1], trace[last] - trace[last - 1]);
    for step in 1..=BEYOND {
        trace[first - step] = trace[first] + step as f64 * slopes.0;
        trace[last + step] = trace[last] + step as f64 * slopes.1;
    }
}
