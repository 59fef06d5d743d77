//! `sfagc`: automatic gain control.

use anyhow::Result;
use rsf_io::{Job, Kind, Param, Program};

use super::smooth::Filter;
use super::{cube, lines};

pub static SPEC: Program = Program {
    name: "sfagc",
    about: "Automatic gain control: divide by the smoothed absolute value.",
    usage: "< in.rsf rect1=125 rect2=1 repeat=1 > out.rsf",
    comments: "The absolute values are smoothed with a triangle along each axis, as in sfsmooth, and the data are \
divided by the result; where it is 0 the data are not changed. A block of the axes up to the last smoothed one is \
held in memory.",
    example: "sfagc < shot.rsf rect1=250 > balanced.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 2] = [
    Param::int("rect#")
        .default_text("125,1,1,...")
        .range(">= 1", Some(1.0), None)
        .doc("half width of the triangle on axis #, in samples"),
    Param::int("repeat")
        .default("1")
        .range(">= 1", Some(1.0), None)
        .doc("number of times that each axis is smoothed"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    cube::warn_of_time_axis(job, &input)?;
    let axes = cube::shape_to(&input, cube::present(&input))?;
    lines::refuse_beyond(job, "rect", &axes)?;
    let repeat = job.int("repeat")? as usize;
    let (mut filters, mut stride, mut group) = (Vec::new(), 1, axes[0].n);
    for (i, axis) in (1..).zip(&axes) {
        let usual = if i == 1 { 125 } else { 1 };
        let width = job.int_opt(&format!("rect{i}"))?.unwrap_or(usual) as usize;
        let filter = Filter::triangle((axis.n, stride), width, repeat);
        stride *= axis.n;
        if width > 1 {
            filters.push(filter);
            group = stride;
        }
    }
    let mut output = job.output()?;
    let mut values: Vec<f32> = cube::room(group)?;
    let mut gains: Vec<f32> = cube::room(group)?;
    while input.remaining() > 0 {
        input.read_f32(&mut values)?;
        gains
            .iter_mut()
            .zip(&values)
            .for_each(|(gain, x)| *gain = x.abs());
        filters.iter().for_each(|filter| filter.smooth(&mut gains));
        for (x, gain) in values.iter_mut().zip(&gains) {
            if *gain > 0.0 {
                *x /= gain;
            }
        }
        output.write_f32(&values)?;
    }
    Ok(output.finish()?)
}
