//! The state of a survey between two shots: the sums so far.

use kernels::Error;
use kernels::time_loop::state::{State, StateArray};
use std::ops::Range;

/// Arrays of which this process owns all elements, so that it saves and loads them as a whole.
#[derive(Default)]
pub struct Sums<'a>(Vec<Sum<'a>>);

struct Sum<'a> {
    array: StateArray,
    bytes: &'a mut [u8],
}

impl<'a> Sums<'a> {
    /// Adds the array `numbers`, in lines of `line` numbers; an incomplete last line is not saved.
    pub fn with<T: bytemuck::Pod>(mut self, name: &str, line: usize, numbers: &'a mut [T]) -> Self {
        let lines = numbers.len().checked_div(line).unwrap_or(0);
        self.0.push(Sum {
            array: StateArray::of::<T>(name, lines, line),
            bytes: bytemuck::cast_slice_mut(numbers),
        });
        self
    }
}

impl Sum<'_> {
    fn part(&mut self, blocks: &Range<usize>) -> &mut [u8] {
        &mut self.bytes[blocks.start * self.array.block..blocks.end * self.array.block]
    }
}

impl State for Sums<'_> {
    fn arrays(&self) -> Vec<StateArray> {
        self.0.iter().map(|sum| sum.array.clone()).collect()
    }

    fn owned(&self, array: usize) -> Vec<Range<usize>> {
        std::iter::once(0..self.0[array].array.blocks).collect()
    }

    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        out.copy_from_slice(self.0[array].part(&blocks));
        Ok(())
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        self.0[array].part(&blocks).copy_from_slice(bytes);
        Ok(())
    }
}
