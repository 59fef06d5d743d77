//! The elastic field of point sources in a homogeneous full space, near field included: Aki & Richards (2002), eqs 4.23
//! and 4.29.
//!
//! `4 pi rho u_i = (3 g_i g_j - d_ij) / r^3 N(t) + g_i g_j X(t - r/a) / (a^2 r) - (g_i g_j - d_ij) X(t - r/b) / (b^2 r)`
//! for a force X along j, where `N(t) = integral from r/a to r/b of s X(t - s) ds`; and for a moment M_pq
//!
//! `4 pi rho u_n = (15 g_n g_p g_q - 3 g_n d_pq - 3 g_p d_nq - 3 g_q d_np) / r^4 N(t)`
//! `+ (6 g_n g_p g_q - g_n d_pq - g_p d_nq - g_q d_np) M(t - r/a) / (a^2 r^2)`
//! `- (6 g_n g_p g_q - g_n d_pq - g_p d_nq - 2 g_q d_np) M(t - r/b) / (b^2 r^2)`
//! `+ g_n g_p g_q M'(t - r/a) / (a^3 r) - (g_n g_p - d_np) g_q M'(t - r/b) / (b^3 r)`.
//!
//! Velocities are the displacements for the time derivative of the source. Vectors are (x, y, z) here. SI units
//! throughout.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use crate::shots::Ricker;

/// P velocity, S velocity and density.
#[derive(Clone, Copy, Debug)]
pub struct Rock {
    pub a: f64,
    pub b: f64,
    pub rho: f64,
}

fn delta(i: usize, j: usize) -> f64 {
    f64::from(u8::from(i == j))
}

/// Distance and direction.
fn direction(x: [f64; 3]) -> (f64, [f64; 3]) {
    let r = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    (r, x.map(|v| v / r))
}

/// `integral from r/a to r/b of s X(t - s) ds` by parts.
fn near(rock: Rock, w: &Ricker, r: f64, t: f64) -> f64 {
    let end = |s: f64| s * w.integral(t - s) + w.second_integral(t - s);
    end(r / rock.a) - end(r / rock.b)
}

/// Eq. 4.23: the velocity at an offset from a force whose rate is the wavelet.
pub fn of_force(rock: Rock, w: &Ricker, force: [f64; 3], x: [f64; 3], t: f64) -> [f64; 3] {
    let Rock { a, b, rho } = rock;
    let (r, g) = direction(x);
    let along: f64 = g.iter().zip(force).map(|(g, f)| g * f).sum();
    let (near, p, s) = (near(rock, w, r, t), w.value(t - r / a), w.value(t - r / b));
    [0, 1, 2].map(|i| {
        let sum = (3.0 * g[i] * along - force[i]) / r.powi(3) * near + g[i] * along * p / (a * a * r)
            - (g[i] * along - force[i]) * s / (b * b * r);
        sum / (4.0 * std::f64::consts::PI * rho)
    })
}

/// Eq. 4.29: the velocity for a moment tensor xx, yy, zz, xy, xz, yz.
pub fn of_moment(rock: Rock, w: &Ricker, m: [f64; 6], x: [f64; 3], t: f64) -> [f64; 3] {
    let Rock { a, b, rho } = rock;
    let (r, g) = direction(x);
    let tensor = [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]];
    let (ta, tb) = (t - r / a, t - r / b);
    let (near, pa, pb, da, db) = (
        near(rock, w, r, t),
        w.value(ta),
        w.value(tb),
        w.slope(ta),
        w.slope(tb),
    );
    [0, 1, 2].map(|n| {
        let mut sum = 0.0;
        for p in 0..3 {
            for q in 0..3 {
                let ggg = g[n] * g[p] * g[q];
                let (npq, pnq, qnp) = (g[n] * delta(p, q), g[p] * delta(n, q), g[q] * delta(n, p));
                let once = npq + pnq + qnp;
                sum += tensor[p][q]
                    * ((15.0 * ggg - 3.0 * once) / r.powi(4) * near
                        + (6.0 * ggg - once) * pa / (a * r).powi(2)
                        - (6.0 * ggg - once - qnp) * pb / (b * r).powi(2)
                        + ggg * da / (a.powi(3) * r)
                        - (ggg - qnp) * db / (b.powi(3) * r));
            }
        }
        sum / (4.0 * std::f64::consts::PI * rho)
    })
}
