//! Points off the grid: weights of the nodes around them, exact for polynomials of degree five.

use super::layout::{RIM, odd, staggered};
use super::medium::live;
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
pub struct Placer<'a> {
    /// The grid.
    pub padded: &'a Padded,
    /// Whether the first row of the model is a free surface.
    pub free: bool,
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
                    if self.free && a == 0 {
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

    /// The same for a source. What would come to lie above a free surface is put where its mirror image is: a field
    /// that is even there gets it with its sign, an odd one with the other.
    pub fn spread(&self, point: Point, axis: usize, field: usize) -> Weights {
        let p = self.padded;
        let plain = self.read(point, axis, field);
        if axis != 0 || !self.free {
            return plain;
        }
        let q = self.cells(point, axis, field);
        let (nodes, top) = (plain.weights.len(), p.low[0]);
        let first = q.floor() as isize - (nodes as isize / 2 - 1);
        let shifted = staggered(p.ndim(), field)[0];
        let reach = top as isize - usize::from(shifted) as isize;
        if first > reach || first + nodes as isize > live(p.n[0]).end as isize {
            return plain;
        }
        let sign = if odd(p.ndim(), field) { -1.0 } else { 1.0 };
        let mut weights = vec![0.0; nodes];
        for (k, w) in lagrange(nodes, q - first as f64).into_iter().enumerate() {
            let z = first + k as isize;
            let image = 2 * top as isize - z - isize::from(shifted);
            for (at, w) in [(z, w), (image, sign * w)] {
                if let Some(w_at) = usize::try_from(at - top as isize)
                    .ok()
                    .and_then(|k| weights.get_mut(k))
                {
                    *w_at += w;
                }
            }
        }
        Weights { first: top, weights }
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
        let placer = Placer {
            padded: &padded,
            free: true,
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
    fn sources_at_the_surface_keep_their_strength() {
        let grid = Grid::new_2d([30, 40], [0.0; 2], [1.0; 2]);
        let padded = Padded::framed(&grid, [[RIM; 2]; 3]);
        let placer = Placer {
            padded: &padded,
            free: true,
        };
        // A force at the surface: vz has its nodes half a cell below, vx one on the surface that owns half a cell.
        let vz = placer.spread([0.0; 3], 0, 0);
        let vx = placer.spread([0.0; 3], 0, 1);
        assert!((vz.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!((vx.first, vx.weights[0]), (RIM, 2.0));
        // szz vanishes there.
        assert!(
            placer
                .spread([0.0; 3], 0, 2)
                .weights
                .iter()
                .all(|w| w.abs() < 1e-12)
        );
        let deep = placer.spread([7.0, 0.0, 0.0], 0, 2);
        assert_eq!(deep, placer.read([7.0, 0.0, 0.0], 0, 2));
    }
}
