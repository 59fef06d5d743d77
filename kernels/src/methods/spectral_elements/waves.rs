//! The order of a step: points and blocks of a subdomain are processed in waves, so that the data of a wave stay in
//! the caches.
//!
//! A wave consists of a few blocks. It first predicts the fields of their points, unless an earlier wave has done so;
//! after the blocks it completes the step at all points whose last elements were among them. Points are numbered in the
//! order in which elements meet them, so both fronts follow the blocks closely if the numbers of neighbours are close.
//! Fields thus pass through the caches once per step instead of once in each of its three parts, and only the
//! contributions of some blocks need memory.

use std::ops::Range;

use super::assembly::Block;

/// Number of blocks per wave and thread.
const BLOCKS: usize = 8;

/// Some blocks, with the points that are predicted before them and corrected after them.
#[derive(Clone, Debug)]
pub(super) struct Wave {
    pub(super) blocks: Range<usize>,
    pub(super) predicted: Range<usize>,
    pub(super) corrected: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Waves {
    pub(super) all: Vec<Wave>,
    /// The number of blocks whose contributions are kept at once: block b overwrites the contributions of block b -
    /// `kept`.
    pub(super) kept: usize,
    /// The points of the blocks. In a subdomain with neighbours these are all of its points, because its elements of
    /// the other kind may share points with a neighbour there.
    pub(super) points: Range<usize>,
}

impl Waves {
    /// The waves over all blocks of a subdomain with `points` points on `threads` threads. Without threads there is a
    /// single wave, for subdomains that wait for neighbours within a step.
    pub(super) fn new<const D: usize>(blocks: &[Block<D>], points: usize, threads: Option<usize>) -> Self {
        let together = threads.map_or(blocks.len(), |threads| BLOCKS * threads).max(1);
        let extents: Vec<Range<usize>> = blocks.chunks(together).map(extent).collect();
        let mut later: Vec<usize> = extents.iter().map(|extent| extent.start).collect();
        for k in (1..later.len()).rev() {
            later[k - 1] = later[k - 1].min(later[k]);
        }
        let end = extents.iter().map(|extent| extent.end).max().unwrap_or(0);
        let start = later.first().copied().unwrap_or(0);
        let (mut predicted, mut corrected) = (start, start);
        let mut all = Vec::new();
        for (k, extent) in extents.iter().enumerate() {
            let first = k * together;
            let ends = [
                predicted.max(extent.end),
                later.get(k + 1).copied().unwrap_or(end),
            ];
            all.push(Wave {
                blocks: first..(first + together).min(blocks.len()),
                predicted: predicted..ends[0],
                corrected: corrected..ends[1],
            });
            [predicted, corrected] = ends;
        }
        // A wave is complete when the last of its points is corrected.
        let mut kept = 1;
        for (k, extent) in extents.iter().enumerate() {
            let over = all.partition_point(|wave| wave.corrected.end < extent.end);
            kept = kept.max(over + 1 - k);
        }
        Self {
            all,
            kept: (kept * together).min(blocks.len()),
            points: if threads.is_some() { start..end } else { 0..points },
        }
    }

    /// The part of the kept contributions, counted in blocks, to which the blocks of a wave write.
    pub(super) fn room(&self, blocks: &Range<usize>) -> Range<usize> {
        let first = blocks.start % self.kept.max(1);
        first..first + blocks.len()
    }
}

fn extent<const D: usize>(blocks: &[Block<D>]) -> Range<usize> {
    let points = || blocks.iter().flat_map(|block| block.points.as_flattened());
    let first = points().min().map_or(0, |first| *first as usize);
    first..points().max().map_or(first, |last| *last as usize + 1)
}
