//! Snapshots that several ranks write to one file.

use kernels::grid::points::Snapshots;
use std::ops::Range;

/// The positions of this rank's numbers in snapshots.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The number of values of one component: of all ranks, of this rank, and of lower ranks.
    pub whole: usize,
    share: usize,
    before: usize,
    /// The number of steps from one snapshot to the next.
    pub every: usize,
    /// The step of the current snapshot, its number, and how many of its values have been written.
    coming: Option<usize>,
    number: usize,
    written: usize,
}

impl Part {
    /// The positions of the padded planes `own` in a window, after `done` steps.
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

    /// The position of the next piece of the snapshot after step `it`: pieces follow each other, component by
    /// component.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The window has ten planes of 5 x 4 numbers, and the rank has those from the fifth on: its numbers come
    /// after four planes of every component.
    #[test]
    fn pieces_lie_behind_those_of_lower_ranks() {
        let snapshots = Snapshots {
            every: 10,
            window: [3..8, 2..6, 10..20],
        };
        // After 25 steps the snapshots of steps 0, 10 and 20 exist.
        let mut part = Part::new(&snapshots, 3, &(14..30), 25);
        assert_eq!(
            (part.whole, part.share, part.before, part.number),
            (200, 120, 80, 3)
        );
        let places = [30, 30, 30, 30, 40].map(|it| part.place(it, 2, 60));
        assert_eq!(places, [1280, 1340, 1480, 1540, 1680]);
        for (own, share, before) in [(0..12, 40, 0), (0..10, 0, 0), (12..13, 20, 40), (20..25, 0, 200)] {
            let part = Part::new(&snapshots, 3, &own, 0);
            assert_eq!(
                (part.share, part.before, part.number),
                (share, before, 0),
                "{own:?}"
            );
        }
        // In 2-D planes are lines along z.
        let part = Part::new(&snapshots, 2, &(4..9), 30);
        assert_eq!(
            (part.whole, part.share, part.before, part.number),
            (20, 10, 10, 3)
        );
    }
}
