//! The medium on the grid: stiffness and density planes, padded along `z` only.
//!
//! Along the other axes the frame repeats the edge of the model, so a clamped row or plane index stands for it: this
//! is exactly the expansion of the original programs (`z` faces, then `x`, then `y`) without its memory.

use crate::device::simd::Real;
use crate::grid::Padded;
use crate::stability::{BadCell, Extremes, Scan};
pub mod eigen;
pub mod rotate;
pub mod stiffness;
pub mod thomsen;

pub use rotate::{Lost, Voigt};
pub use stiffness::{Fault, Stiffness, Symmetry};
pub use thomsen::{Speeds, Thomsen, Tsvankin, Unreal};

use crate::Error;
use crate::device::cpu::{Buffer, Cpu};
use crate::stencil::RADIUS;

/// Names of the stiffness planes of a model of this dimension, in file order.
pub fn plane_names(ndim: usize) -> &'static [&'static str] {
    if ndim == 3 {
        &stiffness::NAMES_3D
    } else {
        &stiffness::NAMES_2D
    }
}

/// Stiffness (pressure units) and density on the grid, filled line by line while the files are read.
///
/// Every array is `[model plane][model row][padded z]`, see [`crate::grid`].
pub struct Medium<T> {
    padded: Padded,
    /// Where each padded row starts in a plane of the arrays.
    lines: Vec<usize>,
    /// Stiffness in file order ([`plane_names`]).
    stiffness: Vec<Buffer<T>>,
    /// Density.
    density: Buffer<T>,
}

/// Lines that are worth another thread.
const LINES: usize = 256;

/// Which array of the medium a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// Number of the stiffness plane in file order.
    Stiffness(usize),
    /// Density.
    Density,
}

impl<T: Real> Medium<T> {
    /// Memory for the medium of this grid; all zero.
    pub fn new(padded: &Padded) -> Result<Self, Error> {
        padded.model.check()?;
        let len = padded.model.cells() / padded.model.n[0] * padded.pitch();
        let stiffness = plane_names(padded.ndim())
            .iter()
            .map(|_| Buffer::zeroed(len))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            padded: padded.clone(),
            lines: (0..padded.rows())
                .map(|row| padded.model_row(row) * padded.pitch())
                .collect(),
            stiffness,
            density: Buffer::zeroed(len)?,
        })
    }

    /// The grid.
    pub fn padded(&self) -> &Padded {
        &self.padded
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.stiffness.iter().map(Buffer::bytes).sum::<usize>() + self.density.bytes()
    }

    /// Copies whole `z` lines in file order, the first being line `line` (`x + nx*y`), and repeats their ends into
    /// the frame. `values` holds a multiple of `nz` numbers. Inside [`Cpu::install`] the pool's threads share the work.
    pub fn fill(&mut self, quantity: Quantity, line: usize, values: &[T]) {
        let (nz, nb, pitch) = (self.padded.model.n[0], self.padded.nb, self.padded.pitch());
        let array = match quantity {
            Quantity::Stiffness(k) => self.stiffness[k].as_mut_slice(),
            Quantity::Density => self.density.as_mut_slice(),
        };
        assert_eq!(values.len() % nz, 0, "whole lines");
        let copy = |(row, from): (&mut [T], &[T])| {
            row[..nb].fill(from[0]);
            row[nb..nb + nz].copy_from_slice(from);
            row[nb + nz..].fill(from[nz - 1]);
        };
        let rows = &mut array[line * pitch..][..values.len() / nz * pitch];
        if rayon::current_thread_index().is_some() {
            use rayon::prelude::*;
            let rows = rows.par_chunks_mut(pitch).zip(values.par_chunks(nz));
            rows.with_min_len(LINES).for_each(copy);
        } else {
            rows.chunks_mut(pitch).zip(values.chunks(nz)).for_each(copy);
        }
    }

    /// Stiffness arrays in file order.
    pub fn stiffness(&self) -> impl Iterator<Item = &[T]> {
        self.stiffness.iter().map(Buffer::as_slice)
    }

    /// One stiffness array, by its place in the file order.
    pub fn stiffness_array(&self, plane: usize) -> &[T] {
        self.stiffness[plane].as_slice()
    }

    /// The density array.
    pub fn density(&self) -> &[T] {
        self.density.as_slice()
    }

    /// Where each padded row starts in a plane of the arrays.
    pub(crate) fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// Start of the array row that stands for padded `row` of padded `plane`.
    pub fn row_start(&self, plane: usize, row: usize) -> usize {
        let p = &self.padded;
        (p.model_plane(plane) * self.rows() + p.model_row(row)) * p.pitch()
    }

    /// Model rows of a model plane: `nx` in 3-D, 1 in 2-D.
    fn rows(&self) -> usize {
        if self.padded.ndim() == 3 {
            self.padded.model.n[1]
        } else {
            1
        }
    }

    /// Density and stiffness at padded `[z, x, y]` in words; `density` turns the density array's number into density.
    pub fn describe(&self, index: [usize; 3], density: impl Fn(f64) -> f64) -> String {
        let (plane, row) = if self.padded.ndim() == 3 {
            (index[2], index[1])
        } else {
            (index[1], 0)
        };
        let inside = live_z(&self.padded);
        let at = self.row_start(plane, row) + index[0].clamp(inside.start, inside.end - 1);
        let planes = plane_names(self.padded.ndim()).iter().zip(&self.stiffness);
        let list: Vec<String> = planes
            .map(|(name, c)| format!("{name}={}", c.as_slice()[at].f64() as f32))
            .collect();
        let rho = density(self.density.as_slice()[at].f64()) as f32;
        format!("medium there: density={rho} {}", list.join(" "))
    }

    /// Turns density into the factor `dt*dt/rho` of the time step (eq. 6), in the arithmetic of `T`; zero in the rim
    /// along `z`, where no force acts.
    pub(crate) fn buoyancy(&mut self, cpu: &Cpu, dt: T) {
        use rayon::prelude::*;
        let (scale, inside, pitch) = (dt * dt, live_z(&self.padded), self.padded.pitch());
        let density = self.density.as_mut_slice();
        let line = |row: &mut [T]| {
            row[inside.clone()].iter_mut().for_each(|x| *x = scale / *x);
            row[..inside.start].fill(T::of(0.0));
            row[inside.end..].fill(T::of(0.0));
        };
        cpu.install(|| density.par_chunks_mut(pitch).for_each(line));
    }
}

impl Medium<f32> {
    /// The largest ratio of densities of two neighbouring cells.
    pub fn density_jump(&self, cpu: &Cpu) -> f32 {
        use rayon::prelude::*;
        let (pitch, rho) = (self.padded.pitch(), self.density.as_slice());
        let nz = self.padded.n[0];
        let rows = self.rows();
        let ratio = |a: f32, b: f32| (a / b).max(b / a);
        let line = |l: usize| {
            let here = &rho[l * pitch..l * pitch + nz];
            let mut most = here.windows(2).fold(1.0f32, |m, w| m.max(ratio(w[0], w[1])));
            for (step, inside) in [
                (1, !(l + 1).is_multiple_of(rows)),
                (rows, (l + rows) * pitch < rho.len()),
            ] {
                if inside {
                    let there = &rho[(l + step) * pitch..(l + step) * pitch + nz];
                    most = here
                        .iter()
                        .zip(there)
                        .fold(most, |m, (&a, &b)| m.max(ratio(a, b)));
                }
            }
            most
        };
        cpu.install(|| {
            (0..rho.len() / pitch)
                .into_par_iter()
                .map(line)
                .reduce(|| 1.0, f32::max)
        })
    }

    /// Looks at every cell once, on all threads: stability, speeds, symmetry, first bad cell.
    pub fn scan(&self, cpu: &Cpu) -> Result<Extremes, BadCell> {
        use rayon::prelude::*;
        let p = &self.padded;
        let (nz, nb, pitch) = (p.model.n[0], p.nb, p.pitch());
        let d = p.d().map(f64::from);
        let lines = self.density.as_slice().len() / pitch;
        let block = lines.div_ceil(8 * cpu.threads()).max(1);
        let parts = |first: usize| {
            let mut scan = Scan::new(p.ndim(), d);
            for line in first..(first + block).min(lines) {
                let cells = line * pitch + nb..line * pitch + nb + nz;
                let c: Vec<&[f32]> = self
                    .stiffness
                    .iter()
                    .map(|c| &c.as_slice()[cells.clone()])
                    .collect();
                scan.rows(&c, &self.density.as_slice()[cells], line * nz);
            }
            scan
        };
        cpu.install(|| {
            let firsts: Vec<usize> = (0..lines).step_by(block).collect();
            let scans: Vec<Scan> = firsts.into_par_iter().map(parts).collect();
            scans.into_iter().reduce(|mut a, b| {
                a.merge(&b);
                a
            })
        })
        .expect("a grid has lines")
        .finish()
    }
}

/// The `z` indices at which stress is differentiated: away from the rim of the padded grid.
pub(crate) fn live_z(padded: &Padded) -> std::ops::Range<usize> {
    RADIUS..padded.n[0] - RADIUS
}

/// Padded `[z, x, y]` of the model cell with this number in file order.
pub fn cell_of(padded: &Padded, model_cell: usize) -> [usize; 3] {
    let n = padded.model.n;
    let (z, line) = (model_cell % n[0], model_cell / n[0]);
    let mut index = [z + padded.nb, line % n[1] + padded.nb, 0];
    if padded.ndim() == 3 {
        index[2] = line / n[1] + padded.nb;
    }
    index
}
