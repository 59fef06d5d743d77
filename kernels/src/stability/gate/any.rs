//! The gate for cells with all coefficients.
//!
//! A limit is kept where a matrix less, or below, a multiple of the unit matrix is positive definite, which the leading
//! minors tell without an eigenvalue (Sylvester).

use super::{
    FLUID, Gate, LANES, LOOK, NEARLY_SINGULAR, NOT_HTI, NOT_ORTHORHOMBIC, NOT_VTI, SAME, flag, good_density,
    good_shear, larger,
};
use crate::medium::voigt::slot;
use crate::stability::{CORNERS, DIRECTIONS, ways};

/// Entries of a symmetric matrix: xx, yy, zz, yz, zx, xy.
type Matrix = [f32; 6];

/// Minors above this share of the diagonal's products are positive whatever float32 made of them.
const MARGIN: f32 = 2e-5;

impl Gate {
    /// Flags of sixteen 3-D cells: 21 coefficients in memory order, then density.
    #[inline(always)]
    pub(in crate::stability) fn flags_3d_of_any(&self, p: &[&[f32; LANES]; 22]) -> [u32; LANES] {
        if p[9..21].iter().all(|c| c.iter().all(|c| *c == 0.0)) {
            let nine: [&[f32; LANES]; 10] = std::array::from_fn(|k| if k < 9 { p[k] } else { p[21] });
            return self.flags_3d(&nine);
        }
        let mut out = [0; LANES];
        for l in 0..LANES {
            let mut c = [0.0; 21];
            for k in 0..21 {
                c[k] = p[k][l];
            }
            let rho = p[21][l];
            let at = |i: usize, j: usize| c[if i < j { slot(3, (i, j)) } else { slot(3, (j, i)) }];
            let mut sound =
                good_density(rho) & good_shear(at(4, 4)) & good_shear(at(5, 5)) & good_shear(at(6, 6));
            sound &= is_definite([1, 2, 3, 4, 5, 6], at);
            let look = !sound | !self.is_within(3, at, rho);
            let top = larger(at(1, 1), larger(at(2, 2), at(3, 3)));
            let differ = |a: f32, b: f32| (a - b).abs() > SAME * top;
            let mut oblique = false;
            for other in &c[9..] {
                oblique |= other.abs() > SAME * top;
            }
            let not_vti = differ(at(1, 1), at(2, 2))
                | differ(at(4, 4), at(5, 5))
                | differ(at(1, 3), at(2, 3))
                | differ(at(1, 2), at(1, 1) - 2.0 * at(6, 6));
            let not_hti = differ(at(2, 2), at(3, 3))
                | differ(at(5, 5), at(6, 6))
                | differ(at(1, 2), at(1, 3))
                | differ(at(2, 3), at(3, 3) - 2.0 * at(4, 4));
            let fluid = (at(4, 4) == 0.0) & (at(5, 5) == 0.0) & (at(6, 6) == 0.0);
            out[l] = flag(look, LOOK)
                | flag(fluid, FLUID)
                | flag(not_vti, NOT_VTI)
                | flag(not_hti, NOT_HTI)
                | flag(oblique, NOT_ORTHORHOMBIC);
        }
        out
    }

    /// Flags of sixteen 2-D cells: six coefficients in memory order, then density.
    #[inline(always)]
    pub(in crate::stability) fn flags_2d_of_any(&self, p: &[&[f32; LANES]; 7]) -> [u32; LANES] {
        if p[4..6].iter().all(|c| c.iter().all(|c| *c == 0.0)) {
            return self.flags_2d(&[p[0], p[1], p[2], p[3], p[6]]);
        }
        let mut out = [0; LANES];
        for l in 0..LANES {
            let rho = p[6][l];
            let at = |i: usize, j: usize| p[if i < j { slot(2, (i, j)) } else { slot(2, (j, i)) }][l];
            let sound = good_density(rho) & good_shear(at(5, 5)) & is_definite([1, 3, 5], at);
            let look = !sound | !self.is_within(2, at, rho);
            let top = larger(at(1, 1), at(3, 3));
            let differ = |a: f32, b: f32| (a - b).abs() > SAME * top;
            let oblique = differ(at(1, 5), 0.0) | differ(at(3, 5), 0.0);
            let not_isotropic = differ(at(1, 1), at(3, 3)) | differ(at(1, 3), at(1, 1) - 2.0 * at(5, 5));
            out[l] = flag(look, LOOK)
                | flag(at(5, 5) == 0.0, FLUID)
                | flag(not_isotropic, NOT_HTI)
                | flag(oblique, NOT_ORTHORHOMBIC);
        }
        out
    }

    /// Whether no wave of the cell passes what has been found so far.
    #[inline(always)]
    fn is_within(&self, ndim: usize, at: impl Fn(usize, usize) -> f32 + Copy, rho: f32) -> bool {
        let (corners, directions) = ways(ndim);
        let [xx, yy, zz] = self.square;
        let k = [xx.sqrt(), yy.sqrt(), zz.sqrt()];
        let mut within = true;
        for signs in &CORNERS[..corners] {
            let n = [
                signs[0] as f32 * k[0],
                signs[1] as f32 * k[1],
                signs[2] as f32 * k[2],
            ];
            within &= exceeds(ndim, self.rate * rho, &christoffel(ndim, at, n), 0.0);
        }
        for n in &DIRECTIONS[..directions] {
            let n = [n[0] as f32, n[1] as f32, n[2] as f32];
            // The gate keeps four times the squared speeds.
            let length = 0.25 * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) * rho;
            let g = christoffel(ndim, at, n);
            within &= exceeds(ndim, self.fast * length, &g, 0.0);
            within &= exceeds(ndim, 0.0, &g.map(|v| -v), self.slow * length);
        }
        within
    }
}

/// The Christoffel matrix of a wave vector (x, y, z); in 2-D without what moves along y.
#[inline(always)]
fn christoffel(ndim: usize, c: impl Fn(usize, usize) -> f32, [x, y, z]: [f32; 3]) -> Matrix {
    if ndim == 2 {
        let both = 2.0 * x * z;
        return [
            c(1, 1) * x * x + c(1, 5) * both + c(5, 5) * z * z,
            0.0,
            c(5, 5) * x * x + c(3, 5) * both + c(3, 3) * z * z,
            0.0,
            c(1, 5) * x * x + (c(1, 3) + c(5, 5)) * x * z + c(3, 5) * z * z,
            0.0,
        ];
    }
    let [xx, yy, zz, yz, zx, xy] = [x * x, y * y, z * z, y * z, z * x, x * y];
    let two = |a: f32, b: f32, c: f32| 2.0 * (a * yz + b * zx + c * xy);
    [
        c(1, 1) * xx + c(6, 6) * yy + c(5, 5) * zz + two(c(5, 6), c(1, 5), c(1, 6)),
        c(6, 6) * xx + c(2, 2) * yy + c(4, 4) * zz + two(c(2, 4), c(4, 6), c(2, 6)),
        c(5, 5) * xx + c(4, 4) * yy + c(3, 3) * zz + two(c(3, 4), c(3, 5), c(4, 5)),
        c(5, 6) * xx
            + c(2, 4) * yy
            + c(3, 4) * zz
            + (c(2, 3) + c(4, 4)) * yz
            + (c(3, 6) + c(4, 5)) * zx
            + (c(2, 5) + c(4, 6)) * xy,
        c(1, 5) * xx
            + c(4, 6) * yy
            + c(3, 5) * zz
            + (c(3, 6) + c(4, 5)) * yz
            + (c(1, 3) + c(5, 5)) * zx
            + (c(1, 4) + c(5, 6)) * xy,
        c(1, 6) * xx
            + c(2, 6) * yy
            + c(4, 5) * zz
            + (c(2, 5) + c(4, 6)) * yz
            + (c(1, 4) + c(5, 6)) * zx
            + (c(1, 2) + c(6, 6)) * xy,
    ]
}

/// Whether `high I - g - low I` is positive definite with a margin for rounding; never for infinities and NaN.
#[inline(always)]
fn exceeds(ndim: usize, high: f32, g: &Matrix, low: f32) -> bool {
    let [a, b, c] = [high - g[0] - low, high - g[1] - low, high - g[2] - low];
    let (d, e, f) = (g[3], g[4], g[5]);
    // Sums of magnitudes, of which the differences above are shares.
    let scale = |v: f32| high + low + v.abs();
    let [sa, sb, sc] = [scale(g[0]), scale(g[1]), scale(g[2])];
    if ndim == 2 {
        return (a > MARGIN * sa) & (c > MARGIN * sc) & (a * c - e * e > MARGIN * (sa * sc));
    }
    let minor = a * b - f * f;
    // The signs of the entries beside the diagonal change all together: their product does, too.
    let determinant = c * minor - a * d * d - b * e * e - 2.0 * d * e * f;
    (a > MARGIN * sa) & (minor > MARGIN * (sa * sb)) & (determinant > MARGIN * (sa * sb * sc))
}

/// Whether the stiffness has a Cholesky factor, none of its pivots nearly zero.
#[inline(always)]
fn is_definite<const N: usize>(numbers: [usize; N], at: impl Fn(usize, usize) -> f32) -> bool {
    let mut a = [[0.0f32; N]; N];
    for i in 0..N {
        for j in 0..N {
            a[i][j] = at(numbers[i], numbers[j]);
        }
    }
    let mut sound = true;
    for k in 0..N {
        let pivot = a[k][k];
        sound &= pivot > NEARLY_SINGULAR * at(numbers[k], numbers[k]);
        for i in k + 1..N {
            let factor = a[i][k] / pivot;
            for j in k + 1..N {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    sound
}
