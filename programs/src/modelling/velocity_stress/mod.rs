//! Elastic modelling by velocity and stress: what `sfvsfd2d-gpu` and `sfvsfd3d-gpu` share.

mod advice;
mod engine;
mod loss;
mod params;
mod plan;
mod sources;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::machine::Machine;
use super::model::{self, Volumes};
use super::plan::gigabytes;
use super::progress::{Progress, Watched};
use super::record::{self, Films, Outputs, Records, Writer};
use super::world::World;
use super::{settle, survey, way};
use anyhow::bail;
use engine::Engine;
use kernels::boundary::cpml;
use kernels::grid::stencil::Family;
use kernels::grid::{AXES, Grid, Padded};
use kernels::medium::{Coefficients, Destination, Filler, Medium, needed};
use kernels::methods::velocity_stress::{Absorber, Frame, Quantity, Shot, Watch};
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::stability::Band;
use kernels::time_loop::{Recorder, async_recorder};
use rsf_io::{Axis, Input, Job, Output};
use std::time::Instant;

/// A command line turned into a shot, before the model's volumes are read. The layers' fastest wave and frequency are
/// known later.
struct Run {
    padded: Padded,
    shot: Shot,
    window: Vec<Axis>,
    receivers: Axis,
    /// What the user calls the quantity.
    quantity: &'static str,
    /// Of the sources' whole histories.
    band: Band,
    /// The way of ghosts between GPUs of different ranks.
    way: Transport,
}

/// The files of a model.
enum Files {
    Speeds([Input; 3]),
    Stiffness([Input; 2]),
}

impl Files {
    fn open(job: &mut Job) -> anyhow::Result<Self> {
        let speeds = job.has_input("vp") || job.has_input("vs");
        match (job.has_input("ccc"), speeds) {
            (true, true) => bail!("ccc= and vp=, vs= both describe the medium: leave out one of them"),
            (true, false) => Ok(Self::Stiffness([job.input("ccc")?, job.input("den")?])),
            (false, _) if job.has_input("vp") && job.has_input("vs") => Ok(Self::Speeds([
                job.input("vp")?,
                job.input("vs")?,
                job.input("den")?,
            ])),
            _ => {
                let missing: Vec<_> = ["vp=", "vs="]
                    .into_iter()
                    .filter(|key| !job.has_input(key.trim_end_matches('=')))
                    .collect();
                bail!(
                    "{} missing: give vp= and vs= (zero in fluids), or ccc=; /dev/stdin is a model that comes through a pipe",
                    match missing.as_slice() {
                        [one] => format!("{one} is"),
                        _ => "vp= and vs= are".into(),
                    }
                )
            }
        }
    }

    fn inputs(&self) -> Vec<&Input> {
        match self {
            Self::Speeds(files) => files.iter().collect(),
            Self::Stiffness(files) => files.iter().collect(),
        }
    }

    fn grid(&self, ndim: usize) -> anyhow::Result<Grid> {
        match self {
            Self::Speeds([vp, vs, den]) => model::plain_grid(&[vp, vs, den], ndim),
            Self::Stiffness([ccc, den]) => match model::grid(ccc, den, ndim)? {
                (grid, Coefficients::Orthorhombic) => Ok(grid),
                (_, Coefficients::All) => bail!(
                    "{} has {} planes, all coefficients of a medium that may be tilted: on the staggered grid of this program \
                     they do not lie where the formulas want them. sfewefd{ndim}d-gpu runs such models; here the planes are {}",
                    ccc.name(),
                    Coefficients::All.count(ndim),
                    Coefficients::Orthorhombic.table(ndim).file_names().join(" ")
                ),
            },
        }
    }

    fn volumes(self, ndim: usize) -> anyhow::Result<Volumes> {
        match self {
            Self::Speeds([vp, vs, den]) => Volumes::of_speeds(vp, vs, den),
            Self::Stiffness([ccc, den]) => Volumes::new(ccc, den, ndim, Coefficients::Orthorhombic),
        }
    }
}

/// Runs `sfvsfd2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsfd3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

/// A shot ready to run, with the files it writes.
struct Ready {
    engine: Engine,
    outputs: Outputs,
    /// On rank 0, where it is asked for.
    peaks: Option<Output>,
    report: plan::Report,
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    let started = Instant::now();
    world.same_shot(job)?;
    let (files, run) = world.agree(inputs(job, ndim))?;
    let machine = Machine::choose_level(job, &run.padded, world)?;
    let planning = job.flag("plan")?;
    if job.is_dry_run() && !planning {
        let mut outputs = open(job, &run, world)?;
        outputs.note(&machine.describe(None));
        return outputs.header_only();
    }
    if planning {
        return plan(job, run, files, (&machine, world));
    }
    shoot(job, run, files, (&machine, world, started))
}

/// Opens the model and reads what is small.
fn inputs(job: &mut Job, ndim: usize) -> anyhow::Result<(Files, Run)> {
    advice::idle(job)?;
    let files = Files::open(job)?;
    let run = prepare(job, &files.grid(ndim)?)?;
    advice::acquisition(job, &run.padded, &run.shot);
    Ok((files, run))
}

fn plan(
    job: &mut Job,
    mut run: Run,
    files: Files,
    (machine, world): (&Machine, &World),
) -> anyhow::Result<()> {
    let held = model::held(&files.inputs());
    let mut watch = Watch::new(&run.shot.frame, &run.padded);
    let report = read(job, &mut run, files, (machine, world, &mut watch))?;
    plan::layers_that_grow(job, &mut run, watch.found(), world)?;
    let gpus = world.agree(machine.open())?;
    plan::print(job, &run, &report, (machine, &gpus), (held, world))
}

/// Reads this rank's part of the model; what all ranks have found in theirs is judged.
fn read(
    job: &Job,
    run: &mut Run,
    files: Files,
    (machine, world, to): (&Machine, &World, &mut dyn Destination),
) -> anyhow::Result<plan::Report> {
    let volumes = world.agree(files.volumes(run.padded.ndim()))?;
    let found = volumes.read(&run.padded, &machine.own(), &machine.cpu, to);
    let whole = world.merge(world.agree(found)?);
    world.agree(whole.and_then(|whole| {
        advice::cells(job, &run.padded, &volumes, &whole)?;
        plan::examine(job, run, whole)
    }))
}

/// Opens what is written and reads the model; outputs first: a path that cannot be written fails at once.
fn set_up(
    job: &mut Job,
    run: &mut Run,
    files: Files,
    (machine, world): (&Machine, &World),
) -> anyhow::Result<Ready> {
    plan::memory(job, run, (machine, model::held(&files.inputs()), world))?;
    let outputs = open(job, run, world)?;
    let peaks = match world.leads() {
        true => peaks(job, run),
        false => Ok(None),
    };
    let peaks = world.agree(peaks)?;
    let planes = needed(&run.padded, &machine.own());
    let mut medium = world.agree(Medium::part(&run.padded, planes).map_err(Into::into))?;
    let mut filler = Filler::new(&mut medium, &machine.cpu);
    let report = read(job, run, files, (machine, world, &mut filler))?;
    drop(filler);
    let growing = run.shot.frame.first_growing(&medium);
    plan::layers_that_grow(job, run, growing, world)?;
    let gpus = world.agree(machine.open())?;
    let engine = Engine::new(run, (medium, report.class()), (machine, world), &gpus);
    Ok(Ready {
        engine: world.agree(engine)?,
        outputs,
        peaks,
        report,
    })
}

fn shoot(
    job: &mut Job,
    mut run: Run,
    files: Files,
    (machine, world, started): (&Machine, &World, Instant),
) -> anyhow::Result<()> {
    let Ready {
        mut engine,
        mut outputs,
        peaks,
        report,
    } = set_up(job, &mut run, files, (machine, world))?;
    let (device, ndim) = (machine.describe(Some(report.class())), run.padded.ndim());
    outputs.note(&device);
    job.say(&device);
    if job.flag("verb")? {
        plan::summary(job, &run, &report);
    }
    let options = ParallelOptions {
        snapshots: outputs.spread(run.shot.snapshots.as_ref(), ndim, (world, &machine.own()))?,
        way: run.way,
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
    let mut writer = Writer::new(outputs, run.shot.quantity.filmed().components(ndim));
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
    if run.shot.peaks {
        let map = engine.peaks(world.ranks());
        world.agree(write_peaks(peaks, map))?;
    }
    let bytes = world.sum(engine.bytes())?;
    if job.flag("verb")? {
        let rate = run.padded.cells() as f64 * engine.steps() as f64 / seconds.max(1e-9);
        job.say(&format!(
            "set-up {set_up:.2} s; {} steps in {seconds:.2} s: {:.1} Mpt/s, {} of memory",
            engine.steps(),
            rate / 1e6,
            gigabytes(bytes as f64)
        ));
    }
    Ok(())
}

/// Writes the map of the largest speeds where this rank has its file.
fn write_peaks(file: Option<Output>, map: Result<Vec<f32>, kernels::Error>) -> anyhow::Result<()> {
    let map = map?;
    if let Some(mut file) = file {
        file.write_f32(&map)?;
        file.finish()?;
    }
    Ok(())
}

/// Reads the small inputs and the parameters.
fn prepare(job: &mut Job, grid: &Grid) -> anyhow::Result<Run> {
    let ndim = grid.ndim;
    let positive = |name: &str| -> anyhow::Result<usize> { Ok(usize::try_from(job.int(name)?)?) };
    let (nt, jdata, jcheck) = (positive("nt")?, positive("jdata")?, positive("jcheck")?);
    let dt = job.double("dt")?;
    if !(dt > 0.0 && dt.is_finite()) {
        bail!("dt={dt}: the time step must be a positive number of seconds");
    }
    let free = job.flag("free")?;
    let frame = frame(job, ndim, free)?;
    let padded = frame.around(grid);
    let framed = Grid {
        n: padded.n,
        ..grid.clone()
    };
    framed.check()?;
    let low = padded.low;
    let whole = [0, 1, 2].map(|a| low[a]..low[a] + grid.n[a]);
    let (snapshots, mut window) = record::window(job, &padded, whole, nt)?;
    for (a, (axis, cells)) in window
        .iter_mut()
        .zip(snapshots.iter().flat_map(|s| &s.window))
        .enumerate()
    {
        on_nodes(axis, padded.o[a] + cells.start as f32 * axis.d, AXES[a]);
    }
    let file = job.input("rec")?;
    let receivers = file.axis(2);
    let points = survey::points(job, file, ndim)?;
    let sources = sources::read(job, ndim, nt, dt)?;
    let attenuation = loss::read(job, &padded, sources.band.max)?;
    let (quantity, name) = quantity(job)?;
    let shot = Shot {
        dt,
        nt,
        order: job.choice("order")?.parse()?,
        family: match job.choice("fd")? {
            "holberg" => Family::Holberg,
            _ => Family::Taylor,
        },
        frame,
        attenuation,
        surface: free,
        sources: sources.list,
        series: sources.series,
        receivers: points,
        quantity,
        jdata,
        snapshots,
        peaks: job.given("pgv"),
        jcheck,
    };
    Ok(Run {
        padded,
        receivers: Axis {
            n: shot.receivers.len(),
            label: Some("r".into()),
            ..receivers
        },
        shot,
        window,
        quantity: name,
        band: sources.band,
        way: way(job)?,
    })
}

/// Lets an axis of snapshots begin at its first `node`, where what was asked for lies between nodes: unlike the headers of
/// Madagascar's programs, which the displacement programs follow.
fn on_nodes(axis: &mut Axis, node: f32, name: &str) {
    // Rounding of float32 is left as it was asked for.
    if (axis.o - node).abs() > 0.01 * axis.d.abs() {
        axis.o = node;
    }
    axis.label = Some(name.into());
}

/// What receivers record.
fn quantity(job: &Job) -> anyhow::Result<(Quantity, &'static str)> {
    Ok(match job.choice("data")? {
        "displacement" => (Quantity::Displacement, "displacement in m"),
        "acceleration" => (Quantity::Acceleration, "acceleration in m/s2"),
        "pressure" => (Quantity::Pressure, "pressure in Pa"),
        "strain" => (Quantity::Strain, "strain"),
        _ => (Quantity::Velocity, "velocity in m/s"),
    })
}

/// The frame that absorb=, nb= and faces= ask for.
fn frame(job: &Job, ndim: usize, free: bool) -> anyhow::Result<Frame> {
    let nb = usize::try_from(job.int("nb")?)?;
    let mut cells = [[nb; 2]; 3];
    if free {
        cells[0][0] = 0;
    }
    if job.given("faces") {
        let list = job.ints("faces")?;
        if list.len() != 2 * ndim {
            bail!(
                "faces= has {} numbers; a {ndim}-D run needs {}: cells on top, bottom, low x, high x{}",
                list.len(),
                2 * ndim,
                if ndim == 3 { ", low y, high y" } else { "" }
            );
        }
        for (k, &n) in list.iter().enumerate() {
            cells[k / 2][k % 2] = usize::try_from(n)?;
        }
        if free && cells[0][0] > 0 {
            bail!(
                "faces= asks for {} cells on top, where free=y has a free surface: give 0 there",
                cells[0][0]
            );
        }
    }
    let absorber = match job.choice("absorb")? {
        "sponge" => Absorber::Sponge(job.double("edge")?),
        kind => {
            if kind == "none" {
                cells = [[0; 2]; 3];
            }
            Absorber::Cpml(cpml::Layer {
                reflection: job.double("cpmlr")?,
                kappa_max: job.double("kappa")?,
                frequency: job.double_opt("fcpml")?.unwrap_or(0.0),
                fastest: 0.0,
            })
        }
    };
    Ok(Frame { cells, absorber })
}

/// Opens the map of the largest horizontal speeds, if there is one.
fn peaks(job: &mut Job, run: &Run) -> anyhow::Result<Option<Output>> {
    if !run.shot.peaks {
        return Ok(None);
    }
    let (grid, mut file) = (&run.padded.model, job.tagged_output("pgv")?);
    for a in 1..grid.ndim {
        file.set_axis(a, &Axis::new(grid.n[a], grid.o[a], grid.d[a]).label(AXES[a]));
    }
    file.set_rank(grid.ndim - 1);
    file.put_text(
        "quantity",
        "largest horizontal speed in m/s on the first row of the model",
    );
    Ok(Some(file))
}

/// Opens the outputs, with the conventions in their headers.
fn open(job: &mut Job, run: &Run, world: &World) -> anyhow::Result<Outputs> {
    let (shot, ndim) = (&run.shot, run.padded.ndim());
    let of = |quantity: Quantity| {
        let order = match quantity {
            Quantity::Pressure => "pressure",
            Quantity::Strain if ndim == 3 => "zz xx yy zx zy xy",
            Quantity::Strain => "zz xx zx",
            _ if ndim == 3 => "z x y",
            _ => "z x",
        };
        let time = Axis::new(shot.nt, (quantity.first_time() * shot.dt) as f32, shot.dt as f32).unit("s");
        (time, Axis::new(quantity.components(ndim), 0.0, 1.0).label(order))
    };
    let (time, components) = of(shot.quantity);
    let films = shot.snapshots.as_ref().map(|s| {
        let (time, components) = of(shot.quantity.filmed());
        Films {
            time,
            every: s.every,
            window: run.window.clone(),
            components,
        }
    });
    let records = Records {
        time,
        receivers: run.receivers.clone(),
        components,
        jdata: shot.jdata,
        snapshots: films,
    };
    let mut outputs = Outputs::open(job, &records, world)?;
    outputs.tell("quantity", run.quantity);
    let (quantity, nodes) = match shot.quantity.filmed() {
        Quantity::Pressure => ("pressure in Pa", "on the nodes of the axes"),
        _ if ndim == 3 => (
            "velocity in m/s",
            "raw staggered fields: z half a cell below the nodes of the axes, x and y half a cell beyond them along x and y",
        ),
        _ => (
            "velocity in m/s",
            "raw staggered fields: z half a cell below the nodes of the axes, x half a cell beyond them along x",
        ),
    };
    outputs.tell_snapshots("quantity", quantity);
    outputs.tell_snapshots("nodes", nodes);
    outputs.tell(
        "convention",
        "SI units, z down; moment tensors and forces along the axes of the grid",
    );
    Ok(outputs)
}
