//! Compiled kernels kept between runs, in a folder that only the user can write. A damaged file is compiled again,
//! and a kernel that cannot be written is not kept; neither is an error.

use super::nvrtc;
use crate::Error;
use crate::device::accelerator::Source;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// First bytes of a file; they are followed by the key, the checksum, the length and the machine code.
const MAGIC: &[u8; 16] = b"sifaka cubin  1\n";
const HEADER: usize = 16 + 32 + 32 + 8;
const GROUP_AND_OTHERS_WRITE: u32 = 0o022;

/// A checksum of everything on which the machine code of a source text depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of a list of parts; the same bytes divided differently have a different key.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut sum = Sha256::new();
        for part in parts {
            sum.update((part.len() as u64).to_le_bytes());
            sum.update(part);
        }
        Self(sum.finalize().into())
    }

    fn file_name(&self) -> String {
        self.0
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            + ".cubin"
    }
}

/// The key of a source text compiled for an architecture by the compiler of this process.
pub(super) fn key(source: &Source, architecture: u32) -> Result<Key, Error> {
    let compiler = nvrtc::find()?;
    let release = format!("{:?} {}", compiler.version, compiler.bytes);
    let options = nvrtc::options(architecture).join("\n");
    Ok(Key::of(&[
        source.name.as_bytes(),
        source.text.as_bytes(),
        options.as_bytes(),
        release.as_bytes(),
        env!("CARGO_PKG_VERSION").as_bytes(),
    ]))
}

/// A folder of compiled kernels, or the reason why there is none.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Result<PathBuf, String>,
}

impl Cache {
    /// The user's cache: the folder `cubin` in `SIFAKA_CACHE`, or else in `sifaka` in `XDG_CACHE_HOME` or in the user's
    /// `.cache`.
    pub fn of_user() -> Self {
        let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty());
        let top = named("SIFAKA_CACHE")
            .map(PathBuf::from)
            .or_else(|| named("XDG_CACHE_HOME").map(|folder| Path::new(&folder).join("sifaka")))
            .or_else(|| named("HOME").map(|folder| Path::new(&folder).join(".cache/sifaka")));
        match top {
            Some(top) => Self::at(&top.join("cubin")),
            None => Self {
                folder: Err(
                    "compiled kernels are not kept: neither SIFAKA_CACHE nor HOME is set".to_string(),
                ),
            },
        }
    }

    /// Opens the cache in `folder`, which is created if it is missing. Kernels are not kept if other users could write
    /// into the folder; [`Self::note`] gives the reason.
    pub fn at(folder: &Path) -> Self {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let checked = created
            .map_err(|e| e.to_string())
            .and_then(|()| fs::metadata(folder).map_err(|e| e.to_string()))
            .and_then(|data| private(&data));
        Self {
            folder: checked.map(|()| folder.to_path_buf()).map_err(|problem| {
                format!(
                    "compiled kernels are not kept in {}: {problem}; set SIFAKA_CACHE to a folder of your own",
                    folder.display()
                )
            }),
        }
    }

    /// The reason why compiled kernels are not kept; `None` when they are.
    pub fn note(&self) -> Option<&str> {
        self.folder.as_ref().err().map(String::as_str)
    }

    /// The machine code kept under a key; `None` if it is missing or damaged, or if other users could have written it.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.folder.as_ref().ok()?.join(key.file_name());
        let mut file = fs::File::open(path).ok()?;
        // The metadata are taken from the open file, because the name may meanwhile refer to another file.
        let data = file.metadata().ok()?;
        if !data.is_file() || private(&data).is_err() {
            return None;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let (header, cubin) = bytes.split_at_checked(HEADER)?;
        (header == self::header(key, cubin)).then(|| cubin.to_vec())
    }

    /// Keeps machine code under a key. If two processes do so at once, a complete file results.
    pub fn put(&self, key: &Key, cubin: &[u8]) {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let Ok(folder) = &self.folder else { return };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let draft = folder.join(format!(".{}-{number}-{}", std::process::id(), key.file_name()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| {
                file.write_all(&header(key, cubin))?;
                file.write_all(cubin)
            })
            .and_then(|()| fs::rename(&draft, folder.join(key.file_name())));
        if written.is_err() {
            // On a full or read-only disk the next run only has to compile again.
            let _ = fs::remove_file(&draft);
        }
    }
}

fn header(key: &Key, cubin: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(key.0);
    bytes.extend(Sha256::digest(cubin));
    bytes.extend((cubin.len() as u64).to_le_bytes());
    bytes
}

/// Refuses files and folders that another user owns or can write.
fn private(data: &fs::Metadata) -> Result<(), String> {
    // SAFETY: the function takes no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    if data.uid() != user {
        return Err(format!("it belongs to user {}, not {user}", data.uid()));
    }
    match data.mode() & GROUP_AND_OTHERS_WRITE {
        0 => Ok(()),
        _ => Err(format!(
            "other users may write to it (mode {:o})",
            data.mode() & 0o777
        )),
    }
}
