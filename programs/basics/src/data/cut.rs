//! `sfcut`: setting a window of a dataset to zero.

use anyhow::Result;
use rsf_io::{Element, Input, Job, Output, Param, Program};

use super::cube::{self, by_kind};
use super::lines;
use super::window::{self, Cut};

pub static SPEC: Program = Program {
    name: "sfcut",
    about: "Set a window of a dataset to zero.",
    usage: "< in.rsf n1= f1= j1= min2= max2= > out.rsf",
    comments: "The window is the one that sfwindow extracts with the same parameters. On every axis it begins at sample \
f# (counted from 0; a negative number counts from the end) or at the sample nearest to min#, takes every j#-th \
sample, and ends after n# samples or at the sample nearest to max#. An axis without parameters is inside the window \
over its whole length. The data may have any type.\n\n\
Differs from Madagascar: a window that extends beyond the data is an error.",
    example: "sfcut < shot.rsf max1=0.5 n2=20 > muted.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 7] = [
    Param::int("n#")
        .default_text("the rest")
        .range(">= 1", Some(1.0), None)
        .doc("samples of the window on axis #"),
    Param::int("f#")
        .default_text("0")
        .doc("first sample of the window on axis #, counted from 0; -1 is the last one"),
    Param::int("j#")
        .default_text("1")
        .range(">= 1", Some(1.0), None)
        .doc("every j#-th sample of axis # is set to zero"),
    Param::float("d#")
        .default_text("of the input")
        .doc("distance of the samples that are set to zero on axis #, instead of j#"),
    Param::float("min#")
        .default_text("o#")
        .doc("coordinate at which the window begins on axis #, instead of f#"),
    Param::float("max#")
        .default_text("the end")
        .doc("coordinate at which the window ends on axis #, instead of n#"),
    Param::bool("verb")
        .default("n")
        .doc("y: print the window of every axis that is cut"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let cuts = window::cuts(job, &input)?;
    if cuts.iter().all(Cut::is_whole) {
        job.warn(
            "the window is the whole dataset, all of which becomes zero: n#, f#, min# or max# select a part",
        );
    }
    if job.flag("verb")? {
        window::say(job, &cuts);
    }
    let mut output = job.output()?;
    by_kind!(input.format().kind, clear(&mut input, &mut output, &cuts))?;
    Ok(output.finish()?)
}

fn clear<T: Element>(input: &mut Input, output: &mut Output, cuts: &[Cut]) -> Result<()> {
    let axes = cube::shape(input)?;
    let (first, outer) = (&cuts[0], &cuts[1..]);
    lines::runs(input, output, &axes, |place, at, run: &mut [T]| {
        if !outer.iter().zip(place).all(|(cut, i)| cut.holds(*i)) {
            return;
        }
        for (i, value) in run.iter_mut().enumerate() {
            if first.holds(at + i) {
                *value = T::zeroed();
            }
        }
    })
}
