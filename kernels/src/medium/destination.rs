//! Where a model goes while it is read and checked.

use super::{Coefficients, Medium};
use crate::Error;
use crate::device::cpu::{Buffer, Cpu};
use crate::grid::Padded;

/// Where a checked model goes, block by block.
///
/// No block has more lines than the first.
pub trait Destination {
    /// Lines that a block should have when its reader would take `wanted`.
    fn lines(&self, wanted: usize) -> usize {
        wanted
    }

    /// The coefficients that are wanted.
    fn coefficients(&self) -> Coefficients {
        Coefficients::Orthorhombic
    }

    /// Memory for the next block: `[array][line][z of the model]`, arrays being the stiffness coefficients in memory
    /// order, then density; `lines` whole lines each. What it holds before does not matter.
    ///
    /// # Errors
    /// No memory, or what an earlier block came to.
    fn block(&mut self, lines: usize) -> Result<&mut [f32], Error>;

    /// The block given out last is filled; its first line is `first_line` of the model (`x + nx*y`).
    ///
    /// # Errors
    /// It cannot be stored or sent.
    fn commit(&mut self, first_line: usize, lines: usize) -> Result<(), Error>;
}

/// One block of memory that is used again and again.
struct Scratch {
    /// Numbers of a line in all arrays.
    line: usize,
    memory: Option<Buffer<f32>>,
}

impl Scratch {
    fn take(&mut self, lines: usize) -> Result<&mut [f32], Error> {
        let len = lines * self.line;
        if self.memory.as_ref().is_none_or(|m| m.as_slice().len() < len) {
            self.memory = Some(Buffer::zeroed(len)?);
        }
        let memory = self.memory.as_mut().expect("just made");
        Ok(&mut memory.as_mut_slice()[..len])
    }
}

/// Nowhere: for a model that is only looked at.
pub struct Discard(Scratch, Coefficients);

impl Discard {
    /// For a model of this grid with these coefficients.
    pub fn new(padded: &Padded, kind: Coefficients) -> Self {
        let scratch = Scratch {
            line: (kind.count(padded.ndim()) + 1) * padded.model.n[0],
            memory: None,
        };
        Self(scratch, kind)
    }
}

impl Destination for Discard {
    fn coefficients(&self) -> Coefficients {
        self.1
    }

    fn block(&mut self, lines: usize) -> Result<&mut [f32], Error> {
        self.0.take(lines)
    }

    fn commit(&mut self, _: usize, _: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// Fills a medium in the memory of the host on all threads, so that they also share the first touch of its pages.
pub struct Filler<'a> {
    medium: &'a mut Medium<f32>,
    cpu: &'a Cpu,
    block: Scratch,
}

impl<'a> Filler<'a> {
    /// For all lines of `medium`.
    pub fn new(medium: &'a mut Medium<f32>, cpu: &'a Cpu) -> Self {
        let block = Discard::new(medium.padded(), medium.coefficients()).0;
        Self { medium, cpu, block }
    }
}

impl Destination for Filler<'_> {
    fn coefficients(&self) -> Coefficients {
        self.medium.coefficients()
    }

    fn block(&mut self, lines: usize) -> Result<&mut [f32], Error> {
        self.block.take(lines)
    }

    fn commit(&mut self, first_line: usize, lines: usize) -> Result<(), Error> {
        let values = self.block.take(lines)?;
        self.medium.fill_all(self.cpu, first_line, values);
        Ok(())
    }
}
