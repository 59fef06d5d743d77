//! Constant Q: the band, the reference frequency and the fit.

use super::medium::LOSSLESS;
use crate::meshing::RawMesh;
use crate::modelling::exact_time::Timing;
use crate::modelling::losses::{USUAL, uneven};
use crate::modelling::words::counted;
use anyhow::bail;
use kernels::medium::attenuation::Law;
use kernels::medium::periods;
use kernels::mesh::{Basis, Mesh, quality};
use kernels::methods::spectral_elements::{Band, MECHANISMS, Relaxation};
use rsf_io::Job;

/// The lower end of the band of constant Q as a fraction of the upper one.
const BAND: f64 = 1.0 / 12.0;

/// The way in which relaxation times are determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Such that Q is as constant as possible over the band.
    Even,
    /// The relaxations that SPECFEM3D finds, over its band.
    Specfem,
    /// These relaxations, with SPECFEM3D's memory variables of the scheme LDDRK.
    Lddrk,
}

impl Fit {
    /// The fit of qfit=. Without it, SPECFEM3D's fit is used for its own meshes, unless qband= is given.
    ///
    /// # Errors
    /// Returns an error for a qfit= that cannot be read.
    pub fn of(job: &Job) -> anyhow::Result<Self> {
        if !job.given("qfit") {
            return Ok(match job.given("specfem") && !job.given("qband") {
                true => Self::Specfem,
                false => Self::Even,
            });
        }
        Ok(match job.choice("qfit")? {
            "specfem" => Self::Specfem,
            "lddrk" => Self::Lddrk,
            _ => Self::Even,
        })
    }
}

/// The highest frequency (Hz) that the whole mesh resolves with five points per wavelength of the slower wave.
pub fn resolved<const D: usize>(raw: &RawMesh, mesh: &Mesh<D>, basis: &Basis) -> f64 {
    let slowest = |region: &u32| {
        let m = &raw.materials[*region as usize];
        if m.vs > 0.0 { m.vs } else { m.vp }
    };
    let slowest: Vec<f64> = mesh.regions().iter().map(slowest).collect();
    quality::resolved(mesh, &slowest, basis.degree()).map_or(f64::NAN, |(_, frequency)| frequency)
}

/// The two frequencies of qband= (without it, `otherwise`), and qref= (without it, the geometric mean of the band).
fn limits(job: &Job, otherwise: impl FnOnce() -> [f64; 2]) -> anyhow::Result<([f64; 2], f64)> {
    let band = match job.floats("qband")?.as_slice() {
        [] => otherwise(),
        &[low, high] => [f64::from(low), f64::from(high)],
        list => bail!(
            "qband= has {}; it takes two, the lowest and the highest frequency",
            counted(list.len(), "number")
        ),
    };
    let reference = job.double_opt("qref")?.unwrap_or((band[0] * band[1]).sqrt());
    if !(band[0] > 0.0 && band[1] >= band[0] && band[1].is_finite() && reference > 0.0) {
        bail!(
            "the band of constant Q is {} to {} Hz with the reference {} Hz: they must be positive and in this order; give qband= and qref=",
            band[0] as f32,
            band[1] as f32,
            reference as f32
        );
    }
    Ok((band, reference))
}

/// The band of constant Q up to the highest frequency of the sources, and the frequency at which the speeds
/// are given, for quality factors on grids.
///
/// # Errors
/// Returns an error for numbers that do not form a band, or a qfit= of SPECFEM3D.
pub fn band(job: &Job, timing: &Timing) -> anyhow::Result<Band> {
    if job.given("qfit") && job.choice("qfit")? != "even" {
        bail!(
            "qfit={} is for the quality factors of materials, but qp= and qs= have their own fit: leave out \
            qfit=",
            job.choice("qfit")?
        );
    }
    let highest = timing.band.max;
    let (band, reference) = limits(job, || [BAND * highest, highest])?;
    if job.given("qband") {
        let law = Law::new(MECHANISMS, band, reference, USUAL);
        uneven(job, &law, (USUAL, band), "");
    }
    Ok(Band {
        band: band.map(|end| end / timing.relaxation()),
        reference: reference / timing.relaxation(),
    })
}

/// Returns a function from two quality factors, of shear and bulk, to their relaxation times, corrected for
/// the time of the steps. `resolved` gives the highest frequency that the mesh resolves.
///
/// # Errors
/// Returns an error for numbers that do not form a band.
pub fn law(
    job: &Job,
    timing: &Timing,
    fit: Fit,
    resolved: impl FnOnce() -> f64,
) -> anyhow::Result<Box<dyn Fn([f64; 2]) -> Relaxation>> {
    if fit == Fit::Even {
        let Band { band, reference } = band(job, timing)?;
        let quality = |q: f64| if q < LOSSLESS { q } else { f64::INFINITY };
        return Ok(Box::new(move |q| {
            Relaxation::constant(q.map(quality), band, reference)
        }));
    }
    let (band, reference) = limits(job, || periods::band(resolved()))?;
    let stretch = timing.relaxation();
    let ahead = if fit == Fit::Lddrk { job.double("dt")? } else { 0.0 };
    let shortest = 1.0 / (std::f64::consts::TAU * band[1]);
    if ahead >= shortest {
        bail!(
            "qfit=lddrk: dt={ahead} s is longer than the shortest relaxation time, {shortest:.4e} s: give \
            qfit=specfem"
        );
    }
    Ok(Box::new(move |q| {
        let own = Relaxation::of_periods(q, band, reference).ahead(ahead);
        Relaxation {
            tau_stress: own.tau_stress.map(|time| time * stretch),
            tau_shear: own.tau_shear.map(|time| time * stretch),
            tau_bulk: own.tau_bulk.map(|time| time * stretch),
            factors: own.factors,
        }
    }))
}
