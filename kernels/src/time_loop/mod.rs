//! The time loop: stages, boundary parts, halos, interiors, records. It names no field and no device.
//!
//! A run has *subdomains*. Each of them is a [`Stepper`], which computes, and a [`Sampler`], which gives what is recorded.
//! A [`Schedule`] says which steps run, in which direction, and when somebody looks at the fields; [`Hooks`] are those who
//! look: the recorder, the report of a fault, and a [`Feed`] that may change the fields before each step.

mod async_recorder;
mod outputs;
pub mod reversal;
pub mod state;

pub use async_recorder::async_recorder;
pub use outputs::{is_in_order, merge};

use crate::Error;
use crate::error::StateError;
use outputs::OutputQueue;
use state::{Checkpoints, State, StateHeader};
use std::ops::Range;

/// The two parts of a subdomain in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything that neighbours wait for, and what cannot be computed apart from it. It comes first.
    Boundary,
    /// The rest, which is computed while the numbers of the boundary travel.
    Interior,
}

/// Which way time runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the first step to the last.
    #[default]
    Forward,
    /// From the last step to the first: a step undoes the forward step of the same number.
    Backward,
}

/// The fields of a method on one subdomain, and how they advance in time.
pub trait Stepper {
    /// Number type of the fields.
    type Number;

    /// Stages of a step; halos are exchanged after each of them.
    fn stages(&self) -> usize;

    /// Whether the subdomain has neighbours. Without any, all of it is interior.
    fn has_neighbours(&self) -> bool;

    /// Says before a step whether somebody may look at the fields that it leaves, samples of receivers apart, before the next one
    /// begins; where nobody does, a method may take them into that step at once. Who is told nothing expects a look.
    fn expect_look(&mut self, _looked_at: bool) {}

    /// Computes one stage of a step on one part: equations, sources, boundaries, in the order of the method. The boundary
    /// part is computed before the interior.
    fn update(&mut self, stage: usize, part: Part, step: usize) -> Result<(), Error>;

    /// Ends a step: the new fields become the current ones.
    fn finish_step(&mut self) -> Result<(), Error>;

    /// Makes the following steps run in this direction. A loop begins with it, and its steps visit the stages in that
    /// direction, too.
    ///
    /// # Errors
    /// Methods that lose energy (frames that absorb, attenuation) cannot run backward, and say so.
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        match direction {
            Direction::Forward => Ok(()),
            Direction::Backward => Err(Error::setup("this method cannot run backward in time")),
        }
    }

    /// Fewest steps that [`Stepper::run_alone`] takes together; 1 where it takes none. The host does not look for signals
    /// and states that are due by the clock before so many are done.
    fn stride(&self) -> usize {
        1
    }

    /// Runs these steps without a neighbour, and requests samples after every `jdata`-th, where that is quicker than step
    /// by step; `false` where it is not, and then nothing was done.
    fn run_alone(&mut self, _steps: Range<usize>, _jdata: usize) -> Result<bool, Error> {
        Ok(false)
    }
}

/// What a subdomain gives to the outputs of a run: samples of receivers and pieces of snapshots.
///
/// Both are requested first and taken later, so that a device can go on meanwhile.
pub trait Sampler: Stepper {
    /// Samples that may be requested before the oldest must be taken: one where the host reads the fields themselves.
    fn capacity(&self) -> usize {
        1
    }

    /// Requests the receivers of the current fields, which step `step` made. Fields that the host can read are read when
    /// the sample is taken.
    fn sample(&mut self, _step: usize) -> Result<(), Error> {
        Ok(())
    }

    /// Takes the oldest requested sample: writes the receivers that this subdomain owns into `out`,
    /// `[component][receiver]`, and leaves the others alone.
    fn traces(&mut self, out: &mut [Self::Number]) -> Result<(), Error>;

    /// The numbers of one component of a snapshot that this subdomain owns, as ranges in file order.
    fn snapshot_share(&self) -> Vec<Range<usize>>;

    /// Pieces that make up this subdomain's share of one component, in the order of [`Sampler::snapshot_share`].
    fn pieces(&self) -> usize;

    /// Requests a piece of one component of the current fields. At most two pieces are under way at a time.
    fn request_piece(&mut self, component: usize, piece: usize) -> Result<(), Error>;

    /// Takes the oldest requested piece: appends its numbers to `out`.
    fn take_piece(&mut self, out: &mut Vec<Self::Number>) -> Result<(), Error>;

    /// Begins the search for values that are not finite. It begins on all subdomains before any is asked for its result.
    fn search(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The number of the first place (cell of the padded grid, node of a mesh) whose field is not finite, from the search
    /// that was begun.
    fn first_non_finite(&mut self) -> Result<Option<usize>, Error>;
}

/// The exchange of a run, as the time loop sees it.
pub trait Halo<S> {
    /// Called when the boundary parts of all subdomains hold the stage's new values.
    fn start(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error>;
    /// Returns when the halos of all subdomains hold the stage's new values (on devices: when everything that is put into
    /// their streams from now on will find them there).
    fn finish(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error>;
    /// The least number of all that take part; `found` is that of this process. Collective: all ranks must call it.
    fn agree(&mut self, found: Option<usize>) -> Result<Option<usize>, Error> {
        Ok(found)
    }
}

/// Receives the records of a run; the program behind it writes files.
pub trait Recorder<T> {
    /// Receivers after step `step`, `[component][receiver]`.
    fn traces(&mut self, step: usize, traces: &[T]) -> Result<(), Error>;
    /// A piece of the snapshot after step `step`: pieces follow each other in file order until the window is whole.
    fn snapshot(&mut self, step: usize, piece: &[T]) -> Result<(), Error>;
    /// A snapshot after step `step` is due whose window has no number in this process.
    fn empty_snapshot(&mut self, _step: usize) -> Result<(), Error> {
        Ok(())
    }
    /// Whether all pieces of a snapshot are wanted before the next step.
    fn is_prompt(&self) -> bool {
        false
    }
    /// Step `step` is done: a place for progress.
    fn step(&mut self, _step: usize) -> Result<(), Error> {
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

/// Which steps run, and when to record and to look.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The first step: 0, or the number of steps that were done before.
    pub first: usize,
    /// Behind the last step.
    pub nt: usize,
    /// Which way the steps run.
    pub direction: Direction,
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

    /// Steps to run.
    fn count(&self) -> usize {
        self.nt.saturating_sub(self.first)
    }

    /// The number of the step that is run after `done` others.
    fn step(&self, done: usize) -> usize {
        match self.direction {
            Direction::Forward => self.first + done,
            Direction::Backward => self.nt - 1 - done,
        }
    }

    fn is_last(&self, step: usize) -> bool {
        step == self.step(self.count() - 1)
    }

    fn checks(&self, step: usize) -> bool {
        (step + 1).is_multiple_of(self.jcheck) || self.is_last(step)
    }

    fn shoots(&self, step: usize) -> bool {
        self.jsnap.is_some_and(|every| step.is_multiple_of(every))
    }

    fn samples(&self, step: usize) -> bool {
        step.is_multiple_of(self.jdata)
    }

    /// Steps done when the host next looks at the fields, at least one more than `done`.
    fn next_look(&self, done: usize) -> usize {
        let looks = |done: &usize| {
            let step = self.step(done - 1);
            self.checks(step) || self.shoots(step)
        };
        (done + 1..self.count()).find(looks).unwrap_or(self.count())
    }
}

/// Makes the error of a run whose fields are not finite, from the step and the number of the place.
pub type Report<'a> = &'a dyn Fn(usize, usize) -> Error;

/// Gives wave fields or other numbers to the subdomains of this process before each step, and may read theirs: a second
/// field that is held beside the first one, injected residuals, stored boundaries.
pub trait Feed<S> {
    /// Step `step` will follow.
    fn feed(&mut self, step: usize, subdomains: &mut [S]) -> Result<(), Error>;
}

/// Those who look at the fields of a run, or change them, between its steps.
pub struct Hooks<'r, 'f, 'c, S: Stepper> {
    /// Receives the records.
    pub recorder: &'r mut dyn Recorder<S::Number>,
    /// Makes the error of fields that are not finite.
    pub report: Report<'r>,
    /// Feeds the fields.
    pub feed: Option<&'f mut dyn Feed<S>>,
    /// Saves states; of runs forward in time.
    pub checkpoints: Option<&'f mut Checkpoints<'c>>,
}

/// Runs all steps of a schedule over the subdomains of this process.
pub fn run<S: Sampler<Number: Default + Clone> + State>(
    subdomains: &mut [S],
    halo: &mut dyn Halo<S>,
    schedule: &Schedule,
    hooks: Hooks<'_, '_, '_, S>,
) -> Result<(), Error> {
    let Hooks {
        recorder,
        report,
        mut feed,
        mut checkpoints,
    } = hooks;
    subdomains
        .iter_mut()
        .try_for_each(|s| s.turn(schedule.direction))?;
    let mut outputs = OutputQueue::new(schedule, subdomains, recorder);
    let mut done = 0;
    let stride = subdomains.iter().map(S::stride).min().unwrap_or(1);
    while done < schedule.count() {
        let until = schedule
            .next_look(done)
            .min(next_save(schedule, &checkpoints, stride, done));
        advance(subdomains, halo, done..until, (&mut outputs, &mut feed))?;
        done = until;
        let (step, all) = (schedule.step(done - 1), schedule.first + done);
        let due = match &mut checkpoints {
            Some(c) if all < schedule.nt => c.look(all)?,
            _ => false,
        };
        if due || schedule.checks(step) {
            let found = first_non_finite(subdomains)?;
            if let Some(place) = halo.agree(found)? {
                outputs.flush(subdomains)?;
                finish_saving(checkpoints)?;
                // Another process may be the one that has found it; it has the sentence.
                return Err(if found == Some(place) {
                    report(step, place)
                } else {
                    Error::Elsewhere
                });
            }
        }
        if schedule.shoots(step) {
            outputs.snapshot(subdomains, step)?;
        }
        if due && let Some(c) = &mut checkpoints {
            outputs.hand_over(subdomains)?;
            outputs.recorder.sync()?;
            c.take(all, subdomains)?;
            if c.stopping() {
                outputs.flush(subdomains)?;
                finish_saving(checkpoints)?;
                return Err(Error::Stopped { done: all });
            }
        }
    }
    outputs.flush(subdomains)?;
    finish_saving(checkpoints)
}

/// Steps of this run that are done when a state may be due next.
fn next_save(
    schedule: &Schedule,
    checkpoints: &Option<&mut Checkpoints<'_>>,
    stride: usize,
    done: usize,
) -> usize {
    let next = checkpoints
        .as_ref()
        .map(|c| c.next(schedule.first + done, stride) - schedule.first);
    next.unwrap_or(usize::MAX)
}

/// Waits for a state that is being written. Collective: all ranks must call this.
fn finish_saving(checkpoints: Option<&mut Checkpoints<'_>>) -> Result<(), Error> {
    checkpoints.map_or(Ok(()), Checkpoints::complete)
}

/// The outputs and the feed of a run.
type Between<'a, 'b, 'f, S> = (
    &'a mut OutputQueue<'b, <S as Stepper>::Number>,
    &'a mut Option<&'f mut dyn Feed<S>>,
);

/// Runs the steps between two looks of the host at the fields; `span` counts steps that are done.
fn advance<S: Sampler<Number: Default + Clone>>(
    subdomains: &mut [S],
    halo: &mut dyn Halo<S>,
    span: Range<usize>,
    (outputs, feed): Between<'_, '_, '_, S>,
) -> Result<(), Error> {
    let schedule = outputs.schedule;
    let is_forward = schedule.direction == Direction::Forward;
    let mut done = span.start;
    while done < span.end {
        // As many steps as the subdomains have room for samples.
        let mut room = outputs.room();
        let fills = |done: &usize| {
            room -= usize::from(schedule.samples(schedule.step(done - 1)));
            room == 0
        };
        let until = (done + 1..span.end).find(fills).unwrap_or(span.end);
        let alone = match subdomains {
            [only] if feed.is_none() && is_forward && !only.has_neighbours() => {
                let first = schedule.step(done);
                only.run_alone(first..first + until - done, schedule.jdata)?
            }
            _ => false,
        };
        for step in (done..until).map(|done| schedule.step(done)) {
            if let Some(feed) = feed {
                feed.feed(step, subdomains)?;
            }
            if !alone {
                let looked_at = feed.is_some() || step == schedule.step(span.end - 1);
                subdomains.iter_mut().for_each(|s| s.expect_look(looked_at));
                self::step(subdomains, halo, step, schedule.direction)?;
            }
            if schedule.samples(step) {
                if !alone {
                    subdomains.iter_mut().try_for_each(|s| s.sample(step))?;
                }
                outputs.sampled(subdomains, step)?;
            }
            outputs.recorder.step(step)?;
        }
        done = until;
    }
    Ok(())
}

fn first_non_finite<S: Sampler>(subdomains: &mut [S]) -> Result<Option<usize>, Error> {
    subdomains.iter_mut().try_for_each(S::search)?;
    let mut first = None;
    for subdomain in subdomains {
        if let Some(place) = subdomain.first_non_finite()? {
            first = Some(first.map_or(place, |other: usize| other.min(place)));
        }
    }
    Ok(first)
}

/// One time step: boundaries first, so that their numbers travel while the interiors are computed.
pub fn step<S: Stepper>(
    subdomains: &mut [S],
    halo: &mut dyn Halo<S>,
    step: usize,
    direction: Direction,
) -> Result<(), Error> {
    let stages = subdomains.first().map_or(0, |s| s.stages());
    for k in 0..stages {
        let stage = match direction {
            Direction::Forward => k,
            Direction::Backward => stages - 1 - k,
        };
        for subdomain in subdomains.iter_mut().filter(|s| s.has_neighbours()) {
            subdomain.update(stage, Part::Boundary, step)?;
        }
        halo.start(subdomains, stage)?;
        for subdomain in subdomains.iter_mut() {
            subdomain.update(stage, Part::Interior, step)?;
        }
        halo.finish(subdomains, stage)?;
    }
    subdomains.iter_mut().try_for_each(|s| s.finish_step())
}
