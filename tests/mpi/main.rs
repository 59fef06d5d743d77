//! The modelling programs on several ranks of MPI: the results have the same bits as those of one process, and a run
//! ends with a single message whatever happens to a rank.

mod ends;
mod gpus;
mod resume;
mod same;
mod survey;
mod velocity_stress;

#[path = "../support/desk.rs"]
mod desk;
#[path = "../support/fakes.rs"]
mod fakes;
#[path = "../support/launcher.rs"]
mod launcher;
#[path = "../programs/shot.rs"]
#[allow(dead_code)] // the tests of one process use all of it
mod shot;

use desk::{Desk, Outcome, built};
use std::process::Command;

/// The launcher; if there is none, `None`, and a message is printed.
fn launcher(test: &str) -> Option<&'static str> {
    launcher::command(&format!("mpi::{test}"))
}

/// Seconds after which a run that hangs is ended.
const PATIENCE: u32 = 300;

/// The output of a launcher that could not start on a busy machine, before any rank exists.
const NOT_STARTED: &str = "PMIx server's listener thread failed to start";

/// Runs the launcher with a line of arguments and shell redirections, once more if it could not start.
fn launch(desk: &Desk, launcher: &str, line: &str) -> Outcome {
    let once = || {
        desk::outcome(
            started(desk, &command(launcher, line))
                .output()
                .expect("a shell starts"),
        )
    };
    let ended = once();
    match ended.err.contains(NOT_STARTED) {
        true => once(),
        false => ended,
    }
}

/// The command line of the launcher.
fn command(launcher: &str, line: &str) -> String {
    format!("timeout -k 2 {PATIENCE} {launcher} {line}")
}

/// A shell line in which the launcher may be called.
fn started(desk: &Desk, line: &str) -> Command {
    let mut command = desk.command(line);
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("TMPDIR", "/tmp");
    command
}

/// The command line of a shot on the CPU, with a frame so large that there are enough planes for seven ranks.
fn words(ndim: usize) -> String {
    format!(
        "sfewefd{ndim}d-gpu device=cpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf dabc=y nb=20 jdata=2"
    )
}

/// The messages of the programs in a text, without warnings and without the launcher's messages.
fn messages(text: &str) -> Vec<&str> {
    let ours = |line: &&str| {
        ["sfewefd", "sfvs", "sfsem"]
            .iter()
            .any(|name| line.starts_with(name))
            && !line.contains("warning:")
    };
    // Launchers insert blanks and their own lines.
    text.lines().map(str::trim).filter(ours).collect()
}
