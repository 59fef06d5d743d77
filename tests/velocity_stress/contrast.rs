//! Air over rock: densities that differ by a factor of 1833, beside each other.

use crate::desk::{frame, isotropic, layer, run_on, shot, source};
use crate::shots::{largest, magnitude};
use kernels::Error;
use kernels::grid::Grid;
use kernels::grid::stencil::{Family, WEIGHTS};
use kernels::medium::Symmetry;
use kernels::methods::velocity_stress::{Action, contrast_step, stable_step};
use kernels::stability::largest_symbol;

const VP: f64 = 2000.0;
const AIR: f64 = 1.2;
const ROCK: f64 = 2200.0;
const D: f32 = 10.0;
const STEPS: usize = 3000;

/// How the rock ends: in a plane, in steps, or in blocks of one cell that stand free in the air.
#[derive(Clone, Copy, Debug)]
enum Top {
    Flat,
    Rough,
    Scattered,
}

fn is_air(top: Top, [z, x, y]: [f64; 3]) -> bool {
    let rise = ((0.37 * x + 0.23 * y).sin() * 3.0).round() * f64::from(D);
    match top {
        Top::Flat => z < 100.0,
        Top::Rough => z < 100.0 + rise,
        Top::Scattered => z < 100.0 && ((z + 2.0 * x + 3.0 * y) / f64::from(D)).round() as i64 % 5 > 0,
    }
}

/// The largest value of the last tenth of a run, as a share of its largest of all: with rigid walls nothing fades.
fn end(ndim: usize, order: usize, top: Top, dt: f64) -> Result<f64, Error> {
    let grid = match ndim {
        2 => Grid::new_2d([24, 24], [0.0; 2], [D; 2]),
        _ => Grid::new_3d([18, 12, 12], [0.0; 3], [D; 3]),
    };
    let mut s = shot(dt, STEPS, frame(0, layer(VP, 10.0)));
    s.order = order;
    let middle = [145.0, 60.0, if ndim == 3 { 60.0 } else { 0.0 }];
    s.receivers = vec![middle, [85.0, 65.0, middle[2]]];
    let moment = Action::Moment([1.0, 0.3, 0.4, 0.2, 0.9, 0.1]);
    source(&mut s, middle, moment, |t| (-((t - 0.03) / 0.01).powi(2)).exp());
    let cell = |at: [f64; 3]| match is_air(top, at) {
        true => isotropic(340.0, 0.0, AIR),
        false => isotropic(VP, 900.0, ROCK),
    };
    let tape = run_on::<f64>(&s, &grid, cell, Symmetry::Isotropic, (1, &[]))?;
    let last = tape.traces[STEPS * 9 / 10..].iter().flatten().copied();
    Ok(largest(last) / magnitude(tape.traces[..STEPS / 2].iter().flatten().copied()))
}

/// The limit of the worst cell by itself.
fn limit(ndim: usize, order: usize) -> f64 {
    let share = stable_step(order, Family::Taylor).expect("an order");
    share * 2.0 * f64::from(D) / (largest_symbol(&WEIGHTS) * VP * (ndim as f64).sqrt())
}

#[test]
fn air_over_rock_runs_at_the_limit() {
    for (ndim, order) in [(2, 2), (2, 4), (2, 8), (3, 4), (3, 8)] {
        let left = contrast_step(order, Family::Taylor, ROCK / AIR).expect("an order");
        for top in [Top::Flat, Top::Rough, Top::Scattered] {
            let dt = 0.98 * left * limit(ndim, order);
            let share = end(ndim, order, top, dt);
            println!("{ndim}-D order {order} {top:?} at {left:.3} of the limit of cells: {share:.2?}");
            assert!(
                share.expect("nothing grows") < 2.0,
                "{ndim}-D order {order} {top:?}"
            );
        }
    }
}

/// The limit of single cells would let these grow.
#[test]
fn weights_that_reach_across_cells_need_the_lower_limit() {
    for (order, share) in [(4, 0.98), (8, 0.75)] {
        let found = end(2, order, Top::Scattered, share * limit(2, order));
        println!("order {order} at {share} of the limit of cells: {found:.2?}");
        assert!(found.is_err(), "order {order}");
    }
    // Where densities are alike nothing is taken away.
    assert_eq!(contrast_step(4, Family::Taylor, 1.0), Some(1.0));
    assert_eq!(contrast_step(2, Family::Taylor, 1e4), Some(1.0));
    assert!(contrast_step(8, Family::Taylor, 2.5).expect("an order") > 0.99);
}
