//! The state of the displacement method, which consists of both time levels.

use super::CpuSlab;
use super::GHOST;
use crate::Error;
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::parallel::slabs::Slab as Layout;
use crate::time_loop::state::{State, StateArray};
use std::ops::Range;

/// The arrays `u(t)` and `u(t-dt)`, each with blocks `[component][plane]`; a block is a plane `[row][z]`.
pub(super) fn arrays<T>(p: &Padded) -> Vec<StateArray> {
    let level = |name: &str| StateArray::of::<T>(name, p.ndim() * p.planes(), p.plane_len());
    vec![level("displacement"), level("displacement before")]
}

/// Blocks of the planes that a slab owns.
pub(super) fn owned(p: &Padded, layout: &Layout) -> Vec<Range<usize>> {
    of_components(p, layout.own.clone())
}

/// Blocks of the planes that a slab owns, and of its ghost planes inside the grid.
pub(super) fn needed(p: &Padded, layout: &Layout) -> Vec<Range<usize>> {
    let own = &layout.own;
    of_components(
        p,
        own.start.saturating_sub(GHOST)..p.planes().min(own.end + GHOST),
    )
}

fn of_components(p: &Padded, planes: Range<usize>) -> Vec<Range<usize>> {
    let of = |c: usize| c * p.planes() + planes.start..c * p.planes() + planes.end;
    (0..p.ndim()).map(of).collect()
}

/// Component and plane of a block.
pub(super) fn component_and_plane(p: &Padded, block: usize) -> (usize, usize) {
    (block / p.planes(), block % p.planes())
}

impl<T: Real> CpuSlab<T> {
    /// The level of an array, and the range of blocks in its memory.
    fn part_of_level(&self, array: usize, blocks: &Range<usize>) -> (usize, Range<usize>) {
        let p = &self.setup.padded;
        let (component, plane) = component_and_plane(p, blocks.start);
        let from = self.at(component, plane, 0, 0);
        let level = if array == 0 { self.now } else { 1 - self.now };
        (level, from..from + blocks.len() * p.plane_len())
    }
}

impl<T: Real> State for CpuSlab<T> {
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
        let (level, part) = self.part_of_level(array, &blocks);
        let numbers = &self.levels[level].as_slice()[part];
        self.setup.cpu.copy(bytemuck::cast_slice(numbers), out);
        Ok(())
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let (level, part) = self.part_of_level(array, &blocks);
        let numbers = &mut self.levels[level].as_mut_slice()[part];
        self.setup.cpu.copy(bytes, bytemuck::cast_slice_mut(numbers));
        Ok(())
    }
}
