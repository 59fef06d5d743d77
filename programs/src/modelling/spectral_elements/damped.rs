//! Sources and receivers inside the layer of sponge=, which damps their waves.

use super::advice::{Whose, number_of};
use kernels::methods::spectral_elements::SpongeLayer;
use rsf_io::Job;

/// Warns of sources and receivers, or points of a map, in the sponge.
pub fn in_sponge<const D: usize>(
    job: &Job,
    layer: &SpongeLayer<D>,
    (shots, whose): (&[[Vec<[f64; D]>; 2]], Whose),
) {
    let cure = match whose {
        Whose::Map => "give the map a smaller window (oqx=, dqx=, nqx= and so on), or make the mesh larger",
        _ => "move them out of it, make the mesh larger, or give a smaller sponge=",
    };
    let lists = match whose {
        Whose::Map => &[(1, Whose::Map)][..],
        _ => &[(0, Whose::Sources), (1, Whose::Receivers)],
    };
    for (list, whose) in lists {
        let mut held = Vec::new();
        for (shot, points) in shots.iter().enumerate() {
            let numbers = points[*list]
                .iter()
                .enumerate()
                .filter(|(_, x)| layer.distance(**x).is_some());
            held.extend(numbers.map(|(number, _)| (shot, number)));
        }
        if let Some(first) = held.first() {
            job.warn(&format!(
                "{} within {} m of an absorbing side (the first is {}), in the sponge, where waves are damped: {cure}",
                whose.are(held.len()),
                layer.thickness(),
                number_of(*first, shots.len())
            ));
        }
    }
}
