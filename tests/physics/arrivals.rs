//! Arrival times in anisotropic media in 3-D, compared with the group velocities of the Christoffel equation (`c_ijkl n_j
//! n_l g_k = rho v^2 g_i`, Cerveny 2001, eqs 2.2.21 and 2.4.47; solved in tests/support/christoffel.rs).
//!
//! A point force radiates every wave with the shape of its wavelet (Ben-Menahem & Sena 1990: the far-field Green's
//! function of a convex sheet is a delta function at `r / V_group`). The displacement of a receiver is resolved along
//! the polarisations of the three waves that arrive there; the time of a wave is the lag at which its part correlates
//! best with the wavelet (both differentiated twice), a parabola through three lags giving fractions of a sample. The
//! remaining near field, `1 / (k r)^2` of the time, limits the accuracy: 1 % of the time or half a sample, whichever is
//! larger.

use crate::christoffel::{Mode, Vector, cross, dot, ray, unit};
use crate::shots::{Ricker, oblique_medium, pick, run_on, shot};
use kernels::grid::{Grid, Padded};
use kernels::medium::rotate::{rotated, rotation};
use kernels::medium::{Speeds, Stiffness, Thomsen, Tsvankin, Voigt, triclinic};
use kernels::methods::displacement::Shot;
use std::ops::RangeInclusive;

const RHO: f64 = 2.2;
/// Distance of receivers, in cells of one length unit.
const DISTANCE: f64 = 44.0;
/// Cells of the model beyond receivers, and around the source: with 12 around it, the frame changes the times by a
/// quarter of a per cent.
const BEYOND: [f64; 2] = [6.0, 20.0];
const NB: usize = 20;
const DT: f32 = 0.12;
/// One force (x, y, z) for all waves. Wavelets start at the source cell; the bell around it only changes the spectrum.
const ONE: [Vector; 1] = [[0.8, -0.6, 1.0]];
/// A force along each axis: shots are combined to a force along the polarisation of each wave, so that none is hidden
/// by another.
const EACH: [Vector; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The waves of a medium that are compared, the forces, and the tolerance.
struct Terms<'a> {
    modes: [Mode; 3],
    forces: &'a [Vector],
    /// Tolerance as a fraction of the time.
    limit: f64,
}

/// The dual basis of the polarisations, which gives the part of each of three waves in a displacement.
fn duals(g: [Vector; 3]) -> [Vector; 3] {
    let volume = dot(g[0], cross(g[1], g[2]));
    [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])].map(|d| d.map(|v| v / volume))
}

/// Second differences: the near field, which is late by `2 / (k r)` radians, is weaker at higher frequencies.
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

/// Samples within `reach` of another sample.
fn near(expected: f64, reach: f64) -> RangeInclusive<usize> {
    (expected - reach) as usize..=(expected + reach) as usize
}

/// The grid of a model that contains these points and the origin.
fn model_around(offsets: &[Vector]) -> Padded {
    let reach = |a: usize, sign: f64| {
        let far = offsets.iter().map(|o| sign * o[a] + BEYOND[0]);
        far.chain([BEYOND[1]])
            .max_by(f64::total_cmp)
            .expect("at least one")
    };
    let low = [2, 0, 1].map(|a| -reach(a, -1.0));
    let high = [2, 0, 1].map(|a| reach(a, 1.0));
    let n = [0, 1, 2].map(|a| (high[a] - low[a]) as usize + 1);
    Padded::new(&Grid::new_3d(n, low.map(|o| o as f32), [1.0; 3]), NB)
}

/// Models a medium and compares the times of the given waves along the given directions (x, y, z). Two opposite
/// directions are equivalent, and a test takes the direction that makes the model smaller.
fn check(name: &str, stiffness: Voigt, terms: &Terms<'_>, directions: &[Vector]) {
    let w = Ricker::starting_at_zero(0.15);
    let dt = f64::from(DT);
    // Receivers are on cells, as near to the direction as possible.
    let offsets: Vec<Vector> = directions
        .iter()
        .map(|&d| unit(d).map(|v| (v * DISTANCE).round()))
        .collect();
    let rays: Vec<[_; 3]> = offsets
        .iter()
        .map(|&o| terms.modes.map(|m| ray(&stiffness, RHO, o, m)))
        .collect();
    let latest = rays
        .iter()
        .flatten()
        .map(|r| r.0)
        .max_by(f64::total_cmp)
        .expect("rays");
    let nt = ((latest + 3.2 / w.f) / dt) as usize;
    let padded = model_around(&offsets);
    let receivers: Vec<_> = offsets
        .iter()
        .map(|&[x, y, z]| [z as f32, x as f32, y as f32])
        .collect();
    let tapes: Vec<_> = (terms.forces.iter())
        .map(|&[x, y, z]| {
            let s = Shot {
                absorbing: true,
                ..shot(
                    DT,
                    w.samples(nt, DT, &[z, x, y]),
                    vec![[0.0; 3]],
                    Vec::clone(&receivers),
                )
            };
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            run_on::<f32>(&s, oblique_medium(&padded, |_| (stiffness, RHO)), threads, &[])
                .expect("the shot runs")
        })
        .collect();
    let template: Vec<f64> = (0..(2.0 * w.t0 / dt) as usize)
        .map(|it| w.value(it as f64 * dt))
        .collect();
    let template = acceleration(&template);
    for (k, arrivals) in rays.iter().enumerate() {
        // Components (x, y, z) of the receiver.
        let u: Vec<_> = (tapes.iter())
            .map(|tape| [1, 2, 0].map(|c| tape.trace(c, k, offsets.len())))
            .collect();
        let basis = duals(arrivals.map(|(_, wave)| wave.polarisation));
        let mut line = format!("{name} {:?}:", offsets[k]);
        let mut errors = Vec::new();
        for (m, (time, wave)) in arrivals.iter().enumerate() {
            let weight = |f: usize| if u.len() == 1 { 1.0 } else { wave.polarisation[f] };
            let at = |it: usize, f: usize| weight(f) * dot(basis[m], [0, 1, 2].map(|c| u[f][c][it]));
            let part: Vec<f64> = (0..nt).map(|it| (0..u.len()).map(|f| at(it, f)).sum()).collect();
            // The sample after step `it` is at time (it + 1) dt.
            let around = near(time / dt - 1.0, 0.6 / w.f / dt);
            let got = (pick(&acceleration(&part), &template, around) + 1.0) * dt;
            line += &format!(
                "  {:?} {got:.3} ({time:.3}, {:+.2} %)",
                terms.modes[m],
                100.0 * (got / time - 1.0)
            );
            errors.push((got - time).abs() / (terms.limit * time).max(0.5 * dt));
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
        [0.7, -0.4, -0.35],
        [-0.2, 0.3, 1.0],
    ];
    let terms = Terms {
        modes: [Mode::P, Mode::Sv, Mode::Sh],
        forces: &ONE,
        limit: 0.01,
    };
    check("VTI", s.voigt(), &terms, &directions);
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
        [-0.3, 0.9, -0.4],
    ];
    let terms = Terms {
        modes: [Mode::P, Mode::S1, Mode::S2],
        forces: &ONE,
        limit: 0.01,
    };
    check("orthorhombic", s.voigt(), &terms, &directions);
}

/// An orthorhombic medium rotated about two axes, with further couplings added, so that no coordinate plane is a
/// symmetry plane.
fn triclinic_rock() -> Voigt {
    let t = Tsvankin {
        eps1: 0.1,
        eps2: 0.2,
        del1: 0.06,
        del2: 0.12,
        del3: -0.04,
        gam1: 0.2,
        gam2: 0.05,
    };
    let speeds = Speeds {
        vp: 3.0,
        vs: 1.5,
        rho: RHO,
    };
    let upright = Stiffness::orthorhombic(speeds, t).expect("a real medium");
    let mut c = rotated(&upright.voigt(), &rotation(32.0, 25.0));
    for (i, j, more) in [
        (0, 3, 0.3),
        (1, 4, -0.25),
        (2, 5, 0.2),
        (3, 5, 0.15),
        (0, 5, -0.3),
    ] {
        c[i][j] += more;
        c[j][i] += more;
    }
    let pairs = kernels::medium::Coefficients::All.table(3).pairs;
    let values: Vec<f64> = pairs.iter().map(|&(i, j)| c[i - 1][j - 1]).collect();
    assert_eq!(triclinic::fault(3, &values), None);
    c
}

#[test]
#[ignore = "long: ./sconsw test full=y"]
fn all_three_waves_arrive_with_the_group_velocities_of_a_triclinic_volume() {
    let directions = [
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.8, 0.3, 0.5],
        [-0.4, 0.6, 0.8],
        [-0.3, 0.9, -0.4],
        [0.6, 0.5, -0.6],
    ];
    let terms = Terms {
        modes: [Mode::P, Mode::S1, Mode::S2],
        forces: &EACH,
        limit: 0.007,
    };
    check("triclinic", triclinic_rock(), &terms, &directions);
}
