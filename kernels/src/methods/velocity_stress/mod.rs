//! The velocity-stress method: first-order elastic wave equation on the standard staggered grid (Madariaga 1976,
//! Virieux 1986, Levander 1988), orders 2, 4 or 8 in space, 2 in time (Michea & Komatitsch 2010, section 2).
//!
//! One step has two stages, each followed by an exchange of ghost planes:
//! 1. `v(t+dt/2) = v(t-dt/2) + dt/rho (D_j s_ij + f_i)` (their eq. 2, first line), sponge
//! 2. `s(t+dt) = s(t) + dt (c_ijkl e_kl - dM_ij/dt / V)` (second line), where `e` is the rate of strain of the new
//!    velocity; then sponge and images at a free surface
//!
//! In an absorbing layer every derivative is stretched where it is taken (eqs 6-9, [`crate::boundary::cpml`]). Units
//! are SI: m, s, kg/m3, Pa, N, N m. [`layout`] gives the positions of the fields, and [`rows`] the formulas of a cell.

mod absorbing_frame;
mod adjoint;
mod attenuation;

pub mod born;

mod cpml_stability;
mod cpu;
mod cpu_run;

pub mod gpu;
mod halo;

pub mod layout;

mod medium;
mod peaks;
mod plan;
mod points;
mod receivers;
mod rows;
mod setup;
mod sources;
mod state;
mod stress_rows;
mod surface;
mod tiling;

pub use absorbing_frame::{Absorber, Frame, Growing};
pub use attenuation::Attenuation;
pub use cpml_stability::Watch;
pub use cpu::{CpuSlab, GHOST};
pub use plan::{Linearised, calibrate, calibrate_device, calibrate_linearised};
pub use receivers::{Quantity, Readings};

use crate::Error;
use crate::communicator::{Communicator, Topic};
use crate::device::{cpu::Cpu, simd::Real};
use crate::grid::Padded;
use crate::grid::points::{Point, Snapshots};
use crate::grid::stencil::{self, Family, StaggeredWeights, WEIGHTS};
use crate::medium::{self as model, Medium, Symmetry};
use crate::parallel::group::Group;
use crate::parallel::slabs::Cutting;
use crate::parallel::{message_buffers, slabs};
use crate::source::Source;
use crate::stability::largest_symbol;
use crate::time_loop::{Direction, Schedule};
use absorbing_frame::Edges;
use attenuation::Relaxation;
use medium::Staggered;
use points::Placer;
use receivers::Receivers;
use sources::SourceNodes;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;
use surface::Images;

/// The limits within which a grid is partitioned into slabs for this method.
pub const SLABS: Cutting = Cutting {
    least: 2 * GHOST,
    face: 0,
    frame_cost: 1.0,
};

/// Everything about a shot except its medium.
#[derive(Clone, Debug)]
pub struct Shot {
    /// Time step in seconds.
    pub dt: f64,
    /// Number of time steps.
    pub nt: usize,
    /// Order in space: 2, 4 or 8.
    pub order: usize,
    /// The choice of the weights of the derivative.
    pub family: Family,
    /// The absorbing frame around the model.
    pub frame: Frame,
    /// Attenuation; `None` for an elastic medium.
    pub attenuation: Option<Attenuation>,
    /// Whether the shear stiffnesses of the medium are given at the positions of the shear stresses, half a cell beyond
    /// their nodes along two axes, and are used unchanged. Otherwise they are given on the nodes, and the scheme takes
    /// their harmonic means.
    pub shears_in_place: bool,
    /// Whether there is a free surface at the top nodes of the model.
    pub surface: bool,
    /// Sources, whose `series` are indices of the time series below.
    pub sources: Vec<Source>,
    /// Time series of the sources, `[series][step]`: moment rates in N m/s (N/s in 2-D) at [`Action::time`], or
    /// forces in N (N/m in 2-D).
    pub series: Vec<Vec<f32>>,
    /// Receiver points.
    pub receivers: Vec<Point>,
    /// The quantity that they record.
    pub quantity: Quantity,
    /// Number of steps between two records of the receivers.
    pub jdata: usize,
    /// Snapshots of the velocities (of the pressure where the receivers record it), each component on its own
    /// staggered nodes.
    pub snapshots: Option<Snapshots>,
    /// Whether to keep the largest horizontal speed at every top node of the model.
    pub peaks: bool,
    /// Number of steps between searches for values that are not finite.
    pub jcheck: usize,
}

impl Shot {
    /// Number of fields whose ghosts, [`GHOST`] planes of each, are exchanged after each stage of a step.
    pub fn travelling(&self, ndim: usize) -> [usize; 2] {
        travelling(ndim, self.quantity).map(|fields| fields.len())
    }
}

/// The data that the slabs of one shot share.
#[derive(Clone)]
pub(crate) struct Setup<T> {
    padded: Padded,
    medium: Arc<Staggered<T>>,
    relaxation: Option<Arc<Relaxation<T>>>,
    edges: Arc<Edges<T>>,
    surface: Option<Arc<Images<T>>>,
    spots: SourceNodes<T>,
    receivers: Receivers<T>,
    quantity: Quantity,
    peaks: bool,
    window: [Range<usize>; 3],
    /// Weights of the derivative divided by the spacing, along z, row, plane.
    weights: [[T; rows::MOST]; 3],
    /// Half the order.
    half: usize,
    /// Fields whose ghosts are exchanged after each stage.
    travelling: [Vec<usize>; 2],
    dt: f64,
    cpu: Arc<Cpu>,
}

/// A shot ready to run on the processors of this machine.
pub struct Simulation<T: Real + Default + bytemuck::Pod> {
    setup: Arc<Setup<T>>,
    group: Group<CpuSlab<T>>,
}

/// The largest stable time step of this scheme, divided by the largest stable step of the displacement scheme over the
/// same model. Both are `2 / sqrt(lambda/rho)` at the largest wave number that the derivative yields in a corner of the
/// box of wave vectors; for the staggered derivative that is `2 sum |c_m|` over the spacing. `None` for orders that do
/// not exist.
pub fn stable_step(order: usize, family: Family) -> Option<f64> {
    let weights = stencil::staggered(order, family)?;
    let greatest = 2.0 * weights.iter().map(|c| c.abs()).sum::<f64>();
    Some(largest_symbol(&WEIGHTS) / greatest)
}

/// The factor by which [`stable_step`] shrinks in a model whose largest density is `ratio` times its smallest; 1 in
/// order 2.
///
/// In order 2 the buoyancy at a velocity contains at least half the density of each of its two nodes, so the largest
/// eigenvalue of the heterogeneous operator is the eigenvalue of its worst cell. The outer weights, a share `f` of the
/// sum of all weights, let a stiff node accelerate a light one a few cells away, which no mean prevents. By Gershgorin's
/// theorem, with the rows of light nodes scaled by `f ratio`, the eigenvalue is at most `1 + f^2 ratio`, up to terms of
/// order `f` where light cells lie alone between heavy ones; a search over lines and planes of random cells with ratios
/// up to 10000 finds it below `1 + 1.2 f^2 (ratio - 1)`. For air over rock the factor is 0.51 in order 4 and 0.29 in
/// order 8, whereas a flat interface alone needs only 0.92 and 0.75; for water over rock it is 0.999 and 0.996.
pub fn contrast_step(order: usize, family: Family, ratio: f64) -> Option<f64> {
    let weights = stencil::staggered(order, family)?;
    let sum = |weights: &[f64]| weights.iter().map(|c| c.abs()).sum::<f64>();
    let far = sum(&weights[1..]) / sum(&weights);
    Some((1.0 + 1.2 * far * far * (ratio.max(1.0) - 1.0)).powf(-0.5))
}

/// A simulation dereferences to the group of its slabs, so that [`Group::run`], [`Group::run_among`],
/// [`Group::resume`] and the other methods of a group are available on it.
impl<T: Real + Default + bytemuck::Pod> Deref for Simulation<T> {
    type Target = Group<CpuSlab<T>>;

    fn deref(&self) -> &Self::Target {
        &self.group
    }
}

impl<T: Real + Default + bytemuck::Pod> DerefMut for Simulation<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.group
    }
}

impl<T: Real + Default + bytemuck::Pod> Simulation<T> {
    /// Checks the shot against the grid of the medium, which [`Frame::around`] made, and allocates the fields of
    /// `slabs`: all slabs of the grid, or those of one rank. In the latter case the medium need hold no more planes
    /// than these slabs read.
    pub fn new(
        shot: &Shot,
        mut raw: Medium<T>,
        class: Symmetry,
        cpu: Cpu,
        slabs: Vec<slabs::Slab>,
    ) -> Result<Self, Error> {
        let own = slabs.first().map_or(0, |s| s.own.start)..slabs.last().map_or(0, |s| s.own.end);
        let (setup, _) = Setup::new(shot, &mut raw, (class, &own, &own), cpu)?;
        drop(raw);
        let schedule = schedule(shot, &setup.padded, setup.receivers.len());
        let setup = Arc::new(setup);
        let slabs = slabs.into_iter().map(|slab| CpuSlab::new(setup.clone(), slab));
        Ok(Self {
            group: Group::new(slabs.collect::<Result<_, _>>()?, schedule)?,
            setup,
        })
    }

    /// Prepares another shot over the same medium, starting from rest, with other sources, series and receivers. All
    /// other fields of `shot` must be unchanged.
    ///
    /// # Errors
    /// Returns an error for a point that lies outside the fields; the simulation is then unchanged.
    pub fn next_shot(&mut self, shot: &Shot) -> Result<(), Error> {
        let slabs: Vec<_> = self.group.subdomains.iter().map(|s| s.layout.clone()).collect();
        let own = slabs.first().map_or(0, |s| s.own.start)..slabs.last().map_or(0, |s| s.own.end);
        let setup = Arc::new(self.setup.another(shot, &own)?);
        let schedule = schedule(shot, &setup.padded, setup.receivers.len());
        self.group.subdomains.clear();
        let slabs = slabs.into_iter().map(|slab| CpuSlab::new(setup.clone(), slab));
        self.group = Group::new(slabs.collect::<Result<_, _>>()?, schedule)?;
        self.setup = setup;
        Ok(())
    }

    /// Gathers [`Simulation::peaks`] of all ranks on rank 0, in the order of the planes; the other ranks get an empty
    /// vector. Collective: all ranks must call this.
    pub fn peaks_among(&self, ranks: &dyn Communicator) -> Result<Vec<T>, Error> {
        gather_maps(self.peaks(), ranks)
    }

    /// Bytes of fields, medium and memory variables, and of the message buffers of the most recently connected ranks.
    pub fn bytes(&self) -> usize {
        self.setup.medium.bytes()
            + self.setup.relaxation.as_ref().map_or(0, |r| r.bytes())
            + self.group.subdomains.iter().map(CpuSlab::bytes).sum::<usize>()
            + self.group.message_bytes()
    }

    /// The largest horizontal speed so far, in m/s, at every top node of the model that this process holds,
    /// `[y][x]` (2-D: `[x]`); empty if [`Shot::peaks`] is not set.
    pub fn peaks(&self) -> Vec<T> {
        surface_planes(
            &self.setup.padded,
            self.group.subdomains.iter().map(CpuSlab::peaks),
        )
    }
}

/// Returns an error for points outside the fields of a grid; the message names them by `what` and their number,
/// counted from 1.
pub fn check_points(padded: &Padded, points: &[Point], what: &str) -> Result<(), Error> {
    let placer = Placer { padded, free: None };
    let mut numbered = points.iter().enumerate();
    numbered.try_for_each(|(k, &point)| placer.check(point, what, k + 1))
}

/// Refuses to run backward where energy is lost, or where recorded quantities depend on all steps so far.
fn reversible(absorbs: bool, relaxes: bool, keeps: bool) -> Result<(), Error> {
    let reason = match (absorbs, relaxes, keeps) {
        (true, ..) => "its frame absorbs",
        (_, true, _) => "its medium attenuates",
        (.., true) => "it keeps peaks or integrals of velocity",
        _ => return Ok(()),
    };
    Err(Error::setup(format!(
        "this run cannot go backward in time, because {reason}; turn that off to run it backward"
    )))
}

impl<T: Real> Setup<T> {
    fn reversible(&self) -> Result<(), Error> {
        let keeps = self.peaks || self.quantity.runs();
        reversible(self.edges.absorbs(), self.relaxation.is_some(), keeps)
    }
}

/// Concatenates the maps of all ranks on rank 0; the other ranks receive an empty vector. Collective: all ranks must
/// call this.
pub(super) fn gather_maps<T: bytemuck::Pod>(
    mut map: Vec<T>,
    ranks: &dyn Communicator,
) -> Result<Vec<T>, Error> {
    if ranks.rank() > 0 {
        ranks.send_to_root(Topic::Maps, bytemuck::cast_slice(&map).to_vec())?;
        return Ok(Vec::new());
    }
    for from in 1..ranks.size() {
        let part = ranks.receive_from(Topic::Maps, from)?;
        map.extend(bytemuck::pod_collect_to_vec::<u8, T>(&part));
    }
    Ok(map)
}

/// The values `[own plane][row]` of slabs, without the frame.
fn surface_planes<'a, T: Real>(
    p: &Padded,
    parts: impl Iterator<Item = (&'a slabs::Slab, &'a [T])>,
) -> Vec<T> {
    let axis = p.ndim() - 1;
    let planes = p.low[axis]..p.low[axis] + p.model.n[axis];
    let rows = if p.ndim() == 3 {
        p.low[1]..p.low[1] + p.model.n[1]
    } else {
        0..1
    };
    let mut all = Vec::new();
    for (layout, numbers) in parts {
        for (plane, numbers) in layout.own.clone().zip(numbers.chunks(p.rows())) {
            if planes.contains(&plane) {
                all.extend_from_slice(&numbers[rows.clone()]);
            }
        }
    }
    all
}

/// Weights of the derivative divided by the spacing, along z, row, plane.
fn over_spacing<T: Real>(padded: &Padded, weights: &[f64]) -> [[T; rows::MOST]; 3] {
    let axes = if padded.ndim() == 3 { [0, 1, 2] } else { [0, 0, 1] };
    axes.map(|a: usize| {
        let weight = |m: usize| weights.get(m).map_or(0.0, |c| c / f64::from(padded.d()[a]));
        std::array::from_fn(|m| T::of(weight(m)))
    })
}

/// Fields whose ghosts are exchanged after each stage: all velocities, which are all differentiated across planes,
/// and the stresses whose indices include the plane's axis. A recorded pressure also reads the normal stresses across
/// a cut.
fn travelling(ndim: usize, quantity: Quantity) -> [Vec<usize>; 2] {
    let pairs: &[usize] = if ndim == 3 { &[2, 4, 5] } else { &[2, 4] };
    let mut stresses: Vec<usize> = pairs.iter().map(|&k| layout::stress(ndim, k)).collect();
    if quantity.reads_pressure() {
        stresses.extend(layout::normal(ndim));
        stresses.sort_unstable();
        stresses.dedup();
    }
    [(0..ndim).collect(), stresses]
}

/// The steps after which a shot is recorded.
fn schedule(shot: &Shot, padded: &Padded, receivers: usize) -> Schedule {
    Schedule {
        first: 0,
        direction: Direction::Forward,
        nt: shot.nt,
        jdata: shot.jdata,
        receivers,
        components: shot.quantity.components(padded.ndim()),
        snapshot_components: shot.quantity.of_snapshots().components(padded.ndim()),
        jsnap: shot.snapshots.as_ref().map(|s| s.every),
        jcheck: shot.jcheck,
    }
}

/// Returns the weights of the derivative, or an error for a shot that no grid can run.
fn check(shot: &Shot, padded: &Padded) -> Result<StaggeredWeights, Error> {
    let fail = |sentence: String| Err(Error::setup(sentence));
    let Some(weights) = stencil::staggered(shot.order, shot.family) else {
        return fail(format!(
            "a derivative of order {}: it can have order 2, 4 or 8",
            shot.order
        ));
    };
    if shot.sources.is_empty() || shot.receivers.is_empty() {
        return fail(format!(
            "{} sources and {} receivers: at least one of each is needed",
            shot.sources.len(),
            shot.receivers.len()
        ));
    }
    if let Some(lost) = shot.sources.iter().find(|s| s.series >= shot.series.len()) {
        return fail(format!(
            "a source has time series {}, but there are only {}",
            lost.series + 1,
            shot.series.len()
        ));
    }
    for (k, series) in shot.series.iter().enumerate() {
        if let Some(bad) = series.iter().position(|x| !x.is_finite()) {
            return fail(format!(
                "series {} of the sources is not finite at step {bad}",
                k + 1
            ));
        }
    }
    if shot.quantity == Quantity::Potentials {
        return fail("the velocity-stress method does not record divergence and curl".into());
    }
    if !(shot.dt > 0.0 && shot.dt.is_finite()) || shot.nt == 0 {
        return fail(format!(
            "{} steps of {} s: the number and the time step must be positive",
            shot.nt, shot.dt
        ));
    }
    if shot.jdata == 0 || shot.jcheck == 0 {
        return fail(
            "the interval of records, or of checks for non-finite values, is 0 steps; it must be at least 1"
                .into(),
        );
    }
    if shot.surface && padded.model.n[0] < 6 {
        return fail(format!(
            "a model of {} nodes along z is too thin for a free surface: at least 6 are needed",
            padded.model.n[0]
        ));
    }
    if let Some(s) = &shot.snapshots {
        s.check(padded)?;
    }
    Ok(weights)
}

/// Peak bytes of fields, medium, memory variables and messages that the slabs of one rank hold in host memory during
/// a run.
pub fn bytes(padded: &Padded, shot: &Shot, slabs: &[slabs::Slab], class: Symmetry) -> usize {
    let ndim = padded.ndim();
    let own: usize = slabs.iter().map(|s| s.own.len()).sum();
    let coefficients = match (ndim, class) {
        (3, Symmetry::Isotropic) => 2 + 3 + 3,
        (3, _) => 6 + 3 + 3,
        (_, Symmetry::Isotropic) => 2 + 1 + 2,
        _ => 3 + 1 + 2,
    };
    let fields = layout::fields(ndim) * (own + 2 * GHOST * slabs.len());
    let edges = Edges::<f32>::new(padded, &shot.frame, shot.dt);
    let layers: usize = slabs.iter().map(|s| edges.variables(padded, &s.own)).sum();
    let weak = match (ndim, class) {
        (3, Symmetry::Isotropic) => 5,
        (3, _) => 9,
        (_, Symmetry::Isotropic) => 3,
        _ => 4,
    };
    let (variables, weak) = shot.attenuation.as_ref().map_or((0, 0), |losses| {
        (
            losses.variables() * (layout::fields(ndim) - ndim) * own,
            weak * own,
        )
    });
    let [first, second] = shot.travelling(ndim);
    let travels = message_buffers::numbers(slabs, padded.planes(), first.max(second) * GHOST);
    let kept = (coefficients * own + weak) * padded.plane_len();
    let running = (fields + variables + travels) * padded.plane_len() + layers;
    // While the medium is prepared the model is held as well, twice if it is lossy.
    let whole = slabs.first().map_or(0, |s| s.own.start)..slabs.last().map_or(0, |s| s.own.end);
    let lines = model::needed(padded, &whole).len() * model::lines_of_plane(padded);
    let models = 1 + usize::from(shot.attenuation.is_some());
    let reading = models * (model::plane_names(ndim).len() + 1) * lines * padded.pitch();
    (kept + running.max(reading)) * size_of::<f32>()
}
