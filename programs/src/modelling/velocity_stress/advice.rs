//! What a user may have meant otherwise: told before the run, which goes on where it can.

use super::Films;
use crate::modelling::model::{Cell, Volumes, cell_words};
use crate::modelling::plan::{counted, named};
use anyhow::bail;
use kernels::grid::points::Point;
use kernels::grid::{AXES, Padded};
use kernels::medium::Findings;
use kernels::methods::velocity_stress::Shot;
use kernels::stability::BadCell;
use rsf_io::Job;

/// No rock and no fluid of the Earth is slower for P waves, in m/s: a model in km/s is.
const SLOW: f64 = 100.0;
/// Speed in m/s above which no wave in the Earth runs, with room for models of diamonds and errors of reading.
const FASTEST: f64 = 3e4;

/// No rock is lighter, in kg/m3: a model in g/cm3 is.
const LIGHT: f32 = 50.0;

/// Receivers from which an array in one cell is no accident.
const ARRAY: usize = 3;

/// Warns of parameters that have no effect because of others.
pub fn idle(job: &Job, films: Films) -> anyhow::Result<()> {
    let tell = |keys: &[&str], why: &str| {
        let given: Vec<String> = keys
            .iter()
            .filter(|key| job.given(key))
            .map(|key| format!("{key}="))
            .collect();
        if !given.is_empty() {
            let verb = if given.len() == 1 { "has" } else { "have" };
            job.warn(&format!("{} {verb} no effect {why}", given.join(", ")));
        }
    };
    idle_of_sources(job, &tell)?;
    let absorb = job.choice("absorb")?;
    if absorb != "cpml" {
        tell(
            &["cpmlr", "kappa", "fcpml"],
            &format!("with absorb={absorb}, only with absorb=cpml"),
        );
    }
    if absorb == "none" {
        tell(&["nb", "faces", "edge"], "with absorb=none");
    } else if job.given("faces") {
        tell(&["nb"], "beside faces=");
    }
    if films == Films::Asked && !job.flag("snap")? {
        tell(
            &["jsnap", "nqz", "nqx", "nqy", "oqz", "oqx", "oqy"],
            "without snap=y",
        );
    }
    if !job.given("qp") && !job.given("layers") {
        tell(&["qmech", "qband", "qref"], "without qp= and qs=");
    }
    Ok(())
}

/// Parameters of mechanisms and histories among them.
fn idle_of_sources(job: &Job, tell: &impl Fn(&[&str], &str)) -> anyhow::Result<()> {
    let (src, stf) = (job.choice("src")?, job.choice("stf")?);
    let mechanisms: [(&[&str], &[&str]); 4] = [
        (&["mxx", "myy", "mzz", "mxy", "mxz", "myz"], &["moment"]),
        (&["strike", "dip", "rake"], &["dc"]),
        (&["m0"], &["explosion", "dc"]),
        (&["fx", "fy", "fz"], &["force"]),
    ];
    for (keys, takers) in mechanisms {
        if !takers.contains(&src) {
            tell(
                keys,
                &format!("with src={src}, only with src={}", takers.join(" or src=")),
            );
        } else if job.has_input("mech") {
            tell(keys, "beside mech=, which has the strengths of all sources");
        }
    }
    if src != "dc" {
        tell(&["xaz"], &format!("with src={src}, only with src=dc"));
    }
    if job.has_input("series") {
        tell(&["stf", "tau", "freq"], "beside series=, which has the history");
    } else if stf == "ricker" {
        tell(&["tau"], "with stf=ricker, which takes freq=");
    } else {
        tell(&["freq"], &format!("with stf={stf}, only with stf=ricker"));
    }
    Ok(())
}

/// Refuses speeds and densities that no rock has by what the files say; warns of units that are not SI.
pub fn cells(
    job: &Job,
    padded: &Padded,
    volumes: &Volumes,
    found: &Result<Findings, BadCell>,
) -> anyhow::Result<()> {
    match found {
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
                // Where the bulk modulus of the plane or of the volume vanishes.
                if padded.ndim() == 3 { "0.866 vp" } else { "vp" }
            );
        }
        Ok(Findings { extremes, .. }) => {
            if extremes.fastest < SLOW {
                job.warn(&format!(
                    "the fastest wave of the model runs at {:.4} m/s: units are SI, m/s and m (Pa for ccc=); a model in km/s must be multiplied by 1000, its axes and points, too",
                    extremes.fastest
                ));
            }
            if extremes.fastest > FASTEST {
                job.warn(&format!(
                    "the fastest wave of the model runs at {:.4e} m/s, at {}: nothing in the Earth is faster than 14000 m/s; units are SI",
                    extremes.fastest,
                    cell_words(padded, extremes.fastest_cell)
                ));
            }
            let Cell { density, .. } = volumes.cell(extremes.fastest_cell)?;
            if density < LIGHT {
                job.warn(&format!(
                    "the density is {density} kg/m3 at {}: units are SI; a density in g/cm3 must be multiplied by 1000, or amplitudes are wrong",
                    cell_words(padded, extremes.fastest_cell)
                ));
            }
            if extremes.fluids > 0 && extremes.fluids < padded.model.cells() && job.choice("order")? != "2" {
                job.warn(&format!(
                    "the model has a fluid in {}, the rest is solid: waves along the interface are wrong by several percent with order={}, whose differences reach across it, and fall with the spacing itself; order=2 is better there (1.3 % at thirty cells a wavelength)",
                    counted(extremes.fluids, "cell"),
                    job.choice("order")?
                ));
            }
            Ok(())
        }
    }
}

/// Warns of points in the frame and of an array of receivers within one cell.
pub fn acquisition(job: &Job, padded: &Padded, shot: &Shot) {
    let sources: Vec<Point> = shot.sources.iter().map(|source| source.point).collect();
    for (points, what) in [(&sources, "source"), (&shot.receivers, "receiver")] {
        let beyond = |p: &&Point| (0..padded.ndim()).any(|a| framed(padded, a, shot.frame.cells[a], p[a]));
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
    let points = &shot.receivers;
    let narrow = |a: usize| {
        let all = || points.iter().map(|p| p[a]);
        let width = all().fold(f32::MIN, f32::max) - all().fold(f32::MAX, f32::min);
        width < padded.d()[a].abs()
    };
    if points.len() >= ARRAY && (0..padded.ndim()).all(narrow) {
        job.warn(&format!(
            "all {} receivers lie within one cell of the grid: are the units of rec= those of the model, m?",
            points.len()
        ));
    }
}

/// Whether a coordinate lies more than half a cell outside the model, in the `cells` below or above it: what lies beyond
/// those is refused.
fn framed(padded: &Padded, axis: usize, cells: [usize; 2], x: f32) -> bool {
    let (model, d) = (&padded.model, padded.d()[axis]);
    let (first, last) = (model.o[axis], model.o[axis] + (model.n[axis] - 1) as f32 * d);
    let within = |depth: f32, cells: usize| depth > 0.501 * d && depth <= (cells as f32 + 0.001) * d;
    within(first - x, cells[0]) || within(x - last, cells[1])
}
