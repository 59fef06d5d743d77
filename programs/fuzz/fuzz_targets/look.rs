//! Checks the outcome of a reader: a mesh is validated and searched, and an error must be one line.

use kernels::mesh::{Locator, Material, Mesh};

use crate::meshing::RawMesh;

const ROCK: Material = Material {
    density: 2500.0,
    vp: 3000.0,
    vs: 1700.0,
    q_kappa: 9999.0,
    q_mu: 9999.0,
    anisotropic: false,
};

/// Asserts that an error message is one line of moderate length.
pub fn sentence(text: &str) {
    assert!(!text.is_empty() && text.lines().count() == 1 && text.len() < 2000, "{text}");
}

/// Checks the mesh or the error of a reader.
pub fn look(read: anyhow::Result<RawMesh>) {
    match read {
        Ok(raw) if raw.ndim == 2 => whole::<2>(&raw),
        Ok(raw) => whole::<3>(&raw),
        Err(fault) => sentence(&format!("{fault:#}")),
    }
}

fn whole<const D: usize>(raw: &RawMesh) {
    let mesh = match Mesh::<D>::new(raw.parts()) {
        Ok(mesh) => mesh,
        Err(fault) => return sentence(&fault.to_string()),
    };
    let mut materials = raw.materials.clone();
    if materials.is_empty() {
        materials = vec![ROCK; raw.names.len()];
    }
    if let Err(fault) = mesh.check_materials(&materials) {
        sentence(&fault.to_string());
    }
    let locator = Locator::new(&mesh);
    let inside = mesh.centre(mesh.len() - 1);
    let outside = inside.map(|x| x - 1e3);
    for place in [inside, outside] {
        if let Err(fault) = locator.locate("receiver 1", place) {
            sentence(&fault.to_string());
        }
    }
}
