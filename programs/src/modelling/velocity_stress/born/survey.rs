//! Surveys of linearised shots: all stations of all ranks make the shots, and rank 0 takes each of them, or their sums.

use super::stations::{Station, Work};
use crate::modelling::shots::sum::nodes_of_ranks;
use crate::modelling::shots::{self, Made, Outcome, Worker, Workers};
use crate::modelling::world::World;
use anyhow::bail;
use kernels::parallel::communicator::Alone;
use std::ops::Range;

/// The shots that a survey still has to make.
#[derive(Clone, Copy)]
pub struct Shots<'a> {
    /// The number of the first one.
    pub first: usize,
    /// The number behind the last one.
    pub end: usize,
    /// The ranks that make them.
    pub world: &'a World,
}

/// Lets all stations of all ranks make shots, and rank 0 `take` them in their order.
pub fn each(
    stations: Vec<Station>,
    shots: Shots<'_>,
    work: Work<'_>,
    take: &mut dyn FnMut(usize, Made) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let todo: Vec<usize> = (shots.first..shots.end).collect();
    let mut take = |number: usize, mut made: Made| {
        made.words.pop();
        take(number, made)
    };
    if stations.first().is_some_and(|station| station.shared) {
        return shared(stations, shots, work, &mut take);
    }
    let workers = workers(stations, shots::of_rank(&todo, shots.world).len(), work);
    let taken = shots::in_order(&todo, workers, shots.world, &mut |number, outcome| {
        take(number, made(outcome)?)
    });
    // The other ranks do not know of it.
    taken.map_err(|error| shots.world.fail(error))
}

/// Lets all stations of all ranks make shots and add them up by the tree of their numbers, and rank 0 `take` its nodes of at most `most` shots in
/// their order: the sum of their values, and what belongs to each of their shots. How far waves have drifted that ran backwards, on rank 0.
pub fn sum(
    stations: Vec<Station>,
    (shots, most): (Shots<'_>, usize),
    work: Work<'_>,
    take: &mut dyn FnMut(Node) -> anyhow::Result<()>,
) -> anyhow::Result<Option<f64>> {
    let (mut drifted, world) = (None, shots.world);
    let mut take = |node: &Range<usize>, made: Made| {
        let node = Node::new(node.clone(), made);
        drifted = node
            .drifts
            .iter()
            .fold(drifted, |known, &drift| larger(known, drift));
        take(node)
    };
    if stations.first().is_some_and(|station| station.shared) {
        shared(stations, shots, work, &mut |number, made| {
            take(&(number..number + 1), made)
        })?;
        return Ok(drifted);
    }
    let nodes = nodes_of_ranks(shots.first..shots.end, most, world);
    let own = shots::of_rank(&nodes, world).iter().map(Range::len).sum();
    let workers = workers(stations, own, work);
    let taken = shots::summed(&nodes, workers, world, &mut |node, outcome| {
        take(node, made(outcome)?)
    });
    match taken {
        Ok(()) => Ok(drifted),
        // The other ranks do not know of it.
        Err(error) => Err(world.fail(error)),
    }
}

/// The sum of some shots.
pub struct Node {
    /// Their numbers.
    pub shots: Range<usize>,
    /// The sum of their values.
    pub sum: Vec<f32>,
    /// What belongs to each of them: numbers and words.
    pub of_shots: Vec<(Vec<f32>, Vec<u64>)>,
    drifts: Vec<f64>,
}

impl Node {
    /// Of what is made of these shots, which have as many numbers and words each; their last word is how far waves drifted.
    fn new(shots: Range<usize>, made: Made) -> Self {
        let (numbers, words) = (made.own.len() / shots.len(), made.words.len() / shots.len());
        let (mut of_shots, mut drifts) = (Vec::new(), Vec::new());
        for k in 0..shots.len() {
            let mut words = made.words[k * words..(k + 1) * words].to_vec();
            drifts.extend(words.pop().map(f64::from_bits));
            of_shots.push((made.own[k * numbers..(k + 1) * numbers].to_vec(), words));
        }
        Self {
            shots,
            sum: made.values,
            of_shots,
            drifts,
        }
    }
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
    shots: Shots<'_>,
    work: Work<'_>,
    take: &mut dyn FnMut(usize, Made) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut station, world) = (stations.remove(0), shots.world);
    for number in shots.first..shots.end {
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
