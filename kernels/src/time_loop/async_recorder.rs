//! A recorder that runs on a separate thread while the time loop continues.

use super::Recorder;
use crate::Error;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Largest number of values that may wait for the recorder, unless a single piece has more.
const WAITING: usize = 48 << 20;
/// Number of values of traces that are passed on together: passing many small records one by one would take more time
/// than computing them.
const BATCH: usize = 1 << 14;

/// Calls `work` with a recorder that passes everything to `recorder` on another thread, and returns `recorder` when
/// it has processed all of it. Calls of [`Recorder::step`] are not passed on.
///
/// # Errors
/// Returns the error of `work`; everything recorded before it is still processed. An error in `recorder` causes the
/// next call by `work` to fail, and is returned even if `work` succeeds.
pub fn async_recorder<T, R>(
    mut recorder: R,
    work: impl FnOnce(&mut dyn Recorder<T>) -> Result<(), Error>,
) -> (R, Result<(), Error>)
where
    T: Copy + Send,
    R: Recorder<T> + Send,
{
    let line = Line::new();
    let (taken, outcome) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let guard = Ends(&line);
            let taken = line.serve(&mut recorder);
            drop(guard);
            taken
        });
        let mut sender = Sender {
            line: &line,
            batch: Load::default(),
        };
        let outcome = work(&mut sender);
        // This also happens if the work failed, because earlier records are useful.
        let _ = sender.flush();
        drop(sender);
        let taken = writer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (taken, outcome)
    });
    (recorder, taken.and(outcome))
}

/// The kind of a [`Load`], which is passed on as a whole.
enum Kind {
    /// Records of these steps.
    Traces(Vec<usize>),
    /// A piece of the snapshot of this step.
    Piece(usize),
    /// A request to report when everything before it is written.
    Sync,
}

impl Default for Kind {
    fn default() -> Self {
        Self::Traces(Vec::new())
    }
}

struct Load<T> {
    kind: Kind,
    numbers: Vec<T>,
}

impl<T> Default for Load<T> {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            numbers: Vec::new(),
        }
    }
}

/// The loads that wait for the recorder.
struct Waiting<T> {
    loads: VecDeque<Load<T>>,
    /// Number of values of all loads, including the one in progress.
    numbers: usize,
    /// Memory for reuse.
    spare: Vec<Vec<T>>,
    /// Whether the last [`Kind::Sync`] has been processed.
    synced: bool,
    /// Whether the sender has finished.
    closed: bool,
    /// Whether the recorder has finished or failed.
    ended: bool,
}

struct Line<T> {
    waiting: Mutex<Waiting<T>>,
    /// Notified when a load is added or the sender has finished.
    came: Condvar,
    /// Notified when a load has been processed or the recorder has finished.
    went: Condvar,
}

impl<T: Copy> Line<T> {
    fn new() -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                loads: VecDeque::new(),
                numbers: 0,
                spare: Vec::new(),
                synced: false,
                closed: false,
                ended: false,
            }),
            came: Condvar::new(),
            went: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes loads to the recorder until the sender has finished.
    fn serve(&self, recorder: &mut dyn Recorder<T>) -> Result<(), Error> {
        loop {
            let waiting = self.lock();
            let mut waiting = self
                .came
                .wait_while(waiting, |w| w.loads.is_empty() && !w.closed)
                .unwrap_or_else(PoisonError::into_inner);
            let Some(load) = waiting.loads.pop_front() else {
                return Ok(());
            };
            drop(waiting);
            match &load.kind {
                Kind::Piece(it) => recorder.snapshot(*it, &load.numbers)?,
                Kind::Sync => recorder.sync()?,
                Kind::Traces(steps) => {
                    let records = load.numbers.chunks((load.numbers.len() / steps.len()).max(1));
                    steps
                        .iter()
                        .zip(records)
                        .try_for_each(|(&it, record)| recorder.traces(it, record))?;
                }
            }
            let mut waiting = self.lock();
            waiting.numbers -= load.numbers.len();
            waiting.synced |= matches!(load.kind, Kind::Sync);
            if waiting.spare.len() < 4 {
                waiting.spare.push(load.numbers);
            }
            drop(waiting);
            self.went.notify_one();
        }
    }

    /// Adds a load when there is room, and returns memory for the next one.
    fn put(&self, load: Load<T>) -> Result<Vec<T>, Error> {
        let many = load.numbers.len();
        let mut waiting = self
            .went
            .wait_while(self.lock(), |w| {
                !w.ended && w.numbers > 0 && w.numbers + many > WAITING
            })
            .unwrap_or_else(PoisonError::into_inner);
        if waiting.ended {
            // The recorder's own error gives the reason.
            return Err(Error::setup("the recorder has stopped"));
        }
        waiting.numbers += many;
        waiting.loads.push_back(load);
        let mut spare = waiting.spare.pop().unwrap_or_default();
        drop(waiting);
        self.came.notify_one();
        spare.clear();
        Ok(spare)
    }
}

impl<T: Copy> Line<T> {
    /// Waits until all loads are written.
    fn sync(&self) -> Result<(), Error> {
        self.lock().synced = false;
        self.put(Load {
            kind: Kind::Sync,
            numbers: Vec::new(),
        })?;
        let waiting = self
            .went
            .wait_while(self.lock(), |w| !w.ended && !w.synced)
            .unwrap_or_else(PoisonError::into_inner);
        match waiting.synced {
            true => Ok(()),
            // The recorder's own error gives the reason.
            false => Err(Error::setup("the recorder has stopped")),
        }
    }
}

/// Tells the sender on drop, even after a panic, that the recorder has finished.
struct Ends<'a, T: Copy>(&'a Line<T>);

impl<T: Copy> Drop for Ends<'_, T> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.went.notify_one();
    }
}

/// The sending end of a [`Line`], which the time loop holds.
struct Sender<'a, T: Copy> {
    line: &'a Line<T>,
    /// Records that have not been passed on yet.
    batch: Load<T>,
}

impl<T: Copy> Sender<'_, T> {
    fn flush(&mut self) -> Result<(), Error> {
        if matches!(&self.batch.kind, Kind::Traces(steps) if steps.is_empty()) {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.batch.numbers = self.line.put(batch)?;
        Ok(())
    }
}

impl<T: Copy> Recorder<T> for Sender<'_, T> {
    fn traces(&mut self, it: usize, traces: &[T]) -> Result<(), Error> {
        if let Kind::Traces(steps) = &mut self.batch.kind {
            steps.push(it);
        }
        self.batch.numbers.extend_from_slice(traces);
        if self.batch.numbers.len() >= BATCH {
            self.flush()?;
        }
        Ok(())
    }

    fn snapshot(&mut self, it: usize, piece: &[T]) -> Result<(), Error> {
        self.flush()?;
        self.batch.kind = Kind::Piece(it);
        self.batch.numbers.extend_from_slice(piece);
        self.flush()
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        self.line.sync()
    }
}

impl<T: Copy> Drop for Sender<'_, T> {
    /// Tells the recorder, even after a panic, that the sender has finished.
    fn drop(&mut self) {
        self.line.lock().closed = true;
        self.line.came.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Tape {
        synced: Vec<usize>,
        traces: Vec<(usize, Vec<f32>)>,
        pieces: Vec<(usize, usize)>,
        full_at: Option<usize>,
    }

    impl Recorder<f32> for Tape {
        fn traces(&mut self, it: usize, traces: &[f32]) -> Result<(), Error> {
            if self.full_at == Some(it) {
                return Err(Error::Recorder("no space left".into()));
            }
            self.traces.push((it, traces.to_vec()));
            Ok(())
        }

        fn snapshot(&mut self, it: usize, piece: &[f32]) -> Result<(), Error> {
            self.pieces.push((it, piece.len()));
            Ok(())
        }

        fn sync(&mut self) -> Result<(), Error> {
            self.synced.push(self.traces.len());
            Ok(())
        }
    }

    #[test]
    fn everything_arrives_in_order() {
        let (tape, outcome) = async_recorder(Tape::default(), |recorder| {
            for it in 0..5000 {
                recorder.traces(it, &[it as f32, 1.0, 2.0])?;
                if it % 1000 == 999 {
                    recorder.snapshot(it, &vec![0.5; WAITING / 2 + it])?;
                }
            }
            Ok(())
        });
        outcome.unwrap();
        let whole = |(it, (step, record)): (usize, &(usize, Vec<f32>))| {
            it == *step && record == &[it as f32, 1.0, 2.0]
        };
        assert!(tape.traces.len() == 5000 && tape.traces.iter().enumerate().all(whole));
        let pieces: Vec<_> = (1..6)
            .map(|k| (1000 * k - 1, WAITING / 2 + 1000 * k - 1))
            .collect();
        assert_eq!(tape.pieces, pieces);
    }

    #[test]
    fn a_sync_waits_for_all_before_it() {
        let (tape, outcome) = async_recorder(Tape::default(), |recorder| {
            for it in 0..1000 {
                recorder.traces(it, &[1.0; 7])?;
                if it % 100 == 9 {
                    recorder.sync()?;
                }
            }
            Ok(())
        });
        outcome.unwrap();
        assert_eq!(tape.synced, (0..10).map(|k| 100 * k + 10).collect::<Vec<_>>());
        let full = Tape {
            full_at: Some(3),
            ..Tape::default()
        };
        let (_, outcome) = async_recorder(full, |recorder| {
            (0..5).try_for_each(|it| recorder.traces(it, &[1.0]))?;
            recorder.sync()
        });
        assert_eq!(outcome.unwrap_err().to_string(), "no space left");
    }

    /// A recorder that is slow with every piece.
    struct Slow<'a>(&'a std::sync::atomic::AtomicUsize);

    impl Recorder<f32> for Slow<'_> {
        fn traces(&mut self, _: usize, _: &[f32]) -> Result<(), Error> {
            Ok(())
        }

        fn snapshot(&mut self, _: usize, _: &[f32]) -> Result<(), Error> {
            std::thread::sleep(std::time::Duration::from_millis(5));
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Ok(())
        }
    }

    #[test]
    fn behind_a_sync_all_pieces_are_written() {
        let written = std::sync::atomic::AtomicUsize::new(0);
        let (_, outcome) = async_recorder(Slow(&written), |recorder| {
            for all in [20, 40] {
                (0..20).try_for_each(|it| recorder.snapshot(it, &[1.0]))?;
                recorder.sync()?;
                assert_eq!(written.load(std::sync::atomic::Ordering::SeqCst), all);
            }
            Ok(())
        });
        outcome.unwrap();
    }

    #[test]
    fn what_was_recorded_before_an_error_is_taken() {
        let (tape, outcome) = async_recorder(Tape::default(), |recorder| {
            (0..7).try_for_each(|it| recorder.traces(it, &[1.0]))?;
            Err(Error::setup("the device is lost"))
        });
        assert_eq!(outcome.unwrap_err().to_string(), "the device is lost");
        assert_eq!(tape.traces.len(), 7);
    }

    #[test]
    fn an_error_of_the_recorder_ends_the_work_and_is_the_answer() {
        let full = Tape {
            full_at: Some(3),
            ..Tape::default()
        };
        let mut records = 0;
        let (tape, outcome) = async_recorder(full, |recorder| {
            loop {
                recorder.traces(records, &[0.0; 1000])?;
                records += 1;
                assert!(records < 1_000_000, "the work continues without its recorder");
            }
        });
        assert_eq!(outcome.unwrap_err().to_string(), "no space left");
        assert_eq!(tape.traces.len(), 3);
    }

    #[test]
    #[should_panic(expected = "spoiled")]
    fn a_panic_of_the_work_is_passed_on() {
        let _ = async_recorder(Tape::default(), |_| panic!("spoiled"));
    }
}
