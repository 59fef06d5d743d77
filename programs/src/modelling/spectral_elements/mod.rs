//! Elastic modelling by spectral elements: the common part of `sfsem2d-gpu` and `sfsem3d-gpu`.

pub mod adjoint;
mod advice;
mod changing;
mod damped;
mod engine;
mod extras;
mod fibre;
mod globe;
mod grids;
mod help;
mod layers;
mod maps;
mod medium;
mod outputs;
mod outside;
mod params;
mod plan;
mod quality;
mod several;
mod spreads;
mod tomography;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::checksum::Checksum;
use super::exact_time::{ExactTime, Timing};
use super::fibre::Fibre;
use super::machine::Pieces;
use super::model::{Fingerprint, Opened};
use super::record::{Outputs, thinned};
use super::sources::{self, Histories};
use super::spreads::Spreads;
use super::survey::finished;
use super::survey::shot::{Method, Resources};
use super::survey::{self, Survey};
use super::world::World;
use super::{snapshots, transport};
use crate::meshing::{LOSSLESS, RawMesh, specfem, stored};
use anyhow::bail;
use engine::Engine;
use extras::Extras;
use kernels::earth::Frame;
use kernels::grid::points::{Point, Snapshots};
use kernels::medium::Symmetry;
use kernels::mesh::{Basis, Mesh};
use kernels::methods::spectral_elements::{Lumping, Pml, Setup, Shot, Source, Sponge, Strength};
use kernels::parallel::options::Transport;
use kernels::source::Action;
use maps::Peaks;
use medium::Rocks;
use outside::Outside;
use rsf_io::{Axis, Job, Output};
use several::Several;
use spreads::place;
use std::sync::Arc;

/// The shot that a command line describes.
#[derive(Clone)]
struct Run<const D: usize> {
    mesh: Arc<Mesh<D>>,
    basis: Basis,
    rocks: Arc<Rocks<D>>,
    sources: Vec<Source<D>>,
    shot: Shot<D>,
    /// Sources and receivers of all shots, except those given by cmt=, force=, quakeml= and stations=.
    spreads: Spreads,
    /// The cable of data=das, whose channels take the place of the receivers.
    fibre: Option<Fibre>,
    /// The map of peak ground motion, whose places come after the receivers.
    peaks: Option<Peaks>,
    /// The time step, and the time of the first step, s.
    dt: f64,
    begin: f64,
    /// Time steps and the correction of their dispersion.
    timing: Timing,
    /// The number of steps from one of the user's records to the next.
    jdata: usize,
    lumping: Lumping,
    sponge: Option<Sponge>,
    pml: Option<Pml<D>>,
    /// The number of points of the mesh.
    points: usize,
    /// Checksum of the mesh and its media.
    sum: u64,
    receivers: Axis,
    /// Axes of the snapshots.
    window: Vec<Axis>,
    /// The recorded quantity in words, and further quantities.
    quantity: &'static str,
    several: Option<Several>,
    /// Directions up, north and east at every receiver of stations=, and the names of the stations.
    frames: Vec<Frame>,
    stations: Vec<String>,
    transport: Transport,
}

impl<const D: usize> Run<D> {
    /// The setup in the form that the method needs.
    fn setup(&self) -> Setup<'_, D> {
        Setup {
            mesh: &self.mesh,
            basis: &self.basis,
            media: &self.rocks.media,
            speeds: &self.rocks.speeds,
            points: self.rocks.model.as_deref(),
            dt: self.dt,
            relaxations: self.rocks.attenuation(),
            lumping: self.lumping,
            sponge: self.sponge,
            pml: self.pml.as_ref(),
            sources: &self.sources,
        }
    }
}

/// The model of a mesh: it is contained in the files of the mesh, so no volumes remain to be read.
struct InTheMesh;

impl Opened for InTheMesh {
    type Volumes = ();

    fn held(&self) -> u64 {
        0
    }

    fn volumes(self, _: usize, _: Option<Arc<Fingerprint>>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Runs `sfsem2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    survey::main::<Run<2>>(job, 2, world)
}

/// Runs `sfsem3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    survey::main::<Run<3>>(job, 3, world)
}

impl<const D: usize> Method for Run<D> {
    type Engine = Engine<D>;
    type Files = InTheMesh;
    type Report = plan::Step;

    fn read(job: &mut Job, _: usize) -> anyhow::Result<(Self, InTheMesh)> {
        let raw = raw_mesh::<D>(job)?;
        Ok((prepare(job, &raw, true)?, InTheMesh))
    }

    fn pieces(&self) -> Pieces<'_> {
        Pieces::Elements(D, self.mesh.len())
    }

    fn points(&self) -> usize {
        self.points
    }

    fn layout(&self) -> String {
        format!("{} elements, {} points", self.mesh.len(), self.points)
    }

    fn class(_: &plan::Step) -> Option<Symmetry> {
        None
    }

    fn transport(&self) -> Transport {
        self.transport
    }

    fn snapshots(&self) -> (Option<&Snapshots>, usize) {
        (None, self.shot.snapshot_quantity().components(D))
    }

    fn scatters(&self) -> bool {
        self.shot.jsnap.is_some()
    }

    fn steps(&self) -> usize {
        self.shot.nt
    }

    fn timing(&self) -> &Timing {
        &self.timing
    }

    fn contents(&self) -> Vec<(&'static str, u64)> {
        let mut sources = Checksum::new();
        for source in &self.sources {
            sources = sources.with_text(&format!("{:?} {:?}", source.at, source.strength));
        }
        let own = self
            .peaks
            .as_ref()
            .map_or(self.shot.receivers.len(), Peaks::users);
        let mut receivers = Checksum::new().with(self.shot.receivers[..own].as_flattened());
        if let Some(fibre) = &self.fibre {
            receivers = receivers.with_text(&fibre.words());
        }
        if let Some(several) = &self.several {
            receivers = receivers.with_text(&several.words());
        }
        let map = self.peaks.as_ref().map(|peaks| peaks.sum(&self.shot.receivers));
        let map = map.map(|sum| ("pgv=, pgd= or pga=", sum));
        let known = [
            (
                "the mesh, model=, materials=, vp=, vs=, den=, qp=, qs=, ccc= or sls=",
                self.sum,
            ),
            ("sou=, mech=, cmt= or force=", sources.end()),
            ("rec= or stations=", receivers.end()),
        ];
        known
            .into_iter()
            .chain(map)
            .chain(self.timing.content())
            .collect()
    }

    fn sources_by_step(&self) -> Vec<u64> {
        let of = |step: usize| {
            let now: Vec<f32> = self.sources.iter().map(|source| source.history[step]).collect();
            Checksum::new().with(&now).end()
        };
        (0..self.shot.nt).map(of).collect()
    }

    fn open(&self, job: &mut Job, world: &World) -> anyhow::Result<Outputs> {
        outputs::open(job, self, world)
    }

    fn has_map(&self) -> bool {
        self.peaks.is_some()
    }

    fn open_map(&self, job: &mut Job) -> anyhow::Result<Option<Output>> {
        self.peaks
            .as_ref()
            .map(|peaks| peaks.open(job, &self.timing))
            .transpose()
    }

    fn plan(&mut self, job: &Job, _: (), on: Resources<'_>) -> anyhow::Result<()> {
        plan::print(job, self, on).map(drop)
    }

    fn check_memory(&self, job: &Job, on: Resources<'_>) -> anyhow::Result<()> {
        plan::check_memory(job, self, on)
    }

    fn engine(&mut self, job: &Job, _: (), on: Resources<'_>) -> anyhow::Result<(Engine<D>, plan::Step)> {
        let step = on.world.agree(plan::judge(job, self))?;
        let engine = Engine::new(self, on);
        Ok((on.world.agree(engine)?, step))
    }

    fn summary(&self, job: &Job, report: &plan::Step) {
        plan::summary(job, self, report);
    }
}

impl<const D: usize> Survey for Run<D> {
    fn spreads(&self) -> &Spreads {
        &self.spreads
    }

    fn actions(&self) -> Vec<String> {
        let each = self.sources.iter();
        each.map(|source| format!("{:?}", source.strength)).collect()
    }

    fn data_files(&self) -> Vec<finished::DataFile> {
        let records = outputs::records(self);
        let axes = [
            records.receivers,
            records.components,
            thinned(&records.time, records.jdata),
        ];
        let quantity = |words, key| finished::DataFile {
            words,
            key,
            axes: axes.clone(),
        };
        match &self.several {
            Some(several) => several.outputs.iter().map(|w| quantity(w.words, w.key)).collect(),
            None => vec![quantity(self.quantity, None)],
        }
    }

    fn records(&self) -> [usize; 2] {
        let components = match self.fibre {
            Some(_) => 1,
            None => self.shot.quantity.components(D),
        };
        [
            self.receivers.n * components,
            self.shot.nt.div_ceil(self.shot.jdata),
        ]
    }

    fn plan_shot(&mut self, job: &Job, (): &(), on: Resources<'_>) -> anyhow::Result<f64> {
        plan::print(job, self, on)
    }

    fn turn_to(&mut self, numbers: &[usize]) {
        let [sources, receivers] = self.spreads.of(numbers[0]);
        for (source, &point) in self.sources.iter_mut().zip(sources) {
            source.at = place(point);
        }
        // The receivers of stations= do not change.
        if !receivers.is_empty() {
            let channels: Vec<[f64; D]> = receivers.iter().map(|&point| place(point)).collect();
            self.shot.receivers = match &self.fibre {
                Some(fibre) => fibre::places(fibre, channels),
                None => channels,
            };
        }
    }

    fn again(
        &mut self,
        job: &Job,
        (): &(),
        on: Resources<'_>,
        engine: &mut Option<Engine<D>>,
    ) -> anyhow::Result<Option<plan::Step>> {
        let first = engine.is_none();
        let step = first.then(|| plan::judge(job, self)).transpose()?;
        engine::again(self, on, engine)?;
        Ok(step)
    }
}

/// The mesh that the command line names.
fn raw_mesh<const D: usize>(job: &mut Job) -> anyhow::Result<RawMesh> {
    let folder = job.text("specfem")?;
    let stored = job.given("mesh") || job.given("elements");
    let mut raw = match folder {
        Some(_) if stored => {
            bail!("specfem= and mesh= (or elements=) both name a mesh: leave out one of them")
        }
        Some(_) => {
            let mut raw = specfem::open(job)?;
            if job.given("materials") {
                bail!("materials= and specfem= both define the materials: leave out materials=");
            }
            raw.names.clear();
            raw
        }
        None if stored => stored::read(job)?,
        None => bail!("no mesh: give mesh= (as sfhexmesh writes it), elements= and nodes=, or specfem="),
    };
    if raw.ndim != D {
        bail!(
            "the mesh has {} dimensions ({}), but {} runs meshes of {D} ({}): {} runs this one",
            raw.ndim,
            ["x, z", "x, y, z"][raw.ndim - 2],
            job.program(),
            ["x, z", "x, y, z"][D - 2],
            crate::modelling::model::of_dimensions(raw.ndim)
        );
    }
    if !job.flag("attenuation")? {
        if let Some(word) = ["qp", "qs", "sls"].into_iter().find(|word| job.given(word)) {
            bail!("attenuation=n and {word}= contradict each other: leave out one of them");
        }
        for material in &mut raw.materials {
            (material.q_kappa, material.q_mu) = (LOSSLESS, LOSSLESS);
        }
    }
    if raw.materials.is_empty() {
        bail!("the mesh has no materials: give rho=, vp= and vs= to sfhexmesh, or materials= here");
    }
    Ok(raw)
}

/// Reads the small inputs and the parameters; with `models`, also snapshots, maps, cables and further quantities.
fn prepare<const D: usize>(job: &mut Job, raw: &RawMesh, models: bool) -> anyhow::Result<Run<D>> {
    advice::before(job, raw, models)?;
    let positive = |name: &str| -> anyhow::Result<usize> { Ok(usize::try_from(job.int(name)?)?) };
    let (nt, jcheck, degree) = (positive("nt")?, positive("jcheck")?, positive("degree")?);
    let jdata = snapshots::steps_between(job, "jdata", nt)?;
    let dt = job.double("dt")?;
    if !(dt > 0.0 && dt.is_finite()) {
        bail!("dt={dt}: the time step must be a positive number of seconds");
    }
    let basis = Basis::new(degree)?;
    let mesh = Mesh::<D>::new(raw.parts())?;
    mesh.check_materials(&raw.materials)?;
    specfem::report_open_faces(job, raw, &mesh)?;
    let mut outside = Outside::new(job, &mesh)?;
    let places = globe::places(job, raw, &mesh, &mut outside)?;
    let what = Histories::Moments(job.flag("rate")? && !places.have_samples());
    let mut spreads = spreads::read(job, &places)?;
    spreads::settle(&mut spreads, &mut outside)?;
    outside.warn(job);
    let [first, own] = spreads.of(0).map(<[Point]>::to_vec);
    let mut given = match places.quakes {
        Some(placed) => sources::read_placed(job, placed, (nt, dt), what)?,
        None => sources::read_at(job, D, first, (nt, dt), what)?,
    };
    let exact = ExactTime::read(job, nt, dt)?;
    let timing = Timing::of(exact, (nt, dt), (&mut given.series, 0.0, given.band))?.beginning(given.begins);
    timing.warn_of_aliases(job, jdata);
    let pml = layers::matched(job, raw, &mesh)?;
    let mut rocks = medium::read(job, raw, (&mesh, &basis, pml.as_ref()), &timing)?;
    globe::fill(job, raw, &mesh, &mut rocks)?;
    let receivers = places
        .sites
        .unwrap_or_else(|| advice::received(job, own, (&mesh, degree)));
    let (quantity, name) = outputs::recorded(job)?;
    let mut shot = Shot {
        nt,
        receivers,
        quantity,
        jcheck,
        ..Shot::default()
    };
    let channels = shot.receivers.len();
    let extras = match models {
        true => Extras::read(job, (raw, &mesh), (&mut shot, jdata), &timing)?,
        false => Extras::none((&mut shot, jdata), &timing),
    };
    spreads::check(&spreads, &mesh, extras.fibre.as_ref())?;
    let sponge = layers::sponge(job, &rocks.speeds, given.band, &mesh)?;
    Ok(Run {
        points: kernels::mesh::Numbering::new(&mesh, &basis)?.points(),
        sum: checksum(raw, &rocks),
        sources: method_sources(&given, &places.centres),
        receivers: Axis {
            n: channels,
            label: Some("r".into()),
            ..spreads.across.clone()
        },
        spreads,
        lumping: layers::lumping(job)?,
        begin: given.begin,
        timing,
        jdata,
        mesh: Arc::new(mesh),
        basis,
        rocks: Arc::new(rocks),
        shot,
        fibre: extras.fibre,
        peaks: extras.peaks,
        sponge,
        pml,
        dt,
        window: extras.window,
        quantity: name,
        several: extras.several,
        frames: places.frames,
        stations: places.codes,
        transport: if models { transport(job)? } else { Transport::Auto },
    })
}

/// The sources in the form that the method needs, at positions in double precision if a file gives them.
fn method_sources<const D: usize>(sources: &sources::Sources, centres: &[[f64; D]]) -> Vec<Source<D>> {
    let source = |(k, source): (usize, &kernels::source::Source)| Source {
        at: centres.get(k).copied().unwrap_or(place(source.point)),
        strength: strength(source.action),
        history: sources.series[source.series].clone(),
    };
    sources.list.iter().enumerate().map(source).collect()
}

/// The strength of a source along the axes of a mesh.
fn strength<const D: usize>(action: Action) -> Strength<D> {
    let axis = |c: usize| if D == 2 { 2 * c } else { c };
    match action {
        Action::Force(force) => Strength::Force(std::array::from_fn(|c| force[axis(c)])),
        Action::Moment([xx, yy, zz, xy, xz, yz]) => {
            let whole = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
            Strength::Moment(std::array::from_fn(|i| {
                std::array::from_fn(|c| whole[axis(i)][axis(c)])
            }))
        }
    }
}

/// A checksum of the mesh and its media.
fn checksum<const D: usize>(raw: &RawMesh, rocks: &Rocks<D>) -> u64 {
    let lists = [&raw.absorbing, &raw.free].map(|list| list.as_flattened());
    Checksum::new()
        .with(&raw.nodes)
        .with(&raw.elements)
        .with(&raw.regions)
        .with(lists[0])
        .with_text("free")
        .with(lists[1])
        .with(raw.layers.as_flattened())
        .with_text(&format!(
            "{:?} {:?} {:?} {}",
            rocks.media, rocks.relaxations, rocks.grain, rocks.sum
        ))
        .end()
}
