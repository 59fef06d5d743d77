//! Surveys of linearised shots: all stations of all ranks make the shots, and rank 0 takes each of them, or their sums.

use super::kept::{Kept, Summed};
use super::stations::{Station, Work};
use crate::modelling::shots::sum::nodes_of_ranks;
use crate::modelling::shots::{self, Made, Outcome, Worker, Workers};
use crate::modelling::world::World;
use anyhow::bail;
use kernels::parallel::communicator::Alone;
use std::ops::Range;

/// Lets all stations of all ranks make shots, and rank 0 `take` them in their order.
pub fn each(
    stations: Vec<Station>,
    (shots, world): (Range<usize>, &World),
    work: Work<'_>,
    take: &mut dyn FnMut(usize, Made) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if stations.first().is_some_and(|station| station.shared) {
        return shared(stations, (shots, world), work, take);
    }
    let todo: Vec<usize> = shots.collect();
    let workers = workers(stations, shots::of_rank(&todo, world).len(), work);
    let taken = shots::in_order(&todo, workers, world, &mut |number, outcome| {
        take(number, made(outcome)?)
    });
    // The other ranks do not know of it.
    taken.map_err(|error| world.fail(error))
}

/// Lets all stations of all ranks make the shots that a survey still has to make and add them up by the tree of their numbers, and rank 0 take
/// the sums, with a state behind them where one is due. Returns on rank 0 how far waves have drifted that ran backwards.
pub fn sum(
    stations: Vec<Station>,
    (kept, found): (&mut Kept, &mut dyn Summed),
    world: &World,
    work: Work<'_>,
) -> anyhow::Result<Option<f64>> {
    let (shots, most) = (kept.todo(), kept.most_together());
    let mut drifted = None;
    let mut take = |node: &Range<usize>, made: Made| {
        let [numbers, words] = [made.own.len(), made.words.len()].map(|len| len / node.len());
        for (k, shot) in node.clone().enumerate() {
            let own = &made.own[k * numbers..(k + 1) * numbers];
            let words = &made.words[k * words..(k + 1) * words];
            if let Some((drift, words)) = words.split_last() {
                drifted = larger(drifted, f64::from_bits(*drift));
                found.note(shot, own, words);
            }
        }
        found.stack().add(node.clone(), made.values);
        kept.behind(node, None, found.sums())
    };
    if stations.first().is_some_and(|station| station.shared) {
        let mut take = |number: usize, made: Made| take(&(number..number + 1), made);
        shared(stations, (shots, world), work, &mut take)?;
        return Ok(drifted);
    }
    let nodes = nodes_of_ranks(shots, most, world);
    let own = shots::of_rank(&nodes, world).iter().map(Range::len).sum();
    let workers = workers(stations, own, work);
    let taken = shots::summed(&nodes, workers, world, &mut |node, outcome| {
        take(node, made(outcome)?)
    });
    // The other ranks do not know of it.
    taken.map_err(|error| world.fail(error))?;
    Ok(drifted)
}

/// Workers at the stations of a rank that makes so many shots.
fn workers<'a>(mut stations: Vec<Station>, own: usize, work: Work<'a>) -> Workers<'a> {
    stations.truncate(own);
    let most = room_of_all(stations.iter().map(Station::side_by_side));
    let batch = shots::batch(own, stations.len(), most);
    let ahead = stations.iter().any(Station::on_gpu);
    let worker = |mut station: Station| -> Worker<'a> {
        Worker::with_rest(move |numbers| station.make(numbers, work, &Alone))
    };
    Workers {
        all: stations.into_iter().map(worker).collect(),
        batch,
        ahead,
    }
}

/// What was made, or why it was not.
fn made(outcome: Outcome) -> anyhow::Result<Made> {
    match outcome {
        Outcome::Made(made) => Ok(made),
        Outcome::Failed(error) => Err(error),
        Outcome::Stopped(signal) => bail!("{signal} has ended the run"),
    }
}

/// Lets all ranks make shots that they share, one by one, and rank 0 take them.
fn shared(
    mut stations: Vec<Station>,
    (shots, world): (Range<usize>, &World),
    work: Work<'_>,
    take: &mut dyn FnMut(usize, Made) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut station = stations.remove(0);
    for number in shots {
        for made in station.make(&[number], work, world.ranks()).end() {
            let taken = made.and_then(|made| if world.leads() { take(number, made) } else { Ok(()) });
            // The other ranks do not know of it.
            taken.map_err(|error| world.fail(error))?;
        }
    }
    Ok(())
}

/// Shots that run side by side on every station, of which one may have less room than the others.
fn room_of_all(rooms: impl Iterator<Item = usize>) -> usize {
    rooms.min().unwrap_or(1)
}

/// What an attempt makes of shots side by side; where it fails with several of them, of one after the other.
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

/// The larger of what is known and the drift of one more shot, which is no number where no waves ran backwards.
fn larger(known: Option<f64>, drift: f64) -> Option<f64> {
    match drift.is_nan() {
        true => known,
        false => Some(known.map_or(drift, |known| known.max(drift))),
    }
}

#[cfg(test)]
mod tests {
    use super::{larger, or_one_by_one, room_of_all};

    #[test]
    fn the_station_with_the_least_room_says_how_many_shots_run_side_by_side() {
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
        let wanted: [&[usize]; 6] = [&[4, 7, 9], &[4], &[7], &[9], &[7], &[2, 3]];
        assert_eq!(tried, wanted);
    }

    #[test]
    fn the_drift_of_a_survey_is_that_of_its_worst_shot() {
        let of = |drifts: &[f64]| drifts.iter().fold(None, |known, &drift| larger(known, drift));
        assert_eq!(of(&[2e-6, f64::NAN, 3e-6, 1e-6]), Some(3e-6));
        assert_eq!(of(&[f64::NAN, 0.0]), Some(0.0));
        assert_eq!(of(&[f64::NAN]), None);
    }
}
