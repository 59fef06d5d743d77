//! Receivers at points off the grid, each component interpolated from its own staggered nodes.

use super::layout::{normal, velocity};
use super::points::{Placer, Weights};
use super::sources::for_each;
use crate::Error;
use crate::device::simd::Real;
use crate::grid::points::Point;
pub use crate::receiver::{Quantity, Readings};
use std::ops::Range;

/// Axes (z, x, y) of the components of the strain in 3-D.
const STRAINS: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];
/// Axes of the components of the strain in 2-D.
const STRAINS_2D: [[usize; 2]; 3] = [[0, 0], [1, 1], [0, 1]];
/// Axes `a`, `b` of the components of the rotation `(d_a v_b - d_b v_a) / 2` about z, x and y.
const ROTATIONS: [[usize; 2]; 3] = [[1, 2], [2, 0], [0, 1]];

impl Quantity {
    /// The time of record 0, in steps after the start: strains and rotations are sums of rates that are interpolated
    /// from the velocities.
    pub fn first_time(self) -> f64 {
        match self {
            Self::Velocity => 0.5,
            Self::Acceleration => 0.0,
            _ => 1.0,
        }
    }

    /// Whether the quantity needs the steps between two records.
    pub fn runs(self) -> bool {
        matches!(
            self,
            Self::Displacement | Self::Acceleration | Self::Strain | Self::Rotation
        )
    }

    /// The quantity of the snapshots where receivers record this one.
    pub fn of_snapshots(self) -> Self {
        match self {
            Self::Pressure => Self::Pressure,
            Self::Readings(readings) if readings.pressure_snapshots => Self::Pressure,
            _ => Self::Velocity,
        }
    }

    /// Whether the pressure is read.
    pub fn reads_pressure(self) -> bool {
        match self {
            Self::Readings(readings) => readings.pressure,
            other => other == Self::Pressure,
        }
    }

    /// The largest number of fields that a component reads.
    pub fn parts(self, ndim: usize) -> usize {
        match self {
            Self::Strain | Self::Rotation => 2,
            Self::Readings(readings) => readings.all().map(|q| q.parts(ndim)).max().unwrap_or(1),
            _ => self.fields(ndim, 0).0.len(),
        }
    }

    /// The fields of a component of velocity or pressure, in the order z, x, y, and the factor of their sum.
    pub fn fields(self, ndim: usize, component: usize) -> (Vec<usize>, f64) {
        match self {
            Self::Pressure => (normal(ndim).collect(), -1.0 / ndim as f64),
            _ => (
                vec![velocity(ndim, if ndim == 3 { component } else { 2 * component })],
                1.0,
            ),
        }
    }
}

/// A node that a receiver reads.
#[derive(Clone)]
pub(super) struct Node<T> {
    pub field: u32,
    pub plane: u32,
    pub row: u32,
    pub z: u32,
    pub weight: T,
}

/// All receivers of a shot.
#[derive(Clone)]
pub(super) struct Receivers<T> {
    /// The plane of each receiver.
    planes: Vec<usize>,
    /// `[component][receiver]`
    nodes: Vec<Vec<Vec<Node<T>>>>,
}

/// The fields of a component, the axis (z, x, y) along which each is differentiated, and their factors.
fn parts(quantity: Quantity, ndim: usize, component: usize) -> Vec<(usize, Option<usize>, f64)> {
    if let Quantity::Readings(readings) = quantity {
        let mut left = component;
        for read in readings.all() {
            match left.checked_sub(read.components(ndim)) {
                Some(rest) => left = rest,
                None => return parts(read, ndim, left),
            }
        }
        return Vec::new();
    }
    if quantity == Quantity::Strain {
        let [a, b] = match ndim {
            3 => STRAINS[component],
            _ => STRAINS_2D[component],
        };
        // Velocities come first among the fields, in the order of these axes.
        return vec![(a, Some(b), 0.5), (b, Some(a), 0.5)];
    }
    if quantity == Quantity::Rotation {
        let [a, b] = match ndim {
            3 => ROTATIONS[component],
            _ => ROTATIONS[2],
        };
        return vec![(b, Some(a), 0.5), (a, Some(b), -0.5)];
    }
    let (fields, share) = quantity.fields(ndim, component);
    fields.into_iter().map(|field| (field, None, share)).collect()
}

impl<T: Real> Receivers<T> {
    /// Computes the nodes and weights of the receivers.
    pub fn new(placer: &Placer<'_>, points: &[Point], quantity: Quantity) -> Result<Self, Error> {
        let p = placer.padded;
        let ndim = p.ndim();
        for (k, &point) in points.iter().enumerate() {
            placer.check(point, "receiver", k + 1)?;
        }
        let axis = ndim - 1;
        let plane = |point: &Point| {
            let q = (f64::from(point[axis]) - f64::from(p.model.o[axis])) / f64::from(p.d()[axis]);
            ((q + 1e-4).floor() + p.low[axis] as f64) as usize
        };
        let read = |point: Point, component: usize| {
            let mut nodes = Vec::new();
            for (field, along, share) in parts(quantity, ndim, component) {
                let weights: [Weights; 3] = [0, 1, 2].map(|a| match along == Some(a) {
                    true => placer.slope(point, a, field),
                    false => placer.read(point, a, field),
                });
                for_each(&weights, ndim, |plane, row, z, weight| {
                    nodes.push(Node {
                        field: field as u32,
                        plane: plane as u32,
                        row: row as u32,
                        z: z as u32,
                        weight: T::of(weight * share),
                    });
                });
            }
            nodes
        };
        Ok(Self {
            planes: points.iter().map(plane).collect(),
            nodes: (0..quantity.components(ndim))
                .map(|c| points.iter().map(|&point| read(point, c)).collect())
                .collect(),
        })
    }

    /// Number of receivers.
    pub fn len(&self) -> usize {
        self.planes.len()
    }

    /// Number of values in a record.
    pub fn values(&self) -> usize {
        self.nodes.len() * self.len()
    }

    /// Receivers on these planes, in increasing order.
    pub fn within(&self, planes: &Range<usize>) -> Vec<usize> {
        let inside = |k: &usize| planes.contains(&self.planes[*k]);
        (0..self.len()).filter(inside).collect()
    }

    /// Indices in a record of the receivers on these planes.
    pub fn own(&self, planes: &Range<usize>) -> impl Iterator<Item = usize> {
        let (planes, n) = (planes.clone(), self.len().max(1));
        (0..self.values()).filter(move |k| planes.contains(&self.planes[k % n]))
    }

    /// The nodes of an entry of a record.
    pub fn nodes(&self, number: usize) -> &[Node<T>] {
        let n = self.len().max(1);
        &self.nodes[number / n][number % n]
    }

    /// Reads the receivers whose plane is among `planes` into `out`, `[component][receiver]`: `value(field, plane,
    /// row, z)` is the value of a field, `take(old, read)` updates an entry.
    pub fn extract(
        &self,
        planes: &Range<usize>,
        value: impl Fn(usize, usize, usize, usize) -> T,
        mut take: impl FnMut(&mut T, T),
        out: &mut [T],
    ) {
        for (nodes, out) in self.nodes.iter().zip(out.chunks_mut(self.len().max(1))) {
            for ((nodes, plane), out) in nodes.iter().zip(&self.planes).zip(out) {
                if planes.contains(plane) {
                    let mut sum = T::of(0.0);
                    for n in nodes {
                        let [field, plane, row, z] = [n.field, n.plane, n.row, n.z].map(|k| k as usize);
                        sum += n.weight * value(field, plane, row, z);
                    }
                    take(out, sum);
                }
            }
        }
    }
}
