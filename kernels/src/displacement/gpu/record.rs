//! What leaves a device: receivers in batches, snapshots in pieces, the search for values that are not finite.

use super::Setup;
use super::arguments::{Extract, Look, Pack};
use super::medium::{WALKERS, argument, walk};
use super::slab::{DeviceSlab, send};
use super::survey::ReceiverTables;
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Pinned, Queue};
use crate::device::simd::Real;
use crate::displacement::snapshot_component;
use std::collections::VecDeque;
use std::ops::Range;

/// Records of one half of the ring; one half fills while the other travels.
pub const HALF: usize = 128;
/// Bytes of a piece of a snapshot.
const PIECE_BYTES: usize = 32 << 20;

/// Planes of a piece where a plane of the window has so many bytes and the slab so many planes.
pub fn piece_planes(plane_bytes: usize, own: usize) -> usize {
    (PIECE_BYTES / plane_bytes.max(1)).clamp(1, own)
}

/// A piece of a snapshot on its way.
struct Piece<A: Accelerator> {
    device: A::Memory,
    host: A::Pinned,
    done: A::Mark,
}

/// Memory for what is recorded on one slab.
pub struct Records<T, A: Accelerator> {
    receivers: ReceiverTables<T>,
    cell: A::Memory,
    beyond: A::Memory,
    ring: A::Memory,
    host: A::Pinned,
    /// The halves' copies.
    arrived: [A::Mark; 2],
    components: usize,
    /// Records extracted, sent to the host, and taken.
    extracted: usize,
    sent: usize,
    taken: usize,
    piece_planes: usize,
    pieces: Vec<Piece<A>>,
    /// Slot and numbers of the pieces asked for.
    asked: VecDeque<(usize, usize)>,
    turn: usize,
    found: A::Memory,
    found_host: A::Pinned,
    found_mark: A::Mark,
    extract: A::Kernel,
    pack: A::Kernel,
    look: A::Kernel,
}

impl<T: Real, A: Accelerator> Records<T, A> {
    pub(super) fn new(a: &A, setup: &Setup<T>, own: &Range<usize>, variant: &Variant) -> Result<Self, Error> {
        let receivers = ReceiverTables::new(&setup.padded, &setup.receivers, own);
        let components = setup.components;
        let bytes = (2 * HALF * components * receivers.own.len()).max(1) * size_of::<T>();
        let [z, x, _] = &setup.window;
        let rows = if setup.padded.ndim() == 3 { x.len() } else { 1 };
        let plane = z.len() * rows * size_of::<T>();
        let piece_planes = piece_planes(plane, own.len());
        let piece = || -> Result<Piece<A>, Error> {
            Ok(Piece {
                device: a.allocate(plane * piece_planes)?,
                host: a.pin(plane * piece_planes)?,
                done: a.mark()?,
            })
        };
        let pieces = (0..if plane == 0 { 0 } else { 2 })
            .map(|_| piece())
            .collect::<Result<_, _>>()?;
        let mut kernels = a
            .load(&variant.survey(), &["extract", "pack", "look"])?
            .into_iter();
        let mut kernel = || kernels.next().expect("as many kernels as names");
        Ok(Self {
            cell: send(a, &receivers.cells)?,
            beyond: send(a, &receivers.beyond)?,
            ring: a.allocate(bytes)?,
            host: a.pin(bytes)?,
            arrived: [a.mark()?, a.mark()?],
            receivers,
            components,
            extracted: 0,
            sent: 0,
            taken: 0,
            piece_planes,
            pieces,
            asked: VecDeque::new(),
            turn: 0,
            found: a.allocate(size_of::<u64>())?,
            found_host: a.pin(size_of::<u64>())?,
            found_mark: a.mark()?,
            extract: kernel(),
            pack: kernel(),
            look: kernel(),
        })
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> usize {
        self.cell.bytes()
            + self.beyond.bytes()
            + self.ring.bytes()
            + self.pieces.iter().map(|p| p.device.bytes()).sum::<usize>()
    }

    pub(super) fn half(&self) -> usize {
        HALF
    }

    pub(super) fn piece_planes(&self) -> usize {
        self.piece_planes
    }

    /// Bytes of one record.
    fn record(&self) -> usize {
        self.components * self.receivers.own.len() * size_of::<T>()
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    pub(super) fn extract_args(&self, it: i32, jdata: usize, clock: bool) -> Extract<T> {
        let r = &self.records;
        Extract {
            slab: self.args,
            now: self.now as i32,
            clock: if clock { self.clock() } else { 0 },
            step: it,
            every: jdata as i32,
            slots: 2 * HALF as i32,
            receivers: r.receivers.own.len() as i32,
            components: r.components as i32,
            potentials: i32::from(self.setup.potentials),
            cell: r.cell.address(),
            beyond: r.beyond.address(),
            records: r.ring.address(),
        }
    }

    /// Receivers of the current level, if they are due after step `it` (counted from the device's clock with `clock`).
    pub(super) fn extract(&mut self, it: usize, jdata: usize, clock: bool) -> Result<(), Error> {
        let r = &self.records;
        if r.receivers.own.is_empty() {
            return Ok(());
        }
        let count = r.receivers.own.len() * r.components;
        let args = self.extract_args(it as i32, jdata, clock);
        let dims = Dims {
            grid: [count.div_ceil(64), 1, 1],
            threads: 64,
            shared: 0,
        };
        // SAFETY: receivers lie on the slab, their neighbours at most in its ghosts.
        unsafe {
            self.accelerator
                .launch(Queue::Main, &r.extract, dims, &argument(&args))
        }
    }

    /// Before the first step: records are counted from zero, and what a run that failed left behind is forgotten.
    pub(super) fn rewind(&mut self) {
        let r = &mut self.records;
        (r.extracted, r.sent, r.taken, r.turn) = (0, 0, 0, 0);
        r.asked.clear();
    }

    /// Sends halves of the ring that are full to the host; `records` were extracted in all.
    pub(super) fn extracted(&mut self, records: usize) -> Result<(), Error> {
        self.records.extracted = records;
        while self.records.extracted - self.records.sent >= HALF - self.records.sent % HALF {
            let until = (self.records.sent / HALF + 1) * HALF;
            self.download(until)?;
        }
        Ok(())
    }

    /// Sends the records up to `until`, all of one half.
    fn download(&mut self, until: usize) -> Result<(), Error> {
        let r = &mut self.records;
        let half = r.sent / HALF % 2;
        let (first, count) = (r.sent % (2 * HALF), until - r.sent);
        let (offset, bytes) = (first * r.record(), count * r.record());
        if bytes > 0 {
            // SAFETY: the ring's next use of this half waits for `arrived` on the host.
            unsafe {
                self.accelerator.download(
                    Queue::Main,
                    r.ring.address() + offset as u64,
                    &mut r.host,
                    offset,
                    bytes,
                )?;
            }
        }
        r.sent = until;
        self.accelerator.set(Queue::Main, &r.arrived[half])
    }

    /// Takes the oldest record that was extracted.
    pub(super) fn take_traces(&mut self, out: &mut [T]) -> Result<(), Error> {
        if self.records.taken == self.records.sent {
            self.download(self.records.extracted)?;
        }
        let r = &mut self.records;
        self.accelerator.reach(&r.arrived[r.taken / HALF % 2])?;
        let from = r.taken % (2 * HALF) * r.record();
        let record: &[T] = bytemuck::cast_slice(&r.host.bytes()[from..from + r.record()]);
        let (mine, all) = (r.receivers.own.len(), out.len() / r.components);
        for component in 0..r.components {
            let row = &mut out[component * all..(component + 1) * all];
            for (&number, &value) in r.receivers.own.iter().zip(&record[component * mine..]) {
                row[number] = value;
            }
        }
        r.taken += 1;
        Ok(())
    }

    /// Packs own planes of a component of the snapshot window and sends them.
    pub(super) fn pack(&mut self, component: usize, planes: Range<usize>) -> Result<(), Error> {
        let three = self.setup.padded.ndim() == 3;
        let [z, x, _] = self.setup.window.clone();
        let (row_begin, row_count) = if three { (x.start, x.len()) } else { (0, 1) };
        let numbers = planes.len() * row_count * z.len();
        let r = &mut self.records;
        let slot = r.turn;
        let piece = &mut r.pieces[slot];
        let args = Pack {
            slab: self.args,
            now: self.now as i32,
            component: snapshot_component(component, three && self.setup.potentials) as i32,
            potentials: i32::from(self.setup.potentials),
            begin: planes.start as i32,
            end: planes.end as i32,
            z_begin: z.start as i32,
            z_count: z.len() as i32,
            row_begin: row_begin as i32,
            row_count: row_count as i32,
            out: piece.device.address(),
        };
        // SAFETY: the window lies on the slab; the piece was taken, so nothing else uses its memory.
        unsafe {
            self.accelerator
                .launch(Queue::Main, &r.pack, walk(numbers), &argument(&args))?;
            self.accelerator.set(Queue::Main, &piece.done)?;
            self.accelerator.wait(Queue::Out, &piece.done)?;
            let bytes = numbers * size_of::<T>();
            self.accelerator
                .download(Queue::Out, piece.device.address(), &mut piece.host, 0, bytes)?;
        }
        self.accelerator.set(Queue::Out, &piece.done)?;
        r.asked.push_back((slot, numbers));
        r.turn = (slot + 1) % r.pieces.len();
        Ok(())
    }

    /// Takes the oldest piece that was packed.
    pub(super) fn take_piece(&mut self, out: &mut Vec<T>) -> Result<(), Error> {
        let r = &mut self.records;
        let (slot, numbers) = r.asked.pop_front().expect("a piece was asked for");
        let piece = &r.pieces[slot];
        self.accelerator.reach(&piece.done)?;
        out.extend_from_slice(bytemuck::cast_slice(
            &piece.host.bytes()[..numbers * size_of::<T>()],
        ));
        Ok(())
    }

    /// Searches the current level for values that are not finite.
    pub(super) fn look(&mut self) -> Result<(), Error> {
        let r = &mut self.records;
        let p = &self.setup.padded;
        let args = Look {
            slab: self.args,
            now: self.now as i32,
            found: r.found.address(),
        };
        let cells = self.layout.own.len() * p.plane_len();
        let wide = Dims {
            grid: [cells.div_ceil(4 * WALKERS).clamp(1, 1 << 20), 1, 1],
            ..walk(cells)
        };
        r.found_host.bytes_mut()[..8].copy_from_slice(&u64::MAX.to_ne_bytes());
        // SAFETY: one number each way, waited for before the next use.
        unsafe {
            self.accelerator
                .upload(Queue::Main, &r.found_host, 0, r.found.address(), 8)?;
            self.accelerator
                .launch(Queue::Main, &r.look, wide, &argument(&args))?;
            self.accelerator
                .download(Queue::Main, r.found.address(), &mut r.found_host, 0, 8)?;
        }
        self.accelerator.set(Queue::Main, &r.found_mark)
    }

    /// The first cell that the search found.
    pub(super) fn found(&mut self) -> Result<Option<[usize; 3]>, Error> {
        let (r, p) = (&self.records, &self.setup.padded);
        self.accelerator.reach(&r.found_mark)?;
        let bytes: [u8; 8] = r.found_host.bytes()[..8].try_into().expect("eight bytes");
        let found = u64::from_ne_bytes(bytes);
        Ok((found != u64::MAX).then(|| p.cell_at(found as usize)))
    }
}
