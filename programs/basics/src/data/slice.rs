//! `sfslice`: extraction of values along a picked surface.

use anyhow::{Result, ensure};
use rsf_io::{Job, Kind, Param, Program};

use super::cube;

pub static SPEC: Program = Program {
    name: "sfslice",
    about: "Extract values along a surface that was picked on axis 2.",
    usage: "< panels.rsf pick=surface.rsf > slice.rsf",
    comments: "pick= holds a coordinate of axis 2 for every sample of axis 1 and of the axes after axis 2, in \
this order. Values between two samples are interpolated linearly; beyond the ends of axis 2 they are 0.\n\n\
Differs from Madagascar: a pick on the last sample gives the value of that sample (in Madagascar 0), and a pick= file of \
a different shape is an error.",
    example: "sfslice < semblance.rsf pick=velocity.rsf > along.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 1] = [Param::input("pick").required().doc("the surface")];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let mut picks = job.input("pick")?;
    cube::expect(&picks, Kind::Float)?;
    let mut axes = cube::shape_to(&input, 2)?;
    let (n1, across) = (axes[0].n, axes[1].clone());
    let panels = input.len() / (n1 * across.n) as u64;
    ensure!(
        picks.len() == n1 as u64 * panels,
        "{} has {} picks, but {} needs {}: one for each of the {n1} samples of axis 1 in each of {panels} panels",
        picks.name(),
        picks.len(),
        input.name(),
        n1 as u64 * panels
    );
    cube::in_order(&picks, &input, 2)?;
    axes[1].n = 1;
    let mut output = job.output()?;
    cube::write_axes(&mut output, &axes);
    let mut panel: Vec<f32> = cube::room(n1 * across.n)?;
    let (mut places, mut slice) = (vec![0.0f32; n1], vec![0.0f32; n1]);
    for _ in 0..panels {
        input.read_f32(&mut panel)?;
        picks.read_f32(&mut places)?;
        for (i, (value, place)) in slice.iter_mut().zip(&places).enumerate() {
            let at = (f64::from(*place) - f64::from(across.o)) / f64::from(across.d);
            let inside = at >= 0.0 && at <= (across.n - 1) as f64;
            let low = if inside { at as usize } else { 0 };
            let high = (low + 1).min(across.n - 1);
            let part = (at - low as f64) as f32;
            let line = |j: usize| panel[j * n1 + i];
            *value = if inside {
                line(low) + part * (line(high) - line(low))
            } else {
                0.0
            };
        }
        output.write_f32(&slice)?;
    }
    Ok(output.finish()?)
}
