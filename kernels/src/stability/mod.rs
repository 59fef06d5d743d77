//! The largest stable time step of the displacement scheme, wave speeds and bad cells of a model, and spatial sampling.
//!
//! The scheme applies the central first derivative of order 8 twice and uses leapfrog time steps of order 2. For a
//! plane wave in a homogeneous medium the derivative along axis i acts as the wave number `s_i / d_i` with
//! `|s_i| <= D`, where D is the maximum over theta of `2 sum_m W_m sin(m theta)`, and leapfrog is stable if
//! `dt^2 lambda / rho <= 4` for every eigenvalue lambda of the Christoffel matrix of that wave vector. For a fixed
//! polarisation the matrix gives a positive quadratic form of the wave vector. Hence the largest eigenvalue is a
//! convex function, whose maximum over the box of wave vectors lies in a corner. The corners are equivalent if the
//! coordinate planes are symmetry planes; otherwise the four (2-D: two) that differ in more than their sign are
//! tested. The result is exact: `dt_max = 2 / sqrt(lambda_max / rho)` at `(D/d_x, D/d_y, D/d_z)` or its mirror images,
//! cell by cell.
//!
//! Each cell is treated as if it were part of a homogeneous medium, as in every von Neumann analysis. If the density
//! jumps between the cells that set the limit, the true limit is lower, because a stiff cell then moves light
//! neighbours: by a factor of 0.97 for water (1.5 km/s, 1 g/cm3) on rock (3 km/s, 2.5 g/cm3), and of 0.81 for equal
//! speeds and a density ratio of 4 (largest eigenvalue of the 1-D operator). Gradients and jumps of velocity alone do
//! not lower it.

mod band;
mod gate;
pub mod inspection;
mod scan;
#[cfg(test)]
mod tests;

pub use band::{Band, dominant_frequency, points_per_wavelength};
pub use inspection::{Findings, Inspection};
pub use scan::{BadCell, Extremes, Scan};

use crate::grid::stencil::WEIGHTS;
use crate::medium::{Stiffness, Voigt, eigen, triclinic};

/// The largest value of `2 sum_m W_m sin(m theta)`: the largest numerical wave number of the derivative times the
/// spacing.
pub fn largest_symbol(weights: &[f64]) -> f64 {
    let numbered = || (1..).zip(weights).map(|(m, w)| (f64::from(m), w));
    let symbol = |theta: f64| numbered().map(|(m, w)| 2.0 * w * (m * theta).sin()).sum::<f64>();
    let slope = |theta: f64| {
        numbered()
            .map(|(m, w)| 2.0 * w * m * (m * theta).cos())
            .sum::<f64>()
    };
    let step = std::f64::consts::PI / 256.0;
    let best = (1..256).max_by(|&a, &b| symbol(f64::from(a) * step).total_cmp(&symbol(f64::from(b) * step)));
    let middle = f64::from(best.expect("the range is not empty")) * step;
    let (mut low, mut high) = (middle - step, middle + step);
    for _ in 0..60 {
        let theta = 0.5 * (low + high);
        if slope(theta) > 0.0 {
            low = theta
        } else {
            high = theta
        }
    }
    symbol(0.5 * (low + high))
}

/// The Christoffel matrix of a wave vector `k` in the order (x, y, z): rows and columns x, y, z.
fn christoffel(s: &Stiffness, k: [f64; 3]) -> [[f64; 3]; 3] {
    let [x, y, z] = k;
    let xy = (s.c12 + s.c66) * x * y;
    let xz = (s.c13 + s.c55) * x * z;
    let yz = (s.c23 + s.c44) * y * z;
    [
        [s.c11 * x * x + s.c66 * y * y + s.c55 * z * z, xy, xz],
        [xy, s.c66 * x * x + s.c22 * y * y + s.c44 * z * z, yz],
        [xz, yz, s.c55 * x * x + s.c44 * y * y + s.c33 * z * z],
    ]
}

/// The Christoffel matrix in the plane x-z, as `[xx, zz, xz]`.
fn christoffel_2d(s: &Stiffness, k: [f64; 3]) -> [f64; 3] {
    let [x, _, z] = k;
    [
        s.c11 * x * x + s.c55 * z * z,
        s.c55 * x * x + s.c33 * z * z,
        (s.c13 + s.c55) * x * z,
    ]
}

/// The largest eigenvalue of the Christoffel matrix of `k`.
fn largest_rate(s: &Stiffness, k: [f64; 3], ndim: usize) -> f64 {
    if ndim == 2 {
        let [xx, zz, xz] = christoffel_2d(s, k);
        eigen::pair(xx, zz, xz)[0]
    } else {
        eigen::triple(&christoffel(s, k))[0]
    }
}

/// Signs of (x, y, z) of the corners of a box of wave vectors, one of each opposite pair; 2-D needs only the first two.
const CORNERS: [[f64; 3]; 4] = [
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
    [1.0, -1.0, 1.0],
    [-1.0, -1.0, 1.0],
];

/// Directions (x, y, z), not of unit length, along the axes and at 45 degrees between two of them; those of the plane
/// x-z come first.
const DIRECTIONS: [[f64; 3]; 9] = [
    [1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 0.0, 1.0],
    [-1.0, 0.0, 1.0],
    [0.0, 1.0, 0.0],
    [1.0, 1.0, 0.0],
    [-1.0, 1.0, 0.0],
    [0.0, 1.0, 1.0],
    [0.0, -1.0, 1.0],
];

/// Number of [`CORNERS`] and number of [`DIRECTIONS`] to test in this dimension.
fn ways(ndim: usize) -> (usize, usize) {
    if ndim == 2 { (2, 4) } else { (4, 9) }
}

/// Eigenvalues of the Christoffel matrix of any medium, largest first; in 2-D (x-z) the second one is repeated.
fn rates_of_any(c: &Voigt, k: [f64; 3], ndim: usize) -> [f64; 3] {
    let g = triclinic::christoffel(c, k);
    if ndim == 2 {
        let [fast, slow] = eigen::pair(g[0][0], g[2][2], g[0][2]);
        return [fast, slow, slow];
    }
    eigen::triple(&g)
}

/// [`largest_rate`] of any medium, over all corners of the box of wave vectors.
fn largest_rate_of_any(c: &Voigt, k: [f64; 3], ndim: usize) -> f64 {
    let corners = CORNERS[..ways(ndim).0].iter();
    let rate = |signs: &[f64; 3]| rates_of_any(c, std::array::from_fn(|i| signs[i] * k[i]), ndim)[0];
    corners.map(rate).fold(0.0, f64::max)
}

/// [`slow_and_fast`] of any medium.
fn slow_and_fast_of_any(c: &Voigt, ndim: usize) -> (f64, f64) {
    let (mut slow, mut fast) = (f64::INFINITY, 0.0f64);
    for n in &DIRECTIONS[..ways(ndim).1] {
        let length = n.iter().map(|v| v * v).sum::<f64>();
        let rates = rates_of_any(c, *n, ndim);
        fast = fast.max(rates[0] / length);
        let counted = rates.iter().filter(|v| **v > 1e-6 * rates[0]);
        slow = counted.fold(slow, |slow, v| slow.min(v / length));
    }
    (slow, fast)
}

/// Density times the squared speed of the slowest and the fastest wave along the axes and at 45 degrees between two of
/// them. Shear waves of fluids do not count: values below 1e-6 times the value of the P wave are rounding errors.
fn slow_and_fast(s: &Stiffness, ndim: usize) -> (f64, f64) {
    let xz = (s.c11, s.c33, s.c55, s.c13);
    let planes_3d = [xz, (s.c11, s.c22, s.c66, s.c12), (s.c22, s.c33, s.c44, s.c23)];
    let planes = if ndim == 2 {
        &planes_3d[..1]
    } else {
        &planes_3d[..]
    };
    let (mut slow, mut fast) = (f64::INFINITY, 0.0f64);
    for &(a, b, shear, off) in planes {
        let [high, low] = eigen::pair(0.5 * (a + shear), 0.5 * (b + shear), 0.5 * (off + shear));
        fast = fast.max(a).max(b).max(high);
        slow = slow.min(a).min(b);
        if shear > 0.0 {
            slow = slow.min(shear);
            slow = if low > 1e-6 * high { slow.min(low) } else { slow };
        }
    }
    (slow, fast)
}
