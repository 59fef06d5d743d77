//! What neighbours wait for: after each stage the planes beside a cut travel while the interior is computed.

use super::arguments::field_len;
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::methods::velocity_stress::GHOST;
use crate::parallel::device_halo::{DeviceHalo, HaloChannels};
use crate::parallel::group::DeviceSubdomain;
use crate::parallel::halo::Peer;
use std::ops::Range;
use std::sync::Arc;

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// The planes from `first` on of a field.
    pub(super) fn ghosts_at(&self, field: usize, first: isize) -> u64 {
        let p = &self.setup.padded;
        let local = (first + GHOST as isize - self.layout.own.start as isize) as usize;
        let number = field * field_len(p, &self.layout) + local * p.plane_len();
        self.fields_at() + (number * size_of::<T>()) as u64
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
        let (a, bytes) = (&self.accelerator, self.piece_bytes());
        // The neighbour may still be reading what it gets new numbers for, in the stage before.
        a.wait(Stream::Edges, &to.events.main)?;
        for &field in &self.setup.travelling[self.stage] {
            let from = self.ghosts_at(field, self.layout.edge_plane(upper, GHOST));
            let into = to.ghosts_at(field, to.layout.ghost_plane(!upper, GHOST));
            // SAFETY: both ranges are whole planes of a field; the events order the copy among their uses.
            unsafe { a.copy_to(Stream::Edges, from, &to.accelerator, into, bytes)? };
        }
        a.record(Stream::Edges, &self.events.sent[usize::from(upper)])
    }

    fn received(&mut self, from: &Self, upper: bool) -> Result<(), Error> {
        // The upper neighbour sent downwards.
        self.accelerator
            .wait(Stream::Edges, &from.events.sent[usize::from(!upper)])
    }
}

/// Neighbours on other ranks may not write the ghosts themselves ([`DeviceHalo::open`] gives none): the velocities that a
/// step makes first take the place of those that may still be recorded of the step before.
impl<T: Real, A: Accelerator> DeviceHalo for DeviceSlab<T, A> {
    type Device = A;

    fn device(&self) -> &Arc<A> {
        &self.accelerator
    }

    fn pieces(&self, stage: usize) -> usize {
        self.setup.travelling[stage].len()
    }

    fn piece_bytes(&self) -> usize {
        GHOST * self.setup.padded.plane_len() * size_of::<T>()
    }

    fn edge(&self, stage: usize, upper: bool, piece: usize) -> u64 {
        self.ghosts_at(
            self.setup.travelling[stage][piece],
            self.layout.edge_plane(upper, GHOST),
        )
    }

    fn ghost(&self, stage: usize, upper: bool, piece: usize) -> u64 {
        self.ghosts_at(
            self.setup.travelling[stage][piece],
            self.layout.ghost_plane(upper, GHOST),
        )
    }

    fn sides(&self) -> &HaloChannels<A> {
        &self.outer
    }

    fn sides_mut(&mut self) -> &mut HaloChannels<A> {
        &mut self.outer
    }
}

impl<T: Real + Default, A: Accelerator> DeviceSubdomain for DeviceSlab<T, A> {
    fn padded(&self) -> &Padded {
        &self.setup.padded
    }

    fn window(&self) -> &[Range<usize>; 3] {
        &self.setup.window
    }

    fn receivers(&self, planes: &Range<usize>) -> Vec<usize> {
        self.setup.receivers.within(planes)
    }

    fn rewind(&mut self, _records: usize) {
        self.records.rewind();
    }

    fn describe(&self, cell: [usize; 3]) -> Result<String, Error> {
        self.medium_words(cell)
    }
}
