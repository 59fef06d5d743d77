//! Elastic modelling by displacements: the common part of `sfewefd2d-gpu` and `sfewefd3d-gpu`.

mod advice;
mod engine;
mod memory;
mod params;
mod plan;
mod sources;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::checksum::Checksum;
use super::divide::Divide;
use super::exact_time::{Correction, Timing};
use super::machine::{self, Pieces};
use super::model::{self, Files, Volumes};
use super::plan::Report;
use super::quantity::What;
use super::record::{Outputs, Records, SnapshotAxes, thinned};
use super::snapshots;
use super::spreads::Spreads;
use super::survey::finished::DataFile;
use super::survey::shot::{Method, Resources};
use super::survey::{self, Survey};
use super::world::World;
use super::{acquisition, transport};
use engine::Engine;
use fourier::time_dispersion::Reading;
use kernels::boundary::free_surface::Surface;
use kernels::boundary::one_way::Form;
use kernels::device::cpu::Tile;
use kernels::grid::points::{Point, Snapshots};
use kernels::grid::{AXES, Padded};
use kernels::medium::{Coefficients, Symmetry};
use kernels::methods::displacement::{SLABS, Shot, SourceKind};
use kernels::parallel::options::Transport;
use kernels::receiver::Quantity;
use rsf_io::{Axis, Input, Job};

/// The shot that a command line describes, before the model's volumes are read.
#[derive(Clone)]
struct Run {
    /// The model's grid with its frame.
    padded: Padded,
    /// The coefficients in the planes of the model.
    coefficients: Coefficients,
    /// The shot.
    shot: Shot,
    /// The time axis of the wavelet as it was read.
    time: Axis,
    /// Time steps and the correction of their dispersion.
    timing: Timing,
    /// The number of steps of the run, and the number from one of the user's records to the next.
    steps: usize,
    jdata: usize,
    /// Sources and receivers of all shots; the origin and spacing of the receivers go into the data header.
    spreads: Spreads,
    /// Snapshot axes z, x[, y].
    window: Vec<Axis>,
    /// How ghost cells are sent between GPUs of different ranks.
    transport: Transport,
}

/// Runs `sfewefd2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    survey::main::<Run>(job, 2, world)
}

/// Runs `sfewefd3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    survey::main::<Run>(job, 3, world)
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
        if files.shears_stand(model::IN_PLACE) {
            anyhow::bail!(
                "{} has shears=staggered in its header: its shear stiffnesses are half a cell beyond the \
                nodes, for sfvsfd{ndim}d-gpu; make the model for this program (sflayers or sfupscale with \
                scheme=collocated)",
                files.inputs()[0].name()
            );
        }
        let padded = model::padded(&files.grid(job, ndim)?, usize::try_from(job.int("nb")?)?)?;
        let mut run = prepare(job, wavelet, (padded, files.coefficients(ndim)))?;
        let stiffness = files.inputs()[0];
        for (a, axis) in run.window.iter_mut().enumerate() {
            snapshots::named_as(axis, &stiffness.axis(a + 1), AXES[a]);
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
        self.steps
    }

    fn timing(&self) -> &Timing {
        &self.timing
    }

    fn contents(&self) -> Vec<(&'static str, u64)> {
        let points = |points: &[Point]| Checksum::new().with(points).end();
        let time = [self.shot.dt, self.time.o];
        let known = [
            ("sou=", points(&self.shot.sources)),
            ("rec=", points(&self.shot.receivers)),
            ("the wavelet's time axis", Checksum::new().with(&time).end()),
        ];
        known.into_iter().chain(self.timing.content()).collect()
    }

    fn sources_by_step(&self) -> Vec<u64> {
        let together = self.shot.sources.len() * self.padded.ndim();
        let steps = self.shot.wavelet.chunks_exact(together.max(1));
        steps.map(|numbers| Checksum::new().with(numbers).end()).collect()
    }

    fn open(&self, job: &mut Job, world: &World) -> anyhow::Result<Outputs> {
        let mut outputs = Outputs::open(job, &self.axes(), world)?;
        outputs.put_quantity(self.quantity());
        if let Some(correction) = self.correction() {
            outputs.divide(Divide::of_corrected(correction, Survey::records(self)[0]));
        }
        outputs.put_clock(&self.timing);
        self.spreads.head(job, &mut outputs)?;
        Ok(outputs)
    }

    fn plan(&mut self, job: &Job, volumes: Volumes, on: Resources<'_>) -> anyhow::Result<()> {
        self.plan_shot(job, &volumes, on).map(drop)
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

impl Survey for Run {
    fn spreads(&self) -> &Spreads {
        &self.spreads
    }

    fn data_files(&self) -> Vec<DataFile> {
        let records = self.axes();
        vec![DataFile {
            words: self.quantity(),
            key: None,
            axes: [
                records.receivers,
                records.components,
                thinned(&records.time, records.jdata),
            ],
        }]
    }

    fn records(&self) -> [usize; 2] {
        let shot = &self.shot;
        let record = shot.receivers.len() * shot.components(self.padded.ndim());
        [record, self.steps.div_ceil(shot.jdata)]
    }

    fn plan_shot(&mut self, job: &Job, volumes: &Volumes, on: Resources<'_>) -> anyhow::Result<f64> {
        let report = engine::look(job, self, volumes, on)?;
        plan::print(job, self, &report, on)
    }

    fn turn_to(&mut self, numbers: &[usize]) {
        let [sources, receivers] = self.spreads.of(numbers[0]).map(<[Point]>::to_vec);
        (self.shot.sources, self.shot.receivers) = (sources, receivers);
    }

    fn again(
        &mut self,
        job: &Job,
        volumes: &Volumes,
        on: Resources<'_>,
        engine: &mut Option<Engine>,
    ) -> anyhow::Result<Option<Report>> {
        engine::again(job, self, volumes, (on, engine))
    }
}

/// Gives the axes of snapshots the requested origins, as Madagascar's programs do. With `verb=y` it prints
/// the node of each origin that lies between nodes.
fn put_requested_origins(job: &Job, window: &mut [Axis]) -> anyhow::Result<()> {
    for (axis, name) in window.iter_mut().zip(AXES) {
        let key = format!("oq{name}");
        if let Some(origin) = job.float_opt(&key)?.filter(|origin| *origin != axis.o) {
            if job.flag("verb")? {
                job.say(&format!(
                    "{key}={origin} lies between nodes: the snapshots begin at the node {}, and their header has the requested origin, as Madagascar's programs write it",
                    axis.o
                ));
            }
            axis.o = origin;
        }
    }
    Ok(())
}

impl Run {
    /// The recorded quantity.
    fn quantity(&self) -> &'static str {
        match self.shot.quantity {
            Quantity::Potentials => "divergence and curl",
            _ => "displacement",
        }
    }

    /// The correction of the records with `tdc=y`. A record is one step later than the sample of the wavelet
    /// with the same number.
    fn correction(&self) -> Option<Correction> {
        self.timing.correction((1.0, Reading::OfOneTime), self.jdata)
    }

    /// Axes of the data and the snapshots.
    fn axes(&self) -> Records {
        let (shot, ndim) = (&self.shot, self.padded.ndim());
        let three = ndim == 3;
        let components = |order: &str| {
            let axis = Axis::new(shot.components(ndim), 0.0, 1.0);
            axis.label(match shot.quantity {
                Quantity::Potentials => order,
                quantity => What::At(quantity).names(ndim),
            })
        };
        Records {
            time: self.time.clone(),
            receivers: Axis {
                n: shot.receivers.len(),
                label: Some("r".into()),
                ..self.spreads.across.clone()
            },
            components: components(if three { "div x y z" } else { "div curl" }),
            jdata: self.jdata,
            snapshots: shot.snapshots.as_ref().map(|s| SnapshotAxes {
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
    let named = sources::named(&wavelet);
    let mut wave = sources::wavelet(wavelet, &sources, ndim)?;
    let timing = sources::timing(job, &wave, sources.axis(2).n * ndim)?;
    if let Some(exact) = &timing.exact {
        wave.correct(exact, &named)?;
    }
    let names = [sources.name(), receivers.name()];
    let mut spreads = Spreads::of_files(job, (Some(sources), Some(receivers)), ndim)?;
    spreads.keep_first_line(job)?;
    let [sources, receivers] = spreads.of(0).map(<[Point]>::to_vec);
    let (snapshots, mut window) = snapshots::window(job, &padded, padded.n.map(|n| 0..n), wave.time.n)?;
    put_requested_origins(job, &mut window)?;
    let jdata = snapshots::steps_between(job, "jdata", wave.time.n)?;
    let positive = |name: &str| -> anyhow::Result<usize> { Ok(usize::try_from(job.int(name)?)?) };
    let surface = match (job.flag("free")?, job.choice("surface")?) {
        (false, _) => Surface::None,
        (true, "traction") => Surface::Traction,
        (true, _) => Surface::Vacuum,
    };
    let mut shot = Shot {
        dt: wave.time.d,
        wavelet: wave.values,
        sources,
        receivers,
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
        quantity: Quantity::of_displacement(job.flag("opot")?),
        jdata,
        snapshots,
        jcheck: positive("jcheck")?,
    };
    spreads.check(|[sources, receivers]| {
        acquisition::inside(&padded, sources, &names[0])?;
        acquisition::inside(&padded, receivers, &names[1])
    })?;
    sources::bell(job, &padded, shot.nbell)?;
    advice::idle(job)?;
    advice::narrow(job, &shot, padded.nb);
    advice::silent(job, &shot);
    timing.warn_of_aliases(job, jdata);
    let correction = timing.correction((1.0, Reading::OfOneTime), jdata);
    if let Some(correction) = correction {
        correction.check_states(job, shot.receivers.len() * shot.components(ndim))?;
        shot.jdata = correction.every();
    }
    Ok(Run {
        padded,
        coefficients,
        shot,
        steps: timing.all_steps(),
        time: wave.time,
        timing,
        jdata,
        spreads,
        window,
        transport: transport(job)?,
    })
}
