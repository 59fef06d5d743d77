//! Warnings, before a run, about settings that the user may not have intended.

use super::Run;
use super::spreads::place;
use crate::earth::SOURCES;
use crate::idle;
use crate::meshing::RawMesh;
use crate::modelling::units;
use kernels::grid::points::Point;
use kernels::mesh::{Locator, Mesh};
use kernels::methods::spectral_elements::{Pml, Quantity};
use rsf_io::Job;
use std::collections::HashSet;

/// The least number of receivers that cause a warning if all of them lie in one cell.
const ARRAY: usize = 3;

/// Warns, before a mesh is set up, of parameters without effect and of materials in other units. `models` distinguishes
/// modelling, with its snapshots and maps, from gradients.
pub fn before(job: &Job, raw: &RawMesh, models: bool) -> anyhow::Result<()> {
    materials(job, raw);
    idle(job, models)
}

/// Warns of parameters that have no effect because of other parameters.
fn idle(job: &Job, models: bool) -> anyhow::Result<()> {
    idle::of_sources(job, &SOURCES)?;
    if !job.has_input("series") {
        idle::warn(job, &["rate"], "without series=");
    }
    if job.given("specfem") {
        idle::warn(
            job,
            &["nodes", "regions", "free", "pml"],
            "with specfem=, whose folder contains it",
        );
    }
    if !SOURCES.iter().chain(&["stations"]).any(|word| job.given(word)) {
        idle::warn(
            job,
            &["depth", "utm", "epsg", "latitude"],
            "without cmt=, force=, quakeml= or stations=",
        );
    }
    if !job.given("cmt") && !job.given("quakeml") {
        idle::warn(job, &["fluid"], "without cmt= or quakeml=");
    }
    match models {
        true => idle_of_snapshots(job),
        false => idle_of_grids(job),
    }
}

/// Warns of parameters of snapshots and maps that have no effect.
fn idle_of_snapshots(job: &Job) -> anyhow::Result<()> {
    let has_map = ["pgv", "pgd", "pga"].iter().any(|word| job.given(word));
    if !job.flag("snap")? {
        idle::warn(job, &["jsnap", "nqz", "oqz", "dqz"], "without snap=y");
        if !has_map {
            let across = ["nqx", "oqx", "dqx", "nqy", "oqy", "dqy"];
            idle::warn(job, &across, "without snap=y or a map (pgv=, pgd=, pga=)");
        }
    } else if job.flag("ground")? {
        idle::warn(job, &["nqz", "oqz", "dqz"], "with ground=y");
    }
    Ok(())
}

/// Warns of parameters of the grid of derivatives that have no effect.
fn idle_of_grids(job: &Job) -> anyhow::Result<()> {
    if job.choice("on")? != "grid" {
        let words = ["nqz", "oqz", "dqz", "nqx", "oqx", "dqx", "nqy", "oqy", "dqy"];
        idle::warn(job, &words, "without on=grid");
    }
    Ok(())
}

/// Warns of materials that seem to be in other units, if no grid replaces them.
fn materials(job: &Job, raw: &RawMesh) {
    let stays = |words: &[&str]| !words.iter().any(|word| job.given(word));
    let regions: Vec<[f64; 2]> = raw.materials.iter().map(|m| [m.vp, m.density]).collect();
    units::regions(
        job,
        &regions,
        [stays(&["vp", "ccc", "model"]), stays(&["den", "model"])],
    );
}

/// Warns of a grid whose values seem to be in other units.
pub fn grid(job: &Job, word: &str, values: &[f32]) {
    let among = values.iter().copied().map(f64::from);
    match word {
        "vp" => among
            .max_by(f64::total_cmp)
            .into_iter()
            .for_each(|vp| _ = units::speed(job, vp)),
        "vs" => among
            .filter(|vs| *vs > 0.0)
            .min_by(f64::total_cmp)
            .into_iter()
            .for_each(|least| units::shear(job, least, "at a node of vs=")),
        "den" => among
            .min_by(f64::total_cmp)
            .into_iter()
            .for_each(|least| units::density(job, least, "at a node of den=")),
        _ => {}
    }
}

/// The positions of rec=; warns if they lie closer together than the points of the mesh.
pub fn received<const D: usize>(
    job: &Job,
    points: Vec<Point>,
    (mesh, degree): (&Mesh<D>, usize),
) -> Vec<[f64; D]> {
    let places: Vec<[f64; D]> = points.into_iter().map(place).collect();
    let volume: f64 = sides(mesh.nodes()).iter().product();
    let apart = (volume / mesh.len() as f64).powf(1.0 / D as f64) / degree as f64;
    if places.len() >= ARRAY && sides(&places).iter().all(|side| *side < apart) {
        units::receivers(
            job,
            places.len(),
            "the distance between two neighbouring points of the mesh",
        );
    }
    places
}

/// The kind of places that are judged.
#[derive(Clone, Copy)]
pub enum Whose {
    /// The places of sources.
    Sources,
    /// The places of receivers.
    Receivers,
    /// The places of a map of peak ground motion.
    Map,
}

impl Whose {
    /// The number of places with its noun and verb, as in `3 receivers are`.
    pub fn are(self, count: usize) -> String {
        match (self, count) {
            (Self::Sources, 1) => "1 source is".to_string(),
            (Self::Sources, many) => format!("{many} sources are"),
            (Self::Receivers, 1) => "1 receiver is".to_string(),
            (Self::Receivers, many) => format!("{many} receivers are"),
            (Self::Map, 1) => "1 point of the map is".to_string(),
            (Self::Map, many) => format!("{many} points of the map are"),
        }
    }
}

/// Warns of receivers, or points of a map, in an element that contains a source of their shot: polynomials cannot
/// represent the field near a point.
pub fn beside_sources<const D: usize>(
    job: &Job,
    mesh: &Mesh<D>,
    (shots, whose): (&[[Vec<[f64; D]>; 2]], Whose),
) {
    let locator = Locator::new(mesh);
    let holding = |x: [f64; D]| locator.sharing(x).into_iter().map(|at| at.element);
    let mut beside = Vec::new();
    for (shot, [sources, receivers]) in shots.iter().enumerate() {
        let elements: HashSet<usize> = sources.iter().flat_map(|source| holding(*source)).collect();
        let is_beside = |x: &[f64; D]| holding(*x).any(|element| elements.contains(&element));
        let numbers = (0..receivers.len()).filter(|number| is_beside(&receivers[*number]));
        beside.extend(numbers.map(|number| (shot, number)));
    }
    if let Some(first) = beside.first() {
        job.warn(&format!(
            "{} in elements that hold a source (the first is {}): records anywhere in such an element are \
            wrong by 5 to 40 %, with any degree; with smaller elements around the source, correct records \
            are possible closer to it",
            whose.are(beside.len()),
            number_of(*first, shots.len())
        ));
    }
}

/// Warns of receivers of pressure in solids, where it is zero; on a contact they record the pressure of the fluid.
pub fn in_rock<const D: usize>(job: &Job, run: &Run<D>, shots: &[[Vec<[f64; D]>; 2]]) {
    if run.shot.quantity != Quantity::Pressure {
        return;
    }
    let (locator, setup) = (Locator::new(&run.mesh), run.setup());
    let is_dry = |x: [f64; D]| locator.sharing(x).iter().all(|at| !setup.is_fluid(at.element));
    let mut dry = Vec::new();
    for (shot, [_, receivers]) in shots.iter().enumerate() {
        let numbers = (0..receivers.len()).filter(|number| is_dry(receivers[*number]));
        dry.extend(numbers.map(|number| (shot, number)));
    }
    if let Some(first) = dry.first() {
        job.warn(&format!(
            "{} in solids (the first is {}), which have no pressure on a mesh (data=strain has their strains): move such \
            receivers into the fluid, for example a tenth of an element above the sea floor",
            Whose::Receivers.are(dry.len()),
            number_of(*first, shots.len())
        ));
    }
}

/// The number of a place, as in `number 3` or, if there are several shots, `number 3 of shot 2`.
pub fn number_of((shot, number): (usize, usize), shots: usize) -> String {
    match shots {
        1 => format!("number {}", number + 1),
        _ => format!("number {} of shot {}", number + 1, shot + 1),
    }
}

/// Warns of receivers, or points of a map, in perfectly matched layers, where waves are damped, for the first
/// shot that has some.
pub fn in_layers<const D: usize>(
    job: &Job,
    pml: Option<&Pml<D>>,
    (shots, whose): (&[[Vec<[f64; D]>; 2]], Whose),
) {
    let Some(pml) = pml else { return };
    for (shot, [_, receivers]) in shots.iter().enumerate() {
        let held = || receivers.iter().enumerate().filter(|(_, x)| pml.holds(**x));
        let Some((first, _)) = held().next() else { continue };
        let cure = match whose {
            Whose::Sources | Whose::Receivers => {
                "move such receivers out of the layers, or make the mesh larger"
            }
            Whose::Map => {
                "give the map a smaller window (oqx=, dqx=, nqx= and so on), or make the mesh larger"
            }
        };
        job.warn(&format!(
            "{} in perfectly matched layers (the first is {}), where waves are damped: {cure}",
            whose.are(held().count()),
            number_of((shot, first), shots.len())
        ));
        return;
    }
}

/// The lengths of the sides of the box around places.
pub fn sides<const D: usize>(places: &[[f64; D]]) -> [f64; D] {
    std::array::from_fn(|c| {
        let low = places.iter().map(|x| x[c]).fold(f64::INFINITY, f64::min);
        places.iter().map(|x| x[c]).fold(f64::NEG_INFINITY, f64::max) - low
    })
}
