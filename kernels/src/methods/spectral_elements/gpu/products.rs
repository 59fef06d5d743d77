//! Sums of the products of the forward and the adjoint wavefield: products of the fields at the points of the mesh, and
//! products of their slopes at the points of the elements of a field.

use super::arguments::{Flush, Paired, Products, STEPS};
use super::field::{FieldMemory, Fields};
use super::pairing::Pairing;
use super::variant::Variant;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Stream, argument, walk};
use crate::device::cpu::{Buffer, Cpu};
use crate::device::staging::Staging;
use crate::mesh::Basis;

/// Sums to which kernels add in single precision, their totals in double precision, and the totals on the
/// host.
struct Totals<A: Accelerator> {
    sums: A::Memory,
    totals: A::Memory,
    count: usize,
    /// The totals of the last run.
    host_totals: Option<Buffer<f64>>,
}

impl<A: Accelerator> Totals<A> {
    /// Bytes of device memory of a sum.
    const BYTES: usize = size_of::<f32>() + size_of::<f64>();

    fn new(a: &A, count: usize) -> Result<Self, Error> {
        Ok(Self {
            sums: a.allocate((count * size_of::<f32>()).max(4))?,
            totals: a.allocate((count * size_of::<f64>()).max(8))?,
            count,
            host_totals: None,
        })
    }

    fn flush(&self, a: &A, kernel: &A::Kernel) -> Result<(), Error> {
        if self.count == 0 {
            return Ok(());
        }
        let args = Flush {
            sums: self.sums.address(),
            totals: self.totals.address(),
            count: self.count as i64,
        };
        // SAFETY: the arguments have the kernel's structure; both memories have `count` numbers.
        unsafe { a.launch(Stream::Main, kernel, walk(self.count), &argument(&args)) }
    }

    fn clear(&self, a: &A) -> Result<(), Error> {
        a.clear(&self.sums)?;
        a.clear(&self.totals)
    }

    fn fetch(&mut self, (a, cpu): (&A, &Cpu), staging: &mut Staging<A>) -> Result<(), Error> {
        if self.count == 0 {
            return Ok(());
        }
        let totals = match &mut self.host_totals {
            Some(totals) => totals,
            none => none.insert(Buffer::zeroed(self.count)?),
        };
        let (bytes, copy) = (bytemuck::cast_slice_mut(totals), |from: &[u8], to: &mut [u8]| {
            cpu.copy(from, to)
        });
        // SAFETY: the totals fill the whole memory.
        unsafe { staging.download_by(a, self.totals.address(), bytes, copy) }
    }

    /// The totals of the last run.
    fn last_totals(&self) -> &[f64] {
        self.host_totals.as_deref().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        self.sums.bytes() + self.totals.bytes()
    }
}

/// The number of sums of a field.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The numbers of points of the mesh and of an element.
    pub points: usize,
    pub per_element: usize,
    /// Whether there is a sponge, which needs products by first derivatives.
    pub soaked: bool,
    /// Whether derivatives are with respect to the constants of solids.
    pub constants: bool,
}

impl Extent {
    /// The number of products at a point of the mesh.
    fn of_fields(&self) -> usize {
        1 + usize::from(self.soaked)
    }

    /// The number of products at a point of an element.
    fn of_slopes(&self, variants: &[Variant]) -> usize {
        let width = |variant: &Variant| Pairing::new(*variant, self.constants).width();
        variants.first().map_or(0, width)
    }

    /// Length of the buffer of the adjoint field for later launches: 0 with memory variables, which change in every
    /// step.
    fn kept(&self, field: &[Variant]) -> usize {
        match field.first() {
            Some(variant) if variant.loss.is_none() => STEPS * variant.components() * self.points,
            _ => 0,
        }
    }

    /// The number of sums at the points of the mesh; 0 if the field has no elements.
    fn sums_of_fields(&self, variants: &[Variant]) -> usize {
        if variants.is_empty() {
            return 0;
        }
        self.of_fields() * self.points
    }
}

/// The sums of a field, and the kernels that add to the sums of its elements. Elements in perfectly matched layers,
/// whose medium is not a parameter, have no sums.
pub struct ProductMemory<A: Accelerator> {
    pairings: Vec<Pairing>,
    /// The kernel of each run of the listing; `None` for runs in layers.
    kernels: Vec<Option<A::Kernel>>,
    extent: Extent,
    /// `[product][point]`.
    of_fields: Totals<A>,
    /// `[element][product][point]`, of slopes.
    of_slopes: Totals<A>,
    width: usize,
    /// `[step][point][component]`: the adjoint field of steps whose slopes have not been multiplied yet, and the
    /// addresses of the forward field.
    kept: A::Memory,
    forward: Vec<u64>,
    /// Points of the listed elements, on the host.
    points: Vec<i32>,
}

impl<A: Accelerator> ProductMemory<A> {
    /// Bytes of device memory that a field needs.
    pub fn bytes_of(field: &FieldMemory<A>, extent: Extent) -> usize {
        let of_elements =
            field.listing.elements.len() * extent.per_element * extent.of_slopes(&field.variants);
        let sums = of_elements + extent.sums_of_fields(&field.variants);
        sums * Totals::<A>::BYTES + extent.kept(&field.variants) * size_of::<f32>()
    }

    /// Allocates the memory and compiles the kernels.
    pub fn new(a: &A, field: &FieldMemory<A>, basis: &Basis, extent: Extent) -> Result<Self, Error> {
        let pairing = |variant: &Variant| Pairing::new(*variant, extent.constants);
        let pairings: Vec<_> = field.variants.iter().map(pairing).collect();
        let kernel = |pairing: &Pairing| -> Result<Option<A::Kernel>, Error> {
            if pairing.elements.damped() {
                return Ok(None);
            }
            Ok(a.load(&pairing.source(basis), &["products"])?.pop())
        };
        let width = extent.of_slopes(&field.variants);
        let elements = field.listing.elements.len();
        let kept = extent.kept(&field.variants) * size_of::<f32>();
        Ok(Self {
            kernels: pairings.iter().map(kernel).collect::<Result<_, _>>()?,
            of_fields: Totals::new(a, extent.sums_of_fields(&field.variants))?,
            of_slopes: Totals::new(a, elements * extent.per_element * width)?,
            kept: a.allocate(kept.max(4))?,
            forward: Vec::new(),
            points: match elements {
                0 => Vec::new(),
                _ => field.host_points(a, extent.per_element)?,
            },
            pairings,
            extent,
            width,
        })
    }

    /// Whether the adjoint field is buffered, so that a launch takes several steps; otherwise a launch takes each
    /// step before it is completed.
    fn keeps(&self) -> bool {
        self.kept.bytes() > 4
    }

    /// The address of the buffered field of a step.
    fn kept(&self, step: usize) -> u64 {
        self.kept.address() + (step * self.kept.bytes() / STEPS) as u64
    }

    /// The products that are added at the end of the next adjoint step, with the forward field at this address.
    pub fn paired(&self, forward: u64) -> Paired {
        Paired {
            forward,
            sums: self.of_fields.sums.address(),
            kept: if self.keeps() {
                self.kept(self.forward.len())
            } else {
                0
            },
            points: self.extent.points as i64,
            soaked: i32::from(self.extent.soaked),
        }
    }

    /// Adds the products of slopes of an adjoint step that is not completed, unless its field is buffered.
    pub fn add(&self, a: &A, field: &FieldMemory<A>, fields: Fields, forward: u64) -> Result<(), Error> {
        if self.keeps() {
            return Ok(());
        }
        self.launch(a, field, fields, &[[forward, fields.field]])
    }

    /// Registers a step that was completed with [`Self::paired`] if its field is buffered; a launch takes the slopes
    /// of several such steps.
    pub fn ended(
        &mut self,
        a: &A,
        field: &FieldMemory<A>,
        fields: Fields,
        forward: u64,
    ) -> Result<(), Error> {
        if !self.keeps() {
            return Ok(());
        }
        self.forward.push(forward);
        match self.forward.len() {
            STEPS => self.add_kept(a, field, fields),
            _ => Ok(()),
        }
    }

    /// Adds the products of slopes of all buffered steps.
    pub fn add_kept(&mut self, a: &A, field: &FieldMemory<A>, fields: Fields) -> Result<(), Error> {
        let forward = std::mem::take(&mut self.forward).into_iter();
        let steps: Vec<_> = forward
            .enumerate()
            .map(|(step, forward)| [forward, self.kept(step)])
            .collect();
        self.launch(a, field, fields, &steps)
    }

    /// Adds the products of slopes of some steps, given by the addresses of the forward and of the adjoint field.
    fn launch(&self, a: &A, field: &FieldMemory<A>, fields: Fields, steps: &[[u64; 2]]) -> Result<(), Error> {
        for (k, run) in field.listing.runs.iter().enumerate() {
            let Some(kernel) = &self.kernels[k] else {
                continue;
            };
            let block = self.pairings[k].block();
            let dims = Dims {
                grid: [run.elements.len().div_ceil(block.elements), 1, 1],
                threads: block.threads,
                shared: self.pairings[k].shared(),
            };
            for steps in steps.chunks(self.pairings[k].batch()) {
                let each = |of: usize| std::array::from_fn(|k| steps.get(k).map_or(0, |step| step[of]));
                let args = Products {
                    e: field.arguments(k, fields),
                    forward: each(0),
                    adjoint: each(1),
                    sums: self.of_slopes.sums.address(),
                    count: steps.len() as i32,
                };
                // SAFETY: the arguments have the kernel's structure; elements, points and sums come from the tables.
                unsafe { a.launch(Stream::Main, kernel, dims, &argument(&args))? };
            }
        }
        Ok(())
    }

    /// Adds the sums in single precision to the sums in double precision.
    pub fn flush(&self, a: &A, kernel: &A::Kernel) -> Result<(), Error> {
        self.of_fields.flush(a, kernel)?;
        self.of_slopes.flush(a, kernel)
    }

    /// Sets all sums to zero.
    pub fn clear(&mut self, a: &A) -> Result<(), Error> {
        self.forward.clear();
        self.of_fields.clear(a)?;
        self.of_slopes.clear(a)
    }

    /// Downloads the totals to the host.
    pub fn fetch(&mut self, on: (&A, &Cpu), staging: &mut Staging<A>) -> Result<(), Error> {
        self.of_fields.fetch(on, staging)?;
        self.of_slopes.fetch(on, staging)
    }

    /// The totals of the fields at a point of a listed element.
    pub fn of_fields(&self, home: usize, local: usize) -> impl Iterator<Item = f64> + Clone {
        let point = self.points[home * self.extent.per_element + local] as usize;
        let totals = self.of_fields.last_totals();
        (0..self.extent.of_fields()).map(move |k| totals[k * self.extent.points + point])
    }

    /// The totals of the slopes at a point of a listed element, in the order of the device.
    pub fn of_slopes(&self, home: usize, local: usize) -> impl Iterator<Item = f64> + Clone {
        let per_element = self.extent.per_element;
        let (first, totals) = (
            home * self.width * per_element + local,
            self.of_slopes.last_totals(),
        );
        (0..self.width).map(move |k| totals[first + k * per_element])
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.of_fields.bytes() + self.of_slopes.bytes() + self.kept.bytes()
    }
}
