//! The interface between an adjoint and the machine that runs it.

use crate::methods::spectral_elements::Number;
use std::ops::Range;

use super::super::{Setup, Shot};
use crate::Error;
use crate::device::cpu::Cpu;

/// Receives the recorded values of the adjoint wavefield after a step, with the number of the step
/// ([`Machine::watch`]).
pub type Seen<'a> = dyn FnMut(usize, &[Number]) + 'a;

/// Runs a shot forwards and its adjoint backwards, and sums the products of both wavefields, on processors or on a
/// device.
///
/// It has two wavefields: the forward one, and from [`Machine::turn`] on the adjoint one.
pub trait Machine<const D: usize>: Sync {
    /// The threads that convert the sums to derivatives.
    fn cpu(&self) -> &Cpu;

    /// Bytes of a checkpoint and of a recorded step, for a
    /// [`CheckpointSchedule`](crate::time_loop::reversal::CheckpointSchedule).
    fn sizes(&self) -> [usize; 2];

    /// Bytes of the other memory of the machine: the engine, the adjoint wavefield and the sums.
    fn bytes(&self) -> usize;

    /// Replaces the sources and receivers by another shot's, over the same mesh and medium.
    ///
    /// # Errors
    /// Returns the same errors as the set-up with the first shot; after an error the machine is unusable.
    fn next_shot(&mut self, setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error>;

    /// The numbers and the elements of the receivers in fluids.
    fn receivers_in_fluids(&self) -> Vec<(usize, u32)>;

    /// Makes [`Machine::back`] pass on the adjoint wavefield at the points of these elements; the flag indicates
    /// whether an element is fluid. Values are concatenated by element: for solids the displacement
    /// `[point][component]`, for fluids the second derivative of the potential.
    fn watch(&mut self, elements: &[(u32, bool)]) -> Result<(), Error>;

    /// Sets the forward wavefield to rest, and clears all sums and checkpoints.
    fn begin(&mut self) -> Result<(), Error>;

    /// Adds the forward wavefield to the checkpoints.
    fn save(&mut self) -> Result<(), Error>;

    /// Discards all checkpoints except the first `mark`, and continues from the last of these, or from rest.
    fn restore(&mut self, mark: usize) -> Result<(), Error>;

    /// Advances the forward wavefield by one step; `slot` is the index within its segment at which the step is
    /// recorded.
    fn step(&mut self, slot: Option<usize>) -> Result<(), Error>;

    /// Reads the receivers; the record `[component][receiver]` is appended now or by a later call.
    fn sample(&mut self, records: &mut Vec<Number>) -> Result<(), Error>;

    /// Waits until all records have been appended.
    fn finish_records(&mut self, records: &mut Vec<Number>) -> Result<(), Error>;

    /// Updates the largest displacement and the largest pressure.
    fn note_largest(&mut self) -> Result<(), Error>;

    /// The largest displacement (m) and pressure (Pa) that [`Self::note_largest`] has found since the start of the run.
    fn largest(&mut self) -> Result<[Number; 2], Error>;

    /// A point of the forward wavefield with a non-finite value.
    fn first_non_finite(&mut self) -> Result<Option<usize>, Error>;

    /// Sets the adjoint wavefield to rest, with the sources of this set-up; they act in fluids if the records are
    /// pressures.
    ///
    /// # Errors
    /// Returns an error for a receiver outside the mesh.
    fn turn(&mut self, setup: &Setup<D>, of_pressure: bool) -> Result<(), Error>;

    /// Runs the adjoint wavefield back through the recorded steps, where slot 0 holds step `first`, and adds its
    /// products with them. Returns whether it is finite at the end.
    fn back(&mut self, steps: Range<usize>, first: usize, seen: &mut Seen<'_>) -> Result<bool, Error>;

    /// Completes all sums, so that they can be read.
    fn finish(&mut self) -> Result<(), Error>;

    /// Reads the sums of products of an element, `[point][product]` in the order of `correlate.rs`, and returns the
    /// number of products of a point; 0 for an element that has none.
    fn products(&self, element: usize, sums: &mut Vec<f64>) -> usize;

    /// The sums of the points of absorbing faces: along the normal and across it; in a fluid only the first.
    fn face_sums(&self) -> &[[f64; 2]];
}
