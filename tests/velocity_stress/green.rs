//! Absolute amplitudes in a homogeneous full space, near field included: Aki & Richards (2002), eqs 4.23 and 4.29.
//!
//! `4 pi rho u_i = (3 g_i g_j - d_ij) / r^3 N(t) + g_i g_j X(t - r/a) / (a^2 r) - (g_i g_j - d_ij) X(t - r/b) / (b^2 r)`
//! for a force X along j, `N(t) = integral from r/a to r/b of s X(t - s) ds`; for a moment M_pq
//!
//! `4 pi rho u_n = (15 g_n g_p g_q - 3 g_n d_pq - 3 g_p d_nq - 3 g_q d_np) / r^4 N(t)`
//! `+ (6 g_n g_p g_q - g_n d_pq - g_p d_nq - g_q d_np) M(t - r/a) / (a^2 r^2)`
//! `- (6 g_n g_p g_q - g_n d_pq - g_p d_nq - 2 g_q d_np) M(t - r/b) / (b^2 r^2)`
//! `+ g_n g_p g_q M'(t - r/a) / (a^3 r) - (g_n g_p - d_np) g_q M'(t - r/b) / (b^3 r)`.
//!
//! Velocities are the displacements of the rate of the source. Vectors are (x, y, z) here. SI units throughout.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::shots::{Ricker, largest};
use kernels::grid::Grid;
use kernels::velocity_stress::Action;

const A: f64 = 3200.0;
const B: f64 = 2000.0;
const RHO: f64 = 2300.0;
/// Spacings z, x, y differ, so that a swapped axis would be seen.
const D: [f32; 3] = [10.0, 9.6, 10.4];
const N: usize = 64;
/// Half of the largest stable step, which is 1/(7/6 a sqrt(3)) of the spacing.
const DT: f64 = 0.000_75;
/// Between the nodes on all axes.
const SOURCE: [f32; 3] = [31.3, 32.5, 31.8];
/// Receivers in cells from the source (x, y, z), off the nodes, near and far.
const OFFSETS: [[f32; 3]; 6] = [
    [0.2, 0.1, 6.0],
    [7.1, -3.3, 2.4],
    [24.0, 0.0, 0.4],
    [12.3, -18.0, 9.0],
    [-15.5, 14.2, 16.1],
    [-9.0, -21.7, -5.5],
];

fn delta(i: usize, j: usize) -> f64 {
    f64::from(u8::from(i == j))
}

/// Distance and direction.
fn direction(x: [f64; 3]) -> (f64, [f64; 3]) {
    let r = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    (r, x.map(|v| v / r))
}

/// `integral from r/a to r/b of s X(t - s) ds` by parts.
fn near(w: &Ricker, r: f64, t: f64) -> f64 {
    let end = |s: f64| s * w.integral(t - s) + w.second_integral(t - s);
    end(r / A) - end(r / B)
}

/// Eq. 4.23.
fn of_force(w: &Ricker, force: [f64; 3], x: [f64; 3], t: f64) -> [f64; 3] {
    let (r, g) = direction(x);
    let along: f64 = g.iter().zip(force).map(|(g, f)| g * f).sum();
    let (near, p, s) = (near(w, r, t), w.value(t - r / A), w.value(t - r / B));
    [0, 1, 2].map(|i| {
        let sum = (3.0 * g[i] * along - force[i]) / r.powi(3) * near + g[i] * along * p / (A * A * r)
            - (g[i] * along - force[i]) * s / (B * B * r);
        sum / (4.0 * std::f64::consts::PI * RHO)
    })
}

/// Eq. 4.29.
fn of_moment(w: &Ricker, m: [f64; 6], x: [f64; 3], t: f64) -> [f64; 3] {
    let (r, g) = direction(x);
    let tensor = [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]];
    let (ta, tb) = (t - r / A, t - r / B);
    let (near, pa, pb, da, db) = (near(w, r, t), w.value(ta), w.value(tb), w.slope(ta), w.slope(tb));
    [0, 1, 2].map(|n| {
        let mut sum = 0.0;
        for p in 0..3 {
            for q in 0..3 {
                let ggg = g[n] * g[p] * g[q];
                let (npq, pnq, qnp) = (g[n] * delta(p, q), g[p] * delta(n, q), g[q] * delta(n, p));
                let once = npq + pnq + qnp;
                sum += tensor[p][q]
                    * ((15.0 * ggg - 3.0 * once) / r.powi(4) * near
                        + (6.0 * ggg - once) * pa / (A * r).powi(2)
                        - (6.0 * ggg - once - qnp) * pb / (B * r).powi(2)
                        + ggg * da / (A.powi(3) * r)
                        - (ggg - qnp) * db / (B.powi(3) * r));
            }
        }
        sum / (4.0 * std::f64::consts::PI * RHO)
    })
}

/// Ten cells a shortest wavelength on the coarsest axis, at the wavelet's highest frequency.
fn wavelet() -> Ricker {
    Ricker::starting_at_zero(B / (10.0 * 10.4) / 2.5)
}

/// Runs the engine and compares: the worst misfit as a share of the receiver's largest velocity.
fn misfit(action: Action) -> f64 {
    let w = wavelet();
    let grid = Grid::new_3d([N; 3], [100.0, -50.0, 20.0], D);
    let at = |cells: [f32; 3]| [0, 1, 2].map(|a| grid.o[a] + cells[a] * D[a]);
    let nt = ((26.0 * 10.4 / B + w.t0 + 0.6 / w.f) / DT) as usize;
    let mut s = shot(DT, nt, frame(10, layer(A, w.f)));
    s.receivers = OFFSETS
        .iter()
        .map(|o| at([SOURCE[0] + o[2], SOURCE[1] + o[0], SOURCE[2] + o[1]]))
        .collect();
    // A force is the integral of its rate; a moment enters by its rate.
    let history = |t: f64| match action {
        Action::Moment(_) => w.value(t),
        Action::Force(_) => w.integral(t),
    };
    source(&mut s, at(SOURCE), action, history);
    let tape = run::<f32>(&s, &grid, |_| isotropic(A, B, RHO));
    let mut worst = 0.0f64;
    for (k, o) in OFFSETS.iter().enumerate() {
        let x = [o[0] * D[1], o[1] * D[2], o[2] * D[0]].map(f64::from);
        let exact: Vec<[f64; 3]> = (0..nt)
            .map(|it| {
                let t = (it as f64 + 0.5) * DT;
                match action {
                    Action::Moment(m) => of_moment(&w, m, x, t),
                    Action::Force(f) => of_force(&w, f, x, t),
                }
            })
            .collect();
        let scale = largest(exact.iter().flatten().copied());
        let mut line = format!("{action:?} receiver {o:?}:");
        for (c, axis) in [2usize, 0, 1].into_iter().enumerate() {
            let trace = tape.trace(c, k, OFFSETS.len());
            let apart = largest(trace.iter().zip(&exact).map(|(v, e)| v - e[axis])) / scale;
            worst = worst.max(apart);
            line += &format!(" {} {:.3} %", ["z", "x", "y"][c], 100.0 * apart);
        }
        println!("{line}");
    }
    worst
}

#[test]
fn a_force_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::Force([1e9, -0.7e9, 0.4e9]));
    assert!(worst < 0.01, "{worst}");
}

#[test]
fn an_explosion_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::explosion(1e15));
    assert!(worst < 0.01, "{worst}");
}

#[test]
fn a_double_couple_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::double_couple(37.0, 62.0, -110.0, 1e15, 0.0));
    assert!(worst < 0.01, "{worst}");
}
