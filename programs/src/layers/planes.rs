//! Fills the planes of a model line by line on all threads, and writes them.

use anyhow::{Context, Result, bail};
use kernels::medium::{Coefficients, Voigt, rotate};
use rayon::prelude::*;
use rsf_io::{Axis, Job, Output};

use crate::modelling::model::SHEARS;
use rsf_io::memory;

/// Density and stiffness of a node.
pub(super) type Medium = (f64, Voigt);

/// The nodes of a model and the coefficients that are written.
pub(super) struct Grid {
    /// Axes z, x, y; y has one sample in 2-D.
    pub(super) axes: [Axis; 3],
    pub(super) ndim: usize,
    pub(super) kind: Coefficients,
}

/// All planes, in memory order, and density.
pub(super) struct Planes {
    pub(super) stiffness: Vec<Vec<f32>>,
    pub(super) density: Vec<f32>,
}

impl Grid {
    /// The number of nodes along z, x and y.
    pub(super) fn n(&self) -> [usize; 3] {
        self.axes.each_ref().map(|axis| axis.n)
    }

    /// Whether the absorbing frame of a run repeats this node. On a staggered grid these nodes keep the rock of their
    /// layer: CPML may be unstable in anisotropic media such as the media of cut cells, and the programs would use a
    /// sponge there.
    pub(super) fn is_outermost(&self, [x, y]: [usize; 2], z: usize) -> bool {
        let ends = |at: usize, axis: usize| at == 0 || at + 1 == self.axes[axis].n;
        ends(z, 0) || ends(x, 1) || (self.ndim == 3 && ends(y, 2))
    }

    /// The coefficients that `planes=` requests.
    ///
    /// # Errors
    /// Returns an error for a number of planes that no model has, or more than the velocity-stress programs
    /// read.
    pub(super) fn requested_coefficients(&self, job: &Job, staggered: bool) -> Result<Option<Coefficients>> {
        let Some(count) = job.int_opt("planes")? else {
            return Ok(None);
        };
        let [few, all] = [Coefficients::Orthorhombic, Coefficients::All].map(|kind| kind.count(self.ndim));
        match Coefficients::of_count(self.ndim, count as usize) {
            None => bail!(
                "planes={count}: a {}-D model has {few} planes or, with all coefficients, {all}",
                self.ndim
            ),
            Some(Coefficients::All) if staggered => bail!(
                "planes={count}: a model of scheme=staggered has {few} planes, because sfvsfd{}d-gpu reads \
                no others",
                self.ndim
            ),
            kind => Ok(kind),
        }
    }

    /// Refuses more planes than there is memory for.
    ///
    /// # Errors
    /// Returns an error for planes that need more memory than is free.
    pub(super) fn refuse_what_is_too_large(&self) -> Result<()> {
        let cells = self.n().iter().map(|n| *n as f64).product::<f64>();
        let bytes = 4.0 * cells * (self.kind.count(self.ndim) + 3) as f64;
        match memory::free() {
            Some(free) if bytes > free => bail!(
                "the model needs {} of memory, but {} are free: use fewer nodes",
                memory::gigabytes(bytes),
                memory::gigabytes(free)
            ),
            _ => Ok(()),
        }
    }

    /// The planes of all nodes, computed line by line on all threads; `line(place)` prepares the nodes at x and y, and `node(line, k)`
    /// gives the medium of one of them.
    ///
    /// # Errors
    /// Returns the first error of `node`, with the node.
    pub(super) fn filled<L>(
        &self,
        line: impl Fn([usize; 2]) -> L + Sync,
        node: impl Fn(&L, usize) -> Result<Medium> + Sync,
    ) -> Result<Planes> {
        let [nz, nx, ny] = self.n();
        let table = self.kind.table(self.ndim);
        let cells = nz * nx * ny;
        let mut stiffness = vec![vec![0.0f32; cells]; table.len()];
        let mut density = vec![0.0f32; cells];
        let mut lines: Vec<Vec<&mut [f32]>> = density.chunks_mut(nz).map(|row| vec![row]).collect();
        for plane in &mut stiffness {
            lines
                .iter_mut()
                .zip(plane.chunks_mut(nz))
                .for_each(|(rows, row)| rows.push(row));
        }
        lines.par_iter_mut().enumerate().try_for_each(|(number, rows)| {
            let place = [number % nx, number / nx];
            let line = line(place);
            for k in 0..nz {
                let (rho, c) =
                    node(&line, k).with_context(|| format!("node ({k}, {}, {})", place[0], place[1]))?;
                rows[0][k] = rho as f32;
                for (row, value) in rows[1..].iter_mut().zip(held(&c, table.pairs)) {
                    row[k] = value;
                }
            }
            anyhow::Ok(())
        })?;
        Ok(Planes { stiffness, density })
    }

    /// Writes the density to the file of the parameter `density` and the planes to standard output, whose
    /// header says where the shear stiffnesses of cut cells are (`shears`).
    ///
    /// # Errors
    /// Returns an error for a file that cannot be written.
    pub(super) fn write(
        &self,
        job: &mut Job,
        density: &str,
        planes: &Planes,
        shears: Option<&str>,
    ) -> Result<()> {
        let mut density = job.tagged_output(density)?;
        let mut output = job.output()?;
        let table = self.kind.table(self.ndim);
        let set = |output: &mut Output| {
            for (i, axis) in self.axes.iter().take(self.ndim).enumerate() {
                output.set_axis(i + 1, axis);
            }
        };
        set(&mut density);
        density.set_rank(self.ndim);
        density.write_f32(&planes.density)?;
        density.finish()?;
        set(&mut output);
        let names = table.file_names();
        output.set_axis(
            self.ndim + 1,
            &Axis::new(names.len(), 0.0, 1.0).label(&names.join(" ")),
        );
        output.set_rank(self.ndim + 1);
        if let Some(shears) = shears {
            output.put_text(SHEARS, shears);
        }
        for k in table.file_order() {
            output.write_f32(&planes.stiffness[k])?;
        }
        Ok(output.finish()?)
    }
}

/// The coefficients of these pairs of Voigt indices; rounding errors of float64 become zero.
fn held(c: &Voigt, pairs: &[(usize, usize)]) -> impl Iterator<Item = f32> {
    let largest = c[0][0].max(c[1][1]).max(c[2][2]);
    pairs.iter().map(move |&pair| {
        let value = rotate::entry(c, pair);
        if value.abs() < 1e-13 * largest {
            0.0
        } else {
            value as f32
        }
    })
}
