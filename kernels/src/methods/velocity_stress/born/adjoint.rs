//! The adjoint fields of a run on processors and the sweeps that take them back through a step.
//!
//! Receivers and the surface act on single cells. What they give to the adjoints of stresses is added before the first sweep of a step,
//! and what they give to those of velocities behind the second one, so that both sweeps can pass over the grid together.

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

/// What a pass over the grid does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// It ends the step behind as far as stresses, before the sponge.
    End,
    /// The first sweep of a step.
    Strains,
    /// The second one.
    Forces,
    /// Both, the second as many planes behind the first as derivatives reach.
    Step,
}

/// What a sweep uses beside the adjoint fields; null pointers stand for nothing.
#[derive(Clone)]
pub struct Beside<T> {
    /// Velocities of the step, `[component][plane][row][z]`.
    pub velocity: *const T,
    /// Stresses of waves that run backwards, `[stress][plane][row][z]`.
    pub waves: *mut T,
    /// Their velocities of the step before.
    pub before: *mut T,
    /// Where they run: cells along z, rows, planes.
    pub region: [Range<usize>; 3],
}

impl<T> Beside<T> {
    /// Nothing.
    pub const NOTHING: Self = Self {
        velocity: std::ptr::null(),
        waves: std::ptr::null_mut(),
        before: std::ptr::null_mut(),
        region: [0..0, 0..0, 0..0],
    };
}

// SAFETY: sweeps use the pointers, each number in the thread that has its row.
unsafe impl<T: Send> Send for Beside<T> {}
// SAFETY: the same.
unsafe impl<T: Sync> Sync for Beside<T> {}

/// The gradient by the coefficients of the discrete program as it is summed up.
pub struct Gradient<T: Real> {
    /// The sums: that by the buoyancy is multiplied by the buoyancy.
    pub sums: Changes<T>,
    /// Whether all normal stiffnesses share one sum, and all couplings.
    pub grouped: bool,
}

/// Adjoint fields, `[component][plane][row][z]` as the fields of a run, without ghosts.
pub struct Adjoint<T: Real> {
    pub setup: Arc<Setup<T>>,
    /// `b l` for the adjoint `l` of a velocity: the adjoint of a force.
    pub force: Buffer<T>,
    /// Adjoints of stresses.
    pub stress: Buffer<T>,
    /// Adjoints of rates of strain.
    pub strain: Buffer<T>,
    pub layers: AdjointLayers<T>,
    /// Adjoints of the memory of attenuation.
    pub anelastic: Option<Buffer<T>>,
    /// Adjoints of what runs at the receivers.
    pub kept: Vec<T>,
    /// Whether a step behind has yet to be ended.
    pub pending: bool,
    pub gradient: Option<Gradient<T>>,
    pub tiling: Tiling,
    /// What the next sweep uses beside the fields.
    pub beside: Beside<T>,
}

/// A cell: plane, row, z.
pub type Cell = [usize; 3];

impl<T: Real> Adjoint<T> {
    /// Fields at rest.
    ///
    /// # Errors
    /// Too little memory.
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

    /// Sets all fields to rest, for a shot over the same medium.
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

    /// Numbers of a field.
    pub fn len(&self) -> usize {
        let p = &self.setup.padded;
        p.planes() * p.plane_len()
    }

    /// Where a cell stands in a field.
    pub fn at(&self, [plane, row, z]: Cell) -> usize {
        let p = &self.setup.padded;
        plane * p.plane_len() + row * p.pitch() + z
    }
}

impl<T: Number> Adjoint<T> {
    /// A derivative along an axis, half a cell ahead or behind; `value` gives the number so many places further in memory.
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

    /// What the sponge leaves of a cell.
    fn damping(&self, [plane, row, z]: Cell) -> T {
        match self.setup.edges.weights() {
            Some([along, rows, planes]) => along[z] * (rows[row] * planes[plane]),
            None => T::of(1.0),
        }
    }

    /// The memory of a cell across an axis, and the factors there.
    fn layer(&self, axis: usize, half: bool, cell: Cell) -> Option<(usize, [T; 3])> {
        let at = self.layers.cell(axis, cell)?;
        let factors = self.setup.edges.factors(axis)?;
        let [plane, row, z] = cell;
        Some((at, factors_on(factors, half, [z, row, plane][axis])))
    }

    /// A number of a layer.
    fn kept(&mut self, axis: usize, at: usize, part: usize) -> &mut T {
        let at = at + part * self.layers.component(axis);
        self.layers.number(axis, at)
    }

    /// Adds to the gradient by the buoyancy what comes to the adjoint of a velocity.
    fn add_to_buoyancy(&mut self, number: usize, x: T) {
        if let Some(gradient) = &mut self.gradient {
            // SAFETY: the velocities of the step are those of all cells.
            gradient.sums.buoyancy[number] += x * unsafe { *self.beside.velocity.add(number) };
        }
    }

    /// Adds to the adjoint of the velocity along an axis behind the second sweep of a step, with all that follows from it there.
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
