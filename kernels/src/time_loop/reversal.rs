//! How a run is reversed in a given memory: the steps are cut into segments, of which one at a time is recorded as a whole;
//! segments begin at checkpoints, which the binomial schedule of Griewank & Walther (2000) places.

use crate::Error;
use std::ops::Range;

/// A reversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointSchedule {
    /// Steps of a segment, recorded at once; the first one has what the others leave of the run.
    pub segment: usize,
    /// Checkpoints beside the beginning of the run.
    pub checkpoints: usize,
    /// How many of them, those taken first, a device leaves to the memory of its host.
    pub on_host: usize,
    /// How many of them, those taken first, go to a store of checkpoints, on a disk.
    pub in_store: usize,
    /// Segments.
    pub segments: usize,
    /// Only the boundary of each step is recorded, and the forward wavefield is reconstructed backwards inside of it.
    pub boundary_saving: bool,
}

/// What a reversal does next. Marks are places at which the run begins anew: 0 is its beginning, the others are checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take the state of a mark.
    Restore(usize),
    /// Run these steps.
    Advance(Range<usize>),
    /// Save the state as the checkpoint of a mark.
    Save(usize),
    /// Run these steps and record them.
    Record(Range<usize>),
    /// Sweep back through the steps that are recorded.
    Reverse(Range<usize>),
}

/// Bytes that a reverse sweep may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Of the memory of what runs it.
    pub memory: usize,
    /// Of the memory of a device's host, for checkpoints.
    pub host: usize,
    /// Of a store, for checkpoints.
    pub store: usize,
}

/// What a checkpoint on the host costs a device at most, in steps: it goes there and back at a twentieth of the speed of memory.
const STEPS_OF_A_COPY: usize = 20;

/// What a checkpoint costs that goes to a disk and comes back, in steps: a step moves the numbers of a state some three times by
/// way of memory, and a disk has a twentieth of the speed of that.
const STEPS_OF_A_FILE: usize = 12;

/// What a step that runs backwards takes of one that runs forward: no layers, and no cells of the frame (400 x 400 cells, frame of 10). On
/// an H200 it is 0.43 where the inside of a grid of 384^3 has kernels of its own, and elsewhere some 0.8, by count.
const BACKWARDS: [usize; 2] = [2, 3];

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

/// Lengths of segments to choose from: each a quarter more than the one before, and the longest ones beside so many checkpoints.
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

/// How often a checkpoint goes to a store that has so many places for those that are taken first.
fn stored(segments: usize, free: usize, places: usize) -> usize {
    if segments <= 1 || free == 0 || places == 0 {
        return 0;
    }
    let at = split(segments, free);
    1 + stored(segments - at, free - 1, places - 1) + stored(at, free, places)
}

impl CheckpointSchedule {
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
    pub fn choose_beside(steps: usize, sizes: [usize; 2], [memory, host]: [usize; 2]) -> Result<Self, Error> {
        let store = 0;
        Self::choose_in(steps, sizes, Room { memory, host, store })
    }

    /// The same with all places for checkpoints.
    ///
    /// # Errors
    /// The same.
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
                "the reverse sweep through {steps} steps needs {:.4} GB of memory at least and may take {:.4} GB: allow more, or make the model smaller",
                (2 * state + tape) as f64 / 1e9,
                room.memory as f64 / 1e9
            ))
        })
    }

    /// Reversals by segments of so many steps, which use more and more places.
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

    /// What it costs beside the steps that are recorded, in steps.
    fn cost(&self, steps: usize) -> usize {
        let files = stored(self.segments, self.checkpoints, self.in_store);
        let backwards = if self.boundary_saving {
            steps * BACKWARDS[0] / BACKWARDS[1]
        } else {
            0
        };
        self.extra(steps) + STEPS_OF_A_COPY * self.on_host + STEPS_OF_A_FILE * files + backwards
    }

    /// The same where of each step its boundary is recorded.
    #[must_use]
    pub fn with_boundary_saving(self) -> Self {
        Self {
            boundary_saving: true,
            ..self
        }
    }

    /// Whether it is quicker than another reversal of so many steps.
    pub fn beats(&self, other: &Self, steps: usize) -> bool {
        self.cost(steps) < other.cost(steps)
    }

    /// Steps that are run beside those that are recorded, each once.
    pub fn extra(&self, steps: usize) -> usize {
        let (mut segments, mut passed) = (self.segments, 0);
        // The first segment is passed each time that the run begins anew, and may be shorter than the others.
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

    /// The first step of a segment of a run of so many steps; behind the last one all of them.
    pub fn begins(&self, segment: usize, steps: usize) -> usize {
        steps.saturating_sub((self.segments - segment) * self.segment)
    }

    /// All that a reversal of so many steps does, in order.
    pub fn actions(&self, steps: usize) -> Vec<Action> {
        let step = |segment: usize| self.begins(segment, steps);
        let mut all = Vec::new();
        // Segments at whose beginning there is a mark.
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

    /// Bytes that it takes: checkpoints, the beginning of the run and the fields that run, and recorded steps; those on the host of a
    /// device and in a store apart.
    pub fn bytes(&self, [state, tape]: [usize; 2]) -> usize {
        (self.checkpoints - self.on_host - self.in_store + 2) * state + self.segment * tape
    }

    /// Bytes that it takes in a store.
    pub fn bytes_in_store(&self, [state, _]: [usize; 2]) -> usize {
        self.in_store * state
    }
}

/// The segment at which the next checkpoint is taken when `segments` are left and `free` checkpoints.
fn split(segments: usize, free: usize) -> usize {
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

    /// The walk of [`split`] from segment `first` to `end`: tells `pass` which segments are passed to reach the next place, and how many
    /// checkpoints are free there, if one is taken.
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

    /// Segments passed.
    fn passed(segments: usize, free: usize) -> usize {
        let mut all = 0;
        walk((0, segments), free, &mut |from, to, _| all += to - from);
        all
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
        // What a store saves here is less than it costs.
        let short = CheckpointSchedule::choose_in(40, sizes, room(600)).unwrap();
        assert_eq!(short.in_store, 0);
    }

    /// A checkpoint on the host goes there and back, and steps that run backwards are steps.
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
                // They are run once more when their segment is recorded.
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
        // Checkpoints for all: what is not kept on the first way is run once more.
        let once = CheckpointSchedule::choose(400, [10, 10], 1200).unwrap();
        assert_eq!(once.extra(400), 400 - once.segment, "{once:?}");
    }

    /// Those that are taken while fewer than `places` are held.
    #[test]
    fn checkpoints_in_a_store_are_counted() {
        for (segments, checkpoints) in [(1, 3), (9, 3), (50, 4), (200, 12)] {
            for places in 0..=checkpoints {
                let found = stored(segments, checkpoints, places);
                let mut taken = 0;
                walk((0, segments), checkpoints, &mut |_, _, free| {
                    taken += usize::from(free > 0 && checkpoints - free < places);
                });
                assert_eq!(
                    found, taken,
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
