//! The everyday programs, in one binary: `sfbasics grey ...`, or under the name `sfgrey`.
//!
//! They are for machines without Madagascar and never replace Madagascar's own programs.

pub mod data;
pub mod pictures;

use std::ffi::OsString;
use std::io::{ErrorKind, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use rsf_io::{Job, Program, version};

/// The function that runs a program with its parameters, inputs and outputs.
pub type Run = fn(&mut Job) -> anyhow::Result<()>;

/// Programs with their documentation and the functions that run them.
pub type Programs = &'static [(&'static Program, Run)];

/// All programs of this binary.
pub fn programs() -> impl Iterator<Item = (&'static Program, Run)> {
    data::PROGRAMS.iter().chain(pictures::PROGRAMS).copied()
}

/// Starts the program that is named by the name of the binary or, otherwise, by the first argument.
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
            eprintln!(
                "sfbasics: there is no program `{word}`; sfbasics without arguments lists all programs"
            );
            ExitCode::FAILURE
        }
    }
}

/// Starts a program. It accepts data files that are shorter than their headers say, because users inspect
/// damaged files with these programs.
fn begin(program: &'static Program, run: Run, words: Vec<OsString>) -> ExitCode {
    let work = move |job: &mut Job| {
        job.accept_cut_data();
        run(job)
    };
    rsf_io::start_with(program, work, words)
}

/// The list of programs, which `sfbasics` without arguments prints.
fn list() -> String {
    let mut text = String::from("sfbasics: the first argument names a program:\n");
    for (program, _) in programs() {
        text += &format!("    sfbasics {:<10} {}\n", short(program.name), program.about);
    }
    text
}

/// Writes to standard output. A reader that closes the pipe early (`| head`) is not an error.
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
