//! The reversal of a run in limited memory. The steps are divided into segments, of which one at a time is recorded
//! completely. Checkpoints at the beginnings of segments are placed by the binomial schedule of Griewank & Walther
//! (2000).

use crate::Error;
use std::ops::Range;

/// The schedule of a reversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointSchedule {
    /// Number of steps of a segment; the first segment has the remaining steps, which may be fewer.
    pub segment: usize,
    /// Number of checkpoints in addition to the beginning of the run.
    pub checkpoints: usize,
    /// How many of these checkpoints, the first ones, a device keeps in host memory.
    pub on_host: usize,
    /// How many of these checkpoints, the first ones, are kept in a store of checkpoints on a disk.
    pub in_store: usize,
    /// Number of segments.
    pub segments: usize,
    /// Whether only the boundary of each step is recorded; the forward wavefield inside is then reconstructed
    /// backwards in time.
    pub boundary_saving: bool,
}

/// One action of a reversal. Marks are states from which the run can be restarted: 0 is its beginning, the others are
/// checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Restore the state of a mark.
    Restore(usize),
    /// Run these steps.
    Advance(Range<usize>),
    /// Save the state as the checkpoint of a mark.
    Save(usize),
    /// Run these steps and record them.
    Record(Range<usize>),
    /// Run backwards through these recorded steps.
    Reverse(Range<usize>),
}

/// Bytes that a reversal may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Memory of the processor or device that runs it.
    pub memory: usize,
    /// Host memory, for checkpoints of a device.
    pub host: usize,
    /// Disk space in a store, for checkpoints.
    pub store: usize,
}

/// Upper limit of the cost of a checkpoint of a device in host memory, in time steps: it is copied to the host and back
/// at a twentieth of the speed of device memory.
const STEPS_OF_A_COPY: usize = 20;

/// Cost of writing a checkpoint to a disk and reading it back, in time steps: a step moves the data of a state
/// through memory about three times, and a disk has a twentieth of the speed of memory.
const STEPS_OF_A_FILE: usize = 12;

/// Ratio, as numerator and denominator, of the cost of a backward step to the cost of a forward step, which also
/// computes absorbing layers and the frame (measured for 400 x 400 cells with a frame of 10). On an H200 the ratio is
/// 0.43 where the interior of a 384^3 grid has separate kernels, and about 0.8 elsewhere, by operation count.
const BACKWARDS: [usize; 2] = [2, 3];

/// The binomial coefficient `n` over `k`, limited to `usize::MAX`.
fn choose(n: usize, k: usize) -> usize {
    if k > n {
        return 0;
    }
    let mut all = 1u128;
    // Every factor up to the middle is at least one, so that a limited value stays limited.
    for i in 0..k.min(n - k) {
        all = (all * (n - i) as u128 / (i + 1) as u128).min(usize::MAX as u128);
    }
    all as usize
}

/// The largest number of times that the run advances over a segment when segments are reversed with this number of
/// checkpoints.
fn repetitions(segments: usize, checkpoints: usize) -> usize {
    (0..)
        .find(|&r| choose(checkpoints + 1 + r, r) >= segments)
        .unwrap_or(0)
}

/// The number of segments over which the run advances without recording when segments are reversed with this number of
/// checkpoints (Griewank & Walther 2000, eq. 3).
fn advances(segments: usize, checkpoints: usize) -> usize {
    let slots = checkpoints + 1;
    let r = repetitions(segments, checkpoints);
    if r == 0 {
        return 0;
    }
    r * segments - choose(slots + r, r - 1)
}

/// Candidate lengths of segments: a series in which each is a quarter longer than the previous one, and for each
/// number of checkpoints the longest that fits.
fn lengths(steps: usize, [state, tape]: [usize; 2], memory: usize) -> Vec<usize> {
    let mut all = vec![1];
    while let Some(&last) = all.last().filter(|&&last| last < steps) {
        all.push((last + last.div_ceil(4)).min(steps));
    }
    let beside = |checkpoints: usize| memory.checked_sub((2 + checkpoints) * state);
    let longest = (0..64).map_while(beside).map(|left| left / tape.max(1));
    all.extend(longest.filter(|length| (1..=steps).contains(length)));
    all.sort_unstable();
    all
}

/// The number of times that a checkpoint is written to a store with room for the first `places` checkpoints.
fn stored(segments: usize, free: usize, places: usize) -> usize {
    if segments <= 1 || free == 0 || places == 0 {
        return 0;
    }
    let at = split(segments, free);
    1 + stored(segments - at, free - 1, places - 1) + stored(at, free, places)
}

impl CheckpointSchedule {
    /// The fastest reversal of `steps` steps that fits in `memory` bytes in addition to the bytes that every run needs;
    /// `sizes` are the bytes of a checkpoint and of a recorded step.
    ///
    /// # Errors
    /// Returns an error if the memory is too small; the message says how much is needed.
    pub fn choose(steps: usize, sizes: [usize; 2], memory: usize) -> Result<Self, Error> {
        Self::choose_beside(steps, sizes, [memory, 0])
    }

    /// Like [`CheckpointSchedule::choose`], for a device with `memory` bytes, whose host has `host` bytes for
    /// checkpoints.
    ///
    /// # Errors
    /// Returns the errors of [`CheckpointSchedule::choose`].
    pub fn choose_beside(steps: usize, sizes: [usize; 2], [memory, host]: [usize; 2]) -> Result<Self, Error> {
        let store = 0;
        Self::choose_in(steps, sizes, Room { memory, host, store })
    }

    /// Like [`CheckpointSchedule::choose`], with checkpoints in memory, on the host and in a store.
    ///
    /// # Errors
    /// Returns the errors of [`CheckpointSchedule::choose`].
    pub fn choose_in(steps: usize, sizes: [usize; 2], room: Room) -> Result<Self, Error> {
        let [state, tape] = sizes;
        let mut best: Option<(usize, Self)> = None;
        for segment in lengths(steps, sizes, room.memory) {
            for schedule in Self::of_segment(steps, segment, sizes, room) {
                let cost = schedule.cost(steps);
                if best.is_none_or(|(least, _)| cost <= least) {
                    best = Some((cost, schedule));
                }
            }
        }
        best.map(|(_, schedule)| schedule).ok_or_else(|| {
            Error::setup(format!(
                "the reverse sweep through {steps} steps needs {:.4} GB of memory at least, but may take only {:.4} GB: allow more, or make the model smaller",
                (2 * state + tape) as f64 / 1e9,
                room.memory as f64 / 1e9
            ))
        })
    }

    /// Candidate reversals by segments of this length: with checkpoints in memory, and also on the host or in the
    /// store or both.
    fn of_segment(steps: usize, segment: usize, [state, tape]: [usize; 2], room: Room) -> Vec<Self> {
        let Some(left) = room.memory.checked_sub(2 * state + segment * tape) else {
            return Vec::new();
        };
        let segments = steps.div_ceil(segment);
        let most = segments.saturating_sub(1);
        let of = |bytes: usize| bytes / state.max(1);
        let in_memory = of(left).min(most);
        let on_host = of(room.host).min(most - in_memory);
        let with = |on_host: usize, in_store: usize| Self {
            segment,
            checkpoints: in_memory + on_host + in_store,
            on_host,
            in_store,
            segments,
            boundary_saving: false,
        };
        let in_store = |on_host: usize| of(room.store).min(most - in_memory - on_host);
        let all = [
            (0, 0),
            (on_host, 0),
            (0, in_store(0)),
            (on_host, in_store(on_host)),
        ];
        all.into_iter().map(|(host, store)| with(host, store)).collect()
    }

    /// Cost in time steps, in addition to recording every step once.
    fn cost(&self, steps: usize) -> usize {
        let files = stored(self.segments, self.checkpoints, self.in_store);
        let backwards = if self.boundary_saving {
            steps * BACKWARDS[0] / BACKWARDS[1]
        } else {
            0
        };
        self.extra(steps) + STEPS_OF_A_COPY * self.on_host + STEPS_OF_A_FILE * files + backwards
    }

    /// The same schedule with only the boundary of each step recorded.
    #[must_use]
    pub fn with_boundary_saving(self) -> Self {
        Self {
            boundary_saving: true,
            ..self
        }
    }

    /// Whether this reversal of `steps` steps is faster than another.
    pub fn beats(&self, other: &Self, steps: usize) -> bool {
        self.cost(steps) < other.cost(steps)
    }

    /// Number of steps that are run in addition to the recorded ones.
    pub fn extra(&self, steps: usize) -> usize {
        let (mut segments, mut passed) = (self.segments, 0);
        // The run advances over the first segment, which may be shorter than the others, each time that it restarts.
        while segments > 1 {
            passed += 1;
            segments = match self.checkpoints {
                0 => segments - 1,
                free => split(segments, free),
            };
        }
        let missing = (self.segments * self.segment).saturating_sub(steps);
        advances(self.segments, self.checkpoints) * self.segment - passed * missing
    }

    /// The first step of a segment of a run of `steps` steps; `steps` for the segment after the last.
    pub fn begins(&self, segment: usize, steps: usize) -> usize {
        steps.saturating_sub((self.segments - segment) * self.segment)
    }

    /// All actions of a reversal of `steps` steps, in order.
    pub fn actions(&self, steps: usize) -> Vec<Action> {
        let step = |segment: usize| self.begins(segment, steps);
        let mut all = Vec::new();
        // The segments that begin at the marks.
        let mut marks = vec![0];
        let mut end = self.segments;
        while end > 0 {
            let mut here = marks[marks.len() - 1];
            all.push(Action::Restore(marks.len() - 1));
            while end - here > 1 {
                let free = self.checkpoints + 1 - marks.len();
                let next = match free {
                    0 => end - 1,
                    _ => here + split(end - here, free),
                };
                all.push(Action::Advance(step(here)..step(next)));
                here = next;
                if free > 0 {
                    all.push(Action::Save(marks.len()));
                    marks.push(here);
                }
            }
            all.push(Action::Record(step(here)..step(end)));
            all.push(Action::Reverse(step(here)..step(end)));
            end = here;
            while marks.len() > 1 && marks[marks.len() - 1] == end {
                marks.pop();
            }
        }
        all
    }

    /// Bytes of memory that the reversal uses: the checkpoints in memory, the beginning of the run, the current
    /// fields, and the recorded steps. Checkpoints on the host of a device and in a store are not included.
    pub fn bytes(&self, [state, tape]: [usize; 2]) -> usize {
        (self.checkpoints - self.on_host - self.in_store + 2) * state + self.segment * tape
    }

    /// Bytes that the reversal uses in a store.
    pub fn bytes_in_store(&self, [state, _]: [usize; 2]) -> usize {
        self.in_store * state
    }
}

/// The segment before which the next checkpoint is taken if `segments` segments and `free` checkpoints are left.
fn split(segments: usize, free: usize) -> usize {
    let (slots, r) = (free + 1, repetitions(segments, free));
    // After the checkpoint one checkpoint fewer is free, before it one repetition fewer is left: both parts must be
    // possible.
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

    /// Follows [`split`] from segment `first` to `end`, and calls `pass` with each range of segments that is advanced
    /// over, and the number of checkpoints that are free at its end.
    fn walk((first, end): (usize, usize), free: usize, pass: &mut dyn FnMut(usize, usize, usize)) {
        if end - first <= 1 {
            return;
        }
        let at = match free {
            0 => end - 1,
            _ => first + split(end - first, free),
        };
        pass(first, at, free);
        if free > 0 {
            walk((at, end), free - 1, pass);
        }
        walk((first, at), free, pass);
    }

    /// Number of segments over which the run advances.
    fn passed(segments: usize, free: usize) -> usize {
        let mut all = 0;
        walk((0, segments), free, &mut |from, to, _| all += to - from);
        all
    }

    /// The smallest number of segments that any schedule advances over, by dynamic programming.
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
        if let Some(&fewest_steps) = known.get(&(segments, free)) {
            return fewest_steps;
        }
        let of =
            |at: usize, known: &mut _| at + fewest(segments - at, free - 1, known) + fewest(at, free, known);
        let fewest_steps = (1..segments).map(|at| of(at, known)).min().unwrap_or(0);
        known.insert((segments, free), fewest_steps);
        fewest_steps
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
        let alone = CheckpointSchedule::choose(4000, sizes, 400).unwrap();
        let helped = CheckpointSchedule::choose_beside(4000, sizes, [400, 100_000]).unwrap();
        assert_eq!(alone.on_host, 0);
        assert!(helped.on_host > 0 && helped.bytes(sizes) <= 400, "{helped:?}");
        assert!(helped.extra(4000) < alone.extra(4000), "{helped:?} {alone:?}");
        let roomy = CheckpointSchedule::choose_beside(20, sizes, [400, 100_000]).unwrap();
        assert_eq!((roomy.on_host, roomy.extra(20)), (0, 0));
    }

    #[test]
    fn a_store_is_used_where_that_saves_more_than_it_costs() {
        let sizes = [10, 10];
        let room = |store| Room {
            memory: 400,
            host: 0,
            store,
        };
        let alone = CheckpointSchedule::choose_in(4000, sizes, room(0)).unwrap();
        let helped = CheckpointSchedule::choose_in(4000, sizes, room(600)).unwrap();
        assert!(helped.in_store > 0 && helped.beats(&alone, 4000), "{helped:?}");
        assert!(helped.bytes(sizes) <= 400 && helped.bytes_in_store(sizes) <= 600);
        assert!(helped.extra(4000) < alone.extra(4000), "{helped:?} {alone:?}");
        // Here a store would save less than it costs.
        let short = CheckpointSchedule::choose_in(40, sizes, room(600)).unwrap();
        assert_eq!(short.in_store, 0);
    }

    /// A store may remain unused, however much memory the host has.
    #[test]
    fn a_store_beside_a_host_makes_no_schedule_slower() {
        let sizes = [10, 10];
        for steps in (20..4000).step_by(37) {
            for [host, store] in [[50, 10], [100, 10], [100, 600], [600, 10], [600, 600]] {
                let memory = 400;
                let both = CheckpointSchedule::choose_in(steps, sizes, Room { memory, host, store }).unwrap();
                for memories in [[memory, host], [memory, 0]] {
                    let without = CheckpointSchedule::choose_beside(steps, sizes, memories).unwrap();
                    assert!(!without.beats(&both, steps), "{steps}: {without:?} {both:?}");
                }
            }
        }
    }

    /// Copies of checkpoints to the host and backward steps count in the cost.
    #[test]
    fn copies_and_steps_backwards_cost_steps() {
        let long = CheckpointSchedule::choose_beside(4000, [10, 10], [400, 600]).unwrap();
        assert!(long.on_host > 0, "{long:?}");
        let short = CheckpointSchedule::choose_beside(40, [10, 10], [400, 600]).unwrap();
        assert_eq!(short.on_host, 0, "{short:?}");
        // Two thirds of a hundred steps are more than the ten steps that are run again.
        let plain = CheckpointSchedule {
            segment: 10,
            checkpoints: 9,
            on_host: 0,
            in_store: 0,
            segments: 10,
            boundary_saving: false,
        };
        assert!(plain.beats(&plain.with_boundary_saving(), 100));
        let alone = CheckpointSchedule {
            checkpoints: 0,
            ..plain
        };
        assert!(plain.with_boundary_saving().beats(&alone, 100));
    }

    #[test]
    fn steps_that_are_run_again_are_counted() {
        for steps in [1, 7, 100, 399, 400, 1000] {
            for memory in [30, 60, 100, 130, 400, 1000, 9000] {
                let schedule = CheckpointSchedule::choose(steps, [10, 9], memory).unwrap();
                assert_eq!(schedule.begins(0, steps), 0, "{schedule:?}");
                assert_eq!(schedule.begins(schedule.segments, steps), steps);
                // Steps over which the run advances are run again when their segment is recorded.
                let mut passed = 0;
                walk(
                    (0, schedule.segments),
                    schedule.checkpoints,
                    &mut |from, to, _| {
                        passed += schedule.begins(to, steps) - schedule.begins(from, steps);
                    },
                );
                assert_eq!(schedule.extra(steps), passed, "{steps} steps, {schedule:?}");
                assert!(schedule.bytes([10, 9]) <= memory);
            }
        }
        // With a checkpoint for every segment, all steps except those of the last segment are run twice.
        let once = CheckpointSchedule::choose(400, [10, 10], 1200).unwrap();
        assert_eq!(once.extra(400), 400 - once.segment, "{once:?}");
    }

    /// The count includes the checkpoints that are taken while fewer than `places` are stored.
    #[test]
    fn checkpoints_in_a_store_are_counted() {
        for (segments, checkpoints) in [(1, 3), (9, 3), (50, 4), (200, 12)] {
            for places in 0..=checkpoints {
                let count = stored(segments, checkpoints, places);
                let mut taken = 0;
                walk((0, segments), checkpoints, &mut |_, _, free| {
                    taken += usize::from(free > 0 && checkpoints - free < places);
                });
                assert_eq!(
                    count, taken,
                    "{segments} segments, {checkpoints} checkpoints, {places} places"
                );
            }
        }
    }

    #[test]
    fn what_fits_is_recorded_and_what_does_not_is_refused() {
        let all = CheckpointSchedule::choose(1000, [10, 20], 20_020).unwrap();
        assert_eq!((all.segment, all.extra(1000)), (1000, 0));
        let some = CheckpointSchedule::choose(1000, [10, 20], 2_000).unwrap();
        assert!(some.bytes([10, 20]) <= 2_000 && some.extra(1000) <= 1000);
        let little = CheckpointSchedule::choose(1000, [10, 20], 100).unwrap();
        assert!(little.bytes([10, 20]) <= 100);
        let why = CheckpointSchedule::choose(1000, [10, 20], 39)
            .unwrap_err()
            .to_string();
        assert!(why.contains("needs 0.0000 GB of memory at least"), "{why}");
    }
}
