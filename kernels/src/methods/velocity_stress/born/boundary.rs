//! Boundary saving: the wavefield is reconstructed backwards in time, so that only the boundary of a recorded step is
//! kept.
//!
//! Where no energy is lost (no attenuation, sponge, layers or free surface) a step can be undone by subtracting its
//! updates, `s <- s - m - c e` and then `v <- v - b f - b D_j s_ij`. Stresses are reconstructed in a `region`,
//! velocities in its `core`, whose derivatives reach no further than the region. All other cells, including the images
//! above a surface, take their velocities from the recorded step. The result differs from recording whole steps by
//! rounding only.

use super::Number;
use super::forward::Waves;
use super::grid::Shared;
use super::program::Discrete;
use crate::Error;
use crate::device::cpu::Buffer;
use crate::methods::velocity_stress::layout::velocity;
use std::ops::Range;

/// The part of the grid in which the wavefield is reconstructed. Axes are 0 = z, 1 = row, 2 = plane.
pub struct Core {
    /// The cells whose stresses are reconstructed.
    region: [Range<usize>; 3],
    /// The cells whose velocities are reconstructed.
    core: [Range<usize>; 3],
    /// Cells along z that have velocities, including images.
    z: Range<usize>,
    /// For each row of the grid, the index of its values in the boundary of a component.
    starts: Vec<usize>,
    /// Length of the boundary of a component.
    len: usize,
}

impl Core {
    /// The core of a program, or the reason why there is none.
    pub fn of<T: Number>(program: &Discrete<T>) -> Result<Self, &'static str> {
        if program.setup.relaxation.is_some() {
            return Err("attenuation takes energy everywhere");
        }
        let (rows, padded, half) = (&program.rows, &program.rows.padded, program.setup.half);
        let surface = program.setup.surface.is_some();
        let mut region = [rows.z.clone(), rows.rows.clone(), rows.planes.clone()];
        let mut core = region.clone();
        for &axis in rows.axes() {
            let of_model = if axis == 2 { rows.ndim() - 1 } else { axis };
            let low = padded.low[of_model];
            region[axis] = low..low + padded.model.n[of_model];
            // The images on and above a free surface are excluded.
            region[axis].start += usize::from(axis == 0 && surface);
            let inner = region[axis].start + half..region[axis].end.saturating_sub(half);
            if inner.is_empty() {
                return Err("the grid is too small to contain a core in which they could");
            }
            core[axis] = inner;
        }
        let weights = program.setup.edges.weights().into_iter().flatten();
        let mut inside = weights
            .zip(&region)
            .flat_map(|(axis, cells)| &axis[cells.clone()]);
        if inside.any(|weight| weight.f64() != 1.0) {
            return Err("the sponge reaches into the model");
        }
        let mut boundary = Self {
            z: rows.z.start - if surface { half } else { 0 }..rows.z.end,
            region,
            core,
            starts: vec![0; rows.count()],
            len: 0,
        };
        for plane in rows.planes.clone() {
            for row in rows.rows.clone() {
                boundary.starts[rows.number(plane, row)] = boundary.len;
                boundary.len += boundary.pieces(plane, row).iter().map(Range::len).sum::<usize>();
            }
        }
        Ok(boundary)
    }

    /// The cells whose stresses are reconstructed.
    pub fn region(&self) -> &[Range<usize>; 3] {
        &self.region
    }

    /// Number of velocities of a step that are kept.
    pub fn numbers(&self, ndim: usize) -> usize {
        ndim * self.len
    }

    /// The cells of a row outside the core: before it and after it.
    fn pieces(&self, plane: usize, row: usize) -> [Range<usize>; 2] {
        let z = &self.z;
        match self.core[1].contains(&row) && self.core[2].contains(&plane) {
            true => [z.start..self.core[0].start, self.core[0].end..z.end],
            false => [z.clone(), z.end..z.end],
        }
    }

    /// Saves the boundary of the current step of a wavefield.
    pub fn keep<T: Number>(&self, program: &Discrete<T>, waves: &Waves<T>, to: &mut [T]) {
        let rows = &program.rows;
        let to = Shared::new(to);
        rows.each(&program.setup.cpu, 0, |_, plane, row| {
            for component in 0..program.ndim() {
                let from = &waves.field(component)[rows.at(plane, row)..];
                let mut at = component * self.len + self.starts[rows.number(plane, row)];
                for z in self.pieces(plane, row) {
                    // SAFETY: every row of the boundary is accessed by one call only.
                    let to = unsafe { to.row(at, z.len()) };
                    to.copy_from_slice(&from[z.clone()]);
                    at += z.len();
                }
            }
        });
    }

    /// Fills the cells outside the core with the saved velocities of a step.
    pub fn fill<T: Number>(&self, program: &Discrete<T>, from: &[T], to: &mut [T]) {
        let rows = &program.rows;
        let to = Shared::new(to);
        rows.each(&program.setup.cpu, 0, |_, plane, row| {
            for component in 0..program.ndim() {
                let mut at = component * self.len + self.starts[rows.number(plane, row)];
                for z in self.pieces(plane, row) {
                    // SAFETY: every row of the fields is accessed by one call only.
                    let to = unsafe { to.row(component * rows.len + rows.at(plane, row) + z.start, z.len()) };
                    to.copy_from_slice(&from[at..][..z.len()]);
                    at += z.len();
                }
            }
        });
    }

    pub fn largest<T: Number>(&self, program: &Discrete<T>, velocities: &[T]) -> f64 {
        let rows = &program.rows;
        let mut most = 0.0f64;
        for field in velocities.chunks_exact(rows.len) {
            for plane in self.core[2].clone() {
                for row in self.core[1].clone() {
                    let line = &field[rows.at(plane, row)..][self.core[0].clone()];
                    most = line.iter().map(|x| x.f64().abs()).fold(most, f64::max);
                }
            }
        }
        most
    }
}

/// A wavefield that is reconstructed backwards.
pub struct Backwards<T: Number> {
    /// `[stress][plane][row][z]`
    pub stress: Buffer<T>,
    /// Velocities of a step and of the previous one, `[component][plane][row][z]`, which change roles at every step.
    velocity: [Buffer<T>; 2],
    /// The index of the velocities of the current step.
    now: usize,
}

impl<T: Number> Backwards<T> {
    /// Allocates the wavefield of a program.
    ///
    /// # Errors
    /// Returns an error if memory is insufficient.
    pub fn new(program: &Discrete<T>) -> Result<Self, Error> {
        let (ndim, len) = (program.ndim(), program.rows.len);
        Ok(Self {
            stress: Buffer::zeroed(program.stresses() * len)?,
            velocity: [Buffer::zeroed(ndim * len)?, Buffer::zeroed(ndim * len)?],
            now: 0,
        })
    }

    pub fn bytes(program: &Discrete<T>) -> usize {
        (program.stresses() + 2 * program.ndim()) * program.rows.len * size_of::<T>()
    }

    /// Starts from the current state of a forward wavefield.
    pub fn begin(&mut self, program: &Discrete<T>, waves: &Waves<T>) {
        let len = program.rows.len;
        let cpu = &program.setup.cpu;
        let copy = |to: &mut Buffer<T>, first: usize| {
            for (k, to) in to.as_mut_slice().chunks_exact_mut(len).enumerate() {
                cpu.copy(
                    bytemuck::cast_slice(waves.field(first + k)),
                    bytemuck::cast_slice_mut(to),
                );
            }
        };
        copy(&mut self.stress, program.ndim());
        copy(&mut self.velocity[self.now], 0);
    }

    /// Velocities of the current step.
    pub fn velocity(&self) -> &[T] {
        self.velocity[self.now].as_slice()
    }

    /// Mutable velocities of the current step, and the memory for the velocities of the previous step.
    pub fn velocities(&mut self) -> [&mut [T]; 2] {
        let [one, other] = self.velocity.each_mut().map(Buffer::as_mut_slice);
        if self.now == 0 { [one, other] } else { [other, one] }
    }

    /// Subtracts the contributions of sources to the stresses in step `it`.
    pub fn take_moments(&mut self, program: &Discrete<T>, it: usize) {
        take_sources(program, (1, it), self.stress.as_mut_slice());
    }

    /// Goes to the previous step, and subtracts the contributions of sources to the velocities in step `it`.
    pub fn turn(&mut self, program: &Discrete<T>, it: usize) {
        self.now = 1 - self.now;
        take_sources(program, (0, it), self.velocity[self.now].as_mut_slice());
    }
}

/// Subtracts the contributions of sources to fields in a stage of step `it`.
fn take_sources<T: Number>(program: &Discrete<T>, (stage, it): (usize, usize), fields: &mut [T]) {
    let (rows, ndim) = (&program.rows, program.ndim());
    debug_assert_eq!(velocity(ndim, 0), 0);
    for plane in rows.planes.clone() {
        let add = |field: usize, row: usize, z: usize, value: T| {
            let at = (field - stage * ndim) * rows.len + rows.at(plane, row) + z;
            fields[at] = fields[at] - value;
        };
        program.setup.spots.for_rows((stage, plane, it), &rows.rows, add);
    }
}
