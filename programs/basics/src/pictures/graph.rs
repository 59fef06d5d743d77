//! `sfbasics graph`: curves and symbols.

use anyhow::{Result, bail, ensure};
use rsf_io::{Axis, Complex, Input, Job, Kind as DataKind, Param, Program};

use super::axes::{Edge, Letters};
use super::colours::WHITE;
use super::delivery::{Delivery, PICTURES};
use super::drawing::{Anchor, Place, Rect, text_width};
use super::frame::{Frame, Page};
use super::lines::{Pens, symbols, thinned};
use super::plane::step_of;
use super::samples::quantile;
use super::standard::{self, ScreenAxis, Turns, letter_size};
use super::words::{STANDARD, joined, real, word};

/// Parameters and documentation of `sfgraph`.
pub static SPEC: Program = Program {
    name: "sfgraph",
    about: "Draw curves or symbols, as PNG, SVG or PDF.",
    usage: "< curves.rsf title= > graph.png",
    comments: "Each column (axis 1) of real data is a curve: its values are drawn over the coordinates of axis 1. \
Complex data are points, with the real part to the right and the imaginary part upwards. frame= selects a plane of \
a cube. Curves are interrupted where a value is NaN or infinite.\n\n\
The parameters are the same as in Madagascar's sfgraph; the pens (plotcol=) have eight colours that colour-blind \
readers can distinguish. To mark sources and receivers on a section, draw them with the same min1= max1= min2= max2= \
as the section and wantaxis=n wanttitle=n, and combine both with sfbasics pictures mode=overlay.",
    example: "sfbasics graph < wav.rsf title=Wavelet label2=Amplitude unit2= > wav.png",
    params: &PARAMS,
};

const OWN: [Param; 16] = [
    Param::bool("transp")
        .default("n")
        .doc("y: axis 1 (or the real part) runs upwards instead of to the right"),
    Param::bool("yreverse")
        .default("n")
        .doc("y: the vertical axis increases downwards"),
    Param::bool("xreverse")
        .default("n")
        .doc("y: the horizontal axis increases to the left"),
    Param::bool("pad")
        .default("y")
        .doc("leave a margin of 2 % of the range on all sides, unless min1= ... are given"),
    Param::float("pclip")
        .default("100")
        .range("0 to 100", Some(0.0), Some(100.0))
        .doc("percentage of values that lie within the axes"),
    word(
        "symbol",
        "lines",
        "one character for each curve, drawn at its points instead of a line: . o + x * or any other",
    ),
    Param::floats("symbolsz")
        .default_text("2")
        .doc("size of the symbols of each curve"),
    Param::ints("plotcol")
        .default_text("1,2,4,3,6,5,7")
        .doc("colour of each curve: 0 white, 1 blue, 2 red, 3 purple, 4 green, 5 sky, 6 orange, 7 black"),
    Param::ints("plotfat")
        .default_text("0")
        .doc("thickness of each curve"),
    Param::floats("dash")
        .default_text("0")
        .doc("dash pattern of each curve: 0 solid, 1 fine, 2 dotted, 3 dashed, 4 long dashes, 5 dash and dot, up to 9"),
    word(
        "legend",
        "",
        "names of the curves, separated by colons, shown in a corner",
    ),
    word(
        "wherelegend",
        "tr",
        "corner of the legend: tr, tl, br or bl (top, bottom; right, left)",
    ),
    Param::int("frame")
        .default("0")
        .range("0 or more", Some(0.0), None)
        .doc("plane of a cube, counted from 0"),
    Param::bool("scalebar")
        .alias("wantscalebar")
        .default_text("n")
        .doc("accepted without effect: curves have no colour bar"),
    word(
        "barlabel",
        "",
        "accepted without effect: curves have no colour bar",
    ),
    real(
        "barwidth",
        "",
        "accepted without effect: curves have no colour bar",
    ),
];

static PARAMS: [Param; OWN.len() + STANDARD.len()] = joined(&[&OWN, &STANDARD]);

/// The width of curves without `plotfat=`.
const WIDTH: f64 = 1.5;
/// Default colours of successive curves.
const USUAL_PENS: &[i64] = &[1, 2, 4, 3, 6, 5, 7];

/// The points of all curves, as coordinates on axes 1 and 2 of the picture.
type Curves = Vec<Vec<Place>>;

/// Runs `sfgraph`.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let delivery = Delivery::of(job, &PICTURES)?;
    let curves = read(job, &mut input)?;
    warn_of_gaps(job, &curves);
    let frame = frame(job, &input, &curves)?;
    let mut page = frame.open()?;
    page.drawing.inside(page.rect);
    draw(job, &mut page, &curves)?;
    page.drawing.end();
    legend(job, &mut page, curves.len())?;
    delivery.picture(&page.close()?)
}

/// The curves of the chosen plane.
fn read(job: &Job, input: &mut Input) -> Result<Curves> {
    let (one, two) = (input.axis(1), input.axis(2));
    let plane = (one.n * two.n) as u64;
    ensure!(!input.is_empty(), "{} holds no samples", input.name());
    let (frame, planes) = (job.int("frame")? as u64, input.len() / plane);
    ensure!(
        frame < planes,
        "frame={frame}: {} has {planes} planes, counted from 0 to {}",
        input.name(),
        planes - 1
    );
    input.skip(frame * plane)?;
    let mut curves = Vec::with_capacity(two.n);
    for _ in 0..two.n {
        curves.push(match input.format().kind {
            DataKind::Complex => {
                let mut values = vec![Complex::default(); one.n];
                input.read_complex(&mut values)?;
                let point = |value: &Complex| (f64::from(value[0]), f64::from(value[1]));
                values.iter().map(point).collect()
            }
            DataKind::Float => {
                let mut values = vec![0.0f32; one.n];
                input.read_f32(&mut values)?;
                let at = |index: usize| f64::from(one.o) + index as f64 * step_of(&one);
                let point = |(index, value): (usize, &f32)| (at(index), f64::from(*value));
                values.iter().enumerate().map(point).collect()
            }
            other => bail!(
                "{} holds {other:?} data, but sfbasics graph draws float and complex only (sfdd converts)",
                input.name()
            ),
        });
    }
    if !input.is_seekable() {
        input.skip(input.remaining())?;
    }
    Ok(curves)
}

/// Warns of curves without any finite value, which are not drawn. Single NaN are intended as gaps in a curve.
fn warn_of_gaps(job: &Job, curves: &Curves) {
    let numbers = (1..).zip(curves.iter().map(|curve| curve.iter().any(is_finite)));
    let missing: Vec<String> = numbers
        .filter(|(_, some)| !some)
        .map(|(i, _)| i.to_string())
        .collect();
    if missing.len() == curves.len() {
        job.warn("nothing to see: all values are NaN or infinite");
    } else if !missing.is_empty() {
        job.warn(&format!(
            "nothing to see of {} of {} curves (counted from 1: {}): their values are all NaN or infinite",
            missing.len(),
            curves.len(),
            missing.join(", ")
        ));
    }
}

/// The ends of an axis that covers all `values` or, with `pclip` below 100, all except outliers.
fn ends(values: &[f64], pclip: f32) -> (f64, f64) {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if finite.is_empty() {
        return (0.0, 1.0);
    }
    if pclip >= 100.0 {
        return (low, high);
    }
    let at = |percent: f32| f64::from(quantile(finite.iter().map(|value| *value as f32), percent));
    let (small, large) = (at(100.0 - pclip), at(pclip));
    let span = large - small;
    (
        (low - span / 8.0).max(small - span),
        (high + span / 8.0).min(large + span),
    )
}

/// The margin on each side as a fraction of the axis.
const MARGIN: f64 = 0.02;

/// Extends the ends by a margin; an axis of length zero is always extended.
fn padded((low, high): (f64, f64), margin: f64) -> (f64, f64) {
    if low == high {
        let half = if low == 0.0 { 1.0 } else { 0.04 * low.abs() };
        return (low - half, high + half);
    }
    (low - margin, high + margin)
}

/// Labels of axis 2 that are coordinates of traces, not names of their values.
const COUNTED: [&str; 20] = [
    "offset",
    "half-offset",
    "trace",
    "tracl",
    "receiver",
    "r",
    "shot",
    "source",
    "component",
    "x",
    "y",
    "z",
    "depth",
    "distance",
    "position",
    "inline",
    "crossline",
    "cdp",
    "cmp",
    "midpoint",
];

fn frame(job: &Job, input: &Input, curves: &Curves) -> Result<Frame> {
    let turns = Turns::of(job)?;
    let (pclip, pad) = (job.float("pclip")?, job.flag("pad")?);
    let all = |part: fn(&Place) -> f64| curves.iter().flatten().map(part).collect::<Vec<f64>>();
    // pclip= does not apply to the coordinates of real data.
    let first = if input.format().kind == DataKind::Complex {
        pclip
    } else {
        100.0
    };
    // The margin is a fraction of the range that is shown, which min1= and so on can make much smaller than the data.
    let window = |number: usize, (low, high): (f64, f64)| {
        let shown = match low < high {
            true => standard::window(job, number, low, high)?,
            false => (low, high),
        };
        let (low, high) = padded((low, high), if pad { MARGIN * (shown.1 - shown.0) } else { 0.0 });
        standard::window(job, number, low, high)
    };
    let one = window(1, ends(&all(|point| point.0), first))?;
    let two = window(2, ends(&all(|point| point.1), pclip))?;
    // Values lie along the second axis of the picture, so its label and unit are label= and unit= of the header, or
    // without label= label2= and unit2=, as flows of Madagascar set them, unless label2= is the coordinate of the traces.
    let text = |key: &str| input.header().text(key).filter(|text| !text.is_empty());
    let counts =
        |label: &String| input.axis(2).n > 1 && COUNTED.contains(&label.trim().to_lowercase().as_str());
    let named = text("label").is_some() || text("label2").is_some_and(|label| counts(&label));
    let values = Axis {
        label: text(if named { "label" } else { "label2" }),
        unit: text("unit2").filter(|_| !named).or_else(|| text("unit")),
        ..Axis::default()
    };
    let one = ScreenAxis::new(job, &input.axis(1), 1, one)?;
    let two = ScreenAxis::new(job, &values, 2, two)?;
    turns.frame(job, input.header(), one, two)
}

fn draw(job: &Job, page: &mut Page, curves: &Curves) -> Result<()> {
    let pens = Pens::of(job, USUAL_PENS, WIDTH)?;
    let letters: Vec<char> = job.text("symbol")?.unwrap_or_default().chars().collect();
    let sizes = job.floats("symbolsz")?;
    let transp = job.flag("transp")?;
    for (number, curve) in curves.iter().enumerate() {
        let stroke = pens.stroke(number);
        let points: Vec<Place> = curve
            .iter()
            .map(|&(one, two)| {
                if transp {
                    page.place(two, one)
                } else {
                    page.place(one, two)
                }
            })
            .collect();
        if letters.is_empty() {
            for piece in points.split(|point| !is_finite(point)) {
                let line = thinned(&thinned(piece, |p| p.0, |p| p.1), |p| p.1, |p| p.0);
                page.drawing.line(&line, &stroke);
            }
        } else {
            let size = sizes
                .get(number)
                .or(sizes.last())
                .map_or(2.0, |size| f64::from(*size));
            let points: Vec<Place> = points.into_iter().filter(is_finite).collect();
            let symbol = letters[number % letters.len()];
            symbols(
                &mut page.drawing,
                &points,
                symbol,
                letter_size(size).max(0.5),
                &stroke,
            );
        }
    }
    Ok(())
}

fn is_finite(point: &Place) -> bool {
    point.0.is_finite() && point.1.is_finite()
}

/// Writes the names of the curves in a corner of the box.
fn legend(job: &Job, page: &mut Page, curves: usize) -> Result<()> {
    let Some(text) = job.text("legend")?.filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let corner = job.text("wherelegend")?.unwrap_or_else(|| "tr".into());
    let (edge, right) = match corner.as_str() {
        "tr" => (Edge::Above, true),
        "tl" => (Edge::Above, false),
        "br" => (Edge::Below, true),
        "bl" => (Edge::Below, false),
        other => bail!(
            "wherelegend={other} is not allowed: wherelegend= must be tr, tl, br or bl (top or bottom, right or left)"
        ),
    };
    let names: Vec<&str> = text.split(':').collect();
    if names.len() == 1 && curves > 1 && text.contains(',') {
        job.warn(&format!(
            "legend={text} is one name, but there are {curves} curves: separate names by colons, as in legend=one:two"
        ));
    }
    let style = standard::style(job)?;
    let letters = Letters {
        size: 0.9 * style.label,
        fat: style.label_fat,
        colour: style.colour,
    };
    let (sample, room, row) = (2.2 * letters.size, 0.6 * letters.size, 1.4 * letters.size);
    let widest = names.iter().map(|name| text_width(name)).fold(0.0, f64::max) * letters.size;
    let size = (widest + sample + 3.0 * room, names.len() as f64 * row + room);
    let rect = page.rect;
    let place = Rect {
        x: if right {
            rect.right() - size.0 - room
        } else {
            rect.x + room
        },
        y: if edge == Edge::Above {
            rect.y + room
        } else {
            rect.bottom() - size.1 - room
        },
        width: size.0,
        height: size.1,
    };
    page.drawing.rect(place, None, Some((WHITE, 0.85)));
    let pens = Pens::of(job, USUAL_PENS, WIDTH)?;
    let symbol: Vec<char> = job.text("symbol")?.unwrap_or_default().chars().collect();
    for (number, name) in names.iter().enumerate() {
        let y = place.y + 0.5 * room + (number as f64 + 0.5) * row;
        let stroke = pens.stroke(number);
        let (left, end) = (place.x + room, place.x + room + sample);
        if symbol.is_empty() {
            page.drawing.line(&[(left, y), (end, y)], &stroke);
        } else {
            let middle = [(0.5 * (left + end), y)];
            symbols(
                &mut page.drawing,
                &middle,
                symbol[number % symbol.len()],
                letter_size(4.0),
                &stroke,
            );
        }
        let at = (end + room, y + 0.36 * letters.size);
        page.drawing.text(&letters.text(name, at, Anchor::Start, 0.0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_show_what_there_is() {
        assert_eq!(ends(&[1.0, f64::NAN, -3.0, 2.0], 100.0), (-3.0, 2.0));
        assert_eq!(ends(&[f64::NAN], 100.0), (0.0, 1.0));
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.push(1e9);
        let (_, high) = ends(&values, 99.0);
        assert!(high < 2100.0, "one far value does not stretch the axis: {high}");
        assert_eq!(padded((0.0, 100.0), 2.0), (-2.0, 102.0));
        assert_eq!(padded((5.0, 5.0), 2.0), (4.8, 5.2));
        assert_eq!(padded((0.0, 0.0), 0.0), (-1.0, 1.0));
    }
}
