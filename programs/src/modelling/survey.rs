//! Several shots in one run: the model is read once, a shot that fails is told and leaves zeros, the others go on.

use super::checkpoint::{Store, Wishes};
use super::divide::Divide;
use super::finished::Finished;
use super::machine::Machine;
use super::model::Opened;
use super::plan::counted;
use super::progress::{Progress, Watched};
use super::shoot::{self, Engine, Method, Resources};
use super::words;
use super::world::{World, share_stdin};
use anyhow::{Context, bail};
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, Every};
use rsf_io::{Axis, Job, Output, Watch};
use std::sync::Arc;
use std::time::Instant;

/// A method whose programs run several shots.
pub trait Survey: Method {
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
fn refuse(job: &Job, shots: usize, world: &World) -> anyhow::Result<()> {
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
    if !world.is_alone() {
        no("a run of several ranks")?;
    }
    Ok(())
}

fn several<M: Survey>(job: &mut Job, (mut shot, files): (M, M::Files), world: &World) -> anyhow::Result<()> {
    let shots = shot.shots().clone();
    refuse(job, shots.n, world)?;
    let ndim = shot.pieces().ndim();
    let tile = world.agree(shot.tile(job))?;
    let machine = Machine::choose(job, shot.pieces(), world)?.with_tile(job, tile);
    let planning = job.flag("plan")?;
    if job.is_dry_run() && !planning {
        let mut outputs = shot.open(job, world)?;
        outputs.count_shots(&shots);
        return outputs.header_only();
    }
    let gpus = machine.open()?;
    let on = Resources {
        machine: &machine,
        gpus: &gpus,
        held: files.held(),
        world,
    };
    let volumes = files.volumes(ndim, None)?;
    if planning {
        shot.plan(job, volumes, on)?;
        job.say(&format!("that is one shot: there are {}", shots.n));
        return Ok(());
    }
    Wishes::read(job, shot.steps())?;
    shot.check_memory(job, on)?;
    let finished = Finished::open(job, &shot.axes(), shots.n)?;
    let mut outputs = shot.open(job, world)?;
    outputs.count_shots(&shots);
    let device = machine.describe(None);
    outputs.note(&device);
    job.say(&device);
    let (file, divide) = outputs.into_data().context("one process has the data")?;
    let data = Data {
        file,
        divide,
        record: shot.axes()[..2].iter().map(|axis| axis.n).product(),
    };
    run(job, &mut shot, (data, finished), (on, &volumes))
}

/// Runs all shots.
fn run<M: Survey>(
    job: &Job,
    shot: &mut M,
    (mut data, mut finished): (Data, Finished),
    (on, volumes): (Resources<'_>, &<M::Files as Opened>::Volumes),
) -> anyhow::Result<()> {
    let shots = shot.shots().n;
    let numbers = shot.numbers();
    let (mut engine, mut failed, mut silent, mut first) = (None, Vec::new(), true, true);
    // From now on a signal waits for the end of a step.
    let _watch = Watch::begin();
    for number in 0..shots {
        let begun = Instant::now();
        if let Some(values) = finished.next(number, numbers)? {
            silent = false;
            data.write(&values)?;
            continue;
        }
        if number > 0 {
            shot.turn_to(number);
        }
        let alone = std::mem::take(&mut first);
        let made = match shot.again(job, volumes, on, &mut engine) {
            Ok(report) => {
                if let Some(report) = report.filter(|_| alone && job.flag("verb").unwrap_or(false)) {
                    shot.summary(job, &report);
                }
                model(job, shot, &mut engine, on)
            }
            // What is wrong with the model is wrong with every shot.
            Err(error) if alone => return Err(error),
            Err(error) => Err(error),
        };
        match made {
            Ok(values) if values.len() == numbers => {
                silent &= values.iter().all(|&x| x == 0.0);
                data.write(&values)?;
            }
            Ok(values) => bail!("shot {} made {} numbers of {numbers}", number + 1, values.len()),
            Err(error) if rsf_io::interrupted().is_some() => return interrupted(data, number, error),
            Err(error) => {
                let text = words::explained(&format!("{error:#}"));
                job.say(&format!(
                    "shot {} of {shots} failed, its traces are zero: {text}",
                    number + 1
                ));
                failed.push((number + 1).to_string());
                data.write(&vec![0.0; numbers])?;
                // What a failed run leaves behind may be of no use.
                engine = None;
            }
        }
        if job.flag("verb")? {
            let seconds = begun.elapsed().as_secs_f64();
            job.say(&format!("shot {} of {shots}: {seconds:.2} s", number + 1));
        }
    }
    data.finish()?;
    if finished.taken > 0 {
        let taken = counted(finished.taken, "shot");
        job.say(&format!("{taken} of {shots} taken over from resume="));
    }
    match failed.len() {
        // A lone record of the first step lies before any wave, and a warning has said so already.
        0 if silent && (job.int("jdata")? as usize) < shot.steps().max(2) => {
            job.warn("all data are zero: no wave reached a receiver; look at the sources, their histories and the number of steps");
        }
        0 => {}
        count => bail!(
            "{} of {shots} failed, the traces of {} are zero: {}",
            counted(count, "shot"),
            if count == 1 { "it" } else { "them" },
            failed.join(", ")
        ),
    }
    Ok(())
}

/// Where the data of the shots go.
struct Data {
    file: Output,
    /// What makes several quantities of them.
    divide: Option<Divide>,
    /// Numbers of a record.
    record: usize,
}

impl Data {
    /// Writes the data of a shot.
    fn write(&mut self, values: &[f32]) -> rsf_io::Result<()> {
        let Some(divide) = &mut self.divide else {
            return self.file.write_f32(values);
        };
        for (it, read) in values.chunks_exact(self.record.max(1)).enumerate() {
            divide.take(it, read, &mut self.file)?;
        }
        divide.end_shot(&mut self.file)
    }

    fn finish(self) -> rsf_io::Result<()> {
        self.divide.map_or(Ok(()), Divide::finish)?;
        self.file.finish()
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

/// Runs the shot that the engine is ready for.
fn model<M: Method>(
    job: &Job,
    shot: &M,
    engine: &mut Option<M::Engine>,
    on: Resources<'_>,
) -> anyhow::Result<Vec<f32>> {
    let engine = engine.as_mut().context("no engine was made")?;
    let options = ParallelOptions {
        transport: shot.transport(),
        ..ParallelOptions::default()
    };
    let mut progress = Progress::new(job, (0, engine.steps()), true)?;
    let store = Arc::new(Store::new(job, None, None));
    let mut checkpoints = Checkpoints::new(on.world.ranks(), store, Every::Never);
    let mut records = Records::default();
    let mut watched = Watched {
        recorder: &mut records,
        progress: &mut progress,
    };
    let outcome = engine.run(on.world.ranks(), &mut watched, options, &mut checkpoints);
    drop(checkpoints);
    progress.end();
    outcome?;
    Ok(records.0)
}

/// The end of a run that a signal has ended after so many shots: the data hold those.
fn interrupted(data: Data, shots: usize, error: anyhow::Error) -> anyhow::Result<()> {
    let Some(signal) = rsf_io::interrupted() else {
        return Err(error);
    };
    let name = data.file.name();
    if let Some(divide) = data.divide {
        divide.finish_early(4, "shots")?;
    }
    data.file.finish_at(4, shots as u64)?;
    let left = format!("{name} holds {}", counted(shots, "shot"));
    Err(rsf_io::Error::Interrupted { signal, left }.into())
}
