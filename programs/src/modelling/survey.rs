//! Several shots in one run: the model is read once, a shot that fails is told and leaves zeros, the others go on. Each of several ranks
//! computes whole shots; rank 0 writes them.

mod ledger;

use super::checkpoint::{Store, Wishes};
use super::finished::Finished;
use super::machine::Machine;
use super::model::Opened;
use super::plan::counted;
use super::progress::{Progress, Watched};
use super::shoot::{self, Method, Resources};
use super::shots::{self, Made, Worker};
use super::world::{World, share_stdin};
use anyhow::{Context, bail, ensure};
use kernels::device::gpu::Gpu;
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, Every};
use ledger::Ledger;
use rsf_io::{Axis, Job, Watch};
use std::sync::Arc;
use std::time::Instant;

/// A method whose programs run several shots.
pub trait Survey: Method<Engine: Send, Files: Opened<Volumes: Sync>> + Send {
    /// The axis of the shots.
    fn shots(&self) -> &Axis;

    /// Axes of the data of a shot.
    fn axes(&self) -> [Axis; 3];

    /// Numbers of the data of a shot.
    fn numbers(&self) -> usize {
        self.axes().iter().map(|axis| axis.n).product()
    }

    /// Turns to another shot, the first being 0.
    fn turn_to(&mut self, number: usize);

    /// Makes the engine ready for the shot; `None` before the first. What was found in the model where it was read.
    fn again(
        &mut self,
        job: &Job,
        volumes: &<Self::Files as Opened>::Volumes,
        on: Resources<'_>,
        engine: &mut Option<Self::Engine>,
    ) -> anyhow::Result<Option<Self::Report>>;
}

/// What the shots of a survey are made of, as its method reads them.
type Volumes<M> = <<M as Method>::Files as Opened>::Volumes;

/// Runs a program of the method `M` in `ndim` dimensions, one shot or several.
pub fn shoot<M: Survey>(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    let started = Instant::now();
    world.same_shot(job)?;
    if M::reads_stdin(job) {
        share_stdin(job, world)?;
    }
    let (shot, files) = world.agree(M::read(job, ndim))?;
    match shot.shots().n {
        1 => shoot::one(job, (shot, files), (world, started)),
        _ => several(job, (shot, files), world),
    }
}

/// Refuses what several shots do not have.
fn refuse(job: &Job, shots: usize) -> anyhow::Result<()> {
    let no = |what: &str| -> anyhow::Result<()> {
        bail!(
            "{what} goes with one shot, and sou= and rec= have {shots} (n3=): leave it out, or run them one by one (sfwindow n3=1 f3=)"
        )
    };
    if job.flag("snap")? {
        no("snap=y")?;
    }
    for key in ["pgv", "checkpoint"] {
        if job.given(key) {
            no(&format!("{key}="))?;
        }
    }
    Ok(())
}

fn several<M: Survey>(job: &mut Job, (mut shot, files): (M, M::Files), world: &World) -> anyhow::Result<()> {
    let shots = shot.shots().clone();
    world.agree(refuse(job, shots.n))?;
    let ndim = shot.pieces().ndim();
    let tile = world.agree(shot.tile(job))?;
    let machine = Machine::of_rank(job, shot.pieces(), world)?.with_tile(job, tile);
    let planning = job.flag("plan")?;
    if job.is_dry_run() && !planning {
        let mut outputs = shot.open(job, world)?;
        outputs.count_shots(&shots);
        return outputs.header_only();
    }
    let gpus = world.agree(machine.open())?;
    let held = files.held();
    let volumes = world.agree(files.volumes(ndim, None))?;
    if planning {
        let on = Resources {
            machine: &machine,
            gpus: &gpus,
            held,
            world: &World::alone(),
        };
        world.agree(shot.plan(job, volumes, on))?;
        job.say(&format!("that is one shot: there are {}", shots.n));
        return Ok(());
    }
    world.agree(Wishes::read(job, shot.steps()))?;
    let on = Resources {
        machine: &machine,
        gpus: &gpus,
        held,
        world,
    };
    shot.check_memory(job, on)?;
    let (finished, todo) = finished(job, &shot, world)?;
    let mut outputs = shot.open(job, world)?;
    outputs.count_shots(&shots);
    let device = machine.describe(None);
    outputs.note(&device);
    job.say(&device);
    let mut ledger = match outputs.into_data() {
        Some(files) => Some(Ledger::new(job, &shot, files, finished)?),
        None => None,
    };
    let station = Station {
        job,
        shot,
        machine,
        gpus,
        held,
        volumes: &volumes,
        engine: None,
        ready: None,
        shows: world.leads(),
    };
    run(station, &todo, world, &mut ledger)
}

/// What an earlier run has finished, on rank 0, and the shots that are to be made, on all ranks.
fn finished<M: Survey>(job: &mut Job, shot: &M, world: &World) -> anyhow::Result<(Finished, Vec<usize>)> {
    let shots = shot.shots().n;
    let opened = match world.leads() {
        true => Finished::open(job, &shot.axes(), shots),
        false => Ok(Finished::default()),
    };
    let opened = world.agree(opened)?;
    let todo: Vec<u64> = opened.todo(shots).into_iter().map(|n| n as u64).collect();
    let todo = world.from_first(&todo)?;
    Ok((opened, todo.into_iter().map(|n| n as usize).collect()))
}

/// Makes the shots of `todo`; rank 0 has a ledger.
fn run<M: Survey>(
    mut station: Station<'_, M>,
    todo: &[usize],
    world: &World,
    ledger: &mut Option<Ledger<'_>>,
) -> anyhow::Result<()> {
    // From now on a signal waits for the end of a step.
    let _watch = Watch::begin();
    let own = shots::of_rank(todo, world);
    // What is wrong with the model is wrong with every shot.
    let begun = own.first().map_or(Ok(()), |&first| station.begin(first));
    world.agree(begun)?;
    let worker: Worker<'_> = Box::new(move |number| station.make(number));
    let taken = shots::in_order(todo, worker, world, &mut |number, outcome| match ledger {
        Some(ledger) => ledger.take(number, outcome),
        None => Ok(()),
    });
    let ended = match (taken, ledger.take()) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(ledger)) => ledger.end(),
        // The other ranks do not know of it.
        (Err(error), None) => return Err(world.fail(error)),
        (Err(error), Some(ledger)) => return Err(world.fail(ledger.broken_off(error))),
    };
    world.agree(ended)
}

/// Where shots are made one after the other.
struct Station<'a, M: Survey> {
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
    /// Whether it shows how far it is.
    shows: bool,
}

impl<M: Survey> Station<'_, M> {
    /// Makes the engine ready for its first shot.
    fn begin(&mut self, number: usize) -> anyhow::Result<()> {
        let report = self.turn_to(number)?;
        if let Some(report) = report.filter(|_| self.shows && self.job.flag("verb").unwrap_or(false)) {
            self.shot.summary(self.job, &report);
        }
        Ok(())
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
        use shoot::Engine;
        let engine = self.engine.as_mut().context("no engine was made")?;
        let options = ParallelOptions {
            transport: self.shot.transport(),
            ..ParallelOptions::default()
        };
        let world = World::alone();
        let mut progress = Progress::new(self.job, (0, engine.steps()), self.shows)?;
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
        let (made, wanted) = (records.0.len(), self.shot.numbers());
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

/// The first sentence of a survey that has taken over shots.
fn taken_over(finished: usize, shots: usize) -> String {
    format!("{} of {shots} taken over from resume=", counted(finished, "shot"))
}
