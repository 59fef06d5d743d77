//! The recording of a slab: receivers, snapshots, largest speeds, and the search for non-finite values.

use super::arguments::{Extract, Look, Pack, Peaks, int};
use super::points::ReceiverMemory;
use super::slab::DeviceSlab;
use super::variant::Variant;
use super::{Acquisition, Setup};
use crate::Error;
use crate::device::accelerator::{
    Accelerator, Dims, Memory, Pinned, Stream, WALKERS, argument, search, send, walk,
};
use crate::device::device_to_host::{HALF, Pieces, Ring, Search};
use crate::device::simd::Real;
use crate::methods::velocity_stress::receivers::Quantity;
use crate::methods::velocity_stress::{cpu::rows, medium::live};
use crate::parallel::slabs::Slab as Layout;
use std::ops::Range;

/// Number of threads that compute one value of a record, as in points.cu, and number of threads of a block.
const READERS: usize = 8;
const READ_BLOCK: usize = 128;

/// Memory and kernels for the recording of one slab.
pub struct Records<A: Accelerator> {
    receivers: ReceiverMemory<A>,
    /// Running value and previous value of every entry of a record that is read here.
    kept: Option<[A::Memory; 2]>,
    ring: Ring<A>,
    written: usize,
    pieces: Pieces<A>,
    search: Search<A>,
    /// `[own plane][row]`
    peaks: Option<A::Memory>,
    extract: A::Kernel,
    pack: A::Kernel,
    largest: A::Kernel,
    look: A::Kernel,
}

impl<A: Accelerator> Records<A> {
    pub(super) fn new<T: Real>(
        a: &A,
        (setup, shots): (&Setup<T>, &[Acquisition<T>]),
        layout: &Layout,
        variant: &Variant,
    ) -> Result<Self, Error> {
        let p = &setup.padded;
        let receivers = ReceiverMemory::new(a, (p, shots), layout)?;
        let zeros = |n: usize| send(a, &vec![T::of(0.0); n]);
        let [z, x, _] = &setup.window;
        let rows = if p.ndim() == 3 { x.len() } else { 1 };
        let names = ["extract", "pack", "peaks", "look"];
        let mut kernels = a.load(&variant.points(), &names)?.into_iter();
        let mut kernel = || kernels.next().expect("as many kernels as names");
        let count = receivers.own.len();
        Ok(Self {
            kept: match setup.quantity.runs() {
                true => Some([zeros(count)?, zeros(count)?]),
                false => None,
            },
            ring: Ring::new(a, count * size_of::<T>())?,
            written: 0,
            pieces: Pieces::new(a, z.len() * rows * size_of::<T>(), layout.own.len())?,
            search: Search::new(a)?,
            peaks: match setup.peaks {
                true => Some(zeros(layout.own.len() * p.rows())?),
                false => None,
            },
            receivers,
            extract: kernel(),
            pack: kernel(),
            largest: kernel(),
            look: kernel(),
        })
    }

    /// Prepares other shots, without any records yet.
    pub(super) fn next_shots<T: Real>(
        &mut self,
        a: &A,
        (setup, shots): (&Setup<T>, &[Acquisition<T>]),
        layout: &Layout,
    ) -> Result<(), Error> {
        let before = self.receivers.own.len();
        self.receivers = ReceiverMemory::new(a, (&setup.padded, shots), layout)?;
        let count = self.receivers.own.len();
        if count != before {
            self.ring = Ring::new(a, count * size_of::<T>())?;
        }
        if self.kept.is_some() {
            let zeros = || send(a, &vec![T::of(0.0); count]);
            self.kept = Some([zeros()?, zeros()?]);
        }
        self.peaks.as_ref().map_or(Ok(()), |peaks| a.clear(peaks))
    }

    /// Prepares the first step: records are counted from zero, and remnants of a failed run are discarded.
    pub(super) fn rewind(&mut self) {
        self.ring.rewind();
        self.pieces.rewind();
        self.written = 0;
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> usize {
        let kept: usize = self.kept.iter().flatten().map(Memory::bytes).sum();
        let peaks = self.peaks.as_ref().map_or(0, Memory::bytes);
        self.receivers.bytes() + kept + self.ring.bytes() + self.pieces.bytes() + peaks
    }

    /// Address of the running values of the record from entry `first` on.
    pub(super) fn kept_at(&self, which: usize, first: usize, size: usize) -> u64 {
        let kept = self.kept.as_ref().map_or(0, |kept| kept[which].address());
        let place = self.receivers.own.partition_point(|&number| number < first);
        kept + (place * size) as u64
    }

    /// Address of the largest speeds.
    pub(super) fn peaks_at(&self) -> u64 {
        self.peaks.as_ref().map_or(0, Memory::address)
    }

    /// Number of records that fit in the ring.
    pub(super) fn slots(&self) -> usize {
        2 * HALF
    }

    pub(super) fn piece_planes(&self) -> usize {
        self.pieces.planes()
    }
}

impl<T: Real, A: Accelerator> DeviceSlab<T, A> {
    /// Reads the receivers into the record at this address (0: updates the running values only).
    fn extract(&self, record: u64) -> Result<(), Error> {
        let r = &self.records;
        if r.receivers.own.is_empty() {
            return Ok(());
        }
        let kept = r
            .kept
            .as_ref()
            .map_or([0; 2], |k| k.each_ref().map(Memory::address));
        let args = Extract {
            slab: self.args,
            first: r.receivers.first.address(),
            cell: r.receivers.cell.address(),
            weight: r.receivers.weight.address(),
            kept,
            record,
            dt: T::of(self.setup.dt),
            integral: i32::from(self.setup.quantity != Quantity::Acceleration),
            count: int(r.receivers.own.len()),
        };
        let dims = Dims {
            grid: [(r.receivers.own.len() * READERS).div_ceil(READ_BLOCK), 1, 1],
            threads: READ_BLOCK,
            shared: READ_BLOCK * size_of::<T>(),
        };
        // SAFETY: receivers lie on the slab, and their nodes at most in its ghosts.
        unsafe {
            self.accelerator
                .launch(Stream::Main, &r.extract, dims, &argument(&args))
        }
    }

    /// Updates the quantities that run from step to step; the newest values are written to the slot of the next record.
    pub(super) fn keep(&mut self) -> Result<(), Error> {
        if self.records.peaks.is_some() {
            self.keep_peaks()?;
        }
        if self.records.kept.is_none() {
            return Ok(());
        }
        self.extract(self.records.ring.slot(self.records.written))
    }

    pub(super) fn record(&mut self) -> Result<(), Error> {
        if self.records.kept.is_none() {
            self.extract(self.records.ring.slot(self.records.written))?;
        }
        self.records.written += 1;
        let written = self.records.written;
        self.records.ring.written(&self.accelerator, written)
    }

    /// Takes the oldest record.
    pub(super) fn take_traces(&mut self, out: &mut [T]) -> Result<(), Error> {
        let r = &mut self.records;
        let record: &[T] = bytemuck::cast_slice(r.ring.take(&self.accelerator)?);
        if record.len() == out.len() {
            // A single slab reads all values, in order.
            out.copy_from_slice(record);
            return Ok(());
        }
        for (&number, &value) in r.receivers.own.iter().zip(record) {
            out[number] = value;
        }
        Ok(())
    }

    fn keep_peaks(&self) -> Result<(), Error> {
        let (p, r) = (&self.setup.padded, &self.records);
        let (live, rows) = (live(p.planes()), rows(p));
        let planes = self.layout.own.start.max(live.start)..self.layout.own.end.min(live.end);
        if planes.is_empty() {
            return Ok(());
        }
        let args = Peaks {
            slab: self.args,
            peaks: r.peaks.as_ref().map_or(0, Memory::address),
            top: int(p.low[0]),
            begin: int(planes.start),
            end: int(planes.end),
            row_begin: int(rows.start),
            row_count: int(rows.len()),
        };
        let dims = Dims {
            grid: [(planes.len() * rows.len()).div_ceil(WALKERS), 1, 1],
            threads: WALKERS,
            shared: 0,
        };
        // SAFETY: the neighbours of live planes and rows lie in the slab or its ghosts.
        unsafe {
            self.accelerator
                .launch(Stream::Main, &r.largest, dims, &argument(&args))
        }
    }

    /// Largest horizontal speeds so far at the top nodes of the model, `[own plane][row]`.
    pub(super) fn peaks(&self) -> Result<Vec<T>, Error> {
        let Some(memory) = &self.records.peaks else {
            return Ok(Vec::new());
        };
        let bytes = self.layout.own.len() * self.setup.padded.rows() * size_of::<T>();
        let mut host = self.accelerator.pin(bytes)?;
        // SAFETY: both memories hold that many bytes, and this function waits for the copy.
        unsafe {
            self.accelerator
                .download(Stream::Main, memory.address(), &mut host, 0, bytes)?;
        }
        self.accelerator.finish()?;
        Ok(bytemuck::cast_slice(&host.bytes()[..bytes]).to_vec())
    }

    /// Packs planes of the slab, for a component of the snapshot window, and sends them to the host.
    pub(super) fn pack(&mut self, component: usize, planes: Range<usize>) -> Result<(), Error> {
        let ndim = self.setup.padded.ndim();
        let [z, x, _] = self.setup.window.clone();
        let (row_begin, row_count) = if ndim == 3 { (x.start, x.len()) } else { (0, 1) };
        let numbers = planes.len() * row_count * z.len();
        let (fields, share) = self.setup.quantity.of_snapshots().fields(ndim, component);
        let r = &mut self.records;
        let args = Pack {
            slab: self.args,
            field: std::array::from_fn(|k| fields.get(k).copied().map_or(0, int)),
            fields: int(fields.len()),
            share: T::of(share),
            begin: int(planes.start),
            end: int(planes.end),
            z_begin: int(z.start),
            z_count: int(z.len()),
            row_begin: int(row_begin),
            row_count: int(row_count),
            out: r.pieces.address(),
        };
        // SAFETY: the window lies on the slab; the piece was taken, so nothing else uses its memory.
        unsafe {
            self.accelerator
                .launch(Stream::Main, &r.pack, walk(numbers), &argument(&args))?;
        }
        r.pieces.send(&self.accelerator, numbers * size_of::<T>())
    }

    /// Takes the oldest piece that was packed.
    pub(super) fn take_piece(&mut self, out: &mut Vec<T>) -> Result<(), Error> {
        let piece = self.records.pieces.take(&self.accelerator)?;
        out.extend_from_slice(bytemuck::cast_slice(piece));
        Ok(())
    }

    /// Searches the velocities for non-finite values.
    pub(super) fn look(&mut self) -> Result<(), Error> {
        let cells = self.layout.own.len() * self.setup.padded.plane_len();
        let (a, r) = (&self.accelerator, &mut self.records);
        let (shots, slab, first_non_finite) = (self.shots.len(), self.args, r.search.address());
        let all: Vec<Look<T>> = (0..shots)
            .map(|shot| Look {
                slab: slab.of_shot(shot),
                first_non_finite,
            })
            .collect();
        let look = &r.look;
        let launch = || {
            for args in &all {
                // SAFETY: the kernel reads the fields of a shot and writes one number.
                unsafe { a.launch(Stream::Main, look, search(cells), &argument(args))? };
            }
            Ok(())
        };
        r.search.run(a, launch)
    }

    /// The first cell with a non-finite value.
    pub(super) fn non_finite_cell(&mut self) -> Result<Option<usize>, Error> {
        self.records.search.answer(&self.accelerator)
    }
}
