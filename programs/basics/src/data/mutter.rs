//! `sfmutter`: smooth muting by offset and time.

use std::f32::consts::PI;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Result, ensure};
use rsf_io::{Input, Job, Kind, Param, Program};

use super::{cube, lines};

pub static SPEC: Program = Program {
    name: "sfmutter",
    about: "Mute early (or with inner=y late) times of traces, by offset.",
    usage: "< in.rsf v0=1.45 tp=0.15 t0=0 x0=0 half=y > out.rsf",
    comments: "Let t be the time after t0 and x the offset from x0: its absolute value with abs=y, and twice that with \
half=y, since axis 2 then holds half-offsets. The weight is 0 for t < slope0 x, 1 for t > tp + slopep x, and a \
squared sine in between. inner=y mutes the other side: the weight is 0 for t > slope0 x and 1 for t < tp + slopep \
x (with a negative tp). hyper=y uses the squares of t, x and both slopes.\n\n\
In midpoint gathers on three axes whose d3 is smaller than the offsets require, gathers alternate between CDPtype sets \
of offsets. If neither CDPtype= nor the header gives their number, it is assumed to be d2/d3, or half of that with \
half=n, and a warning says so. This is right if axis 3 has the unit of axis 2, and wrong if axis 3 counts midpoints. \
CDPtype=1 means that every gather has the offsets of axis 2; sfintbin writes it to its header.\n\n\
offset= takes the offsets of field data from the headers that sfsegyread writes: sfheadermath < headers.rsf \
output=offset | sfdd type=float > offset.rsf. There is a warning if no sample is muted, if all samples are, or if all \
samples beyond x0 are.\n\n\
Differs from Madagascar: if the taper has no width, samples on its edge are not changed (in Madagascar they become \
NaN).",
    example: "sfmutter < cmp.rsf half=n v0=1.5 tp=0.1 > muted.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 13] = [
    Param::float("v0")
        .default("1.45")
        .doc("velocity v0; slope0 is 1/v0"),
    Param::float("slope0")
        .default_text("1/v0")
        .doc("slope of the edge where the weight is 0"),
    Param::float("slopep")
        .default_text("slope0")
        .doc("slope of the edge where the weight is 1"),
    Param::float("tp")
        .default("0.15")
        .doc("time between the two edges at x = 0"),
    Param::float("t0")
        .default("0")
        .doc("time at which the mute begins"),
    Param::float("x0")
        .default("0")
        .doc("offset from which the mute is counted"),
    Param::bool("abs")
        .default("y")
        .doc("y: mute both sides of x0 alike"),
    Param::bool("half")
        .default("y")
        .doc("y: axis 2 holds half-offsets"),
    Param::bool("inner")
        .default("n")
        .doc("y: mute late times instead of early ones"),
    Param::bool("hyper")
        .default("n")
        .doc("y: hyperbolic instead of linear"),
    Param::bool("nan")
        .default("n")
        .doc("y: muted samples become NaN instead of 0"),
    Param::input("offset")
        .default_text("axis 2")
        .doc("offsets, one real number for every trace of a gather or of all gathers"),
    CDP_TYPE,
];

/// The number of sets of offsets between which gathers alternate.
pub(super) const CDP_TYPE: Param = Param::int("CDPtype")
    .default_text("of the header, otherwise d2/d3")
    .range("1 to 1048576", Some(1.0), Some(MOST_SETS as f64))
    .doc(
        "number of sets of offsets between which the gathers of axis 3 alternate; 1: all gathers have the \
        offsets of axis 2",
    );

/// The largest number of sets of offsets.
const MOST_SETS: i64 = 1 << 20;

/// Labels of axes that count traces, from the modelling programs and sfsegyread.
const NUMBERS: [&str; 3] = ["r", "Receiver", "Trace"];

/// The parameters of the mute, with the axis of time.
#[derive(Clone, Copy)]
struct Mute {
    first: f32,
    step: f32,
    tp: f32,
    slope0: f32,
    slopep: f32,
    inner: bool,
    hyper: bool,
    muted: f32,
}

/// The result of the mute for the traces beyond x0.
#[derive(Default)]
struct Beyond {
    /// Whether there are any traces of this kind.
    any: AtomicBool,
    /// Whether any of them keeps a sample.
    kept: AtomicBool,
}

impl Beyond {
    /// Takes note of a trace at the offset `x` from x0.
    fn see(&self, x: f32, is_kept: bool) {
        if x != 0.0 {
            self.any.fetch_or(true, Relaxed);
            self.kept.fetch_or(is_kept, Relaxed);
        }
    }

    /// Whether there are traces of this kind and none of their samples remains.
    fn is_lost(&self) -> bool {
        self.any.load(Relaxed) && !self.kept.load(Relaxed)
    }
}

/// The offsets of all traces.
pub(super) struct Offsets {
    values: Vec<f32>,
    /// Number of traces in a gather.
    gather: u64,
    /// The shifts of the offsets, which the gathers use in turn.
    shifts: Vec<f32>,
}

impl Offsets {
    /// The offset of a trace.
    pub(super) fn of(&self, trace: u64) -> f32 {
        let gather = trace / self.gather;
        let shift = self.shifts[(gather % self.shifts.len() as u64) as usize];
        self.values[(trace % self.values.len() as u64) as usize] + shift
    }

    /// The first two offsets, for a message.
    fn first_two(&self) -> String {
        let [a, b] = [0, 1].map(|trace| self.of(trace));
        format!("{a} and {b}")
    }
}

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    cube::warn_of_time_axis(job, &input)?;
    cube::warn_of_milliseconds(job, &input, "offsets and the velocities or slopes of the mute");
    let axis = cube::shape(&input)?.swap_remove(0);
    let offsets = offsets(job, &input)?;
    let slope0 = match job.float_opt("slope0")? {
        Some(slope) => slope,
        None => {
            let velocity = job.float("v0")?;
            ensure!(
                velocity != 0.0,
                "v0=0: the slope 1/v0 is infinite; give another velocity, or slope0="
            );
            1.0 / velocity
        }
    };
    let slopep = job.float_opt("slopep")?.unwrap_or(slope0);
    let (hyper, abs) = (job.flag("hyper")?, job.flag("abs")?);
    let squared = |slope: f32| if hyper { slope * slope } else { slope };
    let mute = Mute {
        first: axis.o - job.float("t0")?,
        step: axis.d,
        tp: job.float("tp")?,
        slope0: squared(slope0),
        slopep: squared(slopep),
        inner: job.flag("inner")?,
        hyper,
        muted: if job.flag("nan")? { f32::NAN } else { 0.0 },
    };
    let (x0, whole) = (job.float("x0")?, if job.flag("half")? { 2.0 } else { 1.0 });
    let mut output = job.output()?;
    let (muted, kept, beyond) = (AtomicBool::new(false), AtomicBool::new(false), Beyond::default());
    lines::each(
        &mut input,
        &mut output,
        (axis.n, axis.n),
        || (),
        |(), trace, line: &[f32], result: &mut [f32]| {
            let x = (offsets.of(trace) - x0) * whole;
            let x = if hyper { x * x } else { x };
            let lost = mute.run(if abs { x.abs() } else { x }, line, result);
            muted.fetch_or(lost > 0, Relaxed);
            kept.fetch_or(lost < line.len(), Relaxed);
            beyond.see(x, lost < line.len());
            Ok(())
        },
    )?;
    let what = match (muted.into_inner(), kept.into_inner()) {
        (false, _) => Some("no sample".to_string()),
        (true, false) => Some("every sample".to_string()),
        (true, true) if beyond.is_lost() => Some(format!("every sample beyond offset {x0}")),
        (true, true) => None,
    };
    if let Some(what) = what {
        job.warn(&format!(
            "{what} was muted: check v0= (in the unit of offset over that of time), half=, and the offsets, which offset= or axis 2 gives (the first two are {})",
            offsets.first_two()
        ));
    }
    Ok(output.finish()?)
}

/// The offsets of `offset=` or, without it, of axis 2.
pub(super) fn offsets(job: &mut Job, input: &Input) -> Result<Offsets> {
    if !job.has_input("offset") {
        return of_axis(job, input);
    }
    if !job.given("half") {
        job.warn("the values of offset= are taken as half-offsets, because half= is not given: use half=n if they are full offsets, as in trace headers, or half=y to confirm");
    }
    let gather = input.axis(2).n as u64;
    let mut file = job.input("offset")?;
    let traces = input.len() / input.axis(1).n as u64;
    ensure!(
        file.len() == gather || file.len() == traces,
        "{} holds {} offsets, but {gather} are needed (one for each trace of a gather) or {traces} (one for each trace of all gathers)",
        file.name(),
        file.len()
    );
    cube::in_order(&file, input, 1)?;
    let values = file.read_all_f32()?;
    Ok(Offsets {
        values,
        gather,
        shifts: vec![0.0],
    })
}

/// The offsets of axis 2.
pub(super) fn of_axis(job: &Job, input: &Input) -> Result<Offsets> {
    let axis = input.axis(2);
    let label = axis.label.as_deref().unwrap_or_default();
    if axis.n > 1 && NUMBERS.contains(&label) && axis.unit.as_deref().unwrap_or_default().is_empty() {
        job.warn(&format!(
            "axis 2 is `{label}`, which counts traces, but its coordinates are taken as offsets (the first \
            two are {} and {}): give the offsets by offset=, made by sfheadermath < headers.rsf \
            output=offset | sfdd type=float, or, if they are regular, with sfput o2= d2= label2=Offset",
            axis.o,
            axis.o + axis.d
        ));
    }
    let whole = label.to_lowercase();
    if axis.n > 1 && whole.contains("offset") && !whole.contains("half") && !job.given("half") {
        job.warn(&format!(
            "axis 2 is `{label}` and is taken as half-offsets, because half= is not given: use half=n if it holds full offsets, as from sfintbin and trace headers, or half=y to confirm"
        ));
    }
    let sets = sets(job, input, axis.d)?;
    let shift = axis.d / sets as f32;
    Ok(Offsets {
        values: (0..axis.n).map(|i| axis.o + i as f32 * axis.d).collect(),
        gather: axis.n as u64,
        shifts: (0..sets).map(|i| shift * i as f32).collect(),
    })
}

/// The number of sets of offsets between which the gathers of axis 3 alternate; `d2` is the distance of offsets in a
/// gather.
fn sets(job: &Job, input: &Input, d2: f32) -> Result<i64> {
    if let Some(sets) = job.int_opt("CDPtype")? {
        return Ok(sets);
    }
    let d3 = input.header().float("d3").unwrap_or(f32::INFINITY);
    let half = job.flag("half")?;
    let near = d2 / d3 * if half { 1.0 } else { 0.5 } + 0.5;
    if near < 2.0 || !near.is_finite() {
        return Ok(1);
    }
    let in_header = input.header().large_int("CDPtype");
    let sets = in_header.unwrap_or(near as i64);
    ensure!(
        (1..=MOST_SETS).contains(&sets),
        "CDPtype={sets}: the number of sets of offsets must be 1 to {MOST_SETS} (d2={d2}, d3={d3})"
    );
    let is_odd = cube::across_time(&cube::shape(input)?).is_some();
    if in_header.is_none() && input.axis(3).n > 1 && !is_odd {
        let rule = if half { "d2/d3" } else { "d2/d3/2, for half=n" };
        job.warn(&format!(
            "CDPtype={sets} is assumed from d2={d2} and d3={d3} ({rule}): the offsets of each gather of axis \
            3 are shifted by {} from those of the previous gather and repeat after {sets} gathers; use \
            CDPtype=1 if every gather has the offsets of axis 2, or if axis 3 counts midpoints",
            d2 / sets as f32
        ));
    }
    Ok(sets)
}

impl Mute {
    /// Weights a trace at the offset `x` (squared if `hyper`); returns the number of samples that were muted.
    fn run(self, x: f32, line: &[f32], result: &mut [f32]) -> usize {
        let mut lost = 0;
        let width = self.tp + x * (self.slopep - self.slope0);
        for (i, (value, result)) in line.iter().zip(result).enumerate() {
            let t = self.first + i as f32 * self.step;
            let t = if self.hyper { t * t } else { t };
            let (past, left) = (t - x * self.slope0, t - self.tp - x * self.slopep);
            let (outside, within) = match self.inner {
                true => (past > 0.0, left >= 0.0),
                false => (past < 0.0, left <= 0.0),
            };
            *result = if outside {
                lost += 1;
                self.muted
            } else if within && width != 0.0 {
                value * (0.5 * PI * past / width).sin().powi(2)
            } else {
                *value
            };
        }
        lost
    }
}
