//! The medium on the grid: arrays of stiffness and density, padded along `z` only.
//!
//! Along the other axes the frame repeats the edge of the model, so that clamping a row or plane index to the model
//! replaces padding. The result equals the padding of the original programs (`z` faces, then `x`, then `y`) but needs
//! no memory.

use crate::device::simd::Real;
use crate::grid::Padded;

pub mod attenuation;
pub mod destination;
pub mod effective;
pub mod eigen;
pub mod periods;
pub mod rotate;
pub mod stiffness;
pub mod thomsen;
pub mod triclinic;
pub mod voigt;
pub mod window;

pub use destination::{Destination, Discard, Filler};
pub use rotate::{Lost, Voigt};
pub use stiffness::{Fault, Stiffness, Symmetry};
pub use thomsen::{Speeds, Thomsen, Tsvankin, Unreal};
pub use voigt::Coefficients;

use crate::Error;
use crate::device::cpu::{Buffer, Cpu};
use crate::grid::stencil::RADIUS;
use std::ops::Range;

/// Names of the stiffness arrays of an orthorhombic model of this dimension, in memory order.
pub fn plane_names(ndim: usize) -> &'static [&'static str] {
    Coefficients::Orthorhombic.table(ndim).names
}

/// Stiffness (pressure units) and density on the grid, filled line by line while the files are read.
///
/// Every array is `[model plane][model row][padded z]`, see [`crate::grid`].
pub struct Medium<T> {
    padded: Padded,
    /// The model planes that this medium holds.
    planes: Range<usize>,
    /// Offset of each padded row in a plane of the arrays.
    lines: Vec<usize>,
    /// Stiffness in memory order ([`Coefficients::table`]).
    stiffness: Vec<Buffer<T>>,
    /// Density, which `buoyancy` replaces by `dt*dt/rho`.
    density: Buffer<T>,
}

/// Smallest number of values that a thread copies at once.
const PIECE: usize = 1 << 15;

/// An array of the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Property {
    /// A stiffness coefficient, by its index in memory order ([`voigt::slot`]).
    Stiffness(usize),
    /// The array of the density.
    Density,
}

impl<T: Real> Medium<T> {
    /// Allocates an orthorhombic medium for this grid; all values are zero.
    pub fn new(padded: &Padded) -> Result<Self, Error> {
        Self::part(padded, 0..padded.model.n[padded.ndim() - 1])
    }

    /// Allocates only the model planes `planes` of this grid; [`needed`] returns the model planes that a range of
    /// padded planes needs.
    pub fn part(padded: &Padded, planes: Range<usize>) -> Result<Self, Error> {
        Self::holding(padded, planes, Coefficients::Orthorhombic)
    }

    /// Like [`Medium::part`], with memory for these coefficients.
    pub fn holding(padded: &Padded, planes: Range<usize>, kind: Coefficients) -> Result<Self, Error> {
        padded.model.check()?;
        let len = planes.len() * lines_of_plane(padded) * padded.pitch();
        let stiffness = (0..kind.count(padded.ndim()))
            .map(|_| Buffer::zeroed(len))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            padded: padded.clone(),
            planes,
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

    /// The coefficients that this medium contains.
    pub fn coefficients(&self) -> Coefficients {
        let kind = Coefficients::of_count(self.padded.ndim(), self.stiffness.len());
        kind.unwrap_or(Coefficients::Orthorhombic)
    }

    /// Frees the memory of coefficients that are zero in every medium of this class, apart from rounding errors.
    pub fn narrow(&mut self, class: Symmetry) {
        self.stiffness
            .truncate(class.coefficients().count(self.padded.ndim()));
    }

    /// Bytes of memory that this medium holds.
    pub fn bytes(&self) -> usize {
        self.stiffness.iter().map(Buffer::bytes).sum::<usize>() + self.density.bytes()
    }

    /// The model planes that this medium holds.
    pub fn planes(&self) -> Range<usize> {
        self.planes.clone()
    }

    /// Copies whole `z` lines in file order, the first being line `line` (`x + nx*y`) of the model, and extends their
    /// end values into the frame. `values` must hold a multiple of `nz` numbers, and the lines must belong to planes
    /// that this medium contains.
    pub fn fill(&mut self, quantity: Property, line: usize, values: &[T]) {
        let line = line - self.first_line();
        let array = match quantity {
            Property::Stiffness(k) => self.stiffness[k].as_mut_slice(),
            Property::Density => self.density.as_mut_slice(),
        };
        let pitch = self.padded.pitch();
        let lines = values.len() / self.padded.model.n[0];
        framed(&self.padded, values, &mut array[line * pitch..][..lines * pitch]);
    }

    /// Like [`Medium::fill`], for all arrays and on all threads. In `values` the lines of the arrays follow each
    /// other, stiffness in memory order, then density.
    pub(crate) fn fill_all(&mut self, cpu: &Cpu, line: usize, values: &[T]) {
        use rayon::prelude::*;
        let line = line - self.first_line();
        let (padded, pitch, nz) = (&self.padded, self.padded.pitch(), self.padded.model.n[0]);
        let len = values.len() / (self.stiffness.len() + 1);
        let (rows, step) = (len / nz * pitch, (PIECE / nz).max(1));
        let arrays: Vec<_> = self.stiffness.iter_mut().chain([&mut self.density]).collect();
        let pieces = arrays.into_par_iter().zip(values.par_chunks(len));
        cpu.install(|| {
            pieces.for_each(|(array, values)| {
                let to = &mut array.as_mut_slice()[line * pitch..][..rows];
                to.par_chunks_mut(step * pitch)
                    .zip(values.par_chunks(step * nz))
                    .for_each(|(to, from)| framed(padded, from, to));
            });
        });
    }

    /// Copies lines of all arrays without the frame into `values`, in the order of [`Medium::fill_all`].
    pub(crate) fn copy_lines(&self, line: usize, values: &mut [T]) {
        let (nz, pitch, low) = (self.padded.model.n[0], self.padded.pitch(), self.padded.low[0]);
        let len = values.len() / (self.stiffness.len() + 1);
        let arrays = self.stiffness.iter().chain([&self.density]);
        for (to, array) in values.chunks_mut(len).zip(arrays) {
            for (k, to) in to.chunks_mut(nz).enumerate() {
                let from = (line - self.first_line() + k) * pitch + low;
                to.copy_from_slice(&array.as_slice()[from..][..nz]);
            }
        }
    }

    /// Stiffness arrays in memory order.
    pub fn stiffness(&self) -> impl Iterator<Item = &[T]> {
        self.stiffness.iter().map(Buffer::as_slice)
    }

    /// One stiffness array, by its index in memory order.
    pub fn stiffness_array(&self, place: usize) -> &[T] {
        self.stiffness[place].as_slice()
    }

    /// The density array.
    pub fn density(&self) -> &[T] {
        self.density.as_slice()
    }

    /// The density array and one stiffness array, given by its index in memory order.
    pub(crate) fn into_density_and(mut self, place: usize) -> [Buffer<T>; 2] {
        [self.density, self.stiffness.swap_remove(place)]
    }

    /// Offset of each padded row in a plane of the arrays.
    pub(crate) fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// Offset, in the arrays, of the row that contains the medium of padded `row` in padded `plane`.
    pub fn row_start(&self, plane: usize, row: usize) -> usize {
        let p = &self.padded;
        ((p.model_plane(plane) - self.planes.start) * lines_of_plane(p) + p.model_row(row)) * p.pitch()
    }

    /// Number of the first model line in the arrays.
    fn first_line(&self) -> usize {
        self.planes.start * lines_of_plane(&self.padded)
    }

    /// Density and stiffness at padded `[z, x, y]` for messages; `density` converts a value of the density array to
    /// density.
    pub fn describe(&self, index: [usize; 3], density: impl Fn(f64) -> f64) -> String {
        let (plane, row) = if self.padded.ndim() == 3 {
            (index[2], index[1])
        } else {
            (index[1], 0)
        };
        let inside = live_z(&self.padded);
        let at = self.row_start(plane, row) + index[0].clamp(inside.start, inside.end - 1);
        let table = Coefficients::All.table(self.padded.ndim());
        let planes = table.names.iter().zip(&self.stiffness);
        let list: Vec<String> = planes
            .map(|(name, c)| format!("{name}={}", c.as_slice()[at].f64() as f32))
            .collect();
        let rho = density(self.density.as_slice()[at].f64()) as f32;
        format!("medium there: density={rho} {}", list.join(" "))
    }

    /// Replaces the density by the factor `dt*dt/rho` of the time step (eq. 6), in the arithmetic of `T`; zero in the
    /// rim along `z`, where no force acts.
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

/// Number of lines of a plane of the model: `nx` in 3-D, 1 in 2-D.
pub fn lines_of_plane(padded: &Padded) -> usize {
    if padded.ndim() == 3 { padded.model.n[1] } else { 1 }
}

/// Model planes that the padded planes `own` need: stress is computed up to four planes beyond them.
pub fn needed(padded: &Padded, own: &Range<usize>) -> Range<usize> {
    let low = padded.model_plane(own.start.saturating_sub(RADIUS));
    let high = padded.model_plane((own.end + RADIUS).min(padded.planes()) - 1);
    low..high + 1
}

/// Copies lines of the model into padded rows and extends their end values into the frame.
pub(crate) fn framed<T: Real>(padded: &Padded, lines: &[T], rows: &mut [T]) {
    let (nz, low) = (padded.model.n[0], padded.low[0]);
    assert_eq!(lines.len() % nz, 0, "whole lines");
    for (row, from) in rows.chunks_mut(padded.pitch()).zip(lines.chunks(nz)) {
        row[..low].fill(from[0]);
        row[low..low + nz].copy_from_slice(from);
        row[low + nz..].fill(from[nz - 1]);
    }
}

/// The `z` indices at which stress is differentiated: all but the rim, the `RADIUS` outermost cells of the padded grid.
pub(crate) fn live_z(padded: &Padded) -> Range<usize> {
    RADIUS..padded.n[0] - RADIUS
}

/// Padded indices `[z, x, y]` of the model cell with this index in file order.
pub fn cell_of(padded: &Padded, model_cell: usize) -> [usize; 3] {
    let n = padded.model.n;
    let (z, line) = (model_cell % n[0], model_cell / n[0]);
    let mut index = [z + padded.low[0], line % n[1] + padded.low[1], 0];
    if padded.ndim() == 3 {
        index[2] = line / n[1] + padded.low[2];
    }
    index
}
