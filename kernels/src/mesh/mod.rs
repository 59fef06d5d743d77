//! Meshes of quadrilaterals (`D` = 2) and hexahedra (`D` = 3), for element-based methods.
//!
//! | file | contents |
//! | --- | --- |
//! | `basis` | points, weights and derivatives of degree 2 to 8 |
//! | `cell` | the reference cell: nodes and faces in Gmsh's order, shape functions |
//! | `geometry` | positions, Jacobian, its inverse, normals and areas |
//! | `neighbours` | pairs of faces that meet, and outer faces |
//! | `numbering` | global numbers of the points that elements share, from the topology |
//! | `search` | the element and local coordinates of a position |
//! | `ground` | the depth of the ground on a regular grid of positions, and of the top at any position |
//! | `checks`, `fault` | checks of a mesh, and errors with element and position |
//! | `quality` | Jacobians, angles, edge ratios, resolved frequency |
//! | `medium` | density and constitutive law, one for each region or one for each point |
//! | `step` | the largest stable time step from the largest eigenvalue of single elements |
//! | `eigen` | that eigenvalue, for several elements at once |
//!
//! Coordinates are x, y, z in metres, z downwards (x, z in 2-D); elements, nodes, regions and faces are counted
//! from 0. The Jacobian determinant of an element is positive in these axes.

pub mod basis;
pub mod cell;
mod checks;
mod contact;
mod eigen;
mod fault;
pub mod geometry;
pub mod ground;
mod medium;
mod neighbours;
mod numbering;
pub mod quality;
mod search;
mod shares;
pub mod step;
mod tridiagonal;

pub use basis::Basis;
pub use cell::Order;
pub use fault::{Fault, Near, Place};
pub use neighbours::Side;
pub use numbering::Numbering;
pub use search::{Location, Locator};

use neighbours::Neighbours;

/// The largest number of elements of a mesh, so that 32 bits can number their faces.
pub const MOST_ELEMENTS: u64 = 500_000_000;

/// A mesh as read from files, not yet checked.
#[derive(Clone, Debug, Default)]
pub struct Parts<const D: usize> {
    /// Coordinates of the nodes, m.
    pub nodes: Vec<[f64; D]>,
    /// Number of nodes of an element: 4 or 9 in 2-D, 8 or 27 in 3-D.
    pub per_element: usize,
    /// Nodes of all elements, element after element, in Gmsh's order.
    pub elements: Vec<i32>,
    /// The region of every element.
    pub regions: Vec<i32>,
    /// Absorbing faces, each as element and local face.
    pub absorbing: Vec<[i32; 2]>,
    /// Faces of the free surface, each as element and local face.
    pub free: Vec<[i32; 2]>,
}

/// The material of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Density, kg/m3.
    pub density: f64,
    /// P speed, m/s.
    pub vp: f64,
    /// S speed, m/s; 0 for a fluid.
    pub vs: f64,
    /// Quality factor of the bulk modulus; 9999 means no loss.
    pub q_kappa: f64,
    /// Quality factor of the shear modulus.
    pub q_mu: f64,
    /// Whether 21 elastic constants apply instead of the speeds.
    pub anisotropic: bool,
}

/// A mesh that has passed all checks: its elements share whole faces and have positive Jacobian determinants.
#[derive(Clone, Debug)]
pub struct Mesh<const D: usize> {
    nodes: Vec<[f64; D]>,
    order: Order,
    elements: Vec<u32>,
    regions: Vec<u32>,
    absorbing: Vec<Side>,
    free: Vec<Side>,
    neighbours: Neighbours,
}

impl<const D: usize> Mesh<D> {
    /// Checks a mesh.
    ///
    /// # Errors
    /// Returns the first fault found; see [`Fault`].
    pub fn new(parts: Parts<D>) -> Result<Self, Fault> {
        let order =
            Order::with_nodes::<D>(parts.per_element).ok_or(Fault::NodesOfElement(parts.per_element))?;
        checks::counts(&parts)?;
        let elements = checks::connectivity(&parts)?;
        let regions = checks::regions(&parts)?;
        let mut mesh = Self {
            nodes: parts.nodes,
            order,
            elements,
            regions,
            absorbing: Vec::new(),
            free: Vec::new(),
            neighbours: Neighbours::default(),
        };
        checks::jacobians(&mesh, &Basis::new(4)?)?;
        mesh.neighbours = Neighbours::find(&mesh)?;
        checks::opposite(&mesh)?;
        checks::middles(&mesh)?;
        checks::duplicates(&mesh)?;
        checks::hanging(&mesh)?;
        mesh.absorbing = checks::sides(&mesh, "absorbing", &parts.absorbing)?;
        mesh.free = checks::sides(&mesh, "free", &parts.free)?;
        Ok(mesh)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Always false: every mesh has elements.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// Coordinates of all nodes, m.
    pub fn nodes(&self) -> &[[f64; D]] {
        &self.nodes
    }

    /// Order of the elements.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Numbers of the nodes of an element, in Gmsh's order; the first 2 to the power D are its corners.
    pub fn element(&self, element: usize) -> &[u32] {
        let n = self.order.nodes::<D>();
        &self.elements[element * n..(element + 1) * n]
    }

    /// Numbers of the corners of an element.
    pub fn corners(&self, element: usize) -> &[u32] {
        &self.element(element)[..1 << D]
    }

    /// Coordinates of the nodes of an element.
    pub fn coordinates(&self, element: usize) -> Vec<[f64; D]> {
        self.element(element)
            .iter()
            .map(|n| self.nodes[*n as usize])
            .collect()
    }

    /// The mean of an element's corners, m.
    pub fn centre(&self, element: usize) -> [f64; D] {
        self.mean(self.corners(element))
    }

    /// The mean of some nodes.
    fn mean(&self, nodes: &[u32]) -> [f64; D] {
        let sum = |c: usize| nodes.iter().map(|n| self.nodes[*n as usize][c]).sum::<f64>();
        std::array::from_fn(|c| sum(c) / nodes.len() as f64)
    }

    /// The region of every element.
    pub fn regions(&self) -> &[u32] {
        &self.regions
    }

    /// The absorbing faces.
    pub fn absorbing(&self) -> &[Side] {
        &self.absorbing
    }

    /// The faces of the free surface.
    pub fn free(&self) -> &[Side] {
        &self.free
    }

    /// The face that meets a face; `None` for an outer face.
    pub fn across(&self, side: Side) -> Option<Side> {
        self.neighbours.across::<D>(side)
    }

    /// The outer faces, in the order of elements and local faces.
    pub fn outer(&self) -> impl Iterator<Item = Side> + '_ {
        self.neighbours.outer::<D>()
    }

    /// Numbers of the corners of a face.
    pub fn face_corners(&self, side: Side) -> Vec<u32> {
        let code = cell::face::<D>(side.face).code::<D>();
        let nodes = self.element(side.element);
        cell::corners(code).into_iter().map(|c| nodes[c]).collect()
    }

    /// The mean of a face's corners.
    pub fn face_centre(&self, side: Side) -> [f64; D] {
        self.mean(&self.face_corners(side))
    }

    /// Checks that the materials fit the mesh: every region has one, each is used, and every fluid body shares a face
    /// with a solid if there are solids.
    ///
    /// # Errors
    /// Returns the first fault found.
    pub fn check_materials(&self, materials: &[Material]) -> Result<(), Fault> {
        checks::materials(self, materials)
    }
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;
