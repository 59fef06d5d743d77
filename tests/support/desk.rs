//! A scratch folder in which tests run the real programs as a user would from a shell.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rsf_io::{Axis, Input, TERMINATOR};
use tempfile::TempDir;

#[path = "built.rs"]
pub mod built;
#[allow(clippy::duplicate_mod)] // largest.rs is included without this file, too
#[path = "spoil.rs"]
mod spoil;

/// Variables that would change the behaviour of the programs.
const CLEARED: [&str; 4] = [
    "RSF_STRICT",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MPI_LOCALNRANKS",
];
/// Variables that make programs start one thread, because tests run in parallel, and threads wait for others by
/// spinning. Tests of threads give `threads=` or set the variables again.
const ONE_THREAD: [&str; 2] = ["OMP_NUM_THREADS", "RAYON_NUM_THREADS"];

/// The result of a command.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A scratch folder.
pub struct Desk {
    dir: TempDir,
}

impl Desk {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Copies the files to a folder in memory, if the system has one with enough room, because a run that saves many
    /// states mostly waits for the disk. Files in either place survive a killed process.
    pub fn in_memory(self) -> Self {
        let Some(dir) = roomy("/dev/shm").and_then(|folder| tempfile::tempdir_in(folder).ok()) else {
            return self;
        };
        for entry in fs::read_dir(self.dir.path()).unwrap() {
            let from = entry.unwrap();
            fs::copy(from.path(), dir.path().join(from.file_name())).unwrap();
        }
        Self { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes a dataset in one file: header lines, terminator, native floats.
    pub fn dataset(&self, name: &str, header: &str, values: &[f32]) {
        let mut bytes = format!("{header} data_format=native_float esize=4 in=stdin\n").into_bytes();
        bytes.extend_from_slice(&TERMINATOR);
        bytes.extend(values.iter().flat_map(|x| x.to_ne_bytes()));
        self.put(name, bytes);
    }

    /// The numbers that a program has written, or their replacement by `SPOIL`: as many as the header states, all
    /// finite, and at least one not zero.
    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<f32> {
        let values = self.read_as_it_is(name);
        if let Some(k) = values.iter().position(|x| !x.is_finite()) {
            panic!("number {k} of {name} is not finite: {}", values[k]);
        }
        assert!(values.iter().any(|x| *x != 0.0), "{name} has only zeros");
        values
    }

    /// Like [`Desk::read`], for files in which all numbers may be zero or some not finite.
    #[track_caller]
    pub fn read_as_it_is(&self, name: &str) -> Vec<f32> {
        let mut input = self.open(name);
        let length = input.len();
        let values = spoil::spoiled(input.read_all_f32().unwrap(), (f32::NAN, 0.0), &spoil::ALL);
        assert_eq!(
            values.len() as u64,
            length,
            "the length of {name} differs from that in its header"
        );
        values
    }

    pub fn axes(&self, name: &str, rank: usize) -> Vec<Axis> {
        let input = self.open(name);
        assert!(input.rank() <= rank, "{name} has more than {rank} axes");
        (1..=rank).map(|i| input.axis(i)).collect()
    }

    pub fn open(&self, name: &str) -> Input {
        Input::open(&self.path(name)).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Runs a shell command in the folder, with the programs of this build first in its path.
    pub fn sh(&self, line: &str) -> Outcome {
        let output = self.command(line).output().unwrap();
        outcome(output)
    }

    /// [`Desk::sh`] of a line that must succeed.
    #[track_caller]
    pub fn ran(&self, line: &str) -> Outcome {
        let run = self.sh(line);
        assert_eq!(run.code, 0, "{line}: {run:?}");
        run
    }

    /// [`Desk::sh`] as a command that has not been started.
    pub fn command(&self, line: &str) -> Command {
        let own = option_env!("CARGO_BIN_EXE_sfbasics").or(option_env!("CARGO_BIN_EXE_sfewefd2d-gpu"));
        let program = built::program(own.expect("a crate of programs"));
        let bin = program.parent().expect("programs lie in a folder");
        // Cargo builds only the programs of the crate whose tests it runs.
        let everyday = bin.join("sfbasics");
        assert!(
            everyday.exists(),
            "{} is missing: run cargo build --release -p basics",
            everyday.display()
        );
        let path = std::env::var("PATH").unwrap_or_default();
        // A command that waits forever must fail and not block the tests.
        let mut command = Command::new("timeout");
        command
            .args(["-k", "1", "1000", "sh", "-c", line])
            .current_dir(self.dir.path())
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", self.dir.path())
            .env("DATAPATH", "./")
            .stdin(Stdio::null());
        CLEARED.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(ONE_THREAD.map(|name| (name, "1")));
        command
    }
}

/// Exit code and output of a finished command.
pub fn outcome(output: Output) -> Outcome {
    Outcome {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The folder, if 2 GB or more are free there.
fn roomy(folder: &'static str) -> Option<&'static str> {
    let table = Command::new("df").args(["-Pk", folder]).output().ok()?;
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    let free: u64 = table.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    (free > 2_000_000).then_some(folder)
}
