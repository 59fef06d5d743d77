//! `sfintbin`: sorting of traces into bins by two keys of their headers.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use rsf_io::{Axis, Element, Input, Job, Kind, Output, Param, Program};

use super::cube::{self, by_kind};
use super::headers::names;

pub static SPEC: Program = Program {
    name: "sfintbin",
    about: "Sort traces into bins by two keys of their headers.",
    usage: "< traces.rsf head=headers.rsf xk=tracf yk=fldr [mask=mask.rsf] > cube.rsf",
    comments: "head= holds the headers of the traces, as sfsegyread writes them to tfile=. Axis 2 of the output is the \
key xk=, axis 3 the key yk=, from its smallest to its largest value or within xmin=, xmax=, ymin= and ymax=. A bin \
without a trace holds zeros; if a bin has several traces, the last one is used, and a warning gives the number of the \
others. mask= receives 1 for each bin with a trace and 0 for the others, and map= receives the number of the trace, \
counted from 0, or -1.\n\n\
A bin is one unit of its key wide, so offsets that are 25 m apart must be divided first, for instance with sfheadermath \
output=offset/25 key=offset. sfput then restores the offsets of axis 2: sfput o2=100 d2=25 label2=Offset unit2=m, if the \
first value of the key is 4. CDPtype=1 in the header tells sfnmo, sfnmostretch, sfvscan and sfmutter that all gathers \
have the offsets of axis 2 (chapter 8 makes a stack in this way). For irregular offsets use offset= of those \
programs.\n\n\
Differs from Madagascar: there is no inv=, and the input must be a file.",
    example: "sfsegyread tape=line.sgy tfile=t.rsf > d.rsf; sfintbin < d.rsf head=t.rsf xk=tracf yk=fldr > shots.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 14] = [
    Param::input("head").required().doc("headers of the traces"),
    Param::string("xk").default_text("fldr").doc("key of axis 2"),
    Param::int("xkey")
        .default_text("that of xk=")
        .doc("its number, counted from 0"),
    Param::string("yk").default_text("tracf").doc("key of axis 3"),
    Param::int("ykey")
        .default_text("that of yk=")
        .doc("its number, counted from 0"),
    Param::int("xmin")
        .default_text("of the headers")
        .doc("first value of the key of axis 2"),
    Param::int("xmax")
        .default_text("of the headers")
        .doc("last value"),
    Param::int("ymin")
        .default_text("of the headers")
        .doc("first value of the key of axis 3"),
    Param::int("ymax")
        .default_text("of the headers")
        .doc("last value"),
    Param::output("mask").doc("mask of the bins that have a trace"),
    Param::output("map").doc("number of the trace in each bin"),
    Param::bool("segy")
        .default("y")
        .doc("y: the first 91 keys are the standard keys of SEG-Y"),
    Param::string("key#")
        .default_text("of the header")
        .doc("name of key # after the keys of SEG-Y"),
    Param::bool("inv").default("n").doc("y is not supported"),
];

/// The largest number of bins.
const MOST: i64 = 1 << 28;

pub fn run(job: &mut Job) -> Result<()> {
    ensure!(
        !job.flag("inv")?,
        "inv=y is not supported: separate the bins with sfwindow and sfput"
    );
    let mut input = job.stdin()?;
    let n = cube::shape(&input)?[0].n;
    let traces = input.len() / n as u64;
    ensure!(
        input.is_seekable(),
        "{} must be a file of binary numbers, because its traces are read out of order: make one with sfdd form=native",
        input.name()
    );
    let mut head = job.input("head")?;
    cube::expect(&head, Kind::Int)?;
    let keys = head.axis(1).n;
    ensure!(
        head.len() == keys as u64 * traces,
        "{} has {} headers and {} has {traces} traces: each trace needs one header",
        head.name(),
        head.len() / keys as u64,
        input.name()
    );
    let names = names(job, &head, keys)?;
    let values: Vec<i32> = head.read_all()?;
    let (across, along) = (
        bins(job, "x", "fldr", &names, &values)?,
        bins(job, "y", "tracf", &names, &values)?,
    );
    let (nx, ny) = (across.1 - across.0 + 1, along.1 - along.0 + 1);
    ensure!(
        nx.saturating_mul(ny) <= MOST,
        "{nx} values of xk= times {ny} of yk= are more than {MOST} bins: select fewer with xmin=, xmax=, ymin= and ymax="
    );
    let mut map = vec![-1i32; (nx * ny) as usize];
    let mut replaced = 0;
    for (i, keys) in values.chunks_exact(keys).enumerate() {
        let (x, y) = (i64::from(keys[across.2]), i64::from(keys[along.2]));
        if (across.0..=across.1).contains(&x) && (along.0..=along.1).contains(&y) {
            let bin = &mut map[((y - along.0) * nx + x - across.0) as usize];
            replaced += usize::from(*bin >= 0);
            *bin = i as i32;
        }
    }
    if replaced > 0 {
        job.warn(&format!(
            "{replaced} of {traces} traces are left out, because a later trace lies in the same bin: choose xk= and yk= so that each trace has its own pair of values (now xk={} and yk={})",
            names[across.2], names[along.2]
        ));
    }
    let keys_of = [("x", across), ("y", along)].map(|(axis, bins)| {
        let of_key = values.iter().skip(bins.2).step_by(keys);
        spread(axis, bins, &names[bins.2], of_key)
    });
    warn_of_empty_bins(job, &map, &keys_of);
    let axes = [
        Axis::new(nx as usize, across.0 as f32, 1.0).label(&names[across.2]),
        Axis::new(ny as usize, along.0 as f32, 1.0).label(&names[along.2]),
    ];
    let mut output = job.output()?;
    for (i, axis) in (2..).zip(&axes) {
        output.set_axis(i, axis);
    }
    output.set_rank(3);
    output.put_int("CDPtype", 1);
    by_kind!(input.format().kind, sort(&mut input, &mut output, n, &map))?;
    output.finish()?;
    for (key, filled) in [("map", None), ("mask", Some(1))] {
        if job.given(key) {
            let mut file = job.tagged_output(key)?;
            file.set_kind(Kind::Int);
            cube::write_axes(&mut file, &axes);
            file.set_rank(2);
            let value = |i: &i32| filled.map_or(*i, |one| if *i < 0 { 0 } else { one });
            file.write_i32(&map.iter().map(value).collect::<Vec<i32>>())?;
            file.finish()?;
        }
    }
    Ok(())
}

/// First and last value of the key of an axis, and the index of that key.
fn bins(job: &Job, axis: &str, usual: &str, names: &[String], values: &[i32]) -> Result<(i64, i64, usize)> {
    let name = job.text(&format!("{axis}k"))?;
    let place = match (name, job.int_opt(&format!("{axis}key"))?) {
        (None, Some(number)) => usize::try_from(number).ok().filter(|k| *k < names.len()),
        (name, _) => {
            let name = name.unwrap_or_else(|| usual.into());
            names.iter().position(|known| *known == name)
        }
    };
    let place = place.with_context(|| {
        format!("{axis}k= or {axis}key= does not name a key of the headers; sfheaderattr desc=y lists them")
    })?;
    let column = || {
        values
            .iter()
            .skip(place)
            .step_by(names.len())
            .map(|x| i64::from(*x))
    };
    let least = job
        .int_opt(&format!("{axis}min"))?
        .or_else(|| column().min())
        .unwrap_or(0);
    let most = job
        .int_opt(&format!("{axis}max"))?
        .or_else(|| column().max())
        .unwrap_or(0);
    ensure!(least <= most, "{axis}min={least} is above {axis}max={most}");
    Ok((least, most, place))
}

/// Warns if more than half of the bins are empty, and gives the reason.
fn warn_of_empty_bins(job: &Job, map: &[i32], keys: &[Spread; 2]) {
    let empty = map.iter().filter(|trace| **trace < 0).count();
    if 2 * empty <= map.len() {
        return;
    }
    let all = map.len();
    let [x, y] = keys.each_ref().map(|key| &key.words);
    if keys.iter().all(|key| key.is_full) {
        job.warn(&format!(
            "{empty} of {all} bins are empty and hold zeros, because not every value of one key occurs with every \
             value of the other: {x}, {y}; sfstack does not count such traces"
        ));
    } else {
        job.warn(&format!(
            "{empty} of {all} bins are empty, because a bin is one unit of its key wide: {x}, {y}; to fill them, use \
             a key that counts traces, such as tracf or cdpt (xkey= and ykey= take a key by its number)"
        ));
    }
}

/// The values of a key between the bounds of its bins.
struct Spread {
    words: String,
    /// Whether every number between the bounds occurs.
    is_full: bool,
}

/// Describes the values of a key: their number, and the greatest common divisor of their differences.
fn spread<'a>(
    axis: &str,
    (least, most, _): (i64, i64, usize),
    name: &str,
    values: impl Iterator<Item = &'a i32>,
) -> Spread {
    let values: BTreeSet<i64> = values
        .map(|value| i64::from(*value))
        .filter(|value| (least..=most).contains(value))
        .collect();
    let steps = values.iter().zip(values.iter().skip(1)).map(|(a, b)| b - a);
    let step = steps.fold(0, divisor);
    let cure = match step > 1 {
        true => format!(
            ", all {step} or a multiple of it apart (sfheadermath output={name}/{step} key={name} makes them neighbours)"
        ),
        false => String::new(),
    };
    let numbers = most - least + 1;
    Spread {
        words: format!(
            "{axis}k={name} has {} of the {numbers} numbers from {least} to {most}{cure}",
            values.len()
        ),
        is_full: values.len() as i64 == numbers,
    }
}

/// The greatest common divisor.
fn divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Writes the trace of every bin; a bin without a trace is filled with zeros.
fn sort<T: Element>(input: &mut Input, output: &mut Output, n: usize, map: &[i32]) -> Result<()> {
    let mut trace: Vec<T> = cube::room(n)?;
    for number in map {
        match u64::try_from(*number) {
            Ok(number) => input.read_at(number * n as u64, &mut trace)?,
            Err(_) => trace.fill(T::zeroed()),
        }
        output.write(&trace)?;
    }
    Ok(())
}
