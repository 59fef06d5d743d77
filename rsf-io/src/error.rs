//! Errors of the library.

/// What can go wrong; every message is one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Anything described by its sentence.
    #[error("{0}")]
    Message(String),
}

/// Result of the library.
pub type Result<T> = std::result::Result<T, Error>;
