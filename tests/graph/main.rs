//! A third method, on an irregular graph: the time loop, halos with ordered sums, groups, ranks, records and states carry
//! it as they carry the methods of the engine, with the same bits for every cut.

#[path = "../support/emulator.rs"]
mod emulator;
mod graph;
#[cfg(feature = "mpi")]
#[path = "../support/launcher.rs"]
mod launcher;
#[cfg(feature = "mpi")]
mod mpi;
mod on_device;
#[path = "../support/saved_states.rs"]
mod saved_states;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;
mod waves;

use emulator::Emulator;
use graph::{Edge, Part, cut};
use kernels::parallel::communicator::{Alone, Communicator};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::group::{Group, Subdomain};
use kernels::parallel::halo::Network;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::time_loop::state::{Checkpoints, Every};
use kernels::time_loop::{Direction, Schedule};
use on_device::OnDevice;
use saved_states::{Sheets, Shelf, from_step};
use shots::{Tape, largest};
use std::sync::Arc;
use thread_ranks::{Capabilities, thread_ranks};
use waves::{Fields, OnHost, Waves};

const STEPS: usize = 120;
/// Rings of nodes around the middle, and nodes of a ring.
const RINGS: usize = 7;
const SPOKES: usize = 20;

/// A wheel whose rings are joined irregularly; node 0 is the middle.
fn edges() -> Vec<Edge> {
    let node = |ring: usize, spoke: usize| 1 + ring * SPOKES + spoke % SPOKES;
    let mut edges = Vec::new();
    for spoke in 0..SPOKES {
        edges.push((0, node(0, spoke), 0.3));
        for ring in 0..RINGS {
            let stiffness = 1.0 + 0.1 * ((7 * ring + 3 * spoke) % 11) as f32;
            edges.push((node(ring, spoke), node(ring, spoke + 1), stiffness));
            if ring + 1 < RINGS {
                edges.push((node(ring, spoke), node(ring + 1, spoke), stiffness));
            }
            if ring + 1 < RINGS && (ring + spoke) % 3 == 0 {
                edges.push((node(ring, spoke), node(ring + 1, spoke + 1), 0.7));
            }
        }
    }
    edges
}

fn nodes() -> usize {
    1 + RINGS * SPOKES
}

/// Cuts by sectors, which all have the middle: with five of them each has four neighbours. `turn` moves the cuts.
fn sectors(count: usize, turn: usize) -> Vec<Part> {
    let edges = edges();
    let spoke = |&(_, b, _): &Edge| ((b - 1) % SPOKES + turn) % SPOKES;
    let owner: Vec<usize> = edges.iter().map(|edge| spoke(edge) * count / SPOKES).collect();
    cut(&edges, &owner)
}

fn schedule() -> Schedule {
    Schedule {
        first: 0,
        nt: STEPS,
        direction: Direction::Forward,
        jdata: 3,
        receivers: 4,
        components: 1,
        snapshot_components: 1,
        jsnap: Some(40),
        jcheck: 50,
    }
}

fn group<F: Fields>(parts: Vec<Part>, mut fields: impl FnMut(&Part) -> F) -> Group<Waves<F>>
where
    F::Network: Network<Waves<F>>,
    Waves<F>: Subdomain<Number = f32>,
{
    let waves = |part: Part| Waves {
        fields: fields(&part),
        part,
        nodes: nodes(),
        receivers: vec![0, 140, 33, 78],
        direction: Direction::Forward,
        pieces: Default::default(),
    };
    Group::new(parts.into_iter().map(waves).collect(), schedule()).expect("a sound group")
}

fn on_host(parts: Vec<Part>) -> Group<Waves<OnHost>> {
    group(parts, OnHost::new)
}

/// Every subdomain on a device of its own.
fn on_devices(parts: Vec<Part>, seed: Option<u64>) -> Group<Waves<OnDevice<Emulator>>> {
    group(parts, |part| {
        let device = Emulator::new().numbered(part.number);
        let device = match seed {
            Some(seed) => device.late(seed),
            None => device,
        };
        OnDevice::new(part, Arc::new(device)).expect("a device")
    })
}

fn run<S: Subdomain<Number = f32>>(mut group: Group<S>) -> Tape<f32> {
    let mut tape = Tape::default();
    group.run(&mut tape).expect("the waves run");
    tape
}

/// Both tapes hold the same bits.
fn assert_same(one: &Tape<f32>, other: &Tape<f32>) {
    assert_eq!(one.steps, other.steps);
    let bits = |lists: &[Vec<f32>]| -> Vec<Vec<u32>> {
        lists
            .iter()
            .map(|list| list.iter().map(|x| x.to_bits()).collect())
            .collect()
    };
    assert!(bits(&one.traces) == bits(&other.traces), "other records");
    let snapshots = |tape: &Tape<f32>| -> Vec<(usize, Vec<u32>)> {
        tape.snapshots
            .iter()
            .map(|(step, s)| (*step, s.iter().map(|x| x.to_bits()).collect()))
            .collect()
    };
    assert!(snapshots(one) == snapshots(other), "other snapshots");
}

/// The runs of `parts` as ranks: `shares` says how many subdomains each rank has.
fn among<S: Subdomain<Number = f32>>(
    shares: &[usize],
    talents: Capabilities,
    transport: Transport,
    make: impl Fn(std::ops::Range<usize>) -> Group<S> + Sync,
) -> Tape<f32> {
    let tapes = thread_ranks(shares.len(), talents, |ranks| {
        let first: usize = shares[..ranks.rank()].iter().sum();
        let mut group = make(first..first + shares[ranks.rank()]);
        let mut tape = Tape::default();
        let options = ParallelOptions {
            snapshots: SnapshotWriter::Root,
            transport,
            ..ParallelOptions::default()
        };
        group.run_among(ranks, &mut tape, options).expect("the waves run");
        tape
    });
    tapes.into_iter().next().expect("rank 0")
}

#[test]
fn five_sectors_have_four_neighbours_each() {
    let parts = sectors(5, 0);
    assert!(parts.iter().all(|part| part.links.len() == 4));
    let tape = run(on_host(parts));
    // The wave has reached the other side of the wheel.
    let last = tape.traces.last().expect("records");
    assert!(last.iter().all(|x| x.abs() > 1e-4 && x.is_finite()), "{last:?}");
}

#[test]
fn every_cut_gives_the_same_bits() {
    let whole = run(on_host(sectors(1, 0)));
    for count in 2..=7 {
        for turn in [0, 3, 8] {
            assert_same(&whole, &run(on_host(sectors(count, turn))));
        }
    }
}

#[test]
fn ranks_give_the_same_bits() {
    let whole = run(on_host(sectors(1, 0)));
    let all: [&[usize]; 4] = [&[1, 1, 1, 1, 1], &[2, 3], &[4, 1], &[1, 3, 1]];
    for shares in all {
        let make = |mine: std::ops::Range<usize>| on_host(sectors(5, 2)[mine].to_vec());
        assert_same(
            &whole,
            &among(shares, Capabilities::default(), Transport::Auto, make),
        );
    }
}

#[test]
fn devices_give_the_same_bits() {
    if !Emulator::ready() {
        return;
    }
    let whole = run(on_devices(sectors(1, 0), None));
    for (count, seed) in [(2, None), (5, None), (5, Some(1)), (5, Some(2)), (6, Some(3))] {
        assert_same(&whole, &run(on_devices(sectors(count, 1), seed)));
    }
    let reach = Capabilities {
        reach_devices: true,
        ..Capabilities::default()
    };
    let make = |mine: std::ops::Range<usize>| on_devices(sectors(5, 2)[mine].to_vec(), None);
    let ways = [
        (Capabilities::default(), Transport::Ipc),
        (Capabilities::default(), Transport::HostStaged),
        (reach, Transport::CudaAware),
    ];
    for (talents, transport) in ways {
        for shares in [&[1, 1, 1, 1, 1][..], &[2, 3]] {
            assert_same(&whole, &among(shares, talents, transport, make));
        }
    }
    // Processors fuse no product with a sum here, devices do.
    let host = run(on_host(sectors(1, 0)));
    let most = largest(host.traces.iter().flatten().copied());
    for (here, there) in host.traces.iter().flatten().zip(whole.traces.iter().flatten()) {
        assert!((here - there).abs() <= 1e-5 * most, "{here} {there}");
    }
}

#[test]
fn states_go_on_in_another_cut() {
    let whole = run(on_host(sectors(1, 0)));
    let shelf = Arc::new(Shelf::default());
    let mut checkpoints = Checkpoints::new(&Alone, shelf.clone(), Every::Steps(35));
    let mut tape = Tape::default();
    let options = ParallelOptions::default();
    on_host(sectors(5, 0))
        .run_saving(&Alone, &mut tape, options, Some(&mut checkpoints))
        .expect("the waves run");
    assert_same(&whole, &tape);
    let states = shelf.states();
    assert_eq!(states.iter().map(|s| s.0).collect::<Vec<_>>(), [35, 70, 105]);
    for ((step, state), count) in states.iter().zip([3, 1, 7]) {
        let mut group = on_host(sectors(count, 4));
        group.resume(&Alone, &mut Sheets(state)).expect("a sound state");
        assert_same(&from_step(&whole, *step), &run(group));
    }
}

#[test]
fn time_runs_back_to_rest() {
    let mut group = on_host(sectors(5, 0));
    group.run(&mut Tape::default()).expect("forward");
    let most = |group: &Group<Waves<OnHost>>| {
        let all = group
            .subdomains
            .iter()
            .flat_map(|s| s.fields.level(0).expect("numbers of the host"));
        largest(all)
    };
    let before = most(&group);
    group.schedule().direction = Direction::Backward;
    group.run(&mut Tape::default()).expect("backward");
    assert!(most(&group) <= 1e-4 * before, "{} of {before}", most(&group));
}
