//! The paths of the checkout and of the programs for tests: compiled in, unless the environment names others because
//! the test was built on another machine and copied (tests/gpu).
#![allow(dead_code)] // each test target that includes this file uses a part of it

use std::path::{Path, PathBuf};

/// A file of the checkout, by its path from the top.
pub fn checkout(inside: &str) -> PathBuf {
    let room = std::env::var_os("CARGO_MANIFEST_DIR");
    let room = room.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let top = room.ancestors().find(|folder| folder.join("SConstruct").exists());
    top.expect("a crate lies in the checkout").join(inside)
}

/// A program of this build, which cargo put at `place`, or the program of that name in the folder `SIFAKA_BIN`, if the
/// variable is set.
pub fn program(place: &str) -> PathBuf {
    match (std::env::var_os("SIFAKA_BIN"), Path::new(place).file_name()) {
        (Some(folder), Some(name)) => Path::new(&folder).join(name),
        _ => place.into(),
    }
}
