//! The device memory that shots have of their own: states, adjoint, checkpoints, recorded steps, gradients, records.
//!
//! Where several shots run side by side, every part of a shot lies the same distance from that of the next shot, so that a kernel
//! reaches all of them by one number. The memory is taken piece by piece, while the device is busy with what it has, and stays for the
//! next shots of the same kind.

use super::sizes::{WHOLE, after};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::time_loop::reversal::CheckpointSchedule;

/// Bytes of a piece, about.
const PIECE: usize = 2 << 30;

/// A piece has room for at least so many checkpoints or recorded steps of every shot, so that less than one in so many is lost at its end.
const FEWEST: usize = 64;

/// A part of which a shot has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The state of the run.
    Run,
    /// Its adjoint, or the state of the change of the waves.
    Adjoint,
    /// The adjoint of the derivatives, or what the change of the waves runs beside.
    Derivatives,
    /// The sums by coefficient, or the changes of the coefficients.
    Coefficients,
    /// The slopes of the vertical velocity at a free surface.
    Slopes,
    /// The boundary before a segment.
    Boundary,
    /// Velocities on the other side of a step whose waves run backwards.
    Before,
    /// What images need.
    Images,
    /// Records on their way to the host or from it.
    Records,
    /// Records of the change of the waves.
    Changes,
}

/// How many parts there are.
pub const PARTS: usize = Part::Changes as usize + 1;

/// What memory is taken for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needs {
    /// Shots that run side by side.
    pub shots: usize,
    /// Numbers of every [`Part`].
    pub parts: [usize; PARTS],
    /// A schedule, with the numbers of a checkpoint and of a recorded step; none for a run without a reverse sweep.
    pub reversal: Option<(CheckpointSchedule, [usize; 2])>,
    /// Recorded steps of a segment.
    pub steps: usize,
}

impl Needs {
    /// Numbers of all checkpoints on the device and of all recorded steps, and of the larger of one of them.
    fn of_reversal(&self) -> (usize, usize) {
        self.reversal.map_or((0, 0), |(schedule, [state, step])| {
            let checkpoints = schedule.checkpoints - schedule.on_host;
            (checkpoints * state + self.steps * step, state.max(step))
        })
    }

    /// Numbers from a part of a shot to that of the next one, which is the length of a piece for each of them.
    fn distance(&self) -> usize {
        let (reversal, largest) = self.of_reversal();
        let parts: usize = self.parts.iter().map(|n| n.next_multiple_of(WHOLE)).sum();
        let all = parts + reversal;
        let piece = (PIECE / size_of::<f32>() / self.shots).max(FEWEST * largest);
        let pieces = all.div_ceil(piece.max(1)).max(1);
        let lost = if pieces > 1 { largest } else { 0 };
        let largest_part = self.parts.iter().copied().max().unwrap_or(0);
        (all.div_ceil(pieces) + lost)
            .max(largest_part)
            .next_multiple_of(WHOLE)
    }
}

/// The memory.
pub struct ShotMemory<A: Accelerator> {
    needs: Needs,
    distance: usize,
    pieces: Vec<A::Memory>,
    /// Numbers of the last piece, for each shot, and how many of them are taken.
    last: [usize; 2],
    parts: [u64; PARTS],
    checkpoints: Vec<u64>,
    steps: Vec<u64>,
}

impl<A: Accelerator> ShotMemory<A> {
    /// Takes the parts of which a shot has one; they hold whatever was there.
    ///
    /// # Errors
    /// A device with too little memory.
    pub fn new(a: &A, needs: Needs) -> Result<Self, Error> {
        let mut made = Self {
            needs,
            distance: needs.distance(),
            pieces: Vec::new(),
            last: [0; 2],
            parts: [0; PARTS],
            checkpoints: Vec::new(),
            steps: Vec::new(),
        };
        for (part, &numbers) in needs.parts.iter().enumerate() {
            if numbers > 0 {
                made.parts[part] = made.take(a, numbers, 1)?;
            }
        }
        Ok(made)
    }

    /// What it was taken for.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Numbers from a part of a shot to that of the next one.
    pub fn distance(&self) -> usize {
        self.distance
    }

    /// The address of a part of the first shot; 0 for one that was not asked for.
    pub fn part(&self, part: Part) -> u64 {
        self.parts[part as usize]
    }

    /// So many numbers of every shot, where `ahead` such parts follow each other, this one included.
    fn take(&mut self, a: &A, numbers: usize, ahead: usize) -> Result<u64, Error> {
        let numbers = numbers.next_multiple_of(WHOLE);
        if self.last[0] - self.last[1] < numbers {
            // One shot needs no distance: its pieces are as long as whole parts.
            let length = match self.needs.shots {
                1 => numbers * (PIECE / size_of::<f32>() / numbers).clamp(1, ahead),
                _ => self.distance,
            };
            self.pieces
                .push(a.reserve(length * self.needs.shots * size_of::<f32>())?);
            self.last = [length, 0];
        }
        let piece = self.pieces.last().map_or(0, Memory::address);
        let at = after(piece, self.last[1]);
        self.last[1] += numbers;
        Ok(at)
    }

    /// Numbers of a checkpoint and of a recorded step.
    fn numbers(&self) -> [usize; 2] {
        self.needs.reversal.map_or([0; 2], |(_, numbers)| numbers)
    }

    /// The address of a checkpoint of the first shot; those before it have been asked for.
    ///
    /// # Errors
    /// A device with too little memory.
    pub fn checkpoint(&mut self, a: &A, number: usize) -> Result<u64, Error> {
        if number == self.checkpoints.len() {
            let at = self.take(a, self.numbers()[0], 1)?;
            self.checkpoints.push(at);
        }
        Ok(self.checkpoints[number])
    }

    /// The address of a recorded step of the first shot, and whether nobody has asked for it before; those before it have been asked for.
    ///
    /// # Errors
    /// A device with too little memory.
    pub fn step(&mut self, a: &A, number: usize) -> Result<(u64, bool), Error> {
        let fresh = number == self.steps.len();
        if fresh {
            let at = self.take(a, self.numbers()[1], self.needs.steps - number)?;
            self.steps.push(at);
        }
        Ok((self.steps[number], fresh))
    }
}
