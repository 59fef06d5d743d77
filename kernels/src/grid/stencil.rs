//! Finite-difference coefficients in space: order 8 on a collocated grid (Weiss & Shragge 2013, eqs 4-5); orders 2, 4
//! and 8 on staggered grids (order 4: Michea & Komatitsch 2010, eq. 5).

use std::ops::Deref;

/// Half width of the derivative: a cell needs this many neighbours on either side.
pub const RADIUS: usize = 4;

/// Taylor weights `W_1..W_4` of the central first derivative of order 8:
/// `D f(i) = 1/d * sum_m W_m (f(i+m) - f(i-m))`.
pub const WEIGHTS: [f64; RADIUS] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];

/// The derivative at a point, where `value(m)` is the value `m` cells away and `d` is the spacing.
pub fn derivative(value: impl Fn(isize) -> f64, d: f64) -> f64 {
    let mut sum = 0.0;
    for m in (1..=RADIUS).rev() {
        sum += WEIGHTS[m - 1] * (value(m as isize) - value(-(m as isize)));
    }
    sum / d
}

/// How the weights of a staggered derivative are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// Exact for polynomials up to the degree of the order: best for long waves.
    Taylor,
    /// Holberg (1987): the relative error of the group velocity is at most 1e-3 for all waves with at least 8.4
    /// points per wavelength (two weights) or 3.7 (four weights).
    Holberg,
    /// These weights, as [`super::minimax::minimax`] finds them.
    Chosen(StaggeredWeights),
}

/// The largest number of weights of a staggered derivative.
pub const MOST: usize = 4;

/// The weights of a staggered derivative, the nearest nodes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaggeredWeights {
    all: [f64; MOST],
    count: usize,
}

impl StaggeredWeights {
    /// Uses these weights; only the first [`MOST`] if there are more.
    pub fn new(weights: &[f64]) -> Self {
        let weight = |m: usize| weights.get(m).copied().unwrap_or(0.0);
        Self {
            all: std::array::from_fn(weight),
            count: weights.len().min(MOST),
        }
    }
}

impl Deref for StaggeredWeights {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.all[..self.count]
    }
}

/// Weights `c_1..c_N` of the first derivative half way between nodes, with N half the order (2, 4 or 8):
/// `D f(i+1/2) = 1/d * sum_m c_m (f(i+m) - f(i+1-m))`. `None` for other orders, and if chosen weights are for another
/// order.
pub fn staggered(order: usize, family: Family) -> Option<StaggeredWeights> {
    let weights: &[f64] = match (order, family) {
        (2 | 4 | 8, Family::Chosen(weights)) => return (2 * weights.count == order).then_some(weights),
        (2, _) => &[1.0],
        (4, Family::Taylor) => &[9.0 / 8.0, -1.0 / 24.0],
        (4, Family::Holberg) => &[1.138_242_862, -0.046_414_292_17],
        (8, Family::Taylor) => &[1225.0 / 1024.0, -245.0 / 3072.0, 49.0 / 5120.0, -5.0 / 7168.0],
        (8, Family::Holberg) => &[
            1.225_688_716,
            -0.099_536_725_98,
            0.018_062_715_22,
            -0.002_627_446_787,
        ],
        _ => return None,
    };
    Some(StaggeredWeights::new(weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staggered_weights_are_exact_to_their_order_or_within_a_thousandth() {
        for order in [2usize, 4, 8] {
            let c = staggered(order, Family::Taylor).unwrap();
            for degree in 0..=order as i32 {
                let f = |x: f64| (1.0 + 0.5 * x).powi(degree);
                let pairs = (1..).zip(c.iter()).map(|(m, c)| {
                    let x = f64::from(m) - 0.5;
                    c * (f(x) - f(-x)) / 0.5
                });
                let got: f64 = pairs.sum();
                assert!(
                    (got - f64::from(degree)).abs() < 1e-9,
                    "order {order} degree {degree}"
                );
            }
        }
        for (order, shortest) in [(4, 8.4), (8, 3.7)] {
            let c = staggered(order, Family::Holberg).unwrap();
            for k in 0..100 {
                let theta = std::f64::consts::TAU / shortest * f64::from(k) / 99.0;
                let terms = (1..).zip(c.iter()).map(|(m, c)| {
                    let odd = f64::from(2 * m - 1);
                    c * odd * (0.5 * odd * theta).cos()
                });
                let group: f64 = terms.sum();
                assert!((group - 1.0).abs() < 1.001e-3, "order {order}, {theta}: {group}");
            }
        }
        assert!(staggered(6, Family::Taylor).is_none());
    }

    #[test]
    fn more_weights_than_there_is_room_for_are_cut_off() {
        let weights = StaggeredWeights::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(*weights, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn exact_for_polynomials_up_to_degree_eight() {
        for degree in 0..=8 {
            let got = derivative(|m| (1.0 + 0.5 * m as f64).powi(degree), 0.5);
            assert!((got - f64::from(degree)).abs() < 1e-9, "degree {degree}: {got}");
        }
        let ninth = derivative(|m| (1.0 + 0.5 * m as f64).powi(9), 0.5);
        assert!((ninth - 9.0).abs() > 1e-3, "order 8 cannot be exact for degree 9");
    }
}
