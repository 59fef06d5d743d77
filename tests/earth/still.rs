//! The static displacement of a layered sphere due to a moment tensor, degree by degree and independent of meshes.
//!
//! Spheroidal u = U Y r + V grad1 Y and toroidal u = -W r x grad1 Y with real harmonics Y about the source (Takeuchi &
//! Saito 1972; Dahlen & Tromp 1998, 8.6). For every degree the radial functions minimise the energy
//!
//!   spheroidal  lambda (U' + F)^2 + mu (2 U'^2 + F^2 + L X^2 + L (L - 2) V^2 / r^2),
//!               F = (2 U - L V) / r, X = V' + (U - V) / r
//!   toroidal    mu L ((W' - W / r)^2 + (L - 2) W^2 / r^2),  L = l (l + 1)
//!
//! times r^2 / 2, minus the work M : strain at the source. They are polynomials of degree 6 in shells, and free at both
//! ends. There is no gravity. The centre of mass does not move, and the sphere as a whole does not rotate.

use kernels::earth::Radial;
use kernels::mesh::Basis;

const DEGREE: usize = 6;
/// Number of entries in a row of the stiffness matrix to the left of the diagonal.
const BAND: usize = 2 * (DEGREE + 1);

/// A sphere or thick shell that is divided into shells.
pub struct Ball<'a> {
    model: &'a Radial,
    /// Radii of the boundaries of the shells, m.
    ends: Vec<f64>,
    basis: Basis,
}

/// The terms of M : strain, for a moment tensor at its source, as functionals of the radial functions there.
#[derive(Clone, Copy)]
enum Load {
    Stretch,
    Spread,
    Shear,
    Widen,
    Twist,
    Turn,
}

/// Radial functions U, V (or W) of one spherical-harmonic degree at the surface, for a unit load of each kind.
struct Answer {
    spheroidal: [[f64; 2]; 4],
    toroidal: [f64; 2],
}

impl<'a> Ball<'a> {
    /// Divides the model into shells of at most `step` (m) from `bottom` to the surface, none of which contains a
    /// discontinuity.
    pub fn new(model: &'a Radial, bottom: f64, step: f64) -> Self {
        let mut ends = vec![bottom];
        let tops = model
            .layers()
            .iter()
            .map(|layer| layer.top)
            .filter(|top| *top > bottom + 1.0);
        for top in tops {
            let low = ends[ends.len() - 1];
            let n = ((top - low) / step).ceil().max(1.0);
            ends.extend((1..=n as usize).map(|k| low + (top - low) * k as f64 / n));
        }
        Self {
            model,
            ends,
            basis: Basis::new(DEGREE).unwrap(),
        }
    }

    fn points(&self) -> usize {
        (self.ends.len() - 1) * DEGREE + 1
    }

    /// Radius and weight (m) of every point of a shell; last, the derivative (1/m) of function `p` at point `q`.
    fn shell(&self, k: usize) -> (Vec<f64>, Vec<f64>, impl Fn(usize, usize) -> f64 + '_) {
        let (low, high) = (self.ends[k], self.ends[k + 1]);
        let half = (high - low) / 2.0;
        let radii = self
            .basis
            .points()
            .iter()
            .map(|x| low + half * (1.0 + x))
            .collect();
        let weights = self.basis.weights().iter().map(|w| w * half).collect();
        (radii, weights, move |q, p| self.basis.derivative(q, p) / half)
    }

    /// The stiffness of a degree, for `fields` 2 (U, V) or 1 (W).
    fn stiffness(&self, l: f64, fields: usize) -> Banded {
        let (big, n) = (l * (l + 1.0), self.points() * fields);
        let mut matrix = Banded::new(n);
        for k in 0..self.ends.len() - 1 {
            let (radii, weights, slope) = self.shell(k);
            let middle = (self.ends[k] + self.ends[k + 1]) / 2.0;
            for q in 0..=DEGREE {
                let r = radii[q];
                let m = self.model.seen_from(middle, r);
                let mu = m.density * m.vsv * m.vsv;
                let lambda = m.density * m.vpv * m.vpv - 2.0 * mu;
                // Each strain as a row over the unknowns of the shell, with its coefficient in the energy.
                let unknown = |p: usize, f: usize| (k * DEGREE + p) * fields + f;
                let rows: Vec<(f64, Vec<(usize, f64)>)> = if fields == 2 {
                    let stretch: Vec<_> = (0..=DEGREE).map(|p| (unknown(p, 0), slope(q, p))).collect();
                    let spread = vec![(unknown(q, 0), 2.0 / r), (unknown(q, 1), -big / r)];
                    let mut shear: Vec<_> = (0..=DEGREE).map(|p| (unknown(p, 1), slope(q, p))).collect();
                    shear.extend([(unknown(q, 0), 1.0 / r), (unknown(q, 1), -1.0 / r)]);
                    let both = [stretch.clone(), spread.clone()].concat();
                    vec![
                        (lambda, both),
                        (2.0 * mu, stretch),
                        (mu, spread),
                        (mu * big, shear),
                        (mu * big * (big - 2.0), vec![(unknown(q, 1), 1.0 / r)]),
                    ]
                } else {
                    let mut twist: Vec<_> = (0..=DEGREE).map(|p| (unknown(p, 0), slope(q, p))).collect();
                    twist.push((unknown(q, 0), -1.0 / r));
                    vec![
                        (mu * big, twist),
                        (mu * big * (big - 2.0), vec![(unknown(q, 0), 1.0 / r)]),
                    ]
                };
                for (cost, row) in rows {
                    matrix.add(cost * weights[q] * r * r, &row);
                }
            }
        }
        matrix
    }

    /// The load vector of a source at radius `at`, one entry per unknown.
    fn load(&self, load: Load, l: f64, at: f64) -> Vec<f64> {
        let big = l * (l + 1.0);
        let fields = match load {
            Load::Twist | Load::Turn => 1,
            _ => 2,
        };
        let k = self
            .ends
            .partition_point(|end| *end <= at)
            .clamp(1, self.ends.len() - 1)
            - 1;
        let x = 2.0 * (at - self.ends[k]) / (self.ends[k + 1] - self.ends[k]) - 1.0;
        let scale = 2.0 / (self.ends[k + 1] - self.ends[k]);
        let mut numbers = vec![0.0; self.points() * fields];
        for p in 0..=DEGREE {
            let (value, slope) = lagrange(self.basis.points(), p, x);
            let mut put = |f: usize, number: f64| numbers[(k * DEGREE + p) * fields + f] += number;
            match load {
                Load::Stretch => put(0, slope * scale),
                Load::Spread => {
                    put(0, 2.0 * value / at);
                    put(1, -big * value / at);
                }
                Load::Shear => {
                    put(1, slope * scale - value / at);
                    put(0, value / at);
                }
                Load::Widen => put(1, value / at),
                Load::Twist => put(0, slope * scale - value / at),
                Load::Turn => put(0, value / at),
            }
        }
        numbers
    }

    /// The motion of the centre of mass (U, V), or the rotation of the whole sphere (W), by functions of degree 1; a
    /// source inside can cause neither.
    fn mean(&self, solution: &[f64], fields: usize) -> f64 {
        let (mut moved, mut all) = (0.0, 0.0);
        for k in 0..self.ends.len() - 1 {
            let (radii, weights, _) = self.shell(k);
            let middle = (self.ends[k] + self.ends[k + 1]) / 2.0;
            for q in 0..=DEGREE {
                let (r, p) = (radii[q], (k * DEGREE + q) * fields);
                let mass = self.model.seen_from(middle, r).density * weights[q] * r * r;
                if fields == 2 {
                    moved += mass * (solution[p] + 2.0 * solution[p + 1]);
                    all += 3.0 * mass;
                } else {
                    moved += mass * r * solution[p];
                    all += mass * r * r;
                }
            }
        }
        moved / all
    }

    /// The response at the surface to all loads at a radius.
    fn answer(&self, degree: usize, at: f64) -> Answer {
        let l = degree as f64;
        let mut answer = Answer {
            spheroidal: [[0.0; 2]; 4],
            toroidal: [0.0; 2],
        };
        let mut matrix = self.stiffness(l, 2);
        let n = matrix.rows();
        match degree {
            // For degree 0 there is no V. For degree 1 the whole sphere can move with U = V = 1 without energy, so one
            // unknown is fixed.
            0 => (0..n).skip(1).step_by(2).for_each(|k| matrix.hold(k)),
            1 => matrix.hold(n - 1),
            _ => {}
        }
        matrix.factor();
        for (k, load) in [Load::Stretch, Load::Spread, Load::Shear, Load::Widen]
            .into_iter()
            .enumerate()
        {
            let solution = matrix.solve(self.load(load, l, at));
            let moved = if degree == 1 { self.mean(&solution, 2) } else { 0.0 };
            answer.spheroidal[k] = [solution[n - 2] - moved, solution[n - 1] - moved];
        }
        if degree > 0 {
            let mut matrix = self.stiffness(l, 1);
            if degree == 1 {
                matrix.hold(matrix.rows() - 1);
            }
            matrix.factor();
            for (k, load) in [Load::Twist, Load::Turn].into_iter().enumerate() {
                let solution = matrix.solve(self.load(load, l, at));
                let turned = if degree == 1 { self.mean(&solution, 1) } else { 0.0 };
                answer.toroidal[k] = solution[solution.len() - 1] - turned * self.ends[self.ends.len() - 1];
            }
        }
        answer
    }

    /// Displacement (m; up, south, east about the source) at the surface, at `distance` degrees and `azimuth` degrees
    /// counter-clockwise from the south, for a moment tensor rr tt pp rt rp tp (N m) at a radius. The sum includes
    /// degrees up to `most`.
    pub fn displacement(
        &self,
        tensor: [f64; 6],
        at: f64,
        (distance, azimuth): (f64, f64),
        most: usize,
    ) -> [f64; 3] {
        let [rr, tt, pp, rt, rp, tp] = tensor;
        let (theta, phi) = (distance.to_radians(), azimuth.to_radians());
        let (st, x) = theta.sin_cos();
        let mut sum = [0.0; 3];
        for degree in 0..=most {
            let l = degree as f64;
            let big = l * (l + 1.0);
            let four = (l - 1.0) * big * (l + 2.0);
            let answer = self.answer(degree, at);
            for m in 0..=2.min(degree) {
                // Y = P cos m phi or P sin m phi; this is the integral of the square of either over the sphere.
                let norm = match m {
                    0 => 4.0 * std::f64::consts::PI,
                    1 => 2.0 * std::f64::consts::PI * big,
                    _ => 2.0 * std::f64::consts::PI * four,
                } / (2.0 * l + 1.0);
                let mix = |parts: [f64; 4]| -> [f64; 2] {
                    std::array::from_fn(|f| {
                        (0..4).map(|k| parts[k] * answer.spheroidal[k][f]).sum::<f64>() / norm
                    })
                };
                let turn =
                    |parts: [f64; 2]| (parts[0] * answer.toroidal[0] + parts[1] * answer.toroidal[1]) / norm;
                let (cosine, sine, wc, ws) = match m {
                    0 => (mix([rr, (tt + pp) / 2.0, 0.0, 0.0]), [0.0; 2], 0.0, 0.0),
                    1 => (
                        mix([0.0, 0.0, rt * big / 2.0, 0.0]),
                        mix([0.0, 0.0, rp * big / 2.0, 0.0]),
                        turn([-rp * big / 2.0, 0.0]),
                        turn([rt * big / 2.0, 0.0]),
                    ),
                    _ => (
                        mix([0.0, 0.0, 0.0, (tt - pp) * four / 4.0]),
                        mix([0.0, 0.0, 0.0, tp * four / 2.0]),
                        turn([0.0, -tp * four / 2.0]),
                        turn([0.0, (tt - pp) * four / 4.0]),
                    ),
                };
                let mf = m as f64;
                let (p, slope) = (legendre(degree, m, x), legendre_slope(degree, m, theta));
                let (s, c) = (mf * phi).sin_cos();
                let across = if m == 0 { 0.0 } else { mf * p / st };
                sum[0] += p * (cosine[0] * c + sine[0] * s);
                sum[1] += slope * (cosine[1] * c + sine[1] * s) + across * (ws * c - wc * s);
                sum[2] += across * (sine[1] * c - cosine[1] * s) - slope * (wc * c + ws * s);
            }
        }
        sum
    }
}

/// Value and derivative of the Lagrange polynomial of a point.
fn lagrange(points: &[f64], own: usize, x: f64) -> (f64, f64) {
    let others = || (0..points.len()).filter(|k| *k != own);
    let factor = |k: usize| (x - points[k]) / (points[own] - points[k]);
    let value = others().map(factor).product();
    let slope = others()
        .map(|d| {
            let rest: f64 = others().filter(|k| *k != d).map(factor).product();
            rest / (points[own] - points[d])
        })
        .sum();
    (value, slope)
}

/// The associated Legendre function without the Condon-Shortley phase.
fn legendre(l: usize, m: usize, x: f64) -> f64 {
    if l < m {
        return 0.0;
    }
    let root = (1.0 - x * x).sqrt();
    let mut before = 0.0;
    let mut now: f64 = (0..m).map(|k| (2 * k + 1) as f64 * root).product();
    for k in m + 1..=l {
        let next = ((2 * k - 1) as f64 * x * now - (k + m - 1) as f64 * before) / (k - m) as f64;
        (before, now) = (now, next);
    }
    now
}

/// The derivative of the Legendre function with respect to theta.
fn legendre_slope(l: usize, m: usize, theta: f64) -> f64 {
    let (s, x) = theta.sin_cos();
    let (own, below) = (
        legendre(l, m, x),
        if l == 0 { 0.0 } else { legendre(l - 1, m, x) },
    );
    (l as f64 * x * own - (l + m) as f64 * below) / s
}

/// A symmetric band matrix.
struct Banded {
    /// Row k holds columns k - BAND to k.
    rows: Vec<[f64; BAND + 1]>,
}

impl Banded {
    fn new(n: usize) -> Self {
        Self {
            rows: vec![[0.0; BAND + 1]; n],
        }
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Adds `cost` times the square of a linear combination of unknowns.
    fn add(&mut self, cost: f64, row: &[(usize, f64)]) {
        for (i, a) in row {
            for (k, b) in row.iter().filter(|(k, _)| k <= i) {
                self.rows[*i][BAND + k - i] += cost * a * b;
            }
        }
    }

    /// Forces an unknown to zero.
    fn hold(&mut self, k: usize) {
        let largest = self.rows.iter().map(|row| row[BAND]).max_by(f64::total_cmp);
        let size = largest.expect("there are unknowns");
        self.rows[k][BAND] += 1e12 * size;
    }

    /// Replaces the matrix by its Cholesky factor.
    fn factor(&mut self) {
        for i in 0..self.rows.len() {
            for k in i.saturating_sub(BAND)..=i {
                let first = i.saturating_sub(BAND).max(k.saturating_sub(BAND));
                let done: f64 = (first..k)
                    .map(|j| self.rows[i][BAND + j - i] * self.rows[k][BAND + j - k])
                    .sum();
                let rest = self.rows[i][BAND + k - i] - done;
                self.rows[i][BAND + k - i] = if k == i {
                    rest.sqrt()
                } else {
                    rest / self.rows[k][BAND]
                };
            }
        }
    }

    fn solve(&self, mut x: Vec<f64>) -> Vec<f64> {
        let n = x.len();
        for i in 0..n {
            let done: f64 = (i.saturating_sub(BAND)..i)
                .map(|j| self.rows[i][BAND + j - i] * x[j])
                .sum();
            x[i] = (x[i] - done) / self.rows[i][BAND];
        }
        for i in (0..n).rev() {
            let done: f64 = (i + 1..n.min(i + BAND + 1))
                .map(|j| self.rows[j][BAND + i - j] * x[j])
                .sum();
            x[i] = (x[i] - done) / self.rows[i][BAND];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::earth::{Layer, Matter, Profile};

    const RADIUS: f64 = 6.371e6;

    fn homogeneous() -> Radial {
        Radial::new(vec![Layer {
            bottom: 0.0,
            top: RADIUS,
            profile: Profile::Formula(|_| Matter::isotropic(3000.0, 8000.0, 4500.0, [f64::INFINITY; 2])),
        }])
        .unwrap()
    }

    fn moduli() -> [f64; 2] {
        let mu = 3000.0 * 4500.0_f64.powi(2);
        [3000.0 * 8000.0_f64.powi(2) - 2.0 * mu, mu]
    }

    #[test]
    fn degrees_zero_and_two_have_their_closed_forms() {
        let model = homogeneous();
        let ball = Ball::new(&model, 1e3, 3e5);
        let [lambda, mu] = moduli();
        let at = 5.7e6;
        // Degree 0: U = A r below the source, B r + C / r^2 above, and no traction at the surface. For an explosion of
        // moment 1, U(a) follows by reciprocity from a ball under pressure: u = p r / (3 kappa), M : strain = p /
        // kappa, and the surface is 4 pi a^2.
        let kappa = lambda + 2.0 / 3.0 * mu;
        let answer = ball.answer(0, at);
        let modelled = answer.spheroidal[0][0] + answer.spheroidal[1][0];
        let expected = 1.0 / (kappa * RADIUS.powi(2));
        assert!((modelled / expected - 1.0).abs() < 1e-6, "{modelled} {expected}");
        // Degree 2, toroidal: a traction S on the surface gives W = c r^2 with mu (W' - W / r) = S, so c = S / (mu a).
        // By reciprocity, W(a) for a unit of W' - W / r at the source is the value of W' - W / r there, c r, divided by
        // a^2 S L.
        let modelled = ball.answer(2, at).toroidal;
        let per = 1.0 / (mu * RADIUS) / (RADIUS.powi(2) * 6.0);
        assert!((modelled[0] / (per * at) - 1.0).abs() < 1e-6, "{modelled:?}");
        assert!((modelled[1] / (per * at) - 1.0).abs() < 1e-6, "{modelled:?}");
    }

    #[test]
    fn a_shallow_source_in_a_large_sphere_is_one_below_a_plane() {
        // Mogi (1958): an explosion of moment m at depth d below a plane lifts the plane by m / (2 pi (lambda + mu)) d
        // / R^3, and moves it outwards by the same expression with the horizontal distance in place of the depth.
        let model = homogeneous();
        let (depth, degrees) = (60e3, 1200);
        let ball = Ball::new(&model, 3e6, 6e4);
        let [lambda, mu] = moduli();
        for degree in [0.3_f64, 0.7] {
            let [up, south, east] = ball.displacement(
                [1e20, 1e20, 1e20, 0.0, 0.0, 0.0],
                RADIUS - depth,
                (degree, 0.0),
                degrees,
            );
            let far = RADIUS * degree.to_radians();
            let size =
                1e20 / (2.0 * std::f64::consts::PI * (lambda + mu)) / (far * far + depth * depth).powf(1.5);
            let off = [up / (size * depth), south / (size * far)].map(|share| 100.0 * (share - 1.0));
            println!("{degree} degrees: up and south are {off:.2?} % off");
            assert!((up / (size * depth) - 1.0).abs() < 0.03, "{up} {}", size * depth);
            assert!(
                (south / (size * far) - 1.0).abs() < 0.03,
                "{south} {}",
                size * far
            );
            assert_eq!(east, 0.0);
        }
    }

    #[test]
    fn a_turned_tensor_turns_its_displacement() {
        let model = homogeneous();
        let ball = Ball::new(&model, 3e6, 2e5);
        // South and east are exchanged: t -> p, p -> -t.
        let [rr, tt, pp, rt, rp, tp] = [1.0, -0.4, 0.2, 0.7, -0.9, 0.5].map(|m| m * 1e20);
        let one = ball.displacement([rr, tt, pp, rt, rp, tp], 5.8e6, (7.0, 20.0), 60);
        let other = ball.displacement([rr, pp, tt, -rp, rt, -tp], 5.8e6, (7.0, 110.0), 60);
        for (a, b) in one.iter().zip(other) {
            assert!((a - b).abs() < 1e-9 * one[0].abs(), "{one:?} {other:?}");
        }
    }
}
