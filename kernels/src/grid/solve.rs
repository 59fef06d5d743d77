//! Small systems of linear equations.

/// Solves a linear system of n rows by Gauss-Jordan elimination with pivoting. Each row holds n coefficients and the
/// right-hand side. The result is not finite if the matrix is singular.
pub fn solved(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))
            .unwrap_or(column);
        a.swap(column, pivot);
        for row in (0..n).filter(|&row| row != column) {
            let factor = a[row][column] / a[column][column];
            for k in column..=n {
                let above = a[column][k];
                a[row][k] -= factor * above;
            }
        }
    }
    (0..n).map(|k| a[k][n] / a[k][k]).collect()
}
