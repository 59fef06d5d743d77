//! Shear stiffnesses for a staggered grid: the stiffnesses of the effective medium at the points of the shear stresses,
//! half a cell beyond the nodes along two axes. The header of the file says so, and the velocity-stress programs then
//! do not average them.

use anyhow::{Context, Result};
use kernels::medium::voigt::slot;
use rayon::prelude::*;

use super::planes::{Grid, Medium, Planes};
use crate::modelling::model::{IN_PLACE, ON_NODES};

/// Shear stiffnesses below this fraction of c33 are rounding errors, and the medium is a fluid.
const NO_SHEAR: f64 = 1e-9;

/// The largest relative rounding error of planes, which are float32.
const ROUNDING: f32 = 1e-5;

/// The Voigt number of each shear stress and its axes (0 = z, 1 = x, 2 = y).
const SHEARS: [(usize, [usize; 2]); 3] = [(5, [0, 1]), (4, [0, 2]), (6, [1, 2])];

/// The value in the header for the position of the shear stiffnesses.
pub(super) fn place(staggered: bool) -> &'static str {
    if staggered { IN_PLACE } else { ON_NODES }
}

/// Replaces the shear stiffnesses in `planes` by shear stiffnesses for a staggered grid. `line(place, beyond)` gives
/// the points half a cell beyond a line of nodes along the axes z, x, y that `beyond` selects, and `medium` gives the
/// medium of one of them. Shear stresses act only between solid nodes: a point has no shear stiffness if a node around
/// it is fluid.
///
/// # Errors
/// Returns an error for a rock that is not an elastic medium.
pub(super) fn staggered<L>(
    grid: &Grid,
    planes: &mut Planes,
    line: impl Fn([usize; 2], [bool; 3]) -> L + Sync,
    medium: impl Fn(&L, usize) -> Result<Medium> + Sync,
) -> Result<()> {
    let [nz, nx, ny] = grid.n();
    let fluids = fluids(grid, planes);
    for (number, axes) in &SHEARS[..if grid.ndim == 3 { 3 } else { 1 }] {
        let beyond = [0, 1, 2].map(|axis| axes.contains(&axis));
        // Examine the nodes around the point; beyond the grid, the outermost nodes are repeated.
        let slides = |[x, y]: [usize; 2], z: usize| {
            let next = |at: usize, axis: usize, n: usize| [at, (at + usize::from(beyond[axis])).min(n - 1)];
            let nodes = |y| next(x, 1, nx).map(|x| next(z, 0, nz).map(|z| z + nz * (x + nx * y)));
            next(y, 2, ny)
                .map(nodes)
                .into_iter()
                .flatten()
                .flatten()
                .any(|node| fluids[node])
        };
        let plane = &mut planes.stiffness[slot(grid.ndim, (*number, *number))];
        plane.par_chunks_mut(nz).enumerate().try_for_each(|(at, row)| {
            let place = [at % nx, at / nx];
            let line = line(place, beyond);
            for (k, value) in row.iter_mut().enumerate() {
                if !grid.is_outermost(place, k) && slides(place, k) {
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

/// Whether each node is fluid, so that its stress does not depend on the direction of a compression.
fn fluids(grid: &Grid, planes: &Planes) -> Vec<bool> {
    let [c11, c33, c13] = [(1, 1), (3, 3), (1, 3)].map(|pair| &planes.stiffness[slot(grid.ndim, pair)]);
    let node = |k: usize| c11[k] * c33[k] - c13[k] * c13[k] <= ROUNDING * c33[k] * c33[k];
    (0..c33.len()).map(node).collect()
}
