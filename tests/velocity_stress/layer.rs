//! LOH.1, a layer over a half-space, against an independent semi-analytic code: `tests/data/loh1/make.py` says how the
//! figures were made.

use crate::desk::{frame, layer, run_on, shot, source};
use crate::shots::largest;
use kernels::grid::Grid;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::{Action, TimeFunction};

const FILE: &str = include_str!("../data/loh1/velocity.txt");
/// Seven steps are one row of the file.
const DT: f64 = 0.05 / 7.0;
const D: f32 = 100.0;
/// Depth of the interface.
const DEPTH: f64 = 1000.0;
/// Density, P modulus and S modulus of the layer and of the half-space.
const LAYERS: [[f64; 3]; 2] = [
    [2600.0, 2600.0 * 16e6, 2600.0 * 4e6],
    [2700.0, 2700.0 * 36e6, 2700.0 * 3464.0 * 3464.0],
];

/// The cell around a node, `share` of which lies in the half-space: the mean density and the stiffness of fine layers
/// (Backus 1962), which is VTI. With a share of 0 or 1 it is isotropic.
fn cell(share: f64) -> (Stiffness, f64) {
    let mean = |of: &dyn Fn(f64, f64) -> f64| {
        let [layer, below] = LAYERS.map(|[_, p, s]| of(p, s));
        (1.0 - share) * layer + share * below
    };
    let c33 = 1.0 / mean(&|p, _| 1.0 / p);
    let c55 = 1.0 / mean(&|_, s| 1.0 / s);
    let c66 = mean(&|_, s| s);
    let ratio = mean(&|p, s| (p - 2.0 * s) / p);
    let c11 = mean(&|p, s| 4.0 * s * (p - s) / p) + ratio * ratio * c33;
    let stiffness = Stiffness {
        c11,
        c22: c11,
        c33,
        c44: c55,
        c55,
        c66,
        c12: c11 - 2.0 * c66,
        c13: ratio * c33,
        c23: ratio * c33,
    };
    (stiffness, (1.0 - share) * LAYERS[0][0] + share * LAYERS[1][0])
}

/// The worst misfit as a share of the receiver's largest velocity, for planes of nodes so far apart.
fn misfit(dz: f32, class: Symmetry) -> f64 {
    let rows: Vec<Vec<f64>> = FILE
        .lines()
        .map(|line| line.split(' ').map(|x| x.parse().expect("a number")).collect())
        .collect();
    let nt = 7 * (rows.len() - 1) + 1;
    let nz = (3600.0 / dz) as usize;
    let grid = Grid::new_3d([nz, 91, 111], [0.0, -1500.0, -1500.0], [dz, D, D]);
    let mut f = frame(10, layer(6000.0, 2.0));
    f.cells[0][0] = 0;
    let mut s = shot(DT, nt, f);
    s.surface = true;
    s.receivers = vec![[0.0, 6000.0, 8000.0], [0.0, 3000.0, 4000.0]];
    let history = TimeFunction::Gaussian { tau: 0.15 };
    let moment = Action::double_couple(0.0, 90.0, 0.0, 1e18, 0.0);
    source(&mut s, [2000.0, 0.0, 0.0], moment, |t| history.rate(t));
    // Cells reach half way to the nodes beside theirs.
    let share = |z: f64| ((z - DEPTH) / f64::from(dz) + 0.5).clamp(0.0, 1.0);
    let tape = run_on::<f32>(&s, &grid, |at| cell(share(at[0])), class, (2, &[])).expect("the shot runs");
    let mut worst = 0.0f64;
    for k in 0..2 {
        let scale = largest(rows.iter().flat_map(|row| row[3 * k..3 * k + 3].to_vec()));
        for (component, (column, sign)) in [(2, -1.0), (0, 1.0), (1, 1.0)].into_iter().enumerate() {
            let trace = tape.trace(component, k, 2);
            // Velocities lie half a step on either side of the rows.
            let at = |row: usize| 0.5 * (trace[7 * row - 1] + trace[7 * row]);
            let misfits = (1..rows.len()).map(|row| sign * at(row) - rows[row][3 * k + column]);
            let apart = largest(misfits) / scale;
            println!(
                "dz {dz:.1} receiver {k} component {component}: {:.2} %",
                100.0 * apart
            );
            worst = largest([worst, apart]);
        }
    }
    worst
}

/// The interface half way between two planes of nodes, 105 m apart: each cell is of one rock, and a file of speeds says
/// all.
#[test]
fn a_layer_over_a_half_space_within_three_percent_at_a_hundred_metres() {
    let worst = misfit((DEPTH / 9.5) as f32, Symmetry::Isotropic);
    assert!(worst < 0.03, "{worst}");
}

/// The interface on a plane of nodes: the cells that it cuts are the mean of their rocks. Taken for one of them, or for the
/// isotropic mean of the compliances, they are wrong by 46 % and 14 %. What is left is the interface spread over a
/// cell, which falls with the square of the spacing.
#[test]
fn a_layer_that_ends_within_cells_is_nearly_as_right_with_their_mean() {
    let worst = misfit(100.0, Symmetry::Vti);
    assert!(worst < 0.035, "{worst}");
}
