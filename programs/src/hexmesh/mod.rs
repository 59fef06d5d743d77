//! `sfhexmesh`: makes, reads and checks meshes of hexahedra and quadrilaterals.
//!
//! A box between maps (`boxes`), a chunk of the Earth (`sphere`, whose rows `shells` chooses), a file of
//! Gmsh, a folder of SPECFEM3D's mesh files, or a mesh in RSF files becomes a [`RawMesh`]. `cut` cuts boxes
//! and chunks on the `lattice`, `kernels::mesh` looks for faults, `report` describes the quality, and
//! `stages` shows the progress.

mod boxes;
mod cut;
mod lattice;
mod report;
mod shells;
mod spec;
mod sphere;
mod stages;

pub use spec::PROGRAM;

use std::path::Path;

use anyhow::{Context, Result, bail};
use kernels::mesh::{Material, Mesh};
use rsf_io::Job;

use crate::earth;
use crate::idle;
use crate::meshing::beside::Names;
use crate::meshing::{LOSSLESS, RawMesh, gmsh, report_unlisted_faces, specfem, stored};
use crate::modelling::units;
use stages::Stages;

/// Runs the program.
///
/// # Errors
/// Returns an error for parameters or files that are not valid, and for the first fault of the mesh.
pub fn run(job: &mut Job) -> Result<()> {
    let ways = ["mesh", "elements", "gmsh", "specfem", "surfaces", "sphere"];
    let globe = job.flag("sphere")?;
    let meant = |way: &&str| if *way == "sphere" { globe } else { job.given(way) };
    let given: Vec<&str> = ways.into_iter().filter(meant).collect();
    let way = match given[..] {
        [way] => way,
        ["mesh", "elements"] => "mesh",
        [] => bail!("no mesh: give one of surfaces= (a box), sphere=y, gmsh=, specfem=, mesh= or elements="),
        _ => bail!("{}= are given together; give one of them", given.join("= and ")),
    };
    idle_words(job, way)?;
    let is_read = ["mesh", "elements"].contains(&way);
    let names = if is_read { None } else { Some(Names::of(job)?) };
    let stages = Stages::new(job)?;
    let raw = match way {
        "surfaces" => boxes::make(job, &stages)?,
        "sphere" => sphere::make(job, &stages)?,
        "gmsh" => Some(from_gmsh(job, &stages)?),
        "specfem" => {
            let folder = job.text("specfem")?.unwrap_or_default();
            let read = stages.during(READS, 0, |_| specfem::read(Path::new(&folder)));
            Some(specfem::accept(job, read?)?)
        }
        _ => Some(stages.during(READS, 0, |_| stored::read(job))?),
    };
    let Some(mut raw) = raw else { return Ok(()) };
    if raw.materials.is_empty() {
        raw.materials = materials(job, 1 + raw.regions.iter().copied().max().unwrap_or(0) as usize)?;
    } else {
        let words = ["rho", "vp", "vs", "qkappa", "qmu"];
        idle::warn(job, &words, "because the mesh brings its materials");
    }
    let regions: Vec<[f64; 2]> = raw.materials.iter().map(|m| [m.vp, m.density]).collect();
    units::regions(job, &regions, [true; 2]);
    match raw.ndim {
        2 => judge::<2>(job, &raw, (way, &stages))?,
        _ => judge::<3>(job, &raw, (way, &stages))?,
    }
    if let Some(names) = names {
        if !raw.tomography.is_empty() {
            job.warn(
                "a mesh in RSF files cannot hold tomography: its regions take the smallest values in the tomography \
                files; sfsem3d-gpu specfem= reads these files themselves",
            );
        }
        stages.during("writes the mesh", 0, |_| stored::write(job, &names, &raw))?;
    }
    Ok(())
}

/// The name of the stage that reads a mesh from files.
const READS: &str = "reads the mesh";

/// Parameters that belong only to some kinds of input, and the parameters that choose these kinds.
const OF_WAYS: [(&[&str], &[&str]); 7] = [
    (
        &["layers", "nx", "ny", "doubling", "absorb"],
        &["surfaces", "sphere"],
    ),
    (&["xmin", "xmax", "ymin", "ymax", "curved", "cpml"], &["surfaces"]),
    (
        &["model", "lat", "lon", "turn", "width", "bottom", "skip", "q"],
        &["sphere"],
    ),
    (&["up"], &["gmsh"]),
    (
        &["nodes", "regions", "materials", "free", "pml"],
        &["mesh", "elements"],
    ),
    (&["absorbing"], &["mesh", "elements", "specfem"]),
    (&["base"], &["surfaces", "sphere", "gmsh", "specfem"]),
];

/// Warns of parameters that have no effect with the kind of input `way`.
fn idle_words(job: &Job, way: &str) -> Result<()> {
    let called = |way: &str| {
        if way == "sphere" {
            "sphere=y".into()
        } else {
            format!("{way}=")
        }
    };
    for (words, takers) in OF_WAYS {
        if !takers.contains(&way) {
            let takers: Vec<String> = takers.iter().map(|way| called(way)).collect();
            let why = format!("with {}, only with {}", called(way), takers.join(" or "));
            idle::warn(job, words, &why);
        }
    }
    if way == "surfaces" && !job.given("ny") {
        idle::warn(job, &["ymin", "ymax"], "without ny=, in 2-D");
    }
    if !job.flag("judge")? && !job.given("hist") && !["mesh", "elements"].contains(&way) {
        idle::warn(job, &["degree"], "with judge=n");
    }
    Ok(())
}

fn from_gmsh(job: &mut Job, stages: &Stages) -> Result<RawMesh> {
    let name = job.text("gmsh")?.unwrap_or_default();
    let bytes = std::fs::read(&name).with_context(|| format!("cannot read gmsh={name}"))?;
    let up = job.flag("up")?;
    let (mesh, strange) = stages.during(READS, 0, |_| gmsh::read(&name, &bytes, up))?;
    for group in strange {
        job.warn(&format!(
            "the group {group} of faces has no effect; only the names top, free, bottom, xmin, xmax, ymin, \
            ymax and absorbing have an effect"
        ));
    }
    for (region, group) in mesh.names.iter().enumerate() {
        job.say(&format!("region {region} is {group}"));
    }
    Ok(mesh)
}

/// The materials of lists on the command line, each with one number for all regions or one per region.
fn materials(job: &Job, regions: usize) -> Result<Vec<Material>> {
    if !["rho", "vp", "vs"].iter().any(|word| job.given(word)) {
        idle::warn(job, &["qkappa", "qmu"], "without rho=, vp= and vs=");
        return Ok(Vec::new());
    }
    let list = |word: &str, default: Option<f64>| -> Result<Vec<f64>> {
        let values = job.floats(word)?;
        match (values.len(), default) {
            (0, Some(value)) => Ok(vec![value; regions]),
            (0, None) => bail!("{word}= is missing; materials need all of rho=, vp= and vs="),
            (1, _) => Ok(vec![values[0].into(); regions]),
            (n, _) if n == regions => Ok(values.into_iter().map(f64::from).collect()),
            (n, _) => bail!(
                "{word}= has {n} numbers, but the mesh has {}: give one number, or one per region",
                if regions == 1 {
                    "one region".into()
                } else {
                    format!("{regions} regions")
                }
            ),
        }
    };
    let (rho, vp, vs) = (list("rho", None)?, list("vp", None)?, list("vs", None)?);
    let (q_kappa, q_mu) = (list("qkappa", Some(LOSSLESS))?, list("qmu", Some(LOSSLESS))?);
    let material = |k: usize| {
        let material = Material {
            density: rho[k],
            vp: vp[k],
            vs: vs[k],
            q_kappa: q_kappa[k],
            q_mu: q_mu[k],
            anisotropic: false,
        };
        stored::check(&material).with_context(|| format!("region {k}"))?;
        Ok(material)
    };
    (0..regions).map(material).collect()
}

/// Checks the mesh and prints its measures, and writes the histograms if the mesh is only read.
fn judge<const D: usize>(job: &mut Job, raw: &RawMesh, (way, stages): (&str, &Stages)) -> Result<()> {
    let mesh = stages.during("looks for faults", 0, |_| Mesh::<D>::new(raw.parts()))?;
    specfem::report_open_faces(job, raw, &mesh)?;
    if way == "gmsh" {
        let groups = "group called top, free, bottom, xmin, xmax, ymin, ymax or absorbing";
        report_unlisted_faces(job, &mesh, groups);
    }
    if !raw.materials.is_empty() {
        mesh.check_materials(&raw.materials)?;
    }
    let read_only = ["mesh", "elements"].contains(&way);
    if !job.flag("judge")? && !read_only && !job.given("hist") {
        return Ok(());
    }
    let model = match way {
        "sphere" => Some(earth::open_model(&job.text("model")?.unwrap_or_default())?),
        _ => None,
    };
    let pml = raw.matched_layers(&mesh).unwrap_or_else(|error| {
        job.warn(&format!(
            "{error}: the modelling programs refuse these layers, and with cpml=0 they leave them out"
        ));
        None
    });
    let looked_for = (model.as_ref(), pml.as_ref());
    let degree = job.int("degree")? as usize;
    let report = stages.during("measures elements and their steps", 0, |_| {
        report::Report::of(&mesh, &raw.materials, degree, looked_for)
    })?;
    if job.flag("judge")? {
        report.lines(&mesh).iter().for_each(|line| job.say(line));
    }
    if job.given("hist") {
        let output = job.tagged_output("hist")?;
        report.write(output)?;
    }
    if read_only {
        let output = job.output()?;
        report.write(output)?;
    }
    Ok(())
}
