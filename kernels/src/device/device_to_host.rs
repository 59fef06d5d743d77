//! Copies from a device to the host that overlap its computation: records in batches, pieces of snapshots, and the
//! result of a search.

use super::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::Error;
use std::collections::VecDeque;

/// Number of records in one half of a ring; one half is filled while the other is copied.
pub const HALF: usize = 128;
/// Largest size in bytes of a piece of a snapshot, unless a single plane is larger.
const PIECE_BYTES: usize = 32 << 20;

/// Number of planes of a piece, for a window with `plane_bytes` bytes per plane and a slab of `own` planes.
pub fn piece_planes(plane_bytes: usize, own: usize) -> usize {
    (PIECE_BYTES / plane_bytes.max(1)).clamp(1, own)
}

/// Bytes of device memory of a ring for records of `record` bytes.
pub fn ring_bytes(record: usize) -> usize {
    2 * HALF * record
}

/// A ring buffer for records of equal size, which kernels write into consecutive slots.
pub struct Ring<A: Accelerator> {
    device: A::Memory,
    host: A::Pinned,
    /// Reached when the last copy of each half is done.
    arrived: [A::Event; 2],
    /// Bytes of a record.
    record: usize,
    /// Number of records that have been written.
    written: usize,
    /// Number of records that have been sent to the host.
    sent: usize,
    /// Number of records that have been taken.
    taken: usize,
}

impl<A: Accelerator> Ring<A> {
    /// A ring of `2 * HALF` slots for records of `record` bytes.
    pub fn new(a: &A, record: usize) -> Result<Self, Error> {
        let bytes = ring_bytes(record).max(size_of::<u64>());
        Ok(Self {
            device: a.allocate(bytes)?,
            host: a.pin(bytes)?,
            arrived: [a.event()?, a.event()?],
            record,
            written: 0,
            sent: 0,
            taken: 0,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.device.bytes()
    }

    /// Address of slot 0.
    pub fn address(&self) -> u64 {
        self.device.address()
    }

    /// Address of the slot of the record with this number.
    pub fn slot(&self, number: usize) -> u64 {
        self.address() + (number % (2 * HALF) * self.record) as u64
    }

    /// Counts records from zero again and discards the records that were not taken.
    pub fn rewind(&mut self) {
        self.rewind_to(0);
    }

    /// Like [`Ring::rewind`], but counts on from `records`.
    pub fn rewind_to(&mut self, records: usize) {
        (self.written, self.sent, self.taken) = (records, records, records);
    }

    /// Tells the ring that `records` records were written in all; it sends full halves to the host.
    pub fn written(&mut self, a: &A, records: usize) -> Result<(), Error> {
        self.written = records;
        while self.written - self.sent >= HALF - self.sent % HALF {
            let until = (self.sent / HALF + 1) * HALF;
            self.download(a, until)?;
        }
        Ok(())
    }

    /// Sends the records from `sent` up to `until`, which must lie in one half.
    fn download(&mut self, a: &A, until: usize) -> Result<(), Error> {
        let half = self.sent / HALF % 2;
        let (first, count) = (self.sent % (2 * HALF), until - self.sent);
        let (offset, bytes) = (first * self.record, count * self.record);
        if bytes > 0 {
            // SAFETY: the ring's next use of this half waits for `arrived` on the host.
            unsafe {
                let from = self.device.address() + offset as u64;
                a.download(Stream::Main, from, &mut self.host, offset, bytes)?;
            }
        }
        self.sent = until;
        a.record(Stream::Main, &self.arrived[half])
    }

    /// Returns the oldest record that was written and not yet taken, after waiting for its copy.
    pub fn take(&mut self, a: &A) -> Result<&[u8], Error> {
        if self.taken == self.sent {
            self.download(a, self.written)?;
        }
        a.synchronize(&self.arrived[self.taken / HALF % 2])?;
        let from = self.taken % (2 * HALF) * self.record;
        self.taken += 1;
        Ok(&self.host.bytes()[from..from + self.record])
    }
}

/// Memory of a piece of a snapshot, on the device and on the host.
struct Piece<A: Accelerator> {
    device: A::Memory,
    host: A::Pinned,
    done: A::Event,
}

/// Pieces of snapshots, at most two of them in flight.
pub struct Pieces<A: Accelerator> {
    pieces: Vec<Piece<A>>,
    /// Slots and sizes in bytes of the pieces in flight, the oldest first.
    in_flight: VecDeque<(usize, usize)>,
    turn: usize,
    planes: usize,
}

impl<A: Accelerator> Pieces<A> {
    /// Memory for the pieces of a window of `plane_bytes` bytes per plane (0: no snapshots) on a slab of `own` planes.
    pub fn new(a: &A, plane_bytes: usize, own: usize) -> Result<Self, Error> {
        let planes = piece_planes(plane_bytes, own);
        let piece = |_| -> Result<Piece<A>, Error> {
            Ok(Piece {
                device: a.allocate(plane_bytes * planes)?,
                host: a.pin(plane_bytes * planes)?,
                done: a.event()?,
            })
        };
        let count = if plane_bytes == 0 { 0 } else { 2 };
        Ok(Self {
            pieces: (0..count).map(piece).collect::<Result<_, _>>()?,
            in_flight: VecDeque::new(),
            turn: 0,
            planes,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|p| p.device.bytes()).sum()
    }

    /// The largest number of planes of a piece.
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// Discards the pieces that were not taken.
    pub fn rewind(&mut self) {
        self.turn = 0;
        self.in_flight.clear();
    }

    /// Address to which the next piece must be written.
    pub fn address(&self) -> u64 {
        self.pieces[self.turn].device.address()
    }

    /// Sends the next piece, of `bytes` bytes, once the work that is now in the main stream has written it.
    pub fn send(&mut self, a: &A, bytes: usize) -> Result<(), Error> {
        let slot = self.turn;
        let piece = &mut self.pieces[slot];
        a.record(Stream::Main, &piece.done)?;
        a.wait(Stream::Out, &piece.done)?;
        // SAFETY: the previous piece in this slot has been taken, so nothing else uses its memory.
        unsafe { a.download(Stream::Out, piece.device.address(), &mut piece.host, 0, bytes)? };
        a.record(Stream::Out, &piece.done)?;
        self.in_flight.push_back((slot, bytes));
        self.turn = (slot + 1) % self.pieces.len();
        Ok(())
    }

    /// Returns the oldest piece that was sent and not yet taken, after waiting for its copy.
    pub fn take(&mut self, a: &A) -> Result<&[u8], Error> {
        let (slot, bytes) = self.in_flight.pop_front().expect("a piece was asked for");
        let piece = &self.pieces[slot];
        a.synchronize(&piece.done)?;
        Ok(&piece.host.bytes()[..bytes])
    }
}

/// A search for the smallest index, which a kernel writes as eight bytes.
pub struct Search<A: Accelerator> {
    index: A::Memory,
    host: A::Pinned,
    event: A::Event,
}

impl<A: Accelerator> Search<A> {
    /// Memory for a search.
    pub fn new(a: &A) -> Result<Self, Error> {
        Ok(Self {
            index: a.allocate(size_of::<u64>())?,
            host: a.pin(size_of::<u64>())?,
            event: a.event()?,
        })
    }

    /// Address to which the kernel writes its result.
    pub fn address(&self) -> u64 {
        self.index.address()
    }

    /// Runs the search with the kernel that `launch` enqueues in the main stream.
    pub fn run(&mut self, a: &A, launch: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        self.host.bytes_mut()[..8].copy_from_slice(&u64::MAX.to_ne_bytes());
        // SAFETY: one number is copied each way, and the host waits for the copies before the next use.
        unsafe {
            a.upload(Stream::Main, &self.host, 0, self.index.address(), 8)?;
            launch()?;
            a.download(Stream::Main, self.index.address(), &mut self.host, 0, 8)?;
        }
        a.record(Stream::Main, &self.event)
    }

    /// Waits for the search and returns the index; `None` if the kernel found no value that is not finite.
    pub fn answer(&self, a: &A) -> Result<Option<usize>, Error> {
        a.synchronize(&self.event)?;
        let bytes: [u8; 8] = self.host.bytes()[..8].try_into().expect("eight bytes");
        let index = u64::from_ne_bytes(bytes);
        Ok((index != u64::MAX).then_some(index as usize))
    }
}
