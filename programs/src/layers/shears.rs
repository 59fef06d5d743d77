//! Shear stiffness for a staggered grid: that of the effective medium at the shear stresses, half a cell beyond the nodes along
//! two axes. The header of the file says so, and the velocity-stress programs then take no means.

use anyhow::{Context, Result};
use kernels::medium::voigt::slot;
use rayon::prelude::*;

use super::planes::{Grid, Medium, Planes};
use crate::modelling::model::{IN_PLACE, ON_NODES};

/// Shear stiffnesses below this share of c33 are rounding errors, and the medium is a fluid.
const NO_SHEAR: f64 = 1e-9;

/// Voigt number of a shear stress and its axes (0 = z, 1 = x, 2 = y).
const SHEARS: [(usize, [usize; 2]); 3] = [(5, [0, 1]), (4, [0, 2]), (6, [1, 2])];

/// What the header says of where shear stiffnesses stand.
pub(super) fn place(staggered: bool) -> &'static str {
    if staggered { IN_PLACE } else { ON_NODES }
}

/// Replaces the shear stiffnesses of `planes` by those for a staggered grid; `line(place, beyond)` are the points half a cell
/// beyond a line of nodes along z, x, y, `medium` is that of one of them, and `is_partly_fluid` says that its cell holds fluid and rock. There
/// the stack of both has a shear stiffness where it is tilted, of second order in the tilt: no wave of the medium has its speed.
///
/// # Errors
/// A rock that is no elastic medium.
pub(super) fn staggered<L>(
    grid: &Grid,
    planes: &mut Planes,
    line: impl Fn([usize; 2], [bool; 3]) -> L + Sync,
    medium: impl Fn(&L, usize) -> Result<Medium> + Sync,
    is_partly_fluid: impl Fn(&L, usize) -> bool + Sync,
) -> Result<()> {
    let [nz, nx, _] = grid.n();
    for (number, axes) in &SHEARS[..if grid.ndim == 3 { 3 } else { 1 }] {
        let beyond = [0, 1, 2].map(|axis| axes.contains(&axis));
        let plane = &mut planes.stiffness[slot(grid.ndim, (*number, *number))];
        plane.par_chunks_mut(nz).enumerate().try_for_each(|(at, row)| {
            let line = line([at % nx, at / nx], beyond);
            for (k, value) in row.iter_mut().enumerate() {
                if is_partly_fluid(&line, k) {
                    *value = 0.0;
                    continue;
                }
                let (_, c) = medium(&line, k).with_context(|| format!("c{number}{number} below node {k}"))?;
                let shear = c[number - 1][number - 1];
                *value = if shear > NO_SHEAR * c[2][2] {
                    shear as f32
                } else {
                    0.0
                };
            }
            anyhow::Ok(())
        })?;
    }
    Ok(())
}
