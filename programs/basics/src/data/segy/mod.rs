//! SEG-Y and SU: data, textual and binary headers, and trace headers as an RSF file.
//!
//! No crate for SEG-Y is used, because they map whole files into memory, support neither SU nor pipes, and do
//! not give access to all bytes of a trace header, which `tfile=` needs.

mod common;
mod coordinates;
mod delays;
mod geometry;
pub mod keys;
mod layout;
mod map;
mod narrow;
mod read;
mod revision;
mod samples;
mod shifted;
mod su;
mod tape;
mod text;
mod write;

pub use read::{SEGYREAD, SUREAD, segyread, suread};
pub use write::{SEGYWRITE, SUWRITE, segywrite, suwrite};

/// Length of the binary header in bytes.
const BINARY_HEADER: usize = 400;
/// Approximate size in bytes of the blocks in which traces are read and written.
const BLOCK: usize = 1 << 22;

/// First bytes (from 0) of fields of the binary header: sampling interval, number of samples, format code.
const HDT: usize = 16;
const HNS: usize = 20;
const FORMAT: usize = 24;
/// First bytes of the unit of lengths (metres or feet), of the byte-order constant of revision 2, and of the revision
/// number and the number of extended textual headers of revision 1 and later.
const MFEET: usize = 54;
const ORDER_CONSTANT: usize = 96;
const REVISION: usize = 300;
const EXTENDED: usize = 304;
/// First bytes of fields of revision 2: number of samples (4 bytes), sampling interval (8-byte real), number of
/// additional 240-byte headers of each trace, byte at which the first trace begins (8 bytes), number of data trailer
/// records.
const LONG_HNS: usize = 68;
const REAL_HDT: usize = 72;
const FURTHER: usize = 306;
const FIRST_TRACE: usize = 320;
const TRAILERS: usize = 328;

/// First bytes of fields of the trace header: trace identification code, delay, number of samples, sampling interval,
/// spacing of Seismic Unix (a real), time scalar.
const TRID: usize = 28;
const DELRT: usize = 108;
const NS: usize = 114;
const DT: usize = 116;
const D1: usize = 180;
const TSCALAR: usize = 214;

/// The factor that a scalar of times or coordinates represents: a negative scalar divides, and 0 means 1.
fn factor(scalar: i32) -> f64 {
    match scalar {
        0 => 1.0,
        1.. => f64::from(scalar),
        _ => -1.0 / f64::from(scalar),
    }
}
