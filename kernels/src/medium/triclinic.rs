//! Cells with all coefficients: their checks, and the Christoffel matrix, which gives their wave speeds.

use super::stiffness::{Fault, ROUNDING, first_bad};
use super::voigt::Coefficients;
use super::{Voigt, eigen, rotate};

/// The reason why coefficients in memory order do not form a stable elastic medium in `ndim` (2: the x-z plane, or 3)
/// dimensions, `None` if they do. Fluids pass, and so do matrices that are positive semidefinite to within
/// [`ROUNDING`].
pub fn fault(ndim: usize, values: &[f64]) -> Option<Fault> {
    if let Some(bad) = first_bad(ndim, values) {
        return Some(bad);
    }
    let mut c = rotate::matrix(ndim, values);
    let top = c[0][0].max(c[1][1]).max(c[2][2]);
    if ndim == 2 {
        // Rows that do not matter in 2-D must not make the matrix singular.
        [1, 3, 5].into_iter().for_each(|k| c[k][k] = top);
    }
    if is_positive_definite(&c) {
        return None;
    }
    let smallest = eigen::symmetric(c).into_iter().fold(f64::INFINITY, f64::min);
    let block = if ndim == 2 { "c11 to c55" } else { "c11 to c66" };
    (smallest < -ROUNDING * top).then_some(Fault::Indefinite { block, smallest })
}

/// Whether coefficients in memory order belong to a medium whose symmetry planes are the coordinate planes.
pub fn is_orthorhombic(ndim: usize, values: &[f64]) -> bool {
    let others = &values[Coefficients::Orthorhombic.count(ndim)..];
    others.iter().all(|c| *c == 0.0)
}

/// Whether the Cholesky factorisation exists.
fn is_positive_definite(c: &Voigt) -> bool {
    let mut l = [[0.0; 6]; 6];
    for i in 0..6 {
        for j in 0..=i {
            let rest = c[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            if i > j {
                l[i][j] = rest / l[j][j];
            } else if rest > 0.0 {
                l[i][i] = rest.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// The Christoffel matrix `c_ijkl k_j k_l` for a wave vector (x, y, z).
pub fn christoffel(c: &Voigt, [x, y, z]: [f64; 3]) -> [[f64; 3]; 3] {
    let c = |i: usize, j: usize| c[i - 1][j - 1];
    let (yz, zx, xy) = (y * z, z * x, x * y);
    let squares = |a: f64, b: f64, c: f64| a * x * x + b * y * y + c * z * z;
    let products = |a: f64, b: f64, c: f64| a * yz + b * zx + c * xy;
    let (yz_zx, yz_xy, zx_xy) = (c(3, 6) + c(4, 5), c(2, 5) + c(4, 6), c(1, 4) + c(5, 6));
    let g_xx = squares(c(1, 1), c(6, 6), c(5, 5)) + 2.0 * products(c(5, 6), c(1, 5), c(1, 6));
    let g_yy = squares(c(6, 6), c(2, 2), c(4, 4)) + 2.0 * products(c(2, 4), c(4, 6), c(2, 6));
    let g_zz = squares(c(5, 5), c(4, 4), c(3, 3)) + 2.0 * products(c(3, 4), c(3, 5), c(4, 5));
    let g_yz = squares(c(5, 6), c(2, 4), c(3, 4)) + products(c(2, 3) + c(4, 4), yz_zx, yz_xy);
    let g_zx = squares(c(1, 5), c(4, 6), c(3, 5)) + products(yz_zx, c(1, 3) + c(5, 5), zx_xy);
    let g_xy = squares(c(1, 6), c(2, 6), c(4, 5)) + products(yz_xy, zx_xy, c(1, 2) + c(6, 6));
    [[g_xx, g_xy, g_zx], [g_xy, g_yy, g_yz], [g_zx, g_yz, g_zz]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::{Speeds, Stiffness, Thomsen};

    fn tilted() -> Voigt {
        let speeds = Speeds {
            vp: 3.0,
            vs: 1.5,
            rho: 2.0,
        };
        let t = Thomsen {
            epsilon: 0.3,
            delta: 0.1,
            gamma: 0.2,
        };
        let vti = Stiffness::vti(speeds, t).expect("a real medium");
        rotate::rotated(&vti.voigt(), &rotate::rotation(33.0, 21.0))
    }

    fn values(c: &Voigt, ndim: usize) -> Vec<f64> {
        let table = Coefficients::All.table(ndim);
        table.pairs.iter().map(|&pair| rotate::entry(c, pair)).collect()
    }

    /// A rotated medium has the same wave speeds in the rotated direction.
    #[test]
    fn christoffel_matrices_turn_with_the_medium() {
        let (r, n) = (rotate::rotation(33.0, 21.0), [0.3, -0.5, 0.8]);
        let turned: [f64; 3] = std::array::from_fn(|i| (0..3).map(|j| r[i][j] * n[j]).sum());
        let upright = rotate::rotated(
            &tilted(),
            &std::array::from_fn(|i| std::array::from_fn(|j| r[j][i])),
        );
        let (a, b) = (
            eigen::triple(&christoffel(&upright, n)),
            eigen::triple(&christoffel(&tilted(), turned)),
        );
        (0..3).for_each(|i| assert!((a[i] - b[i]).abs() < 1e-12 * a[0], "{a:?} {b:?}"));
    }

    #[test]
    fn sound_and_unsound_cells() {
        for ndim in [2, 3] {
            let sound = values(&tilted(), ndim);
            assert_eq!(fault(ndim, &sound), None);
            assert!(!is_orthorhombic(ndim, &sound));
            for k in 0..sound.len() {
                let mut bad = sound.clone();
                bad[k] = f64::NAN;
                let name = Coefficients::All.table(ndim).names[k];
                assert!(fault(ndim, &bad).expect("a fault").to_string().starts_with(name));
            }
            let mut bad = sound.clone();
            let last = bad.len() - 1;
            bad[last] = 40.0;
            assert!(
                fault(ndim, &bad)
                    .expect("a fault")
                    .to_string()
                    .contains("not positive definite")
            );
            let water = values(
                &Stiffness::from_planes([2.2, 2.2, 2.2, 0.0, 0.0, 0.0, 2.2, 2.2, 2.2]).voigt(),
                ndim,
            );
            assert_eq!(fault(ndim, &water), None);
            assert!(is_orthorhombic(ndim, &water));
        }
    }
}
