//! Reciprocity (Aki & Richards 2002, eq. 2.39): in any elastic medium the component j of the displacement at B due to a
//! force along i at A equals the component i at A due to the same force along j at B.
//!
//! The scheme is reciprocal, too: its derivative is antisymmetric and the stiffness of a cell symmetric, so forces and
//! receivers on cells (`nbell=0`) must agree to rounding, including reflections from rigid boundaries. A bell is a
//! weighted sum of points: the receiver must be the same sum.

use crate::shots::{Ricker, largest, largest_difference, magnitude, medium, run, shot};
use kernels::boundary::free_surface::Surface;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness, Tsvankin};
use kernels::methods::displacement::Shot;

const DT: f32 = 0.05;

/// An orthorhombic medium with layers, a lens and a lateral gradient.
fn earth(at: [f64; 3]) -> (Stiffness, f64) {
    let [z, x, y] = at;
    let layer = (z / 7.0).floor();
    let lens = f64::from(u8::from(
        (z - 15.0).powi(2) + (x - 12.0).powi(2) + (y - 10.0).powi(2) < 36.0,
    ));
    let rho = 2.0 + 0.1 * layer + 0.3 * lens;
    let speeds = Speeds {
        vp: 3.0 + 0.25 * layer + 0.02 * x,
        vs: 1.6 + 0.1 * layer - 0.3 * lens + 0.01 * y,
        rho,
    };
    let t = Tsvankin {
        eps1: 0.1,
        eps2: 0.2,
        del1: 0.05,
        del2: 0.1 - 0.1 * lens,
        del3: -0.05,
        gam1: 0.1,
        gam2: 0.05,
    };
    (Stiffness::orthorhombic(speeds, t).expect("a real medium"), rho)
}

/// The largest difference of all pairs of components, relative to the largest displacement.
fn worst(padded: &Padded, points: [[f32; 3]; 2], change: impl Fn(&mut Shot)) -> f64 {
    let ndim = padded.ndim();
    let w = Ricker::starting_at_zero(0.12);
    // trace[from][component of the force][component of the receiver]
    let traces: Vec<Vec<Vec<Vec<f64>>>> = (0..2)
        .map(|from| {
            let force = |i: usize| {
                let direction: Vec<f64> = (0..ndim).map(|c| f64::from(u8::from(c == i))).collect();
                let wavelet = w.samples(600, DT, &direction);
                let mut s = Shot {
                    nbell: 0,
                    ..shot(DT, wavelet, vec![points[from]], vec![points[1 - from]])
                };
                change(&mut s);
                let tape = run::<f32>(&s, medium(padded, earth));
                (0..ndim).map(|j| tape.trace(j, 0, 1)).collect()
            };
            (0..ndim).map(force).collect()
        })
        .collect();
    let peak = magnitude(traces.iter().flatten().flatten().flatten().copied());
    let pairs = (0..ndim).flat_map(|i| (0..ndim).map(move |j| (i, j)));
    let apart = pairs.map(|(i, j)| {
        let difference = largest_difference(&traces[0][i][j], &traces[1][j][i]) / peak;
        let size = largest(traces[0][i][j].iter().copied()) / peak;
        assert!(
            size > 1e-3,
            "components {i} and {j} must be coupled to prove anything: {size}"
        );
        difference
    });
    largest(apart)
}

fn volume() -> (Padded, [[f32; 3]; 2]) {
    let grid = Grid::new_3d([30, 28, 26], [0.0; 3], [1.0, 0.9, 1.1]);
    (Padded::new(&grid, 10), [[6.0, 4.5, 5.5], [22.0, 18.0, 19.8]])
}

fn plane() -> (Padded, [[f32; 3]; 2]) {
    (
        Padded::new(&Grid::new_2d([60, 80], [0.0; 2], [0.5, 0.4]), 40),
        [[3.0, 4.0, 0.0], [21.5, 24.0, 0.0]],
    )
}

#[test]
fn source_and_receiver_may_be_swapped_in_a_rigid_box() {
    for (name, (padded, points)) in [("3-D", volume()), ("2-D", plane())] {
        let apart = worst(&padded, points, |_| {});
        println!("reciprocity {name}, rigid boundaries: {apart:.2e} of the maximum");
        assert!(apart < 1e-4, "{name}: {apart}");
    }
}

#[test]
fn source_and_receiver_may_be_swapped_under_a_free_surface() {
    for (name, (padded, points)) in [("3-D", volume()), ("2-D", plane())] {
        let apart = worst(&padded, points, |s| s.surface = Surface::Vacuum);
        println!("reciprocity {name}, vacuum on top: {apart:.2e} of the maximum");
        assert!(apart < 1e-4, "{name}: {apart}");
    }
}
