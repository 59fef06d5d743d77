//! The way back through the steps on processors: checkpoints by the schedule of [`Ladder`], one segment at a time recorded.

use super::forward::Drive;
use super::imaging::Imaging;
use super::ladder::{Ladder, split};
use super::program::{Changes, State, Tape};
use super::shelf::Checkpoint;
use super::shell::{Core, Shell};
use super::transpose::Waiting;
use super::{Born, Number};
use crate::Error;
use std::ops::Range;

/// Steps between two looks at the largest velocity, where waves run backwards.
const LOOK: usize = 16;

/// What a way back through the steps needs.
pub struct Back<'a, T> {
    /// What waits for the fields.
    pub state: State<T>,
    /// What waits for the memory of layers and attenuation.
    pub waiting: Waiting<T>,
    /// Where the parameters are asked for.
    pub gradient: Option<Changes<T>>,
    /// Where images are asked for.
    pub imaging: Option<Imaging<T>>,
    /// The steps of a segment; one where shells are recorded.
    pub tapes: Vec<Tape<T>>,
    /// Shells of the steps of a segment.
    pub shells: Vec<Shell<T>>,
    /// The largest velocity that was seen.
    pub largest: f64,
    /// What waits for the records, `[record][component][receiver]`.
    pub data: &'a [T],
}

impl<T: Number> Born<T> {
    /// Room for the way back by a ladder.
    pub(super) fn back<'a>(&self, ladder: &Ladder, data: &'a [T]) -> Back<'a, T> {
        let (program, segment) = (&self.program, ladder.segment.min(self.nt));
        let (tapes, shells) = match (&self.core, ladder.shells) {
            (Ok(core), true) => (1, (0..segment).map(|_| core.shell(program)).collect()),
            _ => (segment, Vec::new()),
        };
        Back {
            state: program.state(),
            waiting: program.waiting(),
            gradient: None,
            imaging: None,
            tapes: (0..tapes).map(|_| program.tape()).collect(),
            shells,
            largest: 0.0,
            data,
        }
    }

    /// Goes back through all steps.
    pub(super) fn go_back(&self, ladder: &Ladder, back: &mut Back<'_, T>) -> Result<(), Error> {
        if ladder.shells && back.imaging.is_some() {
            return Err(Error::setup(
                "images need the waves of all cells: record whole steps, not their shells",
            ));
        }
        let all = (0, ladder.segments);
        let start = Checkpoint::Memory(Box::new(self.program.state()));
        self.reverse(start, all, ladder, ladder.checkpoints, back)
    }

    /// Goes back through the segments from `first` to `end`, `from` being the state before the first.
    fn reverse(
        &self,
        from: Checkpoint<T>,
        (first, end): (usize, usize),
        ladder: &Ladder,
        free: usize,
        back: &mut Back<'_, T>,
    ) -> Result<(), Error> {
        let steps = |segment: usize| ladder.begins(segment, self.nt);
        if end - first <= 1 {
            return self.segment(self.taken(from)?, steps(first)..steps(end), back);
        }
        let middle = first
            + if free == 0 {
                end - first - 1
            } else {
                split(end - first, free)
            };
        let mut ahead = self.copied(&from)?;
        for it in steps(first)..steps(middle) {
            self.program.step(&mut ahead, it, Drive::Sources, None);
        }
        if free == 0 {
            self.segment(ahead, steps(middle)..steps(end), back)?;
            return self.reverse(from, (first, middle), ladder, free, back);
        }
        let place = ladder.checkpoints - free;
        let ahead = match place < ladder.on_shelf {
            true => self.put(ahead, place)?,
            false => Checkpoint::Memory(Box::new(ahead)),
        };
        self.reverse(ahead, (middle, end), ladder, free - 1, back)?;
        self.reverse(from, (first, middle), ladder, free, back)
    }

    /// Records a segment and goes back through it.
    fn segment(&self, mut state: State<T>, steps: Range<usize>, back: &mut Back<'_, T>) -> Result<(), Error> {
        for it in steps.clone() {
            self.recorded(&mut state, it, it - steps.start, back)?;
        }
        self.steps_back(state, steps, back)
    }

    /// Runs step `it`, number `at` of its segment, and records it.
    pub(super) fn recorded(
        &self,
        state: &mut State<T>,
        it: usize,
        at: usize,
        back: &mut Back<'_, T>,
    ) -> Result<(), Error> {
        let whole = back.shells.is_empty();
        let tape = &mut back.tapes[if whole { at } else { 0 }];
        self.program.step(state, it, Drive::Sources, Some(tape));
        self.check(it, state)?;
        if let (Some(shell), Ok(core)) = (back.shells.get_mut(at), &self.core) {
            core.keep(&self.program, tape, shell);
            if it.is_multiple_of(LOOK) || it + 1 == self.nt {
                back.largest = largest(&state.velocity).max(back.largest);
            }
        }
        if let Some(imaging) = &mut back.imaging {
            imaging.film(&self.program, state, tape, at);
        }
        Ok(())
    }

    /// Goes back through steps that are recorded, `state` being that behind them.
    pub(super) fn steps_back(
        &self,
        state: State<T>,
        steps: Range<usize>,
        back: &mut Back<'_, T>,
    ) -> Result<(), Error> {
        let silent = vec![T::of(0.0); self.values()];
        // Whole steps do without the waves.
        let mut backwards = match (&self.core, back.shells.is_empty()) {
            (Ok(core), false) => Some((core, state)),
            _ => None,
        };
        for it in steps.clone().rev() {
            let record = match it.is_multiple_of(self.jdata) {
                true => &back.data[it / self.jdata * silent.len()..][..silent.len()],
                false => &silent[..],
            };
            self.program.record_transposed(&mut back.state, record);
            let at = it - steps.start;
            if let Some((core, state)) = &mut backwards {
                core.undo(&self.program, (state, it), &back.shells[at], &mut back.tapes[0]);
            }
            let tape = &back.tapes[if backwards.is_some() { 0 } else { at }];
            if let Some(imaging) = &mut back.imaging {
                imaging.correlate(&self.program, &back.state, at);
            }
            let gradient = back.gradient.as_mut().map(|changes| (tape, changes));
            self.program
                .step_transposed(&mut back.state, it, &mut back.waiting, gradient);
            self.check(it, &back.state)?;
        }
        if let Some((core, state)) = backwards.filter(|_| steps.start == 0) {
            self.tell_drift(core, &state, back.largest);
        }
        Ok(())
    }

    /// Compares waves that have come back with the rest in which they began.
    fn tell_drift(&self, core: &Core, state: &State<T>, most: f64) {
        let left = core.largest(&self.program, &state.velocity);
        let share = if most > 0.0 { left / most } else { 0.0 };
        self.drift.set(Some(self.drift.get().unwrap_or(0.0).max(share)));
    }
}

/// The largest magnitude.
fn largest<T: Number>(numbers: &[T]) -> f64 {
    numbers.iter().map(|x| x.f64().abs()).fold(0.0, f64::max)
}
