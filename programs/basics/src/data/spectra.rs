//! `sfspectra`: amplitude spectra.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Job, Kind, Param, Program};

use super::{cube, fourier, lines};

pub static SPEC: Program = Program {
    name: "sfspectra",
    about: "Compute amplitude spectra along axis 1, for every trace or as their mean.",
    usage: "< in.rsf all=n > spectra.rsf",
    comments: "The result is the amplitude |X(f)| of the Fourier transform divided by the square root of the number of \
samples, after padding with zeros to a length with the factors 2, 3 and 5 only, for the frequencies 0 to Nyquist. \
The label becomes Frequency if the axis is in s (or its label is Time), and otherwise Wavenumber; units become Hz \
or 1/unit. all=y gives the mean amplitude of all traces.\n\n\
Differs from Madagascar: the mean is computed in double precision; a header without d1 has d1=1, as in all programs of \
this suite (in Madagascar's sfspectra 0.004).",
    example: "sfspectra < shot.rsf all=y | sfgraph title=Spectrum > spectrum.png",
    params: &PARAMS,
};

static PARAMS: [Param; 1] = [Param::bool("all")
    .default("n")
    .doc("y: one spectrum, the mean over all traces")];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let axes = cube::shape_to(&input, cube::present(&input))?;
    if let Some(odd) = cube::across_time(&axes) {
        job.warn(&odd);
    }
    let axis = &axes[0];
    ensure!(
        axis.d != 0.0,
        "d1=0 in the header, but the transform needs a sampling interval (sfput d1= sets it)"
    );
    let length = fourier::fast_even_length(axis.n);
    let count = length / 2 + 1;
    let all = job.flag("all")?;
    let mut output = job.output()?;
    output.set_axis(
        1,
        &Axis {
            n: count,
            o: 0.0,
            d: (1.0 / (length as f64 * f64::from(axis.d))) as f32,
            label: fourier::label(axis.label.as_deref(), axis.unit.as_deref(), true),
            unit: fourier::unit(axis.unit.as_deref()),
        },
    );
    let plan = ::fourier::forward(length);
    let scale = (length as f32).powf(-0.5);
    if !all {
        let state = || {
            (
                plan.make_input_vec(),
                plan.make_output_vec(),
                plan.make_scratch_vec(),
            )
        };
        lines::each(
            &mut input,
            &mut output,
            (axis.n, count),
            state,
            |(trace, spectrum, scratch), _, line: &[f32], result: &mut [f32]| {
                trace[..line.len()].copy_from_slice(line);
                trace[line.len()..].fill(0.0);
                plan.process_with_scratch(trace, spectrum, scratch)?;
                let both = result.iter_mut().zip(spectrum);
                both.for_each(|(result, value)| *result = value.norm() * scale);
                Ok(())
            },
        )?;
        return Ok(output.finish()?);
    }
    output.set_rank(1);
    let (mut trace, mut spectrum) = (plan.make_input_vec(), plan.make_output_vec());
    let (mut sum, traces) = (vec![0.0f64; count], input.remaining() / axis.n as u64);
    while input.remaining() > 0 {
        input.read_f32(&mut trace[..axis.n])?;
        trace[axis.n..].fill(0.0);
        plan.process(&mut trace, &mut spectrum)?;
        let both = sum.iter_mut().zip(&spectrum);
        both.for_each(|(sum, value)| *sum += f64::from(value.norm() * scale));
    }
    let mean: Vec<f32> = sum.iter().map(|sum| (sum / traces as f64) as f32).collect();
    output.write_f32(&mean)?;
    Ok(output.finish()?)
}
