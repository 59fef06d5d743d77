//! A minimal reader, writer and runner for these tests, independent of the library under test.

use crate::built::{checkout, program};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Header text and values of a dataset with its data after the header.
pub struct Dataset {
    pub header: String,
    pub values: Vec<f32>,
}

impl Dataset {
    pub fn parse(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(3)
            .position(|w| w == [0x0C, 0x0C, 0x04])
            .expect("an end of the header");
        let header = String::from_utf8(bytes[..end].to_vec()).expect("a text header");
        let values = bytes[end + 3..].as_chunks::<4>().0;
        Self {
            header,
            values: values.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        }
    }

    /// The last value of a key.
    pub fn key(&self, key: &str) -> Option<&str> {
        let words: Vec<&str> = self.header.split_whitespace().collect();
        words
            .into_iter()
            .rev()
            .find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
    }

    pub fn int(&self, key: &str) -> usize {
        self.key(key).map_or(1, |v| v.parse().expect("a whole number"))
    }

    /// Plane `i` of `count` along the last axis.
    pub fn plane(&self, i: usize, count: usize) -> &[f32] {
        let n = self.values.len() / count;
        &self.values[i * n..(i + 1) * n]
    }
}

/// Folder of the stored planes.
pub fn data() -> PathBuf {
    checkout("tests/data/stiff")
}

/// A stored dataset.
pub fn stored(name: &str) -> Dataset {
    Dataset::parse(&std::fs::read(data().join(format!("{name}.rsf"))).expect("a stored dataset"))
}

/// The bytes of a dataset on the grid of `n`, with spacing 1 and origin 0.
pub fn dataset(n: &[usize], values: &[f32]) -> Vec<u8> {
    assert_eq!(n.iter().product::<usize>(), values.len());
    let axes: String = n
        .iter()
        .enumerate()
        .map(|(i, n)| format!("\tn{0}={n}\n\to{0}=0\n\td{0}=1\n", i + 1))
        .collect();
    let mut bytes =
        format!("{axes}\tdata_format=\"native_float\"\n\tesize=4\n\tin=\"stdin\"\n\n").into_bytes();
    bytes.extend([0x0C, 0x0C, 0x04]);
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Runs the program in the folder of the stored planes with the arguments `words` (split at blanks) and the bytes
/// `stdin` on standard input.
pub fn run(words: &str, stdin: Option<Vec<u8>>) -> Outcome {
    let mut child = Command::new(program(env!("CARGO_BIN_EXE_sfstiffness")))
        .args(words.split_whitespace())
        .current_dir(data())
        .stdin(if stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let feeder = stdin.map(|bytes| {
        let mut pipe = child.stdin.take().expect("a pipe");
        // A program that stops early closes the pipe; the test checks its message.
        std::thread::spawn(move || drop(std::io::Write::write_all(&mut pipe, &bytes)))
    });
    let output = child.wait_with_output().expect("the program ends");
    feeder
        .into_iter()
        .for_each(|f| f.join().expect("the feeder ends"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Outcome {
        code: output.status.code(),
        stdout: output.stdout,
        stderr,
    }
}

/// The planes of a run that must succeed without any message.
pub fn planes(words: &str) -> Dataset {
    let outcome = run(words, None);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{words}");
    Dataset::parse(&outcome.stdout)
}
