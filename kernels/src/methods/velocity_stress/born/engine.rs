//! What runs a linearised shot in place of the rows on processors: the steps, on a device that has the coefficients.

use super::program::{Changes, Discrete};
use super::schedule::CheckpointSchedule;
use super::{Number, Picture, Residual, Take, Wanted};
use crate::Error;

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

/// What comes back.
pub enum Source<'a, T> {
    /// Data, `[record][component][receiver]`.
    Data(&'a [T]),
    /// What this makes of the records of the run.
    Residual(Residual<'a, T>),
}

/// A device with a program; shots of a survey may run on threads of their own.
pub trait Engine<T: Number>: Send {
    /// Turns to another shot over the same medium.
    ///
    /// # Errors
    /// A device that fails.
    fn next_shot(&mut self, program: &Discrete<T>) -> Result<(), Error>;

    /// [`super::Born::forward`] with the changes of the coefficients.
    ///
    /// # Errors
    /// Fields that are not finite, a device that fails, and what `take` returns.
    fn forward(&self, changes: Option<&Changes<T>>, take: Take<'_, T>) -> Result<(), Error>;

    /// What waits for the coefficients, in place of `gradient`. Where that is `grouped`, what waits for normal stiffnesses stands as one
    /// in the place of the first of them, and what waits for couplings in that of the first coupling.
    ///
    /// # Errors
    /// Fields that are not finite, a device that fails, and what a residual returns.
    fn back(
        &self,
        from: Source<'_, T>,
        schedule: &CheckpointSchedule,
        wanted: (&mut Changes<T>, bool),
    ) -> Result<(), Error>;

    /// [`super::Born::drift`] of runs so far.
    fn drift(&self) -> Option<f64>;

    /// [`super::Born::images`] of the shot of a program.
    ///
    /// # Errors
    /// Fields that are not finite, and a device that fails.
    fn images(
        &self,
        program: &Discrete<T>,
        data: &[T],
        how: (&CheckpointSchedule, &Wanted),
    ) -> Result<Vec<Picture<T>>, Error>;
}
