//! Input and output of a program that runs as several processes: one of them reads standard input for all,
//! and all of them write output.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, IsTerminal, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::data::{Element, Form};
use crate::job::Job;
use crate::output::Output;
use crate::place::Layout;
use crate::{Error, Header, Result, TERMINATOR};

/// How many numbers are byte-swapped at a time for xdr.
const PIECE: usize = 1 << 18;

/// The milliseconds without a new byte after which a header with a separate data file counts as complete:
/// first if `in=` is its last line, as programs write it, then if it is not, as in a header written by hand.
const SILENCE: [i32; 2] = [300, 3000];

/// Whether the bytes of a dataset received so far reach its end; `Perhaps` holds the milliseconds to wait for more.
enum End {
    Here,
    Perhaps(i32),
    Ahead,
}

fn end(bytes: &[u8]) -> End {
    let at = bytes.windows(TERMINATOR.len()).position(|w| w == TERMINATOR);
    let text = &bytes[..at.unwrap_or(bytes.len())];
    let Ok(header) = Header::parse(text) else {
        return End::Ahead;
    };
    match at {
        Some(at) => {
            let (Ok(elements), Ok(format)) = (header.elements(), header.format()) else {
                return End::Ahead;
            };
            let numbers = elements.saturating_mul(format.esize() as u64);
            let length = (at + TERMINATOR.len()) as u64 + numbers;
            if format.is_binary() && bytes.len() as u64 >= length {
                End::Here
            } else {
                End::Ahead
            }
        }
        // The history may contain in= of other files; the last one applies, and its file must exist.
        None if bytes.ends_with(b"\n") && header.path("in").is_some_and(|path| path.is_file()) => {
            let last = text
                .trim_ascii()
                .rsplit(|&byte| byte == b'\n')
                .next()
                .unwrap_or_default();
            let named = last.trim_ascii_start().starts_with(b"in=");
            End::Perhaps(SILENCE[usize::from(!named)])
        }
        None => End::Ahead,
    }
}

/// Waits until bytes or the end can be read; `false` after `patience` milliseconds (-1: waits forever).
fn readable(file: &File, patience: i32) -> std::io::Result<bool> {
    let mut one = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        // SAFETY: the pointer is to one structure, whose file is open.
        match unsafe { libc::poll(&mut one, 1, patience) } {
            0 => return Ok(false),
            1.. => return Ok(true),
            _ => {}
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

impl Job {
    /// The bytes of the dataset on standard input, header and data, to be sent to the other processes. The dataset ends
    /// with the stream or with the last number that the header counts. Some launchers do not pass on the end of a
    /// stream, so a header that names its data file also counts as complete when no more bytes arrive for a moment.
    ///
    /// # Errors
    /// Returns an error if standard input is a terminal or cannot be read.
    pub fn stdin_for_all(&mut self) -> Result<Vec<u8>> {
        let reader = self.take_stdin()?;
        if reader.get_ref().is_terminal() {
            return Err(Error::new(
                "standard input is a terminal: give an RSF file with < file.rsf",
            ));
        }
        let failed = |cause| Error::os("cannot read standard input", cause);
        let mut bytes = reader.buffer().to_vec();
        let mut file = reader.into_inner();
        let mut piece = vec![0; PIECE];
        loop {
            let patience = match end(&bytes) {
                End::Here => return Ok(bytes),
                End::Perhaps(silence) => silence,
                End::Ahead => -1,
            };
            if !readable(&file, patience).map_err(failed)? {
                return Ok(bytes);
            }
            match file.read(&mut piece) {
                Ok(0) => return Ok(bytes),
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Replaces the standard input of this process with bytes that another process has read from its own standard
    /// input.
    pub fn set_stdin(&mut self, bytes: &[u8]) -> Result<()> {
        let failed = |cause| Error::os("cannot keep what came on standard input", cause);
        let mut file = self.scratch()?;
        file.write_all(bytes)
            .and_then(|()| file.rewind())
            .map_err(failed)?;
        self.put_stdin(BufReader::new(file));
        Ok(())
    }
}

/// The data file of an output that several processes write, each at its own positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedData {
    path: PathBuf,
    form: Form,
}

impl Output {
    /// Writes the header of an output whose floats several processes will write by [`SharedData::open`].
    /// Returns `None`, without writing anything, for an output that must be written in order: a pipe, or
    /// numbers as text.
    pub fn share(&mut self) -> Result<Option<SharedData>> {
        let form = self.format().form;
        let path = match self.layout() {
            Layout::TwoFiles(path) if form != Form::Ascii => path.clone(),
            _ => return Ok(None),
        };
        self.begin_floats()?;
        // Other processes may have a different current folder.
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(Some(SharedData { path, form }))
    }
}

impl SharedData {
    /// The value as bytes, to be sent to another process.
    pub fn to_words(&self) -> Vec<u8> {
        let mut words = vec![u8::from(self.form == Form::Xdr)];
        words.extend(self.path.as_os_str().as_bytes());
        words
    }

    /// Reads the bytes of [`SharedData::to_words`]; `None` for no bytes.
    pub fn from_words(words: &[u8]) -> Option<Self> {
        let (&form, path) = words.split_first()?;
        Some(Self {
            path: PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())),
            form: if form == 1 { Form::Xdr } else { Form::Native },
        })
    }

    /// Opens the file that another process has made.
    pub fn open(&self) -> Result<Places> {
        let file = OpenOptions::new().write(true).open(&self.path);
        let file = file.map_err(|e| {
            Error::os(
                format!(
                    "cannot write data file {} (rank 0 created it; ranks on several hosts need a file system \
                    that all of them share, see datapath=)",
                    self.path.display()
                ),
                e,
            )
        })?;
        Ok(Places {
            file,
            shared: self.clone(),
        })
    }
}

/// An open data file, to which floats can be written at any position.
#[derive(Debug)]
pub struct Places {
    file: File,
    shared: SharedData,
}

impl Places {
    /// Writes floats from element `at` on, counted from 0.
    pub fn write_f32(&self, at: u64, values: &[f32]) -> Result<()> {
        let failed = |cause| Error::writing(&format!("data file {}", self.shared.path.display()), cause);
        if self.shared.form == Form::Native {
            let bytes = bytemuck::cast_slice(values);
            return self.file.write_all_at(bytes, 4 * at).map_err(failed);
        }
        for (k, piece) in values.chunks(PIECE).enumerate() {
            let mut turned = piece.to_vec();
            f32::swap(&mut turned);
            let place = 4 * (at + (k * PIECE) as u64);
            self.file
                .write_all_at(bytemuck::cast_slice(&turned), place)
                .map_err(failed)?;
        }
        Ok(())
    }

    /// A second handle to the file, for syncing it to disk.
    pub fn data_file(&self) -> Option<File> {
        self.file.try_clone().ok()
    }

    /// Closes the file.
    ///
    /// # Errors
    /// Returns the errors of the system when it closes the file, such as a full disk.
    pub fn finish(self) -> Result<()> {
        let name = format!("data file {}", self.shared.path.display());
        crate::files::close(self.file).map_err(|e| Error::writing(&name, e))
    }
}
