//! Distributed acoustic sensing: the strain along fibres, computed from the records of receivers.

use super::acquisition;
use super::words::counted;
use anyhow::bail;
use kernels::grid::points::Point;
use rsf_io::Job;

/// The channels of a cable.
#[derive(Clone, Debug)]
pub struct Fibre {
    /// Unit vectors along the fibre (z, x, y), one per channel.
    directions: Vec<[f64; 3]>,
    ndim: usize,
    /// Gauge length, over which a channel averages the strain, m; 0: the strain at a point.
    pub gauge: f64,
}

/// Axes of the components of a strain: zz, xx, yy, zx, zy, xy, in 2-D zz, xx, zx.
const PAIRS: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];
const PAIRS_2D: [[usize; 2]; 3] = [[0, 0], [1, 1], [0, 1]];

impl Fibre {
    /// Reads `along=` and `gauge=` for `channels` channels.
    pub fn read(job: &mut Job, ndim: usize, channels: usize) -> anyhow::Result<Self> {
        if !job.has_input("along") {
            bail!(
                "data=das needs along=, the direction of the fibre: n1={ndim} (x[, y], z), one for all \
                receivers or one for each, as sfpoints makes it (sfpoints x=0{} z=1 > along.rsf is straight \
                down)",
                if ndim == 3 { " y=0" } else { "" }
            );
        }
        let file = job.input("along")?;
        let name = file.name();
        let given = acquisition::points(job, file, ndim)?;
        if ![1, channels].contains(&given.len()) {
            bail!(
                "{name} has {} for {}: give one direction for all or one for each",
                counted(given.len(), "direction"),
                counted(channels, "receiver")
            );
        }
        let unit = |(k, point): (usize, &Point)| -> anyhow::Result<[f64; 3]> {
            let direction = point.map(f64::from);
            let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length <= 0.0 {
                bail!(
                    "{name}: direction {} is zero; give a vector along the fibre",
                    k + 1
                );
            }
            Ok(direction.map(|x| x / length))
        };
        let all = given
            .iter()
            .enumerate()
            .map(unit)
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self {
            directions: (0..channels).map(|k| all[k.min(all.len() - 1)]).collect(),
            ndim,
            gauge: job.double("gauge")?,
        })
    }

    /// Warns of `along=` and `gauge=` if no strain along a fibre is recorded.
    pub fn idle(job: &Job, without: &str) {
        for word in ["along", "gauge"].into_iter().filter(|word| job.given(word)) {
            job.warn(&format!("{word}= has no effect without {without}"));
        }
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.directions.len()
    }

    /// The number of receivers from which the strain of all channels is derived.
    pub fn receivers(&self) -> usize {
        match self.gauge > 0.0 {
            true => 2 * self.channels(),
            false => self.channels(),
        }
    }

    /// The direction (z, x, y) of a channel.
    pub fn direction(&self, channel: usize) -> [f64; 3] {
        self.directions[channel]
    }

    /// Positions of the additional receivers from which the strain is derived: both ends of each gauge, one
    /// after the other.
    pub fn ends(&self, channels: &[Point]) -> Vec<Point> {
        if self.gauge <= 0.0 {
            return Vec::new();
        }
        let end = |at: &Point, along: &[f64; 3], half: f64| -> Point {
            std::array::from_fn(|a| (f64::from(at[a]) + half * along[a]) as f32)
        };
        let pairs = channels
            .iter()
            .zip(&self.directions)
            .flat_map(|(at, along)| [-0.5 * self.gauge, 0.5 * self.gauge].map(|half| end(at, along, half)));
        pairs.collect()
    }

    /// A text that describes the cable, for a checksum.
    pub fn words(&self) -> String {
        format!("{:?} {}", self.directions, self.gauge)
    }

    /// The strain of all channels, from a record `[component][receiver]` of `receivers` receivers. With a gauge length
    /// the record contains displacements, and the ends of the gauges begin at receiver `first`; otherwise it contains
    /// strains, and the channels begin at `first`.
    pub fn strain(&self, record: &[f32], (receivers, first): (usize, usize)) -> Vec<f32> {
        let value = |c: usize, k: usize| f64::from(record[c * receivers + first + k]);
        let channel = |(k, along): (usize, &[f64; 3])| {
            let sum: f64 = if self.gauge > 0.0 {
                let ends = |c: usize| value(c, 2 * k + 1) - value(c, 2 * k);
                (0..self.ndim).map(|c| along[c] * ends(c)).sum::<f64>() / self.gauge
            } else {
                let pairs: &[[usize; 2]] = match self.ndim {
                    2 => &PAIRS_2D,
                    _ => &PAIRS,
                };
                let term = |(c, [a, b]): (usize, &[usize; 2])| {
                    let twice = if a == b { 1.0 } else { 2.0 };
                    twice * along[*a] * along[*b] * value(c, k)
                };
                pairs.iter().enumerate().map(term).sum()
            };
            sum as f32
        };
        self.directions.iter().enumerate().map(channel).collect()
    }
}
