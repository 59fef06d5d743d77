//! `sfcausint`: running sums along axis 1.

use anyhow::Result;
use rsf_io::{Job, Kind, Param, Program};

use super::{cube, lines};

pub static SPEC: Program = Program {
    name: "sfcausint",
    about: "Causal integration along axis 1: running sums.",
    usage: "< in.rsf adj=n > out.rsf",
    comments: "Each sample becomes the sum of itself and all samples before it or, with adj=y, all samples after it. \
The sum does not include the sampling interval: multiply by d1 to get an integral.\n\n\
Differs from Madagascar: sums are computed in double precision.",
    example: "sfcausint < velocity.rsf | sfscale dscale=0.004 > displacement.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 1] = [Param::bool("adj")
    .default("n")
    .doc("y: the adjoint, which sums from the end")];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let axis = cube::shape(&input)?.swap_remove(0);
    let adjoint = job.flag("adj")?;
    let mut output = job.output()?;
    let sum = |pair: (&f32, &mut f32), total: &mut f64| {
        *total += f64::from(*pair.0);
        *pair.1 = *total as f32;
    };
    lines::each(
        &mut input,
        &mut output,
        (axis.n, axis.n),
        || (),
        |(), _, line: &[f32], result: &mut [f32]| {
            let mut total = 0.0;
            let pairs = line.iter().zip(result);
            if adjoint {
                pairs.rev().for_each(|pair| sum(pair, &mut total));
            } else {
                pairs.for_each(|pair| sum(pair, &mut total));
            }
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}
