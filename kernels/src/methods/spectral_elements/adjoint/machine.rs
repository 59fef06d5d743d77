//! What an adjoint needs of the machine that runs it.

use std::ops::Range;

use super::super::{Setup, Shot};
use crate::Error;
use crate::device::cpu::Cpu;

/// Takes what is watched of the adjoint wavefield behind a step, with the number of the step ([`Machine::watch`]).
pub type Seen<'a> = dyn FnMut(usize, &[f32]) + 'a;

/// Runs a shot forwards and its adjoint backwards, and sums the products of both wavefields: processors, or a device.
///
/// It has two wavefields. All calls before [`Machine::turn`] are about the forward one, which [`Machine::restore`] brings back.
pub trait Machine<const D: usize>: Sync {
    /// The threads that make derivatives of the sums.
    fn cpu(&self) -> &Cpu;

    /// Bytes of a checkpoint and of a recorded step, as a [`CheckpointSchedule`](crate::time_loop::reversal::CheckpointSchedule)
    /// asks for them.
    fn sizes(&self) -> [usize; 2];

    /// Bytes of the machine's memory beside those: the engine, the adjoint wavefield, sums.
    fn bytes(&self) -> usize;

    /// Takes the sources and receivers of another shot over the same mesh and medium.
    ///
    /// # Errors
    /// As of the first one; the machine is of no use then.
    fn next_shot(&mut self, setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error>;

    /// The numbers and the elements of the receivers in fluids.
    fn receivers_in_fluids(&self) -> Vec<(usize, u32)>;

    /// From now on [`Machine::back`] shows the adjoint wavefield at the points of these elements, of which the second words say whether
    /// they are fluids: element after element, of solids the displacement `[point][component]`, of fluids the second derivative of the potential.
    fn watch(&mut self, elements: &[(u32, bool)]) -> Result<(), Error>;

    /// The forward wavefield is at rest, and all sums and checkpoints are gone.
    fn begin(&mut self) -> Result<(), Error>;

    /// Adds the forward wavefield to the checkpoints.
    fn save(&mut self) -> Result<(), Error>;

    /// Forgets all checkpoints but the first `mark` ones and goes on from the last of those, or from rest.
    fn restore(&mut self, mark: usize) -> Result<(), Error>;

    /// One step forward; `slot` is where the step is recorded, counted from the first one of its segment.
    fn step(&mut self, slot: Option<usize>) -> Result<(), Error>;

    /// Reads the receivers; the records `[component][receiver]` follow the others now or with a later call.
    fn sample(&mut self, records: &mut Vec<f32>) -> Result<(), Error>;

    /// Returns when all records are there.
    fn finish_records(&mut self, records: &mut Vec<f32>) -> Result<(), Error>;

    /// Looks for the largest displacement and the largest pressure.
    fn note_largest(&mut self) -> Result<(), Error>;

    /// The largest displacement (m) and pressure (Pa) that [`Self::note_largest`] has found since the beginning of the run.
    fn largest(&mut self) -> Result<[f32; 2], Error>;

    /// A point of the forward wavefield that is not finite.
    fn first_non_finite(&mut self) -> Result<Option<usize>, Error>;

    /// The adjoint wavefield is at rest, with the sources of this set-up: of fluids where the records are pressures.
    ///
    /// # Errors
    /// A receiver outside of the mesh.
    fn turn(&mut self, setup: &Setup<D>, of_pressure: bool) -> Result<(), Error>;

    /// Runs the adjoint wavefield back through recorded steps, of which the one in slot 0 is the `first`, and adds up its products with them.
    /// True where it is finite at the end.
    fn back(&mut self, steps: Range<usize>, first: usize, seen: &mut Seen<'_>) -> Result<bool, Error>;

    /// All sums are complete and can be read.
    fn finish(&mut self) -> Result<(), Error>;

    /// The sums of products of a point of an element, as `correlate.rs` lists them.
    fn products(&self, element: usize, local: usize, sums: &mut Vec<f64>);

    /// The sums of the points of absorbing faces: along the normal and across it; of a fluid the first alone.
    fn face_sums(&self) -> &[[f64; 2]];
}
