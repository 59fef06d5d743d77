//! Elastic modelling: what `sfewefd2d-gpu` and `sfewefd3d-gpu` share.

mod machine;
mod memory_check;
mod model;
mod params;
mod plan;
mod progress;
mod record;
mod survey;
pub mod velocity_stress;
mod world;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use anyhow::anyhow;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::grid::Padded;
use kernels::medium::Coefficients;
use kernels::methods::displacement::{ParallelOptions, Shot, SourceKind, Transport};
use kernels::time_loop::{Recorder, async_recorder};
use machine::Machine;
use model::Volumes;
use progress::{Progress, Watched};
use record::{Films, Outputs, Records, Writer};
use rsf_io::{Input, Job, Program};
use std::process::ExitCode;
use std::time::Instant;
pub use world::World;

/// A command line turned into a shot, before the model's volumes are read.
pub(crate) struct Run {
    /// Model grid with its frame.
    pub padded: Padded,
    /// What the planes of the model are.
    pub coefficients: Coefficients,
    /// The shot.
    pub shot: Shot,
    /// Wavelet's time axis.
    pub time: rsf_io::Axis,
    /// Receivers' axis 2, whose origin and spacing go into the data header.
    pub receivers: rsf_io::Axis,
    /// Snapshot axes z, x[, y].
    pub window: Vec<rsf_io::Axis>,
}

impl Run {
    /// Axes of the data and the snapshots.
    fn records(&self) -> Records {
        let (shot, three) = (&self.shot, self.padded.ndim() == 3);
        let components = |order: &str| {
            let axis = rsf_io::Axis::new(shot.components(self.padded.ndim()), 0.0, 1.0);
            if shot.potentials { axis.label(order) } else { axis }
        };
        Records {
            time: self.time.clone(),
            receivers: rsf_io::Axis {
                n: shot.receivers.len(),
                label: Some("r".into()),
                ..self.receivers.clone()
            },
            components: components(if three { "div x y z" } else { "div curl" }),
            jdata: shot.jdata,
            snapshots: shot.snapshots.as_ref().map(|s| Films {
                time: self.time.clone(),
                every: s.every,
                window: self.window.clone(),
                components: components(if three { "div z x y" } else { "div curl" }),
            }),
        }
    }
}

/// A modelling program, from its command line to its exit code, alone or as one of several ranks.
pub fn main(program: &'static Program, run: fn(&mut Job, &World) -> anyhow::Result<()>) -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let name = rsf_io::name_of(program, &words);
    let world = match World::start() {
        Ok(world) => world,
        Err(error) => return rsf_io::end(&name, Err(error)),
    };
    // Of several ranks the first speaks.
    rsf_io::second(!world.leads());
    let mut begun = false;
    let all = |job: &mut Job| {
        begun = true;
        world.begin(true, Ok(()))?;
        run(job, &world)
    };
    let outcome = rsf_io::attempt(program, all, words);
    let outcome = if begun {
        outcome
    } else {
        world.begin(false, outcome)
    };
    rsf_io::end(&name, world.close(outcome))
}

/// Runs `sfewefd2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    shoot(job, 2, world)
}

/// Runs `sfewefd3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    shoot(job, 3, world)
}

fn shoot(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    let started = Instant::now();
    world.same_shot(job)?;
    if !job.has_input("wav") {
        world::share_stdin(job, world)?;
    }
    let (run, model) = world.agree(inputs(job, ndim))?;
    let machine = Machine::choose(job, &run.padded, world)?;
    let planning = job.flag("plan")?;
    if job.is_dry_run() && !planning {
        let mut outputs = Outputs::open(job, &run.records(), world)?;
        outputs.note(&machine.describe(None));
        return outputs.header_only();
    }
    let gpus = world.agree(machine.open())?;
    let held = model::held(&[&model.0, &model.1]);
    let volumes = |model: (Input, Input)| world.agree(Volumes::new(model.0, model.1, ndim, run.coefficients));
    if planning {
        let report = machine.look(job, &run, &volumes(model)?, world)?;
        return plan::print(job, &run, &report, &machine, (&gpus, held, world));
    }
    let shortage = world.agree(plan::memory(job, &run, &machine, (&gpus, held, world)))?;
    world.agree(shortage.map_or(Ok(()), |shortage| Err(anyhow!(shortage))))?;
    // Outputs are opened before the model is read: a path that cannot be written fails at once.
    let mut outputs = Outputs::open(job, &run.records(), world)?;
    let model = volumes(model)?;
    let (mut engine, report) = machine.prepare(job, &run, &model, (&gpus, world))?;
    drop(model);
    let device = machine.describe(Some(report.class));
    outputs.note(&device);
    job.say(&device);
    if job.flag("verb")? {
        plan::summary(job, &run, &report);
    }
    let options = ParallelOptions {
        snapshots: outputs.spread(run.shot.snapshots.as_ref(), ndim, (world, &machine.own()))?,
        way: way(job)?,
        ..ParallelOptions::default()
    };
    let set_up = started.elapsed().as_secs_f64();
    let begun = Instant::now();
    let mut progress = Progress::new(job, engine.steps(), world.leads())?;
    let mut watched = |recorder: &mut dyn Recorder<f32>| {
        let mut watched = Watched {
            recorder,
            progress: &mut progress,
        };
        engine.run(world.ranks(), &mut watched, options)
    };
    let writer = Writer::new(outputs, run.shot.components(ndim));
    let (writer, outcome) = if gpus.is_empty() {
        // A thread that writes would take a core from the waves.
        let mut writer = writer;
        let outcome = watched(&mut writer);
        (writer, outcome)
    } else {
        async_recorder(writer, watched)
    };
    progress.end();
    let writer = match outcome {
        Ok(()) => writer,
        Err(error) => {
            // What was written stays readable.
            drop(writer);
            return settle(error, world);
        }
    };
    world.agree(Ok(()))?;
    let seconds = begun.elapsed().as_secs_f64();
    world.agree(writer.finish(job))?;
    let bytes = world.sum(engine.bytes())?;
    if job.flag("verb")? {
        plan::speed(job, &run, (&engine, bytes), set_up, seconds);
    }
    Ok(())
}

/// The end of a run that failed: of a wavefield that is not finite and of what ranks have agreed on all know, other errors
/// are this rank's alone.
pub(crate) fn settle(error: kernels::Error, world: &World) -> anyhow::Result<()> {
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

/// The way of ghosts that `exchange=` asks for.
pub(crate) fn way(job: &Job) -> anyhow::Result<Transport> {
    Ok(match job.choice("exchange")? {
        "peer" => Transport::Ipc,
        "device" => Transport::CudaAware,
        "host" => Transport::HostStaged,
        _ => Transport::Auto,
    })
}

/// Reads the small inputs, and opens the model: stiffness and density.
fn inputs(job: &mut Job, ndim: usize) -> anyhow::Result<(Run, (Input, Input))> {
    let wavelet = if job.has_input("wav") {
        job.input("wav")?
    } else {
        job.stdin()?
    };
    let stiffness = job.input("ccc")?;
    let density = job.input("den")?;
    let (grid, coefficients) = model::grid(&stiffness, &density, ndim)?;
    let padded = model::padded(&grid, usize::try_from(job.int("nb")?)?)?;
    Ok((
        prepare(job, wavelet, (padded, coefficients))?,
        (stiffness, density),
    ))
}

/// Reads the small inputs and the parameters.
fn prepare(
    job: &mut Job,
    wavelet: Input,
    (padded, coefficients): (Padded, Coefficients),
) -> anyhow::Result<Run> {
    let ndim = padded.ndim();
    let sources = job.input("sou")?;
    let receivers = job.input("rec")?;
    let wave = survey::wavelet(wavelet, &sources, ndim)?;
    let receiver_axis = receivers.axis(2);
    let (snapshots, window) = record::window(job, &padded, padded.n.map(|n| 0..n), wave.time.n)?;
    let positive = |name: &str| -> anyhow::Result<usize> { Ok(usize::try_from(job.int(name)?)?) };
    let surface = match (job.flag("free")?, job.choice("surface")?) {
        (false, _) => Surface::None,
        (true, "traction") => Surface::Traction,
        (true, _) => Surface::Vacuum,
    };
    let shot = Shot {
        dt: wave.time.d,
        wavelet: wave.values,
        sources: survey::points(job, sources, ndim)?,
        receivers: survey::points(job, receivers, ndim)?,
        kind: if job.flag("ssou")? {
            SourceKind::Stress
        } else {
            SourceKind::Force
        },
        nbell: positive("nbell")?,
        absorbing: job.flag("dabc")?,
        one_way: if job.choice("oneway")? == "upwind" {
            Form::Upwind
        } else {
            Form::Box
        },
        surface,
        interpolate: job.flag("interp")?,
        potentials: job.flag("opot")?,
        jdata: positive("jdata")?,
        snapshots,
        jcheck: positive("jcheck")?,
    };
    if shot.wavelet.iter().all(|&w| w == 0.0) {
        job.warn("the wavelet is zero everywhere: the source injects nothing");
    }
    Ok(Run {
        padded,
        coefficients,
        shot,
        time: wave.time,
        receivers: receiver_axis,
        window,
    })
}

/// A cell of the model in words, from its number in file order.
pub(crate) fn cell_words(padded: &Padded, cell: usize) -> String {
    padded.describe(kernels::medium::cell_of(padded, cell))
}
