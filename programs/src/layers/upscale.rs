//! `sfupscale`: the effective medium of a fine grid on a grid that is coarser by an integer factor.
//!
//! A coarse node has the effective medium of layers (Schoenberg and Muir 1989) made of the rocks of all fine nodes
//! within its window, each with the weight that the window gives to its cell. The normal of the layers is the direction
//! in which the fine medium changes most around the node.

use anyhow::{Context, Result, bail};
use kernels::medium::voigt::slot;
use kernels::medium::window::{REACH, Window};
use kernels::medium::{Coefficients, Stiffness, Symmetry, Voigt, effective, eigen, rotate, triclinic};
use rayon::prelude::*;
use rsf_io::{Axis, Input, Job};

use super::isotropic::{Mixture, Moments, Sums};
use super::planes::{Grid, Medium};
use super::shears;
use crate::modelling::model::{IN_PLACE, SHEARS, shared_grid};

pub use super::upscale_spec::PROGRAM;

/// A fine model, with all planes in memory order.
pub(super) struct Fine {
    pub(super) grid: Grid,
    stiffness: Vec<Vec<f32>>,
    pub(super) density: Vec<f32>,
    /// Whether the media of all nodes are isotropic.
    isotropic: bool,
    /// The number of fine spacings in a coarse one.
    factor: usize,
    window: Window,
}

/// The weights of fine nodes along an axis: the index of the first node, which may lie before the grid, and
/// all weights.
pub(super) struct Weights {
    first: isize,
    pub(super) of_window: Vec<f64>,
    pub(super) of_cell: Vec<f64>,
    /// Distances from the coarse node, in coarse spacings.
    pub(super) off: Vec<f64>,
}

impl Weights {
    /// The fine node, of `n`, to which a weight belongs. Beyond the grid its last nodes repeat.
    pub(super) fn at(&self, weight: usize, n: usize) -> usize {
        (self.first + weight as isize).clamp(0, n as isize - 1) as usize
    }
}

/// The coarse nodes of a line.
struct Line<'a> {
    fine: &'a Fine,
    across: [Weights; 2],
    /// Sums over x and y, for an isotropic fine medium.
    sums: Option<Sums>,
    lower: bool,
    /// True if the points are the positions of shear stresses, half a cell beyond the nodes along two axes.
    shears: bool,
    place: [usize; 2],
}

/// Runs the program.
///
/// # Errors
/// Returns an error for parameters or files that do not fit together.
pub fn run(job: &mut Job) -> Result<()> {
    let factor = usize::try_from(job.int("n")?)?;
    let staggered = job.choice("scheme")? == "staggered";
    let fine = Fine::read(job, factor, staggered)?;
    let turned = fine.grid.kind == Coefficients::All;
    let mut coarse = Grid {
        axes: fine.grid.axes.each_ref().map(|axis| coarser(axis, factor)),
        ndim: fine.grid.ndim,
        kind: Coefficients::All,
    };
    if staggered && turned {
        bail!(
            "the {} planes on standard input are all coefficients of a medium that may be tilted; \
            scheme=staggered holds {}",
            fine.grid.kind.count(coarse.ndim),
            Coefficients::Orthorhombic.count(coarse.ndim)
        );
    }
    let needed = if staggered {
        Coefficients::Orthorhombic
    } else {
        Coefficients::All
    };
    coarse.kind = coarse.requested_coefficients(job, staggered)?.unwrap_or(needed);
    coarse.refuse_what_is_too_large()?;
    if job.is_dry_run() {
        return Ok(());
    }
    let line = |place: [usize; 2], beyond: [bool; 3]| fine.line(place, beyond);
    let node = |line: &Line, k: usize| {
        Ok(match staggered && coarse.is_outermost(line.place, k) {
            true => line.sharp(k),
            false => line.medium(k),
        })
    };
    let mut planes = coarse.filled(|place| line(place, [false; 3]), node)?;
    if staggered {
        shears::staggered(&coarse, &mut planes, line, node)?;
    }
    coarse.write(job, "denout", &planes, Some(shears::place(staggered)))
}

/// The axis of every `factor`th node.
fn coarser(axis: &Axis, factor: usize) -> Axis {
    Axis {
        n: (axis.n - 1) / factor + 1,
        d: axis.d * factor as f32,
        ..axis.clone()
    }
}

impl Fine {
    fn read(job: &mut Job, factor: usize, staggered: bool) -> Result<Self> {
        let mut density = job.input("den")?;
        let mut input = job.stdin()?;
        let ndim = density.rank().max(2);
        let axes = [1, 2, 3].map(|i| density.axis(i));
        if ndim > 3 {
            bail!(
                "den= is {}; a model has the axes z, x[, y]",
                density.header().sizes()
            );
        }
        shared_grid(&[&input, &density], ndim)?;
        if input.header().text(SHEARS).as_deref() == Some(IN_PLACE) {
            bail!(
                "standard input has shears=staggered in its header: its shear stiffnesses are half a cell \
                beyond the nodes; make the fine model with scheme=collocated, with average=n or with \
                sfstiffness"
            );
        }
        if let Some(i) = (0..ndim).find(|i| axes[*i].n > 1 && axes[*i].n <= factor) {
            bail!(
                "n={factor} leaves only one of n{}={} nodes: n= must be smaller than that number",
                i + 1,
                axes[i].n
            );
        }
        let count = input.axis(ndim + 1).n;
        let Some(kind) = Coefficients::of_count(ndim, count) else {
            let [few, all] = [Coefficients::Orthorhombic, Coefficients::All].map(|kind| kind.count(ndim));
            bail!(
                "standard input has {count} planes; a {ndim}-D model has {few} or {all}, as sfstiffness writes them"
            );
        };
        let cells: usize = axes.iter().map(|axis| axis.n).product();
        if input.len() != (cells * count) as u64 || density.len() != cells as u64 {
            bail!(
                "den= or standard input has more axes than a model, which has z, x[, y] and planes: sfwindow selects one model"
            );
        }
        let grid = Grid { axes, ndim, kind };
        grid.refuse_what_is_too_large()?;
        let mut stiffness = vec![Vec::new(); count];
        for (number, place) in kind.table(ndim).file_order().into_iter().enumerate() {
            stiffness[place] = read(&mut input, cells).with_context(|| format!("plane {}", number + 1))?;
        }
        let window = if staggered {
            Window::Staggered
        } else {
            Window::Nodes
        };
        let mut fine = Self {
            isotropic: false,
            grid,
            stiffness,
            density: read(&mut density, cells)?,
            factor,
            window,
        };
        fine.refuse_what_is_no_medium()?;
        fine.isotropic = fine.is_isotropic();
        Ok(fine)
    }

    /// Checks every fine node, so that a fault is reported at its node and not in an average.
    fn refuse_what_is_no_medium(&self) -> Result<()> {
        let [nz, nx, _] = self.grid.n();
        (0..self.density.len()).into_par_iter().try_for_each(|cell| {
            let there = || {
                format!(
                    "node ({}, {}, {}) of the fine grid",
                    cell % nz,
                    cell / nz % nx,
                    cell / nz / nx
                )
            };
            let density = self.density[cell];
            if !(density.is_finite() && density > 0.0) {
                bail!("{}: den= is {density}; density must be positive", there());
            }
            let mut values = [0.0; 21];
            for (value, plane) in values.iter_mut().zip(&self.stiffness) {
                *value = f64::from(plane[cell]);
            }
            match triclinic::fault(self.grid.ndim, &values[..self.stiffness.len()]) {
                Some(fault) => bail!("{}: {fault}", there()),
                None => Ok(()),
            }
        })
    }

    /// Whether all nodes are isotropic, apart from rounding errors of their coefficients.
    fn is_isotropic(&self) -> bool {
        (0..self.density.len()).into_par_iter().all(|cell| {
            let c = self.voigt(cell);
            let lost = rotate::lost(&c, 3, Coefficients::Orthorhombic);
            lost.is_none_or(|lost| lost.share < rotate::LOSS_ALLOWED)
                && Stiffness::kept(&c).symmetry() == Symmetry::Isotropic
        })
    }

    /// The planes of c33 and c55.
    pub(super) fn moduli(&self) -> [&[f32]; 2] {
        [(3, 3), (5, 5)].map(|pair| &self.stiffness[slot(self.grid.ndim, pair)][..])
    }

    /// The weights of fine nodes around a coarse one, or around the point half a coarse cell beyond it.
    fn weights(&self, axis: usize, node: usize, beyond: bool) -> Weights {
        if self.grid.axes[axis].n == 1 {
            return Weights {
                first: 0,
                of_window: vec![1.0],
                of_cell: vec![1.0],
                off: vec![0.0],
            };
        }
        let step = self.factor as f64;
        let centre = node as f64 * step + if beyond { 0.5 * step } else { 0.0 };
        let reach = REACH as f64 * step;
        let (first, last) = (
            (centre - reach).floor() as isize,
            (centre + reach).ceil() as isize,
        );
        let off = |k: isize| (k as f64 - centre) / step;
        let part = |window: Window| {
            (first..=last)
                .map(|k| window.below(off(k) + 0.5 / step) - window.below(off(k) - 0.5 / step))
                .collect()
        };
        Weights {
            first,
            of_window: part(self.window),
            of_cell: part(Window::Cell),
            off: (first..=last).map(off).collect(),
        }
    }

    fn line(&self, place: [usize; 2], beyond: [bool; 3]) -> Line<'_> {
        let across = [1, 2].map(|axis| self.weights(axis, place[axis - 1], beyond[axis]));
        Line {
            fine: self,
            sums: self.isotropic.then(|| Sums::of(self, &across)),
            across,
            lower: beyond[0],
            shears: beyond.contains(&true),
            place,
        }
    }

    fn voigt(&self, cell: usize) -> Voigt {
        let values: [f64; 21] =
            std::array::from_fn(|k| self.stiffness.get(k).map_or(0.0, |plane| plane[cell].into()));
        let count = self.grid.kind.count(self.grid.ndim);
        let mut c = rotate::matrix(self.grid.ndim, &values[..count]);
        if self.grid.ndim == 2 {
            // Coefficients without a plane take the values of a VTI medium with c66 = c55; they are not written back.
            (c[1][1], c[3][3], c[5][5]) = (c[0][0], c[4][4], c[4][4]);
            (c[0][1], c[1][2]) = (c[0][0] - 2.0 * c[4][4], c[0][2]);
            (c[1][0], c[2][1]) = (c[0][1], c[1][2]);
        }
        c
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.density[a] == self.density[b] && self.stiffness.iter().all(|plane| plane[a] == plane[b])
    }
}

fn read(input: &mut Input, cells: usize) -> Result<Vec<f32>> {
    let mut values = vec![0.0; cells];
    input.read_f32(&mut values)?;
    Ok(values)
}

/// The number of most recent media with which the medium of a fine node is compared.
const ALIKE: usize = 16;

/// A group of fine nodes that have the medium of `cell`: the sums of their weights in the window and in the
/// coarse cell.
struct Run {
    cell: usize,
    weights: [f64; 2],
}

impl Line<'_> {
    /// Density and stiffness of the fine node at the coarse node `k` of the line.
    fn sharp(&self, k: usize) -> Medium {
        let n = self.fine.grid.n();
        let [x, y] = self.place.map(|at| at * self.fine.factor);
        let cell = k * self.fine.factor + n[0] * (x + n[1] * y);
        (self.fine.density[cell].into(), self.fine.voigt(cell))
    }

    /// Density and stiffness of the coarse node `k` of the line.
    fn medium(&self, k: usize) -> Medium {
        let along = self.fine.weights(0, k, self.lower);
        match self.sums.as_ref().map(|sums| (sums, sums.mixture(&along))) {
            Some((_, Mixture::One)) => {
                let n = self.fine.grid.n();
                let [xs, ys] = &self.across;
                let cell = along.at(0, n[0]) + n[0] * (xs.at(0, n[1]) + n[1] * ys.at(0, n[2]));
                (self.fine.density[cell].into(), self.fine.voigt(cell))
            }
            Some((sums, Mixture::Coupled)) => {
                let normal = self.normal_of(&sums.moments(&along), sums.largest(&along));
                self.first_sound(true, normal, |of_cell| sums.medium(&along, of_cell))
            }
            _ => self.medium_of_runs(&along),
        }
    }

    /// The first of the media of the window and of the cell that is elastic, for layers with this normal; `layers` gives
    /// a density and a medium in the frame of the layers, of the cell or of the window. Only the cell counts unless the
    /// nodes are `coupled`, that is, all fluid or all solid.
    fn first_sound(&self, coupled: bool, normal: [f64; 3], layers: impl Fn(bool) -> Medium) -> Medium {
        let frame = effective::frame(normal);
        let turned = |of_cell: bool| {
            let (density, c) = layers(of_cell);
            let c = rotate::rotated(&c, &frame);
            match self.fine.window {
                Window::Staggered => (density, effective::orthorhombic(&c)),
                _ => (density, c),
            }
        };
        let in_window = coupled.then(|| turned(false));
        match in_window {
            Some((density, c)) if density > 0.0 && super::cells::is_sound(&c) => (density, c),
            _ => turned(true),
        }
    }

    /// The medium of a node, from a comparison of all fine nodes in its window.
    fn medium_of_runs(&self, along: &Weights) -> Medium {
        let mut runs: Vec<Run> = Vec::new();
        self.each(along, |cell, weights, _| {
            let known = runs
                .iter_mut()
                .rev()
                .take(ALIKE)
                .find(|run| self.fine.same(run.cell, cell));
            match known {
                Some(run) => (0..2).for_each(|w| run.weights[w] += weights[w]),
                None => runs.push(Run { cell, weights }),
            }
        });
        let first = runs[0].cell;
        if runs.iter().all(|run| self.fine.same(run.cell, first)) {
            return (self.fine.density[first].into(), self.fine.voigt(first));
        }
        let fluids = runs.iter().filter(|run| self.fine.voigt(run.cell)[4][4] == 0.0);
        let fluids = fluids.count();
        let normal = self.normal(along);
        let coupled = fluids == 0 || fluids == runs.len();
        if !coupled && self.fine.window == Window::Staggered {
            return self.contact(&runs, normal);
        }
        let frame = effective::frame(normal);
        let upright = std::array::from_fn(|i| std::array::from_fn(|j| frame[j][i]));
        self.first_sound(coupled, normal, |of_cell| {
            let mut layers = effective::Layers::default();
            let mut density = 0.0;
            for run in &runs {
                let weight = run.weights[usize::from(of_cell)];
                if weight != 0.0 {
                    let c = self.fine.voigt(run.cell);
                    layers.add(weight, &rotate::rotated(&c, &upright));
                    density += weight * f64::from(self.fine.density[run.cell]);
                }
            }
            (density, layers.medium())
        })
    }

    /// The medium where fluid meets solid, computed from only the cell of the node.
    fn contact(&self, runs: &[Run], normal: [f64; 3]) -> Medium {
        let held = runs.iter().filter(|run| run.weights[1] != 0.0);
        let parts: Vec<(f64, Voigt)> = held
            .clone()
            .map(|run| (run.weights[1], self.fine.voigt(run.cell)))
            .collect();
        let density = held.map(|run| run.weights[1] * f64::from(self.fine.density[run.cell]));
        (density.sum(), super::cells::mixed(&parts, normal, self.shears))
    }

    /// Calls `take` for every fine node in the window, z fastest, with its cell, its weights in the window and in the
    /// cell of the coarse node, and its distance along x, y, z in coarse spacings. Beyond the edges of the grid, its
    /// outermost nodes are repeated.
    fn each(&self, along: &Weights, mut take: impl FnMut(usize, [f64; 2], [f64; 3])) {
        let n = self.fine.grid.n();
        let at = |w: &Weights, i: usize, axis: usize| w.at(i, n[axis]);
        let [xs, ys] = &self.across;
        for j in 0..ys.off.len() {
            for i in 0..xs.off.len() {
                let line = at(xs, i, 1) + n[1] * at(ys, j, 2);
                let across = [xs.of_window[i] * ys.of_window[j], xs.of_cell[i] * ys.of_cell[j]];
                for k in 0..along.off.len() {
                    let weights = [across[0] * along.of_window[k], across[1] * along.of_cell[k]];
                    take(
                        at(along, k, 0) + n[0] * line,
                        weights,
                        [xs.off[i], ys.off[j], along.off[k]],
                    );
                }
            }
        }
    }

    /// The direction (x, y, z; of any length) in which the medium changes most: the leading eigenvector of the structure
    /// tensor of density, c33 and c55, from their first and second moments with Gaussian weights of one coarse spacing
    /// around the node.
    fn normal(&self, along: &Weights) -> [f64; 3] {
        let fine = self.fine;
        let [press, shear] = fine.moduli();
        let fields = [&fine.density, press, shear];
        let mut moments: [Moments; 4] = Default::default();
        let mut largest = [0.0f64; 3];
        self.each(along, |cell, _, off| {
            let bell = (-0.5 * off.iter().map(|x| x * x).sum::<f64>()).exp();
            let values = fields.map(|field| f64::from(field[cell]));
            (0..3).for_each(|f| largest[f] = largest[f].max(values[f].abs()));
            let [density, press, shear] = values;
            for (moments, value) in moments.iter_mut().zip([density, press, shear, 1.0]) {
                moments.add(bell * value, off);
            }
        });
        self.normal_of(&moments, largest)
    }

    /// The normal by the moments of density, c33 and c55 with a Gaussian bell, those of the bell, and the largest values
    /// of the three.
    fn normal_of(&self, moments: &[Moments; 4], largest: [f64; 3]) -> [f64; 3] {
        let mut tensor = [[0.0; 3]; 3];
        let bell = &moments[3];
        for (field, largest) in moments[..3].iter().zip(largest) {
            let scale = if largest > 0.0 {
                1.0 / (largest * bell.sum)
            } else {
                0.0
            };
            // Second moments are those of deviations from the mean.
            let mean = field.sum / bell.sum;
            let bend = |a: usize, b: usize| 0.5 * scale * (field.products[a][b] - mean * bell.products[a][b]);
            for (a, b) in (0..9).map(|k| (k / 3, k % 3)) {
                tensor[a][b] += scale * scale * field.along[a] * field.along[b]
                    + (0..3).map(|c| bend(a, c) * bend(c, b)).sum::<f64>();
            }
        }
        leading(&tensor)
    }
}

/// The eigenvector of the largest eigenvalue of a symmetric matrix, by repeated squaring; downwards for a zero matrix.
fn leading(tensor: &[[f64; 3]; 3]) -> [f64; 3] {
    let [largest, ..] = eigen::triple(tensor);
    if largest <= 0.0 {
        return [0.0, 0.0, 1.0];
    }
    let mut power = tensor.map(|row| row.map(|x| x / largest));
    for _ in 0..12 {
        let squared: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| power[i][k] * power[k][j]).sum()));
        let trace = squared[0][0] + squared[1][1] + squared[2][2];
        power = squared.map(|row| row.map(|x| x / trace));
    }
    let row = (0..3)
        .max_by(|a, b| power[*a][*a].total_cmp(&power[*b][*b]))
        .unwrap_or(2);
    let [x, y, z] = power[row];
    // A normal and its opposite describe the same layers; the normal that points down is taken.
    if z < 0.0 { [-x, -y, -z] } else { [x, y, z] }
}
