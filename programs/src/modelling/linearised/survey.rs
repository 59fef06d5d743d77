//! Surveys of linearised shots: the workers of all ranks compute the shots, and rank 0 receives each shot, or the sums.

use super::kept::{Kept, Summed};
use crate::modelling::shots::sum::nodes_of_ranks;
use crate::modelling::shots::{self, Begun, Outcome, ShotResult, Worker, Workers};
use crate::modelling::world::World;
use anyhow::bail;
use std::ops::Range;

/// The way in which a rank computes its shots. The last word of each result is the drift of waves that were
/// run backwards, as the bits of an `f64`; it is NaN if none were.
pub enum Stations<'a> {
    /// Workers that compute whole shots, and the number of shots that each can compute side by side.
    Own {
        /// The workers.
        all: Vec<(Worker<'a>, usize)>,
        /// Whether steps run on GPUs, so that the processors are idle at that time.
        on_gpu: bool,
    },
    /// A function that computes a shot together with all other ranks.
    Shared(Box<dyn FnMut(usize) -> Begun<'a> + 'a>),
}

/// Computes shots with the workers of all ranks; on rank 0 `take` receives them in order.
pub fn each(
    stations: Stations<'_>,
    (shots, world): (Range<usize>, &World),
    take: &mut dyn FnMut(usize, ShotResult) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (all, on_gpu) = match stations {
        Stations::Shared(make) => return shared(make, (shots, world), take),
        Stations::Own { all, on_gpu } => (all, on_gpu),
    };
    let todo: Vec<usize> = shots.collect();
    let workers = workers((all, on_gpu), shots::of_rank(&todo, world).len());
    let taken = shots::in_order(&todo, workers, world, &mut |number, outcome| {
        take(number, result(outcome)?)
    });
    // The other ranks are not aware of the error.
    taken.map_err(|error| world.fail(error))
}

/// Computes the remaining shots of a survey with the workers of all ranks and adds them in the tree of their numbers;
/// rank 0 receives the sums and then saves a state if one is due. Returns, on rank 0, the drift of waves that were run
/// backwards.
pub fn sum(
    stations: Stations<'_>,
    (kept, total): (&mut Kept, &mut dyn Summed),
    world: &World,
) -> anyhow::Result<Option<f64>> {
    let (shots, most) = (kept.todo(), kept.most_together());
    let mut drifted = None;
    let mut take = |node: &Range<usize>, result: ShotResult| {
        let [numbers, words] = [result.own.len(), result.words.len()].map(|len| len / node.len());
        for (k, shot) in node.clone().enumerate() {
            let own = &result.own[k * numbers..(k + 1) * numbers];
            let words = &result.words[k * words..(k + 1) * words];
            if let Some((drift, words)) = words.split_last() {
                drifted = larger(drifted, f64::from_bits(*drift));
                total.note(shot, own, words);
            }
        }
        total.stack().add(node.clone(), result.values);
        kept.behind(node, None, total.sums())
    };
    let (all, on_gpu) = match stations {
        Stations::Shared(make) => {
            let mut take = |number: usize, result: ShotResult| take(&(number..number + 1), result);
            shared(make, (shots, world), &mut take)?;
            return Ok(drifted);
        }
        Stations::Own { all, on_gpu } => (all, on_gpu),
    };
    let nodes = nodes_of_ranks(shots, most, world);
    let own = shots::of_rank(&nodes, world).iter().map(Range::len).sum();
    let taken = shots::summed(
        &nodes,
        workers((all, on_gpu), own),
        world,
        &mut |node, outcome| take(node, result(outcome)?),
    );
    // The other ranks do not know of the error.
    taken.map_err(|error| world.fail(error))?;
    Ok(drifted)
}

/// The workers of a rank that computes `own` shots.
fn workers<'a>((mut all, ahead): (Vec<(Worker<'a>, usize)>, bool), own: usize) -> Workers<'a> {
    all.truncate(own);
    let most = room_of_all(all.iter().map(|(_, side_by_side)| *side_by_side));
    Workers {
        batch: shots::batch(own, all.len(), most),
        all: all.into_iter().map(|(worker, _)| worker).collect(),
        ahead,
    }
}

/// The result of a shot, or the reason why there is none.
fn result(outcome: Outcome) -> anyhow::Result<ShotResult> {
    match outcome {
        Outcome::Done(result) => Ok(result),
        Outcome::Failed(error) => Err(error),
        Outcome::Stopped(signal) => bail!("{signal} has ended the run"),
    }
}

/// Computes shots that all ranks share, one by one; on rank 0 `take` receives them.
fn shared<'a>(
    mut make: Box<dyn FnMut(usize) -> Begun<'a> + 'a>,
    (shots, world): (Range<usize>, &World),
    take: &mut dyn FnMut(usize, ShotResult) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for number in shots {
        for result in make(number).end() {
            let taken = result.and_then(|result| {
                if world.leads() {
                    take(number, result)
                } else {
                    Ok(())
                }
            });
            // The other ranks do not know of the error.
            taken.map_err(|error| world.fail(error))?;
        }
    }
    Ok(())
}

/// The number of shots that run side by side on every worker: the number for the worker with the least memory.
fn room_of_all(rooms: impl Iterator<Item = usize>) -> usize {
    rooms.min().unwrap_or(1)
}

/// Attempts shots side by side; if that fails for several of them, attempts them one after another.
pub fn or_one_by_one<R>(
    numbers: &[usize],
    attempt: &mut dyn FnMut(&[usize]) -> anyhow::Result<R>,
) -> Vec<anyhow::Result<R>> {
    match attempt(numbers) {
        Err(_) if numbers.len() > 1 => {
            let one = |number: &usize| attempt(std::slice::from_ref(number));
            numbers.iter().map(one).collect()
        }
        begun => vec![begun],
    }
}

/// The larger of the known drift and the drift of one more shot, which is NaN if no waves were run backwards.
fn larger(known: Option<f64>, drift: f64) -> Option<f64> {
    match drift.is_nan() {
        true => known,
        false => Some(known.map_or(drift, |known| known.max(drift))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Stations, each, larger, or_one_by_one, room_of_all, workers};
    use crate::modelling::shots::{Begun, ShotResult, Worker};
    use crate::modelling::world::members::answers;

    #[test]
    fn the_station_with_the_least_room_determines_how_many_shots_run_side_by_side() {
        assert_eq!(room_of_all([4, 2, 3].into_iter()), 2);
        assert_eq!(room_of_all(std::iter::empty()), 1);
    }

    #[test]
    fn a_shot_that_fails_beside_others_takes_none_of_them_along() {
        let mut tried = Vec::new();
        let mut attempt = |numbers: &[usize]| {
            tried.push(numbers.to_vec());
            anyhow::ensure!(!numbers.contains(&7), "no memory");
            Ok(numbers.to_vec())
        };
        let begun = |all: Vec<anyhow::Result<Vec<usize>>>| -> Vec<Option<Vec<usize>>> {
            all.into_iter().map(Result::ok).collect()
        };
        let all = begun(or_one_by_one(&[4, 7, 9], &mut attempt));
        assert_eq!(all, [Some(vec![4]), None, Some(vec![9])]);
        assert_eq!(begun(or_one_by_one(&[7], &mut attempt)), [None]);
        assert_eq!(begun(or_one_by_one(&[2, 3], &mut attempt)), [Some(vec![2, 3])]);
        let expected: [&[usize]; 6] = [&[4, 7, 9], &[4], &[7], &[9], &[7], &[2, 3]];
        assert_eq!(tried, expected);
    }

    #[test]
    fn the_drift_of_a_survey_is_that_of_its_worst_shot() {
        let of = |drifts: &[f64]| drifts.iter().fold(None, |known, &drift| larger(known, drift));
        assert_eq!(of(&[2e-6, f64::NAN, 3e-6, 1e-6]), Some(3e-6));
        assert_eq!(of(&[f64::NAN, 0.0]), Some(0.0));
        assert_eq!(of(&[f64::NAN]), None);
    }

    /// There are at most as many stations as shots, and every station computes as many shots at a time as the station
    /// with the least memory.
    #[test]
    fn stations_share_the_shots_of_a_rank_evenly() {
        let of = |rooms: &[usize], own: usize| {
            let all = rooms.iter().map(|&room| {
                let worker = Worker::side_by_side(|_| Vec::new());
                (worker, room)
            });
            let own_workers = workers((all.collect(), own == 7), own);
            (own_workers.all.len(), own_workers.batch, own_workers.ahead)
        };
        // Three stations with two shots each compute seven shots in two rounds.
        assert_eq!(of(&[4, 2, 3], 7), (3, 2, true));
        // The last station has no work, so its small memory does not matter.
        assert_eq!(of(&[4, 4, 1], 2), (2, 1, false));
        assert_eq!(of(&[4, 4, 1], 8), (3, 1, false));
        assert_eq!(of(&[16], 12), (1, 12, false));
        assert_eq!(of(&[16], 30), (1, 15, false));
        assert_eq!(of(&[4], 0), (0, 1, false));
    }

    /// All ranks compute a shot that they share, and only rank 0 receives it, in the order of the shots.
    #[test]
    fn shots_that_ranks_share_are_taken_once() {
        let all = answers(&["a", "b"], |world| {
            let (mut created, mut taken) = (Vec::new(), Vec::new());
            let make = |number: usize| {
                created.push(number);
                let values = vec![number as f32; 2];
                Begun::Ended(vec![Ok(ShotResult {
                    values,
                    ..ShotResult::default()
                })])
            };
            let done = each(
                Stations::Shared(Box::new(make)),
                (3..6, world),
                &mut |number, result| {
                    taken.push((number, result.values));
                    Ok(())
                },
            );
            done.unwrap();
            (created, taken)
        });
        let values = [3, 4, 5].map(|number| (number, vec![number as f32; 2]));
        assert_eq!(all[0], (vec![3, 4, 5], values.to_vec()));
        assert_eq!(all[1], (vec![3, 4, 5], Vec::new()));
    }
}
