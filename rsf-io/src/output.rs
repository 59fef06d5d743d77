//! A dataset that is written: its header once, with the first element, then its elements as they are written.

mod axes;
mod continued;
mod disk;
mod early;
mod numbers;

pub use continued::Written;
use numbers::{write_ascii, write_xdr};

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::ascii;
use crate::banner::{banner, harmless};
use crate::data::{Complex, Element, Form, Format, Kind};
use crate::files::{close, remove};
use crate::header::TERMINATOR;
use crate::place::Layout;
use crate::{Error, Header, Result};

/// The number of bytes that are buffered before they are written, and that are swapped at a time for xdr.
const PIECE: usize = 1 << 20;

/// The arguments of [`Output::new`].
pub(crate) struct Parts {
    pub name: String,
    pub program: String,
    pub history: Vec<u8>,
    pub format: Format,
    pub layout: Layout,
    /// The header file, or the stream that holds both header and data.
    pub first: File,
    /// The data file, if it is not the header file.
    pub second: Option<File>,
    /// Files to remove if nothing is written.
    pub created: Vec<PathBuf>,
    pub dry: bool,
    /// Elements of an interrupted run, with which the dataset begins.
    pub before: Option<Written>,
}

/// A dataset being written. The header is written with the first element (or at the end, if there is none),
/// so keys must be set before; [`Output::finish`] ends the dataset.
///
/// An output that is dropped before its header was written removes the files that it created.
#[derive(Debug)]
#[must_use = "nothing is written before the first element or finish()"]
pub struct Output {
    name: String,
    program: String,
    history: Header,
    notes: Vec<String>,
    keys: Vec<(String, String)>,
    format: Format,
    layout: Layout,
    header_file: Option<File>,
    /// A second handle to the header file, for a line that is added at the end.
    header_again: Option<File>,
    data: Option<BufWriter<File>>,
    data_name: String,
    created: Vec<PathBuf>,
    dry: bool,
    begun: bool,
    late: Option<String>,
    declared: u64,
    written: u64,
    /// Whether the program breaks the lines of text data itself.
    own_lines: bool,
    before: Option<Written>,
    /// The number of bytes in the data file before the first element.
    start: u64,
}

impl Output {
    pub(crate) fn new(parts: Parts) -> Result<Self> {
        let data_name = match &parts.layout {
            Layout::Stream => parts.name.clone(),
            Layout::TwoFiles(path) => format!("data file {} of {}", path.display(), parts.name),
        };
        let (header_file, data) = match parts.second {
            Some(second) => (Some(parts.first), second),
            None => (None, parts.first),
        };
        Ok(Self {
            name: parts.name,
            program: parts.program,
            history: Header::parse(&parts.history)?,
            notes: Vec::new(),
            keys: Vec::new(),
            format: parts.format,
            layout: parts.layout,
            header_file,
            header_again: None,
            data: Some(BufWriter::with_capacity(PIECE, data)),
            data_name,
            created: parts.created,
            dry: parts.dry,
            begun: false,
            late: None,
            declared: 0,
            written: 0,
            own_lines: false,
            before: parts.before,
            start: 0,
        })
    }

    /// Name for messages: `wfl=snap.rsf` or `standard output`.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Puts a whole number into the header.
    pub fn put_int(&mut self, key: &str, value: i64) {
        self.put(key, value.to_string());
    }

    /// Puts a text into the header, in double quotes. The format has no escapes: a double quote in the text
    /// becomes a single one, and a line break becomes a blank.
    pub fn put_text(&mut self, key: &str, value: &str) {
        let text: String = value
            .chars()
            .map(|c| match c {
                '"' => '\'',
                c if c.is_control() => ' ',
                c => c,
            })
            .collect();
        self.put(key, format!("\"{text}\""));
    }

    /// Puts a value into the header exactly as given, quotes included. A value that would be split when it is
    /// read (because of blanks outside double quotes, or an open quote) is written as a quoted string.
    pub fn put_raw(&mut self, key: &str, value: &str) {
        let line = format!("k={value}");
        let whole = Header::parse(line.as_bytes());
        match whole.as_ref().ok().and_then(|header| header.raw("k")) {
            Some(read) if read == value.as_bytes() => self.put(key, value.to_string()),
            _ => self.put_text(key, value),
        }
    }

    /// Adds a line that sets no key to the history, after the banner: the version of the program and the
    /// device that made the data.
    pub fn put_note(&mut self, version: &str, device: &str) {
        self.notes.push(harmless(&format!("{version}\t{device}")));
    }

    fn put(&mut self, key: &str, value: String) {
        let key: String = key
            .chars()
            .map(|c| {
                if c.is_ascii_graphic() && c != '=' && c != '"' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        if self.begun {
            self.late.get_or_insert(key);
            return;
        }
        match self.keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.keys.push((key, value)),
        }
    }

    /// Form and type: taken from standard input if it was read, otherwise native float.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Changes form and type; it has no effect after the first element. The first write sets the type to that
    /// of its numbers, so that in most cases only the form matters.
    pub fn set_format(&mut self, format: Format) {
        if self.begun {
            self.late.get_or_insert("data_format".into());
        } else {
            self.format = format;
        }
    }

    /// Changes only the type; see [`Output::set_format`].
    pub fn set_kind(&mut self, kind: Kind) {
        self.set_format(Format { kind, ..self.format });
    }

    /// Writes the header if it is not yet written, and returns the number of elements that it declares.
    pub fn declared(&mut self) -> Result<u64> {
        if !self.begun {
            self.begin()?;
        }
        Ok(self.declared)
    }

    /// Writes `elements` elements that are already text, line breaks included; the first call writes the header.
    /// Returns an error for a form other than text, and the errors of [`Output::write`].
    pub fn write_text(&mut self, text: &[u8], elements: u64) -> Result<()> {
        if self.format.is_binary() {
            return Err(Error::new(format!(
                "{}: text cannot be written as {}",
                self.name, self.format
            )));
        }
        let left = self.declared()? - self.written;
        if elements > left {
            return Err(self.too_many(elements));
        }
        if let Some(data) = &mut self.data {
            data.write_all(text)
                .map_err(|e| Error::writing(&self.data_name, e))?;
        }
        self.written += elements;
        self.own_lines = true;
        Ok(())
    }

    fn too_many(&self, count: u64) -> Error {
        Error::new(format!(
            "{}: element {} is written, but the header says {}",
            self.name,
            self.written + count,
            self.declared
        ))
    }

    /// Writes elements; the first call writes the header. Returns an error for a type that differs from the previous
    /// one, more elements than the header says, a key set too late, and a failed write (a full disk, a closed pipe).
    pub fn write<T: Element>(&mut self, data: &[T]) -> Result<()> {
        if !self.begun {
            if !T::accepts(self.format.kind) {
                self.format.kind = T::KIND;
            }
            self.begin()?;
        }
        self.allow::<T>(data.len() as u64)?;
        let sink = self
            .data
            .as_mut()
            .ok_or_else(|| Error::new("the output is closed"))?;
        let done = match self.format.form {
            Form::Native => sink.write_all(bytemuck::cast_slice(data)),
            Form::Xdr => write_xdr(sink, data),
            Form::Ascii => write_ascii(sink, data, self.written),
        };
        done.map_err(|e| Error::writing(&self.data_name, e))?;
        self.written += data.len() as u64;
        Ok(())
    }

    fn allow<T: Element>(&self, count: u64) -> Result<()> {
        if let Some(key) = &self.late {
            return Err(Error::new(format!(
                "{}: {key} was set after the header was written",
                self.name
            )));
        }
        if !T::accepts(self.format.kind) {
            return Err(Error::new(format!(
                "{}: {} elements cannot follow {} elements",
                self.name,
                T::KIND.word(),
                self.format.kind.word()
            )));
        }
        if count > self.declared - self.written {
            return Err(self.too_many(count));
        }
        Ok(())
    }

    /// Refuses a key that was set after the header was written, which is a fault of the program.
    fn in_time(&self) -> Result<()> {
        match &self.late {
            Some(key) => Err(Error::new(format!(
                "{}: {key} was set after the header was written",
                self.name
            ))),
            None => Ok(()),
        }
    }

    /// Writes reals.
    pub fn write_f32(&mut self, data: &[f32]) -> Result<()> {
        self.write(data)
    }

    /// Writes integers.
    pub fn write_i32(&mut self, data: &[i32]) -> Result<()> {
        self.write(data)
    }

    /// Writes complex numbers.
    pub fn write_complex(&mut self, data: &[Complex]) -> Result<()> {
        self.write(data)
    }

    /// Writes bytes (type uchar, or char when that is the format).
    pub fn write_bytes(&mut self, data: &[u8]) -> Result<()> {
        self.write(data)
    }

    /// Flushes the buffer, so that the reader of a pipe receives everything that was written.
    pub fn flush(&mut self) -> Result<()> {
        match &mut self.data {
            Some(data) => data.flush().map_err(|e| Error::writing(&self.data_name, e)),
            None => Ok(()),
        }
    }

    /// Ends the dataset.
    /// Returns an error for fewer elements than the header says, and for a failed write.
    pub fn finish(mut self) -> Result<()> {
        if !self.begun {
            self.begin()?;
        }
        self.in_time()?;
        if self.written != self.declared {
            return Err(Error::new(format!(
                "{}: {} elements were written, but the header says {}",
                self.name, self.written, self.declared
            )));
        }
        let Some(mut data) = self.data.take() else {
            return Ok(());
        };
        let text = self.format.form == Form::Ascii && !self.format.is_binary();
        if text && !self.own_lines && ascii::line_is_open(self.written) {
            data.write_all(b"\n")
                .map_err(|e| Error::writing(&self.data_name, e))?;
        }
        let file = data
            .into_inner()
            .map_err(|e| Error::writing(&self.data_name, e.into_error()))?;
        close(file).map_err(|e| Error::writing(&self.data_name, e))
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Writes the header of a dataset of floats whose elements other processes write.
    pub(crate) fn begin_floats(&mut self) -> Result<()> {
        self.format.kind = Kind::Float;
        self.in_time()?;
        self.begin()?;
        self.written = self.declared;
        Ok(())
    }

    /// Writes the header; a dry run ends here with [`Error::DryRun`].
    fn begin(&mut self) -> Result<()> {
        if self.format.form == Form::Xdr && matches!(self.format.kind, Kind::Long | Kind::Double) {
            return Err(Error::new(format!(
                "{}: {} cannot be written: xdr holds float, int, complex, short and bytes",
                self.name, self.format
            )));
        }
        let mut text = self.text()?;
        // Parse the header as its readers will see it, because the history may hold axes, too.
        self.declared = Header::parse(&text)
            .and_then(|header| header.elements())
            .map_err(|error| Error::new(format!("{}: {error}", self.name)))?;
        match self.header_file.take() {
            Some(mut file) => {
                self.empty_kept(&file)?;
                let written = file.write_all(&text).and_then(|()| file.try_clone());
                // The file is closed here, because closing may report a full disk.
                let written = written.and_then(|again| close(file).map(|()| again));
                self.header_again = Some(written.map_err(|e| Error::writing(&self.name, e))?);
            }
            None => {
                self.refuse_terminal()?;
                text.extend_from_slice(b"\tin=\"stdin\"\n\n");
                text.extend_from_slice(&TERMINATOR);
                if let Some(data) = &mut self.data {
                    data.write_all(&text).map_err(|e| Error::writing(&self.name, e))?;
                }
                self.start = text.len() as u64;
            }
        }
        self.begun = true;
        self.recall()?;
        if self.dry {
            self.flush()?;
            return Err(Error::DryRun);
        }
        Ok(())
    }

    /// Refuses to write binary numbers to a terminal, which may interpret some of them as commands. Under a launcher of
    /// several ranks a terminal is allowed: Open MPI reads their output through a terminal that no user sees.
    fn refuse_terminal(&self) -> Result<()> {
        if crate::launcher::launched().is_some() {
            return Ok(());
        }
        let terminal = self
            .data
            .as_ref()
            .is_some_and(|data| data.get_ref().is_terminal());
        if !terminal || self.dry || !self.format.is_binary() {
            return Ok(());
        }
        Err(Error::new(format!(
            "{} is a terminal, which shows no binary numbers: > file.rsf keeps them, | sfdisfil shows them",
            self.name
        )))
    }

    /// The text of the header: history, banner, notes, keys.
    fn text(&self) -> Result<Vec<u8>> {
        let mut text = self.history.history().to_vec();
        if text.last().is_some_and(|last| *last != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(banner(&self.program).as_bytes());
        for note in &self.notes {
            text.extend_from_slice(format!("\t{note}\n").as_bytes());
        }
        for (key, value) in &self.keys {
            text.extend_from_slice(format!("\t{key}={value}\n").as_bytes());
        }
        let format = self.format;
        text.extend_from_slice(
            format!("\tdata_format=\"{format}\"\n\tesize={}\n", format.esize()).as_bytes(),
        );
        let path = match &self.layout {
            Layout::Stream => b"stdout".as_slice(),
            Layout::TwoFiles(path) => path.as_os_str().as_bytes(),
        };
        if path.iter().any(|b| matches!(b, b'"' | b'\n')) {
            return Err(Error::new(format!(
                "{}: a header cannot name this file (it has a double quote or a line break)",
                self.data_name
            )));
        }
        text.extend_from_slice(b"\tin=\"");
        text.extend_from_slice(path);
        text.extend_from_slice(b"\"\n");
        Ok(text)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.begun {
            for path in &self.created {
                remove(path);
            }
        }
    }
}
