//! What neighbours wait for: the order of edges, copies and interior in the streams of a device.
//!
//! At the start of a step the upper edge stands in the stream of the edges and the lower one in the main stream, the
//! interior behind it; with one neighbour, the edge and the interior. The device fills what one launch leaves free with
//! blocks of the next ([`super::parts`]), the upper edge first.

use super::arguments::component_len;
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Stream};
use crate::device::simd::Real;
use crate::parallel::halo::Peer;
use crate::parallel::slabs::GHOST;

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// The lower edge stands in the main stream.
    pub(super) fn has_two_edges(&self) -> bool {
        !self.layout.low_edge.is_empty() && !self.layout.high_edge.is_empty()
    }

    /// The planes `first..first+8` of a component of the level that is being made.
    pub(super) fn ghosts_at(&self, component: usize, first: isize) -> u64 {
        let p = &self.setup.padded;
        let local = (first + GHOST as isize - self.layout.own.start as isize) as usize;
        let number = component * component_len(p, &self.layout) + local * p.plane_len();
        self.levels[1 - self.now].address() + (number * size_of::<T>()) as u64
    }

    /// Bytes of one component of what travels.
    pub(super) fn ghost_bytes(&self) -> usize {
        GHOST * self.setup.padded.plane_len() * size_of::<T>()
    }

    /// What is recorded may lie in ghosts: their copies stand in the stream of the edges, behind the neighbours' events.
    pub(super) fn await_neighbours(&mut self) -> Result<(), Error> {
        if !self.layout.is_cut() {
            return Ok(());
        }
        self.accelerator.record(Stream::Edges, &self.events.edges)?;
        self.accelerator.wait(Stream::Main, &self.events.edges)
    }

    /// Neighbours may not overwrite ghosts before they were recorded.
    pub(super) fn recorded(&mut self) -> Result<(), Error> {
        if !self.layout.is_cut() {
            return Ok(());
        }
        self.accelerator.record(Stream::Main, &self.events.main)
    }
}

impl<T: Real, A: Accelerator> Peer for DeviceSlab<T, A> {
    fn send(&mut self, to: &Self, upper: bool) -> Result<(), Error> {
        let a = &self.accelerator;
        a.wait(Stream::Edges, &self.events.first)?;
        // The neighbour may still be reading the level that it overwrites in this step.
        a.wait(Stream::Edges, &to.events.main)?;
        for component in 0..self.setup.padded.ndim() {
            let from = self.ghosts_at(component, self.layout.edge_plane(upper, GHOST));
            let into = to.ghosts_at(component, to.layout.ghost_plane(!upper, GHOST));
            // SAFETY: both ranges are eight whole planes of a component; the events order the copy among their uses.
            unsafe { a.copy_to(Stream::Edges, from, &to.accelerator, into, self.ghost_bytes())? };
        }
        a.record(Stream::Edges, &self.events.sent[usize::from(upper)])
    }

    fn received(&mut self, from: &Self, upper: bool) -> Result<(), Error> {
        // The upper neighbour sent downwards.
        let sent = &from.events.sent[usize::from(!upper)];
        self.accelerator.wait(Stream::Edges, sent)?;
        if self.has_two_edges() {
            self.accelerator.wait(Stream::Main, sent)?;
        }
        Ok(())
    }
}
