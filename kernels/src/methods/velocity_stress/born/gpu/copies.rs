//! Kernels that copy numbers of every shot, and search them for non-finite values.

use super::arguments::{Args, PIECES, Pieces, Walk};
use super::steps::{Device, threads};
use super::variant::Pass;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Stream, WALKERS, walk};

/// Largest number of blocks per piece that is copied to a neighbour: enough to saturate the link.
const CARRIERS: usize = 32;

/// Consecutive numbers to copy.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub from: u64,
    pub to: u64,
    pub numbers: usize,
}

/// Number of threads per row of velocities that are cleared.
const SWEEPERS: usize = 16;

impl<A: Accelerator> Device<A> {
    /// Sets velocities outside the computed cells to zero, in memory that has not been written yet.
    pub fn clear(&self, velocity: u64) -> Result<(), Error> {
        let args = Args {
            velocity,
            ..self.base
        };
        let rows = (args.grid.rows * args.grid.planes) as usize;
        let (args, dims) = self.side_by_side(args, threads(rows * SWEEPERS, WALKERS));
        // SAFETY: there are threads for every row of the grid; the callers pass the address of velocities.
        unsafe { self.launch(Pass::Clear, dims, &args) }
    }

    /// Copies `count` numbers of every shot, or sets them to zero if `from` is `None`.
    pub fn copy(&self, to: u64, from: Option<u64>, count: usize) -> Result<(), Error> {
        let args = Walk {
            to,
            from: from.unwrap_or(0),
            non_finite: 0,
            count: count as i64,
            shot: self.distance.get() as i64,
        };
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the callers pass addresses of that many numbers of every shot.
        unsafe { self.launch(Pass::Copy, self.walk(count), &args) }
    }

    /// Copies pieces of memory that this device can access, several per launch.
    ///
    /// # Safety
    /// The pieces must live until the copies are done, and must not overlap.
    pub unsafe fn copy_pieces(&self, stream: Stream, pieces: &[Piece]) -> Result<(), Error> {
        for pieces in pieces.chunks(PIECES) {
            let most = pieces.iter().map(|piece| piece.numbers).max().unwrap_or(0);
            let mut args = Pieces {
                to: [0; PIECES],
                from: [0; PIECES],
                count: [0; PIECES],
            };
            for (k, piece) in pieces.iter().enumerate() {
                (args.to[k], args.from[k], args.count[k]) = (piece.to, piece.from, piece.numbers as i64);
            }
            let dims = Dims {
                grid: [most.div_ceil(4 * WALKERS).clamp(1, CARRIERS), pieces.len(), 1],
                threads: WALKERS,
                shared: 0,
            };
            // SAFETY: guaranteed by the caller.
            unsafe { self.launch_in(stream, Pass::CopyPieces, dims, &args)? };
        }
        Ok(())
    }

    /// Searches the velocities of a state for non-finite values.
    pub fn look(&self, state: u64) -> Result<(), Error> {
        let count = self.sizes.ndim * self.sizes.len;
        let args = Walk {
            to: 0,
            from: state,
            non_finite: self.non_finite.address(),
            count: count as i64,
            shot: self.distance.get() as i64,
        };
        // SAFETY: a state begins with its velocities.
        unsafe { self.launch(Pass::Look, self.walk(count), &args) }
    }

    /// The launch dimensions for `count` numbers of every shot.
    fn walk(&self, count: usize) -> Dims {
        let mut dims = walk(count);
        dims.grid[1] = self.shots();
        dims
    }

    /// Resets the result of the search.
    pub fn forget(&self) -> Result<(), Error> {
        self.a.clear(&self.non_finite)
    }

    /// The address of a number that is non-zero if the search has found a non-finite value.
    pub fn non_finite(&self) -> u64 {
        self.non_finite.address()
    }
}
