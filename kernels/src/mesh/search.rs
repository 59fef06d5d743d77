//! The search for the element that contains a position, and for the local coordinates in it.

use rayon::prelude::*;

use super::cell::edges;
use super::geometry::{difference, dot, inverse, length, map};
use super::{Fault, Mesh, Order};

/// A position up to this distance outside the faces of an element, in local coordinates, still belongs to it, because
/// coordinates are given in single precision.
pub(super) const TOUCHES: f64 = 1e-3;
/// Positions up to this distance outside a face, in local coordinates, count as lying on it and belong to the first of
/// the elements that share it.
const ON_FACE: f64 = 1e-6;

/// The location of a position in a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location<const D: usize> {
    /// The element; the first one if several elements share the position.
    pub element: usize,
    /// Local coordinates, each from -1 to 1.
    pub local: [f64; D],
}

/// Finds positions in a mesh. Elements are sorted into the boxes of a regular grid that they overlap.
#[derive(Debug)]
pub struct Locator<'a, const D: usize> {
    mesh: &'a Mesh<D>,
    elements: Vec<usize>,
    bounds: Vec<Bounds<D>>,
    lower: [f64; D],
    width: [f64; D],
    boxes: [usize; D],
    /// The elements of box k are `items[starts[k]..starts[k + 1]]`, as indices into `elements`.
    starts: Vec<usize>,
    items: Vec<u32>,
}

/// Lower and upper bounds of the coordinates of an element.
type Bounds<const D: usize> = [[f64; D]; 2];

/// Local coordinates, and the distance by which the largest of them exceeds the cell.
pub(crate) type Local<const D: usize> = ([f64; D], f64);

impl<'a, const D: usize> Locator<'a, D> {
    /// A locator of all elements.
    pub fn new(mesh: &'a Mesh<D>) -> Self {
        Self::among(mesh, (0..mesh.len()).collect())
    }

    /// A locator of some elements, ascending.
    pub(super) fn among(mesh: &'a Mesh<D>, elements: Vec<usize>) -> Self {
        let bounds: Vec<Bounds<D>> = elements.par_iter().map(|e| reach(mesh, *e)).collect();
        let lower = extreme(&bounds, 0, f64::min);
        let span = difference(extreme(&bounds, 1, f64::max), lower);
        // There are about as many boxes as elements, and they are nearly cubic; along an axis there are at most as
        // many as elements, and at most 1024.
        let edge = (span.iter().product::<f64>() / elements.len().max(1) as f64).powf(1.0 / D as f64);
        let most = elements.len().clamp(1, 1 << 10);
        let boxes = span.map(|s| ((s / edge.max(f64::MIN_POSITIVE)).ceil() as usize).clamp(1, most));
        let width = std::array::from_fn(|c| (span[c] / boxes[c] as f64).max(f64::MIN_POSITIVE));
        let mut locator = Self {
            mesh,
            elements,
            bounds,
            lower,
            width,
            boxes,
            starts: Vec::new(),
            items: Vec::new(),
        };
        locator.sort();
        locator
    }

    /// Sorts the elements into the boxes: counts the elements of each box, then puts them there in ascending order.
    fn sort(&mut self) {
        self.starts = vec![0; self.boxes.iter().product::<usize>() + 1];
        for bounds in &self.bounds {
            self.boxes_of(bounds).for_each(|k| self.starts[k + 1] += 1);
        }
        for k in 1..self.starts.len() {
            self.starts[k] += self.starts[k - 1];
        }
        self.items = vec![0; self.starts[self.starts.len() - 1]];
        let mut next = self.starts.clone();
        for (item, bounds) in self.bounds.iter().enumerate() {
            for k in self.boxes_of(bounds) {
                self.items[next[k]] = item as u32;
                next[k] += 1;
            }
        }
    }

    /// The boxes that these bounds overlap.
    fn boxes_of(&self, bounds: &Bounds<D>) -> impl Iterator<Item = usize> + use<D> {
        let (first, last) = (self.box_of(bounds[0]), self.box_of(bounds[1]));
        let counts: [usize; D] = std::array::from_fn(|c| last[c] - first[c] + 1);
        let steps: [usize; D] = std::array::from_fn(|c| self.boxes[..c].iter().product());
        (0..counts.iter().product()).map(move |k: usize| {
            let mut rest = k;
            (0..D).fold(0, |flat, c| {
                let own = first[c] + rest % counts[c];
                rest /= counts[c];
                flat + own * steps[c]
            })
        })
    }

    fn box_of(&self, x: [f64; D]) -> [usize; D] {
        // Negative numbers and NaN become zero.
        std::array::from_fn(|c| (((x[c] - self.lower[c]) / self.width[c]) as usize).min(self.boxes[c] - 1))
    }

    fn flat(&self, place: [usize; D]) -> usize {
        (0..D).rev().fold(0, |flat, c| flat * self.boxes[c] + place[c])
    }

    /// The elements that can contain a position, ascending.
    pub(super) fn candidates(&self, x: [f64; D]) -> impl Iterator<Item = usize> + '_ {
        let at = self.flat(self.box_of(x));
        let items = &self.items[self.starts[at]..self.starts[at + 1]];
        let within = move |b: &Bounds<D>| (0..D).all(|c| b[0][c] <= x[c] && x[c] <= b[1][c]);
        let near = items
            .iter()
            .filter(move |item| within(&self.bounds[**item as usize]));
        near.map(|item| self.elements[*item as usize])
    }

    /// Lower and upper bounds of the coordinates of an element.
    pub(crate) fn reach(&self, element: usize) -> [[f64; D]; 2] {
        reach(self.mesh, element)
    }

    /// Local coordinates of a position in an element by Newton's method; `None` where it does not converge.
    pub(crate) fn local(&self, element: usize, x: [f64; D]) -> Option<Local<D>> {
        let nodes = self.mesh.coordinates(element);
        let size = length(difference(nodes[0], nodes[(1 << D) - 1]));
        let mut u = [0.0; D];
        for _ in 0..30 {
            let (at, jacobian) = map(self.mesh.order(), &nodes, u);
            let miss = difference(x, at);
            if length(miss) <= 1e-12 * size {
                break;
            }
            let step = inverse(&jacobian).map(|row| dot(row, miss));
            // Far from the cell the mapping may not be invertible, so steps are limited.
            u = std::array::from_fn(|c| (u[c] + step[c]).clamp(-1.5, 1.5));
        }
        let (at, _) = map(self.mesh.order(), &nodes, u);
        let beyond = u.iter().fold(0.0, |most: f64, c| most.max(c.abs() - 1.0));
        (length(difference(x, at)) <= 1e-9 * size).then_some((u, beyond))
    }

    /// The element that contains a position, and the local coordinates in it, if there is such an element.
    pub fn find(&self, x: [f64; D]) -> Option<Location<D>> {
        let mut best: Option<(f64, Location<D>)> = None;
        for element in self.candidates(x) {
            let Some((u, beyond)) = self.local(element, x) else {
                continue;
            };
            let location = Location {
                element,
                local: u.map(|c| c.clamp(-1.0, 1.0)),
            };
            if beyond <= ON_FACE {
                return Some(location);
            }
            if beyond <= TOUCHES && best.as_ref().is_none_or(|(least, _)| beyond < *least) {
                best = Some((beyond, location));
            }
        }
        best.map(|(_, location)| location)
    }

    /// All elements that contain a position, to within single precision: several if it is on their common face, edge
    /// or corner.
    pub fn sharing(&self, x: [f64; D]) -> Vec<Location<D>> {
        let location = |element| {
            let (u, beyond) = self.local(element, x)?;
            let local = u.map(|c| c.clamp(-1.0, 1.0));
            (beyond <= TOUCHES).then_some(Location { element, local })
        };
        self.candidates(x).filter_map(location).collect()
    }

    /// Like [`Self::find`], but with an error for a position outside the mesh.
    ///
    /// # Errors
    /// Returns an error if no element contains the position; the message calls it `what` and names the nearest point of
    /// the mesh.
    pub fn locate(&self, what: &str, x: [f64; D]) -> Result<Location<D>, Fault> {
        if let Some(location) = self.find(x) {
            return Ok(location);
        }
        let (element, nearest) = self.nearest(x);
        Err(Fault::Outside {
            what: what.to_string(),
            at: x.into(),
            nearest: nearest.into(),
            distance: length(difference(nearest, x)),
            element,
        })
    }

    /// The point of the mesh that is nearest to a position, and its distance (m), if that is less than half of the
    /// longest edge of the point's element.
    pub fn within_reach(&self, x: [f64; D]) -> Option<([f64; D], f64)> {
        let (element, nearest) = self.nearest(x);
        let nodes = self.mesh.coordinates(element);
        let edge = |ends: &[usize; 2]| length(difference(nodes[ends[0]], nodes[ends[1]]));
        let longest = edges::<D>().iter().map(edge).fold(0.0, f64::max);
        let distance = length(difference(nearest, x));
        (distance < 0.5 * longest).then_some((nearest, distance))
    }

    /// The element that is nearest to a position, and its nearest point.
    fn nearest(&self, x: [f64; D]) -> (usize, [f64; D]) {
        let far = |b: &Bounds<D>| {
            length::<D>(std::array::from_fn(|c| {
                (b[0][c] - x[c]).max(x[c] - b[1][c]).max(0.0)
            }))
        };
        let mut order: Vec<(f64, usize)> = self
            .bounds
            .iter()
            .map(far)
            .zip(self.elements.iter().copied())
            .collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut best = (f64::INFINITY, 0, x);
        for (at_least, element) in order {
            if at_least >= best.0 {
                break;
            }
            let (distance, point) = self.nearest_in(element, x);
            if distance < best.0 {
                best = (distance, element, point);
            }
        }
        (best.1, best.2)
    }

    /// The distance and position of the nearest point of an element, found on lattices of 5 points along each axis
    /// that are successively refined around the best point.
    fn nearest_in(&self, element: usize, x: [f64; D]) -> (f64, [f64; D]) {
        let nodes = self.mesh.coordinates(element);
        let (mut centre, mut half) = ([0.0; D], 1.0);
        let mut best = (f64::INFINITY, x, centre);
        for _ in 0..25 {
            for k in 0..5_usize.pow(D as u32) {
                let u: [f64; D] = std::array::from_fn(|c| {
                    let step = (k / 5_usize.pow(c as u32) % 5) as f64 / 2.0 - 1.0;
                    (centre[c] + half * step).clamp(-1.0, 1.0)
                });
                let at = map(self.mesh.order(), &nodes, u).0;
                let distance = length(difference(at, x));
                if distance < best.0 {
                    best = (distance, at, u);
                }
            }
            centre = best.2;
            half /= 2.0;
        }
        (best.0, best.1)
    }
}

/// Bounds of the coordinates of an element. A linear element lies within the bounding box of its corners; a quadratic
/// one can exceed that of its nodes by a factor of at most the Lebesgue constant of three points, 5/4, for each axis.
fn reach<const D: usize>(mesh: &Mesh<D>, element: usize) -> Bounds<D> {
    let nodes = mesh.coordinates(element);
    let grown = match mesh.order() {
        Order::Linear => 1.0 + 2.0 * TOUCHES,
        Order::Quadratic => 1.25_f64.powi(D as i32) + 2.0 * TOUCHES,
    };
    let bound = |c: usize, pick: fn(f64, f64) -> f64| nodes.iter().map(|x| x[c]).reduce(pick).unwrap_or(0.0);
    let ends: [[f64; 2]; D] = std::array::from_fn(|c| {
        let (low, high) = (bound(c, f64::min), bound(c, f64::max));
        let (middle, half) = ((low + high) / 2.0, grown * (high - low) / 2.0);
        [middle - half, middle + half]
    });
    [ends.map(|e| e[0]), ends.map(|e| e[1])]
}

fn extreme<const D: usize>(bounds: &[Bounds<D>], end: usize, pick: fn(f64, f64) -> f64) -> [f64; D] {
    std::array::from_fn(|c| bounds.iter().map(|b| b[end][c]).reduce(pick).unwrap_or(0.0))
}
