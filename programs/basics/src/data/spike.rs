//! `sfspike`: making spikes, boxes, planes and constants.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Input, Job, Kind, MAX_AXES, Param, Program};

use super::cube::{self, write_axes};

pub static SPEC: Program = Program {
    name: "sfspike",
    about: "Make simple data: spikes, boxes, planes, constants.",
    usage: "[< shape.rsf] n1= n2= k1= mag= > spikes.rsf",
    comments: "Positions k# and l# are sample numbers, counted from 1. A spike fills the samples from k# to l# of every \
axis; an axis without k# (or with k#=0) is filled over its whole length. Without any position the result is a \
constant. nsp= spikes are added. Lists such as k1= and mag= have one value for each spike; if a list is shorter, \
its last value also applies to the remaining spikes.\n\n\
With p# a spike moves by that many samples along axis 1 for each sample of axis #, and is shared linearly between the \
two nearest samples. Its position is k1= at sample k#+1 of that axis, or at sample 1 if there is no k#.\n\n\
A dataset on standard input provides the axes that the command line does not.",
    example: "sfspike n1=1000 d1=0.001 k1=100 > wavelet.rsf\nsfspike n1=200 n2=100 nsp=2 k1=1,101 l1=100,200 mag=2,3 > \
layers.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 12] = [
    Param::int("n#")
        .default_text("from the input")
        .range(">= 1", Some(1.0), None)
        .doc("number of samples of axis #; n1= is required without input"),
    Param::float("o#").default("0").doc("origin of axis #"),
    Param::float("d#")
        .default_text("0.004,0.1,0.1,...")
        .doc("sampling of axis #"),
    Param::string("label#")
        .default_text("Time,Distance,Distance,...")
        .doc("label of axis #; a blank means none"),
    Param::string("unit#")
        .default_text("s,km,km,...")
        .doc("unit of axis #; a blank means none"),
    Param::int("nsp")
        .default("1")
        .range(">= 0", Some(0.0), None)
        .doc("number of spikes"),
    Param::ints("k#")
        .default_text("0")
        .range(">= 0", Some(0.0), None)
        .doc("first sample of each spike on axis #, counted from 1; 0 means the whole axis"),
    Param::ints("l#")
        .default_text("k#")
        .range(">= 0", Some(0.0), None)
        .doc("last sample of each spike on axis #"),
    Param::floats("p#")
        .default_text("0")
        .doc("number of samples of axis 1 by which each spike moves for each sample of axis #"),
    Param::floats("mag").default("1").doc("value of each spike"),
    Param::string("title")
        .default_text("none")
        .doc("title of pictures"),
    Param::bool("nostdin")
        .default("n")
        .doc("y: do not read standard input"),
];

/// A spike: its value, the samples that it covers on every axis (`None`: all), and its slopes, in samples of axis 1 per
/// sample of each axis.
struct Spike {
    value: f32,
    cover: Vec<Option<(i64, i64)>>,
    lean: Vec<f32>,
}

pub fn run(job: &mut Job) -> Result<()> {
    let input = if job.flag("nostdin")? {
        None
    } else {
        job.stdin_if_any()?
    };
    if let Some(input) = &input {
        ensure!(
            input.format().kind == Kind::Float,
            "{} holds {} data, but sfspike takes axes from float data only (sfdd type=float converts)",
            input.name(),
            input.format().kind.word()
        );
    }
    let axes = axes(job, input.as_ref())?;
    cube::warn_of_axes_beyond(job, axes.len(), &["k", "l"], |key, _| {
        Ok(job.ints(key)?.iter().all(|at| *at <= 1))
    })?;
    cube::warn_of_axes_beyond(job, axes.len(), &["p"], |key, _| {
        Ok(job.floats(key)?.iter().all(|p| *p == 0.0))
    })?;
    let spikes = spikes(job, &axes)?;
    let mut output = job.output()?;
    write_axes(&mut output, &axes);
    output.set_rank(axes.len());
    if let Some(title) = job.text("title")? {
        output.put_text("title", &title);
    }
    let n = axes[0].n;
    // Other programs keep whole lines in memory, so a line that would be too long for them is refused here, before it
    // fills the disk.
    if !job.is_dry_run() {
        cube::ensure_room::<f32>(n)?;
        // If the number of elements overflows, another check reports it.
        let elements = axes
            .iter()
            .try_fold(1, |all: u64, axis| all.checked_mul(axis.n as u64));
        elements.map_or(Ok(()), |elements| output.ensure_disk(elements))?;
    }
    let mut piece = vec![0.0; n.min(cube::PIECE)];
    let mut place = vec![0usize; axes.len()];
    for _ in 0..cube::count(&axes[1..]) {
        for first in (0..n).step_by(piece.len()) {
            let piece = &mut piece[..(n - first).min(cube::PIECE)];
            piece.fill(0.0);
            place[0] = first;
            spikes.iter().for_each(|spike| spike.add(&place, n, piece));
            output.write_f32(piece)?;
        }
        cube::step(&mut place[1..], &axes[1..]);
    }
    Ok(output.finish()?)
}

/// The axes from the command line or, without it, from the input, up to the first axis whose length neither of them
/// gives.
fn axes(job: &Job, input: Option<&Input>) -> Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for i in 1..=MAX_AXES {
        let known = input.filter(|input| input.header().raw(&format!("n{i}")).is_some());
        let n = match job.int_opt(&format!("n{i}"))? {
            Some(n) => n as usize,
            None => match known {
                Some(input) => input.axis(i).n,
                None => break,
            },
        };
        let header = input.map(Input::header);
        let text = |key: String, first: &str, other: &str| -> Result<Option<String>> {
            let given = job
                .text(&key)?
                .or_else(|| header.and_then(|header| header.text(&key)));
            let text = given.unwrap_or_else(|| if i == 1 { first } else { other }.to_string());
            Ok(Some(text).filter(|text| !text.trim().is_empty()))
        };
        let number = |key: String, usual: f32| -> Result<f32> {
            let given = if job.given(&key) {
                job.float_opt(&key)?
            } else {
                None
            };
            Ok(given
                .or_else(|| header.and_then(|header| header.float(&key)))
                .unwrap_or(usual))
        };
        axes.push(Axis {
            n,
            o: number(format!("o{i}"), 0.0)?,
            d: number(format!("d{i}"), if i == 1 { 0.004 } else { 0.1 })?,
            label: text(format!("label{i}"), "Time", "Distance")?,
            unit: text(format!("unit{i}"), "s", "km")?,
        });
    }
    ensure!(
        !axes.is_empty(),
        "n1= is missing: give the number of samples, or a dataset on standard input"
    );
    ensure!(
        axes.iter().all(|axis| axis.n > 0),
        "the dataset on standard input has no elements"
    );
    for i in axes.len() + 1..=MAX_AXES {
        ensure!(
            !job.given(&format!("n{i}")),
            "n{i}= is given, but n{}= is missing",
            axes.len() + 1
        );
    }
    Ok(axes)
}

fn spikes(job: &Job, axes: &[Axis]) -> Result<Vec<Spike>> {
    let number = job.int("nsp")? as usize;
    let per_spike = |key: &str, given: usize| {
        if given > number {
            job.warn(&format!(
                "{key}= holds {given} values, but nsp={number}: the last {} are ignored",
                given - number
            ));
        }
    };
    let magnitudes = job.floats("mag")?;
    per_spike("mag", magnitudes.len());
    let (mut first, mut last, mut lean) = (Vec::new(), Vec::new(), Vec::new());
    for (i, axis) in axes.iter().enumerate() {
        let lists = [format!("k{}", i + 1), format!("l{}", i + 1)].map(|key| -> Result<Vec<i64>> {
            let list = job.ints(&key)?;
            per_spike(&key, list.len());
            let far = list.iter().find(|at| **at > axis.n as i64);
            ensure!(
                far.is_none(),
                "{key}={} is beyond the axis, which has {} samples",
                far.unwrap_or(&0),
                axis.n
            );
            Ok(list)
        });
        let [k, l] = lists;
        first.push(k?);
        last.push(l?);
        lean.push(job.floats(&format!("p{}", i + 1))?);
    }
    let each = |list: &[i64], spike: usize| list.get(spike).or(list.last()).copied();
    let spike = |s: usize| Spike {
        value: magnitudes.get(s).or(magnitudes.last()).copied().unwrap_or(1.0),
        cover: (0..axes.len())
            .map(|i| {
                let k = each(&first[i], s).filter(|k| *k > 0);
                let l = each(&last[i], s).filter(|l| *l > 0);
                k.map(|k| (k - 1, l.unwrap_or(k) - 1))
            })
            .collect(),
        lean: lean
            .iter()
            .map(|p| p.get(s).or(p.last()).copied().unwrap_or(0.0))
            .collect(),
    };
    let spikes: Vec<Spike> = (0..number).map(spike).collect();
    for spike in &spikes {
        let empty = |cover: &Option<(i64, i64)>| cover.filter(|(k, l)| l < k);
        if let Some((i, (k, l))) = (1..)
            .zip(spike.cover.iter().map(empty))
            .find_map(|(i, e)| Some((i, e?)))
        {
            job.warn(&format!(
                "k{i}={} l{i}={}: the spike is empty, because its last sample l{i}= is before its first \
                sample k{i}=",
                k + 1,
                l + 1
            ));
            break;
        }
    }
    Ok(spikes)
}

impl Spike {
    /// Adds the spike to a piece of a line of `n` samples on axis 1; `place` gives the indices of the first element of
    /// the piece.
    fn add(&self, place: &[usize], n: usize, piece: &mut [f32]) {
        let mut shift = 0.0f32;
        for i in 1..place.len() {
            let at = place[i] as i64;
            if self.cover[i].is_some_and(|(k, l)| at < k || at > l) {
                return;
            }
            // If the first sample is given, it is already shifted back by one slope, as in Madagascar.
            shift += self.lean[i] * (at - self.cover[i].map_or(0, |(k, _)| k + 1)) as f32;
        }
        let whole = shift.floor();
        let part = shift - whole;
        let end = n as i64 - 1;
        let (k, l) = self.cover[0].unwrap_or((0, end));
        let (k, l) = ((k + whole as i64).max(0), (l + whole as i64).min(end));
        let first = place[0] as i64;
        let last = first + piece.len() as i64 - 1;
        // The sample before the piece contributes to the first sample of the piece.
        for j in k.max(first - 1)..=l.min(last) {
            if j >= first {
                piece[(j - first) as usize] += (1.0 - part) * self.value;
            }
            if part > 0.0 && j < last {
                piece[(j + 1 - first) as usize] += part * self.value;
            }
        }
    }
}
