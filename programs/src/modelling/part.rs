//! Snapshots that several ranks write into one file.

use kernels::grid::points::Snapshots;
use std::ops::Range;

/// Where the numbers of this rank stand in a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Numbers of one component, of all ranks and of this one, and those of lower ranks.
    pub whole: usize,
    share: usize,
    before: usize,
    /// Steps from one snapshot to the next.
    pub every: usize,
    /// The snapshot (its step) that is coming, its number, and the numbers written of it.
    coming: Option<usize>,
    number: usize,
    written: usize,
}

impl Part {
    /// For the padded planes `own` of a window, behind so many steps.
    pub fn new(snapshots: &Snapshots, ndim: usize, own: &Range<usize>, done: usize) -> Self {
        let (lower, planes) = (&snapshots.window[..ndim - 1], &snapshots.window[ndim - 1]);
        let plane: usize = lower.iter().map(Range::len).product();
        let inside = |plane: usize| plane.clamp(planes.start, planes.end) - planes.start;
        Self {
            whole: plane * planes.len(),
            share: plane * (inside(own.end) - inside(own.start)),
            before: plane * inside(own.start),
            every: snapshots.every,
            number: done.div_ceil(snapshots.every),
            ..Self::default()
        }
    }

    /// Where a piece of the snapshot after step `it` goes: pieces follow each other, component by component.
    pub fn place(&mut self, it: usize, components: usize, numbers: usize) -> usize {
        if self.coming != Some(it) {
            self.number += usize::from(self.coming.is_some());
            (self.coming, self.written) = (Some(it), 0);
        }
        let (component, rest) = (self.written / self.share, self.written % self.share);
        self.written += numbers;
        (self.number * components + component) * self.whole + self.before + rest
    }
}
