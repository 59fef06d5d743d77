//! `sfbasics grey`: a plane of a dataset in colours.

use anyhow::{Result, ensure};
use rsf_io::{Axis, Input, Job, Param, Program};

use super::delivery::{Delivery, PICTURES};
use super::drawing::{Rect, Svg};
use super::frame::{Frame, Page};
use super::gain::{GAIN, Scale};
use super::pixels::{Rgba, raster_png};
use super::plane::{Plane, Selection};
use super::samples::Samples;
use super::standard::{self, ScreenAxis, Turns};
use super::words::{STANDARD, joined};

/// Parameters and documentation of `sfgrey`.
pub static SPEC: Program = Program {
    name: "sfgrey",
    about: "Draw a plane of a dataset in colours, as PNG, SVG or PDF.",
    usage: "< plane.rsf title= color=bluered > plane.png",
    comments: "Axis 1 runs downwards and axis 2 to the right. vertical=, horizontal= and frame= select a plane of a \
larger dataset: for seismograms of a modelling program (receiver, component, time), vertical=3 horizontal=1 frame=0 \
shows the vertical component. Without them the first plane of a cube is drawn; sfbasics movie draws all planes.\n\n\
Real numbers are coloured according to clip= or pclip=; bytes (from sfbyte) are colour numbers. A pixel that covers \
several samples shows their mean. NaN is drawn in magenta.\n\n\
The parameters are the same as in Madagascar's sfgrey, with these differences: the title is above and the horizontal \
axis below the picture, real numbers get a colour bar, gainpanel=each is the default, color=j is viridis, and if both \
axes have the same unit they have the same scale, unless a size is given (width= height= screenratio= ...).",
    example: "sfbasics grey < wfl.rsf frame=0,12 color=bluered title=\"Vertical\" > wfl.png",
    params: &PARAMS,
};

const OWN: [Param; 5] = [
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
        .default_text("y for axes with a label")
        .doc("print the coordinates on the axes that are not shown"),
    Param::bool("pad")
        .default_text("n")
        .doc("accepted without effect: planes always fill the box"),
];

static PARAMS: [Param; OWN.len() + GAIN.len() + STANDARD.len()] = joined(&[&OWN, &GAIN, &STANDARD]);

/// Runs `sfgrey`.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let selection = selection(job, &input)?;
    let delivery = Delivery::of(job, &PICTURES)?;
    let mut samples = Samples::of(job, &input)?;
    let plane = selection.read(&mut input, &mut samples)?;
    let scale = Scale::of(job, &input, &samples)?;
    let mut frame = frame(job, &input, &selection)?;
    let number = job.ints("frame")?.first().copied().unwrap_or(0);
    frame.bar = scale.bar(job, &input, number.max(0) as u64)?;
    frame.note = note(job, &selection)?;
    let svg = draw(&frame, &plane, &scale, Turns::of(job)?, delivery.fineness)?;
    delivery.picture(&svg)
}

/// The plane that the parameters select.
pub fn selection(job: &Job, input: &Input) -> Result<Selection> {
    selection_at(job, input, &job.ints("frame")?)
}

/// The plane at the indices `frame` on the axes that are not shown.
pub fn selection_at(job: &Job, input: &Input, frame: &[i64]) -> Result<Selection> {
    let mut selection = Selection::new(input, job.int("vertical")?, job.int("horizontal")?, frame)?;
    for number in [1, 2] {
        let (min, max) = (format!("min{number}"), format!("max{number}"));
        selection.narrow(number, job.double_opt(&min)?, job.double_opt(&max)?)?;
    }
    Ok(selection)
}

/// The frame around the raster, without the colour bar.
pub fn frame(job: &Job, input: &Input, selection: &Selection) -> Result<Frame> {
    let (one, two) = selection.sides();
    let turns = Turns::of(job)?;
    let axes = selection.axes();
    let one = standard::window(job, 1, one.first, one.last)?;
    let two = standard::window(job, 2, two.first, two.last)?;
    let one = ScreenAxis::new(job, axes.0, 1, one)?;
    let two = ScreenAxis::new(job, axes.1, 2, two)?;
    let frame = turns.frame(job, input.header(), one, two)?;
    let (across, down) = (&frame.across, &frame.down);
    let same_unit = !across.unit.is_empty() && across.unit == down.unit;
    let ratio = ((down.high - down.low) / (across.high - across.low)).abs();
    // The ratio is limited, because nothing could be seen in a very flat or very tall picture.
    let ratio = if same_unit { ratio.clamp(0.2, 2.0) } else { 0.75 };
    Ok(Frame {
        grid: standard::grid(job, (false, false), false)?,
        sizing: standard::sizing(job, ratio)?,
        ..frame
    })
}

/// The text with the coordinates of the plane on the axes that are not shown.
pub fn note(job: &Job, selection: &Selection) -> Result<Option<String>> {
    let numbered = job.flag_opt("wantframenum")?;
    if numbered == Some(false) {
        return Ok(None);
    }
    let frame = job.ints("frame")?;
    let axes = selection.all_axes();
    let others = selection.others();
    let longer = others.iter().enumerate().filter(|(_, axis)| axes[**axis].n > 1);
    let mut parts = Vec::new();
    for (position, &axis) in longer {
        // A number without a label is not informative, so it is written only on request.
        let named = axes[axis].label.as_ref().is_some_and(|label| !label.is_empty());
        if !named && numbered.is_none() && !(axis == 2 && job.given("label3")) {
            continue;
        }
        let index = frame.get(position).copied().unwrap_or(0).max(0) as usize;
        parts.push(position_text(job, &axes[axis], axis + 1, index)?);
    }
    let text = parts.join(", ");
    Ok((!text.is_empty()).then_some(text))
}

/// `time = 0.40 s`: sample `index` of the axis with this number (counted from 1).
pub fn position_text(job: &Job, axis: &Axis, number: usize, index: usize) -> Result<String> {
    let place = f64::from(axis.o) + index as f64 * f64::from(axis.d);
    // The number has as many decimals as the sampling interval, so that the text keeps its width from frame
    // to frame.
    let step = f64::from(axis.d.abs());
    let digits = (0..6).find(|&digits| {
        let scaled = step * 10f64.powi(digits);
        (scaled - scaled.round()).abs() < 1e-3 * scaled
    });
    let (label, unit) = match number {
        3 => standard::named(job, axis, number)?,
        _ => (
            axis.label.clone().unwrap_or_default(),
            axis.unit.clone().unwrap_or_default(),
        ),
    };
    let label = if label.is_empty() {
        format!("axis {number}")
    } else {
        label
    };
    let digits = digits.unwrap_or(6) as usize;
    let place = format!("{place:.digits$}").replace('-', "\u{2212}");
    Ok(format!("{label} = {place} {unit}").trim_end().to_string())
}

/// The picture of a plane.
pub fn draw(frame: &Frame, plane: &Plane, scale: &Scale, turns: Turns, fineness: f64) -> Result<Svg> {
    let mut page = frame.open()?;
    raster(&mut page, plane, scale, turns, fineness)?;
    page.close()
}

/// Draws the plane inside the box.
pub fn raster(page: &mut Page, plane: &Plane, scale: &Scale, turns: Turns, fineness: f64) -> Result<()> {
    let coordinates = |one: f64, two: f64| if turns.transp { (two, one) } else { (one, two) };
    let (across, down) = coordinates(plane.one.first, plane.two.first);
    let begin = page.place(across, down);
    let (across, down) = coordinates(plane.one.last, plane.two.last);
    let end = page.place(across, down);
    let place = Rect {
        x: begin.0.min(end.0),
        y: begin.1.min(end.1),
        width: (end.0 - begin.0).abs(),
        height: (end.1 - begin.1).abs(),
    };
    ensure!(
        place.width.is_finite() && place.height.is_finite(),
        "the axes of the plane cannot be drawn: their sampling intervals are too small relative to their origins (sfput sets d1= o1= d2= o2=)"
    );
    let pixels = |length: f64| ((length * fineness).round() as usize).max(1);
    let (wide, high) = (pixels(place.width), pixels(place.height));
    let plane = plane.shown(
        if turns.transp { (high, wide) } else { (wide, high) },
        scale.smooth,
    );
    let turned = (begin.0 > end.0, begin.1 > end.1);
    let (mut width, mut colours) = colours_of(&plane, scale, turns.transp, turned);
    let mut place = place;
    if place.width > MAGNIFIED * page.rect.width || place.height > MAGNIFIED * page.rect.height {
        (width, colours) = seen(&colours, width, place, page.rect, fineness);
        place = page.rect;
    }
    let image = raster_png(width, &colours)?;
    page.drawing.inside(page.rect);
    page.drawing.image("png", &image, place);
    page.drawing.end();
    Ok(())
}

/// A raster that is larger than the box by more than this factor is resampled to the pixels of the box, because its
/// coordinates could become too large to be drawn.
const MAGNIFIED: f64 = 4.0;

/// Width and colours of the pixels of `rect`, resampled from a raster that covers `place`.
fn seen(colours: &[Rgba], width: usize, place: Rect, rect: Rect, fineness: f64) -> (usize, Vec<Rgba>) {
    let height = colours.len() / width;
    let pixels = |length: f64| ((length * fineness).ceil() as usize).max(1);
    let (wide, high) = (pixels(rect.width), pixels(rect.height));
    let sample =
        |at: f64, length: f64, samples: usize| ((at / length * samples as f64) as usize).min(samples - 1);
    let column = |x: usize| {
        let at = rect.x + (x as f64 + 0.5) / wide as f64 * rect.width;
        sample(at - place.x, place.width, width)
    };
    let row = |y: usize| {
        let at = rect.y + (y as f64 + 0.5) / high as f64 * rect.height;
        sample(at - place.y, place.height, height)
    };
    let columns: Vec<usize> = (0..wide).map(column).collect();
    let lines = (0..high).flat_map(|y| {
        let line = row(y) * width;
        columns.iter().map(move |x| colours[line + x])
    });
    (wide, lines.collect())
}

/// Width and colours, row after row, of a plane whose axis 1 runs down (`transp`) or to the right; `turned`
/// says whether the horizontal and the vertical axis, respectively, are reversed.
pub fn colours_of(plane: &Plane, scale: &Scale, transp: bool, turned: (bool, bool)) -> (usize, Vec<Rgba>) {
    let (rows, columns) = (plane.one.samples, plane.two.samples);
    let (width, height) = if transp { (columns, rows) } else { (rows, columns) };
    let mut colours = Vec::with_capacity(rows * columns);
    for y in 0..height {
        let y = if turned.1 { height - 1 - y } else { y };
        for x in 0..width {
            let x = if turned.0 { width - 1 - x } else { x };
            let (row, column) = if transp { (y, x) } else { (x, y) };
            colours.push(scale.pixel(plane.values[column * rows + row]));
        }
    }
    (width, colours)
}
