//! How ghosts travel between slabs.

use crate::Error;

/// Moves the planes next to a cut into the neighbour's ghosts after every stage.
pub trait Exchange<S> {
    /// Called when the edges of all slabs hold the stage's new values.
    fn start(&mut self, slabs: &mut [S], stage: usize) -> Result<(), Error>;
    /// Returns when the ghosts of all slabs hold the stage's new values.
    fn finish(&mut self, slabs: &mut [S], stage: usize) -> Result<(), Error>;
    /// The first cell that is not finite, of all that take part; `found` is what this process has found.
    fn agree(&mut self, found: Option<[usize; 3]>) -> Result<Option<[usize; 3]>, Error> {
        Ok(found)
    }
}

/// A slab whose edges and ghosts this process can reach.
pub trait Neighbour {
    /// Number type of the fields.
    type Number: Copy;
    /// Pieces that travel in a stage (components).
    fn pieces(&self, stage: usize) -> usize;
    /// The own planes that the upper (or lower) neighbour wants: contiguous numbers of piece `piece`.
    fn edge(&self, stage: usize, upper: bool, piece: usize) -> &[Self::Number];
    /// The ghost planes on the upper (or lower) side of piece `piece`.
    fn ghost(&mut self, stage: usize, upper: bool, piece: usize) -> &mut [Self::Number];
}

/// Slabs in one address space: ghosts are copied as soon as the edges are ready.
pub struct Copying;

impl<S: Neighbour> Exchange<S> for Copying {
    fn start(&mut self, slabs: &mut [S], stage: usize) -> Result<(), Error> {
        for k in 1..slabs.len() {
            let (low, high) = slabs.split_at_mut(k);
            let (low, high) = (&mut low[k - 1], &mut high[0]);
            for piece in 0..low.pieces(stage) {
                high.ghost(stage, false, piece)
                    .copy_from_slice(low.edge(stage, true, piece));
                low.ghost(stage, true, piece)
                    .copy_from_slice(high.edge(stage, false, piece));
            }
        }
        Ok(())
    }

    fn finish(&mut self, _slabs: &mut [S], _stage: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// A slab on a device of its own, which can copy into a neighbour's memory.
pub trait Peer {
    /// Puts the copy of the edge next to `to`, the upper or lower neighbour, into its ghosts behind the edge's kernels.
    fn send(&mut self, to: &Self, upper: bool) -> Result<(), Error>;
    /// Makes what follows on the edges wait for what the upper or lower neighbour sent.
    fn received(&mut self, from: &Self, upper: bool) -> Result<(), Error>;
}

/// Devices of one host: ghosts travel from memory to memory while the interior is computed.
pub struct PeerToPeer;

impl<S: Peer> Exchange<S> for PeerToPeer {
    fn start(&mut self, slabs: &mut [S], _stage: usize) -> Result<(), Error> {
        for k in 1..slabs.len() {
            let (low, high) = slabs.split_at_mut(k);
            let (low, high) = (&mut low[k - 1], &mut high[0]);
            low.send(high, true)?;
            high.send(low, false)?;
        }
        Ok(())
    }

    fn finish(&mut self, slabs: &mut [S], _stage: usize) -> Result<(), Error> {
        for k in 1..slabs.len() {
            let (low, high) = slabs.split_at_mut(k);
            let (low, high) = (&mut low[k - 1], &mut high[0]);
            low.received(high, true)?;
            high.received(low, false)?;
        }
        Ok(())
    }
}
