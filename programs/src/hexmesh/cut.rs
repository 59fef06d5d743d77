//! Cuts a body with six sides into elements, row by row from the bottom up.

use std::collections::HashMap;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use kernels::mesh::{Order, cell};
use rsf_io::Job;

use super::lattice::{self, Place, ROW, Row, UNIT};
use super::stages::{MANY, Stages};
use crate::meshing::{RawMesh, stored};
use rsf_io::memory::{self, gigabytes};

/// The sides of a body as users name them.
pub(super) const SIDES: [&str; 6] = ["xmin", "xmax", "ymin", "ymax", "bottom", "top"];

/// Index of the bottom in [`SIDES`].
pub(super) const BOTTOM: usize = 4;

/// Index of the top in [`SIDES`].
pub(super) const TOP: usize = 5;

/// The absorbing sides, as indices into [`SIDES`].
///
/// # Errors
/// Returns an error for a word that is not the name of a side.
pub(super) fn absorbing(job: &Job) -> Result<Vec<usize>> {
    let text = job.text("absorb")?.unwrap_or_default();
    let words = text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty() && *word != "none");
    words
        .map(|word| match SIDES.iter().position(|side| *side == word) {
            Some(side) => Ok(side),
            None => bail!(
                "absorb= has `{word}`, which is not a side; the sides are {}, and none stands for no side",
                SIDES.join(", ")
            ),
        })
        .collect()
}

/// Refuses more elements than fit into memory. Returns false in a dry run, after it has written the header of the
/// elements.
///
/// # Errors
/// Returns an error for too many elements; the message says how many would fit.
pub(super) fn room(job: &mut Job, elements: usize, order: Order, ndim: usize) -> Result<bool> {
    let needed = elements as f64 * bytes(order, ndim, job.int("degree")?, job.flag("judge")?);
    let free = memory::free().unwrap_or(f64::INFINITY);
    let words = format!("{elements} elements need about {}", gigabytes(needed));
    if needed > free {
        let judge = match job.flag("judge")? {
            true => ", or judge=n, which needs less",
            false => "",
        };
        bail!(
            "{words} of memory, but {} are free: use fewer and larger elements ({:.0} fit), or a machine with more memory{judge}",
            gigabytes(free),
            elements as f64 * free / needed
        );
    }
    if !job.is_dry_run() {
        return Ok(true);
    }
    job.say(&format!("{words} of memory; nothing was made (--dryrun=y)"));
    let per_element = if ndim == 2 {
        order.nodes::<2>()
    } else {
        order.nodes::<3>()
    };
    stored::elements(job, per_element, elements)?.finish()?;
    Ok(false)
}

/// The bytes of memory per element, measured on meshes of half a million elements: while the mesh is written
/// or, with `judge`, while it is checked with the points of polynomial degree `degree`.
fn bytes(order: Order, ndim: usize, degree: i64, judge: bool) -> f64 {
    let [mesh, written] = match (order, ndim) {
        (Order::Linear, 2) => [150.0, 150.0],
        (Order::Quadratic, 2) => [300.0, 300.0],
        (Order::Linear, _) => [310.0, 310.0],
        (Order::Quadratic, _) => [800.0, 1200.0],
    };
    let points = ((degree + 1) as f64).powi(ndim as i32);
    if judge {
        (mesh + 110.0 + 4.0 * points).max(written)
    } else {
        written
    }
}

/// The elements of a body before it is divided.
pub(super) struct Plan<'a> {
    /// The rows, from the bottom up.
    pub(super) rows: &'a [Row],
    /// The number of elements along x and y at the top; 0 along y in 2-D.
    pub(super) top: [usize; 2],
    pub(super) order: Order,
    /// Sides that absorb.
    pub(super) absorb: &'a [usize],
    /// True if the axes x, y and up are right-handed. In a box, x, y and down are.
    pub(super) mirrored: bool,
    /// Shows the progress of the work.
    pub(super) stages: &'a Stages,
}

impl Plan<'_> {
    /// Cuts the mesh; `coordinates` gives the coordinates of a place in a layer.
    pub(super) fn cut<const D: usize>(
        &self,
        coordinates: impl Fn(Place, usize) -> Result<[f64; D]>,
    ) -> Result<RawMesh> {
        let total = self.rows.iter().map(Row::elements).sum::<u128>() as usize;
        let what = format!("cuts {total} elements");
        self.stages
            .during(&what, total, |bar| self.elements(coordinates, bar))
    }

    /// Makes the mesh, and advances the progress bar as elements are added.
    fn elements<const D: usize>(
        &self,
        coordinates: impl Fn(Place, usize) -> Result<[f64; D]>,
        bar: &ProgressBar,
    ) -> Result<RawMesh> {
        let per_element = self.order.nodes::<D>();
        let mut mesh = RawMesh {
            ndim: D,
            per_element,
            ..RawMesh::default()
        };
        // Nodes of this row, and the nodes that it shares with the row below.
        let mut known: HashMap<Place, i32> = HashMap::new();
        let ends = [
            self.top[0] as i64 * UNIT,
            self.rows.len() as i64 * ROW,
            self.top[1] as i64 * UNIT,
        ];
        for (k, row) in self.rows.iter().enumerate() {
            let foot = k as i64 * ROW;
            known.retain(|place, _| place[1] == foot);
            for mut corners in lattice::corners(row, self.top, foot) {
                if self.mirrored {
                    corners.rotate_left(1 << (D - 1));
                }
                let element = mesh.regions.len() as i32;
                for node in 0..per_element {
                    let place = middle::<D>(&corners, node);
                    let next = (mesh.nodes.len() / D) as i32;
                    let number = match known.get(&place) {
                        Some(number) => *number,
                        None => {
                            mesh.nodes.extend(coordinates(place, row.layer)?);
                            known.insert(place, next);
                            next
                        }
                    };
                    mesh.elements.push(number);
                }
                mesh.regions.push(row.layer as i32);
                if mesh.regions.len().is_multiple_of(MANY) {
                    bar.inc(MANY as u64);
                }
                for face in 0..cell::faces::<D>() {
                    match side::<D>(&corners, face, ends) {
                        Some(side) if self.absorb.contains(&side) => {
                            mesh.absorbing.push([element, face as i32])
                        }
                        Some(TOP) => mesh.free.push([element, face as i32]),
                        _ => {}
                    }
                }
            }
        }
        Ok(mesh)
    }
}

/// The place of a node between the corners of its element.
fn middle<const D: usize>(corners: &[Place], node: usize) -> Place {
    let code = cell::place::<D>(node);
    let mut sum = [0; 3];
    for (corner, place) in corners.iter().enumerate() {
        let at = cell::place::<D>(corner);
        let weight: i64 = (0..D)
            .map(|a| i64::from(if at[a] == 2 { code[a] } else { 2 - code[a] }))
            .product();
        (0..3).for_each(|c| sum[c] += weight * place[c]);
    }
    sum.map(|s| s / (1 << D))
}

/// The side of the body on which a face lies, if it lies on one.
fn side<const D: usize>(corners: &[Place], face: usize, ends: Place) -> Option<usize> {
    let own = cell::corners(cell::face::<D>(face).code::<D>());
    let all = |axis: usize, at: i64| own.iter().all(|k| corners[*k][axis] == at);
    let lies = |side: usize| match side {
        0 => all(0, 0),
        1 => all(0, ends[0]),
        2 => D == 3 && all(2, 0),
        3 => D == 3 && all(2, ends[2]),
        BOTTOM => all(1, 0),
        _ => all(1, ends[1]),
    };
    (0..SIDES.len()).find(|side| lies(*side))
}
