//! Lamb's problem on flat and on slanted ground.

use kernels::mesh::step::Medium;
use kernels::methods::spectral_elements::{Quantity, Source, Strength};

use crate::blocks::{Body, block};
use crate::pekeris::exact;
use crate::shots::{Ricker, largest, relative_difference};

/// Distances of receivers from the force, in elements.
const DISTANCES: [f64; 2] = [2.0, 4.0];

/// The largest misfit of the velocity normal to the ground relative to its largest value, with the whole half-space
/// rotated about y by an angle. Elements of unit length are bent below the ground.
fn misfit(angle: f64) -> f64 {
    let (sine, cosine) = angle.to_radians().sin_cos();
    let turned = |x: [f64; 3]| [cosine * x[0] + sine * x[2], x[1], cosine * x[2] - sine * x[0]];
    let place = |u: [f64; 3]| {
        let x = [u[0] - 8.0, u[1] - 8.0, u[2]];
        let bend = |c: usize| 0.09 * (1.3 * u[(c + 1) % 3] + 0.9 * u[(c + 2) % 3] + 0.4 * u[c]).sin();
        // The ground itself remains a plane.
        turned([
            x[0] + bend(0),
            x[1] + bend(1),
            x[2] + if u[2] > 0.0 { bend(2) } else { 0.0 },
        ])
    };
    let mesh = block([20, 16, 10], place, |_| 0, |axis, high| axis < 2 || high);
    let medium = Medium::isotropic(1.0, 3f64.sqrt(), 1.0);
    let body = Body::new(mesh, vec![medium], vec![[3f64.sqrt(), 1.0]], 0.9);
    // There are one and a half elements, or six points, per shortest wavelength of S.
    let wavelet = Ricker::starting_at_zero(1.0 / 1.5 / 2.5);
    let down = turned([0.0, 0.0, 1.0]);
    let nt = ((DISTANCES[1] / 0.919 + wavelet.t0 + 0.8 / wavelet.f) / body.dt) as usize;
    let source = Source {
        at: turned([0.0; 3]),
        strength: Strength::Force(down),
        history: (0..nt)
            .map(|n| wavelet.integral(n as f64 * body.dt) as f32)
            .collect(),
    };
    let places = DISTANCES.map(|r| turned([r, 0.0, 0.0]));
    let records = body.records(source, &places, (Quantity::Velocity, nt));
    let mut apart = Vec::new();
    for (record, r) in records.iter().zip(DISTANCES) {
        let lamb: Vec<f64> = (0..nt).map(|n| exact(&wavelet, r, n as f64 * body.dt)).collect();
        let across = record.iter().map(|v| (0..3).map(|c| v[c] * down[c]).sum::<f64>());
        let misfit = relative_difference(across, &lamb);
        println!("{angle} degrees, distance {r}: {:.2} %", 100.0 * misfit);
        apart.push(misfit);
    }
    largest(apart)
}

#[test]
fn lambs_problem_within_one_and_a_half_percent() {
    assert!(misfit(0.0) < 0.015);
}

#[test]
fn the_same_on_ground_that_slants_by_twenty_degrees_within_two_percent() {
    assert!(misfit(20.0) < 0.02);
}
