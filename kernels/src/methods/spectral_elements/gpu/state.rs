//! The state of a subdomain on a device: the same arrays, in the same order, as in the engine on processors, so that a
//! run can be continued on either.

use super::part::{DevicePart, Standing};
use super::tables::relaxing;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::methods::spectral_elements::attenuation;
use crate::methods::spectral_elements::recording::Held;
use crate::methods::spectral_elements::{cut::ranges, subdomain};
use crate::time_loop::state::{State, StateArray};
use std::ops::Range;

/// The device's slot of each component of the state: the upper triangle of the deviator row by row, then the trace.
/// In 3-D the last diagonal component is minus the sum of the others and is not stored.
fn slots(dimension: usize) -> &'static [Option<usize>] {
    match dimension {
        3 => &[Some(0), Some(4), Some(3), Some(1), Some(2), None, Some(5)],
        _ => &[Some(0), Some(2), Some(1), Some(3)],
    }
}

/// The layout of an element's variables: dimension, points, mechanisms per point.
#[derive(Clone, Copy)]
struct Layout {
    dimension: usize,
    points: usize,
    mechanisms: usize,
}

impl Layout {
    /// The index on the device of a value of the state: slot, mechanism, point. The variables of a point are stored
    /// in pairs.
    fn at(&self, [slot, mechanism, point]: [usize; 3]) -> usize {
        let variable = slot * self.mechanisms + mechanism;
        2 * (variable / 2 * self.points + point) + variable % 2
    }
}

/// Converts the values of an element from the device's layout to the layout of the state.
fn to_state(layout: Layout, here: &[f32], out: &mut [f32]) {
    let (slots, mechanisms) = (slots(layout.dimension), layout.mechanisms);
    let value = |slot: Option<usize>, mechanism: usize, point: usize| match slot {
        Some(slot) => here[layout.at([slot, mechanism, point])],
        None => -(here[layout.at([0, mechanism, point])] + here[layout.at([1, mechanism, point])]),
    };
    for (k, out) in out.iter_mut().enumerate() {
        let (place, mechanism) = (k / mechanisms, k % mechanisms);
        *out = value(slots[place % slots.len()], mechanism, place / slots.len());
    }
}

/// Converts the values of an element from the state's layout to the device's layout.
fn to_device(layout: Layout, state: &[f32], here: &mut [f32]) {
    let (slots, mechanisms) = (slots(layout.dimension), layout.mechanisms);
    for (k, number) in state.iter().enumerate() {
        let (place, mechanism) = (k / mechanisms, k % mechanisms);
        if let Some(slot) = slots[place % slots.len()] {
            here[layout.at([slot, mechanism, place / slots.len()])] = *number;
        }
    }
}

impl<const D: usize, A: Accelerator> DevicePart<D, A> {
    fn held(&self, array: usize) -> Held {
        self.recording.array(array, self.fluid.is_some())
    }

    /// The address and the bytes of the memory variables of a pair, an element and an axis of its layers; `None` if
    /// the element belongs to another subdomain. `fluids` is 1 for elements of fluids.
    fn variables_at(&self, fluids: usize, pair: usize) -> Option<(u64, usize)> {
        let (element, number) = self.recording.layers[fluids][pair];
        let field = match &self.fluid {
            Some(fluid) if fluids == 1 => &fluid.field,
            _ => &self.solid,
        };
        let (home, layers) = (field.listing.find(element)?, field.layers.as_ref()?);
        let (address, numbers) = layers.variables_of(home, number as usize);
        Some((address, numbers * size_of::<f32>()))
    }

    /// Reorders the memory variables of a pair from `[derivative, force][component][point]`, as on the device, to
    /// `[point][derivative, force][component]`, as in the state, or back.
    fn turned(&self, numbers: &[f32], to_device: bool) -> Vec<f32> {
        let (points, each) = (self.per_element, numbers.len() / self.per_element);
        let from = |k: usize| match to_device {
            true => k % points * each + k / points,
            false => k % each * points + k / each,
        };
        (0..numbers.len()).map(|k| numbers[from(k)]).collect()
    }

    /// The address of the values of a block of points.
    fn numbers_at(&self, array: usize, first: usize) -> Result<u64, Error> {
        let local = self.recording.local(first);
        let local = local.ok_or_else(|| Error::setup("a state names points of another subdomain"))?;
        let (memory, width) = match &self.fluid {
            Some(fluid) if array >= 3 => (&fluid.levels[array - 3], 1),
            _ => (&self.levels[array], D),
        };
        Ok(memory.address() + (local * width * size_of::<f32>()) as u64)
    }

    /// Elements of a block that have memory variables here, in groups that are contiguous on the device: first index
    /// in the state, first index on the device, number.
    fn relaxing_groups(&self, blocks: &Range<usize>) -> Vec<[usize; 3]> {
        let mut groups: Vec<[usize; 3]> = Vec::new();
        for element in blocks.clone() {
            let Some(home) = self.solid.listing.find(element as u32) else {
                continue;
            };
            match groups.last_mut() {
                Some([first, here, count]) if *first + *count == element && *here + *count == home => {
                    *count += 1;
                }
                _ => groups.push([element, home, 1]),
            }
        }
        groups
    }

    /// Lengths of an element's memory variables, in the state and on the device.
    fn relaxing_numbers(&self) -> [usize; 2] {
        let mechanisms = self.recording.mechanisms;
        [
            attenuation::Memory::numbers(D, self.per_element, mechanisms),
            relaxing(D, self.per_element, mechanisms),
        ]
    }

    fn layout(&self) -> Layout {
        Layout {
            dimension: D,
            points: self.per_element,
            mechanisms: self.recording.mechanisms,
        }
    }
}

impl<const D: usize, A: Accelerator> State for DevicePart<D, A> {
    fn arrays(&self) -> Vec<StateArray> {
        subdomain::arrays(&self.recording, self.fluid.is_some(), self.per_element)
    }

    fn owned(&self, array: usize) -> Vec<Range<usize>> {
        match self.held(array) {
            Held::Points => self.recording.owned.clone(),
            held => self.recording.of_elements(held),
        }
    }

    fn needed(&self, array: usize) -> Vec<Range<usize>> {
        match self.held(array) {
            Held::Points => ranges(self.recording.global.iter().copied()),
            held => self.recording.of_elements(held),
        }
    }

    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        self.settle()?;
        let a = self.accelerator.clone();
        let held = self.held(array);
        if held == Held::Points {
            let from = self.numbers_at(array, blocks.start)?;
            // SAFETY: the points of the block have consecutive numbers in the subdomain.
            return unsafe { self.staging.download(&a, from, out) };
        }
        if let Held::Layers(fluids) = held {
            let each = out.len() / blocks.len().max(1);
            for (pair, out) in blocks.zip(out.chunks_exact_mut(each)) {
                let Some((from, bytes)) = self.variables_at(fluids, pair) else {
                    continue;
                };
                let mut numbers = vec![0f32; bytes / size_of::<f32>()];
                // SAFETY: the copy covers the variables of a pair.
                unsafe {
                    self.staging
                        .download(&a, from, bytemuck::cast_slice_mut(&mut numbers))?;
                }
                out.copy_from_slice(bytemuck::cast_slice(&self.turned(&numbers, false)));
            }
            return Ok(());
        }
        let [wide, here] = self.relaxing_numbers();
        out.fill(0);
        for [first, home, count] in self.relaxing_groups(&blocks) {
            let mut numbers = vec![0f32; count * here];
            let from = self.solid.relaxing.address() + (home * here * size_of::<f32>()) as u64;
            // SAFETY: these elements of the subdomain are consecutive.
            unsafe {
                self.staging
                    .download(&a, from, bytemuck::cast_slice_mut(&mut numbers))?;
            }
            let place = (first - blocks.start) * wide * size_of::<f32>();
            let to = out[place..].chunks_exact_mut(wide * size_of::<f32>());
            let mut state = vec![0f32; wide];
            for (numbers, out) in numbers.chunks_exact(here).zip(to) {
                to_state(self.layout(), numbers, &mut state);
                out.copy_from_slice(bytemuck::cast_slice(&state));
            }
        }
        Ok(())
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        self.standing = Standing::Ended;
        let a = self.accelerator.clone();
        let held = self.held(array);
        if let Held::Layers(fluids) = held {
            let each = bytes.len() / blocks.len().max(1);
            for (pair, bytes) in blocks.zip(bytes.chunks_exact(each)) {
                let Some((to, _)) = self.variables_at(fluids, pair) else {
                    continue;
                };
                let state: Vec<f32> = bytemuck::pod_collect_to_vec(bytes);
                let numbers = self.turned(&state, true);
                // SAFETY: the copy covers the variables of a pair.
                unsafe { self.staging.upload(&a, bytemuck::cast_slice(&numbers), to)? };
            }
            return Ok(());
        }
        if held == Held::Points {
            let to = self.numbers_at(array, blocks.start)?;
            // SAFETY: as in `save`.
            return unsafe { self.staging.upload(&a, bytes, to) };
        }
        let [wide, here] = self.relaxing_numbers();
        for [first, home, count] in self.relaxing_groups(&blocks) {
            let place = (first - blocks.start) * wide * size_of::<f32>();
            let mut numbers = vec![0f32; count * here];
            let from = bytes[place..].chunks_exact(wide * size_of::<f32>());
            for (here, bytes) in numbers.chunks_exact_mut(here).zip(from) {
                let state: Vec<f32> = bytemuck::pod_collect_to_vec(bytes);
                to_device(self.layout(), &state, here);
            }
            let to = self.solid.relaxing.address() + (home * here * size_of::<f32>()) as u64;
            // SAFETY: as in `save`.
            unsafe { self.staging.upload(&a, bytemuck::cast_slice(&numbers), to)? };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_keeps_every_number_of_the_device() {
        for (dimension, components, mechanisms, expected) in [
            (2, 4, 3, [3.0, 52.0]),
            (3, 7, 3, [3.0, 82.0]),
            (2, 4, 1, [2.0, 13.0]),
            (3, 7, 1, [2.0, 23.0]),
        ] {
            let layout = Layout {
                dimension,
                points: 5,
                mechanisms,
            };
            let numbers = relaxing(dimension, 5, mechanisms);
            let here: Vec<f32> = (0..numbers).map(|k| k as f32).collect();
            let mut state = vec![0.0; 5 * components * mechanisms];
            to_state(layout, &here, &mut state);
            let mut back = vec![0.0; numbers];
            to_device(layout, &state, &mut back);
            assert_eq!(back, here);
            // Compares xx, the first of its pair, and the trace at the second point and, if there are several, of the
            // second mechanism.
            let first = components * mechanisms + usize::from(mechanisms > 1);
            let trace = first + (components - 1) * mechanisms;
            assert_eq!([state[first], state[trace]], expected, "{dimension} {mechanisms}");
        }
    }
}
