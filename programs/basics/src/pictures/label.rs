//! `sfbasics box`: a label in a box with a pointer, for overlaying on another picture.

use anyhow::{Result, ensure};
use rsf_io::{Job, Param, Program};

use super::colours::{WHITE, pen};
use super::delivery::{Delivery, PICTURES};
use super::drawing::{Anchor, CAPITAL, Drawing, Place, Rect, Stroke, Text, text_width};
use super::standard::{INCH, background, thickness};
use super::words::{real, word};

/// The size of Madagascar's page, and the box of the axes of a standard plot on it, in inches from the lower left
/// corner.
const PAGE: Place = (10.24 / 0.75, 10.24);
const LEFT: f64 = (PAGE.0 - WIDTH) * 2.0 / 3.0;
const WIDTH: f64 = 0.75 * PAGE.0;
const HEIGHT: f64 = 0.75 * PAGE.1;

/// Parameters and documentation of `sfbox`.
pub static SPEC: Program = Program {
    name: "sfbox",
    about: "Draw a label in a box with a pointer, for overlaying on another picture.",
    usage: "x0= y0= label= xt=2 yt=0 > label.svg",
    comments: "Positions are in inches from the lower left corner of Madagascar's page, 13.65 wide and 10.24 high, on which the axes of a standard plot \
    extend from 2.28 to 12.52 and from 1.28 to 8.96. In an overlay, this box is scaled to that of the picture below.\n\n\
    The text is at x0+xt, y0+yt, and a triangle points from there to x0, y0.\n\n\
    Differs from Madagascar: the text is always horizontal (there are no lat=, long=, angle= and reverse=).",
    example: "sfbasics box x0=5 y0=6 xt=2 yt=1 label=Salt > salt.svg; sfbasics pictures mode=overlay section.svg salt.svg > both.png",
    params: &PARAMS,
};

static PARAMS: [Param; 21] = [
    real("x0", "0", "horizontal position of the tip of the pointer"),
    real("y0", "0", "vertical position of the tip"),
    real("scale0", "1", "factor of x0= and y0="),
    real("xt", "2", "horizontal position of the text relative to the tip"),
    real("yt", "0", "vertical position of the text relative to the tip"),
    real("length", "of xt=, yt=", "distance of the text from the tip"),
    real("scalet", "1", "factor of xt= and yt=, without length="),
    word("label", "", "the text"),
    real("size", "0.25", "height of the letters").range("0.01 to 10", Some(0.01), Some(10.0)),
    Param::bool("boxit")
        .default("y")
        .doc("draw a box around the text"),
    Param::bool("pointer").default("y").doc("draw the pointer"),
    real("pscale", "1", "factor of the width of the pointer"),
    real("x_oval", "0", "half width of an oval around the tip"),
    real("y_oval", "0", "half height of that oval"),
    Param::int("lab_color")
        .default("7")
        .doc("colour: 0 white, 1 blue, 2 red, 3 purple, 4 green, 5 sky, 6 orange, 7 black"),
    Param::int("lab_fat")
        .default("0")
        .range("0 to 50", Some(0.0), Some(50.0))
        .doc("thickness of lines"),
    Param::bool("transparent")
        .default("n")
        .doc("y: leave the background transparent"),
    Param::int("bgcolor")
        .default("0")
        .doc("background colour, numbered as in lab_color="),
    real(
        "res",
        "1",
        "resolution of a PNG, in pixels per unit of the layout",
    )
    .range("0.1 to 20", Some(0.1), Some(20.0)),
    word("format", "from the file's name", "png, svg or pdf"),
    word(
        "out",
        "standard output",
        "file for the picture; its extension determines the format",
    ),
];

/// Runs `sfbox`.
pub fn run(job: &mut Job) -> Result<()> {
    let delivery = Delivery::of(job, &PICTURES)?;
    let number = |name: &str, usual: f64| -> Result<f64> { Ok(job.double_opt(name)?.unwrap_or(usual)) };
    let scale = number("scale0", 1.0)?;
    let tip = (scale * number("x0", 0.0)?, scale * number("y0", 0.0)?);
    let away = (number("xt", 2.0)?, number("yt", 0.0)?);
    let far = away.0.hypot(away.1);
    let scale = match job.double_opt("length")? {
        Some(length) if far > 0.0 => length / far,
        _ => number("scalet", 1.0)?,
    };
    let text = (tip.0 + scale * away.0, tip.1 + scale * away.1);
    ensure!(
        [tip.0, tip.1, text.0, text.1].iter().all(|x| x.abs() < 1e3),
        "the tip at {}, {} or the text at {}, {} lies far outside the page, which is 13.65 wide and 10.24 high: change x0= y0= xt= yt=",
        tip.0,
        tip.1,
        text.0,
        text.1
    );
    let place = |(x, y): Place| (x * INCH, (PAGE.1 - y) * INCH);
    let corner = place((LEFT, 0.5 * (PAGE.1 + HEIGHT)));
    let frame = Rect {
        x: corner.0,
        y: corner.1,
        width: WIDTH * INCH,
        height: HEIGHT * INCH,
    };
    let page = (PAGE.0 * INCH, PAGE.1 * INCH);
    let mut drawing = Drawing::new(page, frame, background(job)?);
    let stroke = Stroke::solid(pen(job.int("lab_color")?), thickness(job.int("lab_fat")?));
    let oval = (number("x_oval", 0.0)?, number("y_oval", 0.0)?);
    if oval.0 > 0.0 && oval.1 > 0.0 {
        let rim = |i: i32| {
            let (sin, cos) = f64::from(i).to_radians().sin_cos();
            place((tip.0 + oval.0 * cos, tip.1 + oval.1 * sin))
        };
        drawing.line(&(0..=360).map(rim).collect::<Vec<Place>>(), &stroke);
    }
    let size = number("size", 0.25)?;
    if job.flag("pointer")? && text != tip {
        // The vector across the pointer at its wide end.
        let wide = number("pscale", 1.0)? * size / (3.0 * (text.0 - tip.0).hypot(text.1 - tip.1));
        let (dx, dy) = (wide * (text.1 - tip.1), wide * (tip.0 - text.0));
        let rim = [(text.0 + dx, text.1 + dy), tip, (text.0 - dx, text.1 - dy)].map(place);
        drawing.area(&rim, WHITE);
        drawing.line(&rim, &stroke);
    }
    write(job, &mut drawing, (place(text), size * INCH), &stroke)?;
    delivery.picture(&drawing.finish())
}

/// Draws the text, centred at a place, in its box.
fn write(job: &Job, drawing: &mut Drawing, (at, size): (Place, f64), stroke: &Stroke) -> Result<()> {
    let words = job.text("label")?.unwrap_or_default();
    if job.flag("boxit")? && !words.trim().is_empty() {
        let (width, height) = (size * (text_width(&words) + 0.5), 1.5 * size);
        let rect = Rect {
            x: at.0 - 0.5 * width,
            y: at.1 - 0.5 * height,
            width,
            height,
        };
        drawing.rect(rect, Some(stroke), Some((WHITE, 1.0)));
    }
    drawing.text(&Text {
        at: (at.0, at.1 + 0.5 * CAPITAL * size),
        words: &words,
        size,
        anchor: Anchor::Middle,
        turned: 0.0,
        fat: 0.0,
        colour: stroke.colour,
    });
    Ok(())
}
