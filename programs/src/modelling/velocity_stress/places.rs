//! Positions of the sources and receivers of a run: points, or in 3-D the earthquakes and stations of files.

use super::ModellingParameters;
use crate::earth::{self, Ground, Terrain};
use crate::modelling::sources::quakes::{self, Placed};
use crate::modelling::sources::{self, Histories, Sources};
use crate::modelling::spreads::Spreads;
use anyhow::bail;
use kernels::earth::Frame;
use kernels::grid::Padded;
use kernels::grid::points::Point;
use kernels::source::{Action, TimeFunction};
use rsf_io::{Input, Job};
use std::path::Path;

/// The receivers of stations=.
#[derive(Clone, Default)]
pub struct Stations {
    /// The directions up, north and east at each receiver.
    pub frames: Vec<Frame>,
    /// Network and name of each receiver.
    pub codes: Vec<String>,
}

/// Sources and receivers from files.
#[derive(Default)]
pub struct Places {
    quakes: Option<Placed>,
    sites: Option<Vec<Point>>,
    pub stations: Stations,
}

/// Reads cmt=, force=, quakeml= and stations=, which only the 3-D modelling program has.
///
/// # Errors
/// Returns an error for a file that cannot be read, a position outside the model, or neither points nor a
/// file.
pub fn read(job: &Job, padded: &Padded, modelling: ModellingParameters) -> anyhow::Result<Places> {
    let mut places = Places::default();
    let model = &padded.model;
    if modelling == ModellingParameters::Absent || model.ndim == 2 {
        return Ok(places);
    }
    earth::refuse_pairs(job)?;
    let end = |a: usize| f64::from(model.o[a]) + (model.n[a] - 1) as f64 * f64::from(model.d[a]);
    let reach = [1, 2].map(|a| [f64::from(model.o[a]), end(a)]);
    let top = |place: &[f64; 2]| {
        let inside = (0..2).all(|c| (reach[c][0]..=reach[c][1]).contains(&place[c]));
        inside.then_some(f64::from(model.o[0]))
    };
    let terrain = Terrain {
        what: "model",
        tops: &|places| places.iter().map(top).collect(),
        reach,
    };
    if let Some(list) = Ground::Box.quakes(job, &terrain)? {
        let deepest = list.points.iter().map(|p| p[2]).fold(end(0), f64::max);
        if deepest > end(0) {
            bail!(
                "{}= places a source at z={deepest} m, but the model ends at z={} m: depth is in km in a \
                CMTSOLUTION or FORCESOLUTION file, and in m in QuakeML",
                quakes::word(job),
                end(0)
            );
        }
        let mut placed = quakes::placed(job, &list, |_| Ok(vec![false; list.points.len()]))?;
        for (history, action) in placed.histories.iter_mut().zip(&placed.actions) {
            differentiate(history, action);
        }
        places.quakes = Some(placed);
    }
    if let Some(sites) = Ground::Box.sites(job, &terrain)? {
        if job.given("das") || job.text("data")?.as_deref() == Some("das") {
            bail!("stations= does not describe fibres: give the channels of das by rec= and along=");
        }
        places.sites = Some(
            sites
                .points
                .iter()
                .map(|p| [p[2], p[0], p[1]].map(|c| c as f32))
                .collect(),
        );
        places.stations = Stations {
            frames: sites.frames,
            codes: sites.codes,
        };
    }
    for (is_there, word, others) in [
        (places.quakes.is_some(), "sou", "cmt=, force= or quakeml="),
        (places.sites.is_some(), "rec", "stations="),
    ] {
        if !is_there && !job.given(word) && !Path::new(word).exists() {
            bail!(
                "missing: {word}= (an RSF file of points), or {others}; see {} --help",
                job.program()
            );
        }
    }
    Ok(places)
}

/// Converts the samples of a moment, from a separate file, to moment rates.
fn differentiate(history: &mut TimeFunction, action: &Action) {
    let (TimeFunction::Series { start, step, values }, Action::Moment(_)) = (history, action) else {
        return;
    };
    let before = values.first().copied();
    *values = values
        .windows(2)
        .map(|pair| (f64::from(pair[1] - pair[0]) / *step) as f32)
        .collect();
    if let Some(first) = before.filter(|first| *first != 0.0) {
        // A moment that does not begin at zero rises to its first value within one step.
        values.insert(0, (f64::from(first) / *step) as f32);
        *start -= *step;
    }
    *start += 0.5 * *step;
}

impl Places {
    /// The points of all shots, and the sources of the first.
    ///
    /// # Errors
    /// Returns an error for files of points that disagree, or impossible sources.
    pub fn sources(
        &self,
        job: &mut Job,
        (ndim, nt, dt): (usize, usize, f64),
    ) -> anyhow::Result<(Spreads, Sources)> {
        let points = |job: &mut Job, word: &str, is_placed: bool| -> anyhow::Result<Option<Input>> {
            Ok(if is_placed { None } else { Some(job.input(word)?) })
        };
        let sou = points(job, "sou", self.quakes.is_some())?;
        let rec = points(job, "rec", self.sites.is_some())?;
        let shots = rec.as_ref().map_or(1, |rec| rec.axis(3).n);
        if sou.is_none() && shots > 1 {
            bail!(
                "rec= has {shots} shots (n3=), but {}= gives one: give the receivers of one shot, or the \
                positions of several shots by sou= and their moments by mech=",
                quakes::word(job)
            );
        }
        let mut spreads = Spreads::of_files(job, (sou, rec), ndim)?;
        if let Some(sites) = &self.sites {
            spreads.receivers = vec![sites.clone()];
        }
        let sources = match &self.quakes {
            Some(placed) => {
                spreads.sources = vec![placed.points.clone()];
                sources::read_placed(job, placed.clone(), (nt, dt), Histories::Rates)?
            }
            None => {
                let first = spreads.of(0)[0].to_vec();
                sources::read_at(job, ndim, first, (nt, dt), Histories::Rates)?
            }
        };
        Ok((spreads, sources))
    }
}
