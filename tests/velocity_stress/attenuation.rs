//! A viscoelastic full space, compared with the exact solution with complex moduli: Aki & Richards' eq. 4.23, Fourier
//! transformed, with `a(w)`, `b(w)` complex: `N(w) = F(r/b) - F(r/a)`, `F(s) = (1 + i w s) exp(-i w s) / w^2`.

use crate::desk::{frame, isotropic, layer, run, run_on, shot, source};
use crate::shots::{Ricker, largest, largest_difference, magnitude, relative_difference};
use fourier::num_complex::Complex;
use kernels::grid::Grid;
use kernels::medium::Symmetry;
use kernels::medium::attenuation::{Law, Mechanisms};
use kernels::methods::velocity_stress::{Attenuation, Shot};
use kernels::source::Action;

const A: f64 = 3000.0;
const B: f64 = 1800.0;
const RHO: f64 = 2200.0;
const D: f32 = 10.0;
const DT: f64 = 0.001;
const FORCE: [f64; 3] = [1e9, -0.5e9, 0.7e9];

/// The modulus of a law divided by density, at an angular frequency.
fn modulus(law: &Law, speed: f64, q: f64, w: f64) -> Complex<f64> {
    let loss = law.loss(q);
    let terms = law.times.iter().zip(&law.weights);
    let sum: Complex<f64> = terms.map(|(&t, &weight)| weight / Complex::new(1.0, w * t)).sum();
    speed * speed * loss.unrelaxed * (1.0 - loss.phi * sum)
}

/// Velocity (x, y, z) at an offset by steps, for a force whose rate is the wavelet.
fn exact(wavelet: &Ricker, law: &Law, [qp, qs]: [f64; 2], x: [f64; 3], nt: usize) -> Vec<[f64; 3]> {
    let r = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let g = x.map(|v| v / r);
    let along: f64 = g.iter().zip(FORCE).map(|(g, f)| g * f).sum();
    let (period, most) = (4.0, 6.0 * wavelet.f);
    let step = std::f64::consts::TAU / period;
    let mut out = vec![[0.0; 3]; nt];
    for k in 1..(most * period) as usize {
        let w = step * k as f64;
        let samples = (0..(2.0 * wavelet.t0 / 1e-3) as usize).map(|n| n as f64 * 1e-3);
        let spectrum: Complex<f64> = samples
            .map(|t| wavelet.value(t) * Complex::new(0.0, -w * t).exp() * 1e-3)
            .sum();
        let i = Complex::new(0.0, 1.0);
        let (a2, b2) = (modulus(law, A, qp, w), modulus(law, B, qs, w));
        let (sa, sb) = (r / a2.sqrt(), r / b2.sqrt());
        let f = |s: Complex<f64>| (1.0 + i * w * s) * (-i * w * s).exp() / (w * w);
        let (near, p, s) = (f(sb) - f(sa), (-i * w * sa).exp() / a2, (-i * w * sb).exp() / b2);
        for n in 0..3 {
            let sum = (3.0 * g[n] * along - FORCE[n]) / r.powi(3) * near + g[n] * along / r * p
                - (g[n] * along - FORCE[n]) / r * s;
            let amplitude = sum * spectrum / (4.0 * std::f64::consts::PI * RHO);
            for (it, out) in out.iter_mut().enumerate() {
                let turned = amplitude * (i * w * (it as f64 + 0.5) * DT).exp();
                out[n] += turned.re * step / std::f64::consts::PI;
            }
        }
    }
    out
}

fn attenuation(q: [f64; 2], mechanisms: Mechanisms) -> Attenuation {
    Attenuation {
        qp: [q[0] as f32].into(),
        qs: [q[1] as f32].into(),
        mechanisms,
        band: [1.5, 18.0],
        reference: 7.0,
    }
}

/// The largest misfit, and the largest difference due to attenuation, relative to the receiver's largest velocity.
fn misfit(q: [f64; 2], mechanisms: Mechanisms) -> [f64; 2] {
    // There are ten cells per shortest wavelength.
    let w = Ricker::starting_at_zero(B / 100.0 / 2.5);
    let losses = attenuation(q, mechanisms);
    let law = losses.law(3);
    let offsets = [[24.0, 3.0, 2.0], [-14.0, 16.0, 12.0], [5.0, -6.0, 4.0]];
    let nt = ((270.0 / B + 2.0 * w.t0) / DT) as usize;
    let mut s = shot(DT, nt, frame(10, layer(1.1 * A, w.f)));
    s.attenuation = Some(losses);
    // The grid extends five cells beyond the source and the receivers.
    let grid = Grid::new_3d([23, 49, 33], [0.0; 3], [D; 3]);
    let at = [50.0, 190.0, 110.0];
    s.receivers = offsets
        .iter()
        .map(|o: &[f32; 3]| [at[0] + D * o[2], at[1] + D * o[0], at[2] + D * o[1]])
        .collect();
    source(&mut s, at, Action::Force(FORCE), |t| w.integral(t));
    let tape = run::<f32>(&s, &grid, |_| isotropic(A, B, RHO));
    let mut worst = [0.0f64, 0.0];
    for (k, o) in offsets.iter().enumerate() {
        let x = [0, 1, 2].map(|a| f64::from(D * o[a]));
        let (lossy, lossless) = (
            exact(&w, &law, q, x, nt),
            exact(&w, &law, [f64::INFINITY; 2], x, nt),
        );
        let scale = magnitude(lossy.iter().flatten().copied());
        for (component, axis) in [2, 0, 1].into_iter().enumerate() {
            let trace = tape.trace(component, k, offsets.len());
            let apart = |e: &[[f64; 3]]| largest_difference(&trace, e.iter().map(|e| e[axis])) / scale;
            worst = [
                largest([worst[0], apart(&lossy)]),
                largest([worst[1], apart(&lossless)]),
            ];
        }
    }
    worst
}

#[test]
fn a_lossy_full_space_is_exact_within_two_percent() {
    for (q, mechanisms) in [
        ([30.0, 20.0], Mechanisms::Everywhere(3)),
        ([100.0, 50.0], Mechanisms::Everywhere(2)),
        ([60.0, 40.0], Mechanisms::Coarse),
    ] {
        let [lossy, lossless] = misfit(q, mechanisms);
        println!(
            "Q {q:?} {mechanisms:?}: {:.2} %; without attenuation {:.0} %",
            100.0 * lossy,
            100.0 * lossless
        );
        assert!(lossy < 0.02, "{q:?} {mechanisms:?}: {lossy}");
        assert!(lossless > 5.0 * lossy, "attenuation has an effect: {lossless}");
    }
}

#[test]
fn lossy_runs_have_the_same_bits_on_slabs_and_fade() {
    let grid = Grid::new_3d([20, 22, 24], [0.0; 3], [1.0; 3]);
    let mut s: Shot = shot(0.1, 80, frame(6, layer(2.5, 0.3)));
    s.frame.cells[0][0] = 0;
    s.surface = true;
    source(
        &mut s,
        [3.2, 10.0, 11.4],
        Action::Moment([1.0, 0.2, 0.3, 0.5, 0.1, 0.2]),
        |t| (-(t - 2.0).powi(2)).exp(),
    );
    s.receivers = vec![[0.0, 15.0, 12.3], [7.0, 5.0, 16.6]];
    let cell = |at: [f64; 3]| isotropic(2.0 + 0.01 * at[0], if at[0] > 15.0 { 0.0 } else { 1.1 }, 2.0);
    for mechanisms in [Mechanisms::Everywhere(2), Mechanisms::Coarse] {
        s.attenuation = Some(Attenuation {
            band: [0.05, 0.5],
            reference: 0.2,
            ..attenuation([40.0, 25.0], mechanisms)
        });
        let on = |threads, slabs: &[usize]| {
            run_on::<f32>(&s, &grid, cell, Symmetry::Isotropic, (threads, slabs)).expect("the shot runs")
        };
        let one = on(1, &[]);
        assert!(one.peak() > 0.0);
        assert!(on(2, &[2]) == one && on(2, &[3]) == one, "{mechanisms:?}");
    }
}

/// An isotropic medium given by stiffnesses has the same attenuation as a medium given by speeds.
#[test]
fn stiffnesses_relax_like_speeds() {
    for ndim in [2, 3] {
        let grid = match ndim {
            3 => Grid::new_3d([20, 22, 24], [0.0; 3], [1.0; 3]),
            _ => Grid::new_2d([30, 32], [0.0; 2], [1.0; 2]),
        };
        let mut s: Shot = shot(0.1, 120, frame(6, layer(2.5, 0.3)));
        let y = if ndim == 3 { 11.4 } else { 0.0 };
        source(
            &mut s,
            [5.2, 10.0, y],
            Action::Moment([1.0, 0.2, 0.3, 0.5, 0.1, 0.2]),
            |t| (-(t - 2.0).powi(2)).exp(),
        );
        s.receivers = vec![[12.0, 15.0, y]];
        let cell = |at: [f64; 3]| isotropic(2.0 + 0.01 * at[0], 1.1, 2.0);
        let free = run::<f64>(&s, &grid, cell);
        s.attenuation = Some(Attenuation {
            band: [0.05, 0.5],
            reference: 0.2,
            ..attenuation([30.0, 20.0], Mechanisms::Everywhere(2))
        });
        let on = |class: Symmetry| run_on::<f64>(&s, &grid, cell, class, (1, &[])).expect("the shot runs");
        let one = on(Symmetry::Isotropic);
        let apart = |other: &crate::shots::Tape<f64>| {
            relative_difference(other.traces.iter().flatten(), one.traces.iter().flatten())
        };
        let (vti, none) = (apart(&on(Symmetry::Vti)), apart(&free));
        println!("{ndim}-D: {vti:.1e}, without attenuation {none:.1e}");
        assert!(vti < 1e-6 && none > 0.02);
    }
}

/// If the Q of a cell is too low for one mechanism, the message gives the lowest possible Q: the law, which is fitted
/// to the attenuation of the whole model, hardly depends on one cell, but changes if all cells have another Q.
#[test]
fn coarse_grained_mechanisms_name_the_lowest_q_that_they_take() {
    let grid = Grid::new_2d([30, 32], [0.0; 2], [1.0; 2]);
    let mut s: Shot = shot(0.1, 2, frame(6, layer(2.5, 0.3)));
    source(&mut s, [15.0, 15.0, 0.0], Action::Moment([1.0; 6]), |_| 1.0);
    s.receivers = vec![[12.0, 15.0, 0.0]];
    let mut message_of = |q: f32, one_cell: bool| {
        let mut qp = vec![if one_cell { 40.0 } else { q }; 30 * 32];
        qp[500] = q;
        let of_shear = if one_cell { 40.0 } else { f64::from(q) };
        s.attenuation = Some(Attenuation {
            qp: qp.into(),
            band: [0.05, 0.5],
            reference: 0.2,
            ..attenuation([40.0, of_shear], Mechanisms::Coarse)
        });
        let cell = |_| isotropic(2.0, 1.1, 2.0);
        run_on::<f32>(&s, &grid, cell, Symmetry::Isotropic, (1, &[]))
            .err()
            .map(|error| error.to_string())
    };
    for one_cell in [true, false] {
        let message = message_of(1.0, one_cell).expect("waves would grow");
        let (_, rest) = message.split_once("use Q of ").expect("a Q");
        let named: f32 = rest.split(' ').next().unwrap().parse().expect("a number");
        let least = (1..200u8)
            .map(f32::from)
            .find(|&q| message_of(q, one_cell).is_none());
        println!("{message}: {least:?}");
        assert!(named > 1.0 && least == Some(named), "{message}: {least:?}");
    }
}
