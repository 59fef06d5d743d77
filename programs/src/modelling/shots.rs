//! Shots of a survey that several ranks make, and several groups of GPUs or threads in each of them; all are handed on in their order.

mod queue;

use super::world::{World, of_another};
use anyhow::{anyhow, bail};
use kernels::parallel::communicator::{PIECE, Topic};
use queue::{Make, side_by_side};
use rsf_io::Signal;

/// What was made of a shot.
#[derive(Debug, Default, PartialEq)]
pub struct Made {
    /// Its numbers.
    pub values: Vec<f32>,
    /// What else is to be known of it.
    pub words: Vec<u64>,
}

/// What became of a shot.
#[derive(Debug)]
pub enum Outcome {
    /// It is made.
    Made(Made),
    /// It failed.
    Failed(anyhow::Error),
    /// A signal ended it.
    Stopped(Signal),
}

/// What became of shots, in the order of the numbers that were given.
pub type All = Vec<anyhow::Result<Made>>;

type Call<'a> = dyn FnMut(&[usize]) -> All + Send + 'a;

/// Makes shots, whose numbers it gets.
pub struct Worker<'a>(Box<Call<'a>>);

impl<'a> Worker<'a> {
    /// One that makes all shots that it gets at the same time.
    pub fn side_by_side(make: impl FnMut(&[usize]) -> All + Send + 'a) -> Self {
        Self(Box::new(make))
    }
}

/// Shots that each of so many workers makes at the same time where it could make `most` of them, so that all have as many.
pub fn batch(shots: usize, workers: usize, most: usize) -> usize {
    let rounds = shots.div_ceil((workers * most).max(1)).max(1);
    shots.div_ceil(workers.max(1) * rounds).clamp(1, most.max(1))
}

/// The shots of `todo` that this rank makes: each rank the next one in turn.
pub fn of_rank(todo: &[usize], world: &World) -> Vec<usize> {
    let (rank, ranks) = (world.ranks().rank(), world.ranks().size());
    todo.iter().copied().skip(rank).step_by(ranks).collect()
}

/// Lets the `workers` of every rank make its shots of `todo`, and rank 0 `take` all of them in their order. All ranks call it with the
/// same `todo`; where `take` fails other ranks are not waited for. A worker makes `batch` shots at a time; worker number `k` begins with
/// batch number `k` of its rank.
pub fn in_order(
    todo: &[usize],
    (mut workers, batch): (Vec<Worker<'_>>, usize),
    world: &World,
    take: &mut dyn FnMut(usize, Outcome) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let own = of_rank(todo, world);
    let mut hand_on = |make: Make<'_>| match world.leads() {
        true => take_all(todo, make, world, take),
        false => send_all(own.len(), make, world),
    };
    match workers.as_mut_slice() {
        // Shots that run side by side do so on a GPU, which goes on while those before are written; and a rank goes on while its shots travel
        // to rank 0.
        [] | [_] if batch == 1 && world.is_alone() => hand_on(&mut |place| {
            let made = workers
                .first_mut()
                .map(|worker| attempt(worker, &own[place..=place]));
            let made = made.and_then(|mut outcomes| outcomes.pop());
            made.unwrap_or_else(|| Outcome::Failed(anyhow!("nobody is there to make it")))
        }),
        _ => side_by_side(&own, (workers, batch), &mut hand_on),
    }
}

/// On rank 0: takes all shots in their order; `make` gives its own ones, by their place among them.
fn take_all(
    todo: &[usize],
    make: Make<'_>,
    world: &World,
    take: &mut dyn FnMut(usize, Outcome) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let ranks = world.ranks().size();
    for (k, &number) in todo.iter().enumerate() {
        let outcome = match k % ranks {
            0 => make(k / ranks),
            from => receive(world, from)?,
        };
        take(number, outcome)?;
    }
    Ok(())
}

/// On another rank: sends its shots, of which it has so many, in their order.
fn send_all(count: usize, make: Make<'_>, world: &World) -> anyhow::Result<()> {
    for place in 0..count {
        let outcome = make(place);
        let stopped = matches!(outcome, Outcome::Stopped(_));
        send(world, outcome)?;
        if stopped {
            break;
        }
    }
    Ok(())
}

/// What `plan=y` says of so many shots, of which so many are to be made by so many groups of this rank, each so many side by side; one
/// of them takes so many seconds, also among others. All ranks call it.
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
        words += &format!(", {} of them taken over from resume=", shots - todo);
    }
    if together > 1 {
        words += &format!(", {together} at a time");
    }
    Ok(words + &format!(", which takes about {longest:.1} s"))
}

/// Makes shots, unless a signal has come.
fn attempt(worker: &mut Worker<'_>, numbers: &[usize]) -> Vec<Outcome> {
    if let Some(signal) = rsf_io::interrupted() {
        return numbers.iter().map(|_| Outcome::Stopped(signal)).collect();
    }
    let all = (worker.0)(numbers).into_iter();
    let outcome = |made| match (made, rsf_io::interrupted()) {
        (Ok(made), _) => Outcome::Made(made),
        (Err(_), Some(signal)) => Outcome::Stopped(signal),
        (Err(error), None) => Outcome::Failed(error),
    };
    all.map(outcome).collect()
}

/// Sends what became of a shot to rank 0, in messages that say whether another one follows.
fn send(world: &World, outcome: Outcome) -> anyhow::Result<()> {
    let bytes = to_bytes(outcome, &world.name());
    let last = bytes.len().div_ceil(PIECE) - 1;
    for (k, piece) in bytes.chunks(PIECE).enumerate() {
        let message = [&[u8::from(k < last)], piece].concat();
        world.ranks().send_to_root(Topic::Traces, message)?;
    }
    Ok(world.ranks().flush()?)
}

/// On rank 0: what became of the next shot of another rank.
fn receive(world: &World, from: usize) -> anyhow::Result<Outcome> {
    let mut bytes = Vec::new();
    loop {
        let message = world.ranks().receive_from(Topic::Traces, from)?;
        let Some((&more, piece)) = message.split_first() else {
            break;
        };
        bytes.extend_from_slice(piece);
        if more == 0 {
            break;
        }
    }
    match from_bytes(&bytes) {
        Some(outcome) => Ok(outcome),
        None => bail!("ranks do not understand each other"),
    }
}

/// Of `name`, the rank.
fn to_bytes(outcome: Outcome, name: &str) -> Vec<u8> {
    match outcome {
        Outcome::Made(Made { values, words }) => {
            let mut bytes = vec![0];
            bytes.extend((words.len() as u64).to_le_bytes());
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend_from_slice(bytemuck::cast_slice(&values));
            bytes
        }
        Outcome::Failed(error) => format!("\u{1}{name}: {error:#}").into_bytes(),
        Outcome::Stopped(signal) => vec![2, signal.number()],
    }
}

/// What [`to_bytes`] wrote.
fn from_bytes(bytes: &[u8]) -> Option<Outcome> {
    let (&kind, rest) = bytes.split_first()?;
    Some(match kind {
        0 => {
            let (count, rest) = rest.split_first_chunk::<8>()?;
            let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
            let (words, values) = rest.split_at_checked(count.checked_mul(8)?)?;
            let words = words.as_chunks::<8>().0.iter();
            Outcome::Made(Made {
                values: bytemuck::pod_collect_to_vec(values),
                words: words.map(|&word| u64::from_le_bytes(word)).collect(),
            })
        }
        1 => Outcome::Failed(of_another(String::from_utf8_lossy(rest).into_owned())),
        _ => Outcome::Stopped(Signal::of(*rest.first()?)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn outcomes_travel_as_bytes() {
        let made = Made {
            values: vec![1.5, -0.0, f32::MIN_POSITIVE],
            words: vec![7, u64::MAX],
        };
        let bytes = to_bytes(
            Outcome::Made(Made {
                values: made.values.clone(),
                words: made.words.clone(),
            }),
            "rank 1",
        );
        assert!(matches!(from_bytes(&bytes), Some(Outcome::Made(found)) if found == made));
        let none = to_bytes(Outcome::Made(Made::default()), "rank 1");
        assert!(matches!(from_bytes(&none), Some(Outcome::Made(found)) if found == Made::default()));
        let failed = to_bytes(Outcome::Failed(anyhow!("not finite")), "rank 1 on a");
        let Some(Outcome::Failed(error)) = from_bytes(&failed) else {
            panic!("another outcome");
        };
        assert_eq!(error.to_string(), "rank 1 on a: not finite");
        let signal = Signal::of(15).unwrap();
        let stopped = to_bytes(Outcome::Stopped(signal), "rank 1");
        assert!(matches!(from_bytes(&stopped), Some(Outcome::Stopped(found)) if found == signal));
        for damaged in [&[][..], &[0, 1], &[0, 9, 0, 0, 0, 0, 0, 0, 0, 1], &[2], &[2, 9]] {
            assert!(from_bytes(damaged).is_none(), "{damaged:?}");
        }
    }

    /// A worker that takes longer for even shots, and fails at 5.
    fn worker<'a>() -> Worker<'a> {
        let one = |&number: &usize| {
            std::thread::sleep(Duration::from_millis(if number % 2 == 0 { 20 } else { 1 }));
            match number {
                5 => bail!("a fault"),
                _ => Ok(Made {
                    values: vec![number as f32],
                    words: Vec::new(),
                }),
            }
        };
        Worker::side_by_side(move |numbers| numbers.iter().map(one).collect())
    }

    /// Each shot is made once, and not long before it is taken: what was made waits in memory.
    #[test]
    fn workers_run_ahead_by_a_few_shots_only() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let todo: Vec<usize> = (0..40).collect();
        for batch in [1, 2] {
            let made = AtomicUsize::new(0);
            let worker = || {
                let one = |&number: &usize| {
                    made.fetch_add(1, Ordering::SeqCst);
                    Ok(Made {
                        values: vec![number as f32],
                        words: Vec::new(),
                    })
                };
                Worker::side_by_side(move |numbers| numbers.iter().map(one).collect())
            };
            let (workers, mut most) = (vec![worker(), worker()], 0);
            in_order(
                &todo,
                (workers, batch),
                &World::alone(),
                &mut |number, outcome| {
                    assert!(matches!(outcome, Outcome::Made(one) if one.values == [number as f32]));
                    std::thread::sleep(Duration::from_millis(3));
                    most = most.max(made.load(Ordering::SeqCst) - number);
                    Ok(())
                },
            )
            .unwrap();
            let bound = queue::AHEAD * 2 * batch + batch;
            assert!(
                most <= bound,
                "{most} shots are made ahead, of {bound} with batches of {batch}"
            );
            assert_eq!(made.into_inner(), todo.len(), "batches of {batch}");
        }
    }

    #[test]
    fn plans_count_rounds() {
        let world = World::alone();
        for (counts, groups, wanted) in [
            ((3, 3), 1, "there are 3, which takes about 6.0 s"),
            ((16, 16), 4, "there are 16, 4 at a time, which takes about 8.0 s"),
            (
                (16, 5),
                4,
                "there are 16, 11 of them taken over from resume=, 4 at a time, which takes about 4.0 s",
            ),
            (
                (3, 0),
                2,
                "there are 3, 3 of them taken over from resume=, which takes about 0.0 s",
            ),
        ] {
            assert_eq!(plan(counts, (groups, 1, 2.0), &world).unwrap(), wanted);
        }
    }

    #[test]
    fn batches_are_of_like_size() {
        for (shots, workers, most, wanted) in [
            (32, 1, 12, 11),
            (30, 1, 8, 8),
            (5, 1, 8, 5),
            (32, 4, 8, 8),
            (0, 1, 8, 1),
            (9, 2, 1, 1),
        ] {
            assert_eq!(batch(shots, workers, most), wanted, "{shots} {workers} {most}");
        }
    }

    #[test]
    fn shots_are_taken_in_their_order() {
        let todo = [1, 2, 4, 5, 6, 7, 9, 11, 12, 14, 15, 16, 17, 18, 19, 21];
        for count in 1..5 {
            let mut taken = Vec::new();
            let mut take = |number: usize, outcome: Outcome| {
                taken.push(match outcome {
                    Outcome::Made(made) => made.values[0] as usize,
                    _ => number + 100,
                });
                Ok(())
            };
            for batch in [1, 3, 20] {
                let workers = (0..count).map(|_| worker()).collect();
                in_order(&todo, (workers, batch), &World::alone(), &mut take).unwrap();
            }
            let wanted = todo.map(|number| if number == 5 { 105 } else { number });
            assert_eq!(taken, wanted.repeat(3), "{count} workers");
        }
        in_order(&[], (Vec::new(), 1), &World::alone(), &mut |_, _| {
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
            let error = in_order(&todo, (workers, 2), &World::alone(), &mut take).unwrap_err();
            assert_eq!((error.to_string().as_str(), taken), ("the disk is full", 4));
        }
    }
}
