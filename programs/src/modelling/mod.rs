//! Elastic modelling: what `sfewefd2d-gpu` and `sfewefd3d-gpu` share.

mod model;
mod params;
mod plan;
mod record;
mod survey;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use anyhow::bail;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::device::cpu::Cpu;
use kernels::displacement::{Shot, Simulation, SourceKind};
use kernels::domain::partition::partition;
use kernels::grid::Padded;
use kernels::medium::{Discard, Filler, Medium};
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
    let cpu = device(job)?;
    let slabs = partition(run.padded.planes(), usize::try_from(job.int("ngpu")?)?)?;
    let device = match slabs.len() {
        1 => cpu.describe(),
        n => format!("{}, {n} slabs", cpu.describe()),
    };
    plan::memory(job, &run, &cpu, &slabs, model::held([&stiffness, &density]));
    // Outputs are opened before the model is read: a path that cannot be written fails at once.
    let planning = job.flag("plan")?;
    let outputs = (!planning)
        .then(|| record::Outputs::open(job, &run, &device))
        .transpose()?;
    let outputs = match outputs {
        Some(outputs) if job.is_dry_run() => return outputs.header_only(),
        outputs => outputs,
    };
    let Some(outputs) = outputs else {
        let mut nowhere = Discard::new(&run.padded);
        let found = model::read(stiffness, density, &run.padded, &cpu, &mut nowhere)?;
        let report = plan::examine(job, &run, found)?;
        return plan::print(job, &run, &report, &cpu, &slabs);
    };
    let mut medium = Medium::new(&run.padded)?;
    let mut filler = Filler::new(&mut medium, &cpu);
    let found = model::read(stiffness, density, &run.padded, &cpu, &mut filler)?;
    let report = plan::examine(job, &run, found)?;
    job.say(&device);
    if job.flag("verb")? {
        plan::summary(job, &run, &report);
    }
    let mut simulation = Simulation::new(&run.shot, medium, cpu, slabs)?;
    let set_up = started.elapsed().as_secs_f64();
    let mut recorder = record::Writer::new(outputs, job, simulation.steps())?;
    let begun = Instant::now();
    simulation.run(&mut recorder)?;
    let seconds = begun.elapsed().as_secs_f64();
    recorder.finish(job)?;
    if job.flag("verb")? {
        plan::speed(job, &run, simulation.steps(), simulation.bytes(), set_up, seconds);
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
    let (snapshots, window) = record::window(job, &padded, wave.time.n)?;
    let positive = |name: &str| -> anyhow::Result<usize> { Ok(usize::try_from(job.int(name)?)?) };
    let surface = match (job.flag("free")?, job.choice("surface")?) {
        (false, _) => Surface::None,
        (true, "traction") => Surface::Traction,
        (true, _) => Surface::Vacuum,
    };
    let shot = Shot {
        dt: wave.time.d,
        wavelet: wave.values,
        sources: survey::points(sources, ndim)?,
        receivers: survey::points(receivers, ndim)?,
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

/// The processors to run on.
fn device(job: &Job) -> anyhow::Result<Cpu> {
    if job.choice("device")? == "gpu" || job.given("gpu") {
        bail!(
            "this build has no GPU engine; use device=cpu (or device=auto), where ngpu= cuts the grid into slabs"
        );
    }
    let asked = match job.int_opt("threads")? {
        Some(n) => usize::try_from(n)?,
        None => std::env::var("OMP_NUM_THREADS")
            .ok()
            .and_then(|n| n.trim().parse().ok())
            .unwrap_or(0),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Cpu::new(if asked == 0 { cores } else { asked.min(4 * cores) })?)
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
