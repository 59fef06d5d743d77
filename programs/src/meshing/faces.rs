//! Finds the element and the local face with given corners.

use std::collections::HashMap;

use kernels::mesh::cell;

use super::RawMesh;

/// Local corners of every face of a cell, in Gmsh's order of faces.
fn face_corners(ndim: usize) -> Vec<Vec<usize>> {
    fn all<const D: usize>() -> Vec<Vec<usize>> {
        let corners = |n| cell::corners(cell::face::<D>(n).code::<D>());
        (0..cell::faces::<D>()).map(corners).collect()
    }
    if ndim == 2 { all::<2>() } else { all::<3>() }
}

fn sorted(corners: impl Iterator<Item = i32>) -> [i32; 4] {
    let mut key = [i32::MAX; 4];
    key.iter_mut()
        .zip(corners)
        .for_each(|(slot, corner)| *slot = corner);
    key.sort_unstable();
    key
}

/// Finds faces of a mesh by their corners.
pub struct FaceFinder<'a> {
    mesh: &'a RawMesh,
    local: Vec<Vec<usize>>,
    known: HashMap<[i32; 4], [i32; 2]>,
}

impl<'a> FaceFinder<'a> {
    /// A finder for faces whose element is known.
    pub fn new(mesh: &'a RawMesh) -> Self {
        Self {
            mesh,
            local: face_corners(mesh.ndim),
            known: HashMap::new(),
        }
    }

    /// A finder for faces whose element is not known; if two elements have the face, the first is found.
    pub fn of_all(mesh: &'a RawMesh) -> Self {
        let mut finder = Self::new(mesh);
        for element in 0..mesh.len() {
            for (face, corners) in finder.local.iter().enumerate() {
                let key = finder.key(element, corners);
                finder.known.entry(key).or_insert([element as i32, face as i32]);
            }
        }
        finder
    }

    fn key(&self, element: usize, local: &[usize]) -> [i32; 4] {
        let nodes = &self.mesh.elements[element * self.mesh.per_element..];
        sorted(local.iter().map(|corner| nodes[*corner]))
    }

    /// The local face of an element that has these corners.
    pub fn face_of(&self, element: usize, corners: &[i32]) -> Option<usize> {
        let key = sorted(corners.iter().copied());
        self.local
            .iter()
            .position(|local| self.key(element, local) == key)
    }

    /// The element and local face that have these corners.
    pub fn find(&self, corners: &[i32]) -> Option<[i32; 2]> {
        self.known.get(&sorted(corners.iter().copied())).copied()
    }
}
