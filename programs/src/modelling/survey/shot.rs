//! One shot of any method, from its command line to the report of its speed.

use super::Survey;
use crate::modelling::checkpoint::{Growing, Identity, Resumed, Store, Wishes};
use crate::modelling::exact_time::Timing;
use crate::modelling::growth::Growth;
use crate::modelling::machine::{Machine, Pieces};
use crate::modelling::model::{Fingerprint, Opened};
use crate::modelling::plan::gigabytes;
use crate::modelling::progress::{Progress, Watched};
use crate::modelling::record::{Outputs, Writer};
use crate::modelling::world::World;
use anyhow::Context;
use kernels::Hint;
use kernels::communicator::Communicator;
use kernels::device::cpu::Tile;
use kernels::device::gpu::Gpu;
use kernels::grid::points::Snapshots;
use kernels::medium::Symmetry;
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::time_loop::state::{Checkpoints, Every, StateSource};
use kernels::time_loop::{Recorder, async_recorder};
use rsf_io::{Job, Output, Signal, Watch};
use std::sync::Arc;
use std::time::Instant;

/// The devices of this rank, and the other ranks.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// The threads, and the slabs that this rank computes.
    pub machine: &'a Machine,
    /// The GPUs in the order of the slabs; empty on the CPU.
    pub gpus: &'a [Arc<Gpu>],
    /// The number of bytes of the model's files that cannot be read a block at a time and are in memory as a
    /// whole.
    pub held: u64,
    /// All ranks.
    pub world: &'a World,
}

/// A shot of one method: the command line and the small inputs, before the model's volumes are read.
///
/// All ranks call each function; the documentation of a function says if its result is only for one rank.
pub trait Method: Sized {
    /// The engine that runs the shot.
    type Engine: Engine;

    /// The opened files of the model.
    type Files: Opened;

    /// The findings about the model.
    type Report;

    /// Whether standard input is an input of the program.
    fn reads_stdin(_job: &Job) -> bool {
        false
    }

    /// Reads parameters and small inputs and opens the model, for this rank only.
    fn read(job: &mut Job, ndim: usize) -> anyhow::Result<(Self, Self::Files)>;

    /// The work that is divided among the devices: a grid with its frame, or the elements of a mesh.
    fn pieces(&self) -> Pieces<'_>;

    /// The tiles that the command line requests, if threads work in tiles.
    fn tile(&self, _job: &Job) -> anyhow::Result<Option<Tile>> {
        Ok(None)
    }

    /// The number of points that a step computes.
    fn points(&self) -> usize;

    /// The description of the grid or the mesh in states.
    fn layout(&self) -> String;

    /// The class of the model whose kernels run on accelerators.
    fn class(report: &Self::Report) -> Option<Symmetry>;

    /// How ghost cells are sent between GPUs of different ranks.
    fn transport(&self) -> Transport;

    /// The snapshots, if any, and their components.
    fn snapshots(&self) -> (Option<&Snapshots>, usize);

    /// Whether the numbers of a rank are scattered over a snapshot, so that rank 0 writes all of them.
    fn scatters(&self) -> bool {
        false
    }

    /// The number of steps of the run.
    fn steps(&self) -> usize;

    /// The time steps and the correction of their dispersion.
    fn timing(&self) -> &Timing;

    /// The contents that identify a run in addition to its parameters and its model: checksums of small
    /// inputs, by their names in messages.
    fn contents(&self) -> Vec<(&'static str, u64)>;

    /// Checksums of the source terms of each step.
    fn sources_by_step(&self) -> Vec<u64>;

    /// Opens data and snapshots, with their headers.
    fn open(&self, job: &mut Job, world: &World) -> anyhow::Result<Outputs>;

    /// Whether a map is written after the last step.
    fn has_map(&self) -> bool {
        false
    }

    /// Opens that map, only on rank 0.
    fn open_map(&self, _job: &mut Job) -> anyhow::Result<Option<Output>> {
        Ok(None)
    }

    /// Prints the memory and the time that the run needs, without running it.
    fn plan(
        &mut self,
        job: &Job,
        volumes: <Self::Files as Opened>::Volumes,
        on: Resources<'_>,
    ) -> anyhow::Result<()>;

    /// Refuses a run that does not fit into memory, or warns of it, before the first volume is read.
    fn check_memory(&self, job: &Job, on: Resources<'_>) -> anyhow::Result<()>;

    /// Reads the model and makes the shot ready to run.
    fn engine(
        &mut self,
        job: &Job,
        volumes: <Self::Files as Opened>::Volumes,
        on: Resources<'_>,
    ) -> anyhow::Result<(Self::Engine, Self::Report)>;

    /// Prints the lines of `verb=y` before the run.
    fn summary(&self, job: &Job, report: &Self::Report);
}

/// A shot ready to run.
pub trait Engine {
    /// The number of steps to run.
    fn steps(&self) -> usize;

    /// The number of bytes that fields and medium need.
    fn bytes(&self) -> usize;

    /// The least number of values that a step moves for a point of the padded grid; `None` if it is not
    /// known.
    fn words(&self) -> Option<usize> {
        None
    }

    /// The tiles in which threads work and the reason for them, in words, if the engine has tiles.
    fn tiles(&self) -> Option<String> {
        None
    }

    /// The number of bytes that a state needs in the memory of the host and in the file, for this rank.
    fn state_bytes(&self) -> usize;

    /// Loads a state, from which the run continues; all ranks call it, each with a source of the same bytes.
    fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<(), kernels::Error>;

    /// Runs all steps, together with the other ranks; `checkpoints` defines when states are saved.
    fn run(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<f32>,
        options: ParallelOptions,
        checkpoints: &mut Checkpoints<'_>,
    ) -> Result<(), kernels::Error>;

    /// The map that is updated with the records, if it is not in the arrays of the engine; states then save it, too.
    fn growing(&self) -> Option<Growing> {
        None
    }

    /// The map that is written after the last step, on rank 0. All ranks call it if the method has a map.
    fn map(&self, _ranks: &dyn Communicator) -> Result<Vec<f32>, kernels::Error> {
        Ok(Vec::new())
    }
}

/// Runs one shot after the command line is read; the program began at this time.
pub fn one<M: Survey>(
    job: &mut Job,
    (mut shot, files): (M, M::Files),
    (world, started): (&World, Instant),
) -> anyhow::Result<()> {
    let ndim = shot.pieces().ndim();
    let tile = world.agree(shot.tile(job))?;
    let machine = Machine::choose(job, shot.pieces(), world)?.with_tile(job, tile);
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
        held: files.held(),
        world,
    };
    if planning {
        // Memory is checked first, because a model that does not fit takes a long time to read.
        if gpus.is_empty() {
            shot.check_memory(job, on)?;
        }
        let volumes = world.agree(files.volumes(ndim, None))?;
        return shot.plan(job, volumes, on);
    }
    let wishes = world.agree(Wishes::read(job, shot.steps()))?;
    let (engine, ready) = set_up(job, &mut shot, (files, &wishes), on)?;
    let set_up = started.elapsed().as_secs_f64();
    run(job, &shot, engine, ready, (on, set_up))
}

/// What a run needs besides its engine: the opened outputs, the store and the interval of saved states, and the state
/// from which it resumes.
struct Ready {
    outputs: Outputs,
    /// The file of the map, on rank 0, if a map is requested.
    map: Option<Output>,
    store: Arc<Store>,
    /// The interval at which states are saved.
    every: Every,
    /// The state from which the run resumes.
    resumed: Option<Resumed>,
}

impl Ready {
    /// The number of steps that are done.
    fn first(&self) -> usize {
        self.resumed.as_ref().map_or(0, |resumed| resumed.step)
    }
}

/// Opens the outputs and makes the engine. Outputs are opened before the model is read, so that a path that cannot be
/// written fails at once.
fn set_up<M: Survey>(
    job: &mut Job,
    shot: &mut M,
    (files, wishes): (M::Files, &Wishes),
    on: Resources<'_>,
) -> anyhow::Result<(M::Engine, Ready)> {
    let (machine, world) = (on.machine, on.world);
    shot.check_memory(job, on)?;
    let identity = wishes.any().then(|| identity_of(job, shot));
    let identity = world.agree(identity.transpose())?;
    let resumed = match (&wishes.resume, &identity) {
        (Some(file), Some(identity)) => Some(Resumed::open(job, file, identity, (shot.steps(), world))?),
        _ => None,
    };
    world.agree(match &wishes.file {
        Some(file) if world.leads() => Store::try_place(file),
        _ => Ok(()),
    })?;
    let mut outputs = shot.open(job, world)?;
    let state = resumed.as_ref().filter(|_| world.leads());
    world.agree(state.map_or(Ok(()), |state| outputs.restore(state)))?;
    if let Some(name) = outputs.piped().filter(|_| wishes.file.is_some()) {
        job.warn(&format!(
            "{name} is a pipe, whose data are not kept: this run can be saved but not resumed; write to a file \
            (several ranks: out=data.bin > data.rsf)"
        ));
    }
    let map = match world.leads() {
        true if shot.has_map() => shot.open_map(job),
        _ => Ok(None),
    };
    let map = world.agree(map)?;
    let ndim = shot.pieces().ndim();
    let fingerprint = identity.as_ref().map(|_| Arc::<Fingerprint>::default());
    let volumes = world.agree(files.volumes(ndim, fingerprint.clone()))?;
    super::write_checksums_of_picked(shot, &volumes, &mut outputs, world)?;
    let (mut engine, report) = shot.engine(job, volumes, on)?;
    let device = machine.describe(M::class(&report));
    outputs.note(&device);
    job.say(&device);
    if job.flag("verb")? {
        shot.summary(job, &report);
        engine.tiles().iter().for_each(|words| job.say(words));
    }
    let model = sum_of_ranks(world, fingerprint)?;
    if let Some(resumed) = &resumed {
        world.agree(resumed.compare_model(model))?;
        let mut source = world.agree(resumed.source())?;
        let loaded = engine.resume(world.ranks(), &mut source);
        world.agree(loaded.with_context(|| resumed.name()))?;
        let growing = engine.growing().filter(|_| world.leads());
        world.agree(growing.map_or(Ok(()), |map| resumed.fill(&map)))?;
        job.say(&format!(
            "{}: continues after step {} of {}",
            resumed.name(),
            resumed.step,
            shot.steps()
        ));
    }
    let bytes = world.sum(engine.state_bytes())?;
    if let Some(file) = wishes.file.as_ref().filter(|_| job.flag("verb").unwrap_or(false)) {
        let (file, size) = (file.display(), gigabytes(bytes as f64));
        job.say(&format!(
            "a state takes {size} in memory, and as much in each of {file} and {file}.1"
        ));
    }
    let identity = identity.map(|identity| identity.over(model));
    let store = Arc::new(Store::new(job, wishes.file.clone(), identity));
    if let Some(map) = engine.growing() {
        store.keep(map);
    }
    let ready = Ready {
        outputs,
        map,
        store,
        every: wishes.every,
        resumed,
    };
    Ok((engine, ready))
}

/// The values by which a saved state is compared with this run.
fn identity_of<M: Method>(job: &Job, shot: &M) -> anyhow::Result<Identity> {
    Identity::of(job, shot.layout(), shot.contents(), shot.sources_by_step())
}

/// The model's checksum over all ranks.
pub fn sum_of_ranks(world: &World, fingerprint: Option<Arc<Fingerprint>>) -> anyhow::Result<u64> {
    let mine = fingerprint.map_or(0, |fingerprint| fingerprint.sum());
    let all = world.numbers(&[mine])?;
    Ok(all.iter().flatten().fold(0, |sum, &part| sum.wrapping_add(part)))
}

/// Runs the shot and ends its files.
fn run<M: Method>(
    job: &Job,
    shot: &M,
    mut engine: M::Engine,
    mut ready: Ready,
    (on, set_up): (Resources<'_>, f64),
) -> anyhow::Result<()> {
    let (machine, world, first) = (on.machine, on.world, ready.first());
    let (snapshots, components) = shot.snapshots();
    let (ndim, own) = (shot.pieces().ndim(), machine.own());
    let options = ParallelOptions {
        snapshots: match shot.scatters() {
            true => SnapshotWriter::Root,
            false => ready.outputs.spread(snapshots, ndim, (world, &own), first)?,
        },
        transport: shot.transport(),
        ..ParallelOptions::default()
    };
    let begun = Instant::now();
    let steps = engine.steps();
    let mut progress = Progress::new(job, (first, steps), world.leads())?;
    // From now on, a signal takes effect only at the end of a step.
    let _watch = Watch::begin();
    let mut checkpoints = Checkpoints::new(world.ranks(), ready.store.clone(), ready.every);
    let mut watched = |recorder: &mut dyn Recorder<f32>| {
        let mut watched = Watched {
            recorder,
            progress: &mut progress,
        };
        engine.run(world.ranks(), &mut watched, options, &mut checkpoints)
    };
    let silent = ready.resumed.as_ref().is_none_or(|resumed| resumed.silent);
    let records = steps.div_ceil(usize::try_from(job.int("jdata")?)?.max(1));
    let growth = Growth::new(shot.timing(), [steps, records]);
    let watched_for = (silent, growth);
    let mut writer = Writer::new(ready.outputs, components, watched_for, ready.store.marks());
    let outcome;
    if machine.has_gpus() {
        (writer, outcome) = async_recorder(writer, watched);
    } else {
        // A separate thread for writing would occupy a core that the computation needs.
        outcome = watched(&mut writer);
    }
    drop(checkpoints);
    progress.end();
    match outcome {
        Ok(()) => {}
        Err(kernels::Error::Stopped { done }) => {
            return stopped(writer, (done, steps), &ready.store, world);
        }
        Err(error) => {
            // The files that were written stay readable.
            drop(writer);
            return settle(error, job, world);
        }
    }
    world.agree(Ok(()))?;
    let seconds = begun.elapsed().as_secs_f64();
    world.agree(writer.finish(job))?;
    if shot.has_map() {
        let values = engine.map(world.ranks());
        world.agree(write_map(ready.map, values))?;
    }
    print_speed(job, shot, &engine, (world, first, [set_up, seconds]))
}

/// Ends the files of a run that a signal has ended after `done` steps.
fn stopped(
    writer: Writer,
    (done, steps): (usize, usize),
    store: &Store,
    world: &World,
) -> anyhow::Result<()> {
    let held = world.agree(writer.finish_early(done))?;
    let mine = rsf_io::interrupted().map_or(0, |signal| u64::from(signal.number()));
    let all = world.numbers(&[mine])?;
    let numbers = all.iter().flatten().filter_map(|&n| u8::try_from(n).ok());
    let Some(signal) = numbers.into_iter().find_map(Signal::of) else {
        return world.agree(Err(kernels::Error::Stopped { done }.into()));
    };
    // Only the first of several ranks reports it.
    world.agree(match world.leads() {
        true => Err(rsf_io::Error::Interrupted {
            signal,
            left: format!("step {done} of {steps} was the last; {held}{}", store.left(done)),
        }
        .into()),
        false => Ok(()),
    })
}

/// Writes the map if this rank has its file.
fn write_map(file: Option<Output>, map: Result<Vec<f32>, kernels::Error>) -> anyhow::Result<()> {
    let map = map?;
    if let Some(mut file) = file {
        file.write_f32(&map)?;
        file.finish()?;
    }
    Ok(())
}

/// Prints the lines of `verb=y` after a run.
fn print_speed<M: Method>(
    job: &Job,
    shot: &M,
    engine: &M::Engine,
    (world, first, [set_up, seconds]): (&World, usize, [f64; 2]),
) -> anyhow::Result<()> {
    let bytes = world.sum(engine.bytes())?;
    if !job.flag("verb")? {
        return Ok(());
    }
    let steps = engine.steps() - first;
    let rate = shot.points() as f64 * steps as f64 / seconds.max(1e-9);
    let traffic = engine.words().map_or(String::new(), |words| {
        let effective = rate * words as f64 * 4.0 / 1e9;
        format!(" {effective:.2} GB/s effective ({words} words per point),")
    });
    job.say(&format!(
        "set-up {set_up:.2} s; {steps} steps in {seconds:.2} s: {:.1} Mpt/s,{traffic} {} of memory",
        rate / 1e6,
        gigabytes(bytes as f64)
    ));
    shot.timing().words().iter().for_each(|words| job.say(words));
    Ok(())
}

/// Reports a failed run. All ranks know of a wavefield that is not finite and of errors on which they have agreed; any
/// other error concerns only this rank.
fn settle(error: kernels::Error, job: &Job, world: &World) -> anyhow::Result<()> {
    match error {
        kernels::Error::Elsewhere => world.agree(Ok(())),
        kernels::Error::NotFinite { .. } => world.agree(Err(error.into())),
        kernels::Error::Agreed(ref message) => {
            let of_transport = message.hints().any(|hint| hint == Hint::Transport);
            let error = anyhow::Error::from(error);
            world.agree(Err(match of_transport {
                true => error.context(format!("exchange={}", job.choice("exchange")?)),
                false => error,
            }))
        }
        // A reader that closed its pipe leads to a separate exit code.
        kernels::Error::Recorder(cause) => Err(world.fail(match cause.downcast::<rsf_io::Error>() {
            Ok(cause) => (*cause).into(),
            Err(cause) => anyhow::Error::from_boxed(cause),
        })),
        _ => Err(world.fail(error.into())),
    }
}
