//! Reciprocity, mirror symmetry, fluids.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::shots::{largest, magnitude, relative_difference};
use kernels::grid::Grid;
use kernels::medium::Stiffness;
use kernels::methods::velocity_stress::Quantity;
use kernels::source::Action;

fn bell(t: f64) -> f64 {
    (-((t - 2.5) / 0.8).powi(2)).exp()
}

fn layers(at: [f64; 3]) -> (Stiffness, f64) {
    let step = f64::from(u8::from(at[0] + 0.4 * at[1] > 20.0)) + 0.3 * f64::from(u8::from(at[2] > 11.0));
    isotropic(2.0 + step, 1.1 + 0.4 * step, 2.0 + 0.3 * step)
}

/// A force at one point and a velocity at another can be exchanged, including their components, and give the same
/// trace. The points are between nodes; the waves pass through layers and the absorbing frame.
#[test]
fn forces_and_velocities_are_reciprocal() {
    let grid = Grid::new_3d([26, 24, 25], [0.0; 3], [1.0; 3]);
    let points = [[7.3, 8.2, 16.4], [17.6, 15.1, 7.7]];
    let record = |from: usize, force: [f64; 3], component: usize| {
        let mut s = shot(0.12, 130, frame(8, layer(3.5, 0.4)));
        source(&mut s, points[from], Action::Force(force), bell);
        s.receivers = vec![points[1 - from]];
        run::<f32>(&s, &grid, layers).trace(component, 0, 1)
    };
    // Components z, x, y; forces x, y, z.
    let there = record(0, [0.0, 0.0, 1.0], 1);
    let back = record(1, [1.0, 0.0, 0.0], 0);
    let apart = relative_difference(&back, &there);
    println!("reciprocity of forces: {apart:.2e}");
    // The scheme is reciprocal in its interior; with the discretised CPML it is reciprocal only approximately.
    assert!(apart < 1e-3, "{apart}");
}

/// Reciprocity near a free surface, where the weights of sources and of receivers differ: one point is on it or within
/// the first cells, and the other below. The error decreases with the third power of the spacing.
#[test]
fn forces_and_velocities_are_reciprocal_at_a_free_surface() {
    let misfit = |refined: usize, depth: f32, component: usize, order: usize| {
        let d = 1.0 / refined as f32;
        let n = |cells: usize| cells * refined + 1;
        let grid = Grid::new_2d([n(20), n(34)], [0.0; 2], [d, d]);
        let points = [[depth, 9.4, 0.0], [7.3, 23.7, 0.0]];
        let record = |from: usize, force: [f64; 3], component: usize| {
            let mut s = shot(0.08 / refined as f64, 400 * refined, frame(10, layer(1.8, 0.3)));
            (s.surface, s.frame.cells[0][0], s.order) = (true, 0, order);
            // S waves have ten coarse cells or more per wavelength.
            source(&mut s, points[from], Action::Force(force), |t| {
                (-((t - 12.0) / 4.0).powi(2)).exp()
            });
            s.receivers = vec![points[1 - from]];
            run::<f64>(&s, &grid, |_| isotropic(1.8, 1.0, 1.0)).trace(component, 0, 1)
        };
        let along = |component: usize| {
            if component == 0 {
                [0.0, 0.0, 1.0]
            } else {
                [1.0, 0.0, 0.0]
            }
        };
        let there = record(0, along(component), 0);
        let back = record(1, along(0), component);
        relative_difference(&back, &there)
    };
    for (order, bound) in [(2, 0.05), (4, 0.01), (8, 0.01)] {
        for depth in [0.0, 0.3, 1.0] {
            let apart = [0, 1].map(|component| misfit(1, depth, component, order));
            println!("order {order}, depth {depth}: {apart:.4?}");
            assert!(apart.iter().all(|&a| a < bound), "{order} {depth}: {apart:?}");
        }
    }
    let apart = [1, 2].map(|refined| misfit(refined, 0.0, 1, 4));
    println!("order 4, half the spacing: {apart:.4?}");
    assert!(apart[1] < apart[0] / 4.0, "{apart:?}");
}

/// The velocity due to a moment at another point equals the strain due to a force there: for an explosion and a
/// pressure in a fluid both are scalars. `K/V` converts the strain of the cell to its pressure.
#[test]
fn an_explosion_and_a_pressure_are_reciprocal_to_a_force_and_a_velocity() {
    let grid = Grid::new_2d([30, 32], [0.0; 2], [1.0; 2]);
    let (here, there) = ([9.3, 8.6, 0.0], [19.5, 21.0, 0.0]);
    let (vp, vs, rho) = (2.4, 1.3, 2.1);
    let mut s = shot(0.15, 120, frame(10, layer(vp, 0.4)));
    source(&mut s, here, Action::explosion(1.0), bell);
    s.receivers = vec![there];
    let one = run::<f64>(&s, &grid, |_| isotropic(vp, vs, rho)).trace(0, 0, 1);
    let mut s = shot(0.15, 120, frame(10, layer(vp, 0.4)));
    source(&mut s, there, Action::Force([0.0, 0.0, 1.0]), bell);
    s.receivers = vec![here];
    s.quantity = Quantity::Pressure;
    let other = run::<f64>(&s, &grid, |_| isotropic(vp, vs, rho)).trace(0, 0, 1);
    // M: v = G_z,k * M'; F: p = -(lambda + mu) div u, u_k = G_k,z * F. With M' = F both are the same integral, but a
    // velocity is known half a step after the moment, a pressure one step after the force.
    let bulk = rho * (vp * vp - vs * vs);
    let late = |k: usize| -0.5 * (other[k] + other[k - 1]) / bulk;
    assert_eq!(one.len(), 120);
    let apart = relative_difference((1..120).map(late), &one[1..]);
    println!("reciprocity of moment and pressure: {apart:.2e}");
    assert!(apart < 0.02, "{apart}");
}

/// The velocity due to a moment at another point equals the strain due to a force there, contracted with the moment:
/// through layers, and near a free surface, where the weights of a source differ from those of a receiver. The force
/// acts half a step later, because the strain, too, is computed half a step later. S waves have ten cells or more per
/// wavelength.
#[test]
fn moments_and_strains_are_reciprocal() {
    let grid = Grid::new_3d([26, 24, 25], [0.0; 3], [1.0; 3]);
    let dt = 0.11;
    let bell = |t: f64| (-((t - 10.0) / 3.5).powi(2)).exp();
    let (all, level) = ([1.0, -0.4, 0.7, 0.5, -0.3, 0.6], [1.0, -0.4, 0.0, 0.5, 0.0, 0.0]);
    for (free, here, moment, bound) in [
        (false, [9.3, 8.6, 15.4], all, 0.001),
        (true, [9.3, 8.6, 15.4], all, 0.001),
        (true, [0.0, 8.6, 15.4], level, 0.005),
        (true, [0.4, 9.0, 15.0], level, 0.005),
        (true, [0.0, 8.6, 15.4], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 0.04),
        (true, [0.4, 9.0, 15.0], all, 0.04),
    ] {
        let there = [17.6, 15.1, 8.7];
        let mut s = shot(dt, 300, frame(8, layer(3.5, 0.2)));
        s.surface = free;
        s.frame.cells[0][0] = if free { 0 } else { 8 };
        let mut other = s.clone();
        source(&mut s, here, Action::Moment(moment), bell);
        s.receivers = vec![there];
        let one = run::<f64>(&s, &grid, layers).trace(1, 0, 1);
        source(&mut other, there, Action::Force([1.0, 0.0, 0.0]), |t| {
            bell(t - 0.5 * dt)
        });
        other.receivers = vec![here];
        other.quantity = Quantity::Strain;
        let tape = run::<f64>(&other, &grid, layers);
        // Moments xx yy zz xy xz yz, strains zz xx yy zx zy xy.
        let shares = [(1, 1.0), (2, 1.0), (0, 1.0), (5, 2.0), (3, 2.0), (4, 2.0)];
        let strains = shares.map(|(k, both)| (tape.trace(k, 0, 1), both));
        let back = (0..one.len()).map(|it| {
            let parts = strains.iter().zip(moment).map(|((e, both), m)| both * m * e[it]);
            parts.sum::<f64>()
        });
        let apart = relative_difference(back, &one);
        println!("reciprocity of moment and strain, {moment:?} at {here:?}: {apart:.2e}");
        assert!(apart < bound, "{moment:?} {here:?}: {apart}");
    }
}

/// For an explosion on a node of a medium that is even in x, the vertical velocity is even, and the horizontal one is
/// odd, with its nodes half a cell off.
#[test]
fn mirrored_receivers_record_mirrored_traces() {
    let grid = Grid::new_3d([22, 25, 23], [0.0; 3], [1.0; 3]);
    let mut s = shot(0.14, 120, frame(8, layer(3.0, 0.4)));
    source(&mut s, [9.0, 12.0, 11.0], Action::explosion(1.0), bell);
    s.receivers = vec![[4.3, 6.4, 13.2], [4.3, 17.6, 13.2], [4.3, 6.4, 8.8]];
    let even = |at: [f64; 3]| {
        let step = 0.5 * f64::from(u8::from(at[0] > 13.0));
        isotropic(2.0 + step, 1.2 + step, 2.0)
    };
    let tape = run::<f32>(&s, &grid, even);
    for (mirrored, signs) in [(1, [1.0, -1.0, 1.0]), (2, [1.0, 1.0, -1.0])] {
        for (c, sign) in signs.into_iter().enumerate() {
            let (one, other) = (tape.trace(c, 0, 3), tape.trace(c, mirrored, 3));
            let apart = relative_difference(other.iter().map(|b| sign * b), &one);
            assert!(apart < 1e-4, "{mirrored} {c}: {apart}");
        }
    }
}

/// A fluid has no shear stress: an explosion makes the same wave on all sides, and a shear source none.
#[test]
fn fluids_carry_no_shear() {
    let grid = Grid::new_2d([41, 41], [0.0; 2], [1.0; 2]);
    let water = |_: [f64; 3]| isotropic(1.5, 0.0, 1.0);
    let mut s = shot(0.2, 110, frame(10, layer(1.5, 0.2)));
    source(&mut s, [20.0, 20.0, 0.0], Action::explosion(1.0), bell);
    s.receivers = vec![[10.0, 20.0, 0.0], [20.0, 10.0, 0.0]];
    let tape = run::<f32>(&s, &grid, water);
    let (z, x) = (tape.trace(0, 0, 2), tape.trace(1, 1, 2));
    let apart = relative_difference(&x, &z);
    assert!(apart < 1e-4, "{apart}");
}

/// In order 2, the rotation `d_x v_z - d_z v_x` between four nodes is due only to shear stress if the density is
/// constant: an explosion causes none in water, down to the row above the rock, but the wave in the rock has it.
#[test]
fn water_over_rock_turns_nowhere() {
    let grid = Grid::new_2d([41, 41], [0.0; 2], [1.0; 2]);
    let mut s = shot(0.15, 300, frame(10, layer(3.0, 0.2)));
    s.order = 2;
    source(&mut s, [20.0, 12.0, 0.0], Action::explosion(1.0), bell);
    let places = [
        [15.5, 20.5],
        [25.5, 25.5],
        [29.5, 20.5],
        [29.5, 30.5],
        [35.5, 30.5],
    ];
    s.receivers = places
        .iter()
        .flat_map(|&[z, x]| {
            [
                [z, x - 0.5, 0.0],
                [z, x + 0.5, 0.0],
                [z - 0.5, x, 0.0],
                [z + 0.5, x, 0.0],
            ]
        })
        .collect();
    let tape = run::<f64>(&s, &grid, |at| match at[0] > 30.0 {
        true => isotropic(3.0, 1.6, 2.3),
        false => isotropic(1.5, 0.0, 1.0),
    });
    for (k, place) in places.iter().enumerate() {
        let trace = |component: usize, at: usize| tape.trace(component, 4 * k + at, s.receivers.len());
        let (left, right, above, below) = (trace(0, 0), trace(0, 1), trace(1, 2), trace(1, 3));
        let turns = (0..left.len()).map(|it| right[it] - left[it] - below[it] + above[it]);
        let share = largest(turns) / magnitude(left.iter().chain(&above).copied());
        println!("{place:?}: {share:.1e}");
        if place[0] < 30.0 {
            assert!(share < 1e-12, "{place:?}: {share}");
        } else {
            assert!(share > 0.01, "{place:?}: {share}");
        }
    }
}
