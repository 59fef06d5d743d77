//! Several quantities of one run, and records at times other than the time steps: `velocity=FILE` and the like,
//! `dtout=`.

use crate::modelling::checkpoint::MOST_KEPT;
use crate::modelling::divide::{Derivation, How, Pick, When};
use crate::modelling::exact_time::Timing;
use crate::modelling::fibre::Fibre;
use crate::modelling::quantity::{self, What};
use crate::modelling::resample::Times;
use anyhow::ensure;
use fourier::time_dispersion::Reading;
use kernels::methods::velocity_stress::{Quantity, Readings};
use rsf_io::{Axis, Job};

impl What {
    /// The time of record 0, in steps after the start.
    pub fn first_time(self) -> f64 {
        match self {
            Self::At(quantity) => quantity.first_time(),
            Self::Das => Quantity::Strain.first_time(),
        }
    }
}

/// A quantity that is written.
#[derive(Clone)]
pub struct OutputQuantity {
    /// The quantity.
    pub what: What,
    /// Its description.
    pub words: &'static str,
    /// The parameter that names its file; `None` for the data.
    pub key: Option<&'static str>,
}

/// The steps of a run, and the steps from record to record.
#[derive(Clone, Copy)]
pub struct Clock {
    pub timing: Timing,
    pub jdata: usize,
}

/// Several quantities, or other times.
#[derive(Clone)]
pub struct Several {
    /// The quantities, with the quantity of the data first.
    pub outputs: Vec<OutputQuantity>,
    /// The quantities that are recorded in every step.
    pub readings: Readings,
    /// The fibre, if the strain along it is requested.
    pub fibre: Option<Fibre>,
    clock: Clock,
    dtout: Option<f64>,
}

impl Several {
    /// Reads the quantities that the command line requests in addition to the data, at `receivers` receivers
    /// and the times of `clock`; `None` if there are only the data.
    pub fn read(
        job: &mut Job,
        (what, words): (What, &'static str),
        clock: Clock,
        (ndim, receivers): (usize, usize),
    ) -> anyhow::Result<Option<Self>> {
        let Timing { steps, dt, .. } = clock.timing;
        let dtout = job.double_opt("dtout")?;
        let mut outputs = vec![OutputQuantity {
            what,
            words,
            key: None,
        }];
        for (key, other, words) in quantity::all() {
            if job.given(key) {
                ensure!(
                    other != what,
                    "{key}= names a file for the quantity on standard output: leave it out, or give another data="
                );
                outputs.push(OutputQuantity {
                    what: other,
                    words,
                    key: Some(key),
                });
            }
        }
        let fibre = match outputs.iter().any(|w| w.what == What::Das) {
            true => Some(Fibre::read(job, ndim, receivers)?),
            false => {
                Fibre::idle(job, "data=das or das=");
                None
            }
        };
        if outputs.len() == 1 && dtout.is_none() && fibre.is_none() {
            return Ok(None);
        }
        if let Some(step) = dtout {
            ensure!(
                !job.given("jdata"),
                "dtout= and jdata= both select the records that are written: give one of them"
            );
            let whole = steps as f64 * dt;
            ensure!(
                step > 0.0 && step <= whole,
                "dtout={step}: it must be the time from record to record in s, above 0 and not above the \
                {} s of the run",
                whole as f32
            );
            clock.timing.warn_of_filtered(job, step);
        }
        let gauge = fibre.as_ref().map(|fibre| fibre.gauge > 0.0);
        let has = |quantities: &[Quantity]| {
            let is_among =
                |w: &OutputQuantity| matches!(w.what, What::At(quantity) if quantities.contains(&quantity));
            outputs.iter().any(is_among)
        };
        Ok(Some(Self {
            readings: Readings {
                velocity: gauge == Some(true)
                    || has(&[Quantity::Velocity, Quantity::Displacement, Quantity::Acceleration]),
                pressure: has(&[Quantity::Pressure]),
                strain: gauge == Some(false) || has(&[Quantity::Strain]),
                rotation: has(&[Quantity::Rotation]),
                pressure_snapshots: what == What::At(Quantity::Pressure),
            },
            fibre,
            outputs,
            clock,
            dtout,
        }))
    }

    /// Refuses states if the sums and records that they keep do not fit into their header.
    pub fn check_states(&self, job: &Job, ndim: usize, receivers: usize) -> anyhow::Result<()> {
        let sizes = self
            .outputs
            .iter()
            .map(|w| self.derivation(w.what, ndim, receivers).0.kept());
        let kept: usize = sizes.sum();
        ensure!(
            !job.given("checkpoint") || kept <= MOST_KEPT,
            "checkpoint= saves sums and records of further quantities, of dtout= and of tdc=y with the \
            state: {:.1} MB here, and at most {} MB are possible. Use fewer receivers or quantities, a \
            larger jdata= (without dtout=), or leave out checkpoint=",
            kept as f64 / 1e6,
            MOST_KEPT >> 20
        );
        Ok(())
    }

    /// The text by which a saved state identifies the quantities of its run.
    pub fn words(&self) -> String {
        let fibre = self.fibre.as_ref().map(Fibre::words);
        let words = self.outputs.iter().map(|output| output.words.to_string());
        words.chain(fibre).collect::<Vec<_>>().join(", ")
    }

    /// The times at which records of a quantity are written, and their axis.
    fn when(&self, what: What) -> (When, Axis) {
        let (Timing { steps, dt, .. }, jdata) = (self.clock.timing, self.clock.jdata);
        let first = what.first_time() * dt;
        let axis = |n, o: f64, d: f64| Axis::new(n, o as f32, d as f32).label("t").unit("s");
        let Some(step) = self.dtout else {
            let (n, d) = (steps.div_ceil(jdata), dt * jdata as f64);
            return (When::Every(jdata), axis(n, first, d));
        };
        // These are all times until the end of the last step.
        let count = (steps as f64 * dt / step * (1.0 + 1e-9)) as usize + 1;
        let times = Times {
            first,
            dt,
            step,
            count,
        };
        (When::At(times), axis(count, 0.0, step))
    }

    /// The derivation of a quantity at `receivers` receivers, and the axis of its times. The ends of gauges
    /// come after the receivers.
    pub fn derivation(&self, what: What, ndim: usize, receivers: usize) -> (Derivation, Axis) {
        let gauge = self.fibre.as_ref().filter(|fibre| fibre.gauge > 0.0);
        let of = receivers + gauge.map_or(0, Fibre::receivers);
        let (read, how) = match what {
            What::Das if gauge.is_some() => (Quantity::Velocity, How::Sum),
            What::Das => (Quantity::Strain, How::Sum),
            What::At(Quantity::Displacement) => (Quantity::Velocity, How::Sum),
            What::At(Quantity::Acceleration) => (Quantity::Velocity, How::Difference),
            What::At(quantity @ (Quantity::Strain | Quantity::Rotation)) => (quantity, How::Sum),
            What::At(other) => (other, How::AsRead),
        };
        let pick = match (what, &self.fibre) {
            (What::Das, Some(fibre)) => Pick::Along(fibre.clone(), [of, of - fibre.receivers()]),
            _ if of > receivers => Pick::First(receivers, of),
            _ => Pick::All,
        };
        let before = self.readings.all().take_while(|&q| q != read);
        let from: usize = before.map(|q| q.components(ndim) * of).sum();
        let (when, axis) = self.when(what);
        let derivation = Derivation {
            numbers: from..from + read.components(ndim) * of,
            pick,
            how,
            dt: self.clock.timing.dt,
            when,
            exact: self.clock.timing.correction_of_steps(
                (what.first_time(), Reading::OfOneTime),
                match when {
                    When::Every(jdata) => jdata,
                    When::At(_) => 1,
                },
            ),
        };
        (derivation, axis)
    }
}
