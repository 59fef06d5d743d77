//! The messages of a slab whose fields lie in the memory of this process.

use super::communicator::Span;
use super::slabs::Slab as Layout;
use crate::device::simd::Real;

/// What leaves to and arrives from the ranks below and above, the pieces of a stage behind each other.
pub struct Messages<T> {
    /// By side (lower, upper), then what leaves and what arrives.
    sides: [[Vec<T>; 2]; 2],
    /// Numbers of a piece.
    piece: usize,
    /// Pieces of the stage that has most.
    most: usize,
}

impl<T> Default for Messages<T> {
    fn default() -> Self {
        Self {
            sides: Default::default(),
            piece: 0,
            most: 0,
        }
    }
}

impl<T: Real> Messages<T> {
    /// Pieces of `piece` numbers, in no stage more than `most`. Takes no memory yet.
    pub fn new(piece: usize, most: usize) -> Self {
        Self {
            piece,
            most,
            ..Self::default()
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let numbers: usize = self.sides.iter().flatten().map(Vec::len).sum();
        numbers * size_of::<T>()
    }

    /// What leaves and what arrives in a stage of so many pieces. All stages use the same memory: one has ended before
    /// the next begins.
    pub fn spans(&mut self, upper: bool, pieces: usize) -> (Vec<Span>, Vec<Span>) {
        let (numbers, bytes) = (self.most * self.piece, self.piece * size_of::<T>());
        let [leaving, arriving] = self.sides[usize::from(upper)].each_mut().map(|memory| {
            memory.resize(numbers, T::of(0.0));
            let start = memory.as_mut_ptr() as u64;
            let address = |k: usize| start + (k * bytes) as u64;
            let span = |k| Span {
                address: address(k),
                bytes,
            };
            (0..pieces).map(span).collect()
        });
        (leaving, arriving)
    }

    /// Where a piece leaves from.
    pub fn leaving(&mut self, upper: bool, piece: usize) -> &mut [T] {
        &mut self.sides[usize::from(upper)][0][piece * self.piece..][..self.piece]
    }

    /// A piece that arrived.
    pub fn arrived(&self, upper: bool, piece: usize) -> &[T] {
        &self.sides[usize::from(upper)][1][piece * self.piece..][..self.piece]
    }
}

/// Numbers of the messages of a rank with these slabs, of a grid of so many planes: `numbers` leave to each neighbouring
/// rank, and as many arrive.
pub fn numbers(slabs: &[Layout], planes: usize, numbers: usize) -> usize {
    let below = slabs.first().is_some_and(|slab| slab.own.start > 0);
    let above = slabs.last().is_some_and(|slab| slab.own.end < planes);
    2 * numbers * (usize::from(below) + usize::from(above))
}
