//! The files of the model: volumes, or a table of flat layers.

use super::attenuation;
use crate::earth::Table;
use crate::modelling::model::Files;
use crate::modelling::units;
use anyhow::{Context, bail};
use kernels::grid::{AXES, Grid};
use rsf_io::{Input, Job};
use std::path::Path;

/// Opens the files of the model.
pub fn open(job: &mut Job, ndim: usize) -> anyhow::Result<Files> {
    if job.given("layers") {
        return layers(job, ndim);
    }
    if !job.given("den") && !Path::new("den").exists() {
        bail!(
            "missing: den= (an RSF file), the density; see {} --help",
            job.program()
        );
    }
    let speeds = job.has_input("vp") || job.has_input("vs");
    match (job.has_input("ccc"), speeds) {
        (true, true) => bail!("ccc= and vp=, vs= both describe the medium: leave out one of them"),
        (true, false) => Ok(Files::Stiffness([si(job, "ccc")?, si(job, "den")?])),
        (false, _) if job.has_input("vp") && job.has_input("vs") => {
            Ok(Files::Speeds([si(job, "vp")?, si(job, "vs")?, si(job, "den")?]))
        }
        _ => {
            let missing: Vec<_> = ["vp=", "vs="]
                .into_iter()
                .filter(|key| !job.has_input(key.trim_end_matches('=')))
                .collect();
            bail!(
                "{} missing: give vp= and vs= (zero in fluids), or ccc=; /dev/stdin stands for a model that comes through a pipe",
                match missing.as_slice() {
                    [one] => format!("{one} is"),
                    _ => "vp= and vs= are".into(),
                }
            )
        }
    }
}

/// The name of the file that defines the grid of the model, or `layers=`.
pub fn of_the_grid(job: &Job) -> anyhow::Result<String> {
    for word in ["vp", "ccc"].into_iter().filter(|word| job.has_input(word)) {
        if let Some(name) = job.text(word)? {
            return Ok(format!("{word}={name}"));
        }
    }
    Ok("the grid of layers=".into())
}

/// Opens a file of the model, with a warning if the unit in its header is not SI.
fn si(job: &mut Job, key: &str) -> anyhow::Result<Input> {
    let input = job.input(key)?;
    units::header(job, &input);
    if ["vp", "ccc"].contains(&key) {
        units::lengths(job, &input);
    }
    Ok(input)
}

/// The table of layers=, if it is given.
fn table(job: &Job) -> anyhow::Result<Option<Table>> {
    // Linearised programs have no such parameter.
    if !job.given("layers") {
        return Ok(None);
    }
    job.text("layers")?.map(|name| Table::open(&name)).transpose()
}

/// The model of layers= on the grid of n1=, d1= and so on.
fn layers(job: &Job, ndim: usize) -> anyhow::Result<Files> {
    if let Some(word) = ["vp", "vs", "den", "ccc"]
        .into_iter()
        .find(|word| job.given(word))
    {
        bail!("layers= and {word}= both describe the medium: leave out one of them");
    }
    let mut grid = Grid {
        ndim,
        n: [1; 3],
        o: [0.0; 3],
        d: [1.0; 3],
    };
    for a in 0..ndim {
        let [n, o, d] = ["n", "o", "d"].map(|key| format!("{key}{}", a + 1));
        let needs = |key: &str| {
            format!(
                "layers= needs {key}=: n1= n2= and d1= d2= (in 3-D also n3= d3=) define the grid z, x[, y]"
            )
        };
        grid.n[a] = usize::try_from(job.int_opt(&n)?.with_context(|| needs(&n))?)?;
        grid.d[a] = job.double_opt(&d)?.with_context(|| needs(&d))? as f32;
        grid.o[a] = job.float(&o)?;
        if !(grid.d[a] > 0.0 && grid.d[a].is_finite()) {
            bail!(
                "{d}={}: the spacing along {} must be a positive number",
                grid.d[a],
                AXES[a]
            );
        }
    }
    grid.check()?;
    let table = table(job)?.context("layers= is a text file")?;
    let first = f64::from(grid.o[0]);
    if table.top() > first + 1e-4 * f64::from(grid.d[0]) {
        job.warn(&format!(
            "the table of layers= begins at z={} m, below the first node of the model at z={first} m: its first layer also fills the nodes above",
            table.top()
        ));
    }
    if table.lowest() > 0.0 && grid.n[0] > 2 && table.lowest() < f64::from(grid.d[0]) {
        job.warn(&format!(
            "all tops of layers= lie within {} m of z=0, which is the spacing along z, so that the model \
            consists only of the last layer: check that the depths are in m",
            grid.d[0]
        ));
    }
    let column = table.column(grid.n[0], first, grid.d[0].into());
    let [vp, vs] = [0, 1].map(|k| column.iter().map(|rock| rock.speeds[k]).collect());
    let density = column.iter().map(|rock| rock.density).collect();
    Ok(Files::Layers(grid, [vp, vs, density]))
}

/// The quality factors of P and S waves in all cells of a grid, if layers= has them. If they do not all fit into
/// memory, a plan receives only the lowest factor.
///
/// # Errors
/// Returns an error for quality factors that the command line also gives.
pub fn quality(job: &Job, grid: &Grid) -> anyhow::Result<Option<[Vec<f32>; 2]>> {
    let Some(table) = table(job)?.filter(Table::has_quality) else {
        return Ok(None);
    };
    if let Some(word) = ["qp", "qs"].into_iter().find(|word| job.given(word)) {
        bail!(
            "{word}= and the columns Qp and Qs of layers= both give quality factors: leave out one of them"
        );
    }
    let fits = attenuation::fits(job, grid.cells())?;
    let column = table.column(grid.n[0], grid.o[0].into(), grid.d[0].into());
    Ok(Some([0, 1].map(|k| {
        let line: Vec<f32> = column
            .iter()
            .map(|rock| rock.quality.unwrap_or_default()[k])
            .collect();
        match fits {
            true => line.repeat(grid.cells() / grid.n[0]),
            false => vec![attenuation::lowest(&line)],
        }
    })))
}
