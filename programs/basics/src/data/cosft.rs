//! `sfcosft`: the cosine transform along any axes.

use std::sync::Arc;

use ::fourier::RealToComplex;
use anyhow::{Result, ensure};
use rayon::prelude::*;
use rsf_io::{Axis, Header, Job, Kind, Output, Param, Program};

use super::{cube, fourier, lines};

pub static SPEC: Program = Program {
    name: "sfcosft",
    about: "Cosine transform along any axes.",
    usage: "< in.rsf sign1=1 sign2=1 > out.rsf",
    comments: "sign#=1 transforms axis #: X(k) = x(0) + (-1)^k x(N) + 2 sum of x(j) cos(pi j k/N) over 0 < j < N, where \
N is n#-1, padded with zeros to the next length with the factors 2, 3 and 5 only. The axis keeps its length, begins \
at 0 and has the sampling 1/(2 N d#); the header keeps its origin as u# and its label as cosft_label#. sign#=-1 is \
the inverse transform, which divides by 2 N. Both together return the input if n#-1 has only these factors; \
otherwise the highest wavenumbers are cut off (sfpad makes an axis longer).\n\n\
A block of the axes up to the last transformed one is held in memory.\n\n\
Differs from Madagascar: sums are computed in double precision, and an axis of one sample or with d#=0 is an error.",
    example: "sfcosft < data.rsf sign1=1 sign2=1 | sfcosft sign1=-1 sign2=-1 > same.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 1] = [Param::int("sign#")
    .default_text("0")
    .range("-1 to 1", Some(-1.0), Some(1.0))
    .doc("1: transform axis #; -1: transform it back; 0: leave it unchanged")];

/// The transform of one axis.
struct Cosine {
    n: usize,
    /// The number of elements from one sample of the axis to the next.
    stride: usize,
    /// The transform of the line and its mirror image.
    plan: Arc<dyn RealToComplex<f64>>,
    scale: f64,
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    if job.int_opt("sign1")?.unwrap_or(0) != 0 {
        cube::warn_of_time_axis(job, &input)?;
    }
    let axes = cube::shape_to(&input, cube::present(&input))?;
    lines::refuse_beyond(job, "sign", &axes)?;
    let mut output = job.output()?;
    let (mut transforms, mut stride, mut group) = (Vec::new(), 1, 1);
    for (i, axis) in (1..).zip(&axes) {
        let sign = job.int_opt(&format!("sign{i}"))?.unwrap_or(0);
        if sign != 0 {
            ensure!(
                axis.n > 1 && axis.d != 0.0,
                "n{i}={} d{i}={} in the header, but sign{i}= needs at least two samples and a sampling interval other than 0",
                axis.n,
                axis.d
            );
            let length = 2 * fourier::fast_length(axis.n - 1);
            transforms.push(Cosine {
                n: axis.n,
                stride,
                plan: ::fourier::double::forward(length),
                scale: if sign > 0 { 1.0 } else { 1.0 / length as f64 },
            });
            transformed((i, axis), (sign > 0, length), input.header(), &mut output);
            group = stride * axis.n;
        }
        stride *= axis.n;
    }
    if transforms.is_empty() {
        cube::copy_all(&mut input, &mut output)?;
        return Ok(output.finish()?);
    }
    let mut values: Vec<f32> = cube::room(group)?;
    while input.remaining() > 0 {
        input.read_f32(&mut values)?;
        for transform in &transforms {
            transform.apply(&mut values)?;
        }
        output.write_f32(&values)?;
    }
    Ok(output.finish()?)
}

/// Writes the transformed axis `i` to the header.
fn transformed(
    (i, axis): (usize, &Axis),
    (forward, length): (bool, usize),
    header: &Header,
    output: &mut Output,
) {
    let (origin, kept) = (format!("u{i}"), format!("cosft_label{i}"));
    if forward {
        output.put_float(&origin, axis.o);
    }
    let label = header.text(&kept).or_else(|| {
        let label = axis.label.as_deref();
        label.into_iter().for_each(|label| output.put_text(&kept, label));
        fourier::label(label, axis.unit.as_deref(), true)
    });
    let other = Axis {
        n: axis.n,
        o: if forward {
            0.0
        } else {
            header.float(&origin).unwrap_or(0.0)
        },
        d: (1.0 / (length as f64 * f64::from(axis.d))) as f32,
        label,
        unit: fourier::unit(axis.unit.as_deref()),
    };
    output.set_axis(i, &other);
}

impl Cosine {
    /// Transforms whole blocks of the axes up to this one.
    fn apply(&self, values: &mut [f32]) -> Result<()> {
        // The Fourier transform of a real even sequence is real and even, and is its own inverse except for a factor.
        values.par_chunks_mut(self.n * self.stride).try_for_each(|slab| {
            let (mut line, mut spectrum) = (self.plan.make_input_vec(), self.plan.make_output_vec());
            let mut scratch = self.plan.make_scratch_vec();
            let length = line.len();
            for start in 0..self.stride {
                line.fill(0.0);
                for i in 0..self.n {
                    let value = f64::from(slab[start + i * self.stride]);
                    line[i] = value;
                    line[(length - i) % length] = value;
                }
                self.plan
                    .process_with_scratch(&mut line, &mut spectrum, &mut scratch)?;
                for (i, value) in spectrum.iter().take(self.n).enumerate() {
                    slab[start + i * self.stride] = (self.scale * value.re) as f32;
                }
            }
            Ok(())
        })
    }
}
