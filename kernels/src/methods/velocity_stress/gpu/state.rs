//! The state of a slab on a device, in the shapes of [`crate::methods::velocity_stress::state`].

use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::device::simd::Real;
use crate::methods::velocity_stress::layout::fields;
use crate::methods::velocity_stress::state::{Kind, Shape};
use crate::time_loop::state::{State, StateArray};
use std::ops::Range;

/// Layout of the memory variables of a row in the frame along z, in the state and on the device, which may hold fewer.
struct Rows {
    width: usize,
    here: usize,
    /// Number of values at the low end, which come first in both.
    low: usize,
    /// Index in the state of the values at the high end.
    high: usize,
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    fn shape(&self) -> Shape<'_, T> {
        let s = &self.setup;
        Shape {
            padded: &s.padded,
            edges: &s.edges,
            receivers: &self.shots[0].receivers,
            quantity: s.quantity,
            mechanisms: s.patterns[0].len(),
            peaks: s.peaks,
        }
    }

    /// Address of consecutive blocks of one component.
    fn blocks_at(&self, kind: Kind, first: usize) -> u64 {
        let (component, plane) = self.shape().place(kind, first);
        let (p, own) = (&self.setup.padded, &self.layout.own);
        let size = size_of::<T>() as u64;
        match kind {
            Kind::Fields => self.ghosts_at(component, plane as isize),
            Kind::Layers { stage, axis } => {
                let from = self.frame.plane(axis, own.start, plane, p);
                let layer = self.frame.args(stage).layer[axis];
                layer.psi + (component as u64 * layer.component as u64 + from as u64) * size
            }
            Kind::Relaxing => {
                let stresses = fields(p.ndim()) - p.ndim();
                let (mechanism, stress) = (component / stresses, component % stresses);
                let number = mechanism as u64 * self.loss.mechanism as u64
                    + stress as u64 * self.loss.stress as u64
                    + ((plane - own.start) * p.plane_len()) as u64;
                self.loss.memory + number * size
            }
            Kind::Kept(k) => self.records.kept_at(k, first, size as usize),
            Kind::Peaks => self.records.peaks_at() + ((plane - own.start) * p.rows()) as u64 * size,
        }
    }

    /// The layouts of the rows of layers across z, in the state and on the device.
    fn rows_of_layers(&self) -> Rows {
        let [_, low, high, pitch] = self.setup.edges.z();
        let [begin, end] = self.frame.z();
        Rows {
            width: low + pitch - high,
            here: begin + pitch - end,
            low: begin,
            high: if end < low { end } else { end - high + low },
        }
    }
}

impl Rows {
    /// Expands the values on the device to the arrays of the state; values that the device does not store are zero.
    fn widen<T: Real>(&self, here: &[T], out: &mut [T]) {
        out.fill(T::of(0.0));
        for (from, to) in here.chunks(self.here).zip(out.chunks_mut(self.width)) {
            to[..self.low].copy_from_slice(&from[..self.low]);
            to[self.high..].copy_from_slice(&from[self.low..]);
        }
    }

    /// Extracts the values for the device from the arrays of the state.
    fn narrow<T: Real>(&self, state: &[T], here: &mut [T]) {
        for (from, to) in state.chunks(self.width).zip(here.chunks_mut(self.here)) {
            to[..self.low].copy_from_slice(&from[..self.low]);
            to[self.low..].copy_from_slice(&from[self.high..]);
        }
    }
}

impl<T: Real, A: Accelerator> State for DeviceSlab<T, A> {
    fn arrays(&self) -> Vec<StateArray> {
        self.shape()
            .arrays()
            .into_iter()
            .map(|(_, array)| array)
            .collect()
    }

    fn owned(&self, array: usize) -> Vec<Range<usize>> {
        let shape = self.shape();
        shape.owned(shape.arrays()[array].0, &self.layout.own)
    }

    fn needed(&self, array: usize) -> Vec<Range<usize>> {
        let shape = self.shape();
        shape.needed(shape.arrays()[array].0, &self.layout.own)
    }

    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let kind = self.shape().arrays()[array].0;
        let from = self.blocks_at(kind, blocks.start);
        let a = self.accelerator.clone();
        if let Kind::Layers { axis: 0, .. } = kind {
            let rows = self.rows_of_layers();
            let mut here = vec![T::of(0.0); blocks.len() * self.setup.padded.rows() * rows.here];
            // SAFETY: the layers of one component on the planes that the slab owns are consecutive.
            unsafe {
                self.staging
                    .download(&a, from, bytemuck::cast_slice_mut(&mut here))?
            };
            let mut wide = vec![T::of(0.0); out.len() / size_of::<T>()];
            rows.widen(&here, &mut wide);
            out.copy_from_slice(bytemuck::cast_slice(&wide));
            return Ok(());
        }
        // SAFETY: the blocks of one component that the slab owns are consecutive.
        unsafe { self.staging.download(&a, from, out) }
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let kind = self.shape().arrays()[array].0;
        let to = self.blocks_at(kind, blocks.start);
        let a = self.accelerator.clone();
        if let Kind::Layers { axis: 0, .. } = kind {
            let rows = self.rows_of_layers();
            let mut here = vec![T::of(0.0); blocks.len() * self.setup.padded.rows() * rows.here];
            rows.narrow(&bytemuck::pod_collect_to_vec::<u8, T>(bytes), &mut here);
            // SAFETY: as in `save`.
            return unsafe { self.staging.upload(&a, bytemuck::cast_slice(&here), to) };
        }
        // SAFETY: blocks of one component, of the slab or its ghosts, are consecutive.
        unsafe { self.staging.upload(&a, bytes, to) }
    }
}
