//! The RSF format and Madagascar's `key=value` command line.
//!
//! A program declares itself once as a [`Program`] and hands its work to [`start`]:
//!
//! ```no_run
//! use rsf_io::{Job, Param, Program, start};
//!
//! static SPEC: Program = Program {
//!     name: "sfdouble",
//!     about: "Doubles every number",
//!     usage: "< in.rsf > out.rsf times=2",
//!     comments: "",
//!     example: "sfspike n1=10 | sfdouble > out.rsf",
//!     params: &[Param::int("times").default("2").range(">= 1", Some(1.0), None).doc("the factor")],
//! };
//!
//! fn main() -> std::process::ExitCode {
//!     start(&SPEC, run)
//! }
//!
//! fn run(job: &mut Job) -> anyhow::Result<()> {
//!     let mut input = job.stdin()?; // first, so that the output carries its history
//!     let mut output = job.output()?;
//!     let times = job.int("times")? as f32;
//!     let mut row = vec![0.0; input.axis(1).n];
//!     while input.remaining() > 0 {
//!         input.read_f32(&mut row)?;
//!         row.iter_mut().for_each(|x| *x *= times);
//!         output.write_f32(&row)?;
//!     }
//!     Ok(output.finish()?)
//! }
//! ```
//!
//! Arrays are in file order, axis 1 fastest; axes are counted from 1. Nothing in this crate depends on waves,
//! devices or threads.

mod ascii;
mod axis;
mod banner;
mod command;
mod data;
mod error;
mod file_id;
mod files;
mod header;
mod input;
mod job;
mod keyless;
mod launcher;
pub mod memory;
mod mesh_files;
mod number;
mod output;
mod params;
mod pipe;
mod place;
pub mod ranges;
mod second;
mod selfdoc;
mod signals;
mod together;
mod value;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::panic;
use std::path::Path;
use std::process::ExitCode;

pub use axis::{Axis, MAX_AXES, WholeRecords, lengths_in_words};
pub use banner::version;
pub use data::{Complex, Element, Form, Format, Kind};
pub use error::{Error, Result};
pub use header::{Header, TERMINATOR};
pub use input::{DataFile, Input, NumberOrFile, data_file};
pub use job::Job;
pub use launcher::{Launched, launched};
pub use mesh_files::{MESH_WORDS, folder_of, mesh_file};
pub use number::{format_g, shortest_g};
pub use output::{Output, Written};
pub use params::{Param, ParamKind, Program};
pub use pipe::ensure_stdout;
pub use second::second;
pub use signals::{Signal, Watch, interrupted};
pub use together::{Places, SharedData};

use command::{Action, Line};

/// Runs a program: reads the command line, prints the documentation on request (or when called without arguments and
/// with nothing on standard input), calls `run`, and prints an error as one line `prog: message`. The exit code is 0
/// after success, 1 after an error, the signal's code if a signal ended the run, and [`CLOSED_PIPE`] if the reader of
/// the output closed the pipe. In that last case nothing is printed, as for every program that SIGPIPE ends: the reader
/// has read enough, or has reported an error itself, which a second message would only obscure.
pub fn start(program: &'static Program, run: fn(&mut Job) -> anyhow::Result<()>) -> ExitCode {
    start_with(program, run, std::env::args_os().collect())
}

/// The exit code that a shell reports for a program ended by SIGPIPE: 141.
pub const CLOSED_PIPE: u8 = 128 + libc::SIGPIPE as u8;

/// Like [`start`], but with the given words, the first of which is the name: for a binary that contains several
/// programs.
pub fn start_with(
    program: &'static Program,
    run: impl FnOnce(&mut Job) -> anyhow::Result<()>,
    words: Vec<OsString>,
) -> ExitCode {
    let name = name_of(program, &words);
    end(&name, attempt(program, run, words))
}

/// Runs a program as [`start_with`] does, but returns the outcome, for [`end`] to report.
///
/// # Errors
/// Returns an error for a wrong command line, the error of `run`, or [`Error::Panic`] after a panic, whose
/// message has already been printed.
pub fn attempt(
    program: &'static Program,
    run: impl FnOnce(&mut Job) -> anyhow::Result<()>,
    words: Vec<OsString>,
) -> anyhow::Result<()> {
    let name = name_of(program, &words);
    report_panics(name.clone());
    signals::end_on_signals(&name, second::is_second());
    let arguments = words.into_iter().skip(1).collect();
    // State that a panic leaves inconsistent is dropped with the program.
    let whole = panic::AssertUnwindSafe(|| whole_run(program, &name, arguments, run));
    panic::catch_unwind(whole).unwrap_or_else(|_| Err(Error::Panic.into()))
}

/// Prints an error as one line `name: message`, unless the reader of a pipe has closed it, and returns the
/// exit code (see [`start`]).
pub fn end(name: &str, outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    let code = exit_code(&error);
    let is_reported = matches!(error.downcast_ref(), Some(Error::Panic | Error::Reported(_)));
    if !is_reported && code != 0 && code != CLOSED_PIPE {
        let text = format!("{error:#}");
        let line: Vec<&str> = text.lines().map(str::trim).collect();
        // There is only one write, so that no other output comes between; nothing can be done if stderr is closed.
        let message = format!("{name}: {}\n", line.join(" "));
        let _ = io::stderr().lock().write_all(message.as_bytes());
    }
    if let Some(signal) = ended_by(&error) {
        signal.end_process();
    }
    ExitCode::from(code)
}

/// The signal that ended a run, if one did.
pub fn ended_by(error: &anyhow::Error) -> Option<Signal> {
    error.chain().find_map(|cause| match cause.downcast_ref()? {
        Error::Interrupted { signal, .. } => Some(*signal),
        _ => None,
    })
}

/// The exit code of an error: 0 for a dry run, 141 for a reader that closed its pipe, 130, 143 or 129 for a run that a
/// signal ended (as shells report it), the code of another process if that prints the error, otherwise 1.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let code = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref()? {
        Error::DryRun => Some(0),
        Error::Closed(_) => Some(CLOSED_PIPE),
        Error::Reported(code) => Some(*code),
        Error::Interrupted { signal, .. } => Some(signal.exit_code()),
        _ => None,
    };
    error.chain().find_map(code).unwrap_or(1)
}

/// The name by which a program was called.
pub fn name_of(program: &Program, words: &[OsString]) -> String {
    let file = words.first().map(Path::new).and_then(Path::file_name);
    file.map_or(program.name.into(), |name| name.to_string_lossy().into_owned())
}

/// Makes a panic print one line, `prog: internal error, please report it: ...`.
fn report_panics(name: String) {
    panic::set_hook(Box::new(move |info| {
        let text = info.to_string();
        let line: Vec<&str> = text.lines().map(str::trim).collect();
        let _ = writeln!(
            io::stderr().lock(),
            "{name}: internal error, please report it: {}",
            line.join(" ")
        );
    }));
}

fn whole_run(
    program: &'static Program,
    name: &str,
    arguments: Vec<OsString>,
    run: impl FnOnce(&mut Job) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let bare = arguments.is_empty();
    let line = Line::read(program, arguments)?;
    match &line.action {
        Action::Run => {}
        Action::Help => return show(&selfdoc::text(program, name)),
        Action::Version => return show(&format!("{name} {}\n", version())),
        Action::Sfdoc => return show(&selfdoc::json(program, name)),
        Action::Completion(shell) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command::clap_command(program), name, &mut script);
            return show(&String::from_utf8_lossy(&script));
        }
    }
    let stdin = if bare {
        let (stdin, with_data) = pipe::stdin_with_data()?;
        if !with_data {
            refuse_file(name, &stdin)?;
            return show(&selfdoc::text(program, name));
        }
        stdin
    } else {
        pipe::stdin_reader()?
    };
    let mut job = Job::new(program, name, line, stdin)?;
    run(&mut job)
}

/// Refuses to write the documentation where a dataset is expected: to a file (`sfspike > out.rsf`), or after
/// a program in a pipe that has sent nothing.
fn refuse_file(name: &str, stdin: &BufReader<File>) -> Result<()> {
    let stdout = pipe::stdout_file()?;
    let empty = pipe::is_empty(stdin);
    if !files::is_regular(&stdout) && (!empty || stdout.is_terminal()) {
        return Ok(());
    }
    if empty && pipe::is_output(stdin) {
        return Err(Error::new(format!("standard input {}", pipe::EMPTIED)));
    }
    let input = match empty {
        true => "standard input is empty (did the program before it fail?) and there are no parameters",
        false => "there are neither parameters nor an RSF file on standard input",
    };
    Err(Error::new(format!(
        "{input}, so there is nothing to write ({name} --help > FILE writes the documentation)"
    )))
}

/// Prints on standard output; a reader that leaves early (`| head`) is not an error.
fn show(text: &str) -> anyhow::Result<()> {
    if second::is_second() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::writing("standard output", error).into())
        }
        _ => Ok(()),
    }
}
