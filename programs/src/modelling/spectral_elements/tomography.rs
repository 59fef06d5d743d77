//! The regions of a mesh of SPECFEM3D that tomography files fill.

use crate::meshing::{RawMesh, Tomography};
use crate::modelling::checksum::Checksum;
use anyhow::bail;
use kernels::mesh::{Basis, Mesh};
use kernels::methods::spectral_elements::{GridModel, Grids, Lattice, Planes};
use rsf_io::Job;

/// The model of all regions, each on the grid of the files, and its checksum. A region with a material has
/// the values of the material at all nodes.
///
/// # Errors
/// Returns an error for files with different grids, other parameters that fill the mesh, or values that no
/// medium has.
pub fn read<const D: usize>(
    job: &Job,
    raw: &RawMesh,
    mesh: &Mesh<D>,
    basis: &Basis,
) -> anyhow::Result<(GridModel<D>, u64)> {
    if let Some(word) = ["vp", "vs", "den", "qp", "qs", "ccc"]
        .into_iter()
        .find(|word| job.given(word))
    {
        bail!(
            "{word}= and tomography files both fill the mesh: leave out {word}=, or give the regions of the files their own rows in nummaterial_velocity_file"
        );
    }
    let first = first(job, raw)?;
    // The grid is extended with the values of its sides.
    let [low, high] = beyond(mesh, first);
    let mut planes: [Vec<f32>; 3] = Default::default();
    let mut grid = None;
    let nodes = (0..3).map(|c| low[c] + first.n[c] + high[c]).product::<usize>();
    for (model, material) in raw.tomography.iter().zip(&raw.materials) {
        let own = match model {
            Some(model) => {
                let grown = model.grown(low, high);
                grid = Some((grown.n, grown.o, grown.d));
                grown.values
            }
            None => [material.vp, material.vs, material.density].map(|value| vec![value as f32; nodes]),
        };
        planes
            .iter_mut()
            .zip(own)
            .for_each(|(plane, own)| plane.extend(own));
    }
    let Some((n, o, d)) = grid else {
        bail!("no region of the mesh has a tomography file");
    };
    let sum = planes.iter().fold(
        Checksum::new().with_text(&format!("{n:?} {o:?} {d:?}")),
        |sum, plane| sum.with(plane),
    );
    let sum = sum.end();
    let [vp, vs, density] = planes.map(Some);
    let model = GridModel::new(
        mesh,
        basis,
        Grids {
            lattice: Lattice {
                n: std::array::from_fn(|c| n[c]),
                o: std::array::from_fn(|c| o[c]),
                d: std::array::from_fn(|c| d[c]),
            },
            // There is one grid per region, which is used up to the sides of the region, even if there is
            // only one region.
            count: raw.materials.len().max(2),
            planes: Planes {
                vp,
                vs,
                density,
                ..Planes::default()
            },
        },
        (&raw.materials, None),
        None,
    )?;
    Ok((model, sum))
}

/// The first of the files, after a check that all have the same grid.
fn first<'a>(job: &Job, raw: &'a RawMesh) -> anyhow::Result<&'a Tomography> {
    let models: Vec<_> = raw.tomography.iter().flatten().collect();
    let first = models[0];
    for other in &models {
        if (other.n, other.o, other.d) != (first.n, first.o, first.d) {
            bail!(
                "{} and {} have different grids; all tomography files of a mesh must share one",
                first.name,
                other.name
            );
        }
    }
    if let Some(lossy) = models.iter().find(|model| model.has_quality) {
        job.warn(&format!(
            "the quality factors in {} have no effect: regions that take their velocities from a tomography file do not attenuate",
            lossy.name
        ));
    }
    Ok(first)
}

/// The number of nodes that must be added at the low and the high end of each axis for a grid to cover a
/// mesh.
fn beyond<const D: usize>(mesh: &Mesh<D>, model: &Tomography) -> [[usize; 3]; 2] {
    let ends = |c: usize| {
        let ends = [f64::INFINITY, f64::NEG_INFINITY];
        mesh.nodes()
            .iter()
            .fold(ends, |[low, high], x| [low.min(x[c]), high.max(x[c])])
    };
    let along = |c: usize, end: usize| {
        let side = model.o[c] + model.d[c] * (model.n[c] - 1) as f64;
        let miss = [model.o[c] - ends(c)[0], ends(c)[1] - side][end];
        match model.n[c] {
            1 => 0,
            // Quadratic elements may extend beyond the box of their nodes.
            _ => (miss / model.d[c] + 1.0).ceil().max(0.0) as usize,
        }
    };
    [0, 1].map(|end| std::array::from_fn(|c| along(c, end)))
}
