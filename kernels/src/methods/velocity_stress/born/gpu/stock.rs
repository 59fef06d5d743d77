//! Memory of checkpoints and recorded steps, which is most of a device's: taken piece by piece when it is first wanted, while the
//! device is busy with what it has, and kept for the next way back of the same kind.

use super::super::schedule::CheckpointSchedule;
use super::sizes::{Sizes, after};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};

/// Bytes of a piece of recorded steps, about.
const PIECE: usize = 2 << 30;

/// The memory.
pub struct Stock<A: Accelerator> {
    /// What it was taken for: a schedule, with the numbers of a checkpoint and of a recorded step.
    of: Option<(CheckpointSchedule, [usize; 2])>,
    checkpoints: Vec<A::Memory>,
    tapes: Vec<A::Memory>,
    /// Recorded steps of a piece, and of a segment.
    each: usize,
    steps: usize,
    /// How many of these have been asked for.
    used: usize,
}

impl<A: Accelerator> Stock<A> {
    /// Nothing.
    pub fn empty() -> Self {
        Self {
            of: None,
            checkpoints: Vec::new(),
            tapes: Vec::new(),
            each: 1,
            steps: 0,
            used: 0,
        }
    }

    /// Turns to a way back through so many steps by a schedule; memory that was taken for another one goes.
    pub fn serve(&mut self, schedule: &CheckpointSchedule, sizes: &Sizes, steps: usize) {
        let numbers = [sizes.state().all, sizes.tape().all];
        let of = Some((*schedule, numbers));
        if self.of != of {
            *self = Self {
                of,
                each: (PIECE / (numbers[1] * size_of::<f32>()).max(1)).max(1),
                steps: schedule.segment.min(steps),
                ..Self::empty()
            };
        }
    }

    /// Numbers of a checkpoint and of a recorded step.
    fn numbers(&self) -> [usize; 2] {
        self.of.map_or([0; 2], |(_, numbers)| numbers)
    }

    /// Where a checkpoint lies; those before it are there.
    pub fn checkpoint(&mut self, a: &A, number: usize) -> Result<u64, Error> {
        if number == self.checkpoints.len() {
            let bytes = self.numbers()[0] * size_of::<f32>();
            self.checkpoints.push(a.reserve(bytes.max(1))?);
        }
        Ok(self.checkpoints[number].address())
    }

    /// Where a recorded step of a segment lies, and whether nobody has asked for it before; those before it are there.
    pub fn tape(&mut self, a: &A, number: usize) -> Result<(u64, bool), Error> {
        let (piece, [_, numbers]) = (number / self.each, self.numbers());
        if piece == self.tapes.len() {
            let steps = self.each.min(self.steps - piece * self.each);
            let bytes = steps * numbers * size_of::<f32>();
            self.tapes.push(a.reserve(bytes.max(1))?);
        }
        let fresh = number == self.used;
        self.used += usize::from(fresh);
        let at = after(self.tapes[piece].address(), number % self.each * numbers);
        Ok((at, fresh))
    }
}
