//! Ranks that each store only their part of the model give the same bits as one process.

use crate::cases::{World, difference, settings};
use crate::shots::{Tape, part};
use crate::thread_ranks::{Capabilities, thread_ranks_that_listen};
use kernels::Error;
use kernels::communicator::Communicator;
use kernels::device::cpu::Cpu;
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::{ParallelOptions, Shot, Simulation};
use kernels::parallel::gather::{Gather, SnapshotWriter};
use kernels::parallel::halo::OrderedSum;
use kernels::parallel::rank_halo::Overlap;
use kernels::receiver::Quantity;
use kernels::time_loop::{Direction, Recorder, Schedule};

/// Slabs of each rank.
type Parts = &'static [&'static [usize]];

/// Slabs of 60 planes, with cuts in the frame (0 to 11, 48 to 59) and through both bells (22 to 33, 31 to 42), on up to
/// seven ranks.
const PLANE: [Parts; 5] = [
    &[&[27], &[33]],
    &[&[9], &[20, 8], &[23]],
    &[&[8], &[17, 12], &[10], &[13]],
    &[&[8], &[8], &[8], &[9], &[10], &[9], &[8]],
    &[&[29, 22], &[9]],
];
/// Slabs of 52 planes; planes 0 to 9 and 42 to 51 are frame, and the bells cover planes 19 to 30 and 27 to 38.
const VOLUME: [Parts; 3] = [&[&[24], &[28]], &[&[8], &[9, 10], &[8], &[17]], &[&[44], &[8]]];

fn among(
    world: &World,
    shot: &Shot,
    parts: Parts,
    options: ParallelOptions,
) -> Vec<(Tape<f32>, Result<(), Error>)> {
    let sizes = parts.concat();
    let layouts = SLABS.cut(world.padded.planes(), &sizes).expect("the slabs fit");
    let whole = world.medium();
    thread_ranks_that_listen(parts.len(), Capabilities::default(), |ranks| {
        let first: usize = parts[..ranks.rank()].iter().map(|p| p.len()).sum();
        let slabs = layouts[first..first + parts[ranks.rank()].len()].to_vec();
        let own = slabs[0].own.start..slabs[slabs.len() - 1].own.end;
        let medium = part(&whole, &own);
        let mut simulation =
            Simulation::new(shot, medium, Cpu::new(1).unwrap(), slabs).expect("a valid shot");
        let mut tape = Tape::default();
        let result = simulation.run_among(ranks, &mut tape, options);
        (tape, result)
    })
}

fn same_bits(world: &World, all: &[Parts], every: usize) {
    for (k, setting) in settings().into_iter().enumerate().filter(|(k, _)| k % every == 0) {
        let mut shot = world.shot(setting);
        shot.quantity = Quantity::of_displacement(k % 2 == 1);
        let whole = world.run(&shot, 1, &[]);
        for &parts in all {
            let options = ParallelOptions {
                snapshots: SnapshotWriter::Root,
                overlap: if k % 3 == 0 {
                    Overlap::Blocking
                } else {
                    Overlap::Overlapped
                },
                ..ParallelOptions::default()
            };
            let tapes = among(world, &shot, parts, options);
            tapes
                .iter()
                .for_each(|(_, result)| result.as_ref().expect("the shot runs").to_owned());
            let first_difference = difference(&whole, &tapes[0].0);
            assert_eq!(first_difference, None, "{setting:?}, ranks {parts:?}");
            assert!(
                tapes[1..]
                    .iter()
                    .all(|(tape, _)| tape.steps.is_empty() && tape.snapshots.is_empty())
            );
        }
    }
}

#[test]
fn ranks_of_a_plane_give_the_same_bits() {
    same_bits(&World::plane(), &PLANE, 1);
}

#[test]
fn ranks_of_a_volume_give_the_same_bits() {
    same_bits(&World::volume(), &VOLUME, 4);
}

#[test]
fn every_rank_keeps_its_own_planes_of_a_snapshot() {
    let world = World::plane();
    let mut shot = world.shot(settings()[0]);
    // The window includes no planes of the first and the last rank.
    let window = [3..30, 10..45, 0..1];
    shot.snapshots.as_mut().expect("the world has snapshots").window = window;
    let whole = world.run(&shot, 1, &[]);
    for snapshots in [SnapshotWriter::EachRank, SnapshotWriter::Root] {
        let options = ParallelOptions {
            snapshots,
            ..ParallelOptions::default()
        };
        let tapes = among(&world, &shot, PLANE[2], options);
        for (k, (step, all)) in whole.snapshots.iter().enumerate() {
            let mut joined = Vec::new();
            let components = all.len() / (27 * 35);
            for component in 0..components {
                for (tape, _) in &tapes {
                    let Some((it, piece)) = tape.snapshots.get(k) else {
                        continue;
                    };
                    assert_eq!(it, step);
                    let share = piece.len() / components;
                    joined.extend_from_slice(&piece[component * share..][..share]);
                }
            }
            assert_eq!(&joined, all, "{snapshots:?}, step {step}");
        }
    }
}

#[test]
fn a_fault_ends_all_ranks_and_one_reports_it() {
    let world = World::plane();
    let mut shot = world.shot(settings()[0]);
    shot.dt *= 20.0;
    shot.jcheck = 5;
    let results = among(&world, &shot, PLANE[3], ParallelOptions::default());
    let reporting: Vec<usize> = (0..results.len())
        .filter(|&k| matches!(results[k].1, Err(Error::NotFinite { .. })))
        .collect();
    let elsewhere = results
        .iter()
        .filter(|r| matches!(r.1, Err(Error::Elsewhere)))
        .count();
    assert_eq!((reporting.len(), elsewhere), (1, results.len() - 1));
    // The reported cell is the same as in one process: the ranks agree on the first one.
    let alone = &among(&world, &shot, &[&[60]], ParallelOptions::default())[0].1;
    assert_eq!(format!("{:?}", results[reporting[0]].1), format!("{alone:?}"));
    // The records before the failure are complete.
    assert_eq!(results[0].0.steps.len() * shot.jdata % 5, 0);
    assert!(!results[0].0.steps.is_empty());
}

/// Parts of a snapshot may be interleaved with parts of other ranks, as for parts of a mesh, and a rank may have no
/// receiver.
#[test]
fn records_of_ranks_come_together_in_their_places() {
    let receivers: [&[usize]; 3] = [&[0, 3], &[], &[1, 2]];
    let shares = [vec![0..2, 5..6], vec![3..4, 6..9], vec![2..3, 4..5]];
    let schedule = Schedule {
        first: 0,
        nt: 4,
        direction: Direction::Forward,
        jdata: 1,
        receivers: 4,
        components: 2,
        snapshot_components: 2,
        jsnap: Some(2),
        jcheck: 1,
    };
    let trace = |it: usize| (0..8).map(|k| (10 * it + k) as f32).collect::<Vec<_>>();
    let snapshot = |it: usize, component: usize| (0..9).map(move |k| (100 * it + 10 * component + k) as f32);
    let mut tapes = thread_ranks_that_listen(3, Capabilities::default(), |ranks| {
        let (mut tape, own) = (Tape::<f32>::default(), ranks.rank());
        let places = (receivers[own].to_vec(), shares[own].clone());
        let mut gather =
            Gather::new(ranks, &mut tape, &schedule, SnapshotWriter::Root, places).expect("a gather");
        for it in 0..schedule.nt {
            // A rank has only the values of its own receivers.
            let mut known = trace(it);
            for (k, x) in known.iter_mut().enumerate() {
                if !receivers[own].contains(&(k % 4)) {
                    *x = f32::NAN;
                }
            }
            gather.traces(it, &known).expect("a record");
            for component in (0..2).filter(|_| it % 2 == 0) {
                let all: Vec<f32> = snapshot(it, component).collect();
                let piece: Vec<f32> = shares[own]
                    .iter()
                    .flat_map(|range| &all[range.clone()])
                    .copied()
                    .collect();
                gather.snapshot(it, &piece).expect("a piece");
            }
        }
        gather.end().expect("an end");
        tape
    });
    let root = tapes.remove(0);
    assert_eq!(root.traces, (0..4).map(trace).collect::<Vec<_>>());
    let expected = [0, 2].map(|it| (it, snapshot(it, 0).chain(snapshot(it, 1)).collect::<Vec<f32>>()));
    assert_eq!(root.snapshots, expected);
    assert!(
        tapes
            .iter()
            .all(|tape| tape.traces.is_empty() && tape.snapshots.is_empty())
    );
}

/// A run that continues from a state has all earlier records: records that wait for their batch are written together
/// with the state.
#[test]
fn records_that_wait_are_handed_on_before_a_state() {
    let schedule = Schedule {
        first: 0,
        nt: 4,
        direction: Direction::Forward,
        jdata: 1,
        receivers: 2,
        components: 1,
        snapshot_components: 0,
        jsnap: None,
        jcheck: 1,
    };
    let tapes = thread_ranks_that_listen(2, Capabilities::default(), |ranks| {
        let mut tape = Tape::<f32>::default();
        let places = (vec![ranks.rank()], Vec::new());
        let mut gather =
            Gather::new(ranks, &mut tape, &schedule, SnapshotWriter::EachRank, places).expect("a gather");
        for it in 0..2 {
            gather
                .traces(it, &[it as f32 + 1.0, -1.0 - it as f32])
                .expect("a record");
        }
        gather.sync().expect("a state");
        tape
    });
    assert_eq!(tapes[0].traces, [[1.0, -1.0], [2.0, -2.0]]);
}

/// Small numbers before and after large ones are added; the result depends on the order.
#[test]
fn contributions_are_added_from_left_to_right() {
    let sum = OrderedSum {
        targets: vec![0],
        starts: vec![0, 3],
        terms: vec![1, 2, 3],
    };
    for (terms, expected) in [([1.0, 1e8, -1e8], 0.0), ([1e8, -1e8, 1.0], 1.0)] {
        let mut memory = [&[7.0f32][..], &terms].concat();
        sum.apply(&mut memory);
        assert_eq!(memory[0], expected, "{terms:?}");
    }
}
