//! The sources of a field in the memory of a device.

use super::arguments::{Inject, int};
use super::field::Turn;
use super::tables::Spots;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, WALKERS, argument, send};
use crate::time_loop::Part;

pub struct SourceMemory<A: Accelerator> {
    place: A::Memory,
    first: A::Memory,
    series: A::Memory,
    weight: A::Memory,
    strength: A::Memory,
    /// Number of entries of the boundary elements, and of all elements.
    ends: [usize; 2],
    count: usize,
    steps: usize,
}

impl<A: Accelerator> SourceMemory<A> {
    /// Sends the tables to the device.
    pub fn new(a: &A, spots: &Spots) -> Result<Self, Error> {
        Ok(Self {
            place: send(a, &spots.place)?,
            first: send(a, &spots.first)?,
            series: send(a, &spots.series)?,
            weight: send(a, &spots.weight)?,
            strength: send(a, &spots.strength)?,
            ends: [spots.boundary, spots.place.len()],
            count: spots.count,
            steps: spots.steps,
        })
    }

    /// Adds the sources of a part and step to the contributions of elements, which begin at address `forces`.
    pub fn inject(&self, a: &A, turn: Turn, kernel: &A::Kernel, forces: u64) -> Result<(), Error> {
        let numbers = match turn.part {
            Part::Boundary => 0..self.ends[0],
            Part::Interior => self.ends[0]..self.ends[1],
        };
        if numbers.is_empty() || turn.step >= self.steps {
            return Ok(());
        }
        let args = Inject {
            forces,
            place: self.place.address(),
            first: self.first.address(),
            series: self.series.address(),
            weight: self.weight.address(),
            strength: self.strength.address(),
            begin: int(numbers.start),
            end: int(numbers.end),
            all_series: int(self.count),
            step: int(turn.step),
            steps: int(self.steps),
        };
        let dims = Dims {
            grid: [numbers.len().div_ceil(WALKERS), 1, 1],
            threads: WALKERS,
            shared: 0,
        };
        // SAFETY: the argument is the structure of the kernel, and its indices belong to elements of the subdomain.
        unsafe { a.launch(turn.stream, kernel, dims, &argument(&args)) }
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let all = [
            &self.place,
            &self.first,
            &self.series,
            &self.weight,
            &self.strength,
        ];
        all.into_iter().map(Memory::bytes).sum()
    }
}
