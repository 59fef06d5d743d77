//! The engine of a run on a mesh: processors, or GPUs.

use super::Run;
use super::changing::Changing;
use super::maps::Peaks;
use crate::modelling::checkpoint::Growing;
use crate::modelling::fibre::Fibre;
use crate::modelling::survey::shot::{self, Resources};
use kernels::communicator::Communicator;
use kernels::device::cpu::Cpu;
use kernels::device::gpu::Gpu;
use kernels::methods::spectral_elements::{self, gpu};
use kernels::parallel::group::Group;
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, StateSource};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A shot ready to run.
pub struct Engine<const D: usize> {
    machine: Machine<D>,
    fibre: Option<Fibre>,
    /// The map of the largest values so far.
    peaks: Option<(Peaks, Growing)>,
}

fn locked(map: &Growing) -> MutexGuard<'_, Vec<f32>> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The subdomains that run it.
enum Machine<const D: usize> {
    /// On the processors.
    Cpu(Group<spectral_elements::Engine<D>>),
    /// On GPUs.
    Gpu(Group<gpu::DevicePart<D, Gpu>>),
}

impl<const D: usize> Engine<D> {
    /// Prepares this rank's subdomains.
    pub fn new(run: &Run<D>, on: Resources<'_>) -> anyhow::Result<Self> {
        let setup = run.setup();
        let own = on.machine.subdomains();
        let machine = if on.gpus.is_empty() {
            let threads = Arc::new(Cpu::new(on.machine.cpu.threads())?);
            Machine::Cpu(spectral_elements::subdomains(threads, &setup, &run.shot, own)?)
        } else {
            Machine::Gpu(gpu::subdomains(on.gpus, &setup, &run.shot, own)?)
        };
        Ok(Self {
            machine,
            fibre: run.fibre.clone(),
            peaks: run.peaks.clone().map(|peaks| {
                let rest = peaks.rest();
                (peaks, Arc::new(Mutex::new(rest)))
            }),
        })
    }
}

/// Creates the engine for the first shot, and resets it for every further shot, which changes only sources, receivers
/// and fields.
pub fn again<const D: usize>(
    run: &Run<D>,
    on: Resources<'_>,
    engine: &mut Option<Engine<D>>,
) -> anyhow::Result<bool> {
    if let Some(engine) = engine {
        let (setup, shot) = (run.setup(), &run.shot);
        match &mut engine.machine {
            Machine::Cpu(group) => spectral_elements::next_shot(group, &setup, shot)?,
            Machine::Gpu(group) => gpu::next_shot(group, &setup, shot)?,
        }
        return Ok(false);
    }
    *engine = Some(Engine::new(run, on)?);
    Ok(true)
}

impl<const D: usize> shot::Engine for Engine<D> {
    fn steps(&self) -> usize {
        match &self.machine {
            Machine::Cpu(engines) => engines.steps(),
            Machine::Gpu(engines) => engines.steps(),
        }
    }

    fn bytes(&self) -> usize {
        match &self.machine {
            Machine::Cpu(engines) => engines
                .subdomains
                .iter()
                .map(spectral_elements::Engine::bytes)
                .sum(),
            Machine::Gpu(engines) => {
                let own: usize = engines.subdomains.iter().map(gpu::DevicePart::bytes).sum();
                own + engines.message_bytes()
            }
        }
    }

    fn state_bytes(&self) -> usize {
        match &self.machine {
            Machine::Cpu(engines) => engines.state_bytes(),
            Machine::Gpu(engines) => engines.state_bytes(),
        }
    }

    fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<(), kernels::Error> {
        match &mut self.machine {
            Machine::Cpu(engines) => engines.resume(ranks, source),
            Machine::Gpu(engines) => engines.resume(ranks, source),
        }
        .map(drop)
    }

    fn run(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<f32>,
        options: ParallelOptions,
        checkpoints: &mut Checkpoints<'_>,
    ) -> Result<(), kernels::Error> {
        if let Some(fibre) = &self.fibre {
            let change = |_: usize, record: &[f32]| Some(fibre.strain(record, (fibre.receivers(), 0)));
            let mut sensing = Changing { change, to: recorder };
            return self.machine.run(ranks, &mut sensing, options, checkpoints);
        }
        if let Some((peaks, map)) = &self.peaks {
            let change = |step: usize, record: &[f32]| peaks.take(step, record, &mut locked(map));
            let mut peaking = Changing { change, to: recorder };
            return self.machine.run(ranks, &mut peaking, options, checkpoints);
        }
        self.machine.run(ranks, recorder, options, checkpoints)
    }

    fn growing(&self) -> Option<Growing> {
        self.peaks.as_ref().map(|(_, map)| map.clone())
    }

    fn map(&self, _: &dyn Communicator) -> Result<Vec<f32>, kernels::Error> {
        // Records are gathered on the rank that writes the map.
        let map = self.peaks.as_ref().map(|(_, map)| locked(map).clone());
        Ok(map.unwrap_or_default())
    }
}

impl<const D: usize> Machine<D> {
    fn run(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<f32>,
        options: ParallelOptions,
        checkpoints: &mut Checkpoints<'_>,
    ) -> Result<(), kernels::Error> {
        let checkpoints = Some(checkpoints);
        match self {
            Machine::Cpu(engines) => engines.run_saving(ranks, recorder, options, checkpoints),
            Machine::Gpu(engines) => engines.run_saving(ranks, recorder, options, checkpoints),
        }
    }
}
