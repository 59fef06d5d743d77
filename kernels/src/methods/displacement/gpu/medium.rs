//! The upload of the medium to devices: blocks of lines are sent from page-locked memory, and padded along z on the
//! device.

use super::arguments::{Pad, kept, medium_planes};
use crate::Error;
use crate::boundary::free_surface::Surface;
use crate::device::accelerator::{Accelerator, Memory, Pinned, Stream, argument, walk};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::grid::stencil::RADIUS;
use crate::medium::stiffness::Symmetry;
use crate::medium::{Coefficients, Destination, Medium};
use crate::parallel::slabs::Slab as Layout;
use std::ops::Range;
use std::sync::Arc;

/// Number of blocks in flight at once.
pub const DEPTH: usize = 2;
/// Bytes of a block, summed over all arrays, which are enough to hide the latency of a transfer.
const BLOCK_BYTES: usize = 16 << 20;
/// Number of lines and bytes of a block, which contains whole lines of all arrays; values have `number` bytes.
pub fn block(padded: &Padded, kind: Coefficients, number: usize) -> (usize, usize) {
    let (nz, arrays) = (padded.model.n[0], kind.count(padded.ndim()) + 1);
    let line = nz * arrays * number;
    let lines = (BLOCK_BYTES / line).clamp(1, padded.model.cells() / nz);
    (lines, lines * line)
}

/// Lines of the model that a slab needs.
pub fn lines(padded: &Padded, layout: &Layout) -> Range<usize> {
    let rows = if padded.ndim() == 3 { padded.model.n[1] } else { 1 };
    let planes = medium_planes(padded, layout);
    planes.start * rows..planes.end * rows
}

/// One device with its slab and its part of the medium.
pub struct Place<A: Accelerator> {
    pub(super) accelerator: Arc<A>,
    pub(super) layout: Layout,
    /// Lines of the model that are needed here.
    lines: Range<usize>,
    /// Stiffness in memory order (`None` for coefficients that are not kept), then density as `dt^2/rho`.
    pub(super) arrays: Vec<Option<A::Memory>>,
    pad: A::Kernel,
    staging: Vec<A::Memory>,
    done: Vec<A::Event>,
}

/// A medium that is being uploaded.
pub struct Upload<T, A: Accelerator> {
    padded: Padded,
    surface: Surface,
    kind: Coefficients,
    scale: T,
    pub(super) places: Vec<Place<A>>,
    blocks: Vec<A::Pinned>,
    /// Largest number of lines of a block.
    capacity: usize,
    turn: usize,
}

impl<T: Real, A: Accelerator> Upload<T, A> {
    /// Allocates all arrays of an orthorhombic medium on the devices, one slab each. The stored values depend on the
    /// time step `dt` (s) of the run and on its condition on top, `surface`.
    pub fn new(
        padded: &Padded,
        machines: Vec<(Arc<A>, Layout)>,
        surface: Surface,
        dt: f32,
    ) -> Result<Self, Error> {
        Self::of_class(padded, machines, surface, dt, Symmetry::Orthorhombic)
    }

    /// Like [`Upload::new`], for a medium that is known to belong to this symmetry class, or a narrower one,
    /// before it is read: only the coefficients that the class needs are allocated.
    pub fn of_class(
        padded: &Padded,
        machines: Vec<(Arc<A>, Layout)>,
        surface: Surface,
        dt: f32,
        symmetry: Symmetry,
    ) -> Result<Self, Error> {
        let kind = symmetry.coefficients();
        let (capacity, bytes) = block(padded, kind, size_of::<T>());
        let kept = kept(padded.ndim(), symmetry);
        let first = machines
            .first()
            .ok_or_else(|| {
                Error::setup("no device was given for the upload of the medium; at least one is needed")
            })?
            .0
            .clone();
        let blocks = (0..DEPTH).map(|_| first.pin(bytes)).collect::<Result<_, _>>()?;
        let places = machines
            .into_iter()
            .map(|machine| Place::new::<T>(padded, machine, bytes, kind, &kept))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            padded: padded.clone(),
            surface,
            kind,
            scale: T::of(f64::from(dt)) * T::of(f64::from(dt)),
            places,
            blocks,
            capacity,
            turn: 0,
        })
    }

    /// The grid.
    pub fn padded(&self) -> &Padded {
        &self.padded
    }

    /// Largest number of lines of a block.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Memory for the next block, `[array][line][z of the model]`: stiffness in memory order, then density.
    pub fn numbers(&mut self, lines: usize) -> Result<&mut [T], Error> {
        assert!(lines <= self.capacity, "a block holds {} lines", self.capacity);
        for place in &self.places {
            place.accelerator.synchronize(&place.done[self.turn])?;
        }
        let count = (self.kind.count(self.padded.ndim()) + 1) * lines * self.padded.model.n[0];
        let bytes = &mut self.blocks[self.turn].bytes_mut()[..count * size_of::<T>()];
        Ok(bytemuck::cast_slice_mut(bytes))
    }

    /// Sends the block that [`Upload::numbers`] returned last, whose first line is `first`, to the devices that need
    /// it.
    pub fn send(&mut self, first: usize, lines: usize) -> Result<(), Error> {
        let turn = self.turn;
        for place in &self.places {
            let own = place.lines.start.max(first)..place.lines.end.min(first + lines);
            if !own.is_empty() {
                self.send_to(place, turn, first..first + lines, own)?;
            }
        }
        self.turn = (turn + 1) % DEPTH;
        Ok(())
    }

    fn send_to(
        &self,
        place: &Place<A>,
        turn: usize,
        block: Range<usize>,
        own: Range<usize>,
    ) -> Result<(), Error> {
        let (p, a) = (&self.padded, &place.accelerator);
        let (nz, number) = (p.model.n[0], size_of::<T>());
        let density = place.arrays.len() - 1;
        for (k, array) in place.arrays.iter().enumerate() {
            let Some(array) = array else { continue };
            let offset = (k * block.len() + own.start - block.start) * nz * number;
            let staging = place.staging[turn].address() + offset as u64;
            let to = array.address() + ((own.start - place.lines.start) * p.pitch() * number) as u64;
            let top = if self.surface == Surface::Vacuum && k < density {
                p.nb
            } else {
                RADIUS
            };
            let args = Pad {
                from: staging,
                to,
                lines: own.len() as i64,
                model_nz: nz as i32,
                nb: p.nb as i32,
                nz: p.n[0] as i32,
                pitch: p.pitch() as i32,
                top: top as i32,
                divide: i32::from(k == density),
                scale: self.scale,
            };
            // SAFETY: block and staging memory are not accessed again before the event recorded below is reached;
            // `array` contains all lines of the place.
            unsafe {
                a.upload(
                    Stream::Main,
                    &self.blocks[turn],
                    offset,
                    staging,
                    own.len() * nz * number,
                )?;
                a.launch(
                    Stream::Main,
                    &place.pad,
                    walk(own.len() * p.pitch()),
                    &argument(&args),
                )?;
            }
        }
        a.record(Stream::Main, &place.done[turn])
    }

    /// Sends a whole medium in host memory, which must contain the coefficients that are needed.
    pub fn medium(&mut self, medium: &Medium<T>) -> Result<(), Error> {
        let p = self.padded.clone();
        let coefficients = self.kind.count(p.ndim());
        let (nz, pitch) = (p.model.n[0], p.pitch());
        let lines = p.model.cells() / nz;
        for first in (0..lines).step_by(self.capacity) {
            let count = self.capacity.min(lines - first);
            let block = self.numbers(count)?;
            let arrays = medium.stiffness().take(coefficients).chain([medium.density()]);
            for (out, array) in block.chunks_mut(count * nz).zip(arrays) {
                for (k, line) in out.chunks_mut(nz).enumerate() {
                    let from = (first + k) * pitch + p.nb;
                    line.copy_from_slice(&array[from..from + nz]);
                }
            }
            self.send(first, count)?;
        }
        Ok(())
    }

    /// Ends the upload: frees the coefficients that the class of the medium does not need, and the memory for
    /// transfers.
    pub(super) fn finish(mut self, symmetry: Symmetry) -> Result<Vec<Place<A>>, Error> {
        let kept = kept(self.padded.ndim(), symmetry);
        for place in &mut self.places {
            place.accelerator.finish()?;
            place.staging.clear();
            let density = place.arrays.len() - 1;
            for (k, array) in place.arrays.iter_mut().enumerate() {
                if k != density && !kept.contains(&k) {
                    *array = None;
                }
            }
        }
        Ok(std::mem::take(&mut self.places))
    }
}

/// Blocks of the model are uploaded while the next one is read.
impl<A: Accelerator> Destination for Upload<f32, A> {
    fn coefficients(&self) -> Coefficients {
        self.kind
    }

    fn lines(&self, lines: usize) -> usize {
        lines.min(self.capacity)
    }

    fn block(&mut self, lines: usize) -> Result<&mut [f32], Error> {
        self.numbers(lines)
    }

    fn commit(&mut self, first_line: usize, lines: usize) -> Result<(), Error> {
        self.send(first_line, lines)
    }
}

impl<T, A: Accelerator> Drop for Upload<T, A> {
    fn drop(&mut self) {
        // Transfers may still be reading the page-locked blocks; their errors no longer matter.
        self.places
            .iter()
            .for_each(|place| drop(place.accelerator.finish()));
    }
}

impl<A: Accelerator> Place<A> {
    fn new<T: Real>(
        padded: &Padded,
        (accelerator, layout): (Arc<A>, Layout),
        staging: usize,
        kind: Coefficients,
        kept: &[usize],
    ) -> Result<Self, Error> {
        let lines = lines(padded, &layout);
        let bytes = lines.len() * padded.pitch() * size_of::<T>();
        let density = kind.count(padded.ndim());
        let arrays = (0..=density)
            .map(|k| {
                let needed = k == density || kept.contains(&k);
                needed.then(|| accelerator.allocate(bytes)).transpose()
            })
            .collect::<Result<_, _>>()?;
        let staging = (0..DEPTH)
            .map(|_| accelerator.allocate(staging))
            .collect::<Result<_, _>>()?;
        let done = (0..DEPTH)
            .map(|_| accelerator.event())
            .collect::<Result<_, _>>()?;
        let source = super::variant::pad_source(size_of::<T>() == 8, padded.ndim());
        let pad = accelerator.load(&source, &["pad"])?.remove(0);
        Ok(Self {
            accelerator,
            layout,
            lines,
            arrays,
            pad,
            staging,
            done,
        })
    }
}
