//! Sums of the products of the forward and the adjoint wavefield at the points of the elements of a field.

use super::arguments::{Flush, Products};
use super::field::{FieldMemory, Fields};
use super::pairing::Pairing;
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Stream, argument, walk};
use crate::device::staging::Staging;
use crate::mesh::Basis;

/// The sums of a field's elements, and the kernels that add to them; elements in perfectly matched layers, whose medium is held, add nothing.
pub struct ProductMemory<A: Accelerator> {
    pairings: Vec<Pairing>,
    /// Of the runs of the listing that lie outside of layers.
    kernels: Vec<Option<A::Kernel>>,
    /// `[element][product][point]`, in single and in double precision.
    sums: A::Memory,
    totals: A::Memory,
    count: usize,
    per_element: usize,
    /// Products of a point.
    width: usize,
    /// The totals of the last run, on the host.
    found: Vec<f64>,
}

/// Addresses of what the adjoint wavefield is multiplied with: the forward field, and the own acceleration of the step before.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    pub forward: u64,
    pub before: u64,
}

impl<A: Accelerator> ProductMemory<A> {
    /// Bytes of device memory of so many elements.
    pub fn bytes_of(field: &FieldMemory<A>, (soaked, constants): (bool, bool), per_element: usize) -> usize {
        let pairing = |variant: &Variant| Pairing::new(*variant, soaked, constants).width();
        let width = field.variants.first().map_or(0, pairing);
        field.listing.elements.len() * per_element * width * (size_of::<f32>() + size_of::<f64>())
    }

    /// Takes the memory and compiles the kernels.
    pub fn new(
        a: &A,
        field: &FieldMemory<A>,
        basis: &Basis,
        (soaked, constants): (bool, bool),
    ) -> Result<Self, Error> {
        let pairings: Vec<_> = field
            .variants
            .iter()
            .map(|variant| Pairing::new(*variant, soaked, constants))
            .collect();
        let kernel = |pairing: &Pairing| -> Result<Option<A::Kernel>, Error> {
            if pairing.elements.damped() {
                return Ok(None);
            }
            Ok(a.load(&pairing.source(basis), &["products"])?.pop())
        };
        let width = pairings.first().map_or(0, Pairing::width);
        let per_element = match pairings.first() {
            Some(pairing) => basis.len().pow(pairing.elements.dimension as u32),
            None => 0,
        };
        let count = field.listing.elements.len() * per_element * width;
        Ok(Self {
            kernels: pairings.iter().map(kernel).collect::<Result<_, _>>()?,
            sums: a.allocate((count * size_of::<f32>()).max(4))?,
            totals: a.allocate((count * size_of::<f64>()).max(8))?,
            pairings,
            count,
            per_element,
            width,
            found: Vec::new(),
        })
    }

    /// Adds the products of a step.
    pub fn add(
        &self,
        a: &A,
        field: &FieldMemory<A>,
        fields: Fields,
        recorded: Recorded,
    ) -> Result<(), Error> {
        for (k, run) in field.listing.runs.iter().enumerate() {
            let Some(kernel) = &self.kernels[k] else {
                continue;
            };
            let block = self.pairings[k].elements.block();
            let args = Products {
                e: field.arguments(k, fields),
                forward: recorded.forward,
                before: recorded.before,
                sums: self.sums.address(),
            };
            let dims = Dims {
                grid: [run.elements.len().div_ceil(block.elements), 1, 1],
                threads: block.threads,
                shared: self.pairings[k].shared(),
            };
            // SAFETY: the structure of the kernel; elements, points and sums are those of the tables.
            unsafe { a.launch(Stream::Main, kernel, dims, &argument(&args))? };
        }
        Ok(())
    }

    /// Adds sums in single precision to those in double.
    pub fn flush(&self, a: &A, kernel: &A::Kernel) -> Result<(), Error> {
        if self.count == 0 {
            return Ok(());
        }
        let args = Flush {
            sums: self.sums.address(),
            totals: self.totals.address(),
            count: self.count as i64,
        };
        // SAFETY: the structure of the kernel; both memories have so many numbers.
        unsafe { a.launch(Stream::Main, kernel, walk(self.count), &argument(&args)) }
    }

    /// Begins anew.
    pub fn clear(&self, a: &A) -> Result<(), Error> {
        a.clear(&self.sums)?;
        a.clear(&self.totals)
    }

    /// Brings the totals to the host.
    pub fn fetch(&mut self, a: &A) -> Result<(), Error> {
        self.found.resize(self.count, 0.0);
        if self.count == 0 {
            return Ok(());
        }
        let bytes = bytemuck::cast_slice_mut(&mut self.found);
        // SAFETY: the whole memory.
        unsafe { Staging::default().download(a, self.totals.address(), bytes) }
    }

    /// The totals of a point of a listed element, as the device has them.
    pub fn at(&self, home: usize, local: usize) -> impl Iterator<Item = f64> + Clone {
        let first = home * self.width * self.per_element + local;
        (0..self.width).map(move |k| self.found[first + k * self.per_element])
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.sums.bytes() + self.totals.bytes()
    }
}
