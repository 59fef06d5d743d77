//! The axes of the files of a model, which must agree.

use super::{of_dimensions, order, words};
use anyhow::{Context, bail};
use kernels::grid::Grid;
use kernels::medium::Coefficients;
use rsf_io::Input;

/// The grid of the first file, after a check that the other files have the same grid.
pub fn shared_grid(files: &[&Input], ndim: usize) -> anyhow::Result<Grid> {
    let mut grid = Grid {
        ndim,
        n: [1; 3],
        o: [0.0; 3],
        d: [1.0; 3],
    };
    let first = files[0];
    for a in 0..ndim {
        let axis = first.axis(a + 1);
        (grid.n[a], grid.o[a], grid.d[a]) = (axis.n, axis.o, axis.d);
    }
    for file in &files[1..] {
        same_grid((&first.name(), &grid), file)?;
    }
    grid.check().with_context(|| first.name())?;
    Ok(grid)
}

/// Checks that a file has the axes of a grid, which is given together with the name of a file that has this grid.
fn same_grid((name, grid): (&str, &Grid), file: &Input) -> anyhow::Result<()> {
    for a in 0..grid.ndim {
        let (other, number) = (file.axis(a + 1), a + 1);
        let off = |x: f32, y: f32, share: f64| {
            (f64::from(x) - f64::from(y)).abs() > share * f64::from(grid.d[a]).abs()
        };
        let differ = if grid.n[a] != other.n {
            Some(("n", grid.n[a].to_string(), other.n.to_string()))
        } else if off(grid.d[a], other.d, 1e-4) {
            Some(("d", grid.d[a].to_string(), other.d.to_string()))
        } else if off(grid.o[a], other.o, 1e-2) {
            Some(("o", grid.o[a].to_string(), other.o.to_string()))
        } else {
            None
        };
        if let Some((key, one, two)) = differ {
            let hint = order::swapped(grid, file).unwrap_or_default();
            bail!(
                "{name} has {key}{number}={one} but {} has {key}{number}={two}: both must lie on one grid{hint}",
                file.name()
            );
        }
    }
    Ok(())
}

/// Refuses a file that does not have one number for each cell of the grid of a model. `name` is a file of that model,
/// for the message.
pub fn on_the_grid(file: &Input, (name, grid): (&str, &Grid)) -> anyhow::Result<()> {
    other_dimensions(file, grid.ndim)?;
    // A list, such as points by mistake, is described by its number of values.
    if file.rank() > 1 {
        same_grid((name, grid), file)?;
    }
    one_a_cell(file, grid)?;
    same_grid((name, grid), file)
}

/// The model grid of files with one number per cell, after a check that they share it.
pub fn plain_grid(files: &[&Input], ndim: usize) -> anyhow::Result<Grid> {
    let grid = shared_grid(files, ndim)?;
    for file in files {
        one_a_cell(file, &grid)?;
    }
    Ok(grid)
}

/// Refuses a file that does not have one number per cell.
fn one_a_cell(file: &Input, grid: &Grid) -> anyhow::Result<()> {
    let cells = grid.cells();
    other_dimensions(file, grid.ndim)?;
    if file.len() != cells as u64 {
        bail!(
            "{} has {} values; the grid {} has {cells}",
            file.name(),
            file.len(),
            words(grid)
        );
    }
    Ok(())
}

/// Refuses a file with one number per cell that has one axis more or less than the program takes. A third axis of one
/// sample is ignored.
fn other_dimensions(file: &Input, ndim: usize) -> anyhow::Result<()> {
    let (axes, name) = (file.rank(), file.name());
    let lengths: Vec<String> = (1..=axes).map(|a| format!("n{a}={}", file.axis(a).n)).collect();
    let lengths = lengths.join(", ");
    match ndim {
        2 if axes == 3 => bail!(
            "{name} has three axes ({lengths}), but a 2-D program takes z and x: {} runs models of z, x and y, and sfwindow n3=1 f3=0 takes one plane",
            of_dimensions(3)
        ),
        3 if axes == 2 => bail!(
            "{name} has two axes ({lengths}), but a 3-D program takes z, x and y: {} runs models of z and x, and sfspray axis=3 n={} o={} d={} repeats every plane along y",
            of_dimensions(2),
            file.axis(2).n,
            file.axis(2).o,
            file.axis(2).d
        ),
        _ => Ok(()),
    }
}

/// The model grid of the stiffness file, after a check that the density file has the same.
pub fn grid(stiffness: &Input, density: &Input, ndim: usize) -> anyhow::Result<Grid> {
    other_dimensions(density, ndim)?;
    let grid = shared_grid(&[stiffness, density], ndim)?;
    let (planes, cells) = (stiffness.axis(ndim + 1).n, grid.cells() as u64);
    let known = Coefficients::of_count(ndim, planes).is_some();
    if !known || stiffness.len() != cells * planes as u64 {
        let kinds = [Coefficients::Orthorhombic, Coefficients::All].map(|kind| {
            let names = kind.table(ndim).file_names();
            format!("n{}={}: {}", ndim + 1, names.len(), names.join(" "))
        });
        bail!(
            "{} has n{}={planes} planes after the grid axes and {} values; a {ndim}-D run needs {}",
            stiffness.name(),
            ndim + 1,
            stiffness.len(),
            kinds.join(", or ")
        );
    }
    one_a_cell(density, &grid)?;
    Ok(grid)
}
