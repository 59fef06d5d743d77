//! The depths of all horizons in columns that are narrower than cells.

use anyhow::{Result, bail};
use kernels::medium::window::REACH;
use rsf_io::{Axis, Job};

use crate::surfaces::Surface;

/// The number of columns in a cell along x and along y. It is even, for the half cells of staggered points.
const FINE: usize = 4;

/// z of all horizons, from the top down, on a grid of columns around the nodes.
pub(super) struct Columns {
    /// z of each horizon in all columns, x fastest.
    depths: Vec<Vec<f64>>,
    /// The number of columns along x and y; a single one along y in 2-D.
    n: [usize; 2],
    /// Distance of neighbouring columns along x and y.
    step: [f64; 2],
}

/// A column near a node: its offset along x and y in spacings, and its index in the list.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) off: [f64; 2],
    pub(super) place: usize,
}

impl Columns {
    /// The horizons of `horizons=` over the grid.
    ///
    /// # Errors
    /// Returns an error for maps that do not cover the grid, or horizons that cross.
    pub(super) fn of(horizons: &[Surface], axes: &[Axis; 3], ndim: usize) -> Result<Self> {
        let pad = REACH * FINE;
        let count = |axis: &Axis| (axis.n - 1) * FINE + 2 * pad + FINE / 2;
        let n = [count(&axes[1]), if ndim == 3 { count(&axes[2]) } else { 1 }];
        // The absorbing frame of a run repeats the outermost values of the model, and so do columns beyond
        // the grid.
        let place = |axis: &Axis, k: usize| {
            let at = (k as f64 - pad as f64 + 0.5) / FINE as f64;
            f64::from(axis.o) + f64::from(axis.d) * at.clamp(0.0, (axis.n - 1) as f64)
        };
        let mut depths: Vec<Vec<f64>> = Vec::with_capacity(horizons.len());
        for (number, horizon) in horizons.iter().enumerate() {
            let mut of_this = Vec::with_capacity(n[0] * n[1]);
            for k in 0..n[0] * n[1] {
                let x = place(&axes[1], k % n[0]);
                let y = if ndim == 3 { place(&axes[2], k / n[0]) } else { 0.0 };
                let z = horizon.at([x, y])?;
                if let Some(above) = number.checked_sub(1).map(|above| depths[above][k])
                    && z < above
                {
                    let shown = if ndim == 3 {
                        format!("x={x}, y={y}")
                    } else {
                        format!("x={x}")
                    };
                    bail!(
                        "horizons {number} and {} of horizons= cross: at {shown} they lie at z={} and z={}; \
                        horizons go from the top down and may touch but not cross, so truncate the lower one \
                        at the upper one (sfmath with output='0.5*(x+y+abs(x-y))' takes the deeper of two \
                        maps x and y)",
                        number + 1,
                        above as f32,
                        z as f32
                    );
                }
                of_this.push(z);
            }
            depths.push(of_this);
        }
        let step = [1, 2].map(|k| f64::from(axes[k].d) / FINE as f64);
        Ok(Self { depths, n, step })
    }

    /// The number of horizons.
    pub(super) fn horizons(&self) -> usize {
        self.depths.len()
    }

    /// The columns around a node, or around the point half a cell beyond it along the axes that `beyond`
    /// selects.
    pub(super) fn around(&self, node: [usize; 2], beyond: [bool; 2]) -> Vec<Column> {
        let pad = REACH * FINE;
        let along = |axis: usize| -> Vec<(f64, usize)> {
            if self.n[axis] == 1 {
                return vec![(0.0, 0)];
            }
            let first = node[axis] * FINE + if beyond[axis] { FINE / 2 } else { 0 };
            let off = |j: usize| (j as f64 - pad as f64 + 0.5) / FINE as f64;
            (0..2 * pad).map(|j| (off(j), first + j)).collect()
        };
        let (xs, ys) = (along(0), along(1));
        let all = ys.iter().flat_map(|y| xs.iter().map(move |x| (x, y)));
        all.map(|(x, y)| Column {
            off: [x.0, y.0],
            place: x.1 + self.n[0] * y.1,
        })
        .collect()
    }

    /// The ends, along one axis, of a column at this offset from a node, in spacings.
    pub(super) fn limits(off: f64) -> [f64; 2] {
        let half = 0.5 / FINE as f64;
        [off - half, off + half]
    }

    /// Whether windows have a width along y.
    pub(super) fn is_3d(&self) -> bool {
        self.n[1] > 1
    }

    /// z of a horizon in a column.
    pub(super) fn depth(&self, horizon: usize, place: usize) -> f64 {
        self.depths[horizon][place]
    }

    /// Slopes of a horizon along x and y in a column.
    pub(super) fn slopes(&self, horizon: usize, place: usize) -> [f64; 2] {
        let index = [place % self.n[0], place / self.n[0]];
        let stride = [1, self.n[0]];
        std::array::from_fn(|axis| {
            let (i, last) = (index[axis], self.n[axis] - 1);
            let (back, on) = (usize::from(i > 0), usize::from(i < last));
            if back + on == 0 {
                return 0.0;
            }
            let z = &self.depths[horizon];
            (z[place + on * stride[axis]] - z[place - back * stride[axis]])
                / ((back + on) as f64 * self.step[axis])
        })
    }
}

/// Opens the entries of `horizons=`.
///
/// # Errors
/// Returns an error if there are no horizons, or for an entry that is neither a number nor a map.
pub(super) fn open(job: &mut Job) -> Result<Vec<Surface>> {
    let Some(text) = job.text("horizons")? else {
        bail!(
            "horizons= is missing: the depths of the interfaces from the top down, numbers or RSF maps, separated by commas"
        );
    };
    text.split(',')
        .map(|word| Surface::open(job, "horizons", word.trim()))
        .collect()
}
