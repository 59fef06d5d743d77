//! What a binary header of SEG-Y has since revision 2.

use super::samples::Order;
use super::text::TEXT_HEADER;
use super::{
    BINARY_HEADER, EXTENDED, FIRST_TRACE, FURTHER, LONG_HNS, ORDER_CONSTANT, REAL_HDT, REVISION, TRAILERS,
};

/// Makes it a header of revision 2.1: order of bytes, samples and interval in more bytes, all traces of one length, and where they begin.
pub(super) fn second_revision(header: &mut [u8], order: Order, samples: usize, interval: i32) {
    const FIXED: usize = 302;
    order.put_int(header, ORDER_CONSTANT, 4, 0x0102_0304);
    header[REVISION..REVISION + 2].copy_from_slice(&[2, 1]);
    for (at, size, value) in [(FIXED, 2, 1), (EXTENDED, 2, 0), (FURTHER, 4, 0), (TRAILERS, 4, 0)] {
        order.put_int(header, at, size, value);
    }
    order.put_int(header, LONG_HNS, 4, samples as i32);
    order.put_long(header, REAL_HDT, f64::from(interval).to_bits());
    order.put_long(header, FIRST_TRACE, (TEXT_HEADER + BINARY_HEADER) as u64);
}
