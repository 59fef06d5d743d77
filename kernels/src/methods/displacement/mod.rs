//! The displacement method: second-order elastic wave equation, order 8 in space, 2 in time (Weiss & Shragge 2013).
//!
//! One step (their figure 2, nine steps), for every cell:
//! 1. strain `e_kl = (d_k u_l + d_l u_k)/2`, shear strains as engineering sums (eq. 1)
//! 2. stress `s_ij = c_ijkl e_kl` (eq. 2)
//! 3. free surface: stresses above the top nodes of the model vanish
//! 4. stress sources are subtracted from the normal stresses
//! 5. force `f_i = d_j s_ij` (eq. 3)
//! 6. force sources are subtracted from the force density
//! 7. `u(t+dt) = 2 u(t) - u(t-dt) + f dt^2/rho` (eq. 6)
//! 8. one-way condition on the outer faces, then the sponge on both time levels
//! 9. output of the new level
//!
//! Steps 1-8 are one stage: stress never leaves the cache, and one exchange of eight planes of displacement suffices.

mod absorbing_frame;
mod cpu;
mod frame_rows;
pub mod gpu;
mod plan;
mod receivers;
mod rows;
mod sources;
mod state;
mod sweep;
mod tiling;

pub use cpu::CpuSlab;
pub use plan::calibrate;
use receivers::Receivers;
use sources::Sources;

use crate::Error;
use crate::boundary::{free_surface::Surface, one_way, one_way::OneWay, sponge};
use crate::device::{cpu::Cpu, simd::Real};
use crate::grid::Padded;
use crate::grid::points::Point;
pub use crate::grid::points::Snapshots;
use crate::grid::stencil::{RADIUS, WEIGHTS};
use crate::medium::{self, Coefficients, Medium};
use crate::parallel::group::Group;
pub use crate::parallel::options::{ParallelOptions, Transport};
use crate::parallel::slabs::Cutting;
use crate::parallel::{message_buffers, slabs};
use crate::receiver::Quantity;
use crate::time_loop::{Direction, Schedule};
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// Number of ghost planes on either side of a slab: two consecutive derivatives reach twice the stencil's radius.
pub const GHOST: usize = 2 * RADIUS;

/// Number of planes at either end of the grid that are coupled by the one-way condition and must be updated together.
pub(crate) const FACE: usize = one_way::DEPTH + 1;

/// The requirements of this method for slabs. Planes of the frame take less time, because they use the medium of the
/// model's outermost plane, which stays in the cache (`benches/RESULTS-GPU.md`).
pub const SLABS: Cutting = Cutting {
    least: GHOST,
    face: FACE,
    frame_cost: 0.87,
};

/// The quantity to which the wavelet is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Normal stresses: component 0 is subtracted from `s_zz`, 1 from `s_xx`, 2 from `s_yy`.
    Stress,
    /// Force density: components z, x, y are subtracted from it, before it is divided by density.
    Force,
}

/// Everything about a shot except its medium.
#[derive(Clone, Debug)]
pub struct Shot {
    /// Time step in seconds (float32, as the wavelet's header gives it).
    pub dt: f32,
    /// Values of the sources, `[time][component z, x, y][source]`.
    pub wavelet: Vec<f32>,
    /// Positions of the sources.
    pub sources: Vec<Point>,
    /// Positions of the receivers.
    pub receivers: Vec<Point>,
    /// The quantity to which the wavelet is added.
    pub kind: SourceKind,
    /// Half width in cells of the Gaussian bell over which a source is spread; 0 for a point source.
    pub nbell: usize,
    /// Whether the frame has the one-way condition and the sponge; otherwise its outer faces are rigid.
    pub absorbing: bool,
    /// Discretisation of the one-way condition.
    pub one_way: one_way::Form,
    /// Condition on top of the model.
    pub surface: Surface,
    /// Whether receivers between cells are interpolated; otherwise the nearest cell is read.
    pub interpolate: bool,
    /// The quantity of the receivers and snapshots: displacement, or its divergence and curl ([`Quantity::Potentials`]).
    pub quantity: Quantity,
    /// Number of steps between samples of the receivers.
    pub jdata: usize,
    /// Snapshots, if any.
    pub snapshots: Option<Snapshots>,
    /// Number of steps between searches for values that are not finite.
    pub jcheck: usize,
}

impl Shot {
    /// Number of components of traces and snapshots.
    pub fn components(&self, ndim: usize) -> usize {
        self.quantity.components(ndim)
    }
}

/// Data that the slabs of one shot share.
pub(crate) struct Setup<T> {
    pub padded: Padded,
    /// Stiffness; its density array contains `dt^2/rho`.
    pub medium: Medium<T>,
    pub sources: Sources<T>,
    pub receivers: Receivers<T>,
    pub kind: SourceKind,
    pub surface: Surface,
    pub frame: Option<Frame<T>>,
    pub potentials: bool,
    pub window: [Range<usize>; 3],
    pub weights: rows::Weights<T>,
    pub cpu: Cpu,
    pub dt: T,
}

/// The absorbing frame.
pub(crate) struct Frame<T> {
    pub one_way: OneWay<T>,
    /// Weights of the sponge along z (padded to the pitch), row and plane axis.
    pub sponge: [Vec<T>; 3],
}

/// A shot that is ready to run on the processors of this host.
pub struct Simulation<T: Real + Default + bytemuck::Pod> {
    setup: Arc<Setup<T>>,
    group: Group<CpuSlab<T>>,
}

/// A simulation dereferences to the group of its slabs, so that [`Group::run`], [`Group::run_among`],
/// [`Group::resume`] and the others are methods of a simulation, too.
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
    /// Checks the shot against the grid, converts the density to `dt^2/rho` and allocates the fields of `slabs`.
    /// These are all slabs of the grid, or those of one rank; the medium must hold the planes that they need.
    ///
    /// # Errors
    /// Returns an error if the shot does not fit the grid, or there is not enough memory.
    pub fn new(shot: &Shot, mut medium: Medium<T>, cpu: Cpu, slabs: Vec<slabs::Slab>) -> Result<Self, Error> {
        let padded = medium.padded().clone();
        check(shot, &padded)?;
        let sources = Sources::new(&padded, &shot.sources, shot.nbell, &shot.wavelet)?;
        let receivers = Receivers::new(&padded, &shot.receivers, shot.interpolate)?;
        let dt = T::of(f64::from(shot.dt));
        let frame = shot.absorbing.then(|| Frame {
            one_way: OneWay::new(&medium, f64::from(shot.dt), shot.one_way),
            sponge: sponges(&padded),
        });
        medium.buoyancy(&cpu, dt);
        let axes = if padded.ndim() == 3 { [0, 1, 2] } else { [0, 0, 1] };
        let weights = axes.map(|a: usize| WEIGHTS.map(|w| T::of(w / f64::from(padded.d()[a]))));
        let window = shot
            .snapshots
            .as_ref()
            .map_or([0..0, 0..0, 0..0], |s| s.window.clone());
        let schedule = schedule(shot, &padded, sources.steps(), receivers.len());
        let (kind, surface, potentials) = (shot.kind, shot.surface, shot.quantity == Quantity::Potentials);
        let setup = Arc::new(Setup {
            padded,
            medium,
            sources,
            receivers,
            kind,
            surface,
            frame,
            potentials,
            window,
            weights,
            cpu,
            dt,
        });
        let slabs = slabs.into_iter().map(|slab| CpuSlab::new(setup.clone(), slab));
        Ok(Self {
            group: Group::new(slabs.collect::<Result<_, _>>()?, schedule)?,
            setup,
        })
    }

    /// Prepares another shot with other sources, wavelet and receivers in the same medium, starting from rest. All
    /// other fields of `shot` must be unchanged.
    ///
    /// # Errors
    /// Returns an error if the shot does not fit the grid, which leaves the simulation unchanged, or if there is not
    /// enough memory.
    pub fn next_shot(&mut self, shot: &Shot) -> Result<(), Error> {
        let padded = &self.setup.padded;
        check(shot, padded)?;
        let sources = Sources::new(padded, &shot.sources, shot.nbell, &shot.wavelet)?;
        let receivers = Receivers::new(padded, &shot.receivers, shot.interpolate)?;
        let schedule = schedule(shot, padded, sources.steps(), receivers.len());
        let slabs: Vec<_> = self.group.subdomains.iter().map(|s| s.layout.clone()).collect();
        self.group.subdomains.clear();
        let Some(setup) = Arc::get_mut(&mut self.setup) else {
            return Err(Error::setup(
                "the simulation is in use elsewhere: end that use before the next shot",
            ));
        };
        (setup.sources, setup.receivers) = (sources, receivers);
        let slabs = slabs
            .into_iter()
            .map(|slab| CpuSlab::new(self.setup.clone(), slab));
        self.group = Group::new(slabs.collect::<Result<_, _>>()?, schedule)?;
        Ok(())
    }

    /// Smallest number of values that a step must move per point of the padded grid: time levels, coefficients and
    /// density.
    pub fn words(&self) -> usize {
        let ndim = self.setup.padded.ndim();
        3 * ndim + self.setup.medium.coefficients().count(ndim) + 1
    }

    /// Describes, for logs, the tiles in which threads work and how they were chosen.
    pub fn tiles(&self) -> String {
        let cpu = &self.setup.cpu;
        tiling::words(&tiling::Tiling::new(&self.setup.padded, size_of::<T>(), cpu), cpu)
    }

    /// Bytes of fields, medium and scratch memory, including messages to other ranks.
    pub fn bytes(&self) -> usize {
        let slabs: usize = self.group.subdomains.iter().map(CpuSlab::bytes).sum();
        self.setup.medium.bytes() + slabs + self.group.message_bytes()
    }
}

/// Refuses to run backward in time if the frame absorbs energy, which cannot be recovered.
fn reversible(absorbs: bool) -> Result<(), Error> {
    match absorbs {
        false => Ok(()),
        true => Err(Error::setup(
            "a run with an absorbing frame loses energy and cannot run backward in time; run it without the frame",
        )),
    }
}

/// The schedule of the records and checks of a shot.
fn schedule(shot: &Shot, padded: &Padded, steps: usize, receivers: usize) -> Schedule {
    Schedule {
        first: 0,
        nt: steps,
        direction: Direction::Forward,
        jdata: shot.jdata,
        receivers,
        components: shot.components(padded.ndim()),
        snapshot_components: shot.components(padded.ndim()),
        jsnap: shot.snapshots.as_ref().map(|s| s.every),
        jcheck: shot.jcheck,
    }
}

/// The component of traces that corresponds to a component of snapshots: the curl is ordered z, x, y in snapshots,
/// and x, y, z in traces.
fn snapshot_component(component: usize, curl: bool) -> usize {
    if curl { [0, 3, 1, 2][component] } else { component }
}

fn sponges<T: Real>(padded: &Padded) -> [Vec<T>; 3] {
    let mut z = sponge::profile(padded.n[0], padded.nb);
    z.resize(padded.pitch(), T::of(1.0));
    let along_rows = if padded.ndim() == 3 {
        sponge::profile(padded.n[1], padded.nb)
    } else {
        vec![T::of(1.0)]
    };
    [z, along_rows, sponge::profile(padded.planes(), padded.nb)]
}

/// Checks a shot against the grid.
fn check(shot: &Shot, padded: &Padded) -> Result<(), Error> {
    let fail = |sentence: String| Err(Error::setup(sentence));
    let (ns, nc) = (shot.sources.len(), padded.ndim());
    if ns == 0 || shot.receivers.is_empty() {
        return fail(format!(
            "{ns} sources and {} receivers: at least one of each is needed",
            shot.receivers.len()
        ));
    }
    if shot.wavelet.is_empty() || !shot.wavelet.len().is_multiple_of(ns * nc) {
        let have = shot.wavelet.len();
        return fail(format!(
            "the wavelet has {have} values, which is not a multiple of {nc} components x {ns} sources"
        ));
    }
    if !(shot.dt > 0.0 && shot.dt.is_finite()) {
        return fail(format!(
            "the wavelet's time step is {}: it must be a positive finite number",
            shot.dt
        ));
    }
    if let Some(bad) = shot.wavelet.iter().position(|w| !w.is_finite()) {
        return fail(format!(
            "the wavelet is not finite at value {bad} (step {})",
            bad / (ns * nc)
        ));
    }
    if shot.jdata == 0 || shot.jcheck == 0 {
        return fail(
            "data are recorded, or values checked, every 0 steps; the number of steps must be at least 1 for both".into(),
        );
    }
    if !matches!(shot.quantity, Quantity::Displacement | Quantity::Potentials) {
        return fail(format!(
            "the displacement method records displacement, or its divergence and curl, and not {:?}",
            shot.quantity
        ));
    }
    if let Some(s) = &shot.snapshots {
        s.check(padded)?;
    }
    Ok(())
}

/// Bytes of fields, medium, scratch memory and messages that the slabs of one rank will need on processors, for a
/// model with these coefficients.
pub fn bytes(padded: &Padded, slabs: &[slabs::Slab], cpu: &Cpu, kind: Coefficients) -> usize {
    let planes: usize = slabs.iter().map(|s| s.own.len() + 2 * GHOST).sum();
    let fields = 2 * padded.ndim() * planes * padded.plane_len();
    let own = slabs.first().map_or(0, |s| s.own.start)..slabs.last().map_or(0, |s| s.own.end);
    let lines = medium::needed(padded, &own).len() * medium::lines_of_plane(padded);
    let medium = (kind.count(padded.ndim()) + 1) * lines * padded.pitch();
    let rings = slabs.len() * cpu.threads() * tiling::Tiling::new(padded, size_of::<f32>(), cpu).ring_len();
    let travels =
        message_buffers::numbers(slabs, padded.planes(), padded.ndim() * GHOST * padded.plane_len());
    (fields + medium + rings + travels) * size_of::<f32>()
}
