//! Linear operators that are separate programs. With `adj=n` a program reads a model from standard input and writes
//! data to standard output; with `adj=y` it reads data and writes a model.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Input, Job, Kind, Output};

use super::cube::{self, PIECE};

/// A program with its arguments.
pub struct Operator {
    program: OsString,
    words: Vec<OsString>,
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
        refuse_without_adj(program, words)?;
        let keys = job.keys().iter().filter(|(key, _)| key != "adj");
        let keys = keys.map(|(key, value)| {
            let mut word = OsString::from(format!("{key}="));
            word.push(value);
            word
        });
        Ok(Self {
            program: program.clone(),
            words: words.iter().cloned().chain(keys).collect(),
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
                    Ok(()) => take(input),
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
    /// The name with `sf` before it, if a program of that name is on PATH.
    fn full_name(&self) -> Option<String> {
        let full = format!("sf{}", self.program.to_str()?);
        let folders = std::env::var_os("PATH")?;
        let is_there = std::env::split_paths(&folders).any(|folder| folder.join(&full).is_file());
        is_there.then_some(full)
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

/// Checks that a program of the suite, named without a folder, has `adj=`. Without this parameter both calls
/// would do the same.
fn refuse_without_adj(program: &OsString, words: &[OsString]) -> Result<()> {
    let name = program.to_string_lossy();
    let name = match (name.as_ref(), words.first()) {
        ("sfbasics", Some(word)) => word.to_string_lossy(),
        _ => name,
    };
    ensure!(
        has_adjoint(&name) != Some(false),
        "{name} has no parameter adj=, so it is not a linear operator with an adjoint"
    );
    Ok(())
}

/// Whether a program has `adj=`; `None` if it is not a program of the suite, all of which describe their parameters.
fn has_adjoint(name: &str) -> Option<bool> {
    if let Some((known, _)) = crate::find(name) {
        return Some(known.params.iter().any(|param| param.name == "adj"));
    }
    if !name.starts_with("sf") {
        return None;
    }
    let mut command = Command::new(name);
    let command = command.arg("--sfdoc").stdin(Stdio::null()).stderr(Stdio::null());
    let documentation: serde_json::Value = serde_json::from_slice(&command.output().ok()?.stdout).ok()?;
    let mut params = documentation.get("params")?.as_array()?.iter();
    Some(params.any(|param| param["name"] == "adj"))
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
