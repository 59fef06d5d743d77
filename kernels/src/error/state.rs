//! What can be wrong with a saved state.

use std::io;

/// What is wrong with a state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The first bytes are others.
    #[error("the file does not begin as a state does: take one that a run has saved")]
    NotAState,
    /// A newer format.
    #[error(
        "the state has format version {found} and this program reads version 1: resume it with the program that wrote it"
    )]
    Version {
        /// What the file says.
        found: String,
    },
    /// Bytes are missing.
    #[error(
        "the state ends after {bytes} of {wanted} bytes: it was not written to its end, or cut; take the one before it"
    )]
    Short {
        /// Bytes there are.
        bytes: u64,
        /// Bytes there should be.
        wanted: u64,
    },
    /// Bytes are not those that were written.
    #[error("the state is damaged: {part} is not what was written; take the one before it")]
    Damaged {
        /// The header, the blocks or the end.
        part: &'static str,
    },
    /// Another number of arrays, or arrays of other names.
    #[error(
        "the state holds {found} where this run has {wanted}: it is of another method, frame or set of records"
    )]
    Arrays {
        /// In the state.
        found: String,
        /// In the run.
        wanted: String,
    },
    /// An array of another size.
    #[error("the state has {found} of {name} and this run {wanted}: it is of another grid or frame")]
    Size {
        /// The array.
        name: String,
        /// Blocks and bytes in the state.
        found: String,
        /// Blocks and bytes in the run.
        wanted: String,
    },
    /// Another type of numbers.
    #[error("the state has numbers of {found} bytes and this run of {wanted}")]
    Number {
        /// In the state.
        found: usize,
        /// In the run.
        wanted: usize,
    },
    /// Nothing is left to do.
    #[error(
        "the state was saved after step {step} and the run has {steps} steps: there is nothing left to do"
    )]
    AtEnd {
        /// Steps done.
        step: usize,
        /// Steps of the run.
        steps: usize,
    },
    /// It cannot be read.
    #[error("the state cannot be read: {0}")]
    Io(#[from] io::Error),
}
