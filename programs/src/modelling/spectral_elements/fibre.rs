//! Fibres in a mesh: the receivers that their strain is made of.

use crate::modelling::fibre::Fibre;
use kernels::mesh::{Locator, Mesh};
use kernels::methods::spectral_elements::{Quantity, Shot};
use rsf_io::Job;

/// Reads along= and gauge=, and makes the receivers of `shot`, which stand for the channels, those that the method records: the
/// ends of their gauges, or places of strain.
pub fn read<const D: usize>(job: &mut Job, mesh: &Mesh<D>, shot: &mut Shot<D>) -> anyhow::Result<Fibre> {
    let fibre = Fibre::read(job, D, shot.receivers.len())?;
    if fibre.gauge <= 0.0 {
        shot.quantity = Quantity::Strain;
        return Ok(fibre);
    }
    let channels = std::mem::take(&mut shot.receivers);
    let locator = Locator::new(mesh);
    for (k, at) in channels.iter().enumerate() {
        let along = fibre.direction(k);
        for half in [-0.5 * fibre.gauge, 0.5 * fibre.gauge] {
            // Axes of the mesh: x[, y], z.
            let end: [f64; D] = std::array::from_fn(|c| at[c] + half * along[(c + 1) % D]);
            locator.locate(&format!("an end of the gauge of receiver {}", k + 1), end)?;
            shot.receivers.push(end);
        }
    }
    shot.quantity = Quantity::Displacement;
    Ok(fibre)
}
