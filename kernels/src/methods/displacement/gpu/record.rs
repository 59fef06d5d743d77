//! Records of a slab: receivers, snapshots, and the search for values that are not finite.

use super::Setup;
use super::arguments::{Extract, Look, Pack};
use super::slab::DeviceSlab;
use super::survey::ReceiverTables;
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Stream, argument, search, send, walk};
use crate::device::device_to_host::{HALF, Pieces, Ring, Search};
use crate::device::simd::Real;
use crate::methods::displacement::snapshot_component;
use std::ops::Range;

/// Memory and kernels for the records of one slab.
pub struct Records<T, A: Accelerator> {
    receivers: ReceiverTables<T>,
    cell: A::Memory,
    beyond: A::Memory,
    ring: Ring<A>,
    components: usize,
    pieces: Pieces<A>,
    search: Search<A>,
    extract: A::Kernel,
    pack: A::Kernel,
    look: A::Kernel,
}

impl<T: Real, A: Accelerator> Records<T, A> {
    pub(super) fn new(a: &A, setup: &Setup<T>, own: &Range<usize>, variant: &Variant) -> Result<Self, Error> {
        let receivers = ReceiverTables::new(&setup.padded, &setup.receivers, own);
        let components = setup.components;
        let [z, x, _] = &setup.window;
        let rows = if setup.padded.ndim() == 3 { x.len() } else { 1 };
        let mut kernels = a
            .load(&variant.survey(), &["extract", "pack", "look"])?
            .into_iter();
        let mut kernel = || kernels.next().expect("as many kernels as names");
        Ok(Self {
            cell: send(a, &receivers.cells)?,
            beyond: send(a, &receivers.beyond)?,
            ring: Ring::new(a, components * receivers.own.len() * size_of::<T>())?,
            receivers,
            components,
            pieces: Pieces::new(a, z.len() * rows * size_of::<T>(), own.len())?,
            search: Search::new(a)?,
            extract: kernel(),
            pack: kernel(),
            look: kernel(),
        })
    }

    /// Called before the first step: `records` records were taken before it, and anything that a failed run left
    /// behind is discarded.
    pub(super) fn rewind(&mut self, records: usize) {
        self.ring.rewind_to(records);
        self.pieces.rewind();
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> usize {
        self.cell.bytes() + self.beyond.bytes() + self.ring.bytes() + self.pieces.bytes()
    }

    pub(super) fn half(&self) -> usize {
        HALF
    }

    pub(super) fn piece_planes(&self) -> usize {
        self.pieces.planes()
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

    /// Records the receivers of the current level, if due after step `it` (with `clock`, counted from the device's
    /// clock).
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
        // SAFETY: receivers lie on the slab, and the cells around them in it or in its ghosts.
        unsafe {
            self.accelerator
                .launch(Stream::Main, &r.extract, dims, &argument(&args))
        }
    }

    /// Notes that `records` records were extracted in all.
    pub(super) fn extracted(&mut self, records: usize) -> Result<(), Error> {
        self.records.ring.written(&self.accelerator, records)
    }

    /// Takes the oldest record that was extracted.
    pub(super) fn take_traces(&mut self, out: &mut [T]) -> Result<(), Error> {
        let r = &mut self.records;
        let record: &[T] = bytemuck::cast_slice(r.ring.take(&self.accelerator)?);
        let (mine, all) = (r.receivers.own.len(), out.len() / r.components);
        for component in 0..r.components {
            let row = &mut out[component * all..(component + 1) * all];
            for (&number, &value) in r.receivers.own.iter().zip(&record[component * mine..]) {
                row[number] = value;
            }
        }
        Ok(())
    }

    /// Packs planes of the slab, for a component of the snapshot window, and sends them to the host.
    pub(super) fn pack(&mut self, component: usize, planes: Range<usize>) -> Result<(), Error> {
        let three = self.setup.padded.ndim() == 3;
        let [z, x, _] = self.setup.window.clone();
        let (row_begin, row_count) = if three { (x.start, x.len()) } else { (0, 1) };
        let numbers = planes.len() * row_count * z.len();
        let r = &mut self.records;
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
            out: r.pieces.address(),
        };
        // SAFETY: the planes lie on the slab; the previous piece has been taken, so nothing else uses its memory.
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

    /// Searches the current level for values that are not finite.
    pub(super) fn look(&mut self) -> Result<(), Error> {
        let r = &mut self.records;
        let args = Look {
            slab: self.args,
            now: self.now as i32,
            first_non_finite: r.search.address(),
        };
        let cells = self.layout.own.len() * self.setup.padded.plane_len();
        let a = &self.accelerator;
        // SAFETY: the kernel reads the slab and writes one number.
        let launch = || unsafe { a.launch(Stream::Main, &r.look, search(cells), &argument(&args)) };
        r.search.run(a, launch)
    }

    /// The first cell that the search found.
    pub(super) fn non_finite_cell(&mut self) -> Result<Option<usize>, Error> {
        self.records.search.answer(&self.accelerator)
    }
}
