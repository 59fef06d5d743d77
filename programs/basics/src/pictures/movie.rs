//! `sfbasics movie`: planes of a dataset as an animation.

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use rsf_io::{Input, Job, Param, Program};

use super::animation::Animation;
use super::delivery::{Delivery, Kind};
use super::frame::Frame;
use super::gain::{GAIN, Scale};
use super::grey::{self, draw, position_text};
use super::pixels::{Pixels, room_for};
use super::plane::{Plane, Selection};
use super::samples::Samples;
use super::standard::Turns;
use super::words::{STANDARD, joined, real};

/// The largest number of values of all pictures together (2 GiB).
const MOST_VALUES: usize = 1 << 29;

/// Parameters and documentation of `sfmovie`.
pub static SPEC: Program = Program {
    name: "sfmovie",
    about: "Draw planes of a dataset one after another, as an animated PNG or a GIF.",
    usage: "< wfl.rsf color=bluered title= > wfl.png",
    comments: "Every picture is drawn as by sfbasics grey, with the coordinate of its plane under the title, and all \
    pictures have the same mapping from values to colours. The pictures run along axis=; frame= selects an index on any \
    further axis. For snapshots of a modelling program (z, x, component, time), axis=4 frame=0 shows the vertical \
    component.\n\n\
    Without clip=, pclip= gives a clip for every picture, and all pictures use the same percentile of these clips; \
    with gainpanel=all it is computed from all planes of axes 1 and 2, and with a number from \
    that plane.",
    example: "sfbasics movie < wfl.rsf axis=4 frame=0 color=bluered jframe=2 delay=0.08 > wfl.gif",
    params: &PARAMS,
};

const OWN: [Param; 9] = [
    Param::bool("transp")
        .default("y")
        .doc("y: axis 1 runs downwards; n: the two axes are exchanged"),
    Param::bool("yreverse")
        .default("y")
        .doc("y: the vertical axis increases downwards; n: upwards"),
    Param::bool("xreverse")
        .default("n")
        .doc("y: the horizontal axis increases to the left; n: rightwards"),
    Param::bool("wantframenum")
        .default("y")
        .doc("print the coordinate of each picture"),
    Param::int("axis")
        .default_text("the first that is not shown and has more than one plane")
        .range("1 to 9", Some(1.0), Some(9.0))
        .doc("axis of the data along which the pictures run"),
    Param::int("fframe")
        .default("0")
        .range("0 or more", Some(0.0), None)
        .doc("first picture, counted from 0 on that axis"),
    Param::int("jframe")
        .default("1")
        .range("1 or more", Some(1.0), None)
        .doc("every jframe-th plane becomes a picture"),
    Param::int("nframe")
        .default_text("all")
        .range("1 or more", Some(1.0), None)
        .doc("largest number of pictures"),
    real("delay", "0.1", "time for which a picture is shown, in seconds").range(
        "0.01 to 60",
        Some(0.01),
        Some(60.0),
    ),
];

static PARAMS: [Param; OWN.len() + GAIN.len() + STANDARD.len()] = joined(&[&OWN, &GAIN, &STANDARD]);

/// Runs `sfmovie`.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let delivery = Delivery::of(job, &[Kind::Png, Kind::Gif])?;
    let (selection, axis) = selection(job, &input)?;
    let indices = indices(job, selection.all_axes()[axis].n)?;
    let mut samples = Samples::of(job, &input)?.of_pictures();
    let mut frame = grey::frame(job, &input, &selection)?;
    let planes = read(
        &mut input,
        (&selection, axis),
        &indices,
        &mut samples,
        pixels(&frame, delivery.fineness)?,
    )?;
    let scale = Scale::of(job, &input, &samples)?;
    frame.bar = scale.bar(job, &input, 0)?;
    let turns = Turns::of(job)?;
    let numbered = job.flag("wantframenum")?;
    let along = &selection.all_axes()[axis];
    let size = frame.open()?.drawing.page();
    room_for(size.0 * size.1 * delivery.fineness.powi(2), indices.len())?;
    let pictures = planes.par_iter().zip(&indices).map(|(plane, &index)| {
        let mut frame = frame.clone();
        if numbered {
            frame.note = Some(position_text(job, along, axis + 1, index)?);
        }
        draw(&frame, plane, &scale, turns, delivery.fineness)?.pixels(delivery.fineness)
    });
    let pictures: Vec<Pixels> = pictures.collect::<Result<_>>()?;
    let movie = Animation::new(pictures, job.double_opt("delay")?.unwrap_or(0.1))?;
    delivery.write(&movie.encode(delivery.kind)?)
}

/// The planes of all pictures, and the axis (from 0) along which the pictures run.
fn selection(job: &Job, input: &Input) -> Result<(Selection, usize)> {
    let (one, two) = (job.int("vertical")?, job.int("horizontal")?);
    let rank = input.rank() as i64;
    let others: Vec<i64> = (1..=rank)
        .filter(|number| *number != one && *number != two)
        .collect();
    let axis = match job.int_opt("axis")? {
        Some(axis) => axis,
        None => *others
            .iter()
            .find(|number| input.axis(**number as usize).n > 1)
            .or(others.first())
            .with_context(|| format!("{} has only one plane; draw it with sfbasics grey", input.name()))?,
    };
    let place = others
        .iter()
        .position(|number| *number == axis)
        .with_context(|| {
            format!("axis={axis}: the pictures can run along axes {others:?}, which are not shown in them")
        })?;
    // frame= contains only indices on the other axes.
    let mut frame = job.ints("frame")?;
    ensure!(
        frame.len() < others.len(),
        "frame= holds {} indices, but {} axes other than axis={axis} are not shown",
        frame.len(),
        others.len() - 1
    );
    frame.resize(others.len() - 1, 0);
    frame.insert(place, 0);
    let selection = grey::selection_at(job, input, &frame)?;
    Ok((selection, axis as usize - 1))
}

/// The indices of the pictures on their axis.
fn indices(job: &Job, n: usize) -> Result<Vec<usize>> {
    let (first, every) = (job.int("fframe")? as usize, job.int("jframe")? as usize);
    ensure!(
        first < n,
        "fframe={first}: there are {n} planes, counted from 0 to {}",
        n - 1
    );
    let most = job.int_opt("nframe")?.map_or(n, |most| most as usize);
    Ok((first..n).step_by(every).take(most).collect())
}

/// The number of pixels on a side beyond which a plane is thinned while it is read.
fn pixels(frame: &Frame, fineness: f64) -> Result<usize> {
    // Twice the resolution of the picture, so that the second thinning to the picture has no visible effect.
    let rect = frame.open()?.rect;
    Ok((2.0 * fineness * rect.height.max(rect.width)) as usize)
}

/// Reads the planes of these `indices` along `axis`, thinned to at most `most` pixels on each side.
fn read(
    input: &mut Input,
    (selection, axis): (&Selection, usize),
    indices: &[usize],
    samples: &mut Samples,
    most: usize,
) -> Result<Vec<Plane>> {
    let (first, last) = (indices[0], indices[indices.len() - 1]);
    let mut all = selection.clone();
    all.take(axis, first..last + 1);
    let (mut planes, mut index, mut held) = (Vec::with_capacity(indices.len()), first, 0);
    all.read_each(input, samples, |plane| {
        if indices.get(planes.len()) == Some(&index) {
            let plane = plane.thinned((most, most));
            held += plane.values.len();
            ensure!(
                held <= MOST_VALUES,
                "the pictures of the movie hold more than {MOST_VALUES} values; draw fewer pictures (jframe= nframe=) or smaller ones (width= min1= max1= ...)"
            );
            planes.push(plane);
        }
        index += 1;
        Ok(())
    })?;
    Ok(planes)
}
