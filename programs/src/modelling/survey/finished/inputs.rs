//! Identifies the inputs of a survey's shots by checksums in the headers of its data.

use super::TAKES;
use crate::modelling::checksum::Checksum;
use crate::modelling::model::Opened;
use crate::modelling::picks::Picks;
use crate::modelling::record::Outputs;
use crate::modelling::survey::Survey;
use anyhow::bail;
use rsf_io::{Input, Job};

/// Header key for the checksums of the inputs that all shots share, by their names.
const SHARED: &str = "made_of";
/// Header key for the checksums of the points of every shot.
const POINTS: &str = "made_at";

/// Separators between the name and the checksum of an input, and between two inputs.
const MARKS: [&str; 2] = [": ", "; "];

/// The first words of the names of contents that belong to a single shot or to the output files.
const OF_A_SHOT: [&str; 4] = ["sou=", "rec=", "pgv=", "the list of quantities"];

/// Programs that leave the data of a shot unchanged, or set all of them to zero.
const KEEP: [&str; 7] = ["sfwindow", "sfcat", "sfrcat", "sfcp", "sfmv", "sfput", "sfcut"];

/// The first program in the history of a header, after the checksums, that changes data. The line of a
/// program has its name after the version and a tab.
fn changed_by(history: &str) -> Option<String> {
    let (_, behind) = history.rsplit_once(&format!("{SHARED}="))?;
    let program = |line: &str| {
        let (version, rest) = line.split_once('\t')?;
        let (name, _) = rest.split_once('\t')?;
        (!version.is_empty() && !KEEP.contains(&name)).then(|| name.to_string())
    };
    behind.lines().skip(1).find_map(program)
}

/// Checksums of everything except the parameters that determines the data of shots.
pub struct InputChecksums {
    /// Names and checksums of the inputs that all shots share.
    shared: Vec<(&'static str, u64)>,
    /// Checksums of the points of each shot of the run.
    points: Vec<u32>,
    picks: Picks,
}

impl InputChecksums {
    /// The checksums for the shots of a run with this model, which is read as a whole.
    pub fn of<M: Survey>(shot: &M, volumes: &<M::Files as Opened>::Volumes) -> anyhow::Result<Self> {
        let spreads = shot.spreads();
        // If earthquake or station files give the points, these are the same in all shots.
        let lacking = spreads.of(0).map(<[_]>::is_empty);
        let is_shared = |name: &str| match OF_A_SHOT.iter().position(|word| name.starts_with(word)) {
            Some(k) => lacking.get(k).is_some_and(|lacks| *lacks),
            None => true,
        };
        let mut shared: Vec<_> = shot.contents();
        shared.retain(|(name, _)| is_shared(name));
        let actions = Checksum::new().with_text(&shot.actions().join(" "));
        shared.push(("the moments and forces of the sources", actions.end()));
        let histories = Checksum::new().with(&shot.sources_by_step()).end();
        shared.push(("the time functions of the sources", histories));
        if let Some(model) = M::Files::checksum(volumes)? {
            shared.push(("the model", model));
        }
        let points = (0..spreads.count()).map(|shot| {
            let both = spreads.of(shot).into_iter();
            let sum = both.fold(Checksum::new(), |sum, points| {
                sum.with(&[points.len() as u64]).with(points)
            });
            sum.end() as u32
        });
        Ok(Self {
            shared,
            points: points.collect(),
            picks: spreads.picks.clone(),
        })
    }

    /// Writes the checksums into the headers.
    pub fn write_to(&self, outputs: &mut Outputs) {
        let [colon, between] = MARKS;
        let one = |(name, sum): &(&str, u64)| format!("{name}{colon}{sum:016x}");
        let shared: Vec<String> = self.shared.iter().map(one).collect();
        outputs.put_text(SHARED, &shared.join(between));
        let points: Vec<String> = self.points.iter().map(|sum| format!("{sum:08x}")).collect();
        outputs.put_text(POINTS, &points.join(" "));
    }

    /// Refuses data whose shots had other inputs; `places` are the indices in the data of the shots of this run. Warns
    /// of data without checksums.
    pub fn compare(&self, job: &Job, data: &Input, places: &[Option<usize>]) -> anyhow::Result<()> {
        let (name, text) = (data.name(), |key: &str| {
            let text = data.header().text(key);
            text.filter(|text| !text.is_empty())
        });
        let (Some(shared), Some(points)) = (text(SHARED), text(POINTS)) else {
            job.warn(&format!(
                "the header of {name} has no checksums of its inputs: model, sources and receivers cannot be \
                compared with those of this run"
            ));
            return Ok(());
        };
        if let Some(program) = changed_by(&String::from_utf8_lossy(data.header().history())) {
            bail!(
                "{name} was changed by {program} after its run, but finished= takes records as the run wrote \
                them ({} do not change them): give the file of that run, or leave out finished=",
                KEEP.join(", ")
            );
        }
        let [colon, between] = MARKS;
        let there: Vec<_> = shared
            .split(between)
            .filter_map(|one| one.rsplit_once(colon))
            .collect();
        let differs = |(own, sum): &&(&str, u64)| {
            let other = there.iter().find(|(name, _)| name == own);
            other.is_none_or(|(_, other)| *other != format!("{sum:016x}"))
        };
        let names = self.shared.iter().filter(differs).map(|(name, _)| *name);
        let mut names: Vec<String> = names.map(String::from).collect();
        let points: Vec<&str> = points.split(' ').collect();
        // Shots may have been removed from the file, while its header still lists all shots that were written.
        let written = self.picks.of_header(&name, text("shots").as_deref())?;
        let held = (0..self.points.len()).filter(|shot| places[*shot].is_some());
        let mut moved = held.filter(|&shot| {
            let other = written
                .place(self.picks.number(shot))
                .and_then(|place| points.get(place));
            other.is_some_and(|other| *other != format!("{:08x}", self.points[shot]))
        });
        let moved = moved.next().map(|shot| self.picks.number(shot));
        names.extend(moved.map(|number| format!("the points of shot {number}")));
        if names.is_empty() {
            return Ok(());
        }
        names.truncate(super::MOST_DIFFERENCES);
        bail!(
            "{name} comes from a run with other inputs ({}): {TAKES}; give the files of that run, or leave out \
            finished=; to combine shots of both runs, remove these checksums from the header with sfput \
            {SHARED}=",
            names.join(", ")
        );
    }
}
