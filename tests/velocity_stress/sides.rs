//! A layer between two half-spaces, lying and standing: interfaces normal to z, to x and to y, with a density that halves and
//! doubles, against the sum over wavenumbers of tests/support/layered.rs.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::layered::{self, Rock, Source, Stack, spectrum_of};
use crate::shots::{Ricker, largest};
use kernels::grid::Grid;
use kernels::methods::velocity_stress::Action;

/// P speed, S speed, density from above: the contrasts of speed are those of LOH.1.
const ROCKS: [[f64; 3]; 3] = [[2.0, 1.0, 1.3], [3.0, 1.732, 2.6], [2.0, 1.0, 1.3]];
const INTERFACES: [f64; 2] = [17.5, 26.5];
/// Along the normal of the layers and across it.
const N: [usize; 3] = [46, 54, 56];
const SOURCE: [f64; 3] = [32.2, 12.3, 14.1];
const AWAY: [[f64; 3]; 4] = [
    [-21.4, 14.0, 17.5],
    [-10.2, 28.5, 10.4],
    [-2.1, 24.3, 28.6],
    [7.3, 30.2, 16.4],
];

/// The worst misfit with the normal along z, x or y. Everything is given as (normal, first, second), and put on the axes
/// (z, x, y), (x, y, z) or (y, z, x), which turns nothing inside out.
fn misfit(normal: usize, order: usize) -> f64 {
    let place = |v: [f64; 3]| {
        let mut out = [0.0; 3];
        (0..3).for_each(|k| out[(normal + k) % 3] = v[k]);
        out
    };
    // Ten cells a shortest wavelength.
    let w = Ricker::starting_at_zero(0.04);
    let dt = 0.15;
    let nt = ((46.0 + w.t0 + 0.8 / w.f) / dt) as usize;
    let mut s = shot(dt, nt, frame(10, layer(3.0, w.f)));
    s.order = order;
    let cells = place(N.map(|n| n as f64)).map(|n| n as usize);
    let grid = Grid::new_3d(cells, [0.0; 3], [1.0; 3]);
    s.receivers = AWAY
        .iter()
        .map(|r| place([0, 1, 2].map(|a| SOURCE[a] + r[a])).map(|c| c as f32))
        .collect();
    // The moment of the plane of the layers: xy, yz, xz where the normal is z, x, y. Tensors are xx yy zz xy xz yz.
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
    let exact = exact((dt, nt), &w);
    let mut worst = 0.0f64;
    for (k, exact) in exact.iter().enumerate() {
        let scale = largest(exact.iter().flatten().copied());
        let apart = [0, 1, 2].map(|c| {
            let trace = tape.trace((normal + c) % 3, k, AWAY.len());
            largest(trace.iter().zip(&exact[c]).map(|(v, e)| v - e)) / scale
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

/// Velocities along the normal and the two others.
fn exact((dt, nt): (f64, usize), w: &Ricker) -> Vec<[Vec<f64>; 3]> {
    let stack = Stack {
        rocks: &ROCKS.map(|[a, b, rho]| Rock::new(a, b, rho)),
        interfaces: &INTERFACES,
        surface: false,
        reference: 1.0,
    };
    let shot = layered::Shot {
        source: Source::Twist,
        depth: SOURCE[0],
        ndim: 3,
        dt,
        nt,
        first: 0.5 * dt,
        spectrum: &spectrum_of(w),
        highest: 4.0 * std::f64::consts::TAU * w.f,
        bell: 0.0,
    };
    layered::traces(&stack, &shot, &AWAY.map(|r| [SOURCE[0] + r[0], r[1], r[2]]))
}

#[test]
fn a_layer_is_right_within_three_percent_however_it_stands() {
    for normal in 0..3 {
        let worst = misfit(normal, 4);
        assert!(worst < 0.03, "{normal}: {worst}");
    }
}
