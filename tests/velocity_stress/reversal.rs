//! Time can be reversed: in a model without absorption, 500 steps forward and the same steps backward return to every
//! field on the way. The sources act in both directions: backward they remove what they have added.

use crate::desk::{frame, isotropic, layer, shot, source};
use crate::shots::{Tape, largest, largest_difference, magnitude, medium};
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::grid::points::Snapshots;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::{Shot, Simulation};
use kernels::source::Action;
use kernels::time_loop::Direction;

const STEPS: usize = 500;

fn layers(at: [f64; 3]) -> (Stiffness, f64) {
    match at[0] + 0.2 * at[1] > 14.0 {
        true => isotropic(3.0, 1.7, 2.4),
        false => isotropic(2.4, 1.4, 2.0),
    }
}

/// A force and a moment in the middle of a box without a frame.
fn lossless(grid: &Grid, order: usize, surface: bool) -> Shot {
    let mut s = shot(0.15, STEPS, frame(0, layer(3.0, 0.1)));
    (s.order, s.surface, s.jdata) = (order, surface, STEPS);
    let middle = [6.0, (grid.n[1] / 2) as f32, (grid.n[2] / 2) as f32];
    s.receivers = vec![middle];
    let pulse = |t: f64| (-((t - 9.0) / 2.5).powi(2)).exp();
    let along = if grid.ndim == 2 { 0.0 } else { 0.3 };
    source(&mut s, middle, Action::Force([1.0, along, 0.5]), pulse);
    source(
        &mut s,
        middle,
        Action::Moment([1.0, along, 0.4, 0.0, 0.9, 0.0]),
        pulse,
    );
    let mut window = s.frame.around(grid).n.map(|n| 0..n);
    // The image values above a free surface are not waves.
    window[0].start = 4;
    s.snapshots = Some(Snapshots { every: 1, window });
    s
}

/// The largest difference between the velocities of the backward and of the forward run, relative to the largest value:
/// when step `it` has been undone, the velocity is that after step `it - 1`.
fn returns(grid: &Grid, order: usize, surface: bool, slabs: usize) -> f64 {
    let s = lossless(grid, order, surface);
    let padded = s.frame.around(grid);
    let slabs = SLABS.partition(padded.planes(), slabs).expect("the slabs fit");
    let cpu = Cpu::new(2).expect("threads start");
    let raw = medium::<f32>(&padded, layers);
    let mut simulation = Simulation::new(&s, raw, Symmetry::Isotropic, cpu, slabs).expect("a valid shot");
    let (mut there, mut back) = (Tape::<f32>::default(), Tape::<f32>::default());
    simulation.run(&mut there).expect("forward");
    simulation.schedule().direction = Direction::Backward;
    simulation.run(&mut back).expect("backward");
    assert_eq!((there.snapshots.len(), back.snapshots.len()), (STEPS, STEPS));
    let all = there.snapshots.iter().flat_map(|(_, v)| v);
    let most = f64::from(magnitude(all));
    let rest = vec![0.0; there.snapshots[0].1.len()];
    let worst = largest(back.snapshots.iter().map(|(it, fields)| {
        let before = it.checked_sub(1).map_or(&rest, |k| &there.snapshots[k].1);
        largest_difference(fields, before)
    }));
    assert!(most > 0.0 && back.snapshots.last().is_some_and(|(it, _)| *it == 0));
    worst / most
}

#[test]
fn a_lossless_run_comes_back_to_where_it_began() {
    let plane = Grid::new_2d([40, 50], [0.0; 2], [1.0; 2]);
    let volume = Grid::new_3d([20, 22, 18], [0.0; 3], [1.0; 3]);
    for (grid, order, surface, slabs) in [
        (&plane, 4, false, 1),
        (&plane, 8, true, 3),
        (&volume, 4, true, 2),
        (&volume, 2, false, 1),
    ] {
        let worst = returns(grid, order, surface, slabs);
        println!("{}-D order {order}: {worst:.1e} of the largest", grid.ndim);
        assert!(
            worst <= 1e-4,
            "{}-D order {order}, free surface {surface}: {worst:e}",
            grid.ndim
        );
    }
}

#[test]
fn a_run_that_loses_energy_is_not_turned() {
    let grid = Grid::new_2d([40, 50], [0.0; 2], [1.0; 2]);
    let mut s = lossless(&grid, 4, false);
    (s.frame, s.snapshots) = (frame(10, layer(3.0, 0.1)), None);
    let padded = s.frame.around(&grid);
    let slabs = SLABS.partition(padded.planes(), 1).expect("the slab fits");
    let raw = medium::<f32>(&padded, layers);
    let cpu = Cpu::new(1).expect("a thread starts");
    let mut simulation = Simulation::new(&s, raw, Symmetry::Isotropic, cpu, slabs).expect("a valid shot");
    simulation.schedule().direction = Direction::Backward;
    let refused = simulation
        .run(&mut Tape::<f32>::default())
        .expect_err("a run that loses energy");
    assert!(refused.to_string().contains("backward"), "{refused}");
}
