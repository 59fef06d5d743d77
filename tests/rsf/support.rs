//! Runs the probe program in a scratch folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::built::{checkout, program};
use rsf_io::{Input, Kind};
use tempfile::TempDir;

/// The folder of datasets written by Madagascar.
pub fn data() -> PathBuf {
    checkout("tests/data/rsf")
}

/// The path of the probe.
pub fn place() -> PathBuf {
    program(env!("CARGO_BIN_EXE_rsf-probe"))
}

/// The probe as a command, without the environment variables that affect it.
pub fn probe(dir: &Path) -> Command {
    let mut command = Command::new(place());
    command
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("DATAPATH")
        .env_remove("RSF_STRICT");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A scratch folder in which the probe runs.
pub struct Scratch {
    dir: TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.file(name)).unwrap()).into_owned()
    }

    /// Names of the files in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs the probe with arguments, and bytes on standard input through a pipe; its outputs are pipes, too.
    pub fn pipe(&self, words: &[&str], input: &[u8]) -> Output {
        let mut child = probe(self.path())
            .args(words)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // The child may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// Runs a shell line in which `probe` is the program.
    pub fn shell(&self, line: &str) -> Output {
        let script = format!("probe() {{ \"{}\" \"$@\"; }}\n{line}", place().display());
        Command::new("sh")
            .args(["-c", &script])
            .current_dir(self.path())
            .env("HOME", self.path())
            .env_remove("DATAPATH")
            .env_remove("RSF_STRICT")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Opens a dataset in the folder.
    #[track_caller]
    pub fn open(&self, name: &str) -> Input {
        Input::open(&self.file(name)).unwrap()
    }

    /// The reals of a dataset in the folder.
    pub fn reals(&self, name: &str) -> Vec<f32> {
        Input::open(&self.file(name)).unwrap().read_all_f32().unwrap()
    }
}

/// Elements of any type as pairs of numbers.
pub fn numbers(input: &mut Input) -> Vec<[f64; 2]> {
    fn one<T: Into<f64>>(values: Vec<T>) -> Vec<[f64; 2]> {
        values.into_iter().map(|v| [v.into(), 0.0]).collect()
    }
    match input.format().kind {
        Kind::Float => one(input.read_all::<f32>().unwrap()),
        Kind::Int => one(input.read_all::<i32>().unwrap()),
        Kind::Short => one(input.read_all::<i16>().unwrap()),
        Kind::Double => one(input.read_all::<f64>().unwrap()),
        Kind::Uchar | Kind::Char => one(input.read_all::<u8>().unwrap()),
        Kind::Long => input
            .read_all::<i64>()
            .unwrap()
            .into_iter()
            .map(|v| [v as f64, 0.0])
            .collect(),
        Kind::Complex => input
            .read_all::<[f32; 2]>()
            .unwrap()
            .into_iter()
            .map(|v| v.map(f64::from))
            .collect(),
    }
}

pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Checks success, and returns the messages.
#[track_caller]
pub fn succeeded(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    err(output)
}

/// Checks that a program has failed: exit code 1, and one line on standard error that begins with its name.
#[track_caller]
pub fn failed(output: &Output) -> String {
    let text = err(output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("rsf-probe: ") && text.ends_with('\n'), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}
