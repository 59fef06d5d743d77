//! Points off the grid: weights of the nodes around them, exact for polynomials of degree five.

use super::layout::{RIM, odd, staggered};
use super::medium::live;
use super::surface::Shares;
use crate::Error;
use crate::grid::{AXES, Padded};
use crate::survey::Point;

/// Nodes an axis that share a point.
pub const NODES: usize = 6;

/// The nodes of one axis around a point: the first one and their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// First node.
    pub first: usize,
    /// Weights of it and those that follow.
    pub weights: Vec<f64>,
}

/// Lagrange's weights of the value at `x` of nodes 0 to `n - 1`.
pub fn lagrange(n: usize, x: f64) -> Vec<f64> {
    let weight = |i: usize| {
        let others = (0..n).filter(|&j| j != i);
        others.map(|j| (x - j as f64) / (i as f64 - j as f64)).product()
    };
    (0..n).map(weight).collect()
}

/// Places points on the fields of a grid.
pub(super) struct Placer<'a> {
    /// The grid.
    pub padded: &'a Padded,
    /// What nodes stand for below a free surface through the first row of the model.
    pub free: Option<&'a Shares>,
}

impl Placer<'_> {
    /// Refuses a point from which the fields cannot be reached.
    pub fn check(&self, point: Point, what: &str, number: usize) -> Result<(), Error> {
        let p = self.padded;
        for a in 0..p.ndim() {
            let at = |cells: usize| f64::from(p.o[a]) + cells as f64 * f64::from(p.d()[a]);
            let (low, high) = (at(RIM), at(p.n[a] - 1 - RIM));
            let slack = 1e-4 * f64::from(p.d()[a]);
            if !(low - slack..=high + slack).contains(&f64::from(point[a])) {
                let list: Vec<String> = (0..p.ndim())
                    .map(|b| format!("{}={}", AXES[b], point[b]))
                    .collect();
                return Err(Error::setup(format!(
                    "{what} {number} at {} is outside the grid: {} must lie in [{low:.6}, {high:.6}], frame included{}; move the point or enlarge the model",
                    list.join(" "),
                    AXES[a],
                    if self.free.is_some() && a == 0 {
                        ", below the free surface"
                    } else {
                        ""
                    }
                )));
            }
        }
        Ok(())
    }

    /// Weights of a field's nodes on one axis (z, x, y) around a point, for reading: all among the computed ones.
    pub fn read(&self, point: Point, axis: usize, field: usize) -> Weights {
        let p = self.padded;
        if axis >= p.ndim() {
            return Weights {
                first: 0,
                weights: vec![1.0],
            };
        }
        let q = self.cells(point, axis, field);
        let live = live(p.n[axis]);
        let nodes = NODES.min(live.len());
        let first = (q.floor() as isize - (nodes as isize / 2 - 1))
            .clamp(live.start as isize, (live.end - nodes) as isize);
        Weights {
            first: first as usize,
            weights: lagrange(nodes, q - first as f64),
        }
    }

    /// The same for a source. Close to a free surface a node stands for less or more than a cell, and what falls on
    /// a stress that vanishes is lost.
    pub fn spread(&self, point: Point, axis: usize, field: usize) -> Weights {
        let mut found = self.read(point, axis, field);
        let Some(shares) = self.free.filter(|_| axis == 0) else {
            return found;
        };
        let (ndim, top) = (self.padded.ndim(), self.padded.low[0]);
        let shifted = staggered(ndim, field)[0];
        for (k, share) in shares.of(field < ndim, shifted).iter().enumerate() {
            if let Some(k) = (top + k).checked_sub(found.first)
                && let Some(w) = found.weights.get_mut(k)
            {
                *w /= share;
            }
        }
        if odd(ndim, field) && !shifted && found.first == top {
            found.weights[0] = 0.0;
        }
        found
    }

    /// A point in cells of a field along an axis.
    fn cells(&self, point: Point, axis: usize, field: usize) -> f64 {
        let p = self.padded;
        let half = if staggered(p.ndim(), field)[axis] {
            0.5
        } else {
            0.0
        };
        let q = (f64::from(point[axis]) - f64::from(p.model.o[axis])) / f64::from(p.d()[axis]);
        // Coordinates are float32: what is meant for a node sits on it.
        let node = if (q - q.round()).abs() < 1e-4 {
            q.round()
        } else {
            q
        };
        node + p.low[axis] as f64 - half
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn polynomials_are_read_exactly_also_beside_the_rim() {
        let grid = Grid::new_2d([30, 40], [10.0, -3.0], [0.5, 0.25]);
        let padded = Padded::framed(&grid, [[RIM; 2]; 3]);
        let shares = Shares::new(&[9.0 / 8.0, -1.0 / 24.0]);
        let placer = Placer {
            padded: &padded,
            free: Some(&shares),
        };
        for z in [10.0f32, 10.1, 17.3, 24.5] {
            for field in 0..5 {
                let shift = if staggered(2, field)[0] { 0.25 } else { 0.0 };
                let w = placer.read([z, 0.0, 0.0], 0, field);
                let f = |x: f64| (x - 15.0).powi(5);
                let node = |k: usize| 10.0 + 0.5 * ((w.first + k) as f64 - RIM as f64) + shift;
                let got: f64 = w.weights.iter().enumerate().map(|(k, w)| w * f(node(k))).sum();
                assert!((got - f(f64::from(z))).abs() < 1e-3, "{z} {field}: {got}");
                assert!(w.first >= RIM && w.first + NODES <= padded.n[0] - RIM);
            }
        }
        assert!(
            placer
                .check([9.9, 0.0, 0.0], "source", 3)
                .unwrap_err()
                .to_string()
                .contains("source 3")
        );
        assert!(placer.check([10.0, 0.0, 0.0], "source", 3).is_ok());
    }

    #[test]
    fn sources_at_the_surface_keep_their_strength_and_place() {
        let grid = Grid::new_2d([30, 40], [0.0; 2], [1.0; 2]);
        let padded = Padded::framed(&grid, [[RIM; 2]; 3]);
        let shares = Shares::new(&[9.0 / 8.0, -1.0 / 24.0]);
        let placer = Placer {
            padded: &padded,
            free: Some(&shares),
        };
        // Against the sum that is an integral: strength and place of a force.
        for (field, half) in [(0, 0.5), (1, 0.0)] {
            for z in [0.0f32, 0.4, 2.0] {
                let w = placer.spread([z, 0.0, 0.0], 0, field);
                let of = shares.of(true, half > 0.0);
                let share = |k: usize| of.get(w.first + k - RIM).copied().unwrap_or(1.0);
                let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
                    let nodes = w.weights.iter().enumerate();
                    nodes
                        .map(|(k, x)| x * share(k) * f((w.first + k - RIM) as f64 + half))
                        .sum()
                };
                assert!((sum(&|_| 1.0) - 1.0).abs() < 1e-9 && (sum(&|x| x) - f64::from(z)).abs() < 1e-6);
            }
        }
        // szz vanishes there.
        assert!(
            placer
                .spread([0.0; 3], 0, 2)
                .weights
                .iter()
                .all(|w| w.abs() < 1e-12)
        );
        let deep = placer.spread([17.0, 0.0, 0.0], 0, 2);
        assert_eq!(deep, placer.read([17.0, 0.0, 0.0], 0, 2));
    }
}
