//! Global numbering of the points of a mesh, in which elements share the points on common corners, edges and faces.
//!
//! Points are identified by the topology, never by comparing coordinates: a point belongs to a corner, or to the
//! interior of an edge, a face or an element. Such an entity is identified by its corners. Its points are numbered from
//! the corner with the smallest number, along the axes in the order of the numbers of the adjacent corners, so that two
//! elements agree on the numbers of a common face in any orientation.

use std::collections::HashMap;

use super::cell::{self, Order};
use super::geometry::lattice;
use super::{Basis, Fault, Mesh};

/// Global numbers of the points of a mesh. The points of an entity have consecutive numbers, and entities are
/// numbered in the order in which they first occur in the elements.
#[derive(Clone, Debug)]
pub struct Numbering {
    points: usize,
    per_element: usize,
    index: Vec<u32>,
}

/// An entity of the reference cell: its corners, the axes along which it extends, and the local points in its interior.
struct Entity {
    /// Local numbers of the corners, with the first axis of `free` fastest.
    corners: Vec<usize>,
    free: Vec<usize>,
    /// Local points, each with its indices along the axes of `free`, counted from 0 in the interior of the entity.
    points: Vec<(usize, [usize; 3])>,
}

impl Numbering {
    /// Numbers the points of a basis in all elements.
    ///
    /// # Errors
    /// Returns an error if the mesh has more points than 32 bits can number.
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
                // A number that does not fit into 32 bits is truncated here and leads to an error below.
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

    /// Number of points of the mesh.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Number of points of an element.
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

/// The entities of a cell with `n` points along each axis: corners, edges, faces and the interior, in Gmsh's order.
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

/// The orientation of an entity in an element: which of its axes are reversed, and their order.
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

    /// The orientation of the entity in this element relative to the common order of its points. The interior of an
    /// element belongs to that element alone and keeps its order.
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
    /// Index of a point among the interior points of the entity, which has `inside` points along each axis.
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
