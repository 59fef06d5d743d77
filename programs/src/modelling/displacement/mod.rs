//! Elastic modelling by displacements: what `sfewefd2d-gpu` and `sfewefd3d-gpu` share.

mod advice;
mod engine;
mod memory;
mod params;
mod plan;
mod sources;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::checkpoint::Checksum;
use super::machine::{self, Pieces};
use super::model::{self, Files, Volumes};
use super::plan::Report;
use super::record::{self, Films, Outputs, Records};
use super::shoot::{self, Method, Resources};
use super::world::World;
use super::{acquisition, transport};
use engine::Engine;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::device::cpu::Tile;
use kernels::grid::points::{Point, Snapshots};
use kernels::grid::{AXES, Padded};
use kernels::medium::{Coefficients, Symmetry};
use kernels::methods::displacement::{SLABS, Shot, SourceKind};
use kernels::parallel::options::Transport;
use rsf_io::{Axis, Input, Job};

/// A command line turned into a shot, before the model's volumes are read.
struct Run {
    /// Model grid with its frame.
    padded: Padded,
    /// What the planes of the model are.
    coefficients: Coefficients,
    /// The shot.
    shot: Shot,
    /// Wavelet's time axis.
    time: Axis,
    /// Receivers' axis 2, whose origin and spacing go into the data header.
    receivers: Axis,
    /// Snapshot axes z, x[, y].
    window: Vec<Axis>,
    /// The way of ghosts between GPUs of different ranks.
    transport: Transport,
}

/// Runs `sfewefd2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    shoot::shoot::<Run>(job, 2, world)
}

/// Runs `sfewefd3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    shoot::shoot::<Run>(job, 3, world)
}

impl Method for Run {
    type Engine = Engine;
    type Files = Files;
    type Report = Report;

    fn reads_stdin(job: &Job) -> bool {
        !job.has_input("wav")
    }

    fn read(job: &mut Job, ndim: usize) -> anyhow::Result<(Self, Files)> {
        let wavelet = if job.has_input("wav") {
            job.input("wav")?
        } else {
            job.stdin()?
        };
        let files = Files::Stiffness([job.input("ccc")?, job.input("den")?]);
        let padded = model::padded(&files.grid(ndim)?, usize::try_from(job.int("nb")?)?)?;
        let mut run = prepare(job, wavelet, (padded, files.coefficients(ndim)))?;
        let stiffness = files.inputs()[0];
        for (a, axis) in run.window.iter_mut().enumerate() {
            record::named_as(axis, &stiffness.axis(a + 1), AXES[a]);
        }
        Ok((run, files))
    }

    fn pieces(&self) -> Pieces<'_> {
        Pieces::Planes(&self.padded, self.padded.nb, SLABS)
    }

    fn tile(&self, job: &Job) -> anyhow::Result<Option<Tile>> {
        machine::tile(job, self.padded.ndim())
    }

    fn points(&self) -> usize {
        self.padded.cells()
    }

    fn layout(&self) -> String {
        model::layout(&self.padded.model)
    }

    fn class(report: &Report) -> Option<Symmetry> {
        Some(report.class)
    }

    fn transport(&self) -> Transport {
        self.transport
    }

    fn snapshots(&self) -> (Option<&Snapshots>, usize) {
        let components = self.shot.components(self.padded.ndim());
        (self.shot.snapshots.as_ref(), components)
    }

    fn steps(&self) -> usize {
        self.time.n
    }

    fn contents(&self) -> Vec<(&'static str, u64)> {
        let points = |points: &[Point]| Checksum::new().with(points).end();
        let time = [self.shot.dt, self.time.o];
        vec![
            ("sou=", points(&self.shot.sources)),
            ("rec=", points(&self.shot.receivers)),
            ("the wavelet's time axis", Checksum::new().with(&time).end()),
        ]
    }

    fn sources_by_step(&self) -> Vec<u64> {
        let together = self.shot.sources.len() * self.padded.ndim();
        let steps = self.shot.wavelet.chunks_exact(together.max(1));
        steps.map(|numbers| Checksum::new().with(numbers).end()).collect()
    }

    fn open(&self, job: &mut Job, world: &World) -> anyhow::Result<Outputs> {
        let mut outputs = Outputs::open(job, &self.records(), world)?;
        outputs.tell_quantity(if self.shot.potentials {
            "divergence and curl"
        } else {
            "displacement"
        });
        Ok(outputs)
    }

    fn plan(&mut self, job: &Job, volumes: Volumes, on: Resources<'_>) -> anyhow::Result<()> {
        let report = engine::look(job, self, &volumes, on)?;
        plan::print(job, self, &report, on)
    }

    fn check_memory(&self, job: &Job, on: Resources<'_>) -> anyhow::Result<()> {
        memory::check(job, self, on)
    }

    fn engine(&mut self, job: &Job, volumes: Volumes, on: Resources<'_>) -> anyhow::Result<(Engine, Report)> {
        Engine::new(job, self, &volumes, on)
    }

    fn summary(&self, job: &Job, report: &Report) {
        plan::summary(job, self, report);
    }
}

impl Run {
    /// Axes of the data and the snapshots.
    fn records(&self) -> Records {
        let (shot, three) = (&self.shot, self.padded.ndim() == 3);
        let components = |order: &str| {
            let axis = Axis::new(shot.components(self.padded.ndim()), 0.0, 1.0);
            if shot.potentials { axis.label(order) } else { axis }
        };
        Records {
            time: self.time.clone(),
            receivers: Axis {
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

/// Reads the small inputs and the parameters.
fn prepare(
    job: &mut Job,
    wavelet: Input,
    (padded, coefficients): (Padded, Coefficients),
) -> anyhow::Result<Run> {
    let ndim = padded.ndim();
    let sources = job.input("sou")?;
    let receivers = job.input("rec")?;
    let wave = sources::wavelet(wavelet, &sources, ndim)?;
    let (receiver_axis, names) = (receivers.axis(2), [sources.name(), receivers.name()]);
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
        sources: acquisition::points(job, sources, ndim)?,
        receivers: acquisition::points(job, receivers, ndim)?,
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
        jdata: record::steps_between(job, "jdata", wave.time.n)?,
        snapshots,
        jcheck: positive("jcheck")?,
    };
    acquisition::inside(&padded, &shot.sources, &names[0])?;
    acquisition::inside(&padded, &shot.receivers, &names[1])?;
    sources::bell(&padded, shot.nbell)?;
    advice::silent(job, &shot);
    Ok(Run {
        padded,
        coefficients,
        shot,
        time: wave.time,
        receivers: receiver_axis,
        window,
        transport: transport(job)?,
    })
}
