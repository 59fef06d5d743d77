//! One slab of the velocity-stress method on processors: its fields and its two stages.
//!
//! A stage updates its own fields and reads only the fields of the other stage, so rows may be updated in any order,
//! and any partition into slabs, tiles and threads gives the same bits.

use super::Setup;
use super::absorbing_frame::Memory;
use super::layout::{self, RIM, fields};
use super::rows::{MOST, Plane, STIFFNESSES, STRESSES, Velocity};
use super::stress_rows::{Loss, Stress};
use super::tiling::{Tile, Tiling};
use crate::Error;
use crate::device::cpu::Buffer;
use crate::device::simd::Real;
use crate::parallel::halo::Link;
use crate::parallel::slabs::Slab as Layout;
use crate::time_loop::{Direction, Part};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Ghost planes on either side: the reach of the widest derivative and of a receiver's nodes.
pub const GHOST: usize = RIM;

/// Number of planes per thread below which a sweep is not divided further.
const CHUNK_PLANES: usize = 8;

/// Additions of a linearised run to a stage. A null pointer disables its item.
pub(super) struct Hooks<T> {
    /// Whether to apply the sources of the shot.
    pub sources: bool,
    /// Record of the velocities, `[component][own plane][row][z]`.
    pub velocity: *mut T,
    /// Record of the surface, `[..][own plane][row]`: for each horizontal axis the derivative along it of the
    /// velocity along it, then `szz` before it is set to zero.
    pub surface: *mut T,
    /// The surface record of the background, read by a run of the scattered field.
    pub background: *const T,
    /// Perturbation of `c_za / c_zz` on the surface by horizontal axis, `[axis][own plane][row]`.
    pub ratios: *const T,
}

impl<T> Hooks<T> {
    /// The hooks of a plain run.
    pub const NONE: Self = Self {
        sources: true,
        velocity: std::ptr::null_mut(),
        surface: std::ptr::null_mut(),
        background: std::ptr::null(),
        ratios: std::ptr::null(),
    };
}

// SAFETY: only a stage uses the pointers, each number by the thread that has its row.
unsafe impl<T: Send> Send for Hooks<T> {}
// SAFETY: the same.
unsafe impl<T: Sync> Sync for Hooks<T> {}

/// One slab of the grid in host memory.
pub struct CpuSlab<T: Real> {
    pub(super) setup: Arc<Setup<T>>,
    pub(super) layout: Layout,
    /// `[field][ghost + own + ghost planes][row][z]`
    pub(super) fields: Buffer<T>,
    pub(super) memory: Memory<T>,
    /// Memory variables of attenuation, `[mechanism][stress][own plane][row][z]`.
    pub(super) anelastic: Option<Buffer<T>>,
    /// Running quantity at the receivers and the velocities of the previous step, `[component][receiver]`.
    pub(super) kept: [Vec<T>; 2],
    pub(super) pieces: VecDeque<Vec<T>>,
    /// Largest horizontal speeds so far at the top nodes of the model, `[own plane][row]`.
    pub(super) peaks: Vec<T>,
    pub(super) links: Vec<Link>,
    tiling: Tiling,
    pub(super) direction: Direction,
    /// Weights of the derivative divided by the spacing, with the sign of the direction of time.
    pub(super) weights: [[T; MOST]; 3],
    hooks: Hooks<T>,
}

impl<T: Real> CpuSlab<T> {
    pub(super) fn new(setup: Arc<Setup<T>>, layout: Layout) -> Result<Self, Error> {
        let p = &setup.padded;
        let len = fields(p.ndim()) * (layout.own.len() + 2 * GHOST) * p.plane_len();
        let kept = if setup.quantity.runs() {
            setup.receivers.values()
        } else {
            0
        };
        Ok(Self {
            fields: Buffer::zeroed(len)?,
            memory: Memory::new(p, &setup.edges, &layout.own)?,
            anelastic: setup
                .relaxation
                .as_ref()
                .map(|r| r.memory(p, layout.own.len()))
                .transpose()?,
            kept: [vec![T::of(0.0); kept], vec![T::of(0.0); kept]],
            pieces: VecDeque::new(),
            links: layout.links(p.planes(), (GHOST, p.plane_len()), &setup.travelling),
            tiling: Tiling::new(
                p,
                rows(p).len(),
                (Tiling::in_use(setup.half), size_of::<T>()),
                &setup.cpu,
            ),
            direction: Direction::Forward,
            weights: setup.weights,
            hooks: Hooks::NONE,
            peaks: vec![
                T::of(0.0);
                if setup.peaks {
                    layout.own.len() * p.rows()
                } else {
                    0
                }
            ],
            layout,
            setup,
        })
    }

    /// Bytes of fields and memory variables.
    pub fn bytes(&self) -> usize {
        self.fields.bytes() + self.memory.bytes() + self.anelastic.as_ref().map_or(0, Buffer::bytes)
    }

    /// Runs a stage on all planes that the slab owns, with these hooks.
    ///
    /// # Safety
    /// Each pointer of the hooks must be null or point to an array of the documented shape that nothing else accesses
    /// meanwhile.
    pub(super) unsafe fn stage_with(&mut self, stage: usize, it: usize, hooks: Hooks<T>) {
        self.hooks = hooks;
        self.update_part(stage, Part::Boundary, it);
        self.update_part(stage, Part::Interior, it);
        self.hooks = Hooks::NONE;
    }

    /// Length of a field, ghosts included.
    pub(super) fn field_len(&self) -> usize {
        (self.layout.own.len() + 2 * GHOST) * self.setup.padded.plane_len()
    }

    /// Index of a cell in `fields`; planes may be ghosts.
    pub(super) fn at(&self, field: usize, plane: usize, row: usize, z: usize) -> usize {
        let p = &self.setup.padded;
        let local = plane + GHOST - self.layout.own.start;
        field * self.field_len() + local * p.plane_len() + row * p.pitch() + z
    }

    /// The value of a field at a cell; planes may be ghosts.
    pub(super) fn value(&self, field: usize, plane: usize, row: usize, z: usize) -> T {
        self.fields.as_slice()[self.at(field, plane, row, z)]
    }

    fn tiles(&self, planes: &Range<usize>) -> Vec<Tile> {
        let (p, threads) = (&self.setup.padded, self.setup.cpu.threads());
        let Tiling { columns, cuts, .. } = self.tiling;
        let per_column = if threads == 1 {
            1
        } else {
            (4 * threads).div_ceil(columns * cuts)
        };
        let chunks = per_column.min(planes.len() / CHUNK_PLANES).max(1);
        self.tiling.tiles(p, &rows(p), planes, chunks)
    }

    /// Runs a stage on some of the planes.
    pub(super) fn update_planes(&mut self, stage: usize, planes: Range<usize>, it: usize) {
        let live = super::medium::live(self.setup.padded.planes());
        let planes = planes.start.max(live.start)..planes.end.min(live.end);
        if planes.is_empty() {
            return;
        }
        let tiles = self.tiles(&planes);
        let view = self.view(stage, it);
        let cpu = &view.setup.cpu;
        let images = view.setup.surface.as_ref().filter(|_| stage == 1);
        if let Some(images) = images {
            cpu.for_each(planes.len(), |_, k| {
                view.velocity_images(images, planes.start + k)
            });
        }
        cpu.for_each(tiles.len(), |_, k| view.sweep(stage, &tiles[k]));
        if let Some(images) = images {
            cpu.for_each(planes.len(), |_, k| view.stress_images(images, planes.start + k));
        }
    }

    pub(super) fn window_planes(&self) -> &Range<usize> {
        &self.setup.window[self.setup.padded.ndim() - 1]
    }

    /// The data that the threads of an update share.
    fn view(&mut self, stage: usize, it: usize) -> View<'_, T> {
        let origins = self.memory.origins(stage);
        let field_len = self.field_len();
        View {
            setup: &self.setup,
            weights: &self.weights,
            sign: T::of(match self.direction {
                Direction::Forward => 1.0,
                Direction::Backward => -1.0,
            }),
            fields: self.fields.as_mut_slice().as_mut_ptr(),
            field_len,
            first: self.layout.own.start,
            memory: &self.memory,
            origins,
            anelastic: self
                .anelastic
                .as_mut()
                .map_or(std::ptr::null_mut(), |a| a.as_mut_slice().as_mut_ptr()),
            own: self.layout.own.len(),
            it,
            ahead: self.tiling.ahead,
            hooks: &self.hooks,
        }
    }
}

/// Rows that are computed: in 3-D all but the rim.
pub(super) fn rows(p: &crate::grid::Padded) -> Range<usize> {
    if p.ndim() == 3 { RIM..p.rows() - RIM } else { 0..1 }
}

/// The slab as raw memory, shared by the threads of an update.
pub(super) struct View<'a, T> {
    pub setup: &'a Setup<T>,
    /// Weights of the derivative divided by the spacing, with the sign of the direction of time.
    weights: &'a [[T; MOST]; 3],
    /// Factor of the source terms: 1, or -1 backward in time.
    sign: T,
    fields: *mut T,
    /// Offset from one field to the next.
    field_len: usize,
    /// The first plane that the slab owns.
    first: usize,
    memory: &'a Memory<T>,
    origins: [*mut T; 3],
    /// Memory variables of attenuation.
    anelastic: *mut T,
    own: usize,
    it: usize,
    /// Prefetch distance in cells.
    ahead: usize,
    pub hooks: &'a Hooks<T>,
}

// SAFETY: in a stage every row of the updated fields, with its memory variables, belongs to one tile; the fields
// of the neighbours that it reads are not updated in that stage.
unsafe impl<T: Sync> Sync for View<'_, T> {}

impl<T: Real> View<'_, T> {
    /// Index of cell `z` = 0 of a row in a field.
    pub fn local(&self, plane: usize, row: usize) -> usize {
        let p = &self.setup.padded;
        (plane + GHOST - self.first) * p.plane_len() + row * p.pitch()
    }

    /// Index of cell `z` = 0 of a row in the medium.
    pub fn global(&self, plane: usize, row: usize) -> usize {
        self.setup.medium.row(plane, row)
    }

    /// Strides from cell to cell along z, row, plane.
    pub fn stride(&self) -> [usize; 3] {
        let p = &self.setup.padded;
        [1, p.pitch(), p.plane_len()]
    }

    /// Rows that are computed.
    pub fn rows(&self) -> Range<usize> {
        rows(&self.setup.padded)
    }

    /// Offset of the velocity along an axis z, row, plane.
    pub fn velocity(&self, axis: usize) -> usize {
        layout::velocity(self.setup.padded.ndim(), axis) * self.field_len
    }

    /// Offset of a stress.
    pub fn stress(&self, pair: usize) -> usize {
        layout::stress(self.setup.padded.ndim(), pair) * self.field_len
    }

    /// The value of the field at offset `field`.
    pub fn get(&self, field: usize, at: usize) -> T {
        // SAFETY: callers name cells of the slab or its ghosts that no other thread changes.
        unsafe { *self.fields.add(field + at) }
    }

    /// Sets a value of the field at offset `field`.
    pub fn set(&self, field: usize, at: usize, x: T) {
        // SAFETY: callers name cells of the slab that no other thread uses.
        unsafe { *self.fields.add(field + at) = x }
    }

    /// Runs a stage on the rows of a tile, sources included.
    fn sweep(&self, stage: usize, tile: &Tile) {
        for plane in tile.planes.clone() {
            match (self.setup.padded.ndim(), self.setup.half) {
                (3, 1) => self.plane::<3, 1>(stage, tile, plane),
                (3, 2) => self.plane::<3, 2>(stage, tile, plane),
                (3, _) => self.plane::<3, 4>(stage, tile, plane),
                (_, 1) => self.plane::<2, 1>(stage, tile, plane),
                (_, 2) => self.plane::<2, 2>(stage, tile, plane),
                _ => self.plane::<2, 4>(stage, tile, plane),
            }
            let add = |field: usize, row: usize, z: usize, x: T| {
                if !tile.z.contains(&z) {
                    return;
                }
                let (start, at) = (field * self.field_len, self.local(plane, row) + z);
                let mut sum = self.get(start, at);
                sum += self.sign * x;
                self.set(start, at, sum);
                self.keep(field, (plane, row, z), sum);
            };
            if self.hooks.sources {
                let spots = &self.setup.spots;
                spots.for_rows((stage, plane, self.it), &tile.rows, add);
            }
        }
    }

    /// Index of cell 0 of row 0 of a plane in an array `[component][own plane][row][z]`.
    fn beside(&self, component: usize, plane: usize) -> usize {
        (component * self.own + plane - self.first) * self.setup.padded.plane_len()
    }

    /// Stores a velocity if the run records velocities.
    pub fn keep(&self, field: usize, (plane, row, z): (usize, usize, usize), x: T) {
        if self.hooks.velocity.is_null() || field >= self.setup.padded.ndim() {
            return;
        }
        let at = self.beside(field, plane) + row * self.setup.padded.pitch() + z;
        // SAFETY: the record has the numbers of all cells, and the row belongs to this thread.
        unsafe { *self.hooks.velocity.add(at) = x }
    }

    /// Index of a row in array `part` of several arrays `[own plane][row]`.
    pub fn number(&self, part: usize, plane: usize, row: usize) -> usize {
        (part * self.own + plane - self.first) * self.setup.padded.rows() + row
    }

    fn plane<const NDIM: usize, const N: usize>(&self, stage: usize, tile: &Tile, plane: usize) {
        let (s, local, global) = (self.setup, self.local(plane, 0), self.global(plane, 0));
        let exists = |axis: usize| NDIM == 3 || axis != 1;
        let v = [0, 1, 2].map(|a| if exists(a) { self.velocity(a) } else { 0 } + local);
        let sigma: [usize; STRESSES] =
            std::array::from_fn(|k| if NDIM == 3 || k % 2 == 0 { self.stress(k) } else { 0 } + local);
        let at = |offset: usize| self.fields.wrapping_add(offset);
        let framed = |row: usize| s.edges.framed(plane, row);
        let plane_of = Plane {
            rows: tile.rows.clone(),
            cells: tile.z.clone(),
            framed: &framed,
            z: s.edges.z(),
            stride: self.stride(),
            weights: self.weights,
            layers: self.memory.layers(&s.edges, self.origins, plane),
            sponge: s.edges.sponge(plane),
            ahead: self.ahead,
        };
        let arch = s.cpu.arch();
        if stage == 0 {
            let b = [0, 1, 2].map(|a| {
                let component = layout::velocity(NDIM, if exists(a) { a } else { 0 });
                s.medium.buoyancy(component)[global..].as_ptr()
            });
            let (v, s) = (v.map(at), sigma.map(|k| at(k).cast_const()));
            match self.hooks.velocity.is_null() {
                true => arch.dispatch(Velocity::<T, NDIM, N, false> {
                    plane: plane_of,
                    v,
                    s,
                    b,
                    keep: [std::ptr::null_mut(); 3],
                }),
                false => arch.dispatch(Velocity::<T, NDIM, N, true> {
                    plane: plane_of,
                    v,
                    s,
                    b,
                    keep: [0, 1, 2].map(|a| {
                        let component = layout::velocity(NDIM, if exists(a) { a } else { 0 });
                        self.hooks.velocity.wrapping_add(self.beside(component, plane))
                    }),
                }),
            }
        } else {
            let c: [*const T; STIFFNESSES] =
                std::array::from_fn(|k| s.medium.stiffness(k)[global..].as_ptr());
            let (v, s) = (v.map(|k| at(k).cast_const()), sigma.map(at));
            match self.loss(plane) {
                None => arch.dispatch(Stress::<T, NDIM, N, false> {
                    plane: plane_of,
                    v,
                    s,
                    c,
                    loss: None,
                }),
                loss => arch.dispatch(Stress::<T, NDIM, N, true> {
                    plane: plane_of,
                    v,
                    s,
                    c,
                    loss,
                }),
            }
        }
    }

    /// The attenuation data of a plane.
    fn loss(&self, plane: usize) -> Option<Loss<'_, T>> {
        let p = &self.setup.padded;
        let relaxation = self.setup.relaxation.as_ref()?;
        let len = self.own * p.plane_len();
        let at = (len, (plane - self.first) * p.plane_len(), self.global(plane, 0));
        Some(relaxation.plane(p, self.anelastic, at, plane))
    }
}
