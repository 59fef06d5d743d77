//! Ranks, each with its own accelerators, give the same bits with every transport.

use crate::cases::{World, difference, settings};
use crate::runs::{Machines, world};
use crate::shots::{Tape, largest_difference};
use crate::thread_ranks::{Capabilities, thread_ranks};
use kernels::Error;
use kernels::communicator::Communicator;
use kernels::device::accelerator::Accelerator;
use kernels::medium::Symmetry;
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::gpu::{Transport, from_medium};
use kernels::methods::displacement::{ParallelOptions, Shot};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::rank_halo::Overlap;
use kernels::receiver::Quantity;

/// Slabs of each rank, of 46 planes in 2-D and 40 in 3-D.
const PLANE: [&[&[usize]]; 3] = [
    &[&[24], &[22]],
    &[&[8], &[15, 14], &[9]],
    &[&[8, 9], &[12], &[8], &[9]],
];
const VOLUME: [&[&[usize]]; 3] = [
    &[&[17], &[23]],
    &[&[8], &[14, 8], &[10]],
    &[&[8, 8], &[8], &[8], &[8]],
];

/// Capabilities of the ranks, and the transport that is requested.
const WAYS: [(Capabilities, Transport); 4] = [
    (
        Capabilities {
            reach_devices: false,
            apart: false,
        },
        Transport::Auto,
    ),
    (
        Capabilities {
            reach_devices: false,
            apart: false,
        },
        Transport::HostStaged,
    ),
    (
        Capabilities {
            reach_devices: false,
            apart: true,
        },
        Transport::Auto,
    ),
    (
        Capabilities {
            reach_devices: true,
            apart: true,
        },
        Transport::Auto,
    ),
];

/// Capabilities, a transport that is impossible with them, and the beginning of the refusal.
pub const REFUSED: [(Capabilities, Transport, &str); 2] = [
    (
        Capabilities {
            reach_devices: false,
            apart: true,
        },
        Transport::Ipc,
        "halos cannot be copied from GPU to GPU: the GPU of a neighbour cannot be reached",
    ),
    (
        Capabilities {
            reach_devices: false,
            apart: false,
        },
        Transport::CudaAware,
        "halos cannot be sent from GPU to GPU: this MPI does not say",
    ),
];

/// The cases that are possible with these machines: the ranks are threads, and their messages are copies made by the
/// host.
pub fn ways<A>(machines: &Machines<A>) -> Vec<(Capabilities, Transport)> {
    let can = |(talents, _): &(Capabilities, Transport)| machines.open_memory || !talents.reach_devices;
    WAYS.into_iter().filter(can).collect()
}

fn among<A: Accelerator>(
    machines: &Machines<A>,
    small: &World,
    shot: &Shot,
    parts: &[&[usize]],
    (talents, way): (Capabilities, Transport),
) -> Tape<f32> {
    let layouts = SLABS
        .cut(small.padded.planes(), &parts.concat())
        .expect("the slabs fit");
    let options = ParallelOptions {
        snapshots: SnapshotWriter::Root,
        transport: way,
        ..ParallelOptions::default()
    };
    let mut tapes = thread_ranks(parts.len(), talents, |ranks| {
        let first: usize = parts[..ranks.rank()].iter().map(|p| p.len()).sum();
        let own = first..first + parts[ranks.rank()].len();
        let placed = own.map(|k| ((machines.open)(k), layouts[k].clone())).collect();
        let class = Symmetry::Orthorhombic;
        let mut simulation = from_medium(shot, &small.medium(), placed, class).expect("a valid shot");
        let mut tape = Tape::default();
        simulation
            .run_among(ranks, &mut tape, options)
            .expect("the shot runs");
        tape
    });
    tapes.swap_remove(0)
}

pub fn ranks_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    let ways = ways(machines);
    for (ndim, all) in [(2, PLANE), (3, VOLUME)] {
        let small = World::slender(ndim);
        for (k, setting) in settings().into_iter().enumerate().step_by(3) {
            let mut shot = small.shot(setting);
            shot.quantity = Quantity::of_displacement(k % 2 == 1);
            // Records wait for all queues; between two records only the events of a step order them.
            shot.jdata = if k % 2 == 0 { 7 } else { 1 };
            let whole = world(machines, &small, &shot, &[]);
            for (j, parts) in all.into_iter().enumerate() {
                let by = ways[(j + k / 3) % ways.len()];
                let first_difference = difference(&whole, &among(machines, &small, &shot, parts, by));
                assert_eq!(
                    first_difference, None,
                    "{ndim}-D {setting:?}, ranks {parts:?}, {:?}",
                    by.1
                );
            }
        }
    }
}

pub fn ways_that_cannot_be_had_are_refused_by_all<A: Accelerator>(machines: &Machines<A>) {
    let small = World::slender(2);
    let shot = small.shot(settings()[0]);
    let layouts = SLABS
        .cut(small.padded.planes(), &[8, 29, 9])
        .expect("the slabs fit");
    for (talents, way, expected) in REFUSED {
        let outcomes = thread_ranks(3, talents, |ranks| {
            let k = ranks.rank();
            let placed = vec![((machines.open)(k), layouts[k].clone())];
            let class = Symmetry::Orthorhombic;
            let mut simulation = from_medium(&shot, &small.medium(), placed, class).expect("a valid shot");
            let refused = simulation.run_among(
                ranks,
                &mut Tape::default(),
                ParallelOptions {
                    transport: way,
                    ..ParallelOptions::default()
                },
            );
            // The failed attempt leaves nothing behind, so that the next transport works.
            let mut tape = Tape::default();
            let options = ParallelOptions {
                snapshots: SnapshotWriter::Root,
                ..ParallelOptions::default()
            };
            simulation
                .run_among(ranks, &mut tape, options)
                .expect("the shot runs");
            (refused, tape)
        });
        for (refused, _) in &outcomes {
            let Err(Error::Agreed(words)) = refused else {
                panic!("{way:?}: {refused:?}");
            };
            assert!(words.to_string().starts_with(expected), "{words}");
        }
        assert_eq!(
            difference(&world(machines, &small, &shot, &[]), &outcomes[0].1),
            None
        );
    }
}

pub fn ranks_run_again<A: Accelerator>(machines: &Machines<A>) {
    let small = World::slender(3);
    let shot = small.shot(settings()[0]);
    let layouts = SLABS
        .cut(small.padded.planes(), &[17, 23])
        .expect("the slabs fit");
    let tapes = thread_ranks(2, Capabilities::default(), |ranks| {
        let k = ranks.rank();
        let placed = vec![((machines.open)(k), layouts[k].clone())];
        let class = Symmetry::Orthorhombic;
        let mut simulation = from_medium(&shot, &small.medium(), placed, class).expect("a valid shot");
        let ways = simulation
            .connect(ranks, Transport::Auto)
            .expect("the neighbours connect");
        assert_eq!(ways.len(), 1, "rank {k} has one neighbour");
        let mut tapes = [Tape::default(), Tape::default(), Tape::default()];
        for (tape, overlap) in
            tapes
                .iter_mut()
                .zip([Overlap::Overlapped, Overlap::Blocking, Overlap::WithoutSends])
        {
            // Each run continues from the end of the previous one.
            let options = ParallelOptions {
                overlap,
                ..ParallelOptions::default()
            };
            simulation
                .run_connected(ranks, tape, options)
                .expect("the shot runs");
        }
        simulation.disconnect(ranks).expect("the neighbours disconnect");
        tapes
    });
    let [first, second, _] = &tapes[0];
    assert_eq!(first.steps, second.steps);
    let [first, second] = [first, second].map(|tape| tape.traces.concat());
    assert!(
        largest_difference(&first, &second) > 0.0,
        "the second run continues"
    );
}
