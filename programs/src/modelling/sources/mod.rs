//! Sources in absolute units, for programs on grids and on meshes: mechanisms and time functions from parameters and
//! files.

mod plane;
pub mod quakes;
mod series;
mod silent;

use crate::modelling::exact_time::first_share;
use crate::modelling::units;
use crate::modelling::words::counted;
use anyhow::{Context, bail};
use kernels::grid::points::Point;
use kernels::source::{Action, Source, TimeFunction};
use kernels::stability::{Band, dominant_frequency};
use quakes::Placed;
use rsf_io::{Input, Job};
use series::refined;

/// The largest number of time functions whose frequency bands are determined; they are evenly spread over all.
const LOOKED_AT: usize = 64;

/// The largest number of samples of a time function that are analysed; longer ones are sampled at longer intervals.
const SAMPLES: f64 = 1e6;

/// The meaning of the series of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histories {
    /// Moment rates, half a step after each step, and forces; the run begins at zero.
    Rates,
    /// Moments and forces. With `false`, series= is the moment, not its rate.
    Moments(bool),
}

/// The sources and their series, `[series][step]`.
pub struct Sources {
    /// Positions and actions of the sources, and the series of each.
    pub list: Vec<Source>,
    /// Time series; sources with the same time function share one.
    pub series: Vec<Vec<f32>>,
    /// The widest band of their whole time functions, which does not depend on the end of the run.
    pub band: Band,
    /// Largest first sample of a series of samples, as a fraction of its largest value.
    pub begins: f64,
    /// The time at which the run begins, s: zero, or the beginning of an earlier series of moments or forces.
    pub begin: f64,
}

impl Sources {
    /// The time in steps of the first samples of rates or forces.
    pub fn first_step(&self) -> f64 {
        self.list.first().map_or(0.0, |source| source.action.time(0))
    }
}

/// Reads the parameters of sources at these points.
pub fn read_at(
    job: &mut Job,
    ndim: usize,
    points: Vec<Point>,
    time: (usize, f64),
    what: Histories,
) -> anyhow::Result<Sources> {
    let count = points.len();
    let mut actions = actions(job, ndim, count)?;
    if ndim == 2 && job.choice("src")? == "dc" {
        actions = plane::checked(job, actions)?;
    }
    let histories = histories(job, count, time.1)?;
    let onsets = onsets(job, count)?;
    let begin = match what {
        Histories::Rates => 0.0,
        // The run begins early enough for all time functions.
        Histories::Moments(_) => begin(&histories, onsets.as_deref()),
    };
    let given = Unsampled {
        begin,
        points,
        actions,
        histories,
        onsets,
    };
    sampled(job, given, time, what)
}

/// Reads the parameters of sources whose positions and mechanisms are known.
pub fn read_placed(
    job: &mut Job,
    mut placed: Placed,
    time: (usize, f64),
    what: Histories,
) -> anyhow::Result<Sources> {
    let histories = match placed.histories.is_empty() {
        true => histories(job, placed.points.len(), time.1)?,
        false => std::mem::take(&mut placed.histories),
    };
    let onsets = Some(placed.onsets(&histories));
    let given = Unsampled {
        begin: begin(&histories, onsets.as_deref()),
        points: placed.points,
        actions: placed.actions,
        histories,
        onsets,
    };
    sampled(job, given, time, what)
}

/// Sources before their time functions are sampled.
struct Unsampled {
    /// The time at which the run begins, s.
    begin: f64,
    points: Vec<Point>,
    actions: Vec<Action>,
    histories: Vec<TimeFunction>,
    onsets: Option<Vec<f32>>,
}

/// The sources with their series.
fn sampled(job: &Job, given: Unsampled, (nt, dt): (usize, f64), what: Histories) -> anyhow::Result<Sources> {
    let Unsampled {
        begin,
        points,
        actions,
        histories,
        onsets,
    } = given;
    let count = points.len();
    let mut sources = Sources {
        list: Vec::with_capacity(count),
        series: Vec::new(),
        band: Band::default(),
        begins: begins(&histories),
        begin,
    };
    let value = |action: Action, history: &TimeFunction, t: f64| match (action, history) {
        // A step keeps its value after its rise, so its band is the band of its rate.
        (Action::Moment(_), _) | (_, TimeFunction::Step { .. }) => history.rate(t) as f32,
        (Action::Force(_), _) => history.pulse(t) as f32,
    };
    for (k, point) in points.into_iter().enumerate() {
        let (action, history) = (actions[k % actions.len()], &histories[k % histories.len()]);
        let onset = onsets.as_ref().map_or(0.0, |o| f64::from(o[k]));
        if k == 0 || onsets.is_some() || histories.len() > 1 {
            let mut series = Vec::new();
            if series.try_reserve_exact(nt).is_err() {
                bail!(
                    "nt={nt}: the samples of a source do not fit into memory; give fewer steps, or a larger dt="
                );
            }
            match what {
                Histories::Rates => {
                    let time = |it| begin + action.time(it) * dt - onset;
                    series.extend((0..nt).map(|it| match action {
                        Action::Moment(_) => history.rate(time(it)) as f32,
                        Action::Force(_) => history.pulse(time(it)) as f32,
                    }));
                }
                Histories::Moments(rate) => {
                    let time = (begin - onset, dt);
                    series.extend(strengths(action, history, time, rate).take(nt));
                }
            }
            sources.series.push(series);
        }
        sources.list.push(Source {
            point,
            action,
            series: sources.series.len() - 1,
        });
    }
    let whole = whole(&actions, &histories, dt, value);
    sources.band = whole.band;
    let mut largest = whole.largest;
    match what {
        Histories::Rates => early(job, &histories, onsets.as_deref(), (begin, dt)),
        // The largest value found above belongs to the rates.
        Histories::Moments(rate) => {
            let pairs = (0..actions.len().max(histories.len()))
                .map(|k| (actions[k % actions.len()], &histories[k % histories.len()]));
            largest = pairs
                .map(|(action, history)| largest_strength(action, history, dt, rate))
                .fold(0.0, f32::max);
        }
    }
    if histories
        .iter()
        .any(|history| matches!(history, TimeFunction::Step { .. }))
    {
        largest = 0.0;
    }
    let spans = histories.iter().map(TimeFunction::span);
    let longest = spans.map(|[begin, end]| end - begin).fold(0.0, f64::max);
    silent::refuse(job, &sources, (nt as f64 * dt, dt), (largest, longest))?;
    Ok(sources)
}

/// The time at which a run must begin to contain all time functions from their beginnings: zero, or an earlier time.
fn begin(histories: &[TimeFunction], onsets: Option<&[f32]>) -> f64 {
    let of = |k: usize| {
        let onset = onsets.map_or(0.0, |o| f64::from(o[k]).min(0.0));
        histories[k % histories.len()].span()[0] + onset
    };
    (0..onsets.map_or(histories.len(), <[f32]>::len))
        .map(of)
        .fold(0.0, f64::min)
}

/// The moment divided by the final moment, or the force divided by its strength, step by step, beginning at a given
/// time. A moment is the sum of its rates in the middle of the steps, unless the time function is the moment itself.
fn strengths<'a>(
    action: Action,
    history: &'a TimeFunction,
    (start, dt): (f64, f64),
    rate: bool,
) -> impl Iterator<Item = f32> + 'a {
    let itself = match history {
        TimeFunction::Ricker { .. }
        | TimeFunction::Bell { .. }
        | TimeFunction::Step { .. }
        | TimeFunction::Sine { .. } => true,
        TimeFunction::Series { .. } => !rate,
        _ => false,
    };
    let sums = matches!(action, Action::Moment(_)) && !itself;
    let mut moment = 0.0;
    (0..).map(move |it: usize| {
        let t = start + it as f64 * dt;
        if !sums {
            return history.pulse(t) as f32;
        }
        let now = moment;
        moment += dt * history.rate(t + 0.5 * dt);
        now as f32
    })
}

/// The largest of the [`strengths`] during a whole time function.
fn largest_strength(action: Action, history: &TimeFunction, dt: f64, rate: bool) -> f32 {
    let [begin, end] = history.span();
    let steps = ((end - begin) / dt).ceil();
    // The time function is too long to be sampled, or has no end: its largest value is not determined.
    if steps.is_nan() || steps >= SAMPLES {
        return 0.0;
    }
    let all = strengths(action, history, (begin, dt), rate).take(steps as usize + 1);
    all.fold(0.0, |most, x| most.max(x.abs()))
}

/// Warns of samples before the run begins.
fn early(job: &Job, histories: &[TimeFunction], onsets: Option<&[f32]>, (begin, dt): (f64, f64)) {
    let count = onsets.map_or(histories.len(), <[f32]>::len);
    let mut series = false;
    let mut first = |k: usize| {
        let onset = onsets.map_or(0.0, |o| f64::from(o[k]));
        match &histories[k % histories.len()] {
            TimeFunction::Series { start, step, values } => {
                series = true;
                let loud = values.iter().position(|&x| x != 0.0).unwrap_or(values.len());
                start + loud as f64 * step + onset
            }
            // Built-in time functions begin at zero.
            _ => onset,
        }
    };
    let earliest = (0..count).map(&mut first).fold(0.0, f64::min);
    // Rounding of float32 axes is smaller.
    if earliest < begin - 0.01 * dt {
        let (what, raise) = match series {
            true => ("series= begins", "o1 of series= or onset="),
            false => ("with onset= a time function begins", "onset="),
        };
        job.warn(&format!(
            "{what} at {} s, but the run at 0: the earlier part is left out; increase {raise}",
            earliest as f32
        ));
    }
}

/// The largest first sample of the time functions given by samples, each as a fraction of the largest value of its
/// time function.
fn begins(histories: &[TimeFunction]) -> f64 {
    let share = |history: &TimeFunction| match history {
        TimeFunction::Series { values, .. } => first_share(values.iter().copied()),
        _ => 0.0,
    };
    histories.iter().map(share).fold(0.0, f64::max)
}

/// Properties of source time functions over their whole duration.
struct Whole {
    /// The widest band.
    band: Band,
    /// The largest absolute value.
    largest: f32,
}

/// Analyses whole time functions. One that is truncated at the end of the run would appear to have a step there, which
/// does not occur in the waves.
fn whole(
    actions: &[Action],
    histories: &[TimeFunction],
    dt: f64,
    value: impl Fn(Action, &TimeFunction, f64) -> f32,
) -> Whole {
    let mut whole = Whole {
        band: Band::default(),
        largest: 0.0,
    };
    for history in histories.iter().step_by(histories.len().div_ceil(LOOKED_AT)) {
        let [begin, end] = history.span();
        let step = dt.max((end - begin) / SAMPLES);
        // Zeros after the time function make the spectrum dense enough to determine a frequency.
        let samples = ((end - begin) / step).ceil() as usize + 1;
        let at = |k: usize| value(actions[0], history, begin + (k as f64 + 0.5) * step);
        let mut trace: Vec<f32> = (0..samples).map(at).collect();
        whole.largest = trace.iter().fold(whole.largest, |most, x| most.max(x.abs()));
        trace.resize(4 * samples, 0.0);
        let band = dominant_frequency(&trace, step);
        if band.max > whole.band.max {
            whole.band = band;
        }
    }
    whole
}

/// One action for all sources, or one for each.
fn actions(job: &mut Job, ndim: usize, count: usize) -> anyhow::Result<Vec<Action>> {
    let kind = job.choice("src")?;
    if job.has_input("mech") {
        return listed(job, kind, ndim, count);
    }
    let number = |name: &str| -> anyhow::Result<f64> { Ok(job.double(name)?) };
    let across = |name: &str| -> anyhow::Result<f64> { if ndim == 3 { number(name) } else { Ok(0.0) } };
    Ok(vec![match kind {
        "moment" => Action::Moment([
            number("mxx")?,
            across("myy")?,
            number("mzz")?,
            across("mxy")?,
            number("mxz")?,
            across("myz")?,
        ]),
        "dc" => couple(
            job,
            [number("strike")?, number("dip")?, number("rake")?, number("m0")?],
        )?,
        "force" => Action::Force([number("fx")?, across("fy")?, number("fz")?]),
        _ => Action::explosion(number("m0")?),
    }])
}

/// A double couple.
fn couple(job: &Job, [strike, dip, rake, m0]: [f64; 4]) -> anyhow::Result<Action> {
    Ok(Action::double_couple(strike, dip, rake, m0, job.double("xaz")?))
}

/// The actions that mech= lists.
fn listed(job: &mut Job, kind: &str, ndim: usize, count: usize) -> anyhow::Result<Vec<Action>> {
    let mut file = job.input("mech")?;
    let (needed, what) = match kind {
        "moment" => (6, "xx yy zz xy xz yz"),
        "dc" => (4, "strike dip rake M0"),
        "force" if ndim == 3 => (3, "x y z"),
        "force" => (2, "x z"),
        _ => (1, "M0"),
    };
    let name = file.name();
    let (n1, n2) = (file.axis(1).n, file.axis(2).n);
    if n1 != needed || n2 != count || file.len() != (needed * count) as u64 {
        bail!(
            "{name} has n1={n1} n2={n2}; src={kind} with {} needs n1={needed} ({what}) n2={count}",
            counted(count, "source")
        );
    }
    let values = finite(&mut file)?;
    values
        .chunks(needed)
        .map(|v| {
            let v: Vec<f64> = v.iter().map(|&x| f64::from(x)).collect();
            Ok(match *v.as_slice() {
                [xx, yy, zz, xy, xz, yz] => Action::Moment([xx, yy, zz, xy, xz, yz]),
                [strike, dip, rake, m0] => couple(job, [strike, dip, rake, m0])?,
                [x, y, z] => Action::Force([x, y, z]),
                [x, z] => Action::Force([x, 0.0, z]),
                _ => Action::explosion(v[0]),
            })
        })
        .collect()
}

/// All numbers of a small file.
fn finite(file: &mut Input) -> anyhow::Result<Vec<f32>> {
    let values = file.read_all_f32()?;
    if let Some(bad) = values.iter().position(|x| !x.is_finite()) {
        bail!(
            "{}: value {} is {}; all must be finite numbers",
            file.name(),
            bad + 1,
            values[bad]
        );
    }
    Ok(values)
}

/// One time function for all sources, or one for each, for steps of `dt` seconds.
fn histories(job: &mut Job, count: usize, dt: f64) -> anyhow::Result<Vec<TimeFunction>> {
    if !job.has_input("series") {
        return Ok(vec![built_in(job)?]);
    }
    let mut file = job.input("series")?;
    let (time, n2, name) = (file.axis(1), file.axis(2).n, file.name());
    units::times(job, &file);
    if !(time.d > 0.0 && time.d.is_finite() && time.o.is_finite()) {
        bail!(
            "{name} has d1={} o1={}: the time step must be a positive number",
            time.d,
            time.o
        );
    }
    if time.n == 0 || (n2 != 1 && n2 != count) || file.len() != (time.n * n2) as u64 {
        bail!(
            "{name} has n1={} times and n2={n2} series; n2 must be 1 or the number of sources, {count}",
            time.n
        );
    }
    let values = finite(&mut file)?;
    let series = values.chunks(time.n).map(|v| TimeFunction::Series {
        start: f64::from(time.o),
        step: f64::from(time.d),
        values: v.to_vec(),
    });
    Ok(series.map(|series| refined(series, dt)).collect())
}

/// The time function of stf=.
fn built_in(job: &Job) -> anyhow::Result<TimeFunction> {
    let positive = |key: &str, what: &str| -> anyhow::Result<f64> {
        let stf = job.choice("stf")?;
        let value = job
            .double_opt(key)?
            .with_context(|| match key == "tau" && job.given("freq") {
                true => format!("stf={stf} needs tau=, {what}; freq= goes with stf=ricker"),
                false => format!("stf={stf} needs {key}=, {what}"),
            })?;
        if !(value > 0.0 && value.is_finite()) {
            bail!("{key}={value}: {what} must be a positive number");
        }
        Ok(value)
    };
    Ok(match job.choice("stf")? {
        "ricker" => TimeFunction::Ricker {
            frequency: positive("freq", "the peak frequency in Hz")?,
        },
        "brune" => TimeFunction::Brune {
            tau: positive("tau", "the time of the largest rate in s")?,
        },
        "cosine" => TimeFunction::Cosine {
            duration: positive("tau", "the duration in s")?,
        },
        _ => TimeFunction::Gaussian {
            tau: positive("tau", "the spread in s")?,
        },
    })
}

/// The time at which each source begins.
fn onsets(job: &mut Job, count: usize) -> anyhow::Result<Option<Vec<f32>>> {
    if !job.has_input("onset") {
        return Ok(None);
    }
    let mut file = job.input("onset")?;
    if file.len() != count as u64 {
        bail!(
            "{} has {} values; onset= takes one for each source, {count} here",
            file.name(),
            file.len()
        );
    }
    Ok(Some(finite(&mut file)?))
}
