//! Absolute amplitudes: the far and near field of a point force and of a stress source in a homogeneous isotropic
//! full space, in three dimensions.
//!
//! Aki & Richards (2002), eq. 4.23, displacement i at distance r in the direction g of a force X(t) along j:
//!
//! `4 pi rho u_i = (3 g_i g_j - d_ij) / r^3 N(t) + g_i g_j X(t - r/a) / (a^2 r) - (g_i g_j - d_ij) X(t - r/b) / (b^2 r)`,
//! `N(t) = integral from r/a to r/b of s X(t - s) ds`, a and b the P and S velocities.
//!
//! Eq. 4.29, displacement n of a moment M_pq(t), here only p = q:
//!
//! `4 pi rho u_n = (15 g_n g_p g_q - 3 (g_n d_pq + g_p d_nq + g_q d_np)) / r^4 N(t)`
//! `+ (6 g_n g_p g_q - g_n d_pq - g_p d_nq - g_q d_np) M(t - r/a) / (a^2 r^2)`
//! `- (6 g_n g_p g_q - g_n d_pq - g_p d_nq - 2 g_q d_np) M(t - r/b) / (b^2 r^2)`
//! `+ g_n g_p g_q M'(t - r/a) / (a^3 r) - (g_n g_p - d_np) g_q M'(t - r/b) / (b^3 r)`.
//!
//! The engine subtracts the wavelet w times the bell B (1 at its centre, not normalised) from the force density: a cell
//! carries the force `-w B dz dx dy`. Subtracted from a normal stress it changes the force density by `-d_p (w B)`,
//! which corresponds to the moment density `+w B`: a cell carries the moment `+w B dz dx dy`. The bell is accounted for
//! exactly, as the sum of its cells. Vectors here are (z, x, y).

use crate::shots::{Ricker, largest, largest_difference, magnitude, medium, relative_difference, run, shot};
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness};
use kernels::methods::displacement::SourceKind;

const A: f64 = 3.2;
const B: f64 = 2.0;
const RHO: f64 = 2.3;
/// The spacings differ, so that exchanged axes would be noticed.
const D: [f32; 3] = [0.010, 0.0096, 0.0104];
const N: usize = 104;
const NB: usize = 25;
const NBELL: usize = 6;
const DT: f32 = 0.0011;
/// Ten cells per shortest wavelength (S at the wavelet's highest frequency) on the coarsest axis.
const POINTS_PER_WAVELENGTH: f64 = 10.0;
/// Receivers in cells from the source.
const OFFSETS: [[i32; 3]; 6] = [
    [0, 0, 28],
    [27, 0, 0],
    [12, -20, 9],
    [-16, 15, 17],
    [-9, -24, -5],
    [3, 20, -21],
];

/// The radiation of a point source: displacement at an offset and a time.
type Radiation<'a> = &'a dyn Fn([f64; 3], f64) -> [f64; 3];

fn delta(i: usize, j: usize) -> f64 {
    f64::from(u8::from(i == j))
}

fn length(x: [f64; 3]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// `integral from r/a to r/b of s X(t - s) ds` by parts.
fn near(w: &Ricker, r: f64, t: f64) -> f64 {
    let end = |s: f64| s * w.integral(t - s) + w.second_integral(t - s);
    end(r / A) - end(r / B)
}

/// Eq. 4.23 for a force vector.
fn point_force(w: &Ricker, force: [f64; 3], x: [f64; 3], t: f64) -> [f64; 3] {
    let r = length(x);
    let g = x.map(|v| v / r);
    let along: f64 = g.iter().zip(force).map(|(g, f)| g * f).sum();
    let (near, p, s) = (near(w, r, t), w.value(t - r / A), w.value(t - r / B));
    [0, 1, 2].map(|i| {
        let sum = (3.0 * g[i] * along - force[i]) / r.powi(3) * near + g[i] * along * p / (A * A * r)
            - (g[i] * along - force[i]) * s / (B * B * r);
        sum / (4.0 * std::f64::consts::PI * RHO)
    })
}

/// Eq. 4.29 for a diagonal moment.
fn point_moment(w: &Ricker, moment: [f64; 3], x: [f64; 3], t: f64) -> [f64; 3] {
    let r = length(x);
    let g = x.map(|v| v / r);
    let (ta, tb) = (t - r / A, t - r / B);
    let (near, pa, pb, da, db) = (near(w, r, t), w.value(ta), w.value(tb), w.slope(ta), w.slope(tb));
    [0, 1, 2].map(|n| {
        let terms = (0..3).map(|p| {
            let (ggg, once) = (g[n] * g[p] * g[p], g[n] + 2.0 * g[p] * delta(n, p));
            let sum = (15.0 * ggg - 3.0 * once) / r.powi(4) * near
                + (6.0 * ggg - once) * pa / (A * r).powi(2)
                - (6.0 * ggg - once - g[p] * delta(n, p)) * pb / (B * r).powi(2)
                + ggg * da / (A.powi(3) * r)
                - (g[n] * g[p] - delta(n, p)) * g[p] * db / (B.powi(3) * r);
            moment[p] * sum
        });
        terms.sum::<f64>() / (4.0 * std::f64::consts::PI * RHO)
    })
}

fn wavelet() -> Ricker {
    let coarsest = D.map(f64::from).into_iter().max_by(f64::total_cmp).expect("axes");
    Ricker::starting_at_zero(B / (POINTS_PER_WAVELENGTH * coarsest) / 2.5)
}

/// Offset in length units.
fn offset(cells: [i32; 3]) -> [f64; 3] {
    [0, 1, 2].map(|a| f64::from(cells[a]) * f64::from(D[a]))
}

/// The displacement due to all cells of the bell.
fn of_the_bell(radiation: Radiation<'_>, x: [f64; 3], t: f64) -> [f64; 3] {
    let n = NBELL as i32;
    let volume: f64 = D.iter().map(|&d| f64::from(d)).product();
    let mut sum = [0.0; 3];
    for (i, k, l) in (-n..=n).flat_map(|i| (-n..=n).flat_map(move |k| (-n..=n).map(move |l| (i, k, l)))) {
        let bell = (-f64::from(i * i + k * k + l * l) / (0.5 * NBELL as f64)).exp();
        // Cells with less than 1e-7 of the centre are far below the tolerance.
        if bell > 1e-7 {
            let e = offset([i, k, l]);
            let u = radiation([0, 1, 2].map(|a| x[a] - e[a]), t);
            (0..3).for_each(|a| sum[a] += bell * volume * u[a]);
        }
    }
    sum
}

/// Number of samples until the S wave has passed. A rigid wall would have reflected P by then; reflections from the
/// absorbing frame are part of the misfit.
fn passed(w: &Ricker, x: [f64; 3]) -> usize {
    ((length(x) / B + w.t0 + 0.5 / w.f) / f64::from(DT)) as usize
}

/// Runs the engine and compares; returns the largest misfit and the largest error of a peak, relative to the largest
/// displacement of a receiver.
fn compare(kind: SourceKind, strength: [f64; 3], radiation: Radiation<'_>) -> (f64, f64) {
    let w = wavelet();
    let padded = Padded::new(&Grid::new_3d([N; 3], [0.0; 3], D), NB);
    let centre = [0, 1, 2].map(|a| (N / 2) as f32 * D[a]);
    let receivers = OFFSETS.map(|o| [0, 1, 2].map(|a| (N as i32 / 2 + o[a]) as f32 * D[a]));
    let nt = OFFSETS.iter().map(|&o| passed(&w, offset(o))).max().unwrap_or(0);
    let mut s = shot(DT, w.samples(nt, DT, &strength), vec![centre], receivers.to_vec());
    (s.kind, s.nbell, s.absorbing) = (kind, NBELL, true);
    let stiffness = Stiffness::isotropic(Speeds {
        vp: A,
        vs: B,
        rho: RHO,
    });
    let tape = run::<f32>(&s, medium(&padded, |_| (stiffness, RHO)));
    let (mut misfit, mut peak) = (0.0f64, 0.0f64);
    for (k, &cells) in OFFSETS.iter().enumerate() {
        let x = offset(cells);
        // Every third sample is enough.
        let steps: Vec<usize> = (0..passed(&w, x)).step_by(3).collect();
        let exact: Vec<[f64; 3]> = steps
            .iter()
            .map(|&it| of_the_bell(radiation, x, (it + 1) as f64 * f64::from(DT)))
            .collect();
        let scale = magnitude(exact.iter().flatten().copied());
        let mut line = format!("{kind:?} receiver {cells:?}: ");
        for c in 0..3 {
            let trace = tape.trace(c, k, OFFSETS.len());
            let got: Vec<f64> = steps.iter().map(|&it| trace[it]).collect();
            let apart = largest_difference(&got, exact.iter().map(|e| e[c])) / scale;
            let height = |v: &mut dyn Iterator<Item = f64>| largest(v) / scale;
            let off = (height(&mut got.iter().copied()) - height(&mut exact.iter().map(|e| e[c]))).abs();
            (misfit, peak) = (largest([misfit, apart]), largest([peak, off]));
            line += &format!(
                "{} misfit {:.3} % peak {:.3} %  ",
                ["z", "x", "y"][c],
                100.0 * apart,
                100.0 * off
            );
        }
        println!("{line}");
    }
    println!(
        "{kind:?}: worst misfit {:.3} %, worst peak {:.3} %",
        100.0 * misfit,
        100.0 * peak
    );
    (misfit, peak)
}

#[test]
fn a_point_force_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let (w, strength) = (wavelet(), [1.0, -0.7, 0.4]);
    let radiation = |x: [f64; 3], t: f64| point_force(&w, strength.map(|f| -f), x, t);
    let (misfit, peak) = compare(SourceKind::Force, strength, &radiation);
    assert!(misfit < 0.01 && peak < 0.01, "misfit {misfit}, peak {peak}");
}

#[test]
#[ignore = "long: ./sconsw test full=y"]
fn a_stress_source_has_the_amplitude_of_a_moment_tensor_within_one_percent() {
    let (w, strength) = (wavelet(), [1.0, 0.3, -0.6]);
    let radiation = |x: [f64; 3], t: f64| point_moment(&w, strength, x, t);
    let (misfit, peak) = compare(SourceKind::Stress, strength, &radiation);
    assert!(misfit < 0.01 && peak < 0.01, "misfit {misfit}, peak {peak}");
}

/// The two formulas agree with each other: a moment is a pair of opposite forces.
#[test]
fn the_moment_formula_is_the_derivative_of_the_force_formula() {
    let (w, h) = (wavelet(), 1e-5);
    let moment = [1.0, 0.3, -0.6];
    for (x, t) in [
        ([0.1, 0.2, -0.15], 0.28),
        ([0.02, -0.1, 0.05], 0.2),
        ([0.3, 0.0, 0.1], 0.31),
    ] {
        let mut pairs = [0.0; 3];
        for p in 0..3 {
            let force = [0, 1, 2].map(|i| moment[p] * delta(i, p));
            let moved =
                |side: f64| point_force(&w, force, [0, 1, 2].map(|i| x[i] - side * h * delta(i, p)), t);
            let (ahead, behind) = (moved(1.0), moved(-1.0));
            (0..3).for_each(|n| pairs[n] += (ahead[n] - behind[n]) / (2.0 * h));
        }
        let got = point_moment(&w, moment, x, t);
        let apart = relative_difference(got, pairs);
        assert!(apart < 1e-5, "{got:?} {pairs:?}");
    }
}
