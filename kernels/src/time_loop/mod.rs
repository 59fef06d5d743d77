//! The time loop: stages, edges, exchange, interior, recorder. It names no field and no device.

mod async_recorder;
pub mod state;

pub use async_recorder::async_recorder;

use crate::Error;
use crate::parallel::halo::Exchange;
use crate::parallel::slabs;
use state::{Checkpoints, State, StateError, StateHeader};
use std::collections::VecDeque;
use std::ops::Range;

/// A method's fields on one slab of the grid: what a device owns.
pub trait Slab {
    /// Number type of the fields.
    type Number;

    /// Stages of a step between which ghosts must travel.
    fn stages(&self) -> usize;

    /// The slab's planes and how a step walks through them.
    fn layout(&self) -> &slabs::Slab;

    /// Computes one stage on a range of own planes: stencil, sources, boundaries, in the order of the method. The
    /// ranges of a step cover the slab once, in any order.
    fn update(&mut self, stage: usize, planes: Range<usize>, it: usize) -> Result<(), Error>;

    /// The new level becomes the current one.
    fn finish_step(&mut self) -> Result<(), Error>;

    /// Runs these steps without a neighbour, and asks for samples after every `jdata`-th, where that is quicker than
    /// step by step; `false` where it is not, and then nothing was done.
    fn run_alone(&mut self, _steps: Range<usize>, _jdata: usize) -> Result<bool, Error> {
        Ok(false)
    }

    /// Samples that may be asked for before the oldest must be taken.
    fn capacity(&self) -> usize;

    /// Asks for the receivers of the current level, which step `it` made.
    fn sample(&mut self, it: usize) -> Result<(), Error>;

    /// Takes the oldest sample asked for: writes the receivers that lie on this slab into `out`,
    /// `[component][receiver]`; leaves the others alone.
    fn traces(&mut self, out: &mut [Self::Number]) -> Result<(), Error>;

    /// Planes of a snapshot that are worth one piece.
    fn piece(&self) -> usize;

    /// Asks for own planes of one component of the snapshot window; at most two pieces are asked for at a time.
    fn ask(&mut self, component: usize, planes: Range<usize>) -> Result<(), Error>;

    /// Takes the oldest piece asked for: appends it to `out`.
    fn snapshot(&mut self, out: &mut Vec<Self::Number>) -> Result<(), Error>;

    /// Begins the search for values that are not finite; all slabs begin before any is asked for what it found.
    fn search(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The first cell `[z, x, y]` (padded) whose field is not finite, of the search that was begun.
    fn first_non_finite(&mut self) -> Result<Option<[usize; 3]>, Error>;
}

/// Takes what the engine measures; the program behind it writes files.
pub trait Recorder<T> {
    /// Receivers after step `it`, `[component][receiver]`.
    fn traces(&mut self, it: usize, traces: &[T]) -> Result<(), Error>;
    /// A piece of the snapshot after step `it`: pieces follow each other in file order until the window is whole.
    fn snapshot(&mut self, it: usize, piece: &[T]) -> Result<(), Error>;
    /// A snapshot after step `it` is due whose window has no plane in this process.
    fn empty_snapshot(&mut self, _it: usize) -> Result<(), Error> {
        Ok(())
    }
    /// All pieces of a snapshot are wanted before the next step.
    fn is_prompt(&self) -> bool {
        false
    }
    /// Step `it` is done: a place for progress.
    fn step(&mut self, _it: usize) -> Result<(), Error> {
        Ok(())
    }
    /// Returns when everything so far is written: a state is about to be saved that counts on it.
    fn sync(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Nothing more will come.
    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// When to record and to look.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Steps done before: those of the state that was loaded.
    pub first: usize,
    /// Steps, those before included.
    pub nt: usize,
    /// Receivers after every `jdata`-th step, step 0 included.
    pub jdata: usize,
    /// Receivers.
    pub receivers: usize,
    /// Components of a trace.
    pub components: usize,
    /// Components of a snapshot.
    pub snapshot_components: usize,
    /// Snapshots after every so many steps, step 0 included.
    pub jsnap: Option<usize>,
    /// Planes of the snapshot window, in padded indices.
    pub snapshot_planes: Range<usize>,
    /// Steps between two searches for values that are not finite.
    pub jcheck: usize,
}

impl Schedule {
    /// The run goes on behind a state that was loaded.
    ///
    /// # Errors
    /// Nothing is left to do.
    pub fn resume(&mut self, header: &StateHeader) -> Result<(), StateError> {
        let (step, steps) = (header.step, self.nt);
        if step >= steps {
            return Err(StateError::AtEnd { step, steps });
        }
        self.first = step;
        Ok(())
    }

    fn checks(&self, it: usize) -> bool {
        (it + 1).is_multiple_of(self.jcheck) || it + 1 == self.nt
    }

    fn shoots(&self, it: usize) -> bool {
        self.jsnap.is_some_and(|every| it.is_multiple_of(every))
    }

    /// Steps until the host next looks at the fields.
    fn next_look(&self, it: usize) -> usize {
        let check = (it + 1).next_multiple_of(self.jcheck);
        let shot = self.jsnap.map_or(self.nt, |every| it.next_multiple_of(every) + 1);
        check.min(shot).min(self.nt)
    }
}

/// Where the search for values that are not finite found one.
pub type Report<'a> = &'a dyn Fn(usize, [usize; 3]) -> Error;

/// Runs all steps of a schedule over the slabs of this process, lowest plane first. States are saved as `checkpoints` say.
pub fn run<S: Slab<Number: Default + Clone> + State>(
    slabs: &mut [S],
    exchange: &mut dyn Exchange<S>,
    schedule: &Schedule,
    recorder: &mut dyn Recorder<S::Number>,
    report: Report<'_>,
    mut checkpoints: Option<&mut Checkpoints<'_>>,
) -> Result<(), Error> {
    let mut desk = OutputQueue::new(schedule, slabs, recorder);
    let mut it = schedule.first;
    while it < schedule.nt {
        let saves = checkpoints.as_ref().map_or(schedule.nt, |c| c.next(it));
        let until = schedule.next_look(it).min(saves);
        advance(slabs, exchange, it..until, &mut desk)?;
        it = until;
        let due = match &mut checkpoints {
            Some(c) if it < schedule.nt => c.look(it)?,
            _ => false,
        };
        if due || schedule.checks(it - 1) {
            let found = first_non_finite(slabs)?;
            if let Some(cell) = exchange.agree(found)? {
                desk.flush(slabs)?;
                finish_saving(checkpoints)?;
                // Another process may be the one that has found it; it has the sentence.
                return Err(if found == Some(cell) {
                    report(it - 1, cell)
                } else {
                    Error::Elsewhere
                });
            }
        }
        if schedule.shoots(it - 1) {
            desk.snapshot(slabs, it - 1)?;
        }
        if due && let Some(c) = &mut checkpoints {
            desk.hand_over(slabs)?;
            desk.recorder.sync()?;
            c.take(it, slabs)?;
            if c.stopping() {
                desk.flush(slabs)?;
                finish_saving(checkpoints)?;
                return Err(Error::Stopped { done: it });
            }
        }
    }
    desk.flush(slabs)?;
    finish_saving(checkpoints)
}

/// Collective: waits for a state that is being written.
fn finish_saving(checkpoints: Option<&mut Checkpoints<'_>>) -> Result<(), Error> {
    checkpoints.map_or(Ok(()), Checkpoints::complete)
}

/// Steps between two looks of the host at the fields.
fn advance<S: Slab<Number: Default + Clone>>(
    slabs: &mut [S],
    exchange: &mut dyn Exchange<S>,
    steps: Range<usize>,
    desk: &mut OutputQueue<'_, S::Number>,
) -> Result<(), Error> {
    let jdata = desk.schedule.jdata;
    let mut it = steps.start;
    while it < steps.end {
        // As many steps as the slabs have room for samples.
        let last = it.next_multiple_of(jdata) + (desk.room() - 1) * jdata + 1;
        let until = steps.end.min(last);
        let alone = match slabs {
            [slab] if slab.layout().edges().next().is_none() => slab.run_alone(it..until, jdata)?,
            _ => false,
        };
        for it in it..until {
            if !alone {
                step(slabs, exchange, it)?;
            }
            if it % jdata == 0 {
                if !alone {
                    slabs.iter_mut().try_for_each(|s| s.sample(it))?;
                }
                desk.sampled(slabs, it)?;
            }
            desk.recorder.step(it)?;
        }
        it = until;
    }
    Ok(())
}

fn first_non_finite<S: Slab>(slabs: &mut [S]) -> Result<Option<[usize; 3]>, Error> {
    slabs.iter_mut().try_for_each(S::search)?;
    for slab in slabs {
        if let Some(cell) = slab.first_non_finite()? {
            return Ok(Some(cell));
        }
    }
    Ok(None)
}

/// What was asked of the slabs and not yet handed to the recorder.
struct OutputQueue<'a, T> {
    schedule: &'a Schedule,
    recorder: &'a mut dyn Recorder<T>,
    lag: usize,
    samples: VecDeque<usize>,
    /// Step and slab of the pieces of snapshots.
    pieces: VecDeque<(usize, usize)>,
    traces: Vec<T>,
    piece: Vec<T>,
}

impl<'a, T: Default + Clone> OutputQueue<'a, T> {
    fn new<S: Slab<Number = T>>(
        schedule: &'a Schedule,
        slabs: &[S],
        recorder: &'a mut dyn Recorder<T>,
    ) -> Self {
        Self {
            schedule,
            recorder,
            lag: slabs.iter().map(Slab::capacity).min().unwrap_or(1).max(1),
            samples: VecDeque::new(),
            pieces: VecDeque::new(),
            traces: vec![T::default(); schedule.receivers * schedule.components],
            piece: Vec::new(),
        }
    }

    /// Samples that may still be asked for.
    fn room(&self) -> usize {
        self.lag - self.samples.len()
    }

    /// A sample was asked for; half of them are taken when there is no room for more.
    fn sampled<S: Slab<Number = T>>(&mut self, slabs: &mut [S], it: usize) -> Result<(), Error> {
        self.samples.push_back(it);
        if self.room() == 0 {
            for _ in 0..self.lag.div_ceil(2) {
                self.take_sample(slabs)?;
            }
        }
        Ok(())
    }

    fn take_sample<S: Slab<Number = T>>(&mut self, slabs: &mut [S]) -> Result<(), Error> {
        if let Some(it) = self.samples.pop_front() {
            slabs.iter_mut().try_for_each(|s| s.traces(&mut self.traces))?;
            self.recorder.traces(it, &self.traces)?;
        }
        Ok(())
    }

    /// Asks for a whole snapshot piece by piece, never more than two ahead of the recorder.
    fn snapshot<S: Slab<Number = T>>(&mut self, slabs: &mut [S], it: usize) -> Result<(), Error> {
        let window = self.schedule.snapshot_planes.clone();
        let outside = |s: &S| s.layout().own.end <= window.start || s.layout().own.start >= window.end;
        if slabs.iter().all(outside) {
            return self.recorder.empty_snapshot(it);
        }
        for component in 0..self.schedule.snapshot_components {
            for k in 0..slabs.len() {
                let own = slabs[k].layout().own.clone();
                let (end, most) = (own.end.min(window.end), slabs[k].piece().max(1));
                let mut plane = own.start.max(window.start);
                while plane < end {
                    let planes = plane..end.min(plane + most);
                    plane = planes.end;
                    if self.pieces.len() == 2 {
                        self.take_piece(slabs)?;
                    }
                    slabs[k].ask(component, planes)?;
                    self.pieces.push_back((it, k));
                }
            }
        }
        if self.recorder.is_prompt() {
            self.take_pieces(slabs)?;
        }
        Ok(())
    }

    fn take_piece<S: Slab<Number = T>>(&mut self, slabs: &mut [S]) -> Result<(), Error> {
        if let Some((it, k)) = self.pieces.pop_front() {
            self.piece.clear();
            slabs[k].snapshot(&mut self.piece)?;
            self.recorder.snapshot(it, &self.piece)?;
        }
        Ok(())
    }

    /// Hands over all that was asked for.
    fn hand_over<S: Slab<Number = T>>(&mut self, slabs: &mut [S]) -> Result<(), Error> {
        while !self.samples.is_empty() {
            self.take_sample(slabs)?;
        }
        self.take_pieces(slabs)
    }

    /// Hands over all that is left.
    fn flush<S: Slab<Number = T>>(&mut self, slabs: &mut [S]) -> Result<(), Error> {
        self.hand_over(slabs)?;
        self.recorder.end()
    }

    fn take_pieces<S: Slab<Number = T>>(&mut self, slabs: &mut [S]) -> Result<(), Error> {
        while !self.pieces.is_empty() {
            self.take_piece(slabs)?;
        }
        Ok(())
    }
}

/// One time step: edges first, so that their ghosts travel while the interior is computed.
pub fn step<S: Slab>(slabs: &mut [S], exchange: &mut dyn Exchange<S>, it: usize) -> Result<(), Error> {
    let stages = slabs.first().map_or(0, |s| s.stages());
    for stage in 0..stages {
        for slab in slabs.iter_mut() {
            let layout = slab.layout().clone();
            layout.edges().try_for_each(|part| slab.update(stage, part, it))?;
        }
        exchange.start(slabs, stage)?;
        for slab in slabs.iter_mut() {
            let interior = slab.layout().interior.clone();
            if !interior.is_empty() {
                slab.update(stage, interior, it)?;
            }
        }
        exchange.finish(slabs, stage)?;
    }
    slabs.iter_mut().try_for_each(|s| s.finish_step())
}
