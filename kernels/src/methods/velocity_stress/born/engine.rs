//! What runs a linearised shot in place of the rows on processors: the steps, on a device that has the coefficients.

use super::program::{Changes, Discrete};
use super::{Number, Picture, Take, Wanted};
use crate::Error;
use crate::communicator::Communicator;
use crate::methods::velocity_stress::Shot;
use crate::time_loop::reversal::CheckpointSchedule;

/// How long a shot runs, and at which steps something is done.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Steps.
    pub nt: usize,
    /// Steps from record to record.
    pub jdata: usize,
    /// Steps between searches for values that are not finite.
    pub jcheck: usize,
}

impl Steps {
    /// Whether step `it` is recorded.
    pub fn records(&self, it: usize) -> bool {
        it.is_multiple_of(self.jdata)
    }

    /// Whether values are searched after step `it`.
    pub fn checks(&self, it: usize) -> bool {
        (it + 1).is_multiple_of(self.jcheck) || it + 1 == self.nt
    }
}

/// Makes the adjoint sources of shots from their records, which stand shot by shot as `[record][component][receiver]`.
pub type Residuals<'a, T> = &'a mut dyn FnMut(Vec<Vec<T>>) -> Result<Vec<Vec<T>>, Error>;

/// The adjoint sources of the shots that run side by side.
pub enum Source<'a, T> {
    /// Data of each shot, `[record][component][receiver]`.
    Data(&'a [Vec<T>]),
    /// What this makes of the records of the run.
    Residual(Residuals<'a, T>),
}

/// A device with a program; shots of a survey may run on threads of their own. Where ranks share a shot, all of them run it at the same time,
/// and rank 0 gets what comes of it; a process that is alone is [`crate::communicator::Alone`].
pub trait Engine<T: Number>: Send {
    /// Turns to other shots over the same medium, which run side by side; the program becomes that of the last of them.
    ///
    /// # Errors
    /// A point outside of the grid, shots whose records have different lengths, or a device that fails.
    fn next_shots(&mut self, program: &mut Discrete<T>, shots: &[Shot]) -> Result<(), Error>;

    /// [`super::Born::forward`] with the changes of the coefficients.
    ///
    /// # Errors
    /// Fields that are not finite, a device that fails, and what `take` returns.
    fn forward(
        &self,
        changes: Option<&Changes<T>>,
        take: Take<'_, T>,
        ranks: &dyn Communicator,
    ) -> Result<(), Error>;

    /// The derivatives by the coefficients, for every shot. Where they are `grouped`, the sum for normal stiffnesses stands in the place
    /// of the first of them, and that for couplings in the place of the first coupling.
    ///
    /// # Errors
    /// Fields that are not finite, a device that fails, and what a residual returns.
    fn back(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
        wanted: (&mut [Changes<T>], bool),
        ranks: &dyn Communicator,
    ) -> Result<(), Error>;

    /// [`super::Born::drift`] of runs so far.
    fn drift(&self) -> Option<f64>;

    /// [`super::Born::images`] of every shot.
    ///
    /// # Errors
    /// Fields that are not finite, and a device that fails.
    fn images(
        &self,
        program: &Discrete<T>,
        data: &[Vec<T>],
        how: (&CheckpointSchedule, &Wanted),
        ranks: &dyn Communicator,
    ) -> Result<Vec<Vec<Picture<T>>>, Error>;
}
