//! `sfbasics grey3`: three planes of a cube, drawn as its faces.

use anyhow::{Result, bail, ensure};
use rsf_io::{Input, Job, Param, Program};

use super::axes::{Axis, Edge, Letters};
use super::delivery::{Delivery, PICTURES};
use super::drawing::{Anchor, Place, Rgb, Stroke, text_width};
use super::faces::{Cuts, Faces, Views};
use super::frame::{Frame, Page, Room};
use super::gain::{GAIN, Scale};
use super::samples::Samples;
use super::standard::{self, rule};
use super::ticks::TickRule;
use super::words::{STANDARD, joined, real};

/// Parameters and documentation of `sfgrey3`.
pub static SPEC: Program = Program {
    name: "sfgrey3",
    about: "Draw three planes of a cube as its faces, as PNG, SVG or PDF.",
    usage: "< cube.rsf frame1=20 frame2=30 frame3=10 > cube.png",
    comments: "The front face shows axes 1 (downwards) and 2 (to the right) at frame3=, the side face axes 1 and 3 at \
frame2=, and the top face axes 2 and 3 at frame1=. Lines on each face show where the other two planes cut it, and \
numbers at their ends give the coordinates.\n\n\
The parameters are the same as in Madagascar's sfgrey3, with these differences: real numbers can be drawn directly and \
are coloured as in sfgrey (pclip= applies to the three planes); if all axes have the same unit, point1=, point2= and \
the height are chosen so that all have the same scale. sfbasics movie draws movies of cubes, plane by plane.",
    example: "sfbasics byte < cube.rsf gainpanel=all | sfbasics grey3 frame1=20 frame2=30 frame3=10 flat=n > cube.png",
    params: &PARAMS,
};

const OWN: [Param; 25] = [
    Param::int("frame1")
        .default("0")
        .doc("index on axis 1 of the plane on the top face, counted from 0"),
    Param::int("frame2")
        .default_text("last")
        .doc("index on axis 2 of the plane on the side face, counted from 0"),
    Param::int("frame3")
        .default("0")
        .doc("index on axis 3 of the plane on the front face, counted from 0"),
    real("point1", "0.5", "fraction of the height taken by the front face").range(
        "0.01 to 0.99",
        Some(0.01),
        Some(0.99),
    ),
    real("point2", "0.5", "fraction of the width taken by the front face").range(
        "0.01 to 0.99",
        Some(0.01),
        Some(0.99),
    ),
    Param::bool("flat")
        .default("y")
        .doc("y: the faces are unfolded into one plane; n: the cube is seen from the upper right"),
    Param::bool("wantaxis3").default("y").doc("write axis 3"),
    Param::bool("framelabel")
        .default_text("y")
        .doc("write the coordinates of the three planes"),
    Param::bool("framelabel1")
        .default_text("y")
        .doc("write the coordinate of the top face"),
    Param::bool("framelabel2")
        .default_text("y")
        .doc("write the coordinate of the side face"),
    Param::bool("framelabel3")
        .default_text("y")
        .doc("write the coordinate of the front face"),
    Param::int("n3tic")
        .default_text("as many as fit")
        .range("1 to 500", Some(1.0), Some(500.0))
        .doc("largest number of labelled ticks on axis 3"),
    real(
        "d3num",
        "a round number",
        "interval between the numbers on axis 3",
    ),
    real("o3num", "0", "one of the numbers on axis 3"),
    Param::string("format3")
        .default_text("as needed")
        .doc("format of the numbers on axis 3"),
    Param::int("movie")
        .default("0")
        .range("0 to 3", Some(0.0), Some(3.0))
        .doc("only 0: one picture is drawn"),
    Param::int("dframe")
        .default("1")
        .doc("accepted without effect: one picture is drawn"),
    Param::int("nframe")
        .default("1")
        .doc("accepted without effect: one picture is drawn"),
    Param::int("n1pix")
        .default("0")
        .doc("accepted without effect: faces are drawn with as many pixels as are visible"),
    Param::int("n2pix")
        .default("0")
        .doc("accepted without effect: faces are drawn with as many pixels as are visible"),
    Param::bool("grid3").default("n").doc("accepted without effect"),
    Param::bool("transp")
        .default("y")
        .doc("accepted without effect: axis 1 always runs down"),
    Param::bool("yreverse")
        .default("y")
        .doc("accepted without effect: axis 1 always runs down"),
    Param::bool("xreverse")
        .default("n")
        .doc("accepted without effect: axis 2 always runs to the right"),
    Param::bool("pad")
        .default_text("n")
        .doc("accepted without effect: cubes always fill the box"),
];

static PARAMS: [Param; OWN.len() + GAIN.len() + STANDARD.len()] = joined(&[&OWN, &GAIN, &STANDARD]);

/// Colour of the lines of the cuts.
const CUT: Rgb = [213, 94, 0];

/// Runs `sfgrey3`.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let delivery = Delivery::of(job, &PICTURES)?;
    if job.int("movie")? != 0 {
        job.warn(
            "movie= is not supported, and only the first picture is drawn; sfbasics movie draws planes \
            one after another",
        );
    }
    let cuts = cuts(job, &input)?;
    let mut samples = Samples::of(job, &input)?;
    let faces = Faces::read(&mut input, cuts, &mut samples)?;
    let scale = Scale::of(job, &input, &samples)?;
    let cube = Cube::of(job, &input, cuts)?;
    let mut frame = cube.frame(job, &input)?;
    frame.bar = scale.bar(job, &input, cuts.three as u64)?;
    let mut page = frame.open()?;
    let views = Views::new(page.rect, cube.point, cube.flat);
    faces.draw(&mut page.drawing, &views, &scale, delivery.fineness)?;
    cube.decorate(&mut page, &views);
    delivery.picture(&page.close()?)
}

/// The planes that are drawn. An index beyond the data is replaced by the nearest index.
fn cuts(job: &Job, input: &Input) -> Result<Cuts> {
    ensure!(!input.is_empty(), "{} holds no samples", input.name());
    let n = [1, 2, 3].map(|number| input.axis(number).n);
    let rest = input.len() / (n[0] * n[1] * n[2]).max(1) as u64;
    ensure!(
        rest == 1,
        "{} has more than three axes; extract a cube with sfwindow",
        input.name()
    );
    let at = |name: &str, n: usize, usual: usize| -> Result<usize> {
        let index = job.int_opt(name)?.unwrap_or(usual as i64);
        if job.given(name) && !(0..n as i64).contains(&index) {
            job.warn(&format!(
                "{name}={index}: the axis has {n} samples, counted from 0; the nearest one is used"
            ));
        }
        Ok(index.clamp(0, n as i64 - 1) as usize)
    };
    Ok(Cuts {
        one: at("frame1", n[0], 0)?,
        two: at("frame2", n[1], n[1] - 1)?,
        three: at("frame3", n[2], 0)?,
    })
}

/// The axes of the cube and its view.
struct Cube {
    axes: [Axis; 3],
    cuts: [f64; 3],
    shown: [bool; 3],
    numbered: [bool; 3],
    point: (f64, f64),
    flat: bool,
    ratio: f64,
    letters: Letters,
}

impl Cube {
    fn of(job: &Job, input: &Input, cuts: Cuts) -> Result<Self> {
        for name in ["min1", "max1", "min2", "max2"] {
            if job.given(name) {
                bail!("{name}=: sfgrey3 draws whole cubes; extract a part with sfwindow");
            }
        }
        let axis = |number: usize, which: &str| -> Result<Axis> {
            let data = input.axis(number);
            let (label, unit) = standard::named(job, &data, number)?;
            let half = 0.5 * f64::from(data.d);
            let low = f64::from(data.o) - half;
            let length = if data.d == 0.0 {
                1.0
            } else {
                data.n as f64 * f64::from(data.d)
            };
            Ok(Axis {
                low,
                high: low + length,
                label,
                unit,
                rule: rule(job, which)?,
            })
        };
        // Parameters of the horizontal axis apply to axis 2 of the data, parameters of the vertical axis to axis 1.
        let axes = [axis(1, "2")?, axis(2, "1")?, axis(3, "3")?];
        let at = |number: usize, index: usize| {
            let data = input.axis(number);
            f64::from(data.o) + index as f64 * f64::from(data.d)
        };
        let style = standard::style(job)?;
        let all = job.flag("wantaxis")?;
        let shown = |name: &str| -> Result<bool> { Ok(all && job.flag(name)?) };
        let shown = [shown("wantaxis1")?, shown("wantaxis2")?, shown("wantaxis3")?];
        let both = job.flag_opt("framelabel")?;
        let numbered =
            |name: &str, axis: bool| -> Result<bool> { Ok(both.or(job.flag_opt(name)?).unwrap_or(axis)) };
        let length = axes.each_ref().map(|axis| (axis.high - axis.low).abs());
        let alike = !axes[0].unit.is_empty() && axes.iter().all(|axis| axis.unit == axes[0].unit);
        let part = |front: f64| {
            if alike {
                (front / (front + length[2])).clamp(0.1, 0.9)
            } else {
                0.5
            }
        };
        let point = (
            job.double_opt("point1")?.unwrap_or(part(length[0])),
            job.double_opt("point2")?.unwrap_or(part(length[1])),
        );
        Ok(Self {
            cuts: [at(1, cuts.one), at(2, cuts.two), at(3, cuts.three)],
            shown,
            numbered: [
                numbered("framelabel1", shown[0])?,
                numbered("framelabel2", shown[1])?,
                numbered("framelabel3", shown[2])?,
            ],
            point,
            flat: job.flag("flat")?,
            ratio: if alike {
                (length[0] / point.0 / (length[1] / point.1)).clamp(0.2, 2.0)
            } else {
                0.75
            },
            letters: Letters {
                size: style.label,
                fat: style.label_fat,
                colour: style.colour,
            },
            axes,
        })
    }

    /// The frame around the cube, without axes, which `decorate` draws.
    fn frame(&self, job: &Job, input: &Input) -> Result<Frame> {
        let size = self.letters.size;
        let depth = |axis: usize, edge: Edge| {
            let ticks = self.axes[axis].ticks(600.0, edge, size);
            if self.shown[axis] {
                self.axes[axis].depth(&ticks, edge, size)
            } else {
                0.0
            }
        };
        let number = |axis: usize| {
            let width = text_width(&self.number(axis)) * size;
            if self.numbered[axis] { width + 10.0 } else { 0.0 }
        };
        let label = if self.axes[2].label.is_empty() && self.axes[2].unit.is_empty() {
            0.0
        } else {
            size
        };
        let beside = depth(2, Edge::Right);
        let third = if self.flat { depth(2, Edge::Below) } else { 0.0 };
        Ok(Frame {
            across: blank(),
            down: blank(),
            across_edge: None,
            down_edge: None,
            title: standard::title(job, input.header())?,
            note: None,
            bar: None,
            grid: standard::grid(job, (false, false), true)?,
            style: standard::style(job)?,
            sizing: standard::sizing(job, self.ratio)?,
            background: standard::background(job)?,
            extra: Room {
                left: depth(0, Edge::Left).max(if self.flat { number(2) } else { 0.0 }),
                right: number(0).max(if self.flat { 0.0 } else { beside - label }),
                top: if self.numbered[1] { size + 6.0 } else { 0.0 },
                bottom: depth(1, Edge::Below).max(third),
            },
            boxed: false,
        })
    }

    fn number(&self, axis: usize) -> String {
        let step = (self.axes[axis].high - self.axes[axis].low).abs();
        let digits = (3.0 - step.max(1e-9).log10().ceil()).clamp(0.0, 9.0) as usize;
        let text = format!("{:.digits$}", self.cuts[axis]);
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        text.replace('-', "\u{2212}")
    }

    /// Draws axes, outlines, and the cuts with their numbers.
    fn decorate(&self, page: &mut Page, views: &Views) {
        let stroke = if self.flat { Stroke::crisp } else { Stroke::solid };
        let (line, cut) = (stroke(self.letters.colour, 1.0), stroke(CUT, 1.0));
        for outline in views.outlines() {
            page.drawing.line(&outline, &line);
        }
        let share = |axis: usize| self.axes[axis].share(self.cuts[axis]).clamp(0.0, 1.0);
        let [one, two, three] = views.cuts(share(0), share(1), share(2));
        for piece in [&one, &two, &three].into_iter().flatten() {
            page.drawing.line(piece, &cut);
        }
        let front = views.front;
        if self.shown[0] {
            let line = [(front.x, front.y), (front.x, front.bottom())];
            self.axes[0].draw(&mut page.drawing, line, Edge::Left, self.letters);
        }
        if self.shown[1] {
            let line = [(front.x, front.bottom()), (front.right(), front.bottom())];
            self.axes[1].draw(&mut page.drawing, line, Edge::Below, self.letters);
        }
        if self.shown[2] {
            self.third_axis(page, views);
        }
        let cut_letters = Letters {
            colour: CUT,
            ..self.letters
        };
        let size = self.letters.size;
        let mut write = |axis: usize, at: Place, anchor: Anchor| {
            if self.numbered[axis] {
                let text = self.number(axis);
                page.drawing.text(&cut_letters.text(&text, at, anchor, 0.0));
            }
        };
        let end = |pieces: &[Vec<Place>]| {
            pieces
                .last()
                .and_then(|piece| piece.last())
                .copied()
                .unwrap_or_default()
        };
        let (one, two, three) = (end(&one), end(&two), end(&three));
        // The numbers of axes 1 and 3 must not overlap near the corners of the front and the top.
        let lowest = if self.flat {
            f64::INFINITY
        } else {
            views.third_axis()[1].1 - 1.2 * size
        };
        write(0, (one.0 + 5.0, one.1.min(lowest) + 0.36 * size), Anchor::Start);
        write(1, (two.0, two.1 - 5.0), Anchor::Middle);
        write(
            2,
            (three.0 - 5.0, three.1.min(front.y - size) + 0.36 * size),
            Anchor::End,
        );
    }

    fn third_axis(&self, page: &mut Page, views: &Views) {
        let [begin, end] = views.third_axis();
        let size = self.letters.size;
        let length = (end.0 - begin.0).hypot(end.1 - begin.1);
        let mut axis = self.axes[2].clone();
        let edge = if self.flat { Edge::Below } else { Edge::Right };
        if self.flat {
            // The last number of axis 2 is at the same corner.
            axis.rule.clear = 2.0 * size / length.max(1.0);
        }
        axis.draw(&mut page.drawing, [begin, end], edge, self.letters);
    }
}

fn blank() -> Axis {
    Axis {
        low: 0.0,
        high: 1.0,
        label: String::new(),
        unit: String::new(),
        rule: TickRule::default(),
    }
}
