//! Device memory aligned so that the computed part of a row begins a cache line (of every second row if the pitch is an
//! odd number of half lines), so that a warp accesses as few lines as possible.

use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};

/// Bytes of a cache line.
const LINE: usize = 128;

/// Device memory, initially zero, shifted by less than a line.
pub struct Lines<A: Accelerator> {
    memory: A::Memory,
    offset: u64,
}

impl<A: Accelerator> Lines<A> {
    /// Allocates `bytes` bytes of which byte `first` begins a line.
    pub fn new(a: &A, bytes: usize, first: usize) -> Result<Self, Error> {
        Ok(Self {
            memory: a.allocate(bytes + LINE)?,
            offset: ((LINE - first % LINE) % LINE) as u64,
        })
    }

    /// The address of byte 0.
    pub fn address(&self) -> u64 {
        self.memory.address() + self.offset
    }

    /// The whole allocation.
    pub fn memory(&self) -> &A::Memory {
        &self.memory
    }

    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}
