//! Computes the shots of a survey on the devices of a group, one after another or several side by side.

use super::{Survey, Volumes};
use crate::modelling::checkpoint::Store;
use crate::modelling::growth::Growth;
use crate::modelling::machine::Machine;
use crate::modelling::progress::{Progress, Watched};
use crate::modelling::shots::{All, ShotResult, Worker};
use crate::modelling::survey::shot::{Engine, Resources};
use crate::modelling::words::explained;
use crate::modelling::world::World;
use anyhow::{Context, anyhow, ensure};
use kernels::device::cpu::Cpu;
use kernels::device::gpu::Gpu;
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, Every};
use rayon::prelude::*;
use rsf_io::{Job, interrupted};
use std::sync::Arc;
use std::time::Instant;

/// The devices of a group, with an engine for shots.
pub struct Station<'a, M: Survey> {
    job: &'a Job,
    shot: M,
    machine: Machine,
    gpus: Vec<Arc<Gpu>>,
    /// The number of bytes of the model's files that are in memory as a whole.
    held: u64,
    volumes: &'a Volumes<M>,
    engine: Option<M::Engine>,
    /// The shots for which the engine is ready.
    ready: Vec<usize>,
    /// Whether it prints the findings about the model, and whether it shows its progress.
    shows: (bool, bool),
}

impl<'a, M: Survey> Station<'a, M> {
    /// A station on these devices; `held` bytes of the model's files are in memory as a whole. `shows` says
    /// whether it prints the findings about the model, and whether it shows its progress.
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
            ready: Vec::new(),
            shows,
        }
    }

    /// Makes the engine ready for its first shots.
    pub fn begin(&mut self, numbers: &[usize]) -> anyhow::Result<()> {
        let report = self.turn_to(numbers)?;
        if let Some(report) = report.filter(|_| self.shows.0 && self.job.flag("verb").unwrap_or(false)) {
            self.shot.summary(self.job, &report);
        }
        Ok(())
    }

    /// The worker that computes its shots.
    pub fn worker(mut self) -> Worker<'a>
    where
        M: 'a,
    {
        Worker::side_by_side(move |numbers| self.make(numbers))
    }

    /// Makes the engine ready for shots.
    fn turn_to(&mut self, numbers: &[usize]) -> anyhow::Result<Option<M::Report>> {
        self.shot.turn_to(numbers);
        let on = Resources {
            machine: &self.machine,
            gpus: &self.gpus,
            held: self.held,
            world: &World::alone(),
        };
        let report = self.shot.again(self.job, self.volumes, on, &mut self.engine)?;
        self.ready = numbers.to_vec();
        Ok(report)
    }

    /// Computes the records of each shot, with the words of [`words_of`]. If shots that run side by side fail, each of
    /// them runs once more alone, so that one failure does not affect the others.
    fn make(&mut self, numbers: &[usize]) -> All {
        let begun = Instant::now();
        let outcome = match std::mem::take(&mut self.ready) == numbers {
            true => Ok(()),
            false => self.turn_to(numbers).map(drop),
        };
        let outcome = outcome.and_then(|()| self.model(numbers.len()));
        let seconds = begun.elapsed().as_secs_f64() / numbers.len() as f64;
        let error = match outcome {
            Ok(shots) => {
                let result_of = |Recorded { values, growth }: Recorded| ShotResult {
                    values,
                    words: words_of(seconds, growth.factor()),
                    ..ShotResult::default()
                };
                return shots.into_iter().map(|values| Ok(result_of(values))).collect();
            }
            Err(error) => error,
        };
        // The engine of a failed run may be unusable.
        self.engine = None;
        match numbers.len() {
            1 => vec![Err(error)],
            _ if interrupted().is_some() => {
                let words = explained(&error);
                numbers.iter().map(|_| Err(anyhow!("{words}"))).collect()
            }
            _ => numbers.iter().flat_map(|&number| self.make(&[number])).collect(),
        }
    }

    /// Runs the `shots` shots for which the engine is ready, and returns the records of each of them.
    fn model(&mut self, shots: usize) -> anyhow::Result<Vec<Recorded>> {
        let engine = self.engine.as_mut().context("no engine was made")?;
        let options = ParallelOptions {
            transport: self.shot.transport(),
            ..ParallelOptions::default()
        };
        let world = World::alone();
        let mut progress = Progress::new(self.job, (0, engine.steps()), self.shows.1)?;
        let store = Arc::new(Store::new(self.job, None, None));
        let mut checkpoints = Checkpoints::new(world.ranks(), store, Every::Never);
        let [record, count] = self.shot.records();
        let growth = Growth::new(self.shot.timing(), [self.shot.steps(), count]);
        let mut records = Records::new((shots, [record, count]), &growth, &self.machine.cpu)?;
        let mut watched = Watched {
            recorder: &mut records,
            progress: &mut progress,
        };
        let outcome = engine.run(world.ranks(), &mut watched, options, &mut checkpoints);
        drop(checkpoints);
        progress.end();
        outcome?;
        let recorded = records.recorded;
        ensure!(recorded == count, "the run made {recorded} records of {count}");
        Ok(records.of_shots)
    }
}

/// Further results of a shot: the bits of the seconds that it took, and the bits of the factor by which its records
/// grow until the end, if they do.
fn words_of(seconds: f64, grows: Option<f32>) -> Vec<u64> {
    let grows = grows.map(|factor| u64::from(factor.to_bits()));
    std::iter::once(seconds.to_bits()).chain(grows).collect()
}

/// The seconds of a shot and the factor by which its records grow, from the words of [`words_of`].
pub fn seconds_and_growth(words: &[u64]) -> (f64, Option<f32>) {
    let seconds = words.first().map_or(0.0, |&bits| f64::from_bits(bits));
    let grows = words.get(1).map(|&bits| f32::from_bits(bits as u32));
    (seconds, grows)
}

/// The records of a shot.
struct Recorded {
    values: Vec<f32>,
    growth: Growth,
}

/// The records of several shots. A record of all shots has the numbers of the shots one after another.
struct Records {
    of_shots: Vec<Recorded>,
    /// The number of values in a record of a shot.
    numbers: usize,
    /// The number of records so far.
    recorded: usize,
}

impl Records {
    /// Memory for `shots` shots of `count` records of `numbers` values. A separate thread touches the memory
    /// of each shot first: the thread of the recorder alone would take as long for that as a GPU for some of
    /// the steps.
    ///
    /// # Errors
    /// Returns an error if there is too little memory.
    fn new(
        (shots, [numbers, count]): (usize, [usize; 2]),
        growth: &Growth,
        cpu: &Cpu,
    ) -> anyhow::Result<Self> {
        let of_shot = |_| -> anyhow::Result<Recorded> {
            let mut values = Vec::new();
            values.try_reserve_exact(numbers * count).context(
                "there is not enough memory for the records of the shots: use fewer receivers or records",
            )?;
            values.resize(numbers * count, 0.0);
            Ok(Recorded {
                values,
                growth: growth.clone(),
            })
        };
        let all: anyhow::Result<_> = cpu.install(|| (0..shots).into_par_iter().map(of_shot).collect());
        Ok(Self {
            of_shots: all?,
            numbers,
            recorded: 0,
        })
    }
}

impl Recorder<f32> for Records {
    fn traces(&mut self, _: usize, traces: &[f32]) -> Result<(), kernels::Error> {
        let at = self.recorded * self.numbers;
        let of_shots = traces.chunks(self.numbers.max(1));
        for (Recorded { values, growth }, record) in self.of_shots.iter_mut().zip(of_shots) {
            growth.take(record);
            if let Some(to) = values.get_mut(at..at + record.len()) {
                to.copy_from_slice(record);
            }
        }
        self.recorded += 1;
        Ok(())
    }

    fn snapshot(&mut self, _: usize, _: &[f32]) -> Result<(), kernels::Error> {
        Ok(())
    }
}
