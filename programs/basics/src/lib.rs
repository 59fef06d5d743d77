//! The everyday programs, in one binary: `sfbasics grey ...`, or under the name `sfgrey`.
//!
//! They are for machines without Madagascar and are never installed over its own.

pub mod data;
pub mod pictures;

use std::ffi::OsString;
use std::io::{ErrorKind, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use rsf_io::{Job, Program, version};

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
        return begin(program, run, words);
    }
    if let Some((program, run)) = words.get(1).and_then(|word| find(&word.to_string_lossy())) {
        words.remove(0);
        words[0] = program.name.into();
        return begin(program, run, words);
    }
    match words.get(1).map(|word| word.to_string_lossy()).as_deref() {
        None | Some("--help") => print(&list()),
        Some("--version") => print(&format!("sfbasics {}\n", version())),
        Some(word) => {
            eprintln!("sfbasics: `{word}` is none of its programs; sfbasics without words lists them");
            ExitCode::FAILURE
        }
    }
}

/// Starts one of them. They are what users look at damaged files with, so they read what is there.
fn begin(program: &'static Program, run: Run, words: Vec<OsString>) -> ExitCode {
    let work = move |job: &mut Job| {
        job.accept_cut_data();
        run(job)
    };
    rsf_io::start_with(program, work, words)
}

/// What `sfbasics` alone prints.
fn list() -> String {
    let mut text = String::from("sfbasics: the first word names a program:\n");
    for (program, _) in programs() {
        text += &format!("    sfbasics {:<10} {}\n", short(program.name), program.about);
    }
    text
}

/// Writes to standard output. A reader that leaves early (`| head`) is no fault.
fn print(text: &str) -> ExitCode {
    match stdout().write_all(text.as_bytes()) {
        Err(fault) if fault.kind() != ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

fn short(name: &str) -> &str {
    name.strip_prefix("sf").unwrap_or(name)
}

pub(crate) fn find(word: &str) -> Option<(&'static Program, Run)> {
    programs().find(|(program, _)| short(program.name) == short(word))
}
