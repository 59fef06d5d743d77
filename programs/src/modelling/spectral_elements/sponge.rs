//! The damping layer inside absorbing sides.

use anyhow::bail;
use kernels::mesh::Mesh;
use kernels::methods::spectral_elements::Sponge;
use kernels::stability::Band;
use rsf_io::Job;

/// The layer that sponge= asks for. One that is thin for the waves of the sources sends them back itself.
pub(super) fn read<const D: usize>(
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
    let wide = widest(mesh.nodes());
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
            "sponge={thickness} m is {wavelengths:.2} of the wavelength of P at {typical:.3} Hz: so thin a layer itself sends waves back, half a wavelength 17 % of P that comes at right angles; give {:.0} m or more, or none",
            fastest / typical
        ));
    }
    Ok(Some(Sponge {
        thickness,
        left: job.double("left")?,
    }))
}

/// The longest side of the box around nodes.
fn widest<const D: usize>(nodes: &[[f64; D]]) -> f64 {
    let side = |c: usize| {
        let low = nodes.iter().map(|x| x[c]).fold(f64::INFINITY, f64::min);
        nodes.iter().map(|x| x[c]).fold(f64::NEG_INFINITY, f64::max) - low
    };
    (0..D).map(side).fold(0.0, f64::max)
}
