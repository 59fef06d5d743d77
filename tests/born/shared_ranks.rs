//! A shot that the devices of several ranks share: the results on rank 0 have the same bits as a run on one device,
//! with every transport of messages.

use crate::bench::{Case, Random, plain};
use crate::devices::any;
use crate::emulator::Emulator;
use crate::shared_shots::{all, all_of_one, assert_same_bits, data_and_schedules, shot};
use crate::thread_ranks::{Capabilities, ThreadRank, thread_ranks};
use kernels::Error;
use kernels::communicator::Communicator;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, RankPlanes};
use kernels::methods::velocity_stress::{Quantity, Shot};
use kernels::parallel::options::Transport;
use std::sync::Arc;

/// How messages are sent.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    transport: Transport,
    talents: Capabilities,
    /// The rank whose devices cannot open the memory of others.
    closed: Option<usize>,
}

/// The devices of a rank, given the number of devices of each rank; their streams run late.
fn devices(rank: &ThreadRank, counts: &[usize], closed: Option<usize>) -> Vec<Arc<Emulator>> {
    let before: usize = counts[..rank.rank()].iter().sum();
    let device = |k: usize| {
        let device = Emulator::new().numbered(k).late(k as u64);
        Arc::new(match closed == Some(rank.rank()) {
            true => device.closed(),
            false => device,
        })
    };
    (before..before + counts[rank.rank()]).map(device).collect()
}

/// The operator of a rank: rank 0 has the whole medium, the other ranks only the part that their devices need.
fn of_rank(case: &Case, shot: &Shot, rank: usize, counts: &[usize]) -> Born<f32> {
    let padded = shot.frame.around(&case.grid());
    let parts = RankPlanes::of(shot, &padded, counts).expect("a grid that can be cut");
    let mut first = 0;
    for part in &parts {
        assert_eq!(part.own.start, first, "the planes of ranks are contiguous");
        assert!(part.prepared.start <= part.own.start && part.own.end <= part.prepared.end);
        first = part.own.end;
    }
    assert_eq!(first, padded.planes(), "every plane belongs to a rank");
    match rank {
        0 => case.born(shot, case.medium()),
        _ => case.born_on(shot, &parts[rank].prepared),
    }
}

/// Compares ranks with one device, with each of these transports.
fn compare(case: &Case, counts: &[usize], ways: &[Way], seed: u64) {
    let shot = shot(case);
    let mut random = Random(seed);
    let mut one = case.born::<f32>(&shot, case.medium());
    one.run_on(vec![Arc::new(Emulator::new())])
        .expect("a device with memory");
    let model = case.perturbation(&one, &mut random);
    let (data, schedules) = data_and_schedules(&one, case, &mut random);
    let of_one = all_of_one(&one, case, [&model, &data], &schedules);
    for way in ways {
        let of_ranks = thread_ranks(counts.len(), way.talents, |rank| {
            let mut born = of_rank(case, &shot, rank.rank(), counts);
            born.run_on_ranks(devices(rank, counts, way.closed), rank, way.transport)
                .expect("devices that can share the grid");
            let results = all(&born, (rank, case), [&model, &data], &schedules);
            (results, born.drift(), rank.channels())
        });
        let what = format!("ranks of {counts:?} devices, {way:?}, {schedules:?}: {case:?}");
        assert_same_bits(&of_one, &of_ranks[0].0, &what);
        for (_, drift, channels) in &of_ranks {
            assert_eq!(*drift, one.drift(), "{what}");
            // Devices of one host can reach each other, unless the user requests messages.
            let by_messages = way.talents.apart || way.transport == Transport::HostStaged;
            assert!(way.closed.is_some() || (*channels > 0) == by_messages, "{what}");
        }
    }
}

#[test]
fn ranks_share_shots_with_the_bits_of_one_device() {
    if crate::devices::emulated::open("ranks_share_shots_with_the_bits_of_one_device").is_none() {
        return;
    }
    let mut random = Random(2130);
    let apart = Capabilities {
        apart: true,
        ..Capabilities::default()
    };
    let ways = [
        Way::default(),
        Way {
            transport: Transport::HostStaged,
            ..Way::default()
        },
        Way {
            talents: apart,
            ..Way::default()
        },
    ];
    for round in 0..3 {
        let mut case = any(&mut random);
        case.more = if case.ndim == 3 { 9 } else { 14 };
        case.nt = if case.ndim == 3 { 10 } else { 25 };
        let counts: &[usize] = [&[1, 1][..], &[1, 2], &[1, 1, 1]][round % 3];
        compare(&case, counts, &ways[round..=round], 2131);
    }
    // An interior with special kernels, and records that are taken from stresses.
    for (ndim, quantity, counts) in [
        (2, Quantity::Velocity, &[2, 1][..]),
        (3, Quantity::Pressure, &[1, 1]),
    ] {
        let case = Case {
            more: if ndim == 3 { 12 } else { 14 },
            nt: 14,
            quantity,
            surface: ndim == 3,
            ..plain(ndim)
        };
        compare(&case, counts, &ways, 2132);
    }
    // If only one end of a link can open the other's memory, both ends send through the hosts.
    let case = Case {
        more: 14,
        nt: 10,
        ..plain(2)
    };
    let closed = [0, 1].map(|closed| Way {
        closed: Some(closed),
        ..Way::default()
    });
    compare(&case, &[1, 1, 1], &closed, 2133);
}

/// More devices than the grid has planes for, and a transport that is not available, are refused on all ranks.
#[test]
fn what_ranks_cannot_share_is_refused_on_all_of_them() {
    let name = "what_ranks_cannot_share_is_refused_on_all_of_them";
    if crate::devices::emulated::open(name).is_none() {
        return;
    }
    let case = plain(2);
    let refused = |transport: Transport, counts: &[usize]| -> Vec<String> {
        thread_ranks(counts.len(), Capabilities::default(), |rank| {
            let mut born = case.born::<f32>(&shot(&case), case.medium());
            let outcome = born.run_on_ranks(devices(rank, counts, None), rank, transport);
            outcome.expect_err("ranks that cannot share the grid").to_string()
        })
    };
    for why in refused(Transport::Auto, &[4, 4]) {
        assert!(
            why.contains("8 devices cannot share the") && why.contains("fewer devices"),
            "{why}"
        );
    }
    for why in refused(Transport::CudaAware, &[1, 1]) {
        assert!(why.contains("choose one of these two ways"), "{why}");
    }
}

/// If the medium of a rank does not reach the planes of its device, all ranks report it.
#[test]
fn a_medium_on_other_planes_is_refused_on_all_ranks() {
    if crate::devices::emulated::open("a_medium_on_other_planes_is_refused_on_all_ranks").is_none() {
        return;
    }
    let case = Case { more: 14, ..plain(2) };
    let messages = thread_ranks(2, Capabilities::default(), |rank| {
        let mut born = match rank.rank() {
            0 => case.born(&shot(&case), case.medium()),
            _ => case.born_on(&shot(&case), &(20..24)),
        };
        let outcome = born.run_on_ranks(devices(rank, &[1, 1], None), rank, Transport::Auto);
        outcome.expect_err("a rank without its medium").to_string()
    });
    for why in messages {
        assert!(why.contains("prepared the medium on planes other than"), "{why}");
    }
}

/// An error of the residual ends the run of every rank.
#[test]
fn a_residual_that_is_refused_ends_the_run_of_every_rank() {
    let name = "a_residual_that_is_refused_ends_the_run_of_every_rank";
    if crate::devices::emulated::open(name).is_none() {
        return;
    }
    let case = Case { more: 14, ..plain(2) };
    let messages = thread_ranks(2, Capabilities::default(), |rank| {
        let mut born = case.born::<f32>(&shot(&case), case.medium());
        born.run_on_ranks(devices(rank, &[1, 1], None), rank, Transport::Auto)
            .expect("devices that can share the grid");
        let schedule = CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("it fits");
        let mut refuse = |_: Vec<Vec<f32>>| Err(Error::setup("no residual today"));
        let why = born.gradients_among(rank, &mut refuse, &schedule);
        why.err().expect("no residual").to_string()
    });
    for why in messages {
        assert!(why.contains("no residual today"), "{why}");
    }
}
