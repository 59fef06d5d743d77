//! LOH.1, a layer over a half-space, against an independent semi-analytic code: `tests/data/loh1/make.py` says how the
//! figures were made.

use crate::desk::{frame, isotropic, layer, run, shot, source};
use crate::shots::largest;
use kernels::grid::Grid;
use kernels::velocity_stress::{Action, TimeFunction};

const FILE: &str = include_str!("../data/loh1/velocity.txt");
/// Seven steps are one row of the file.
const DT: f64 = 0.05 / 7.0;
const D: f32 = 100.0;
/// The interface lies half way between two rows of nodes.
const DZ: f32 = 1000.0 / 10.5;

/// The medium at a depth.
fn medium(z: f64) -> (kernels::medium::Stiffness, f64) {
    if z < 1000.0 {
        isotropic(4000.0, 2000.0, 2600.0)
    } else {
        isotropic(6000.0, 3464.0, 2700.0)
    }
}

#[test]
fn a_layer_over_a_half_space_within_three_percent_at_a_hundred_metres() {
    let rows: Vec<Vec<f64>> = FILE
        .lines()
        .map(|line| line.split(' ').map(|x| x.parse().expect("a number")).collect())
        .collect();
    let nt = 7 * (rows.len() - 1) + 1;
    let grid = Grid::new_3d([38, 91, 111], [0.0, -1500.0, -1500.0], [DZ, D, D]);
    let mut f = frame(10, layer(6000.0, 2.0));
    f.cells[0][0] = 0;
    let mut s = shot(DT, nt, f);
    s.surface = true;
    s.receivers = vec![[0.0, 6000.0, 8000.0], [0.0, 3000.0, 4000.0]];
    let history = TimeFunction::Gaussian { tau: 0.15 };
    let moment = Action::double_couple(0.0, 90.0, 0.0, 1e18, 0.0);
    source(&mut s, [2000.0, 0.0, 0.0], moment, |t| history.rate(t));
    let tape = run::<f32>(&s, &grid, |at| medium(at[0]));
    let mut worst = 0.0f64;
    for k in 0..2 {
        let scale = largest(rows.iter().flat_map(|row| row[3 * k..3 * k + 3].to_vec()));
        for (component, (column, sign)) in [(2, -1.0), (0, 1.0), (1, 1.0)].into_iter().enumerate() {
            let trace = tape.trace(component, k, 2);
            // Velocities lie half a step on either side of the rows.
            let at = |row: usize| 0.5 * (trace[7 * row - 1] + trace[7 * row]);
            let misfits = (1..rows.len()).map(|row| sign * at(row) - rows[row][3 * k + column]);
            let apart = largest(misfits) / scale;
            println!("receiver {k} component {component}: {:.2} %", 100.0 * apart);
            worst = worst.max(apart);
        }
    }
    assert!(worst < 0.03, "{worst}");
}
