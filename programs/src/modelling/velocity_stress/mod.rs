//! Elastic modelling with velocity-stress finite differences: the common part of `sfvsfd2d-gpu` and `sfvsfd3d-gpu`.

mod accuracy;
mod advice;
mod attenuation;
pub mod born;
mod engine;
mod files;
mod memory;
mod outputs;
mod params;
mod places;
mod plan;
mod several;
mod spreads;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::checksum::Checksum;
use super::exact_time::{Correction, Timing};
use super::machine::{self, Pieces};
use super::model::{self, Files, Volumes};
use super::plan::Report;
use super::quantity::{What, of_data};
use super::record::Outputs;
use super::snapshots;
use super::spreads::Spreads;
use super::survey::finished;
use super::survey::shot::{Method, Resources};
use super::survey::{self, Sharing, Survey};
use super::transport;
use super::world::World;
use accuracy::Accuracy;
use anyhow::bail;
use engine::Engine;
use fourier::time_dispersion::Reading;
use kernels::boundary::cpml;
use kernels::device::cpu::Tile;
use kernels::grid::points::Snapshots;
use kernels::grid::stencil::Family;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Coefficients, Symmetry};
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, SLABS, Shot};
use kernels::parallel::options::Transport;
use places::Stations;
use rsf_io::{Axis, Job, Output};
use several::{Clock, Several};

/// A shot from a command line, before the model's volumes are read. The fastest wave and the frequency of the layers
/// are set later.
#[derive(Clone)]
struct Run {
    padded: Padded,
    shot: Shot,
    /// The shots that run at the same time as this one.
    beside: Vec<Shot>,
    window: Vec<Axis>,
    receivers: Axis,
    /// Sources and receivers of all shots.
    spreads: Spreads,
    /// The time at which the run begins, s; negative if the time functions of cmt= and the like begin before
    /// zero.
    begin: f64,
    /// The names of the receivers of stations=, and their axes.
    stations: Stations,
    /// The quantity, by its name on the command line.
    quantity: &'static str,
    /// Several quantities, or times other than the time steps.
    several: Option<Several>,
    /// The time steps and the correction of their dispersion, for the whole time functions of the sources.
    timing: Timing,
    /// The number of steps from one of the user's records to the next.
    jdata: usize,
    /// The accuracy that `error=` requests, and the choice for it once the model is known.
    accuracy: Option<Accuracy>,
    /// How ghost cells are sent between GPUs of different ranks.
    transport: Transport,
}

/// Whether a program has the parameters of the modelling programs, such as snapshots and several quantities.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModellingParameters {
    /// It has them.
    Present,
    /// It does not have them.
    Absent,
}

/// Runs `sfvsfd2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    survey::main::<Run>(job, 2, world)
}

/// Runs `sfvsfd3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    survey::main::<Run>(job, 3, world)
}

impl Run {
    /// The correction of records of one quantity with `tdc=y`; if there are several quantities, each has its own.
    fn correction(&self) -> Option<Correction> {
        let of = (self.shot.quantity.first_time(), Reading::OfOneTime);
        let alone = self.several.is_none();
        self.timing.correction(of, self.jdata).filter(|_| alone)
    }

    /// Shifts an axis of times since the beginning of the run to times of the records.
    fn later(&self, axis: Axis) -> Axis {
        let first = (f64::from(axis.o) + self.begin) as f32;
        Axis { o: first, ..axis }
    }

    /// Takes over the findings of another run about the same model.
    fn adopt(&mut self, other: &Self) {
        self.shot.frame = other.shot.frame;
        (self.shot.order, self.shot.family) = (other.shot.order, other.shot.family);
        self.accuracy = other.accuracy;
    }

    /// A shot of the survey.
    fn of(&self, number: usize) -> Shot {
        let mut shot = self.shot.clone();
        spreads::move_to(&self.spreads, &mut shot, number);
        shot
    }

    /// The shots that run side by side.
    fn company(&self) -> Vec<Shot> {
        std::iter::once(&self.shot).chain(&self.beside).cloned().collect()
    }

    /// Reads parameters and small inputs and opens the model, for this rank only.
    fn open(job: &mut Job, ndim: usize, modelling: ModellingParameters) -> anyhow::Result<(Self, Files)> {
        advice::idle(job, modelling)?;
        let files = files::open(job, ndim)?;
        let grid = files.grid(job, ndim)?;
        if files.coefficients(ndim) == Coefficients::All {
            bail!(
                "ccc= has {} planes, all coefficients of a medium that may be tilted, but the staggered grid of this \
                 program has no nodes at which all of them are available. sfewefd{ndim}d-gpu runs such models, and \
                 sflayers and sfupscale make models for this program with scheme=staggered; its planes are {}",
                Coefficients::All.count(ndim),
                Coefficients::Orthorhombic.table(ndim).file_names().join(" ")
            );
        }
        if files.shears_stand(model::ON_NODES) {
            job.warn("ccc= has shears=collocated in its header: sflayers and sfupscale make models for this program with scheme=staggered, whose interfaces are more accurate here");
        }
        let mut run = prepare(job, &grid, modelling)?;
        run.shot.shears_in_place = files.shears_stand(model::IN_PLACE);
        advice::acquisition(job, &run.padded, &run.shot, &run.spreads);
        Ok((run, files))
    }
}

impl Method for Run {
    type Engine = Engine;
    type Files = Files;
    type Report = Report;

    fn read(job: &mut Job, ndim: usize) -> anyhow::Result<(Self, Files)> {
        Self::open(job, ndim, ModellingParameters::Present)
    }

    fn pieces(&self) -> Pieces<'_> {
        Pieces::Planes(&self.padded, 0, SLABS)
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
        let components = self.shot.quantity.of_snapshots().components(self.padded.ndim());
        (self.shot.snapshots.as_ref(), components)
    }

    fn steps(&self) -> usize {
        self.shot.nt
    }

    fn timing(&self) -> &Timing {
        &self.timing
    }

    fn contents(&self) -> Vec<(&'static str, u64)> {
        let (shot, mut sources) = (&self.shot, Checksum::new());
        for source in &shot.sources {
            sources = sources.with_text(&format!("{source:?}"));
        }
        let quality = |factors: fn(&Attenuation) -> &[f32]| {
            let factors = shot.attenuation.as_ref().map_or(&[][..], factors);
            Checksum::new().with(factors).end()
        };
        let derived = format!("{:?} {:?}", shot.frame, shot.attenuation.as_ref().map(|a| a.band));
        let mut known = vec![
            ("sou= or mech=", sources.end()),
            ("rec=", Checksum::new().with(&shot.receivers).end()),
            ("qp=", quality(|losses| &losses.qp)),
            ("qs=", quality(|losses| &losses.qs)),
            (
                "the band of the sources",
                Checksum::new().with_text(&derived).end(),
            ),
            ("pgv=", u64::from(shot.peaks)),
            (
                "the list of quantities (velocity=, pressure= and the like)",
                Checksum::new()
                    .with_text(&self.several.as_ref().map_or(String::new(), Several::words))
                    .end(),
            ),
        ];
        known.extend(self.timing.content());
        known
    }

    fn sources_by_step(&self) -> Vec<u64> {
        let mut steps = vec![0u64; self.shot.nt];
        for (number, series) in self.shot.series.iter().enumerate() {
            // Every series has a different odd number, so that the sum changes if two series are swapped.
            let weight = (2 * number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            for (step, value) in steps.iter_mut().zip(series) {
                let mixed = (u64::from(value.to_bits()) + 1).wrapping_mul(weight);
                *step = step.wrapping_add(mixed ^ (mixed >> 29));
            }
        }
        steps
    }

    fn open(&self, job: &mut Job, world: &World) -> anyhow::Result<Outputs> {
        outputs::open(job, self, world)
    }

    fn has_map(&self) -> bool {
        self.shot.peaks
    }

    fn open_map(&self, job: &mut Job) -> anyhow::Result<Option<Output>> {
        outputs::peaks(job, self).map(Some)
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

    fn actions(&self) -> Vec<String> {
        let each = self.shot.sources.iter();
        each.map(|source| format!("{:?}", source.action)).collect()
    }

    fn data_files(&self) -> Vec<finished::DataFile> {
        outputs::data_files(self)
    }

    fn records(&self) -> [usize; 2] {
        let (shot, ndim) = (&self.shot, self.padded.ndim());
        let record = shot.receivers.len() * shot.quantity.components(ndim);
        [record, shot.nt.div_ceil(shot.jdata)]
    }

    fn plan_shot(&mut self, job: &Job, volumes: &Volumes, on: Resources<'_>) -> anyhow::Result<f64> {
        let report = engine::look(job, self, volumes, on)?;
        plan::print(job, self, &report, on)
    }

    fn side_by_side(&self, volumes: &Volumes, on: Resources<'_>) -> anyhow::Result<Sharing> {
        memory::side_by_side(self, volumes.widest(), on)
    }

    fn turn_to(&mut self, numbers: &[usize]) {
        let mut moved = numbers.iter().map(|&number| self.of(number));
        if let Some(first) = moved.next() {
            (self.beside, self.shot) = (moved.collect(), first);
        }
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

/// Reads the small inputs and the parameters.
fn prepare(job: &mut Job, grid: &Grid, modelling: ModellingParameters) -> anyhow::Result<Run> {
    let ndim = grid.ndim;
    let positive = |name: &str| -> anyhow::Result<usize> { Ok(usize::try_from(job.int(name)?)?) };
    let (nt, jcheck) = (positive("nt")?, positive("jcheck")?);
    let jdata = snapshots::steps_between(job, "jdata", nt)?;
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
    let whole = [0, 1, 2].map(|a| padded.low[a]..padded.low[a] + grid.n[a]);
    let (snapshots, mut window) = match modelling {
        ModellingParameters::Present => snapshots::window(job, &padded, whole, nt)?,
        ModellingParameters::Absent => (None, Vec::new()),
    };
    outputs::name_axes(&mut window);
    let (accuracy, exact) = Accuracy::read_with_time(job, nt, dt)?;
    let places = places::read(job, &padded, modelling)?;
    let (mut spreads, mut sources) = places.sources(job, (ndim, nt, dt))?;
    let own = (sources.first_step(), sources.band);
    let timing = Timing::of(exact, (nt, dt), (&mut sources.series, own.0, own.1));
    let timing = accuracy::of_time(job, timing)?.beginning(sources.begins);
    if spreads.count() > 1 {
        spreads::check(&spreads, &padded)?;
    }
    let attenuation = attenuation::read(job, &padded, &timing)?;
    let (clock, channels) = (Clock { timing, jdata }, spreads.of(0)[1].len());
    let (several, quantity, name, every) = recorded(job, modelling, clock, (&padded, &mut spreads))?;
    let shot = Shot {
        dt,
        nt: timing.all_steps(),
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
        receivers: spreads.of(0)[1].to_vec(),
        quantity,
        jdata: every,
        snapshots,
        peaks: job.given("pgv"),
        shears_in_place: false,
        jcheck,
    };
    Ok(Run {
        padded,
        receivers: Axis {
            n: channels,
            label: Some("r".into()),
            ..spreads.across.clone()
        },
        spreads,
        begin: sources.begin,
        stations: places.stations,
        shot,
        beside: Vec::new(),
        window,
        quantity: name,
        several,
        timing,
        jdata,
        accuracy,
        transport: match modelling {
            ModellingParameters::Present => transport(job)?,
            ModellingParameters::Absent => Transport::Auto,
        },
    })
}

/// Several quantities, if they are requested; the quantity that the engine records, its name on the command
/// line, and the interval of the records.
fn recorded(
    job: &mut Job,
    modelling: ModellingParameters,
    clock: Clock,
    (padded, spreads): (&Padded, &mut Spreads),
) -> anyhow::Result<(Option<Several>, Quantity, &'static str, usize)> {
    clock.timing.warn_of_aliases(job, clock.jdata);
    let (_, what, name) = of_data(job)?;
    let (ndim, receivers) = (padded.ndim(), spreads.of(0)[1].len());
    let several = match modelling {
        ModellingParameters::Present => Several::read(job, (what, name), clock, (ndim, receivers))?,
        ModellingParameters::Absent => None,
    };
    let Some(several) = several else {
        let What::At(quantity) = what else {
            bail!("data=das: sfvsfd{ndim}d-gpu records it; this program takes data=strain or data=velocity");
        };
        let numbers = receivers * quantity.components(ndim);
        let first = quantity.first_time();
        let Some(correction) = clock.timing.correction((first, Reading::OfOneTime), clock.jdata) else {
            return Ok((None, quantity, name, clock.jdata));
        };
        // States of linearised surveys contain no records.
        if modelling == ModellingParameters::Present {
            correction.check_states(job, numbers)?;
        }
        return Ok((None, quantity, name, correction.every()));
    };
    several.check_states(job, ndim, receivers)?;
    if let Some(fibre) = &several.fibre {
        spreads::lay(spreads, fibre, padded)?;
    }
    let readings = Quantity::Readings(several.readings);
    Ok((Some(several), readings, name, 1))
}

/// The frame that absorb=, nb= and faces= request.
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
                "faces= requests {} cells on top, where free=y has a free surface: give 0 for the top",
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
