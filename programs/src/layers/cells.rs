//! The medium of every node: the medium of its layer, or the effective medium of all layers within its window.

use anyhow::{Context, Result};
use kernels::medium::window::{REACH, Window};
use kernels::medium::{Coefficients, Voigt, effective, rotate, triclinic};

use super::columns::{Column, Columns};
use super::planes::Medium;
use super::rocks::Rock;

/// Shares below this number are rounding errors of windows.
const NOTHING: f64 = 1e-6;

/// The input for the medium of a node: horizons, rocks, depths and the window of shares.
pub(super) struct Cells<'a> {
    columns: &'a Columns,
    rocks: &'a [Rock],
    /// The media of rocks that are the same at every depth and elastic.
    constant: Vec<Option<Medium>>,
    /// First depth and spacing along z.
    z: [f64; 2],
    window: Window,
    /// A table of [`Window::below`] of the window.
    below: Table,
    /// The Gaussian bell of a standard deviation of one spacing, by which normals are averaged.
    bell: Table,
}

/// A function of distances of at most [`FAR`] spacings, interpolated linearly; the function is constant beyond.
/// Its values are needed for every column around every cut node, where computing them would take most of the time.
struct Table(Vec<f64>);

/// The largest distance of a [`Table`], in spacings, and its entries per spacing, for which interpolation is accurate
/// to 1e-7.
const FAR: f64 = 8.0;
const ENTRIES: f64 = 2048.0;

impl Table {
    fn of(function: impl Fn(f64) -> f64) -> Self {
        let last = (2.0 * FAR * ENTRIES) as usize;
        Self(
            (0..=last + 1)
                .map(|k| function(k as f64 / ENTRIES - FAR))
                .collect(),
        )
    }

    fn at(&self, distance: f64) -> f64 {
        let place = (distance.clamp(-FAR, FAR) + FAR) * ENTRIES;
        let entry = place as usize;
        let rest = place - entry as f64;
        self.0[entry] + rest * (self.0[entry + 1] - self.0[entry])
    }
}

/// The nodes below one position in x and y (or points half a cell beyond the nodes), before their depths are known.
pub(super) struct Line<'a> {
    cells: &'a Cells<'a>,
    around: Vec<Column>,
    /// The share of each column in the window and in the cell, and its weight in the normal.
    shares: Vec<[f64; 3]>,
    /// Shallowest and deepest z of each horizon in these columns.
    spans: Vec<[f64; 2]>,
    /// True if the points lie half a cell below the nodes.
    lower: bool,
    /// True if the points are the positions of shear stresses, half a cell beyond the nodes along two axes.
    shears: bool,
}

impl<'a> Cells<'a> {
    /// The media of nodes with the first depth and the spacing `z`.
    pub(super) fn new(columns: &'a Columns, rocks: &'a [Rock], z: [f64; 2], window: Window) -> Self {
        let constant = |rock: &Rock| rock.is_constant().then(|| rock.at(z[0]).ok()).flatten();
        Self {
            columns,
            rocks,
            constant: rocks.iter().map(constant).collect(),
            z,
            window,
            below: Table::of(|s| window.below(s)),
            bell: Table::of(|s| (-0.5 * s * s).exp()),
        }
    }

    /// The line of nodes below a position in x and y, or of points half a cell beyond the nodes along the axes z, x, y
    /// that `beyond` selects.
    pub(super) fn line(&'a self, place: [usize; 2], beyond: [bool; 3]) -> Line<'a> {
        let mut around = self.columns.around(place, [beyond[1], beyond[2]]);
        let span = |horizon: usize| {
            let depths = around.iter().map(|c| self.columns.depth(horizon, c.place));
            depths.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], z| {
                [low.min(z), high.max(z)]
            })
        };
        let spans: Vec<_> = (0..self.columns.horizons()).map(span).collect();
        let shares = if spans.iter().all(|[low, high]| low == high) {
            // Below flat horizons one column represents all.
            let middle = around.len() / 2;
            around = vec![around[middle]];
            vec![[1.0; 3]]
        } else {
            self.shares(&around)
        };
        Line {
            cells: self,
            shares,
            spans,
            around,
            lower: beyond[0],
            shears: beyond.contains(&true),
        }
    }

    /// The share of each column in the window and in the cell, and its weight in the normal.
    fn shares(&self, around: &[Column]) -> Vec<[f64; 3]> {
        let along = |off: f64| {
            let [low, high] = Columns::limits(off);
            let part = |window: Window| window.below(high) - window.below(low);
            [part(self.window), part(Window::Cell), (-0.5 * off * off).exp()]
        };
        let row = around
            .iter()
            .take_while(|column| column.off[1] == around[0].off[1]);
        let along_x: Vec<_> = row.map(|column| along(column.off[0])).collect();
        let rows = around.chunks(along_x.len());
        rows.flat_map(|row| {
            let y = if self.columns.is_3d() {
                along(row[0].off[1])
            } else {
                [1.0; 3]
            };
            along_x.iter().map(move |x| std::array::from_fn(|k| x[k] * y[k]))
        })
        .collect()
    }
}

impl Line<'_> {
    /// Density and stiffness (Voigt, 6 by 6) of the node `k` of the line. If the window does not give an elastic
    /// medium, the shares in the node's cell are used; for fluids that meet rocks on a staggered grid, see [`mixed`].
    ///
    /// # Errors
    /// Returns an error for a rock that is not an elastic medium at this depth.
    pub(super) fn medium(&self, k: usize) -> Result<Medium> {
        let (z, step) = (self.depth(k), self.cells.z[1]);
        let rock = |layer: usize| match self.cells.constant[layer] {
            Some(medium) => Ok(medium),
            None => {
                let rock = self.cells.rocks[layer].at(z);
                rock.with_context(|| format!("layer {} of {}", layer + 1, self.cells.rocks.len()))
            }
        };
        if let Some(layer) = self.alone(z, step) {
            return rock(layer);
        }
        let in_window = self.shares_of(z, self.cells.window);
        let held = |shares: &[f64]| -> Vec<usize> {
            (0..shares.len()).filter(|l| shares[*l].abs() > NOTHING).collect()
        };
        let layers = held(&in_window);
        if let [layer] = layers[..] {
            return rock(layer);
        }
        let fluids = layers.iter().filter(|l| self.cells.rocks[**l].is_fluid(z));
        let fluids = fluids.count();
        let coupled = fluids == 0 || fluids == layers.len();
        let normal = self.normal(z);
        let of = |shares: &[f64]| -> Result<Medium> {
            let mut density = 0.0;
            let mut parts = Vec::new();
            for layer in held(shares) {
                let (rho, c) = rock(layer)?;
                density += shares[layer] * rho;
                parts.push((shares[layer], c));
            }
            let c = match (&parts[..], self.cells.window) {
                ([(_, c)], _) => *c,
                (_, Window::Staggered) if coupled => {
                    effective::orthorhombic(&effective::effective(&parts, normal))
                }
                (_, Window::Staggered) => mixed(&parts, normal, self.shears),
                _ => effective::effective(&parts, normal),
            };
            Ok((density, c))
        };
        if coupled {
            let (density, c) = of(&in_window)?;
            if density > 0.0 && is_sound(&c) {
                return Ok((density, c));
            }
        }
        of(&self.shares_of(z, Window::Cell))
    }

    fn depth(&self, k: usize) -> f64 {
        let [first, step] = self.cells.z;
        first + (k as f64 + if self.lower { 0.5 } else { 0.0 }) * step
    }

    /// The layer that alone fills all windows at this depth, if there is one.
    fn alone(&self, z: f64, step: f64) -> Option<usize> {
        let reach = REACH as f64 * step;
        let mut above = 0;
        for [low, high] in &self.spans {
            if *high <= z - reach {
                above += 1;
            } else if *low < z + reach {
                return None;
            }
        }
        Some(above)
    }

    /// The share of each layer in the window around depth `z`, from the top down; their sum is one.
    fn shares_of(&self, z: f64, window: Window) -> Vec<f64> {
        let step = self.cells.z[1];
        let mut shares = vec![0.0; self.spans.len() + 1];
        let of_cell = window == Window::Cell;
        for (column, share) in self.around.iter().zip(&self.shares) {
            let share = share[usize::from(of_cell)];
            if share == 0.0 {
                continue;
            }
            let mut above = 0.0;
            for horizon in 0..self.spans.len() {
                let distance = (self.cells.columns.depth(horizon, column.place) - z) / step;
                let below = match of_cell {
                    true => window.below(distance),
                    false => self.cells.below.at(distance),
                };
                shares[horizon] += share * (below - above);
                above = below;
            }
            shares[self.spans.len()] += share * (1.0 - above);
        }
        shares
    }

    /// The mean normal (x, y, z; of any length) of the horizons around depth `z`, with Gaussian weights of one spacing.
    fn normal(&self, z: f64) -> [f64; 3] {
        let step = self.cells.z[1];
        let mut sum = [0.0, 0.0, 1e-300];
        for (column, [.., across]) in self.around.iter().zip(&self.shares) {
            for horizon in 0..self.spans.len() {
                let s = (self.cells.columns.depth(horizon, column.place) - z) / step;
                let weight = across * self.cells.bell.at(s);
                if weight > 1e-12 {
                    let [along_x, along_y] = self.cells.columns.slopes(horizon, column.place);
                    sum[0] -= weight * along_x;
                    sum[1] -= weight * along_y;
                    sum[2] += weight;
                }
            }
        }
        sum
    }
}

/// The medium of these parts of a cell of a staggered grid, where fluids meet rocks: at nodes the medium of an
/// [`effective::contact`], and at the points of shear stresses between nodes of rock the medium of the rocks alone.
pub(super) fn mixed(parts: &[(f64, Voigt)], normal: [f64; 3], shears: bool) -> Voigt {
    match shears {
        true => effective::of_rocks(parts, normal).unwrap_or_else(|| effective::effective(parts, normal)),
        false => effective::contact(parts, normal),
    }
}

/// Whether a medium is elastic.
pub(super) fn is_sound(c: &Voigt) -> bool {
    let table = Coefficients::All.table(3);
    let values: Vec<f64> = table.pairs.iter().map(|&pair| rotate::entry(c, pair)).collect();
    triclinic::fault(3, &values).is_none()
}
