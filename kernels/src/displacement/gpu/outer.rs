//! What neighbours on other ranks see of a slab.

use super::arguments::component_len;
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Queue};
use crate::device::simd::Real;
use crate::domain::partition::GHOST;
use crate::domain::sides::{Bordering, Open, Sides};
use std::sync::Arc;

impl<T: Real, A: Accelerator> Bordering for DeviceSlab<T, A> {
    type Device = A;

    fn device(&self) -> &Arc<A> {
        &self.accelerator
    }

    fn pieces(&self, _stage: usize) -> usize {
        self.setup.padded.ndim()
    }

    fn piece_bytes(&self) -> usize {
        self.ghost_bytes()
    }

    fn edge(&self, _stage: usize, upper: bool, piece: usize) -> u64 {
        self.ghosts_at(piece, self.layout.edge_plane(upper, GHOST))
    }

    fn ghost(&self, _stage: usize, upper: bool, piece: usize) -> u64 {
        self.ghosts_at(piece, self.layout.ghost_plane(upper, GHOST))
    }

    fn sides(&self) -> &Sides<A> {
        &self.outer
    }

    fn sides_mut(&mut self) -> &mut Sides<A> {
        &mut self.outer
    }

    /// The ghosts of both time levels: the one that a step makes was read in the step before, and recorded before that.
    fn open(&self, upper: bool) -> Option<Open<'_, A::Memory>> {
        let p = &self.setup.padded;
        let first = if upper { GHOST + self.layout.own.len() } else { 0 };
        let place = |level: usize, component: usize| {
            let number = component * component_len(p, &self.layout) + first * p.plane_len();
            (level, (number * size_of::<T>()) as u64)
        };
        let components = |level: usize| (0..p.ndim()).map(move |c| place(level, c));
        Some(Open {
            memories: self.levels.iter().collect(),
            places: (0..2).flat_map(components).collect(),
        })
    }

    fn open_place(&self, _stage: usize, piece: usize) -> usize {
        (1 - self.now) * self.setup.padded.ndim() + piece
    }

    fn await_edges(&self) -> Result<(), Error> {
        self.accelerator.wait(Queue::Edges, &self.marks.first)
    }

    fn has_edge_in_main(&self) -> bool {
        self.has_two_edges()
    }

    fn goes_by_host(&mut self) {
        self.hide_more();
    }
}
