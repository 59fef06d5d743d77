//! Energy is constant without absorption, and decreases if sides absorb.

use std::f64::consts::PI;

use kernels::mesh::step::Medium;

use crate::blocks::{Body, block};
use crate::shots::relative_difference;

/// A bent cube with 3 elements on each side and two rocks, with a bump of displacement inside.
fn body(absorbs: bool) -> (Body<3>, impl Fn([f64; 3]) -> [f64; 3]) {
    let place = |u: [f64; 3]| {
        let bend = |c: usize| 11.0 * (1.1 * u[(c + 1) % 3] + 0.7 * u[c] + 0.5 * u[(c + 2) % 3]).sin();
        std::array::from_fn(|c| 100.0 * u[c] + bend(c))
    };
    let mesh = block([3, 3, 3], place, |k| i32::from(k[2] > 0), |_, _| absorbs);
    let speeds = vec![[2000.0, 1100.0], [3200.0, 1900.0]];
    let media = vec![
        Medium::isotropic(1900.0, 2000.0, 1100.0),
        Medium::isotropic(2500.0, 3200.0, 1900.0),
    ];
    let bump = |x: [f64; 3]| {
        let r2: f64 = x.iter().map(|x| (x - 150.0).powi(2)).sum();
        let bell = (-r2 / (2.0 * 50.0 * 50.0)).exp();
        [bell, -0.4 * bell, 0.7 * (PI * x[0] / 150.0).sin() * bell]
    };
    (Body::new(mesh, media, speeds, 0.9), bump)
}

#[test]
fn energy_stays_through_twenty_thousand_steps() {
    let (body, bump) = body(false);
    let mut engine = body.engine(&[]);
    engine.displace(&body.setup(&[]), bump);
    let first = engine.energy();
    let windows = (0..20).map(|_| {
        (0..1000).for_each(|_| engine.step());
        engine.energy()
    });
    let worst = relative_difference(windows, [first; 20]);
    println!("{worst:.1e} of {first:.3e} J");
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn absorbing_sides_only_take_energy() {
    let (body, bump) = body(true);
    let mut engine = body.engine(&[]);
    engine.displace(&body.setup(&[]), bump);
    let first = engine.energy();
    let mut before = first;
    for window in 0..120 {
        (0..25).for_each(|_| engine.step());
        let now = engine.energy();
        // Single precision leaves a few units of the last digit of the initial energy.
        assert!(
            now < before + 1e-7 * first,
            "window {window}: {now} after {before} of {first}"
        );
        before = now;
    }
    println!("{:.1e} is left", before / first);
    // The measured value is 3.2e-15; the square of the last digit of single precision is 4e-15.
    assert!(before < 3e-14 * first, "{before} of {first}");
}
