//! Absolute amplitudes in a homogeneous full space, near field included.
//!
//! Velocities are the displacements of the rate of the source. Vectors are (x, y, z) here. SI units throughout.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::full_space::{Rock, of_force, of_moment};
use crate::shots::{Ricker, largest};
use kernels::grid::Grid;
use kernels::methods::velocity_stress::Action;

const A: f64 = 3200.0;
const B: f64 = 2000.0;
const RHO: f64 = 2300.0;
/// Spacings z, x, y differ, so that a swapped axis would be seen.
const D: [f32; 3] = [10.0, 9.6, 10.4];
/// Five cells about what the source and the receivers span.
const N: [usize; 3] = [32, 50, 46];
/// Half of the largest stable step, which is 1/(7/6 a sqrt(3)) of the spacing.
const DT: f64 = 0.000_75;
/// Between the nodes on all axes.
const SOURCE: [f32; 3] = [10.3, 20.5, 26.8];
/// Receivers in cells from the source (x, y, z), off the nodes, near and far.
const OFFSETS: [[f32; 3]; 6] = [
    [0.2, 0.1, 6.0],
    [7.1, -3.3, 2.4],
    [24.0, 0.0, 0.4],
    [12.3, -18.0, 9.0],
    [-15.5, 14.2, 16.1],
    [-9.0, -21.7, -5.5],
];

const ROCK: Rock = Rock { a: A, b: B, rho: RHO };

/// Ten cells a shortest wavelength on the coarsest axis, at the wavelet's highest frequency.
fn wavelet() -> Ricker {
    Ricker::starting_at_zero(B / (10.0 * 10.4) / 2.5)
}

/// Runs the engine and compares: the worst misfit as a share of the receiver's largest velocity.
fn misfit(action: Action) -> f64 {
    let w = wavelet();
    let grid = Grid::new_3d(N, [100.0, -50.0, 20.0], D);
    let at = |cells: [f32; 3]| [0, 1, 2].map(|a| grid.o[a] + cells[a] * D[a]);
    let nt = ((26.0 * 10.4 / B + w.t0 + 0.6 / w.f) / DT) as usize;
    let mut s = shot(DT, nt, frame(10, layer(A, w.f)));
    s.receivers = OFFSETS
        .iter()
        .map(|o| at([SOURCE[0] + o[2], SOURCE[1] + o[0], SOURCE[2] + o[1]]))
        .collect();
    // A force is the integral of its rate; a moment enters by its rate.
    let history = |t: f64| match action {
        Action::Moment(_) => w.value(t),
        Action::Force(_) => w.integral(t),
    };
    source(&mut s, at(SOURCE), action, history);
    let tape = run::<f32>(&s, &grid, |_| isotropic(A, B, RHO));
    let mut worst = 0.0f64;
    for (k, o) in OFFSETS.iter().enumerate() {
        let x = [o[0] * D[1], o[1] * D[2], o[2] * D[0]].map(f64::from);
        let exact: Vec<[f64; 3]> = (0..nt)
            .map(|it| {
                let t = (it as f64 + 0.5) * DT;
                match action {
                    Action::Moment(m) => of_moment(ROCK, &w, m, x, t),
                    Action::Force(f) => of_force(ROCK, &w, f, x, t),
                }
            })
            .collect();
        let scale = largest(exact.iter().flatten().copied());
        let mut line = format!("{action:?} receiver {o:?}:");
        for (c, axis) in [2usize, 0, 1].into_iter().enumerate() {
            let trace = tape.trace(c, k, OFFSETS.len());
            let apart = largest(trace.iter().zip(&exact).map(|(v, e)| v - e[axis])) / scale;
            worst = largest([worst, apart]);
            line += &format!(" {} {:.3} %", ["z", "x", "y"][c], 100.0 * apart);
        }
        println!("{line}");
    }
    worst
}

#[test]
fn a_force_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::Force([1e9, -0.7e9, 0.4e9]));
    assert!(worst < 0.01, "{worst}");
}

#[test]
fn an_explosion_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::explosion(1e15));
    assert!(worst < 0.01, "{worst}");
}

#[test]
fn a_double_couple_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::double_couple(37.0, 62.0, -110.0, 1e15, 0.0));
    assert!(worst < 0.01, "{worst}");
}
