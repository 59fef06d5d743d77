//! A scratch folder in which the real programs run, as a user would call them from a shell.
#![allow(dead_code)] // each test target that mounts this file uses a part of it

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rsf_io::{Axis, Input, TERMINATOR};
use tempfile::TempDir;

#[path = "built.rs"]
pub mod built;
#[allow(clippy::duplicate_mod)] // largest.rs is mounted without this file, too
#[path = "spoil.rs"]
mod spoil;

/// Variables that would change what the programs do.
const CLEARED: [&str; 4] = [
    "RSF_STRICT",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MPI_LOCALNRANKS",
];
/// Variables by which programs start one thread: tests run beside each other, and threads wait for theirs by spinning. Those that are
/// about threads say `threads=` or set them again.
const ONE_THREAD: [&str; 2] = ["OMP_NUM_THREADS", "RAYON_NUM_THREADS"];

/// What a command left behind.
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

    /// The same files in memory, where the system has a folder there with room: a run that saves many states waits for the
    /// disk most of its time, and no kill takes away what was written to either.
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

    /// What a program has written, or what `SPOIL` says: as many numbers as the header tells, all finite, and one at least not zero.
    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<f32> {
        let values = self.read_as_it_is(name);
        if let Some(k) = values.iter().position(|x| !x.is_finite()) {
            panic!("number {k} of {name} is not finite: {}", values[k]);
        }
        assert!(values.iter().any(|x| *x != 0.0), "{name} has zeros alone");
        values
    }

    /// The same where all may be zero, or numbers that are not finite are right.
    #[track_caller]
    pub fn read_as_it_is(&self, name: &str) -> Vec<f32> {
        let mut input = self.open(name);
        let told = input.len();
        let values = spoil::spoiled(input.read_all_f32().unwrap(), (f32::NAN, 0.0), &spoil::ALL);
        assert_eq!(
            values.len() as u64,
            told,
            "{name} has another length than its header tells"
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

    /// Runs a line of shell in the folder, the programs of this build first in its path.
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

    /// [`Desk::sh`] as a command that is not started yet.
    pub fn command(&self, line: &str) -> Command {
        let own = option_env!("CARGO_BIN_EXE_sfbasics").or(option_env!("CARGO_BIN_EXE_sfewefd2d-gpu"));
        let program = built::program(own.expect("a crate of programs"));
        let bin = program.parent().expect("programs lie in a folder");
        // Cargo builds the programs of the crate alone whose tests it runs.
        let everyday = bin.join("sfbasics");
        assert!(
            everyday.exists(),
            "{} is missing: run cargo build --release -p basics",
            everyday.display()
        );
        let path = std::env::var("PATH").unwrap_or_default();
        // A command that waits for ever must fail, not stop the tests.
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

/// Exit code and texts of a finished command.
pub fn outcome(output: Output) -> Outcome {
    Outcome {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The folder, if 2 GB or more are free there.
fn roomy(folder: &'static str) -> Option<&'static str> {
    let told = Command::new("df").args(["-Pk", folder]).output().ok()?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let free: u64 = told.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    (free > 2_000_000).then_some(folder)
}
