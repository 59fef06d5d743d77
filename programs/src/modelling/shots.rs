//! Computes the shots of a survey on several ranks, and on several groups of GPUs or threads in each of them. Rank 0
//! receives all shots in order, or their sums ([`sum`]).

#[cfg(test)]
mod among_ranks;
mod message;
mod queue;
pub mod sum;

use super::world::World;
use anyhow::anyhow;
use message::{receive, send};
pub use queue::AHEAD;
use queue::side_by_side;
use rsf_io::Signal;
use std::ops::Range;

/// The result of a shot.
#[derive(Debug, Default, PartialEq)]
pub struct ShotResult {
    /// The numbers of the shot, which are added up if sums of shots are requested.
    pub values: Vec<f32>,
    /// Numbers that belong only to this shot.
    pub own: Vec<f32>,
    /// Further results, as integers or as bits.
    pub words: Vec<u64>,
}

/// The outcome of a shot.
#[derive(Debug)]
pub enum Outcome {
    /// The shot is done.
    Done(ShotResult),
    /// It failed.
    Failed(anyhow::Error),
    /// A signal ended it.
    Stopped(Signal),
}

/// The results of shots, in the order of the numbers that were given.
pub type All = Vec<anyhow::Result<ShotResult>>;

/// The state of the shots of a call when the worker returns.
pub enum Begun<'a> {
    /// They are complete.
    Ended(All),
    /// The shots are complete once this function has run, which may happen while the worker computes other shots.
    Rest(Box<dyn FnOnce() -> All + Send + 'a>),
}

impl Begun<'_> {
    /// Completes the shots.
    pub fn end(self) -> All {
        match self {
            Self::Ended(all) => all,
            Self::Rest(rest) => rest(),
        }
    }
}

type Call<'a> = dyn FnMut(&[usize]) -> Begun<'a> + Send + 'a;

/// Computes shots, given their numbers.
pub struct Worker<'a>(Box<Call<'a>>);

impl<'a> Worker<'a> {
    /// A worker that computes all shots of a call at the same time.
    pub fn side_by_side(mut make: impl FnMut(&[usize]) -> All + Send + 'a) -> Self {
        Self(Box::new(move |numbers| Begun::Ended(make(numbers))))
    }

    /// A worker that leaves a part of its work to another thread.
    pub fn with_rest(make: impl FnMut(&[usize]) -> Begun<'a> + Send + 'a) -> Self {
        Self(Box::new(make))
    }
}

/// The workers of a rank.
pub struct Workers<'a> {
    /// All workers; worker number `k` begins with batch number `k`.
    pub all: Vec<Worker<'a>>,
    /// The number of shots that each of them computes at a time.
    pub batch: usize,
    /// Whether the workers compute further shots while the previous ones are written, even if there is only one worker
    /// and one rank.
    pub ahead: bool,
}

/// The number of shots that each worker computes at the same time, at most `most`, such that the shots are
/// spread evenly over the workers.
pub fn batch(shots: usize, workers: usize, most: usize) -> usize {
    let rounds = shots.div_ceil((workers * most).max(1)).max(1);
    shots.div_ceil(workers.max(1) * rounds).clamp(1, most.max(1))
}

/// The shots, or nodes of shots, of `todo` that this rank computes: the ranks take them in turn.
pub fn of_rank<S: Clone>(todo: &[S], world: &World) -> Vec<S> {
    let (rank, ranks) = (world.ranks().rank(), world.ranks().size());
    todo.iter().skip(rank).step_by(ranks).cloned().collect()
}

/// Computes the shots `todo` with the workers of all ranks; on rank 0 `take` gets all of them in order.
/// All ranks call it with the same `todo`. If `take` fails, it does not wait for the other ranks.
pub fn in_order(
    todo: &[usize],
    workers: Workers<'_>,
    world: &World,
    take: &mut dyn FnMut(usize, Outcome) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let own = of_rank(todo, world);
    make_all(&own, workers, world, &mut |make| {
        let mut place = 0..;
        let mut of = |_: &usize| make(place.next().unwrap_or_default());
        hand_on(todo, &mut of, world, &mut |number, outcome| {
            take(*number, outcome)
        })
    })
}

/// Sums shots: every rank adds the shots of its nodes of the tree ([`sum::nodes_of_ranks`]), and rank 0 receives the
/// nodes in order.
pub fn summed(
    nodes: &[Range<usize>],
    workers: Workers<'_>,
    world: &World,
    take: &mut dyn FnMut(&Range<usize>, Outcome) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let own: Vec<usize> = of_rank(nodes, world).into_iter().flatten().collect();
    make_all(&own, workers, world, &mut |make| {
        let mut place = 0..;
        let mut next = || make(place.next().unwrap_or_default());
        let mut of = |node: &Range<usize>| sum::of_node(node, &mut next);
        hand_on(nodes, &mut of, world, take)
    })
}

/// Computes these shots of this rank with its workers; `hand_on` requests them by their indices, from the
/// first to the last.
fn make_all(
    own: &[usize],
    mut workers: Workers<'_>,
    world: &World,
    hand_on: queue::HandOn<'_>,
) -> anyhow::Result<()> {
    // Shots run side by side on a GPU, which continues while the previous ones are written, and a rank
    // continues while its shots are sent to rank 0.
    let ahead = workers.ahead || workers.batch > 1 || workers.all.len() > 1 || !world.is_alone();
    if ahead {
        return side_by_side(own, workers, hand_on);
    }
    hand_on(&mut |place| {
        let worker = workers.all.first_mut();
        let all = worker.map(|worker| outcomes(attempt(worker, &own[place..=place]).end()));
        let outcome = all.and_then(|mut outcomes| outcomes.pop());
        outcome.unwrap_or_else(|| Outcome::Failed(anyhow!("there is no worker to compute it")))
    })
}

/// On rank 0, takes all of `todo` in order, its own shots from `make`. On another rank, sends its own
/// shots in order.
fn hand_on<S>(
    todo: &[S],
    make: &mut dyn FnMut(&S) -> Outcome,
    world: &World,
    take: &mut dyn FnMut(&S, Outcome) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (rank, ranks) = (world.ranks().rank(), world.ranks().size());
    for (k, one) in todo.iter().enumerate() {
        match (k % ranks, rank) {
            (0, 0) => take(one, make(one))?,
            (from, 0) => take(one, receive(world, from)?)?,
            (of, rank) if of == rank => {
                let outcome = make(one);
                let stopped = matches!(outcome, Outcome::Stopped(_));
                send(world, outcome)?;
                if stopped {
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The text of `plan=y` about `shots` shots, of which `todo` are to be computed by `groups` groups of this
/// rank, each with `batch` shots side by side. A shot takes `seconds` seconds, even while others run. All
/// ranks call it.
pub fn plan(
    (shots, todo): (usize, usize),
    (groups, batch, seconds): (usize, usize, f64),
    world: &World,
) -> anyhow::Result<String> {
    let own = (0..todo).skip(world.ranks().rank());
    let own = own.step_by(world.ranks().size()).len();
    let rounds = own.div_ceil(groups) as f64;
    let mine = [own.min(groups * batch) as u64, (rounds * seconds).to_bits()];
    let all = world.numbers(&mine)?;
    let number = |words: &Vec<u64>, k: usize| words.get(k).copied().unwrap_or_default();
    let together: u64 = all.iter().map(|words| number(words, 0)).sum();
    let longest = all.iter().map(|words| f64::from_bits(number(words, 1)));
    let longest = longest.fold(0.0, f64::max);
    let mut words = format!("there are {shots}");
    if todo < shots {
        words += &format!(", {} of them taken over from finished=", shots - todo);
    }
    if together > 1 {
        words += &format!(", {together} at a time");
    }
    Ok(words + &format!(", which takes about {longest:.1} s"))
}

/// Computes shots with a worker, unless a signal has come, which [`outcomes`] reports.
fn attempt<'a>(worker: &mut Worker<'a>, numbers: &[usize]) -> Begun<'a> {
    match rsf_io::interrupted() {
        Some(signal) => Begun::Ended(numbers.iter().map(|_| Err(anyhow!("{signal}"))).collect()),
        None => (worker.0)(numbers),
    }
}

/// The outcomes of shots.
fn outcomes(all: All) -> Vec<Outcome> {
    let outcome = |result| match (result, rsf_io::interrupted()) {
        (Ok(result), _) => Outcome::Done(result),
        (Err(_), Some(signal)) => Outcome::Stopped(signal),
        (Err(error), None) => Outcome::Failed(error),
    };
    all.into_iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::time::{Duration, Instant};

    /// A worker that takes longer for even shots, and fails at 5.
    fn worker<'a>() -> Worker<'a> {
        let one = |&number: &usize| {
            std::thread::sleep(Duration::from_millis(if number % 2 == 0 { 20 } else { 1 }));
            match number {
                5 => bail!("a fault"),
                _ => Ok(ShotResult {
                    values: vec![number as f32],
                    ..ShotResult::default()
                }),
            }
        };
        Worker::side_by_side(move |numbers| numbers.iter().map(one).collect())
    }

    fn of(all: Vec<Worker<'_>>, batch: usize) -> Workers<'_> {
        Workers {
            all,
            batch,
            ahead: false,
        }
    }

    /// Work that a worker leaves to another thread is done during the next shots, and all shots are taken in
    /// their order.
    #[test]
    fn the_rest_of_a_shot_is_done_beside_the_next_one() {
        use std::sync::mpsc::channel;
        let (begun, seen) = channel();
        let seen = std::sync::Mutex::new(seen);
        let seen = &seen;
        let worker = Worker::with_rest(move |numbers: &[usize]| {
            let number = numbers[0];
            // There is no shot before the first one.
            if number > 0 {
                begun.send(number).unwrap();
            }
            Begun::Rest(Box::new(move || {
                // The deferred part does not end before the next shot has begun.
                if number < 9 {
                    let next = seen.lock().unwrap().recv_timeout(Duration::from_secs(100));
                    assert_eq!(next, Ok(number + 1));
                }
                match number {
                    5 => vec![Err(anyhow!("a fault"))],
                    7 => panic!("the remaining part of a shot panics, as this test requires"),
                    _ => vec![Ok(ShotResult {
                        values: vec![number as f32],
                        ..ShotResult::default()
                    })],
                }
            }))
        });
        let workers = Workers {
            all: vec![worker],
            batch: 1,
            ahead: true,
        };
        let (todo, mut taken): (Vec<usize>, _) = ((0..10).collect(), Vec::new());
        in_order(&todo, workers, &World::alone(), &mut |number, outcome| {
            taken.push(match outcome {
                Outcome::Done(result) => result.values[0] as usize,
                Outcome::Failed(_) => number + 100,
                Outcome::Stopped(_) => 0,
            });
            Ok(())
        })
        .unwrap();
        assert_eq!(taken, [0, 1, 2, 3, 4, 105, 6, 107, 8, 9]);
    }

    /// If the remaining part of a batch panics, all of its shots fail for that reason, and the others are computed.
    #[test]
    fn a_rest_that_panics_ends_its_batch_alone() {
        let worker = Worker::with_rest(|numbers: &[usize]| {
            let numbers = numbers.to_vec();
            Begun::Rest(Box::new(move || match numbers.contains(&3) {
                true => panic!("the remaining part of a batch panics, as this test requires"),
                false => numbers.iter().map(|_| Ok(ShotResult::default())).collect(),
            }))
        });
        let mut failed = Vec::new();
        let mut take = |number: usize, outcome: Outcome| {
            if let Outcome::Failed(error) = outcome {
                failed.push((number, error.to_string()));
            }
            Ok(())
        };
        in_order(
            &[0, 1, 2, 3, 4, 5],
            of(vec![worker], 2),
            &World::alone(),
            &mut take,
        )
        .unwrap();
        let why = "the thread that ends it has ended early";
        assert_eq!(failed, [2, 3].map(|number| (number, why.to_string())));
    }

    /// Each shot is computed once, and not long before it is taken, because finished shots wait in memory.
    #[test]
    fn workers_run_ahead_by_a_few_shots_only() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let todo: Vec<usize> = (0..40).collect();
        for batch in [1, 2] {
            let computed = AtomicUsize::new(0);
            let worker = || {
                let one = |&number: &usize| {
                    computed.fetch_add(1, Ordering::SeqCst);
                    Ok(ShotResult {
                        values: vec![number as f32],
                        ..ShotResult::default()
                    })
                };
                Worker::side_by_side(move |numbers| numbers.iter().map(one).collect())
            };
            let (workers, mut most) = (vec![worker(), worker()], 0);
            let allowed = AHEAD * 2 * batch;
            let count = || computed.load(Ordering::SeqCst);
            in_order(
                &todo,
                of(workers, batch),
                &World::alone(),
                &mut |number, outcome| {
                    assert!(matches!(outcome, Outcome::Done(one) if one.values == [number as f32]));
                    // While the first shot is held, all shots that may be computed are computed.
                    let patience = Instant::now() + Duration::from_secs(100);
                    while number == 0 && count() < allowed && Instant::now() < patience {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    std::thread::sleep(Duration::from_millis(3));
                    most = most.max(count() - number);
                    Ok(())
                },
            )
            .unwrap();
            // A batch may begin within this number and end beyond it.
            let bound = allowed + batch - 1;
            assert!(
                (allowed..=bound).contains(&most),
                "{most} shots are made ahead, of {allowed} with batches of {batch}"
            );
            assert_eq!(computed.into_inner(), todo.len(), "batches of {batch}");
        }
    }

    #[test]
    fn plans_count_rounds() {
        let world = World::alone();
        for (counts, groups, expected) in [
            ((3, 3), 1, "there are 3, which takes about 6.0 s"),
            ((16, 16), 4, "there are 16, 4 at a time, which takes about 8.0 s"),
            (
                (16, 5),
                4,
                "there are 16, 11 of them taken over from finished=, 4 at a time, which takes about 4.0 s",
            ),
            (
                (3, 0),
                2,
                "there are 3, 3 of them taken over from finished=, which takes about 0.0 s",
            ),
        ] {
            assert_eq!(plan(counts, (groups, 1, 2.0), &world).unwrap(), expected);
        }
    }

    #[test]
    fn batches_are_of_like_size() {
        for (shots, workers, most, expected) in [
            (32, 1, 12, 11),
            (30, 1, 8, 8),
            (5, 1, 8, 5),
            (32, 4, 8, 8),
            (0, 1, 8, 1),
            (9, 2, 1, 1),
        ] {
            assert_eq!(batch(shots, workers, most), expected, "{shots} {workers} {most}");
        }
    }

    #[test]
    fn shots_are_taken_in_their_order() {
        let todo = [1, 2, 4, 5, 6, 7, 9, 11, 12, 14, 15, 16, 17, 18, 19, 21];
        for count in 1..5 {
            let mut taken = Vec::new();
            let mut take = |number: usize, outcome: Outcome| {
                taken.push(match outcome {
                    Outcome::Done(result) => result.values[0] as usize,
                    _ => number + 100,
                });
                Ok(())
            };
            for batch in [1, 3, 20] {
                let workers = (0..count).map(|_| worker()).collect();
                in_order(&todo, of(workers, batch), &World::alone(), &mut take).unwrap();
            }
            let expected = todo.map(|number| if number == 5 { 105 } else { number });
            assert_eq!(taken, expected.repeat(3), "{count} workers");
        }
        in_order(&[], of(Vec::new(), 1), &World::alone(), &mut |_, _| {
            bail!("none is there")
        })
        .unwrap();
    }

    #[test]
    fn a_shot_that_cannot_be_taken_ends_all() {
        for count in 1..4 {
            let mut taken = 0;
            let mut take = |number: usize, _: Outcome| {
                taken += 1;
                if number == 3 {
                    bail!("the disk is full");
                }
                Ok(())
            };
            let todo: Vec<usize> = (0..1000).collect();
            let workers = (0..count).map(|_| worker()).collect();
            let error = in_order(&todo, of(workers, 2), &World::alone(), &mut take).unwrap_err();
            assert_eq!((error.to_string().as_str(), taken), ("the disk is full", 4));
        }
    }
}
