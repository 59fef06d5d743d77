//! One number for every point of a mesh, shared by all elements that hold the point.
//!
//! Points are told apart by the topology, never by comparing coordinates: a point belongs to a corner, to the inside of
//! an edge, of a face, or of an element. An entity is known by its corners, and its points run from the corner with the
//! smallest number along the axes in the order of the numbers of the corners next to it. So two elements agree about
//! a face in whatever orientation they hold it.

use std::collections::HashMap;

use super::cell::{self, Order};
use super::geometry::lattice;
use super::{Basis, Fault, Mesh};

/// Numbers of the points of a mesh. The points of an entity follow each other, and entities are numbered in the order
/// in which elements meet them.
#[derive(Clone, Debug)]
pub struct Numbering {
    points: usize,
    per_element: usize,
    index: Vec<u32>,
}

/// What all elements have in common: an entity of the cell, its free axes and the local points inside it.
struct Entity {
    /// Local corners, the first free axis fastest.
    corners: Vec<usize>,
    free: Vec<usize>,
    /// Local points with their place along the free axes, counted from 0 inside of the entity.
    points: Vec<(usize, [usize; 3])>,
}

impl Numbering {
    /// Numbers the points of a basis in all elements.
    ///
    /// # Errors
    /// More points than 32 bits can count.
    pub fn new<const D: usize>(mesh: &Mesh<D>, basis: &Basis) -> Result<Self, Fault> {
        let n = basis.len();
        let inside = n - 2;
        let entities = entities::<D>(n);
        let per_element = n.pow(D as u32);
        let mut index = vec![0; mesh.len() * per_element];
        let mut known: HashMap<[u32; 4], u32> = HashMap::new();
        let mut next: u64 = 0;
        for (element, numbers) in index.chunks_exact_mut(per_element).enumerate() {
            let corners = mesh.corners(element);
            for entity in &entities {
                let dimension = entity.free.len();
                let count = inside.pow(dimension as u32) as u64;
                // A number that does not fit is cut here and refused below.
                let mut fresh = || {
                    next += count;
                    (next - count) as u32
                };
                let base = if dimension == D {
                    fresh()
                } else {
                    *known.entry(entity.key(corners)).or_insert_with(fresh)
                };
                let turn = entity.turn(corners);
                for (point, place) in &entity.points {
                    numbers[*point] = base.wrapping_add(turn.offset(*place, inside) as u32);
                }
            }
        }
        if next > u64::from(u32::MAX) {
            return Err(Fault::TooManyPoints {
                points: next,
                degree: basis.degree(),
            });
        }
        Ok(Self {
            points: next as usize,
            per_element,
            index,
        })
    }

    /// Points of the mesh.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Points of an element.
    pub fn per_element(&self) -> usize {
        self.per_element
    }

    /// The numbers of an element's points, the axis u fastest.
    pub fn element(&self, element: usize) -> &[u32] {
        &self.index[element * self.per_element..(element + 1) * self.per_element]
    }

    /// The numbers of all elements' points, element after element.
    pub fn index(&self) -> &[u32] {
        &self.index
    }
}

/// The entities of a cell with `n` points on an axis: corners, edges, faces and the inside, in Gmsh's order.
fn entities<const D: usize>(n: usize) -> Vec<Entity> {
    let class = |i: usize| {
        if i == 0 {
            0
        } else if i == n - 1 {
            2
        } else {
            1
        }
    };
    let codes = (0..Order::Quadratic.nodes::<D>()).map(cell::place::<D>);
    codes
        .map(|code| {
            let free: Vec<usize> = (0..D).filter(|a| code[*a] == 1).collect();
            let local = (0..n.pow(D as u32)).map(|point| (point, lattice::<D>(point, n)));
            let points = local.filter(|(_, place)| place.map(|i| class(i) as u8) == code);
            let along =
                |place: [usize; D]| std::array::from_fn(|k| free.get(k).map_or(0, |axis| place[*axis] - 1));
            Entity {
                corners: cell::corners(code),
                points: points.map(|(point, place)| (point, along(place))).collect(),
                free,
            }
        })
        .collect()
}

/// How an element holds an entity: which of its free axes run backwards, and their order.
struct Turn {
    backwards: [bool; 3],
    axes: [usize; 3],
    dimension: usize,
}

impl Entity {
    /// The numbers of the corners in ascending order.
    fn key(&self, corners: &[u32]) -> [u32; 4] {
        let mut key = [u32::MAX; 4];
        for (slot, corner) in key.iter_mut().zip(&self.corners) {
            *slot = corners[*corner];
        }
        key.sort_unstable();
        key
    }

    /// The order of points that all elements agree upon, as this element sees it. The inside of an element belongs to
    /// it alone and stays as it is.
    fn turn(&self, corners: &[u32]) -> Turn {
        let mut turn = Turn {
            backwards: [false; 3],
            axes: [0, 1, 2],
            dimension: self.free.len(),
        };
        if self.free.len() > 2 || self.corners.len() == corners.len() {
            return turn;
        }
        let number = |bits: usize| corners[self.corners[bits]];
        let origin = (0..self.corners.len())
            .min_by_key(|bits| number(*bits))
            .unwrap_or(0);
        for k in 0..self.free.len() {
            turn.backwards[k] = origin >> k & 1 == 1;
        }
        turn.axes[..self.free.len()].sort_by_key(|k| number(origin ^ (1 << k)));
        turn
    }
}

impl Turn {
    /// Place of a point inside of the entity, whose free axes have `inside` points.
    fn offset(&self, place: [usize; 3], inside: usize) -> usize {
        let mut offset = 0;
        for axis in self.axes[..self.dimension].iter().rev() {
            let along = place[*axis];
            let turned = if self.backwards[*axis] {
                inside - 1 - along
            } else {
                along
            };
            offset = offset * inside + turned;
        }
        offset
    }
}
