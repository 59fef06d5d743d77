//! Saving of states during a run: a state is copied between two steps, and checksummed and written on a separate
//! thread.

use super::format::{LEAD, Places};
use super::write::{Job, complete, copied};
use super::{State, StateHeader, StateSink, owned_bytes};
use crate::Error;
use crate::communicator::{Alone, Communicator};
use crate::device::host::{Buffer, stand_back};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Target interval between checks of clocks and signals.
const LOOK: Duration = Duration::from_millis(200);
/// Largest number of steps between two checks.
const LONGEST: usize = 1000;

/// The interval at which states are saved. Another one is saved when the program asks the run to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After every multiple of this number of steps, counted from the start of the first run; at least 1.
    Steps(usize),
    /// When this time has passed since the last state was begun.
    Time(Duration),
    /// Only when the program asks the run to stop.
    Never,
}

/// The storage of states, implemented by the program. Its methods are called from the thread of the time loop and from
/// the thread that writes; only [`StateStore::stops`] may be called while another call is in progress.
pub trait StateStore: Send + Sync {
    /// Labels that the program adds to the header: program, model, parameters, and the records that outputs hold
    /// after `step` steps. Called on rank 0.
    fn labels(&self, step: usize) -> Vec<(String, String)>;

    /// On rank 0: begins a new state of `bytes` bytes, in addition to the states that are kept.
    fn create(&self, bytes: u64) -> std::io::Result<Box<dyn StateSink>>;

    /// On all other ranks: opens the state that rank 0 has created, to write to it, too.
    fn join(&self) -> std::io::Result<Box<dyn StateSink>>;

    /// On rank 0: makes the new state, which is complete, the newest one, in one atomic operation.
    fn commit(&self, step: usize) -> std::io::Result<()>;

    /// On rank 0: called if the state after this step could not be saved, with the reason. The run continues, and the
    /// incomplete state is useless.
    fn failed(&self, step: usize, reason: &str);

    /// Whether the run must stop; its state is saved first.
    fn stops(&self) -> bool {
        false
    }
}

/// Saves the states of a run; every rank has one object of this type for each run.
pub struct Checkpoints<'a> {
    ranks: &'a dyn Communicator,
    store: Arc<dyn StateStore>,
    every: Every,
    /// The time at which the last state was begun.
    begun: Instant,
    /// Number of steps done at the last check, and the time of that check.
    looked: (usize, Instant),
    /// Number of steps done at the next check, which rank 0 determines.
    look_at: usize,
    stopping: bool,
    /// Memory of the copy, for reuse.
    copy: Option<Buffer<f64>>,
    writing: Writing,
    step: usize,
    header: Vec<u8>,
    end: u64,
}

/// Progress of the last state.
enum Writing {
    Nothing,
    UnderWay(Arc<Job>, JoinHandle<Outcome>),
    Done(Arc<Job>, Outcome),
}

/// The checksum of the blocks of this rank, or the reason why there is none.
type Outcome = Result<u64, String>;

/// A state that is being written, and the positions of its arrays.
type Opened = (Box<dyn StateSink>, Places);

/// Message of one rank at a check.
struct Words {
    due: bool,
    stops: bool,
    done: bool,
    look_at: usize,
    outcome: Result<u64, String>,
}

impl<'a> Checkpoints<'a> {
    /// Saves states to `store` at the interval `every`.
    pub fn new(ranks: &'a dyn Communicator, store: Arc<dyn StateStore>, every: Every) -> Self {
        let now = Instant::now();
        Self {
            ranks,
            store,
            every,
            begun: now,
            looked: (0, now),
            look_at: 0,
            stopping: false,
            copy: None,
            writing: Writing::Nothing,
            step: 0,
            header: Vec::new(),
            end: 0,
        }
    }

    /// The number of steps done at which the time loop must check again: at least `stride` more than `done`, unless a
    /// state is due earlier after a given number of steps.
    pub(in crate::time_loop) fn next(&self, done: usize, stride: usize) -> usize {
        let look = self.look_at.max(done + stride);
        match self.every {
            Every::Steps(n) => look.min((done + 1).next_multiple_of(n.max(1))),
            _ => look,
        }
    }

    /// Whether the run stops after this step.
    pub(in crate::time_loop) fn stopping(&self) -> bool {
        self.stopping
    }

    /// Collective: returns whether a state is due after `done` steps, and completes a state that was written meanwhile.
    pub(in crate::time_loop) fn look(&mut self, done: usize) -> Result<bool, Error> {
        if let Writing::UnderWay(_, thread) = &self.writing
            && thread.is_finished()
        {
            self.join();
        }
        let due = match self.every {
            Every::Steps(n) => done.is_multiple_of(n.max(1)),
            Every::Time(span) => self.begun.elapsed() >= span,
            Every::Never => false,
        };
        let look_at = done + self.patience(done);
        let all = self.talk(due, look_at)?;
        self.look_at = all[0].look_at;
        self.looked = (done, Instant::now());
        self.stopping = all.iter().any(|words| words.stops);
        self.settle(&all);
        Ok(all[0].due || self.stopping)
    }

    /// Number of steps until the next check.
    fn patience(&self, done: usize) -> usize {
        let steps = done.saturating_sub(self.looked.0).max(1);
        let each = self.looked.1.elapsed().as_secs_f64() / steps as f64;
        let steps_per_look = LOOK.as_secs_f64() / each.max(1e-9);
        (steps_per_look as usize).clamp(1, (2 * steps).min(LONGEST))
    }

    /// Collective: exchanges the messages of all ranks.
    fn talk(&self, due: bool, look_at: usize) -> Result<Vec<Words>, Error> {
        let outcome = match &self.writing {
            Writing::Done(_, outcome) => outcome.clone(),
            _ => Ok(0),
        };
        let words = Words {
            due,
            stops: self.store.stops(),
            done: matches!(self.writing, Writing::Done(..)),
            look_at,
            outcome,
        };
        let all = self.ranks.all_gather(&words.to_bytes())?;
        all.iter().map(|bytes| Words::from_bytes(bytes)).collect()
    }

    /// Waits for the writing thread, and writes the pieces that it has not begun, since that thread may get little
    /// processor time.
    fn join(&mut self) {
        self.writing = match std::mem::replace(&mut self.writing, Writing::Nothing) {
            Writing::UnderWay(job, thread) => {
                job.work();
                match thread.join() {
                    Ok(outcome) => Writing::Done(job, outcome),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            other => other,
        };
    }

    /// Completes the state on rank 0 once all ranks have written their blocks.
    fn settle(&mut self, all: &[Words]) {
        if !all.iter().all(|words| words.done) {
            return;
        }
        let Writing::Done(job, _) = std::mem::replace(&mut self.writing, Writing::Nothing) else {
            return;
        };
        // The thread has ended, so the job has no other owner.
        let Some((copy, mut sink)) = Arc::into_inner(job).map(Job::into_parts) else {
            return;
        };
        self.copy = Some(copy);
        if self.ranks.rank() > 0 {
            return;
        }
        let sums = all.iter().map(|words| words.outcome.clone());
        let sum = sums.reduce(|a, b| Ok(a?.wrapping_add(b?))).unwrap_or(Ok(0));
        let outcome = match sum {
            // A single rank has completed it on its writing thread.
            Ok(_) if all.len() == 1 => Ok(()),
            Ok(sum) => complete(&mut *sink, (&self.header, self.end), sum)
                .and_then(|()| self.store.commit(self.step))
                .map_err(|e| e.to_string()),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = outcome {
            self.store.failed(self.step, &reason);
        }
    }

    /// Collective: completes the previous state, copies the state after `done` steps and begins to write it.
    ///
    /// # Errors
    /// Returns the errors of subdomains and ranks. A state that cannot be written is not an error here, but is
    /// reported to the store.
    pub(in crate::time_loop) fn take<S: State>(
        &mut self,
        done: usize,
        subdomains: &mut [S],
    ) -> Result<(), Error> {
        self.complete()?;
        (self.step, self.begun) = (done, Instant::now());
        let Some((sink, places)) = self.open(subdomains)? else {
            return Ok(());
        };
        let bytes = owned_bytes(subdomains);
        let mut copy = match self.copy.take() {
            Some(copy) if copy.bytes() >= bytes => copy,
            _ => Buffer::zeroed(bytes.div_ceil(size_of::<f64>()))?,
        };
        let pieces = copied(subdomains, &places, bytemuck::cast_slice_mut(copy.as_mut_slice()))?;
        let job = Arc::new(Job::new(copy, pieces, sink));
        let end = (self.ranks.size() == 1).then(|| (self.store.clone(), self.header.clone()));
        let (mine, trailer_at) = (job.clone(), places.end);
        let work = move || {
            stand_back();
            mine.work();
            let written = mine.outcome().and_then(|sum| {
                let sink = &mut **mine.sink();
                match end {
                    Some((store, header)) => {
                        complete(sink, (&header, trailer_at), sum).and_then(|()| store.commit(done))
                    }
                    None => sink.finish(),
                }
                .map_err(|e| e.to_string())
                .map(|()| sum)
            });
            drop(mine);
            written
        };
        let thread = std::thread::Builder::new().name("checkpoint".into()).spawn(work);
        let thread =
            thread.map_err(|e| Error::setup(format!("cannot start a thread that writes states: {e}")))?;
        self.writing = Writing::UnderWay(job, thread);
        Ok(())
    }

    /// Collective: opens the sink of a new state on every rank; `None` on all ranks if one of them fails.
    fn open<S: State>(&mut self, subdomains: &[S]) -> Result<Option<Opened>, Error> {
        let arrays = subdomains.first().map(State::arrays).unwrap_or_default();
        let mut sink = None;
        let mut words = vec![1];
        if self.ranks.rank() == 0 {
            let (step, labels) = (self.step, self.store.labels(self.step));
            let header = StateHeader {
                step,
                arrays: arrays.clone(),
                labels,
            };
            words.extend(header.encode());
            match self.store.create(Places::new(words.len() - 1, &arrays).bytes()) {
                Ok(new) => sink = Some(new),
                Err(e) => words = [&[0], e.to_string().as_bytes()].concat(),
            }
        }
        let mut first = self.ranks.all_gather(&words)?.swap_remove(0);
        let created = first.first() == Some(&1);
        first.drain(..first.len().min(1));
        let mut problem = String::new();
        if !created {
            problem = String::from_utf8_lossy(&first).into_owned();
        } else if self.ranks.rank() > 0 {
            match self.store.join() {
                Ok(joined) => sink = Some(joined),
                Err(e) => problem = e.to_string(),
            }
        }
        let problems = self.ranks.all_gather(problem.as_bytes())?;
        if let Some(problem) = problems.iter().find(|p| !p.is_empty()) {
            if self.ranks.rank() == 0 {
                self.store.failed(self.step, &String::from_utf8_lossy(problem));
            }
            return Ok(None);
        }
        let places = Places::new(first.len(), &arrays);
        (self.header, self.end) = (first, places.end);
        debug_assert!(self.header.len() >= LEAD);
        Ok(sink.map(|sink| (sink, places)))
    }

    /// Collective: waits until the last state that was begun is complete.
    pub(in crate::time_loop) fn complete(&mut self) -> Result<(), Error> {
        self.join();
        let all = self.talk(false, self.look_at)?;
        self.settle(&all);
        Ok(())
    }
}

/// Saves the state of one subdomain and waits for it; `step` is stored as its number of steps.
///
/// # Errors
/// Returns the errors of `subdomain`. A state that cannot be written is not an error here, but is reported to the
/// store.
pub fn save<S: State>(store: Arc<dyn StateStore>, step: usize, subdomain: &mut S) -> Result<(), Error> {
    let mut checkpoints = Checkpoints::new(&Alone, store, Every::Never);
    checkpoints.take(step, std::slice::from_mut(subdomain))?;
    checkpoints.complete()
}

impl Drop for Checkpoints<'_> {
    fn drop(&mut self) {
        // The run has failed, but the state that is being written can still be completed. With several ranks it is not
        // committed, so that the previous state remains.
        if let Writing::UnderWay(job, thread) = std::mem::replace(&mut self.writing, Writing::Nothing)
            && let (_, Ok(Err(reason))) = (job.work(), thread.join())
        {
            self.store.failed(self.step, &reason);
        }
    }
}

impl Words {
    fn to_bytes(&self) -> Vec<u8> {
        let flags = [self.due, self.stops, self.done, self.outcome.is_err()];
        let mut bytes: Vec<u8> = flags.map(u8::from).to_vec();
        bytes.extend((self.look_at as u64).to_le_bytes());
        match &self.outcome {
            Ok(sum) => bytes.extend(sum.to_le_bytes()),
            Err(reason) => bytes.extend(reason.as_bytes()),
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let lost = || {
            Error::setup("ranks disagree about states: do all run the same program with the same parameters?")
        };
        let (flags, rest) = bytes.split_first_chunk::<4>().ok_or_else(lost)?;
        let (look_at, rest) = rest.split_first_chunk::<8>().ok_or_else(lost)?;
        let [due, stops, done, failed] = flags.map(|f| f == 1);
        let outcome = match failed {
            true => Err(String::from_utf8_lossy(rest).into_owned()),
            false => Ok(u64::from_le_bytes(rest.try_into().map_err(|_| lost())?)),
        };
        let look_at = u64::from_le_bytes(*look_at) as usize;
        Ok(Self {
            due,
            stops,
            done,
            look_at,
            outcome,
        })
    }
}
