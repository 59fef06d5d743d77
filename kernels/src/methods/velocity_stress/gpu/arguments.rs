//! The argument structures of the kernels, field by field as in the CUDA sources.

use crate::device::simd::Real;
use crate::grid::Padded;
use crate::medium::needed;
use crate::methods::velocity_stress::GHOST;
use crate::methods::velocity_stress::layout::fields;
use crate::methods::velocity_stress::rows::MOST;
use crate::methods::velocity_stress::surface::{DEGREE, STRESS_DEGREE};
use crate::parallel::slabs::Slab as Layout;

/// Largest number of boxes of cells in one launch.
pub const MOST_BOXES: usize = 4;

/// `struct Stiff` of slab.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stiff {
    pub normal: [u64; 6],
    pub shear: [u64; 3],
}

/// `struct Slab` of slab.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SlabArgs<T> {
    pub fields: u64,
    pub density: u64,
    pub stiff: Stiff,
    pub field: i64,
    pub shot: i64,
    pub weights: [[T; MOST]; 3],
    pub nz: i32,
    pub pitch: i32,
    pub rows: i32,
    pub planes: i32,
    pub low_row: i32,
    pub low_plane: i32,
    pub model_rows: i32,
    pub model_planes: i32,
    pub first: i32,
    pub own: i32,
    pub medium_first: i32,
    pub padding: i32,
}

/// Converts a number of cells to the `int` of the kernels.
pub fn int(n: usize) -> i32 {
    i32::try_from(n).expect("an axis fits 32 bits")
}

impl<T: Real> SlabArgs<T> {
    /// Arguments without the addresses.
    pub fn new(p: &Padded, layout: &Layout, weights: [[T; MOST]; 3]) -> Self {
        let three = p.ndim() == 3;
        let last = p.ndim() - 1;
        Self {
            fields: 0,
            density: 0,
            stiff: Stiff::default(),
            field: field_len(p, layout) as i64,
            shot: shot_len(p, layout) as i64,
            weights,
            nz: int(p.n[0]),
            pitch: int(p.pitch()),
            rows: int(p.rows()),
            planes: int(p.planes()),
            low_row: int(if three { p.low[1] } else { 0 }),
            low_plane: int(p.low[last]),
            model_rows: int(if three { p.model.n[1] } else { 1 }),
            model_planes: int(p.model.n[last]),
            first: int(layout.own.start),
            own: int(layout.own.len()),
            medium_first: int(needed(p, &layout.own).start),
            padding: 0,
        }
    }

    /// The slab with the fields of one of the shots that run side by side.
    pub fn of_shot(mut self, shot: usize) -> Self {
        self.fields += (shot * self.shot as usize * size_of::<T>()) as u64;
        self
    }
}

/// Length of one field: the planes of the slab, with ghost planes on either side.
pub fn field_len(p: &Padded, layout: &Layout) -> usize {
    (layout.own.len() + 2 * GHOST) * p.plane_len()
}

/// Length of all fields of a shot.
pub fn shot_len(p: &Padded, layout: &Layout) -> usize {
    fields(p.ndim()) * field_len(p, layout)
}

/// `struct Layer` of frame.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Layer {
    pub psi: u64,
    pub component: i64,
    pub factor: [[u64; 3]; 2],
}

/// `struct Frame` of frame.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameArgs {
    pub layer: [Layer; 3],
    pub line: [u64; 3],
    pub sponge: [u64; 3],
    pub low: i32,
    pub high: i32,
    pub width: i32,
    pub framed_rows: i32,
    pub first_plane: i32,
    pub padding: i32,
}

/// `struct Box` of stage.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoxArgs {
    pub z: i32,
    pub row: i32,
    pub plane: i32,
    pub vectors: i32,
    pub rows: i32,
    pub planes: i32,
    pub chunks: i32,
    pub along: i32,
    pub across: i32,
    pub deep: i32,
    pub begin: i32,
    pub padding: i32,
}

/// `struct Loss` of stage.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct LossArgs {
    pub weak: Stiff,
    pub memory: u64,
    pub pattern: u64,
    pub stress: i64,
    pub mechanism: i64,
}

/// `struct Stage` of stage.cu.
#[repr(C)]
pub struct StageArgs<T> {
    pub slab: SlabArgs<T>,
    pub frame: FrameArgs,
    pub loss: LossArgs,
    pub boxes: [BoxArgs; MOST_BOXES],
    pub count: i32,
    pub z_end: i32,
}

/// `struct Surface` of surface.cu.
#[repr(C)]
pub struct SurfaceArgs<T> {
    pub slab: SlabArgs<T>,
    pub vertical: [[T; DEGREE + 1]; MOST],
    pub horizontal: [[T; DEGREE + 1]; MOST],
    pub normal: [[T; STRESS_DEGREE]; MOST],
    pub shear: [[T; STRESS_DEGREE]; MOST],
    pub spacing: T,
    pub top: i32,
    pub begin: i32,
    pub end: i32,
    pub row_begin: i32,
    pub row_count: i32,
}

/// `struct Inject` of points.cu.
#[repr(C)]
pub struct Inject<T> {
    pub slab: SlabArgs<T>,
    pub cell: u64,
    pub first: u64,
    pub series: u64,
    pub weight: u64,
    pub strength: u64,
    pub all_series: i64,
    pub begin: i32,
    pub end: i32,
    pub step: i32,
    pub steps: i32,
}

/// `struct Extract` of points.cu.
#[repr(C)]
pub struct Extract<T> {
    pub slab: SlabArgs<T>,
    pub first: u64,
    pub cell: u64,
    pub weight: u64,
    pub kept: [u64; 2],
    pub record: u64,
    pub dt: T,
    pub integral: i32,
    pub count: i32,
}

/// `struct Pack` of points.cu.
#[repr(C)]
pub struct Pack<T> {
    pub slab: SlabArgs<T>,
    pub field: [i32; 3],
    pub fields: i32,
    pub share: T,
    pub begin: i32,
    pub end: i32,
    pub z_begin: i32,
    pub z_count: i32,
    pub row_begin: i32,
    pub row_count: i32,
    pub out: u64,
}

/// `struct Peaks` of points.cu.
#[repr(C)]
pub struct Peaks<T> {
    pub slab: SlabArgs<T>,
    pub peaks: u64,
    pub top: i32,
    pub begin: i32,
    pub end: i32,
    pub row_begin: i32,
    pub row_count: i32,
}

/// `struct Look` of points.cu.
#[repr(C)]
pub struct Look<T> {
    pub slab: SlabArgs<T>,
    pub first_non_finite: u64,
}
