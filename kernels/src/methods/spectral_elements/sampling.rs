//! Interpolation of a model on a regular grid that never crosses the interface of a region.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::pml::Pml;
use crate::Error;
use crate::mesh::{Locator, Mesh, Place};

/// The grid of a model, along the axes of the mesh: x[, y], z. Along an axis with a single node the model is constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice<const D: usize> {
    /// Number of nodes.
    pub n: [usize; D],
    /// Position of the first node, m.
    pub o: [f64; D],
    /// Spacing, m.
    pub d: [f64; D],
}

/// Nodes with their weights, whose sum is one.
pub(super) type Corners = Vec<(usize, f64)>;

/// Marks a node outside the mesh, and one on an interface of regions, which belongs to neither side.
const OUTSIDE: u32 = u32::MAX;
const BETWEEN: u32 = u32::MAX - 1;

/// How far a position may lie beyond the outermost nodes, in grid steps.
const BEYOND: f64 = 0.5;
/// How far a point of an element may lie from the nearest node of its region, in grid steps.
const FAR: usize = 6;
/// A node at most this far outside an element, in its local coordinates, counts as on its side.
const ON_SIDE: f64 = 1e-3;

impl<const D: usize> Lattice<D> {
    /// Total number of nodes.
    pub fn nodes(&self) -> usize {
        self.n.iter().product()
    }

    /// The index of a node in files: z fastest, then x, then y.
    fn number(&self, at: [usize; D]) -> usize {
        let plane = (0..D - 1).rev().fold(0, |number, c| number * self.n[c] + at[c]);
        plane * self.n[D - 1] + at[D - 1]
    }

    fn position(&self, at: [usize; D]) -> [f64; D] {
        std::array::from_fn(|c| self.o[c] + at[c] as f64 * self.d[c])
    }

    /// The node below a position on every axis, and the fractional distance beyond it, from 0 to 1; `None` far outside.
    fn cell(&self, x: [f64; D]) -> Option<([usize; D], [f64; D])> {
        let (mut at, mut share) = ([0; D], [0.0; D]);
        for c in (0..D).filter(|c| self.n[*c] > 1) {
            let (t, last) = ((x[c] - self.o[c]) / self.d[c], (self.n[c] - 1) as f64);
            if !(-BEYOND..=last + BEYOND).contains(&t) {
                return None;
            }
            let t = t.clamp(0.0, last);
            at[c] = (t as usize).min(self.n[c] - 2);
            share[c] = t - at[c] as f64;
        }
        Some((at, share))
    }

    /// The nodes around a position with the weights of linear interpolation.
    fn around(&self, (at, share): ([usize; D], [f64; D])) -> Corners {
        let corner = |code: usize| {
            let high: [bool; D] = std::array::from_fn(|c| code >> c & 1 == 1);
            let weight = (0..D).map(|c| if high[c] { share[c] } else { 1.0 - share[c] });
            let node = std::array::from_fn(|c| at[c] + usize::from(high[c] && self.n[c] > 1));
            (self.number(node), weight.product::<f64>())
        };
        (0..1 << D)
            .map(corner)
            .filter(|(_, weight)| *weight > 0.0)
            .collect()
    }
}

/// A grid, and the region of each node.
#[derive(Clone, Debug)]
pub(super) struct Sampling<const D: usize> {
    pub(super) lattice: Lattice<D>,
    /// Number of grids: one for all regions or one for each.
    pub(super) grids: usize,
    /// The region of every node; empty if every region has a separate grid.
    owners: Vec<u32>,
    /// Perfectly matched layers, into which the values at the edge of the grid are continued.
    layers: Option<Pml<D>>,
}

impl<const D: usize> Sampling<D> {
    /// Sampling of one grid for all regions of a mesh, or of `grids` grids, one for each region.
    pub(super) fn new(mesh: &Mesh<D>, lattice: Lattice<D>, grids: usize, layers: Option<&Pml<D>>) -> Self {
        let owners = if grids == 1 {
            owners(mesh, &lattice)
        } else {
            Vec::new()
        };
        Self {
            lattice,
            grids,
            owners,
            layers: layers.cloned(),
        }
    }

    /// Moves a position in perfectly matched layers to the edge of a grid that ends before it.
    fn within(&self, x: [f64; D]) -> [f64; D] {
        let (lattice, Some(layers)) = (&self.lattice, &self.layers) else {
            return x;
        };
        let axes = layers.axes(&[x]);
        std::array::from_fn(|c| {
            let last = lattice.o[c] + (lattice.n[c] - 1) as f64 * lattice.d[c];
            match axes >> c & 1 == 1 && lattice.n[c] > 1 {
                true => x[c].clamp(lattice.o[c], last.max(lattice.o[c])),
                false => x[c],
            }
        })
    }

    /// The nodes (as indices into the nodes of all grids) and the weights for a position in a region.
    ///
    /// # Errors
    /// Returns an error for a position beyond the grid, or without a node of the region near it.
    pub(super) fn corners(&self, region: usize, x: [f64; D]) -> Result<Corners, Error> {
        let (lattice, x) = (&self.lattice, self.within(x));
        let Some(cell) = lattice.cell(x) else {
            let ends = |c: usize| {
                let last = lattice.o[c] + (lattice.n[c] - 1) as f64 * lattice.d[c];
                format!("{} to {last}", lattice.o[c])
            };
            let names = if D == 2 { &["x", "z"][..] } else { &["x", "y", "z"] };
            let all: Vec<String> = (0..D).map(|c| format!("{} from {}", names[c], ends(c))).collect();
            return Err(Error::setup(format!(
                "the mesh reaches {}, beyond the grid of the model, which has {} m; give a grid that covers the mesh (perfectly matched layers continue the values at its edge)",
                Place::from(x),
                all.join(", ")
            )));
        };
        let mut corners = lattice.around(cell);
        if self.grids > 1 {
            let first = region * lattice.nodes();
            corners.iter_mut().for_each(|(node, _)| *node += first);
            return Ok(corners);
        }
        let owns = |node: usize| self.owners[node] == region as u32;
        corners.retain(|(node, _)| owns(*node));
        let sum: f64 = corners.iter().map(|corner| corner.1).sum();
        if sum > 1e-6 {
            corners.iter_mut().for_each(|corner| corner.1 /= sum);
            return Ok(corners);
        }
        self.nearest(region, x, cell.0).map(|node| vec![(node, 1.0)])
    }

    /// The nearest node of a region, at most a few grid steps from the cell `first`.
    fn nearest(&self, region: usize, x: [f64; D], first: [usize; D]) -> Result<usize, Error> {
        let lattice = &self.lattice;
        let low: [usize; D] = first.map(|at| at.saturating_sub(FAR));
        let count: [usize; D] =
            std::array::from_fn(|c| (first[c] + FAR + 1).min(lattice.n[c] - 1) + 1 - low[c]);
        let mut best: Option<(f64, usize)> = None;
        for mut k in 0..count.iter().product() {
            let at: [usize; D] = std::array::from_fn(|c| {
                let step = k % count[c];
                k /= count[c];
                low[c] + step
            });
            let node = lattice.number(at);
            if self.owners[node] != region as u32 {
                continue;
            }
            let place = lattice.position(at);
            let apart = (0..D).filter(|c| lattice.n[*c] > 1);
            let apart: f64 = apart.map(|c| ((place[c] - x[c]) / lattice.d[c]).powi(2)).sum();
            if best.is_none_or(|(least, _)| apart < least) {
                best = Some((apart, node));
            }
        }
        best.map(|(_, node)| node).ok_or_else(|| {
            Error::setup(format!(
                "no node of the model's grid lies in region {region} near {}: give a finer grid, or one for each region (an axis of regions after the others)",
                Place::from(x)
            ))
        })
    }
}

/// The region of every node of a grid.
fn owners<const D: usize>(mesh: &Mesh<D>, lattice: &Lattice<D>) -> Vec<u32> {
    let owners: Vec<AtomicU32> = (0..lattice.nodes()).map(|_| AtomicU32::new(OUTSIDE)).collect();
    let locator = Locator::new(mesh);
    // Along an axis on which the model is constant, an element is tested at its centre.
    let claim = |element: usize| {
        let region = mesh.regions()[element];
        let [low, high] = locator.reach(element);
        let ends: [[usize; 2]; D] = std::array::from_fn(|c| {
            let t = |x: f64| (x - lattice.o[c]) / lattice.d[c];
            let last = (lattice.n[c] - 1) as f64;
            let (first, end) = (t(low[c]).ceil().max(0.0), t(high[c]).floor().min(last));
            if lattice.n[c] == 1 {
                [0, 1]
            } else {
                [
                    first as usize,
                    if end < first {
                        first as usize
                    } else {
                        end as usize + 1
                    },
                ]
            }
        });
        let count = ends.map(|[first, end]| end - first);
        for mut k in 0..count.iter().product() {
            let at: [usize; D] = std::array::from_fn(|c| {
                let step = k % count[c];
                k /= count[c];
                ends[c][0] + step
            });
            if holds(mesh, &locator, element, (lattice, at)) {
                let owner = &owners[lattice.number(at)];
                let first = owner.compare_exchange(OUTSIDE, region, Ordering::Relaxed, Ordering::Relaxed);
                if first.is_err_and(|other| other != region) {
                    owner.store(BETWEEN, Ordering::Relaxed);
                }
            }
        }
    };
    (0..mesh.len()).into_par_iter().for_each(claim);
    owners.into_iter().map(AtomicU32::into_inner).collect()
}

/// Whether an element contains a node, or, along constant axes, touches the line or plane that the node represents.
fn holds<const D: usize>(
    mesh: &Mesh<D>,
    locator: &Locator<'_, D>,
    element: usize,
    (lattice, at): (&Lattice<D>, [usize; D]),
) -> bool {
    let (mut x, centre) = (lattice.position(at), mesh.centre(element));
    (0..D)
        .filter(|c| lattice.n[*c] == 1)
        .for_each(|c| x[c] = centre[c]);
    let local = locator.local(element, x);
    local.is_some_and(|(_, beyond)| beyond <= ON_SIDE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Parts;

    /// A node belongs to the region of its elements, also on the rim of the mesh; a node between two regions belongs to
    /// neither. The mesh has one square per region; the grid begins a step before it and ends with it.
    #[test]
    fn nodes_belong_to_the_region_around_them() {
        let mesh = Mesh::new(Parts::<2> {
            nodes: vec![
                [0.0, 0.0],
                [1.0, 0.0],
                [2.0, 0.0],
                [0.0, 1.0],
                [1.0, 1.0],
                [2.0, 1.0],
            ],
            per_element: 4,
            elements: vec![0, 1, 4, 3, 1, 2, 5, 4],
            regions: vec![0, 1],
            ..Parts::default()
        });
        let lattice = Lattice {
            n: [10, 6],
            o: [-0.25; 2],
            d: [0.25; 2],
        };
        let expected = |k: usize| match (k / 6, k % 6) {
            (x @ 1..=9, 1..=5) => match x.cmp(&5) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => BETWEEN,
                std::cmp::Ordering::Greater => 1,
            },
            _ => OUTSIDE,
        };
        let expected: Vec<u32> = (0..lattice.nodes()).map(expected).collect();
        assert_eq!(owners(&mesh.expect("two squares"), &lattice), expected);
    }
}
