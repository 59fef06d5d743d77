//! The files of one run: nothing that is read is overwritten, nothing is written twice.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::IntoRawFd;
use std::path::Path;

use crate::input::{FileId, Input, file_id};
use crate::{Error, Result};

/// Every regular file that the run has open, with the name that messages use.
#[derive(Debug, Default)]
pub(crate) struct Files {
    used: Vec<(FileId, String)>,
}

impl Files {
    /// Remembers the files of an input.
    pub(crate) fn reading(&mut self, input: &Input) {
        self.used.extend(input.ids().iter().map(|id| (*id, input.name())));
    }

    /// Remembers an output that is open already; refuses one that is in use.
    pub(crate) fn writing(&mut self, file: &File, name: &str) -> Result<()> {
        let Some(id) = file_id(file) else { return Ok(()) };
        if let Some((_, other)) = self.used.iter().find(|(used, _)| *used == id) {
            return Err(Error::new(format!(
                "{name} would overwrite the file of {other}: choose another name for the output"
            )));
        }
        self.used.push((id, name.to_string()));
        Ok(())
    }

    /// Creates or empties the file `path` for writing, after the check that it is not in use.
    pub(crate) fn create(&mut self, path: &Path, name: &str) -> Result<File> {
        let failed = |cause| Error::os(format!("cannot write {name}"), cause);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        self.writing(&file, name)?;
        if is_regular(&file) {
            file.set_len(0).map_err(failed)?;
        }
        Ok(file)
    }
}

pub(crate) fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file())
}

/// Removes a file that holds nothing of use; links and devices stay.
pub(crate) fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        // The run has failed with its own message already.
        let _ = fs::remove_file(path);
    }
}

/// Closes a file and tells what closing says; a drop would swallow it, and on network file systems it
/// may be the only report of a full disk.
pub(crate) fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was owned by `file`, which gave it up, so it is closed once.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
