//! Reads and writes meshes, for all programs with meshes. `kernels::mesh` checks them.
//!
//! Every reader returns a [`RawMesh`] in 2-D or 3-D, with z downwards and nodes in Gmsh's order.

pub mod beside;
mod faces;
pub mod gmsh;
mod materials;
mod scanner;
pub mod specfem;
pub mod stored;
mod tomography;

use std::sync::Arc;

use anyhow::{Result, bail};
use kernels::mesh::{MOST_ELEMENTS, Material, Mesh, Parts, cell};
use kernels::methods::spectral_elements::Pml;
use rsf_io::Job;

pub use faces::FaceFinder;
pub use tomography::Tomography;

/// A quality factor that means no attenuation.
pub const LOSSLESS: f64 = 9999.0;

/// Reports how many outer faces are in none of the lists of free or absorbing faces, and thus reflect waves. `list` is
/// the name for these lists in the message.
pub fn report_unlisted_faces<const D: usize>(job: &Job, mesh: &Mesh<D>, list: &str) {
    let (all, listed) = (mesh.outer().count(), mesh.free().len() + mesh.absorbing().len());
    if all > listed {
        job.say(&format!(
            "{} of {all} outer faces are in no {list}: they reflect waves",
            all - listed
        ));
    }
}

/// A mesh as it is in a file.
#[derive(Clone, Debug, Default)]
pub struct RawMesh {
    /// The dimension, 2 or 3.
    pub ndim: usize,
    /// Coordinates of the nodes, node after node: x, y, z or x, z; metres, z downwards.
    pub nodes: Vec<f64>,
    /// The number of nodes of an element.
    pub per_element: usize,
    /// The nodes of all elements, counted from 0, in Gmsh's order.
    pub elements: Vec<i32>,
    /// The region of every element.
    pub regions: Vec<i32>,
    /// Materials of the regions; empty if the file has none.
    pub materials: Vec<Material>,
    /// Element and local face.
    pub absorbing: Vec<[i32; 2]>,
    /// Element and local face.
    pub free: Vec<[i32; 2]>,
    /// Names of the regions; empty if the file has none.
    pub names: Vec<String>,
    /// Elements of layers of CPML, each with the axes across which it absorbs, in the numbering of SPECFEM3D
    /// (1 x, 2 y, 3 z, 4 xy, 5 xz, 6 yz, 7 xyz).
    pub layers: Vec<[i32; 2]>,
    /// Models on grids that fill regions in place of their materials, with `None` for a region without one;
    /// empty if the file has none.
    pub tomography: Vec<Option<Arc<Tomography>>>,
    /// Numbers of the materials in the file that no element uses.
    pub unused: Vec<i64>,
    /// Radius of the surface (m) if the mesh is a part of a globe; its axes are then geocentric.
    pub radius: Option<f64>,
}

impl RawMesh {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len() / self.per_element.max(1)
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The mesh for [`kernels::mesh::Mesh::new`]; `D` must be the dimension.
    pub fn parts<const D: usize>(&self) -> Parts<D> {
        let node = |x: &[f64]| std::array::from_fn(|c| x[c]);
        Parts {
            nodes: self.nodes.chunks_exact(D).map(node).collect(),
            per_element: self.per_element,
            elements: self.elements.clone(),
            regions: self.regions.clone(),
            absorbing: self.absorbing.clone(),
            free: self.free.clone(),
        }
    }

    /// The perfectly matched layers of `mesh`, which was made from this mesh, if it has any.
    ///
    /// # Errors
    /// Returns an error for elements that do not make up layers of constant thickness along whole sides.
    pub fn matched_layers<const D: usize>(&self, mesh: &Mesh<D>) -> Result<Option<Pml<D>>> {
        // Bits of x, y, z; in 2-D of x, z.
        let axes = |code: i32| {
            let bits = [0, 1, 2, 4, 3, 5, 6, 7][code.clamp(0, 7) as usize];
            if D == 2 { bits & 1 | bits >> 1 & 2 } else { bits }
        };
        let flags: Vec<(usize, u8)> = self
            .layers
            .iter()
            .map(|[element, code]| (*element as usize, axes(*code)))
            .collect();
        match flags.is_empty() {
            true => Ok(None),
            false => Ok(Some(Pml::of_elements(mesh, &flags)?)),
        }
    }

    /// Reverses the last axis, which points upwards, and with it the order of the nodes, so that Jacobians
    /// keep their sign. Call it before faces are numbered.
    fn turn_down(&mut self) {
        let ndim = self.ndim;
        self.nodes
            .iter_mut()
            .skip(ndim - 1)
            .step_by(ndim)
            .for_each(|z| *z = -*z);
        for element in 0..self.len() {
            self.mirror(element);
        }
    }

    /// Exchanges the low and the high end of the last axis of an element.
    fn mirror(&mut self, element: usize) {
        let order = mirrored(self.ndim, self.per_element);
        let nodes = &mut self.elements[element * self.per_element..(element + 1) * self.per_element];
        let old = nodes.to_vec();
        nodes
            .iter_mut()
            .zip(order)
            .for_each(|(node, from)| *node = old[from]);
    }
}

/// The nodes of an element in the order of its mirror image along the last axis.
fn mirrored(ndim: usize, per_element: usize) -> Vec<usize> {
    fn order<const D: usize>(per_element: usize) -> Vec<usize> {
        let place = |node| {
            let mut code = cell::place::<D>(node);
            code[D - 1] = 2 - code[D - 1];
            cell::node_at::<D>(code)
        };
        (0..per_element).map(place).collect()
    }
    match ndim {
        2 => order::<2>(per_element),
        _ => order::<3>(per_element),
    }
}

/// Checks a number of elements that a file or parameters request, before any memory is allocated.
///
/// # Errors
/// Returns an error if there are more elements than can be counted.
pub fn countable(what: &str, elements: u128) -> Result<usize> {
    if elements > u128::from(MOST_ELEMENTS) {
        bail!(
            "{what} has {elements} elements, but at most {MOST_ELEMENTS} can be counted; use fewer and larger elements"
        );
    }
    Ok(elements as usize)
}
