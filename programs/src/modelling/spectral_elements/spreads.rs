//! The shots of a survey over a mesh: the positions of their sources and receivers.

use super::Run;
use super::fibre;
use super::globe::Places;
use super::maps::Peaks;
use super::outside::Outside;
use crate::modelling::fibre::Fibre;
use crate::modelling::sources::quakes;
use crate::modelling::spreads::Spreads;
use anyhow::bail;
use kernels::grid::points::Point;
use kernels::mesh::{Locator, Mesh};
use rsf_io::Job;

/// The sources and receivers of all shots that sou= and rec= give.
pub fn read<const D: usize>(job: &mut Job, places: &Places<D>) -> anyhow::Result<Spreads> {
    let sou = match places.quakes {
        Some(_) => None,
        None => Some(job.input("sou")?),
    };
    let rec = match places.sites {
        Some(_) => None,
        None => Some(job.input("rec")?),
    };
    let (name, shots) = rec
        .as_ref()
        .map_or((String::new(), 1), |rec| (rec.name(), rec.axis(3).n));
    if sou.is_none() && shots > 1 {
        bail!(
            "{name} has {shots} shots (n3=), but {}= gives one: give the receivers of one shot, or the \
            positions of several shots by sou= and their moments by mech=",
            quakes::word(job)
        );
    }
    Spreads::of_files(job, (sou, rec), D)
}

/// Moves points from files into the mesh if they lie only slightly outside it.
///
/// # Errors
/// Returns an error for a point that lies farther outside.
pub fn settle<const D: usize>(spreads: &mut Spreads, outside: &mut Outside<'_, D>) -> anyhow::Result<()> {
    let numbers: Vec<usize> = (0..spreads.count())
        .map(|shot| spreads.picks.number(shot))
        .collect();
    let is_one = spreads.picks.whole() == 1;
    for (lists, what) in [
        (&mut spreads.sources, "source"),
        (&mut spreads.receivers, "receiver"),
    ] {
        let is_shared = lists.len() == 1;
        for (points, number) in lists.iter_mut().zip(&numbers) {
            let name = match is_one || is_shared {
                true => what.to_string(),
                false => format!("shot {number}: {what}"),
            };
            let old: Vec<[f64; D]> = points.iter().map(|&point| place(point)).collect();
            let new = outside.places(&name, old.clone())?;
            for ((point, old), new) in points.iter_mut().zip(old).zip(new) {
                if old != new {
                    for c in 0..D {
                        point[(c + 1) % D] = new[c] as f32;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Refuses points of several shots that lie outside the mesh; the points of a single shot are checked when it is set
/// up.
pub fn check<const D: usize>(spreads: &Spreads, mesh: &Mesh<D>, fibre: Option<&Fibre>) -> anyhow::Result<()> {
    if spreads.count() < 2 {
        return Ok(());
    }
    let locator = Locator::new(mesh);
    spreads.check(|both| {
        for (points, what) in both.into_iter().zip(["source", "receiver"]) {
            for (k, &point) in points.iter().enumerate() {
                locator.locate(&format!("{what} {}", k + 1), place(point))?;
            }
        }
        if let Some(fibre) = fibre.filter(|fibre| fibre.gauge > 0.0) {
            let channels = both[1].iter().map(|&point| place(point)).collect();
            fibre::check(&locator, &fibre::places(fibre, channels))?;
        }
        Ok(())
    })
}

/// The positions of the sources and the receivers of every shot.
pub fn places<const D: usize>(run: &Run<D>) -> Vec<[Vec<[f64; D]>; 2]> {
    if run.spreads.count() < 2 {
        // These positions are not rounded to single precision, unlike points of files.
        return vec![[sources(run), run.shot.receivers[..users(run)].to_vec()]];
    }
    let of = |shot| {
        run.spreads
            .of(shot)
            .map(|points| points.iter().map(|&point| place(point)).collect())
    };
    (0..run.spreads.count()).map(of).collect()
}

/// The positions of the sources, and of the points of a map of peak ground motion, which come after the receivers;
/// empty without a map.
pub fn places_of_map<const D: usize>(run: &Run<D>) -> Vec<[Vec<[f64; D]>; 2]> {
    let points = run.shot.receivers[users(run)..].to_vec();
    let map = (!points.is_empty()).then(|| [sources(run), points]);
    map.into_iter().collect()
}

/// The positions of the sources of a single shot.
fn sources<const D: usize>(run: &Run<D>) -> Vec<[f64; D]> {
    run.sources.iter().map(|source| source.at).collect()
}

/// The number of receivers, without the points of a map.
fn users<const D: usize>(run: &Run<D>) -> usize {
    let peaks = run.peaks.as_ref();
    peaks.map_or(run.shot.receivers.len(), Peaks::users)
}

/// A point of a file (z, x, y) in the axes of a mesh.
pub fn place<const D: usize>(point: Point) -> [f64; D] {
    std::array::from_fn(|c| f64::from(point[(c + 1) % D]))
}
