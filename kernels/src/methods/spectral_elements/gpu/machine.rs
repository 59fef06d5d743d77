//! The implementation of [`Machine`] for adjoints on a device.

use super::adjoint::{OnDevice, Step};
use super::arguments::Largest;
use super::field::FieldMemory;
use super::part::FluidPart;
use super::products::ProductMemory;
use super::sources::SourceMemory;
use super::tables::Spots;
use super::watched::Watched;
use super::wavefield::{Wavefield, copy};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Stream, argument, walk};
use crate::device::cpu::Cpu;
use crate::mesh::Locator;
use crate::methods::spectral_elements::adjoint::TOGETHER;
use crate::methods::spectral_elements::adjoint::correlate::CONSTANTS;
use crate::methods::spectral_elements::adjoint::machine::{Machine, Seen};
use crate::methods::spectral_elements::assembly::triangle;
use crate::methods::spectral_elements::points::Placed;
use crate::methods::spectral_elements::{Number, Setup, Shot};
use crate::time_loop::Sampler;
use std::ops::Range;

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
        [Wavefield::bytes_of(&self.part), self.solid_bytes() + fluid]
    }

    fn bytes(&self) -> usize {
        self.part.bytes()
            + self.sizes()[0]
            + self.solid.bytes()
            + self.fluid.as_ref().map_or(0, ProductMemory::bytes)
            + self.faces.bytes()
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
            // SAFETY: the copy covers the points of an element of the table.
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
        self.watched = Some(Watched::new(&*a, &numbers)?);
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        let a = self.a();
        self.solid.clear(&*a)?;
        if let Some(fluid) = &mut self.fluid {
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
                solid: match self.solid_bytes() {
                    0 => None,
                    bytes => Some(a.reserve(bytes)?),
                },
                fluid: match &self.part.fluid {
                    Some(fluid) => Some(a.reserve(fluid.levels[2].bytes())?),
                    None => None,
                },
            });
        }
        let step = &self.recorded[slot];
        if let Some(solid) = &step.solid {
            copy(&*a, &self.part.levels[0], solid)?;
        }
        match (&self.part.fluid, &step.fluid) {
            (Some(fluid), Some(to)) => copy(&*a, &fluid.levels[2], to),
            _ => Ok(()),
        }
    }

    fn sample(&mut self, records: &mut Vec<Number>) -> Result<(), Error> {
        if self.outstanding == self.part.capacity() {
            self.take_records(self.part.capacity() / 2, records)?;
        }
        self.part.sample(self.step)?;
        self.outstanding += 1;
        Ok(())
    }

    fn finish_records(&mut self, records: &mut Vec<Number>) -> Result<(), Error> {
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
            // SAFETY: the argument is the structure of the kernel; the field has `count` numbers.
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

    fn largest(&mut self) -> Result<[Number; 2], Error> {
        let mut largest = [0f32; 2];
        for (value, most) in largest.iter_mut().zip(&self.largest) {
            let bytes = bytemuck::bytes_of_mut(value);
            // SAFETY: the copy covers one number.
            unsafe {
                self.staging
                    .download(&self.part.accelerator, most.address(), bytes)?;
            }
        }
        Ok(largest.map(|x| x as Number))
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
        self.swap()?;
        for step in steps.clone().rev() {
            self.correlate((step, step - first), step > steps.start, seen)?;
            if step.is_multiple_of(TOGETHER) {
                self.flush()?;
            }
        }
        // The next recorded steps overwrite these.
        self.correlate_kept()?;
        self.show(seen)?;
        let finite = Machine::first_non_finite(self)?.is_none();
        self.swap()?;
        Ok(finite)
    }

    fn finish(&mut self) -> Result<(), Error> {
        let a = self.a();
        self.flush()?;
        let on = (&*a, &self.cpu);
        self.solid.fetch(on, &mut self.staging)?;
        if let Some(fluid) = &mut self.fluid {
            fluid.fetch(on, &mut self.staging)?;
        }
        self.faces.fetch(&*a, &mut self.staging)?;
        self.spare.append(&mut self.marks);
        self.driving = None;
        Ok(())
    }

    fn products(&self, element: usize, sums: &mut Vec<f64>) -> usize {
        sums.clear();
        let home = |field: &FieldMemory<A>| field.listing.find(element as u32);
        let of_fluid = || {
            let (products, fluid) = (self.fluid.as_ref()?, self.part.fluid.as_ref()?);
            Some((products, home(&fluid.field)?, true))
        };
        let of_solid = home(&self.part.solid).map(|home| (&self.solid, home, false));
        let Some((products, home, is_fluid)) = of_solid.or_else(of_fluid) else {
            return 0;
        };
        // Voigt's indices of the strains in this dimension.
        let met: &[usize] = if D == 3 { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 4] };
        let points = self.extent.per_element;
        for local in 0..points {
            let first = sums.len();
            sums.extend(products.of_fields(home, local));
            // Without a sponge there are no products with the first derivative.
            sums.resize(first + 2, 0.0);
            let mut own = products.of_slopes(home, local);
            if self.extent.constants && !is_fluid {
                sums.resize(first + CONSTANTS, 0.0);
                for (i, j) in (0..met.len()).flat_map(|i| (i..met.len()).map(move |j| (met[i], met[j]))) {
                    sums[first + 2 + triangle(i, j)] = own.next().unwrap_or(0.0);
                }
            }
            sums.extend(own);
        }
        sums.len() / points
    }

    fn face_sums(&self) -> &[[f64; 2]] {
        &self.faces.host_sums
    }
}
