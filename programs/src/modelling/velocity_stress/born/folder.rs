//! A folder for checkpoints of the reverse sweep while a program runs.

use anyhow::Context;
use kernels::methods::velocity_stress::born::CheckpointStore;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Checkpoints in files without names: no file is left, however the program ends.
pub struct Folder {
    path: PathBuf,
    files: Mutex<Vec<File>>,
}

impl Folder {
    /// Opens a folder in which files can be created.
    pub fn new(path: &Path) -> anyhow::Result<Self> {
        let folder = Self {
            path: path.to_path_buf(),
            files: Mutex::default(),
        };
        folder.new_file().with_context(|| {
            let name = path.display();
            format!(
                "scratch={name} must be able to hold checkpoints: give a folder in which files can be \
                created, or leave out disk="
            )
        })?;
        Ok(folder)
    }

    fn new_file(&self) -> io::Result<File> {
        let mut number = 0;
        loop {
            let name = self.path.join(format!(".sifaka-{}-{number}", std::process::id()));
            match OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&name)
            {
                Ok(file) => {
                    fs::remove_file(&name)?;
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls `act` with the file of a place.
    fn with(&self, place: usize, act: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display()));
        while files.len() <= place {
            files.push(self.new_file().map_err(named)?);
        }
        act(&files[place]).map_err(named)
    }
}

impl CheckpointStore for Folder {
    fn put(&self, place: usize, parts: &[&[u8]]) -> io::Result<()> {
        self.with(place, |file| {
            let mut at = 0;
            for part in parts {
                file.write_all_at(part, at)?;
                at += part.len() as u64;
            }
            Ok(())
        })
    }

    fn get(&self, place: usize, parts: &mut [&mut [u8]]) -> io::Result<()> {
        self.with(place, |file| {
            let mut at = 0;
            for part in parts {
                file.read_exact_at(part, at)?;
                at += part.len() as u64;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_again_and_nothing_is_left() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path()).unwrap();
        folder.put(2, &[&[1, 2, 3], &[4]]).unwrap();
        folder.put(0, &[&[9; 4]]).unwrap();
        folder.put(2, &[&[5, 6], &[7, 8]]).unwrap();
        let (mut one, mut two) = ([0; 3], [0; 1]);
        folder.get(2, &mut [&mut one, &mut two]).unwrap();
        assert_eq!((one, two), ([5, 6, 7], [8]));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        let gone = Folder::new(&home.path().join("gone")).err().unwrap();
        assert!(
            gone.to_string().contains("must be able to hold checkpoints"),
            "{gone}"
        );
        let short = folder.get(1, &mut [&mut one]).unwrap_err().to_string();
        assert!(short.contains(&*home.path().to_string_lossy()), "{short}");
    }
}
