//! Arrival times in anisotropic volumes against the group velocities of the Christoffel equation
//! (`c_ijkl n_j n_l g_k = rho v^2 g_i`, Cerveny 2001, eqs 2.2.21 and 2.4.47; solved in tests/support/christoffel.rs).
//!
//! A point force radiates every wave with the form of its wavelet (Ben-Menahem & Sena 1990: the far-field Green's
//! function of a convex sheet is a delta function at `r / V_group`). The displacement of a receiver is resolved along
//! the polarisations of the three waves that arrive there; the time of a wave is where its part correlates best with
//! the wavelet (both differentiated twice), a parabola through three lags giving fractions of a sample. The near field
//! that is left, `1 / (k r)^2` of the time, bounds the accuracy: 1 % of the time or half a sample, whichever is more.

use crate::christoffel::{Mode, Vector, cross, dot, ray, unit};
use crate::shots::{Ricker, medium, run, shot};
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness, Thomsen, Tsvankin};
use kernels::methods::displacement::Shot;

const RHO: f64 = 2.2;
/// Half width of the model, in cells of one length unit.
const HALF: usize = 50;
const NB: usize = 20;
const DT: f32 = 0.12;
/// Wavelets start at the source cell; the bell around it only shapes the spectrum.
const FORCE: [f64; 3] = [1.0, 0.8, -0.6];

/// The part of each of three waves in a displacement: the dual basis of their polarisations.
fn duals(g: [Vector; 3]) -> [Vector; 3] {
    let volume = dot(g[0], cross(g[1], g[2]));
    [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])].map(|d| d.map(|v| v / volume))
}

/// Second differences: the near field, which lags by `2 / (k r)` radians, weighs less at the higher frequencies.
fn acceleration(u: &[f64]) -> Vec<f64> {
    (0..u.len())
        .map(|i| {
            if i == 0 || i + 1 == u.len() {
                0.0
            } else {
                u[i - 1] - 2.0 * u[i] + u[i + 1]
            }
        })
        .collect()
}

/// Lag, in samples, at which `trace` correlates best with the wavelet's samples, near `expected`.
fn pick(trace: &[f64], wavelet: &[f64], expected: f64, reach: f64) -> f64 {
    let at = |lag: usize| -> f64 {
        wavelet
            .iter()
            .zip(&trace[lag..])
            .map(|(w, u)| w * u)
            .sum::<f64>()
            .abs()
    };
    let (first, last) = ((expected - reach) as usize, (expected + reach) as usize);
    let best = (first..=last)
        .max_by(|&a, &b| at(a).total_cmp(&at(b)))
        .expect("some lag");
    assert!(
        best > first && best < last,
        "no peak within {reach} samples of {expected}"
    );
    let (before, peak, after) = (at(best - 1), at(best), at(best + 1));
    best as f64 + 0.5 * (before - after) / (before - 2.0 * peak + after)
}

/// Shoots a medium and compares the times of the given waves along the given directions (x, y, z).
fn check(name: &str, stiffness: Stiffness, modes: [Mode; 3], directions: &[Vector]) {
    let w = Ricker::starting_at_zero(0.15);
    let distance = HALF as f64 - 6.0;
    let dt = f64::from(DT);
    // Receivers on cells, as near to the direction as they come.
    let offsets: Vec<Vector> = directions
        .iter()
        .map(|&d| unit(d).map(|v| (v * distance).round()))
        .collect();
    let rays: Vec<[_; 3]> = offsets
        .iter()
        .map(|&o| modes.map(|m| ray(&stiffness, RHO, o, m)))
        .collect();
    let latest = rays.iter().flatten().map(|r| r.0).fold(0.0, f64::max);
    let nt = ((latest + 3.2 / w.f) / dt) as usize;
    let o = -(HALF as f32);
    let padded = Padded::new(&Grid::new_3d([2 * HALF + 1; 3], [o; 3], [1.0; 3]), NB);
    let receivers = offsets
        .iter()
        .map(|&[x, y, z]| [z as f32, x as f32, y as f32])
        .collect();
    let wavelet = w.samples(nt, DT, &FORCE);
    let s = Shot {
        absorbing: true,
        ..shot(DT, wavelet, vec![[0.0; 3]], receivers)
    };
    let tape = run::<f32>(&s, medium(&padded, |_| (stiffness, RHO)));
    let template: Vec<f64> = (0..(2.0 * w.t0 / dt) as usize)
        .map(|it| w.value(it as f64 * dt))
        .collect();
    let template = acceleration(&template);
    for (k, arrivals) in rays.iter().enumerate() {
        // Components (x, y, z) of the receiver.
        let u = [1, 2, 0].map(|c| tape.trace(c, k, offsets.len()));
        let basis = duals(arrivals.map(|(_, wave)| wave.polarisation));
        let mut line = format!("{name} {:?}:", offsets[k]);
        let mut errors = Vec::new();
        for (m, (time, _)) in arrivals.iter().enumerate() {
            let part: Vec<f64> = (0..nt)
                .map(|it| dot(basis[m], [u[0][it], u[1][it], u[2][it]]))
                .collect();
            // The sample after step it is that of the time (it + 1) dt.
            let got = (pick(&acceleration(&part), &template, time / dt - 1.0, 0.6 / w.f / dt) + 1.0) * dt;
            line += &format!(
                "  {:?} {got:.3} ({time:.3}, {:+.2} %)",
                modes[m],
                100.0 * (got / time - 1.0)
            );
            errors.push((got - time).abs() / (0.01 * time).max(0.5 * dt));
        }
        println!("{line}");
        assert!(errors.iter().all(|&e| e < 1.0), "{line}");
    }
}

#[test]
fn p_sv_and_sh_arrive_with_the_group_velocities_of_a_vti_volume() {
    let t = Thomsen {
        epsilon: 0.2,
        delta: 0.12,
        gamma: 0.15,
    };
    let s = Stiffness::vti(
        Speeds {
            vp: 3.0,
            vs: 1.5,
            rho: RHO,
        },
        t,
    )
    .expect("a real medium");
    let directions = [
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0],
        [1.0, 0.0, 1.0],
        [0.4, 0.5, 0.9],
        [-0.7, 0.4, 0.35],
        [0.2, -0.3, -1.0],
    ];
    check("VTI", s, [Mode::P, Mode::Sv, Mode::Sh], &directions);
}

#[test]
fn all_three_waves_arrive_with_the_group_velocities_of_an_orthorhombic_volume() {
    let t = Tsvankin {
        eps1: 0.1,
        eps2: 0.22,
        del1: 0.05,
        del2: 0.12,
        del3: -0.05,
        gam1: 0.2,
        gam2: 0.05,
    };
    let s = Stiffness::orthorhombic(
        Speeds {
            vp: 3.0,
            vs: 1.5,
            rho: RHO,
        },
        t,
    )
    .expect("a real medium");
    let directions = [
        [0.0, 1.0, 0.0],
        [0.0, 0.7, 0.7],
        [0.8, 0.3, 0.5],
        [0.4, 0.6, 0.8],
        [0.3, -0.9, 0.4],
    ];
    check("orthorhombic", s, [Mode::P, Mode::S1, Mode::S2], &directions);
}
