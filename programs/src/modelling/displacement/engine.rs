//! The engine of a displacement run: on processors, or on GPUs if their memory suffices.

use super::Run;
use super::memory::MemoryCheck;
use super::plan;
use crate::modelling::model::Volumes;
use crate::modelling::plan::Report;
use crate::modelling::survey::shot::{self, Resources};
use crate::modelling::world::World;
use anyhow::bail;
use kernels::communicator::Communicator;
use kernels::device::gpu::Gpu;
use kernels::medium::{Discard, Filler, Medium, Symmetry, needed};
use kernels::methods::displacement::{Simulation, gpu};
use kernels::parallel::options::ParallelOptions;
use kernels::stability::{BadCell, Findings};
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
    /// Reads the model into the memory of the machine and prepares the shot there.
    pub fn new(job: &Job, run: &Run, volumes: &Volumes, on: Resources<'_>) -> anyhow::Result<(Self, Report)> {
        if on.gpus.is_empty() {
            return Self::on_cpu(job, run, volumes, on);
        }
        let (machine, world) = (on.machine, on.world);
        let widest = plan::widest(job, run)?;
        let mut report = None;
        let memory = MemoryCheck::new(run, on);
        let short = world.agree(memory.shortage(widest))?.is_some();
        // Planes that the kernels of sym= do not need must be checked all the same.
        let short = short || !widest.holds(Symmetry::widest(run.coefficients));
        if world.any(short)? {
            // A narrower class may fit: the class of the model must be known before memory is allocated.
            let seen = look(job, run, volumes, on)?;
            world.agree(memory.shortage(seen.class).and_then(|shortage| match shortage {
                Some(shortage) => bail!("{shortage}"),
                None => Ok(()),
            }))?;
            report = Some(seen);
        }
        let class = report.as_ref().map_or(widest, |seen| seen.class);
        let devices = on
            .gpus
            .iter()
            .cloned()
            .zip(machine.slabs.iter().cloned())
            .collect();
        let shot = &run.shot;
        let upload = gpu::Upload::of_class(&run.padded, devices, shot.surface, shot.dt, class);
        let mut upload = world.agree(upload.map_err(Into::into))?;
        let findings = volumes.read(&run.padded, &machine.own(), &machine.cpu, &mut upload);
        let seen = judge(job, run, world.agree(findings)?, world)?;
        let report = report.unwrap_or(seen);
        let engine = gpu::Simulation::new(shot, upload, report.class, None);
        Ok((Self::Gpu(world.agree(engine.map_err(Into::into))?), report))
    }

    fn on_cpu(
        job: &Job,
        run: &Run,
        volumes: &Volumes,
        Resources { machine, world, .. }: Resources<'_>,
    ) -> anyhow::Result<(Self, Report)> {
        let planes = needed(&run.padded, &machine.own());
        let medium = Medium::holding(&run.padded, planes, plan::read_as(job, run)?);
        let mut medium = world.agree(medium.map_err(Into::into))?;
        let mut filler = Filler::new(&mut medium, &machine.cpu);
        let findings = volumes.read(&run.padded, &machine.own(), &machine.cpu, &mut filler);
        let report = judge(job, run, world.agree(findings)?, world)?;
        medium.narrow(report.class);
        let cpu = machine.cpu.another()?;
        let engine = Simulation::new(&run.shot, medium, cpu, machine.slabs.clone());
        Ok((Self::Cpu(world.agree(engine.map_err(Into::into))?), report))
    }
}

impl shot::Engine for Engine {
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

    fn words(&self) -> Option<usize> {
        Some(match self {
            Self::Cpu(engine) => engine.words(),
            Self::Gpu(engine) => engine.words(),
        })
    }

    fn tiles(&self) -> Option<String> {
        match self {
            Self::Cpu(engine) => Some(engine.tiles()),
            Self::Gpu(_) => None,
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
}

/// Creates the engine for the first shot. For every further shot, an engine on processors is reset and keeps its
/// medium; on GPUs a new engine is created.
pub fn again(
    job: &Job,
    run: &Run,
    volumes: &Volumes,
    (on, engine): (Resources<'_>, &mut Option<Engine>),
) -> anyhow::Result<Option<Report>> {
    if let Some(Engine::Cpu(simulation)) = engine {
        simulation.next_shot(&run.shot)?;
        return Ok(None);
    }
    // The new engine needs the memory of the old engine.
    *engine = None;
    let (replacement, report) = Engine::new(job, run, volumes, on)?;
    *engine = Some(replacement);
    Ok(Some(report))
}

/// Reads the model without keeping it.
pub fn look(
    job: &Job,
    run: &Run,
    volumes: &Volumes,
    Resources { machine, world, .. }: Resources<'_>,
) -> anyhow::Result<Report> {
    let nowhere = &mut Discard::new(&run.padded, run.coefficients);
    let findings = volumes.read(&run.padded, &machine.own(), &machine.cpu, nowhere);
    judge(job, run, world.agree(findings)?, world)
}

/// Merges the findings of the ranks about their parts of the model into one report.
fn judge(job: &Job, run: &Run, findings: Result<Findings, BadCell>, world: &World) -> anyhow::Result<Report> {
    let whole = world.merge(findings);
    world.agree(whole.and_then(|whole| plan::examine(job, run, whole)))
}
