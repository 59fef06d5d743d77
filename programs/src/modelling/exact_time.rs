//! Time-dispersion correction, `tdc=y`: source time functions (histories) are transformed to the dispersed
//! time of the steps before a run, and its records back to exact time.

mod held;

pub use held::{Held, Operator};

use super::checkpoint::MOST_KEPT;
use super::resample::UNCHANGED;
use anyhow::{bail, ensure};
use fourier::time_dispersion::{Reading, Sampling, TimeDispersion, early, run_on};
use kernels::stability::Band;
use rayon::prelude::*;
use rsf_io::memory::gigabytes;
use rsf_io::{Job, Param};
use std::f64::consts::{FRAC_PI_2, PI};

/// Whether records have exact time.
pub const TDC: Param = Param::bool("tdc").default("n").doc(
    "time-dispersion correction: y removes the error of the time step from the records, for sources that begin at rest and have no frequencies above 1/(pi dt)",
);

/// The header key that says whether samples or snapshots have exact time or the dispersed time of the steps
/// (their clock).
pub const CLOCK: &str = "clock";

/// The largest first sample of a time function that is considered to begin at rest, as a fraction of its largest
/// value.
pub const AT_REST: f64 = 0.03;

/// The largest fraction of a time function that its transform may lose. Brune's moment rate with its peak after ten
/// steps loses 0.4 %.
const LOST: f64 = 0.01;

/// The frequency at which relaxation times are corrected, as a fraction of the highest frequency of the sources: about
/// half of the effect of the steps on the waves comes from lower frequencies.
const STRONG: f64 = 0.6;

/// A positive number rounded down to two digits.
fn two_digits(x: f64) -> f32 {
    let unit = 10f64.powf(x.log10().floor() - 1.0);
    ((x / unit).floor() * unit) as f32
}

/// The time steps of a run, and the time dispersion that they cause.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The number of steps that the user requested, and the time step, s.
    pub steps: usize,
    pub dt: f64,
    /// Frequency band of the sources.
    pub band: Band,
    /// Largest first sample among the series of the sources, as a fraction of their largest value.
    pub begins: f64,
    /// The correction, with `tdc=y`.
    pub exact: Option<ExactTime>,
}

/// The first sample of a series as a fraction of its largest value.
pub fn first_share(series: impl Iterator<Item = f32> + Clone) -> f64 {
    let first = series.clone().next().map_or(0.0, f32::abs);
    let largest = series.fold(0.0f32, |most, x| most.max(x.abs()));
    if largest > 0.0 {
        f64::from(first) / f64::from(largest)
    } else {
        0.0
    }
}

impl Timing {
    /// The timing of a run of `steps` steps of `dt` (s) whose sources have these series, with first samples at `first`
    /// (in steps), and this frequency band; with `exact` the series are transformed.
    ///
    /// # Errors
    /// Returns an error for a time function that does not begin at rest, or has frequencies that the steps cannot
    /// represent.
    pub fn of(
        exact: Option<ExactTime>,
        (steps, dt): (usize, f64),
        (series, first, band): (&mut [Vec<f32>], f64, Band),
    ) -> anyhow::Result<Self> {
        if let Some(exact) = exact {
            exact.sources(series, first, "the time functions of the sources")?;
        }
        Ok(Self {
            steps,
            dt,
            band,
            begins: 0.0,
            exact,
        })
    }

    /// This timing, with sources whose first sample is this fraction of their largest value.
    pub fn beginning(self, begins: f64) -> Self {
        Self { begins, ..self }
    }

    /// Advice for sources whose band is determined by the jump with which they begin, not by their waves.
    pub fn jump(&self) -> Option<String> {
        (self.begins > AT_REST).then(|| {
            format!(
                "the wavelet begins with {:.0} % of its largest value, and this jump contains all frequencies, up to {:.4}: delay it, \
and let its samples grow from 0 (the middle of a Ricker wavelet of frequency f must come at 1.5/f or later); look at the grid only after that",
                100.0 * self.begins, self.band.max
            )
        })
    }

    /// Warns of records that are farther apart in time than the frequencies of the sources allow.
    pub fn warn_of_aliases(&self, job: &Job, jdata: usize) {
        if jdata < 2 || self.begins > AT_REST || self.band.max <= 0.0 {
            return;
        }
        let most = 0.5 / (jdata as f64 * self.dt);
        if most < self.band.max {
            let fits = (0.5 / (self.band.max * self.dt)) as usize;
            job.warn(&format!(
                "jdata={jdata} leaves {} s between records, which can represent frequencies below {most:.4} Hz, but \
                the sources have some up to {:.4} Hz: these are aliased to lower frequencies in the records; take at \
                most jdata={}",
                (jdata as f64 * self.dt) as f32,
                self.band.max,
                fits.max(1)
            ));
        }
    }

    /// Warns of `dtout=` that removes frequencies of the sources.
    pub fn warn_of_filtered(&self, job: &Job, step: f64) {
        let (highest, kept) = (self.band.max, 0.5 / step);
        // For the usual time functions half of the energy lies below a third of the highest frequency.
        let lost = match 3.0 * kept < highest {
            true => "most of the signal is filtered out",
            false if kept < highest && self.begins <= AT_REST => "amplitudes above that are removed",
            false => return,
        };
        job.warn(&format!(
            "dtout={step} keeps frequencies below {kept:.4} Hz, 1/(2 dtout), but the sources extend to {highest:.4} \
            Hz: {lost}; dtout={} keeps all frequencies",
            two_digits(0.5 * UNCHANGED / highest)
        ));
    }

    /// The number of steps that run, including the steps that the correction adds.
    pub fn all_steps(&self) -> usize {
        self.exact.map_or(self.steps, |exact| exact.steps)
    }

    /// The time-dispersion error of the steps, for the end of a plan or a run.
    pub fn words(&self) -> Option<String> {
        let (f, dt) = (self.band.max, self.dt);
        if f <= 0.0 {
            return None;
        }
        let Some(share) = early(f, dt) else {
            return Some(format!(
                "time steps of {} s carry no frequency above {:.4} Hz, but the highest one of the sources is {f:.4} Hz",
                dt as f32,
                1.0 / (PI * dt)
            ));
        };
        let periods = share * f * self.steps as f64 * dt;
        let error = format!("{:.2} % at {f:.4} Hz", 100.0 * share);
        Some(match self.exact {
            Some(exact) => format!(
                "exact time: the error of the time steps, {error}, is removed from the records (tdc=y, {} \
                additional steps)",
                exact.further()
            ),
            None => format!(
                "time steps make waves early by {error}, the highest frequency of the sources, which is {periods:.2} periods at the end of the run; tdc=y removes this error from the records"
            ),
        })
    }

    /// The factor for relaxation times in a scheme that is centred in time. Its memory variables relax at the frequency
    /// `2/dt tan(w dt/2)`, and its waves have the exact frequency `2/dt sin(w dt/2)`, which is lower by the cosine of
    /// `w dt/2` (Wittsten, Koene, Andersson and Robertsson 2019); the factor compensates this where the waves are
    /// strong.
    pub fn relaxation(&self) -> f64 {
        let sine = (PI * STRONG * self.band.max * self.dt).min(0.9);
        self.exact.map_or(1.0, |_| (1.0 - sine * sine).sqrt())
    }

    /// The header entry for the clock of snapshots and maps, if records have exact time.
    pub fn clock_of_steps(&self) -> Option<String> {
        self.exact?;
        let share = 100.0 * early(self.band.max, self.dt).unwrap_or(0.0);
        Some(format!(
            "that of the time steps: waves of {:.4} Hz are early by {share:.2} %; tdc=y corrects only the records",
            self.band.max
        ))
    }

    /// The correction of a field's records, for an engine that delivers only the records that are kept. `of` is the
    /// time of the first record, in steps, and how a record is read; the record of every `jdata`-th step is requested.
    pub fn correction(&self, of: (f64, Reading), jdata: usize) -> Option<Correction> {
        let exact = self.exact?;
        let every = exact.every(jdata, self.band);
        Some(exact.records(of, [every, every, jdata]))
    }

    /// Like [`Self::correction`], if the engine delivers the records of every step.
    pub fn correction_of_steps(&self, of: (f64, Reading), jdata: usize) -> Option<Correction> {
        let exact = self.exact?;
        Some(exact.records(of, [1, exact.every(jdata, self.band), jdata]))
    }

    /// A part of the identity of a run. Histories are transformed as a whole, so that even their beginning
    /// depends on the number of steps.
    pub fn content(&self) -> Option<(&'static str, u64)> {
        let exact = self.exact?;
        Some((
            "nt= (with tdc=y time functions are transformed as a whole)",
            exact.requested as u64,
        ))
    }

    /// The header entry for the clock of records.
    pub fn clock_of_records(&self) -> Option<&'static str> {
        self.exact.map(|_| "exact time (tdc=y)")
    }
}

/// The time-dispersion correction of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactTime {
    /// The number of steps that the user requested, and the number of steps that run.
    requested: usize,
    pub steps: usize,
    dt: f64,
}

impl ExactTime {
    /// The correction of a run of `steps` steps of `dt` (s), with `tdc=y`.
    pub fn read(job: &Job, steps: usize, dt: f64) -> anyhow::Result<Option<Self>> {
        Ok(job.flag("tdc")?.then(|| Self::of(steps, dt)))
    }

    /// The correction of a run of `steps` steps of `dt` (s).
    pub fn of(steps: usize, dt: f64) -> Self {
        Self {
            requested: steps,
            steps: steps + run_on(steps),
            dt,
        }
    }

    /// The number of steps after the requested ones, which the last records need.
    pub fn further(&self) -> usize {
        self.steps - self.requested
    }

    /// Transforms time functions that begin at `first` steps to the time of the steps; `what` names them in messages.
    ///
    /// # Errors
    /// Returns an error for a time function that does not begin at rest, or has frequencies that the steps cannot
    /// represent.
    pub fn sources(&self, series: &mut [Vec<f32>], first: f64, what: &str) -> anyhow::Result<()> {
        let plan = self.of_sources(first);
        series.par_iter_mut().enumerate().try_for_each(|(k, series)| {
            let given: Vec<f64> = series.iter().map(|&x| f64::from(x)).collect();
            let name = format!("series {} of {what}", k + 1);
            let transformed = plan.to_steps(&given);
            self.check(
                &given,
                &plan.to_time(&transformed, Reading::OfOneTime),
                first,
                &name,
            )?;
            *series = transformed.into_iter().map(|x| x as f32).collect();
            Ok(())
        })
    }

    /// The transform of time functions that begin at `first` steps.
    fn of_sources(&self, first: f64) -> TimeDispersion {
        TimeDispersion::new(Sampling {
            samples: self.requested,
            steps: self.steps,
            every: 1.0,
            first,
        })
    }

    /// Transforms time functions back to the ones that were given to [`ExactTime::sources`].
    pub fn histories(&self, series: &[Vec<f32>], first: f64) -> Vec<Vec<f32>> {
        let plan = self.of_sources(first);
        let given = |series: &Vec<f32>| {
            let steps: Vec<f64> = series.iter().map(|&x| f64::from(x)).collect();
            let back = plan.to_time(&steps, Reading::OfOneTime);
            back.into_iter().map(|x| x as f32).collect()
        };
        series.par_iter().map(given).collect()
    }

    /// Transforms derivatives with respect to time functions in the time of the steps to derivatives with respect to
    /// the given time functions.
    pub fn histories_adjoint(&self, derivatives: &[f64], first: f64) -> Vec<f64> {
        self.of_sources(first).to_steps_adjoint(derivatives)
    }

    /// Refuses a time function that does not begin at rest, or whose transform `back` differs too much from it.
    fn check(&self, given: &[f64], back: &[f64], first: f64, name: &str) -> anyhow::Result<()> {
        let largest = given.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let onset = beginning(given, first);
        ensure!(
            onset <= AT_REST * largest,
            "tdc=y: {name} begins with {:.0} % of its largest value, but exact time needs time functions \
            that begin at rest: delay it, or give tdc=n",
            100.0 * onset / largest
        );
        let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
        let all = squares(&mut given.iter().copied());
        let lost = squares(&mut given.iter().zip(back).map(|(a, b)| a - b));
        ensure!(
            lost <= LOST * LOST * all,
            "tdc=y: {:.1} % of {name} lies above {:.4} Hz, 1/(pi dt), the highest frequency that time steps \
            of {} s can represent: give a smoother time function or a smaller time step, or give tdc=n",
            100.0 * (lost / all).sqrt(),
            1.0 / (PI * self.dt),
            self.dt as f32
        );
        Ok(())
    }

    /// The number of steps between records that are kept, if one in `jdata` is requested: a divisor of
    /// `jdata` that leaves at least four samples per period at the highest frequency.
    pub fn every(&self, jdata: usize, band: Band) -> usize {
        let step = 2.0 * (PI * band.max * self.dt).min(1.0).asin();
        let fits = |every: &usize| jdata.is_multiple_of(*every) && *every as f64 * step <= FRAC_PI_2;
        (1..=jdata.min(self.requested)).rev().find(fits).unwrap_or(1)
    }

    /// The correction of records that begin at `first` steps: the engine delivers one in `given` steps, one
    /// in `every` is kept, and one in `jdata` is requested.
    pub fn records(&self, (first, reading): (f64, Reading), [given, every, jdata]: [usize; 3]) -> Correction {
        Correction {
            time: *self,
            first,
            reading,
            given,
            every,
            thinned: jdata / every,
        }
    }
}

/// The magnitude at time zero of a time function sampled from `first` steps on: the least among its first sample and
/// extrapolations by a line and a parabola.
fn beginning(series: &[f64], first: f64) -> f64 {
    match *series {
        [] => 0.0,
        [a, b, c, ..] if first > 0.0 => {
            let (line, bend) = (
                a - first * (b - a),
                0.5 * first * (first + 1.0) * (a - 2.0 * b + c),
            );
            a.abs().min(line.abs()).min((line + bend).abs())
        }
        [a, ..] => a.abs(),
    }
}

/// The way in which the records of a quantity are corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    time: ExactTime,
    first: f64,
    reading: Reading,
    /// The number of steps between records that the engine delivers, and between the records that are kept.
    given: usize,
    every: usize,
    /// One of this many corrected records is requested.
    thinned: usize,
}

impl Correction {
    /// The time step, s.
    pub fn dt(&self) -> f64 {
        self.time.dt
    }

    /// The number of steps from one record that is kept to the next.
    pub fn every(&self) -> usize {
        self.every
    }

    /// The number of records that are kept until the end of a run.
    fn kept(&self) -> usize {
        self.time.steps.div_ceil(self.every)
    }

    /// The number of records in exact time at the steps that are kept.
    fn samples(&self) -> usize {
        self.time.requested.div_ceil(self.every)
    }

    /// The transform between `samples` records in exact time and `steps` records in the time of the steps.
    fn plan(&self, [samples, steps]: [usize; 2]) -> TimeDispersion {
        TimeDispersion::new(Sampling {
            samples,
            steps,
            every: self.every as f64,
            first: self.first,
        })
    }

    /// The number of bytes that the kept records of `numbers` values occupy.
    pub fn bytes(&self, numbers: usize) -> usize {
        4 * numbers * self.kept()
    }

    /// Refuses states whose contents would not fit into their header.
    pub fn check_states(&self, job: &Job, numbers: usize) -> anyhow::Result<()> {
        let bytes = self.bytes(numbers);
        if job.given("checkpoint") && bytes > MOST_KEPT {
            bail!(
                "checkpoint= saves all records with the state, because tdc=y corrects them at the end: {} \
                here, and at most {} are possible. Use fewer receivers or a larger jdata=, leave out \
                checkpoint=, or run with tdc=n and apply sftimedisp to the sources before and to the records \
                after the run",
                gigabytes(bytes as f64),
                gigabytes(MOST_KEPT as f64)
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn time(steps: usize) -> ExactTime {
        ExactTime {
            requested: steps,
            steps: steps + run_on(steps),
            dt: 1e-3,
        }
    }

    #[test]
    fn histories_that_the_steps_do_not_have_are_refused() {
        let ricker = |middle: f64, frequency: f64| -> Vec<f32> {
            let at = |k: usize| {
                let a = (PI * frequency * (k as f64 * 1e-3 - middle)).powi(2);
                ((1.0 - 2.0 * a) * (-a).exp()) as f32
            };
            (0..600).map(at).collect()
        };
        let exact = time(600);
        let mut good = [ricker(0.1, 20.0)];
        exact.sources(&mut good, 0.0, "wav=w.rsf").unwrap();
        assert_eq!(good[0].len(), exact.steps);
        let sentence = |series: Vec<f32>| {
            let mut series = [vec![0.0; 600], series];
            let error = exact.sources(&mut series, 0.0, "w.rsf").unwrap_err();
            error.to_string()
        };
        let late = sentence(ricker(0.0, 20.0));
        assert!(late.contains("series 2 of w.rsf begins with 100 %"), "{late}");
        let high = sentence(ricker(0.1, 250.0));
        assert!(high.contains("lies above 318.3099 Hz"), "{high}");
        // A ramp that is first sampled half a step later begins at rest.
        let brune = |tau: f64| -> Vec<f32> {
            let at = |k: usize| (k as f64 + 0.5) / tau * (1.0 - (k as f64 + 0.5) / tau).exp();
            (0..600).map(|k| at(k) as f32).collect()
        };
        exact.sources(&mut [brune(10.0)], 0.5, "stf=").unwrap();
        assert!(exact.sources(&mut [brune(2.0)], 0.5, "stf=").is_err());
    }

    /// Lines and parabolas that begin at rest are extrapolated to zero, however late the first sample is; a jump stays.
    #[test]
    fn histories_are_continued_to_zero_by_lines_and_parabolas() {
        for late in [0.25, 0.5, 1.0] {
            let series = |of: fn(f64) -> f64| [0.0, 1.0, 2.0, 3.0].map(|k| of(k + late));
            assert!(beginning(&series(|t| 3.0 * t), late) < 1e-12, "{late}");
            assert!(beginning(&series(|t| 2.0 * t * t), late) < 1e-12, "{late}");
            assert!(beginning(&series(|t| t - 2.0 * t * t), late) < 1e-12, "{late}");
            let jump = beginning(&series(|t| 5.0 + t), late);
            assert!((jump - 5.0).abs() < 1e-12, "{late}: {jump}");
        }
        assert_eq!(beginning(&[-2.0, 0.0, 0.0], 0.0), 2.0);
    }

    #[test]
    fn kept_records_divide_the_requested_ones_and_resolve_the_sources() {
        let exact = time(1000);
        let band = |max| Band { peak: 0.0, max };
        // A wave of 50 Hz has 20 steps per period, so there may be at most five steps from one record to the
        // next.
        for (jdata, expected) in [(1, 1), (4, 4), (6, 3), (7, 1), (10, 2), (1000, 4)] {
            assert_eq!(exact.every(jdata, band(50.0)), expected, "{jdata}");
        }
        assert_eq!((exact.every(8, band(400.0)), exact.every(5, band(0.0))), (1, 5));
    }
}
