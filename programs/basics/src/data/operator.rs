//! Linear operators that are separate programs. With `adj=n` a program reads a model from standard input and writes
//! data to standard output; with `adj=y` it reads data and writes a model.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis, Input, Job, Kind, Output};

use super::cube::{self, PIECE};

/// A program with its arguments.
pub struct Operator {
    program: OsString,
    words: Vec<OsString>,
    /// Whether the program can write data at times other than those of its steps, by `dtout=`.
    resamples: bool,
    /// Warnings of earlier calls, which are not shown again.
    warned: Mutex<BTreeSet<Vec<u8>>>,
}

impl Operator {
    /// The program that the command line names.
    pub fn of(job: &Job) -> Result<Self> {
        let Some((program, words)) = job.words().split_first() else {
            bail!(
                "no program is named; give the operator and its parameters: {} PROGRAM key=value ...",
                job.program()
            );
        };
        let name = described(program, words);
        ensure!(
            has(&name, "adj") != Some(false),
            "{name} has no parameter adj=, so it is not a linear operator with an adjoint"
        );
        let keys = job.keys().iter().filter(|(key, _)| key != "adj");
        let keys = keys.map(|(key, value)| {
            let mut word = OsString::from(format!("{key}="));
            word.push(value);
            word
        });
        Ok(Self {
            program: program.clone(),
            words: words.iter().cloned().chain(keys).collect(),
            resamples: has(&name, "dtout") == Some(true),
            warned: Mutex::default(),
        })
    }

    /// Applies the operator, or its adjoint: `give` writes the input, a dataset with the axes of `from`, and `take`
    /// reads the output, which must have as many elements as `to`.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started, fails, does not read its whole input, or writes a
    /// dataset of another type or size.
    pub fn apply<R>(
        &self,
        job: &mut Job,
        adjoint: bool,
        (from, give): (&Input, impl FnOnce(&mut Output) -> Result<()> + Send),
        (to, take): (&Input, impl FnOnce(Input) -> Result<R>),
    ) -> Result<R> {
        let name = self.program.to_string_lossy().into_owned();
        let adj = if adjoint { "adj=y" } else { "adj=n" };
        let child = Command::new(&self.program)
            .args(&self.words)
            .arg(adj)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.with_context(|| match self.full_name() {
            Some(full) => format!("cannot start {name} (did you mean {full} ?)"),
            None => format!("cannot start {name}"),
        })?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.context("no pipe")?;
        let stderr = child.stderr.take();
        job.follow(from);
        let mut output = job.output_into(&format!("standard input of {name}"), stdin)?;
        let shown = format!("standard output of {name} {adj}");
        let mut fits = true;
        let (given, taken) = thread::scope(|scope| {
            scope.spawn(move || stderr.map(|stderr| self.show(stderr)));
            let writer = scope.spawn(move || {
                give(&mut output)?;
                Ok(output.finish()?)
            });
            let taken = match job.input_from(&shown, stdout) {
                Ok(input) => match expect(&input, to.len(), &to.name()) {
                    Ok(()) => {
                        if !adjoint {
                            self.compare_axes(job, &input, to);
                        }
                        take(input)
                    }
                    Err(error) => {
                        // The program is killed before its output closes; otherwise its message about a closed pipe
                        // would hide the reason.
                        fits = child.kill().is_err();
                        Err(error)
                    }
                },
                Err(error) => Err(error.into()),
            };
            let given: Result<()> = writer.join().unwrap_or_else(|_| bail!("a thread has failed"));
            (given, taken)
        });
        let status = child.wait().with_context(|| name.clone())?;
        // A program that failed has printed the reason; errors of its pipes are only a consequence.
        ensure!(
            !fits || status.success(),
            "{name} {adj} failed with {status}; its message is above. A linear operator must accept adj=, \
            read standard input and write standard output"
        );
        let taken = taken?;
        ensure!(
            given.is_ok(),
            "{name} {adj} did not read its whole input: {} has {} elements ({}), but the operator takes fewer (its own \
parameters, such as shots=, may say how many)",
            from.name(),
            from.len(),
            from.header().sizes()
        );
        Ok(taken)
    }
}

impl Operator {
    /// The name with `sf` before it or `-gpu` after it, if a program of that name is on PATH.
    fn full_name(&self) -> Option<String> {
        let name = self.program.to_str()?;
        let folders = std::env::var_os("PATH")?;
        let is_there =
            |full: &String| std::env::split_paths(&folders).any(|folder| folder.join(full).is_file());
        [
            format!("sf{name}"),
            format!("{name}-gpu"),
            format!("sf{name}-gpu"),
        ]
        .into_iter()
        .find(is_there)
    }

    /// Warns, once, if the data that the program writes have axes that differ from those of the data that its adjoint
    /// reads.
    fn compare_axes(&self, job: &Job, written: &Input, data: &Input) {
        let differ = different_axes(written, data);
        if differ.is_empty() {
            return;
        }
        let words = |input: &Input| -> String {
            let words = differ.iter().map(|&i| {
                let (a, b) = (input.axis(i), (written.axis(i).n, data.axis(i).n));
                let length = if b.0 == b.1 {
                    String::new()
                } else {
                    format!("n{i}={} ", a.n)
                };
                format!("{length}o{i}={} d{i}={}", a.o, a.d)
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let remedy = match self.resamples {
            true => {
                "dtout= makes the operator write data at the times 0, dtout, 2 dtout and so on, and sfput corrects a header"
            }
            false => "sfput corrects a header",
        };
        let message = format!(
            "{} has {}, but {} has {}: an operator that takes its axes from the header, as modelling programs take \
            the times, then reads data at other times with adj=y than it writes with adj=n: dot products do not \
            agree, and residuals are wrong; make the axes equal ({remedy})",
            written.name(),
            words(written),
            data.name(),
            words(data)
        );
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(message.clone().into_bytes()) {
            job.warn(&message);
        }
    }

    /// Passes on the standard error of the program line by line, and each warning only once, however often
    /// the program is called.
    fn show(&self, stderr: impl Read) {
        let mut lines = BufReader::new(stderr);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let is_warning = line.windows(9).any(|part| part == b"warning: ");
            let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_warning || warned.insert(line.clone()) {
                // A closed standard error must not stop the program.
                let _ = std::io::stderr().lock().write_all(&line);
            }
            line.clear();
        }
    }
}

/// The name under which a program of the suite describes its parameters.
fn described(program: &OsString, words: &[OsString]) -> String {
    match (program.to_string_lossy(), words.first()) {
        (name, Some(word)) if name == "sfbasics" => word.to_string_lossy().into_owned(),
        (name, _) => name.into_owned(),
    }
}

/// Whether a program, named without a folder, has a parameter; `None` if it is not a program of the suite, all of which
/// describe their parameters. Without `adj=` both calls would do the same.
fn has(name: &str, parameter: &str) -> Option<bool> {
    if let Some((known, _)) = crate::find(name) {
        return Some(known.params.iter().any(|param| param.name == parameter));
    }
    if !name.starts_with("sf") {
        return None;
    }
    let mut command = Command::new(name);
    let command = command.arg("--sfdoc").stdin(Stdio::null()).stderr(Stdio::null());
    let documentation: serde_json::Value = serde_json::from_slice(&command.output().ok()?.stdout).ok()?;
    let mut params = documentation.get("params")?.as_array()?.iter();
    Some(params.any(|param| param["name"] == parameter))
}

/// The numbers of the axes in which two datasets differ. Axes that have neither a unit nor a sampling do not count as
/// different if their lengths agree, because they only number their samples.
fn different_axes(written: &Input, data: &Input) -> Vec<usize> {
    let numbers = |axis: &Axis| axis.unit.is_none() && axis.d == 1.0 && (axis.o == 0.0 || axis.o == 1.0);
    let differ = |i: &usize| {
        let (a, b) = (written.axis(*i), data.axis(*i));
        let steps = a.n.saturating_sub(1) as f32;
        // The ends of both axes may differ by the rounding of d to single precision.
        let apart = (a.o - b.o).abs().max((a.o - b.o + steps * (a.d - b.d)).abs());
        a.n != b.n || a.n > 1 && !numbers(&a) && apart > 0.02 * a.d.abs()
    };
    (1..=written.rank().max(data.rank())).filter(differ).collect()
}

/// Checks that a dataset contains floats and as many elements as `like`.
pub fn expect(input: &Input, elements: u64, like: &str) -> Result<()> {
    cube::expect(input, Kind::Float)?;
    same_length(input, elements, like)
}

/// Checks that a dataset has as many elements as `like` has.
pub fn same_length(input: &Input, elements: u64, like: &str) -> Result<()> {
    ensure!(
        input.len() == elements,
        "{} has {} elements, but {like} has {elements}: both must have the same number",
        input.name(),
        input.len()
    );
    Ok(())
}

/// Passes the remaining elements to `visit` in pieces.
pub fn pieces(input: &mut Input, mut visit: impl FnMut(&[f32])) -> Result<()> {
    let mut buffer = vec![0.0; input.remaining().min(PIECE as u64) as usize];
    while input.remaining() > 0 {
        let now = input.remaining().min(buffer.len() as u64) as usize;
        input.read(&mut buffer[..now])?;
        visit(&buffer[..now]);
    }
    Ok(())
}
