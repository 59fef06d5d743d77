//! The engine of a velocity-stress run: processors, or GPUs whose memory holds it.

use super::Run;
use crate::modelling::machine::{Machine, free};
use crate::modelling::memory_check::outer;
use crate::modelling::world::World;
use anyhow::bail;
use kernels::device::cpu::Cpu;
use kernels::device::gpu::Gpu;
use kernels::medium::{Medium, Symmetry};
use kernels::methods::velocity_stress::{Simulation, gpu};
use kernels::parallel::communicator::Communicator;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::parallel::slabs::{GHOST, balance};
use kernels::time_loop::Recorder;
use std::sync::Arc;

/// A shot ready to run.
pub enum Engine {
    /// On the processors.
    Cpu(Simulation<f32>),
    /// On GPUs.
    Gpu(gpu::Simulation<f32, Gpu>),
}

impl Engine {
    /// Prepares a shot over its medium, of this class, on the machine; `gpus` as [`Machine::open`] gave them.
    pub fn new(
        run: &Run,
        (medium, class): (Medium<f32>, Symmetry),
        (machine, world): (&Machine, &World),
        gpus: &[Arc<Gpu>],
    ) -> anyhow::Result<Self> {
        let (shot, slabs) = (&run.shot, machine.slabs.clone());
        if gpus.is_empty() {
            let threads = Cpu::new(machine.cpu.threads())?;
            return Ok(Self::Cpu(Simulation::new(shot, medium, class, threads, slabs)?));
        }
        holds(run, class, (machine, world), gpus)?;
        let machines = gpus.iter().cloned().zip(slabs).collect();
        let engine = gpu::Simulation::new(shot, medium, class, (machines, None), &machine.cpu)?;
        Ok(Self::Gpu(engine))
    }

    /// Steps to run.
    pub fn steps(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.steps(),
            Self::Gpu(engine) => engine.steps(),
        }
    }

    /// Bytes of memory that fields and medium take.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.bytes(),
            Self::Gpu(engine) => engine.bytes(),
        }
    }

    /// Runs all steps, together with the other ranks.
    pub fn run(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<f32>,
        options: ParallelOptions,
    ) -> Result<(), kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.run_among(ranks, recorder, options),
            Self::Gpu(engine) => engine.run_among(ranks, recorder, options),
        }
    }

    /// The largest horizontal speeds of all ranks, on rank 0. All call it.
    pub fn peaks(&self, ranks: &dyn Communicator) -> Result<Vec<f32>, kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.peaks_among(ranks),
            Self::Gpu(engine) => engine.peaks_among(ranks),
        }
    }
}

/// Bytes of the GPU of one of this rank's slabs, with kernels of this class and what travels to other ranks.
pub fn bytes_of_gpu(
    run: &Run,
    class: Symmetry,
    (machine, world): (&Machine, &World),
    number: usize,
) -> usize {
    let messages = match (run.way, world.ranks().reaches_devices()) {
        (Transport::HostStaged, _) => 0,
        (Transport::Auto | Transport::CudaAware, true) => 2,
        // What a neighbour of the same host writes, if there is one.
        _ => 1,
    };
    let messages = messages * outer(&machine.slabs, run.padded.planes(), number);
    gpu::bytes(&run.shot, &run.padded, &machine.slabs[number], class, messages)
}

/// Refuses a run that the GPUs do not hold, before any of their memory is taken: what it needs, what is free, what
/// would do.
fn holds(
    run: &Run,
    class: Symmetry,
    (machine, world): (&Machine, &World),
    gpus: &[Arc<Gpu>],
) -> anyhow::Result<()> {
    for (number, gpu) in gpus.iter().enumerate() {
        let (free, name) = free(gpu)?;
        let needed = bytes_of_gpu(run, class, (machine, world), number);
        if needed <= free {
            continue;
        }
        let more = match enough(run, class, (gpus.len(), free)) {
            Some(count) => format!("{count} such GPUs hold it (ngpu={count}); "),
            None => String::new(),
        };
        bail!(
            "{name} has not the memory for {}: {:.2} GB are needed, {:.2} GB are free; {more}device=cpu runs in the memory of the host",
            if gpus.len() > 1 {
                "its part of this run"
            } else {
                "this run"
            },
            needed as f64 / 1e9,
            free as f64 / 1e9,
        );
    }
    Ok(())
}

/// How many GPUs hold the run, more than there are, each with so many bytes free.
fn enough(run: &Run, class: Symmetry, (gpus, free): (usize, usize)) -> Option<usize> {
    let planes = run.padded.planes();
    (gpus + 1..=planes / GHOST).find(|&count| {
        let slabs = balance(planes, 0, &vec![1.0; count]).unwrap_or_default();
        let fits = |slab| gpu::bytes(&run.shot, &run.padded, slab, class, 0) <= free;
        !slabs.is_empty() && slabs.iter().all(fits)
    })
}
