//! Steps 1-7 on processors: a sweep along the planes of a tile, stress in a ring of planes that fits the cache.
//!
//! At plane `j` a sweep computes the stress of plane `j` into the ring and then updates plane `j-4`, whose force
//! needs stresses up to four planes away. A tile is a range of rows and of cells along `z`; stress is recomputed in a
//! halo around it. Within a plane the cells go in short runs along `z`, row after row, so that the nine rows of a
//! derivative across rows stay in the first-level cache.

use super::rows::{self, Field, PP, RP, RR, STRESSES, Stress, Update, ZP, ZR, ZZ};
use super::{Setup, SourceKind};
use crate::device::simd::Real;
use crate::grid::{PITCH, Padded};
use crate::medium::live_z;
use crate::stencil::RADIUS;
use std::ops::Range;

/// Bytes of ring and displacement that a tile may touch: they should stay in a second-level cache of 1 to 2 MB.
const TILE_BYTES: usize = 1 << 20;
/// Cells of a run along `z`, a multiple of the pitch's unit.
const RUN: usize = 4 * PITCH;

/// Planes of the ring by stress: those differentiated along planes are needed four planes to either side, the
/// others from the plane of the stress to the plane of the update.
const SLOTS: [usize; STRESSES] = [2 * RADIUS + 1, 2 * RADIUS + 1, RADIUS + 1, 2 * RADIUS + 1, RADIUS + 1, RADIUS + 1];

/// A piece of a slab that one thread sweeps; `z` is a multiple of the pitch's unit at both ends.
pub(super) struct Tile {
    pub rows: Range<usize>,
    pub z: Range<usize>,
    pub planes: Range<usize>,
}

/// How rows and `z` are cut into tiles.
pub(super) struct Tiling {
    ndim: usize,
    rows: Vec<Range<usize>>,
    z: Vec<Range<usize>>,
}

impl Tiling {
    /// The tiling of least recomputation whose tiles fit the cache.
    pub fn new(p: &Padded, bytes: usize) -> Self {
        let (rows, units) = (p.rows(), p.pitch() / PITCH);
        let fields = p.ndim() * (2 * RADIUS + 1);
        let mut best = (f64::INFINITY, 1, 1);
        for nz in 1..=(units / 2).max(1) {
            for nr in 1..=(rows / 12).max(1) {
                let (r, z) = (rows.div_ceil(nr), units.div_ceil(nz) * PITCH);
                let halo_r = if p.ndim() == 3 && nr > 1 { r + 2 * RADIUS } else { r };
                let halo_z = if nz > 1 { z + 2 * PITCH } else { z };
                let across: usize = if p.ndim() == 3 { 23 * r + 19 * halo_r } else { 23 };
                let held = (across + fields * halo_r) * halo_z * bytes;
                let work = (halo_r * halo_z) as f64 / (r * z) as f64;
                // What does not fit is read again from further away: as bad as computing it again.
                let cost = work.max(1.0) + (held as f64 / TILE_BYTES as f64 - 1.0).max(0.0);
                if cost < best.0 {
                    best = (cost, nr, nz);
                }
            }
        }
        let cut = |n: usize, count: usize, unit: usize| -> Vec<Range<usize>> {
            (0..count).map(|k| n * k / count * unit..n * (k + 1) / count * unit).collect()
        };
        Self { ndim: p.ndim(), rows: cut(rows, best.1, 1), z: cut(units, best.2, PITCH) }
    }

    /// Rows and `z` range of every tile.
    pub fn columns(&self) -> Vec<(Range<usize>, Range<usize>)> {
        self.rows.iter().flat_map(|r| self.z.iter().map(|z| (r.clone(), z.clone()))).collect()
    }

    /// Numbers of a ring that serves every tile.
    pub fn ring_len(&self) -> usize {
        let longest = |v: &[Range<usize>]| v.iter().map(Range::len).max().unwrap_or(0);
        let halo = if self.ndim == 3 { RADIUS } else { 0 };
        let (rows, pitch) = (longest(&self.rows), longest(&self.z) + 2 * PITCH);
        (0..STRESSES).map(|k| SLOTS[k] * (rows + if k < RP { 0 } else { 2 * halo }) * pitch).sum::<usize>() + 2 * PITCH
    }

    /// The ring of a tile in this memory.
    pub fn ring<'a, T>(&self, tile: &Tile, data: &'a mut [T]) -> Ring<'a, T> {
        let halo = if self.ndim == 3 { RADIUS } else { 0 };
        let pitch = tile.z.len() + 2 * PITCH;
        let mut ring = Ring { data, start: [0; STRESSES], first_row: [0; STRESSES], plane_len: [0; STRESSES], pitch, first_z: tile.z.start as isize - PITCH as isize };
        let mut start = PITCH;
        for k in 0..STRESSES {
            let halo = if k < RP { 0 } else { halo };
            ring.start[k] = start;
            ring.first_row[k] = tile.rows.start as isize - halo as isize;
            ring.plane_len[k] = (tile.rows.len() + 2 * halo) * pitch;
            start += SLOTS[k] * ring.plane_len[k];
        }
        ring
    }
}

/// The stress planes of a tile, `[slot][row][z]` each, `z` with one unit of halo at either end.
pub(super) struct Ring<'a, T> {
    data: &'a mut [T],
    start: [usize; STRESSES],
    first_row: [isize; STRESSES],
    plane_len: [usize; STRESSES],
    pitch: usize,
    first_z: isize,
}

impl<T: Real> Ring<'_, T> {
    fn at(&self, stress: usize, plane: usize, row: usize, z: usize) -> usize {
        let row = (row as isize - self.first_row[stress]) as usize;
        let z = (z as isize - self.first_z) as usize;
        self.start[stress] + plane % SLOTS[stress] * self.plane_len[stress] + row * self.pitch + z
    }

    fn cells(&mut self, stress: usize, plane: usize, row: usize, z: Range<usize>) -> &mut [T] {
        let at = self.at(stress, plane, row, z.start);
        &mut self.data[at..at + z.len()]
    }
}

/// The slab as raw memory, shared by the threads of an update.
pub(super) struct View<'a, T> {
    pub setup: &'a Setup<T>,
    /// First own plane.
    pub first: usize,
    pub curr: *const T,
    /// `u(t-dt)`, replaced by `u(t+dt)`.
    pub next: *mut T,
    /// Numbers from component to component.
    pub component: usize,
    pub it: usize,
}

// SAFETY: `curr` is only read; every row of `next` is written by the one tile or face job it belongs to.
unsafe impl<T: Sync> Sync for View<'_, T> {}

impl<T: Real> View<'_, T> {
    /// Offset of a row in a component; planes may be ghosts.
    pub fn row(&self, plane: usize, row: usize) -> usize {
        let p = &self.setup.padded;
        (plane + crate::domain::partition::GHOST - self.first) * p.plane_len() + row * p.pitch()
    }

    /// Memory order of the components that [`rows`] calls z, plane, row.
    fn order<const NDIM: usize>() -> [usize; 3] {
        if NDIM == 3 { [0, 2, 1] } else { [0, 1, 0] }
    }

    /// Steps 1-7 and the in-plane part of step 8 over a tile.
    pub fn sweep<const NDIM: usize, const DAMPED: bool>(&self, tile: &Tile, ring: &mut Ring<'_, T>) {
        let p = &self.setup.padded;
        let halo_rows = match NDIM {
            3 => tile.rows.start.saturating_sub(RADIUS)..(tile.rows.end + RADIUS).min(p.rows()),
            _ => 0..1,
        };
        let halo_z = tile.z.start.saturating_sub(PITCH)..(tile.z.end + PITCH).min(p.pitch());
        for j in tile.planes.start.saturating_sub(RADIUS)..tile.planes.end + RADIUS {
            if j < p.planes() {
                for z in runs(&halo_z) {
                    for row in halo_rows.clone() {
                        self.stress_row::<NDIM>(ring, (j, row), z.clone(), tile.rows.contains(&row));
                    }
                }
            }
            if let Some(plane) = j.checked_sub(RADIUS).filter(|plane| tile.planes.contains(plane)) {
                for z in runs(&tile.z) {
                    for row in tile.rows.clone() {
                        self.update_row::<NDIM, DAMPED>(ring, (plane, row), z.clone());
                    }
                }
                if self.setup.kind == SourceKind::Force && self.setup.sources.touch(plane) {
                    tile.rows.clone().for_each(|row| self.inject_force::<NDIM>(plane, row, &tile.z));
                }
                if DAMPED {
                    self.finish_rows(tile, plane);
                }
            }
        }
    }

    /// Whether forces act in a row: not in the rim.
    fn live<const NDIM: usize>(&self, plane: usize, row: usize) -> bool {
        let inside = |i: usize, n: usize| (RADIUS..n - RADIUS).contains(&i);
        let p = &self.setup.padded;
        inside(plane, p.planes()) && (NDIM == 2 || inside(row, p.rows()))
    }

    /// Steps 1-4: strain, stress, free surface and stress sources of a run of cells, into the ring. Rows outside the
    /// tile (`core` false) need only the stresses differentiated across rows.
    fn stress_row<const NDIM: usize>(&self, ring: &mut Ring<'_, T>, at: (usize, usize), z: Range<usize>, core: bool) {
        let (plane, row) = at;
        let stresses = match (NDIM, core) {
            (3, true) => 0..STRESSES,
            (3, false) => RP..STRESSES,
            _ => 0..ZZ + 1,
        };
        if self.live::<NDIM>(plane, row) {
            self.stress_cells::<NDIM>(ring, at, &z, core);
            let (inside, surface, nb) = (live_z(&self.setup.padded), self.setup.surface, self.setup.padded.nb);
            for k in stresses {
                let top = match k {
                    ZZ | ZP | ZR => surface.traction_top(nb, inside.start),
                    _ => surface.lateral_top(nb, inside.start),
                };
                if z.start < top {
                    ring.cells(k, plane, row, z.start..top.min(z.end)).fill(T::of(0.0));
                }
                if inside.end < z.end {
                    ring.cells(k, plane, row, inside.end.max(z.start)..z.end).fill(T::of(0.0));
                }
            }
        } else {
            stresses.for_each(|k| ring.cells(k, plane, row, z.clone()).fill(T::of(0.0)));
        }
        if self.setup.kind == SourceKind::Stress && self.setup.sources.touch(plane) {
            self.inject_stress::<NDIM>(ring, at, &z, core);
        }
    }

    /// Steps 1 and 2.
    fn stress_cells<const NDIM: usize>(&self, ring: &mut Ring<'_, T>, at: (usize, usize), z: &Range<usize>, core: bool) {
        let (plane, row) = at;
        let (p, medium) = (&self.setup.padded, &self.setup.medium);
        let base = self.row(plane, row) + z.start;
        let start = medium.row_start(plane, row) + z.start;
        let slots: &[usize] = if NDIM == 3 { &rows::SLOTS_3D } else { &rows::SLOTS_2D };
        let mut stiffness = [std::ptr::null(); 9];
        for (to, &k) in stiffness.iter_mut().zip(slots) {
            *to = medium.stiffness_array(k)[start..].as_ptr();
        }
        let mut out = [std::ptr::null_mut(); STRESSES];
        for k in if core { 0 } else { RP }..if NDIM == 3 { STRESSES } else { RP } {
            out[k] = ring.cells(k, plane, row, z.clone()).as_mut_ptr();
        }
        let order = Self::order::<NDIM>();
        // SAFETY: the row and its neighbours lie in the slab or its ghosts.
        let component = |k: usize| unsafe { self.curr.add(order[k] * self.component + base) };
        let field = Field {
            u: [component(0), component(1), component(2)],
            row: p.pitch() as isize,
            plane: p.plane_len() as isize,
        };
        let (weights, len) = (&self.setup.weights, z.len());
        let arch = self.setup.cpu.arch();
        if core {
            arch.dispatch(Stress::<T, NDIM, true> { field, stiffness, out, weights, len });
        } else {
            arch.dispatch(Stress::<T, NDIM, false> { field, stiffness, out, weights, len });
        }
    }

    /// Step 4.
    fn inject_stress<const NDIM: usize>(&self, ring: &mut Ring<'_, T>, at: (usize, usize), z: &Range<usize>, core: bool) {
        let normal = if NDIM == 3 { [ZZ, RR, PP] } else { [ZZ, PP, PP] };
        for (component, &stress) in normal.iter().enumerate().take(NDIM) {
            if core || stress >= RP {
                let cells = ring.cells(stress, at.0, at.1, z.clone());
                self.setup.sources.for_row(self.it, component, at.0, at.1, |first, amplitude, weights| {
                    for (k, &w) in weights.iter().enumerate() {
                        if z.contains(&(first + k)) {
                            cells[first + k - z.start] += amplitude * w;
                        }
                    }
                });
            }
        }
    }

    /// Steps 5 and 7 of a run of cells.
    fn update_row<const NDIM: usize, const DAMPED: bool>(&self, ring: &Ring<'_, T>, at: (usize, usize), z: Range<usize>) {
        let (plane, row) = at;
        let (p, s) = (&self.setup.padded, self.setup);
        let live = self.live::<NDIM>(plane, row);
        let mut stress = [std::ptr::null(); STRESSES];
        let mut along = [[std::ptr::null(); 2 * RADIUS + 1]; 3];
        if live {
            let cell = |k: usize, plane: usize| ring.data[ring.at(k, plane, row, z.start)..].as_ptr();
            for k in 0..if NDIM == 3 { STRESSES } else { RP } {
                stress[k] = cell(k, plane);
            }
            for (slot, k) in [PP, ZP, RP].into_iter().enumerate().take(NDIM) {
                for (m, to) in along[slot].iter_mut().enumerate() {
                    *to = cell(k, plane + m - RADIUS);
                }
            }
        }
        let base = self.row(plane, row) + z.start;
        let order = Self::order::<NDIM>();
        let (sponge_z, sponge) = match &s.frame {
            Some(f) => (f.sponge[0][z.start..].as_ptr(), f.sponge[1][row] * f.sponge[2][plane]),
            None => (std::ptr::null(), T::of(1.0)),
        };
        // SAFETY: the row lies in the slab, and of the next level only this tile touches it.
        let component = |k: usize| unsafe { (self.curr.add(order[k] * self.component + base), self.next.add(order[k] * self.component + base)) };
        let [c0, c1, c2] = [component(0), component(1), component(2)];
        s.cpu.arch().dispatch(Update::<T, NDIM, DAMPED> {
            live,
            stress,
            along,
            row: ring.pitch as isize,
            curr: [c0.0, c1.0, c2.0],
            prev: [c0.1, c1.1, c2.1],
            buoyancy: s.medium.density()[s.medium.row_start(plane, row) + z.start..].as_ptr(),
            sponge_z,
            sponge,
            weights: &s.weights,
            len: z.len(),
        });
        debug_assert!(z.end <= p.pitch());
    }

    /// Step 6: force sources, in the arithmetic of a force that is divided by density.
    fn inject_force<const NDIM: usize>(&self, plane: usize, row: usize, z: &Range<usize>) {
        let s = self.setup;
        let b = &s.medium.density()[s.medium.row_start(plane, row)..];
        let inside = live_z(&s.padded);
        for component in 0..NDIM {
            let next = self.next_row(component, plane, row);
            s.sources.for_row(self.it, component, plane, row, |first, amplitude, weights| {
                for (k, &w) in weights.iter().enumerate() {
                    let cell = first + k;
                    if z.contains(&cell) {
                        // The rim has the density of the cell it repeats.
                        next[cell] += amplitude * w * b[cell.clamp(inside.start, inside.end - 1)];
                    }
                }
            });
        }
    }

    /// A row of the new level.
    #[allow(clippy::mut_from_ref)]
    pub fn next_row(&self, component: usize, plane: usize, row: usize) -> &mut [T] {
        let at = component * self.component + self.row(plane, row);
        // SAFETY: the row lies in the slab; its cells are touched only by the job that owns them.
        unsafe { std::slice::from_raw_parts_mut(self.next.add(at), self.setup.padded.pitch()) }
    }

    /// A row of the current level.
    pub fn curr_row(&self, component: usize, plane: usize, row: usize) -> &[T] {
        let at = component * self.component + self.row(plane, row);
        // SAFETY: the row lies in the slab or its ghosts; the current level is only read during an update.
        unsafe { std::slice::from_raw_parts(self.curr.add(at), self.setup.padded.pitch()) }
    }
}

/// A range cut into runs.
fn runs(z: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = z.end;
    z.clone().step_by(RUN).map(move |a| a..(a + RUN).min(end))
}
