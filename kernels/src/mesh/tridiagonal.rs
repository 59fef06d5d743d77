//! The largest eigenvalues of the tridiagonal matrices of the Lanczos method, for several elements at once.

use super::eigen::{MOST_ROUNDS, RESIDUAL};
use crate::device::simd::WIDEST;

/// The residual is tested first after this number of iterations, and then after every `EVERY` further ones: with fewer
/// iterations, a value close to the largest eigenvalue could be mistaken for it.
const FIRST: usize = 24;
const EVERY: usize = 8;
/// Norm below which a Lanczos vector counts as zero, as a fraction of the eigenvalue.
const EXHAUSTED: f64 = 1e-12;

/// The tridiagonal matrices of several lanes, and upper bounds of their largest eigenvalues.
pub(super) struct Search {
    /// Diagonal and off-diagonal of every lane; `side[k]` couples rows k-1 and k, and its last entry lies beyond the
    /// matrix.
    rows: Vec<[Vec<f64>; 2]>,
    open: Vec<bool>,
    pub(super) values: [f64; WIDEST],
}

impl Search {
    pub(super) fn new(lanes: usize) -> Self {
        Self {
            rows: vec![[Vec::with_capacity(MOST_ROUNDS), vec![0.0]]; lanes],
            open: vec![true; lanes],
            values: [0.0; WIDEST],
        }
    }

    /// Adds one row to each matrix, and returns whether all lanes have converged.
    pub(super) fn ends(&mut self, round: usize, alpha: &[f64], left: &[f64]) -> bool {
        let looks = round == MOST_ROUNDS || (round >= FIRST && (round - FIRST).is_multiple_of(EVERY));
        for lane in 0..self.open.len() {
            if !self.open[lane] {
                continue;
            }
            let [diagonal, side] = &mut self.rows[lane];
            diagonal.push(alpha[lane]);
            side.push(left[lane]);
            if !looks && left[lane] > EXHAUSTED * diagonal[0] {
                continue;
            }
            let (value, residual) = largest_of_tridiagonal(diagonal, side);
            self.values[lane] = value + residual;
            self.open[lane] = left[lane] > EXHAUSTED * value && residual > RESIDUAL * value;
        }
        !self.open.contains(&true)
    }
}

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection, and the Lanczos residual of its eigenvector.
fn largest_of_tridiagonal(diagonal: &[f64], side: &[f64]) -> (f64, f64) {
    let n = diagonal.len();
    let radius = |k: usize| if k + 1 < n { side[k] + side[k + 1] } else { side[k] };
    let mut low = diagonal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut high = (0..n).map(|k| diagonal[k] + radius(k)).fold(low, f64::max);
    // By Sturm's theorem all pivots of (x - T) are positive exactly if x is above all eigenvalues.
    let above = |x: f64| {
        let mut pivot = 1.0;
        (0..n).all(|k| {
            let coupling = if k == 0 { 0.0 } else { side[k] * side[k] / pivot };
            pivot = x - diagonal[k] - coupling;
            pivot > 0.0
        })
    };
    while high - low > CLOSE * high {
        let middle = (low + high) / 2.0;
        *(if above(middle) { &mut high } else { &mut low }) = middle;
    }
    // The eigenvector follows by recurrence from the first row, which is stable for the largest eigenvalue.
    let mut vector = vec![0.0; n];
    vector[0] = 1.0;
    if n > 1 {
        vector[1] = (high - diagonal[0]) / side[1].max(f64::MIN_POSITIVE);
    }
    for k in 1..n.saturating_sub(1) {
        vector[k + 1] =
            ((high - diagonal[k]) * vector[k] - side[k] * vector[k - 1]) / side[k + 1].max(f64::MIN_POSITIVE);
    }
    let size = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let last = vector[n - 1] / size;
    (high, side[n] * if last.is_finite() { last.abs() } else { 1.0 })
}

/// Relative width of the interval at which the bisection ends.
const CLOSE: f64 = 1e-12;
