//! The exchange of ghosts: after each stage the planes next to a cut are sent while the interior is computed.

use super::arguments::field_len;
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use crate::device::simd::Real;
use crate::methods::velocity_stress::GHOST;
use crate::parallel::device_halo::{DeviceHalo, DeviceNetwork};
use crate::parallel::group::Subdomain;
use crate::parallel::halo::{Link, Linked};
use std::sync::Arc;

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Address of plane `first` of a field.
    pub(super) fn ghosts_at(&self, field: usize, first: isize) -> u64 {
        let p = &self.setup.padded;
        let local = (first + GHOST as isize - self.layout.own.start as isize) as usize;
        let number = field * field_len(p, &self.layout) + local * p.plane_len();
        self.fields_at() + (number * size_of::<T>()) as u64
    }

    /// Recording may read ghosts, so it waits until the copies from the neighbours, in the stream of the edges, have
    /// arrived.
    pub(super) fn await_neighbours(&mut self) -> Result<(), Error> {
        if !self.layout.is_cut() {
            return Ok(());
        }
        self.accelerator.record(Stream::Edges, &self.events.edges)?;
        self.accelerator.wait(Stream::Main, &self.events.edges)
    }

    /// Records an event after which neighbours may overwrite the ghosts.
    pub(super) fn recorded(&mut self) -> Result<(), Error> {
        if !self.layout.is_cut() {
            return Ok(());
        }
        self.accelerator.record(Stream::Main, &self.events.main)
    }
}

impl<T: Real, A: Accelerator> Linked for DeviceSlab<T, A> {
    fn number(&self) -> usize {
        self.layout.number
    }

    fn links(&self) -> &[Link] {
        &self.links
    }
}

/// Neighbours on other ranks may not write the ghosts directly ([`DeviceHalo::exported`] returns none): the first
/// velocities of a step would overwrite the velocities of the previous step, which may still be read for recording.
impl<T: Real, A: Accelerator> DeviceHalo for DeviceSlab<T, A> {
    type Device = A;

    fn device(&self) -> &Arc<A> {
        &self.accelerator
    }

    fn exchanged(&self, _stage: usize) -> u64 {
        self.fields_at()
    }

    fn released(&self) -> &A::Event {
        &self.events.main
    }
}

impl<T: Real + Default, A: Accelerator> Subdomain for DeviceSlab<T, A> {
    type Network = DeviceNetwork<A>;

    fn receivers(&self) -> Vec<usize> {
        self.shots[0].receivers.within(&self.layout.own)
    }

    fn rewind(&mut self, _records: usize) {
        self.records.rewind();
    }

    fn owns(&self, place: usize) -> bool {
        let plane = place / self.setup.padded.plane_len();
        self.layout.own.contains(&plane)
    }

    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        let cell = self.setup.padded.cell_at(place);
        Ok((self.setup.padded.describe(cell), self.medium_words(cell)?))
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.accelerator.finish()
    }
}
