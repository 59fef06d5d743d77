//! `sfcat` and `sfmerge`: joining datasets along an axis.

use std::ffi::OsString;

use anyhow::{Result, bail};
use rsf_io::{Axis, Element, Input, Job, Output, Param, Program};

use super::cube::{self, by_kind, write_axes};
use super::shots::{Shots, is_of_shots};

pub static SPEC: Program = Program {
    name: "sfcat",
    about: "Join datasets along an axis.",
    usage: "[< first.rsf] second.rsf third.rsf ... axis=3 > out.rsf",
    comments: "All datasets must have the same type and the same lengths of every axis except axis=; different origins \
and samplings are reported, and the values of the first dataset are used. The dataset on standard input, if there is \
one, comes first. The header comes from the first dataset, even if order= puts another dataset before it. Names of \
stations and numbers of shots (stations= and shots= in the header) are joined like the receivers and the shots if all \
datasets have them; otherwise they are left out, with a warning.",
    example: "sfcat axis=2 vx.rsf vz.rsf > both.rsf",
    params: &PARAMS,
};

pub static RCAT: Program = Program {
    name: "sfrcat",
    about: "Join datasets along an axis: another name of sfcat.",
    example: "sfrcat axis=2 vx.rsf vz.rsf > both.rsf",
    ..SPEC
};

pub static MERGE: Program = Program {
    name: "sfmerge",
    about: "Join datasets along an axis, with a gap of zeros between them.",
    usage: "[< first.rsf] second.rsf third.rsf ... axis=3 nspace= > out.rsf",
    example: "sfmerge axis=2 model.rsf data.rsf > both.rsf",
    ..SPEC
};

static PARAMS: [Param; 7] = [
    Param::words("file.rsf ...").doc("the datasets"),
    Param::int("axis")
        .default("3")
        .range("0 to 9", Some(0.0), Some(9.0))
        .doc("axis along which the datasets are joined; 0: the last axis with more than one sample"),
    Param::ints("order")
        .default_text("0,1,2,...")
        .range(">= 0", Some(0.0), None)
        .doc("position of each dataset in the result, counted from 0"),
    Param::float("o")
        .default_text("of the first dataset")
        .doc("origin of the axis"),
    Param::float("d")
        .default_text("of the first dataset")
        .doc("sampling of the axis"),
    Param::bool("space")
        .default_text("n; y for sfmerge")
        .doc("y: a gap of zeros between the datasets"),
    Param::int("nspace")
        .default_text("a twentieth of the mean length, plus 1")
        .range(">= 0", Some(0.0), None)
        .doc("number of samples in each gap"),
];

/// The key in headers with the names of receivers.
const STATIONS: &str = "stations";

/// A dataset that will be joined.
struct Part {
    source: Source,
    /// Its length on the joined axis.
    n: usize,
    /// The names of its receivers, if its header has them.
    stations: Option<String>,
    /// Its shots, if its header lists them.
    shots: Option<Shots>,
}

enum Source {
    Open(Box<Input>),
    /// A file that is opened when it is needed, so that a thousand files need not be open at once.
    File(OsString),
}

pub fn run(job: &mut Job) -> Result<()> {
    join(job, false)
}

pub fn merge(job: &mut Job) -> Result<()> {
    join(job, true)
}

fn join(job: &mut Job, usual: bool) -> Result<()> {
    let (axis, mut axes, mut sources, kind) = open(job)?;
    arrange(job, &mut sources)?;
    let total: usize = sources.iter().map(|part| part.n).sum();
    let gap = match (job.flag_opt("space")?.unwrap_or(usual), job.int_opt("nspace")?) {
        (false, _) => 0,
        (true, Some(gap)) => gap as usize,
        (true, None) => total / (20 * sources.len()) + 1,
    };
    let joined = &mut axes[axis - 1];
    joined.n = total + gap * (sources.len() - 1);
    joined.o = job.float_opt("o")?.unwrap_or(joined.o);
    joined.d = job.float_opt("d")?.unwrap_or(joined.d);
    let mut output = job.output()?;
    write_axes(&mut output, &axes);
    if let Some(names) = names(job, &sources, is_of_receivers(&axes[axis - 1]), gap) {
        output.put_text(STATIONS, &names);
    }
    put_shots(job, &mut output, &sources, is_of_shots(&axes[axis - 1]), gap);
    let (block, outer) = (cube::count(&axes[..axis - 1]) as u64, cube::count(&axes[axis..]));
    let files = sources.len();
    for _ in 0..outer {
        for (number, Part { source, n, .. }) in sources.iter_mut().enumerate() {
            let (elements, last) = (block * *n as u64, number + 1 == files);
            let mut opened;
            let input = match source {
                Source::Open(input) => &mut **input,
                Source::File(path) => {
                    opened = job.open_as(path.to_string_lossy().into_owned(), path)?;
                    &mut opened
                }
            };
            by_kind!(
                kind,
                piece(
                    input,
                    &mut output,
                    elements,
                    if last { 0 } else { block * gap as u64 }
                )
            )?;
        }
    }
    Ok(output.finish()?)
}

/// Copies `elements` elements of a dataset and writes `gap` zeros after them.
fn piece<T: Element>(input: &mut Input, output: &mut Output, elements: u64, gap: u64) -> Result<()> {
    cube::copy::<T>(input, output, elements)?;
    cube::zeros::<T>(output, gap)
}

/// Sorts the datasets by their positions in `order=`; equal positions keep the order of the command line.
fn arrange(job: &Job, sources: &mut Vec<Part>) -> Result<()> {
    let places = job.ints("order")?;
    let Some(last) = places.last() else { return Ok(()) };
    if places.len() != sources.len() {
        job.warn(&format!(
            "order= holds {} positions for {} datasets: the remaining datasets take the last of these positions",
            places.len(),
            sources.len()
        ));
    }
    let mut placed: Vec<_> = std::mem::take(sources).into_iter().enumerate().collect();
    placed.sort_by_key(|(number, _)| places.get(*number).unwrap_or(last));
    sources.extend(placed.into_iter().map(|(_, source)| source));
    Ok(())
}

/// Warns if the sampling of a dataset on the joined axis differs from that of the first, unless d= gives the sampling
/// of the result.
fn warn_of_sampling(job: &Job, axis: usize, first: &Input, other: &Input) -> Result<()> {
    let (a, b) = (first.axis(axis), other.axis(axis));
    if job.float_opt("d")?.is_none() && b.n > 1 && (a.d - b.d).abs() > 1e-3 * a.d.abs() {
        job.warn(&format!(
            "d{axis}={} in {} and d{axis}={} in {}: the joined axis has the first sampling throughout, so \
            the coordinates of the second dataset are wrong (sfremap1 resamples axis 1, and d= gives the \
            sampling of the result)",
            a.d,
            first.name(),
            b.d,
            other.name()
        ));
    }
    Ok(())
}

/// Whether an axis counts receivers, as modelling programs label it.
fn is_of_receivers(axis: &Axis) -> bool {
    axis.label.as_deref() == Some("r")
}

/// The new value of the key with the names of stations, if it changes. Along the axis of receivers these are
/// the names of all datasets, if each has one for every receiver and there are no gaps between the datasets;
/// along other axes all datasets must have the same names. Otherwise the key becomes empty, with a warning.
fn names(job: &Job, parts: &[Part], along: bool, gap: usize) -> Option<String> {
    let given = |part: &Part| part.stations.clone().filter(|names| !names.is_empty());
    let all: Vec<Option<String>> = parts.iter().map(given).collect();
    let own = all.iter().flatten().next()?;
    let leave_out = |why: &str| {
        job.warn(&format!(
            "stations= is left out of the header: {why} (sfput stations= sets the names of the receivers)"
        ));
        Some(String::new())
    };
    if !along {
        let same = all.iter().flatten().all(|names| names == own);
        return match same {
            true => None,
            false => leave_out(
                "the datasets have receivers with different names, and the joined axis does not count receivers",
            ),
        };
    }
    let whole = |(names, part): (&Option<String>, &Part)| {
        names
            .as_ref()
            .is_some_and(|names| names.split(',').count() == part.n)
    };
    match all.iter().zip(parts).all(whole) {
        true if gap == 0 => Some(all.into_iter().flatten().collect::<Vec<String>>().join(",")),
        true => leave_out("the gaps between the datasets have no names"),
        false => leave_out("not every dataset has a name for each of its receivers"),
    }
}

/// Writes the shots of the joined datasets, if any of these lists its shots. Along the axis of shots they are the
/// shots of all datasets, if each lists its shots and the numbers ascend; along other axes all datasets must have the
/// same shots. Otherwise they are not known, with a warning.
fn put_shots(job: &Job, output: &mut Output, parts: &[Part], along: bool, gap: usize) {
    let Some(own) = parts.iter().find_map(|part| part.shots.as_ref()) else {
        return;
    };
    let listed = || {
        parts.iter().filter_map(|part| {
            part.shots
                .as_ref()
                .filter(|shots| !along || shots.len() == part.n)
        })
    };
    let why = if !along {
        if listed().all(|shots| shots.same(own)) {
            return;
        }
        "the datasets have different shots, and the joined axis does not count shots"
    } else if listed().count() < parts.len() {
        "not every dataset lists its shots"
    } else if gap > 0 {
        "the gaps between the datasets are not shots"
    } else if let Some(shots) = Shots::joined(listed()) {
        return shots.put(output);
    } else {
        "the shots of the joined datasets do not ascend; join them in the order of their numbers (order=)"
    };
    Shots::put_unknown(output);
    job.warn(&format!("shots= is left out of the header: {why}"));
}

/// Warns if the origins on the joined axis show that the datasets are in the wrong order, as after sorting by file
/// names (part10 before part2), or that they overlap or leave gaps.
fn warn_of_order(job: &Job, axis: usize, places: &[(Axis, String)]) {
    let [first, .., last] = places else { return };
    let forth = first.0.d >= 0.0;
    let backward = |pair: &&[(Axis, String)]| match forth {
        true => pair[1].0.o < pair[0].0.o,
        false => pair[1].0.o > pair[0].0.o,
    };
    // Datasets that all begin at the same coordinate are not parts of one axis, nor are datasets that are all in
    // reverse order.
    let pairs = || places.windows(2).filter(|pair| pair[1].0.o != pair[0].0.o);
    if let Some(pair) = pairs().find(backward)
        && (pairs().any(|pair| !backward(&pair)) || first.0.o == last.0.o)
    {
        job.warn(&format!(
            "{} begins at o{axis}={} and follows {}, which begins at o{axis}={}: datasets are joined in the order in which they are named, and the axis keeps o{axis} and d{axis} of the first; order= changes their order",
            pair[1].1, pair[1].0.o, pair[0].1, pair[0].0.o
        ));
        return;
    }
    // The datasets are parts of one axis, in order: a gap or an overlap shifts all parts after it.
    if !pairs().any(|pair| !backward(&pair)) {
        return;
    }
    let mut next = 0;
    for (own, name) in places {
        let place = f64::from(first.0.o) + next as f64 * f64::from(first.0.d);
        if (f64::from(own.o) - place).abs() > 0.01 * f64::from(first.0.d).abs() {
            job.warn(&format!(
                "{name} begins at o{axis}={}, but on the joined axis it begins at {}, because that axis continues in steps of d{axis}={} without gaps: sfpad fills a gap, and sfwindow removes an overlap",
                own.o,
                place as f32,
                first.0.d
            ));
            return;
        }
        next += own.n;
    }
}

/// The number of the joined axis, the axes of the first dataset, every dataset, and the type.
type Opened = (usize, Vec<Axis>, Vec<Part>, rsf_io::Kind);

/// Opens every dataset and checks that it fits the first one.
fn open(job: &mut Job) -> Result<Opened> {
    let axis_of = |job: &Job, first: &Input| -> Result<usize> {
        Ok(match job.int("axis")? as usize {
            0 => first.rank(),
            axis => axis,
        })
    };
    let mut first = job.stdin_if_any()?;
    let mut sources = Vec::new();
    let mut places = Vec::new();
    for path in job.words().to_vec() {
        let input = job.open_as(path.to_string_lossy().into_owned(), &path)?;
        let Some(first) = &first else {
            job.follow(&input);
            first = Some(input);
            continue;
        };
        let axis = axis_of(job, first)?;
        cube::agree(job, first, &input, Some(axis))?;
        warn_of_sampling(job, axis, first, &input)?;
        let (n, stations) = (input.axis(axis).n, input.header().text(STATIONS));
        let shots = Shots::of(input.header());
        places.push((input.axis(axis), input.name().to_string()));
        let inner = cube::shape_to(&input, axis)?.len() == axis;
        let source = if inner {
            Source::File(path)
        } else {
            Source::Open(Box::new(input))
        };
        sources.push(Part {
            source,
            n,
            stations,
            shots,
        });
    }
    let Some(first) = first else {
        bail!("no dataset is given: name files, or give one on standard input");
    };
    let axis = axis_of(job, &first)?;
    let axes = cube::shape_to(&first, axis)?;
    let (n, kind) = (first.axis(axis).n, first.format().kind);
    if job.ints("order")?.is_empty() {
        places.insert(0, (first.axis(axis), first.name().to_string()));
        warn_of_order(job, axis, &places);
    }
    let (stations, shots) = (first.header().text(STATIONS), Shots::of(first.header()));
    let first = Part {
        source: Source::Open(Box::new(first)),
        n,
        stations,
        shots,
    };
    sources.insert(0, first);
    Ok((axis, axes, sources, kind))
}
