//! The formulas of a cell (Weiss & Shragge 2013, eqs 1-3 and 6), for a register of cells at a time.
//!
//! A row runs along `z`. Axes are named `z`, row (x in 3-D, absent in 2-D) and plane (the slowest axis, y in 3-D and
//! x in 2-D), so that the same code serves both dimensions.

use crate::device::simd::{Lane, Real, opaque, prefetch};
use crate::grid::stencil::RADIUS;
use crate::medium::voigt;
use pulp::Simd;
use std::ops::Range;

/// Number of stresses in the ring.
pub const STRESSES: usize = 6;
/// Plane-normal stress (3-D `yy`, 2-D `xx`).
pub const PP: usize = 0;
/// Shear of `z` and the plane axis.
pub const ZP: usize = 1;
/// Normal stress `zz`.
pub const ZZ: usize = 2;
/// Shear of the row and the plane axis (3-D `xy`).
pub const RP: usize = 3;
/// Row-normal stress (3-D `xx`).
pub const RR: usize = 4;
/// Shear of `z` and the row axis (3-D `zx`).
pub const ZR: usize = 5;

/// Index in memory order of the stiffness that couples two components in the order of the ring; `None` if there is
/// none.
pub type Slots = [[Option<usize>; STRESSES]; STRESSES];

/// [`Slots`] in 2-D, without components of a third axis, and in 3-D.
pub static SLOTS: [Slots; 2] = [slots(2), slots(3)];

const fn slots(ndim: usize) -> Slots {
    // Axes x, y, z are 0, 1, 2. In 3-D the row axis is x and the plane axis y; in 2-D the plane axis is x.
    let (z, row, plane) = (2, 0, if ndim == 3 { 1 } else { 0 });
    let axes = [
        (plane, plane),
        (z, plane),
        (z, z),
        (row, plane),
        (row, row),
        (z, row),
    ];
    let held = if ndim == 3 { STRESSES } else { RP };
    let mut slots = [[None; STRESSES]; STRESSES];
    let mut at = 0;
    while at < held * held {
        let (a, b) = (at / held, at % held);
        let (i, j) = (
            voigt::number(axes[a].0, axes[a].1),
            voigt::number(axes[b].0, axes[b].1),
        );
        let pair = if i < j { (i, j) } else { (j, i) };
        slots[a][b] = Some(voigt::slot(ndim, pair));
        at += 1;
    }
    slots
}

/// Derivative weights divided by the spacing, along z, row, plane.
pub type Weights<T> = [[T; RADIUS]; 3];

/// A block of cells of a plane: consecutive rows, and a range along `z` whose length is a multiple of the register's
/// length.
#[derive(Clone)]
pub struct Block {
    /// Rows of the plane.
    pub rows: Range<usize>,
    /// Cells along `z`.
    pub z: Range<usize>,
}

impl Block {
    /// Visits every register of the block once on each plane. A row is visited on all planes before the next row,
    /// because data that planes share are then still in the cache.
    #[inline(always)]
    fn for_each<P>(&self, lanes: usize, planes: &[P], mut visit: impl FnMut(&P, usize, usize)) {
        for row in self.rows.clone() {
            for plane in planes {
                for i in self.z.clone().step_by(lanes) {
                    visit(plane, row, i);
                }
            }
        }
    }
}

/// The index `i`, which [`opaque`] hides from the compiler in 3-D, where pointers to all rows of a formula would need
/// more registers than a processor has.
#[inline(always)]
fn index<const NDIM: usize>(i: usize) -> usize {
    if NDIM == 3 { opaque(i) } else { i }
}

/// Distances between rows and planes in memory, in numbers.
pub struct Layout {
    /// Displacement, from row to row.
    pub row: usize,
    /// Displacement, from plane to plane.
    pub plane: usize,
    /// Stress ring, from row to row.
    pub ring: usize,
    /// Prefetch distance, 0 for none. The hardware does not prefetch as many rows as a formula reads.
    pub ahead: usize,
}

/// Pointers for strain and stress on a plane.
#[derive(Clone, Copy)]
pub struct StressPlane<T> {
    /// Displacement of the current level: components z, plane, row.
    pub u: [*const T; 3],
    /// Stiffness between the components of the ring; null if [`SLOTS`] or the medium has none.
    pub stiffness: [[*const T; STRESSES]; STRESSES],
    /// Stress (output).
    pub out: [*mut T; STRESSES],
}

impl<T> StressPlane<T> {
    /// Null pointers.
    pub fn none() -> Self {
        Self {
            u: [std::ptr::null(); 3],
            stiffness: [[std::ptr::null(); STRESSES]; STRESSES],
            out: [std::ptr::null_mut(); STRESSES],
        }
    }
}

/// Strain and stress of a block. Without `CORE` only the stresses differentiated across rows are written.
///
/// Pointers refer to the first cell of row 0 of the plane, and are not dereferenced for rows that do not exist.
///
/// With `ANY` all coefficients are used, including those that vanish if the symmetry planes of the medium are the
/// coordinate planes. If they are zero, the results are the same as without `ANY`.
pub struct Stress<'a, T, const NDIM: usize, const CORE: bool, const ANY: bool> {
    /// Rows and cells along z to compute.
    pub block: Block,
    /// Distances in memory.
    pub layout: Layout,
    /// Planes to compute.
    pub planes: &'a [StressPlane<T>],
    /// Offset of each row in a plane of stiffness.
    pub lines: &'a [usize],
    /// Derivative weights.
    pub weights: &'a Weights<T>,
}

/// `D f = sum_m W_m (f(m) - f(-m))`, summed from the far neighbours inwards.
///
/// # Safety
/// Four neighbours on either side must be readable.
#[inline(always)]
unsafe fn derive<S: Simd, T: Real>(s: S, p: *const T, stride: isize, w: &[Lane<S, T>; RADIUS]) -> Lane<S, T> {
    // SAFETY: guaranteed by the caller.
    let pair =
        |m: isize| unsafe { Lane::load(s, p.offset(m * stride)) - Lane::load(s, p.offset(-m * stride)) };
    let mut sum = w[3] * pair(4);
    sum = w[2].mul_add(pair(3), sum);
    sum = w[1].mul_add(pair(2), sum);
    w[0].mul_add(pair(1), sum)
}

#[inline(always)]
fn splat_weights<S: Simd, T: Real>(s: S, w: &Weights<T>) -> [[Lane<S, T>; RADIUS]; 3] {
    let axis = |a: &[T; RADIUS]| {
        [
            Lane::splat(s, a[0]),
            Lane::splat(s, a[1]),
            Lane::splat(s, a[2]),
            Lane::splat(s, a[3]),
        ]
    };
    [axis(&w[0]), axis(&w[1]), axis(&w[2])]
}

impl<T: Real, const NDIM: usize, const CORE: bool, const ANY: bool> pulp::WithSimd
    for Stress<'_, T, NDIM, CORE, ANY>
{
    type Output = ();

    /// Strain (eq. 1) and stress (eq. 2) of every cell of the block.
    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let weights = splat_weights(s, self.weights);
        // SAFETY: the caller owns the block's cells of `out` and may read the block's neighbours of `u`.
        self.block
            .for_each(T::lanes::<S>(), self.planes, |plane, row, i| unsafe {
                self.cells(s, &weights, plane, (row, index::<NDIM>(i)))
            });
    }
}

impl<T: Real, const NDIM: usize, const CORE: bool, const ANY: bool> Stress<'_, T, NDIM, CORE, ANY> {
    /// Computes one register of cells.
    ///
    /// # Safety
    /// The stresses of the cells must be writable, and their stiffness and the displacement of their neighbours
    /// readable.
    #[inline(always)]
    unsafe fn cells<S: Simd>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; RADIUS]; 3],
        plane: &StressPlane<T>,
        (row, i): (usize, usize),
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let line = *self.lines.get_unchecked(row) + i;
            let strain = self.strain(s, weights, &plane.u, row * self.layout.row + i);
            let out = |k: usize| plane.out[k].wrapping_add(row * self.layout.ring + i);
            let hooke = |stress: usize, first: [usize; 3]| {
                Self::hooke(s, &strain, &plane.stiffness[stress], line, first)
            };
            if NDIM == 3 {
                hooke(RR, [RR, ZZ, PP]).store(out(RR));
                hooke(ZR, [ZR; 3]).store(out(ZR));
                hooke(RP, [RP; 3]).store(out(RP));
            }
            if CORE {
                hooke(ZZ, [RR, PP, ZZ]).store(out(ZZ));
                hooke(PP, [RR, ZZ, PP]).store(out(PP));
                hooke(ZP, [ZP; 3]).store(out(ZP));
            }
            if self.layout.ahead > 0 {
                self.fetch(plane, line, row * self.layout.row + i);
            }
        }
    }

    /// Prefetches data that previous planes have not read: displacement four planes ahead, and the orthorhombic
    /// coefficients.
    #[inline(always)]
    fn fetch(&self, plane: &StressPlane<T>, line: usize, at: usize) {
        let ahead = self.layout.ahead;
        for u in &plane.u[..NDIM] {
            prefetch(u.wrapping_add(at + RADIUS * self.layout.plane + ahead));
        }
        if !CORE {
            return;
        }
        for (a, b) in [(PP, PP), (PP, ZZ), (ZZ, ZZ), (ZP, ZP)] {
            prefetch(plane.stiffness[a][b].wrapping_add(line + ahead));
        }
        if NDIM == 3 {
            for (a, b) in [(RR, PP), (RR, ZZ), (RR, RR), (ZR, ZR), (RP, RP)] {
                prefetch(plane.stiffness[a][b].wrapping_add(line + ahead));
            }
        }
    }

    /// The strains (eq. 1) of one register of cells that its stresses need, in the order of the ring.
    ///
    /// # Safety
    /// The requirements of [`Stress::cells`] apply.
    #[inline(always)]
    unsafe fn strain<S: Simd>(
        &self,
        s: S,
        [wz, wr, wp]: &[[Lane<S, T>; RADIUS]; 3],
        u: &[*const T; 3],
        at: usize,
    ) -> [Lane<S, T>; STRESSES] {
        let (along_row, along_plane) = (self.layout.row as isize, self.layout.plane as isize);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (uz, up) = (u[0].add(at), u[1].add(at));
            let mut e = [derive(s, uz, 1, wz); STRESSES];
            e[PP] = derive(s, up, along_plane, wp);
            if NDIM == 3 {
                let ur = u[2].add(at);
                e[RR] = derive(s, ur, along_row, wr);
                e[ZR] = derive(s, uz, along_row, wr) + derive(s, ur, 1, wz);
                e[RP] = derive(s, ur, along_plane, wp) + derive(s, up, along_row, wr);
            }
            if CORE || ANY {
                e[ZP] = derive(s, uz, along_plane, wp) + derive(s, up, 1, wz);
            }
            e
        }
    }

    /// One stress (eq. 2) of one register of cells from their strains `e` and its row of stiffnesses; `line` is the
    /// offset of their medium. `first` lists the strains that contribute in every medium, with the innermost product
    /// last; for a shear stress that is only its own strain.
    ///
    /// # Safety
    /// The requirements of [`Stress::cells`] apply.
    #[inline(always)]
    unsafe fn hooke<S: Simd>(
        s: S,
        e: &[Lane<S, T>; STRESSES],
        stiffness: &[*const T; STRESSES],
        line: usize,
        first: [usize; 3],
    ) -> Lane<S, T> {
        // SAFETY: guaranteed by the caller.
        let c = |k: usize| unsafe { Lane::load(s, stiffness[k].add(line)) };
        let counts = |k: usize| k != first[2] && (NDIM == 3 || k < RP);
        // This is not a loop, because indexed values would be kept in memory instead of registers.
        let [last, middle, inner] = first;
        let mut sum = c(inner) * e[inner];
        if counts(middle) {
            sum = c(middle).mul_add(e[middle], sum);
        }
        if counts(last) {
            sum = c(last).mul_add(e[last], sum);
        }
        if ANY {
            for k in (0..if NDIM == 3 { STRESSES } else { RP }).filter(|k| !first.contains(k)) {
                sum = c(k).mul_add(e[k], sum);
            }
        }
        sum
    }
}

/// Pointers for force and time step on a plane.
#[derive(Clone, Copy)]
pub struct UpdatePlane<T> {
    /// Stress, in the order of the ring.
    pub stress: [*const T; STRESSES],
    /// The stresses differentiated along planes (`PP`, `ZP`, `RP`), from 4 planes below to 4 above.
    pub along: [[*const T; 2 * RADIUS + 1]; 3],
    /// Displacement of the current level: components z, plane, row.
    pub curr: [*const T; 3],
    /// Displacement of the previous level, which is overwritten with the next level.
    pub prev: [*mut T; 3],
    /// `dt*dt/rho`, zero in the rim.
    pub buoyancy: *const T,
    /// Weight of the sponge along the plane axis.
    pub sponge: T,
}

impl<T: Real> UpdatePlane<T> {
    /// Null pointers.
    pub fn none() -> Self {
        Self {
            stress: [std::ptr::null(); STRESSES],
            along: [[std::ptr::null(); 2 * RADIUS + 1]; 3],
            curr: [std::ptr::null(); 3],
            prev: [std::ptr::null_mut(); 3],
            buoyancy: std::ptr::null(),
            sponge: T::of(1.0),
        }
    }
}

/// Force and time step of a block.
///
/// Pointers refer to the first cell of row 0 of the plane, and are not dereferenced for rows that do not exist.
pub struct Update<'a, T, const NDIM: usize, const DAMPED: bool> {
    /// Rows and cells along z to compute.
    pub block: Block,
    /// Rows in which forces act, which excludes the rim.
    pub live: Range<usize>,
    /// Distances in memory.
    pub layout: Layout,
    /// Planes to compute.
    pub planes: &'a [UpdatePlane<T>],
    /// Offset of each row in a plane of the medium.
    pub lines: &'a [usize],
    /// Weights of the sponge along z.
    pub sponge_z: &'a [T],
    /// Weights of the sponge along rows.
    pub sponge_row: &'a [T],
    /// Derivative weights.
    pub weights: &'a Weights<T>,
}

impl<T: Real, const NDIM: usize, const DAMPED: bool> pulp::WithSimd for Update<'_, T, NDIM, DAMPED> {
    type Output = ();

    /// Force `D_j s_ij` (eq. 3) and the time step `next = 2 curr - prev + f dt^2/rho` (eq. 6). With `DAMPED`, the
    /// second application of the sponge to `prev` is done here, which saves a pass over memory.
    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let weights = splat_weights(s, self.weights);
        // SAFETY: the caller owns the block's cells of `prev` and the ring around them.
        self.block
            .for_each(T::lanes::<S>(), self.planes, |plane, row, i| unsafe {
                self.cells(s, &weights, plane, (row, index::<NDIM>(i)))
            });
    }
}

impl<T: Real, const NDIM: usize, const DAMPED: bool> Update<'_, T, NDIM, DAMPED> {
    /// Computes one register of cells.
    ///
    /// # Safety
    /// The cells must be writable, and their neighbours in the ring readable.
    #[inline(always)]
    unsafe fn cells<S: Simd>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; RADIUS]; 3],
        plane: &UpdatePlane<T>,
        (row, i): (usize, usize),
    ) {
        let at = row * self.layout.row + i;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut next = [Lane::splat(s, plane.sponge); NDIM];
            if DAMPED {
                let outer = Lane::splat(s, *self.sponge_row.get_unchecked(row) * plane.sponge);
                next = [Lane::load(s, self.sponge_z.as_ptr().add(i)) * outer; NDIM];
            }
            for (k, next) in next.iter_mut().enumerate() {
                let (curr, prev) = (
                    Lane::load(s, plane.curr[k].add(at)),
                    Lane::load(s, plane.prev[k].add(at)),
                );
                *next = curr + curr - if DAMPED { prev * *next } else { prev };
            }
            if self.live.contains(&row) {
                let b = Lane::load(s, plane.buoyancy.add(*self.lines.get_unchecked(row) + i));
                let force = self.force(s, weights, plane, row * self.layout.ring + i);
                for k in 0..NDIM {
                    next[k] = force[k].mul_add(b, next[k]);
                }
            }
            for (k, next) in next.into_iter().enumerate() {
                next.store(plane.prev[k].add(at));
            }
            if self.layout.ahead > 0 {
                let line = *self.lines.get_unchecked(row) + i;
                prefetch(plane.buoyancy.wrapping_add(line + self.layout.ahead));
                for prev in &plane.prev[..NDIM] {
                    prefetch(prev.wrapping_add(at + self.layout.ahead));
                }
            }
        }
    }

    /// Components z, plane, row of `D_j s_ij` at a cell of the ring.
    ///
    /// # Safety
    /// The requirements of [`Update::cells`] apply.
    #[inline(always)]
    unsafe fn force<S: Simd>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; RADIUS]; 3],
        plane: &UpdatePlane<T>,
        at: usize,
    ) -> [Lane<S, T>; 3] {
        let [wz, wr, wp] = weights;
        let across = self.layout.ring as isize;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let p = |k: usize| plane.stress[k].wrapping_add(at);
            let along = |k: usize| {
                let rows = &plane.along[k];
                let cell = |m: usize| Lane::load(s, rows[m].wrapping_add(at));
                let mut sum = wp[3] * (cell(8) - cell(0));
                sum = wp[2].mul_add(cell(7) - cell(1), sum);
                sum = wp[1].mul_add(cell(6) - cell(2), sum);
                wp[0].mul_add(cell(5) - cell(3), sum)
            };
            let fz = derive(s, p(ZZ), 1, wz) + along(1);
            let fp = derive(s, p(ZP), 1, wz) + along(0);
            if NDIM == 2 {
                return [fz, fp, fp];
            }
            let fr = derive(s, p(ZR), 1, wz) + derive(s, p(RR), across, wr) + along(2);
            [
                fz + derive(s, p(ZR), across, wr),
                fp + derive(s, p(RP), across, wr),
                fr,
            ]
        }
    }
}
