//! Reads any bytes as the RSF files of a mesh, separated by a line.
#![no_main]
#![allow(dead_code)] // only a part of the included sources is used here

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use rsf_io::{Param, Program};

mod look;
#[path = "../../src/meshing/mod.rs"]
mod meshing;

/// The parameters that name the files, in the order of their contents in the input.
const WORDS: [&str; 7] = [
    "elements", "nodes", "regions", "materials", "absorbing", "free", "pml",
];

/// The separator between two files.
const BETWEEN: &[u8] = b"\n=== next file ===\n";

static PROGRAM: Program = Program {
    name: "fuzz",
    about: "Reads a mesh",
    usage: "elements=elements.rsf nodes=nodes.rsf",
    comments: "",
    example: "",
    params: &[
        Param::input("mesh").doc("elements, whose header names the other files"),
        Param::input("elements").doc("elements"),
        Param::input("nodes").doc("nodes"),
        Param::input("regions").doc("regions"),
        Param::input("materials").doc("materials"),
        Param::input("absorbing").doc("absorbing sides"),
        Param::input("free").doc("free sides"),
        Param::input("pml").doc("perfectly matched layers"),
    ],
};

/// A folder of this process, in shared memory (/dev/shm) if there is any.
fn folder() -> PathBuf {
    let shm = PathBuf::from("/dev/shm");
    let dir = if shm.is_dir() { shm } else { std::env::temp_dir() };
    dir.join(format!("mesh-fuzz-{}", std::process::id()))
}

/// The contents of the files, which are the pieces between the separators.
fn pieces(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let Some(at) = bytes.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        all.push(&bytes[..at]);
        bytes = &bytes[at + BETWEEN.len()..];
    }
    all.push(bytes);
    all
}

fuzz_target!(|bytes: &[u8]| {
    let folder = folder();
    fs::create_dir_all(&folder).expect("the scratch folder is writable");
    let mut words = vec![OsString::from("fuzz")];
    for (word, piece) in WORDS.iter().zip(pieces(bytes)) {
        let path = folder.join(word);
        fs::write(&path, piece).expect("the scratch file is writable");
        words.push(format!("{word}={}", path.display()).into());
    }
    let mut read = None;
    let outcome = rsf_io::attempt(
        &PROGRAM,
        |job| {
            read = Some(meshing::stored::read(job));
            Ok(())
        },
        words,
    );
    let _ = fs::remove_dir_all(&folder);
    match (outcome, read) {
        (Ok(()), Some(read)) => look::look(read),
        // The panic was caught and has printed its message; for the fuzzer it is a failure.
        (outcome, _) => panic!("the reader did not come to an end: {outcome:?}"),
    }
});
