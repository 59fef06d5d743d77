//! The shots of a survey: what changes from one to the next.

use crate::modelling::acquisition;
use crate::modelling::checkpoint::Checksum;
use crate::modelling::fibre::Fibre;
use anyhow::{Context, bail};
use kernels::grid::Padded;
use kernels::grid::points::Point;
use kernels::methods::velocity_stress::{Shot, check_points};
use rsf_io::{Axis, Job};

/// Where the sources and receivers of all shots are.
#[derive(Clone)]
pub struct Spreads {
    /// By shot, or one for all of them.
    sources: Vec<Vec<Point>>,
    /// By shot, or one for all of them.
    receivers: Vec<Vec<Point>>,
    /// The axis of the shots.
    pub axis: Axis,
    /// The axis of the receivers.
    pub across: Axis,
}

impl Spreads {
    /// Reads `sou=` and `rec=`, whose third axis is that of the shots.
    pub fn read(job: &mut Job, ndim: usize) -> anyhow::Result<Self> {
        let (sou, rec) = (job.input("sou")?, job.input("rec")?);
        let (names, axes) = ([sou.name(), rec.name()], [sou.axis(3), rec.axis(3)]);
        let across = rec.axis(2);
        let sources = acquisition::lines(sou, ndim)?;
        let receivers = acquisition::lines(rec, ndim)?;
        let count = sources.len().max(receivers.len());
        if (sources.len() != count && sources.len() != 1)
            || (receivers.len() != count && receivers.len() != 1)
        {
            bail!(
                "{} has {} shots (n3=) and {} has {}: both must have as many, or one of them one",
                names[0],
                sources.len(),
                names[1],
                receivers.len()
            );
        }
        let own = if sources.len() == count {
            &axes[0]
        } else {
            &axes[1]
        };
        Ok(Self {
            axis: Axis {
                n: count,
                label: own.label.clone().or(Some("shot".into())),
                ..own.clone()
            },
            sources,
            receivers,
            across,
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.axis.n
    }

    /// The points of a shot.
    pub fn of(&self, shot: usize) -> [&[Point]; 2] {
        [&self.sources, &self.receivers].map(|all| &all[shot % all.len()][..])
    }

    /// A checksum of all points.
    pub fn checksum(&self) -> u64 {
        let all = self.sources.iter().chain(&self.receivers);
        all.fold(Checksum::new(), |sum, points| {
            sum.with(&[points.len() as u64]).with(points)
        })
        .end()
    }

    /// Refuses points from which the waves cannot be reached.
    pub fn check(&self, padded: &Padded) -> anyhow::Result<()> {
        for shot in 0..self.count() {
            let [sources, receivers] = self.of(shot);
            for (points, what) in [(sources, "source"), (receivers, "receiver")] {
                let checked = check_points(padded, points, what);
                match self.count() {
                    1 => checked?,
                    _ => checked.with_context(|| format!("shot {}", shot + 1))?,
                }
            }
        }
        Ok(())
    }

    /// Puts the ends of the gauges of a fibre behind the receivers of every shot.
    pub fn lay(&mut self, fibre: &Fibre, padded: &Padded) -> anyhow::Result<()> {
        for channels in &mut self.receivers {
            let ends = fibre.ends(channels);
            for first in 0..2 {
                let side: Vec<Point> = ends.iter().skip(first).step_by(2).copied().collect();
                check_points(padded, &side, "an end of the gauge of receiver")?;
            }
            channels.extend(ends);
        }
        Ok(())
    }

    /// Moves sources and receivers to those of a shot.
    pub fn move_to(&self, shot: &mut Shot, number: usize) {
        let [sources, receivers] = self.of(number);
        for (source, &point) in shot.sources.iter_mut().zip(sources) {
            source.point = point;
        }
        shot.receivers = receivers.to_vec();
    }
}
