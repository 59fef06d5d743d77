//! Copies a stream into a file, so that its elements can be read by position.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use super::{Input, PIECE};
use crate::ascii::Scanner;
use crate::data::{Complex, Element, Form, Kind};
use crate::{Error, Result};

impl Input {
    /// The remaining data in text form, exactly as in the file; `self` then has no elements left. Returns an error for
    /// data in another form.
    pub fn text_left(&mut self) -> Result<Vec<u8>> {
        if self.format.is_binary() {
            return Err(Error::new(format!("{}: {} is not text", self.name, self.format)));
        }
        let mut text = self.scanner.rest();
        self.reader
            .read_to_end(&mut text)
            .map_err(|e| self.unreadable(e))?;
        self.pos = self.len;
        Ok(text)
    }

    /// Writes the remaining elements to `file` as native numbers. The returned input reads them from this file, counted
    /// from 0.
    pub(crate) fn spooled(mut self, file: File) -> Result<Self> {
        let mut sink = BufWriter::with_capacity(PIECE, &file);
        let len = self.remaining();
        match self.format.kind {
            Kind::Float => self.pour::<f32>(&mut sink)?,
            Kind::Int => self.pour::<i32>(&mut sink)?,
            Kind::Complex => self.pour::<Complex>(&mut sink)?,
            Kind::Uchar | Kind::Char => self.pour::<u8>(&mut sink)?,
            Kind::Short => self.pour::<i16>(&mut sink)?,
            Kind::Long => self.pour::<i64>(&mut sink)?,
            Kind::Double => self.pour::<f64>(&mut sink)?,
        }
        let failed = |cause| {
            Error::os(
                format!("cannot write the temporary file for {}", self.name),
                cause,
            )
        };
        sink.flush().map_err(failed)?;
        drop(sink);
        let mut file = file;
        file.rewind().map_err(failed)?;
        self.format.form = Form::Native;
        self.reader = BufReader::with_capacity(PIECE, file);
        self.scanner = Scanner::default();
        (self.start, self.pos, self.len) = (Some(0), 0, len);
        Ok(self)
    }

    fn pour<T: Element>(&mut self, sink: &mut impl Write) -> Result<()> {
        let mut piece = vec![T::zeroed(); self.remaining().min((PIECE / size_of::<T>()) as u64) as usize];
        while self.remaining() > 0 {
            let now = self.remaining().min(piece.len() as u64) as usize;
            self.read(&mut piece[..now])?;
            let written = sink.write_all(bytemuck::cast_slice(&piece[..now]));
            written.map_err(|cause| {
                Error::os(
                    format!("cannot write the temporary file for {}", self.name),
                    cause,
                )
            })?;
        }
        Ok(())
    }
}
