//! The engine of a run on a mesh: processors.

use super::Run;
use crate::modelling::shoot::{self, Resources};
use kernels::device::cpu::Cpu;
use kernels::methods::spectral_elements::{self, Setup};
use kernels::parallel::communicator::Communicator;
use kernels::parallel::group::Group;
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, StateSource};
use std::sync::Arc;

/// A shot ready to run.
pub struct Engine<const D: usize>(Group<spectral_elements::Engine<D>>);

impl<const D: usize> Engine<D> {
    /// Prepares this rank's subdomains.
    pub fn new(run: &Run<D>, on: Resources<'_>) -> anyhow::Result<Self> {
        let setup = Setup {
            mesh: &run.mesh,
            basis: &run.basis,
            media: &run.rocks.media,
            speeds: &run.rocks.speeds,
            dt: run.dt,
            relaxations: run.rocks.relaxations.as_deref(),
            lumping: run.lumping,
            sources: &run.sources,
        };
        let threads = Arc::new(Cpu::new(on.machine.cpu.threads())?);
        let own = on.machine.subdomains();
        Ok(Self(spectral_elements::subdomains(
            threads, &setup, &run.shot, own,
        )?))
    }
}

impl<const D: usize> shoot::Engine for Engine<D> {
    fn steps(&self) -> usize {
        self.0.steps()
    }

    fn bytes(&self) -> usize {
        self.0
            .subdomains
            .iter()
            .map(spectral_elements::Engine::bytes)
            .sum()
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<(), kernels::Error> {
        self.0.resume(ranks, source).map(drop)
    }

    fn run(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<f32>,
        options: ParallelOptions,
        checkpoints: &mut Checkpoints<'_>,
    ) -> Result<(), kernels::Error> {
        self.0.run_saving(ranks, recorder, options, Some(checkpoints))
    }
}
