//! The engine of a velocity-stress run: processors, or GPUs whose memory holds it.

use super::Run;
use crate::modelling::crew::Crew;
use crate::modelling::machine::{Machine, free};
use crate::modelling::room::outer;
use anyhow::bail;
use kernels::device::cpu::Cpu;
use kernels::device::gpu::Gpu;
use kernels::domain::company::{Company, Way};
use kernels::domain::partition::{GHOST, balance};
use kernels::domain::ranks::Ranks;
use kernels::medium::{Medium, Symmetry};
use kernels::time_loop::Recorder;
use kernels::velocity_stress::{Simulation, gpu};
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
        (machine, crew): (&Machine, &Crew),
        gpus: &[Arc<Gpu>],
    ) -> anyhow::Result<Self> {
        let (shot, slabs) = (&run.shot, machine.slabs.clone());
        if gpus.is_empty() {
            let threads = Cpu::new(machine.cpu.threads())?;
            return Ok(Self::Cpu(Simulation::new(shot, medium, class, threads, slabs)?));
        }
        holds(run, class, (machine, crew), gpus)?;
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
        ranks: &dyn Ranks,
        recorder: &mut dyn Recorder<f32>,
        company: Company,
    ) -> Result<(), kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.run_among(ranks, recorder, company),
            Self::Gpu(engine) => engine.run_among(ranks, recorder, company),
        }
    }

    /// The largest horizontal speeds of all ranks, on rank 0. All call it.
    pub fn peaks(&self, ranks: &dyn Ranks) -> Result<Vec<f32>, kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.peaks_among(ranks),
            Self::Gpu(engine) => engine.peaks_among(ranks),
        }
    }
}

/// Bytes of the GPU of one of this rank's slabs, with kernels of this class and what travels to other ranks.
pub fn bytes_of_gpu(run: &Run, class: Symmetry, (machine, crew): (&Machine, &Crew), number: usize) -> usize {
    let messages = match (run.way, crew.ranks().reaches_devices()) {
        (Way::Host, _) => 0,
        (Way::Auto | Way::Device, true) => 2,
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
    (machine, crew): (&Machine, &Crew),
    gpus: &[Arc<Gpu>],
) -> anyhow::Result<()> {
    for (number, gpu) in gpus.iter().enumerate() {
        let (free, name) = free(gpu)?;
        let needed = bytes_of_gpu(run, class, (machine, crew), number);
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
