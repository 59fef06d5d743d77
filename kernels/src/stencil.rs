//! Finite-difference coefficients: order 8 in space (Weiss & Shragge 2013, eqs 4-5), order 2 in time (eq. 6).

/// Half width of the derivative: a cell needs this many neighbours on either side.
pub const RADIUS: usize = 4;

/// Taylor weights `W_1..W_4` of the central first derivative of order 8:
/// `D f(i) = 1/d * sum_m W_m (f(i+m) - f(i-m))`.
pub const WEIGHTS: [f64; RADIUS] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];

/// The derivative at a point from a function that gives the value `m` cells away; `d` is the spacing.
pub fn derivative(value: impl Fn(isize) -> f64, d: f64) -> f64 {
    let mut sum = 0.0;
    for m in (1..=RADIUS).rev() {
        sum += WEIGHTS[m - 1] * (value(m as isize) - value(-(m as isize)));
    }
    sum / d
}

#[cfg(test)]
mod tests {
    use super::*;

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
