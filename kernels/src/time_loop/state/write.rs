//! Writing of the copy of a state piece by piece, by one thread or several.

use super::format::{Places, block_sum, trailer};
use super::{State, StateSink};
use crate::Error;
use crate::device::host::Buffer;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that are written at a time; at least one block is written.
const PIECE: usize = 4 << 20;

/// Blocks that are contiguous both in the copy and in the file.
pub(super) struct Piece {
    array: usize,
    first: usize,
    blocks: usize,
    block: usize,
    /// Offsets of the first block in the copy and in the file.
    from: usize,
    to: u64,
}

/// A state that is being written.
pub(super) struct Job {
    copy: Buffer<f64>,
    pieces: Vec<Piece>,
    /// Number of pieces that have been begun by any thread.
    begun: AtomicUsize,
    sink: Mutex<Box<dyn StateSink>>,
    progress: Mutex<Progress>,
    /// Notified when pieces are done.
    ended: Condvar,
}

#[derive(Default)]
struct Progress {
    /// Number of pieces that have been written, or skipped after a failure.
    done: usize,
    sum: u64,
    failure: Option<String>,
}

impl Job {
    /// A job that writes all pieces of a copy to a sink.
    pub fn new(copy: Buffer<f64>, pieces: Vec<Piece>, sink: Box<dyn StateSink>) -> Self {
        Self {
            copy,
            pieces,
            begun: AtomicUsize::new(0),
            sink: Mutex::new(sink),
            progress: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Locks the sink.
    pub fn sink(&self) -> MutexGuard<'_, Box<dyn StateSink>> {
        lock(&self.sink)
    }

    /// Checksums and writes pieces until all have been begun.
    pub fn work(&self) {
        while let Some(piece) = self.pieces.get(self.begun.fetch_add(1, Ordering::Relaxed)) {
            let whole = lock(&self.progress).failure.is_none();
            let (sum, failure) = match whole {
                true => self.write(piece),
                false => (0, None),
            };
            let mut progress = lock(&self.progress);
            progress.done += 1;
            progress.sum = progress.sum.wrapping_add(sum);
            progress.failure = progress.failure.take().or(failure);
            drop(progress);
            self.ended.notify_all();
        }
    }

    fn write(&self, piece: &Piece) -> (u64, Option<String>) {
        let copy: &[u8] = bytemuck::cast_slice(self.copy.as_slice());
        let bytes = &copy[piece.from..piece.from + piece.blocks * piece.block];
        let sums = bytes.chunks(piece.block.max(1)).enumerate();
        let sum = sums
            .map(|(k, block)| block_sum(piece.array, piece.first + k, block))
            .fold(0, u64::wrapping_add);
        let written = self.sink().write_at(piece.to, bytes);
        (sum, written.err().map(|e| e.to_string()))
    }

    /// Waits for all pieces, and returns their contribution to the checksum, or the reason why they could not be
    /// written.
    pub fn outcome(&self) -> Result<u64, String> {
        let all = |p: &mut Progress| p.done < self.pieces.len();
        let progress = self.ended.wait_while(lock(&self.progress), all);
        let mut progress = progress.unwrap_or_else(PoisonError::into_inner);
        progress.failure.take().map_or(Ok(progress.sum), Err)
    }

    /// Returns the memory of the copy, for reuse, and the sink.
    pub fn into_parts(self) -> (Buffer<f64>, Box<dyn StateSink>) {
        let sink = self.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        (self.copy, sink)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies all owned blocks into `copy`, one after the other, and returns their positions.
pub(super) fn copied<S: State>(
    subdomains: &mut [S],
    places: &Places,
    copy: &mut [u8],
) -> Result<Vec<Piece>, Error> {
    let (mut pieces, mut end) = (Vec::new(), 0);
    for subdomain in subdomains {
        for (number, array) in subdomain.arrays().iter().enumerate() {
            for range in subdomain.owned(number) {
                let from = end;
                end += range.len() * array.block;
                subdomain.save(number, range.clone(), &mut copy[from..end])?;
                let step = (PIECE / array.block.max(1)).max(1);
                for first in range.clone().step_by(step) {
                    pieces.push(Piece {
                        array: number,
                        first,
                        blocks: step.min(range.end - first),
                        block: array.block,
                        from: from + (first - range.start) * array.block,
                        to: places.block(number, first),
                    });
                }
            }
        }
    }
    Ok(pieces)
}

/// Writes the trailer, and last the header, without which a file is not accepted as a state.
pub(super) fn complete(
    sink: &mut dyn StateSink,
    (header, end): (&[u8], u64),
    sum: u64,
) -> std::io::Result<()> {
    sink.write_at(end, &trailer(sum, header))?;
    sink.write_at(0, header)?;
    sink.finish()
}
