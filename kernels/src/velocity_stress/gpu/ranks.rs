//! Runs, alone or as one of several ranks, each with devices of its own and no more of the medium than they need.

use super::{DeviceSlab, Simulation};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::device::simd::Real;
use crate::domain::company::Company;
use crate::domain::ranks::{Ranks, agree};
use crate::domain::team::Team;
use crate::time_loop::Recorder;
use crate::velocity_stress::ranks::maps_of_all;

impl<T: Real + Default + bytemuck::Pod, A: Accelerator> Simulation<T, A> {
    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<T>) -> Result<(), Error> {
        self.team.run(recorder)
    }

    /// Runs all steps as one of several ranks, each with devices of its own. Rank 0's recorder gets the traces.
    pub fn run_among(
        &mut self,
        ranks: &dyn Ranks,
        recorder: &mut dyn Recorder<T>,
        company: Company,
    ) -> Result<(), Error> {
        self.team.run_among(ranks, recorder, company)
    }

    /// The slabs, for runs among ranks that meet but once.
    pub fn team(&mut self) -> &mut Team<DeviceSlab<T, A>> {
        &mut self.team
    }

    /// [`Simulation::peaks`] of all ranks on rank 0, in the order of the planes; nothing on the others. All call it.
    pub fn peaks_among(&self, ranks: &dyn Ranks) -> Result<Vec<T>, Error> {
        maps_of_all(agree(ranks, self.peaks())?, ranks)
    }
}
