//! Steps 1-7 on processors: a sweep along the planes of a tile, stress in a ring of planes that fits the cache.
//!
//! At plane `j` a sweep computes the stress of plane `j` into the ring and then updates plane `j-4`, whose force
//! needs stresses up to four planes away. A tile is a range of rows and of cells along `z`; stress is recomputed in a
//! halo around it.

use super::rows::{self, Block, PP, RP, RR, STRESSES, Stress, Update, ZP, ZR, ZZ};
use super::{FACE, GHOST};
use super::{Setup, SourceKind};
use crate::device::simd::Real;
use crate::grid::stencil::RADIUS;
use crate::grid::{PITCH, Padded};
use crate::medium::{Coefficients, live_z};
use std::ops::Range;

/// Bytes of ring and displacement that a tile may touch: they should stay in a second-level cache of 2 MB (figures in
/// `benches/RESULTS.md`).
const TILE_BYTES: usize = 25 << 16;
/// Rows of the narrowest tile: the halo on its sides should not outweigh it.
const NARROWEST: usize = 12;

/// Planes of the ring by stress: those differentiated along planes are needed four planes to either side, the
/// others from the plane of the stress to the plane of the update.
const SLOTS: [usize; STRESSES] = [
    2 * RADIUS + 1,
    2 * RADIUS + 1,
    RADIUS + 1,
    2 * RADIUS + 1,
    RADIUS + 1,
    RADIUS + 1,
];

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
    /// The widest tiles that fit the cache. Long rows pay: `z` is cut only where a dozen whole rows do not fit.
    pub fn new(p: &Padded, bytes: usize) -> Self {
        let (rows, units) = (p.rows(), p.pitch() / PITCH);
        let halo = if p.ndim() == 3 { 2 * RADIUS } else { 0 };
        let (core, wide) = (
            SLOTS[..RP].iter().sum::<usize>(),
            SLOTS[RP..].iter().sum::<usize>(),
        );
        let fields = p.ndim() * (2 * RADIUS + 1);
        let fits = |width: usize, cuts: usize| {
            let z = units.div_ceil(cuts) * PITCH + if cuts > 1 { 2 * PITCH } else { 0 };
            let spread = if width < rows { width + halo } else { width };
            let across = if p.ndim() == 3 {
                core * width + (wide + fields) * spread
            } else {
                core + fields
            };
            across * z * bytes <= TILE_BYTES
        };
        let narrowest = NARROWEST.min(rows);
        let cuts = (1..=(units / 2).max(1))
            .find(|&c| fits(narrowest, c))
            .unwrap_or((units / 2).max(1));
        let width = (narrowest..=rows)
            .rev()
            .find(|&w| fits(w, cuts))
            .unwrap_or(narrowest);
        let columns = (rows / width).max(1).min((rows / NARROWEST).max(1));
        let columns = if rows.div_ceil(columns) > width {
            (columns + 1).min((rows / FACE).max(1))
        } else {
            columns
        };
        let cut = |n: usize, count: usize, unit: usize| -> Vec<Range<usize>> {
            (0..count)
                .map(|k| n * k / count * unit..n * (k + 1) / count * unit)
                .collect()
        };
        Self {
            ndim: p.ndim(),
            rows: cut(rows, columns, 1),
            z: cut(units, cuts, PITCH),
        }
    }

    /// Rows and `z` range of every tile.
    pub fn columns(&self) -> Vec<(Range<usize>, Range<usize>)> {
        self.rows
            .iter()
            .flat_map(|r| self.z.iter().map(|z| (r.clone(), z.clone())))
            .collect()
    }

    /// Numbers of a ring that serves every tile.
    pub fn ring_len(&self) -> usize {
        let longest = |v: &[Range<usize>]| v.iter().map(Range::len).max().unwrap_or(0);
        let halo = if self.ndim == 3 { RADIUS } else { 0 };
        let (rows, pitch) = (longest(&self.rows), longest(&self.z) + 2 * PITCH);
        (0..STRESSES)
            .map(|k| SLOTS[k] * (rows + if k < RP { 0 } else { 2 * halo }) * pitch)
            .sum::<usize>()
            + 2 * PITCH
    }

    /// The ring of a tile in this memory.
    pub fn ring<'a, T>(&self, tile: &Tile, data: &'a mut [T]) -> Ring<'a, T> {
        let halo = if self.ndim == 3 { RADIUS } else { 0 };
        let pitch = tile.z.len() + 2 * PITCH;
        let mut ring = Ring {
            data,
            start: [0; STRESSES],
            first_row: [0; STRESSES],
            plane_len: [0; STRESSES],
            pitch,
            first_z: tile.z.start as isize - PITCH as isize,
        };
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

    /// Where cell 0 of row 0 of a plane would stand, held or not.
    fn origin(&mut self, stress: usize, plane: usize) -> *mut T {
        let back = self.first_row[stress] * self.pitch as isize + self.first_z;
        let start = self.start[stress] + plane % SLOTS[stress] * self.plane_len[stress];
        self.data.as_mut_ptr().wrapping_offset(start as isize - back)
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
        (plane + GHOST - self.first) * p.plane_len() + row * p.pitch()
    }

    /// Steps 1-7 and the in-plane part of step 8 over a tile.
    pub fn sweep<const NDIM: usize, const DAMPED: bool>(&self, tile: &Tile, ring: &mut Ring<'_, T>) {
        let p = &self.setup.padded;
        for j in tile.planes.start.saturating_sub(RADIUS)..tile.planes.end + RADIUS {
            if j < p.planes() {
                self.stress_plane::<NDIM>(tile, ring, j);
            }
            if let Some(plane) = j.checked_sub(RADIUS).filter(|plane| tile.planes.contains(plane)) {
                self.update_plane::<NDIM, DAMPED>(tile, ring, plane);
                if self.setup.kind == SourceKind::Force && self.setup.sources.touch(plane) {
                    tile.rows
                        .clone()
                        .for_each(|row| self.inject_force::<NDIM>(plane, row, &tile.z));
                }
                if DAMPED {
                    self.finish_rows(tile, plane);
                }
            }
        }
    }

    /// Rows of a plane in which forces act: not the rim.
    fn live<const NDIM: usize>(&self, plane: usize) -> Range<usize> {
        let p = &self.setup.padded;
        match ((RADIUS..p.planes() - RADIUS).contains(&plane), NDIM) {
            (false, _) => 0..0,
            (true, 3) => RADIUS..p.rows() - RADIUS,
            (true, _) => 0..1,
        }
    }

    /// Steps 1-4: strain, stress, free surface and stress sources of a plane of the tile and its halo, into the ring.
    /// Rows outside the tile need only the stresses differentiated across rows.
    fn stress_plane<const NDIM: usize>(&self, tile: &Tile, ring: &mut Ring<'_, T>, plane: usize) {
        let p = &self.setup.padded;
        let rows = match NDIM {
            3 => tile.rows.start.saturating_sub(RADIUS)..(tile.rows.end + RADIUS).min(p.rows()),
            _ => 0..1,
        };
        let z = tile.z.start.saturating_sub(PITCH)..(tile.z.end + PITCH).min(p.pitch());
        let live = meet(&rows, &self.live::<NDIM>(plane));
        let core = meet(&live, &tile.rows);
        if !live.is_empty() {
            let block = |rows: Range<usize>| Block { rows, z: z.clone() };
            self.stress_block::<NDIM, false>(ring, plane, block(live.start..core.start));
            self.stress_block::<NDIM, true>(ring, plane, block(core.clone()));
            self.stress_block::<NDIM, false>(ring, plane, block(core.end..live.end));
        }
        let injected = self.setup.kind == SourceKind::Stress && self.setup.sources.touch(plane);
        for row in rows {
            let held = match (NDIM, tile.rows.contains(&row)) {
                (3, true) => 0..STRESSES,
                (3, false) => RP..STRESSES,
                _ => 0..RP,
            };
            for k in held.clone() {
                self.silence(ring, (k, plane, row), &z, live.contains(&row));
            }
            if injected {
                self.inject_stress::<NDIM>(ring, (plane, row), &z, held);
            }
        }
    }

    /// Step 3 and the rim: zero where no stress is differentiated.
    fn silence(
        &self,
        ring: &mut Ring<'_, T>,
        (k, plane, row): (usize, usize, usize),
        z: &Range<usize>,
        live: bool,
    ) {
        let (inside, surface, nb) = (
            live_z(&self.setup.padded),
            self.setup.surface,
            self.setup.padded.nb,
        );
        let top = match k {
            _ if !live => z.end,
            ZZ | ZP | ZR => surface.traction_top(nb, inside.start),
            _ => surface.lateral_top(nb, inside.start),
        };
        for silent in [z.start..top.min(z.end), inside.end.max(z.start)..z.end] {
            if !silent.is_empty() {
                ring.cells(k, plane, row, silent).fill(T::of(0.0));
            }
        }
    }

    /// Steps 1 and 2.
    fn stress_block<const NDIM: usize, const CORE: bool>(
        &self,
        ring: &mut Ring<'_, T>,
        plane: usize,
        block: Block,
    ) {
        match self.setup.medium.coefficients() {
            Coefficients::Orthorhombic => self.stress_of::<NDIM, CORE, false>(ring, plane, block),
            Coefficients::All => self.stress_of::<NDIM, CORE, true>(ring, plane, block),
        }
    }

    fn stress_of<const NDIM: usize, const CORE: bool, const ANY: bool>(
        &self,
        ring: &mut Ring<'_, T>,
        plane: usize,
        block: Block,
    ) {
        let medium = &self.setup.medium;
        let start = medium.row_start(plane, 0);
        let held = medium.coefficients().count(NDIM);
        let stiffness = std::array::from_fn(|a| {
            std::array::from_fn(|b| match rows::SLOTS[NDIM - 2][a][b] {
                Some(k) if k < held => medium.stiffness_array(k)[start..].as_ptr(),
                _ => std::ptr::null(),
            })
        });
        let mut out = [std::ptr::null_mut(); STRESSES];
        for k in if CORE { 0 } else { RP }..if NDIM == 3 { STRESSES } else { RP } {
            out[k] = ring.origin(k, plane);
        }
        self.setup.cpu.arch().dispatch(Stress::<T, NDIM, CORE, ANY> {
            block,
            layout: self.layout(ring),
            u: self
                .components::<NDIM>(plane)
                .map(|at| self.curr.wrapping_add(at)),
            stiffness,
            lines: medium.lines(),
            out,
            weights: &self.setup.weights,
        });
    }

    fn layout(&self, ring: &Ring<'_, T>) -> rows::Layout {
        let p = &self.setup.padded;
        rows::Layout {
            row: p.pitch(),
            plane: p.plane_len(),
            ring: ring.pitch,
        }
    }

    /// Where a plane starts in the components that [`rows`] calls z, plane, row.
    fn components<const NDIM: usize>(&self, plane: usize) -> [usize; 3] {
        let order = if NDIM == 3 { [0, 2, 1] } else { [0, 1, 0] };
        order.map(|c| c * self.component + self.row(plane, 0))
    }

    /// Step 4.
    fn inject_stress<const NDIM: usize>(
        &self,
        ring: &mut Ring<'_, T>,
        at: (usize, usize),
        z: &Range<usize>,
        held: Range<usize>,
    ) {
        let normal = if NDIM == 3 { [ZZ, RR, PP] } else { [ZZ, PP, PP] };
        for (component, &stress) in normal.iter().enumerate().take(NDIM) {
            if held.contains(&stress) {
                let cells = ring.cells(stress, at.0, at.1, z.clone());
                let sources = &self.setup.sources;
                sources.for_row(self.it, component, at.0, at.1, |first, amplitude, weights| {
                    for (k, &w) in weights.iter().enumerate() {
                        if z.contains(&(first + k)) {
                            cells[first + k - z.start] += amplitude * w;
                        }
                    }
                });
            }
        }
    }

    /// Steps 5 and 7 of a plane of the tile.
    fn update_plane<const NDIM: usize, const DAMPED: bool>(
        &self,
        tile: &Tile,
        ring: &mut Ring<'_, T>,
        plane: usize,
    ) {
        let s = self.setup;
        let live = self.live::<NDIM>(plane);
        let mut stress = [std::ptr::null(); STRESSES];
        let mut along = [[std::ptr::null(); 2 * RADIUS + 1]; 3];
        if !live.is_empty() {
            for k in 0..if NDIM == 3 { STRESSES } else { RP } {
                stress[k] = ring.origin(k, plane).cast_const();
            }
            for (slot, k) in [PP, ZP, RP].into_iter().enumerate().take(NDIM) {
                for (m, to) in along[slot].iter_mut().enumerate() {
                    *to = ring.origin(k, plane + m - RADIUS).cast_const();
                }
            }
        }
        let sponge = s.frame.as_ref().map(|f| &f.sponge);
        s.cpu.arch().dispatch(Update::<T, NDIM, DAMPED> {
            block: Block {
                rows: tile.rows.clone(),
                z: tile.z.clone(),
            },
            live,
            layout: self.layout(ring),
            stress,
            along,
            curr: self
                .components::<NDIM>(plane)
                .map(|at| self.curr.wrapping_add(at)),
            prev: self
                .components::<NDIM>(plane)
                .map(|at| self.next.wrapping_add(at)),
            buoyancy: s.medium.density()[s.medium.row_start(plane, 0)..].as_ptr(),
            lines: s.medium.lines(),
            sponge_z: sponge.map_or(&[], |w| &w[0]),
            sponge: sponge.map_or((&[], T::of(1.0)), |w| (&w[1], w[2][plane])),
            weights: &s.weights,
        });
    }

    /// Step 6: force sources, in the arithmetic of a force that is divided by density.
    fn inject_force<const NDIM: usize>(&self, plane: usize, row: usize, z: &Range<usize>) {
        let s = self.setup;
        let b = &s.medium.density()[s.medium.row_start(plane, row)..];
        let inside = live_z(&s.padded);
        for component in 0..NDIM {
            let next = self.next_row(component, plane, row);
            s.sources
                .for_row(self.it, component, plane, row, |first, amplitude, weights| {
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

/// What two ranges share.
fn meet(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}
