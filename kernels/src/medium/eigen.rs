//! Eigenvalues of symmetric matrices.

/// Eigenvalues of the symmetric matrix `[[a, c], [c, b]]`, largest first.
#[inline]
pub fn pair(a: f64, b: f64, c: f64) -> [f64; 2] {
    let (middle, radius) = (0.5 * (a + b), (0.5 * (a - b)).hypot(c));
    [middle + radius, middle - radius]
}

/// Eigenvalues of a symmetric 3x3 matrix, largest first, by the trigonometric solution of the cubic
/// (Smith 1961). The absolute error is about 1e-8 of the largest eigenvalue where eigenvalues coincide, 1e-15
/// otherwise.
pub fn triple(a: &[[f64; 3]; 3]) -> [f64; 3] {
    let off = a[0][1] * a[0][1] + a[0][2] * a[0][2] + a[1][2] * a[1][2];
    let mean = (a[0][0] + a[1][1] + a[2][2]) / 3.0;
    let shifted = [a[0][0] - mean, a[1][1] - mean, a[2][2] - mean];
    let spread = shifted.iter().map(|v| v * v).sum::<f64>() + 2.0 * off;
    let p = (spread / 6.0).sqrt();
    if p <= f64::EPSILON * mean.abs() {
        return [mean; 3];
    }
    let b = |i: usize, j: usize| (if i == j { shifted[i] } else { a[i][j] }) / p;
    let determinant = b(0, 0) * (b(1, 1) * b(2, 2) - b(1, 2) * b(1, 2))
        - b(0, 1) * (b(0, 1) * b(2, 2) - b(1, 2) * b(0, 2))
        + b(0, 2) * (b(0, 1) * b(1, 2) - b(1, 1) * b(0, 2));
    let angle = (0.5 * determinant).clamp(-1.0, 1.0).acos() / 3.0;
    let largest = mean + 2.0 * p * angle.cos();
    let smallest = mean + 2.0 * p * (angle + 2.0 * std::f64::consts::FRAC_PI_3).cos();
    [largest, 3.0 * mean - largest - smallest, smallest]
}

/// Eigenvalues of a symmetric matrix, in no order, by Jacobi rotations (Golub & Van Loan 1996, section 8.4).
pub fn symmetric<const N: usize>(mut a: [[f64; N]; N]) -> [f64; N] {
    for _sweep in 0..30 {
        for (p, q) in (0..N).flat_map(|p| (p + 1..N).map(move |q| (p, q))) {
            if a[p][q] == 0.0 {
                continue;
            }
            let (sin, cos) = (0.5 * (2.0 * a[p][q]).atan2(a[p][p] - a[q][q])).sin_cos();
            for row in &mut a {
                (row[p], row[q]) = (cos * row[p] + sin * row[q], cos * row[q] - sin * row[p]);
            }
            let (upper, lower) = (a[p], a[q]);
            for k in 0..N {
                (a[p][k], a[q][k]) = (cos * upper[k] + sin * lower[k], cos * lower[k] - sin * upper[k]);
            }
        }
    }
    std::array::from_fn(|i| a[i][i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_spectra() {
        let close = |got: [f64; 3], want: [f64; 3], tol: f64| {
            got.iter()
                .zip(want)
                .for_each(|(g, w)| assert!((g - w).abs() < tol, "{got:?} {want:?}"))
        };
        close(
            triple(&[[2.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, -1.0]]),
            [5.0, 2.0, -1.0],
            1e-14,
        );
        close(
            triple(&[[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]),
            [3.414213562373095, 2.0, 0.585786437626905],
            1e-14,
        );
        close(triple(&[[1.0; 3]; 3]), [3.0, 0.0, 0.0], 1e-7);
        close(
            triple(&[[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]),
            [4.0; 3],
            1e-15,
        );
        assert_eq!(pair(1.0, 1.0, 2.0), [3.0, -1.0]);
        let mut eigenvalues = symmetric([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]);
        eigenvalues.sort_by(|a, b| b.total_cmp(a));
        close(eigenvalues, [3.414213562373095, 2.0, 0.585786437626905], 1e-14);
    }
}
