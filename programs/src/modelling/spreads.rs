//! The positions of the sources and receivers of all shots of a survey.

use super::acquisition;
use super::checksum::Checksum;
use super::picks::Picks;
use super::record::Outputs;
use super::settings;
use super::words::counted;
use anyhow::{Context, bail};
use kernels::grid::points::Point;
use rsf_io::{Axis, Input, Job};

/// The points of the shots that a run models.
#[derive(Clone)]
pub struct Spreads {
    /// The sources of each shot, or one list for all shots.
    pub sources: Vec<Vec<Point>>,
    /// The receivers of each shot, or one list for all shots.
    pub receivers: Vec<Vec<Point>>,
    /// The axis of the shots.
    pub axis: Axis,
    /// The axis of the receivers.
    pub across: Axis,
    /// The picked shots of the survey.
    pub picks: Picks,
}

impl Spreads {
    /// Reads files of points, `sou=` and `rec=`, whose third axis counts the shots, and takes the shots that `shots=`
    /// picks. A file is `None` if something else gives the points of all shots.
    pub fn of_files(
        job: &Job,
        (sou, rec): (Option<Input>, Option<Input>),
        ndim: usize,
    ) -> anyhow::Result<Self> {
        let lone = || Axis::new(1, 0.0, 1.0);
        let axis = |file: &Option<Input>, i| file.as_ref().map_or_else(lone, |file| file.axis(i));
        let name = |file: &Option<Input>| file.as_ref().map_or(String::new(), Input::name);
        let (names, axes, across) = (
            [name(&sou), name(&rec)],
            [axis(&sou, 3), axis(&rec, 3)],
            axis(&rec, 2),
        );
        let along = axis(&sou, 2);
        let label = along.label.as_deref().unwrap_or_default();
        if axes[0].n == 1 && along.n > 1 && label.eq_ignore_ascii_case("shot") {
            job.warn(&format!(
                "{} has its shots along axis 2 (n2={}, label2={label}), which makes them sources of one shot that act \
                together: shots lie along axis 3, which sfwindow keeps with squeeze=n",
                names[0], along.n
            ));
        }
        let points = |file: Option<Input>| match file {
            Some(file) => acquisition::lines(file, ndim),
            None => Ok(vec![Vec::new()]),
        };
        let (sources, receivers) = (points(sou)?, points(rec)?);
        let count = sources.len().max(receivers.len());
        if (sources.len() != count && sources.len() != 1)
            || (receivers.len() != count && receivers.len() != 1)
        {
            bail!(
                "{} has {} (n3=) and {} has {}: both must have the same number, or one of them must \
                have only one",
                names[0],
                counted(sources.len(), "shot"),
                names[1],
                receivers.len()
            );
        }
        let own = if sources.len() == count {
            &axes[0]
        } else {
            &axes[1]
        };
        let picks = Picks::read(job, count)?;
        let label = own.label.clone().filter(|label| !label.is_empty());
        let label = label.or(Some("shot".into()));
        Ok(Self {
            axis: Axis {
                label,
                ..picks.axis(own)
            },
            sources: picks.of(sources),
            receivers: picks.of(receivers),
            across,
            picks,
        })
    }

    /// Keeps the first of several lines of receivers if there is one source shot and snapshots are written,
    /// which only one shot can have. Madagascar's programs read a plane of receivers in this way. shots=
    /// selects another line.
    pub fn keep_first_line(&mut self, job: &Job) -> anyhow::Result<()> {
        let lines = self.receivers.len();
        if self.sources.len() > 1 || lines == 1 || job.given("shots") || !job.flag("snap")? {
            return Ok(());
        }
        job.warn(&format!(
            "rec= has {lines} lines of receivers (n3=), but sou= has one shot and snap=y requires a single one: the \
            first line is recorded, as in Madagascar (shots=2 takes the second)"
        ));
        self.receivers.truncate(1);
        self.picks = Picks::read(job, 1)?;
        self.axis = self.picks.axis(&Axis::new(1, 0.0, 1.0));
        Ok(())
    }

    /// The number of shots.
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

    /// Calls `check` with the sources and the receivers of every shot, and adds the number of the shot to its
    /// errors.
    pub fn check(&self, check: impl Fn([&[Point]; 2]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        (0..self.count()).try_for_each(|shot| {
            let checked = check(self.of(shot));
            match self.picks.whole() {
                1 => checked,
                _ => checked.with_context(|| format!("shot {}", self.picks.number(shot))),
            }
        })
    }

    /// Refuses data, with shots along axis 4, whose header says that they contain shots other than the picked shots.
    pub fn same_shots(&self, data: &Input) -> anyhow::Result<()> {
        let listed = data.header().text("shots");
        let axes = [&data.axis(4), &self.axis];
        self.picks.same(&data.name(), listed.as_deref(), axes)
    }

    /// Whether data, with shots along axis 4, belong to the picked shots and not to the whole survey, or their shots are
    /// not known.
    pub fn picks_alone(&self, data: &Input) -> bool {
        let shots = data.axis(4).n;
        let is_unknown = data.header().text("shots").is_some_and(|list| list.is_empty());
        shots == self.count() && shots != self.picks.whole() || is_unknown
    }

    /// Gives the data an axis of shots if there are several or some were picked, and writes the picked shots
    /// and the parameters of the survey to the headers.
    pub fn head(&self, job: &Job, outputs: &mut Outputs) -> anyhow::Result<()> {
        if self.count() > 1 || self.picks.listed().is_some() {
            outputs.count_shots(&self.axis);
            settings::write(job, outputs)?;
        }
        if let Some(list) = self.picks.listed() {
            outputs.put_text("shots", list);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States of surveys are identified by their points: a receiver at another place, or in another shot,
    /// changes the checksum.
    #[test]
    fn checksums_distinguish_spreads() {
        let spreads = |sources: Vec<Vec<Point>>, receivers: Vec<Vec<Point>>| Spreads {
            axis: Axis::new(2, 0.0, 1.0),
            across: Axis::new(2, 0.0, 1.0),
            picks: Picks::all(2),
            sources,
            receivers,
        };
        let at = |x: f32| [10.0, x, 0.0];
        let plain = spreads(vec![vec![at(1.0)], vec![at(2.0)]], vec![vec![at(3.0), at(4.0)]]);
        assert_eq!(plain.checksum(), plain.clone().checksum());
        for other in [
            spreads(vec![vec![at(1.0)], vec![at(2.5)]], plain.receivers.clone()),
            spreads(plain.sources.clone(), vec![vec![at(3.0), at(4.5)]]),
            spreads(plain.sources.clone(), vec![vec![at(3.0)], vec![at(4.0)]]),
            spreads(plain.sources.clone(), vec![vec![at(4.0), at(3.0)]]),
        ] {
            assert_ne!(plain.checksum(), other.checksum());
        }
    }
}
