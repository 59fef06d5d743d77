//! Adjoints on a device: a single subdomain covers the whole mesh, and its memory is used alternately by the forward
//! and the adjoint run.

use super::DevicePart;
use super::field::{FieldMemory, Fields};
use super::paired::PairedKernels;
use super::products::{Extent, ProductMemory};
use super::sources::SourceMemory;
use super::variant;
use super::watched::{FaceMemory, Rates, Watched};
use super::wavefield::Wavefield;
use crate::device::accelerator::{Accelerator, Memory};
use crate::device::cpu::Cpu;
use crate::device::staging::Staging;
use crate::mesh::Locator;
use crate::methods::spectral_elements::adjoint::machine::Seen;
use crate::methods::spectral_elements::adjoint::{Adjoint, Parameters};
use crate::methods::spectral_elements::boundary::FacePoint;
use crate::methods::spectral_elements::cut::Cut;
use crate::methods::spectral_elements::{Number, Setup, Shot};
use crate::time_loop::{Part, Sampler, Stepper};
use crate::{Error, Hint, message};
use std::mem::swap;
use std::sync::Arc;

/// Prepares a shot over solids and fluids on a device, for derivatives with respect to these parameters; `cpu` converts
/// the sums to derivatives.
///
/// # Errors
/// Returns the errors of [`Adjoint::new`], and an error for insufficient device memory and kernels that do not compile.
pub fn adjoint<const D: usize, A: Accelerator>(
    (a, cpu): (Arc<A>, Cpu),
    setup: &Setup<D>,
    shot: &Shot<D>,
    parameters: Parameters,
) -> Result<Adjoint<D, OnDevice<D, A>>, Error> {
    let constants = parameters == Parameters::Constants;
    Adjoint::on(setup, shot, parameters, |faces, _| {
        OnDevice::new((a, cpu), (setup, shot), faces, constants)
    })
}

pub(super) struct Kernels<A: Accelerator> {
    pub flush: A::Kernel,
    pub faces: A::Kernel,
    pub watch: A::Kernel,
    pub largest: A::Kernel,
    pub inertia: A::Kernel,
    pub face_forces: A::Kernel,
}

impl<A: Accelerator> Kernels<A> {
    fn load(a: &A, dimension: usize) -> Result<Self, Error> {
        let names = ["flush", "faces", "watch", "largest", "inertia", "face_forces"];
        let all: [A::Kernel; 6] = a
            .load(&variant::gradient(dimension), &names)?
            .try_into()
            .map_err(|_| Error::setup("kernels of gradients are missing"))?;
        let [flush, faces, watch, largest, inertia, face_forces] = all;
        Ok(Self {
            flush,
            faces,
            watch,
            largest,
            inertia,
            face_forces,
        })
    }
}

/// A recorded step: the displacement of solids, and the second derivative of the potential of fluids.
pub(super) struct Step<A: Accelerator> {
    pub solid: Option<A::Memory>,
    pub fluid: Option<A::Memory>,
}

impl<A: Accelerator> Step<A> {
    /// The device addresses of both, or 0 for a field that the subdomain lacks.
    fn addresses(&self) -> [u64; 2] {
        [&self.solid, &self.fluid].map(|field| field.as_ref().map_or(0, Memory::address))
    }
}

/// The sources of solids and of fluids.
pub(super) type Driving<A> = (SourceMemory<A>, Option<SourceMemory<A>>);

/// A subdomain for an adjoint, with the recorded steps and the sums.
pub struct OnDevice<const D: usize, A: Accelerator> {
    pub(super) part: DevicePart<D, A>,
    pub(super) cpu: Cpu,
    pub(super) kernels: Kernels<A>,
    pub(super) solid: ProductMemory<A>,
    pub(super) fluid: Option<ProductMemory<A>>,
    pub(super) faces: FaceMemory<A>,
    pub(super) extent: Extent,
    /// Number of steps of the wavefield in the subdomain.
    pub(super) step: usize,
    /// Number of records that have not been taken.
    pub(super) outstanding: usize,
    pub(super) marks: Vec<Wavefield<A>>,
    pub(super) spare: Vec<Wavefield<A>>,
    pub(super) recorded: Vec<Step<A>>,
    /// The adjoint run while the forward run occupies the subdomain, and its sources.
    pub(super) reversed: Wavefield<A>,
    pub(super) driving: Option<Driving<A>>,
    /// The kernels of elements for the adjoint wavefield while the forward run occupies the subdomain: of solids and
    /// of fluids.
    pub(super) transposed: [Vec<A::Kernel>; 2],
    pub(super) watched: Option<Watched<A>>,
    pub(super) largest: [A::Memory; 2],
    pub(super) staging: Staging<A>,
}

impl<const D: usize, A: Accelerator> OnDevice<D, A> {
    fn new(
        (a, cpu): (Arc<A>, Cpu),
        (setup, shot): (&Setup<D>, &Shot<D>),
        faces: &[FacePoint<D>],
        constants: bool,
    ) -> Result<Self, Error> {
        let (cut, locator) = (
            Cut::new(setup, std::slice::from_ref(&(0..setup.mesh.len())))?,
            Locator::new(setup.mesh),
        );
        let mut part = DevicePart::new(a.clone(), setup, shot, (&cut, &locator, 0))?;
        // Fields are read after every step.
        part.expect_look(true);
        part.paired_kernels = Some(PairedKernels::load(&*a, D)?);
        let extent = Extent {
            points: part.points,
            per_element: part.per_element,
            soaked: setup.sponge.is_some(),
            constants,
        };
        fits(&*a, &part, (extent, setup.mesh.len(), faces.len()))?;
        let products = |field| ProductMemory::new(&*a, field, setup.basis, extent);
        Ok(Self {
            kernels: Kernels::load(&*a, D)?,
            solid: products(&part.solid)?,
            fluid: match &part.fluid {
                Some(fluid) => Some(products(&fluid.field)?),
                None => None,
            },
            faces: FaceMemory::new(&*a, setup, faces)?,
            reversed: Wavefield::rest(&part)?,
            transposed: [
                transposed(&*a, &part.solid, setup)?,
                match &part.fluid {
                    Some(fluid) => transposed(&*a, &fluid.field, setup)?,
                    None => Vec::new(),
                },
            ],
            largest: [a.allocate(4)?, a.allocate(4)?],
            extent,
            step: 0,
            outstanding: 0,
            marks: Vec::new(),
            spare: Vec::new(),
            recorded: Vec::new(),
            driving: None,
            watched: None,
            staging: Staging::default(),
            part,
            cpu,
        })
    }

    pub(super) fn a(&self) -> Arc<A> {
        self.part.accelerator.clone()
    }

    /// Bytes of the displacement of a step; 0 without solids.
    pub(super) fn solid_bytes(&self) -> usize {
        match self.part.solid.listing.elements.is_empty() {
            true => 0,
            false => self.part.levels[0].bytes(),
        }
    }

    /// The addresses of the levels of the wavefield in the subdomain: of the solid, and of the fluid or zeros.
    fn levels(&self) -> [[u64; 3]; 2] {
        let of = |levels: &[A::Memory; 3]| levels.each_ref().map(Memory::address);
        let fluid = self.part.fluid.as_ref();
        [
            of(&self.part.levels),
            fluid.map_or([0; 3], |fluid| of(&fluid.levels)),
        ]
    }

    /// Advances the wavefield in the subdomain by one step.
    pub(super) fn advance(&mut self) -> Result<(), Error> {
        for stage in 0..self.part.stages() {
            self.part.update(stage, Part::Interior, self.step)?;
        }
        self.step += 1;
        self.part.finish_step()
    }

    /// Swaps the forward and the adjoint run.
    pub(super) fn swap(&mut self) -> Result<(), Error> {
        self.reversed.swap(&mut self.part, &mut self.step)?;
        let [solid, fluid] = &mut self.transposed;
        swap(solid, &mut self.part.solid.kernels);
        if let Some(theirs) = &mut self.part.fluid {
            swap(fluid, &mut theirs.field.kernels);
        }
        if let Some((solid, fluid)) = &mut self.driving {
            swap(solid, &mut self.part.solid.sources);
            if let (Some(own), Some(theirs)) = (fluid, &mut self.part.fluid) {
                swap(own, &mut theirs.field.sources);
            }
        }
        Ok(())
    }

    /// The adjoint wavefield of the subdomain, as arguments of the kernels of products.
    fn fields(&self, [field, rate, second]: [u64; 3]) -> Fields {
        Fields {
            field,
            rate,
            second,
            dt: self.part.dt,
            inside: 0,
        }
    }

    /// Advances the adjoint wavefield by one step and adds its products with a recorded step; with `goes_on` the next
    /// step begins at once.
    pub(super) fn correlate(
        &mut self,
        (step, slot): (usize, usize),
        goes_on: bool,
        seen: &mut Seen<'_>,
    ) -> Result<(), Error> {
        let (a, forward) = (self.a(), self.recorded[slot].addresses());
        let of_fluid = self.fluid.as_ref().map(|fluid| fluid.paired(forward[1]));
        let of_solid = self.solid.paired(forward[0]);
        self.part.pair([of_solid, of_fluid.unwrap_or(of_solid)]);
        self.advance()?;
        let [solid, fluid] = self.levels().map(|levels| self.fields(levels));
        self.solid.add(&a, &self.part.solid, solid, forward[0])?;
        self.look(step, seen)?;
        self.part.end_paired(goes_on)?;
        let rates = Rates {
            velocity: solid.rate,
            acceleration: solid.second,
            rate: fluid.rate,
            half: self.part.dt / 2.0,
            ahead: goes_on,
        };
        self.faces.add(&a, &self.kernels.faces, (forward, rates))?;
        self.solid.ended(&a, &self.part.solid, solid, forward[0])?;
        match (&mut self.fluid, &self.part.fluid) {
            (Some(products), Some(part)) => products.ended(&a, &part.field, fluid, forward[1]),
            _ => Ok(()),
        }
    }

    /// Adds the products of all steps that wait for a common launch.
    pub(super) fn correlate_kept(&mut self) -> Result<(), Error> {
        let (a, levels) = (self.a(), self.levels());
        let [solid, fluid] = levels.map(|levels| self.fields(levels));
        self.solid.add_kept(&a, &self.part.solid, solid)?;
        match (&mut self.fluid, &self.part.fluid) {
            (Some(products), Some(part)) => products.add_kept(&a, &part.field, fluid),
            _ => Ok(()),
        }
    }

    /// Records the adjoint wavefield of a step, and passes the values on when the buffer is full.
    pub(super) fn look(&mut self, step: usize, seen: &mut Seen<'_>) -> Result<(), Error> {
        let [solid, fluid] = self.levels();
        let (a, kernel) = (&*self.part.accelerator, &self.kernels.watch);
        let Some(watched) = &mut self.watched else {
            return Ok(());
        };
        match watched.take(a, kernel, (step, [solid[0], fluid[2]]))? {
            true => watched.show(a, &mut self.staging, seen),
            false => Ok(()),
        }
    }

    /// Passes on the recorded values of the steps so far.
    pub(super) fn show(&mut self, seen: &mut Seen<'_>) -> Result<(), Error> {
        match &mut self.watched {
            Some(watched) => watched.show(&*self.part.accelerator, &mut self.staging, seen),
            None => Ok(()),
        }
    }

    /// Adds the sums in single precision to the sums in double precision.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.correlate_kept()?;
        let (a, kernel) = (&*self.part.accelerator, &self.kernels.flush);
        self.solid.flush(a, kernel)?;
        match &self.fluid {
            Some(fluid) => fluid.flush(a, kernel),
            None => Ok(()),
        }
    }

    /// Takes records until at most `most` are outstanding.
    pub(super) fn take_records(&mut self, most: usize, records: &mut Vec<Number>) -> Result<(), Error> {
        let recording = &self.part.recording;
        let numbers = recording.count * recording.quantity.components(D);
        let mut record = vec![0f32; numbers];
        while self.outstanding > most {
            self.part.traces(&mut record)?;
            records.extend(record.iter().map(|x| *x as Number));
            self.outstanding -= 1;
        }
        Ok(())
    }
}

impl<const D: usize, A: Accelerator> Adjoint<D, OnDevice<D, A>> {
    /// Free bytes on the device, for the stored wavefield and its checkpoints.
    ///
    /// # Errors
    /// Returns an error for a device that has failed.
    pub fn free_bytes(&self) -> Result<usize, Error> {
        self.machine.part.accelerator.free_bytes()
    }
}

/// The kernels of a field's elements for the adjoint wavefield, which differ from the kernels for the forward wavefield
/// only in perfectly matched layers.
fn transposed<const D: usize, A: Accelerator>(
    a: &A,
    field: &FieldMemory<A>,
    setup: &Setup<D>,
) -> Result<Vec<A::Kernel>, Error> {
    let kernel = |variant: &variant::Variant| {
        let source = match variant.damped() {
            true => variant.transposed(setup.basis),
            false => variant.source(setup.basis),
        };
        let kernel = a.load(&source, &["forces"])?.pop();
        kernel.ok_or_else(|| Error::setup("no kernel for elements"))
    };
    field.variants.iter().map(kernel).collect()
}

/// Refuses an adjoint if the device has too little memory for its second wavefield and its sums.
fn fits<const D: usize, A: Accelerator>(
    a: &A,
    part: &DevicePart<D, A>,
    (extent, elements, faces): (Extent, usize, usize),
) -> Result<(), Error> {
    let sums = |field| ProductMemory::bytes_of(field, extent);
    let of_fluid = part.fluid.as_ref().map_or(0, |fluid| sums(&fluid.field));
    let needed =
        Wavefield::bytes_of(part) + sums(&part.solid) + of_fluid + FaceMemory::<A>::bytes_of::<D>(faces);
    let what = format!(
        "the adjoint wavefield and the gradient sums of {elements} elements, in addition to the forward run"
    );
    super::fits(
        a,
        needed,
        (&what, message!["make the mesh smaller, or ", Hint::Processors]),
    )
}
