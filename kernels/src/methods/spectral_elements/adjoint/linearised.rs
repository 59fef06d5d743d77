//! Linearised runs: the first-order change of the records by a perturbation of the medium (Born approximation).
//!
//! With `M D2 u + C D1 u + K u = f` and small perturbations dM, dC and dK, the perturbation w of the displacement
//! obeys the equation of the same medium, `M D2 w + C D1 w + K w = -(dM D2 u + dC D1 u + dK u)`. The same holds for
//! fluids, where the perturbation of one over the bulk modulus also changes the sources. Both runs advance together
//! on one machine. The contributions of the memory variables to the stress are proportional to its modulus, so their
//! share of dK follows from the memory variables of the run of u.
//!
//! [`Adjoint::gradient`] is the exact transpose, for arbitrary derivatives with respect to the records.

use super::change::{Change, Changes};
use super::machine::Machine;
use super::{Adjoint, Parameters, Setup, Shot};
use crate::Error;
use crate::methods::spectral_elements::Number;

/// A machine that runs a shot and its linearised run together.
pub trait Linearises<const D: usize>: Machine<D> {
    /// The perturbation of the medium in the layout that the machine uses.
    type Run;

    /// Prepares a run for a perturbation of the medium, with both wavefields at rest.
    ///
    /// # Errors
    /// Returns an error if a device has too little memory.
    fn linearise(&mut self, changes: &Changes<'_, '_, D>) -> Result<Self::Run, Error>;

    /// Advances both wavefields by one step.
    fn step_linearised(&mut self, run: &mut Self::Run) -> Result<(), Error>;

    /// Swaps the wavefield of the shot and the linearised one, so that subsequent calls of [`Machine`] act on the
    /// other one.
    fn turn_to_linearised(&mut self, run: &mut Self::Run) -> Result<(), Error>;

    /// Bytes of the machine's memory with both wavefields and a perturbation, of the 21 constants or of two moduli.
    fn linearised_bytes(&self, constants: bool) -> usize;
}

impl<const D: usize, M: Linearises<D>> Adjoint<D, M> {
    /// The perturbation of the records of the shot that was prepared last, whose `setup` and `shot` are passed, to
    /// first order in a small perturbation of the medium: `[record][component][receiver]` as in [`Adjoint::gradient`].
    ///
    /// # Errors
    /// Returns an error for parameters that differ from this run's, and for a growing wavefield; the run is then
    /// unusable.
    pub fn linearised(
        &mut self,
        (setup, shot): (&Setup<D>, &Shot<D>),
        change: &Change<D>,
    ) -> Result<Vec<Number>, Error> {
        if change.parameters != self.parameters {
            return Err(Error::setup(format!(
                "a perturbation of {:?} does not fit a run with derivatives with respect to {:?}: both need the same parameters",
                change.parameters, self.parameters
            )));
        }
        let changes = Changes::new(setup, change, (&self.table, &self.faces));
        let mut run = self.machine.linearise(&changes)?;
        let mut records = Vec::new();
        for step in 0..shot.nt {
            self.machine.step_linearised(&mut run)?;
            let searches = step.is_multiple_of(shot.jcheck.max(1)) || step + 1 == shot.nt;
            let samples = step.is_multiple_of(shot.jdata);
            if !searches && !samples {
                continue;
            }
            self.machine.turn_to_linearised(&mut run)?;
            if searches && self.machine.first_non_finite()?.is_some() {
                return Err(Error::setup(format!(
                    "the linearised wavefield is no longer finite at step {step}: the time step {} s or the change of the medium is probably too large",
                    setup.dt
                )));
            }
            if samples {
                self.machine.sample(&mut records)?;
            }
            self.machine.turn_to_linearised(&mut run)?;
        }
        self.machine.finish_records(&mut records)?;
        Ok(records)
    }

    /// Bytes of the machine's memory for a linearised run: the engine, both wavefields and the perturbation.
    pub fn linearised_bytes(&self) -> usize {
        self.machine
            .linearised_bytes(self.parameters == Parameters::Constants)
    }

    /// Bytes of the host's memory for the perturbation at all points.
    pub fn change_bytes(&self) -> usize {
        self.elements * self.table.points() * (8 * self.parameters.count() + 2 * size_of::<[f64; 3]>())
    }
}
