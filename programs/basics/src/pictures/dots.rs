//! `sfbasics dots`: stem plots of traces, one above the other, with a dot on a stem for every sample.

use anyhow::{Result, ensure};
use rsf_io::{Input, Job, Param, Program};

use super::colours::{PALE, pen};
use super::delivery::{Delivery, PICTURES};
use super::drawing::{Anchor, Place, Stroke, Text, path_through, text_width};
use super::frame::{Frame, Page, Room, Sizing};
use super::lines::{symbols, thinned};
use super::plane::step_of;
use super::standard::{self, INCH, ScreenAxis, Turns};
use super::words::{STANDARD, joined, real, word};

/// The largest number of samples. More could not be distinguished, and a picture with so many dots could not
/// be shown.
const MOST_SAMPLES: usize = 1 << 22;
const MOST_DOTS: usize = 1 << 18;

/// Parameters and documentation of `sfdots`.
pub static SPEC: Program = Program {
    name: "sfdots",
    about: "Draw short traces as stem plots, one above the other, as PNG, SVG or PDF.",
    usage: "< traces.rsf dots=1 connect=1 labels=one:two > traces.png",
    comments: "Axis 1 runs to the right, and the traces (axis 2) are drawn one above the other, the first at the bottom. \
Each trace is scaled by its own smallest and largest value (with gaineach=n, by the smallest and largest value of the \
plane). frame= selects a plane of a cube. Traces that contain only zeros are left out unless seedead=y.\n\n\
The parameters are the same as in Madagascar's sfdots, with these differences: pens are the same as in the other \
pictures of this suite, dots are always round (corners= has no effect), axis 1 has numbers even without a label, \
planes of a cube do not become a movie, and values that are NaN or infinite leave gaps.",
    example: "sfspike n1=30 k1=10 | sfbandpass fhi=50 | sfbasics dots label1=Time > filter.png",
    params: &PARAMS,
};

const OWN: [Param; 21] = [
    Param::int("dots")
        .default_text("1 for up to 130 samples, otherwise 0")
        .range("0 to 2", Some(0.0), Some(2.0))
        .doc("1: a dot at every sample; 2: at samples that are not 0; 0: no dots"),
    Param::bool("strings")
        .default_text("y up to 400 samples")
        .doc("y: draw a line from zero to every sample"),
    Param::int("connect")
        .default("1")
        .range("0 to 4", Some(0.0), Some(4.0))
        .doc("how samples are joined: 0 not at all, 1 by lines, 2 by steps, 3 by bars, 4 by lines except to samples that \
are 0"),
    Param::bool("seemean")
        .default_text("y up to 30 traces")
        .doc("y: draw the zero line of every trace"),
    Param::bool("seedead")
        .default("n")
        .doc("y: also draw traces that contain only zeros"),
    Param::bool("silk")
        .default("n")
        .doc("y: draw diamonds whose size shows the values, instead of curves"),
    Param::bool("gaineach")
        .default("y")
        .doc("y: scale each trace separately; n: scale all by the same factor"),
    Param::bool("constsep")
        .default("n")
        .doc("y: scale symmetrically about 0, so that zero lines are equally spaced"),
    real(
        "clip",
        "from the data",
        "value to which traces are scaled, more than 0",
    ),
    real(
        "overlap",
        "0.9",
        "height of a trace as a multiple of the distance between traces, more than 0",
    ),
    real("radius", "from the size", "radius of the dots, in units of 66 pixels"),
    word("labels", "none", "names of the traces, separated by colons"),
    Param::bool("yreverse")
        .default("n")
        .doc("y: the first trace is at the top"),
    Param::bool("xreverse")
        .default("n")
        .doc("y: axis 1 increases to the left"),
    Param::bool("transp")
        .default("n")
        .doc("y: axis 1 runs downwards, traces are drawn side by side"),
    real("xxscale", "1", "factor that multiplies the width, more than 0"),
    real("yyscale", "1", "factor that multiplies the height, more than 0"),
    Param::int("corners")
        .default("6")
        .doc("accepted without effect: dots are round"),
    Param::int("frame")
        .default("0")
        .range("0 or more", Some(0.0), None)
        .doc("plane of a cube, counted from 0"),
    Param::bool("scalebar")
        .alias("wantscalebar")
        .default_text("n")
        .doc("accepted without effect: dots have no colour bar"),
    Param::bool("pad")
        .default_text("n")
        .doc("accepted without effect: traces have room at both ends"),
];

static PARAMS: [Param; OWN.len() + STANDARD.len()] = joined(&[&OWN, &STANDARD]);

/// Traces and the parameters of their drawing.
struct Traces {
    n: usize,
    values: Vec<f32>,
    o: f64,
    step: f64,
    /// Height of a trace as a multiple of the distance between traces.
    overlap: f64,
    dots: i64,
    strings: bool,
    connect: i64,
    seemean: bool,
    seedead: bool,
    silk: bool,
    yreverse: bool,
    transp: bool,
    scaling: Scaling,
    /// Radius of the dots in pixels, if the user gives it.
    radius: Option<f64>,
    labels: Vec<String>,
}

/// The parameters that determine the range of a trace.
struct Scaling {
    clip: Option<f64>,
    each: bool,
    symmetric: bool,
}

/// Runs `sfdots`.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    let delivery = Delivery::of(job, &PICTURES)?;
    let traces = read(job, &mut input)?;
    let frame = frame(job, &input, &traces)?;
    let mut page = frame.open()?;
    traces.draw(&mut page);
    delivery.picture(&page.close()?)
}

fn read(job: &Job, input: &mut Input) -> Result<Traces> {
    let (one, two) = (input.axis(1), input.axis(2));
    ensure!(!input.is_empty(), "{} holds no samples", input.name());
    let plane = one.n * two.n;
    let dots = job.int_opt("dots")?.unwrap_or(i64::from(one.n <= 130));
    let strings = job.flag_opt("strings")?.unwrap_or(one.n <= 400);
    let silk = job.flag("silk")?;
    let most = if dots > 0 || strings || silk {
        MOST_DOTS
    } else {
        MOST_SAMPLES
    };
    ensure!(
        plane <= most,
        "{} traces of {} samples: at most {most} samples can be drawn in this way; extract a part of them (sfwindow), or \
        use wiggle or grey",
        two.n,
        one.n
    );
    let (frame, planes) = (job.int("frame")? as u64, input.len() / plane as u64);
    ensure!(
        frame < planes,
        "frame={frame}: {} has {planes} planes, counted from 0 to {}",
        input.name(),
        planes - 1
    );
    input.skip(frame * plane as u64)?;
    let mut values = vec![0.0f32; plane];
    input.read_f32(&mut values)?;
    if !input.is_seekable() {
        input.skip(input.remaining())?;
    }
    let transp = job.flag("transp")?;
    Ok(Traces {
        n: one.n,
        values,
        o: f64::from(one.o),
        step: step_of(&one),
        overlap: positive(job, "overlap")?.unwrap_or(0.9),
        dots,
        strings,
        connect: job.int("connect")?,
        seemean: job.flag_opt("seemean")?.unwrap_or(two.n <= 30),
        seedead: job.flag("seedead")?,
        silk,
        yreverse: job.flag("yreverse")?,
        transp,
        scaling: Scaling {
            clip: positive(job, "clip")?,
            each: job.flag("gaineach")?,
            symmetric: job.flag("constsep")? || silk,
        },
        radius: positive(job, "radius")?.map(|radius| radius * INCH),
        labels: job
            .text("labels")?
            .map(|text| text.split(':').map(str::to_string).collect())
            .unwrap_or_default(),
    })
}

fn positive(job: &Job, name: &str) -> Result<Option<f64>> {
    let value = job.double_opt(name)?;
    ensure!(
        value.is_none_or(|value| value > 0.0 && value.is_finite()),
        "{name}={}: it must be finite and more than 0",
        value.unwrap_or_default()
    );
    Ok(value)
}

fn frame(job: &Job, input: &Input, traces: &Traces) -> Result<Frame> {
    let turns = Turns {
        transp: traces.transp,
        // Axis 1 runs down if it does not run to the right.
        yreverse: traces.transp,
        xreverse: job.flag("xreverse")?,
    };
    let half = 0.5 * traces.step;
    let last = traces.o + (traces.n - 1) as f64 * traces.step;
    let one = standard::window(job, 1, traces.o - half, last + half)?;
    let one = ScreenAxis::new(job, &input.axis(1), 1, one)?;
    let two = ScreenAxis {
        ends: (0.0, (traces.count() - 1) as f64 + traces.overlap),
        label: String::new(),
        unit: String::new(),
    };
    let mut frame = turns.frame(job, input.header(), one, two)?;
    // The axis along which amplitudes are drawn has no ticks: each trace has its own zero.
    if traces.transp {
        frame.across_edge = None;
    } else {
        frame.down_edge = None;
    }
    let width = traces
        .labels
        .iter()
        .map(|label| text_width(label))
        .fold(0.0, f64::max);
    let size = frame.style.label;
    if !traces.labels.is_empty() {
        frame.extra = match traces.transp {
            false => Room {
                left: (width + 1.0) * size,
                ..Room::default()
            },
            true => Room {
                top: 1.5 * size,
                ..Room::default()
            },
        };
    }
    let (x, y) = (
        positive(job, "xxscale")?.unwrap_or(1.0),
        positive(job, "yyscale")?.unwrap_or(1.0),
    );
    frame.sizing = match frame.sizing {
        Sizing::Box(width, height) => Sizing::Box(width * x, height * y),
        Sizing::Width(width, ratio) => Sizing::Width(width * x, ratio * y / x),
        Sizing::Whole(width, height) => Sizing::Whole(width * x, height * y),
    };
    frame.boxed = false;
    Ok(frame)
}

/// The smallest and the largest finite value; both are 0 if there is none.
fn ends(values: &[f32]) -> (f64, f64) {
    let finite = || values.iter().filter(|x| x.is_finite()).map(|x| f64::from(*x));
    let (low, high) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    );
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

impl Traces {
    fn count(&self) -> usize {
        self.values.len() / self.n
    }

    fn range(&self, trace: &[f32], plane: (f64, f64)) -> (f64, f64) {
        if let Some(clip) = self.scaling.clip {
            return (-clip, clip);
        }
        let (low, high) = if self.scaling.each { ends(trace) } else { plane };
        let most = high.max(-low);
        if self.scaling.symmetric {
            (-most, most)
        } else {
            (low, high)
        }
    }

    fn draw(&self, page: &mut Page) {
        let (across, up) = match self.transp {
            false => (page.rect.width, page.rect.height),
            true => (page.rect.height, page.rect.width),
        };
        let (sample, trace) = (
            across / self.n as f64,
            up / ((self.count() - 1) as f64 + self.overlap),
        );
        let radius = self.radius.unwrap_or(sample / 3.0).min(trace / 15.0);
        // Dots at the extremes of a trace stay inside its strip.
        let room = if self.dots > 0 { 3.0 * radius / trace } else { 0.0 };
        let tall = self.overlap * (1.0 - room);
        let plane = ends(&self.values);
        for (i, values) in self.values.chunks(self.n).enumerate() {
            let row = if self.yreverse { self.count() - 1 - i } else { i };
            let axis = row as f64 + 0.5 * self.overlap;
            let (low, high) = self.range(values, plane);
            let (middle, span) = (
                0.5 * (low + high),
                if high > low { high - low } else { f64::INFINITY },
            );
            let height = |value: f64| axis + tall * (value - middle) / span;
            self.label(page, i, height(0.0));
            if self.silk {
                self.diamonds(page, values, axis, 2.0 / span);
            } else if self.seedead || values.iter().any(|x| *x != 0.0) {
                self.trace(page, values, height, radius);
            }
        }
    }

    /// The place in the drawing of an index in samples and a height in traces.
    fn place(&self, page: &Page, sample: f64, height: f64) -> Place {
        let along = self.o + sample * self.step;
        match self.transp {
            false => page.place(along, height),
            true => page.place(height, along),
        }
    }

    fn label(&self, page: &mut Page, i: usize, height: f64) {
        let Some(words) = self.labels.get(i) else { return };
        let letters = page.letters();
        let (x, y) = self.place(page, -0.5, height);
        let (at, anchor) = match self.transp {
            false => (
                (page.rect.x - 0.5 * letters.size, y + 0.35 * letters.size),
                Anchor::End,
            ),
            true => ((x, page.rect.y - 0.5 * letters.size), Anchor::Middle),
        };
        page.drawing.text(&Text {
            at,
            words,
            size: letters.size,
            anchor,
            turned: 0.0,
            fat: letters.fat,
            colour: letters.colour,
        });
    }

    fn trace(&self, page: &mut Page, values: &[f32], height: impl Fn(f64) -> f64, radius: f64) {
        let last = self.n as f64 - 0.5;
        let (zero, thin) = (height(0.0), Stroke::crisp(pen(6), 1.0));
        if self.seemean {
            let line = [self.place(page, -0.5, zero), self.place(page, last, zero)];
            page.drawing.line(&line, &Stroke::crisp(PALE, 1.0));
        }
        let finite = |(_, value): &(usize, &f32)| value.is_finite();
        let samples: Vec<(f64, f64)> = values
            .iter()
            .enumerate()
            .filter(finite)
            .map(|(i, value)| (i as f64, f64::from(*value)))
            .collect();
        let point = |page: &Page, sample: f64, value: f64| self.place(page, sample, height(value));
        if self.strings {
            let ends = samples
                .iter()
                .map(|(i, value)| path_through(&[self.place(page, *i, zero), point(page, *i, *value)]));
            let path: String = ends.collect();
            page.drawing.path(&path, Some(&thin), None);
        }
        for piece in self.joined(&samples) {
            let points: Vec<Place> = piece.iter().map(|(i, value)| point(page, *i, *value)).collect();
            let points = match self.transp {
                true => thinned(&points, |p| p.1, |p| p.0),
                false => thinned(&points, |p| p.0, |p| p.1),
            };
            page.drawing.line(&points, &Stroke::solid(pen(7), 1.2));
        }
        if self.dots > 0 {
            let seen = samples
                .iter()
                .filter(|(_, value)| self.dots == 1 || *value != 0.0);
            let points: Vec<Place> = seen.map(|(i, value)| point(page, *i, *value)).collect();
            symbols(
                &mut page.drawing,
                &points,
                '.',
                radius / 0.15,
                &Stroke::solid(pen(3), 0.0),
            );
        }
    }

    /// The lines for `connect=`, as points (index of the sample, value).
    fn joined(&self, samples: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let neighbours = samples.chunk_by(|a, b| b.0 - a.0 < 1.5);
        let bar = |(i, value): &(f64, f64)| [(i - 0.5, *value), (i + 0.5, *value)];
        match self.connect {
            1 => neighbours.map(<[_]>::to_vec).collect(),
            2 => neighbours
                .map(|piece| piece.iter().flat_map(bar).collect())
                .collect(),
            3 => samples.iter().map(|sample| bar(sample).to_vec()).collect(),
            4 => neighbours
                .flat_map(|piece| piece.split(|(_, value)| *value == 0.0))
                .map(<[_]>::to_vec)
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Draws diamonds, whose size grows with the square root of the value (with its sign), up to half a strip.
    fn diamonds(&self, page: &mut Page, values: &[f32], axis: f64, scale: f64) {
        let mut path = String::new();
        for (i, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let share = f64::from(*value) * scale;
            let size = (0.4 + 0.45 * share.signum() * share.abs().sqrt()).max(0.0);
            let corner = |dx: f64, dy: f64| self.place(page, i as f64 + dx * size, axis + dy * size);
            path += &path_through(&[
                corner(1.0, 0.0),
                corner(0.0, 1.0),
                corner(-1.0, 0.0),
                corner(0.0, -1.0),
            ]);
            path.push('Z');
        }
        page.drawing.path(&path, None, Some(pen(7)));
    }
}
