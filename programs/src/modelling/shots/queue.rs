//! Workers on separate threads: each takes the next shot, and the outcomes are requested in order.

use super::{Begun, Outcome, Worker, Workers, attempt, outcomes};
use anyhow::anyhow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

/// The number of shots by which a worker may be ahead of the shot that is being waited for; finished shots occupy
/// memory.
pub const AHEAD: usize = 2;

/// The shots of a rank while workers compute them.
struct Queue<'a> {
    /// Their numbers.
    shots: &'a [usize],
    /// The number of shots by which workers may be ahead of the shot that is being waited for.
    ahead: usize,
    /// The number of shots that a worker computes at a time.
    batch: usize,
    desk: Mutex<Desk>,
    changed: Condvar,
}

/// The state of the queue. Shots are counted by their indices in the list.
struct Desk {
    /// The next shot that a worker may take.
    next: usize,
    /// The shot that is being waited for.
    awaited: usize,
    /// Whether no further shot will be requested.
    closed: bool,
    /// The number of workers that are still running.
    workers: usize,
    outcomes: BTreeMap<usize, Outcome>,
}

/// A function that requests all shots in order, with the function that it is given.
pub type HandOn<'a> = &'a mut dyn FnMut(Make<'_>) -> anyhow::Result<()>;

/// A function that returns the outcome of the shot with this index.
pub type Make<'a> = &'a mut dyn FnMut(usize) -> Outcome;

/// Computes these shots with the workers while `hand_on`, which may end early, requests them by their
/// indices, from the first to the last. Returns when all workers have ended.
pub fn side_by_side<'w>(
    shots: &[usize],
    Workers {
        all: workers, batch, ..
    }: Workers<'w>,
    hand_on: HandOn<'_>,
) -> anyhow::Result<()> {
    let queue = Queue {
        shots,
        ahead: AHEAD * workers.len() * batch,
        batch,
        desk: Mutex::new(Desk {
            next: workers.len() * batch,
            awaited: 0,
            closed: false,
            workers: workers.len(),
            outcomes: BTreeMap::new(),
        }),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for (place, worker) in workers.into_iter().enumerate() {
            let queue = &queue;
            scope.spawn(move || queue.serve(worker, place * batch, scope));
        }
        let _end = Closing(&queue);
        hand_on(&mut |place| queue.wait_for(place))
    })
}

impl Queue<'_> {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'b>(&self, desk: MutexGuard<'b, Desk>) -> MutexGuard<'b, Desk> {
        self.changed.wait(desk).unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes the shots from `place` on, then the next ones. The remaining work on a batch is done on another thread,
    /// one batch at a time.
    fn serve<'s, 'w: 's>(&'s self, mut worker: Worker<'w>, place: usize, scope: &'s Scope<'s, '_>) {
        let _leaving = Leaving(self);
        let mut place = Some(place).filter(|&place| place < self.shots.len());
        let mut beside: Option<ScopedJoinHandle<'s, ()>> = None;
        while let Some(now) = place {
            let places = now..self.shots.len().min(now + self.batch);
            let begun = attempt(&mut worker, &self.shots[places.clone()]);
            // `end` catches all panics.
            drop(beside.take().map(ScopedJoinHandle::join));
            match begun {
                Begun::Rest(rest) => beside = Some(scope.spawn(move || self.end(places, rest))),
                Begun::Ended(all) => self.put(places, outcomes(all)),
            }
            place = self.next();
        }
        drop(beside.map(ScopedJoinHandle::join));
    }

    /// Completes the shots at these places.
    fn end(&self, places: Range<usize>, rest: Box<dyn FnOnce() -> super::All + Send + '_>) {
        let ended = catch_unwind(AssertUnwindSafe(rest)).map(outcomes);
        let failed = |_| Outcome::Failed(anyhow!("the thread that ends it has ended early"));
        let outcomes = ended.unwrap_or_else(|_| places.clone().map(failed).collect());
        self.put(places, outcomes);
    }

    /// Stores the outcomes of the shots at these places.
    fn put(&self, places: Range<usize>, outcomes: Vec<Outcome>) {
        self.desk().outcomes.extend(places.zip(outcomes));
        self.changed.notify_all();
    }

    /// The index of the first of the next shots, once it may be computed.
    fn next(&self) -> Option<usize> {
        let mut desk = self.desk();
        loop {
            if desk.closed || desk.next >= self.shots.len() {
                return None;
            }
            if desk.next < desk.awaited + self.ahead {
                desk.next += self.batch;
                return Some(desk.next - self.batch);
            }
            desk = self.wait(desk);
        }
    }

    /// Waits for the outcome of the shot at `place`.
    fn wait_for(&self, place: usize) -> Outcome {
        let mut desk = self.desk();
        desk.awaited = place;
        self.changed.notify_all();
        loop {
            if let Some(outcome) = desk.outcomes.remove(&place) {
                return outcome;
            }
            if desk.workers == 0 {
                return match rsf_io::interrupted() {
                    Some(signal) => Outcome::Stopped(signal),
                    None => Outcome::Failed(anyhow!("the thread that made it has ended early")),
                };
            }
            desk = self.wait(desk);
        }
    }
}

/// Reduces the number of running workers when it is dropped, even after a panic.
struct Leaving<'a>(&'a Queue<'a>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.desk().workers -= 1;
        self.0.changed.notify_all();
    }
}

/// When it is dropped, workers end after their current shots.
struct Closing<'a>(&'a Queue<'a>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.desk().closed = true;
        self.0.changed.notify_all();
    }
}
