//! Communication and agreement among ranks, with hosts in mixed order.

use super::members::answers;
use super::{World, places};
use anyhow::anyhow;
use kernels::Hint;
use kernels::medium::{Fault, Symmetry};
use kernels::stability::{BadCell, Extremes, Findings};
use rsf_io::Signal;

const HOSTS: [&str; 5] = ["b", "a", "b", "c", "a"];

#[test]
fn places_are_counted_on_each_host() {
    let all = ["a\n0-3", "b\n0-3", "a\n4-7", "a\n4-7"].map(|words| words.as_bytes().to_vec());
    let of = |rank: usize| {
        let own = places(&all, rank);
        [own.place, own.ranks, own.sharing]
    };
    assert_eq!([0, 1, 2, 3].map(of), [[0, 3, 1], [0, 1, 1], [1, 3, 2], [2, 3, 2]]);
    // The threads of one process may use the same cores.
    let all = answers(&HOSTS, |world| {
        let own = world.of_host().unwrap();
        [own.place, own.ranks, own.sharing]
    });
    assert_eq!(all, [[0, 2, 2], [0, 2, 2], [1, 2, 2], [0, 1, 1], [1, 2, 2]]);
}

/// A host needs the sum of the needs of its ranks, and its free memory is the smallest amount that any of them found.
#[test]
fn hosts_are_listed_in_the_order_of_their_first_ranks() {
    let (need, free) = ([1.0, 2.0, 4.0, 8.0, 16.0], [9.0, 5.0, 7.0, 3.0, 6.0]);
    let all = answers(&HOSTS, |world| {
        let rank = world.ranks().rank();
        world.by_host(need[rank], free[rank]).unwrap()
    });
    let expected = [("b", 2, [5.0, 7.0]), ("a", 2, [18.0, 5.0]), ("c", 1, [8.0, 3.0])];
    let expected = expected.map(|(host, ranks, numbers)| (host.to_string(), ranks, numbers));
    assert!(
        all.len() == 5 && all.iter().all(|hosts| hosts == &expected),
        "{all:?}"
    );
    let alone = World::alone().by_host(2.5, 3.5).unwrap();
    assert_eq!(alone, [("this host".to_string(), 1, [2.5, 3.5])]);
}

#[test]
fn ranks_and_hosts_are_counted_in_words() {
    let texts = answers(&HOSTS, |world| (world.describe().unwrap(), world.name()));
    let expected = [0, 1, 2, 3, 4].map(|rank| {
        let host = HOSTS[rank];
        (
            format!("5 ranks on 3 hosts; rank {rank}: "),
            format!("rank {rank} on {host}"),
        )
    });
    assert_eq!(texts, expected);
    let texts = answers(&["n1"; 2], |world| world.describe().unwrap());
    assert_eq!(
        texts,
        ["2 ranks on 1 host; rank 0: ", "2 ranks on 1 host; rank 1: "]
    );
    assert_eq!(World::alone().describe().unwrap(), "");
}

#[test]
fn numbers_come_in_the_order_of_the_ranks() {
    let all = answers(&HOSTS, |world| {
        let rank = world.ranks().rank() as u64;
        let own: Vec<u64> = (0..rank).map(|k| u64::MAX - 10 * rank - k).collect();
        (
            world.numbers(&own).unwrap(),
            world.from_first(&[7 + rank, 3]).unwrap(),
            world.sum(1 << (8 * rank)).unwrap(),
            [world.any(rank == 4), world.any(false)].map(Result::unwrap),
            world.leads(),
        )
    });
    let own = |rank: u64| (0..rank).map(|k| u64::MAX - 10 * rank - k).collect::<Vec<_>>();
    for (rank, (numbers, first, sum, any, leads)) in all.iter().enumerate() {
        assert_eq!(*numbers, [0, 1, 2, 3, 4].map(own));
        assert_eq!(first, &[7, 3]);
        assert_eq!(*sum, 0x1_01_01_01_01);
        assert_eq!((any, *leads), (&[true, false], rank == 0));
    }
}

/// The first rank that has a complaint reports it with its name.
#[test]
fn complaints_are_those_of_the_first_rank() {
    let all = answers(&HOSTS, |world| {
        let rank = world.ranks().rank();
        let mine = (rank == 2 || rank == 3).then(|| format!("too little for {rank}"));
        [world.complaint(mine), world.complaint(None)].map(Result::unwrap)
    });
    let expected = Some("rank 2 on b: too little for 2".to_string());
    assert!(
        all.len() == 5 && all.iter().all(|texts| *texts == [expected.clone(), None]),
        "{all:?}"
    );
    let mine = World::alone().complaint(Some("mine".into())).unwrap();
    assert_eq!(mine.as_deref(), Some("mine"));
}

/// The result of each of three ranks after they have agreed: the message of an error and its exit code, or `None`.
fn agreed(outcome: impl Fn(usize) -> anyhow::Result<()> + Sync) -> Vec<Option<(String, u8)>> {
    answers(&["m", "n", "m"], |world| {
        let ended = world.agree(outcome(world.ranks().rank()));
        ended.err().map(|error| {
            let code = match error.downcast_ref::<super::Agreed>() {
                Some(agreed) => agreed.code,
                None => rsf_io::exit_code(&error),
            };
            (error.to_string(), code)
        })
    })
}

#[test]
fn the_first_rank_that_fails_prints_the_error() {
    let reported = |code: u8| Some(("another process has reported the error".to_string(), code));
    let message = |words: &str, code: u8| Some((words.to_string(), code));
    assert_eq!(agreed(|_| Ok(())), [None, None, None]);
    // These ranks fail for different reasons.
    let outcomes = agreed(|rank| match rank {
        0 => Ok(()),
        _ => {
            let error = kernels::Error::setup(kernels::message![format!("fault {rank}: "), Hint::MoreGpus]);
            Err(error.into())
        }
    });
    let own = message("rank 1 on n: fault 1: more GPUs (ngpu=)", 1);
    assert_eq!(outcomes, [reported(1), own, reported(1)]);
    // All ranks have the same reason, so no rank is named.
    let outcomes = agreed(|_| Err(anyhow!("dt= is missing")));
    assert_eq!(outcomes, [message("dt= is missing", 1), reported(1), reported(1)]);
    // A rank that only knows of the error of another rank reports nothing; the exit code comes from the rank that
    // reports.
    let signal = Signal::of(15).unwrap();
    let outcomes = agreed(|rank| match rank {
        2 => Err(rsf_io::Error::Interrupted {
            signal,
            left: "d.rsf holds 2 shots".into(),
        }
        .into()),
        _ => Err(rsf_io::Error::Reported(9).into()),
    });
    let own = format!("rank 2 on m: ended by {signal}: d.rsf holds 2 shots");
    assert_eq!(outcomes, [reported(143), reported(143), message(&own, 143)]);
    let outcomes = agreed(|rank| match rank {
        1 => Err(rsf_io::Error::Reported(9).into()),
        _ => Ok(()),
    });
    assert_eq!(outcomes, [None, reported(9), None]);
}

#[test]
fn all_ranks_begin_or_none() {
    for begun in [[true; 3], [false; 3]] {
        let all = answers(&["n"; 3], |world| {
            world.begin(begun[world.ranks().rank()], Ok(())).is_ok()
        });
        assert_eq!(all, [true; 3]);
    }
    let messages = answers(&["n"; 3], |world| {
        let begun = world.begin(world.ranks().rank() == 1, Ok(()));
        begun.unwrap_err().to_string()
    });
    assert!(
        messages[0].starts_with("some ranks have a run but others have none"),
        "{messages:?}"
    );
    assert_eq!(messages[1..], ["another process has reported the error"; 2]);
}

/// Findings of ranks about parts of a model are combined into findings about the whole model. If there are bad cells,
/// the rank with the first one in the file reports it.
#[test]
fn findings_of_parts_are_those_of_the_whole() {
    let of = |rank: usize| Findings {
        extremes: Extremes {
            dt_max: [3e-3, 1e-3, 2e-3][rank],
            dt_cell: 10 * rank,
            slowest: [800.0, 900.0, 700.0][rank],
            slowest_cell: 10 * rank + 1,
            fastest: [4000.0, 5000.0, 5000.0][rank],
            fastest_cell: 10 * rank + 2,
            fluids: rank + 1,
            symmetry: [Symmetry::Isotropic, Symmetry::Isotropic, Symmetry::Orthorhombic][rank],
        },
        density_jump: [1.5, 1.25, 1.0][rank],
        densities: [[2000.0, 2100.0], [1500.0, 1600.0], [1800.0, 2700.0]][rank],
    };
    let all = answers(&["n"; 3], |world| {
        let findings = world.merge(Ok(of(world.ranks().rank()))).unwrap();
        findings.map(|findings| findings.to_words()).ok()
    });
    let expected = Findings {
        extremes: Extremes {
            dt_max: 1e-3,
            dt_cell: 10,
            slowest: 700.0,
            slowest_cell: 21,
            fastest: 5000.0,
            fastest_cell: 12,
            fluids: 6,
            symmetry: Symmetry::Orthorhombic,
        },
        density_jump: 1.5,
        densities: [1500.0, 2700.0],
    };
    assert_eq!(all, [Some(expected.to_words()); 3]);
    let bad = |cell: usize| BadCell {
        cell,
        fault: Fault::Density(-1.0),
        values: format!("cell {cell}"),
    };
    let all = answers(&["n"; 3], |world| {
        let rank = world.ranks().rank();
        let mine = match rank {
            0 => Ok(of(0)),
            _ => Err(bad([0, 70, 40][rank])),
        };
        world
            .merge(mine)
            .map(|findings| findings.err().map(|bad| bad.cell))
            .ok()
    });
    assert_eq!(all, [None, None, Some(Some(40))]);
}
