//! Steps 1-7 on processors: a sweep along the planes of a tile, with stress in a ring buffer of planes that fits in
//! the cache.
//!
//! At plane `j` a sweep computes the stress of plane `j` into the ring and then updates plane `j-4`, whose force
//! needs stresses up to four planes away. A tile is a range of rows and of cells along `z`; stress is recomputed in a
//! halo around it.

use super::GHOST;
use super::rows::{self, Block, PP, RP, RR, STRESSES, Stress, StressPlane, Update, UpdatePlane, ZP, ZR, ZZ};
use super::tiling::{Ring, TOGETHER, Tile, Tiling};
use super::{Setup, SourceKind};
use crate::device::simd::Real;
use crate::grid::PITCH;
use crate::grid::stencil::RADIUS;
use crate::medium::{Coefficients, live_z};
use std::ops::Range;

/// The slab as raw memory, shared by the threads of an update.
pub(super) struct View<'a, T> {
    pub setup: &'a Setup<T>,
    /// The first plane that the slab owns.
    pub first: usize,
    pub curr: *const T,
    /// `u(t-dt)`, replaced by `u(t+dt)`.
    pub next: *mut T,
    /// Distance between components in memory, in numbers.
    pub component: usize,
    pub it: usize,
    pub tiling: &'a Tiling,
}

// SAFETY: `curr` is only read, and every cell of `next` is written only by the tile or face job that owns it.
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
        let (first, end) = (tile.planes.start.saturating_sub(RADIUS), tile.planes.end + RADIUS);
        for j in (first..end).step_by(self.tiling.together) {
            let planes = j..(j + self.tiling.together).min(end);
            self.stress_planes::<NDIM>(tile, ring, meet(&planes, &(0..p.planes())));
            let behind = j.saturating_sub(RADIUS)..planes.end.saturating_sub(RADIUS);
            let behind = meet(&behind, &tile.planes);
            self.update_planes::<NDIM, DAMPED>(tile, ring, &behind);
            for plane in behind {
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

    /// Planes on which forces act, which excludes the rim.
    fn live_planes(&self) -> Range<usize> {
        RADIUS..self.setup.padded.planes() - RADIUS
    }

    /// Rows of this plane in which forces act.
    fn live_rows<const NDIM: usize>(&self) -> Range<usize> {
        if NDIM == 3 {
            RADIUS..self.setup.padded.rows() - RADIUS
        } else {
            0..1
        }
    }

    /// Steps 1-4: strain, stress, free surface and stress sources of planes of the tile and its halo, into the ring.
    /// Rows outside the tile need only the stresses differentiated across rows.
    fn stress_planes<const NDIM: usize>(&self, tile: &Tile, ring: &mut Ring<'_, T>, planes: Range<usize>) {
        let p = &self.setup.padded;
        let rows = match NDIM {
            3 => tile.rows.start.saturating_sub(RADIUS)..(tile.rows.end + RADIUS).min(p.rows()),
            _ => 0..1,
        };
        let z = tile.z.start.saturating_sub(PITCH)..(tile.z.end + PITCH).min(p.pitch());
        let live = meet(&rows, &self.live_rows::<NDIM>());
        let core = meet(&live, &tile.rows);
        let acting = meet(&planes, &self.live_planes());
        if !acting.is_empty() && !live.is_empty() {
            let block = |rows: Range<usize>| Block { rows, z: z.clone() };
            self.stress_block::<NDIM, false>(ring, &acting, block(live.start..core.start));
            self.stress_block::<NDIM, true>(ring, &acting, block(core.clone()));
            self.stress_block::<NDIM, false>(ring, &acting, block(core.end..live.end));
        }
        for plane in planes {
            let live = if acting.contains(&plane) {
                live.clone()
            } else {
                0..0
            };
            for k in 0..if NDIM == 3 { STRESSES } else { RP } {
                let held = if NDIM == 3 && k >= RP { &rows } else { &tile.rows };
                self.silence(ring, (k, plane), held, &live, &z);
            }
            if self.setup.kind == SourceKind::Stress && self.setup.sources.touch(plane) {
                for row in rows.clone() {
                    let held = match (NDIM, tile.rows.contains(&row)) {
                        (3, true) => 0..STRESSES,
                        (3, false) => RP..STRESSES,
                        _ => 0..RP,
                    };
                    self.inject_stress::<NDIM>(ring, (plane, row), &z, held);
                }
            }
        }
    }

    /// Step 3 and the rim: sets stress to zero above a free surface and in the rim, in the rows of a plane that the
    /// ring holds.
    fn silence(
        &self,
        ring: &mut Ring<'_, T>,
        (k, plane): (usize, usize),
        rows: &Range<usize>,
        live: &Range<usize>,
        z: &Range<usize>,
    ) {
        let (surface, nb) = (self.setup.surface, self.setup.padded.nb);
        let inside = live_z(&self.setup.padded);
        let top = match k {
            ZZ | ZP | ZR => surface.traction_top(nb, inside.start),
            _ => surface.lateral_top(nb, inside.start),
        };
        let top = top.clamp(z.start, z.end) - z.start;
        let bottom = inside.end.clamp(z.start, z.end) - z.start;
        let pitch = ring.pitch;
        let cells = ring.rows(k, plane, rows, z);
        let zero = T::of(0.0);
        let live = meet(live, rows);
        if live.is_empty() {
            return cells.fill(zero);
        }
        let (first, last) = (live.start - rows.start, live.end - rows.start);
        cells[..first * pitch].fill(zero);
        for row in cells[first * pitch..].chunks_mut(pitch).take(last - first) {
            row[..top].fill(zero);
            row[bottom..z.len()].fill(zero);
        }
        if last < rows.len() {
            cells[last * pitch..].fill(zero);
        }
    }

    /// Steps 1 and 2 on a block: strain and stress.
    fn stress_block<const NDIM: usize, const CORE: bool>(
        &self,
        ring: &mut Ring<'_, T>,
        planes: &Range<usize>,
        block: Block,
    ) {
        if block.rows.is_empty() {
            return;
        }
        match self.setup.medium.coefficients() {
            Coefficients::Orthorhombic => self.stress_of::<NDIM, CORE, false>(ring, planes, block),
            Coefficients::All => self.stress_of::<NDIM, CORE, true>(ring, planes, block),
        }
    }

    fn stress_of<const NDIM: usize, const CORE: bool, const ANY: bool>(
        &self,
        ring: &mut Ring<'_, T>,
        planes: &Range<usize>,
        block: Block,
    ) {
        let medium = &self.setup.medium;
        let known = medium.coefficients().count(NDIM);
        let mut of_plane = |plane: usize| {
            let start = medium.row_start(plane, 0);
            let stiffness = std::array::from_fn(|a| {
                std::array::from_fn(|b| match rows::SLOTS[NDIM - 2][a][b] {
                    Some(k) if k < known => medium.stiffness_array(k)[start..].as_ptr(),
                    _ => std::ptr::null(),
                })
            });
            let mut out = [std::ptr::null_mut(); STRESSES];
            for k in if CORE { 0 } else { RP }..if NDIM == 3 { STRESSES } else { RP } {
                out[k] = ring.origin(k, plane);
            }
            let u = self.components::<NDIM>(plane);
            StressPlane {
                u: u.map(|at| self.curr.wrapping_add(at)),
                stiffness,
                out,
            }
        };
        let mut held = [StressPlane::none(); TOGETHER];
        held.iter_mut()
            .zip(planes.clone())
            .for_each(|(to, plane)| *to = of_plane(plane));
        self.setup.cpu.arch().dispatch(Stress::<T, NDIM, CORE, ANY> {
            block,
            layout: self.layout(ring),
            planes: &held[..planes.len()],
            lines: medium.lines(),
            weights: &self.setup.weights,
        });
    }

    fn layout(&self, ring: &Ring<'_, T>) -> rows::Layout {
        let p = &self.setup.padded;
        rows::Layout {
            row: p.pitch(),
            plane: p.plane_len(),
            ring: ring.pitch,
            ahead: self.tiling.ahead,
        }
    }

    /// Offset of a plane in the components z, plane, row, in the order of [`rows`].
    fn components<const NDIM: usize>(&self, plane: usize) -> [usize; 3] {
        let order = if NDIM == 3 { [0, 2, 1] } else { [0, 1, 0] };
        order.map(|c| c * self.component + self.row(plane, 0))
    }

    /// Step 4: stress sources on a row.
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

    /// Steps 5 and 7 on planes of the tile: force and time step.
    fn update_planes<const NDIM: usize, const DAMPED: bool>(
        &self,
        tile: &Tile,
        ring: &mut Ring<'_, T>,
        planes: &Range<usize>,
    ) {
        let (s, live) = (self.setup, self.live_planes());
        let (before, behind) = (0..live.start, live.end..s.padded.planes());
        for (part, rows) in [(before, 0..0), (live, self.live_rows::<NDIM>()), (behind, 0..0)] {
            let part = meet(planes, &part);
            if part.is_empty() {
                continue;
            }
            let mut held = [UpdatePlane::none(); TOGETHER];
            for (to, plane) in held.iter_mut().zip(part.clone()) {
                *to = self.update_plane::<NDIM>(ring, plane, !rows.is_empty());
            }
            let sponge = s.frame.as_ref().map(|f| &f.sponge);
            s.cpu.arch().dispatch(Update::<T, NDIM, DAMPED> {
                block: Block {
                    rows: tile.rows.clone(),
                    z: tile.z.clone(),
                },
                live: rows,
                layout: self.layout(ring),
                planes: &held[..part.len()],
                lines: s.medium.lines(),
                sponge_z: sponge.map_or(&[], |w| &w[0]),
                sponge_row: sponge.map_or(&[], |w| &w[1]),
                weights: &s.weights,
            });
        }
    }

    /// The pointers of a plane for the update, with stress only if forces act there.
    fn update_plane<const NDIM: usize>(
        &self,
        ring: &mut Ring<'_, T>,
        plane: usize,
        acting: bool,
    ) -> UpdatePlane<T> {
        let s = self.setup;
        let mut stress = [std::ptr::null(); STRESSES];
        let mut along = [[std::ptr::null(); 2 * RADIUS + 1]; 3];
        if acting {
            for k in 0..if NDIM == 3 { STRESSES } else { RP } {
                stress[k] = ring.origin(k, plane).cast_const();
            }
            for (slot, k) in [PP, ZP, RP].into_iter().enumerate().take(NDIM) {
                along[slot] = ring.origins(k, plane - RADIUS).map(<*mut T>::cast_const);
            }
        }
        let cells = self.components::<NDIM>(plane);
        UpdatePlane {
            stress,
            along,
            curr: cells.map(|at| self.curr.wrapping_add(at)),
            prev: cells.map(|at| self.next.wrapping_add(at)),
            buoyancy: s.medium.density()[s.medium.row_start(plane, 0)..].as_ptr(),
            sponge: s.frame.as_ref().map_or(T::of(1.0), |f| f.sponge[2][plane]),
        }
    }

    /// Step 6: force sources on a row, multiplied by `dt^2/rho` and added to the next time level.
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
                            // The rim has the density of the nearest cell inside it.
                            next[cell] += amplitude * w * b[cell.clamp(inside.start, inside.end - 1)];
                        }
                    }
                });
        }
    }

    /// A row of the next time level.
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

/// The intersection of two ranges.
fn meet(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}
