//! Buffers of the messages between a subdomain in host memory and a neighbour on another rank.

use super::halo::{Link, Traffic};
use super::slabs::Slab;
use crate::communicator::Span;
use crate::device::simd::Real;
use std::ops::Range;

/// The outgoing and the incoming numbers, with the pieces of a stage in sequence. All stages use the same memory,
/// because each ends before the next begins.
pub struct MessageBuffers<T> {
    leaving: Vec<T>,
    arriving: Vec<T>,
    stages: Vec<Traffic>,
}

fn total(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(Range::len).sum()
}

/// The position of each range in a buffer that holds them in sequence.
fn places(ranges: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> + '_ {
    ranges.iter().scan(0, |end, range| {
        *end += range.len();
        Some(*end - range.len()..*end)
    })
}

impl<T: Real> MessageBuffers<T> {
    /// Buffers for the messages of a link.
    pub fn new(link: &Link) -> Self {
        let most = |of: fn(&Traffic) -> &[Range<usize>]| link.stages.iter().map(|t| total(of(t))).max();
        let buffer = |numbers: Option<usize>| vec![T::of(0.0); numbers.unwrap_or(0)];
        Self {
            leaving: buffer(most(|t| &t.send)),
            arriving: buffer(most(|t| &t.receive)),
            stages: link.stages.clone(),
        }
    }

    /// Bytes of memory that the buffers hold.
    pub fn bytes(&self) -> usize {
        (self.leaving.len() + self.arriving.len()) * size_of::<T>()
    }

    /// Memory of the messages that leave and arrive in a stage.
    pub fn spans(&mut self, stage: usize) -> (Vec<Span>, Vec<Span>) {
        fn spans<T>(memory: &mut [T], ranges: &[Range<usize>]) -> Vec<Span> {
            let start = memory.as_mut_ptr() as u64;
            let span = |place: Range<usize>| Span {
                address: start + (place.start * size_of::<T>()) as u64,
                bytes: place.len() * size_of::<T>(),
            };
            places(ranges).map(span).collect()
        }
        let traffic = &self.stages[stage];
        (
            spans(&mut self.leaving, &traffic.send),
            spans(&mut self.arriving, &traffic.receive),
        )
    }

    /// Copies the numbers of `ranges` out of the fields.
    pub fn pack(&mut self, ranges: &[Range<usize>], fields: &[T]) {
        for (range, place) in ranges.iter().zip(places(ranges)) {
            self.leaving[place].copy_from_slice(&fields[range.clone()]);
        }
    }

    /// Copies a piece that has arrived to its range of `ranges` in the fields.
    pub fn unpack(&self, ranges: &[Range<usize>], piece: usize, fields: &mut [T]) {
        if let Some(place) = places(ranges).nth(piece) {
            fields[ranges[piece].clone()].copy_from_slice(&self.arriving[place]);
        }
    }
}

/// Total length, in numbers, of the messages of a rank that has these slabs of a grid of `planes` planes: `numbers`
/// leave to each neighbouring rank, and as many arrive.
pub fn numbers(slabs: &[Slab], planes: usize, numbers: usize) -> usize {
    let below = slabs.first().is_some_and(|slab| slab.own.start > 0);
    let above = slabs.last().is_some_and(|slab| slab.own.end < planes);
    2 * numbers * (usize::from(below) + usize::from(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_room_for_the_longest_stage_in_either_direction() {
        let traffic = |send: &[Range<usize>], receive: &[Range<usize>]| Traffic {
            send: send.to_vec(),
            receive: receive.to_vec(),
        };
        let link = Link {
            neighbour: 1,
            stages: vec![
                traffic(&[0..3, 7..8], &[10..11, 11..12]),
                traffic(&[0..1, 1..2], &[20..24, 30..33]),
            ],
        };
        assert_eq!(MessageBuffers::<f32>::new(&link).bytes(), 4 * (4 + 7));
        assert_eq!(MessageBuffers::<f64>::new(&link).bytes(), 8 * (4 + 7));
    }

    /// The first and the last rank have one neighbour each, all other ranks have two, and a single rank has none.
    #[test]
    fn messages_go_to_the_neighbours_there_are() {
        let cutting = crate::parallel::slabs::Cutting {
            least: 8,
            face: 6,
            frame_cost: 1.0,
        };
        let slabs = cutting.partition(100, 4).expect("the slabs fit");
        let of = |mine: Range<usize>| numbers(&slabs[mine], 100, 7);
        assert_eq!([of(0..2), of(1..3), of(2..4), of(0..4)], [14, 28, 14, 0]);
    }
}
