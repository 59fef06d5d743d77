//! Distributed acoustic sensing: the strain along fibres, from what receivers record.

use super::place;
use crate::modelling::acquisition;
use anyhow::bail;
use kernels::mesh::{Locator, Mesh};
use kernels::methods::spectral_elements::{Quantity, Shot};
use rsf_io::Job;

/// The channels of a cable.
#[derive(Clone, Debug)]
pub struct Fibre<const D: usize> {
    /// Unit vectors along the fibre, one a channel.
    directions: Vec<[f64; D]>,
    /// Length over which a channel takes the mean strain, m; zero: at a place.
    gauge: f64,
}

impl<const D: usize> Fibre<D> {
    /// Reads along= and gauge=, and makes the receivers of `shot`, which stand for the channels, those that the method records: the
    /// ends of their gauges, or places of strain.
    pub fn read(job: &mut Job, mesh: &Mesh<D>, shot: &mut Shot<D>) -> anyhow::Result<Self> {
        if !job.has_input("along") {
            bail!(
                "data=das wants along=, the direction of the fibre: n1={D}, x[, y], z, one for all receivers or one each"
            );
        }
        let file = job.input("along")?;
        let name = file.name();
        let given = acquisition::points(job, file, D)?;
        let channels = std::mem::take(&mut shot.receivers);
        if ![1, channels.len()].contains(&given.len()) {
            bail!(
                "{name} has {} directions, and there are {} receivers: give one for all or one each",
                given.len(),
                channels.len()
            );
        }
        let unit = |(k, point): (usize, &kernels::grid::points::Point)| -> anyhow::Result<[f64; D]> {
            let direction: [f64; D] = place(*point);
            let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length <= 0.0 {
                bail!("{name}: direction {} is zero; a fibre goes somewhere", k + 1);
            }
            Ok(direction.map(|x| x / length))
        };
        let all = given
            .iter()
            .enumerate()
            .map(unit)
            .collect::<anyhow::Result<Vec<_>>>()?;
        let directions: Vec<_> = (0..channels.len()).map(|k| all[k.min(all.len() - 1)]).collect();
        let gauge = job.double("gauge")?;
        let fibre = Self { directions, gauge };
        if gauge <= 0.0 {
            shot.receivers = channels;
            shot.quantity = Quantity::Strain;
            return Ok(fibre);
        }
        let locator = Locator::new(mesh);
        for (k, (at, along)) in channels.iter().zip(&fibre.directions).enumerate() {
            for half in [-0.5 * gauge, 0.5 * gauge] {
                let end: [f64; D] = std::array::from_fn(|c| at[c] + half * along[c]);
                locator.locate(&format!("an end of the gauge of receiver {}", k + 1), end)?;
                shot.receivers.push(end);
            }
        }
        shot.quantity = Quantity::Displacement;
        Ok(fibre)
    }

    /// Channels.
    fn channels(&self) -> usize {
        self.directions.len()
    }

    /// What a checksum of the cable knows.
    pub fn words(&self) -> String {
        format!("{:?} {}", self.directions, self.gauge)
    }

    /// Strain of all channels from a record, `[component][receiver]`.
    pub fn strain(&self, record: &[f32]) -> Vec<f32> {
        let n = self.channels();
        let channel = |(k, along): (usize, &[f64; D])| {
            // Components of files: z, x[, y].
            let axis = |c: usize| along[(c + D - 1) % D];
            let sum: f64 = if self.gauge > 0.0 {
                let ends = |c: usize| {
                    f64::from(record[c * 2 * n + 2 * k + 1]) - f64::from(record[c * 2 * n + 2 * k])
                };
                (0..D).map(|c| axis(c) * ends(c)).sum::<f64>() / self.gauge
            } else {
                let pairs: &[(usize, usize)] = match D {
                    2 => &[(0, 0), (1, 1), (0, 1)],
                    _ => &[(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)],
                };
                let terms = pairs.iter().enumerate();
                let term = |(c, (a, b)): (usize, &(usize, usize))| {
                    let twice = if a == b { 1.0 } else { 2.0 };
                    twice * axis(*a) * axis(*b) * f64::from(record[c * n + k])
                };
                terms.map(term).sum()
            };
            sum as f32
        };
        self.directions.iter().enumerate().map(channel).collect()
    }
}
