//! A dataset that is read.
use crate::{Axis, Complex, Format, Header, Result};

/// An open dataset: header and a stream of elements.
#[derive(Debug)]
pub struct Input {}

/// Value of a parameter that is a number or a file.
#[derive(Debug)]
pub enum NumberOrFile {
    /// The number.
    Number(f32),
    /// The open file.
    File(Input),
}

impl Input {
    /// The header.
    pub fn header(&self) -> &Header {
        unimplemented!()
    }
    /// Name for messages: `ccc=stiff.rsf` or `standard input`.
    pub fn name(&self) -> String {
        unimplemented!()
    }
    /// Axis `i`, counted from 1; one sample at 0 when the header lacks it.
    pub fn axis(&self, _i: usize) -> Axis {
        unimplemented!()
    }
    /// Index of the last axis longer than 1.
    pub fn rank(&self) -> usize {
        unimplemented!()
    }
    /// Number of elements.
    pub fn len(&self) -> u64 {
        unimplemented!()
    }
    /// True for a dataset without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Form and type.
    pub fn format(&self) -> Format {
        unimplemented!()
    }
    /// Reads the next elements, exactly as many as `out` holds.
    pub fn read_f32(&mut self, _out: &mut [f32]) -> Result<()> {
        unimplemented!()
    }
    /// Reads integers.
    pub fn read_i32(&mut self, _out: &mut [i32]) -> Result<()> {
        unimplemented!()
    }
    /// Reads complex numbers.
    pub fn read_complex(&mut self, _out: &mut [Complex]) -> Result<()> {
        unimplemented!()
    }
    /// Reads bytes (types uchar and char).
    pub fn read_bytes(&mut self, _out: &mut [u8]) -> Result<()> {
        unimplemented!()
    }
    /// All remaining elements; memory grows with what is really there.
    pub fn read_all_f32(&mut self) -> Result<Vec<f32>> {
        unimplemented!()
    }
    /// Passes over elements.
    pub fn skip(&mut self, _elements: u64) -> Result<()> {
        unimplemented!()
    }
    /// True when `read_f32_at` works: native or xdr numbers in a regular file.
    pub fn is_seekable(&self) -> bool {
        unimplemented!()
    }
    /// Reads elements from `offset` (in elements) on, without moving the stream; usable from threads.
    pub fn read_f32_at(&self, _offset: u64, _out: &mut [f32]) -> Result<()> {
        unimplemented!()
    }
}
