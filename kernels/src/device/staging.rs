//! Large transfers between a device and pageable memory of the host, double-buffered in page-locked memory.

use super::accelerator::{Accelerator, Pinned, Stream};
use crate::Error;

/// Largest size of a buffer in bytes.
const HALF: usize = 16 << 20;

/// Smallest size of a buffer in bytes.
const LEAST: usize = 1 << 20;

/// The two buffers. They are kept between transfers and reallocated for a transfer that needs larger ones, so that
/// small models lock little memory: page-locking 22 MB took 9 to 17 ms on a host with an H200.
pub struct Staging<A: Accelerator> {
    halves: Vec<(A::Pinned, A::Event)>,
}

impl<A: Accelerator> Default for Staging<A> {
    fn default() -> Self {
        Self { halves: Vec::new() }
    }
}

impl<A: Accelerator> Staging<A> {
    /// Makes both buffers ready for a transfer of `bytes` bytes, and returns the size of one of them.
    fn ready(&mut self, a: &A, bytes: usize) -> Result<usize, Error> {
        let half = bytes.next_power_of_two().clamp(LEAST, HALF);
        if self.half() < half {
            self.halves.clear();
        }
        while self.halves.len() < 2 {
            self.halves.push((a.pin(half)?, a.event()?));
        }
        Ok(self.half())
    }

    /// Bytes of a buffer; 0 before the first transfer.
    fn half(&self) -> usize {
        self.halves.first().map_or(0, |(host, _)| host.bytes().len())
    }

    /// Copies device memory from this address on into `out`, after all work enqueued before this call, and returns
    /// when the copy is done.
    ///
    /// # Safety
    /// The device memory must have at least the length of `out`.
    pub unsafe fn download(&mut self, a: &A, from: u64, out: &mut [u8]) -> Result<(), Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.download_by(a, from, out, |from, to| to.copy_from_slice(from)) }
    }

    /// Like [`Staging::download`], but copies from the buffers with `copy`, whose two slices have the same
    /// length.
    ///
    /// # Safety
    /// The requirements of [`Staging::download`] apply.
    pub unsafe fn download_by(
        &mut self,
        a: &A,
        from: u64,
        out: &mut [u8],
        copy: impl Fn(&[u8], &mut [u8]),
    ) -> Result<(), Error> {
        let half = self.ready(a, out.len())?;
        a.finish()?;
        let pieces = out.len().div_ceil(half);
        let bytes = |k: usize| k * half..out.len().min((k + 1) * half);
        let places: Vec<_> = (0..pieces).map(bytes).collect();
        for k in 0..=pieces {
            if let Some(place) = places.get(k) {
                let (host, done) = &mut self.halves[k % 2];
                // SAFETY: guaranteed by the caller; the buffer is emptied before it is filled again.
                unsafe { a.download(Stream::Out, from + place.start as u64, host, 0, place.len())? };
                a.record(Stream::Out, done)?;
            }
            if let Some(place) = k.checked_sub(1).map(|k| places[k].clone()) {
                let (host, done) = &self.halves[(k - 1) % 2];
                a.synchronize(done)?;
                let len = place.len();
                copy(&host.bytes()[..len], &mut out[place]);
            }
        }
        Ok(())
    }

    /// Copies bytes to device memory from this address on, after all work enqueued before this call, and returns when
    /// the copy is done.
    ///
    /// # Safety
    /// The device memory must have at least the length of `bytes`.
    pub unsafe fn upload(&mut self, a: &A, bytes: &[u8], to: u64) -> Result<(), Error> {
        let half = self.ready(a, bytes.len())?;
        a.finish()?;
        for (k, piece) in bytes.chunks(half).enumerate() {
            let (host, done) = &mut self.halves[k % 2];
            if k > 1 {
                a.synchronize(done)?;
            }
            host.bytes_mut()[..piece.len()].copy_from_slice(piece);
            // SAFETY: guaranteed by the caller; the buffer is not written again before its copy is done.
            unsafe { a.upload(Stream::Main, host, 0, to + (k * half) as u64, piece.len())? };
            a.record(Stream::Main, done)?;
        }
        a.finish()
    }
}
