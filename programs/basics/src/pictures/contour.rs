//! `sfbasics contour`: contour lines.

use anyhow::{Result, ensure};
use rsf_io::{Input, Job, Param, Program};

use super::axes::Letters;
use super::colours::{BLACK, Colours, WHITE};
use super::delivery::{Delivery, PICTURES};
use super::drawing::{Anchor, CAPITAL, Place, Rect, Rgb, text_width};
use super::frame::{BAR_STEPS, Frame, Page};
use super::gain::bar_of;
use super::grey;
use super::levels;
use super::lines::Pens;
use super::plane::{Plane, Selection};
use super::samples::Samples;
use super::standard::{self, ScreenAxis, Turns};
use super::ticks::{TickRule, Ticks};
use super::words::{STANDARD, joined, real, word};

/// The width of lines without `plotfat=`.
const WIDTH: f64 = 1.3;
/// The largest number of lines.
const MOST_LEVELS: i64 = 10_000;

/// Parameters and documentation of `sfcontour`.
pub static SPEC: Program = Program {
    name: "sfcontour",
    about: "Draw contour lines, as PNG, SVG or PDF.",
    usage: "< times.rsf c0=0 dc=0.1 > times.png",
    comments: "Axis 1 runs downwards and axis 2 to the right; vertical=, horizontal= and frame= select a plane of a \
larger dataset, as in sfgrey. Without c=, cfile=, c0= or dc= the lines are drawn at round numbers.\n\n\
The parameters are the same as in Madagascar's sfcontour, with these differences: the pen is black unless plotcol= or \
color= is given, and clabel=y writes the values on the lines.",
    example: "sfbasics contour < times.rsf dc=0.25 clabel=y > times.png",
    params: &PARAMS,
};

const OWN: [Param; 33] = [
    Param::bool("transp")
        .default("y")
        .doc("y: axis 1 runs downwards; n: the two axes are exchanged"),
    Param::bool("yreverse")
        .default("y")
        .doc("y: the vertical axis increases downwards; n: upwards"),
    Param::bool("xreverse")
        .default("n")
        .doc("y: the horizontal axis increases to the left; n: rightwards"),
    Param::int("nc")
        .default("50")
        .range("1 to 10000", Some(1.0), Some(10000.0))
        .doc("largest number of contour levels (with c0= and dc=, the exact number)"),
    real("c0", "a round number", "first contour level"),
    real(
        "dc",
        "a round number",
        "interval between contour levels, more than 0",
    ),
    Param::floats("c")
        .default_text("from c0= dc= nc=")
        .doc("contour levels"),
    Param::input("cfile")
        .default_text("from c=")
        .doc("file with the contour levels"),
    Param::bool("allpos")
        .default("y")
        .doc("y: no lines for negative values (other lines are drawn whole, even next to negative samples)"),
    Param::bool("clabel")
        .default("n")
        .doc("y: write the values on the lines"),
    word(
        "color",
        "one pen",
        "colour table for the contour levels, as in sfgrey",
    ),
    Param::bool("polarity")
        .default("n")
        .doc("y: the order of the colours is reversed"),
    Param::ints("plotcol")
        .default_text("7")
        .doc("colour of each line: 0 white, 1 blue, 2 red, 3 purple, 4 green, 5 sky, 6 orange, 7 black"),
    Param::ints("plotfat")
        .default_text("0")
        .doc("thickness of each line"),
    Param::floats("dash")
        .default_text("0")
        .doc("dash pattern of each line, numbered as in sfgraph"),
    Param::bool("scalebar")
        .alias("wantscalebar")
        .default_text("n")
        .doc("draw a bar of the values"),
    Param::bool("wantbaraxis")
        .default("y")
        .doc("draw the numbers and the label of the bar"),
    word("barlabel", "from the header", "label of the bar"),
    word("barunit", "from the header", "unit of the bar"),
    word(
        "bartype",
        "v",
        "v: the bar is vertical, next to the picture; h: horizontal, below it",
    ),
    real("barwidth", "0.36", "thickness of the bar, in units of 66 pixels").range(
        "0.05 to 5",
        Some(0.05),
        Some(5.0),
    ),
    Param::bool("barreverse")
        .default("n")
        .doc("y: the bar begins with its largest value"),
    real("minval", "from the data", "smallest value of the bar"),
    real("maxval", "from the data", "largest value of the bar"),
    word(
        "formatbar",
        "as needed",
        "format of the numbers on the bar, such as %4.1f",
    ),
    Param::int("nbartic")
        .default_text("as many as fit")
        .range("1 to 500", Some(1.0), Some(500.0))
        .doc("largest number of labelled ticks on the bar"),
    real(
        "dbarnum",
        "a round number",
        "interval between the numbers on the bar",
    ),
    real("obarnum", "0", "one of the numbers on the bar"),
    Param::int("vertical")
        .default("1")
        .range("1 to 9", Some(1.0), Some(9.0))
        .doc("axis of the data that is drawn as axis 1"),
    Param::int("horizontal")
        .default("2")
        .range("1 to 9", Some(1.0), Some(9.0))
        .doc("axis of the data that is drawn as axis 2"),
    Param::ints("frame")
        .default_text("0,0,...")
        .doc("index on each axis that is not shown, counted from 0"),
    Param::bool("wantframenum")
        .default_text("y for axes with a label")
        .doc("print the coordinates on the axes that are not shown"),
    Param::bool("pad")
        .default_text("n")
        .doc("accepted without effect: lines reach the edge of the box"),
];

static PARAMS: [Param; OWN.len() + STANDARD.len()] = joined(&[&OWN, &STANDARD]);

/// Runs `sfcontour`.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let selection = grey::selection(job, &input)?;
    let delivery = Delivery::of(job, &PICTURES)?;
    let plane = selection.read(&mut input, &mut Samples::of_nothing())?;
    let ends = ends(&plane)?;
    let levels = values(job, ends)?;
    warn_of_left_out(job, &levels)?;
    let mut frame = frame(job, &input, &selection)?;
    let colours = colours(job, &levels, ends)?;
    if job.flag_opt("scalebar")?.unwrap_or(false) {
        frame.bar = Some(bar(job, &input, ends, (&levels, &colours))?);
    }
    let mut page = frame.open()?;
    let (high, wide) = (page.rect.height as usize, page.rect.width as usize);
    let transp = job.flag("transp")?;
    let plane = plane.thinned(if transp { (high, wide) } else { (wide, high) });
    page.drawing.inside(page.rect);
    draw(job, &mut page, &plane, (&levels, &colours))?;
    page.drawing.end();
    delivery.picture(&page.close()?)
}

/// Warns of contour levels that allpos=y leaves out, if it leaves out all of them or if the user gave them.
fn warn_of_left_out(job: &Job, levels: &[f32]) -> Result<()> {
    let negative = levels.iter().filter(|level| **level < 0.0).count();
    if negative == 0 || !job.flag("allpos")? {
        return Ok(());
    }
    let given = ["c", "c0"].iter().any(|key| job.given(key)) || job.has_input("cfile");
    if negative == levels.len() {
        job.warn("there is no contour: all levels are negative, and allpos=y (the default) leaves these out; allpos=n draws them");
    } else if given {
        job.warn(&format!(
            "{negative} of {} contour levels are left out, because they are negative and allpos=y (the default) leaves these out; allpos=n draws them",
            levels.len()
        ));
    }
    Ok(())
}

/// The smallest and the largest value.
fn ends(plane: &Plane) -> Result<(f64, f64)> {
    let finite = plane.values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    ensure!(
        low <= high,
        "there is no contour to draw: all values are NaN or infinite"
    );
    let (low, high) = (f64::from(low), f64::from(high));
    // A constant plane also has a bar, with its value in the middle.
    let half = match (low == high, low == 0.0) {
        (true, true) => 1.0,
        (true, false) => 0.04 * low.abs(),
        _ => 0.0,
    };
    Ok((low - half, high + half))
}

/// The contour levels.
fn values(job: &mut Job, (low, high): (f64, f64)) -> Result<Vec<f32>> {
    if job.has_input("cfile") {
        let mut file = job.input("cfile")?;
        ensure!(
            file.len() <= MOST_LEVELS as u64,
            "{} holds {} contour levels, but at most {MOST_LEVELS} can be drawn: give fewer",
            file.name(),
            file.len()
        );
        return Ok(file.read_all_f32()?);
    }
    let given = job.floats("c")?;
    if !given.is_empty() {
        return Ok(given);
    }
    let most = job.int("nc")? as usize;
    let (c0, dc) = (job.double_opt("c0")?, job.double_opt("dc")?);
    ensure!(
        dc.is_none_or(|dc| dc > 0.0),
        "dc= is the interval between contour levels: it must be more than 0"
    );
    let from = |first: f64, step: f64| {
        let all = (0..most).map(move |number| first + number as f64 * step);
        all.map(|value| value as f32).collect::<Vec<f32>>()
    };
    Ok(match (c0, dc) {
        (Some(c0), Some(dc)) => from(c0, dc),
        (None, Some(dc)) => from((low / dc).ceil() * dc, dc),
        (c0, None) => {
            let base = c0.unwrap_or(0.0);
            let ticks = Ticks::new(low - base, high - base, most, &TickRule::default());
            let values = ticks.marks.iter().map(|(value, _)| (value + base) as f32);
            values
                .filter(|value| c0.is_none_or(|c0| f64::from(*value) >= c0 - 1e-6 * c0.abs()))
                .collect()
        }
    })
}

/// The colour of every line.
fn colours(job: &Job, levels: &[f32], (low, high): (f64, f64)) -> Result<Vec<Rgb>> {
    if let Some(name) = job.text("color")? {
        let table = Colours::named(&name)?;
        let table = if job.flag("polarity")? {
            table.turned()
        } else {
            table
        };
        let share = |level: &f32| ((f64::from(*level) - low) / (high - low).max(f64::MIN_POSITIVE)) as f32;
        return Ok(levels
            .iter()
            .map(|level| table.at(share(level).clamp(0.0, 1.0)))
            .collect());
    }
    let pens = Pens::of(job, &[7], WIDTH)?;
    Ok((0..levels.len()).map(|number| pens.colour(number)).collect())
}

/// A bar that shows the lines at their values.
fn bar(
    job: &Job,
    input: &Input,
    ends: (f64, f64),
    (levels, colours): (&[f32], &[Rgb]),
) -> Result<super::frame::Bar> {
    let low = job.double_opt("minval")?.unwrap_or(ends.0);
    let high = job.double_opt("maxval")?.unwrap_or(ends.1);
    ensure!(
        low < high,
        "the bar would run from minval={low} to maxval={high}: minval= must be less than maxval="
    );
    let mut steps = vec![WHITE; BAR_STEPS];
    let positive = job.flag("allpos")?;
    let drawn = levels.iter().zip(colours);
    for (level, colour) in drawn.filter(|(level, _)| !positive || **level >= 0.0) {
        let at = (f64::from(*level) - low) / (high - low) * BAR_STEPS as f64;
        if (0.0..BAR_STEPS as f64).contains(&at) {
            steps[at as usize] = *colour;
        }
    }
    bar_of(job, input, (low, high), steps)
}

fn frame(job: &Job, input: &Input, selection: &Selection) -> Result<Frame> {
    let mut frame = grey::frame(job, input, selection)?;
    // The lines end at the centres of the outer samples, not at their edges.
    let turns = Turns::of(job)?;
    let (sides, axes) = (selection.sides(), selection.axes());
    let shown = |number: usize, axis: &rsf_io::Axis, side: &super::plane::Side| -> Result<ScreenAxis> {
        let last = side.samples.max(2) as f64 - 1.0;
        let half = 0.5 * (side.last - side.first) / side.samples as f64;
        let ends = (side.first + half, side.first + half + 2.0 * half * last);
        let ends = standard::window(job, number, ends.0, ends.1)?;
        ScreenAxis::new(job, axis, number, ends)
    };
    let (one, two) = (shown(1, axes.0, &sides.0)?, shown(2, axes.1, &sides.1)?);
    (frame.across, frame.down) = turns.axes(job, one, two)?;
    frame.grid.behind = true;
    frame.note = grey::note(job, selection)?;
    Ok(frame)
}

fn draw(job: &Job, page: &mut Page, plane: &Plane, (levels, colours): (&[f32], &[Rgb])) -> Result<()> {
    let (transp, positive) = (job.flag("transp")?, job.flag("allpos")?);
    let pens = Pens::of(job, &[7], WIDTH)?;
    let style = standard::style(job)?;
    let digits = digits(levels);
    let mut labels: Vec<(Place, String)> = Vec::new();
    for (number, (&level, &colour)) in levels.iter().zip(colours).enumerate() {
        if positive && level < 0.0 {
            continue;
        }
        let mut stroke = pens.stroke(number);
        stroke.colour = colour;
        let mut lines = levels::lines(plane, level);
        for line in &mut lines {
            for point in line.iter_mut() {
                *point = if transp {
                    page.place(point.1, point.0)
                } else {
                    page.place(point.0, point.1)
                };
            }
            page.drawing.line(line, &stroke);
        }
        if let Some(longest) = lines.iter().max_by_key(|line| line.len()) {
            let text = short(f64::from(level), digits);
            let free = free_place(longest, &labels, 4.5 * style.label, page.rect);
            labels.extend(free.map(|place| (place, text)));
        }
    }
    if job.flag("clabel")? {
        let letters = Letters {
            size: 0.75 * style.label,
            fat: style.label_fat,
            colour: BLACK,
        };
        for (place, text) in &labels {
            write(page, *place, text, letters);
        }
    }
    Ok(())
}

/// The number of decimals, at most six, that represent all values.
fn digits(levels: &[f32]) -> usize {
    let exact = |digits: &usize| {
        let scale = 10f64.powi(*digits as i32);
        levels.iter().all(|level| {
            let scaled = f64::from(*level) * scale;
            (scaled - scaled.round()).abs() < 1e-3
        })
    };
    (0..6).find(exact).unwrap_or(6)
}

/// The value of a line as text; very small values are written with a power of ten.
fn short(level: f64, digits: usize) -> String {
    let text = if level != 0.0 && level.abs() < 1e-4 {
        format!("{level:.2e}")
    } else {
        format!("{level:.digits$}")
    };
    text.replace('-', "\u{2212}")
}

/// The point of the line nearest to its middle that is far enough from all labels and from the edge of the box.
fn free_place(line: &[Place], labels: &[(Place, String)], distance: f64, rect: Rect) -> Option<Place> {
    let middle = line.len() as i64 / 2;
    let mut places: Vec<usize> = (0..line.len()).collect();
    places.sort_by_key(|&index| (index as i64 - middle).abs());
    let free = |place: &Place| {
        let clear = |(other, _): &(Place, String)| (place.0 - other.0).hypot(place.1 - other.1) > distance;
        let rim = 0.5 * distance;
        let inside = place.0 > rect.x + rim
            && place.0 < rect.right() - rim
            && place.1 > rect.y + 0.5 * rim
            && place.1 < rect.bottom() - 0.5 * rim;
        inside && labels.iter().all(clear)
    };
    places.into_iter().map(|index| line[index]).find(free)
}

/// Writes a value on white, so that the line does not run through it.
fn write(page: &mut Page, (x, y): Place, text: &str, letters: Letters) {
    let (width, height) = (text_width(text) * letters.size, CAPITAL * letters.size);
    let room = Rect {
        x: x - 0.5 * width - 2.0,
        y: y - 0.5 * height - 2.0,
        width: width + 4.0,
        height: height + 4.0,
    };
    page.drawing.rect(room, None, Some((WHITE, 0.9)));
    page.drawing
        .text(&letters.text(text, (x, y + 0.5 * height), Anchor::Middle, 0.0));
}
