//! Fields of the binary header from revisions 1 and 2 of SEG-Y.

use anyhow::{Result, ensure};
use rsf_io::Job;

use super::layout::order_of;
use super::samples::Order;
use super::text::TEXT_HEADER;
use super::{
    BINARY_HEADER, EXTENDED, FIRST_TRACE, FURTHER, LONG_HNS, ORDER_CONSTANT, REAL_HDT, REVISION, TRAILERS,
};

/// Sets the fields of revision 2.1: byte order, long number of samples and interval (microseconds), traces of fixed
/// length, and the byte at which they begin.
pub(super) fn second_revision(header: &mut [u8], order: Order, samples: usize, interval: f64) {
    const FIXED: usize = 302;
    order.put_int(header, ORDER_CONSTANT, 4, 0x0102_0304);
    header[REVISION..REVISION + 2].copy_from_slice(&[2, 1]);
    for (at, size, value) in [(FIXED, 2, 1), (EXTENDED, 2, 0), (FURTHER, 4, 0), (TRAILERS, 4, 0)] {
        order.put_int(header, at, size, value);
    }
    order.put_int(header, LONG_HNS, 4, samples as i32);
    order.put_long(header, REAL_HDT, interval.to_bits());
    order.put_long(header, FIRST_TRACE, (TEXT_HEADER + BINARY_HEADER) as u64);
}

/// Checks that the binary header called `name` has this byte order, as far as it can be determined.
pub(super) fn check_order(name: &str, header: &[u8], order: Order) -> Result<()> {
    ensure!(
        order_of(header).is_none_or(|own| own == order),
        "{name} has the other byte order: {} writes a file with that order",
        if order == Order::Big {
            "endian=n"
        } else {
            "endian=y"
        }
    );
    Ok(())
}

/// Sets the number of extended textual headers to 0, with a warning, because they are not written.
pub(super) fn count_no_texts(job: &Job, header: &mut [u8], order: Order) {
    let texts = order.int(header, EXTENDED, 2);
    if texts != 0 && header[REVISION] > 0 {
        job.warn(&format!(
            "the binary header announces {texts} extended textual headers, but they are not written: the \
            number was set to 0"
        ));
        order.put_int(header, EXTENDED, 2, 0);
    }
}
