//! Runs, alone or as one of several ranks, each with devices of its own and no more of the medium than they need.

use super::{DeviceSlab, Simulation};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::device::simd::Real;
use crate::methods::velocity_stress::ranks::maps_of_all;
use crate::parallel::communicator::{Communicator, agree};
use crate::parallel::group::DeviceGroup;
use crate::parallel::options::ParallelOptions;
use crate::time_loop::Recorder;
use crate::time_loop::state::{Checkpoints, StateHeader, StateSource};

impl<T: Real + Default + bytemuck::Pod, A: Accelerator> Simulation<T, A> {
    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<T>) -> Result<(), Error> {
        self.team.run(recorder)
    }

    /// Runs all steps as one of several ranks, each with devices of its own. Rank 0's recorder gets the traces.
    pub fn run_among(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<T>,
        options: ParallelOptions,
    ) -> Result<(), Error> {
        self.team.run_among(ranks, recorder, options)
    }

    /// Collective: loads a state, behind which the next run goes on; every rank has a source of the same bytes.
    pub fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<StateHeader, Error> {
        self.team.resume(ranks, source)
    }

    /// Bytes of the host's memory and of the file that the slabs of this process take for a state.
    pub fn state_bytes(&self) -> usize {
        self.team.state_bytes()
    }

    /// [`Simulation::run_among`], with states saved as `checkpoints` say.
    pub fn run_saving(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<T>,
        options: ParallelOptions,
        checkpoints: Option<&mut Checkpoints<'_>>,
    ) -> Result<(), Error> {
        self.team.run_saving(ranks, recorder, options, checkpoints)
    }

    /// The slabs, for runs among ranks that meet but once.
    pub fn team(&mut self) -> &mut DeviceGroup<DeviceSlab<T, A>> {
        &mut self.team
    }

    /// [`Simulation::peaks`] of all ranks on rank 0, in the order of the planes; nothing on the others. All call it.
    pub fn peaks_among(&self, ranks: &dyn Communicator) -> Result<Vec<T>, Error> {
        maps_of_all(agree(ranks, self.peaks())?, ranks)
    }
}
