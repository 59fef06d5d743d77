//! Points off the grid: weights of the surrounding nodes, exact for polynomials of degree five.

use super::adjoint::{Acts, Adjoint};
use super::layout::{RIM, staggered};
use super::medium::live;
use crate::Error;
use crate::grid::points::Point;
use crate::grid::{AXES, Padded};

/// Number of nodes per axis around a point.
pub const NODES: usize = 6;

/// The nodes of one axis around a point: the first one and their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// First node.
    pub first: usize,
    /// Weights of this node and the following ones.
    pub weights: Vec<f64>,
}

/// Lagrange's weights of nodes 0 to `n - 1` for the value at `x`.
pub fn lagrange(n: usize, x: f64) -> Vec<f64> {
    let weight = |i: usize| {
        let others = (0..n).filter(|&j| j != i);
        others.map(|j| (x - j as f64) / (i as f64 - j as f64)).product()
    };
    (0..n).map(weight).collect()
}

/// Lagrange's weights of nodes 0 to `n - 1` for the slope at `x`.
pub fn lagrange_slope(n: usize, x: f64) -> Vec<f64> {
    let weight = |i: usize| {
        let others = || (0..n).filter(move |&j| j != i);
        let without = |m: usize| -> f64 {
            let rest = others().filter(|&j| j != m);
            rest.map(|j| (x - j as f64) / (i as f64 - j as f64)).product()
        };
        others().map(|m| without(m) / (i as f64 - m as f64)).sum()
    };
    (0..n).map(weight).collect()
}

/// Places points on the fields of a grid.
pub(super) struct Placer<'a> {
    /// The grid.
    pub padded: &'a Padded,
    /// The weights of sources below a free surface through the top nodes of the model.
    pub free: Option<&'a Adjoint>,
}

impl Placer<'_> {
    /// Returns an error for a point that lies outside the fields.
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

    /// Weights of a field's nodes on one axis (z, x, y) around a point, for reading: all of them computed nodes.
    pub fn read(&self, point: Point, axis: usize, field: usize) -> Weights {
        let p = self.padded;
        if axis >= p.ndim() {
            return Weights {
                first: 0,
                weights: vec![1.0],
            };
        }
        let (first, nodes, beyond) = self.patch(point, axis, field);
        Weights {
            first,
            weights: lagrange(nodes, beyond),
        }
    }

    /// Weights of the same nodes for the slope of the field along the axis.
    pub fn slope(&self, point: Point, axis: usize, field: usize) -> Weights {
        let (first, nodes, beyond) = self.patch(point, axis, field);
        let d = f64::from(self.padded.d()[axis]);
        let weights = lagrange_slope(nodes, beyond);
        Weights {
            first,
            weights: weights.into_iter().map(|w| w / d).collect(),
        }
    }

    /// The first node of a field around a point, the number of nodes, and the distance of the point from the first in
    /// cells.
    fn patch(&self, point: Point, axis: usize, field: usize) -> (usize, usize, f64) {
        let q = self.cells(point, axis, field);
        let live = live(self.padded.n[axis]);
        let nodes = NODES.min(live.len());
        let first = (q.floor() as isize - (nodes as isize / 2 - 1))
            .clamp(live.start as isize, (live.end - nodes) as isize);
        (first as usize, nodes, q - first as f64)
    }

    /// The weights for a source. Close to a free surface they differ from the weights for a receiver ([`Adjoint`]).
    pub fn spread(&self, point: Point, axis: usize, field: usize) -> Weights {
        let mut nodes = self.read(point, axis, field);
        let Some(adjoint) = self.free.filter(|_| axis == 0) else {
            return nodes;
        };
        let (ndim, top) = (self.padded.ndim(), self.padded.low[0]);
        let shifted = staggered(ndim, field)[0];
        let acts = match (field, shifted) {
            (0, _) => Acts::Vertical,
            _ if field == ndim => Acts::Normal,
            (_, true) => Acts::Shear,
            _ => Acts::Level,
        };
        let half = 0.5 * f64::from(u8::from(shifted));
        let depth = self.cells(point, axis, field) + half - top as f64;
        let first = nodes.first.checked_sub(top);
        let weights = first.and_then(|first| adjoint.weights(acts, first, nodes.weights.len(), depth));
        nodes.weights = weights.unwrap_or(nodes.weights);
        nodes
    }

    /// The coordinate of a point along an axis in cells of a field.
    fn cells(&self, point: Point, axis: usize, field: usize) -> f64 {
        let p = self.padded;
        let half = if staggered(p.ndim(), field)[axis] {
            0.5
        } else {
            0.0
        };
        let q = (f64::from(point[axis]) - f64::from(p.model.o[axis])) / f64::from(p.d()[axis]);
        // Coordinates are float32, so a point within 1e-4 cells of a node is placed on it.
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
        let adjoint = Adjoint::new(&[9.0 / 8.0, -1.0 / 24.0]);
        let placer = Placer {
            padded: &padded,
            free: Some(&adjoint),
        };
        for z in [10.0f32, 10.1, 17.3, 24.5] {
            for field in 0..5 {
                let shift = if staggered(2, field)[0] { 0.25 } else { 0.0 };
                let w = placer.read([z, 0.0, 0.0], 0, field);
                let f = |x: f64| (x - 15.0).powi(5);
                let node = |k: usize| 10.0 + 0.5 * ((w.first + k) as f64 - RIM as f64) + shift;
                let got: f64 = w.weights.iter().enumerate().map(|(k, w)| w * f(node(k))).sum();
                assert!((got - f(f64::from(z))).abs() < 1e-3, "{z} {field}: {got}");
                let slope = placer.slope([z, 0.0, 0.0], 0, field);
                let got: f64 = slope
                    .weights
                    .iter()
                    .enumerate()
                    .map(|(k, w)| w * f(node(k)))
                    .sum();
                let exact = 5.0 * (f64::from(z) - 15.0).powi(4);
                assert!((got - exact).abs() < 1e-2, "{z} {field}: {got} {exact}");
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

    /// Far below a surface a source and a receiver have the same weights; close to it they differ.
    #[test]
    fn sources_far_from_the_surface_do_not_know_it() {
        let grid = Grid::new_2d([30, 40], [0.0; 2], [1.0; 2]);
        let padded = Padded::framed(&grid, [[RIM; 2]; 3]);
        let adjoint = Adjoint::new(&[9.0 / 8.0, -1.0 / 24.0]);
        let placer = Placer {
            padded: &padded,
            free: Some(&adjoint),
        };
        for field in 0..5 {
            let apart = |z: f32| {
                let (w, r) = (
                    placer.spread([z, 0.0, 0.0], 0, field),
                    placer.read([z, 0.0, 0.0], 0, field),
                );
                assert_eq!(w.first, r.first);
                crate::largest::largest(w.weights.iter().zip(&r.weights).map(|(a, b)| a - b))
            };
            assert_eq!(apart(17.2), 0.0);
            assert!(apart(0.3) > 0.1, "{field}");
        }
    }
}
