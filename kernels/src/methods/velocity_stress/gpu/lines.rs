//! Memory in which what is computed of a row begins with a line of the caches (of every second row where rows are an odd
//! number of half lines apart), so that a warp touches no more of them than it must.

use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};

/// Bytes of a line.
const LINE: usize = 128;

/// Zeroed device memory, moved by less than a line.
pub struct Lines<A: Accelerator> {
    memory: A::Memory,
    offset: u64,
}

impl<A: Accelerator> Lines<A> {
    /// So many bytes, where byte `first` begins a line.
    pub fn new(a: &A, bytes: usize, first: usize) -> Result<Self, Error> {
        Ok(Self {
            memory: a.allocate(bytes + LINE)?,
            offset: ((LINE - first % LINE) % LINE) as u64,
        })
    }

    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.memory.address() + self.offset
    }

    /// All of it.
    pub fn memory(&self) -> &A::Memory {
        &self.memory
    }

    /// Bytes taken.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}
