//! Warnings, before a run, about settings that the user may not have intended.

use super::ModellingParameters;
use crate::earth::SOURCES;
use crate::idle;
use crate::modelling::model::{Cell, Volumes, cell_words};
use crate::modelling::plan::named;
use crate::modelling::spreads::Spreads;
use crate::modelling::units;
use crate::modelling::words::counted;
use anyhow::bail;
use kernels::grid::points::Point;
use kernels::grid::{AXES, Padded};
use kernels::methods::velocity_stress::Shot;
use kernels::stability::{BadCell, Findings};
use rsf_io::Job;

/// The least width of a sponge in cells (chapter 9 of the book).
const THIN: i64 = 20;
/// The least number of receivers that cause a warning if all of them lie in one cell.
const ARRAY: usize = 3;
/// The number of nodes along every axis above which sources that all lie in the first cell cause a warning.
const MANY: usize = 20;

/// Warns of parameters that have no effect because of others.
pub fn idle(job: &Job, modelling: ModellingParameters) -> anyhow::Result<()> {
    let warn = |keys: &[&str], why: &str| idle::warn(job, keys, why);
    idle::of_sources(job, &SOURCES)?;
    let absorb = job.choice("absorb")?;
    if absorb != "cpml" {
        warn(
            &["cpmlr", "kappa", "fcpml"],
            &format!("with absorb={absorb}, only with absorb=cpml"),
        );
    }
    if absorb == "sponge" && !job.given("faces") {
        let nb = job.int("nb")?;
        if (1..THIN).contains(&nb) {
            job.warn(&format!(
                "absorb=sponge with nb={nb} reflects waves, because such a thin sponge hardly damps them: \
                give nb={THIN} or more, or absorb=cpml"
            ));
        }
    }
    if absorb == "none" {
        warn(&["nb", "faces", "edge"], "with absorb=none");
    } else if job.given("faces") {
        warn(&["nb"], "with faces=");
    }
    if modelling == ModellingParameters::Present && !job.flag("snap")? {
        warn(
            &["jsnap", "nqz", "nqx", "nqy", "oqz", "oqx", "oqy"],
            "without snap=y",
        );
    }
    if !job.given("layers") {
        warn(
            &["n1", "n2", "n3", "o1", "o2", "o3", "d1", "d2", "d3"],
            "without layers=: the grid is that of the model's files",
        );
    }
    if !job.given("qp") && !job.given("layers") {
        warn(&["qmech", "qband", "qref"], "without qp= and qs=");
    }
    Ok(())
}

/// Refuses velocities and densities in the files that no rock has; warns of units that are not SI.
pub fn cells(
    job: &Job,
    padded: &Padded,
    volumes: &Volumes,
    findings: &Result<Findings, BadCell>,
) -> anyhow::Result<()> {
    match findings {
        Err(bad) => {
            let Cell { speeds, density } = volumes.cell(bad.cell)?;
            let Some([vp, vs]) = speeds else {
                return Ok(());
            };
            let files = ["vp", "vs", "den"].map(|key| format!("{key}={}", named(job, key)));
            bail!(
                "{}: at {} vp is {vp}, vs is {vs} and the density is {density}: all must be finite numbers, vp and the density positive and vs from 0 (a fluid) to {}",
                files.join(" "),
                cell_words(padded, bad.cell),
                // At this ratio the bulk modulus vanishes in 2-D or 3-D.
                if padded.ndim() == 3 { "0.866 vp" } else { "vp" }
            );
        }
        Ok(Findings { extremes, .. }) => {
            if !units::speed(job, extremes.fastest)
                && let Some([_, vs]) = volumes.cell(extremes.slowest_cell)?.speeds
            {
                let place = format!("at {}", cell_words(padded, extremes.slowest_cell));
                units::shear(job, vs.into(), &place);
            }
            if extremes.fastest > units::FASTEST {
                job.warn(&format!(
                    "the fastest wave of the model has a speed of {:.4e} m/s, at {}: no wave in the Earth is \
                    faster than 14000 m/s; units are SI",
                    extremes.fastest,
                    cell_words(padded, extremes.fastest_cell)
                ));
            }
            let Cell { density, .. } = volumes.cell(extremes.fastest_cell)?;
            let place = format!("at {}", cell_words(padded, extremes.fastest_cell));
            units::density(job, density.into(), &place);
            if let Some(cell) = volumes.too_stiff().filter(|_| padded.ndim() == 2)
                && let Some([vp, vs]) = volumes.cell(cell)?.speeds
            {
                job.warn(&format!(
                    "at {} vs is {vs} and vp is {vp}: a solid with vs above 0.866 vp has a negative bulk modulus, which does not affect waves in 2-D; check the files vp= and vs=",
                    cell_words(padded, cell)
                ));
            }
            if extremes.fluids > 0 && extremes.fluids < padded.model.cells() && job.choice("order")? != "2" {
                job.warn(&format!(
                    "the model has a fluid in {} and is solid elsewhere: waves along the interface are wrong \
                    by several percent with order={}, whose differences extend across it, and by ten percent \
                    and more where it dips, so that the grid has steps (a mesh of sfhexmesh has none); the \
                    error falls only in proportion to the spacing; order=2 is better for these waves with \
                    thirty or more points per wavelength (1.3 % wrong), but with ten points it makes records \
                    over a sea floor several times worse",
                    counted(extremes.fluids, "cell"),
                    job.choice("order")?
                ));
            }
            Ok(())
        }
    }
}

/// Warns of points of any shot in the frame and of an array of receivers within one cell.
pub fn acquisition(job: &Job, padded: &Padded, shot: &Shot, spreads: &Spreads) {
    let [sources, receivers] = [&spreads.sources, &spreads.receivers].map(|all| all.concat());
    for (points, what) in [(&sources, "source"), (&receivers, "receiver")] {
        let outside = |p: &Point, reach: f32| {
            (0..padded.ndim()).any(|a| beyond(padded, a, shot.frame.cells[a].map(|n| reach * n as f32), p[a]))
        };
        // Points outside the frame are refused.
        let beyond = |p: &&Point| outside(p, 0.0) && !outside(p, 1.0);
        let count = points.iter().filter(beyond).count();
        if let Some(p) = points.iter().find(beyond) {
            let at: Vec<String> = (0..padded.ndim())
                .map(|a| format!("{}={}", AXES[a], p[a]))
                .collect();
            job.warn(&format!(
                "{} in the frame around the model, where waves are damped (the first at {}): move them or enlarge the model",
                if count == 1 { format!("1 {what} lies") } else { format!("{} lie", counted(count, what)) },
                at.join(" ")
            ));
        }
    }
    let at_zero = |p: &Point| {
        (0..padded.ndim())
            .all(|a| p[a] != 0.0 && p[a].abs() < padded.d()[a].abs() && padded.model.n[a] > MANY)
    };
    if !sources.is_empty() && sources.iter().all(at_zero) {
        units::sources(job, sources.len());
    }
    let points = &shot.receivers;
    let narrow = |a: usize| {
        let all = || points.iter().map(|p| p[a]);
        let width = all().fold(f32::MIN, f32::max) - all().fold(f32::MAX, f32::min);
        width < padded.d()[a].abs()
    };
    if points.len() >= ARRAY && (0..padded.ndim()).all(narrow) {
        units::receivers(job, points.len(), "one cell of the grid");
    }
}

/// Whether a coordinate lies more than `cells`, and more than half a cell, outside the model below or above it.
fn beyond(padded: &Padded, axis: usize, cells: [f32; 2], x: f32) -> bool {
    let (model, d) = (&padded.model, padded.d()[axis]);
    let (first, last) = (model.o[axis], model.o[axis] + (model.n[axis] - 1) as f32 * d);
    let mut depths = [first - x, x - last].into_iter().zip(cells);
    depths.any(|(depth, cells)| depth > (cells + 0.001).max(0.501) * d)
}
