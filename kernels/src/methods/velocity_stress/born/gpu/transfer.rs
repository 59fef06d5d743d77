//! Arrays of numbers between the host and a device, through a buffer that the device reaches.

use super::sizes::after;
use crate::Error;
use crate::device::accelerator::{Accelerator, Stream};

/// Bytes of the buffer at most.
const PIECE: usize = 64 << 20;

/// The buffer.
pub struct Transfer<A: Accelerator> {
    pinned: A::Pinned,
    numbers: usize,
}

impl<A: Accelerator> Transfer<A> {
    /// For arrays of so many numbers at most.
    pub fn new(a: &A, most: usize) -> Result<Self, Error> {
        let numbers = most.clamp(1, PIECE / size_of::<f32>());
        Ok(Self {
            pinned: a.pin(numbers * size_of::<f32>())?,
            numbers,
        })
    }

    /// Numbers of the host to an address; complete on return.
    pub fn put<N: bytemuck::Pod>(&mut self, a: &A, from: &[N], to: u64) -> Result<(), Error> {
        let bytes: &[u8] = bytemuck::cast_slice(from);
        for (k, bytes) in bytes.chunks(self.numbers * size_of::<f32>()).enumerate() {
            self.pinned_mut()[..bytes.len()].copy_from_slice(bytes);
            // SAFETY: the caller's address has room for the numbers, and the copy is waited for.
            unsafe {
                a.upload(
                    Stream::Main,
                    &self.pinned,
                    0,
                    after(to, k * self.numbers),
                    bytes.len(),
                )?;
            }
            a.finish()?;
        }
        Ok(())
    }

    /// Numbers of an address to the host.
    pub fn get(&mut self, a: &A, from: u64, to: &mut [f32]) -> Result<(), Error> {
        use crate::device::accelerator::Pinned;
        let most = self.numbers;
        for (k, piece) in to.chunks_mut(most).enumerate() {
            let bytes = bytemuck::cast_slice_mut(piece);
            // SAFETY: the caller's address has the numbers, and the copy is waited for.
            unsafe {
                a.download(
                    Stream::Main,
                    after(from, k * most),
                    &mut self.pinned,
                    0,
                    bytes.len(),
                )?;
            }
            a.finish()?;
            bytes.copy_from_slice(&self.pinned.bytes()[..bytes.len()]);
        }
        Ok(())
    }

    fn pinned_mut(&mut self) -> &mut [u8] {
        use crate::device::accelerator::Pinned;
        self.pinned.bytes_mut()
    }
}
