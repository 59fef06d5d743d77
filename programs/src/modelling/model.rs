//! RSF planes to a medium: axes checked against each other, volumes streamed line by line.

use anyhow::{Context, bail};
use kernels::grid::{AXES, Grid, Padded};
use kernels::medium::{Medium, Quantity, plane_names};
use rsf_io::Input;

/// Numbers read at once.
const PIECE: usize = 1 << 20;

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

/// Streams both files into a medium: a piece at a time, never a second copy of a volume.
pub fn read(mut stiffness: Input, mut density: Input, padded: &Padded) -> anyhow::Result<Medium<f32>> {
    let mut medium = Medium::new(padded)?;
    for k in 0..plane_names(padded.ndim()).len() {
        volume(&mut stiffness, Quantity::Stiffness(k), &mut medium)?;
    }
    volume(&mut density, Quantity::Density, &mut medium)?;
    Ok(medium)
}

fn volume(input: &mut Input, quantity: Quantity, medium: &mut Medium<f32>) -> anyhow::Result<()> {
    let grid = medium.padded().model.clone();
    let lines = grid.cells() / grid.n[0];
    let step = (PIECE / grid.n[0]).max(1);
    let mut piece = vec![0.0f32; step.min(lines) * grid.n[0]];
    let mut line = 0;
    while line < lines {
        let count = step.min(lines - line);
        let values = &mut piece[..count * grid.n[0]];
        input.read_f32(values)?;
        medium.fill(quantity, line, values);
        line += count;
    }
    Ok(())
}
