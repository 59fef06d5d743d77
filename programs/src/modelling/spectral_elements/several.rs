//! Several quantities of one run on a mesh: `displacement=FILE`, `velocity=FILE` and `acceleration=FILE` in addition to
//! data=.
//!
//! In this scheme a velocity is the difference of the displacements one step later and one step earlier, divided by two
//! time steps, and in a step the velocity changes by the mean of the accelerations at its ends times the time step. So
//! one quantity, recorded in every step, gives the others.

use crate::modelling::checkpoint::MOST_KEPT;
use crate::modelling::divide::{Derivation, How, Pick, When};
use crate::modelling::exact_time::Timing;
use crate::modelling::quantity::{self, What, of_data};
use anyhow::bail;
use fourier::time_dispersion::Reading;
use kernels::methods::spectral_elements::Quantity;
use rsf_io::Job;

/// A quantity that is written.
#[derive(Clone, Copy)]
pub struct OutputQuantity {
    pub quantity: Quantity,
    /// Its name and unit, as in headers.
    pub words: &'static str,
    /// The parameter that names its file; `None` for the data.
    pub key: Option<&'static str>,
}

/// The quantities of a run, with the quantity of the data first, and the quantity that is recorded in every step.
#[derive(Clone)]
pub struct Several {
    pub outputs: Vec<OutputQuantity>,
    pub read: Quantity,
}

impl Several {
    /// The quantities that are requested in addition to data=; `None` if there are none.
    ///
    /// # Errors
    /// Returns an error for a quantity that is requested twice, or that cannot be recorded together with the
    /// others.
    pub fn read(job: &Job) -> anyhow::Result<Option<Self>> {
        let vectors = || quantity::all().filter(|(_, what, _)| what.is_vector());
        let further: Vec<_> = vectors().filter(|(word, ..)| job.given(word)).collect();
        let Some((second, ..)) = further.first() else {
            return Ok(None);
        };
        let (data, what, words) = of_data(job)?;
        let (true, What::At(first)) = (what.is_vector(), what) else {
            bail!(
                "{second}= requires data=displacement, velocity or acceleration, but data={data}: record \
                {data} in a separate run"
            );
        };
        if let Some(word) = ["pgv", "pgd", "pga"].into_iter().find(|word| job.given(word)) {
            bail!("{word}= and {second}= both need records of every step: give them in separate runs");
        }
        let mut outputs = vec![OutputQuantity {
            quantity: first,
            words,
            key: None,
        }];
        for (key, what, words) in further {
            let What::At(quantity) = what else { continue };
            if quantity == first {
                bail!(
                    "{key}= names a file for the quantity on standard output: leave it out, or give another data="
                );
            }
            outputs.push(OutputQuantity {
                quantity,
                words,
                key: Some(key),
            });
        }
        let has = |quantity: Quantity| outputs.iter().any(|w| w.quantity == quantity);
        if has(Quantity::Acceleration) && has(Quantity::Displacement) {
            bail!(
                "a displacement that is summed from accelerations drifts: give displacement and velocity, or velocity and acceleration"
            );
        }
        let read = match has(Quantity::Acceleration) {
            true => Quantity::Acceleration,
            false => Quantity::Velocity,
        };
        Ok(Some(Self { outputs, read }))
    }

    /// The derivation of a quantity with `numbers` values in a record; one record in `jdata` is written.
    pub fn derivation(
        &self,
        quantity: Quantity,
        numbers: usize,
        (timing, jdata): (&Timing, usize),
    ) -> Derivation {
        let how = match (self.read, quantity) {
            (Quantity::Velocity, Quantity::Displacement) => How::Leap,
            (Quantity::Acceleration, Quantity::Velocity) => How::Mean,
            _ => How::AsRead,
        };
        let reading = match quantity {
            Quantity::Velocity => Reading::OfTwoTimes,
            _ => Reading::OfOneTime,
        };
        Derivation {
            numbers: 0..numbers,
            pick: Pick::All,
            how,
            dt: timing.dt,
            when: When::Every(jdata),
            exact: timing.correction_of_steps((0.0, reading), jdata),
        }
    }

    /// Refuses sums and records that do not fit into a state.
    ///
    /// # Errors
    /// Returns an error if there are too many receivers for checkpoint=.
    pub fn check_states(&self, job: &Job, numbers: usize, clock: (&Timing, usize)) -> anyhow::Result<()> {
        let sizes = self
            .outputs
            .iter()
            .map(|w| self.derivation(w.quantity, numbers, clock).kept());
        let kept: usize = sizes.sum();
        if job.given("checkpoint") && kept > MOST_KEPT {
            bail!(
                "checkpoint= saves sums and records of further quantities and of tdc=y with the state: {:.1} \
                MB here, and at most {} MB are possible. Use fewer receivers or quantities, or leave out \
                checkpoint=",
                kept as f64 / 1e6,
                MOST_KEPT >> 20
            );
        }
        Ok(())
    }

    /// A text that names the quantities; saved states are compared with it.
    pub fn words(&self) -> String {
        self.outputs
            .iter()
            .map(|output| output.words)
            .collect::<Vec<_>>()
            .join(", ")
    }
}
