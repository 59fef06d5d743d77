//! Layers inside absorbing sides that damp waves: a sponge, or perfectly matched layers.

use super::advice;
use crate::modelling::plan::up;
use anyhow::bail;
use kernels::mesh::{Mesh, Side};
use kernels::methods::spectral_elements::{Lumping, Pml, Profile, Sponge};
use kernels::stability::Band;
use rsf_io::Job;

use crate::meshing::{RawMesh, stored};

/// The perfectly matched layers that cpml= requests or, without it, the layers of the mesh. cpml=0 leaves out the
/// layers of the mesh, too.
pub(super) fn matched<const D: usize>(
    job: &Job,
    raw: &RawMesh,
    mesh: &Mesh<D>,
) -> anyhow::Result<Option<Pml<D>>> {
    let pml = match job.double_opt("cpml")? {
        Some(thickness) if thickness > 0.0 => {
            let pml = Pml::along_sides(mesh, thickness)?;
            warn_of_thin_layers(job, thickness, mesh);
            Some(pml)
        }
        Some(_) => None,
        None => raw.matched_layers(mesh)?,
    };
    if job.given("pml") && stored::absorbs_nowhere(job)? {
        job.warn(
            "pml= has no effect with absorbing=none, which removes the layers together with the sides that \
            absorb",
        );
    } else if job.given("pml") && job.given("cpml") {
        job.warn("pml= has no effect with cpml=, which defines the layers: leave out one of them");
    }
    let frequency = job.double_opt("fcpml")?;
    if pml.is_none() && frequency.is_some() {
        job.warn("fcpml= has no effect without perfectly matched layers: give cpml=, too");
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

/// Warns of perfectly matched layers that are thinner than the elements that contain them.
fn warn_of_thin_layers<const D: usize>(job: &Job, thickness: f64, mesh: &Mesh<D>) {
    let across = |side: &Side| {
        let (nodes, own) = (mesh.face_corners(*side), mesh.coordinates(side.element));
        let spread = |all: &mut dyn Iterator<Item = f64>| {
            let ends = all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| {
                [low.min(x), high.max(x)]
            });
            ends[1] - ends[0]
        };
        // The side is flat across one axis.
        let flat = |axis: &usize| spread(&mut nodes.iter().map(|node| mesh.nodes()[*node as usize][*axis]));
        let axis = (0..D).min_by(|a, b| flat(a).total_cmp(&flat(b))).unwrap_or(0);
        spread(&mut own.iter().map(|x| x[axis]))
    };
    let widest = mesh.absorbing().iter().map(across).fold(0.0, f64::max);
    if thickness < 0.99 * widest {
        job.warn(&format!(
            "cpml={thickness} m is thinner than elements along the sides that absorb, which are up to {} m \
            wide: such layers reflect waves and reduce the stable step; give cpml={} (three elements) or \
            more",
            up(widest, 3),
            up(3.0 * widest, 3)
        ));
    }
}

/// The layer that sponge= requests. Warns if it is too thin for the waves of the sources, which it then
/// reflects.
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
            "sponge={thickness} m is thicker than the mesh, which is {wide} m wide: waves would be damped everywhere; \
            one or two P wavelengths are enough"
        );
    }
    let fastest = speeds.iter().map(|[vp, _]| *vp).fold(0.0, f64::max);
    // The waves of a pulse of one sign are strongest at about a third of its highest frequency.
    let typical = band.peak.max(band.max / 3.0);
    let wavelengths = thickness * typical / fastest;
    if wavelengths < 1.0 {
        job.warn(&format!(
            "sponge={thickness} m is {wavelengths:.2} of the wavelength of P at {typical:.3} Hz: such a thin \
            layer itself reflects waves: of the largest wave of a Ricker wavelet with this peak frequency, \
            half a wavelength reflects 9 % and one wavelength 3 %; {}",
            match fastest / typical {
                enough if 1.01 * enough < wide =>
                    format!("give {} m or more, or no sponge", up(enough, 3) as f32),
                _ => "this mesh is too small for a sponge: enlarge it, or give cpml= or no layer".to_string(),
            }
        ));
    }
    Ok(Some(Sponge {
        thickness,
        left: job.double("left")?,
    }))
}

/// The way in which the damping of absorbing sides enters the mass, by `lumping=`.
pub(super) fn lumping(job: &Job) -> anyhow::Result<Lumping> {
    Ok(match job.choice("lumping")? {
        "specfem" => Lumping::RowSums,
        _ => Lumping::Matrix,
    })
}
