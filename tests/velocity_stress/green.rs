//! Absolute amplitudes in a homogeneous full space, including the near field.
//!
//! Velocities are the displacements due to the rate of the source. Vectors are (x, y, z) here. All units are SI units.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::full_space::{Rock, of_force, of_moment};
use crate::shots::{Ricker, largest, largest_difference, magnitude};
use kernels::grid::Grid;
use kernels::methods::velocity_stress::{Quantity, Readings};
use kernels::source::Action;

const A: f64 = 3200.0;
const B: f64 = 2000.0;
const RHO: f64 = 2300.0;
/// The spacings z, x, y differ, so that exchanged axes would be noticed.
const D: [f32; 3] = [10.0, 9.6, 10.4];
/// The grid extends five cells beyond the source and the receivers.
const N: [usize; 3] = [32, 50, 46];
/// Half of the largest stable step, which is 1/(7/6 a sqrt(3)) times the spacing.
const DT: f64 = 0.000_75;
/// The source is between the nodes on all axes.
const SOURCE: [f32; 3] = [10.3, 20.5, 26.8];
/// Receivers in cells from the source (x, y, z), between nodes, near and far.
const OFFSETS: [[f32; 3]; 6] = [
    [0.2, 0.1, 6.0],
    [7.1, -3.3, 2.4],
    [24.0, 0.0, 0.4],
    [12.3, -18.0, 9.0],
    [-15.5, 14.2, 16.1],
    [-9.0, -21.7, -5.5],
];

const ROCK: Rock = Rock { a: A, b: B, rho: RHO };

/// Ten cells per shortest wavelength on the coarsest axis, at the wavelet's highest frequency.
fn wavelet() -> Ricker {
    Ricker::starting_at_zero(B / (10.0 * 10.4) / 2.5)
}

/// Velocities (z, x, y), rates of strain (zz, xx, yy, zx, zy, xy) and of rotation (about z, x, y) at an offset;
/// derivatives of the closed form are differences over a thousandth of the shortest wavelength.
fn exact(action: Action, w: &Ricker, x: [f64; 3], t: f64) -> [f64; 12] {
    let velocity = |x: [f64; 3]| match action {
        Action::Moment(m) => of_moment(ROCK, w, m, x, t),
        Action::Force(f) => of_force(ROCK, w, f, x, t),
    };
    let slopes = [0, 1, 2].map(|axis| {
        let beside = |step: f64| velocity([0, 1, 2].map(|a| x[a] + if a == axis { step } else { 0.0 }));
        let [low, high] = [-0.05, 0.05].map(beside);
        [0, 1, 2].map(|c| (high[c] - low[c]) / 0.1)
    });
    let (u, v, w) = (0, 1, 2);
    let strain = |a: usize, b: usize| 0.5 * (slopes[a][b] + slopes[b][a]);
    let turn = |a: usize, b: usize| 0.5 * (slopes[a][b] - slopes[b][a]);
    let moves = velocity(x);
    [
        [
            moves[w],
            moves[u],
            moves[v],
            strain(w, w),
            strain(u, u),
            strain(v, v),
        ],
        [
            strain(w, u),
            strain(w, v),
            strain(u, v),
            turn(u, v),
            turn(v, w),
            turn(w, u),
        ],
    ]
    .concat()
    .try_into()
    .unwrap()
}

/// Runs the engine and compares: the largest misfits of velocities, and of rates of strain and rotation, relative to
/// the largest of them at the receiver.
fn misfit(action: Action) -> [f64; 2] {
    let w = wavelet();
    let grid = Grid::new_3d(N, [100.0, -50.0, 20.0], D);
    let at = |cells: [f32; 3]| [0, 1, 2].map(|a| grid.o[a] + cells[a] * D[a]);
    let nt = ((26.0 * 10.4 / B + w.t0 + 0.6 / w.f) / DT) as usize;
    let mut s = shot(DT, nt, frame(10, layer(A, w.f)));
    s.receivers = OFFSETS
        .iter()
        .map(|o| at([SOURCE[0] + o[2], SOURCE[1] + o[0], SOURCE[2] + o[1]]))
        .collect();
    s.quantity = Quantity::Readings(Readings {
        velocity: true,
        strain: true,
        rotation: true,
        ..Readings::default()
    });
    // A force is the integral of its rate; a moment is given by its rate.
    let history = |t: f64| match action {
        Action::Moment(_) => w.value(t),
        Action::Force(_) => w.integral(t),
    };
    source(&mut s, at(SOURCE), action, history);
    let tape = run::<f32>(&s, &grid, |_| isotropic(A, B, RHO));
    let mut worst = [0.0f64; 2];
    for (k, o) in OFFSETS.iter().enumerate() {
        let x = [o[0] * D[1], o[1] * D[2], o[2] * D[0]].map(f64::from);
        let time = |it: usize| (it as f64 + 0.5) * DT;
        let expected: Vec<[f64; 12]> = (0..nt).map(|it| exact(action, &w, x, time(it))).collect();
        let mut line = format!("{action:?} receiver {o:?}:");
        for (worst, components) in worst.iter_mut().zip([0..3, 3..12]) {
            let own = expected.iter().flat_map(|values| &values[components.clone()]);
            let scale = magnitude(own.copied());
            for c in components {
                let trace = tape.trace(c, k, OFFSETS.len());
                let apart = largest_difference(&trace, expected.iter().map(|e| e[c])) / scale;
                *worst = largest([*worst, apart]);
                line += &format!(" {:.3} %", 100.0 * apart);
            }
        }
        println!("{line}");
    }
    worst
}

/// The bound for rates of strain and rotation: six cells from a moment, where the strain decreases by half within a
/// cell and a half, 0.99 % was measured, and at larger distances 0.15 %.
const SLOPES: f64 = 0.012;

#[test]
fn a_force_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::Force([1e9, -0.7e9, 0.4e9]));
    assert!(worst[0] < 0.01 && worst[1] < SLOPES, "{worst:?}");
}

#[test]
fn an_explosion_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::explosion(1e15));
    assert!(worst[0] < 0.01 && worst[1] < SLOPES, "{worst:?}");
}

#[test]
fn a_double_couple_has_the_amplitude_of_aki_and_richards_within_one_percent() {
    let worst = misfit(Action::double_couple(37.0, 62.0, -110.0, 1e15, 0.0));
    assert!(worst[0] < 0.01 && worst[1] < SLOPES, "{worst:?}");
}
