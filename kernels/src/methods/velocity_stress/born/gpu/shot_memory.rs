//! The device memory of each shot: states, adjoint, checkpoints, recorded steps, gradients, records.
//!
//! If several shots run side by side, the distance in memory between a part of one shot and the same part of the next
//! is the same for all parts, so that kernels address all shots with one number. Memory is allocated piece by piece
//! as needed, while the device is busy, and reused by later shots of the same kind.

use super::sizes::{WHOLE, after};
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::time_loop::reversal::CheckpointSchedule;

/// Approximate bytes of a piece of memory.
const PIECE: usize = 2 << 30;

/// A piece has room for at least this many checkpoints or recorded steps of every shot, which bounds the fraction
/// lost at its end.
const FEWEST: usize = 64;

/// A part that each shot has once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Run,
    /// The adjoint state, or the state of the scattered field.
    Adjoint,
    /// The adjoint derivatives, or the background data that drive the scattered field.
    Derivatives,
    /// The sums by coefficient, or the perturbations of the coefficients.
    Coefficients,
    /// The adjoint slopes of the vertical velocity at a free surface.
    Slopes,
    /// The boundary before a segment.
    Boundary,
    /// Velocities on the other side of a step that is undone.
    Before,
    /// The memory of images.
    Images,
    /// Buffered records.
    Records,
    /// Buffered records of the scattered field.
    Changes,
}

pub const PARTS: usize = Part::Changes as usize + 1;

/// The memory that shots need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needs {
    /// Number of shots that run side by side.
    pub shots: usize,
    /// Length of each [`Part`].
    pub parts: [usize; PARTS],
    /// A schedule, with the lengths of a checkpoint and of a recorded step; `None` for a run without a reverse sweep.
    pub reversal: Option<(CheckpointSchedule, [usize; 2])>,
    /// Recorded steps per segment.
    pub steps: usize,
}

impl Needs {
    /// Total length of all checkpoints on the device and all recorded steps, and the larger length of one of them.
    fn of_reversal(&self) -> (usize, usize) {
        self.reversal.map_or((0, 0), |(schedule, [state, step])| {
            let checkpoints = schedule.checkpoints - schedule.on_host;
            (checkpoints * state + self.steps * step, state.max(step))
        })
    }

    /// The distance between a part of a shot and the same part of the next shot, which is also the length of a piece
    /// per shot.
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

pub struct ShotMemory<A: Accelerator> {
    needs: Needs,
    distance: usize,
    pieces: Vec<A::Memory>,
    /// Length per shot of the last piece, and its used length.
    last: [usize; 2],
    parts: [u64; PARTS],
    checkpoints: Vec<u64>,
    steps: Vec<u64>,
}

impl<A: Accelerator> ShotMemory<A> {
    /// Allocates the parts that each shot has once, with undefined contents.
    ///
    /// # Errors
    /// Returns an error for a device with too little memory.
    pub fn new(a: &A, needs: Needs) -> Result<Self, Error> {
        let mut memory = Self {
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
                memory.parts[part] = memory.take(a, numbers, 1)?;
            }
        }
        Ok(memory)
    }

    /// The needs for which it was allocated.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// The distance, in numbers, between a part of a shot and the same part of the next shot.
    pub fn distance(&self) -> usize {
        self.distance
    }

    /// The address of a part of the first shot; 0 for a part of length 0.
    pub fn part(&self, part: Part) -> u64 {
        self.parts[part as usize]
    }

    /// Allocates `numbers` numbers for every shot; `ahead` is the number of parts of this kind that will follow,
    /// including this one.
    fn take(&mut self, a: &A, numbers: usize, ahead: usize) -> Result<u64, Error> {
        let numbers = numbers.next_multiple_of(WHOLE);
        if self.last[0] - self.last[1] < numbers {
            // A single shot needs no distance: its pieces hold whole parts.
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

    /// Lengths of a checkpoint and of a recorded step.
    fn numbers(&self) -> [usize; 2] {
        self.needs.reversal.map_or([0; 2], |(_, numbers)| numbers)
    }

    /// The address of a checkpoint of the first shot. Checkpoints must be requested in order.
    ///
    /// # Errors
    /// Returns an error for a device with too little memory.
    pub fn checkpoint(&mut self, a: &A, number: usize) -> Result<u64, Error> {
        if number == self.checkpoints.len() {
            let at = self.take(a, self.numbers()[0], 1)?;
            self.checkpoints.push(at);
        }
        Ok(self.checkpoints[number])
    }

    /// The address of a recorded step of the first shot, and whether it is new. New steps must be requested in order.
    ///
    /// # Errors
    /// Returns an error for a device with too little memory.
    pub fn step(&mut self, a: &A, number: usize) -> Result<(u64, bool), Error> {
        let fresh = number == self.steps.len();
        if fresh {
            let at = self.take(a, self.numbers()[1], self.needs.steps - number)?;
            self.steps.push(at);
        }
        Ok((self.steps[number], fresh))
    }
}
