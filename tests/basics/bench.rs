//! A scratch folder in which every program of `sfbasics` is called by its own name.

use std::os::unix::fs::symlink;

use rsf_io::{Axis, Complex, Element, Input, TERMINATOR};

use crate::desk::{Desk, Outcome, built};

/// The folder, with links to the programs in `bin`.
pub struct Bench {
    desk: Desk,
}

impl Bench {
    pub fn new() -> Self {
        let desk = Desk::new();
        std::fs::create_dir(desk.path("bin")).unwrap();
        let binary = built::program(env!("CARGO_BIN_EXE_sfbasics"));
        for (program, _) in basics::programs() {
            symlink(&binary, desk.path("bin").join(program.name)).unwrap();
        }
        Self { desk }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.desk.path(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.desk.put(name, bytes);
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Writes a dataset in one file, with axes of these lengths, each with its own origin, step and label.
    pub fn dataset(&self, name: &str, lengths: &[usize], values: &[f32]) {
        let axes = lengths.iter().enumerate().map(|(i, n)| {
            let i = i + 1;
            format!(
                "n{i}={n} o{i}={} d{i}={} label{i}=axis{i} unit{i}=u{i}\n",
                10 * i,
                0.5 * i as f32
            )
        });
        self.raw(name, &axes.collect::<String>(), "native_float", values);
    }

    /// Writes a dataset of any type in one file.
    pub fn raw<T: Element>(&self, name: &str, header: &str, format: &str, values: &[T]) {
        let mut bytes = format!(
            "{header}\ndata_format=\"{format}\" esize={} in=\"stdin\"\n",
            size_of::<T>()
        )
        .into_bytes();
        bytes.extend_from_slice(&TERMINATOR);
        for value in values {
            bytes.extend_from_slice(bytemuck::bytes_of(value));
        }
        self.put(name, bytes);
    }

    /// Runs a shell line in which every command must succeed, and returns its standard output.
    #[track_caller]
    pub fn run(&self, line: &str) -> String {
        let Outcome { code, out, err } = self.sh(&format!("set -e; {line}"));
        assert_eq!(code, 0, "{line}: {err}");
        out
    }

    /// Runs a shell line in which every command must succeed, and returns its standard error.
    #[track_caller]
    pub fn messages(&self, line: &str) -> String {
        let Outcome { code, err, .. } = self.sh(&format!("set -e; {line}"));
        assert_eq!(code, 0, "{line}: {err}");
        err
    }

    /// Runs a shell line.
    pub fn sh(&self, line: &str) -> Outcome {
        self.desk.sh(&format!("PATH=\"$PWD/bin:$PATH\"; {line}"))
    }

    /// Runs a shell line that must fail with a single error message of the program, and returns the message.
    #[track_caller]
    pub fn refused(&self, line: &str) -> String {
        let Outcome { code, err, .. } = self.sh(line);
        assert_eq!(code, 1, "{line}: {err}");
        let sentences: Vec<&str> = err.lines().filter(|text| !text.contains("warning:")).collect();
        assert_eq!(sentences.len(), 1, "{line}: {err}");
        assert!(sentences[0].starts_with("sf"), "{line}: {err}");
        sentences[0].to_string()
    }

    pub fn open(&self, name: &str) -> Input {
        self.desk.open(name)
    }

    pub fn reals(&self, name: &str) -> Vec<f32> {
        self.open(name).read_all().unwrap()
    }

    pub fn complex(&self, name: &str) -> Vec<Complex> {
        self.open(name).read_all().unwrap()
    }

    pub fn axes(&self, name: &str, rank: usize) -> Vec<Axis> {
        self.desk.axes(name, rank)
    }

    pub fn lengths(&self, name: &str, rank: usize) -> Vec<usize> {
        self.axes(name, rank).into_iter().map(|axis| axis.n).collect()
    }
}

/// Values that differ for all elements.
pub fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 - 3.0) * 0.75).collect()
}

/// The indices along every axis of element `at`.
pub fn place(mut at: usize, lengths: &[usize]) -> Vec<usize> {
    lengths
        .iter()
        .map(|n| {
            let i = at % n;
            at /= n;
            i
        })
        .collect()
}

/// The number of the element with these indices.
pub fn element(place: &[usize], lengths: &[usize]) -> usize {
    place.iter().zip(lengths).rev().fold(0, |at, (i, n)| at * n + i)
}
