//! `sflayers`: makes a model from horizons and the rock between them.
//!
//! # Conventions Axes, Voigt numbers and planes are those of `sfstiffness`. A cell that an interface cuts has
//! the effective medium of its rocks (`kernels::medium::effective`), whose shares come from a window around its node
//! (`kernels::medium::window`). In spacings, a window is as wide along x and y as along z. Each rock has its values at
//! the depth of the node.

mod cells;
mod columns;
mod isotropic;
mod planes;
mod rocks;
mod shears;
mod spec;
pub mod upscale;
mod upscale_spec;

pub use spec::PROGRAM;

use anyhow::{Context, Result, bail};
use cells::{Cells, Line};
use columns::Columns;
use kernels::medium::Coefficients;
use kernels::medium::rotate;
use kernels::medium::window::Window;
use planes::{Grid, Medium, Planes};
use rocks::Rock;
use rsf_io::{Axis, Job};

use crate::stiffness::grid_of;
use crate::surfaces::Surface;

/// Number of nodes along z above which horizons that all lie in the first cell cause a warning.
const MANY: usize = 20;

/// The largest ratio of the c33 of two rocks for which the accuracy of their effective media is known.
const CONTRAST: f64 = 4.0;

/// The model that the parameters describe.
struct Model {
    grid: Grid,
    rocks: Vec<Rock>,
    horizons: Vec<Surface>,
    /// Whether nodes have effective media instead of the rock of their layer.
    average: bool,
    /// Whether the model is for programs on staggered grids.
    staggered: bool,
}

/// Runs the program.
///
/// # Errors
/// Returns an error for parameters or maps that are not valid, and for the first node whose rock is not an
/// elastic medium.
pub fn run(job: &mut Job) -> Result<()> {
    let (axes, ndim) = grid_of(job)?;
    if let Some(i) = axes.iter().position(|a| a.n > 1 && a.d <= 0.0) {
        bail!(
            "d{0}={1}: the spacing must be positive; begin the axis at its smallest coordinate (o{0}=)",
            i + 1,
            axes[i].d
        );
    }
    let horizons = columns::open(job)?;
    if ndim == 2 {
        horizons
            .iter()
            .try_for_each(|horizon| horizon.refuse_rows("n3"))?;
    }
    warn_of_other_units(job, &horizons, &axes[0]);
    let rocks = Rock::all(job, horizons.len() + 1)?;
    let mut model = Model {
        grid: Grid {
            axes,
            ndim,
            kind: Coefficients::Orthorhombic,
        },
        rocks,
        horizons,
        average: job.flag("average")?,
        staggered: job.choice("scheme")? == "staggered",
    };
    model.grid.kind = model.coefficients(job)?;
    model.refuse_what_does_not_fit()?;
    if job.is_dry_run() {
        return Ok(());
    }
    model.warn_of_contrast(job);
    let planes = model.planes()?;
    model.grid.write(
        job,
        "den",
        &planes,
        model.average.then_some(shears::place(model.staggered)),
    )
}

/// Warns of horizons that all lie in the first cell, as horizons in km do on a grid in m.
fn warn_of_other_units(job: &Job, horizons: &[Surface], z: &Axis) {
    let within = |horizon: &Surface| (1e-6..f64::from(z.d)).contains(&horizon.farthest());
    if !horizons.is_empty() && z.n > MANY && horizons.iter().all(within) {
        job.warn(&format!(
            "all horizons lie within {} of z=0, which is the spacing along z: check that they are in the units of the \
            grid",
            z.d
        ));
    }
}

impl Model {
    /// The coefficients that `planes=` requests, or that the model needs.
    fn coefficients(&self, job: &Job) -> Result<Coefficients> {
        let dips = self.average && self.horizons.iter().any(|horizon| !horizon.is_flat());
        let turned = self.rocks.iter().any(Rock::is_turned);
        let needed = match dips || turned {
            true if !self.staggered => Coefficients::All,
            _ => Coefficients::Orthorhombic,
        };
        Ok(self
            .grid
            .requested_coefficients(job, self.staggered)?
            .unwrap_or(needed))
    }

    /// Refuses rocks that the planes cannot represent, and models that do not fit into memory.
    fn refuse_what_does_not_fit(&self) -> Result<()> {
        for (k, rock) in self.rocks.iter().enumerate().filter(|(_, rock)| rock.is_turned()) {
            let (_, c) = rock
                .at(rock.datum())
                .with_context(|| format!("layer {}", k + 1))?;
            if let Some(lost) =
                rotate::lost(&c, self.grid.ndim, self.grid.kind).filter(|l| l.share >= rotate::LOSS_ALLOWED)
            {
                let all = match self.grid.ndim {
                    2 => "sfewefd2d-gpu takes all 6 coefficients (scheme=collocated in 2-D without planes=)",
                    _ => "sfewefd3d-gpu takes all 21 coefficients (scheme=collocated in 3-D without planes=)",
                };
                bail!("layer {}: {lost}; {all}", k + 1);
            }
        }
        self.grid.refuse_what_is_too_large()
    }

    /// Warns of the horizon between the two rocks that differ most, if they differ by more than [`CONTRAST`]. Horizons
    /// between a fluid and a solid are left out: only the parts of a node's own cell are averaged there, so that no
    /// node becomes stiffer than both.
    fn warn_of_contrast(&self, job: &Job) {
        let place = [1, 2].map(|axis: usize| f64::from(self.grid.axes[axis].o));
        let ratio = |k: usize| -> Option<f64> {
            let z = self.horizons[k].at(place).ok()?;
            let [above, below] = [&self.rocks[k], &self.rocks[k + 1]];
            if above.is_fluid(z) != below.is_fluid(z) {
                return None;
            }
            let [above, below] = [above, below].map(|rock| rock.at(z).ok().map(|(_, c)| c[2][2]));
            let ratio = below? / above?;
            Some(ratio.max(1.0 / ratio))
        };
        let ratios = (0..self.horizons.len()).filter_map(|k| Some((k + 1, ratio(k)?)));
        let Some((layer, ratio)) = ratios.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return;
        };
        if self.average && ratio > CONTRAST {
            job.warn(&format!(
                "layers {layer} and {} differ by a factor of {ratio:.1} in c33 (rho vp^2): above a factor of \
                {CONTRAST}, nodes near the interface can be stiffer than both rocks by a third or more, so that the \
                stable time step is shorter; a mesh (sfhexmesh) has no such nodes",
                layer + 1
            ));
        }
    }

    fn planes(&self) -> Result<Planes> {
        let columns = Columns::of(&self.horizons, &self.grid.axes, self.grid.ndim)?;
        if !self.average {
            return self.grid.filled(|place| place, |place, k| self.sharp(*place, k));
        }
        let window = if self.staggered {
            Window::Staggered
        } else {
            Window::Nodes
        };
        let z = [self.grid.axes[0].o.into(), self.grid.axes[0].d.into()];
        let cells = Cells::new(&columns, &self.rocks, z, window);
        let line = |place, beyond| (place, cells.line(place, beyond));
        let node = |(place, line): &([usize; 2], Line), k| match self.staggered
            && self.grid.is_outermost(*place, k)
        {
            true => self.sharp(*place, k),
            false => line.medium(k),
        };
        let mut planes = self.grid.filled(|place| line(place, [false; 3]), node)?;
        if self.staggered {
            shears::staggered(&self.grid, &mut planes, line, node)?;
        }
        Ok(planes)
    }

    /// The rock of the layer that contains a node.
    fn sharp(&self, place: [usize; 2], k: usize) -> Result<Medium> {
        let at = |axis: usize, i: usize| {
            f64::from(self.grid.axes[axis].o) + i as f64 * f64::from(self.grid.axes[axis].d)
        };
        let (z, x, y) = (at(0, k), at(1, place[0]), at(2, place[1]));
        let mut layer = 0;
        for (k, horizon) in self.horizons.iter().enumerate() {
            if horizon.at([x, y])? <= z {
                layer = k + 1;
            }
        }
        let rock = self.rocks[layer].at(z);
        rock.with_context(|| format!("layer {} of {}", layer + 1, self.rocks.len()))
    }
}
