//! How a run is reversed in a given memory: the steps are cut into segments, of which one at a time is recorded as a whole;
//! segments begin at checkpoints, which the binomial schedule of Griewank & Walther (2000) places.

use crate::Error;

/// A reversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// Steps of a segment, recorded at once.
    pub segment: usize,
    /// Checkpoints beside the beginning of the run.
    pub checkpoints: usize,
    /// How many of them, those taken first, a device leaves to the memory of its host.
    pub on_host: usize,
    /// Segments.
    pub segments: usize,
}

/// What a checkpoint on the host costs a device at most, in steps: it goes there and back at a twentieth of the speed of memory.
const STEPS_OF_A_COPY: usize = 20;

/// `n` over `k`, not beyond the largest number.
fn choose(n: usize, k: usize) -> usize {
    if k > n {
        return 0;
    }
    let mut all = 1u128;
    // Every factor up to the middle is one or more, so that what is capped stays so.
    for i in 0..k.min(n - k) {
        all = (all * (n - i) as u128 / (i + 1) as u128).min(usize::MAX as u128);
    }
    all as usize
}

/// How often a segment is passed at most when so many segments are reversed with so many checkpoints.
fn repetitions(segments: usize, checkpoints: usize) -> usize {
    (0..)
        .find(|&r| choose(checkpoints + 1 + r, r) >= segments)
        .unwrap_or(0)
}

/// Segments that are advanced over, recorded ones not counted, when so many are reversed (Griewank & Walther 2000, eq. 3).
fn advances(segments: usize, checkpoints: usize) -> usize {
    let slots = checkpoints + 1;
    let r = repetitions(segments, checkpoints);
    if r == 0 {
        return 0;
    }
    r * segments - choose(slots + r, r - 1)
}

impl Ladder {
    /// The quickest reversal of `steps` steps that fits `memory` bytes beyond what every run takes; `state` and `tape` are the bytes of
    /// a checkpoint and of a recorded step.
    ///
    /// # Errors
    /// Says what the least memory is.
    pub fn choose(steps: usize, sizes: [usize; 2], memory: usize) -> Result<Self, Error> {
        Self::choose_beside(steps, sizes, [memory, 0])
    }

    /// The same for a device with so much memory, of whose host so much may hold checkpoints.
    ///
    /// # Errors
    /// The same.
    pub fn choose_beside(
        steps: usize,
        [state, tape]: [usize; 2],
        [memory, host]: [usize; 2],
    ) -> Result<Self, Error> {
        let mut best: Option<(usize, Self)> = None;
        let mut segment = 1;
        loop {
            if let Some(left) = memory.checked_sub(2 * state + segment * tape) {
                let segments = steps.div_ceil(segment);
                let most = segments.saturating_sub(1);
                let on_device = (left / state.max(1)).min(most);
                for on_host in [0, (host / state.max(1)).min(most - on_device)] {
                    let ladder = Self {
                        segment,
                        checkpoints: on_device + on_host,
                        on_host,
                        segments,
                    };
                    let cost = ladder.extra(steps) + STEPS_OF_A_COPY * on_host;
                    if best.is_none_or(|(least, _)| cost <= least) {
                        best = Some((cost, ladder));
                    }
                }
            }
            if segment == steps {
                break;
            }
            segment = (segment + segment.div_ceil(4)).min(steps);
        }
        best.map(|(_, ladder)| ladder).ok_or_else(|| {
            Error::setup(format!(
                "the way back through {steps} steps needs {:.4} GB of memory at least and may take {:.4} GB: allow more, or use a smaller grid",
                (2 * state + tape) as f64 / 1e9,
                memory as f64 / 1e9
            ))
        })
    }

    /// Steps that are run beside those that are recorded, each once.
    pub fn extra(&self, steps: usize) -> usize {
        (advances(self.segments, self.checkpoints) * self.segment).min(steps.saturating_mul(self.segments))
    }

    /// Bytes that it takes: checkpoints, the beginning of the run and the fields that run, and recorded steps; those on the host of a
    /// device apart.
    pub fn bytes(&self, [state, tape]: [usize; 2]) -> usize {
        (self.checkpoints - self.on_host + 2) * state + self.segment * tape
    }
}

/// The segment at which the next checkpoint is taken when `segments` are left and `free` checkpoints.
pub fn split(segments: usize, free: usize) -> usize {
    let (slots, r) = (free + 1, repetitions(segments, free));
    // Behind the checkpoint one fewer is free, before it one fewer repetition is left: both parts must be possible.
    let behind = choose(slots - 1 + r, r);
    let before = choose(slots + r - 1, r - 1);
    let least = segments.saturating_sub(behind).max(1);
    let most = before.min(segments - 1).max(1);
    // A part that could be reversed with fewer repetitions gains nothing from being shorter.
    let shorter = choose(slots + r.saturating_sub(2), r.saturating_sub(2));
    least.max(shorter.min(most)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments passed by the recursion of [`split`].
    fn passed(segments: usize, free: usize) -> usize {
        match (segments, free) {
            (0 | 1, _) => 0,
            (_, 0) => segments * (segments - 1) / 2,
            _ => {
                let at = split(segments, free);
                at + passed(segments - at, free - 1) + passed(at, free)
            }
        }
    }

    /// The fewest that are possible.
    fn fewest(
        segments: usize,
        free: usize,
        known: &mut std::collections::HashMap<(usize, usize), usize>,
    ) -> usize {
        if segments <= 1 {
            return 0;
        }
        if free == 0 {
            return segments * (segments - 1) / 2;
        }
        if let Some(&found) = known.get(&(segments, free)) {
            return found;
        }
        let of =
            |at: usize, known: &mut _| at + fewest(segments - at, free - 1, known) + fewest(at, free, known);
        let found = (1..segments).map(|at| of(at, known)).min().unwrap_or(0);
        known.insert((segments, free), found);
        found
    }

    #[test]
    fn no_schedule_passes_fewer_segments() {
        let mut known = std::collections::HashMap::new();
        for segments in 1..80 {
            for free in 0..9 {
                let least = fewest(segments, free, &mut known);
                assert_eq!(
                    passed(segments, free),
                    least,
                    "{segments} segments, {free} checkpoints"
                );
                assert_eq!(
                    advances(segments, free),
                    least,
                    "{segments} segments, {free} checkpoints"
                );
            }
        }
    }

    #[test]
    fn a_device_leaves_checkpoints_to_its_host_where_that_saves_steps() {
        let sizes = [10, 10];
        let alone = Ladder::choose(4000, sizes, 400).unwrap();
        let helped = Ladder::choose_beside(4000, sizes, [400, 100_000]).unwrap();
        assert_eq!(alone.on_host, 0);
        assert!(helped.on_host > 0 && helped.bytes(sizes) <= 400, "{helped:?}");
        assert!(helped.extra(4000) < alone.extra(4000), "{helped:?} {alone:?}");
        let roomy = Ladder::choose_beside(20, sizes, [400, 100_000]).unwrap();
        assert_eq!((roomy.on_host, roomy.extra(20)), (0, 0));
    }

    #[test]
    fn what_fits_is_recorded_and_what_does_not_is_refused() {
        let all = Ladder::choose(1000, [10, 20], 20_020).unwrap();
        assert_eq!((all.segment, all.extra(1000)), (1000, 0));
        let some = Ladder::choose(1000, [10, 20], 2_000).unwrap();
        assert!(some.bytes([10, 20]) <= 2_000 && some.extra(1000) <= 1000);
        let little = Ladder::choose(1000, [10, 20], 100).unwrap();
        assert!(little.bytes([10, 20]) <= 100);
        let why = Ladder::choose(1000, [10, 20], 39).unwrap_err().to_string();
        assert!(why.contains("needs 0.0000 GB of memory at least"), "{why}");
    }
}
