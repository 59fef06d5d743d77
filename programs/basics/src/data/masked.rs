//! `sfheaderwindow` and `sfheadercut`: selecting traces by a mask.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Element, Input, Job, Kind, Output, Param, Program};

use super::cube::{self, by_kind};

pub static WINDOW: Program = Program {
    name: "sfheaderwindow",
    about: "Keep the traces whose value in a mask is not 0.",
    usage: "< traces.rsf mask=mask.rsf > fewer.rsf",
    comments: "mask= holds an integer for each trace, as sfmask makes it from a key of the headers. Every axis after the \
    first is an axis of traces; axis 2 of the output counts the traces that are kept, from 0. The data may have any type \
    and may be trace headers.\n\n\
    Differs from Madagascar: there is no inv=; a mask that is zero everywhere is an error.",
    example: "sfheadermath < t.rsf output=offset | sfmask max=2000 > near.rsf; sfheaderwindow < d.rsf mask=near.rsf > e.rsf",
    params: &PARAMS,
};

pub static CUT: Program = Program {
    name: "sfheadercut",
    about: "Set traces to zero where the value of a mask is 0.",
    usage: "< traces.rsf mask=mask.rsf > cut.rsf",
    comments: "mask= holds an integer for each trace, as sfmask makes it from a key of the headers. The axes do not change. The data \
    may have any type.",
    example: "sfheadermath < t.rsf output=trid | sfmask min=1 max=1 > live.rsf; sfheadercut < d.rsf mask=live.rsf > e.rsf",
    params: &[MASK],
};

const MASK: Param = Param::input("mask").required().doc("an integer for each trace");

static PARAMS: [Param; 2] = [MASK, Param::bool("inv").default("n").doc("y is not supported")];

pub fn window(job: &mut Job) -> Result<()> {
    ensure!(
        !job.flag("inv")?,
        "inv=y is not supported: sfheadercut sets traces to zero and keeps their positions"
    );
    let (mut input, axes, mask) = opened(job)?;
    let kept = mask.iter().filter(|keep| **keep).count();
    ensure!(kept > 0, "mask= keeps no trace: all its values are 0");
    let mut output = job.output()?;
    cube::write_axes(&mut output, &[axes[0].clone(), Axis::new(kept, 0.0, 1.0)]);
    output.set_rank(2);
    // The axes after axis 2 become part of the axis of traces.
    for i in 3..=axes.len() {
        output.set_axis(i, &Axis::new(1, 0.0, 1.0));
    }
    by_kind!(
        input.format().kind,
        pass(&mut input, &mut output, (axes[0].n, &mask), true)
    )?;
    Ok(output.finish()?)
}

pub fn cut(job: &mut Job) -> Result<()> {
    let (mut input, axes, mask) = opened(job)?;
    let mut output = job.output()?;
    by_kind!(
        input.format().kind,
        pass(&mut input, &mut output, (axes[0].n, &mask), false)
    )?;
    Ok(output.finish()?)
}

/// The data, their axes, and whether each trace is kept.
fn opened(job: &mut Job) -> Result<(Input, Vec<Axis>, Vec<bool>)> {
    let input = job.stdin()?;
    let axes = cube::shape(&input)?;
    let mut mask = job.input("mask")?;
    cube::expect(&mask, Kind::Int)?;
    let traces = input.len() / axes[0].n as u64;
    ensure!(
        mask.len() == traces,
        "{} holds {} integers, but one is needed for each of the {traces} traces of {}",
        mask.name(),
        mask.len(),
        input.name()
    );
    cube::in_order(&mask, &input, 1)?;
    let mask: Vec<i32> = mask.read_all()?;
    Ok((input, axes, mask.into_iter().map(|number| number != 0).collect()))
}

/// Writes the traces that are kept. With `fewer` the other traces are left out; otherwise they are set to zero.
fn pass<T: Element>(
    input: &mut Input,
    output: &mut Output,
    (n, mask): (usize, &[bool]),
    fewer: bool,
) -> Result<()> {
    let mut trace: Vec<T> = cube::room(n)?;
    for keep in mask {
        input.read(&mut trace)?;
        if !keep {
            trace.fill(T::zeroed());
        }
        if *keep || !fewer {
            output.write(&trace)?;
        }
    }
    Ok(())
}
