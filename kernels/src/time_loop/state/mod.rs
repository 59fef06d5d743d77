//! The state of a run between two steps: everything that the next step needs. It is saved while the run continues,
//! and can be loaded into any other decomposition of the same grid.
//!
//! A state is a list of arrays in global order and shape, each a sequence of blocks of equal size (on a grid a block
//! is a plane of one component). Every subdomain owns some blocks and needs others as ghosts; all subdomains of all
//! ranks together own every block once. The bytes of a state therefore do not depend on the numbers of subdomains,
//! threads, devices and ranks. The format of version 1, with all numbers little endian, is:
//!
//! ```text
//! SIFAKA STATE 1\n          the magic line with the version
//! 000000001234\n            bytes of the header's text
//! step=100\n                steps done
//! array=24 4096 4 name\n    blocks, bytes of a block, bytes of a number, name; a line for every array
//! label=key=value\n         labels of the program: model, parameters, records written; \n and \ are escaped by \
//! ...                       each array begins at the next multiple of 4096 bytes
//! checksum of the blocks    8 bytes: the sum of XXH3 of every block, seeded by its array and number
//! checksum of the header    8 bytes: XXH3 of everything from the magic line to the last label
//! SIFAKA STATE END          16 bytes
//! ```
//!
//! The engine does not access files: it writes to a [`StateSink`] and reads from a [`StateSource`], which the program
//! provides.

mod checkpoints;
mod format;
mod load;
mod write;

pub use checkpoints::{Checkpoints, Every, StateStore, save};
pub use format::StateHeader;
pub use load::{load, read_header};

use crate::Error;
use std::io;
use std::ops::Range;

/// One array of a state, in its global shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateArray {
    /// Name of the contents.
    pub name: String,
    /// Number of blocks; each can have a different owner.
    pub blocks: usize,
    /// Bytes of a block.
    pub block: usize,
    /// Bytes of a number: 4 or 8.
    pub number: usize,
}

impl StateArray {
    /// An array of `blocks` blocks, each of `numbers` numbers of type `T`.
    pub fn of<T>(name: impl Into<String>, blocks: usize, numbers: usize) -> Self {
        Self {
            name: name.into(),
            blocks,
            block: numbers * size_of::<T>(),
            number: size_of::<T>(),
        }
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> usize {
        self.blocks * self.block
    }
}

/// A subdomain whose state can be saved and loaded between two steps.
pub trait State {
    /// All arrays of the whole run, the same for every subdomain of every decomposition.
    fn arrays(&self) -> Vec<StateArray>;

    /// The blocks of an array that this subdomain owns; every block has exactly one owner.
    fn owned(&self, array: usize) -> Vec<Range<usize>>;

    /// The blocks that must be loaded before the next step: the owned ones and the ghosts.
    fn needed(&self, array: usize) -> Vec<Range<usize>> {
        self.owned(array)
    }

    /// Copies blocks, which lie in one range of [`State::owned`], to `out`.
    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error>;

    /// Takes blocks, which lie in one range of [`State::needed`], from `bytes`.
    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error>;
}

/// Bytes of the state that these subdomains own, which are the bytes of host memory that a checkpoint needs and those
/// that this process writes.
pub fn owned_bytes<S: State>(subdomains: &[S]) -> usize {
    let of = |s: &S| -> usize {
        let arrays = s.arrays();
        let blocks = |a: usize| s.owned(a).iter().map(Range::len).sum::<usize>();
        (0..arrays.len()).map(|a| blocks(a) * arrays[a].block).sum()
    };
    subdomains.iter().map(of).sum()
}

/// The destination of the bytes of one state. It is used on a separate thread while the run continues.
pub trait StateSink: Send {
    /// Writes all bytes at this offset.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until all data are on permanent storage, as far as the system supports that.
    fn finish(&mut self) -> io::Result<()>;
}

/// The source of the bytes of a state.
pub trait StateSource {
    /// Number of bytes.
    fn bytes(&mut self) -> io::Result<u64>;

    /// Fills `out` with the bytes from this offset on.
    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}
