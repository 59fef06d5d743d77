//! A dataset that continues where an interrupted run left it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::Output;
use crate::data::Format;
use crate::file_id::file_id;
use crate::files::is_regular;
use crate::pipe::{is_null, name_of};
use crate::place::Layout;
use crate::{Error, Result};

/// The number of bytes at the end of the elements whose checksum identifies the elements.
const TAIL: u64 = 4096;

/// The first elements of a dataset, which an interrupted run wrote, and the place where they are stored. The
/// run that resumes it begins with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The absolute path of the file; `None` for elements that went into a pipe.
    path: Option<PathBuf>,
    /// The number of bytes in the file before the first element.
    start: u64,
    /// The number of bytes of the elements.
    bytes: u64,
    /// Number of elements.
    elements: u64,
    format: Format,
    /// Checksum of the last [`TAIL`] bytes; 0 if they could not be read.
    tail: u64,
}

impl Written {
    /// The value as one line of text.
    pub fn to_text(&self) -> String {
        let path = self.path.as_deref().map_or("".into(), Path::to_string_lossy);
        format!(
            "{} {} {} {} {:016x} {path}",
            self.format, self.start, self.bytes, self.elements, self.tail
        )
    }

    /// Reads the line of [`Written::to_text`]; `None` for anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.splitn(6, ' ');
        let format = Format::from_text(words.next()?);
        let mut number = |radix| u64::from_str_radix(words.next()?, radix).ok();
        let (start, bytes, elements, tail) = (number(10)?, number(10)?, number(10)?, number(16)?);
        let path = words.next().filter(|path| !path.is_empty()).map(PathBuf::from);
        Some(Self {
            path,
            start,
            bytes,
            elements,
            format,
            tail,
        })
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// The same file with `elements` floats, for an output whose elements several processes write.
    pub fn with_floats(&self, elements: u64) -> Self {
        let mut written = Self {
            bytes: 4 * elements,
            elements,
            ..self.clone()
        };
        written.tail = written.mark().unwrap_or(0);
        written
    }

    /// The checksum of the last [`TAIL`] bytes; 0 without a file.
    fn mark(&self) -> io::Result<u64> {
        let Some(path) = &self.path else {
            return Ok(0);
        };
        let mut bytes = vec![0; self.bytes.min(TAIL) as usize];
        let at = self.start + self.bytes - bytes.len() as u64;
        File::open(path)?.read_exact_at(&mut bytes, at)?;
        Ok(fnv(&bytes))
    }

    /// Refuses elements that their file no longer holds.
    pub(crate) fn check(&self, output: &str) -> Result<()> {
        let Some(path) = self.path.as_deref().filter(|_| self.elements > 0) else {
            return match self.elements {
                0 => Ok(()),
                count => Err(Error::new(format!(
                    "{output}: the {count} elements that the interrupted run has written went into a pipe \
                    and cannot be written again: a run that is to be resumed must write to files (several \
                    ranks: out=data.bin > data.rsf)"
                ))),
            };
        };
        let shown = path.display();
        let failed = |cause| {
            let what =
                format!("{output}: cannot read data file {shown}, which the interrupted run has written");
            Error::os(what, cause)
        };
        let there = fs::metadata(path).map_err(failed)?.len();
        let needed = self.start + self.bytes;
        if there < needed {
            return Err(Error::new(format!(
                "{output}: data file {shown} of the interrupted run has {there} bytes, but the state requires \
                {needed}: it was cut or written again; resume= needs it unchanged"
            )));
        }
        if self.tail != 0 && self.mark().map_err(failed)? != self.tail {
            return Err(Error::new(format!(
                "{output}: data file {shown} does not hold what the interrupted run had written when its \
                state was saved: another run has written to it since; resume= needs it unchanged"
            )));
        }
        Ok(())
    }
}

/// The FNV-1a checksum of `bytes`, with 1 in place of 0.
fn fnv(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix).max(1)
}

impl Output {
    /// Flushes the buffer and describes the elements written so far.
    /// Returns an error if a write fails.
    pub fn so_far(&mut self) -> Result<Written> {
        if let Some(before) = &self.before {
            // Nothing has been added or copied yet.
            return Ok(before.clone());
        }
        self.flush()?;
        let failed = |e| Error::writing(&self.data_name, e);
        let file = self.data.as_ref().map(|data| data.get_ref());
        let regular = file.filter(|file| is_regular(file));
        let path = match &self.layout {
            Layout::TwoFiles(path) => regular.map(|_| std::path::absolute(path).unwrap_or(path.clone())),
            Layout::Stream if file.is_some_and(is_null) => Some("/dev/null".into()),
            Layout::Stream => regular.and_then(name_of),
        };
        let bytes = match regular {
            None => 0,
            _ if self.format.is_binary() => self.written * self.format.kind.size() as u64,
            Some(mut file) => file.stream_position().map_err(failed)?.saturating_sub(self.start),
        };
        let mut written = Written {
            path,
            start: if regular.is_some() { self.start } else { 0 },
            bytes,
            elements: self.written,
            format: self.format,
            tail: 0,
        };
        // A file that cannot be read is checked by its length alone.
        written.tail = written.mark().unwrap_or(0);
        Ok(written)
    }

    /// Whether the data go into a pipe or a terminal and cannot be read again.
    pub fn is_piped(&self) -> bool {
        let file = self.data.as_ref().map(|data| data.get_ref());
        file.is_some_and(|file| !is_regular(file) && !is_null(file))
    }

    /// A second handle to the data file, for syncing it to disk; `None` for a pipe.
    pub fn data_file(&self) -> Option<File> {
        let file = self.data.as_ref()?.get_ref();
        is_regular(file).then(|| file.try_clone().ok())?
    }

    /// Empties the header file of a resumed run, which is kept until its new header is written.
    pub(super) fn empty_kept(&self, header: &File) -> Result<()> {
        match self.before {
            Some(_) if is_regular(header) => header.set_len(0).map_err(|e| Error::writing(&self.name, e)),
            _ => Ok(()),
        }
    }

    /// Begins with the elements of the interrupted run: elements in this data file are kept, and elements in another
    /// file are copied.
    pub(super) fn recall(&mut self) -> Result<()> {
        let Some(before) = self.before.take() else {
            return Ok(());
        };
        before.check(&self.name)?;
        if before.elements > 0 && before.format != self.format {
            return Err(Error::new(format!(
                "{}: the interrupted run wrote {}, but this one would continue with {}: give it input of the same format",
                self.name, before.format, self.format
            )));
        }
        if before.elements > self.declared {
            return Err(Error::new(format!(
                "{}: the interrupted run wrote {} elements, but the header says {}",
                self.name, before.elements, self.declared
            )));
        }
        let failed = |e| Error::writing(&self.data_name, e);
        if let Some(data) = &mut self.data {
            if before.bytes == 0 && before.elements > 0 && !is_null(data.get_ref()) {
                return Err(Error::new(format!(
                    "{}: the interrupted run wrote its {} elements to /dev/null: they are gone",
                    self.name, before.elements
                )));
            }
            let old = before.path.as_ref().filter(|_| before.elements > 0);
            let old = old.map(File::open).transpose().map_err(failed)?;
            let here = file_id(data.get_ref());
            let same = here.is_some() && old.as_ref().is_some_and(|old| file_id(old) == here);
            if !same && here.is_some() && self.layout != Layout::Stream {
                data.get_mut().set_len(0).map_err(failed)?;
            }
            match old {
                Some(_) if same => {
                    let end = before.start + before.bytes;
                    data.get_mut().set_len(end).map_err(failed)?;
                    data.seek(SeekFrom::Start(end)).map_err(failed)?;
                }
                Some(mut old) => {
                    old.seek(SeekFrom::Start(before.start)).map_err(failed)?;
                    io::copy(&mut old.take(before.bytes), data).map_err(failed)?;
                    data.flush().map_err(failed)?;
                }
                None => {}
            }
        }
        self.written = before.elements;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that could not be read while it was written is checked by its length alone; any other file is
    /// also checked by its last bytes.
    #[test]
    fn elements_without_a_mark_are_known_by_their_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.rsf@");
        fs::write(&path, [1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let written = |elements: u64, tail: u64| {
            let text = format!(
                "native_float 0 {} {elements} {tail:016x} {}",
                4 * elements,
                path.display()
            );
            Written::from_text(&text).expect("a line of a state")
        };
        assert!(written(2, 0).check("d.rsf").is_ok());
        let short = written(3, 0).check("d.rsf").unwrap_err().to_string();
        assert!(
            short.contains("has 8 bytes, but the state requires 12"),
            "{short}"
        );
        let marked = written(2, 0).with_floats(2);
        assert!(marked.tail != 0 && marked.check("d.rsf").is_ok());
        fs::write(&path, [1, 2, 3, 4, 5, 6, 7, 9]).unwrap();
        let other = marked.check("d.rsf").unwrap_err().to_string();
        assert!(
            other.contains("does not hold what the interrupted run had written"),
            "{other}"
        );
    }
}
