//! What leaves a device while it goes on: records in batches, pieces of snapshots, the answer of a search.

use super::accelerator::{Accelerator, Memory, Pinned, Stream};
use crate::Error;
use std::collections::VecDeque;

/// Records of one half of a ring; one half fills while the other travels.
pub const HALF: usize = 128;
/// Bytes of a piece of a snapshot.
const PIECE_BYTES: usize = 32 << 20;

/// Planes of a piece where a plane of the window has so many bytes and the slab so many planes.
pub fn piece_planes(plane_bytes: usize, own: usize) -> usize {
    (PIECE_BYTES / plane_bytes.max(1)).clamp(1, own)
}

/// Bytes of device memory of a ring for records of so many bytes.
pub fn ring_bytes(record: usize) -> usize {
    2 * HALF * record
}

/// Records of like size, which kernels write into slot after slot.
pub struct Ring<A: Accelerator> {
    device: A::Memory,
    host: A::Pinned,
    /// The halves' copies.
    arrived: [A::Event; 2],
    /// Bytes of a record.
    record: usize,
    /// Records written, sent to the host, and taken.
    written: usize,
    sent: usize,
    taken: usize,
}

impl<A: Accelerator> Ring<A> {
    /// A ring of `2 * HALF` slots for records of so many bytes.
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

    /// Where slot 0 is.
    pub fn address(&self) -> u64 {
        self.device.address()
    }

    /// Where the slot of the record with this number is.
    pub fn slot(&self, number: usize) -> u64 {
        self.address() + (number % (2 * HALF) * self.record) as u64
    }

    /// Counts records from zero again and forgets what was not taken.
    pub fn rewind(&mut self) {
        self.rewind_to(0);
    }

    /// The same where so many records were taken before.
    pub fn rewind_to(&mut self, records: usize) {
        (self.written, self.sent, self.taken) = (records, records, records);
    }

    /// So many records were written in all; halves that are full are sent to the host.
    pub fn written(&mut self, a: &A, records: usize) -> Result<(), Error> {
        self.written = records;
        while self.written - self.sent >= HALF - self.sent % HALF {
            let until = (self.sent / HALF + 1) * HALF;
            self.download(a, until)?;
        }
        Ok(())
    }

    /// Sends the records up to `until`, all of one half.
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

    /// Takes the oldest record that was written.
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

/// A piece of a snapshot on its way.
struct Piece<A: Accelerator> {
    device: A::Memory,
    host: A::Pinned,
    done: A::Event,
}

/// Pieces of snapshots, two of them under way at most.
pub struct Pieces<A: Accelerator> {
    pieces: Vec<Piece<A>>,
    /// Slot and bytes of the pieces asked for.
    asked: VecDeque<(usize, usize)>,
    turn: usize,
    planes: usize,
}

impl<A: Accelerator> Pieces<A> {
    /// For a window whose planes have so many bytes (0: none is taken), on a slab of `own` planes.
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
            asked: VecDeque::new(),
            turn: 0,
            planes,
        })
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|p| p.device.bytes()).sum()
    }

    /// Planes of a piece at most.
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// Forgets what was asked for.
    pub fn rewind(&mut self) {
        self.turn = 0;
        self.asked.clear();
    }

    /// Where the next piece is written to.
    pub fn address(&self) -> u64 {
        self.pieces[self.turn].device.address()
    }

    /// The next piece, of so many bytes, is written by what the main stream holds now: sends it.
    pub fn send(&mut self, a: &A, bytes: usize) -> Result<(), Error> {
        let slot = self.turn;
        let piece = &mut self.pieces[slot];
        a.record(Stream::Main, &piece.done)?;
        a.wait(Stream::Out, &piece.done)?;
        // SAFETY: the piece before in this slot was taken, so nothing else uses its memory.
        unsafe { a.download(Stream::Out, piece.device.address(), &mut piece.host, 0, bytes)? };
        a.record(Stream::Out, &piece.done)?;
        self.asked.push_back((slot, bytes));
        self.turn = (slot + 1) % self.pieces.len();
        Ok(())
    }

    /// Takes the oldest piece that was sent.
    pub fn take(&mut self, a: &A) -> Result<&[u8], Error> {
        let (slot, bytes) = self.asked.pop_front().expect("a piece was asked for");
        let piece = &self.pieces[slot];
        a.synchronize(&piece.done)?;
        Ok(&piece.host.bytes()[..bytes])
    }
}

/// A search for the smallest number, which a kernel puts into eight bytes.
pub struct Search<A: Accelerator> {
    found: A::Memory,
    host: A::Pinned,
    event: A::Event,
}

impl<A: Accelerator> Search<A> {
    /// Memory for a search.
    pub fn new(a: &A) -> Result<Self, Error> {
        Ok(Self {
            found: a.allocate(size_of::<u64>())?,
            host: a.pin(size_of::<u64>())?,
            event: a.event()?,
        })
    }

    /// Where the kernel puts what it finds.
    pub fn address(&self) -> u64 {
        self.found.address()
    }

    /// Searches by the kernel that `launch` puts into the main stream.
    pub fn run(&mut self, a: &A, launch: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        self.host.bytes_mut()[..8].copy_from_slice(&u64::MAX.to_ne_bytes());
        // SAFETY: one number each way, waited for before the next use.
        unsafe {
            a.upload(Stream::Main, &self.host, 0, self.found.address(), 8)?;
            launch()?;
            a.download(Stream::Main, self.found.address(), &mut self.host, 0, 8)?;
        }
        a.record(Stream::Main, &self.event)
    }

    /// What was found.
    pub fn answer(&self, a: &A) -> Result<Option<usize>, Error> {
        a.synchronize(&self.event)?;
        let bytes: [u8; 8] = self.host.bytes()[..8].try_into().expect("eight bytes");
        let found = u64::from_ne_bytes(bytes);
        Ok((found != u64::MAX).then_some(found as usize))
    }
}
