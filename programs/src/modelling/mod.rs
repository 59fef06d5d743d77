//! Elastic modelling: what `sfewefd2d-gpu` and `sfewefd3d-gpu` share.

mod machine;
mod model;
mod params;
mod plan;
mod progress;
mod record;
mod room;
mod survey;
pub mod velocity_stress;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use anyhow::bail;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::displacement::{Shot, SourceKind};
use kernels::grid::Padded;
use kernels::time_loop::{Recorder, behind};
use machine::Machine;
use model::Volumes;
use progress::{Progress, Watched};
use record::{Films, Outputs, Records, Writer};
use rsf_io::{Input, Job};
use std::time::Instant;

/// A command line turned into a shot, before the model's volumes are read.
pub(crate) struct Run {
    /// Model grid with its frame.
    pub padded: Padded,
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

/// Runs a modelling program of dimension `ndim`.
pub fn run(job: &mut Job, ndim: usize) -> anyhow::Result<()> {
    let started = Instant::now();
    refuse_mpirun()?;
    let wavelet = if job.has_input("wav") {
        job.input("wav")?
    } else {
        job.stdin()?
    };
    let stiffness = job.input("ccc")?;
    let density = job.input("den")?;
    let grid = model::grid(&stiffness, &density, ndim)?;
    let padded = model::padded(&grid, usize::try_from(job.int("nb")?)?)?;
    let run = prepare(job, wavelet, padded)?;
    let machine = Machine::choose(job, &run.padded)?;
    let planning = job.flag("plan")?;
    if job.is_dry_run() && !planning {
        let mut outputs = Outputs::open(job, &run.records())?;
        outputs.note(&machine.describe(None));
        return outputs.header_only();
    }
    let gpus = machine.open()?;
    let held = model::held(&[&stiffness, &density]);
    if planning {
        let report = machine.look(job, &run, &Volumes::new(stiffness, density)?)?;
        return plan::print(job, &run, &report, &machine, &gpus, held);
    }
    plan::memory(job, &run, &machine, &gpus, held)?;
    // Outputs are opened before the model is read: a path that cannot be written fails at once.
    let mut outputs = Outputs::open(job, &run.records())?;
    let model = Volumes::new(stiffness, density)?;
    let (mut engine, report) = machine.prepare(job, &run, &model, &gpus)?;
    drop(model);
    let device = machine.describe(Some(report.class));
    outputs.note(&device);
    job.say(&device);
    if job.flag("verb")? {
        plan::summary(job, &run, &report);
    }
    let set_up = started.elapsed().as_secs_f64();
    let begun = Instant::now();
    let mut progress = Progress::new(job, engine.steps())?;
    let mut watched = |recorder: &mut dyn Recorder<f32>| {
        engine.run(&mut Watched {
            recorder,
            progress: &mut progress,
        })
    };
    let (writer, outcome) = if gpus.is_empty() {
        // A thread that writes would take a core from the waves.
        let mut writer = Writer::new(outputs);
        let outcome = watched(&mut writer);
        (writer, outcome)
    } else {
        behind(Writer::new(outputs), watched)
    };
    progress.end();
    outcome?;
    let seconds = begun.elapsed().as_secs_f64();
    writer.finish(job)?;
    if job.flag("verb")? {
        plan::speed(job, &run, &engine, set_up, seconds);
    }
    Ok(())
}

/// Reads the small inputs and the parameters.
fn prepare(job: &mut Job, wavelet: Input, padded: Padded) -> anyhow::Result<Run> {
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
        shot,
        time: wave.time,
        receivers: receiver_axis,
        window,
    })
}

/// A program without MPI must not run as several copies that overwrite each other's files.
fn refuse_mpirun() -> anyhow::Result<()> {
    for (rank_count, launcher) in [
        ("OMPI_COMM_WORLD_SIZE", "mpirun"),
        ("PMI_SIZE", "mpiexec"),
        ("MPI_LOCALNRANKS", "mpiexec"),
    ] {
        let ranks = std::env::var(rank_count)
            .ok()
            .and_then(|n| n.parse::<usize>().ok())
            .unwrap_or(1);
        if ranks > 1 {
            bail!(
                "started by {launcher} as {ranks} ranks, but this build has no MPI: every rank would run the whole shot; start it without {launcher}"
            );
        }
    }
    Ok(())
}

/// A cell of the model in words, from its number in file order.
pub(crate) fn cell_words(padded: &Padded, cell: usize) -> String {
    padded.describe(kernels::medium::cell_of(padded, cell))
}
