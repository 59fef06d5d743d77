//! The displacement method on accelerators: one kernel for strain, stress, force and time step, and a few small ones
//! for sources, faces and records. All code here uses the trait [`Accelerator`], so that the tests can run it on a
//! processor.

mod arguments;
mod halo;
mod launch;
mod medium;
mod memory;
pub mod parts;
mod plan;
mod record;
mod slab;
mod state;
mod survey;
pub mod tile;
pub mod variant;

pub use crate::parallel::options::Transport;
pub use medium::Upload;
pub use memory::{bytes, host_bytes};
pub use plan::calibrate;
pub use slab::DeviceSlab;

use super::receivers::Receivers;
use super::sources::Sources;
use super::{GHOST, Shot, SourceKind, check, schedule, sponges};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::medium::Medium;
use crate::medium::stiffness::Symmetry;
use crate::parallel::group::Group;
use crate::parallel::slabs::Slab as Layout;
use crate::receiver::Quantity;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;
use tile::{Terms, Tile};
use variant::Variant;

/// Data that the slabs of one shot share.
pub(crate) struct Setup<T> {
    pub padded: Padded,
    pub sources: Sources<T>,
    pub receivers: Receivers<T>,
    pub kind: SourceKind,
    pub potentials: bool,
    pub components: usize,
    pub window: [Range<usize>; 3],
    pub sponge: [Vec<T>; 3],
    pub jdata: usize,
    pub dt: f64,
}

/// A shot that is ready to run on accelerators, one slab on each.
pub struct Simulation<T: Real + Default, A: Accelerator> {
    setup: Arc<Setup<T>>,
    group: Group<DeviceSlab<T, A>>,
    variant: Variant,
}

/// A simulation dereferences to the group of its slabs, so that [`Group::run`], [`Group::run_among`],
/// [`Group::resume`] and the others are methods of a simulation, too.
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
    /// Checks the shot against the grid and allocates the fields for an uploaded medium of class `symmetry`, or of a
    /// narrower one. `tile` overrides the choice of the sweep's tile.
    ///
    /// # Errors
    /// Returns an error if the shot does not fit the grid, the tile does not fit the device, or a device fails.
    pub fn new(
        shot: &Shot,
        upload: Upload<T, A>,
        symmetry: Symmetry,
        tile: Option<Tile>,
    ) -> Result<Self, Error> {
        let padded = upload.padded().clone();
        check(shot, &padded)?;
        let sources = Sources::new(&padded, &shot.sources, shot.nbell, &shot.wavelet)?;
        let receivers = Receivers::new(&padded, &shot.receivers, shot.interpolate)?;
        let schedule = schedule(shot, &padded, sources.steps(), receivers.len());
        let double = size_of::<T>() == 8;
        let devices = || upload.places.iter().map(|place| place.accelerator.properties());
        let shared = devices().map(|d| d.shared_bytes).min().unwrap_or(0);
        let oldest = devices().map(|d| d.architecture).min().unwrap_or(0);
        let terms = Terms {
            ndim: padded.ndim(),
            double,
            symmetry,
            cells: padded.cells(),
            shortest: padded.n[..padded.ndim()].iter().copied().min().unwrap_or(0),
            rows: padded.rows(),
            architecture: oldest,
            clusters: devices().all(|d| d.clusters),
            shared_bytes: shared,
        };
        let tile = match tile {
            Some(tile) if tile.fits(&terms) => tile,
            Some(tile) => return Err(Error::setup(format!("{tile:?} does not fit {terms:?}"))),
            None => Tile::choose(&terms)?,
        };
        let variant = Variant {
            double,
            ndim: padded.ndim(),
            symmetry,
            absorbing: shot.absorbing,
            one_way: shot.one_way,
            surface: shot.surface,
            tile,
        };
        let setup = Arc::new(Setup {
            sources,
            receivers,
            kind: shot.kind,
            potentials: shot.quantity == Quantity::Potentials,
            components: schedule.components,
            window: shot
                .snapshots
                .as_ref()
                .map_or([0..0, 0..0, 0..0], |s| s.window.clone()),
            sponge: sponges(&padded),
            jdata: shot.jdata,
            dt: f64::from(shot.dt),
            padded,
        });
        let places = upload.finish(symmetry)?;
        let slabs = places
            .into_iter()
            .map(|place| DeviceSlab::new(setup.clone(), place, variant))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            setup,
            group: Group::new(slabs, schedule)?,
            variant,
        })
    }

    /// Bytes of memory of all devices, including messages to other ranks.
    pub fn bytes(&self) -> usize {
        self.group.subdomains.iter().map(DeviceSlab::bytes).sum::<usize>() + self.group.message_bytes()
    }

    /// Smallest number of values that a step must move per point of the padded grid: time levels and kept coefficients.
    pub fn words(&self) -> usize {
        let ndim = self.setup.padded.ndim();
        3 * ndim + arguments::kept(ndim, self.variant.symmetry).len() + 1
    }

    /// Starts from given fields instead of zero: `field(component, plane, out)` writes the values `[row][z]` of a plane
    /// that the slab owns, which are used for both the current and the previous time level. It does not fill ghosts, so
    /// it can only be used with one slab.
    pub fn start_from(&mut self, mut field: impl FnMut(usize, usize, &mut [T])) -> Result<(), Error> {
        for slab in &self.group.subdomains {
            let (p, own) = (&self.setup.padded, slab.layout.own.clone());
            let bytes = p.plane_len() * size_of::<T>();
            let mut host = slab.accelerator.pin(bytes)?;
            for (component, plane) in (0..p.ndim()).flat_map(|c| own.clone().map(move |q| (c, q))) {
                field(
                    component,
                    plane,
                    bytemuck::cast_slice_mut(&mut host.bytes_mut()[..bytes]),
                );
                let planes = component * (own.len() + 2 * GHOST) + GHOST + plane - own.start;
                for level in &slab.levels {
                    let to = level.address() + (planes * bytes) as u64;
                    // SAFETY: the plane lies in the level, and the host memory lives until the copy is done.
                    unsafe { slab.accelerator.upload(Stream::Main, &host, 0, to, bytes)? };
                }
                slab.accelerator.finish()?;
            }
        }
        Ok(())
    }
}

/// Uploads a medium in host memory and prepares a shot on it; `machines` lists each slab with its device.
pub fn from_medium<T: Real + Default, A: Accelerator>(
    shot: &Shot,
    medium: &Medium<T>,
    machines: Vec<(Arc<A>, Layout)>,
    symmetry: Symmetry,
) -> Result<Simulation<T, A>, Error> {
    let widest = Symmetry::widest(medium.coefficients());
    let mut upload = Upload::of_class(medium.padded(), machines, shot.surface, shot.dt, widest)?;
    upload.medium(medium)?;
    Simulation::new(shot, upload, symmetry, None)
}
