//! The engine of a velocity-stress run, on processors or on GPUs if their memory suffices.

use super::memory::shortage;
use super::{Run, advice, plan};
use crate::modelling::model::Volumes;
use crate::modelling::plan::Report;
use crate::modelling::survey::shot::{self, Resources};
use anyhow::bail;
use kernels::communicator::Communicator;
use kernels::device::gpu::Gpu;
use kernels::grid::Padded;
use kernels::medium::{Destination, Filler, Medium, needed};
use kernels::methods::velocity_stress::{Simulation, Watch, gpu};
use kernels::parallel::options::ParallelOptions;
use kernels::stability::{BadCell, Findings};
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, StateSource};
use rsf_io::Job;

/// A shot ready to run.
pub enum Engine {
    /// A simulation on the processors.
    Cpu(Simulation<f32>),
    /// A simulation on GPUs.
    Gpu(gpu::Simulation<f32, Gpu>),
}

impl Engine {
    /// Reads this rank's part of the model into the memory of its devices and prepares the shot there.
    pub fn new(
        job: &Job,
        run: &mut Run,
        volumes: &Volumes,
        on: Resources<'_>,
    ) -> anyhow::Result<(Self, Report)> {
        match on.gpus.is_empty() {
            true => Self::on_cpu(job, run, volumes, on),
            false => Self::on_gpus(job, run, volumes, on),
        }
    }

    fn on_cpu(
        job: &Job,
        run: &mut Run,
        volumes: &Volumes,
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
        let prepared = machine.cpu.another().and_then(|threads| {
            let slabs = machine.slabs.clone();
            Simulation::new(&run.shot, medium, report.class, threads, slabs)
        });
        Ok((Self::Cpu(world.agree(prepared.map_err(Into::into))?), report))
    }

    fn on_gpus(
        job: &Job,
        run: &mut Run,
        volumes: &Volumes,
        on: Resources<'_>,
    ) -> anyhow::Result<(Self, Report)> {
        let (machine, world) = (on.machine, on.world);
        let widest = volumes.widest();
        let short = world.agree(shortage(run, widest, on))?.is_some();
        let mut class = widest;
        // If the memory suffices only for a narrower class, or if the finite-difference weights depend on the
        // model, the model must be known before memory is allocated.
        if world.any(short)? || run.accuracy.is_some() {
            class = look(job, run, volumes, on)?.class;
            world.agree(shortage(run, class, on).and_then(|shortage| match shortage {
                Some(shortage) => bail!("{shortage}"),
                None => Ok(()),
            }))?;
        }
        let devices = on
            .gpus
            .iter()
            .cloned()
            .zip(machine.slabs.iter().cloned())
            .collect();
        let upload = gpu::Upload::new(&run.shot, &run.padded, devices, class, &machine.cpu);
        let upload = upload.and_then(|mut upload| {
            // The medium is uploaded once for all shots, so the parts that the sources of each shot need are kept
            // beforehand.
            let shots = 0..run.spreads.count();
            let mut further = shots
                .filter(|_| run.spreads.count() > 1)
                .map(|number| run.of(number));
            further.try_for_each(|shot| upload.keep_for(&shot))?;
            Ok(upload)
        });
        let mut upload = world.agree(upload.map_err(Into::into))?;
        let report = read(job, run, volumes, (on, &mut upload))?;
        plan::layers_that_grow(job, run, upload.growing(), world)?;
        // A medium given by velocities is isotropic, even if rounding of its coefficients suggests otherwise.
        let class = if class.holds(report.class) {
            report.class
        } else {
            class
        };
        let engine = gpu::Simulation::side_by_side(&run.company(), upload, class, None);
        Ok((Self::Gpu(world.agree(engine.map_err(Into::into))?), report))
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

    /// The largest horizontal speeds.
    fn map(&self, ranks: &dyn Communicator) -> Result<Vec<f32>, kernels::Error> {
        match self {
            Self::Cpu(engine) => engine.peaks_among(ranks),
            Self::Gpu(engine) => engine.peaks_among(ranks),
        }
    }
}

/// Creates the engine for the first shots, and sets it to all further shots; the engine keeps its medium.
pub fn again(
    job: &Job,
    run: &mut Run,
    volumes: &Volumes,
    (on, engine): (Resources<'_>, &mut Option<Engine>),
) -> anyhow::Result<Option<Report>> {
    match engine {
        Some(Engine::Cpu(simulation)) => {
            simulation.next_shot(&run.shot)?;
            return Ok(None);
        }
        Some(Engine::Gpu(simulation)) if simulation.most() > run.beside.len() => {
            simulation.next_shots(&run.company())?;
            return Ok(None);
        }
        _ => {}
    }
    // The new engine needs its memory.
    *engine = None;
    let (replacement, report) = Engine::new(job, run, volumes, on)?;
    *engine = Some(replacement);
    Ok(Some(report))
}

/// Reads the model without keeping it. If all of its lines along z are the same, only a few of them are read.
pub fn look(job: &Job, run: &mut Run, volumes: &Volumes, on: Resources<'_>) -> anyhow::Result<Report> {
    let narrow = narrowed(run, volumes);
    let mut watch = Watch::new(&run.shot.frame, narrow.as_ref().unwrap_or(&run.padded));
    let report = match &narrow {
        None => read(job, run, volumes, (on, &mut watch))?,
        Some(narrow) => {
            let planes = 0..narrow.n[narrow.ndim() - 1];
            let mut findings = volumes.read(narrow, &planes, &on.machine.cpu, &mut watch);
            if let Ok(Ok(findings)) = &mut findings {
                // Every rank has found the same fluids, and one rank counts the fluids of the whole model.
                let times = run.padded.model.cells() / run.padded.model.n[0];
                let of_line = findings.extremes.fluids * narrow.model.n[0] / narrow.model.cells();
                findings.extremes.fluids = if on.world.leads() { of_line * times } else { 0 };
            }
            judge(job, run, volumes, (on, findings))?
        }
    };
    plan::layers_that_grow(job, run, watch.growing(), on.world)?;
    Ok(report)
}

/// A grid of a few lines along z, which represents a model with the same line everywhere; `None` for other
/// models.
fn narrowed(run: &Run, volumes: &Volumes) -> Option<Padded> {
    let mut grid = run.padded.model.clone();
    grid.n[1..].iter_mut().for_each(|n| *n = (*n).min(4));
    (volumes.are_flat() && grid.n != run.padded.model.n).then(|| run.shot.frame.around(&grid))
}

/// Reads this rank's part of the model, and judges the findings of all ranks.
pub fn read(
    job: &Job,
    run: &mut Run,
    volumes: &Volumes,
    (on, to): (Resources<'_>, &mut dyn Destination),
) -> anyhow::Result<Report> {
    let machine = on.machine;
    let findings = volumes.read(&run.padded, &machine.own(), &machine.cpu, to);
    judge(job, run, volumes, (on, findings))
}

/// Judges the findings of all ranks about the model.
pub fn judge(
    job: &Job,
    run: &mut Run,
    volumes: &Volumes,
    (on, findings): (Resources<'_>, anyhow::Result<Result<Findings, BadCell>>),
) -> anyhow::Result<Report> {
    let world = on.world;
    let whole = world.merge(world.agree(findings)?);
    world.agree(whole.and_then(|whole| {
        advice::cells(job, &run.padded, volumes, &whole)?;
        plan::examine(job, run, whole)
    }))
}
