//! Attenuation that varies in space and between axes.

use crate::desk::{frame, isotropic, layer, run, run_on, shot, source};
use crate::layered::{self, C, Rock, Source, Stack, modulus, spectrum_of};
use crate::shots::{Ricker, largest, largest_difference, magnitude};
use kernels::grid::Grid;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::Attenuation;
use kernels::source::Action;
use std::f64::consts::{PI, TAU};

const SPEEDS: [f64; 2] = [1.9, 1.1];
const RHO: f64 = 2.0;
/// The interface is half way between two planes of nodes.
const DEPTH: f64 = 29.5;
/// Q of P and S above and below.
const Q: [[f64; 2]; 2] = [[50.0, 35.0], [25.0, 60.0]];

/// The largest misfit for two rocks that differ only in Q, compared with a reference with the same Q, and with one
/// without attenuation.
fn misfits(mechanisms: Mechanisms, q: [[f64; 2]; 2]) -> [f64; 2] {
    let w = Ricker::starting_at_zero(SPEEDS[1] / 10.0 / 2.5);
    let (dt, nt) = (0.2, 1000);
    let n = [90, 90];
    let file = |way: usize| -> Vec<f32> {
        let line = (0..n[0]).map(|z| q[usize::from(z as f64 > DEPTH)][way] as f32);
        line.collect::<Vec<_>>().repeat(n[1])
    };
    let mut s = shot(dt, nt, frame(12, layer(1.1 * SPEEDS[0], w.f)));
    s.order = 8;
    s.attenuation = Some(Attenuation {
        qp: file(0).into(),
        qs: file(1).into(),
        mechanisms,
        band: [w.f / 4.0, 4.0 * w.f],
        reference: w.f,
    });
    let at = [12.4, 11.7, 0.0];
    let places = [[78.3, 11.7], [74.2, 70.6], [40.4, 75.3], [14.5, 78.4]];
    s.receivers = places.iter().map(|&[z, x]| [z as f32, x as f32, 0.0]).collect();
    source(&mut s, at, Action::Force([0.0, 0.0, 1.0]), |t| w.integral(t));
    let grid = Grid::new_2d(n, [0.0; 2], [1.0; 2]);
    let tape = run::<f32>(&s, &grid, |_| isotropic(SPEEDS[0], SPEEDS[1], RHO));
    let exact = |q: [[f64; 2]; 2]| {
        let rocks = q.map(|q| Rock {
            speeds: SPEEDS,
            rho: RHO,
            q,
        });
        let stack = Stack {
            rocks: &rocks,
            interfaces: &[DEPTH],
            surface: false,
            reference: w.f,
        };
        let shot = layered::Shot {
            source: Source::Force,
            depth: f64::from(at[0]),
            ndim: 2,
            dt,
            nt,
            first: 0.5 * dt,
            spectrum: &spectrum_of(&w),
            highest: 3.5 * TAU * w.f,
            bell: 0.0,
        };
        let away = places.map(|[z, x]| [z, x - f64::from(at[1]), 0.0]);
        layered::traces(&stack, &shot, &away)
    };
    let (lossy, lossless) = (exact(Q), exact([[f64::INFINITY; 2]; 2]));
    let apart = |of: &[[Vec<f64>; 3]]| {
        largest((0..places.len()).map(|k| {
            let scale = magnitude(lossy[k].iter().flatten().copied());
            let misfit = |c: usize| largest_difference(tape.trace(c, k, 4), &of[k][c]);
            let largest_misfit = largest([misfit(0), misfit(1)]) / scale;
            println!("{mechanisms:?} {:?}: {:.2} %", places[k], 100.0 * largest_misfit);
            largest_misfit
        }))
    };
    [apart(&lossy), apart(&lossless)]
}

/// The misfit must reveal if the Q of the two rocks is exchanged.
#[test]
fn waves_cross_into_rock_of_another_q() {
    for mechanisms in [Mechanisms::Everywhere(3), Mechanisms::Coarse] {
        let [lossy, lossless] = misfits(mechanisms, Q);
        println!(
            "{mechanisms:?}: {:.2} %, without loss {:.0} %",
            100.0 * lossy,
            100.0 * lossless
        );
        assert!(
            lossy < 0.03 && lossless > 0.2,
            "{mechanisms:?}: {lossy} {lossless}"
        );
    }
    let swapped = misfits(Mechanisms::Everywhere(3), [Q[1], Q[0]])[0];
    println!("exchanged: {:.0} %", 100.0 * swapped);
    assert!(swapped > 0.08, "{swapped}");
}

/// With `c12 = -c66`, `c13 = -c55`, `c23 = -c44` the components decouple (tests/velocity_stress/anisotropy.rs), even
/// with complex stiffnesses `c m(w)`: each is `exp(-i w tau)/(4 pi tau) sqrt(rho/(c c c))` with a complex `tau^2 = rho
/// (x^2/c11 + y^2/c66 + z^2/c55)`. If Q of P and S differ, the couplings differ from the shear stiffnesses by a
/// relative 1/Qp - 1/Qs, which affects the component of the force by its square.
#[test]
#[ignore = "long: ./sconsw test full=y"]
fn orthorhombic_rock_loses_what_its_axes_lose() {
    let rho = 1.4;
    let c = Stiffness {
        c11: 9.0,
        c22: 7.0,
        c33: 6.0,
        c44: 2.2,
        c55: 2.6,
        c66: 3.1,
        c12: -3.1,
        c13: -2.6,
        c23: -2.2,
    };
    let q = [30.0, 20.0];
    let w = Ricker::starting_at_zero((2.2f64 / rho).sqrt() / 10.0 / 2.5);
    let grid = Grid::new_3d([44, 44, 44], [0.0; 3], [1.0; 3]);
    let at = [6.3, 6.6, 6.2];
    let offsets = [
        [34.0, 0.4, 1.0],
        [1.0, 34.0, 0.5],
        [0.3, 0.8, 34.0],
        [20.0, 22.0, 19.0],
    ];
    let dt = 0.11;
    let nt = ((36.0 / (2.2f64 / rho).sqrt() + 2.0 * w.t0) / dt) as usize;
    let squared = [
        [c.c33, c.c55, c.c44],
        [c.c55, c.c11, c.c66],
        [c.c44, c.c66, c.c22],
    ];
    for component in 0..3 {
        let mut s = shot(dt, nt, frame(10, layer(1.1 * (9.0f64 / rho).sqrt(), w.f)));
        s.attenuation = Some(Attenuation {
            qp: [q[0] as f32].into(),
            qs: [q[1] as f32].into(),
            mechanisms: Mechanisms::Everywhere(2),
            band: [0.4 * w.f, 2.5 * w.f],
            reference: w.f,
        });
        s.receivers = offsets.iter().map(|o| [0, 1, 2].map(|a| at[a] + o[a])).collect();
        // Components z, x, y; forces x, y, z.
        let force = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]][component];
        source(&mut s, at, Action::Force(force), |t| w.integral(t));
        let tape = run_on::<f32>(&s, &grid, |_| (c, rho), Symmetry::Orthorhombic, (1, &[])).expect("it runs");
        for (k, o) in offsets.iter().enumerate() {
            let wave = |share: f64| {
                let moduli = |s: C| {
                    [0, 1, 2].map(|a| {
                        let normal = usize::from(a != component);
                        squared[component][a] * modulus(1.0, share * q[normal], w.f, s)
                    })
                };
                scalar(&w, rho, o.map(f64::from), &moduli, (dt, nt))
            };
            let (lossy, lossless) = (wave(1.0), wave(1e9));
            let trace = tape.trace(component, k, offsets.len());
            let scale = magnitude(lossy.iter().copied());
            let apart = |e: &[f64]| largest_difference(&trace, e) / scale;
            let (right, wrong) = (apart(&lossy), apart(&lossless));
            println!(
                "component {component} at {o:?}: {:.2} %, without loss {:.0} %",
                100.0 * right,
                100.0 * wrong
            );
            assert!(right < 0.02 && wrong > 0.08, "{component} {o:?}: {right} {wrong}");
        }
    }
}

/// The velocity of a scalar wave with complex stiffnesses along z, x, y.
fn scalar(
    w: &Ricker,
    rho: f64,
    offset: [f64; 3],
    moduli: &dyn Fn(C) -> [C; 3],
    (dt, nt): (f64, usize),
) -> Vec<f64> {
    let end = nt as f64 * dt;
    let (dw, fading) = (PI / end, 1e4f64.ln() / (2.0 * end));
    let (spectrum, i) = (spectrum_of(w), C::new(0.0, 1.0));
    let mut out = vec![0.0; nt];
    for n in 0..=(4.0 * TAU * w.f / dw) as usize {
        let s = C::new(n as f64 * dw, -fading);
        let c = moduli(s);
        let tau = (0..3).map(|a| rho * offset[a].powi(2) / c[a]).sum::<C>().sqrt();
        let strength = (rho / (c[0] * c[1] * c[2])).sqrt() / (4.0 * PI * tau);
        let mut turn =
            strength * spectrum(s) * (-i * s * tau).exp() * dw / PI * if n == 0 { 0.5 } else { 1.0 };
        turn *= (0.5 * i * s * dt).exp();
        for out in &mut out {
            *out += turn.re;
            turn *= (i * s * dt).exp();
        }
    }
    out
}
