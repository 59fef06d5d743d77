//! Adjoints on a device: one subdomain, which is the whole mesh and whose memory is that of the forward or of the adjoint run.

use super::DevicePart;
use super::arguments::{FaceProducts, Largest, Watch, int};
use super::field::{FieldMemory, Fields};
use super::part::FluidPart;
use super::products::{ProductMemory, Recorded};
use super::sources::SourceMemory;
use super::tables::Spots;
use super::variant;
use super::wavefield::{Wavefield, copy};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Stream, argument, send, walk};
use crate::device::cpu::Cpu;
use crate::device::staging::Staging;
use crate::mesh::Locator;
use crate::methods::spectral_elements::adjoint::correlate::CONSTANTS;
use crate::methods::spectral_elements::adjoint::machine::{Machine, Seen};
use crate::methods::spectral_elements::adjoint::{Adjoint, Parameters, TOGETHER};
use crate::methods::spectral_elements::assembly::triangle;
use crate::methods::spectral_elements::boundary::FacePoint;
use crate::methods::spectral_elements::cut::Cut;
use crate::methods::spectral_elements::points::Placed;
use crate::methods::spectral_elements::{Followed, Grain, Setup, Shot};
use crate::time_loop::{Part, Sampler, Stepper};
use std::mem::swap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of what is watched of the adjoint wavefield before it travels to the host.
const WATCHED: usize = 32 << 20;

/// Prepares a shot over solids and fluids on a device, for derivatives by these parameters; `cpu` makes derivatives of the sums.
///
/// # Errors
/// As of [`Adjoint::new`], and what the device refuses: too little memory, kernels that do not compile.
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

/// Kernels of points.
struct Kernels<A: Accelerator> {
    flush: A::Kernel,
    faces: A::Kernel,
    watch: A::Kernel,
    largest: A::Kernel,
}

impl<A: Accelerator> Kernels<A> {
    fn load(a: &A, dimension: usize) -> Result<Self, Error> {
        let names = ["flush", "faces", "watch", "largest"];
        let all: [A::Kernel; 4] = a
            .load(&variant::gradient(dimension), &names)?
            .try_into()
            .map_err(|_| Error::setup("kernels of gradients are missing"))?;
        let [flush, faces, watch, largest] = all;
        Ok(Self {
            flush,
            faces,
            watch,
            largest,
        })
    }
}

/// The points of absorbing faces.
struct FaceMemory<A: Accelerator> {
    point: A::Memory,
    in_fluid: A::Memory,
    normal: A::Memory,
    sums: A::Memory,
    /// The sums of the last run, on the host.
    found: Vec<[f64; 2]>,
}

impl<A: Accelerator> FaceMemory<A> {
    fn new<const D: usize>(a: &A, setup: &Setup<D>, faces: &[FacePoint<D>]) -> Result<Self, Error> {
        let each = faces.iter();
        let points: Vec<i32> = each.clone().map(|p| p.point as i32).collect();
        let in_fluid = each.clone().map(|p| setup.is_fluid(p.element as usize));
        let in_fluid: Vec<i32> = in_fluid.map(i32::from).collect();
        let normals: Vec<f64> = each.flat_map(|p| p.normal).collect();
        Ok(Self {
            point: send(a, &points)?,
            in_fluid: send(a, &in_fluid)?,
            normal: send(a, &normals)?,
            sums: a.allocate((faces.len() * 2 * size_of::<f64>()).max(8))?,
            found: vec![[0.0; 2]; faces.len()],
        })
    }

    fn bytes(&self) -> usize {
        let all = [&self.point, &self.in_fluid, &self.normal, &self.sums];
        all.into_iter().map(Memory::bytes).sum()
    }
}

/// What is watched of the adjoint wavefield: some steps on the device.
struct Watched<A: Accelerator> {
    numbers: A::Memory,
    count: usize,
    values: A::Memory,
    /// Steps for which there is room, and those that are there.
    room: usize,
    steps: Vec<usize>,
}

/// A recorded step: the displacement, and the second derivative of the potential.
struct Step<A: Accelerator> {
    solid: A::Memory,
    fluid: Option<A::Memory>,
}

/// The sources of solids and of fluids.
type Driving<A> = (SourceMemory<A>, Option<SourceMemory<A>>);

/// A subdomain for an adjoint, with all that is kept and summed beside it.
pub struct OnDevice<const D: usize, A: Accelerator> {
    part: DevicePart<D, A>,
    cpu: Cpu,
    kernels: Kernels<A>,
    solid: ProductMemory<A>,
    fluid: Option<ProductMemory<A>>,
    faces: FaceMemory<A>,
    soaked: bool,
    constants: bool,
    /// Steps of the wavefield in the subdomain, and records that have not been taken.
    step: usize,
    outstanding: usize,
    marks: Vec<Wavefield<A>>,
    spare: Vec<Wavefield<A>>,
    recorded: Vec<Step<A>>,
    /// The adjoint run while the forward run has the subdomain, and its sources.
    reversed: Wavefield<A>,
    driving: Option<Driving<A>>,
    /// The kernels of elements for the adjoint wavefield while the forward run has the subdomain: of solids and of fluids.
    transposed: [Vec<A::Kernel>; 2],
    /// The acceleration of the step before, where memory variables need it.
    before: Option<A::Memory>,
    watched: Option<Watched<A>>,
    largest: [A::Memory; 2],
    staging: Staging<A>,
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
        // Fields are looked at behind every step.
        part.expect_look(true);
        let kinds = (setup.sponge.is_some(), constants);
        let follows = setup
            .relaxations
            .filter(|all| all.grain == Grain::Fine && all.followed == Followed::Predicted);
        fits(&*a, &part, (kinds, setup.mesh.len()))?;
        let products = |field| ProductMemory::new(&*a, field, setup.basis, kinds);
        Ok(Self {
            kernels: Kernels::load(&*a, D)?,
            solid: products(&part.solid)?,
            fluid: match &part.fluid {
                Some(fluid) => Some(products(&fluid.field)?),
                None => None,
            },
            faces: FaceMemory::new(&*a, setup, faces)?,
            reversed: Wavefield::rest(&part)?,
            before: match follows {
                Some(_) => Some(a.allocate(part.levels[2].bytes())?),
                None => None,
            },
            transposed: [
                transposed(&*a, &part.solid, setup)?,
                match &part.fluid {
                    Some(fluid) => transposed(&*a, &fluid.field, setup)?,
                    None => Vec::new(),
                },
            ],
            largest: [a.allocate(4)?, a.allocate(4)?],
            soaked: kinds.0,
            constants,
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

    fn a(&self) -> Arc<A> {
        self.part.accelerator.clone()
    }

    /// The addresses of the levels of the wavefield in the subdomain: of the solid, of the fluid or zeros.
    fn levels(&self) -> [[u64; 3]; 2] {
        let of = |levels: &[A::Memory; 3]| levels.each_ref().map(Memory::address);
        let fluid = self.part.fluid.as_ref();
        [
            of(&self.part.levels),
            fluid.map_or([0; 3], |fluid| of(&fluid.levels)),
        ]
    }

    /// One step of the wavefield in the subdomain.
    fn advance(&mut self) -> Result<(), Error> {
        for stage in 0..self.part.stages() {
            self.part.update(stage, Part::Interior, self.step)?;
        }
        self.step += 1;
        self.part.finish_step()
    }

    /// Changes places between the forward and the adjoint run.
    fn swap(&mut self) -> Result<(), Error> {
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

    /// Adds the products of a recorded step with the adjoint wavefield in the subdomain, at the end of a step.
    fn correlate(&self, slot: usize) -> Result<(), Error> {
        let (a, recorded) = (&*self.part.accelerator, &self.recorded[slot]);
        let [solid, fluid] = self.levels();
        let fields = |[field, rate, second]: [u64; 3]| Fields {
            field,
            rate,
            second,
            dt: self.part.dt,
            inside: 0,
        };
        let of_solid = Recorded {
            forward: recorded.solid.address(),
            // Where it is not needed its factor is zero.
            before: self.before.as_ref().map_or(solid[2], Memory::address),
        };
        self.solid.add(a, &self.part.solid, fields(solid), of_solid)?;
        let second = recorded.fluid.as_ref().map_or(0, Memory::address);
        if let (Some(products), Some(FluidPart { field, .. })) = (&self.fluid, &self.part.fluid) {
            let of_fluid = Recorded {
                forward: second,
                before: 0,
            };
            products.add(a, field, fields(fluid), of_fluid)?;
        }
        let count = self.faces.found.len();
        if count == 0 {
            return Ok(());
        }
        let args = FaceProducts {
            point: self.faces.point.address(),
            in_fluid: self.faces.in_fluid.address(),
            normal: self.faces.normal.address(),
            displacement: recorded.solid.address(),
            second,
            velocity: solid[1],
            rate: fluid[1],
            sums: self.faces.sums.address(),
            count: int(count),
        };
        // SAFETY: the structure of the kernel; points are those of the subdomain.
        unsafe { a.launch(Stream::Main, &self.kernels.faces, walk(count), &argument(&args)) }
    }

    /// Keeps what is watched of a step, and shows what is kept where there is no more room.
    fn look(&mut self, step: usize, seen: &mut Seen<'_>) -> Result<(), Error> {
        let [solid, fluid] = self.levels();
        let Some(watched) = &mut self.watched else {
            return Ok(());
        };
        let bytes = watched.count * size_of::<f32>();
        let args = Watch {
            displacement: solid[0],
            second: fluid[2],
            numbers: watched.numbers.address(),
            out: watched.values.address() + (watched.steps.len() * bytes) as u64,
            count: int(watched.count),
        };
        // SAFETY: the structure of the kernel; there is room for the numbers.
        unsafe {
            self.part.accelerator.launch(
                Stream::Main,
                &self.kernels.watch,
                walk(watched.count),
                &argument(&args),
            )?;
        }
        watched.steps.push(step);
        match watched.steps.len() < watched.room {
            true => Ok(()),
            false => self.show(seen),
        }
    }

    /// Shows what is kept of the steps so far.
    fn show(&mut self, seen: &mut Seen<'_>) -> Result<(), Error> {
        let Some(watched) = &mut self.watched else {
            return Ok(());
        };
        let mut values = vec![0f32; watched.steps.len() * watched.count];
        if values.is_empty() {
            return Ok(());
        }
        let (a, bytes) = (&*self.part.accelerator, bytemuck::cast_slice_mut(&mut values));
        // SAFETY: so many steps have been written.
        unsafe { self.staging.download(a, watched.values.address(), bytes)? };
        for (step, values) in watched.steps.drain(..).zip(values.chunks_exact(watched.count)) {
            seen(step, values);
        }
        Ok(())
    }

    /// Takes records until at most so many are outstanding.
    fn take_records(&mut self, most: usize, records: &mut Vec<f32>) -> Result<(), Error> {
        let recording = &self.part.recording;
        let numbers = recording.count * recording.quantity.components(D);
        while self.outstanding > most {
            let from = records.len();
            records.resize(from + numbers, 0.0);
            self.part.traces(&mut records[from..])?;
            self.outstanding -= 1;
        }
        Ok(())
    }
}

impl<const D: usize, A: Accelerator> Adjoint<D, OnDevice<D, A>> {
    /// Bytes of the device that are free, for the stored wavefield and its checkpoints.
    ///
    /// # Errors
    /// A device that has failed.
    pub fn free_bytes(&self) -> Result<usize, Error> {
        self.machine.part.accelerator.free_bytes()
    }
}

/// The kernels of a field's elements for the adjoint wavefield: others than for the forward one in perfectly matched layers alone.
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

/// Refuses an adjoint whose second wavefield and sums the device has not the memory for.
fn fits<const D: usize, A: Accelerator>(
    a: &A,
    part: &DevicePart<D, A>,
    (kinds, elements): ((bool, bool), usize),
) -> Result<(), Error> {
    let sums = |field| ProductMemory::bytes_of(field, kinds, part.per_element);
    let of_fluid = part.fluid.as_ref().map_or(0, |fluid| sums(&fluid.field));
    let needed = Wavefield::bytes_of(part) + sums(&part.solid) + of_fluid;
    let free = a.free_bytes()?;
    if needed <= free {
        return Ok(());
    }
    let device = a.properties();
    Err(Error::setup(format!(
        "GPU {} {} ({}) has not enough memory for a gradient of {elements} elements: beside the run {:.2} GB are needed, {:.2} GB are free; run on the processors, or make the mesh smaller",
        device.number,
        device.name,
        device.architecture,
        needed as f64 / 1e9,
        free as f64 / 1e9
    )))
}

impl<const D: usize, A: Accelerator> Machine<D> for OnDevice<D, A> {
    fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    fn sizes(&self) -> [usize; 2] {
        let fluid = self
            .part
            .fluid
            .as_ref()
            .map_or(0, |fluid| fluid.levels[2].bytes());
        [
            Wavefield::bytes_of(&self.part),
            self.part.levels[0].bytes() + fluid,
        ]
    }

    fn bytes(&self) -> usize {
        self.part.bytes()
            + self.sizes()[0]
            + self.solid.bytes()
            + self.fluid.as_ref().map_or(0, ProductMemory::bytes)
            + self.faces.bytes()
            + self.before.as_ref().map_or(0, Memory::bytes)
    }

    fn next_shot(&mut self, setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error> {
        self.part.next_shot(setup, shot, &Locator::new(setup.mesh))
    }

    fn receivers_in_fluids(&self) -> Vec<(usize, u32)> {
        let receivers = self.part.recording.receivers.iter();
        let in_fluids = receivers.filter(|(_, receiver)| receiver.is_in_fluid());
        in_fluids
            .map(|(number, receiver)| (*number, receiver.element))
            .collect()
    }

    fn watch(&mut self, elements: &[(u32, bool)]) -> Result<(), Error> {
        let a = self.a();
        self.watched = None;
        let mut numbers: Vec<i64> = Vec::new();
        let local = self.part.per_element;
        for (element, is_fluid) in elements {
            let field = match (&self.part.fluid, is_fluid) {
                (Some(fluid), true) => &fluid.field,
                _ => &self.part.solid,
            };
            let Some(home) = field.listing.find(*element) else {
                return Err(Error::setup(format!("element {element} is not on the device")));
            };
            let (mut points, first) = (vec![0i32; local], home * local * size_of::<i32>());
            let bytes = bytemuck::cast_slice_mut(&mut points);
            // SAFETY: the points of an element of the table.
            unsafe {
                self.staging
                    .download(&*a, field.points.address() + first as u64, bytes)?
            };
            let points = points.into_iter().map(i64::from);
            match is_fluid {
                true => numbers.extend(points.map(|p| -1 - p)),
                false => numbers.extend(points.flat_map(|p| (0..D as i64).map(move |c| p * D as i64 + c))),
            }
        }
        if numbers.is_empty() {
            return Ok(());
        }
        let bytes = numbers.len() * size_of::<f32>();
        let room = (WATCHED / bytes).max(1);
        self.watched = Some(Watched {
            numbers: send(&*a, &numbers)?,
            count: numbers.len(),
            values: a.allocate(room * bytes)?,
            room,
            steps: Vec::new(),
        });
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        let a = self.a();
        self.solid.clear(&*a)?;
        if let Some(fluid) = &self.fluid {
            fluid.clear(&*a)?;
        }
        a.clear(&self.faces.sums)?;
        self.largest.iter().try_for_each(|largest| a.clear(largest))?;
        self.driving = None;
        self.part.records.rewind();
        self.outstanding = 0;
        self.restore(0)
    }

    fn save(&mut self) -> Result<(), Error> {
        let mut own = match self.spare.pop() {
            Some(spare) => spare,
            None => Wavefield::rest(&self.part)?,
        };
        own.take(&mut self.part, self.step)?;
        self.marks.push(own);
        Ok(())
    }

    fn restore(&mut self, mark: usize) -> Result<(), Error> {
        self.spare.extend(self.marks.drain(mark.min(self.marks.len())..));
        match self.marks.last() {
            Some(state) => {
                self.step = state.step;
                state.give(&mut self.part)
            }
            None => {
                self.step = 0;
                self.part.rest()
            }
        }
    }

    fn step(&mut self, slot: Option<usize>) -> Result<(), Error> {
        self.advance()?;
        let Some(slot) = slot else { return Ok(()) };
        let a = self.a();
        while self.recorded.len() <= slot {
            self.recorded.push(Step {
                solid: a.reserve(self.part.levels[0].bytes())?,
                fluid: match &self.part.fluid {
                    Some(fluid) => Some(a.reserve(fluid.levels[2].bytes())?),
                    None => None,
                },
            });
        }
        let step = &self.recorded[slot];
        copy(&*a, &self.part.levels[0], &step.solid)?;
        match (&self.part.fluid, &step.fluid) {
            (Some(fluid), Some(to)) => copy(&*a, &fluid.levels[2], to),
            _ => Ok(()),
        }
    }

    fn sample(&mut self, records: &mut Vec<f32>) -> Result<(), Error> {
        if self.outstanding == self.part.capacity() {
            self.take_records(self.part.capacity() / 2, records)?;
        }
        self.part.sample(self.step)?;
        self.outstanding += 1;
        Ok(())
    }

    fn finish_records(&mut self, records: &mut Vec<f32>) -> Result<(), Error> {
        self.take_records(0, records)
    }

    fn note_largest(&mut self) -> Result<(), Error> {
        let fluid = self.part.fluid.as_ref().map(|fluid| &fluid.levels[2]);
        let fields = [Some(&self.part.levels[0]), fluid];
        for (field, most) in fields.into_iter().zip(&self.largest) {
            let Some(field) = field else { continue };
            let count = field.bytes() / size_of::<f32>();
            let args = Largest {
                field: field.address(),
                count: count as i64,
                most: most.address(),
            };
            // SAFETY: the structure of the kernel; the field has so many numbers.
            unsafe {
                self.part.accelerator.launch(
                    Stream::Main,
                    &self.kernels.largest,
                    walk(count),
                    &argument(&args),
                )?;
            }
        }
        Ok(())
    }

    fn largest(&mut self) -> Result<[f32; 2], Error> {
        let mut found = [0f32; 2];
        for (found, most) in found.iter_mut().zip(&self.largest) {
            let bytes = bytemuck::bytes_of_mut(found);
            // SAFETY: one number.
            unsafe {
                self.staging
                    .download(&self.part.accelerator, most.address(), bytes)?;
            }
        }
        Ok(found)
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        self.part.search()?;
        self.part.first_non_finite()
    }

    fn turn(&mut self, setup: &Setup<D>, of_pressure: bool) -> Result<(), Error> {
        let (a, locator) = (self.a(), Locator::new(setup.mesh));
        let listing = &self.part.solid.listing;
        let homes = (&listing.homes, listing.elements.len());
        let solid = match of_pressure {
            true => Spots::default(),
            false => Spots::new(&Placed::in_solid(setup, &locator, homes)?, 0),
        };
        let fluid = match &self.part.fluid {
            Some(FluidPart { field, .. }) => {
                let homes = (&field.listing.homes, field.listing.elements.len());
                let spots = match of_pressure {
                    true => Spots::new(&Placed::of_pressure(setup, &locator, homes)?, 0),
                    false => Spots::default(),
                };
                Some(SourceMemory::new(&*a, &spots)?)
            }
            None => None,
        };
        self.driving = Some((SourceMemory::new(&*a, &solid)?, fluid));
        self.reversed.clear(&*a)
    }

    fn back(&mut self, steps: Range<usize>, first: usize, seen: &mut Seen<'_>) -> Result<bool, Error> {
        let a = self.a();
        self.swap()?;
        for step in steps.rev() {
            if let Some(before) = &self.before {
                copy(&*a, &self.part.levels[2], before)?;
            }
            self.advance()?;
            self.part.settle()?;
            self.correlate(step - first)?;
            self.look(step, seen)?;
            if step.is_multiple_of(TOGETHER) {
                self.flush()?;
            }
        }
        self.show(seen)?;
        let finite = Machine::first_non_finite(self)?.is_none();
        self.swap()?;
        Ok(finite)
    }

    fn finish(&mut self) -> Result<(), Error> {
        let a = self.a();
        self.flush()?;
        self.solid.fetch(&*a)?;
        if let Some(fluid) = &mut self.fluid {
            fluid.fetch(&*a)?;
        }
        if !self.faces.found.is_empty() {
            let bytes = bytemuck::cast_slice_mut(&mut self.faces.found);
            // SAFETY: the whole memory.
            unsafe { self.staging.download(&*a, self.faces.sums.address(), bytes)? };
        }
        self.spare.append(&mut self.marks);
        self.driving = None;
        Ok(())
    }

    fn products(&self, element: usize, local: usize, sums: &mut Vec<f64>) {
        sums.clear();
        let home = |field: &FieldMemory<A>| field.listing.find(element as u32);
        let of_fluid = || {
            let (products, fluid) = (self.fluid.as_ref()?, self.part.fluid.as_ref()?);
            Some((products, home(&fluid.field)?, true))
        };
        let of_solid = home(&self.part.solid).map(|home| (&self.solid, home, false));
        let Some((products, home, is_fluid)) = of_solid.or_else(of_fluid) else {
            return;
        };
        let mut own = products.at(home, local);
        sums.extend(own.next());
        sums.extend(if self.soaked { own.next() } else { Some(0.0) });
        if !self.constants || is_fluid {
            sums.extend(own);
            return;
        }
        sums.resize(CONSTANTS, 0.0);
        // Voigt's indices that are met.
        let met: &[usize] = if D == 3 { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 4] };
        let pairs = (0..met.len()).flat_map(|i| (i..met.len()).map(move |j| (met[i], met[j])));
        pairs
            .zip(own)
            .for_each(|((i, j), sum)| sums[2 + triangle(i, j)] = sum);
    }

    fn face_sums(&self) -> &[[f64; 2]] {
        &self.faces.found
    }
}

impl<const D: usize, A: Accelerator> OnDevice<D, A> {
    /// Adds sums in single precision to those in double.
    fn flush(&self) -> Result<(), Error> {
        let (a, kernel) = (&*self.part.accelerator, &self.kernels.flush);
        self.solid.flush(a, kernel)?;
        match &self.fluid {
            Some(fluid) => fluid.flush(a, kernel),
            None => Ok(()),
        }
    }
}
