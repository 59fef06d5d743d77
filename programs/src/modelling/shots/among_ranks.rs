//! Shots that ranks on several hosts compute, and the messages that they send to rank 0.

use super::sum::{most_nodes, nodes_of_ranks};
use super::{Outcome, ShotResult, Worker, Workers, in_order, of_rank, plan, summed};
use crate::modelling::world::World;
use crate::modelling::world::members::{answers, meet};
use anyhow::{anyhow, bail};
use kernels::communicator::PIECE;
use rsf_io::Signal;
use std::ops::Range;

/// One worker, one shot at a time.
fn worker<'a>(make: impl Fn(usize) -> anyhow::Result<ShotResult> + Send + 'a) -> Workers<'a> {
    Workers {
        all: vec![Worker::side_by_side(move |numbers| {
            numbers.iter().map(|&number| make(number)).collect()
        })],
        batch: 1,
        ahead: false,
    }
}

fn shot(number: usize, values: Vec<f32>) -> ShotResult {
    ShotResult {
        values,
        own: vec![0.5 + number as f32],
        words: vec![number as u64, 1 << 40],
    }
}

/// Rank 0 takes all shots in order, each from the rank whose turn it was.
#[test]
fn shots_of_ranks_come_in_their_order() {
    let todo = [3, 4, 6, 7, 9, 10, 11];
    let all = answers(&["b", "a", "b"], |world| {
        let rank = world.ranks().rank();
        let mut taken = Vec::new();
        let workers = worker(move |number| match number {
            7 | 9 => bail!("fault in {number}"),
            _ => Ok(shot(number, vec![rank as f32; number])),
        });
        in_order(&todo, workers, world, &mut |number, outcome| {
            taken.push(match outcome {
                Outcome::Done(result) => {
                    assert_eq!(result, shot(number, vec![result.values[0]; number]));
                    (number, format!("{}", result.values[0]))
                }
                Outcome::Failed(error) => (number, format!("{error:#}")),
                Outcome::Stopped(signal) => (number, format!("{signal}")),
            });
            Ok(())
        })
        .unwrap();
        (taken, of_rank(&todo, world))
    });
    let expected = [
        (3, "0"),
        (4, "1"),
        (6, "2"),
        (7, "fault in 7"),
        (9, "rank 1 on a: fault in 9"),
        (10, "2"),
        (11, "0"),
    ];
    assert_eq!(
        all[0].0,
        expected.map(|(number, text)| (number, text.to_string()))
    );
    assert!(all[1].0.is_empty() && all[2].0.is_empty());
    let own: Vec<_> = all.iter().map(|(_, own)| own.clone()).collect();
    assert_eq!(own, [vec![3, 7, 11], vec![4, 9], vec![6, 10]]);
}

/// A long shot is sent in pieces of a fixed size and a remainder, after a message with their number; its rank
/// waits until all of it is sent.
#[test]
fn long_shots_travel_in_pieces_and_are_waited_for() {
    let numbers = 2 * PIECE / 4 + 3;
    let value = |k: usize| (k % 1021) as f32;
    let met = meet(&["a", "b"], |world| {
        let workers = worker(|number| {
            Ok(match number {
                0 => shot(0, vec![1.0]),
                _ => shot(number, (0..numbers * (number % 2)).map(value).collect()),
            })
        });
        let mut results = Vec::new();
        in_order(&[0, 1, 2, 4], workers, world, &mut |number, outcome| {
            let Outcome::Done(result) = outcome else {
                bail!("shot {number} is not made");
            };
            let wrong = result.values.iter().enumerate();
            let wrong = wrong.filter(|(k, x)| number > 0 && **x != value(*k)).count();
            results.push((number, result.values.len(), wrong, result.own, result.words));
            Ok(())
        })
        .unwrap();
        results
    });
    let of = |number: usize, len: usize| {
        let result = shot(number, Vec::new());
        (number, len, 0, result.own, result.words)
    };
    assert_eq!(met.answers[0], [of(0, 1), of(1, numbers), of(2, 0), of(4, 0)]);
    // A byte, three lengths, two words and one number that belongs only to this shot come first.
    let head = Some(1 + 8 * (3 + 2) + 4);
    let expected = [head, Some(PIECE), Some(PIECE), Some(12), None, head, None];
    assert_eq!(met.sent, [vec![], expected.to_vec()]);
}

/// A rank that a signal has stopped sends nothing more, and rank 0 learns of the signal.
#[test]
fn a_signal_on_another_rank_ends_the_shots() {
    let signal = Signal::of(2).unwrap();
    let all = answers(&["a", "b"], |world| {
        let mut taken = Vec::new();
        let mut make = |number: &usize| match number {
            3 => Outcome::Stopped(signal),
            _ => Outcome::Done(shot(*number, Vec::new())),
        };
        let ended = super::hand_on(&[0, 1, 2, 3, 4, 5], &mut make, world, &mut |number, outcome| {
            taken.push(*number);
            match outcome {
                Outcome::Stopped(cause) => Err(anyhow!("{cause}")),
                _ => Ok(()),
            }
        });
        (taken, ended.map_err(|error| error.to_string()))
    });
    assert_eq!(all[0], (vec![0, 1, 2, 3], Err(signal.to_string())));
    assert_eq!(all[1], (vec![], Ok(())));
}

/// Ranks take the largest nodes of the tree with which no rank has more shots than with single shots.
#[test]
fn nodes_are_as_large_as_the_ranks_allow() {
    let lens = |hosts: &[&str], shots: Range<usize>, most: usize| {
        let mut all = answers(hosts, |world| nodes_of_ranks(shots.clone(), most, world));
        let first = all.swap_remove(0);
        assert!(
            all.iter().all(|other| *other == first),
            "all ranks must have the same nodes"
        );
        let mut from = shots.start;
        for node in &first {
            assert_eq!(node.start, from);
            from = node.end;
        }
        assert_eq!(from, shots.end);
        first.iter().map(Range::len).collect::<Vec<_>>()
    };
    let two = ["a", "b"];
    // Sixteen shots of two ranks are two nodes of eight; no rank sends more than eight shots in one sum.
    assert_eq!(lens(&two, 0..16, 64), [8, 8]);
    assert_eq!(lens(&two, 0..32, 64), [8, 8, 8, 8]);
    assert_eq!(lens(&two, 0..16, 4), [4, 4, 4, 4]);
    // With nodes of four shots rank 0 has five shots, as with single ones; with nodes of eight it would have
    // eight.
    assert_eq!(lens(&two, 0..9, 8), [4, 4, 1]);
    assert_eq!(lens(&two, 0..6, 8), [1; 6]);
    assert_eq!(lens(&["a", "b", "c"], 0..7, 8), [2, 2, 2, 1]);
    // After a state the first node is as small as the tree requires at this place.
    assert_eq!(lens(&two, 3..8, 8), [1, 2, 2]);
    assert_eq!(lens(&two, 0..5, 0), [1; 5]);
    let alone = nodes_of_ranks(0..4, 8, &World::alone());
    assert_eq!(alone, [0..1, 1..2, 2..3, 3..4]);
    assert_eq!([1, 2, 3, 4, 7, 8].map(most_nodes), [1, 2, 2, 3, 3, 4]);
}

/// Sums of nodes come in the order of the nodes, with the further results of each shot in the order of the
/// shots.
#[test]
fn sums_of_ranks_have_all_of_their_shots() {
    let nodes = [0..2, 2..4, 4..5];
    let all = answers(&["a", "b"], |world| {
        let workers = worker(|number| Ok(shot(number, vec![1.0, (number * number) as f32])));
        let mut results = Vec::new();
        summed(&nodes, workers, world, &mut |node, outcome| {
            let Outcome::Done(result) = outcome else {
                bail!("{node:?} is not made");
            };
            results.push((result.values, result.own, result.words));
            Ok(())
        })
        .unwrap();
        results
    });
    let large = 1 << 40;
    let expected = [
        (vec![2.0, 1.0], vec![0.5, 1.5], vec![0, large, 1, large]),
        (vec![2.0, 13.0], vec![2.5, 3.5], vec![2, large, 3, large]),
        (vec![1.0, 16.0], vec![4.5], vec![4, large]),
    ];
    assert_eq!(all[0], expected);
    assert!(all[1].is_empty());
}

/// The time is measured on the slowest rank; each rank has its own groups, some of which may have no shots.
#[test]
fn plans_of_ranks_are_those_of_the_slowest() {
    let slowest = |shots: (usize, usize), of: [(usize, usize, f64); 3]| {
        let mut all = answers(&["a", "b", "a"], |world| {
            plan(shots, of[world.ranks().rank()], world).unwrap()
        });
        let first = all.swap_remove(0);
        assert!(all.iter().all(|other| *other == first));
        first
    };
    // The ranks have 3, 2 and 2 of the seven shots: three rounds of 2 s, one of 5 s, and two of 1 s.
    assert_eq!(
        slowest((7, 7), [(1, 1, 2.0), (2, 1, 5.0), (1, 2, 1.0)]),
        "there are 7, 5 at a time, which takes about 6.0 s"
    );
    assert_eq!(
        slowest((9, 4), [(1, 4, 2.0), (1, 1, 7.5), (3, 1, 1.0)]),
        "there are 9, 5 of them taken over from finished=, 4 at a time, which takes about 7.5 s"
    );
    assert_eq!(
        slowest((9, 1), [(1, 1, 2.0), (1, 1, 7.5), (1, 1, 9.0)]),
        "there are 9, 8 of them taken over from finished=, which takes about 2.0 s"
    );
}
