//! The velocity-stress method on accelerators: one kernel for each stage, another for the rows and planes in layers,
//! and small ones for the free surface, sources and records. All code here is generic over [`Accelerator`], so that
//! tests can run it on a processor.

mod arguments;
mod frame;
mod halo;
mod launch;
mod lines;
mod medium;
mod memory;
mod points;
mod record;
mod slab;
mod state;
pub mod tile;
pub mod variant;

pub use medium::{Upload, host_bytes};
pub use memory::bytes;
pub use slab::DeviceSlab;

use super::absorbing_frame::Edges;
use super::adjoint::Adjoint;
use super::attenuation::{Attenuation, patterns};
use super::layout::RIM;
use super::points::Placer;
use super::receivers::{Quantity, Receivers};
use super::rows::MOST;
use super::sources::SourceNodes;
use super::stress_rows::Pattern;
use super::surface::Images;
use super::{Shot, check, gather_maps, over_spacing, reversible, schedule, surface_planes, travelling};
use crate::Error;
use crate::communicator::{Communicator, agree};
use crate::device::accelerator::Accelerator;
use crate::device::cpu::Cpu;
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::medium::attenuation::Law;
use crate::medium::{Medium, Symmetry};
use crate::parallel::group::Group;
use crate::parallel::slabs::Slab as Layout;
use crate::time_loop::Schedule;
use frame::Bounds;
use medium::Densities;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;
use tile::Tile;
use variant::{Edge, Variant};

/// The sources and receivers of a shot.
pub(super) struct Acquisition<T> {
    pub spots: SourceNodes<T>,
    pub receivers: Receivers<T>,
}

impl<T: Real> Acquisition<T> {
    /// Places the sources and receivers of a shot on the planes `own` of a grid.
    fn new(
        shot: &Shot,
        (padded, own): (&Padded, &Range<usize>),
        densities: &Densities<T>,
    ) -> Result<Self, Error> {
        let adjoint = shot
            .surface
            .then_some(check(shot, padded)?)
            .map(|weights| Adjoint::new(&weights));
        let placer = Placer {
            padded,
            free: adjoint.as_ref(),
        };
        let buoyancy = |field: usize, plane: usize, row: usize, z: usize| {
            densities.buoyancy(padded, shot.dt, field, [plane, row, z])
        };
        let spots = SourceNodes::new(&placer, (buoyancy, own), &shot.sources, &shot.series, shot.dt)?;
        if !spots.is_finite() {
            return Err(Error::setup(
                "the density at a source of this shot was not kept: announce the shot before the medium is sent",
            ));
        }
        Ok(Self {
            spots,
            receivers: Receivers::new(&placer, &shot.receivers, shot.quantity)?,
        })
    }
}

/// The data that the slabs of a run share.
pub(super) struct Setup<T> {
    pub padded: Padded,
    pub edges: Edges<T>,
    pub bounds: Bounds,
    pub surface: Option<Images<T>>,
    pub quantity: Quantity,
    pub peaks: bool,
    pub window: [Range<usize>; 3],
    pub weights: [[T; MOST]; 3],
    pub travelling: [Vec<usize>; 2],
    /// Coefficients of the relaxation mechanisms on even and odd planes; empty without attenuation.
    pub patterns: [Vec<[Pattern<T>; 2]>; 2],
    pub dt: f64,
}

impl<T: Real> Setup<T> {
    fn new<A: Accelerator>(shot: &Shot, upload: &Upload<'_, T, A>, weights: &[f64]) -> Self {
        let padded = upload.padded().clone();
        let ndim = padded.ndim();
        let edges = Edges::new(&padded, &shot.frame, shot.dt);
        let patterns = |(losses, law): &(Attenuation, Law)| {
            [0, 1].map(|plane| patterns(law, losses.mechanisms, ndim, plane, shot.dt))
        };
        Self {
            bounds: Bounds::new(&padded, &edges),
            edges,
            surface: shot.surface.then(|| Images::new(weights.len())),
            quantity: shot.quantity,
            peaks: shot.peaks,
            window: shot
                .snapshots
                .as_ref()
                .map_or([0..0, 0..0, 0..0], |s| s.window.clone()),
            weights: over_spacing(&padded, weights),
            travelling: travelling(ndim, shot.quantity),
            dt: shot.dt,
            patterns: upload.losses.as_ref().map(patterns).unwrap_or_default(),
            padded,
        }
    }

    /// Refuses to run backward where energy is lost or recorded quantities depend on all steps so far.
    pub fn reversible(&self) -> Result<(), Error> {
        let keeps = self.peaks || self.quantity.runs();
        reversible(self.edges.absorbs(), !self.patterns[0].is_empty(), keeps)
    }

    /// Bytes from the start of a row to its first computed cell.
    pub fn first(&self) -> usize {
        RIM * size_of::<T>()
    }

    /// The absorbing boundary.
    pub fn edge(&self) -> Edge {
        let along_z = self.bounds.along_z();
        match self.edges.weights() {
            Some(_) => Edge::Sponge,
            None if along_z || self.has_boxes() => Edge::Layers { along_z },
            None => Edge::Rigid,
        }
    }

    /// Whether rows and planes in layers are updated in separate boxes.
    pub fn has_boxes(&self) -> bool {
        !self.bounds.boxes(&(0..self.padded.planes())).1.is_empty()
    }
}

/// Shots ready to run on accelerators: a single shot with one slab on each of them, or several shots side by side on
/// one accelerator. The records of several shots are concatenated, like further components.
pub struct Simulation<T: Real + Default, A: Accelerator> {
    setup: Arc<Setup<T>>,
    densities: Densities<T>,
    /// Planes of all slabs.
    own: Range<usize>,
    /// The number of shots for which memory was allocated.
    most: usize,
    group: Group<DeviceSlab<T, A>>,
}

/// A simulation dereferences to the group of its slabs, so that [`Group::run`], [`Group::run_among`],
/// [`Group::resume`] and the other methods of a group are available on it.
impl<T: Real + Default, A: Accelerator> Deref for Simulation<T, A> {
    type Target = Group<DeviceSlab<T, A>>;

    fn deref(&self) -> &Self::Target {
        &self.group
    }
}

impl<T: Real + Default, A: Accelerator> DerefMut for Simulation<T, A> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.group
    }
}

impl<T: Real + Default, A: Accelerator> Simulation<T, A> {
    /// Allocates the fields of a shot on the devices that hold its medium, which is of class `class` or was read as a
    /// wider one. `tile` overrides the block sizes of the kernels.
    pub fn new(
        shot: &Shot,
        upload: Upload<'_, T, A>,
        class: Symmetry,
        tile: Option<Tile>,
    ) -> Result<Self, Error> {
        Self::side_by_side(std::slice::from_ref(shot), upload, class, tile)
    }

    /// [`Simulation::new`] for several shots that run side by side, because a small grid does not fill a device. They
    /// differ in their sources and receivers only, have the same number of receivers, a single slab, no snapshots and
    /// no map of peaks.
    ///
    /// # Errors
    /// Returns the errors of [`Simulation::new`], and an error for shots that cannot run side by side.
    pub fn side_by_side(
        shots: &[Shot],
        upload: Upload<'_, T, A>,
        class: Symmetry,
        tile: Option<Tile>,
    ) -> Result<Self, Error> {
        let padded = upload.padded().clone();
        let shot = shots.first().ok_or_else(|| Error::setup("no shot to run"))?;
        let weights = check(shot, &padded)?;
        let ndim = padded.ndim();
        let setup = Arc::new(Setup::new(shot, &upload, &weights));
        let schedule = schedule_of(shots, &padded)?;
        let own = upload.own();
        let double = size_of::<T>() == 8;
        let mechanisms = setup.patterns[0].len();
        let variant = Variant {
            double,
            ndim,
            half: weights.len(),
            isotropic: class == Symmetry::Isotropic,
            shears_in_place: shot.shears_in_place,
            edge: setup.edge(),
            mechanisms,
            several: shots.len() > 1,
            tile: tile.unwrap_or_else(|| Tile::choose(ndim, weights.len(), mechanisms, double)),
        };
        let (slabs, densities) = upload.finish(class)?;
        if shots.len() > 1 && slabs.len() > 1 {
            return Err(Error::setup(
                "several shots side by side run on a single device only: give one device, or one shot at a time",
            ));
        }
        let all = acquisitions(shots, (&padded, &own), &densities)?;
        let slabs = slabs
            .into_iter()
            .map(|held| DeviceSlab::new((setup.clone(), all.clone()), held, variant))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            setup,
            densities,
            own,
            most: shots.len(),
            group: Group::new(slabs, schedule)?,
        })
    }

    /// Prepares other shots, which differ from the previous ones in their sources and receivers only and are at most
    /// as many as at first; the medium, the kernels and the memory are reused.
    ///
    /// # Errors
    /// Returns an error for too many shots, or for a force whose density [`Upload::keep_for`] has not kept.
    pub fn next_shots(&mut self, shots: &[Shot]) -> Result<(), Error> {
        if shots.is_empty() || shots.len() > self.most {
            return Err(Error::setup(format!(
                "{} shots side by side: their number must be 1 to {}, for which memory was allocated",
                shots.len(),
                self.most
            )));
        }
        let padded = &self.setup.padded;
        *self.group.schedule() = schedule_of(shots, padded)?;
        let all = acquisitions(shots, (padded, &self.own), &self.densities)?;
        let slabs = self.group.subdomains.iter_mut();
        slabs
            .into_iter()
            .try_for_each(|slab| slab.next_shots(all.clone()))
    }

    /// The largest number of shots that can run side by side.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Bytes of memory of all devices, with the message buffers of the most recently connected ranks.
    pub fn bytes(&self) -> usize {
        self.group.subdomains.iter().map(DeviceSlab::bytes).sum::<usize>() + self.group.message_bytes()
    }

    /// Gathers [`Simulation::peaks`] of all ranks on rank 0, in the order of the planes; the other ranks receive an
    /// empty vector. Collective: all ranks must call this.
    pub fn peaks_among(&self, ranks: &dyn Communicator) -> Result<Vec<T>, Error> {
        gather_maps(agree(ranks, self.peaks())?, ranks)
    }

    /// The largest horizontal speed so far, in m/s, at every top node of this process's part of the model, `[y][x]`
    /// (2-D: `[x]`); empty if [`Shot::peaks`] is not set.
    pub fn peaks(&self) -> Result<Vec<T>, Error> {
        let each = self
            .group
            .subdomains
            .iter()
            .map(|s| Ok((s.layout.clone(), s.peaks()?)));
        let each: Vec<(Layout, Vec<T>)> = each.collect::<Result<_, Error>>()?;
        let parts = each.iter().map(|(layout, peaks)| (layout, peaks.as_slice()));
        Ok(surface_planes(&self.setup.padded, parts))
    }

    /// Starts from given fields instead of zeros: `field(field, plane, values)` writes the values `[row][z]` of a plane
    /// of a field that the slab owns. It also sets the rim, so this is for speed measurements only.
    pub fn start_from(&mut self, mut field: impl FnMut(usize, usize, &mut [T])) -> Result<(), Error> {
        for slab in &self.group.subdomains {
            slab.start_from(&mut field)?;
        }
        Ok(())
    }
}

/// The sources and receivers of each shot.
fn acquisitions<T: Real>(
    shots: &[Shot],
    on: (&Padded, &Range<usize>),
    densities: &Densities<T>,
) -> Result<Arc<[Acquisition<T>]>, Error> {
    let each = |shot| Acquisition::new(shot, on, densities);
    shots.iter().map(each).collect()
}

/// The schedule of shots that run side by side: a record holds the values of all shots.
fn schedule_of(shots: &[Shot], padded: &Padded) -> Result<Schedule, Error> {
    let first = &shots[0];
    for shot in shots {
        check(shot, padded)?;
    }
    let alike = |shot: &Shot| (shot.nt, shot.receivers.len()) == (first.nt, first.receivers.len());
    if !shots.iter().all(alike) {
        return Err(Error::setup(
            "shots that run side by side must have the same number of steps and of receivers",
        ));
    }
    if shots.len() > 1 && (first.peaks || first.snapshots.is_some()) {
        return Err(Error::setup(
            "shots that run side by side record no snapshots and no maps of peaks: run them one by one",
        ));
    }
    Ok(schedule(first, padded, shots.len() * first.receivers.len()))
}

/// Sends a medium from the host and prepares a shot on it: `machines` gives each slab its device, `tile` overrides
/// the block sizes of the kernels, and `cpu` converts the medium.
pub fn from_medium<T: Real + Default, A: Accelerator>(
    shot: &Shot,
    raw: &Medium<T>,
    class: Symmetry,
    (machines, tile): (Vec<(Arc<A>, Layout)>, Option<Tile>),
    cpu: &Cpu,
) -> Result<Simulation<T, A>, Error> {
    let mut upload = Upload::new(shot, raw.padded(), machines, class, cpu)?;
    upload.medium(raw)?;
    Simulation::new(shot, upload, class, tile)
}
