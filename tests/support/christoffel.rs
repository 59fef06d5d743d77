//! Plane waves and travel times in a homogeneous anisotropic medium, in float64 and independent of the engine, as a
//! reference for simulated arrivals. Vectors are (x, y, z); include this file with `#[path]` where it is needed.
//!
//! A wave with the unit normal n and the polarisation g solves `c_ijkl n_j n_l g_k = rho v^2 g_i`; its energy travels
//! with the velocity `V_i = c_ijkl p_l g_j g_k / rho`, p = n / v (Cerveny 2001, eqs 2.2.21 and 2.4.47).
#![allow(dead_code)] // each test target that includes this file uses a part of it

use kernels::medium::{Stiffness, Voigt};

/// A medium with a stiffness matrix.
pub trait Elastic {
    /// The full matrix.
    fn matrix(&self) -> Voigt;
}

impl Elastic for Stiffness {
    fn matrix(&self) -> Voigt {
        self.voigt()
    }
}

impl Elastic for Voigt {
    fn matrix(&self) -> Voigt {
        *self
    }
}

/// (x, y, z).
pub type Vector = [f64; 3];

/// The three waves of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The P wave, which is the fastest.
    P,
    /// The faster shear wave.
    S1,
    /// The slower shear wave.
    S2,
    /// The shear wave polarised closest to the horizontal normal of the plane of n and z.
    Sh,
    /// The other shear wave.
    Sv,
}

/// A plane wave.
#[derive(Clone, Copy, Debug)]
pub struct Wave {
    /// Phase velocity along n.
    pub phase: f64,
    /// Unit vector.
    pub polarisation: Vector,
    /// Group velocity vector.
    pub group: Vector,
}

/// Scalar product.
pub fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Vector product.
pub fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// The unit vector along `a`.
pub fn unit(a: Vector) -> Vector {
    let length = dot(a, a).sqrt();
    a.map(|v| v / length)
}

/// The wave of a mode whose fronts are normal to `direction` (any length).
pub fn wave(medium: &impl Elastic, rho: f64, direction: Vector, mode: Mode) -> Wave {
    let (c, n) = (medium.matrix(), unit(direction));
    let entry = |i: usize, k: usize| -> f64 {
        let terms = (0..9)
            .map(|m| (m / 3, m % 3))
            .map(|(j, l)| tensor(&c, i, j, k, l) * n[j] * n[l]);
        terms.sum::<f64>() / rho
    };
    let matrix = [0, 1, 2].map(|i| [0, 1, 2].map(|k| entry(i, k)));
    let mut solutions = jacobi(matrix);
    solutions.sort_by(|a, b| b.0.total_cmp(&a.0));
    let horizontal = if n[0].hypot(n[1]) > 1e-9 {
        unit(cross(n, [0.0, 0.0, 1.0]))
    } else {
        [0.0, 1.0, 0.0]
    };
    let across = |i: usize| dot(solutions[i].1, horizontal).abs();
    let sh = if across(1) >= across(2) { 1 } else { 2 };
    let (squared, g) = solutions[match mode {
        Mode::P => 0,
        Mode::S1 => 1,
        Mode::S2 => 2,
        Mode::Sh => sh,
        Mode::Sv => 3 - sh,
    }];
    let phase = squared.sqrt();
    let group = [0, 1, 2].map(|i| {
        let terms = (0..27).map(|m| (m / 9, m / 3 % 3, m % 3));
        terms
            .map(|(j, k, l)| tensor(&c, i, j, k, l) * n[l] * g[j] * g[k])
            .sum::<f64>()
            / (rho * phase)
    });
    Wave {
        phase,
        polarisation: g,
        group,
    }
}

/// The time at which the front of a mode that starts at the origin at time zero reaches `offset`: the wave front is
/// the envelope of all plane waves, so the time is the greatest of `n . offset / v(n)`. The group velocity must point
/// along the offset to 1e-5; otherwise the slowness surface is not convex there (several arrivals) and this panics.
pub fn arrival(medium: &impl Elastic, rho: f64, offset: Vector, mode: Mode) -> f64 {
    ray(medium, rho, offset, mode).0
}

/// Like [`arrival`], together with the plane wave that arrives.
pub fn ray(medium: &impl Elastic, rho: f64, offset: Vector, mode: Mode) -> (f64, Wave) {
    let ahead = unit(offset);
    let helper = if ahead[2].abs() < 0.7 {
        [0.0, 0.0, 1.0]
    } else {
        [1.0, 0.0, 0.0]
    };
    let e1 = unit(cross(ahead, helper));
    let e2 = cross(ahead, e1);
    let normal = |a: f64, b: f64| unit([0, 1, 2].map(|i| ahead[i] + a * e1[i] + b * e2[i]));
    let time = |a: f64, b: f64| {
        let n = normal(a, b);
        dot(n, offset) / wave(medium, rho, n, mode).phase
    };
    let grid = (-30..=30).flat_map(|i| (-30..=30).map(move |j| (0.05 * f64::from(i), 0.05 * f64::from(j))));
    let mut best = grid
        .map(|(a, b)| (time(a, b), a, b))
        .max_by(|p, q| p.0.total_cmp(&q.0))
        .expect("a grid");
    let mut step = 0.05;
    while step > 1e-9 {
        let (_, a, b) = best;
        let around = [(a + step, b), (a - step, b), (a, b + step), (a, b - step)];
        let better = around
            .map(|(a, b)| (time(a, b), a, b))
            .into_iter()
            .max_by(|p, q| p.0.total_cmp(&q.0));
        match better {
            Some(candidate) if candidate.0 > best.0 => best = candidate,
            _ => step *= 0.5,
        }
    }
    let plane_wave = wave(medium, rho, normal(best.1, best.2), mode);
    let across = cross(unit(plane_wave.group), ahead);
    let astray = dot(across, across).sqrt();
    assert!(
        astray < 1e-5,
        "no single {mode:?} arrival along {offset:?}: the nearest ray is {astray} rad off"
    );
    (best.0, plane_wave)
}

/// `c_ijkl` from the 6x6 matrix.
fn tensor(c: &Voigt, i: usize, j: usize, k: usize, l: usize) -> f64 {
    let voigt = |a: usize, b: usize| if a == b { a } else { 6 - a - b };
    c[voigt(i, j)][voigt(k, l)]
}

/// Eigenvalues and unit eigenvectors of a symmetric matrix by Jacobi rotations.
fn jacobi(mut a: [[f64; 3]; 3]) -> [(f64, Vector); 3] {
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for turn in 0..30 {
        let (p, q) = [(0, 1), (0, 2), (1, 2)][turn % 3];
        if a[p][q] == 0.0 {
            continue;
        }
        let (s, c) = (0.5 * (2.0 * a[p][q]).atan2(a[p][p] - a[q][q])).sin_cos();
        for row in a.iter_mut().chain(v.iter_mut()) {
            (row[p], row[q]) = (c * row[p] + s * row[q], c * row[q] - s * row[p]);
        }
        let (upper, lower) = (a[p], a[q]);
        a[p] = [0, 1, 2].map(|k| c * upper[k] + s * lower[k]);
        a[q] = [0, 1, 2].map(|k| c * lower[k] - s * upper[k]);
    }
    [0, 1, 2].map(|i| (a[i][i], [v[0][i], v[1][i], v[2][i]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::medium::{Speeds, Thomsen, Tsvankin};

    const SPEEDS: Speeds = Speeds {
        vp: 3.0,
        vs: 1.5,
        rho: 2.2,
    };
    const ALL: [Mode; 5] = [Mode::P, Mode::S1, Mode::S2, Mode::Sh, Mode::Sv];

    fn vti(epsilon: f64, delta: f64, gamma: f64) -> Stiffness {
        Stiffness::vti(
            SPEEDS,
            Thomsen {
                epsilon,
                delta,
                gamma,
            },
        )
        .unwrap()
    }

    #[test]
    fn isotropic_waves() {
        let s = Stiffness::isotropic(SPEEDS);
        for offset in [
            [1.0, 0.0, 0.0],
            [0.3, -2.0, 0.7],
            [0.0, 0.0, -4.0],
            [1.0, 1.0, 1.0],
        ] {
            let distance = dot(offset, offset).sqrt();
            for mode in ALL {
                let speed = if mode == Mode::P { 3.0 } else { 1.5 };
                let w = wave(&s, 2.2, offset, mode);
                assert!((w.phase - speed).abs() < 1e-12);
                (0..3).for_each(|i| assert!((w.group[i] - speed * offset[i] / distance).abs() < 1e-12));
                assert!((arrival(&s, 2.2, offset, mode) - distance / speed).abs() < 1e-12 * distance);
            }
        }
    }

    /// The phase velocities are exact (Tsvankin 1996, eq. 6).
    #[test]
    fn vti_phase_velocities() {
        let s = vti(0.25, 0.1, 0.2);
        for degrees in [0.0f64, 10.0, 33.0, 60.0, 90.0] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let f = 1.0 - (1.5f64 / 3.0).powi(2);
            let inner = (1.0 + 2.0 * 0.25 * sin * sin / f).powi(2)
                - 2.0 * (0.25 - 0.1) * (2.0 * sin * cos).powi(2) / f;
            let base = 1.0 + 0.25 * sin * sin - f / 2.0;
            let [p, sv] = [1.0, -1.0].map(|sign| 3.0 * (base + sign * 0.5 * f * inner.sqrt()).sqrt());
            let n = [sin * 0.6, sin * 0.8, cos];
            assert!((wave(&s, 2.2, n, Mode::P).phase - p).abs() < 1e-12);
            assert!((wave(&s, 2.2, n, Mode::Sv).phase - sv).abs() < 1e-12, "{degrees}");
            let sh = 1.5 * (1.0 + 0.4 * sin * sin).sqrt();
            assert!((wave(&s, 2.2, n, Mode::Sh).phase - sh).abs() < 1e-12);
        }
    }

    /// The group velocity in a medium of rotational symmetry is v n + v' m, with m the normal turned by 90 degrees.
    #[test]
    fn vti_group_velocities() {
        let s = vti(0.25, 0.1, 0.2);
        let along = |angle: f64| [angle.sin(), 0.0, angle.cos()];
        for mode in [Mode::P, Mode::Sv, Mode::Sh] {
            for angle in [0.2, 0.7, 1.3] {
                let phase = |a: f64| wave(&s, 2.2, along(a), mode).phase;
                let slope = (phase(angle + 1e-5) - phase(angle - 1e-5)) / 2e-5;
                let (n, m) = (along(angle), [angle.cos(), 0.0, -angle.sin()]);
                let got = wave(&s, 2.2, n, mode).group;
                (0..3).for_each(|i| assert!((got[i] - phase(angle) * n[i] - slope * m[i]).abs() < 1e-8));
            }
        }
    }

    /// SH fronts are ellipsoids; so are P fronts when epsilon = delta.
    #[test]
    fn elliptical_arrivals() {
        let s = vti(0.15, 0.15, 0.2);
        for offset in [[1.0f64, 0.0, 1.0], [0.4, 0.9, 0.8], [2.0, 0.1, 0.2]] {
            let time = |x2: f64, z2: f64| {
                ((offset[0].powi(2) + offset[1].powi(2)) / x2 + offset[2].powi(2) / z2).sqrt()
            };
            let p = time(9.0 * 1.3, 9.0);
            let sh = time(2.25 * 1.4, 2.25);
            assert!((arrival(&s, 2.2, offset, Mode::P) / p - 1.0).abs() < 1e-10);
            assert!((arrival(&s, 2.2, offset, Mode::Sh) / sh - 1.0).abs() < 1e-10);
        }
    }

    /// In its symmetry plane x-z, P and SV waves of an orthorhombic medium are the same as in the VTI medium with eps2
    /// and del2.
    #[test]
    fn orthorhombic_plane() {
        let t = Tsvankin {
            eps1: 0.05,
            eps2: 0.2,
            del1: 0.1,
            del2: 0.08,
            del3: -0.05,
            gam1: 0.1,
            gam2: 0.04,
        };
        let ort = Stiffness::orthorhombic(SPEEDS, t).unwrap();
        let flat = vti(0.2, 0.08, 0.0);
        for offset in [[1.0, 0.0, 0.5], [0.3, 0.0, 1.0]] {
            for mode in [Mode::P, Mode::Sv] {
                let (a, b) = (
                    arrival(&ort, 2.2, offset, mode),
                    arrival(&flat, 2.2, offset, mode),
                );
                assert!((a / b - 1.0).abs() < 1e-9, "{mode:?} {a} {b}");
            }
        }
        let oblique = arrival(&ort, 2.2, [1.0, 0.8, 0.6], Mode::P);
        let w = wave(&ort, 2.2, [1.0, 0.8, 0.6], Mode::P);
        let straight = dot(unit([1.0, 0.8, 0.6]), [1.0, 0.8, 0.6]) / w.phase;
        assert!(oblique >= straight && oblique < straight * 1.02);
    }
}
