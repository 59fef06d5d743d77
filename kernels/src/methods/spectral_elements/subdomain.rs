//! A subdomain in the time loop: its stages, records, state and links.
//!
//! A step has a stage for the fluids, if the mesh has any, and one for the solids; each is followed by an exchange of
//! contributions.

use super::Number;
use std::ops::Range;

use super::Engine;
use super::attenuation::Memory;
use super::pml::{self, Damped};
use super::recording::{Held, Recording};
use super::sweep::Job;
use crate::Error;
use crate::parallel::group::Subdomain;
use crate::parallel::halo::{HostHalo, HostNetwork, Link, Linked};
use crate::receiver::Quantity;
use crate::time_loop::state::{State, StateArray};
use crate::time_loop::{Part, Sampler, Stepper};

impl<const D: usize> Engine<D> {
    fn is_of_fluids(&self, stage: usize) -> bool {
        self.fluid.is_some() && stage == 0
    }

    /// Converts component `c` of files, which begin with z, to an axis of the mesh.
    pub(super) fn axis(quantity: Quantity, c: usize) -> usize {
        match quantity {
            Quantity::Pressure => 0,
            _ => (c + D - 1) % D,
        }
    }

    fn held(&self, array: usize) -> Held {
        self.recording.array(array, self.fluid.is_some())
    }

    /// The array of a field as plain numbers, and its numbers per point.
    fn field(&mut self, array: usize) -> (&mut [Number], usize) {
        match (array, &mut self.fluid) {
            (0, _) => (self.displacement.as_flattened_mut(), D),
            (1, _) => (self.velocity.as_flattened_mut(), D),
            (2, _) => (self.acceleration.as_flattened_mut(), D),
            (3, Some(fluid)) => (fluid.potential.as_flattened_mut(), 1),
            (4, Some(fluid)) => (fluid.rate.as_flattened_mut(), 1),
            (_, Some(fluid)) => (fluid.second.as_flattened_mut(), 1),
            _ => (&mut [], 1),
        }
    }

    /// The values of a block of points.
    fn numbers_of(&mut self, array: usize, blocks: &Range<usize>) -> Result<&mut [Number], Error> {
        let first = self.recording.local(blocks.start);
        let first = first.ok_or_else(|| Error::setup("a state names points of another subdomain"))?;
        let (field, width) = self.field(array);
        Ok(&mut field[first * width..(first + blocks.len()) * width])
    }

    /// Length of a block of an array of elements.
    fn numbers_held(&self, held: Held) -> usize {
        let points = self.basis.len().pow(D as u32);
        match held {
            Held::Layers(0) => pml::numbers(points, D),
            Held::Layers(_) => pml::numbers(points, 1),
            _ => Memory::numbers(D, points, self.recording.mechanisms),
        }
    }

    fn memory_of(&mut self, element: usize) -> Option<(&mut Memory, usize)> {
        let (block, lane) = self.homes.find(element)?;
        self.memories[block].as_mut().map(|memory| (memory, lane))
    }

    /// The filters of the block of an element in a layer, and the lane of the element; `fluids` is 1 for elements of
    /// fluids.
    fn damped_of(&mut self, fluids: usize, element: u32) -> Option<(&mut Damped, usize)> {
        let (homes, all) = match &mut self.fluid {
            Some(fluid) if fluids == 1 => (&fluid.homes, &mut fluid.damped),
            _ => (&self.homes, &mut self.damped),
        };
        let (block, lane) = homes.find(element as usize)?;
        all[block].as_mut().map(|damped| (damped, lane))
    }
}

/// The parts of a step, compiled only in this crate.
impl<const D: usize> Engine<D> {
    pub(super) fn predict(&mut self) {
        compiled_here!(self: Engine<2> | Engine<3>, predict_fields());
    }

    pub(super) fn fluid_forces(&mut self, part: Part, step: usize) {
        compiled_here!(self: Engine<2> | Engine<3>, fluid_forces_by_length((part, step)): (Part, usize));
    }

    pub(super) fn correct_fluid(&mut self) {
        compiled_here!(self: Engine<2> | Engine<3>, correct_fields_of_fluid());
    }

    pub(super) fn forces(&mut self, part: Part, step: usize) {
        compiled_here!(self: Engine<2> | Engine<3>, forces_by_length((part, step)): (Part, usize));
    }

    pub(super) fn correct(&mut self) {
        compiled_here!(self: Engine<2> | Engine<3>, correct_fields());
    }

    pub(super) fn advance_fluid(&mut self, job: Job<'_>) {
        compiled_here!(self: Engine<2> | Engine<3>, advance_fluid_by_length(job): Job<'_>);
    }

    pub(super) fn advance(&mut self, job: Job<'_>) {
        compiled_here!(self: Engine<2> | Engine<3>, advance_by_length(job): Job<'_>);
    }
}

impl<const D: usize> Stepper for Engine<D> {
    type Number = super::Number;

    fn stages(&self) -> usize {
        if self.fluid.is_some() { 2 } else { 1 }
    }

    fn has_neighbours(&self) -> bool {
        !self.links.is_empty()
    }

    fn update(&mut self, stage: usize, part: Part, step: usize) -> Result<(), Error> {
        let of_fluids = self.is_of_fluids(stage);
        if !self.has_neighbours() {
            let job = Job {
                step,
                predicts: true,
                added: &[],
            };
            match of_fluids {
                true => self.advance_fluid(job),
                false => self.advance(job),
            }
            return Ok(());
        }
        match (part, stage) {
            (Part::Boundary, 0) => self.predict(),
            (Part::Boundary, _) => self.correct_fluid(),
            (Part::Interior, _) => {}
        }
        match of_fluids {
            true => self.fluid_forces(part, step),
            false => self.forces(part, step),
        }
        Ok(())
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        if self.has_neighbours() {
            self.correct();
        }
        Ok(())
    }
}

impl<const D: usize> Sampler for Engine<D> {
    fn traces(&mut self, out: &mut [Number]) -> Result<(), Error> {
        let (quantity, count) = (self.recording.quantity, self.recording.count);
        for (number, receiver) in &self.recording.receivers {
            if quantity.is_of_slopes() {
                let slopes = self.slopes(receiver);
                for c in 0..quantity.components(D) {
                    out[c * count + number] = quantity.of_slopes(c, &slopes);
                }
                continue;
            }
            let values = self.record(receiver, quantity);
            for c in 0..quantity.components(D) {
                out[c * count + number] = values[Self::axis(quantity, c)];
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
        let quantity = self.recording.snapshot_quantity;
        let axis = Self::axis(quantity, component);
        let value = |receiver: &Option<_>| {
            let inside = receiver.as_ref();
            inside.map_or(0.0, |receiver| self.record(receiver, quantity)[axis])
        };
        let piece = self.recording.snapshot_points.iter().map(value).collect();
        self.recording.pieces.push_back(piece);
        Ok(())
    }

    fn take_piece(&mut self, out: &mut Vec<Number>) -> Result<(), Error> {
        out.extend(self.recording.pieces.pop_front().unwrap_or_default());
        Ok(())
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        let bad = |u: &[Number]| u.iter().any(|x| !x.is_finite());
        let solid = self.displacement.iter().position(|u| bad(u));
        let fluid = self.fluid.as_ref();
        let fluid = fluid.and_then(|fluid| fluid.second.iter().position(|s| bad(s)));
        let first = solid.into_iter().chain(fluid).min();
        Ok(first.map(|point| self.recording.global[point] as usize))
    }
}

impl<const D: usize> Linked for Engine<D> {
    fn number(&self) -> usize {
        self.number
    }

    fn links(&self) -> &[Link] {
        &self.links
    }
}

impl<const D: usize> HostHalo for Engine<D> {
    fn exchanged(&mut self, stage: usize) -> &mut [Number] {
        match &mut self.fluid {
            Some(fluid) if stage == 0 => &mut fluid.exchange.memory,
            _ => &mut self.exchange.memory,
        }
    }
}

/// The arrays of a subdomain's state, on processors or GPUs: fields of all points, then memory variables of elements
/// with `per_element` points.
pub(super) fn arrays<const D: usize>(
    recording: &Recording<D>,
    has_fluid: bool,
    per_element: usize,
) -> Vec<StateArray> {
    let [points, elements] = recording.whole;
    let field = |name: &str, width: usize| StateArray::of::<Number>(name, points, width);
    let mut arrays = vec![
        field("displacement", D),
        field("velocity", D),
        field("acceleration", D),
    ];
    if has_fluid {
        arrays.push(field("potential", 1));
        arrays.push(field("rate of the potential", 1));
        arrays.push(field("second derivative of the potential", 1));
    }
    if recording.mechanisms > 0 {
        let numbers = Memory::numbers(D, per_element, recording.mechanisms);
        arrays.push(StateArray::of::<Number>("memory variables", elements, numbers));
    }
    for (pairs, components) in recording.layers.iter().zip([D, 1]) {
        let name = if components == 1 {
            "layers of fluids"
        } else {
            "layers of solids"
        };
        if !pairs.is_empty() {
            let numbers = pml::numbers(per_element, components);
            arrays.push(StateArray::of::<Number>(name, pairs.len(), numbers));
        }
    }
    arrays
}

impl<const D: usize> State for Engine<D> {
    fn arrays(&self) -> Vec<StateArray> {
        let points = self.basis.len().pow(D as u32);
        arrays(&self.recording, self.fluid.is_some(), points)
    }

    fn owned(&self, array: usize) -> Vec<Range<usize>> {
        match self.held(array) {
            Held::Points => self.recording.owned.clone(),
            held => self.recording.of_elements(held),
        }
    }

    fn needed(&self, array: usize) -> Vec<Range<usize>> {
        match self.held(array) {
            Held::Points => super::cut::ranges(self.recording.global.iter().copied()),
            held => self.recording.of_elements(held),
        }
    }

    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let held = self.held(array);
        if held == Held::Points {
            out.copy_from_slice(bytemuck::cast_slice(self.numbers_of(array, &blocks)?));
            return Ok(());
        }
        let mut numbers = vec![Number::default(); self.numbers_held(held)];
        for (block, out) in blocks.zip(out.chunks_exact_mut(size_of_val(&numbers[..]))) {
            numbers.fill(0.0);
            if let Held::Layers(fluids) = held {
                let (element, number) = self.recording.layers[fluids][block];
                if let Some((damped, lane)) = self.damped_of(fluids, element) {
                    damped.save((number as usize, lane), &mut numbers);
                }
            } else if let Some((memory, lane)) = self.memory_of(block) {
                memory.save(lane, &mut numbers);
            }
            out.copy_from_slice(bytemuck::cast_slice(&numbers));
        }
        Ok(())
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let held = self.held(array);
        if held == Held::Points {
            let numbers = self.numbers_of(array, &blocks)?;
            bytemuck::cast_slice_mut(numbers).copy_from_slice(bytes);
            return Ok(());
        }
        let mut numbers = vec![Number::default(); self.numbers_held(held)];
        for (block, bytes) in blocks.zip(bytes.chunks_exact(size_of_val(&numbers[..]))) {
            bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(bytes);
            if let Held::Layers(fluids) = held {
                let (element, number) = self.recording.layers[fluids][block];
                if let Some((damped, lane)) = self.damped_of(fluids, element) {
                    damped.load((number as usize, lane), &numbers);
                }
            } else if let Some((memory, lane)) = self.memory_of(block) {
                memory.load(lane, &numbers);
            }
        }
        Ok(())
    }
}

impl<const D: usize> Subdomain for Engine<D> {
    type Network = HostNetwork<Number>;

    fn receivers(&self) -> Vec<usize> {
        self.recording.receivers.iter().map(|r| r.0).collect()
    }

    fn owns(&self, place: usize) -> bool {
        self.recording.local(place).is_some()
    }

    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        let point = self.recording.local(place);
        let element = point.and_then(|point| self.element_with(point as u32));
        let element = element.ok_or_else(|| Error::setup("a point of another subdomain"))?;
        Ok(self.recording.describe(element))
    }
}
