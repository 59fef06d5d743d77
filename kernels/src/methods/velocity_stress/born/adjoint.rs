//! The adjoint fields of a run on processors and the sweeps that propagate them back through a step.
//!
//! Receivers and the surface act on single cells. Their contributions to the adjoint stresses are added before the
//! first sweep of a step, and those to the adjoint velocities after the second one, so that both sweeps can pass over
//! the grid together.

use super::Number;
use super::adjoint_layers::{AdjointLayers, factors_on};
use super::adjoint_stretch::kept;
use super::program::Changes;
use crate::Error;
use crate::device::cpu::Buffer;
use crate::device::simd::Real;
use crate::methods::velocity_stress::Setup;
use crate::methods::velocity_stress::cpu;
use crate::methods::velocity_stress::layout::{fields, velocity};
use crate::methods::velocity_stress::rows::Slope;
use crate::methods::velocity_stress::tiling::Tiling;
use std::ops::Range;
use std::sync::Arc;

/// The work of a pass over the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Completes the adjoint stresses of the following time step, without the sponge, and adds them to a PP image.
    End,
    /// The first sweep of a step.
    Strains,
    /// The second sweep of a step.
    Forces,
    /// Both sweeps, the second as many planes behind the first as derivatives reach.
    Step,
}

/// The data of a sweep in addition to the adjoint fields. A null pointer disables its item.
#[derive(Clone)]
pub struct Beside<T> {
    /// Velocities of the step, `[component][plane][row][z]`.
    pub velocity: *const T,
    /// For a PP image: the adjoint pressure summed over the steps, and the image, `[plane][row][z]`.
    pub pressure_image: [*mut T; 2],
    /// Stresses of the reconstructed wavefield, `[stress][plane][row][z]`.
    pub waves: *mut T,
    /// Velocities of the previous step of the reconstructed wavefield.
    pub before: *mut T,
    /// The region of the reconstruction: cells along z, rows, planes.
    pub region: [Range<usize>; 3],
}

impl<T> Beside<T> {
    pub const NOTHING: Self = Self {
        velocity: std::ptr::null(),
        pressure_image: [std::ptr::null_mut(); 2],
        waves: std::ptr::null_mut(),
        before: std::ptr::null_mut(),
        region: [0..0, 0..0, 0..0],
    };
}

// SAFETY: only sweeps use the pointers, each value in the thread that owns its row.
unsafe impl<T: Send> Send for Beside<T> {}
// SAFETY: the same.
unsafe impl<T: Sync> Sync for Beside<T> {}

/// The gradient with respect to the coefficients of the discretised equations, while it is accumulated.
pub struct Gradient<T: Real> {
    /// The sums; the derivative with respect to the buoyancy is multiplied by the buoyancy.
    pub sums: Changes<T>,
    /// Whether all normal stiffnesses share one sum, and all couplings another.
    pub grouped: bool,
}

/// Adjoint fields, `[component][plane][row][z]` like the fields of a run, without ghosts.
pub struct Adjoint<T: Real> {
    pub setup: Arc<Setup<T>>,
    /// The adjoint force `b l`, where `l` is the adjoint of a velocity.
    pub force: Buffer<T>,
    /// Adjoint stresses.
    pub stress: Buffer<T>,
    /// Adjoint strain rates.
    pub strain: Buffer<T>,
    pub layers: AdjointLayers<T>,
    /// Adjoint memory variables of attenuation.
    pub anelastic: Option<Buffer<T>>,
    /// Adjoints of the running quantities at the receivers.
    pub kept: Vec<T>,
    /// Whether the following time step remains to be completed.
    pub pending: bool,
    pub gradient: Option<Gradient<T>>,
    pub tiling: Tiling,
    /// Additional data for the next sweep.
    pub beside: Beside<T>,
}

/// A cell: plane, row, z.
pub type Cell = [usize; 3];

impl<T: Real> Adjoint<T> {
    /// Fields at rest.
    ///
    /// # Errors
    /// Returns an error if memory is insufficient.
    pub fn new(setup: Arc<Setup<T>>) -> Result<Self, Error> {
        let (p, ndim) = (&setup.padded, setup.padded.ndim());
        let len = p.planes() * p.plane_len();
        let stresses = fields(ndim) - ndim;
        let lossy = setup.relaxation.is_some();
        let anelastic = setup.relaxation.as_ref().map(|r| r.memory(p, p.planes()));
        Ok(Self {
            force: Buffer::zeroed(ndim * len)?,
            stress: Buffer::zeroed(stresses * len)?,
            strain: Buffer::zeroed(stresses * len)?,
            layers: AdjointLayers::new(p, &setup.edges, setup.half, lossy)?,
            anelastic: anelastic.transpose()?,
            kept: vec![
                T::of(0.0);
                if setup.quantity.runs() {
                    setup.receivers.values()
                } else {
                    0
                }
            ],
            pending: false,
            gradient: None,
            tiling: Tiling::new(
                p,
                cpu::rows(p).len(),
                (12 * setup.half + 30, size_of::<T>()),
                &setup.cpu,
            ),
            beside: Beside::NOTHING,
            setup,
        })
    }

    /// Resets all fields to rest, for another shot over the same medium.
    pub fn restart(&mut self, setup: Arc<Setup<T>>) {
        let zero = T::of(0.0);
        let kept = if setup.quantity.runs() {
            setup.receivers.values()
        } else {
            0
        };
        let buffers = [&mut self.force, &mut self.stress, &mut self.strain].into_iter();
        buffers
            .chain(&mut self.anelastic)
            .for_each(|buffer| buffer.as_mut_slice().fill(zero));
        self.layers.clear();
        self.kept = vec![zero; kept];
        (self.pending, self.gradient, self.setup) = (false, None, setup);
    }

    /// Length of a field.
    pub fn len(&self) -> usize {
        let p = &self.setup.padded;
        p.planes() * p.plane_len()
    }

    /// Index of a cell in a field.
    pub fn at(&self, [plane, row, z]: Cell) -> usize {
        let p = &self.setup.padded;
        plane * p.plane_len() + row * p.pitch() + z
    }
}

impl<T: Number> Adjoint<T> {
    /// A derivative along an axis, half a cell ahead or behind; `value(offset)` gives the field at an offset in memory.
    pub fn slope(&self, along: usize, half: bool, value: impl Fn(isize) -> T) -> T {
        let s = &self.setup;
        let stride = [1, s.padded.pitch(), s.padded.plane_len()][along] as isize;
        let first = isize::from(half);
        let mut sum = T::of(0.0);
        for m in (0..s.half).rev() {
            let pair = value((m as isize + first) * stride) - value((first - m as isize - 1) * stride);
            sum += s.weights[along][m] * pair;
        }
        sum
    }

    /// The factor of the sponge at a cell.
    fn damping(&self, [plane, row, z]: Cell) -> T {
        match self.setup.edges.weights() {
            Some([along, rows, planes]) => along[z] * (rows[row] * planes[plane]),
            None => T::of(1.0),
        }
    }

    /// The index of a cell in the memory of the layers across an axis, and the factors there.
    fn layer(&self, axis: usize, half: bool, cell: Cell) -> Option<(usize, [T; 3])> {
        let at = self.layers.cell(axis, cell)?;
        let factors = self.setup.edges.factors(axis)?;
        let [plane, row, z] = cell;
        Some((at, factors_on(factors, half, [z, row, plane][axis])))
    }

    /// An entry of the memory of a layer.
    fn kept(&mut self, axis: usize, at: usize, part: usize) -> &mut T {
        let at = at + part * self.layers.component(axis);
        self.layers.number(axis, at)
    }

    /// Adds the contribution `x` to the adjoint of a velocity to the gradient with respect to the buoyancy.
    fn add_to_buoyancy(&mut self, number: usize, x: T) {
        if let Some(gradient) = &mut self.gradient {
            // SAFETY: the velocities of the step cover all cells.
            gradient.sums.buoyancy[number] += x * unsafe { *self.beside.velocity.add(number) };
        }
    }

    /// Adds to the adjoint of the velocity along an axis after the second sweep of a step, and updates the adjoint
    /// force, the layers and the gradient accordingly.
    pub fn add_to_force(&mut self, axis: usize, cell: Cell, x: T) {
        let ndim = self.setup.padded.ndim();
        let (component, at) = (velocity(ndim, axis), self.at(cell));
        let number = component * self.len() + at;
        self.add_to_buoyancy(number, x);
        let f = self.damping(cell) * (self.setup.medium.buoyancy(component)[at] * x);
        self.force.as_mut_slice()[number] += f;
        let axes: &[usize] = if ndim == 3 { &[0, 1, 2] } else { &[0, 2] };
        for &along in axes {
            let slope = Slope::of_stress(axis, along);
            if let Some((memory, [inverse, a, b])) = self.layer(along, slope.half, cell) {
                *self.kept(along, memory, kept::FORCES + component) += b * f;
                let part = kept::stretched_forces(ndim) + component;
                *self.kept(along, memory, part) += inverse * f + a * f - f;
            }
        }
    }
}
