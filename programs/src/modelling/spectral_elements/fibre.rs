//! Fibres in a mesh: the receivers from which their strain is derived.

use crate::modelling::fibre::Fibre;
use crate::modelling::quantity::{What, of_data};
use kernels::mesh::{Locator, Mesh};
use kernels::methods::spectral_elements::{Quantity, Shot};
use rsf_io::Job;

/// The cable of data=das; `None` for other data.
pub fn requested<const D: usize>(
    job: &mut Job,
    mesh: &Mesh<D>,
    shot: &mut Shot<D>,
) -> anyhow::Result<Option<Fibre>> {
    if of_data(job)?.1 == What::Das {
        return read(job, mesh, shot).map(Some);
    }
    Fibre::idle(job, "data=das");
    Ok(None)
}

/// Reads along= and gauge=, and replaces the receivers of `shot`, which are the channels, with the receivers that the
/// method records: the ends of the gauges, or the places of the strain.
fn read<const D: usize>(job: &mut Job, mesh: &Mesh<D>, shot: &mut Shot<D>) -> anyhow::Result<Fibre> {
    let fibre = Fibre::read(job, D, shot.receivers.len())?;
    if fibre.gauge <= 0.0 {
        shot.quantity = Quantity::Strain;
        return Ok(fibre);
    }
    shot.receivers = places(&fibre, std::mem::take(&mut shot.receivers));
    check(&Locator::new(mesh), &shot.receivers)?;
    shot.quantity = Quantity::Displacement;
    Ok(fibre)
}

/// The positions from which the strain of channels at these positions is derived.
pub fn places<const D: usize>(fibre: &Fibre, channels: Vec<[f64; D]>) -> Vec<[f64; D]> {
    if fibre.gauge <= 0.0 {
        return channels;
    }
    let mut ends = Vec::new();
    for (k, at) in channels.iter().enumerate() {
        let along = fibre.direction(k);
        for half in [-0.5 * fibre.gauge, 0.5 * fibre.gauge] {
            // Axes of the mesh: x[, y], z.
            ends.push(std::array::from_fn(|c| at[c] + half * along[(c + 1) % D]));
        }
    }
    ends
}

/// Refuses ends of gauges outside the mesh.
pub fn check<const D: usize>(locator: &Locator<'_, D>, ends: &[[f64; D]]) -> Result<(), kernels::Error> {
    let mut ends = ends.iter().enumerate();
    ends.try_for_each(|(k, end)| {
        let what = format!("an end of the gauge of receiver {}", k / 2 + 1);
        Ok(locator.locate(&what, *end).map(drop)?)
    })
}
