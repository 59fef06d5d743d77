//! The displacement method on accelerators: one kernel for strain, stress, force and time step, a few small ones for
//! sources, faces and records. Everything here speaks to [`Accelerator`], so that the tests can run it on a processor.

mod arguments;
mod calibrate;
mod ghosts;
mod launch;
mod medium;
mod memory;
mod outer;
pub mod parts;
mod record;
mod slab;
mod survey;
pub mod tile;
pub mod variant;

pub use crate::domain::company::Way;
pub use calibrate::calibrate;
pub use medium::Upload;
pub use memory::{bytes, host_bytes};
pub use slab::DeviceSlab;

use super::{Company, Shot, SourceKind, check, schedule, sponges};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Queue};
use crate::device::simd::Real;
use crate::domain::exchange::{Exchange, PeerToPeer};
use crate::domain::gather::{Gather, own, share};
use crate::domain::partition::{GHOST, Slab as Layout};
use crate::domain::ranks::Ranks;
use crate::domain::remote::Remote;
use crate::domain::sides;
use crate::grid::Padded;
use crate::medium::stiffness::Symmetry;
use crate::medium::{Medium, plane_names};
use crate::survey::{Receivers, Sources};
use crate::time_loop::{self, Recorder, Schedule, Slab};
use std::ops::Range;
use std::sync::Arc;
use tile::{Terms, Tile};
use variant::Variant;

/// What the slabs of one shot share.
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
}

/// A shot ready to run on accelerators, one slab each.
pub struct Simulation<T: Real, A: Accelerator> {
    setup: Arc<Setup<T>>,
    slabs: Vec<DeviceSlab<T, A>>,
    schedule: Schedule,
    variant: Variant,
    dt: f64,
    /// Bytes of the messages of the ranks that met last.
    messages: usize,
}

impl<T: Real + Default, A: Accelerator> Simulation<T, A> {
    /// Checks the shot against the grid and allocates the fields beside an uploaded medium of class `symmetry`, or of
    /// a narrower one. `tile` overrides how the sweep is cut.
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
            architecture: oldest,
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
            potentials: shot.potentials,
            components: schedule.components,
            window: shot
                .snapshots
                .as_ref()
                .map_or([0..0, 0..0, 0..0], |s| s.window.clone()),
            sponge: sponges(&padded),
            jdata: shot.jdata,
            padded,
        });
        let places = upload.finish(symmetry)?;
        let slabs = places
            .into_iter()
            .map(|place| DeviceSlab::new(setup.clone(), place, variant))
            .collect::<Result<Vec<_>, _>>()?;
        for pair in slabs.windows(2) {
            pair[0].accelerator().befriend(pair[1].accelerator())?;
        }
        Ok(Self {
            setup,
            slabs,
            schedule,
            variant,
            dt: f64::from(shot.dt),
            messages: 0,
        })
    }

    /// Steps to run.
    pub fn steps(&self) -> usize {
        self.schedule.nt
    }

    /// Bytes of memory of all devices, with the messages of the ranks that met last.
    pub fn bytes(&self) -> usize {
        self.slabs.iter().map(DeviceSlab::bytes).sum::<usize>() + self.messages
    }

    /// Numbers that a step must move at least for a point of the padded grid: levels and what is kept of the medium.
    pub fn words(&self) -> usize {
        let ndim = self.setup.padded.ndim();
        3 * ndim + arguments::kept(ndim, self.variant.symmetry).len() + 1
    }

    /// Starts from fields instead of silence: `field` writes the numbers `[row][z]` of an own plane of a component, the
    /// same for the current and the last time level. Ghosts follow with the first exchange, so this is for one slab.
    pub fn start_from(&mut self, mut field: impl FnMut(usize, usize, &mut [T])) -> Result<(), Error> {
        for slab in &self.slabs {
            let (p, own) = (&self.setup.padded, slab.layout().own.clone());
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
                    // SAFETY: the plane lies in the level; the copy is waited for.
                    unsafe { slab.accelerator.upload(Queue::Main, &host, 0, to, bytes)? };
                }
                slab.accelerator.finish()?;
            }
        }
        Ok(())
    }

    /// Runs all steps.
    pub fn run(&mut self, recorder: &mut dyn Recorder<T>) -> Result<(), Error> {
        self.run_by(&mut PeerToPeer, recorder)
    }

    /// Runs all steps as one of several ranks, each with devices of its own. Rank 0's recorder gets the traces.
    pub fn run_among(
        &mut self,
        ranks: &dyn Ranks,
        recorder: &mut dyn Recorder<T>,
        company: Company,
    ) -> Result<(), Error> {
        if ranks.size() == 1 {
            return self.run(recorder);
        }
        self.meet(ranks, company.way)?;
        let result = self.run_met(ranks, recorder, company);
        if matches!(result, Ok(()) | Err(Error::NotFinite { .. } | Error::Elsewhere)) {
            self.part(ranks)?;
        }
        result
    }

    /// [`Simulation::run_among`] between [`Simulation::meet`] and [`Simulation::part`], any number of times.
    pub fn run_met(
        &mut self,
        ranks: &dyn Ranks,
        recorder: &mut dyn Recorder<T>,
        company: Company,
    ) -> Result<(), Error> {
        let own = own(&self.slabs);
        let receivers = self.setup.receivers.within(&own);
        let share = share(&self.setup.window, self.setup.padded.ndim(), &own);
        let schedule = self.schedule.clone();
        let mut gather = Gather::new(ranks, recorder, &schedule, company.snapshots, (receivers, share))?;
        let planes = self.setup.padded.planes();
        // SAFETY: the slabs keep the memory of their messages until they part, after the exchange.
        let exchange = unsafe { Remote::new(PeerToPeer, ranks, &mut self.slabs, &own, planes)? };
        self.run_by(&mut exchange.manner(company.manner), &mut gather)
    }

    /// Ranks agree on the way of their ghosts. Returns the ways downwards and upwards. All ranks call this.
    pub fn meet(&mut self, ranks: &dyn Ranks, way: Way) -> Result<[Option<Way>; 2], Error> {
        let ways = sides::meet(&mut self.slabs, ranks, way)?;
        self.messages = sides::bytes(&self.slabs);
        Ok(ways)
    }

    /// Gives back what neighbours have lent, before anybody frees it. All ranks call this.
    pub fn part(&mut self, ranks: &dyn Ranks) -> Result<(), Error> {
        sides::part(&mut self.slabs, ranks)
    }

    fn run_by(
        &mut self,
        exchange: &mut dyn Exchange<DeviceSlab<T, A>>,
        recorder: &mut dyn Recorder<T>,
    ) -> Result<(), Error> {
        self.slabs.iter_mut().for_each(DeviceSlab::rewind);
        let bad = std::cell::Cell::new(None);
        let seen = |step: usize, cell: [usize; 3]| {
            bad.set(Some((step, cell)));
            Error::setup("the wavefield is not finite")
        };
        let result = time_loop::run(&mut self.slabs, exchange, &self.schedule, recorder, &seen);
        // Nothing may be left in the queues, whatever happened; the first error is the one that tells why.
        let finished = self.slabs.iter().map(|slab| slab.accelerator().finish());
        let finished = finished.fold(Ok(()), Result::and);
        match bad.get() {
            Some((step, cell)) => Err(Error::NotFinite {
                step,
                cell: self.setup.padded.describe(cell),
                medium: self.describe(cell)?,
            }),
            None => result.and(finished),
        }
    }

    /// Density and stiffness at a padded cell in words.
    fn describe(&self, cell: [usize; 3]) -> Result<String, Error> {
        let p = &self.setup.padded;
        let (plane, row) = if p.ndim() == 3 {
            (cell[2], cell[1])
        } else {
            (cell[1], 0)
        };
        let slab = self.slabs.iter().find(|s| s.layout().own.contains(&plane));
        let slab = slab.ok_or_else(|| Error::setup("no slab owns the cell"))?;
        let z = cell[0].clamp(p.nb, p.nb + p.model.n[0] - 1);
        let rows = if p.ndim() == 3 { p.model.n[1] } else { 1 };
        let first = arguments::medium_planes(p, &slab.layout).start;
        let line = (p.model_plane(plane) - first) * rows + p.model_row(row);
        let at = (line * p.pitch() + z) * size_of::<T>();
        let read = |memory: &A::Memory| -> Result<f64, Error> {
            let mut host = slab.accelerator.pin(size_of::<T>())?;
            // SAFETY: the cell lies in the array; the copy is waited for.
            unsafe {
                let from = memory.address() + at as u64;
                slab.accelerator
                    .download(Queue::Main, from, &mut host, 0, size_of::<T>())?;
            }
            slab.accelerator.finish()?;
            Ok(bytemuck::cast_slice::<u8, T>(&host.bytes()[..size_of::<T>()])[0].f64())
        };
        let mut words = Vec::new();
        let names = plane_names(p.ndim()).iter().copied().chain(["density"]);
        for (name, memory) in names.zip(&slab.medium) {
            if let Some(memory) = memory {
                let value = read(memory)?;
                let value = if name == "density" {
                    self.dt * self.dt / value
                } else {
                    value
                };
                words.push(format!("{name}={}", value as f32));
            }
        }
        words.rotate_right(1);
        Ok(format!(
            "medium there ({}): {}",
            self.variant.symmetry,
            words.join(" ")
        ))
    }
}

/// Uploads a medium of this host and prepares a shot on it: `machines` gives each slab its device.
pub fn from_medium<T: Real + Default, A: Accelerator>(
    shot: &Shot,
    medium: &Medium<T>,
    machines: Vec<(Arc<A>, Layout)>,
    symmetry: Symmetry,
) -> Result<Simulation<T, A>, Error> {
    let mut upload = Upload::new(medium.padded(), machines, shot.surface, shot.dt)?;
    upload.medium(medium)?;
    Simulation::new(shot, upload, symmetry, None)
}
