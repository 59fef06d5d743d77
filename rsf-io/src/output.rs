//! A dataset that is written.
use crate::{Axis, Complex, Format, Result};

/// A dataset being written; call [`Output::finish`] at the end.
#[derive(Debug)]
pub struct Output {}

impl Output {
    /// Name for messages.
    pub fn name(&self) -> String {
        unimplemented!()
    }
    /// Sets n, o, d, label and unit of axis `i`, counted from 1; a `None` label or unit is written as
    /// empty text, so that nothing stale of the history shows through.
    pub fn set_axis(&mut self, _i: usize, _axis: &Axis) {
        unimplemented!()
    }
    /// Sets n=1 for every axis of the history after axis `rank`.
    pub fn set_rank(&mut self, _rank: usize) {
        unimplemented!()
    }
    /// Puts a key into the header.
    pub fn put_int(&mut self, _key: &str, _value: i64) {
        unimplemented!()
    }
    /// Puts a key into the header, with six digits.
    pub fn put_float(&mut self, _key: &str, _value: f32) {
        unimplemented!()
    }
    /// Puts a key into the header, in double quotes.
    pub fn put_text(&mut self, _key: &str, _value: &str) {
        unimplemented!()
    }
    /// A line of history without keys.
    pub fn put_note(&mut self, _version: &str, _device: &str) {
        unimplemented!()
    }
    /// Form and type; the default is that of standard input, else native float.
    pub fn format(&self) -> Format {
        unimplemented!()
    }
    /// Changes form and type before the first element. (The first write sets the type by itself.)
    pub fn set_format(&mut self, _format: Format) {
        unimplemented!()
    }
    /// Writes elements.
    pub fn write_f32(&mut self, _data: &[f32]) -> Result<()> {
        unimplemented!()
    }
    /// Writes integers.
    pub fn write_i32(&mut self, _data: &[i32]) -> Result<()> {
        unimplemented!()
    }
    /// Writes complex numbers.
    pub fn write_complex(&mut self, _data: &[Complex]) -> Result<()> {
        unimplemented!()
    }
    /// Writes bytes.
    pub fn write_bytes(&mut self, _data: &[u8]) -> Result<()> {
        unimplemented!()
    }
    /// Ends the dataset: all elements that the header promises must have been written.
    pub fn finish(self) -> Result<()> {
        unimplemented!()
    }
}
