//! The neighbours of elements across their faces.

use rayon::prelude::*;

use super::cell::{self, faces};
use super::{Fault, Mesh};

/// A face of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Side {
    /// Number of the element.
    pub element: usize,
    /// Number of the face in Gmsh's order.
    pub face: usize,
}

const OUTSIDE: u32 = u32::MAX;

/// For every face of every element, the face of another element that meets it.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    across: Vec<u32>,
}

impl Neighbours {
    /// Finds the faces that meet: they have the same corners, in any order.
    ///
    /// # Errors
    /// Returns an error if a face belongs to three elements.
    pub(super) fn find<const D: usize>(mesh: &Mesh<D>) -> Result<Self, Fault> {
        let slots = mesh.len() * faces::<D>();
        let side = |slot: u32| Side {
            element: slot as usize / faces::<D>(),
            face: slot as usize % faces::<D>(),
        };
        let key = |slot: u32| {
            let mut key = [u32::MAX; 4];
            let corners = mesh.face_corners(side(slot));
            key[..corners.len()].copy_from_slice(&corners);
            key.sort_unstable();
            key
        };
        let mut sorted: Vec<([u32; 4], u32)> = (0..slots as u32)
            .into_par_iter()
            .map(|slot| (key(slot), slot))
            .collect();
        sorted.par_sort_unstable();
        let mut across = vec![OUTSIDE; slots];
        for same in sorted.chunk_by(|a, b| a.0 == b.0) {
            match *same {
                [_] => {}
                [(_, a), (_, b)] => (across[a as usize], across[b as usize]) = (b, a),
                _ => {
                    return Err(Fault::FaceThrice {
                        elements: std::array::from_fn(|k| side(same[k].1).element),
                        at: mesh.face_centre(side(same[0].1)).into(),
                    });
                }
            }
        }
        Ok(Self { across })
    }

    pub(super) fn across<const D: usize>(&self, side: Side) -> Option<Side> {
        match self.across[side.element * faces::<D>() + side.face] {
            OUTSIDE => None,
            slot => Some(Side {
                element: slot as usize / faces::<D>(),
                face: slot as usize % faces::<D>(),
            }),
        }
    }

    pub(super) fn outer<const D: usize>(&self) -> impl Iterator<Item = Side> + '_ {
        let open = self
            .across
            .iter()
            .enumerate()
            .filter(|(_, other)| **other == OUTSIDE);
        open.map(|(slot, _)| Side {
            element: slot / faces::<D>(),
            face: slot % faces::<D>(),
        })
    }
}

/// The nodes of a quadratic cell on edges and faces, as local numbers, each with the corners of its edge or face.
pub(super) fn middles<const D: usize>() -> Vec<(usize, Vec<usize>)> {
    let all = (1 << D..cell::Order::Quadratic.nodes::<D>()).map(|node| (node, cell::place::<D>(node)));
    all.filter(|(_, code)| code.iter().any(|c| *c != 1))
        .map(|(node, code)| (node, cell::corners(code)))
        .collect()
}
