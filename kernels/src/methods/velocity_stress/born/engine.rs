//! The interface of devices that run the steps of a linearised shot instead of the processors.

use super::program::{Changes, Discrete};
use super::{ImageRequest, Number, Picture, Take};
use crate::Error;
use crate::communicator::Communicator;
use crate::methods::velocity_stress::Shot;
use crate::time_loop::reversal::CheckpointSchedule;

/// The number of steps, and the steps at which records are taken and values checked.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Number of time steps.
    pub nt: usize,
    /// Number of steps between two records.
    pub jdata: usize,
    /// Number of steps between searches for values that are not finite.
    pub jcheck: usize,
}

impl Steps {
    pub fn records(&self, it: usize) -> bool {
        it.is_multiple_of(self.jdata)
    }

    /// Whether values are checked after step `it`.
    pub fn checks(&self, it: usize) -> bool {
        (it + 1).is_multiple_of(self.jcheck) || it + 1 == self.nt
    }
}

/// Computes the adjoint sources of several shots from their records, both `[record][component][receiver]` for each
/// shot.
pub type Residuals<'a, T> = &'a mut dyn FnMut(Vec<Vec<T>>) -> Result<Vec<Vec<T>>, Error>;

/// The adjoint sources of the shots that run side by side.
pub enum Source<'a, T> {
    /// Data of each shot, `[record][component][receiver]`.
    Data(&'a [Vec<T>]),
    /// A function that computes the adjoint sources from the records of the run.
    Residual(Residuals<'a, T>),
}

/// One or several devices with a program; the shots of a survey may run on separate threads. Ranks that share a shot
/// all run it at the same time, and rank 0 receives the result; a single process passes [`crate::communicator::Alone`].
pub trait Engine<T: Number>: Send {
    /// Prepares other shots over the same medium, which run side by side; the program becomes the program of the last
    /// shot.
    ///
    /// # Errors
    /// Returns an error for a point outside the grid, shots whose records differ in length, or a device that fails.
    fn next_shots(&mut self, program: &mut Discrete<T>, shots: &[Shot]) -> Result<(), Error>;

    /// Like [`super::Born::forward`], with the perturbation of the coefficients.
    ///
    /// # Errors
    /// Returns an error for non-finite fields, a device that fails, and any error of `take`.
    fn forward(
        &self,
        changes: Option<&Changes<T>>,
        take: Take<'_, T>,
        ranks: &dyn Communicator,
    ) -> Result<(), Error>;

    /// The derivatives with respect to the coefficients, for each shot. With the flag of `sums` set, the derivatives
    /// with respect to the normal stiffnesses are summed in the place of the first of them, and those with respect to
    /// the couplings in the place of the first coupling.
    ///
    /// # Errors
    /// Returns an error for non-finite fields, a device that fails, and any error of a residual.
    fn back(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
        sums: (&mut [Changes<T>], bool),
        ranks: &dyn Communicator,
    ) -> Result<(), Error>;

    /// Like [`super::Born::drift`], for the runs so far.
    fn drift(&self) -> Option<f64>;

    /// Like [`super::Born::images`], for each shot.
    ///
    /// # Errors
    /// Returns an error for non-finite fields and a device that fails.
    fn images(
        &self,
        program: &Discrete<T>,
        data: &[Vec<T>],
        how: (&CheckpointSchedule, &ImageRequest),
        ranks: &dyn Communicator,
    ) -> Result<Vec<Vec<Picture<T>>>, Error>;
}
