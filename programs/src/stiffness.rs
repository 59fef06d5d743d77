//! `sfstiffness`: stiffness planes from velocities, density and anisotropy parameters.
//!
//! # Conventions
//! Grid axes are z (down, fastest), x, y. Voigt: 1 = x, 2 = y, 3 = z, 4 = yz, 5 = zx, 6 = xy. Values are density times
//! velocity squared in the units of the inputs. The planes lie along the axis after the axes of the grid, in the order
//! that the modelling programs read: c11 c33 c55 c13 (2-D), c11 c22 c33 c44 c55 c66 c12 c13 c23 (3-D). Media that these
//! cannot describe have all coefficients, in the order of the rows of the upper triangle: six in 2-D (1, 3, 5) and 21
//! in 3-D. The formulas are in `kernels::medium::thomsen`, the tilt in `kernels::medium::rotate`.
//!
//! # Memory
//! Inputs that are files are read in pieces. The output is ordered by planes, but all coefficients of a cell
//! are computed together. If all planes fit into `memory=`, they are computed in one pass and kept. Otherwise
//! the model is first checked in one pass and then read again for every group of planes that fits or, if not
//! even one fits, for every plane, with only pieces in memory (12 MiB in all). Inputs that cannot be read
//! twice (pipes, ascii) are kept as a whole. Nothing is written before all cells have been checked.

mod model;
mod recipe;
mod spec;

pub(crate) use model::{grid_of, warn_of_percent};
pub use spec::PROGRAM;

use anyhow::{Result, bail};
use kernels::medium::{Coefficients, Lost};
use model::{Model, Piece};
use rayon::prelude::*;
use recipe::{Cell, CellError, Law, NAMES, Recipe, needs_all};
use rsf_io::{Axis, Job, Output};

/// The number of cells that are read at a time.
const PIECE: usize = 1 << 16;
/// The number of cells that one thread computes at a time.
const BLOCK: usize = 1 << 11;

/// Runs the program.
///
/// # Errors
/// Returns an error for parameters that are wrong, for files that do not fit together, and for the first cell
/// that is not an elastic medium.
pub fn run(job: &mut Job) -> Result<()> {
    let law = Law::chosen(
        |name| job.given(name),
        job.text("sym")?.as_deref(),
        job.choice("hti")?,
    )?;
    warn_of_unused(job, law);
    let mut model = Model::open(job, law)?;
    let ndim = model.ndim();
    let mut recipe = Recipe {
        law,
        ndim,
        kind: requested_coefficients(job, ndim)?.unwrap_or(Coefficients::Orthorhombic),
        tilted: model.is_tilted(),
        drop: job.flag("drop")?,
    };
    if recipe.tilted && !recipe.drop && !job.given("planes") {
        recipe.kind = needed(&mut model, recipe)?;
    }
    let budget = job.int("memory")? as u64 * (1 << 20);

    let names = recipe.kind.table(ndim).file_names();
    let mut output = job.output()?;
    for (i, axis) in model.axes().iter().take(ndim).enumerate() {
        output.set_axis(i + 1, axis);
    }
    output.set_axis(
        ndim + 1,
        &Axis::new(names.len(), 0.0, 1.0).label(&names.join(" ")),
    );
    output.set_rank(ndim + 1);

    let worst = write_planes(&mut model, &recipe, budget, &mut output)?;
    output.finish()?;
    model.warn_of_percent(job);
    if let Some((cell, [vp, vs])) = model.stiff {
        let place = model.place(cell);
        job.warn(&format!(
            "{place}: vs is {} and vp is {}: a solid with vs above 0.866 vp has a negative bulk modulus, which does not affect waves in 2-D; check vp= and vs=",
            vs as f32, vp as f32
        ));
    }
    if let Some((cell, lost)) = worst.filter(|_| recipe.drop) {
        let place = model.place(cell);
        job.warn(&format!(
            "drop=y left out coefficients without a plane; the largest is at {place}: {lost}"
        ));
    }
    Ok(())
}

/// The coefficients that `planes=` requests.
fn requested_coefficients(job: &Job, ndim: usize) -> Result<Option<Coefficients>> {
    let Some(count) = job.int_opt("planes")? else {
        return Ok(None);
    };
    let kind = usize::try_from(count)
        .ok()
        .and_then(|count| Coefficients::of_count(ndim, count));
    if kind.is_none() {
        let [few, all] = [Coefficients::Orthorhombic, Coefficients::All].map(|kind| kind.count(ndim));
        bail!("planes={count}: a {ndim}-D model has {few} planes or, with all coefficients, {all}");
    }
    Ok(kind)
}

/// The coefficients that a tilted model needs, from a pass over all cells.
fn needed(model: &mut Model, recipe: Recipe) -> Result<Coefficients> {
    let kind = Coefficients::All;
    let mut needed = Coefficients::Orthorhombic;
    pass(model, &Recipe { kind, ..recipe }, |cells| {
        if cells.par_iter().any(|cell| needs_all(recipe.ndim, cell)) {
            needed = kind;
        }
        Ok(())
    })?;
    Ok(needed)
}

/// Warns of given parameters that the symmetry class does not use.
fn warn_of_unused(job: &Job, law: Law) {
    for (slot, name) in NAMES.iter().enumerate() {
        if job.given(name) && !law.uses(slot) {
            let known: Vec<_> = (0..NAMES.len())
                .filter(|s| law.uses(*s))
                .map(|s| NAMES[s])
                .collect();
            job.warn(&format!(
                "{name}= has no effect with sym={}, which uses {}",
                law.word(),
                known.join(", ")
            ));
        }
    }
}

/// The cell with the largest coefficient that was left out so far, and the coefficient.
type Worst = Option<(usize, Lost)>;

/// Writes all planes; each pass over the inputs computes as many as fit into `budget` bytes.
fn write_planes(model: &mut Model, recipe: &Recipe, budget: u64, output: &mut Output) -> Result<Worst> {
    let order = recipe.kind.table(recipe.ndim).file_order();
    let planes = order.len();
    let fit = (budget / (4 * model.cells() as u64)).min(planes as u64) as usize;
    let mut worst = if fit < planes {
        pass(model, recipe, |_| Ok(()))?
    } else {
        None
    };
    if fit == 0 {
        let mut row = Vec::with_capacity(PIECE);
        for plane in order {
            pass(model, recipe, |cells| {
                row.clear();
                row.extend(cells.iter().map(|c| c[plane]));
                Ok(output.write_f32(&row)?)
            })?;
        }
        return Ok(worst);
    }
    for first in (0..planes).step_by(fit) {
        let group = &order[first..planes.min(first + fit)];
        let mut held: Vec<Vec<f32>> = group.iter().map(|_| Vec::with_capacity(model.cells())).collect();
        let bad_cell = pass(model, recipe, |cells| {
            group
                .iter()
                .zip(&mut held)
                .for_each(|(&p, plane)| plane.extend(cells.iter().map(|c| c[p])));
            Ok(())
        })?;
        worst = worst.or(bad_cell);
        held.iter().try_for_each(|plane| output.write_f32(plane))?;
    }
    Ok(worst)
}

/// Computes all cells in file order and passes pieces of them to `take`. Stops at the first cell that is not an
/// elastic medium.
fn pass(model: &mut Model, recipe: &Recipe, mut take: impl FnMut(&[Cell]) -> Result<()>) -> Result<Worst> {
    let mut worst: Worst = None;
    let mut cells = vec![[0.0; Coefficients::All.count(3)]; PIECE.min(model.cells())];
    for start in (0..model.cells()).step_by(PIECE) {
        let count = PIECE.min(model.cells() - start);
        model.read(start, count)?;
        let piece = model.piece(start, count);
        let speeds = |i: usize| recipe.too_stiff(&piece.values(i));
        let stiff = match model.stiff {
            None if recipe.can_be_too_stiff() => {
                (0..count).into_par_iter().find_first(|i| speeds(*i).is_some())
            }
            _ => None,
        };
        let stiff = stiff.and_then(|i| Some((start + i, speeds(i)?)));
        let blocks = cells[..count].par_chunks_mut(BLOCK).enumerate();
        let reports: Vec<_> = blocks
            .map(|(b, cells)| compute(&piece, recipe, b * BLOCK, cells))
            .collect();
        for report in reports {
            match report {
                Ok(Some((i, lost))) if worst.as_ref().is_none_or(|(_, w)| lost.share > w.share) => {
                    worst = Some((start + i, lost));
                }
                Ok(_) => {}
                Err((i, error)) => {
                    let values = piece.listed(i, recipe);
                    bail!(
                        "{}: {error}; there {values}{}",
                        model.place(start + i),
                        error.advice()
                    );
                }
            }
        }
        model.stiff = model.stiff.or(stiff);
        take(&cells[..count])?;
    }
    Ok(worst)
}

/// Fills `cells` with the planes of the cells `first ..` of a piece.
fn compute(
    piece: &Piece,
    recipe: &Recipe,
    first: usize,
    cells: &mut [Cell],
) -> Result<Worst, (usize, CellError)> {
    let mut worst: Worst = None;
    for (i, cell) in (first..).zip(cells) {
        let (planes, lost) = recipe.cell(&piece.values(i)).map_err(|e| (i, e))?;
        *cell = planes;
        if let Some(lost) = lost.filter(|l| worst.as_ref().is_none_or(|(_, w)| l.share > w.share)) {
            worst = Some((i, lost));
        }
    }
    Ok(worst)
}
