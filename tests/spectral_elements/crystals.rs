//! Arrivals in a triclinic medium, compared with the group velocities of the Christoffel equation
//! (`tests/support/christoffel.rs`).
//!
//! Two receivers lie on one ray from a force. Their displacements are resolved along the polarisations of the three
//! waves that arrive along it. A part at the distance r is F/r + N/r^2, where the far field F has the time function of
//! the force (Ben-Menahem & Sena 1990) and N is the first term of the near field; both are delayed by the slowness
//! times r. So r^2 times the parts, each advanced by its own delay, differ by F (r2 - r1). If the waves were slower by
//! a fraction e, that difference would be late by e T (r1 + r2), with T the slowness.

use kernels::mesh::step::{Law, Medium};
use kernels::methods::spectral_elements::{Quantity, Source, Strength};

use crate::blocks::{Body, block};
use crate::christoffel::{Mode, Vector, cross, dot, ray, unit};
use crate::shots::{Ricker, pick};

const CONSTANTS: [[f64; 6]; 6] = [
    [10.0, 3.9, 3.1, 0.5, -0.4, 0.3],
    [3.9, 9.2, 3.4, -0.3, 0.6, 0.2],
    [3.1, 3.4, 8.1, 0.4, -0.2, -0.3],
    [0.5, -0.3, 0.4, 2.4, 0.15, -0.1],
    [-0.4, 0.6, -0.2, 0.15, 2.9, 0.2],
    [0.3, 0.2, -0.3, -0.1, 0.2, 3.3],
];

/// Distances of the receivers.
const RADII: [f64; 2] = [6.0, 11.0];

/// The dual basis of the polarisations, which gives the part of each of three waves in a displacement.
fn duals(g: [Vector; 3]) -> [Vector; 3] {
    let volume = dot(g[0], cross(g[1], g[2]));
    [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])].map(|d| d.map(|v| v / volume))
}

/// Fourth differences.
fn sharpened(u: &[f64]) -> Vec<f64> {
    let second = |u: &[f64]| -> Vec<f64> { u.windows(3).map(|w| w[0] - 2.0 * w[1] + w[2]).collect() };
    second(&second(u))
}

/// The number of samples by which a trace is later than a wavelet of the same length or shorter.
fn late(trace: &[f64], wavelet: &[f64]) -> f64 {
    const REACH: usize = 15;
    pick(trace, &wavelet[REACH..], 0..=2 * REACH) - REACH as f64
}

/// The fractions by which some modes are slower than their group velocities, for a wavelet of this frequency.
fn errors(frequency: f64, modes: &[Mode]) -> Vec<f64> {
    let medium = Medium {
        density: 1.0,
        law: Law::Anisotropic(Box::new(CONSTANTS)),
    };
    let mesh = block([19; 3], |u| u.map(|u| u - 7.03), |_| 0, |_, _| true);
    let body = Body::new(mesh, vec![medium], vec![[3.1, 1.65]], 0.95);
    let wavelet = Ricker::starting_at_zero(frequency);
    let along = unit([0.62, 0.48, 0.61]);
    let rays = [Mode::P, Mode::S1, Mode::S2].map(|mode| ray(&CONSTANTS, 1.0, along, mode));
    let parts = duals(rays.map(|ray| ray.1.polarisation));
    let times = modes.iter().map(|m| rays[*m as usize].0);
    let latest = times.max_by(f64::total_cmp).expect("a mode");
    let nt = ((RADII[1] * latest + 2.0 * wavelet.t0 + 0.5) / body.dt) as usize;
    let source = Source {
        at: [0.0; 3],
        strength: Strength::Force([0.8, -0.6, 1.0]),
        history: (0..nt)
            .map(|n| wavelet.value(n as f64 * body.dt) as f32)
            .collect(),
    };
    let places = RADII.map(|r| along.map(|x| r * x));
    let records = body.records(source, &places, (Quantity::Displacement, nt));
    let length = (2.0 * wavelet.t0 / body.dt) as usize;
    let form: Vec<f64> = (0..length).map(|n| wavelet.value(n as f64 * body.dt)).collect();
    let error = |mode: &Mode| {
        let k = *mode as usize;
        let slowness = rays[k].0;
        // `part` is r^2 times the part of a receiver, n steps after its arrival.
        let part = |of: usize, n: usize| {
            let late = RADII[of] * slowness / body.dt + n as f64;
            let (first, share) = (late as usize, late.fract());
            let at = |n: usize| dot(records[of][n], parts[k]);
            RADII[of].powi(2) * ((1.0 - share) * at(first) + share * at(first + 1))
        };
        let far: Vec<f64> = (0..length).map(|n| part(1, n) - part(0, n)).collect();
        let late = late(&sharpened(&far), &sharpened(&form)) * body.dt;
        let error = late / (slowness * (RADII[0] + RADII[1]));
        println!("{mode:?}: {:.3} %", 100.0 * error);
        error.abs()
    };
    modes.iter().map(error).collect()
}

#[test]
fn waves_in_a_triclinic_medium_arrive_within_half_a_percent() {
    // Each run has five points per wavelength of the waves that it checks. In the run for P the slower S waves have
    // fewer, but they arrive after the part that is compared.
    let shear = errors(0.48, &[Mode::S1, Mode::S2]);
    let fast = errors(0.9, &[Mode::P]);
    assert!(
        shear.iter().chain(&fast).all(|e| *e < 0.005),
        "{shear:?} {fast:?}"
    );
}
