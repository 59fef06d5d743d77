//! The velocity-stress method on ranks, each with its own accelerators, gives the same bits with every transport.

use crate::cases::difference;
use crate::ranks::{REFUSED, ways};
use crate::runs::Machines;
use crate::shots::{Tape, medium, part};
use crate::staggered::{Case, cases, record};
use crate::thread_ranks::{Capabilities, ThreadRank, thread_ranks};
use kernels::Error;
use kernels::communicator::Communicator;
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::medium::Medium;
use kernels::methods::velocity_stress::GHOST;
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::gpu::{self, Simulation, from_medium};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::parallel::rank_halo::Overlap;
use kernels::parallel::slabs::Slab;

/// Numbers of slabs of the ranks.
const PARTS: [&[usize]; 4] = [&[1, 1], &[2, 1], &[1, 1, 1], &[1, 2, 1]];

/// Planes of the slabs, which are of unequal thickness.
fn layouts(case: &Case, count: usize) -> Option<Vec<Slab>> {
    let planes = case.shot.frame.around(&case.grid).planes();
    let mut sizes = vec![8; count];
    sizes[count / 2] = planes.checked_sub(8 * (count - 1)).filter(|&n| n >= 8)?;
    Some(if count % 2 == 1 {
        SLABS.partition(planes, count).expect("the slabs fit")
    } else {
        SLABS.cut(planes, &sizes).expect("the slabs fit")
    })
}

/// A rank's simulation, which stores no more of the medium than it needs.
fn one_of<A: Accelerator>(
    machines: &Machines<A>,
    case: &Case,
    (whole, layouts): (&Medium<f32>, &[Slab]),
    (parts, rank): (&[usize], usize),
) -> Simulation<f32, A> {
    let first: usize = parts[..rank].iter().sum();
    let mine = first..first + parts[rank];
    let own = layouts[first].own.start..layouts[mine.end - 1].own.end;
    let placed = mine.map(|k| ((machines.open)(k), layouts[k].clone())).collect();
    let cpu = Cpu::new(1).expect("one thread");
    let raw = part(whole, &own);
    from_medium(&case.shot, &raw, case.class, (placed, None), &cpu).expect("a valid shot")
}

/// Work that every rank does with its simulation.
fn among<R: Send, A: Accelerator>(
    machines: &Machines<A>,
    case: &Case,
    (parts, talents): (&[usize], Capabilities),
    work: impl Fn(&ThreadRank, &mut Simulation<f32, A>) -> R + Sync,
) -> Option<Vec<R>> {
    let layouts = layouts(case, parts.iter().sum())?;
    let whole = medium::<f32>(&case.shot.frame.around(&case.grid), case.cell());
    Some(thread_ranks(parts.len(), talents, |ranks| {
        let mut simulation = one_of(machines, case, (&whole, &layouts), (parts, ranks.rank()));
        work(ranks, &mut simulation)
    }))
}

/// Options with which rank 0 writes all snapshots, and this transport.
fn options(transport: Transport) -> ParallelOptions {
    ParallelOptions {
        snapshots: SnapshotWriter::Root,
        transport,
        ..ParallelOptions::default()
    }
}

pub fn staggered_ranks_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        let mut runs = 0;
        for (k, case) in cases(ndim)
            .iter()
            .enumerate()
            .step_by(if machines.quick { 1 } else { 5 })
        {
            let (one, peaks) = record::<f32, A>(machines, case, &[]).expect("the shot runs");
            let ways = ways(machines);
            for (j, parts) in PARTS.into_iter().enumerate() {
                let (talents, way) = ways[(j + k) % ways.len()];
                let all = among(machines, case, (parts, talents), |ranks, simulation| {
                    let mut tape = Tape::default();
                    let done = simulation.run_among(ranks, &mut tape, options(way));
                    done.expect("the shot runs");
                    (tape, simulation.peaks_among(ranks).expect("peaks"))
                });
                let Some(all) = all else { continue };
                let what = format!("{}, ranks {parts:?}, {way:?}", case.what);
                assert_eq!(difference(&one, &all[0].0), None, "{what}");
                assert!(peaks == all[0].1, "peaks, {what}");
                assert!(all[1..].iter().all(|(_, map)| map.is_empty()), "{what}");
                runs += 1;
            }
        }
        assert!(runs >= 8, "{ndim}-D: {runs} runs");
    }
}

pub fn staggered_ranks_run_again<A: Accelerator>(machines: &Machines<A>) {
    let case = &cases(3)[0];
    let whole = medium::<f32>(&case.shot.frame.around(&case.grid), case.cell());
    let layouts = layouts(case, 1).expect("one slab fits");
    let mut alone = one_of(machines, case, (&whole, &layouts), (&[1], 0));
    let mut once = [Tape::default(), Tape::default()];
    // Each run continues from the end of the previous one.
    once.iter_mut()
        .for_each(|tape| alone.run(tape).expect("the shot runs"));
    for (talents, way) in ways(machines) {
        let ran = among(machines, case, (&[1, 1], talents), |ranks, simulation| {
            let before = simulation.bytes();
            let ways = simulation.connect(ranks, way).expect("the neighbours connect");
            let mut tapes = [Tape::default(), Tape::default(), Tape::default()];
            let manners = [Overlap::Overlapped, Overlap::Blocking, Overlap::WithoutSends];
            for (tape, overlap) in tapes.iter_mut().zip(manners) {
                let options = ParallelOptions {
                    overlap,
                    ..options(way)
                };
                simulation
                    .run_connected(ranks, tape, options)
                    .expect("the shot runs");
            }
            let taken = simulation.bytes();
            simulation.disconnect(ranks).expect("the neighbours disconnect");
            assert_eq!(simulation.bytes(), taken, "the memory of messages stays counted");
            simulation.connect(ranks, way).expect("they connect again");
            assert_eq!(
                simulation.bytes(),
                taken,
                "new messages take the place of the old"
            );
            simulation.disconnect(ranks).expect("they disconnect again");
            // Rank 0 has a neighbour only above, and rank 1 only below.
            (tapes, ways, taken - before)
        });
        let ran = ran.expect("two slabs fit");
        let taken = ran[0].1[0];
        assert!(ran.iter().all(|(_, ways, _)| *ways == [taken]));
        if machines.open_memory {
            let expected = match (way, talents.apart, talents.reach_devices) {
                (Transport::Auto, false, _) => Transport::Ipc,
                (Transport::Auto, _, true) => Transport::CudaAware,
                _ => Transport::HostStaged,
            };
            assert_eq!(taken, expected);
        }
        let messages = match taken {
            Transport::CudaAware => 2,
            Transport::Ipc => 1,
            _ => 0,
        };
        let message = case.shot.travelling(3).iter().sum::<usize>() * GHOST * whole.padded().plane_len();
        let bytes = messages * message * size_of::<f32>();
        assert!(ran.iter().all(|rank| rank.2 == bytes), "{taken:?}: {bytes}");
        let predicted = |messages: usize| {
            gpu::bytes(
                (&case.shot, 1),
                whole.padded(),
                &layouts[0],
                (case.class, messages),
            )
        };
        assert!(predicted(messages) >= predicted(0) + bytes, "{taken:?}: {bytes}");
        for (k, tape) in once.iter().enumerate() {
            assert_eq!(difference(tape, &ran[0].0[k]), None, "run {k} by {taken:?}");
        }
        assert_eq!(ran[0].0[2].steps, once[0].steps);
    }
}

pub fn staggered_ways_that_cannot_be_had_are_refused_by_all<A: Accelerator>(machines: &Machines<A>) {
    let case = &cases(2)[6];
    let (one, _) = record::<f32, A>(machines, case, &[]).expect("the shot runs");
    for (talents, way, expected) in REFUSED {
        let outcomes = among(machines, case, (&[1, 1, 1], talents), |ranks, simulation| {
            let refused = simulation.run_among(ranks, &mut Tape::default(), options(way));
            // The failed attempt leaves nothing behind, so the next transport works.
            let mut tape = Tape::default();
            let done = simulation.run_among(ranks, &mut tape, options(Transport::Auto));
            done.expect("the shot runs");
            (refused, tape)
        });
        let outcomes = outcomes.expect("three slabs fit");
        for (refused, _) in &outcomes {
            let Err(Error::Agreed(words)) = refused else {
                panic!("{way:?}: {refused:?}");
            };
            assert!(words.to_string().starts_with(expected), "{words}");
        }
        assert_eq!(difference(&one, &outcomes[0].1), None);
    }
}

pub fn a_staggered_rank_that_grows_ends_all<A: Accelerator>(machines: &Machines<A>) {
    let mut case = cases(2).swap_remove(0);
    (case.shot.dt, case.shot.nt) = (1.5, 400);
    let parts: &[usize] = &[1, 1, 1];
    let ends = among(
        machines,
        &case,
        (parts, Capabilities::default()),
        |ranks, simulation| simulation.run_among(ranks, &mut Tape::default(), options(Transport::Auto)),
    );
    let ends = ends.expect("three slabs fit");
    let not_finite = |end: &&Result<(), Error>| matches!(end, Err(Error::NotFinite { .. }));
    assert_eq!(ends.iter().filter(not_finite).count(), 1, "{ends:?}");
    let elsewhere = |end: &&Result<(), Error>| matches!(end, Err(Error::Elsewhere));
    assert_eq!(ends.iter().filter(elsewhere).count(), 2, "{ends:?}");
}
