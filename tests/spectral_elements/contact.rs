//! A plane wave from a solid into the fluid above it, compared with the coefficients of the contact.
//!
//! A pulse of displacement f at rest in the solid splits into two halves. The upper half meets the contact: with the
//! impedances Z = rho v, the reflected displacement is (Zs - Zf)/(Zs + Zf) of it, and the transmitted one 2 Zs/(Zs +
//! Zf). The lambda of the solid is zero, so that free sides do not affect a plane P wave, and the fluid's sides are
//! rigid: the column behaves as in an unbounded space.

use kernels::mesh::Locator;
use kernels::mesh::step::{Law, Medium};
use kernels::methods::spectral_elements::{Quantity, Source, Strength};

use crate::blocks::{Body, block};
use crate::shots::{largest, relative_difference};

/// Densities and speeds.
const FLUID: [f64; 2] = [1000.0, 1500.0];
const SOLID: [f64; 2] = [2200.0, 3000.0];

/// The initial position of the pulse below the contact, and its width, m.
const BEGIN: f64 = 800.0;
const WIDTH: f64 = 140.0;

fn pulse(z: f64) -> f64 {
    (-(z - BEGIN).powi(2) / (2.0 * WIDTH * WIDTH)).exp()
}

/// Displacement and pressure at a depth below the contact (above it if negative).
fn exact(z: f64, t: f64) -> [f64; 2] {
    let [zf, zs] = [FLUID, SOLID].map(|[density, speed]| density * speed);
    let (cf, cs) = (FLUID[1], SOLID[1]);
    if z < 0.0 {
        let factor = 0.5 * 2.0 * zs / (zs + zf);
        let place = cs * (t + z / cf);
        let slope = -(place - BEGIN) / (WIDTH * WIDTH) * pulse(place) * cs / cf;
        return [factor * pulse(place), -FLUID[0] * cf * cf * factor * slope];
    }
    let back = (zs - zf) / (zs + zf) * pulse(cs * t - z);
    [0.5 * (pulse(z + cs * t) + pulse(z - cs * t) + back), 0.0]
}

/// Runs a column of bent elements, half of it a fluid; returns the misfits of displacement and pressure.
fn misfits<const D: usize>() -> [f64; 2] {
    let up = D - 1;
    let counts = std::array::from_fn(|c| if c == up { 40 } else { 2 });
    let place = |u: [f64; D]| {
        let inner = (0..up).all(|c| u[c] == 1.0);
        std::array::from_fn(|c| {
            let bend = if inner && u[up] != 20.0 {
                14.0 * (1.7 * u[up] + c as f64).sin()
            } else {
                0.0
            };
            100.0 * if c == up { u[c] - 20.0 } else { u[c] } + bend
        })
    };
    let mesh = block(counts, place, |k| i32::from(k[up] >= 20), |_, _| false);
    let modulus = SOLID[0] * SOLID[1] * SOLID[1];
    let solid = Medium {
        density: SOLID[0],
        law: Law::Isotropic {
            lambda: 0.0,
            mu: 0.5 * modulus,
        },
    };
    let speeds = vec![[FLUID[1], 0.0], [SOLID[1], SOLID[1] / 2f64.sqrt()]];
    let body = Body::new(
        mesh,
        vec![Medium::isotropic(FLUID[0], FLUID[1], 0.0), solid],
        speeds,
        0.5,
    );
    let (setup, locator) = (body.setup(&[]), Locator::new(&body.mesh));
    let mut engine = body.engine(&[]);
    engine.displace(&setup, |x| {
        std::array::from_fn(|c| if c == up { pulse(x[up]) } else { 0.0 })
    });
    let depths = [-430.0, -260.0, -90.0, 60.0, 410.0];
    let receivers = depths.map(|z| {
        let at = std::array::from_fn(|c| if c == up { z } else { 70.0 });
        engine.receiver("it", at, &setup, &locator).unwrap()
    });
    let (mut recorded, mut expected) = ([(); 2].map(|()| Vec::new()), [(); 2].map(|()| Vec::new()));
    // Later the lower half would return from the bottom.
    let nt = (0.74 / body.dt) as usize;
    for n in 1..=nt {
        engine.step();
        for (receiver, z) in receivers.iter().zip(depths) {
            let moved = f64::from(engine.record(receiver, Quantity::Displacement)[up]);
            let got = [moved, f64::from(engine.pressure(receiver))];
            let exact = exact(z, n as f64 * body.dt);
            for k in 0..2 {
                recorded[k].push(got[k]);
                expected[k].push(exact[k]);
            }
        }
    }
    let shares = [0, 1].map(|k| relative_difference(&recorded[k], &expected[k]));
    println!(
        "{D}-D: displacement {:.2} %, pressure {:.2} %",
        100.0 * shares[0],
        100.0 * shares[1]
    );
    shares
}

#[test]
fn a_plane_wave_meets_a_fluid() {
    for shares in [misfits::<2>(), misfits::<3>()] {
        assert!(largest(shares) < 0.02, "{shares:?}");
    }
}

/// The largest motion of rock below water in several spans of steps after a push, with a step that is a fraction of the
/// certainly stable one.
fn motion<const D: usize>(water: [f64; 2], rock: [f64; 3], share: f64) -> Vec<f64> {
    let counts = std::array::from_fn(|c| if c + 1 == D { 5 } else { 3 });
    let bent =
        |u: [f64; D]| std::array::from_fn(|c| 24.0 * (u[c] + 0.06 * (1.3 * u[(c + 1) % D] + u[c]).sin()));
    let mesh = block::<D>(counts, bent, |k| i32::from(k[D - 1] > 1), |_, _| false);
    let [density, speed] = water;
    let fluid = Medium {
        density,
        law: Law::Fluid(density * speed * speed),
    };
    let [heavy, vp, vs] = rock;
    let media = vec![fluid, Medium::isotropic(heavy, vp, vs)];
    let body = Body::new(mesh, media, vec![[speed, 0.0], [vp, vs]], share);
    let source = Source {
        at: std::array::from_fn(|c| if c + 1 == D { 60.0 } else { 35.0 }),
        strength: Strength::Force(std::array::from_fn(|c| 1e9 * (1.0 + c as f64))),
        history: vec![1.0, -2.0, 1.0],
    };
    let mut engine = body.engine(&[source]);
    let spans = (0..4).map(|_| {
        (0..600).for_each(|_| engine.step());
        let all = engine.displacement().as_flattened().iter();
        // NaN means that the motion grows.
        let most = all.map(|x| f64::from(x.abs())).max_by(f64::total_cmp);
        most.unwrap_or(f64::NAN)
    });
    spans.collect()
}

/// Where a fluid meets a solid, the step must be smaller than for either of them: the bound takes that into account,
/// and is at most a quarter below the true limit.
#[test]
fn the_stable_step_counts_what_meets() {
    for (water, rock) in [
        // The cases are soft sediment, softer sediment, and brine of another density below a stiff layer.
        ([1000.0, 1500.0], [2000.0, 2200.0, 1000.0]),
        ([1000.0, 1500.0], [1800.0, 1800.0, 700.0]),
        ([1200.0, 2600.0], [2400.0, 3000.0, 1700.0]),
    ] {
        for share in [0.99, 1.35] {
            let motions = [motion::<2>(water, rock, share), motion::<3>(water, rock, share)];
            println!("{water:?} {rock:?} {share}: {motions:?}");
            for spans in motions {
                let grows = spans.iter().any(|x| !x.is_finite()) || spans[3] > 20.0 * spans[0];
                assert_eq!(grows, share > 1.0, "{water:?} {rock:?} {share}: {spans:?}");
            }
        }
    }
}
