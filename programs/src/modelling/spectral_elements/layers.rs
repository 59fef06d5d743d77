//! Layers inside absorbing sides that damp waves: a sponge, or perfectly matched layers.

use super::advice;
use crate::modelling::plan::up;
use anyhow::bail;
use kernels::mesh::Mesh;
use kernels::methods::spectral_elements::{Lumping, Pml, Profile, Sponge};
use kernels::stability::Band;
use rsf_io::Job;

use crate::meshing::{RawMesh, stored};

/// The perfectly matched layers that cpml= asks for; without it those of the mesh. cpml=0 leaves these out as well.
pub(super) fn matched<const D: usize>(
    job: &Job,
    raw: &RawMesh,
    mesh: &Mesh<D>,
) -> anyhow::Result<Option<Pml<D>>> {
    let pml = match job.double_opt("cpml")? {
        Some(thickness) if thickness > 0.0 => Some(Pml::along_sides(mesh, thickness)?),
        Some(_) => None,
        None => raw.matched_layers(mesh)?,
    };
    if job.given("pml") && stored::absorbs_nowhere(job)? {
        job.warn(
            "pml= has no effect with absorbing=none, which takes the layers away with the sides that absorb",
        );
    } else if job.given("pml") && job.given("cpml") {
        job.warn("pml= has no effect beside cpml=, which says where the layers lie: leave one of them out");
    }
    let frequency = job.double_opt("fcpml")?;
    if pml.is_none() && frequency.is_some() {
        job.warn("fcpml= has no effect without perfectly matched layers: give cpml= too");
    }
    let pml = pml.map(|pml| Pml {
        profile: frequency.map_or(Profile::Strong, |frequency| Profile::Specfem { frequency }),
        ..pml
    });
    if pml.is_some() && job.double("sponge")? > 0.0 {
        bail!(
            "a sponge and perfectly matched layers cannot be combined: give sponge= or cpml=, not both (cpml=0 leaves out the layers of the mesh)"
        );
    }
    Ok(pml)
}

/// The layer that sponge= asks for. One that is thin for the waves of the sources sends them back itself.
pub(super) fn sponge<const D: usize>(
    job: &Job,
    speeds: &[[f64; 2]],
    band: Band,
    mesh: &Mesh<D>,
) -> anyhow::Result<Option<Sponge>> {
    let thickness = job.double("sponge")?;
    if thickness <= 0.0 {
        if job.given("left") {
            job.warn("left= has no effect without sponge=");
        }
        return Ok(None);
    }
    let wide = advice::sides(mesh.nodes()).into_iter().fold(0.0, f64::max);
    if thickness >= wide {
        bail!(
            "sponge={thickness} m is thicker than the mesh, which is {wide} m wide: waves would be damped everywhere; a wavelength or \
two of P are enough"
        );
    }
    let fastest = speeds.iter().map(|[vp, _]| *vp).fold(0.0, f64::max);
    // Of a pulse of one sign the waves are highest at about a third of where it ends.
    let typical = band.peak.max(band.max / 3.0);
    let wavelengths = thickness * typical / fastest;
    if wavelengths < 1.0 {
        job.warn(&format!(
            "sponge={thickness} m is {wavelengths:.2} of the wavelength of P at {typical:.3} Hz: so thin a layer itself sends waves back, of a Ricker wavelet with this peak frequency 9 % of the largest wave at half a wavelength and 3 % at one; {}",
            match fastest / typical {
                enough if 1.01 * enough < wide => format!("give {} m or more, or none", up(enough, 3) as f32),
                _ => "this mesh is too small for one: enlarge it, or give cpml= or none".to_string(),
            }
        ));
    }
    Ok(Some(Sponge {
        thickness,
        left: job.double("left")?,
    }))
}

/// How `lumping=` says that the damping of absorbing sides enters the mass.
pub(super) fn lumping(job: &Job) -> anyhow::Result<Lumping> {
    Ok(match job.choice("lumping")? {
        "specfem" => Lumping::RowSums,
        _ => Lumping::Matrix,
    })
}
