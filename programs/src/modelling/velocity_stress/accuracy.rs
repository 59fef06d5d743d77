//! Accuracy as a parameter, `error=` and `path=`: the largest phase error of waves, the finite-difference
//! weights that achieve it, and the coarser grid or the longer steps that would suffice.

use super::Run;
use crate::modelling::exact_time::{ExactTime, Timing};
use crate::modelling::plan::up;
use anyhow::{Context, anyhow, ensure};
use fourier::time_dispersion::early;
use kernels::grid::minimax::{largest_error, minimax};
use kernels::grid::stencil::{Family, StaggeredWeights, staggered};
use kernels::methods::velocity_stress::Shot;
use kernels::stability::{Findings, points_per_wavelength};
use rsf_io::{Job, Param};
use std::f64::consts::PI;

/// The largest error of a phase.
pub const ERROR: Param = Param::float("error")
    .default_text("none")
    .range("above 0, at most 1", Some(1e-30), Some(1.0))
    .doc(
        "largest error of the phase of any wave after path=, in periods: chooses order=, fd= and tdc=y if \
        they are not given, and checks them if they are",
    );

/// The length of the path of the waves.
pub const PATH: Param = Param::float("path")
    .default_text("the diagonal of the model")
    .range("above 0", Some(1e-30), None)
    .doc("with error=: length of the path of the waves, in shortest wavelengths");

/// The least relative error of speeds that single precision can achieve: weights and fields are rounded by a
/// tenth of it.
const LEAST: f64 = 5e-7;

/// Wavelengths that are shorter by this factor must be accurate, too: on the grid the highest frequency has
/// slightly shorter waves.
const MARGIN: f64 = 0.99;

/// The safety factor of an advised spacing: the highest frequency is determined from the time functions, whose samples
/// change with the step.
const SURE: f64 = 0.98;

/// The longest step with exact time that is advised, as a fraction of the stability limit.
const LONG: f64 = 0.95;

/// The orders, the cheapest first.
const ORDERS: [usize; 3] = [2, 4, 8];

/// The requested accuracy, and the choice that was made for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Largest error of a phase, in periods.
    error: f64,
    /// Length of the path in shortest wavelengths, if it is given.
    path: Option<f64>,
    /// Order and weights, if the user chose them.
    order: Option<usize>,
    family: Option<Family>,
    /// Whether records have exact time.
    exact: bool,
    /// The choice, once the model is known.
    chosen: Option<Chosen>,
}

/// The choice for a model.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chosen {
    /// Length of the path in shortest wavelengths.
    path: f64,
    /// Relative errors of phase velocities, from space and from time.
    space: f64,
    time: f64,
    /// The largest spacing that would suffice, and the largest step, if they are larger than in the run.
    spacing: Option<f64>,
    step: Option<f64>,
}

impl Accuracy {
    /// Reads the accuracy, and the time-dispersion correction of a run of `steps` steps. With `error=` the dispersion
    /// is corrected unless `tdc=n` is given.
    pub fn read_with_time(
        job: &Job,
        steps: usize,
        dt: f64,
    ) -> anyhow::Result<(Option<Self>, Option<ExactTime>)> {
        let accuracy = Self::read(job)?;
        let exact = match &accuracy {
            Some(accuracy) => accuracy.exact.then(|| ExactTime::of(steps, dt)),
            None => ExactTime::read(job, steps, dt)?,
        };
        Ok((accuracy, exact))
    }

    /// Reads `error=` and `path=`.
    fn read(job: &Job) -> anyhow::Result<Option<Self>> {
        let (error, path) = (job.double_opt("error")?, job.double_opt("path")?);
        let Some(error) = error else {
            ensure!(
                path.is_none(),
                "path= has no meaning without error=, the error that is allowed over that path: give error=, \
                or leave out path="
            );
            return Ok(None);
        };
        let order = job.given("order").then(|| job.choice("order"));
        let family = job.given("fd").then(|| job.choice("fd"));
        Ok(Some(Self {
            error,
            path,
            order: order.transpose()?.map(str::parse).transpose()?,
            family: family.transpose()?.map(|word| match word {
                "holberg" => Family::Holberg,
                _ => Family::Taylor,
            }),
            exact: !job.given("tdc") || job.flag("tdc")?,
            chosen: None,
        }))
    }

    /// The orders and weights that may be chosen for waves with `points` points per wavelength, the cheapest first.
    fn candidates(&self, points: f64) -> Vec<(usize, Family)> {
        let orders = ORDERS.into_iter();
        let orders = orders.filter(|order| self.order.is_none_or(|own| own == *order));
        let with = |order: usize| Some((order, self.family.or_else(|| minimax(order, MARGIN * points))?));
        orders.filter_map(with).collect()
    }

    /// The least number of points per wavelength for which velocity errors are at most `allowed`.
    fn points_for(&self, allowed: f64) -> Option<f64> {
        let fits = |points: f64| {
            let all = self.candidates(points);
            all.iter()
                .any(|&(order, family)| error(order, family, points) <= allowed)
        };
        let (mut few, mut many) = (2.0f64, 200.0f64);
        if !fits(many) {
            return None;
        }
        while many - few > 1e-3 * few {
            let middle = 0.5 * (few + many);
            match fits(middle) {
                true => many = middle,
                false => few = middle,
            }
        }
        Some(many)
    }

    /// The lines of `verb=y`.
    pub fn words(&self, shot: &Shot) -> Vec<String> {
        let Some(chosen) = self.chosen else {
            return Vec::new();
        };
        let periods = |share: f64| format!("{:.1e}", share * chosen.path);
        let family = match shot.family {
            Family::Taylor => "Taylor's weights",
            Family::Holberg => "Holberg's weights",
            Family::Chosen(_) => "the best weights for these waves",
        };
        let mut lines = vec![format!(
            "accuracy: order {} with {family}: after {:.1} shortest wavelengths phases are wrong by at most \
            {} periods because of space and {} because of time; {} are allowed (error=); interfaces and free \
            surfaces cause additional errors",
            shot.order,
            chosen.path,
            periods(chosen.space),
            if self.exact {
                "0".into()
            } else {
                periods(chosen.time)
            },
            self.error
        )];
        if let Some(spacing) = chosen.spacing {
            lines.push(format!(
                "accuracy: a spacing of {spacing:.4e} m would suffice, with the order that is then chosen"
            ));
        }
        if let Some(step) = chosen.step {
            lines.push(format!(
                "accuracy: with exact time dt={step:.4e} would suffice, {:.0} % of the stability limit: \
                {:.1} times fewer steps",
                100.0 * LONG,
                step / shot.dt
            ));
        }
        lines
    }
}

/// The largest relative error of the phase velocities of waves with `points` points per wavelength.
fn error(order: usize, family: Family, points: f64) -> f64 {
    let weights = staggered(order, family);
    weights.map_or(f64::INFINITY, |weights: StaggeredWeights| {
        largest_error(&weights, MARGIN * points)
    })
}

/// Chooses the finite-difference weights of a run whose model is known; `share` is the stability limit of an order and
/// its weights as a fraction of the limit of single cells.
///
/// # Errors
/// Returns an error for an accuracy that cannot be achieved; the message says what would be required.
pub fn choose(
    run: &mut Run,
    findings: &Findings,
    share: impl Fn(usize, Family) -> anyhow::Result<f64>,
) -> anyhow::Result<()> {
    let Some(goal) = run.accuracy else { return Ok(()) };
    let (band, padded, dt) = (run.timing.band, &run.padded, run.shot.dt);
    let (slowest, dt_max, ndim) = (findings.extremes.slowest, findings.extremes.dt_max, padded.ndim());
    let spacing = padded.d()[..ndim].iter().copied().fold(0.0, f32::max);
    let points = points_per_wavelength(slowest, band.max, f64::from(spacing));
    ensure!(
        points.is_finite() && points > 0.0,
        "error= has no meaning, because the sources are silent and there are no waves: check stf=, series= and nt="
    );
    let length = |a: usize| (padded.model.n[a] as f64 - 1.0) * f64::from(padded.d()[a]);
    let diagonal = (0..ndim).map(|a| length(a).powi(2)).sum::<f64>().sqrt();
    let path = goal.path.unwrap_or(diagonal * band.max / slowest);
    let allowed = goal.error / path;
    ensure!(
        allowed >= LEAST,
        "error={} over {path:.1} shortest wavelengths requires speeds within {allowed:.1e}, but single \
        precision achieves {LEAST:.0e}: give error={:.1e} or more, or a shorter path=",
        goal.error,
        up(LEAST * path, 2)
    );
    let time = match goal.exact {
        true => 0.0,
        false => early(band.max, dt).unwrap_or(f64::INFINITY),
    };
    // A wavelet that begins with a jump has all frequencies, so that no grid and no step would suffice.
    let refusal = |otherwise: anyhow::Error| match run.timing.jump() {
        Some(jump) => anyhow!("error={}: {jump}", goal.error),
        None => otherwise,
    };
    if time >= allowed {
        return Err(refusal(anyhow!(
            "tdc=n: steps of {} s make waves early by {:.1e} periods after {path:.1} shortest wavelengths, but error={} is allowed: leave out tdc=, or give dt={:.3e} or less",
            dt as f32,
            time * path,
            goal.error,
            (3.0 * allowed).sqrt() / (PI * band.max)
        )));
    }
    let left = allowed - time;
    let good = |&(order, family): &(usize, Family)| error(order, family, points) <= left;
    let all = goal.candidates(points);
    let limit = |order: usize, family: Family| Ok::<_, anyhow::Error>(dt_max * share(order, family)?);
    let choice = cheapest(all.into_iter().filter(good), |order, family| {
        Ok(dt <= limit(order, family)?)
    })?;
    let Some((order, family)) = choice else {
        return Err(refusal(too_coarse(
            &goal,
            (points, f64::from(spacing)),
            (left, path),
        )));
    };
    let space = error(order, family, points);
    let wider = goal
        .points_for(left)
        .map(|least| SURE * f64::from(spacing) * points / least);
    let longest = LONG * limit(order, family)?;
    (run.shot.order, run.shot.family) = (order, family);
    for shot in &mut run.beside {
        (shot.order, shot.family) = (order, family);
    }
    let chosen = Chosen {
        path,
        space,
        time,
        spacing: wider.filter(|wider| *wider > 1.05 * f64::from(spacing)),
        step: Some(longest).filter(|longest| goal.exact && *longest > 1.05 * dt),
    };
    run.accuracy = Some(Accuracy {
        chosen: Some(chosen),
        ..goal
    });
    Ok(())
}

/// Adds to an error of `timing` that `error=` chose exact time.
pub fn of_time(job: &Job, timing: anyhow::Result<Timing>) -> anyhow::Result<Timing> {
    match job.given("error") {
        true => timing.context("error= includes exact time (tdc=y), which tdc=n switches off"),
        false => timing,
    }
}

/// The first candidate with a stable step or, if there is none, the first candidate, so that the run reports
/// the unstable step.
fn cheapest(
    good: impl Iterator<Item = (usize, Family)>,
    stable: impl Fn(usize, Family) -> anyhow::Result<bool>,
) -> anyhow::Result<Option<(usize, Family)>> {
    let mut first = None;
    for (order, family) in good {
        if stable(order, family)? {
            return Ok(Some((order, family)));
        }
        first = first.or(Some((order, family)));
    }
    Ok(first)
}

/// The error for a grid that is too coarse, with advice on settings that would be accurate enough.
fn too_coarse(goal: &Accuracy, (points, spacing): (f64, f64), (left, path): (f64, f64)) -> anyhow::Error {
    let given = match (goal.order, goal.family) {
        (None, None) => "order=8".into(),
        (order, family) => {
            let order = order.map(|order| format!("order={order}"));
            let family = family.map(|family| match family {
                Family::Holberg => "fd=holberg".to_string(),
                _ => "fd=taylor".to_string(),
            });
            let words: Vec<String> = order.into_iter().chain(family).collect();
            words.join(" ")
        }
    };
    let best = goal.candidates(points).into_iter();
    let best = best.map(|(order, family)| error(order, family, points));
    let best = best.fold(f64::INFINITY, f64::min) * path;
    let needed = best + (goal.error - left * path).max(0.0);
    let more = match needed.is_finite() {
        true => format!(", or error={:.1e} or more", up(needed, 2)),
        false => String::new(),
    };
    let cure = goal.points_for(left).map_or_else(String::new, |least| {
        format!("a spacing of {:.4e} m or less, ", SURE * spacing * points / least)
    });
    let other = match (goal.order, goal.family) {
        (None, None) | (Some(8), None) => "",
        _ => "no order= and fd=, ",
    };
    anyhow!(
        "error={}: with {points:.1} points per shortest wavelength phases are wrong by {best:.1e} periods \
        after {path:.1} shortest wavelengths with {given}: use {cure}{other}a lower frequency{more}",
        goal.error
    )
}
