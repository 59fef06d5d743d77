//! Runs the shots of a survey on a mesh, on processors or GPUs, one after another or several at the same
//! time.

use super::super::Run;
use super::Opened;
use crate::modelling::linearised::survey::Stations;
use crate::modelling::machine::{Machine, at_the_same_time, free};
use crate::modelling::plan::{free_memory, gigabytes};
use crate::modelling::shots::{ShotResult, Worker};
use crate::modelling::survey::Survey;
use crate::modelling::world::World;
use anyhow::{Context, bail, ensure};
use kernels::Error;
use kernels::device::gpu::Gpu;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Change, Gradient, SourceGradient};
use kernels::methods::spectral_elements::gpu::{self, OnDevice};
use kernels::time_loop::reversal::CheckpointSchedule;
use rsf_io::Job;

/// The number of bytes in a GB, the unit of `memory=`.
const GIGA: f64 = 1e9;

/// The fraction of the free memory that all shots running at the same time on a host may use together, without
/// `memory=`.
const SHARE: f64 = 0.5;

/// The fraction of the free memory of a GPU that shots may use.
const SHARE_OF_GPU: f64 = 0.9;

/// An engine of a survey, whose mesh is set up once. It runs the shots that it receives one after another.
pub struct Station<const D: usize> {
    /// The run, set to the shot that is computed.
    pub run: Run<D>,
    engine: Engine<D>,
    /// The checkpoint schedule, if derivatives are computed.
    schedule: Option<CheckpointSchedule>,
    /// The GPU and its free memory, in words.
    of_gpu: Option<String>,
}

/// The engine of a shot.
enum Engine<const D: usize> {
    Cpu(Box<Adjoint<D>>),
    Gpu(Box<Adjoint<D, OnDevice<D, Gpu>>>),
}

/// Evaluates an expression with the adjoint of either kind of engine.
macro_rules! of_engine {
    ($engine:expr, $adjoint:ident => $call:expr) => {
        match $engine {
            Engine::Cpu($adjoint) => $call,
            Engine::Gpu($adjoint) => $call,
        }
    };
}

/// A gradient, and the derivatives with respect to the sources if they are requested.
pub type Derivatives<const D: usize> = (Gradient<D>, Vec<SourceGradient<D>>);

/// The computation for a shot, on a station that is set to it.
pub type Work<'a, const D: usize> = &'a (dyn Fn(usize, &mut Station<D>) -> anyhow::Result<ShotResult> + Sync);

impl<const D: usize> Station<D> {
    /// A station for each of the machines, ready for the first shot of a survey. For a `reverse` run each station has a
    /// checkpoint schedule.
    pub fn all(job: &Job, opened: &Opened<D>, world: &World, reverse: bool) -> anyhow::Result<Vec<Self>> {
        let sharing = world.of_host()?.ranks * opened.machines.len();
        let of_machine = |machine: &Machine| {
            let mut station = match machine.open()?.pop() {
                Some(gpu) => Self::on_gpu(opened, (machine, gpu))?,
                None => Self::on_processors(opened, machine)?,
            };
            if reverse {
                station.schedule = Some(station.choose(job, sharing)?);
            }
            Ok(station)
        };
        at_the_same_time(&opened.machines, of_machine)
    }

    fn new(
        opened: &Opened<D>,
        engine: impl FnOnce(&Run<D>) -> Result<Engine<D>, Error>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            engine: engine(&opened.run)?,
            run: opened.run.clone(),
            schedule: None,
            of_gpu: None,
        })
    }

    fn on_processors(opened: &Opened<D>, machine: &Machine) -> anyhow::Result<Self> {
        let (cpu, parameters) = (machine.cpu.another()?, opened.target.parameters());
        Self::new(opened, |run| {
            let adjoint = Adjoint::new(cpu, &run.setup(), &run.shot, parameters)?;
            Ok(Engine::Cpu(Box::new(adjoint)))
        })
    }

    fn on_gpu(
        opened: &Opened<D>,
        (machine, device): (&Machine, std::sync::Arc<Gpu>),
    ) -> anyhow::Result<Self> {
        ensure!(
            machine.requested_shots.is_none_or(|shots| shots <= 1),
            "groups= requests {} shots at a time on a GPU, but a GPU runs shots on meshes one at a time: \
            give as many groups as there are GPUs, or leave out groups=",
            machine.requested_shots.unwrap_or(1)
        );
        let (bytes, name) = free(&device)?;
        let (cpu, parameters) = (machine.cpu.another()?, opened.target.parameters());
        let station = Self::new(opened, |run| {
            let adjoint = gpu::adjoint((device, cpu), &run.setup(), &run.shot, parameters)?;
            Ok(Engine::Gpu(Box::new(adjoint)))
        });
        let mut station =
            station.with_context(|| format!("{name} (device=cpu uses the memory of the host)"))?;
        station.of_gpu = Some(format!(
            "{name}, of whose memory {} were free",
            gigabytes(bytes as f64)
        ));
        Ok(station)
    }

    /// The checkpoint schedule that fits into `memory=`, or into a fraction of the free memory, which `sharing`
    /// shots use at the same time on a host.
    fn choose(&self, job: &Job, sharing: usize) -> anyhow::Result<CheckpointSchedule> {
        let room = match (job.double_opt("memory")?, &self.engine) {
            (Some(requested), Engine::Gpu(adjoint)) => {
                let left = adjoint.free_bytes()? as f64;
                ensure!(
                    requested * GIGA <= left,
                    "memory={requested} GB are requested, but the GPU has {} left for the stored wavefield: give \
                    less, or leave out memory=",
                    gigabytes(left)
                );
                requested * GIGA
            }
            (Some(requested), Engine::Cpu(_)) => requested * GIGA,
            (None, Engine::Gpu(adjoint)) => SHARE_OF_GPU * adjoint.free_bytes()? as f64,
            (None, Engine::Cpu(_)) => match free_memory() {
                Some(free) => SHARE * free / sharing as f64,
                None => bail!(
                    "the system does not report how much memory is free: give memory= (GB) for the stored \
                    wavefield"
                ),
            },
        };
        let (steps, sizes) = of_engine!(&self.engine, adjoint => (adjoint.steps(), adjoint.sizes()));
        Ok(CheckpointSchedule::choose(steps, sizes, room.max(0.0) as usize)?)
    }

    /// Whether a GPU runs its shots.
    pub fn is_on_gpu(&self) -> bool {
        self.of_gpu.is_some()
    }

    /// Prints how much memory the shot needs and, with checkpoints, how many steps are computed again.
    pub fn print_summary(&self, job: &Job) {
        if let Some(words) = &self.of_gpu {
            job.say(words);
        }
        let of_gpu = if self.is_on_gpu() { " of the GPU" } else { "" };
        let Some(schedule) = &self.schedule else {
            let (own, change) =
                of_engine!(&self.engine, adjoint => (adjoint.linearised_bytes(), adjoint.change_bytes()));
            let bytes = if self.is_on_gpu() { own } else { own + change };
            job.say(&format!(
                "memory{of_gpu}: {}; adj=n: two wavefields advance together",
                gigabytes(bytes as f64)
            ));
            return;
        };
        let (steps, sizes) = of_engine!(&self.engine, adjoint => (adjoint.steps(), adjoint.sizes()));
        let (own, beside) =
            of_engine!(&self.engine, adjoint => (adjoint.machine_bytes(), adjoint.host_bytes()));
        let own = if self.is_on_gpu() { own } else { own + beside };
        job.say(&format!(
            "memory{of_gpu}: {} and, for the stored wavefield, {} ({} of {steps} steps at a time, {} checkpoints)",
            gigabytes(own as f64),
            gigabytes(schedule.bytes(sizes) as f64),
            schedule.segment,
            schedule.checkpoints
        ));
        match schedule.extra(steps) {
            0 => job.say("no step is computed again"),
            again => job.say(&format!("{again} steps are computed again")),
        }
    }

    /// The change of the records by a change of the medium, to first order.
    pub fn linearised(&mut self, change: &Change<D>) -> anyhow::Result<Vec<f32>> {
        let Self { run, engine, .. } = self;
        let shot = (&run.setup(), &run.shot);
        Ok(of_engine!(engine, adjoint => adjoint.linearised(shot, change))?)
    }

    /// The derivatives of a misfit with respect to the medium and, if they are requested, the sources.
    /// `judge` returns the derivative of the misfit with respect to the records of the shot.
    pub fn derivatives(
        &mut self,
        by_sources: bool,
        judge: impl FnOnce(Vec<f32>) -> anyhow::Result<Vec<f32>>,
    ) -> anyhow::Result<Derivatives<D>> {
        let Self {
            run,
            engine,
            schedule,
            ..
        } = self;
        let schedule = schedule.as_ref().context("no reverse sweep was chosen")?;
        let mut failed = None;
        let of_records = |records| {
            judge(records).map_err(|error| {
                failed = Some(error);
                Error::setup("the records of a shot are refused")
            })
        };
        let shot = (&run.setup(), &run.shot);
        let result = of_engine!(engine, adjoint => match by_sources {
            true => adjoint.gradient_with_sources(shot, schedule, of_records),
            false => adjoint
                .gradient(shot, schedule, of_records)
                .map(|gradient| (gradient, Vec::new())),
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(result?),
        }
    }

    fn make(&mut self, number: usize, work: Work<'_, D>) -> anyhow::Result<ShotResult> {
        let done = self.turn_to(number).and_then(|()| work(number, self));
        let picks = &self.run.spreads.picks;
        let mut result = match self.run.spreads.count() {
            1 => done,
            _ => done.with_context(|| format!("shot {}", picks.number(number))),
        }?;
        // No waves were run backwards.
        result.words.push(f64::NAN.to_bits());
        Ok(result)
    }

    fn turn_to(&mut self, shot: usize) -> anyhow::Result<()> {
        if self.run.spreads.count() > 1 {
            self.run.turn_to(&[shot]);
            let (setup, shot) = (self.run.setup(), &self.run.shot);
            of_engine!(&mut self.engine, adjoint => adjoint.next_shot(&setup, shot))?;
        }
        Ok(())
    }
}

/// Workers that do this work for every shot that they receive.
pub fn at_work<const D: usize>(stations: Vec<Station<D>>, work: Work<'_, D>) -> Stations<'_> {
    let on_gpu = stations.iter().any(Station::is_on_gpu);
    let worker = |mut station: Station<D>| {
        let all = move |numbers: &[usize]| numbers.iter().map(|&number| station.make(number, work)).collect();
        (Worker::side_by_side(all), 1)
    };
    Stations::Own {
        all: stations.into_iter().map(worker).collect(),
        on_gpu,
    }
}
