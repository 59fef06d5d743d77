//! Errors of the library. Each message gives the invalid value and what is allowed.

use std::io;

use crate::Signal;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error that the message describes in full.
    #[error("{0}")]
    Message(String),
    /// The operating system reported an error.
    #[error("{what}: {}", os_text(.cause))]
    Os {
        /// The operation that failed, with the file's name.
        what: String,
        /// The system's error.
        cause: io::Error,
    },
    /// The reader of a pipe closed it. This is not a fault of the program, which ends without a message.
    #[error("{0}: the reading program closed the pipe")]
    Closed(String),
    /// The program panicked; the panic hook has printed the message.
    #[error("internal error")]
    Panic,
    /// Another process of the same run prints the error; this one ends with the same exit code.
    #[error("another process has reported the error")]
    Reported(u8),
    /// A signal ended the run between two steps, with its outputs in order.
    #[error("ended by {signal}: {left}")]
    Interrupted {
        /// The signal, which ends the process after the message.
        signal: Signal,
        /// A description of the outputs that the run leaves, worded to follow a colon.
        left: String,
    },
    /// `--dryrun=y`: the header is written and the run ends, successfully.
    #[error("dry run: the header is written")]
    DryRun,
}

/// A result with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }

    pub(crate) fn os(what: impl Into<String>, cause: io::Error) -> Self {
        Self::Os {
            what: what.into(),
            cause,
        }
    }

    /// The error of a failed write to `file`, with advice for a full disk.
    pub(crate) fn writing(file: &str, cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed(file.to_string()),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Message(format!(
                "cannot write {file}: {} (free some space, or choose another place with datapath=)",
                os_text(&cause)
            )),
            _ => Self::os(format!("cannot write {file}"), cause),
        }
    }
}

/// The system's error message without the "(os error 2)" that Rust appends.
pub(crate) fn os_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}
