//! The state of a slab on a device, in the same format as on processors ([`crate::methods::displacement`]).

use super::arguments::component_len;
use super::slab::DeviceSlab;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::device::simd::Real;
use crate::methods::displacement::GHOST;
use crate::methods::displacement::state::{arrays, component_and_plane, needed, owned};
use crate::time_loop::state::{State, StateArray};
use std::ops::Range;

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Address of a block of an array, in the time level that holds the array.
    fn block_at(&self, array: usize, block: usize) -> u64 {
        let p = &self.setup.padded;
        let (component, plane) = component_and_plane(p, block);
        let local = plane + GHOST - self.layout.own.start;
        let number = component * component_len(p, &self.layout) + local * p.plane_len();
        let level = if array == 0 { self.now } else { 1 - self.now };
        self.levels[level].address() + (number * size_of::<T>()) as u64
    }
}

impl<T: Real, A: Accelerator> State for DeviceSlab<T, A> {
    fn arrays(&self) -> Vec<StateArray> {
        arrays::<T>(&self.setup.padded)
    }

    fn owned(&self, _array: usize) -> Vec<Range<usize>> {
        owned(&self.setup.padded, &self.layout)
    }

    fn needed(&self, _array: usize) -> Vec<Range<usize>> {
        needed(&self.setup.padded, &self.layout)
    }

    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let from = self.block_at(array, blocks.start);
        // SAFETY: these are planes of one component that the slab owns, which are contiguous in a level.
        unsafe { self.staging.download(&self.accelerator, from, out) }
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let to = self.block_at(array, blocks.start);
        // SAFETY: these are planes of one component, of the slab or its ghosts, which are contiguous in a level.
        unsafe { self.staging.upload(&self.accelerator, bytes, to) }
    }
}
