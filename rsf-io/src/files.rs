//! The files of one run: no file that is read is overwritten, and no file is written twice.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use xattr::FileExt;

use crate::file_id::{FileId, OWNER, file_id, owner};
use crate::input::Input;
use crate::place::{Name, Names};
use crate::{Error, Result};

/// Every regular file that the run has open, with the name that messages use.
#[derive(Debug, Default)]
pub(crate) struct Files {
    used: Vec<(FileId, String)>,
    /// Existing files that will be written later, see [`Files::spare`].
    targets: Vec<(FileId, String)>,
    /// Existing files are not truncated when they are opened for writing.
    pub(crate) keeps: bool,
}

impl Files {
    /// Remembers the files of an input; refuses one that will be written.
    pub(crate) fn reading(&mut self, input: &Input) -> Result<()> {
        input
            .ids()
            .iter()
            .try_for_each(|id| self.read(*id, &input.name()))
    }

    /// Like [`Files::reading`], for an open file that is not a dataset.
    pub(crate) fn reading_file(&mut self, file: &File, name: &str) -> Result<()> {
        file_id(file).map_or(Ok(()), |id| self.read(id, name))
    }

    fn read(&mut self, id: FileId, name: &str) -> Result<()> {
        if let Some((_, target)) = self.targets.iter().find(|(target, _)| *target == id) {
            return Err(overwritten(target, name));
        }
        self.used.push((id, name.to_string()));
        Ok(())
    }

    /// Remembers an output that is open already; refuses one that is in use.
    pub(crate) fn writing(&mut self, file: &File, name: &str) -> Result<()> {
        let Some(id) = file_id(file) else { return Ok(()) };
        self.unused(id, name)?;
        self.used.push((id, name.to_string()));
        Ok(())
    }

    /// Refuses `path` if it is an existing file that this run uses; otherwise remembers that it will be overwritten.
    pub(crate) fn spare(&mut self, path: &Path, name: &str) -> Result<()> {
        let id = File::open(path).ok().and_then(|file| file_id(&file));
        let Some(id) = id else { return Ok(()) };
        self.unused(id, name)?;
        self.targets.push((id, name.to_string()));
        Ok(())
    }

    fn unused(&self, id: FileId, name: &str) -> Result<()> {
        let mut all = self.used.iter().chain(&self.targets);
        match all.find(|(used, _)| *used == id) {
            Some((_, other)) => Err(overwritten(name, other)),
            None => Ok(()),
        }
    }

    /// Creates or empties the file `path` for writing, after checking that it is not in use.
    pub(crate) fn create(&mut self, path: &Path, name: &str) -> Result<File> {
        let failed = |cause| Error::os(format!("cannot write {name}"), cause);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        self.writing(&file, name)?;
        if is_regular(&file) && !self.keeps {
            file.set_len(0).map_err(failed)?;
        }
        Ok(file)
    }

    /// Creates the data file of `output` under the first name that no other header owns, or empties the data
    /// file that this header had before. Returns the file and its path. A new name is checked and taken in
    /// one step, so that programs that start at the same time do not get the same name.
    pub(crate) fn create_data(&mut self, names: &Names, output: &str) -> Result<(File, PathBuf)> {
        for name in names.tried() {
            let shown = format!("data file {} of {output}", name.path.display());
            let failed = |cause| Error::os(format!("cannot write {shown}"), cause);
            let result = OpenOptions::new().write(true).create_new(true).open(&name.path);
            let file = match result {
                Ok(file) => {
                    if let Some(header) = &names.header {
                        // On a file system without attributes only the name shows which header owns the file.
                        let _ = file.set_xattr(OWNER, header.as_os_str().as_bytes());
                    }
                    file
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    match self.old_data(&name, names.header.as_deref()).map_err(failed)? {
                        Some(file) => file,
                        None => continue,
                    }
                }
                Err(error) => return Err(failed(error)),
            };
            self.writing(&file, &shown)?;
            return Ok((file, name.path));
        }
        Err(Error::new(format!(
            "{output}: a thousand data files of other headers have its name: choose another data path with datapath="
        )))
    }

    /// Opens an existing file if the header owns it and this run does not use it; `None` otherwise. The file is emptied
    /// unless it continues an earlier run (`keeps`). A file that is not regular is opened and left as it is.
    fn old_data(&self, name: &Name, header: Option<&Path>) -> io::Result<Option<File>> {
        let file = match OpenOptions::new().write(true).open(&name.path) {
            Ok(file) => file,
            // The file belongs to another user.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(id) = file_id(&file) else {
            return Ok(Some(file));
        };
        let owner = owner(&file);
        let own = match (owner, header) {
            (Some(owner), Some(header)) => owner == header.as_os_str().as_bytes(),
            (None, _) => name.own,
            (Some(_), None) => false,
        };
        if !own || self.used.iter().any(|(used, _)| *used == id) {
            return Ok(None);
        }
        if !self.keeps {
            file.set_len(0)?;
        }
        Ok(Some(file))
    }
}

/// The error for an output that would overwrite a file of this run.
fn overwritten(output: &str, other: &str) -> Error {
    Error::new(format!(
        "{output} would overwrite the file of {other}: choose another name for the output"
    ))
}

pub(crate) fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file())
}

/// Removes a regular file that holds nothing useful; links and devices stay.
pub(crate) fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        // The run has already failed with another error.
        let _ = fs::remove_file(path);
    }
}

/// Closes a file and returns any error on closing, which a drop would ignore. On network file systems this error may be
/// the only report of a full disk.
pub(crate) fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was owned by `file`, which gave it up, so it is closed once.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
