//! The gate for cells with all coefficients.
//!
//! A cell lies within a limit if its Christoffel matrix minus a multiple of the unit matrix, or that multiple minus
//! the matrix, is positive definite. Leading minors decide this without eigenvalues (Sylvester's criterion).

use super::{
    FLUID, Gate, LANES, LOOK, NEARLY_SINGULAR, NOT_HTI, NOT_ORTHORHOMBIC, NOT_VTI, PLACES_2D, PLACES_3D,
    SAME, flag,
};
use crate::stability::{CORNERS, DIRECTIONS, ways};
use std::ops::{Add, BitAnd, BitOr, Mul, Neg, Sub};

/// Minors above this fraction of the products of the diagonal are positive in spite of float32 rounding.
const MARGIN: f32 = 2e-5;

/// One number per cell. Arithmetic loops over all cells and is compiled to vector instructions.
#[derive(Clone, Copy)]
struct Each([f32; LANES]);

/// One boolean per cell.
#[derive(Clone, Copy)]
struct Mask([bool; LANES]);

macro_rules! over_cells {
    ($($kind:ident $name:ident $call:ident $op:tt;)*) => { $(
        impl $name for $kind {
            type Output = Self;
            #[inline(always)]
            fn $call(mut self, other: Self) -> Self {
                for l in 0..LANES {
                    self.0[l] $op other.0[l];
                }
                self
            }
        }
    )* };
}

over_cells! {
    Each Add add +=;
    Each Sub sub -=;
    Each Mul mul *=;
    Mask BitAnd bitand &=;
    Mask BitOr bitor |=;
}

impl Neg for Each {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::same(0.0) - self
    }
}

impl Each {
    #[inline(always)]
    fn same(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn map(mut self, f: impl Fn(f32) -> f32) -> Self {
        for l in 0..LANES {
            self.0[l] = f(self.0[l]);
        }
        self
    }

    #[inline(always)]
    fn times(self, factor: f32) -> Self {
        self.map(|v| factor * v)
    }

    #[inline(always)]
    fn is(self, other: Self, f: impl Fn(f32, f32) -> bool) -> Mask {
        let mut mask = [false; LANES];
        for l in 0..LANES {
            mask[l] = f(self.0[l], other.0[l]);
        }
        Mask(mask)
    }

    #[inline(always)]
    fn above(self, other: Self) -> Mask {
        self.is(other, |a, b| a > b)
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        let mut out = self;
        for l in 0..LANES {
            out.0[l] = super::larger(self.0[l], other.0[l]);
        }
        out
    }
}

/// Combines masks into the flags of cells.
#[inline(always)]
fn flags(answers: &[(Mask, u32)]) -> [u32; LANES] {
    let mut out = [0; LANES];
    for (mask, bit) in answers {
        for l in 0..LANES {
            out[l] |= flag(mask.0[l], *bit);
        }
    }
    out
}

#[inline(always)]
fn good_density(rho: Each) -> Mask {
    rho.is(rho, |v, _| super::good_density(v))
}

#[inline(always)]
fn good_shear(c: Each) -> Mask {
    c.is(c, |v, _| super::good_shear(v))
}

#[inline(always)]
fn is_zero(c: Each) -> Mask {
    c.is(c, |v, _| v == 0.0)
}

impl Gate {
    /// Flags of sixteen 3-D cells: 21 coefficients in memory order, then density.
    #[inline(always)]
    pub(in crate::stability) fn flags_3d_of_any(&self, p: &[&[f32; LANES]; 22]) -> [u32; LANES] {
        if p[9..21].iter().all(|c| c.iter().all(|c| *c == 0.0)) {
            let nine: [&[f32; LANES]; 10] = std::array::from_fn(|k| if k < 9 { p[k] } else { p[21] });
            return self.flags_3d(&nine);
        }
        let at = |i: usize, j: usize| Each(*p[PLACES_3D[i - 1][j - 1]]);
        let rho = Each(*p[21]);
        let [c44, c55, c66] = [at(4, 4), at(5, 5), at(6, 6)];
        let sound = good_density(rho) & good_shear(c44) & good_shear(c55) & good_shear(c66);
        let sound = sound & is_definite([1, 2, 3, 4, 5, 6], at) & self.is_within::<3>(at, rho);
        let near = at(1, 1).larger(at(2, 2).larger(at(3, 3))).times(SAME);
        let differ = |a: Each, b: Each| (a - b).map(f32::abs).above(near);
        let not_vti = differ(at(1, 1), at(2, 2))
            | differ(c44, c55)
            | differ(at(1, 3), at(2, 3))
            | differ(at(1, 2), at(1, 1) - c66.times(2.0));
        let not_hti = differ(at(2, 2), at(3, 3))
            | differ(c55, c66)
            | differ(at(1, 2), at(1, 3))
            | differ(at(2, 3), at(3, 3) - c44.times(2.0));
        let mut oblique = Mask([false; LANES]);
        for other in &p[9..21] {
            oblique = oblique | Each(**other).map(f32::abs).above(near);
        }
        flags(&[
            (Mask(sound.0.map(|v| !v)), LOOK),
            (is_zero(c44) & is_zero(c55) & is_zero(c66), FLUID),
            (not_vti, NOT_VTI),
            (not_hti, NOT_HTI),
            (oblique, NOT_ORTHORHOMBIC),
        ])
    }

    /// Flags of sixteen 2-D cells: six coefficients in memory order, then density.
    #[inline(always)]
    pub(in crate::stability) fn flags_2d_of_any(&self, p: &[&[f32; LANES]; 7]) -> [u32; LANES] {
        if p[4..6].iter().all(|c| c.iter().all(|c| *c == 0.0)) {
            return self.flags_2d(&[p[0], p[1], p[2], p[3], p[6]]);
        }
        let at = |i: usize, j: usize| Each(*p[PLACES_2D[i - 1][j - 1]]);
        let (rho, c55) = (Each(*p[6]), at(5, 5));
        let sound = good_density(rho) & good_shear(c55) & is_definite([1, 3, 5], at);
        let sound = sound & self.is_within::<2>(at, rho);
        let near = at(1, 1).larger(at(3, 3)).times(SAME);
        let differ = |a: Each, b: Each| (a - b).map(f32::abs).above(near);
        let not_isotropic = differ(at(1, 1), at(3, 3)) | differ(at(1, 3), at(1, 1) - c55.times(2.0));
        let zero = Each::same(0.0);
        flags(&[
            (Mask(sound.0.map(|v| !v)), LOOK),
            (is_zero(c55), FLUID),
            (not_isotropic, NOT_HTI),
            (differ(at(1, 5), zero) | differ(at(3, 5), zero), NOT_ORTHORHOMBIC),
        ])
    }

    /// Whether no wave of a cell exceeds the extremes found so far.
    #[inline(always)]
    fn is_within<const NDIM: usize>(&self, at: impl Fn(usize, usize) -> Each + Copy, rho: Each) -> Mask {
        let (corners, directions) = ways(NDIM);
        let k = self.square.map(f32::sqrt);
        let zero = Each::same(0.0);
        let mut within = Mask([true; LANES]);
        for signs in &CORNERS[..corners] {
            let n = [
                signs[0] as f32 * k[0],
                signs[1] as f32 * k[1],
                signs[2] as f32 * k[2],
            ];
            let g = christoffel::<NDIM>(at, n);
            within = within & exceeds::<NDIM>(rho.times(self.rate), g, zero);
        }
        for n in &DIRECTIONS[..directions] {
            let n = [n[0] as f32, n[1] as f32, n[2] as f32];
            // The gate stores four times the squared speeds.
            let length = 0.25 * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
            let g = christoffel::<NDIM>(at, n);
            within = within
                & exceeds::<NDIM>(rho.times(self.fast * length), g, zero)
                & exceeds::<NDIM>(zero, g.map(|v| -v), rho.times(self.slow * length));
        }
        within
    }
}

/// The Christoffel matrix of a wave vector (x, y, z) as entries xx, yy, zz, yz, zx, xy; in 2-D entries with y are zero.
#[inline(always)]
fn christoffel<const NDIM: usize>(c: impl Fn(usize, usize) -> Each, [x, y, z]: [f32; 3]) -> [Each; 6] {
    let [xx, yy, zz, yz, zx, xy] = [x * x, y * y, z * z, y * z, z * x, x * y];
    if NDIM == 2 {
        let none = Each::same(0.0);
        let normal = |a, b, c| Each::times(a, xx) + Each::times(b, 2.0 * zx) + Each::times(c, zz);
        let across = c(1, 5).times(xx) + (c(1, 3) + c(5, 5)).times(zx) + c(3, 5).times(zz);
        let (along_x, along_z) = (
            normal(c(1, 1), c(1, 5), c(5, 5)),
            normal(c(5, 5), c(3, 5), c(3, 3)),
        );
        return [along_x, none, along_z, none, across, none];
    }
    let squares = |a: Each, b: Each, c: Each| a.times(xx) + b.times(yy) + c.times(zz);
    let products = |a: Each, b: Each, c: Each| a.times(yz) + b.times(zx) + c.times(xy);
    let (yz_zx, yz_xy, zx_xy) = (c(3, 6) + c(4, 5), c(2, 5) + c(4, 6), c(1, 4) + c(5, 6));
    [
        squares(c(1, 1), c(6, 6), c(5, 5)) + products(c(5, 6), c(1, 5), c(1, 6)).times(2.0),
        squares(c(6, 6), c(2, 2), c(4, 4)) + products(c(2, 4), c(4, 6), c(2, 6)).times(2.0),
        squares(c(5, 5), c(4, 4), c(3, 3)) + products(c(3, 4), c(3, 5), c(4, 5)).times(2.0),
        squares(c(5, 6), c(2, 4), c(3, 4)) + products(c(2, 3) + c(4, 4), yz_zx, yz_xy),
        squares(c(1, 5), c(4, 6), c(3, 5)) + products(yz_zx, c(1, 3) + c(5, 5), zx_xy),
        squares(c(1, 6), c(2, 6), c(4, 5)) + products(yz_xy, zx_xy, c(1, 2) + c(6, 6)),
    ]
}

/// Whether `high I - g - low I` is positive definite with a margin for rounding; false for infinities and NaN.
#[inline(always)]
fn exceeds<const NDIM: usize>(high: Each, g: [Each; 6], low: Each) -> Mask {
    let [a, b, c] = [high - g[0] - low, high - g[1] - low, high - g[2] - low];
    let (d, e, f) = (g[3], g[4], g[5]);
    // The sums of magnitudes are the scale of rounding errors in the differences above.
    let scale = |v: Each| high + low + v.map(f32::abs);
    let [sa, sb, sc] = [scale(g[0]), scale(g[1]), scale(g[2])];
    if NDIM == 2 {
        let determinant = a * c - e * e;
        return a.above(sa.times(MARGIN))
            & c.above(sc.times(MARGIN))
            & determinant.above((sa * sc).times(MARGIN));
    }
    let minor = a * b - f * f;
    // The off-diagonal entries are taken from -g, so that their product has the opposite sign.
    let determinant = c * minor - a * (d * d) - b * (e * e) - (d * (e * f)).times(2.0);
    a.above(sa.times(MARGIN))
        & minor.above((sa * sb).times(MARGIN))
        & determinant.above((sa * (sb * sc)).times(MARGIN))
}

/// Whether the Cholesky factorisation of the stiffness exists and has no pivot near zero.
#[inline(always)]
fn is_definite<const N: usize>(numbers: [usize; N], at: impl Fn(usize, usize) -> Each) -> Mask {
    let mut a = [[Each::same(0.0); N]; N];
    for i in 0..N {
        for j in i..N {
            a[i][j] = at(numbers[i], numbers[j]);
        }
    }
    let mut sound = Mask([true; LANES]);
    for k in 0..N {
        let (pivot, whole) = (a[k][k], at(numbers[k], numbers[k]));
        sound = sound & pivot.above(whole.times(NEARLY_SINGULAR));
        let inverse = pivot.map(f32::recip);
        for i in k + 1..N {
            let factor = a[k][i] * inverse;
            for j in i..N {
                a[i][j] = a[i][j] - factor * a[k][j];
            }
        }
    }
    sound
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries are the sums `c_ijkl n_j n_l` over the tensor. The coefficients all differ, and all numbers are whole.
    #[test]
    fn christoffel_matrices_are_sums_over_the_tensor() {
        // Voigt's numbers of pairs of the axes x, y, z.
        const NUMBER: [[usize; 3]; 3] = [[1, 6, 5], [6, 2, 4], [5, 4, 3]];
        const ENTRIES: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [1, 2], [2, 0], [0, 1]];
        let c = |i: usize, j: usize| (10 * i.min(j) + i.max(j)) as f32;
        let sum = |[i, k]: [usize; 2], n: [f32; 3]| -> f32 {
            let pairs = (0..9).map(|pair| (pair / 3, pair % 3));
            pairs
                .map(|(j, l)| c(NUMBER[i][j], NUMBER[k][l]) * n[j] * n[l])
                .sum()
        };
        let n = [2.0, -3.0, 5.0];
        let entries = christoffel::<3>(|i, j| Each::same(c(i, j)), n);
        for (computed, entry) in entries.iter().zip(ENTRIES) {
            assert_eq!(computed.0, [sum(entry, n); LANES], "{entry:?}");
        }
        let n = [2.0, 0.0, 5.0];
        let entries = christoffel::<2>(|i, j| Each::same(c(i, j)), n);
        for (place, entry) in ENTRIES
            .into_iter()
            .enumerate()
            .filter(|(_, entry)| !entry.contains(&1))
        {
            assert_eq!(entries[place].0, [sum(entry, n); LANES], "{entry:?}");
        }
    }
}
