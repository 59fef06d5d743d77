//! Where the shots of a survey are made, one after the other.

use super::{Survey, Volumes};
use crate::modelling::checkpoint::Store;
use crate::modelling::machine::Machine;
use crate::modelling::progress::{Progress, Watched};
use crate::modelling::shoot::{Engine, Resources};
use crate::modelling::shots::{Made, Worker};
use crate::modelling::world::World;
use anyhow::{Context, ensure};
use kernels::device::gpu::Gpu;
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, Every};
use rsf_io::Job;
use std::sync::Arc;
use std::time::Instant;

/// Where shots are made one after the other.
pub struct Station<'a, M: Survey> {
    job: &'a Job,
    shot: M,
    machine: Machine,
    gpus: Vec<Arc<Gpu>>,
    /// Bytes of the model's files that lie in memory as a whole.
    held: u64,
    volumes: &'a Volumes<M>,
    engine: Option<M::Engine>,
    /// The shot that the engine is ready for.
    ready: Option<usize>,
    /// Whether it tells what it has found in the model, and shows how far it is.
    shows: (bool, bool),
}

impl<'a, M: Survey> Station<'a, M> {
    /// On a machine with its GPUs; `held` bytes of the model's files lie in memory as a whole. `shows`: whether it tells what it has
    /// found in the model, and how far it is.
    pub fn new(
        job: &'a Job,
        shot: M,
        volumes: &'a Volumes<M>,
        held: u64,
        on: (Machine, Vec<Arc<Gpu>>),
        shows: (bool, bool),
    ) -> Self {
        let (machine, gpus) = on;
        Self {
            job,
            shot,
            machine,
            gpus,
            held,
            volumes,
            engine: None,
            ready: None,
            shows,
        }
    }

    /// Makes the engine ready for its first shot.
    pub fn begin(&mut self, number: usize) -> anyhow::Result<()> {
        let report = self.turn_to(number)?;
        if let Some(report) = report.filter(|_| self.shows.0 && self.job.flag("verb").unwrap_or(false)) {
            self.shot.summary(self.job, &report);
        }
        Ok(())
    }

    /// What makes its shots.
    pub fn worker(mut self) -> Worker<'a>
    where
        M: 'a,
    {
        Box::new(move |number| self.make(number))
    }

    /// Makes the engine ready for a shot.
    fn turn_to(&mut self, number: usize) -> anyhow::Result<Option<M::Report>> {
        self.shot.turn_to(number);
        let on = Resources {
            machine: &self.machine,
            gpus: &self.gpus,
            held: self.held,
            world: &World::alone(),
        };
        let report = self.shot.again(self.job, self.volumes, on, &mut self.engine)?;
        self.ready = Some(number);
        Ok(report)
    }

    /// The records of a shot, behind each other, and the bits of the seconds that it took.
    fn make(&mut self, number: usize) -> anyhow::Result<Made> {
        let begun = Instant::now();
        if self.ready.take() != Some(number) {
            self.turn_to(number)?;
        }
        let made = self.model();
        if made.is_err() {
            // What a failed run leaves behind may be of no use.
            self.engine = None;
        }
        Ok(Made {
            values: made?,
            words: vec![begun.elapsed().as_secs_f64().to_bits()],
        })
    }

    /// Runs the shot that the engine is ready for.
    fn model(&mut self) -> anyhow::Result<Vec<f32>> {
        let engine = self.engine.as_mut().context("no engine was made")?;
        let options = ParallelOptions {
            transport: self.shot.transport(),
            ..ParallelOptions::default()
        };
        let world = World::alone();
        let mut progress = Progress::new(self.job, (0, engine.steps()), self.shows.1)?;
        let store = Arc::new(Store::new(self.job, None, None));
        let mut checkpoints = Checkpoints::new(world.ranks(), store, Every::Never);
        let mut records = Records::default();
        let mut watched = Watched {
            recorder: &mut records,
            progress: &mut progress,
        };
        let outcome = engine.run(world.ranks(), &mut watched, options, &mut checkpoints);
        drop(checkpoints);
        progress.end();
        outcome?;
        let (made, wanted) = (records.0.len(), self.shot.records().iter().product());
        ensure!(made == wanted, "the run made {made} numbers of {wanted}");
        Ok(records.0)
    }
}

/// The records of one shot, behind each other.
#[derive(Default)]
struct Records(Vec<f32>);

impl Recorder<f32> for Records {
    fn traces(&mut self, _: usize, traces: &[f32]) -> Result<(), kernels::Error> {
        self.0.extend_from_slice(traces);
        Ok(())
    }

    fn snapshot(&mut self, _: usize, _: &[f32]) -> Result<(), kernels::Error> {
        Ok(())
    }
}
