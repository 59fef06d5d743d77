//! A slab on processors within its group: its links, the fields it exchanges, and the queries of the group.

use super::CpuSlab;
use crate::Error;
use crate::device::simd::Real;
use crate::parallel::group::Subdomain;
use crate::parallel::halo::{HostHalo, HostNetwork, Link, Linked};

impl<T: Real> Linked for CpuSlab<T> {
    fn number(&self) -> usize {
        self.layout.number
    }

    fn links(&self) -> &[Link] {
        &self.links
    }
}

impl<T: Real> HostHalo for CpuSlab<T> {
    fn exchanged(&mut self, _stage: usize) -> &mut [T] {
        self.fields.as_mut_slice()
    }
}

impl<T: Real + Default + bytemuck::Pod> Subdomain for CpuSlab<T> {
    type Network = HostNetwork<T>;

    fn receivers(&self) -> Vec<usize> {
        self.setup.receivers.within(&self.layout.own)
    }

    fn owns(&self, place: usize) -> bool {
        let plane = place / self.setup.padded.plane_len();
        self.layout.own.contains(&plane)
    }

    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        let cell = self.setup.padded.cell_at(place);
        let medium = self.setup.medium.describe(cell);
        Ok((self.setup.padded.describe(cell), medium))
    }
}
