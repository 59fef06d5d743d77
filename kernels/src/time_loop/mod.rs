//! The time loop: stages, boundary parts, halos, interiors, records. It is independent of fields and devices.
//!
//! A run has *subdomains*. Each of them is a [`Stepper`], which computes, and a [`Sampler`], which provides the
//! values to record. A [`Schedule`] defines the steps, their direction, and the steps after which the fields are
//! read. [`Hooks`] are called between steps: the recorder, the report of a wavefield that is not finite, and a
//! [`Feed`] that may change the fields before each step.

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
    /// The cells or points for whose values neighbours wait, and the cells or points that must be computed together
    /// with them. This part is computed first.
    Boundary,
    /// The remaining part, which is computed while the values of the boundary are sent.
    Interior,
}

/// Direction of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the first step to the last.
    #[default]
    Forward,
    /// From the last step to the first: a step reverses the forward step of the same number.
    Backward,
}

/// The fields of a method on one subdomain, and how they advance in time.
pub trait Stepper {
    /// Number type of the fields.
    type Number;

    /// Number of stages of a step; halos are exchanged after each of them.
    fn stages(&self) -> usize;

    /// Whether the subdomain has neighbours. Without any, all of it is interior.
    fn has_neighbours(&self) -> bool;

    /// Called before a step. The argument is whether the fields after the step may be read before the next step
    /// begins, other than by samples of receivers. If not, a method may combine both steps. Without this call the
    /// method must assume that they are read.
    fn expect_look(&mut self, _looked_at: bool) {}

    /// Computes one stage of a step on one part: equations, sources and boundary conditions, in the order of the
    /// method. The boundary part is computed before the interior.
    fn update(&mut self, stage: usize, part: Part, step: usize) -> Result<(), Error>;

    /// Ends a step: the new fields become the current fields.
    fn finish_step(&mut self) -> Result<(), Error>;

    /// Makes the following steps run in this direction. A time loop calls this first, and then also runs through the
    /// stages of each step in that direction.
    ///
    /// # Errors
    /// Returns an error if the method cannot run backward in time, as it loses energy (absorbing frames, attenuation).
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        match direction {
            Direction::Forward => Ok(()),
            Direction::Backward => Err(Error::setup("this method cannot run backward in time")),
        }
    }

    /// Smallest number of steps that [`Stepper::run_alone`] runs together; 1 if it runs none. The host checks for
    /// signals, and for states that are due by the clock, only after this number of steps.
    fn stride(&self) -> usize {
        1
    }

    /// If that is faster than single steps, runs several steps of a subdomain without neighbours and requests samples
    /// after every `jdata`-th step. Otherwise it does nothing and returns `false`.
    fn run_alone(&mut self, _steps: Range<usize>, _jdata: usize) -> Result<bool, Error> {
        Ok(false)
    }
}

/// The outputs of a subdomain: samples of receivers and pieces of snapshots.
///
/// Both are requested first and taken later, so that a device can continue meanwhile.
pub trait Sampler: Stepper {
    /// Number of samples that may be requested before the oldest must be taken; one if the host reads the fields
    /// directly.
    fn capacity(&self) -> usize {
        1
    }

    /// Requests a sample of the receivers from the current fields, after step `step`. If the host reads the fields
    /// directly, it does so when the sample is taken.
    fn sample(&mut self, _step: usize) -> Result<(), Error> {
        Ok(())
    }

    /// Takes the oldest requested sample: writes the values of the receivers that this subdomain owns into `out`,
    /// `[component][receiver]`, and leaves the others unchanged.
    fn traces(&mut self, out: &mut [Self::Number]) -> Result<(), Error>;

    /// The part of one component of a snapshot that this subdomain owns, as ranges in file order.
    fn snapshot_share(&self) -> Vec<Range<usize>>;

    /// Number of pieces into which this subdomain's part of one component is divided, in the order of
    /// [`Sampler::snapshot_share`].
    fn pieces(&self) -> usize;

    /// Requests a piece of one component of the current fields. At most two pieces may be requested and not yet taken.
    fn request_piece(&mut self, component: usize, piece: usize) -> Result<(), Error>;

    /// Takes the oldest requested piece: appends its values to `out`.
    fn take_piece(&mut self, out: &mut Vec<Self::Number>) -> Result<(), Error>;

    /// Begins the search for values that are not finite. It is called on all subdomains before any result is requested.
    fn search(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The result of the search: the number of the first place (cell of the padded grid, point of a mesh) whose field
    /// is not finite.
    fn first_non_finite(&mut self) -> Result<Option<usize>, Error>;
}

/// The exchange of halos in a run.
pub trait Halo<S> {
    /// Called when the boundary parts of all subdomains hold the stage's new values.
    fn start(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error>;
    /// Returns when the halos of all subdomains hold the stage's new values (on devices: when all work that is
    /// enqueued from now on will find them there).
    fn finish(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error>;
    /// The smallest number that any rank has found; `place` is the number found by this rank. Collective: all ranks
    /// must call it.
    fn agree(&mut self, place: Option<usize>) -> Result<Option<usize>, Error> {
        Ok(place)
    }
}

/// Receives the records of a run. Programs implement it to write files.
pub trait Recorder<T> {
    /// Receives the values of the receivers after step `step`, `[component][receiver]`.
    fn traces(&mut self, step: usize, traces: &[T]) -> Result<(), Error>;
    /// Receives a piece of the snapshot after step `step`. Pieces come in file order until the window is complete.
    fn snapshot(&mut self, step: usize, piece: &[T]) -> Result<(), Error>;
    /// Called instead of `snapshot` if this process has no part of the window.
    fn empty_snapshot(&mut self, _step: usize) -> Result<(), Error> {
        Ok(())
    }
    /// Whether all pieces of a snapshot must be passed on before the next step.
    fn is_prompt(&self) -> bool {
        false
    }
    /// Called after step `step`, for messages about the progress.
    fn step(&mut self, _step: usize) -> Result<(), Error> {
        Ok(())
    }
    /// Waits until everything recorded so far is written, because a state that is about to be saved relies on it.
    fn sync(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Called at the end of the run.
    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The steps of a run, and the steps after which it records and checks the fields.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The first step: 0, or the number of steps done before a resumed run.
    pub first: usize,
    /// Number of time steps in all; the last step is `nt - 1`.
    pub nt: usize,
    /// Direction of time.
    pub direction: Direction,
    /// Receivers are sampled after every `jdata`-th step, including step 0.
    pub jdata: usize,
    /// Number of receivers.
    pub receivers: usize,
    /// Number of components of the receivers.
    pub components: usize,
    /// Number of components of a snapshot.
    pub snapshot_components: usize,
    /// Snapshots are taken after every `jsnap`-th step, including step 0; `None` for no snapshots.
    pub jsnap: Option<usize>,
    /// Number of steps between two searches for values that are not finite.
    pub jcheck: usize,
}

impl Schedule {
    /// Makes the run continue from a state that was loaded.
    ///
    /// # Errors
    /// Returns an error if the state is from the end of the run or later.
    pub fn resume(&mut self, header: &StateHeader) -> Result<(), StateError> {
        let (step, steps) = (header.step, self.nt);
        if step >= steps {
            return Err(StateError::AtEnd { step, steps });
        }
        self.first = step;
        Ok(())
    }

    /// Number of steps to run.
    fn count(&self) -> usize {
        self.nt.saturating_sub(self.first)
    }

    /// The number of the step that runs after `done` other steps.
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

    /// The number of steps done when the host next reads the fields, at least `done + 1`.
    fn next_look(&self, done: usize) -> usize {
        let looks = |done: &usize| {
            let step = self.step(done - 1);
            self.checks(step) || self.shoots(step)
        };
        (done + 1..self.count()).find(looks).unwrap_or(self.count())
    }
}

/// Makes the error of a run whose fields are not finite, from the step and the number of the place (cell or point).
pub type Report<'a> = &'a dyn Fn(usize, usize) -> Error;

/// Reads or changes the fields of the subdomains of this process before each step, for example for a second field that
/// runs with the first one, injected residuals or stored boundaries.
pub trait Feed<S> {
    /// Called before step `step`.
    fn feed(&mut self, step: usize, subdomains: &mut [S]) -> Result<(), Error>;
}

/// Objects that are called between the steps of a run.
pub struct Hooks<'r, 'f, 'c, S: Stepper> {
    /// Receives the records.
    pub recorder: &'r mut dyn Recorder<S::Number>,
    /// Makes the error of fields that are not finite.
    pub report: Report<'r>,
    /// Reads or changes the fields before each step.
    pub feed: Option<&'f mut dyn Feed<S>>,
    /// Saves states; only in runs forward in time.
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
            let own = first_non_finite(subdomains)?;
            if let Some(place) = halo.agree(own)? {
                outputs.flush(subdomains)?;
                finish_saving(checkpoints)?;
                // The rank that has found the place reports the error.
                return Err(if own == Some(place) {
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

/// The number of steps of this run after which a state may be due next.
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

/// Runs the steps until the host reads the fields; `span` counts steps done.
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
        // Run at most as many steps as there is room for samples.
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

/// Runs one time step, with boundary parts first, so that their values are sent while the interiors are computed.
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
