//! `sfwindow`: extracting a window of a dataset, which is read as a stream.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Element, Input, Job, MAX_AXES, Output, Param, Program};

use super::cube::{self, PIECE, by_kind, write_axes};
use super::shots::{Shots, is_of_shots};

pub static SPEC: Program = Program {
    name: "sfwindow",
    about: "Cut a window out of a dataset.",
    usage: "< in.rsf n1= f1= j1= min2= max2= squeeze=y > out.rsf",
    comments: "On every axis the window begins at sample f# (counted from 0; a negative number counts from the end) or \
at the sample nearest to min#, takes every j#-th sample, and ends after n# samples or at the sample nearest to max#. \
Half-way between two samples the later one is taken. An axis without parameters is kept whole.\n\n\
With squeeze=y axes of one sample are moved behind the others.\n\n\
Other keys are written to the header, as with sfput; axes that have a label or a unit keep it. A key that differs from a \
parameter by one letter causes a warning, or an error if RSF_STRICT=1 is set.",
    example: "sfwindow < wfl.rsf n3=1 f3=1 n4=1 f4=20 > frame.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 9] = [
    Param::keys("KEY").doc("any other key, such as title= or unit=, is written to the header"),
    Param::int("n#")
        .default_text("the rest")
        .range(">= 1", Some(1.0), None)
        .doc("number of samples taken of axis #"),
    Param::int("f#")
        .default_text("0")
        .doc("first sample of axis #, counted from 0; -1 is the last one"),
    Param::int("j#")
        .default_text("1")
        .range(">= 1", Some(1.0), None)
        .doc("every j#-th sample of axis # is taken"),
    Param::float("d#")
        .default_text("of the input")
        .doc("sampling of the window on axis #, instead of j#"),
    Param::float("min#")
        .default_text("o#")
        .doc("coordinate at which the window begins on axis #, instead of f#"),
    Param::float("max#")
        .default_text("the end")
        .doc("coordinate at which the window ends on axis #, instead of n#"),
    Param::bool("squeeze")
        .default("y")
        .doc("y: move axes of length 1 behind the other axes"),
    Param::bool("verb")
        .default("n")
        .doc("y: print the window of every axis that is cut"),
];

/// The window on one axis of `whole` samples: samples `first`, `first + jump`, ... and the axis that they form.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    whole: usize,
    first: usize,
    jump: usize,
    axis: Axis,
}

impl Cut {
    /// Whether every sample of the axis lies in the window.
    pub(super) fn is_whole(&self) -> bool {
        self.axis.n == self.whole
    }

    /// Whether sample `i` of the axis lies in the window.
    pub(super) fn holds(&self, i: usize) -> bool {
        i >= self.first
            && (i - self.first).is_multiple_of(self.jump)
            && (i - self.first) / self.jump < self.axis.n
    }
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let cuts = cuts(job, &input)?;
    if job.flag("verb")? {
        say(job, &cuts);
    }
    let mut output = job.output()?;
    let mut order: Vec<Axis> = cuts.iter().map(|cut| cut.axis.clone()).collect();
    if job.flag("squeeze")? {
        // The sort is stable, so longer axes keep their order, and so do axes of one sample.
        order.sort_by_key(|axis| axis.n == 1);
    }
    if let Some(names) = names(&input, &cuts) {
        output.put_text("stations", &names);
    }
    if let Some(shots) = kept_shots(&input, &cuts) {
        shots.put(&mut output);
    }
    cube::put_keys(job, &mut output, |_| true)?;
    write_axes(&mut output, &order);
    by_kind!(input.format().kind, stream(&mut input, &mut output, &cuts))?;
    Ok(output.finish()?)
}

/// The names of the receivers that are kept, if the header has a name for each receiver and some are left
/// out.
fn names(input: &Input, cuts: &[Cut]) -> Option<String> {
    let is_of_receivers = |cut: &&Cut| cut.axis.label.as_deref() == Some("r");
    let cut = cuts.iter().find(is_of_receivers).filter(|cut| !cut.is_whole())?;
    let names = input.header().text("stations")?;
    let all: Vec<&str> = names.split(',').collect();
    let kept = (0..all.len()).filter(|i| cut.holds(*i)).map(|i| all[i]);
    (all.len() == cut.whole).then(|| kept.collect::<Vec<&str>>().join(","))
}

/// The shots that are kept, if the header lists the shots and some are left out.
fn kept_shots(input: &Input, cuts: &[Cut]) -> Option<Shots> {
    let cut = cuts.iter().find(|cut| is_of_shots(&cut.axis))?;
    let all = Shots::of(input.header()).filter(|all| all.len() == cut.whole)?;
    let kept = (0..all.len()).filter(|i| cut.holds(*i));
    (!cut.is_whole()).then(|| all.at(kept))
}

/// The windows on all axes, as the command line gives them.
pub(super) fn cuts(job: &Job, input: &Input) -> Result<Vec<Cut>> {
    let axes = cube::shape(input)?;
    for i in axes.len() + 1..=MAX_AXES {
        let (n, f) = (job.int_opt(&format!("n{i}"))?, job.int_opt(&format!("f{i}"))?);
        ensure!(
            n.unwrap_or(1) == 1 && matches!(f, None | Some(0 | -1)),
            "axis {i} has 1 sample: n{i}= can only be 1 and f{i}= only 0"
        );
    }
    cube::warn_of_axes_beyond(job, cube::present(input), &["min", "max", "j"], |key, i| {
        let Axis { o, d, .. } = input.axis(i);
        Ok(match key.starts_with('j') {
            true => job.int_opt(key)? == Some(1),
            false => job
                .float_opt(key)?
                .is_none_or(|at| (at - o).abs() <= 0.5 * d.abs()),
        })
    })?;
    (1..).zip(&axes).map(|(i, axis)| cut(job, i, axis)).collect()
}

fn cut(job: &Job, i: usize, axis: &Axis) -> Result<Cut> {
    let Axis { n, o, d, .. } = *axis;
    let real = |key: &str| job.float_opt(&format!("{key}{i}"));
    let int = |key: &str| job.int_opt(&format!("{key}{i}"));
    // The computation is in single precision, so that coordinates halfway between samples select the same sample as in
    // Madagascar.
    let samples = |from: f32, to: f32, step: f32| f64::from((to - from) / step);
    let jump = match (int("j")?, real("d")?) {
        (Some(jump), _) => jump,
        (None, Some(given)) => {
            let jump = nearest(samples(0.0, given, d));
            ensure!(
                jump >= 1,
                "d{i}={given}: the sampling of the input is {d}, and the window can only have the same or a coarser sampling"
            );
            jump
        }
        (None, None) => 1,
    };
    let first = match (int("f")?, real("min")?) {
        (Some(first), _) => {
            if first < 0 {
                first + n as i64
            } else {
                first
            }
        }
        (None, Some(min)) => nearest(samples(o, min, d)),
        (None, None) => 0,
    };
    let end = axis.at((n - 1) as f64);
    ensure!(
        first >= 0 && first < n as i64,
        "{} lies outside axis {i}, which has {n} samples, from {o} to {end}",
        if job.given(&format!("f{i}")) {
            format!("f{i}={}", int("f")?.unwrap_or(0))
        } else {
            format!("min{i}={}", real("min")?.unwrap_or(0.0))
        }
    );
    let (o, d) = (axis.at(first as f64), d * jump as f32);
    let left = (n as i64 - 1 - first) / jump + 1;
    let taken = match (int("n")?, real("max")?) {
        (Some(n), _) => n,
        (None, Some(max)) => nearest(samples(o, max, d)) + 1,
        (None, None) => left,
    };
    if let (None, Some(max), Some(min)) = (int("n")?, real("max")?, real("min")?) {
        ensure!(
            taken >= 1,
            "min{i}={min} max{i}={max}: the first sample would be after the last, because d{i}={d}; exchange \
            min{i}= and max{i}="
        );
    }
    ensure!(
        taken >= 1 && taken <= left,
        "{} extends beyond axis {i}: of its {n} samples (up to {end}) {left} can be taken from sample \
        {first} in steps of {jump}",
        if job.given(&format!("n{i}")) {
            format!("n{i}={taken}")
        } else {
            format!("max{i}={}", real("max")?.unwrap_or(0.0))
        }
    );
    Ok(Cut {
        whole: n,
        first: first as usize,
        jump: jump as usize,
        axis: Axis {
            n: taken as usize,
            o,
            d,
            ..axis.clone()
        },
    })
}

/// The nearest integer; halves are rounded up. The rounding of a spacing to float32 does not turn a half into less.
fn nearest(samples: f64) -> i64 {
    (samples + 0.5 + 1e-7 * samples.abs()).floor() as i64
}

/// Prints the windows of the axes that are cut.
pub(super) fn say(job: &Job, cuts: &[Cut]) {
    for (i, cut) in cuts.iter().enumerate().filter(|(_, cut)| cut.axis.n != cut.whole) {
        let Axis { n, o, .. } = cut.axis;
        let i = i + 1;
        let last = cut.axis.at((n - 1) as f64);
        job.say(&format!(
            "f{i}={} j{i}={} n{i}={n} min{i}={o} max{i}={last}",
            cut.first, cut.jump
        ));
    }
}

/// Copies the elements of the window from the input and skips the others.
fn stream<T: Element>(input: &mut Input, output: &mut Output, cuts: &[Cut]) -> Result<()> {
    let whole = |cut: &&Cut| cut.axis.n == cut.whole;
    let leading = cuts.iter().take_while(whole).count();
    let block: usize = cuts[..leading].iter().map(|cut| cut.whole).product();
    let Some(inner) = cuts.get(leading) else {
        return cube::copy::<T>(input, output, block as u64);
    };
    let outer = &cuts[leading + 1..];
    // The number of elements of the input from one sample of each outer axis to the next.
    let mut stride = vec![block * inner.whole; outer.len()];
    for i in 1..outer.len() {
        stride[i] = stride[i - 1] * outer[i - 1].whole;
    }
    let lengths: Vec<Axis> = outer.iter().map(|cut| cut.axis.clone()).collect();
    let mut place = vec![0; outer.len()];
    let mut at = 0u64;
    let mut buffer = Vec::new();
    loop {
        let start: usize = (0..outer.len())
            .map(|i| (outer[i].first + place[i] * outer[i].jump) * stride[i])
            .sum();
        let start = (start + inner.first * block) as u64;
        input.skip(start - at)?;
        at = start + line::<T>(input, output, inner, block, &mut buffer)?;
        if !cube::step(&mut place, &lengths) {
            return Ok(());
        }
    }
}

/// Copies the samples of the window on one axis, each of `block` elements; returns the number of elements consumed from
/// the input.
fn line<T: Element>(
    input: &mut Input,
    output: &mut Output,
    cut: &Cut,
    block: usize,
    buffer: &mut Vec<T>,
) -> Result<u64> {
    let n = cut.axis.n;
    if cut.jump == 1 {
        cube::copy::<T>(input, output, (n * block) as u64)?;
        return Ok((n * block) as u64);
    }
    let far = cut.jump * block;
    // Samples that are close together are read with the elements between them, others one by one.
    let together = if far > PIECE / 16 { 1 } else { PIECE / far };
    let mut done = 0;
    while done < n {
        let now = together.min(n - done);
        let span = (now - 1) * far + block;
        buffer.resize(span, T::zeroed());
        input.read(buffer)?;
        for i in 1..now {
            buffer.copy_within(i * far..i * far + block, i * block);
        }
        output.write(&buffer[..now * block])?;
        done += now;
        if done < n {
            input.skip((far - block) as u64)?;
        }
    }
    Ok(((n - 1) * far + block) as u64)
}
