//! Reading of SEG-Y and SU from a file or a pipe.

use std::fs::File;
use std::io::{self, BufReader, Cursor, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::AsFd;

use anyhow::{Context, Result, bail, ensure};
use rsf_io::Job;

use super::BLOCK;

/// An open SEG-Y or SU file.
pub struct Tape {
    file: BufReader<File>,
    /// Bytes that were read ahead.
    held: Cursor<Vec<u8>>,
    /// The name for messages.
    pub name: String,
    /// The length of the file in bytes; `None` for a pipe.
    pub length: Option<u64>,
}

impl Tape {
    /// Opens the file that `tape=` names, or standard input.
    pub fn open(job: &mut Job) -> Result<Self> {
        let (file, name) = match job.text("tape")? {
            Some(path) => {
                let file = File::open(&path).with_context(|| format!("cannot read tape={path}"))?;
                (file, format!("tape={path}"))
            }
            None => {
                ensure!(
                    !io::stdin().is_terminal(),
                    "no file is given: name one by tape=file.sgy, or give one on standard input (< file.sgy)"
                );
                (
                    File::from(io::stdin().as_fd().try_clone_to_owned()?),
                    "standard input".into(),
                )
            }
        };
        let meta = file.metadata().with_context(|| format!("cannot read {name}"))?;
        ensure!(
            !meta.is_dir(),
            "{name} is a directory, but a SEG-Y or SU file was expected"
        );
        job.reads(&file, &name)?;
        let mut tape = Self {
            file: BufReader::with_capacity(BLOCK, file),
            held: Cursor::default(),
            name,
            length: meta.is_file().then_some(meta.len()),
        };
        if tape.length.is_some() {
            // A check for data on standard input may have moved the file position.
            tape.file.seek(SeekFrom::Start(0))?;
        }
        Ok(tape)
    }

    /// Fills `bytes`; `what` describes them for an error message.
    ///
    /// # Errors
    /// Returns an error if the file ends before that, or cannot be read.
    pub fn fill(&mut self, bytes: &mut [u8], what: &dyn Fn() -> String) -> Result<()> {
        match self.read_exact(bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                bail!(
                    "{}: the file ends before {}: it is not a complete SEG-Y or SU file",
                    self.name,
                    what()
                )
            }
            done => done.with_context(|| format!("{}: cannot read {}", self.name, what())),
        }
    }

    /// Skips bytes.
    pub fn pass(&mut self, bytes: u64) -> Result<()> {
        let held = self.held.get_ref().len() as u64 - self.held.position();
        let now = bytes.min(held);
        self.held.set_position(self.held.position() + now);
        let bytes = bytes - now;
        if self.length.is_some() {
            return Ok(self.file.seek_relative(bytes as i64)?);
        }
        let passed = io::copy(&mut (&mut self.file).take(bytes), &mut io::sink())?;
        ensure!(
            passed == bytes,
            "{} ends in the middle of a trace: the file is not complete",
            self.name
        );
        Ok(())
    }

    /// Returns up to `count` of the next bytes without consuming them.
    pub fn ahead(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(count);
        self.take(count as u64).read_to_end(&mut bytes)?;
        let mut held = bytes.clone();
        self.held.read_to_end(&mut held)?;
        self.held = Cursor::new(held);
        Ok(bytes)
    }
}

impl Read for Tape {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.held.read(bytes)? {
            0 => self.file.read(bytes),
            read => Ok(read),
        }
    }
}
