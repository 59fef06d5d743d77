//! Meshes from files: the readers of other programs' files, including malformed files, and `sfhexmesh` as users run it.

mod boxes;
mod faults;
mod gmsh;
mod program;
mod specfem;
mod sphere;

#[path = "../support/desk.rs"]
mod desk;

use std::fs;
use std::path::PathBuf;

use desk::built::checkout;
use kernels::mesh::geometry::Tabulated;
use kernels::mesh::{Basis, Mesh};
use programs::meshing::RawMesh;

/// A mesh of `tests/data/meshes`; see `make.py` there for how it was made.
fn fixture(name: &str) -> PathBuf {
    checkout("tests/data/meshes").join(name)
}

fn fixture_bytes(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).unwrap()
}

/// The volume (in 2-D the area) of each region.
fn volumes<const D: usize>(raw: &RawMesh) -> Vec<f64> {
    let mesh = Mesh::<D>::new(raw.parts()).unwrap_or_else(|e| panic!("{e}"));
    let table = Tabulated::new(mesh.order(), &Basis::new(4).unwrap());
    let regions = 1 + *mesh.regions().iter().max().unwrap() as usize;
    let mut volumes = vec![0.0; regions];
    for element in 0..mesh.len() {
        let points = table.element(&mesh.coordinates(element));
        let weighted = points.determinant.iter().zip(table.weights());
        volumes[mesh.regions()[element] as usize] += weighted.map(|(j, w)| j * w).sum::<f64>();
    }
    volumes
}

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-6 * expected.abs()
}
