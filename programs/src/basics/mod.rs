//! The everyday programs, in one binary: `sfbasics grey ...`, or under the name `sfgrey`.
//!
//! They are for machines without Madagascar and are never installed over its own.

pub mod data;
pub mod pictures;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use rsf_io::{Job, Program};

/// What a program does with its job.
pub type Run = fn(&mut Job) -> anyhow::Result<()>;

/// Programs as users see them, and what they do.
pub type Programs = &'static [(&'static Program, Run)];

/// Every program of this room.
pub fn programs() -> impl Iterator<Item = (&'static Program, Run)> {
    data::PROGRAMS.iter().chain(pictures::PROGRAMS).copied()
}

/// Starts the program that the first word, or else the name of the binary, asks for.
pub fn start(mut words: Vec<OsString>) -> ExitCode {
    let called = words
        .first()
        .and_then(|path| Path::new(path).file_stem())
        .map(|name| name.to_owned());
    if let Some((program, run)) = called.and_then(|name| find(&name.to_string_lossy())) {
        return rsf_io::start_with(program, run, words);
    }
    if let Some((program, run)) = words.get(1).and_then(|word| find(&word.to_string_lossy())) {
        words.remove(0);
        words[0] = program.name.into();
        return rsf_io::start_with(program, run, words);
    }
    eprintln!("sfbasics: the first word names a program:");
    for (program, _) in programs() {
        eprintln!("    sfbasics {:<8} {}", short(program.name), program.about);
    }
    ExitCode::from(u8::from(words.len() > 1))
}

fn short(name: &str) -> &str {
    name.strip_prefix("sf").unwrap_or(name)
}

fn find(word: &str) -> Option<(&'static Program, Run)> {
    programs().find(|(program, _)| short(program.name) == short(word))
}
