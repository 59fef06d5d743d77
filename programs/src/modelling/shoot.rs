//! One shot of any method, from its command line to the line that tells its speed.

use super::machine::Machine;
use super::model::{self, Files, Volumes};
use super::plan::{Report, gigabytes};
use super::progress::{Progress, Watched};
use super::record::{Outputs, Writer};
use super::world::{World, share_stdin};
use kernels::device::gpu::Gpu;
use kernels::grid::Padded;
use kernels::grid::points::Snapshots;
use kernels::parallel::communicator::Communicator;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::time_loop::{Recorder, async_recorder};
use rsf_io::{Job, Output};
use std::sync::Arc;
use std::time::Instant;

/// The machine of a run, as this rank has it, and the other ranks.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// The threads, and which slabs this rank computes.
    pub machine: &'a Machine,
    /// The GPUs in the order of the slabs; empty on the CPU.
    pub gpus: &'a [Arc<Gpu>],
    /// Bytes of the model's files that cannot be read a block at a time and lie in memory as a whole.
    pub held: u64,
    /// All ranks.
    pub world: &'a World,
}

/// A shot of one method: the command line and the small inputs, before the model's volumes are read.
///
/// All ranks call each function; those that answer for one rank alone say so.
pub trait Method: Sized {
    /// What runs the shot.
    type Engine: Engine;

    /// Whether standard input is an input of the program.
    fn reads_stdin(_job: &Job) -> bool {
        false
    }

    /// Reads parameters and small inputs and opens the model; for this rank alone.
    fn read(job: &mut Job, ndim: usize) -> anyhow::Result<(Self, Files)>;

    /// The model's grid with its frame.
    fn padded(&self) -> &Padded;

    /// Planes at either end of the grid that cost nearly nothing.
    fn cheap_frame(&self) -> usize {
        0
    }

    /// The way of ghosts between GPUs of different ranks.
    fn transport(&self) -> Transport;

    /// The snapshots, if any, and their components.
    fn snapshots(&self) -> (Option<&Snapshots>, usize);

    /// Opens data and snapshots, with their headers.
    fn open(&self, job: &mut Job, world: &World) -> anyhow::Result<Outputs>;

    /// Whether a map is written after the last step.
    fn has_map(&self) -> bool {
        false
    }

    /// Opens that map; on rank 0 alone.
    fn open_map(&self, _job: &mut Job) -> anyhow::Result<Option<Output>> {
        Ok(None)
    }

    /// Tells what the run needs and takes; runs nothing.
    fn plan(&mut self, job: &Job, volumes: Volumes, on: Resources<'_>) -> anyhow::Result<()>;

    /// Refuses, or warns of, a run that the memory does not hold, before the first volume is read.
    fn check_memory(&self, job: &Job, on: Resources<'_>) -> anyhow::Result<()>;

    /// Reads the model and makes the shot ready to run.
    fn engine(
        &mut self,
        job: &Job,
        volumes: Volumes,
        on: Resources<'_>,
    ) -> anyhow::Result<(Self::Engine, Report)>;

    /// Tells the lines of `verb=y` before the run.
    fn summary(&self, job: &Job, report: &Report);
}

/// A shot ready to run.
pub trait Engine {
    /// Steps to run.
    fn steps(&self) -> usize;

    /// Bytes of memory that fields and medium take.
    fn bytes(&self) -> usize;

    /// Numbers that a step must move at least for a point of the padded grid, where the method tells it.
    fn words(&self, _padded: &Padded) -> Option<usize> {
        None
    }

    /// Runs all steps, together with the other ranks.
    fn run(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<f32>,
        options: ParallelOptions,
    ) -> Result<(), kernels::Error>;

    /// The map that is written after the last step, on rank 0; all ranks call it, of a method that has one.
    fn map(&self, _ranks: &dyn Communicator) -> Result<Vec<f32>, kernels::Error> {
        Ok(Vec::new())
    }
}

/// Runs a program of the method `M` in `ndim` dimensions.
pub fn shoot<M: Method>(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    let started = Instant::now();
    world.same_shot(job)?;
    if M::reads_stdin(job) {
        share_stdin(job, world)?;
    }
    let (mut shot, files) = world.agree(M::read(job, ndim))?;
    let machine = Machine::choose(job, shot.padded(), shot.cheap_frame(), world)?;
    let planning = job.flag("plan")?;
    if job.is_dry_run() && !planning {
        let mut outputs = shot.open(job, world)?;
        outputs.note(&machine.describe(None));
        return outputs.header_only();
    }
    let gpus = world.agree(machine.open())?;
    let on = Resources {
        machine: &machine,
        gpus: &gpus,
        held: model::held(&files.inputs()),
        world,
    };
    if planning {
        let volumes = world.agree(files.volumes())?;
        return shot.plan(job, volumes, on);
    }
    let (engine, ready) = set_up(job, &mut shot, files, on)?;
    let set_up = started.elapsed().as_secs_f64();
    run(job, &shot, engine, ready, (on, set_up))
}

/// The files that a shot writes.
struct Written {
    outputs: Outputs,
    /// On rank 0, where it is asked for.
    map: Option<Output>,
}

/// Opens what is written and makes the engine. Outputs are opened before the model is read: a path that cannot be
/// written fails at once.
fn set_up<M: Method>(
    job: &mut Job,
    shot: &mut M,
    files: Files,
    on: Resources<'_>,
) -> anyhow::Result<(M::Engine, Written)> {
    let (machine, world) = (on.machine, on.world);
    shot.check_memory(job, on)?;
    let mut outputs = shot.open(job, world)?;
    let map = match world.leads() {
        true if shot.has_map() => shot.open_map(job),
        _ => Ok(None),
    };
    let map = world.agree(map)?;
    let volumes = world.agree(files.volumes())?;
    let (engine, report) = shot.engine(job, volumes, on)?;
    let device = machine.describe(Some(report.class));
    outputs.note(&device);
    job.say(&device);
    if job.flag("verb")? {
        shot.summary(job, &report);
    }
    Ok((engine, Written { outputs, map }))
}

/// Runs the shot and ends its files.
fn run<M: Method>(
    job: &Job,
    shot: &M,
    mut engine: M::Engine,
    Written { mut outputs, map }: Written,
    (on, set_up): (Resources<'_>, f64),
) -> anyhow::Result<()> {
    let (machine, world) = (on.machine, on.world);
    let (snapshots, components) = shot.snapshots();
    let options = ParallelOptions {
        snapshots: outputs.spread(snapshots, shot.padded().ndim(), (world, &machine.own()))?,
        way: shot.transport(),
        ..ParallelOptions::default()
    };
    let begun = Instant::now();
    let mut progress = Progress::new(job, engine.steps(), world.leads())?;
    let mut watched = |recorder: &mut dyn Recorder<f32>| {
        let mut watched = Watched {
            recorder,
            progress: &mut progress,
        };
        engine.run(world.ranks(), &mut watched, options)
    };
    let mut writer = Writer::new(outputs, components);
    let outcome;
    if machine.has_gpus() {
        (writer, outcome) = async_recorder(writer, watched);
    } else {
        // A thread that writes would take a core from the waves.
        outcome = watched(&mut writer);
    }
    progress.end();
    if let Err(error) = outcome {
        // What was written stays readable.
        drop(writer);
        return settle(error, world);
    }
    world.agree(Ok(()))?;
    let seconds = begun.elapsed().as_secs_f64();
    world.agree(writer.finish(job))?;
    if shot.has_map() {
        let values = engine.map(world.ranks());
        world.agree(write_map(map, values))?;
    }
    tell_speed(job, shot.padded(), &engine, (world, [set_up, seconds]))
}

/// Writes the map where this rank has its file.
fn write_map(file: Option<Output>, map: Result<Vec<f32>, kernels::Error>) -> anyhow::Result<()> {
    let map = map?;
    if let Some(mut file) = file {
        file.write_f32(&map)?;
        file.finish()?;
    }
    Ok(())
}

/// The line of `verb=y` after a run.
fn tell_speed(
    job: &Job,
    padded: &Padded,
    engine: &impl Engine,
    (world, [set_up, seconds]): (&World, [f64; 2]),
) -> anyhow::Result<()> {
    let bytes = world.sum(engine.bytes())?;
    if !job.flag("verb")? {
        return Ok(());
    }
    let rate = padded.cells() as f64 * engine.steps() as f64 / seconds.max(1e-9);
    let traffic = engine.words(padded).map_or(String::new(), |words| {
        let effective = rate * words as f64 * 4.0 / 1e9;
        format!(" {effective:.2} GB/s effective ({words} words a point),")
    });
    job.say(&format!(
        "set-up {set_up:.2} s; {} steps in {seconds:.2} s: {:.1} Mpt/s,{traffic} {} of memory",
        engine.steps(),
        rate / 1e6,
        gigabytes(bytes as f64)
    ));
    Ok(())
}

/// The end of a run that failed: of a wavefield that is not finite and of what ranks have agreed on all know, other errors
/// are this rank's alone.
fn settle(error: kernels::Error, world: &World) -> anyhow::Result<()> {
    match error {
        kernels::Error::Elsewhere => world.agree(Ok(())),
        kernels::Error::NotFinite { .. } | kernels::Error::Agreed(_) => world.agree(Err(error.into())),
        // A reader that closed its pipe has an exit code of its own.
        kernels::Error::Recorder(cause) => Err(world.fail(match cause.downcast::<rsf_io::Error>() {
            Ok(cause) => (*cause).into(),
            Err(cause) => anyhow::Error::from_boxed(cause),
        })),
        _ => Err(world.fail(error.into())),
    }
}
