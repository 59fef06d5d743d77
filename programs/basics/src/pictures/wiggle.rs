//! `sfbasics wiggle`: traces as curves side by side.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Input, Job, Param, Program};

use super::colours::PALE;
use super::delivery::{Delivery, PICTURES};
use super::drawing::{Place, Stroke};
use super::frame::{Frame, Page};
use super::lines::{Pens, thinned};
use super::plane::step_of;
use super::samples::quantile;
use super::standard::{self, ScreenAxis, Turns};
use super::words::{STANDARD, joined, real};
use crate::data::cube;

/// The largest number of samples. More could not be distinguished, and might not fit into memory.
const MOST_SAMPLES: u64 = 1 << 27;

/// Parameters and documentation of `sfwiggle`.
pub static SPEC: Program = Program {
    name: "sfwiggle",
    about: "Draw traces as curves side by side, as PNG, SVG or PDF.",
    usage: "< shot.rsf transp=y yreverse=y poly=y > shot.png",
    comments: "Axis 1 (time) runs to the right, and the traces (axis 2) are drawn one above the other; with transp=y \
yreverse=y time runs downwards, as in seismic sections. frame= selects a plane of a cube.\n\n\
The parameters are the same as in Madagascar's sfwiggle, with these differences: pale lines mark the numbers of axis 1 \
(grid=n leaves them out), and the pen is black.",
    example: "sfbasics wiggle < shot.rsf transp=y yreverse=y poly=y wherexlabel=t > shot.png",
    params: &PARAMS,
};

const OWN: [Param; 21] = [
    Param::bool("transp")
        .default("n")
        .doc("y: axis 1 runs along the vertical axis"),
    Param::bool("yreverse")
        .default("n")
        .doc("y: the vertical axis increases downwards"),
    Param::bool("xreverse")
        .default("n")
        .doc("y: the horizontal axis increases to the left"),
    Param::bool("poly")
        .default("n")
        .doc("y: fill the parts above zero"),
    Param::bool("seemean")
        .default("n")
        .doc("y: draw the zero lines of the traces"),
    real(
        "zplot",
        "0.75",
        "deflection of a sample with the value of clip=, as a multiple of the distance between traces",
    ),
    Param::input("xpos")
        .default_text("axis 2")
        .doc("file with the positions of the traces, one real number for each"),
    real("xmin", "first trace", "smallest position of the axis of traces"),
    real("xmax", "last trace", "largest position of the axis of traces"),
    real(
        "clip",
        "from pclip=",
        "value that is drawn with the width zplot=, more than 0",
    ),
    Param::float("pclip")
        .default("98")
        .range("0 to 100", Some(0.0), Some(100.0))
        .doc("percentage of values within clip"),
    Param::ints("plotcol")
        .default_text("7")
        .doc("colour of the traces: 0 white, 1 blue, 2 red, 3 purple, 4 green, 5 sky, 6 orange, 7 black"),
    Param::ints("plotfat")
        .default_text("0")
        .doc("thickness of the traces"),
    Param::floats("dash")
        .default_text("0")
        .doc("dash pattern of the traces, numbered as in sfgraph"),
    Param::int("fatp")
        .default("1")
        .doc("accepted without effect: filled parts have no outline"),
    Param::int("xmask")
        .default("1")
        .doc("accepted without effect: filled parts are filled completely"),
    Param::int("ymask")
        .default("1")
        .doc("accepted without effect: filled parts are filled completely"),
    Param::int("frame")
        .default("0")
        .range("0 or more", Some(0.0), None)
        .doc("plane of a cube, counted from 0"),
    Param::bool("scalebar")
        .alias("wantscalebar")
        .default_text("n")
        .doc("accepted without effect: wiggles have no colour bar"),
    Param::bool("pad")
        .default_text("n")
        .doc("accepted without effect: traces have room at both ends"),
    Param::bool("verb").default("n").doc("y: print the clip"),
];

static PARAMS: [Param; OWN.len() + STANDARD.len()] = joined(&[&OWN, &STANDARD]);

/// The traces, their positions, and the scale of their values.
struct Traces {
    axis: Axis,
    values: Vec<f32>,
    zeros: Vec<f64>,
    scale: f64,
}

/// Runs `sfwiggle`.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let delivery = Delivery::of(job, &PICTURES)?;
    let mut traces = read(job, &mut input)?;
    let frame = frame(job, &input, &mut traces)?;
    let mut page = frame.open()?;
    page.drawing.inside(page.rect);
    draw(job, &mut page, &traces)?;
    page.drawing.end();
    delivery.picture(&page.close()?)
}

fn read(job: &mut Job, input: &mut Input) -> Result<Traces> {
    let (axis, two) = (input.axis(1), input.axis(2));
    let plane = (axis.n * two.n) as u64;
    ensure!(!input.is_empty(), "{} holds no samples", input.name());
    ensure!(
        plane <= MOST_SAMPLES,
        "{} traces of {} samples are too many for wiggles; extract a part of them (sfwindow), or draw them \
        with grey",
        two.n,
        axis.n
    );
    let (frame, planes) = (job.int("frame")? as u64, input.len() / plane);
    ensure!(
        frame < planes,
        "frame={frame}: {} has {planes} planes, counted from 0 to {}",
        input.name(),
        planes - 1
    );
    input.skip(frame * plane)?;
    let mut values = vec![0.0f32; plane as usize];
    input.read_f32(&mut values)?;
    if !input.is_seekable() {
        input.skip(input.remaining())?;
    }
    let zeros = if job.has_input("xpos") {
        positions(job, two.n, frame)?
    } else {
        (0..two.n)
            .map(|index| f64::from(two.o) + index as f64 * step_of(&two))
            .collect()
    };
    Ok(Traces {
        axis,
        values,
        zeros,
        scale: 0.0,
    })
}

/// Reads the positions of the traces from a file.
fn positions(job: &mut Job, traces: usize, frame: u64) -> Result<Vec<f64>> {
    let mut file = job.input("xpos")?;
    let begin = frame * traces as u64;
    ensure!(
        file.len() >= begin + traces as u64,
        "{} holds {} positions, but plane {frame} of the traces needs {} to {}",
        file.name(),
        file.len(),
        begin,
        begin + traces as u64 - 1
    );
    file.skip(begin)?;
    let mut positions = vec![0.0f32; traces];
    file.read_f32(&mut positions)?;
    Ok(positions.into_iter().map(f64::from).collect())
}

/// The value whose deflection is `zplot=`; 0 if all values are 0.
fn clip(job: &Job, input: &Input, values: &[f32]) -> Result<f64> {
    if let Some(clip) = job.float_opt("clip")? {
        ensure!(
            clip > 0.0,
            "clip={clip}: it must be more than 0; leave it out to compute it from pclip="
        );
        return Ok(f64::from(clip));
    }
    let clip = quantile(values.iter().map(|value| value.abs()), job.float("pclip")?);
    if clip == 0.0 {
        let numbers = || values.iter().filter(|value| value.is_finite());
        let straight = |why: &str| format!("the traces are drawn as straight lines: {why}");
        job.warn(&match (
            numbers().next().is_some(),
            cube::across_time(&cube::shape(input)?),
        ) {
            (true, Some(odd)) => straight(&odd),
            (true, None) if numbers().all(|value| *value == 0.0) => {
                straight(&format!("all values are 0{}", cube::of_planes(input)))
            }
            (true, None) => straight("all values that pclip= uses are 0; try pclip=100"),
            (false, _) => "the traces are not drawn: all values are NaN or infinite".into(),
        });
    }
    Ok(f64::from(clip))
}

fn frame(job: &Job, input: &Input, traces: &mut Traces) -> Result<Frame> {
    let finite = || traces.zeros.iter().copied().filter(|zero| zero.is_finite());
    let low = job
        .double_opt("xmin")?
        .unwrap_or_else(|| finite().fold(f64::INFINITY, f64::min));
    let high = job
        .double_opt("xmax")?
        .unwrap_or_else(|| finite().fold(f64::NEG_INFINITY, f64::max));
    ensure!(
        low <= high,
        "the axis of traces would extend from xmin={low} to xmax={high}: give xmin= below xmax="
    );
    let distance = match traces.zeros.len() {
        1 => 1.0,
        _ if low == high => 1.0,
        count => (high - low) / (count - 1) as f64,
    };
    let room = job.double_opt("zplot")?.unwrap_or(0.75) * distance;
    let clip = clip(job, input, &traces.values)?;
    if job.flag("verb")? {
        job.say(&format!("clip={clip}"));
    }
    traces.scale = if clip > 0.0 { room / clip } else { 0.0 };

    let turns = Turns::of(job)?;
    let step = step_of(&traces.axis);
    let first = f64::from(traces.axis.o);
    let last = first + (traces.axis.n.max(2) - 1) as f64 * step;
    let one = standard::window(job, 1, first, last)?;
    let two = standard::window(job, 2, low - room.abs(), high + room.abs())?;
    let one = ScreenAxis::new(job, &traces.axis, 1, one)?;
    let two = ScreenAxis::new(job, &input.axis(2), 2, two)?;
    Ok(Frame {
        grid: standard::grid(job, (!turns.transp, turns.transp), true)?,
        ..turns.frame(job, input.header(), one, two)?
    })
}

fn draw(job: &Job, page: &mut Page, traces: &Traces) -> Result<()> {
    let pens = Pens::of(job, &[7], 1.0)?;
    let stroke = pens.stroke(0);
    let transp = job.flag("transp")?;
    let (poly, seemean) = (job.flag("poly")?, job.flag("seemean")?);
    let step = step_of(&traces.axis);
    let n = traces.axis.n;
    for (values, &zero) in traces.values.chunks(n).zip(&traces.zeros) {
        let along = |sample: f64| f64::from(traces.axis.o) + sample * step;
        let place = |sample: f64, value: f64| {
            let (one, two) = (along(sample), zero + value * traces.scale);
            if transp {
                page.place(two, one)
            } else {
                page.place(one, two)
            }
        };
        let thin = |points: &[Place]| match transp {
            true => thinned(points, |p| p.1, |p| p.0),
            false => thinned(points, |p| p.0, |p| p.1),
        };
        let mean = [place(0.0, 0.0), place(n as f64 - 1.0, 0.0)];
        let points: Vec<Place> = values
            .iter()
            .enumerate()
            .map(|(sample, value)| place(sample as f64, f64::from(*value)))
            .collect();
        let positive = poly.then(|| {
            let bounded = above_zero(values)
                .into_iter()
                .map(|(sample, value)| place(sample, value));
            thin(&bounded.collect::<Vec<Place>>())
        });
        let pieces: Vec<Vec<Place>> = points
            .split(|point| !(point.0.is_finite() && point.1.is_finite()))
            .map(thin)
            .collect();
        if seemean {
            page.drawing.line(&mean, &Stroke::solid(PALE, 1.0));
        }
        if let Some(rim) = positive {
            page.drawing.area(&rim, stroke.colour);
        }
        for piece in &pieces {
            page.drawing.line(piece, &stroke);
        }
    }
    Ok(())
}

/// The outline of the positive parts of a trace, from the first to the last sample, with the zero crossings between
/// samples.
fn above_zero(values: &[f32]) -> Vec<Place> {
    let value = |index: usize| match values[index] {
        value if value.is_finite() => f64::from(value),
        _ => 0.0,
    };
    let mut rim = vec![(0.0, 0.0)];
    for index in 0..values.len() {
        if index > 0 {
            let (before, here) = (value(index - 1), value(index));
            if (before > 0.0) != (here > 0.0) && before != here {
                rim.push((index as f64 - here / (here - before), 0.0));
            }
        }
        if value(index) > 0.0 {
            rim.push((index as f64, value(index)));
        }
    }
    rim.push((values.len() as f64 - 1.0, 0.0));
    rim
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_parts_end_at_zero() {
        let rim = above_zero(&[-1.0, 1.0, 3.0, -1.0, f32::NAN, 2.0]);
        let expected = [
            (0.0, 0.0),
            (0.5, 0.0),
            (1.0, 1.0),
            (2.0, 3.0),
            (2.75, 0.0),
            (4.0, 0.0),
            (5.0, 2.0),
            (5.0, 0.0),
        ];
        assert_eq!(rim, expected);
    }
}
