//! The displacement method on processors: stress is kept in a ring buffer of planes that fits in the cache.
//!
//! The next time level overwrites the previous one in place, and the current level is only read. Tiles can therefore
//! be computed in any order, and any partition into slabs, tiles and threads gives the same bits.

use super::GHOST;
use super::receivers::potential;
use super::sweep::View;
use super::tiling::{Tile, Tiling};
use super::{Setup, snapshot_component};
use crate::Error;
use crate::device::{
    cpu::{Buffer, first_bad},
    simd::Real,
};
use crate::parallel::group::Subdomain;
use crate::parallel::halo::{HostHalo, HostNetwork, Link, Linked};
use crate::parallel::slabs::Slab as Layout;
use crate::time_loop::{Direction, Part, Sampler, Stepper};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Smallest number of planes of a sweep for which another thread is worthwhile.
const CHUNK_PLANES: usize = 32;

/// One slab of the grid in host memory.
pub struct CpuSlab<T: Real> {
    pub(super) setup: Arc<Setup<T>>,
    pub(super) layout: Layout,
    /// Two time levels, `[component][ghost + own + ghost planes][row][z]`.
    pub(super) levels: [Buffer<T>; 2],
    /// Index of the level `u(t)`; the other level is `u(t-dt)` and becomes `u(t+dt)`.
    pub(super) now: usize,
    direction: Direction,
    tiling: Tiling,
    /// Pieces of snapshots that were requested.
    pieces: VecDeque<Vec<T>>,
    links: Vec<Link>,
    rings: Vec<Mutex<Buffer<T>>>,
}

impl<T: Real> CpuSlab<T> {
    pub(super) fn new(setup: Arc<Setup<T>>, layout: Layout) -> Result<Self, Error> {
        let p = &setup.padded;
        let len = p.ndim() * (layout.own.len() + 2 * GHOST) * p.plane_len();
        let tiling = Tiling::new(p, size_of::<T>(), &setup.cpu);
        let ring = |_| Buffer::zeroed(tiling.ring_len()).map(Mutex::new);
        let rings = (0..setup.cpu.threads()).map(ring).collect::<Result<_, _>>()?;
        Ok(Self {
            levels: [Buffer::zeroed(len)?, Buffer::zeroed(len)?],
            now: 0,
            direction: Direction::Forward,
            tiling,
            pieces: VecDeque::new(),
            links: layout.links(p.planes(), (GHOST, p.plane_len()), &[(0..p.ndim()).collect()]),
            rings,
            layout,
            setup,
        })
    }

    /// Bytes of fields and scratch memory.
    pub fn bytes(&self) -> usize {
        let rings: usize = self.rings.iter().map(|r| r.lock().map_or(0, |b| b.bytes())).sum();
        self.levels.iter().map(Buffer::bytes).sum::<usize>() + rings
    }

    fn component_len(&self) -> usize {
        (self.layout.own.len() + 2 * GHOST) * self.setup.padded.plane_len()
    }

    /// Index of a cell in a level, by padded plane, row and z; the plane may be a ghost.
    pub(super) fn at(&self, component: usize, plane: usize, row: usize, z: usize) -> usize {
        let p = &self.setup.padded;
        let local = plane + GHOST - self.layout.own.start;
        component * self.component_len() + local * p.plane_len() + row * p.pitch() + z
    }

    /// Displacement (or, with `opot=y`, a potential) of the current level.
    fn value(&self, component: usize, plane: usize, row: usize, z: usize) -> T {
        let u = self.levels[self.now].as_slice();
        if !self.setup.potentials {
            return u[self.at(component, plane, row, z)];
        }
        let p = &self.setup.padded;
        let value = |c: usize, i: [usize; 3]| {
            let (plane, row) = if p.ndim() == 3 { (i[2], i[1]) } else { (i[1], 0) };
            u[self.at(c, plane, row, i[0])].f64()
        };
        T::of(potential(p, component, p.index(plane, row, z), value))
    }

    /// Appends one plane of one component of the snapshot window.
    fn pack(&self, component: usize, plane: usize, out: &mut Vec<T>) {
        let [z, x, _] = &self.setup.window;
        let three = self.setup.padded.ndim() == 3;
        let component = snapshot_component(component, three && self.setup.potentials);
        for row in if three { x.clone() } else { 0..1 } {
            out.extend(z.clone().map(|z| self.value(component, plane, row, z)));
        }
    }

    /// Planes of the snapshot window.
    fn window_planes(&self) -> &Range<usize> {
        &self.setup.window[self.setup.padded.ndim() - 1]
    }

    fn tiles(&self, planes: &Range<usize>) -> Vec<Tile> {
        let threads = self.setup.cpu.threads();
        let columns = self.tiling.columns();
        let per_column = if threads == 1 {
            1
        } else {
            (2 * threads).div_ceil(columns.len())
        };
        let chunks = per_column.min(planes.len() / CHUNK_PLANES).max(1);
        let cut = |k: usize| planes.start + planes.len() * k / chunks;
        let tile = |k: usize, c: &(Range<usize>, Range<usize>)| Tile {
            rows: c.0.clone(),
            z: c.1.clone(),
            planes: cut(k)..cut(k + 1),
        };
        (0..chunks)
            .flat_map(|k| columns.iter().map(move |c| tile(k, c)))
            .collect()
    }

    /// Computes a step on some of the planes.
    fn update_planes(&mut self, planes: Range<usize>, it: usize) {
        let tiles = self.tiles(&planes);
        let component = self.component_len();
        let (low, high) = self.levels.split_at_mut(1);
        let (curr, next) = if self.now == 0 {
            (&low[0], &mut high[0])
        } else {
            (&high[0], &mut low[0])
        };
        let setup = &*self.setup;
        let view = View {
            setup,
            first: self.layout.own.start,
            curr: curr.as_slice().as_ptr(),
            next: next.as_mut_slice().as_mut_ptr(),
            component,
            it,
            tiling: &self.tiling,
        };
        let p = &setup.padded;
        setup.cpu.for_each(tiles.len(), |worker, k| {
            let tile = &tiles[k];
            let mut buffer = self.rings[worker]
                .lock()
                .expect("a worker runs one job at a time");
            let mut ring = self.tiling.ring(tile, buffer.as_mut_slice());
            match (p.ndim(), setup.frame.is_some()) {
                (3, true) => view.sweep::<3, true>(tile, &mut ring),
                (3, false) => view.sweep::<3, false>(tile, &mut ring),
                (_, true) => view.sweep::<2, true>(tile, &mut ring),
                (_, false) => view.sweep::<2, false>(tile, &mut ring),
            }
        });
        if setup.frame.is_some() {
            view.plane_faces(&planes);
        }
    }
}

impl<T: Real> CpuSlab<T> {
    fn update_part(&mut self, part: Part, step: usize) {
        // Only tests run f64, which is therefore compiled with them.
        if const { size_of::<T>() != size_of::<f32>() } {
            return self.update_part_of((part, step));
        }
        compiled_here!(self: CpuSlab<f32>, update_part_of((part, step)): (Part, usize));
    }

    fn update_part_of(&mut self, (part, step): (Part, usize)) {
        let planes = self.layout.part(part);
        planes.for_each(|planes| self.update_planes(planes, step));
    }
}

impl<T: Real> Stepper for CpuSlab<T> {
    type Number = T;

    fn stages(&self) -> usize {
        1
    }

    fn has_neighbours(&self) -> bool {
        !self.links.is_empty()
    }

    fn update(&mut self, _stage: usize, part: Part, step: usize) -> Result<(), Error> {
        self.update_part(part, step);
        Ok(())
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        self.now = 1 - self.now;
        Ok(())
    }

    /// The equation is the same in both directions of time; the two time levels are exchanged.
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        if direction != self.direction {
            super::reversible(self.setup.frame.is_some())?;
            (self.direction, self.now) = (direction, 1 - self.now);
        }
        Ok(())
    }
}

impl<T: Real> Sampler for CpuSlab<T> {
    fn traces(&mut self, out: &mut [T]) -> Result<(), Error> {
        let receivers = &self.setup.receivers;
        for (component, out) in out.chunks_mut(receivers.len()).enumerate() {
            receivers.extract(
                &self.layout.own,
                |z, row, plane| self.value(component, plane, row, z),
                out,
            );
        }
        Ok(())
    }

    fn snapshot_share(&self) -> Vec<Range<usize>> {
        self.layout
            .snapshot_share(&self.setup.window, self.setup.padded.ndim())
    }

    fn pieces(&self) -> usize {
        self.layout.pieces(self.window_planes(), 1)
    }

    fn request_piece(&mut self, component: usize, piece: usize) -> Result<(), Error> {
        let planes = self.layout.piece(self.window_planes(), 1, piece);
        let mut numbers = Vec::new();
        planes.for_each(|plane| self.pack(component, plane, &mut numbers));
        self.pieces.push_back(numbers);
        Ok(())
    }

    fn take_piece(&mut self, out: &mut Vec<T>) -> Result<(), Error> {
        out.extend(self.pieces.pop_front().expect("a piece was requested"));
        Ok(())
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        let p = &self.setup.padded;
        let u = self.levels[self.now].as_slice();
        let own = &self.layout.own;
        let cell = self.setup.cpu.least(own.len(), |k| {
            let bad = (0..p.ndim()).find_map(|c| {
                let from = self.at(c, own.start + k, 0, 0);
                first_bad(&u[from..from + p.plane_len()])
            });
            bad.map(|cell| (own.start + k) * p.plane_len() + cell)
        });
        Ok(cell)
    }
}

impl<T: Real> Linked for CpuSlab<T> {
    fn number(&self) -> usize {
        self.layout.number
    }

    fn links(&self) -> &[Link] {
        &self.links
    }
}

impl<T: Real> HostHalo for CpuSlab<T> {
    fn exchanged(&mut self, _stage: usize) -> &mut [T] {
        self.levels[1 - self.now].as_mut_slice()
    }
}

impl<T: Real + Default + bytemuck::Pod> Subdomain for CpuSlab<T> {
    type Network = HostNetwork<T>;

    fn receivers(&self) -> Vec<usize> {
        self.setup.receivers.within(&self.layout.own)
    }

    fn owns(&self, place: usize) -> bool {
        self.layout.own.contains(&(place / self.setup.padded.plane_len()))
    }

    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        let cell = self.setup.padded.cell_at(place);
        let dt2 = self.setup.dt.f64() * self.setup.dt.f64();
        let medium = self.setup.medium.describe(cell, |b| dt2 / b);
        Ok((self.setup.padded.describe(cell), medium))
    }
}
