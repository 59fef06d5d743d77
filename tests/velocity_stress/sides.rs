//! A layer between two half-spaces in three orientations, with interfaces normal to z, to x and to y, and a density
//! that halves and doubles, compared with the sum over wavenumbers of tests/support/layered.rs.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::layered::{self, Rock, Source, Stack, spectrum_of};
use crate::shots::{Ricker, largest, largest_difference, magnitude};
use kernels::grid::Grid;
use kernels::source::Action;

/// P speed, S speed, density from above: the contrasts of speed are the same as in LOH.1.
const ROCKS: [[f64; 3]; 3] = [[2.0, 1.0, 1.3], [3.0, 1.732, 2.6], [2.0, 1.0, 1.3]];
const INTERFACES: [f64; 2] = [12.5, 21.5];
/// Cells along the normal of the layers and across it, some five more than source and receivers need.
const N: [usize; 3] = [40, 42, 41];
const SOURCE: [f64; 3] = [27.2, 6.3, 6.1];
const AWAY: [[f64; 3]; 4] = [
    [-21.4, 14.0, 17.5],
    [-10.2, 28.5, 10.4],
    [-2.1, 24.3, 28.6],
    [7.3, 30.2, 16.4],
];

/// Ten cells per shortest wavelength.
fn wavelet() -> Ricker {
    Ricker::starting_at_zero(0.04)
}

const DT: f64 = 0.15;

fn steps() -> usize {
    let w = wavelet();
    ((46.0 + w.t0 + 0.8 / w.f) / DT) as usize
}

/// The largest misfit with the normal along z, x or y. Everything is given as (normal, first, second), and mapped to
/// the axes (z, x, y), (x, y, z) or (y, z, x), which preserves the orientation.
fn misfit(normal: usize, order: usize, exact: &[[Vec<f64>; 3]]) -> f64 {
    let place = |v: [f64; 3]| {
        let mut out = [0.0; 3];
        (0..3).for_each(|k| out[(normal + k) % 3] = v[k]);
        out
    };
    let w = wavelet();
    let mut s = shot(DT, steps(), frame(10, layer(3.0, w.f)));
    s.order = order;
    let cells = place(N.map(|n| n as f64)).map(|n| n as usize);
    let grid = Grid::new_3d(cells, [0.0; 3], [1.0; 3]);
    s.receivers = AWAY
        .iter()
        .map(|r| place([0, 1, 2].map(|a| SOURCE[a] + r[a])).map(|c| c as f32))
        .collect();
    // The moment in the plane of the layers: xy, yz, xz if the normal is z, x, y. Tensors are xx yy zz xy xz yz.
    let mut moment = [0.0; 6];
    moment[[3, 5, 4][normal]] = 1.0;
    source(
        &mut s,
        place(SOURCE).map(|c| c as f32),
        Action::Moment(moment),
        |t| w.value(t),
    );
    let tape = run::<f32>(&s, &grid, |at| {
        let depth = at[normal];
        let [a, b, rho] = ROCKS[INTERFACES.iter().filter(|&&d| depth > d).count()];
        isotropic(a, b, rho)
    });
    let mut worst = 0.0f64;
    for (k, exact) in exact.iter().enumerate() {
        let scale = magnitude(exact.iter().flatten().copied());
        let apart = [0, 1, 2].map(|c| {
            let trace = tape.trace((normal + c) % 3, k, AWAY.len());
            largest_difference(&trace, &exact[c]) / scale
        });
        println!(
            "normal along {}, order {order}, {:?}: {apart:.4?}",
            ["z", "x", "y"][normal],
            AWAY[k]
        );
        worst = largest([worst, largest(apart)]);
    }
    worst
}

/// Velocities along the normal and the two other axes.
fn exact() -> Vec<[Vec<f64>; 3]> {
    let stack = Stack {
        rocks: &ROCKS.map(|[a, b, rho]| Rock::new(a, b, rho)),
        interfaces: &INTERFACES,
        surface: false,
        reference: 1.0,
    };
    let w = wavelet();
    let shot = layered::Shot {
        source: Source::Twist,
        depth: SOURCE[0],
        ndim: 3,
        dt: DT,
        nt: steps(),
        first: 0.5 * DT,
        spectrum: &spectrum_of(&w),
        highest: 4.0 * std::f64::consts::TAU * w.f,
        bell: 0.0,
    };
    layered::traces(&stack, &shot, &AWAY.map(|r| [SOURCE[0] + r[0], r[1], r[2]]))
}

#[test]
fn a_layer_is_right_within_three_percent_however_it_stands() {
    let exact = exact();
    for normal in 0..3 {
        let worst = misfit(normal, 4, &exact);
        assert!(worst < 0.03, "{normal}: {worst}");
    }
}
