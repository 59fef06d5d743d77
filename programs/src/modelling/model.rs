//! RSF planes to a medium: axes checked against each other, then volumes in one pass of blocks.

use anyhow::{Context, bail};
use kernels::device::cpu::Cpu;
use kernels::grid::{AXES, Grid, Padded};
use kernels::medium::{Destination, Findings, Inspection, lines_of_plane, needed, plane_names};
use kernels::stability::BadCell;
use rsf_io::Input;
use std::ops::Range;

/// Bytes of a block, all arrays together: large enough that every thread has its share of every array and a transfer
/// runs at full speed, small enough for the caches that all threads share.
const BLOCK_BYTES: usize = 32 << 20;

/// The model grid of the stiffness file, after checking that the density file has the same.
pub fn grid(stiffness: &Input, density: &Input, ndim: usize) -> anyhow::Result<Grid> {
    let mut grid = Grid {
        ndim,
        n: [1; 3],
        o: [0.0; 3],
        d: [1.0; 3],
    };
    for a in 0..ndim {
        let (axis, other) = (stiffness.axis(a + 1), density.axis(a + 1));
        let (c, r) = (stiffness.name(), density.name());
        let number = a + 1;
        if axis.n != other.n {
            bail!(
                "{c} has n{number}={} but {r} has n{number}={}: both must lie on one grid",
                axis.n,
                other.n
            );
        }
        if (f64::from(axis.d) - f64::from(other.d)).abs() > 1e-4 * f64::from(axis.d).abs() {
            bail!(
                "{c} has d{number}={} but {r} has d{number}={}: both must lie on one grid",
                axis.d,
                other.d
            );
        }
        if (f64::from(axis.o) - f64::from(other.o)).abs() > 1e-2 * f64::from(axis.d).abs() {
            bail!(
                "{c} has o{number}={} but {r} has o{number}={}: both must lie on one grid",
                axis.o,
                other.o
            );
        }
        (grid.n[a], grid.o[a], grid.d[a]) = (axis.n, axis.o, axis.d);
    }
    grid.check()?;
    let (names, cells) = (plane_names(ndim), grid.cells() as u64);
    if stiffness.len() != cells * names.len() as u64 || stiffness.axis(ndim + 1).n != names.len() {
        bail!(
            "{} has n{}={} planes behind the grid axes and {} values; a {ndim}-D run needs n{}={}: {}",
            stiffness.name(),
            ndim + 1,
            stiffness.axis(ndim + 1).n,
            stiffness.len(),
            ndim + 1,
            names.len(),
            names.join(" ")
        );
    }
    if density.len() != cells {
        bail!(
            "{} has {} values; the grid {} has {cells}",
            density.name(),
            density.len(),
            words(&grid)
        );
    }
    Ok(grid)
}

/// The grid with its frame, refused where its cells could not be counted.
pub fn padded(grid: &Grid, nb: usize) -> anyhow::Result<Padded> {
    let padded = Padded::new(grid, nb);
    let framed = Grid {
        n: padded.n,
        ..grid.clone()
    };
    framed
        .check()
        .with_context(|| format!("nb={nb} around the grid {}", words(grid)))?;
    Ok(padded)
}

/// `z 200 x 300`
pub fn words(grid: &Grid) -> String {
    (0..grid.ndim)
        .map(|a| format!("{} {}", AXES[a], grid.n[a]))
        .collect::<Vec<_>>()
        .join(" x ")
}

/// The volumes of a model. What is a file of binary numbers never lies in memory as a whole; a pipe and text have one
/// order, plane behind plane, and are held from the start.
pub struct Volumes {
    stiffness: Source,
    density: Source,
}

impl Volumes {
    /// Makes ready what [`Volumes::read`] reads.
    pub fn new(stiffness: Input, density: Input) -> anyhow::Result<Self> {
        Ok(Self {
            stiffness: Source::of(stiffness)?,
            density: Source::of(density)?,
        })
    }

    /// Reads, checks and hands over what the padded planes `own` need of the model, in one pass, a block at a time.
    ///
    /// The answer is what the model is like inside `own`, or the first cell there that no run can use.
    pub fn read(
        &self,
        padded: &Padded,
        own: &Range<usize>,
        cpu: &Cpu,
        destination: &mut dyn Destination,
    ) -> anyhow::Result<Result<Findings, BadCell>> {
        let (nz, cells) = (padded.model.n[0], padded.model.cells());
        let planes = plane_names(padded.ndim()).len();
        let load = |array: usize, line: usize, to: &mut [f32]| {
            if array < planes {
                self.stiffness.read(array * cells + line * nz, to)
            } else {
                self.density.read(line * nz, to)
            }
        };
        let rows = lines_of_plane(padded);
        let lines = |planes: Range<usize>| planes.start * rows..planes.end * rows;
        let model = |plane: usize| plane.clamp(padded.nb, padded.planes() - padded.nb) - padded.nb;
        let judged = lines(model(own.start)..model(own.end));
        let wanted = lines(needed(padded, own));
        let mut inspection = Inspection::part(padded, wanted.start, judged);
        let step = destination.lines((BLOCK_BYTES / (4 * nz * (planes + 1))).max(1));
        for first in wanted.clone().step_by(step) {
            let count = step.min(wanted.end - first);
            inspection.block(cpu, destination.block(count)?, load)?;
            destination.commit(first, count)?;
        }
        Ok(inspection.finish())
    }
}

/// Bytes of the inputs that [`Volumes`] has to hold.
pub fn held(inputs: [&Input; 2]) -> u64 {
    inputs
        .iter()
        .filter(|input| !input.is_seekable())
        .map(|input| 4 * input.len())
        .sum()
}

/// Numbers that threads take from any place.
enum Source {
    /// Where they are in a file.
    File(Input),
    /// From an input that has one order.
    Held(Vec<f32>),
}

impl Source {
    fn of(mut input: Input) -> anyhow::Result<Self> {
        Ok(if input.is_seekable() {
            Self::File(input)
        } else {
            Self::Held(input.read_all_f32()?)
        })
    }

    fn read(&self, start: usize, to: &mut [f32]) -> rsf_io::Result<()> {
        match self {
            Self::File(input) => input.read_f32_at(start as u64, to),
            Self::Held(all) => {
                to.copy_from_slice(&all[start..start + to.len()]);
                Ok(())
            }
        }
    }
}
