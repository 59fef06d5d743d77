//! SEG-Y and SU: data, textual and binary headers, and the headers of traces as an RSF file.
//!
//! Own code, small: the crates for it map whole files into memory and know neither SU nor pipes, nor do they hand over
//! a trace header byte for byte, which `tfile=` needs.

mod delays;
mod geometry;
pub mod keys;
mod layout;
mod map;
mod read;
mod revision;
mod samples;
mod tape;
mod text;
mod write;

pub use read::{SEGYREAD, SUREAD, segyread, suread};
pub use write::{SEGYWRITE, SUWRITE, segywrite, suwrite};

/// Bytes of the binary header.
const BINARY_HEADER: usize = 400;
/// Traces are moved in blocks of about as many bytes.
const BLOCK: usize = 1 << 22;

/// Places in the binary header, counted from 0: sampling interval, samples, format.
const HDT: usize = 16;
const HNS: usize = 20;
const FORMAT: usize = 24;
/// Places in the binary header of revision 1 and later: a constant that tells the order of bytes, the revision, the number
/// of textual headers that follow.
const MFEET: usize = 54;
const ORDER_CONSTANT: usize = 96;
const REVISION: usize = 300;
const EXTENDED: usize = 304;
/// Places in the binary header of revision 2: samples in 4 bytes, the interval as a real of 8, the number of further headers
/// of 240 bytes of each trace, the byte at which the first trace begins (8 bytes), the number of records behind the traces.
const LONG_HNS: usize = 68;
const REAL_HDT: usize = 72;
const FURTHER: usize = 306;
const FIRST_TRACE: usize = 320;
const TRAILERS: usize = 328;

/// Places in a trace header: kind of trace, delay, samples, sampling interval, spacing of Seismic Unix (a real), factor of times.
const TRID: usize = 28;
const DELRT: usize = 108;
const NS: usize = 114;
const DT: usize = 116;
const D1: usize = 180;
const TSCALAR: usize = 214;

/// What a factor of times (or of coordinates) multiplies by: negative ones divide, and 0 is none.
fn factor(scalar: i32) -> f64 {
    match scalar {
        0 => 1.0,
        1.. => f64::from(scalar),
        _ => -1.0 / f64::from(scalar),
    }
}
