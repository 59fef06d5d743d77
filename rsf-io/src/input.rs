//! A dataset that is read: its header, and its elements either as one forward stream or by position.

mod data_file;
mod flaws;
mod foreign;
mod spool;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

pub use self::data_file::{DataFile, data_file};
use self::data_file::{near, open_data};
use crate::ascii::{Scan, Scanner};
use crate::data::{Complex, Element, Form, Format, Kind};
use crate::file_id::{FileId, file_id};
use crate::{Axis, Error, Header, Result};

/// The number of bytes that are read (and swapped, for xdr) at a time.
const PIECE: usize = 1 << 20;

/// Requests of at least this many bytes are read directly into the caller's memory.
const DIRECT: usize = 1 << 16;

/// The value of a parameter that is a number or a file.
#[derive(Debug)]
pub enum NumberOrFile {
    /// A number, given on the command line or by default.
    Number(f32),
    /// The dataset of the file that was named.
    File(Input),
}

/// How to treat data that end earlier than their header says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Cut {
    /// Truncated data are refused.
    #[default]
    Refused,
    /// The complete records along the last axis that has complete records are read.
    Records,
    /// The complete records along this axis are read, even if there are none.
    Along(usize),
}

/// An open dataset.
///
/// Elements come in file order, axis 1 fastest. Opening checks that the type is known, that the number of bytes fits
/// into 64 bits, and that a regular data file of binary numbers is long enough.
#[derive(Debug)]
pub struct Input {
    header: Arc<Header>,
    name: String,
    data: String,
    format: Format,
    len: u64,
    reader: BufReader<File>,
    scanner: Scanner,
    /// The byte at which the first element begins, if elements can be read by position.
    start: Option<u64>,
    pos: u64,
    noted: Box<Noted>,
}

/// Facts that are noted when an input is opened, and seldom needed.
#[derive(Debug)]
struct Noted {
    /// Identities of the header file and the data file.
    ids: Vec<FileId>,
    /// Warnings about flaws of the data that do not prevent reading.
    flaws: Vec<String>,
}

impl Input {
    /// Opens the header file `path` and the data file that it names. A relative name is looked up in the
    /// current directory and in the header's directory.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_as(path.display().to_string(), path, Cut::Refused)
    }

    /// Like [`Input::open`], with the name that messages use.
    pub(crate) fn open_as(name: String, path: &Path, cut: Cut) -> Result<Self> {
        let file = open_file(path, &format!("{name}{}", near(path)), "an RSF file")?;
        let reader = BufReader::with_capacity(PIECE, file);
        Self::from_reader(name, reader, Some(path), cut)
    }

    /// Reads a dataset whose header starts at the reader's position; `path` is the name of its file, if it has one.
    pub(crate) fn from_reader(
        name: String,
        mut reader: BufReader<File>,
        path: Option<&Path>,
        cut: Cut,
    ) -> Result<Self> {
        let at = |error: Error| Error::new(format!("{name}: {error}"));
        let mut ids = file_id(reader.get_ref()).into_iter().collect::<Vec<_>>();
        if let Some(message) = foreign::message(peek(&mut reader).map_err(at)?, path) {
            return Err(at(Error::new(message)));
        }
        let mut header = Header::read(&mut reader).map_err(at)?;
        header.path = path.map(Path::to_path_buf);
        if header.is_empty() && !header.is_inline() {
            return Err(at(Error::new(foreign::emptied(&ids))));
        }
        let len = header.elements().map_err(at)?;
        let format = header.format().map_err(at)?;
        let mut flaws = Vec::new();
        let data = match header.path("in") {
            None => return Err(at(Error::new("no in= in the header, so there are no data"))),
            Some(path) if path.as_os_str() == "stdin" => {
                if !header.is_inline() {
                    return Err(at(Error::new(
                        "in=\"stdin\" in the header, but no data follow it",
                    )));
                }
                name.clone()
            }
            Some(data) => {
                let data_file = open_data(&data, path, &header).map_err(at)?;
                let shown = data_file.shown();
                ids.extend(file_id(&data_file.file));
                flaws.extend(data_file.doubt.map(|doubt| format!("{name}: {doubt}")));
                reader = BufReader::with_capacity(PIECE, data_file.file);
                shown
            }
        };
        let mut input = Self {
            header: Arc::new(header),
            name,
            data,
            format,
            len,
            reader,
            scanner: Scanner::default(),
            start: None,
            pos: 0,
            noted: Box::new(Noted { ids, flaws }),
        };
        input.compare_sizes();
        input.measure(cut)?;
        Ok(input)
    }

    /// The header. If the data are cut short, it has the length that is read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn shared_header(&self) -> Arc<Header> {
        Arc::clone(&self.header)
    }

    pub(crate) fn ids(&self) -> &[FileId] {
        &self.noted.ids
    }

    /// Warnings about flaws of the data that do not prevent reading, one message per flaw.
    pub(crate) fn flaws(&self) -> &[String] {
        &self.noted.flaws
    }

    /// Name for messages: `ccc=stiff.rsf` or `standard input`.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// The name of the file that contains the elements, or the name of the dataset if they follow the header.
    pub fn data_name(&self) -> &str {
        &self.data
    }

    /// Axis `i`, counted from 1; one sample at 0 if the header lacks it.
    pub fn axis(&self, i: usize) -> Axis {
        self.header.axis(i)
    }

    /// The index of the last axis longer than 1; 1 if there is none.
    pub fn rank(&self) -> usize {
        self.header.rank()
    }

    /// The axes with several samples, as their number and their length; axes of one sample do not change the order of
    /// the elements.
    pub fn long_axes(&self) -> Vec<(usize, usize)> {
        let axes = (1..=self.rank()).map(|number| (number, self.axis(number).n));
        axes.filter(|(_, n)| *n > 1).collect()
    }

    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for a dataset without elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of elements that have not been read yet.
    pub fn remaining(&self) -> u64 {
        self.len - self.pos
    }

    /// Form and type.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Reads the next elements, exactly as many as `out` holds.
    /// Returns an error for another type, or for fewer elements than requested (the message gives the first
    /// missing one).
    pub fn read<T: Element>(&mut self, out: &mut [T]) -> Result<()> {
        self.check::<T>(self.pos, out.len())?;
        if !self.format.is_binary() {
            return self.read_text(out);
        }
        for piece in out.chunks_mut(PIECE / size_of::<T>()) {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(piece);
            let got = fill(&mut self.reader, bytes).map_err(|e| self.unreadable(e))?;
            if got < bytes.len() {
                return Err(self.missing(self.pos + (got / size_of::<T>()) as u64));
            }
            self.pos += piece.len() as u64;
            if self.format.form == Form::Xdr {
                T::swap(piece);
            }
        }
        Ok(())
    }

    fn read_text<T: Element>(&mut self, out: &mut [T]) -> Result<()> {
        for item in out {
            match self
                .scanner
                .next(&mut self.reader)
                .map_err(|e| self.unreadable(e))?
            {
                Scan::Value(value) => *item = value,
                Scan::End => return Err(self.missing(self.pos)),
                Scan::Bad(word) => {
                    return Err(Error::new(format!(
                        "{}: element {} of {} is `{word}`, which is not of type {}",
                        self.name,
                        self.pos + 1,
                        self.len,
                        self.format.kind.word()
                    )));
                }
            }
            self.pos += 1;
        }
        Ok(())
    }

    /// Reads reals.
    pub fn read_f32(&mut self, out: &mut [f32]) -> Result<()> {
        self.read(out)
    }

    /// Reads integers.
    pub fn read_i32(&mut self, out: &mut [i32]) -> Result<()> {
        self.read(out)
    }

    /// Reads complex numbers.
    pub fn read_complex(&mut self, out: &mut [Complex]) -> Result<()> {
        self.read(out)
    }

    /// Reads bytes (types uchar and char).
    pub fn read_bytes(&mut self, out: &mut [u8]) -> Result<()> {
        self.read(out)
    }

    /// All remaining elements. From a pipe, memory grows with the data that arrive, so that a wrong header causes an
    /// error and does not exhaust the memory of the machine.
    pub fn read_all<T: Element>(&mut self) -> Result<Vec<T>> {
        let ahead = if self.is_seekable() {
            u64::MAX
        } else {
            (16 * PIECE / size_of::<T>()) as u64
        };
        let mut all: Vec<T> = Vec::new();
        while self.remaining() > 0 {
            let more = usize::try_from(self.remaining().min(ahead)).unwrap_or(usize::MAX);
            let done = all.len();
            all.try_reserve(more).map_err(|_| {
                Error::new(format!(
                    "{}: no memory for {} elements of {} bytes",
                    self.name,
                    self.len,
                    size_of::<T>()
                ))
            })?;
            all.resize(done + more, T::zeroed());
            self.read(&mut all[done..])?;
        }
        Ok(all)
    }

    /// All remaining reals.
    pub fn read_all_f32(&mut self) -> Result<Vec<f32>> {
        self.read_all()
    }

    /// Skips the next `elements` elements.
    /// Returns an error if fewer are left, or if they cannot be read.
    pub fn skip(&mut self, elements: u64) -> Result<()> {
        if elements > self.remaining() {
            return Err(self.beyond(self.pos, elements));
        }
        if self.start.is_some() {
            // The length was checked at opening, so the product fits.
            let bytes = elements * self.format.kind.size() as u64;
            self.reader
                .seek_relative(bytes as i64)
                .map_err(|e| self.unreadable(e))?;
            self.pos += elements;
            return Ok(());
        }
        match self.format.kind {
            Kind::Float => self.discard::<f32>(elements),
            Kind::Int => self.discard::<i32>(elements),
            Kind::Complex => self.discard::<Complex>(elements),
            Kind::Uchar | Kind::Char => self.discard::<u8>(elements),
            Kind::Short => self.discard::<i16>(elements),
            Kind::Long => self.discard::<i64>(elements),
            Kind::Double => self.discard::<f64>(elements),
        }
    }

    fn discard<T: Element>(&mut self, mut elements: u64) -> Result<()> {
        let mut bin = vec![T::zeroed(); elements.min((DIRECT / size_of::<T>()) as u64) as usize];
        while elements > 0 {
            let now = elements.min(bin.len() as u64);
            self.read(&mut bin[..now as usize])?;
            elements -= now;
        }
        Ok(())
    }

    /// True when elements can be read by position: binary numbers in a regular file.
    pub fn is_seekable(&self) -> bool {
        self.start.is_some()
    }

    /// Reads elements from number `offset` on without moving the stream, so that threads may share the input.
    /// Returns an error for an input that is not seekable, a different type, elements beyond the end, or a file
    /// that has become shorter (the first missing element is named).
    pub fn read_at<T: Element>(&self, offset: u64, out: &mut [T]) -> Result<()> {
        let Some(start) = self.start else {
            return Err(Error::new(format!(
                "{}: is not a file of binary numbers, so its elements can only be read in order",
                self.name
            )));
        };
        self.check::<T>(offset, out.len())?;
        let mut at = start + offset * size_of::<T>() as u64;
        for piece in out.chunks_mut(PIECE / size_of::<T>()) {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(piece);
            let got = fill_at(self.reader.get_ref(), bytes, at).map_err(|e| self.unreadable(e))?;
            if got < bytes.len() {
                return Err(self.missing((at - start + got as u64) / size_of::<T>() as u64));
            }
            at += bytes.len() as u64;
            if self.format.form == Form::Xdr {
                T::swap(piece);
            }
        }
        Ok(())
    }

    /// Reads reals from number `offset` on; see [`Input::read_at`].
    pub fn read_f32_at(&self, offset: u64, out: &mut [f32]) -> Result<()> {
        self.read_at(offset, out)
    }

    fn check<T: Element>(&self, offset: u64, count: usize) -> Result<()> {
        if !T::accepts(self.format.kind) {
            return Err(Error::new(format!(
                "{} holds {} data, but {} data are needed ({})",
                self.name,
                self.format.kind.word(),
                T::KIND.word(),
                self.format.kind.to(T::KIND)
            )));
        }
        if self.format.form == Form::Xdr && matches!(self.format.kind, Kind::Long | Kind::Double) {
            return Err(Error::new(format!(
                "{}: {} is not supported; xdr holds float, int, complex, short and bytes",
                self.name, self.format
            )));
        }
        if count as u64 > self.len.saturating_sub(offset) {
            return Err(self.beyond(offset, count as u64));
        }
        Ok(())
    }

    fn beyond(&self, offset: u64, count: u64) -> Error {
        Error::new(format!(
            "{}: {count} elements from number {} on were requested, but the header gives {} ({})",
            self.name,
            offset.saturating_add(1),
            self.len,
            self.header.sizes()
        ))
    }

    fn missing(&self, element: u64) -> Error {
        let place = if self.data == self.name {
            String::new()
        } else {
            format!(" in {}", self.data)
        };
        Error::new(format!(
            "{}: the data end before element {} of {}{place} ({})",
            self.name,
            element + 1,
            self.len,
            self.header.sizes()
        ))
    }

    fn unreadable(&self, cause: io::Error) -> Error {
        Error::os(format!("{}: cannot read {}", self.name, self.data), cause)
    }
}

/// Opens a file for reading. A directory is refused, with a message that gives `expected` as the expected kind of file.
pub(crate) fn open_file(path: &Path, name: &str, expected: &str) -> Result<File> {
    let file = File::open(path).map_err(|e| Error::os(format!("cannot read {name}"), e))?;
    match file.metadata() {
        Ok(meta) if meta.is_dir() => Err(Error::new(format!(
            "cannot read {name}: it is a directory; {expected} was expected"
        ))),
        _ => Ok(file),
    }
}

/// The bytes in a reader's buffer, which is filled if it is empty; on a pipe the call blocks until the first bytes
/// arrive.
fn peek(reader: &mut BufReader<File>) -> Result<&[u8]> {
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::os("cannot read the header", error)),
            Ok(_) => return Ok(reader.buffer()),
        }
    }
}

/// Fills `out` from byte `at` on, as far as the file reaches; returns the number of bytes read.
fn fill_at(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < out.len() {
        match file.read_at(&mut out[got..], at + got as u64) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// Fills `out` as far as the stream reaches; returns the number of bytes read.
fn fill(reader: &mut BufReader<File>, out: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < out.len() {
        let rest = &mut out[got..];
        // With an empty buffer the file can be read directly.
        let read = if reader.buffer().is_empty() && rest.len() >= DIRECT {
            reader.get_mut().read(rest)
        } else {
            reader.fill_buf().map(|held| {
                let count = held.len().min(rest.len());
                rest[..count].copy_from_slice(&held[..count]);
                count
            })
        };
        match read {
            Ok(0) => break,
            Ok(count) if reader.buffer().is_empty() => got += count,
            Ok(count) => {
                reader.consume(count);
                got += count;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
