//! The field inside absorbing layers is that of the full space at coordinates that are stretched into the complex plane
//! (Chew & Weedon 1994), `x~ = integral of kappa + d/(alpha + i w)`. Receivers in the frame record it beyond every
//! face, edge and corner, so that each of `d`, `kappa` and `alpha` is tested with a closed form, and not only by the
//! size of reflections.

use crate::desk::{frame, isotropic, run, shot, source};
use crate::layered::{C, spectrum_of};
use crate::shots::{Ricker, largest, largest_difference, magnitude};
use kernels::boundary::cpml::Layer;
use kernels::grid::Grid;
use kernels::methods::velocity_stress::Absorber;
use kernels::source::Action;
use std::f64::consts::{PI, TAU};

const A: f64 = 1.8;
const B: f64 = 1.1;
const RHO: f64 = 2.0;
const N: [usize; 3] = [16, 18, 17];
const THICK: usize = 12;
const SOURCE: [f64; 3] = [7.4, 8.3, 8.2];
const FORCE: [f64; 3] = [1.0, -0.6, 0.8];

/// The stretched distance from the source along an axis with `n` nodes.
fn stretched(layer: &Layer, at: f64, (n, from): (usize, f64), w: C) -> C {
    let thick = THICK as f64;
    let last = (n - 1) as f64;
    let (beyond, sign) = match at < 0.0 {
        true => (-at, -1.0),
        false => (at - last, 1.0),
    };
    let straight = C::new(at - from, 0.0);
    if beyond <= 0.0 {
        return straight;
    }
    // The profiles of the documentation: d and kappa grow with the square of the depth, alpha decreases linearly.
    let steps = 400;
    let h = beyond / f64::from(steps);
    let more: C = (0..steps)
        .map(|k| {
            let s = (f64::from(k) + 0.5) * h / thick;
            let d = -1.5 * layer.fastest * layer.reflection.ln() / thick * s * s;
            let alpha = PI * layer.frequency * (1.0 - s);
            ((layer.kappa_max - 1.0) * s * s + d / (alpha + C::new(0.0, 1.0) * w)) * h
        })
        .sum();
    straight + sign * more
}

/// Aki & Richards' eq. 4.23 at a frequency and a complex offset: displacement due to a force, both (z, x, y).
fn green(x: [C; 3], w: C) -> [C; 3] {
    let i = C::new(0.0, 1.0);
    let r = x.iter().map(|v| v * v).sum::<C>().sqrt();
    let g = x.map(|v| v / r);
    let along: C = g.iter().zip(FORCE).map(|(g, f)| g * f).sum();
    let end = |c: f64| (1.0 + i * w * r / c) * (-i * w * r / c).exp() / (w * w);
    let near = (end(B) - end(A)) / (r * r * r);
    let far = |c: f64| (-i * w * r / c).exp() / (c * c * r);
    [0, 1, 2].map(|k| {
        let sum = (3.0 * g[k] * along - FORCE[k]) * near + g[k] * along * far(A)
            - (g[k] * along - FORCE[k]) * far(B);
        sum / (2.0 * TAU * RHO)
    })
}

/// Velocities at a receiver.
fn exact(layer: &Layer, at: [f64; 3], w: &Ricker, (dt, nt): (f64, usize)) -> [Vec<f64>; 3] {
    let end = nt as f64 * dt;
    let (dw, fading) = (PI / end, 1e4f64.ln() / (2.0 * end));
    let spectrum = spectrum_of(w);
    let mut out = [0, 1, 2].map(|_| vec![0.0; nt]);
    for n in 0..=(4.0 * TAU * w.f / dw) as usize {
        let s = C::new(n as f64 * dw, -fading);
        let x = [0, 1, 2].map(|a| stretched(layer, at[a], (N[a], SOURCE[a]), s));
        let share = spectrum(s) * dw / PI * if n == 0 { 0.5 } else { 1.0 };
        let i = C::new(0.0, 1.0);
        for (u, out) in green(x, s).iter().zip(&mut out) {
            for (it, out) in out.iter_mut().enumerate() {
                *out += (u * share * (i * s * (it as f64 + 0.5) * dt).exp()).re;
            }
        }
    }
    out
}

/// The largest misfit relative to the receiver's largest value, for layers with this kappa.
fn misfit(kappa_max: f64, order: usize) -> f64 {
    // Twelve cells per shortest wavelength of S, because kappa makes waves shorter.
    let w = Ricker::starting_at_zero(B / 12.0 / 2.5);
    let layer = Layer {
        reflection: 1e-5,
        kappa_max,
        frequency: w.f,
        fastest: A,
    };
    // The memory variables of CPML are integrated with first-order accuracy in time, so the step is short.
    let dt = 0.05;
    let nt = ((40.0 / B + 2.0 * w.t0) / dt) as usize;
    let mut s = shot(dt, nt, frame(THICK, Absorber::Cpml(layer)));
    s.order = order;
    let grid = Grid::new_3d(N, [0.0; 3], [1.0; 3]);
    // There are receivers beyond each face, an edge and a corner.
    let places = [
        [-6.0, 10.0, 6.0],
        [21.0, 6.0, 11.0],
        [9.0, -6.0, 5.0],
        [5.0, 23.0, 10.0],
        [4.0, 11.0, -6.0],
        [10.0, 6.0, 22.0],
        [-5.0, 22.0, 7.0],
        [20.0, -5.0, 21.0],
    ];
    s.receivers = places.iter().map(|r| r.map(|c| c as f32)).collect();
    let [z, x, y] = FORCE;
    source(&mut s, SOURCE.map(|c| c as f32), Action::Force([x, y, z]), |t| {
        w.integral(t)
    });
    let tape = run::<f32>(&s, &grid, |_| isotropic(A, B, RHO));
    let mut worst = 0.0f64;
    for (k, &at) in places.iter().enumerate() {
        let exact = exact(&layer, at, &w, (dt, nt));
        let scale = magnitude(exact.iter().flatten().copied());
        let apart = [0, 1, 2].map(|c| {
            let trace = tape.trace(c, k, places.len());
            largest_difference(&trace, &exact[c]) / scale
        });
        println!("kappa {kappa_max}, order {order}, {at:?}: {apart:.4?}");
        worst = largest([worst, largest(apart)]);
    }
    worst
}

#[test]
fn layers_hold_the_field_of_stretched_coordinates() {
    for (kappa, order) in [(1.0, 4), (3.0, 4), (3.0, 8)] {
        let worst = misfit(kappa, order);
        assert!(worst < 0.03, "kappa {kappa}, order {order}: {worst}");
    }
}
