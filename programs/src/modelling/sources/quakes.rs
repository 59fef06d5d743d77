//! Converts earthquakes and forces of files to sources of a run, with the time functions that SPECFEM3D gives
//! them.

use crate::earth::{self, Quakes, SourceTime, TurnedMechanism};
use anyhow::bail;
use kernels::grid::points::Point;
use kernels::source::{Action, TimeFunction};
use rsf_io::Job;

/// The half duration divided by the standard deviation of a Gaussian moment rate, which is SPECFEM3D's
/// exp(-(1.628 t / half duration)^2).
const SPREAD: f64 = 1.628 * std::f64::consts::SQRT_2;
/// The least half duration in time steps.
const LEAST: f64 = 5.0;
/// T divided by the standard deviation of the Gaussian sqrt(pi)/T exp(-(pi t/T)^2).
const IMPACT: f64 = std::f64::consts::PI * std::f64::consts::SQRT_2;
/// The least time over which SPECFEM3D lets a sine grow, s.
const GROWTH: f64 = 200.0;

/// Sources whose positions come from a file other than sou=, each with its moment tensor or force.
#[derive(Clone)]
pub struct Placed {
    /// Positions of the sources.
    pub points: Vec<Point>,
    /// Moment tensors or forces.
    pub actions: Vec<Action>,
    /// Centroid time of each, s.
    pub shifts: Vec<f64>,
    /// Time functions that are centred on that time, or series with their own times; if empty, the command line's
    /// apply.
    pub histories: Vec<TimeFunction>,
}

impl Placed {
    /// True if the time functions are samples of the moments themselves, regardless of rate=, which describes series=.
    pub fn has_samples(&self) -> bool {
        let is_series = |history: &TimeFunction| matches!(history, TimeFunction::Series { .. });
        self.histories.iter().any(is_series)
    }

    /// The onset of each source, s, such that its centroid lies at the shift. A source uses the time function with its
    /// number, or the only one.
    pub fn onsets(&self, histories: &[TimeFunction]) -> Vec<f32> {
        let each = self.shifts.iter().enumerate();
        each.map(|(k, shift)| (shift - centroid(&histories[k % histories.len()])) as f32)
            .collect()
    }
}

/// The centroid time of a moment or a force after the beginning of the time function, s; series and sines have their
/// own times.
fn centroid(history: &TimeFunction) -> f64 {
    match history {
        TimeFunction::Series { .. } | TimeFunction::Sine { .. } => 0.0,
        // The mean time of the rate t/tau^2 exp(-t/tau).
        TimeFunction::Brune { tau } => 2.0 * tau,
        _ => (history.span()[0] + history.span()[1]) / 2.0,
    }
}

/// Earthquakes and forces as sources. The command line may give their time functions. `bells` selects the moments that
/// follow the Gaussian itself instead of its integral; its argument is true if the command line does not give the time
/// functions.
///
/// # Errors
/// Returns an error for files of time functions that are missing or too short, and the errors of `bells`.
pub fn placed(
    job: &Job,
    quakes: &Quakes,
    bells: impl FnOnce(bool) -> anyhow::Result<Vec<bool>>,
) -> anyhow::Result<Placed> {
    let least = LEAST * job.double("dt")?;
    let spread = |half: f64| half.max(least) / SPREAD;
    let own = !["stf", "series", "tau", "freq"]
        .iter()
        .any(|word| job.given(word));
    let series = match own {
        true => external(job, quakes)?,
        false => Vec::new(),
    };
    let has_samples = !series.is_empty();
    let bells = bells(own && !has_samples)?;
    let history = |(k, source_time): (usize, &SourceTime)| match *source_time {
        SourceTime::HalfDuration(half) if bells[k] => TimeFunction::Bell { tau: spread(half) },
        SourceTime::HalfDuration(half) => TimeFunction::Gaussian { tau: spread(half) },
        SourceTime::Peak(frequency) => TimeFunction::Ricker { frequency },
        SourceTime::Step(half) => TimeFunction::Step { tau: spread(half) },
        SourceTime::Sine(period) => TimeFunction::Sine {
            period,
            growth: (GROWTH / period).ceil() * period,
        },
        SourceTime::Impact(time) => TimeFunction::Gaussian { tau: time / IMPACT },
    };
    // SPECFEM3D's Gaussian has unit area; the Gaussian of a force or a bell has unit height here.
    let height = |source_time: &SourceTime| {
        let tau = match *source_time {
            _ if !own || has_samples => return 1.0,
            SourceTime::HalfDuration(half) => spread(half),
            SourceTime::Impact(time) => time / IMPACT,
            _ => return 1.0,
        };
        1.0 / (std::f64::consts::TAU.sqrt() * tau)
    };
    let action = |((k, turned), source_time): ((usize, &TurnedMechanism), &SourceTime)| match turned {
        TurnedMechanism::Moment(m) => {
            let size = if bells[k] { height(source_time) } else { 1.0 };
            Action::Moment([m[0][0], m[1][1], m[2][2], m[0][1], m[0][2], m[1][2]].map(|m| m * size))
        }
        TurnedMechanism::Force(force) => Action::Force(force.map(|f| f * height(source_time))),
    };
    Ok(Placed {
        points: quakes
            .points
            .iter()
            .map(|p| [p[2], p[0], p[1]].map(|c| c as f32))
            .collect(),
        actions: quakes
            .mechanisms
            .iter()
            .enumerate()
            .zip(&quakes.source_times)
            .map(action)
            .collect(),
        shifts: match has_samples {
            true => vec![0.0; quakes.shifts.len()],
            false => quakes.shifts.clone(),
        },
        histories: match (own, has_samples) {
            (true, false) => quakes.source_times.iter().enumerate().map(history).collect(),
            _ => series,
        },
    })
}

/// The parameter that names the sources: cmt, force or quakeml.
pub fn word(job: &Job) -> &'static str {
    let all = earth::SOURCES.into_iter();
    all.clone()
        .find(|word| job.given(word))
        .unwrap_or(earth::SOURCES[0])
}

/// The time functions in files that cmt= or force= names: a sample for every step, of the moment itself or the force,
/// from the first step on. Empty if no file is named.
fn external(job: &Job, quakes: &Quakes) -> anyhow::Result<Vec<TimeFunction>> {
    let named: Vec<&String> = quakes.histories.iter().flatten().collect();
    if !named.is_empty() && named.len() < quakes.histories.len() {
        bail!(
            "{} of {} sources name a file of their time function: either all of them must name one, or none",
            named.len(),
            quakes.histories.len()
        );
    }
    let list = job.text("cmt")?.or(job.text("force")?).unwrap_or_default();
    let (nt, step) = (job.int("nt")? as usize, job.double("dt")?);
    let series = |file: &String| {
        let values = earth::read_history(&list, file)?;
        if values.len() < nt {
            bail!(
                "{file} of {list} has {} samples, but nt={nt}: it needs one for every step",
                values.len()
            );
        }
        Ok(TimeFunction::Series {
            start: 0.0,
            step,
            values,
        })
    };
    named.into_iter().map(series).collect()
}
