//! The displacement method: second-order elastic wave equation, order 8 in space, 2 in time (Weiss & Shragge 2013).
//!
//! One step (their figure 2, nine steps), for every cell:
//! 1. strain `e_kl = (d_k u_l + d_l u_k)/2`, shears as engineering sums (eq. 1)
//! 2. stress `s_ij = c_ijkl e_kl` (eq. 2)
//! 3. free surface: stresses above the first model row vanish
//! 4. stress sources are subtracted from the normal stresses
//! 5. force `f_i = d_j s_ij` (eq. 3)
//! 6. force sources are subtracted from the force density
//! 7. `u(t+dt) = 2 u(t) - u(t-dt) + f dt^2/rho` (eq. 6)
//! 8. one-way condition on the outer faces, then the sponge on both time levels
//! 9. output of the new level
//!
//! Steps 1-8 are one stage: stress never leaves the cache, and one exchange of displacement, eight planes deep,
//! serves it.

mod absorbing_frame;
mod cpu;
pub mod gpu;
mod plan;
mod receivers;
mod rows;
mod sources;
mod state;
mod sweep;

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
use crate::grid::stencil::WEIGHTS;
use crate::medium::{self, Medium};
use crate::parallel::communicator::{Alone, Communicator};
use crate::parallel::gather::{Gather, own, share};
use crate::parallel::halo::Copying;
use crate::parallel::message_buffers;
pub use crate::parallel::options::{ParallelOptions, Transport};
use crate::parallel::rank_halo::Remote;
use crate::parallel::slabs;
use crate::time_loop::state::{self as saved, Checkpoints, StateHeader, StateSource};
use crate::time_loop::{self, Recorder, Schedule};
use std::ops::Range;
use std::sync::Arc;

/// How the wavelet enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Component 0 into `s_zz`, 1 into `s_xx`, 2 into `s_yy`.
    Stress,
    /// Components z, x, y of a force density (it is divided by density next).
    Force,
}

/// Everything about a shot except its medium.
#[derive(Clone, Debug)]
pub struct Shot {
    /// Time step in seconds (float32, as the wavelet's header gives it).
    pub dt: f32,
    /// `[time][component z, x, y][source]`.
    pub wavelet: Vec<f32>,
    /// Source points.
    pub sources: Vec<Point>,
    /// Receiver points.
    pub receivers: Vec<Point>,
    /// How the wavelet enters.
    pub kind: SourceKind,
    /// Half width of the Gaussian source bell in cells; 0 is a point.
    pub nbell: usize,
    /// One-way condition and sponge on the frame; without, a rigid outer rim.
    pub absorbing: bool,
    /// How the one-way condition is differenced.
    pub one_way: one_way::Form,
    /// The top of the model.
    pub surface: Surface,
    /// Receivers between cells are interpolated; else the nearest cell is read.
    pub interpolate: bool,
    /// Divergence and curl instead of displacement.
    pub potentials: bool,
    /// Receivers after every so many steps.
    pub jdata: usize,
    /// Snapshots, if any.
    pub snapshots: Option<Snapshots>,
    /// Steps between searches for values that are not finite.
    pub jcheck: usize,
}

impl Shot {
    /// Components of traces and snapshots: displacements, or divergence and curl (2 in 2-D, 4 in 3-D).
    pub fn components(&self, ndim: usize) -> usize {
        if self.potentials && ndim == 3 { 4 } else { ndim }
    }
}

/// What the slabs of one shot share.
pub(crate) struct Setup<T> {
    pub padded: Padded,
    /// Stiffness; its density array holds `dt^2/rho`.
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
}

/// The absorbing frame.
pub(crate) struct Frame<T> {
    pub one_way: OneWay<T>,
    /// Sponge along z (padded to the pitch), row and plane axis.
    pub sponge: [Vec<T>; 3],
}

/// A shot ready to run on this machine's processors.
pub struct Simulation<T: Real> {
    setup: Arc<Setup<T>>,
    slabs: Vec<CpuSlab<T>>,
    schedule: Schedule,
    dt: T,
}

impl<T: Real + Default + bytemuck::Pod> Simulation<T> {
    /// Checks the shot against the grid, turns the medium into factors and allocates the fields of `slabs`: all of the
    /// grid, or those of one rank, for which the medium may hold no more than they need.
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
        let (kind, surface, potentials) = (shot.kind, shot.surface, shot.potentials);
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
        });
        let slabs = slabs
            .into_iter()
            .map(|slab| CpuSlab::new(setup.clone(), slab))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            setup,
            slabs,
            schedule,
            dt,
        })
    }

    /// Steps to run.
    pub fn steps(&self) -> usize {
        self.schedule.nt
    }

    /// Bytes of fields, medium and scratch memory.
    pub fn bytes(&self) -> usize {
        self.setup.medium.bytes() + self.slabs.iter().map(CpuSlab::bytes).sum::<usize>()
    }

    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<T>) -> Result<(), Error> {
        self.run_among(&Alone, recorder, ParallelOptions::default())
    }

    /// Runs all steps as one of several ranks, each with slabs of its own. Rank 0's recorder gets the traces.
    pub fn run_among(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<T>,
        options: ParallelOptions,
    ) -> Result<(), Error> {
        self.run_saving(ranks, recorder, options, None)
    }

    /// Collective: loads a state, behind which the next run goes on; every rank has a source of the same bytes.
    pub fn resume(
        &mut self,
        ranks: &dyn Communicator,
        source: &mut dyn StateSource,
    ) -> Result<StateHeader, Error> {
        let header = saved::load(ranks, source, &mut self.slabs)?;
        self.schedule.resume(&header)?;
        Ok(header)
    }

    /// Bytes of the host's memory and of the file that the slabs of this process take for a state.
    pub fn state_bytes(&self) -> usize {
        saved::owned_bytes(&self.slabs)
    }

    /// [`Simulation::run_among`], with states saved as `checkpoints` say.
    pub fn run_saving(
        &mut self,
        ranks: &dyn Communicator,
        recorder: &mut dyn Recorder<T>,
        options: ParallelOptions,
        checkpoints: Option<&mut Checkpoints<'_>>,
    ) -> Result<(), Error> {
        let setup = self.setup.clone();
        let dt2 = self.dt.f64() * self.dt.f64();
        let report = move |step: usize, cell: [usize; 3]| Error::NotFinite {
            step,
            cell: setup.padded.describe(cell),
            medium: setup.medium.describe(cell, |b| dt2 / b),
        };
        if ranks.size() == 1 {
            let (slabs, schedule) = (&mut self.slabs, &self.schedule);
            return time_loop::run(slabs, &mut Copying, schedule, recorder, &report, checkpoints);
        }
        let own = own(&self.slabs);
        let receivers = self.setup.receivers.within(&own);
        let share = share(&self.setup.window, self.setup.padded.ndim(), &own);
        let mut gather = Gather::new(
            ranks,
            recorder,
            &self.schedule,
            options.snapshots,
            (receivers, share),
        )?;
        let planes = self.setup.padded.planes();
        // SAFETY: the slabs keep their buffers until they are dropped, after the exchange.
        let exchange = unsafe { Remote::new(Copying, ranks, &mut self.slabs, &own, planes)? };
        let mut exchange = exchange.manner(options.manner);
        time_loop::run(
            &mut self.slabs,
            &mut exchange,
            &self.schedule,
            &mut gather,
            &report,
            checkpoints,
        )
    }
}

/// When a shot records.
fn schedule(shot: &Shot, padded: &Padded, steps: usize, receivers: usize) -> Schedule {
    let planes = |s: &Snapshots| s.window[padded.ndim() - 1].clone();
    Schedule {
        first: 0,
        nt: steps,
        jdata: shot.jdata,
        receivers,
        components: shot.components(padded.ndim()),
        snapshot_components: shot.components(padded.ndim()),
        jsnap: shot.snapshots.as_ref().map(|s| s.every),
        snapshot_planes: shot.snapshots.as_ref().map_or(0..0, planes),
        jcheck: shot.jcheck,
    }
}

/// The snapshot's curl comes in the order z, x, y; the traces' in x, y, z.
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

/// Refuses what no grid can run.
fn check(shot: &Shot, padded: &Padded) -> Result<(), Error> {
    let fail = |sentence: String| Err(Error::Setup(sentence));
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
            "the wavelet's time step is d3={}: it must be a positive finite number",
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
        return fail("jdata= and jcheck= must be at least 1".into());
    }
    if let Some(s) = &shot.snapshots {
        s.check(padded)?;
    }
    Ok(())
}

/// Bytes of fields, medium, scratch memory and messages that the slabs of one rank will hold on processors.
pub fn bytes(padded: &Padded, slabs: &[slabs::Slab], threads: usize) -> usize {
    let planes: usize = slabs.iter().map(|s| s.own.len() + 2 * slabs::GHOST).sum();
    let fields = 2 * padded.ndim() * planes * padded.plane_len();
    let own = slabs.first().map_or(0, |s| s.own.start)..slabs.last().map_or(0, |s| s.own.end);
    let lines = medium::needed(padded, &own).len() * medium::lines_of_plane(padded);
    let medium = (medium::plane_names(padded.ndim()).len() + 1) * lines * padded.pitch();
    let rings = slabs.len() * threads * sweep::Tiling::new(padded, size_of::<f32>()).ring_len();
    let travels = message_buffers::numbers(
        slabs,
        padded.planes(),
        padded.ndim() * slabs::GHOST * padded.plane_len(),
    );
    (fields + medium + rings + travels) * size_of::<f32>()
}
