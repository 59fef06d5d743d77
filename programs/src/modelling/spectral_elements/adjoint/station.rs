//! Where the shots of a survey on a mesh are run.

use super::super::Run;
use super::Opened;
use crate::modelling::linearised::survey::Stations;
use crate::modelling::machine;
use crate::modelling::plan::{free_memory, gigabytes};
use crate::modelling::shots::{ShotResult, Worker};
use crate::modelling::survey::Survey;
use crate::modelling::world::World;
use anyhow::{Context, bail};
use kernels::Error;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Change, Gradient, SourceGradient};
use kernels::time_loop::reversal::CheckpointSchedule;
use rsf_io::Job;

/// Bytes of a GB, in which `memory=` counts.
const GIGA: f64 = 1e9;

/// The share of the free memory that the ranks of a host take together unless `memory=` says otherwise.
const SHARE: f64 = 0.5;

/// The engine of a survey, whose mesh is set up once: it runs the shots one after the other.
pub struct Station<const D: usize> {
    /// Turned to the shot that is run.
    pub run: Run<D>,
    adjoint: Adjoint<D>,
    /// What is kept, where derivatives are made of records.
    schedule: Option<CheckpointSchedule>,
}

/// A gradient, and the derivatives by the sources where they are asked for.
pub type Derivatives<const D: usize> = (Gradient<D>, Vec<SourceGradient<D>>);

impl<const D: usize> Station<D> {
    /// Ready for the first shot of a survey; with a schedule for `reverse`.
    pub fn new(job: &Job, opened: &Opened<D>, world: &World, reverse: bool) -> anyhow::Result<Self> {
        let places = world.of_host()?;
        let mut run = opened.run.clone();
        run.turn_to(&[0]);
        let cpu = machine::processors(job, places.sharing)?;
        let adjoint = Adjoint::new(cpu, &run.setup(), &run.shot, opened.target.parameters())?;
        Ok(Self {
            schedule: reverse
                .then(|| schedule(job, &adjoint, places.ranks))
                .transpose()?,
            run,
            adjoint,
        })
    }

    /// Tells of memory.
    pub fn tell(&self, job: &Job) {
        let Some(schedule) = &self.schedule else {
            let bytes = gigabytes(self.adjoint.linearised_bytes() as f64);
            return job.say(&format!(
                "memory: {bytes}; adj=n: two wavefields advance together"
            ));
        };
        let (steps, sizes) = (self.adjoint.steps(), self.adjoint.sizes());
        job.say(&format!(
            "memory: {} and, for the stored wavefield, {} ({} of {steps} steps at a time, {} checkpoints)",
            gigabytes(self.adjoint.bytes() as f64),
            gigabytes(schedule.bytes(sizes) as f64),
            schedule.segment,
            schedule.checkpoints
        ));
        match schedule.extra(steps) {
            0 => job.say("no step is computed again"),
            again => job.say(&format!("{again} steps are computed again")),
        }
    }

    /// The data that a change of the medium makes, to first order, as records of the steps.
    pub fn linearised(&mut self, change: &Change<D>) -> anyhow::Result<Vec<f32>> {
        let Self { run, adjoint, .. } = self;
        Ok(adjoint.linearised((&run.setup(), &run.shot), change)?)
    }

    /// The derivatives of what `judge` makes of the records of the shot, by the medium and, if they are asked for, by the sources.
    pub fn derivatives(
        &mut self,
        by_sources: bool,
        judge: impl FnOnce(Vec<f32>) -> anyhow::Result<Vec<f32>>,
    ) -> anyhow::Result<Derivatives<D>> {
        let Self {
            run,
            adjoint,
            schedule,
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
        let found = match by_sources {
            true => adjoint.gradient_with_sources(shot, schedule, of_records),
            false => adjoint
                .gradient(shot, schedule, of_records)
                .map(|gradient| (gradient, Vec::new())),
        };
        match failed {
            Some(error) => Err(error),
            None => Ok(found?),
        }
    }

    /// Lets the station do this work with every shot that it gets.
    pub fn at_work<'a>(
        mut self,
        mut work: impl FnMut(usize, &mut Self) -> anyhow::Result<ShotResult> + Send + 'a,
    ) -> Stations<'a>
    where
        Self: 'a,
    {
        let mut one = move |&number: &usize| {
            let done = self.turn_to(number).and_then(|()| work(number, &mut self));
            let picks = &self.run.spreads.picks;
            let mut result = match self.run.spreads.count() {
                1 => done,
                _ => done.with_context(|| format!("shot {}", picks.number(number))),
            }?;
            // No waves ran backwards.
            result.words.push(f64::NAN.to_bits());
            Ok(result)
        };
        let worker = Worker::side_by_side(move |numbers| numbers.iter().map(&mut one).collect());
        Stations::Own {
            all: vec![(worker, 1)],
            on_gpu: false,
        }
    }

    fn turn_to(&mut self, shot: usize) -> anyhow::Result<()> {
        if self.run.spreads.count() > 1 {
            self.run.turn_to(&[shot]);
            self.adjoint.next_shot(&self.run.setup(), &self.run.shot)?;
        }
        Ok(())
    }
}

/// What is kept in `memory=`, or in a share of what is free, which so many ranks have.
fn schedule<const D: usize>(
    job: &Job,
    adjoint: &Adjoint<D>,
    ranks: usize,
) -> anyhow::Result<CheckpointSchedule> {
    let room = match (job.double_opt("memory")?, free_memory()) {
        (Some(asked), _) => asked * GIGA,
        (None, Some(free)) => SHARE * free / ranks as f64,
        (None, None) => bail!(
            "the system does not say how much memory is free: give memory= (GB) for the stored wavefield"
        ),
    };
    Ok(CheckpointSchedule::choose(
        adjoint.steps(),
        adjoint.sizes(),
        room.max(0.0) as usize,
    )?)
}
