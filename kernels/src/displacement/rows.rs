//! The formulas of one row of cells, several cells at a time (Weiss & Shragge 2013, eqs 1-3 and 6).
//!
//! A row runs along `z`. `ROW` is the axis from row to row (x in 3-D, absent in 2-D) and `PLANE` the slowest axis
//! (y in 3-D, x in 2-D), so that one text serves both dimensions.

use crate::device::simd::{Lane, Real};
use crate::stencil::RADIUS;
use pulp::Simd;

/// Stresses in the order of the ring: those differentiated along planes first.
pub const STRESSES: usize = 6;
/// Plane-normal stress (3-D `yy`, 2-D `xx`).
pub const PP: usize = 0;
/// Shear of `z` and the plane axis.
pub const ZP: usize = 1;
/// `zz`
pub const ZZ: usize = 2;
/// Shear of the row and the plane axis (3-D `xy`).
pub const RP: usize = 3;
/// Row-normal stress (3-D `xx`).
pub const RR: usize = 4;
/// Shear of `z` and the row axis (3-D `zx`).
pub const ZR: usize = 5;

/// Where each stiffness of a [`Stress`] row stands in the file order, 3-D: zz, pp, zp (shear), z-p coupling, rr, zr,
/// rp (shears), z-r and r-p coupling.
pub const SLOTS_3D: [usize; 9] = [2, 1, 3, 8, 0, 4, 5, 7, 6];
/// The same in 2-D.
pub const SLOTS_2D: [usize; 4] = [1, 0, 2, 3];

/// Derivative weights divided by the spacing, along z, row, plane.
pub type Weights<T> = [[T; RADIUS]; 3];

/// A row of displacement with its neighbours: pointers to the row's first cell, component z, [row,] plane.
#[derive(Clone, Copy)]
pub struct Field<T> {
    /// Components: z, plane, row.
    pub u: [*const T; 3],
    /// Numbers from row to row.
    pub row: isize,
    /// Numbers from plane to plane.
    pub plane: isize,
}

/// Strain and stress of a run of cells. Without `CORE` only the stresses differentiated across rows are written.
pub struct Stress<'a, T, const NDIM: usize, const CORE: bool> {
    /// Displacement at the current time.
    pub field: Field<T>,
    /// Stiffness rows in slot order.
    pub stiffness: [*const T; 9],
    /// Stress rows to write.
    pub out: [*mut T; STRESSES],
    /// Weights.
    pub weights: &'a Weights<T>,
    /// Numbers a row (a multiple of every register's length).
    pub len: usize,
}

/// `D f = sum_m W_m (f(m) - f(-m))`, summed from the far neighbours inwards.
///
/// # Safety
/// Four neighbours on either side must be readable.
#[inline(always)]
unsafe fn derive<S: Simd, T: Real>(s: S, p: *const T, stride: isize, w: &[Lane<S, T>; RADIUS]) -> Lane<S, T> {
    // SAFETY: promised by the caller.
    let pair = |m: isize| unsafe { Lane::load(s, p.offset(m * stride)) - Lane::load(s, p.offset(-m * stride)) };
    let mut sum = w[3] * pair(4);
    sum = w[2].mul_add(pair(3), sum);
    sum = w[1].mul_add(pair(2), sum);
    w[0].mul_add(pair(1), sum)
}

#[inline(always)]
fn splat_weights<S: Simd, T: Real>(s: S, w: &Weights<T>) -> [[Lane<S, T>; RADIUS]; 3] {
    let axis = |a: &[T; RADIUS]| [Lane::splat(s, a[0]), Lane::splat(s, a[1]), Lane::splat(s, a[2]), Lane::splat(s, a[3])];
    [axis(&w[0]), axis(&w[1]), axis(&w[2])]
}

impl<T: Real, const NDIM: usize, const CORE: bool> pulp::WithSimd for Stress<'_, T, NDIM, CORE> {
    type Output = ();

    /// Strain (eq. 1) and stress (eq. 2) of every cell of the row.
    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let [wz, wr, wp] = splat_weights(s, self.weights);
        let Field { u: [uz, up, ur], row, plane } = self.field;
        let (c, out) = (self.stiffness, self.out);
        let mut i = 0;
        while i < self.len {
            // SAFETY: the caller of the row owns `len` numbers of every row and the neighbours of the field.
            unsafe {
                let k = |slot: usize| Lane::load(s, c[slot].add(i));
                let ezz = derive(s, uz.add(i), 1, &wz);
                let epp = derive(s, up.add(i), plane, &wp);
                let mut err = ezz;
                if NDIM == 3 {
                    err = derive(s, ur.add(i), row, &wr);
                    let srr = k(4).mul_add(err, k(7).mul_add(ezz, k(8) * epp));
                    srr.store(out[RR].add(i));
                    let ezr = derive(s, uz.add(i), row, &wr) + derive(s, ur.add(i), 1, &wz);
                    (k(5) * ezr).store(out[ZR].add(i));
                    let erp = derive(s, ur.add(i), plane, &wp) + derive(s, up.add(i), row, &wr);
                    (k(6) * erp).store(out[RP].add(i));
                }
                if CORE {
                    let (mut szz, mut spp) = (k(3).mul_add(epp, k(0) * ezz), k(3).mul_add(ezz, k(1) * epp));
                    if NDIM == 3 {
                        szz = k(7).mul_add(err, szz);
                        spp = k(8).mul_add(err, spp);
                    }
                    szz.store(out[ZZ].add(i));
                    spp.store(out[PP].add(i));
                    let ezp = derive(s, uz.add(i), plane, &wp) + derive(s, up.add(i), 1, &wz);
                    (k(2) * ezp).store(out[ZP].add(i));
                }
            }
            i += T::lanes::<S>();
        }
    }
}

/// Force and time step of a run of cells.
pub struct Update<'a, T, const NDIM: usize, const DAMPED: bool> {
    /// Not a rim row: forces act here.
    pub live: bool,
    /// Stress rows at the cell, in ring order.
    pub stress: [*const T; STRESSES],
    /// The rows of the stresses differentiated along planes (`PP`, `ZP`, `RP`), 4 planes below to 4 above.
    pub along: [[*const T; 2 * RADIUS + 1]; 3],
    /// Numbers between stress rows.
    pub row: isize,
    /// Displacement now: components z, plane, row.
    pub curr: [*const T; 3],
    /// Displacement before; becomes the next one in place.
    pub prev: [*mut T; 3],
    /// `dt*dt/rho`, zero in the rim.
    pub buoyancy: *const T,
    /// Sponge along z.
    pub sponge_z: *const T,
    /// Sponge of the row: the other axes' product.
    pub sponge: T,
    /// Weights.
    pub weights: &'a Weights<T>,
    /// Numbers a row.
    pub len: usize,
}

impl<T: Real, const NDIM: usize, const DAMPED: bool> pulp::WithSimd for Update<'_, T, NDIM, DAMPED> {
    type Output = ();

    /// Force `D_j s_ij` (eq. 3) and the time step `next = 2 curr - prev + f dt^2/rho` (eq. 6). With the sponge on,
    /// `prev` still lacks its second damping: it gets it here, so that no pass over memory is spent on it.
    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let [wz, wr, wp] = splat_weights(s, self.weights);
        let outer = Lane::splat(s, self.sponge);
        let mut i = 0;
        while i < self.len {
            // SAFETY: as for `Stress`.
            unsafe {
                let damp = if DAMPED { Lane::load(s, self.sponge_z.add(i)) * outer } else { outer };
                let coast = |k: usize| {
                    let (curr, prev) = (Lane::load(s, self.curr[k].add(i)), Lane::load(s, self.prev[k].add(i)));
                    curr + curr - if DAMPED { prev * damp } else { prev }
                };
                let (mut nz, mut np) = (coast(0), coast(1));
                let mut nr = if NDIM == 3 { coast(2) } else { nz };
                if self.live {
                    let stress = &self.stress;
                    let b = Lane::load(s, self.buoyancy.add(i));
                    let along = |k: usize| {
                        let rows = &self.along[k];
                        let pair = |m: usize| Lane::load(s, rows[4 + m].add(i)) - Lane::load(s, rows[4 - m].add(i));
                        let mut sum = wp[3] * pair(4);
                        sum = wp[2].mul_add(pair(3), sum);
                        sum = wp[1].mul_add(pair(2), sum);
                        wp[0].mul_add(pair(1), sum)
                    };
                    let mut fz = derive(s, stress[ZZ].add(i), 1, &wz) + along(1);
                    let mut fp = derive(s, stress[ZP].add(i), 1, &wz) + along(0);
                    if NDIM == 3 {
                        fz = fz + derive(s, stress[ZR].add(i), self.row, &wr);
                        fp = fp + derive(s, stress[RP].add(i), self.row, &wr);
                        let fr = derive(s, stress[ZR].add(i), 1, &wz) + derive(s, stress[RR].add(i), self.row, &wr);
                        nr = (fr + along(2)).mul_add(b, nr);
                    }
                    nz = fz.mul_add(b, nz);
                    np = fp.mul_add(b, np);
                }
                nz.store(self.prev[0].add(i));
                np.store(self.prev[1].add(i));
                if NDIM == 3 {
                    nr.store(self.prev[2].add(i));
                }
            }
            i += T::lanes::<S>();
        }
    }
}

/// The one-way condition between two rows: `next(i) = curr(i+1) + (curr(i) - next(i+1)) b` for all cells of a row.
pub struct OneWayRow<T> {
    /// `next` of this row, in place.
    pub next: *mut T,
    /// `next` of the row further in.
    pub next_in: *const T,
    /// `curr` of this row.
    pub curr: *const T,
    /// `curr` of the row further in.
    pub curr_in: *const T,
    /// Factors.
    pub b: *const T,
    /// Numbers a row.
    pub len: usize,
}

impl<T: Real> pulp::WithSimd for OneWayRow<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let mut i = 0;
        while i < self.len {
            // SAFETY: the caller owns `len` numbers of all five rows.
            unsafe {
                let load = |p: *const T| Lane::load(s, p.add(i));
                let rest = load(self.curr) - load(self.next_in);
                rest.mul_add(load(self.b), load(self.curr_in)).store(self.next.add(i));
            }
            i += T::lanes::<S>();
        }
    }
}

/// Multiplies a row by the sponge along z and the row's own factor.
pub struct SpongeRow<T> {
    /// The row.
    pub row: *mut T,
    /// Sponge along z.
    pub sponge_z: *const T,
    /// Product of the other axes.
    pub sponge: T,
    /// Numbers a row.
    pub len: usize,
}

impl<T: Real> pulp::WithSimd for SpongeRow<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let outer = Lane::splat(s, self.sponge);
        let mut i = 0;
        while i < self.len {
            // SAFETY: the caller owns `len` numbers of both rows.
            unsafe {
                let damp = Lane::load(s, self.sponge_z.add(i)) * outer;
                (Lane::load(s, self.row.add(i)) * damp).store(self.row.add(i));
            }
            i += T::lanes::<S>();
        }
    }
}
