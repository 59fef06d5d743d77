//! The arguments of kernels, as structures with the same fields as in the kernel sources.

use crate::device::simd::Real;
use crate::grid::Padded;
use crate::grid::stencil::{RADIUS, WEIGHTS};
use crate::medium::voigt::{Coefficients, Pair, slot};
use crate::medium::{needed, stiffness::Symmetry};
use crate::parallel::slabs::Slab as Layout;
use std::ops::Range;

/// Largest number of coefficients of a cell.
const COEFFICIENTS: usize = Coefficients::All.count(3);

/// `struct Slab` of slab.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SlabArgs<T> {
    pub level: [u64; 2],
    pub stiffness: [u64; COEFFICIENTS],
    pub buoyancy: u64,
    pub sponge: [u64; 3],
    pub component: i64,
    pub weights: [[T; RADIUS]; 3],
    pub spacing: [T; 3],
    pub nz: i32,
    pub pitch: i32,
    pub rows: i32,
    pub planes: i32,
    pub nb: i32,
    pub model_nz: i32,
    pub model_rows: i32,
    pub model_planes: i32,
    pub first: i32,
    pub own: i32,
    pub medium_first: i32,
    pub padding: i32,
}

impl<T: Real> SlabArgs<T> {
    /// All fields but the addresses.
    pub fn new(p: &Padded, layout: &Layout) -> Self {
        let three = p.ndim() == 3;
        let int = |n: usize| i32::try_from(n).expect("an axis fits 32 bits");
        // Weights along z, row, plane; spacings in the order of the grid.
        let axes = if three { [0, 1, 2] } else { [0, 0, 1] };
        Self {
            level: [0; 2],
            stiffness: [0; COEFFICIENTS],
            buoyancy: 0,
            sponge: [0; 3],
            component: component_len(p, layout) as i64,
            weights: axes.map(|a: usize| WEIGHTS.map(|w| T::of(w / f64::from(p.d()[a])))),
            spacing: p.d().map(|d| T::of(f64::from(d))),
            nz: int(p.n[0]),
            pitch: int(p.pitch()),
            rows: int(p.rows()),
            planes: int(p.planes()),
            nb: int(p.nb),
            model_nz: int(p.model.n[0]),
            model_rows: int(if three { p.model.n[1] } else { 1 }),
            model_planes: int(p.model.n[p.ndim() - 1]),
            first: int(layout.own.start),
            own: int(layout.own.len()),
            medium_first: int(medium_planes(p, layout).start),
            padding: 0,
        }
    }
}

/// Length of one component of a level, in numbers: the planes of the slab, with ghost planes on either side.
pub fn component_len(p: &Padded, layout: &Layout) -> usize {
    (layout.own.len() + 2 * crate::methods::displacement::GHOST) * p.plane_len()
}

/// Model planes that a slab needs.
pub fn medium_planes(p: &Padded, layout: &Layout) -> Range<usize> {
    needed(p, &layout.own)
}

/// The coefficients that a symmetry class keeps on a device, in the order in which kernels take them. In 2-D all
/// classes between isotropic and triclinic are the same.
pub fn kept_pairs(ndim: usize, symmetry: Symmetry) -> &'static [Pair] {
    match (ndim, symmetry) {
        (_, Symmetry::Isotropic) => &[(1, 3), (5, 5)],
        (_, Symmetry::Triclinic) => Coefficients::All.table(ndim).pairs,
        (2, _) => &[(3, 3), (1, 1), (5, 5), (1, 3)],
        (_, Symmetry::Vti) => &[(3, 3), (1, 1), (5, 5), (6, 6), (1, 3)],
        (_, Symmetry::Hti) => &[(1, 1), (3, 3), (4, 4), (5, 5), (1, 3)],
        (_, Symmetry::Orthorhombic) => &[
            (3, 3),
            (2, 2),
            (4, 4),
            (2, 3),
            (1, 1),
            (5, 5),
            (6, 6),
            (1, 3),
            (1, 2),
        ],
    }
}

/// The coefficients of `kept_pairs`, as indices in memory order.
pub fn kept(ndim: usize, symmetry: Symmetry) -> Vec<usize> {
    let pairs = kept_pairs(ndim, symmetry).iter();
    pairs.map(|&pair| slot(ndim, pair)).collect()
}

/// `struct Sweep` of slab.cuh.
#[repr(C)]
pub struct Sweep<T> {
    pub slab: SlabArgs<T>,
    pub now: i32,
    pub begin: i32,
    pub end: i32,
    pub chunk: i32,
    pub boxes: [u64; 2],
}

/// `struct Faces` of faces.cu.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Faces<T> {
    pub slab: SlabArgs<T>,
    pub now: i32,
    pub begin: i32,
    pub end: i32,
    pub across: i32,
}

/// `struct Line` of survey.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Line {
    pub plane: i32,
    pub row: i32,
    pub z_begin: i32,
    pub z_end: i32,
    pub first: i32,
    pub count: i32,
}

/// `struct Inject` of survey.cuh.
#[repr(C)]
pub struct Inject<T> {
    pub slab: SlabArgs<T>,
    pub now: i32,
    pub steps: i32,
    pub clock: u64,
    pub step: i32,
    pub lines: i32,
    pub line: u64,
    pub source: u64,
    pub place: u64,
    pub weight: u64,
    pub wavelet: u64,
    pub length: i32,
    pub sources: i32,
    pub stress: i32,
}

/// `struct Extract` of survey.cuh.
#[repr(C)]
pub struct Extract<T> {
    pub slab: SlabArgs<T>,
    pub now: i32,
    pub clock: u64,
    pub step: i32,
    pub every: i32,
    pub slots: i32,
    pub receivers: i32,
    pub components: i32,
    pub potentials: i32,
    pub cell: u64,
    pub beyond: u64,
    pub records: u64,
}

/// `struct Pack` of survey.cu.
#[repr(C)]
pub struct Pack<T> {
    pub slab: SlabArgs<T>,
    pub now: i32,
    pub component: i32,
    pub potentials: i32,
    pub begin: i32,
    pub end: i32,
    pub z_begin: i32,
    pub z_count: i32,
    pub row_begin: i32,
    pub row_count: i32,
    pub out: u64,
}

/// `struct Look` of survey.cu.
#[repr(C)]
pub struct Look<T> {
    pub slab: SlabArgs<T>,
    pub now: i32,
    pub first_non_finite: u64,
}

/// `struct Tick` of survey.cu.
#[repr(C)]
pub struct Tick {
    pub clock: u64,
    pub steps: i32,
}

/// `struct Pad` of pad.cu.
#[repr(C)]
pub struct Pad<T> {
    pub from: u64,
    pub to: u64,
    pub lines: i64,
    pub model_nz: i32,
    pub nb: i32,
    pub nz: i32,
    pub pitch: i32,
    pub top: i32,
    pub divide: i32,
    pub scale: T,
}

/// `struct Small` of fused_2d.cu.
#[repr(C)]
pub struct Small<T> {
    pub sweep: Sweep<T>,
    pub inject: Inject<T>,
    pub extract: Extract<T>,
    pub across: i32,
    pub tiles: i32,
    pub lines: i32,
}
