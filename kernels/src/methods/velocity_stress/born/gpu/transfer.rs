//! Transfers of arrays between the host and a device through a pinned buffer.

use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};
use std::ops::Range;

/// Largest size of the buffer in bytes.
const PIECE: usize = 64 << 20;

pub struct Transfer<A: Accelerator> {
    pinned: A::Pinned,
    numbers: usize,
}

impl<A: Accelerator> Transfer<A> {
    /// A buffer for arrays of at most `most` numbers.
    pub fn new(a: &A, most: usize) -> Result<Self, Error> {
        let numbers = most.clamp(1, PIECE / size_of::<f32>());
        Ok(Self {
            pinned: a.pin(numbers * size_of::<f32>())?,
            numbers,
        })
    }

    /// Copies numbers from the host to an address, and returns when the copy is complete.
    pub fn put<N: bytemuck::Pod>(&mut self, a: &A, from: &[N], to: u64) -> Result<(), Error> {
        let bytes: &[u8] = bytemuck::cast_slice(from);
        for piece in pieces(bytes.len(), self.room()) {
            let (bytes, to) = (&bytes[piece.clone()], to + piece.start as u64);
            self.pinned_mut()[..bytes.len()].copy_from_slice(bytes);
            // SAFETY: the caller's address has room for the numbers, and this function waits for the copy.
            unsafe { a.upload(Stream::Main, &self.pinned, 0, to, bytes.len())? };
            a.finish()?;
        }
        Ok(())
    }

    /// Copies numbers from an address to the host, and returns when the copy is complete.
    pub fn get(&mut self, a: &A, from: u64, to: &mut [f32]) -> Result<(), Error> {
        use crate::device::accelerator::Pinned;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(to);
        for piece in pieces(bytes.len(), self.room()) {
            let (bytes, from) = (&mut bytes[piece.clone()], from + piece.start as u64);
            // SAFETY: the caller's address has the numbers, and this function waits for the copy.
            unsafe { a.download(Stream::Main, from, &mut self.pinned, 0, bytes.len())? };
            a.finish()?;
            bytes.copy_from_slice(&self.pinned.bytes()[..bytes.len()]);
        }
        Ok(())
    }

    /// Bytes of the buffer.
    fn room(&self) -> usize {
        self.numbers * size_of::<f32>()
    }

    fn pinned_mut(&mut self) -> &mut [u8] {
        use crate::device::accelerator::Pinned;
        self.pinned.bytes_mut()
    }
}

/// Ranges of at most `room` bytes that cover all bytes in order.
fn pieces(bytes: usize, room: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bytes)
        .step_by(room)
        .map(move |first| first..bytes.min(first + room))
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_all_bytes_in_order() {
        assert_eq!(pieces(20, 8).collect::<Vec<_>>(), [0..8, 8..16, 16..20]);
        assert_eq!(pieces(16, 8).count(), 2);
        assert_eq!(pieces(0, 8).count(), 0);
    }
}
