//! Destinations into which a model is written while it is read and checked.

use super::{Coefficients, Medium};
use crate::Error;
use crate::device::cpu::{Buffer, Cpu};
use crate::grid::Padded;

/// A destination to which a checked model is written block by block. No block has more lines than the first.
pub trait Destination {
    /// Number of lines that a block should have if the reader proposes `lines`.
    fn lines(&self, lines: usize) -> usize {
        lines
    }

    /// The coefficients that the destination needs.
    fn coefficients(&self) -> Coefficients {
        Coefficients::Orthorhombic
    }

    /// Returns memory for the next block of `lines` lines, `[array][line][z of the model]`. The arrays are the
    /// stiffness coefficients in memory order, then density. All values must be written, as the initial ones are
    /// arbitrary.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory, or an earlier block could not be stored or sent.
    fn block(&mut self, lines: usize) -> Result<&mut [f32], Error>;

    /// Takes over the block that [`Destination::block`] returned last, which is now filled. Its first line is number
    /// `first_line` of the model (`x + nx*y`).
    ///
    /// # Errors
    /// Returns an error if the block cannot be stored or sent.
    fn commit(&mut self, first_line: usize, lines: usize) -> Result<(), Error>;
}

/// Memory of one block, which is reused for all blocks.
struct Scratch {
    /// Number of values of one line in all arrays together.
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

/// Discards a model that is only checked.
pub struct Discard(Scratch, Coefficients);

impl Discard {
    /// Discards a model of this grid with these coefficients.
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

/// Fills a medium in the memory of the host. All threads take part, and thus also share the first touch of its pages.
pub struct Filler<'a> {
    medium: &'a mut Medium<f32>,
    cpu: &'a Cpu,
    block: Scratch,
}

impl<'a> Filler<'a> {
    /// Fills all lines of `medium`.
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
