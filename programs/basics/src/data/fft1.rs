//! `sffft1`: the Fourier transform of real data along axis 1.

use anyhow::{Result, ensure};
use num_complex::Complex32;
use rsf_io::{Axis, Complex, Input, Job, Kind, Param, Program};

use super::{cube, fourier, lines};

pub static SPEC: Program = Program {
    name: "sffft1",
    about: "Fourier transform along axis 1: real to complex numbers, and back.",
    usage: "< in.rsf inv=n sym=n opt=y > out.rsf",
    comments: "The spectrum X(f) = sum of x(t) exp(-2 pi i f t) is written for the frequencies 0, d1, ... up to the \
Nyquist frequency: n1 = nt/2+1, d1 = 1/(nt dt), where nt is the length after padding with zeros. t is the coordinate on \
the axis, so an origin other than 0 changes the phase. inv=y divides by nt; sym=y divides by the square root of nt in \
both directions instead.\n\n\
The header stores the axis of the input in fft_n1, fft_o1, fft_d1 and fft_label1, from which inv=y restores it. A label \
of an axis in s (or the label Time) becomes Frequency, every other one Wavenumber; units become Hz or 1/unit.\n\n\
Differs from Madagascar: d1=0 is an error, and with inv=y so is a header whose fft_n1 does not match the number of \
frequencies.",
    example: "sffft1 < traces.rsf | sfmath output='abs(input)' | sfreal > spectra.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 6] = [
    Param::bool("inv")
        .default("n")
        .doc("y: transform complex numbers back to real numbers"),
    Param::bool("sym")
        .default("n")
        .doc("y: use the same factor in both directions, so that the transform preserves the norm"),
    Param::bool("opt").default("y").doc(
        "y: pad with zeros to an even length of factors 2, 3 and 5 only, and with inv=y remove the \
        padding; n: pad an odd length by one sample, which inv=y opt=n keeps",
    ),
    Param::float("ot")
        .alias("o1")
        .default_text("o1 of the header, fft_o1 with inv=y")
        .doc("coordinate of the first sample on the axis of time"),
    Param::bool("verb").default("n").doc("y: print the length"),
    Param::float("memsize")
        .ignored()
        .doc("accepted without effect: little memory is used for data of any size"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    cube::warn_of_time_axis(job, &input)?;
    if job.flag("inv")? {
        inverse(job, input)
    } else {
        forward(job, input)
    }
}

/// The factors `scale` times exp(2 pi i k `turn`) for k = 0, 1, ..., `count` - 1; `None` if all of them are
/// 1.
fn factors(count: usize, turn: f64, scale: f64) -> Option<Vec<Complex32>> {
    let factor = |k: usize| {
        let angle = 2.0 * std::f64::consts::PI * (turn * k as f64).fract();
        Complex32::new((scale * angle.cos()) as f32, (scale * angle.sin()) as f32)
    };
    (turn != 0.0 || scale != 1.0).then(|| (0..count).map(factor).collect())
}

fn apply(factors: &Option<Vec<Complex32>>, spectrum: &mut [Complex32]) {
    if let Some(factors) = factors {
        spectrum
            .iter_mut()
            .zip(factors)
            .for_each(|(x, factor)| *x *= factor);
    }
}

fn forward(job: &mut Job, mut input: Input) -> Result<()> {
    cube::expect(&input, Kind::Float)?;
    let mut axis = cube::shape(&input)?.swap_remove(0);
    axis.o = job.float_opt("ot")?.unwrap_or(axis.o);
    ensure!(
        axis.d != 0.0,
        "d1=0 in the header, but the transform needs a sampling interval (sfput d1= sets it)"
    );
    let length = match job.flag("opt")? {
        true => fourier::fast_even_length(axis.n),
        false => axis.n.next_multiple_of(2),
    };
    if job.flag("verb")? {
        job.say(&format!("{} samples padded to {length}", axis.n));
    }
    let (count, step) = (length / 2 + 1, 1.0 / (length as f64 * f64::from(axis.d)));
    let scale = if job.flag("sym")? {
        (length as f64).powf(-0.5)
    } else {
        1.0
    };
    let factors = factors(count, -step * f64::from(axis.o), scale);

    let mut output = job.output()?;
    output.set_kind(Kind::Complex);
    output.set_axis(
        1,
        &Axis {
            n: count,
            o: 0.0,
            d: step as f32,
            label: fourier::label(axis.label.as_deref(), axis.unit.as_deref(), true),
            unit: fourier::unit(axis.unit.as_deref()),
        },
    );
    output.put_float("fft_o1", axis.o);
    output.put_float("fft_d1", axis.d);
    output.put_int("fft_n1", axis.n as i64);
    if let Some(label) = &axis.label {
        output.put_text("fft_label1", label);
    }
    let plan = ::fourier::forward(length);
    lines::each(
        &mut input,
        &mut output,
        (axis.n, count),
        || (plan.make_input_vec(), plan.make_scratch_vec()),
        |(trace, scratch), _, line: &[f32], spectrum: &mut [Complex]| {
            trace[..line.len()].copy_from_slice(line);
            trace[line.len()..].fill(0.0);
            let spectrum = bytemuck::cast_slice_mut(spectrum);
            plan.process_with_scratch(trace, spectrum, scratch)?;
            apply(&factors, spectrum);
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

fn inverse(job: &mut Job, mut input: Input) -> Result<()> {
    cube::expect(&input, Kind::Complex)?;
    let axis = cube::shape(&input)?.swap_remove(0);
    ensure!(
        axis.n > 1 && axis.d != 0.0,
        "n1={} d1={} in the header, but a spectrum needs at least two frequencies and a sampling interval other than 0",
        axis.n,
        axis.d
    );
    let length = 2 * (axis.n - 1);
    let header = input.header();
    let kept = header.double("fft_n1").filter(|_| header.raw("fft_n1").is_some());
    let count = match kept {
        Some(n) if job.flag("opt")? => n as usize,
        _ => length,
    };
    ensure!(
        count > 0 && count <= length,
        "fft_n1={count} in the header, but {} frequencies make 1 to {length} samples; opt=n writes all {length}",
        axis.n
    );
    let origin = job.float_opt("ot")?.or(header.float("fft_o1")).unwrap_or(0.0);
    let label = match header.text("fft_label1") {
        Some(label) => Some(label),
        None => fourier::label(axis.label.as_deref(), axis.unit.as_deref(), false),
    };
    let scale = match job.flag("sym")? {
        true => (length as f64).powf(-0.5),
        false => 1.0 / length as f64,
    };
    let d = fourier::sampling(header, "fft_d1", length, axis.d);
    let turn = f64::from(origin) / (length as f64 * d);
    let factors = factors(axis.n, turn, scale);

    let mut output = job.output()?;
    output.set_kind(Kind::Float);
    let unit = fourier::unit(axis.unit.as_deref());
    output.set_axis(
        1,
        &Axis {
            n: count,
            o: origin,
            d: d as f32,
            label,
            unit,
        },
    );
    let plan = ::fourier::inverse(length);
    lines::each(
        &mut input,
        &mut output,
        (axis.n, count),
        || {
            (
                plan.make_input_vec(),
                plan.make_output_vec(),
                plan.make_scratch_vec(),
            )
        },
        |(spectrum, trace, scratch), _, line: &[Complex], result: &mut [f32]| {
            spectrum.copy_from_slice(bytemuck::cast_slice(line));
            apply(&factors, spectrum);
            // The spectrum of a real trace is real at 0 and Nyquist, and the transform requires imaginary parts of
            // exactly 0 there.
            spectrum[0].im = 0.0;
            spectrum[length / 2].im = 0.0;
            plan.process_with_scratch(spectrum, trace, scratch)?;
            result.copy_from_slice(&trace[..count]);
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}
