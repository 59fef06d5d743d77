//! A third method, on an irregular graph: the time loop, halos with ordered sums, groups, ranks, records and states
//! work for it in the same way as for the methods of the engine, and give the same bits for every cut.

#[path = "../support/emulator.rs"]
mod emulator;
mod graph;
mod on_device;
#[path = "../support/saved_states.rs"]
mod saved_states;
#[path = "../support/shots.rs"]
mod shots;
#[path = "../support/thread_ranks.rs"]
mod thread_ranks;
mod waves;
mod wheel;

use emulator::Emulator;
use graph::Part;
use kernels::communicator::{Alone, Communicator};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::group::{Group, Subdomain};
use kernels::parallel::halo::Traffic;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::time_loop::Direction;
use kernels::time_loop::state::{Checkpoints, Every};
use on_device::{OnDevice, summed};
use saved_states::{MemorySource, MemoryStore, from_step};
use shots::{Tape, largest, magnitude, relative_difference};
use std::sync::Arc;
use thread_ranks::{Capabilities, thread_ranks};
use waves::{Fields, OnHost, Waves};
use wheel::{assert_same, assert_whole, group, on_host, run, sectors};

/// Runs every subdomain on a separate device.
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

/// Runs the groups that `make` creates on ranks; `shares` gives the number of subdomains of each rank.
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

/// The pieces of all links between two ranks have different tags, even if a link has fewer pieces in another stage;
/// otherwise a rank would mistake the pieces of one neighbour for another's.
#[test]
fn links_with_a_quiet_stage_give_the_same_bits_on_ranks() {
    let whole = run(on_host(sectors(1, 0)));
    let quiet = |mut part: Part| {
        for link in &mut part.links {
            link.stages.push(Traffic::default());
        }
        part
    };
    for shares in [&[2, 3][..], &[4, 1], &[1, 3, 1]] {
        let make =
            |mine: std::ops::Range<usize>| on_host(sectors(5, 2)[mine].iter().cloned().map(quiet).collect());
        assert_same(
            &whole,
            &among(shares, Capabilities::default(), Transport::Auto, make),
        );
    }
}

/// Pieces are exchanged and summed after the stage to which they belong.
#[test]
fn exchanges_in_the_second_stage_give_the_same_bits() {
    let late = |mut part: Part| {
        part.stage = 1;
        part.links
            .iter_mut()
            .for_each(|link| link.stages.insert(0, Traffic::default()));
        part
    };
    let parts = |count: usize| -> Vec<Part> { sectors(count, 2).into_iter().map(late).collect() };
    let whole = run(on_host(sectors(1, 0)));
    assert_same(&whole, &run(on_host(parts(5))));
    let make = |mine: std::ops::Range<usize>| on_host(parts(5)[mine].to_vec());
    assert_same(
        &whole,
        &among(&[2, 3], Capabilities::default(), Transport::Auto, make),
    );
    if !Emulator::ready() {
        return;
    }
    let whole = run(on_devices(sectors(1, 0), None));
    assert_same(&whole, &run(on_devices(parts(5), None)));
    let make = |mine: std::ops::Range<usize>| on_devices(parts(5)[mine].to_vec(), None);
    for transport in [Transport::Ipc, Transport::HostStaged] {
        assert_same(&whole, &among(&[2, 3], Capabilities::default(), transport, make));
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
    // Unlike devices, processors do not fuse multiplications with additions here.
    let host = run(on_host(sectors(1, 0)));
    let apart = relative_difference(whole.traces.iter().flatten(), host.traces.iter().flatten());
    assert!(apart <= 1e-5, "{apart:.1e}");
}

#[test]
fn what_goes_wrong_behind_the_last_step_is_reported() {
    let mut group = on_host(sectors(3, 0));
    group.subdomains[1].fault = Some("the device is gone");
    let message = group.run(&mut Tape::default()).expect_err("a fault").to_string();
    assert!(message.contains("the device is gone"), "{message}");
}

/// Every third step is recorded from step 0 on, so after 35 steps there are 12 records.
#[test]
fn subdomains_receive_the_number_of_records() {
    let memory_store = Arc::new(MemoryStore::default());
    let mut checkpoints = Checkpoints::new(&Alone, memory_store.clone(), Every::Steps(35));
    on_host(sectors(2, 0))
        .run_saving(
            &Alone,
            &mut Tape::default(),
            ParallelOptions::default(),
            Some(&mut checkpoints),
        )
        .expect("the waves run");
    let states = memory_store.states();
    assert_eq!(states.len(), 3);
    for ((step, state), records) in states.iter().zip([12, 24, 35]) {
        let mut group = on_host(sectors(2, 0));
        group
            .resume(&Alone, &mut MemorySource(state))
            .expect("a valid state");
        group.run(&mut Tape::default()).expect("the waves run");
        assert!(
            group.subdomains.iter().all(|waves| waves.before == records),
            "{step}"
        );
    }
}

/// The sum of 1e8, -1e8 and 1 is 1 from left to right, and 0 from right to left.
#[test]
fn devices_add_from_left_to_right() {
    if !Emulator::ready() {
        return;
    }
    let numbers = [1e8, -1e8, 1.0, 7.0, 7.0];
    let sums = summed(
        &Emulator::new(),
        &numbers,
        [&[3, 4], &[0, 3, 5], &[0, 1, 2, 2, 2]],
    );
    assert_eq!(sums.expect("a device"), [1e8, -1e8, 1.0, 1.0, 2.0]);
}

#[test]
fn states_go_on_in_another_cut() {
    let whole = run(on_host(sectors(1, 0)));
    let memory_store = Arc::new(MemoryStore::default());
    let mut checkpoints = Checkpoints::new(&Alone, memory_store.clone(), Every::Steps(35));
    let mut tape = Tape::default();
    let options = ParallelOptions::default();
    on_host(sectors(5, 0))
        .run_saving(&Alone, &mut tape, options, Some(&mut checkpoints))
        .expect("the waves run");
    assert_same(&whole, &tape);
    let states = memory_store.states();
    assert_eq!(states.iter().map(|s| s.0).collect::<Vec<_>>(), [35, 70, 105]);
    for ((step, state), count) in states.iter().zip([3, 1, 7]) {
        let mut group = on_host(sectors(count, 4));
        group
            .resume(&Alone, &mut MemorySource(state))
            .expect("a valid state");
        assert_same(&from_step(&whole, *step), &run(group));
    }
}

#[test]
fn time_runs_back_to_rest() {
    let mut group = on_host(sectors(5, 0));
    let mut tape = Tape::default();
    group.run(&mut tape).expect("forward");
    assert_whole(&tape);
    let most = |group: &Group<Waves<OnHost>>| {
        let all = group
            .subdomains
            .iter()
            .flat_map(|s| s.fields.level(0).expect("numbers of the host"));
        largest(all)
    };
    let before = magnitude([most(&group)]);
    group.schedule().direction = Direction::Backward;
    group.run(&mut Tape::default()).expect("backward");
    assert!(most(&group) <= 1e-4 * before, "{} of {before}", most(&group));
}
