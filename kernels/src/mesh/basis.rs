//! Gauss-Lobatto-Legendre points, their quadrature weights, and Lagrange polynomials through them.
//!
//! A basis of degree N has N + 1 points on [-1, 1], including both ends. The quadrature is exact for polynomials of
//! degree 2N - 1; the mass matrix, whose integrands have degree 2N, is integrated approximately, and is therefore
//! diagonal (Komatitsch & Vilotte 1998, section 3).

use super::Fault;

/// The degrees that are supported.
pub const DEGREES: std::ops::RangeInclusive<usize> = 2..=8;

/// Points, weights and derivatives for one degree, in double precision.
#[derive(Clone, Debug)]
pub struct Basis {
    points: Vec<f64>,
    weights: Vec<f64>,
    derivative: Vec<f64>,
}

impl Basis {
    /// The basis of a given degree.
    ///
    /// # Errors
    /// Returns an error if the degree is outside [`DEGREES`].
    pub fn new(degree: usize) -> Result<Self, Fault> {
        if !DEGREES.contains(&degree) {
            return Err(Fault::Degree(degree));
        }
        let points = lobatto_points(degree);
        let end = (degree * (degree + 1)) as f64;
        let values: Vec<f64> = points.iter().map(|x| legendre(degree, *x).0).collect();
        let weights = values.iter().map(|p| 2.0 / (end * p * p)).collect();
        let mut derivative = vec![0.0; points.len() * points.len()];
        for q in 0..=degree {
            for p in (0..=degree).filter(|p| *p != q) {
                derivative[q * (degree + 1) + p] = values[q] / (values[p] * (points[q] - points[p]));
            }
        }
        derivative[0] = -end / 4.0;
        derivative[(degree + 1) * (degree + 1) - 1] = end / 4.0;
        Ok(Self {
            points,
            weights,
            derivative,
        })
    }

    /// Degree of the polynomials.
    pub fn degree(&self) -> usize {
        self.points.len() - 1
    }

    /// Number of points along an axis: degree + 1.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Always false: every basis has points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The points, ascending from -1 to 1.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// The weights of the points; their sum is 2.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Derivative at point `q` of the Lagrange polynomial that is one at point `p`.
    pub fn derivative(&self, q: usize, p: usize) -> f64 {
        self.derivative[q * self.len() + p]
    }

    /// Values and derivatives of all Lagrange polynomials at `x`, which may lie outside [-1, 1].
    pub fn cardinal(&self, x: f64) -> (Vec<f64>, Vec<f64>) {
        let others = |i: usize| (0..self.len()).filter(move |j| *j != i);
        let factor = |i: usize, j: usize| (x - self.points[j]) / (self.points[i] - self.points[j]);
        let value = |i| others(i).map(|j| factor(i, j)).product();
        let slope = |i: usize| {
            let term = |m: usize| {
                let rest: f64 = others(i).filter(|j| *j != m).map(|j| factor(i, j)).product();
                rest / (self.points[i] - self.points[m])
            };
            others(i).map(term).sum()
        };
        (
            (0..self.len()).map(value).collect(),
            (0..self.len()).map(slope).collect(),
        )
    }
}

/// The Legendre polynomial of a degree >= 1 and its derivative at `x`, by Bonnet's recurrence.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    let (mut before, mut now) = (1.0, x);
    let (mut slope_before, mut slope) = (0.0, 1.0);
    for n in 1..degree {
        let k = n as f64;
        let next = ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0);
        let slope_next = slope_before + (2.0 * k + 1.0) * now;
        (before, now) = (now, next);
        (slope_before, slope) = (slope, slope_next);
    }
    (now, slope)
}

/// The ends and the roots of the derivative of the Legendre polynomial, by Newton's method from the Chebyshev-Lobatto
/// points.
fn lobatto_points(degree: usize) -> Vec<f64> {
    let n = degree as f64;
    let mut points = vec![0.0; degree + 1];
    (points[0], points[degree]) = (-1.0, 1.0);
    // The roots come in pairs. Making them exactly symmetric keeps mirrored elements exact mirror images.
    for i in 1..=degree / 2 {
        if 2 * i == degree {
            continue;
        }
        let mut x = -(std::f64::consts::PI * i as f64 / n).cos();
        for _ in 0..50 {
            let (value, slope) = legendre(degree, x);
            // The second derivative follows from Legendre's differential equation.
            let curvature = (2.0 * x * slope - n * (n + 1.0) * value) / (1.0 - x * x);
            let step = slope / curvature;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        (points[i], points[degree - i]) = (x, -x);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Basis> {
        DEGREES.map(|degree| Basis::new(degree).unwrap())
    }

    #[test]
    fn degree_four_is_the_textbook_rule() {
        let basis = Basis::new(4).unwrap();
        let x = (3.0_f64 / 7.0).sqrt();
        let expected = [-1.0, -x, 0.0, x, 1.0];
        let weights = [0.1, 49.0 / 90.0, 32.0 / 45.0, 49.0 / 90.0, 0.1];
        for i in 0..5 {
            assert!((basis.points()[i] - expected[i]).abs() < 1e-15, "{i}");
            assert!((basis.weights()[i] - weights[i]).abs() < 1e-15, "{i}");
        }
    }

    #[test]
    fn integrates_polynomials_of_twice_the_degree_less_one_and_no_more() {
        for basis in all() {
            let integral = |power: i32| -> f64 {
                let terms = basis.points().iter().zip(basis.weights());
                terms.map(|(x, w)| w * x.powi(power)).sum()
            };
            let top = 2 * basis.degree() as i32;
            for power in 0..top {
                let exact = if power % 2 == 0 {
                    2.0 / f64::from(power + 1)
                } else {
                    0.0
                };
                assert!((integral(power) - exact).abs() < 1e-14, "{top} {power}");
            }
            assert!((integral(top) - 2.0 / f64::from(top + 1)).abs() > 1e-6, "{top}");
        }
    }

    #[test]
    fn differentiates_polynomials_of_its_degree() {
        for basis in all() {
            for power in 0..=basis.degree() as i32 {
                for (q, x) in basis.points().iter().enumerate() {
                    let terms = basis.points().iter().enumerate();
                    let got: f64 = terms.map(|(p, y)| basis.derivative(q, p) * y.powi(power)).sum();
                    let exact = if power == 0 {
                        0.0
                    } else {
                        f64::from(power) * x.powi(power - 1)
                    };
                    assert!(
                        (got - exact).abs() < 1e-12,
                        "degree {} power {power}",
                        basis.degree()
                    );
                }
            }
        }
    }

    #[test]
    fn cardinal_polynomials_interpolate_with_their_slopes() {
        for basis in all() {
            for (q, x) in basis.points().iter().enumerate() {
                let (value, slope) = basis.cardinal(*x);
                for p in 0..basis.len() {
                    assert!((value[p] - f64::from(p == q)).abs() < 1e-14);
                    assert!((slope[p] - basis.derivative(q, p)).abs() < 1e-12);
                }
            }
            let power = basis.degree() as i32;
            for x in [-0.93, 0.111, 0.7, 1.2] {
                let (value, slope) = basis.cardinal(x);
                let sum =
                    |f: &[f64]| -> f64 { f.iter().zip(basis.points()).map(|(h, y)| h * y.powi(power)).sum() };
                assert!((sum(&value) - x.powi(power)).abs() < 1e-12);
                assert!((sum(&slope) - f64::from(power) * x.powi(power - 1)).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn other_degrees_are_refused() {
        for degree in [0, 1, 9, usize::MAX] {
            let sentence = Basis::new(degree).unwrap_err().to_string();
            assert!(sentence.contains("2 to 8"), "{sentence}");
        }
    }
}
