//! The bounds of the reconstructed wavefield on a device: the bounds of [`Core`], rounded to whole vectors along z.

use super::super::boundary::Core;
use super::super::program::Discrete;
use super::arguments::{Args, BOXES, BoxArgs, int};
use super::slab::LocalProgram;
use super::variant::{CELLS, INSIDE};
use rayon::prelude::*;
use std::ops::Range;

/// Number of threads per block of kernels whose consecutive threads take consecutive vectors of cells of some boxes.
pub const THREADS: usize = 128;

/// The smallest allowed ratio of mu to |lambda|, and of n lambda + 2 mu to 2 mu. The normal parts of the adjoint
/// stresses follow from the adjoint strains by division by 2 mu and by n lambda + 2 mu, which amplifies rounding
/// errors by the ratio of lambda and 2 mu to these: at most 25 and 50 times with this limit, 3e-6 in all.
const SOFT: f32 = 0.02;

/// Cells by axis: 0 = z, 1 = row, 2 = plane.
pub type Cells = [Range<usize>; 3];

/// The bounds of the reconstructed wavefield.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Cells whose stresses are reconstructed.
    pub stresses: Cells,
    /// Cells whose velocities are reconstructed, for which these stresses suffice. The velocities of all other cells,
    /// the boundary, are saved in every step.
    pub velocities: Cells,
    /// All cells that have velocities, including images above a surface.
    all: Cells,
    /// Cells that steps compute.
    live: Cells,
    /// Length of the boundary of a component.
    pub boundary: usize,
}

impl Bounds {
    /// The bounds for the part of a program on a device, or the reason why there are none.
    pub fn of(slab: LocalProgram<'_, f32>, core: &Result<Core, &'static str>) -> Result<Self, &'static str> {
        let region = core.as_ref().map_err(|&why| why)?.region();
        let program = slab.program;
        let rows = &program.rows;
        // Kernels of the interior read neither the memory variables of layers nor their adjoints, and stay as far
        // from them as a derivative reaches. In other cases the shear stresses on the last line of the region are
        // reconstructed incorrectly, because half a cell beyond they lie in a layer; no reconstructed velocity reads
        // them.
        let (vector, apart) = match program.nodes.isotropic() && program.setup.surface.is_none() {
            true => (INSIDE, rows.half),
            false => (CELLS, 0),
        };
        let mut stresses = region.clone();
        for &axis in rows.axes() {
            stresses[axis] = region[axis].start + apart..region[axis].end.saturating_sub(apart);
        }
        stresses[0].start = stresses[0].start.next_multiple_of(vector);
        stresses[0].end = stresses[0].end / vector * vector;
        let mut velocities = stresses.clone();
        for &axis in rows.axes() {
            let reach = match axis {
                0 => rows.half.next_multiple_of(vector),
                _ => rows.half,
            };
            velocities[axis] = stresses[axis].start + reach..stresses[axis].end.saturating_sub(reach);
            if velocities[axis].is_empty() {
                return Err("the grid is too small to contain a core in which they could");
            }
        }
        let live = slab.live();
        for cells in [&mut stresses, &mut velocities] {
            cells[2] = slab.planes.within(&cells[2]);
        }
        let mut all = live.clone();
        if program.setup.surface.is_some() {
            all[0].start = 0;
        }
        let mut bounds = Self {
            stresses,
            velocities,
            all,
            live,
            boundary: 0,
        };
        let boxes = bounds.boundary_boxes();
        bounds.boundary = boxes.iter().map(numbers).sum();
        Ok(bounds)
    }

    pub fn boundary_boxes(&self) -> Vec<Cells> {
        around(&self.all, &self.velocities)
    }

    /// The boxes of the computed cells around an interior.
    pub fn around(&self, inside: &Cells) -> Vec<Cells> {
        around(&self.live, inside)
    }

    /// All computed cells.
    pub fn live(&self) -> Vec<Cells> {
        vec![self.live.clone()]
    }
}

/// The boxes around an interior.
fn around(all: &Cells, inside: &Cells) -> Vec<Cells> {
    let [z, row, plane] = all;
    let [inner, rows, planes] = inside;
    let boxes = [
        [z.start..inner.start, row.clone(), plane.clone()],
        [inner.end..z.end, row.clone(), plane.clone()],
        [inner.clone(), row.start..rows.start, plane.clone()],
        [inner.clone(), rows.end..row.end, plane.clone()],
        [inner.clone(), rows.clone(), plane.start..planes.start],
        [inner.clone(), rows.clone(), planes.end..plane.end],
    ];
    boxes.into_iter().filter(|cells| !is_empty(cells)).collect()
}

/// Whether a box has no cells, like the interior on a device whose planes all lie in the frame.
pub fn is_empty(cells: &Cells) -> bool {
    cells.iter().any(|axis| axis.is_empty())
}

/// Length of a box in the boundary, whose rows consist of whole vectors.
fn numbers([z, rows, planes]: &Cells) -> usize {
    z.len().next_multiple_of(CELLS) * rows.len() * planes.len()
}

/// Arguments of a kernel whose consecutive threads take consecutive vectors of cells of these boxes, and its number of
/// blocks.
pub fn walking(args: &Args, boxes: &[Cells]) -> (Args, usize) {
    let mut list = [BoxArgs::default(); BOXES];
    let (mut begin, mut number) = (0, 0);
    for (to, cells) in list.iter_mut().zip(boxes) {
        let [z, rows, planes] = cells;
        *to = BoxArgs {
            z: int(z.start),
            row: int(rows.start),
            plane: int(planes.start),
            width: int(z.len()),
            rows: int(rows.len()),
            planes: int(planes.len()),
            begin: int(begin),
            number: int(number),
        };
        begin += (numbers(cells) / CELLS).div_ceil(THREADS);
        number += numbers(cells);
    }
    let walking = Args {
        boxes: int(boxes.len()),
        around: list,
        ..*args
    };
    (walking, begin)
}

/// Arguments of a kernel that runs on the cells of a box.
pub fn within(args: &Args, [z, rows, planes]: &Cells) -> Args {
    let mut args = Args {
        top: int(z.start),
        reach: int(z.len()),
        ..*args
    };
    args.grid.begin = [z, rows, planes].map(|range| int(range.start));
    args.grid.count = [z, rows, planes].map(|range| int(range.len()));
    args
}

/// Whether an isotropic medium is solid and not too soft wherever it is known, so that the adjoint stresses can be
/// recovered from the adjoint strains.
pub fn solid(program: &Discrete<f32>) -> bool {
    let rows = &program.rows;
    let [normal, coupling] = [0, 3].map(|place| program.setup.medium.stiffness(place));
    let n = rows.ndim() as f32;
    let plane = |plane: usize| {
        rows.rows.clone().all(|row| {
            let cells = rows.at(plane, row) + rows.z.start..rows.at(plane, row) + rows.z.end;
            let both = normal[cells.clone()].iter().zip(&coupling[cells]);
            both.into_iter().all(|(normal, lambda)| {
                let twice = normal - lambda;
                twice > 0.0 && twice >= 2.0 * SOFT * lambda.abs() && n * lambda + twice >= SOFT * twice
            })
        })
    };
    let planes = program.known();
    program.setup.cpu.install(|| planes.into_par_iter().all(plane))
}
