//! Errors of saved states.

use super::Hint;
use std::io;

/// The reason why a saved state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file does not begin with the magic bytes of a state.
    #[error("the file is not a saved state: give {}", Hint::SavedState)]
    NotAState,
    /// The state has an unknown format version.
    #[error(
        "the state has format version {version}, but this program reads version 1: resume it with the program that wrote it"
    )]
    Version {
        /// Format version of the file.
        version: String,
    },
    /// The file is truncated.
    #[error(
        "the state ends after {bytes} of {expected} bytes: it was not completely written, or truncated later; use the previous one"
    )]
    Short {
        /// Bytes of the file.
        bytes: u64,
        /// Bytes that it should have.
        expected: u64,
    },
    /// A checksum does not match.
    #[error("the state is damaged: {part} is not what was written; use the previous one")]
    Damaged {
        /// The damaged part: the header, the blocks or the end.
        part: &'static str,
    },
    /// The number or the names of the arrays differ from the run's.
    #[error(
        "the state holds {saved} where this run has {expected}: it belongs to a run with another method, frame or set of records"
    )]
    Arrays {
        /// Arrays of the state.
        saved: String,
        /// Arrays of the run.
        expected: String,
    },
    /// The size of an array differs from the run's.
    #[error(
        "the state has {saved} of {name}, but this run has {expected}: it belongs to a run with another grid or frame"
    )]
    Size {
        /// Name of the array.
        name: String,
        /// Blocks and bytes in the state.
        saved: String,
        /// Blocks and bytes in the run.
        expected: String,
    },
    /// The type of the numbers differs from the run's.
    #[error(
        "the state has numbers of {saved} bytes, but this run has numbers of {expected}: it belongs to a run in another precision"
    )]
    Number {
        /// Bytes of a number in the state.
        saved: usize,
        /// Bytes of a number in the run.
        expected: usize,
    },
    /// The state was saved at the end of the run or later.
    #[error(
        "the state was saved after step {step}, but the run has {steps} steps: there is nothing left to do"
    )]
    AtEnd {
        /// Step after which the state was saved.
        step: usize,
        /// Number of steps of the run.
        steps: usize,
    },
    /// The file cannot be read.
    #[error("the state cannot be read: {0}")]
    Io(#[from] io::Error),
}
