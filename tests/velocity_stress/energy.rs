//! Long runs: after the end of the source, the wavefield only decays. The sum of the squared velocities over all cells
//! of the padded grid is compared in windows of a fifth of the run, in double precision, because rounding in single
//! precision would leave 1e-10 of it.

use crate::desk::{frame, isotropic, layer, run_on, shot, source};
use crate::shots::{Tape, records_of};
use kernels::grid::Grid;
use kernels::grid::points::Snapshots;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::Frame;
use kernels::source::Action;

fn layers(at: [f64; 3]) -> (Stiffness, f64) {
    let [z, x, y] = at;
    let layer = ((z + if x > 17.0 { 6.0 } else { 0.0 } + 0.1 * y) / 9.0)
        .floor()
        .rem_euclid(3.0);
    isotropic(2.4 + 0.4 * layer, 1.4 + 0.25 * layer, 2.0 + 0.2 * layer)
}

fn windows(tape: &Tape<f64>) -> Vec<f64> {
    let square = |u: &[f64]| u.iter().map(|&x| x.powi(2)).sum::<f64>();
    let all = records_of(200, tape.snapshots.iter().map(|(_, u)| square(u)));
    let n = all.len() / 5;
    all.chunks(n)
        .map(|w| w.iter().sum::<f64>() / w.len() as f64)
        .collect()
}

fn fades(grid: &Grid, frame: Frame, order: usize, surface: bool, steps: usize) {
    let limit = 1.0 / (1.3 * 3.2 * (grid.ndim as f64).sqrt());
    let mut s = shot(0.95 * limit, steps, frame);
    (s.order, s.surface, s.jdata) = (order, surface, steps);
    let middle = [2.0, (grid.n[1] / 2) as f32, (grid.n[2] / 2) as f32];
    s.receivers = vec![middle];
    source(
        &mut s,
        middle,
        Action::Moment([1.0, 0.3, 0.4, 0.2, 0.9, 0.1]),
        |t| (-((t - 9.0) / 2.5).powi(2)).exp(),
    );
    let n = frame.around(grid).n;
    s.snapshots = Some(Snapshots {
        every: steps / 200,
        // The image values above a free surface are not waves.
        window: [4..n[0], 0..n[1], 0..n[2]],
    });
    // The grids are so small that threads would mostly wait for each other, so the tests run in parallel on one thread
    // each.
    let tape = run_on::<f64>(&s, grid, layers, Symmetry::Isotropic, (1, &[])).expect("the shot runs");
    let energy = windows(&tape);
    let shares: Vec<String> = energy.iter().map(|e| format!("{:.1e}", e / energy[0])).collect();
    println!(
        "{}-D order {order} free surface {surface}: {}",
        grid.ndim,
        shares.join(" ")
    );
    assert!(
        !energy.windows(2).any(|w| w[1] > w[0]) && energy[4] < 1e-6 * energy[0],
        "order {order} free surface {surface}: {shares:?}"
    );
}

#[test]
fn layers_fade_through_fifty_thousand_steps_in_the_plane() {
    let grid = Grid::new_2d([24, 34], [0.0; 2], [1.0; 2]);
    let f = frame(10, layer(3.2, 0.1));
    for order in [2, 4, 8] {
        fades(&grid, f, order, false, 50_000);
    }
}

#[test]
fn layers_fade_through_fifty_thousand_steps_under_a_free_surface() {
    let grid = Grid::new_2d([24, 34], [0.0; 2], [1.0; 2]);
    let mut f = frame(10, layer(3.2, 0.1));
    f.cells[0][0] = 0;
    for order in [2, 4, 8] {
        fades(&grid, f, order, true, 50_000);
    }
}

/// In a model as thin as the frame all waves are grazing.
#[test]
fn layers_fade_at_grazing_incidence() {
    let mut f = frame(10, layer(3.2, 0.1));
    fades(&Grid::new_2d([8, 80], [0.0; 2], [1.0; 2]), f, 4, false, 50_000);
    f.cells[0][0] = 0;
    fades(&Grid::new_2d([8, 80], [0.0; 2], [1.0; 2]), f, 4, true, 50_000);
}

#[test]
fn layers_fade_in_the_volume() {
    let mut f = frame(8, layer(3.2, 0.1));
    f.cells[0][0] = 0;
    fades(&Grid::new_3d([6, 8, 6], [0.0; 3], [1.0; 3]), f, 4, true, 20_000);
}
