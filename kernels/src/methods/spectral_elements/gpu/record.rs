//! The recording of a subdomain: receivers, snapshots, and the search for non-finite values.

use super::arguments::{Look, Sample, int};
use super::field::Plan;
use super::part::{DevicePart, Standing};
use super::tables::Listing;
use super::{single, singles};
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Stream, argument, search, send, walk};
use crate::device::device_to_host::{HALF, Pieces, Ring, Search, ring_bytes};
use crate::methods::spectral_elements::points::Receiver;
use crate::methods::spectral_elements::recording::Recording;
use crate::methods::spectral_elements::{Engine, Setup};
use crate::receiver::Quantity;
use crate::time_loop::Sampler;
use std::ops::Range;

/// Number of threads that compute a receiver; as in points.cu.
const READERS: usize = 32;

/// Places at which fields are interpolated.
struct PlaceMemory<A: Accelerator> {
    count: usize,
    element: A::Memory,
    in_fluid: A::Memory,
    first: A::Memory,
    weights: A::Memory,
    dressed: A::Memory,
    sums: A::Memory,
}

impl<A: Accelerator> PlaceMemory<A> {
    /// Tables for these places, which record `quantity`. If given, `point_indices` returns the indices of dressed
    /// points and of sums for an element's points. A place that is `None` lies outside the mesh.
    fn new<'a, const D: usize>(
        a: &A,
        (places, quantity): (impl Iterator<Item = Option<&'a Receiver<D>>>, Quantity),
        (solid, fluid): (&Listing, Option<&Listing>),
        point_indices: Option<&dyn Fn(usize) -> [Vec<i32>; 2]>,
    ) -> Result<Self, Error> {
        let (mut element, mut in_fluid, mut first) = (Vec::new(), Vec::new(), Vec::new());
        let (mut weights, mut dressed, mut sums) = (Vec::<f32>::new(), Vec::new(), Vec::new());
        for place in places {
            first.push(weights.len() as i64);
            let wet = place.is_some_and(Receiver::is_in_fluid);
            let listing = if wet { fluid } else { Some(solid) };
            let home = place.and_then(|place| listing?.find(place.element));
            element.push(home.map_or(-1, int));
            in_fluid.push(i32::from(wet));
            let Some(place) = place else { continue };
            if quantity.is_of_slopes() {
                weights.extend(singles(&place.outputs_of_slopes(quantity)));
            } else {
                weights.extend(singles(&place.weights));
                weights.extend(place.gradient.iter().flatten().flatten().copied().map(single));
            }
            if let Some(point_indices) = point_indices {
                let none = || [vec![-1; place.weights.len()], vec![-1; place.weights.len()]];
                let [a, b] = home.filter(|_| !wet).map_or_else(none, point_indices);
                dressed.extend(a);
                sums.extend(b);
            }
        }
        Ok(Self {
            count: element.len(),
            element: send(a, &element)?,
            in_fluid: send(a, &in_fluid)?,
            first: send(a, &first)?,
            weights: send(a, &weights)?,
            dressed: send(a, &dressed)?,
            sums: send(a, &sums)?,
        })
    }

    fn bytes(&self) -> usize {
        let all = [
            &self.element,
            &self.in_fluid,
            &self.first,
            &self.weights,
            &self.dressed,
            &self.sums,
        ];
        all.into_iter().map(Memory::bytes).sum()
    }
}

/// Memory for the recording of a subdomain.
pub(super) struct Records<A: Accelerator> {
    receivers: PlaceMemory<A>,
    snapshot: PlaceMemory<A>,
    ring: Ring<A>,
    written: usize,
    pieces: Pieces<A>,
    search: Search<A>,
}

impl<A: Accelerator> Records<A> {
    /// Bytes of device memory for this recording.
    pub fn bytes_of<const D: usize>(recording: &Recording<D>, setup: &Setup<D>) -> usize {
        let local = setup.basis.len().pow(D as u32);
        let numbers = |receiver: &Receiver<D>, quantity: Quantity| match receiver.is_in_fluid() {
            true => local * (1 + D),
            false if quantity.is_of_slopes() => local * quantity.components(D) * D,
            false => local,
        };
        let of_receiver = |r: &Receiver<D>| numbers(r, recording.quantity) + 2 * local + 4;
        let receivers = recording.receivers.iter().map(|(_, r)| of_receiver(r));
        let of_snapshot_point =
            |r: &Option<Receiver<D>>| r.as_ref().map_or(0, |r| numbers(r, recording.snapshot_quantity)) + 6;
        let snapshots = recording.snapshot_points.iter().map(of_snapshot_point);
        let record = recording.receivers.len() * recording.quantity.components(D) * size_of::<f32>();
        (receivers.sum::<usize>() + snapshots.sum::<usize>()) * size_of::<f32>() + ring_bytes(record)
    }

    /// Copies the tables to the device; the points of snapshots are then dropped on the host.
    pub fn new<const D: usize>(
        a: &A,
        recording: &mut Recording<D>,
        (solid, fluid): (&Plan, Option<&Listing>),
        setup: &Setup<D>,
    ) -> Result<Self, Error> {
        let listings = (&solid.listing, fluid);
        let local = setup.basis.len().pow(D as u32);
        let point_indices = |home: usize| -> [Vec<i32>; 2] {
            let own = &solid.elements.points[home * local..(home + 1) * local];
            let number = |p: &i32| solid.points.list.binary_search(p).map_or(-1, int);
            let sum = |p: &i32| solid.places.sums[*p as usize];
            [own.iter().map(number).collect(), own.iter().map(sum).collect()]
        };
        let receivers = recording.receivers.iter().map(|(_, r)| Some(r));
        let receivers = PlaceMemory::new(a, (receivers, recording.quantity), listings, Some(&point_indices))?;
        let snapshot_points = std::mem::take(&mut recording.snapshot_points);
        let places = (
            snapshot_points.iter().map(Option::as_ref),
            recording.snapshot_quantity,
        );
        let snapshot = PlaceMemory::new(a, places, listings, None)?;
        let record = receivers.count * recording.quantity.components(D) * size_of::<f32>();
        Ok(Self {
            ring: Ring::new(a, record)?,
            written: 0,
            pieces: Pieces::new(a, snapshot.count * size_of::<f32>(), 1)?,
            search: Search::new(a)?,
            receivers,
            snapshot,
        })
    }

    /// Replaces the receivers by another shot's.
    pub fn turn<const D: usize>(
        &mut self,
        a: &A,
        recording: &Recording<D>,
        listings: (&Listing, Option<&Listing>),
        point_indices: &dyn Fn(usize) -> [Vec<i32>; 2],
    ) -> Result<(), Error> {
        let receivers = recording.receivers.iter().map(|(_, r)| Some(r));
        self.receivers = PlaceMemory::new(a, (receivers, recording.quantity), listings, Some(point_indices))?;
        let record = self.receivers.count * recording.quantity.components(D) * size_of::<f32>();
        if ring_bytes(record) != self.ring.bytes() {
            self.ring = Ring::new(a, record)?;
        }
        self.rewind();
        Ok(())
    }

    /// Prepares the first step: remnants of a failed run are discarded.
    pub fn rewind(&mut self) {
        self.ring.rewind();
        self.pieces.rewind();
        self.written = 0;
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.receivers.bytes() + self.snapshot.bytes() + self.ring.bytes() + self.pieces.bytes()
    }
}

/// The code of a quantity in the kernels.
fn code(quantity: Quantity) -> i32 {
    match quantity {
        Quantity::Velocity => 1,
        Quantity::Acceleration => 2,
        Quantity::Pressure => 3,
        Quantity::Strain | Quantity::Rotation => 4,
        // `Recording::new` refuses the quantities of other methods.
        _ => 0,
    }
}

impl<const D: usize, A: Accelerator> DevicePart<D, A> {
    fn sample_args(&self, places: &PlaceMemory<A>, quantity: Quantity, out: u64) -> Sample {
        Sample {
            s: self.solid_args(),
            f: self.fluid_args(),
            points: self.solid.points.address(),
            fluid_points: self
                .fluid
                .as_ref()
                .map_or(0, |fluid| fluid.field.points.address()),
            element: places.element.address(),
            in_fluid: places.in_fluid.address(),
            first: places.first.address(),
            weights: places.weights.address(),
            dressed: places.dressed.address(),
            sums: places.sums.address(),
            out,
            count: int(places.count),
            quantity: code(quantity),
            outputs: int(quantity.components(D)),
            pending: i32::from(self.standing == Standing::Pending),
            component: 0,
        }
    }
}

impl<const D: usize, A: Accelerator> Sampler for DevicePart<D, A> {
    fn capacity(&self) -> usize {
        2 * HALF
    }

    fn sample(&mut self, _: usize) -> Result<(), Error> {
        let count = self.records.receivers.count;
        if count > 0 {
            let out = self.records.ring.slot(self.records.written);
            let args = self.sample_args(&self.records.receivers, self.recording.quantity, out);
            let dims = Dims {
                grid: [count, 1, 1],
                threads: READERS,
                shared: READERS * Quantity::Strain.components(D) * size_of::<f32>(),
            };
            let kernel = &self.kernels.extract;
            // SAFETY: the argument is the structure of the kernel; receivers lie in elements of the subdomain.
            unsafe {
                self.accelerator
                    .launch(Stream::Main, kernel, dims, &argument(&args))?;
            }
        }
        self.records.written += 1;
        let written = self.records.written;
        self.records.ring.written(&self.accelerator, written)
    }

    fn traces(&mut self, out: &mut [f32]) -> Result<(), Error> {
        let (quantity, all) = (self.recording.quantity, self.recording.count);
        let record = self.records.ring.take(&self.accelerator)?;
        let record: &[f32] = bytemuck::cast_slice(record);
        let count = self.recording.receivers.len();
        for (k, (number, _)) in self.recording.receivers.iter().enumerate() {
            for c in 0..quantity.components(D) {
                // Strain and rotation are already in the order of files.
                let output = match quantity.is_of_slopes() {
                    true => c,
                    false => Engine::<D>::axis(quantity, c),
                };
                out[c * all + number] = record[output * count + k];
            }
        }
        Ok(())
    }

    fn snapshot_share(&self) -> Vec<Range<usize>> {
        self.recording.snapshot_ranges.clone()
    }

    fn pieces(&self) -> usize {
        usize::from(!self.recording.snapshot_ranges.is_empty())
    }

    fn request_piece(&mut self, component: usize, _: usize) -> Result<(), Error> {
        self.settle()?;
        let (quantity, count) = (self.recording.snapshot_quantity, self.records.snapshot.count);
        let out = self.records.pieces.address();
        let args = Sample {
            component: int(Engine::<D>::axis(quantity, component)),
            ..self.sample_args(&self.records.snapshot, quantity, out)
        };
        let kernel = &self.kernels.snapshot;
        // SAFETY: the argument is the structure of the kernel; the previous piece was taken, so nothing else uses its
        // memory.
        unsafe {
            self.accelerator
                .launch(Stream::Main, kernel, walk(count), &argument(&args))?;
        }
        self.records
            .pieces
            .send(&self.accelerator, count * size_of::<f32>())
    }

    fn take_piece(&mut self, out: &mut Vec<f32>) -> Result<(), Error> {
        let piece = self.records.pieces.take(&self.accelerator)?;
        out.extend_from_slice(bytemuck::cast_slice(piece));
        Ok(())
    }

    fn search(&mut self) -> Result<(), Error> {
        let args = Look {
            displacement: self.levels[0].address(),
            second: self.fluid.as_ref().map_or(0, |fluid| fluid.levels[2].address()),
            points: int(self.points),
            first_non_finite: self.records.search.address(),
        };
        let (a, kernel) = (&self.accelerator, &self.kernels.look);
        let dims = search(self.points);
        // SAFETY: the kernel reads the fields and writes one number.
        let launch = || unsafe { a.launch(Stream::Main, kernel, dims, &argument(&args)) };
        self.records.search.run(a, launch)
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        let index = self.records.search.answer(&self.accelerator)?;
        Ok(index.map(|point| self.recording.global[point] as usize))
    }
}
