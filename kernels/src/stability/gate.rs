//! A fast test of sixteen cells at a time, which finds the cells that can change the extremes that a scan has found so
//! far.
//!
//! Every bound is rigorous, with a margin for float32 rounding. Cells that pass the gate are checked in float64.

mod any;

use crate::medium::voigt::slots;

/// Indices of coefficients in memory order.
const PLACES_3D: [[usize; 6]; 6] = slots(3);
const PLACES_2D: [[usize; 6]; 6] = slots(2);

/// Number of cells tested together, a multiple of every vector width.
pub(super) const LANES: usize = 16;

/// The cell must be checked in float64.
pub(super) const LOOK: u32 = 1;
/// The cell is fluid.
pub(super) const FLUID: u32 = 2;
/// The cell is not VTI.
pub(super) const NOT_VTI: u32 = 4;
/// The cell is not HTI (in 2-D: not isotropic).
pub(super) const NOT_HTI: u32 = 8;

/// The cell's symmetry planes are not the coordinate planes.
pub(super) const NOT_ORTHORHOMBIC: u32 = 16;

/// Relative margin for rounding errors.
const MARGIN: f32 = 2e-6;
/// Cells with a determinant below this fraction of the product of its diagonal are checked in float64.
const NEARLY_SINGULAR: f32 = 1e-5;
const SAME: f32 = crate::medium::stiffness::ROUNDING as f32;

/// The limits, in float32, that a cell must exceed (or fall below) to matter.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// Squares of the scaled wave vector (x, y, z).
    square: [f32; 3],
    /// `k_i k_j w_j / w_i` for (i, j) = xy, xz, yx, yz, zx, zy.
    mix: [f32; 6],
    /// Largest eigenvalue over density so far.
    rate: f32,
    /// Four times the smallest and largest squared speed so far.
    slow: f32,
    fast: f32,
}

impl Gate {
    /// A gate that every cell passes. `k` is the scaled wave vector (x, y, z).
    pub(super) fn open(k: [f64; 3]) -> Self {
        let mut gate = Self {
            square: k.map(|v| (v * v) as f32),
            mix: [0.0; 6],
            rate: 0.0,
            slow: f32::INFINITY,
            fast: 0.0,
        };
        gate.weigh(k, k);
        gate
    }

    /// Tightens the bound of eigenvalues for matrices similar to the one whose dominant eigenvector has the
    /// magnitudes `w`: for any positive w, `max_i sum_j |G_ij| w_j / w_i` is a bound, and for this vector it is
    /// sharp.
    pub(super) fn weigh(&mut self, k: [f64; 3], w: [f64; 3]) {
        let pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
        self.mix = pairs.map(|(i, j)| {
            if k[j] == 0.0 {
                0.0
            } else {
                (k[i] * k[j] * w[j] / w[i]) as f32
            }
        });
    }

    /// Sets the extremes found so far: the largest eigenvalue over density, and the smallest and largest squared speed.
    pub(super) fn close(&mut self, rate: f64, slow: f64, fast: f64) {
        (self.rate, self.slow, self.fast) = (rate as f32, (4.0 * slow) as f32, (4.0 * fast) as f32);
    }

    /// Flags of sixteen 3-D cells: nine coefficients in memory order, then density.
    #[inline(always)]
    pub(super) fn flags_3d(&self, p: &[&[f32; LANES]; 10]) -> [u32; LANES] {
        let mut out = [0; LANES];
        for l in 0..LANES {
            let c = |i: usize, j: usize| p[PLACES_3D[i - 1][j - 1]][l];
            let [c11, c22, c33, c44, c55, c66] = [c(1, 1), c(2, 2), c(3, 3), c(4, 4), c(5, 5), c(6, 6)];
            let [c12, c13, c23, rho] = [c(1, 2), c(1, 3), c(2, 3), p[9][l]];
            let product = c11 * c22;
            let minor = product - c12 * c12;
            let determinant = c33 * minor - c13 * (c13 * c22 - c12 * c23) - c23 * (c11 * c23 - c12 * c13);
            let sound = (c11 > 0.0)
                & (minor > NEARLY_SINGULAR * product)
                & (determinant > NEARLY_SINGULAR * (product * c33))
                & good_shear(c44)
                & good_shear(c55)
                & good_shear(c66)
                & good_density(rho);

            let xy = (c12 + c66).abs();
            let xz = (c13 + c55).abs();
            let yz = (c23 + c44).abs();
            let [x, y, z] = self.square;
            let [mxy, mxz, myx, myz, mzx, mzy] = self.mix;
            let row_x = c11 * x + c66 * y + c55 * z + xy * mxy + xz * mxz;
            let row_y = c66 * x + c22 * y + c44 * z + xy * myx + yz * myz;
            let row_z = c55 * x + c44 * y + c33 * z + xz * mzx + yz * mzy;
            let rate = larger(row_x, larger(row_y, row_z));

            let (slow_xz, fast_xz) = at_45_degrees(c11, c33, c55, c13);
            let (slow_xy, fast_xy) = at_45_degrees(c11, c22, c66, c12);
            let (slow_yz, fast_yz) = at_45_degrees(c22, c33, c44, c23);
            let shear = smaller(no_fluid(c44), smaller(no_fluid(c55), no_fluid(c66)));
            let pressure = smaller(c11, smaller(c22, c33));
            let top = larger(c11, larger(c22, c33));
            let slow = smaller(
                4.0 * smaller(shear, pressure),
                smaller(slow_xz, smaller(slow_xy, slow_yz)),
            );
            let fast = larger(4.0 * top, larger(fast_xz, larger(fast_xy, fast_yz)));

            let near = SAME * top;
            let differ = |a: f32, b: f32| (a - b).abs() > near;
            let not_vti =
                differ(c11, c22) | differ(c44, c55) | differ(c13, c23) | differ(c12, c11 - 2.0 * c66);
            let not_hti =
                differ(c22, c33) | differ(c55, c66) | differ(c12, c13) | differ(c23, c33 - 2.0 * c44);
            let fluid = (c44 == 0.0) & (c55 == 0.0) & (c66 == 0.0);
            let look = !sound | self.outstanding(rate, slow, fast, rho);
            out[l] = flag(look, LOOK) | flag(fluid, FLUID) | flag(not_vti, NOT_VTI) | flag(not_hti, NOT_HTI);
        }
        out
    }

    /// Flags of sixteen 2-D cells: four coefficients in memory order, then density.
    #[inline(always)]
    pub(super) fn flags_2d(&self, p: &[&[f32; LANES]; 5]) -> [u32; LANES] {
        let mut out = [0; LANES];
        for l in 0..LANES {
            let c = |i: usize, j: usize| p[PLACES_2D[i - 1][j - 1]][l];
            let [c11, c33, c55, c13, rho] = [c(1, 1), c(3, 3), c(5, 5), c(1, 3), p[4][l]];
            let product = c11 * c33;
            let sound = (c11 > 0.0)
                & (product - c13 * c13 > NEARLY_SINGULAR * product)
                & good_shear(c55)
                & good_density(rho);
            let [x, _, z] = self.square;
            let xz = (c13 + c55).abs();
            let row_x = c11 * x + c55 * z + xz * self.mix[1];
            let row_z = c55 * x + c33 * z + xz * self.mix[4];
            let (slow_xz, fast_xz) = at_45_degrees(c11, c33, c55, c13);
            let top = larger(c11, c33);
            let slow = smaller(4.0 * smaller(no_fluid(c55), smaller(c11, c33)), slow_xz);
            let fast = larger(4.0 * top, fast_xz);
            let near = SAME * top;
            let not_isotropic = ((c11 - c33).abs() > near) | ((c13 - (c11 - 2.0 * c55)).abs() > near);
            let look = !sound | self.outstanding(larger(row_x, row_z), slow, fast, rho);
            out[l] = flag(look, LOOK) | flag(c55 == 0.0, FLUID) | flag(not_isotropic, NOT_HTI);
        }
        out
    }

    #[inline(always)]
    fn outstanding(&self, rate: f32, slow: f32, fast: f32, rho: f32) -> bool {
        (rate * (1.0 + MARGIN) > self.rate * rho)
            | (slow * (1.0 - MARGIN) < self.slow * rho)
            | (fast * (1.0 + MARGIN) > self.fast * rho)
    }
}

#[inline(always)]
fn flag(condition: bool, bit: u32) -> u32 {
    if condition { bit } else { 0 }
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
#[allow(clippy::manual_range_contains)] // `&` keeps the vector loop free of branches
fn good_shear(c: f32) -> bool {
    (c >= 0.0) & (c <= f32::MAX)
}

#[inline(always)]
fn good_density(rho: f32) -> bool {
    (rho > 0.0) & (rho <= f32::MAX)
}

#[inline(always)]
fn no_fluid(shear: f32) -> f32 {
    if shear > 0.0 { shear } else { f32::INFINITY }
}

/// Four times density times squared speed of the two waves at 45 degrees in a plane; the value for the slow wave is
/// lowered by a margin.
#[inline(always)]
fn at_45_degrees(a: f32, b: f32, shear: f32, off: f32) -> (f32, f32) {
    let sum = a + b + 2.0 * shear;
    let (across, along) = (a - b, 2.0 * (off + shear));
    let root = (across * across + along * along).sqrt();
    let slow = sum - root - MARGIN * sum;
    (if shear > 0.0 { slow } else { f32::INFINITY }, sum + root)
}
