//! The engine of a velocity-stress run: processors, or GPUs whose memory holds it.

use super::memory::refuse_small_gpus;
use super::{Run, advice, plan};
use crate::modelling::model::Volumes;
use crate::modelling::plan::Report;
use crate::modelling::shoot::{self, Resources};
use kernels::device::cpu::Cpu;
use kernels::device::gpu::Gpu;
use kernels::medium::{Destination, Filler, Medium, Symmetry, needed};
use kernels::methods::velocity_stress::{Simulation, Watch, gpu};
use kernels::parallel::communicator::Communicator;
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, StateSource};
use rsf_io::Job;

/// A shot ready to run.
pub enum Engine {
    /// On the processors.
    Cpu(Simulation<f32>),
    /// On GPUs.
    Gpu(gpu::Simulation<f32, Gpu>),
}

impl Engine {
    /// Reads this rank's part of the model and prepares the shot on the machine.
    pub fn new(
        job: &Job,
        run: &mut Run,
        volumes: Volumes,
        on: Resources<'_>,
    ) -> anyhow::Result<(Self, Report)> {
        let (machine, world) = (on.machine, on.world);
        let planes = needed(&run.padded, &machine.own());
        let mut medium = world.agree(Medium::part(&run.padded, planes).map_err(Into::into))?;
        let mut filler = Filler::new(&mut medium, &machine.cpu);
        let report = read(job, run, volumes, (on, &mut filler))?;
        drop(filler);
        let growing = run.shot.frame.first_growing(&medium);
        plan::layers_that_grow(job, run, growing, world)?;
        let engine = Self::over(run, (medium, report.class), on);
        Ok((world.agree(engine)?, report))
    }

    /// Prepares a shot over its medium, of this class; for this rank alone.
    fn over(run: &Run, (medium, class): (Medium<f32>, Symmetry), on: Resources<'_>) -> anyhow::Result<Self> {
        let (shot, machine) = (&run.shot, on.machine);
        let slabs = machine.slabs.clone();
        if on.gpus.is_empty() {
            let threads = Cpu::new(machine.cpu.threads())?;
            return Ok(Self::Cpu(Simulation::new(shot, medium, class, threads, slabs)?));
        }
        refuse_small_gpus(run, class, on)?;
        let devices = on.gpus.iter().cloned().zip(slabs).collect();
        let engine = gpu::Simulation::new(shot, medium, class, (devices, None), &machine.cpu)?;
        Ok(Self::Gpu(engine))
    }
}

impl shoot::Engine for Engine {
    fn steps(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.steps(),
            Self::Gpu(engine) => engine.steps(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.bytes(),
            Self::Gpu(engine) => engine.bytes(),
        }
    }

    fn state_bytes(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.state_bytes(),
            Self::Gpu(engine) => engine.state_bytes(),
        }
    }

    fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<(), kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.resume(ranks, source),
            Self::Gpu(engine) => engine.resume(ranks, source),
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
        let checkpoints = Some(checkpoints);
        match self {
            Self::Cpu(engine) => engine.run_saving(ranks, recorder, options, checkpoints),
            Self::Gpu(engine) => engine.run_saving(ranks, recorder, options, checkpoints),
        }
    }

    /// The largest horizontal speeds.
    fn map(&self, ranks: &dyn Communicator) -> Result<Vec<f32>, kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.peaks_among(ranks),
            Self::Gpu(engine) => engine.peaks_among(ranks),
        }
    }
}

/// Reads the model without keeping it.
pub fn look(job: &Job, run: &mut Run, volumes: Volumes, on: Resources<'_>) -> anyhow::Result<Report> {
    let mut watch = Watch::new(&run.shot.frame, &run.padded);
    let report = read(job, run, volumes, (on, &mut watch))?;
    plan::layers_that_grow(job, run, watch.found(), on.world)?;
    Ok(report)
}

/// Reads this rank's part of the model; what all ranks have found in theirs is judged.
fn read(
    job: &Job,
    run: &mut Run,
    volumes: Volumes,
    (on, to): (Resources<'_>, &mut dyn Destination),
) -> anyhow::Result<Report> {
    let (machine, world) = (on.machine, on.world);
    let found = volumes.read(&run.padded, &machine.own(), &machine.cpu, to);
    let whole = world.merge(world.agree(found)?);
    world.agree(whole.and_then(|whole| {
        advice::cells(job, &run.padded, &volumes, &whole)?;
        plan::examine(job, run, whole)
    }))
}
