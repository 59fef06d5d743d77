//! Kernels that copy numbers of every shot, and search them for values that are not finite.

use super::arguments::{Args, PIECES, Pieces, Walk};
use super::steps::{Device, threads};
use super::variant::Pass;
use crate::Error;
use crate::device::accelerator::{Accelerator, Dims, Memory, Stream, WALKERS, walk};

/// Blocks with a piece that is copied to a neighbour, at most: enough to fill the way to it.
const CARRIERS: usize = 32;

/// Numbers that lie behind each other and are copied as they are.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub from: u64,
    pub to: u64,
    pub numbers: usize,
}

/// Threads with a row of velocities that are cleared.
const SWEEPERS: usize = 16;

impl<A: Accelerator> Device<A> {
    /// Puts zeros beside the cells of velocities that nothing was written to yet.
    pub fn clear(&self, velocity: u64) -> Result<(), Error> {
        let args = Args {
            velocity,
            ..self.base
        };
        let rows = (args.grid.rows * args.grid.planes) as usize;
        let (args, dims) = self.side_by_side(args, threads(rows * SWEEPERS, WALKERS));
        // SAFETY: a warp for every row of the grid; the callers give the address of velocities.
        unsafe { self.launch(Pass::Clear, dims, &args) }
    }

    /// Copies numbers of every shot, or puts zeros where there is nothing to copy.
    pub fn copy(&self, to: u64, from: Option<u64>, count: usize) -> Result<(), Error> {
        let args = Walk {
            to,
            from: from.unwrap_or(0),
            found: 0,
            count: count as i64,
            shot: self.distance.get() as i64,
        };
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the callers give addresses of as many numbers of every shot.
        unsafe { self.launch(Pass::Copy, self.walk(count), &args) }
    }

    /// Copies pieces of memory that this device reaches, many of them by one launch.
    ///
    /// # Safety
    /// They must live until the copies are done, and not overlap.
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
            // SAFETY: the caller's promise.
            unsafe { self.launch_in(stream, Pass::CopyPieces, dims, &args)? };
        }
        Ok(())
    }

    /// Searches the velocities of a state for values that are not finite.
    pub fn look(&self, state: u64) -> Result<(), Error> {
        let count = self.sizes.ndim * self.sizes.len;
        let args = Walk {
            to: 0,
            from: state,
            found: self.found.address(),
            count: count as i64,
            shot: self.distance.get() as i64,
        };
        // SAFETY: a state begins with its velocities.
        unsafe { self.launch(Pass::Look, self.walk(count), &args) }
    }

    /// Blocks that walk over so many numbers of every shot.
    fn walk(&self, count: usize) -> Dims {
        let mut dims = walk(count);
        dims.grid[1] = self.shots();
        dims
    }

    /// Begins the next search without the finding of the one before.
    pub fn forget(&self) -> Result<(), Error> {
        self.a.clear(&self.found)
    }

    /// The address of a number that is not zero where the search has found such a value.
    pub fn found(&self) -> u64 {
        self.found.address()
    }
}
