//! `sfremap1`: essentially non-oscillatory interpolation along axis 1 (Harten, Engquist, Osher and Chakravarthy, Journal of
//! Computational Physics 71, 1987, 231-303).

use anyhow::{Result, ensure};
use rsf_io::{Job, Kind, Param, Program};

use super::outside::{Outside, largest};
use super::spline::new_axis;
use super::{cube, lines};

pub static SPEC: Program = Program {
    name: "sfremap1",
    about: "Interpolate along axis 1 without overshooting (ENO).",
    usage: "< in.rsf n1= o1= d1= [pattern=other.rsf] order=3 > out.rsf",
    comments: "Each new sample comes from a polynomial through order= samples around it: the one with the smallest \
difference of the highest order, or the mean of two that are equally good. Jumps therefore remain jumps. Outside the samples \
the outermost polynomial is continued.\n\n\
Differs from Madagascar: d1=0 in the header is an error.",
    example: "sfremap1 < coarse.rsf n1=1001 d1=0.002 > fine.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 5] = [
    Param::int("n1")
        .default_text("of pattern=, otherwise of the input")
        .range(">= 1", Some(1.0), None)
        .doc("number of samples of the output"),
    Param::float("o1")
        .default_text("of pattern=, otherwise of the input")
        .doc("origin of the output"),
    Param::float("d1")
        .default_text("of pattern=, otherwise of the input")
        .doc("sampling of the output"),
    Param::input("pattern")
        .default_text("none")
        .doc("dataset whose axis 1 is used for the output"),
    Param::int("order")
        .default("3")
        .range("1 to 30", Some(1.0), Some(30.0))
        .doc("number of samples for each polynomial"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let old = cube::shape(&input)?.swap_remove(0);
    ensure!(
        old.d != 0.0,
        "d1=0 in the header, but interpolation needs a sampling interval (sfput d1= sets it)"
    );
    let new = new_axis(job, Some(&old))?;
    let order = (job.int("order")? as usize).min(old.n);
    let places: Vec<f64> = (0..new.n)
        .map(|i| f64::from((new.o + i as f32 * new.d - old.o) / old.d))
        .collect();
    let (o, d) = (f64::from(old.o), f64::from(old.d));
    let ends = [o, o + (old.n - 1) as f64 * d];
    let outside = Outside::default();
    let mut output = job.output()?;
    output.put_int("n1", new.n as i64);
    output.put_float("o1", new.o);
    output.put_float("d1", new.d);
    lines::each(
        &mut input,
        &mut output,
        (old.n, new.n),
        || (Vec::new(), vec![0.0; order]),
        |(roughness, work), _, line: &[f32], result: &mut [f32]| {
            rate(line, order, roughness);
            for (value, place) in result.iter_mut().zip(&places) {
                *value = between(line, roughness, *place, work);
            }
            let samples = places
                .iter()
                .map(|place| o + place * d)
                .zip(result.iter().copied());
            outside.look(samples, ends, d, largest(line.iter().copied()));
            Ok(())
        },
    )?;
    outside.warn(job, Some(ends));
    Ok(output.finish()?)
}

/// Computes the roughness of every run of `order` neighbouring samples: the absolute value of its difference of the
/// highest order, in the precision of the samples, so that runs on the same polynomial are equally rough.
fn rate(line: &[f32], order: usize, roughness: &mut Vec<f32>) {
    roughness.clear();
    roughness.extend_from_slice(line);
    while roughness.len() + order > line.len() + 1 {
        for i in 1..roughness.len() {
            roughness[i - 1] = roughness[i] - roughness[i - 1];
        }
        roughness.pop();
    }
    roughness.iter_mut().for_each(|value| *value = value.abs());
}

/// The value at the fractional index `place`: the mean of the smoothest polynomials around it.
fn between(line: &[f32], roughness: &[f32], place: f64, work: &mut [f64]) -> f32 {
    let order = work.len();
    // The runs that contain both samples around the place; at the ends the outermost run, and for order=1 the sample
    // before the place.
    let left = (place.max(0.0) as usize).min(line.len());
    let newest = left.min(roughness.len() - 1);
    let oldest = (left + 2).saturating_sub(order).min(newest);
    let runs = &roughness[oldest..=newest];
    let smoothest = runs.iter().copied().fold(f32::INFINITY, f32::min);
    let (mut sum, mut count) = (0.0, 0);
    for (number, _) in runs.iter().enumerate().filter(|(_, rough)| **rough <= smoothest) {
        let from = oldest + number;
        sum += through(&line[from..from + order], place - from as f64, work);
        count += 1;
    }
    // If samples are NaN, no run is the smoothest.
    if count == 0 {
        f32::NAN
    } else {
        (sum / f64::from(count)) as f32
    }
}

/// The value at `x` of the polynomial through `samples` at 0, 1, 2, ..., by Neville's scheme. `work` is a buffer of the
/// same length.
fn through(samples: &[f32], x: f64, work: &mut [f64]) -> f64 {
    work.iter_mut()
        .zip(samples)
        .for_each(|(work, sample)| *work = f64::from(*sample));
    for span in 1..samples.len() {
        for first in 0..samples.len() - span {
            let share = (x - first as f64) / span as f64;
            work[first] += share * (work[first + 1] - work[first]);
        }
    }
    work[0]
}
