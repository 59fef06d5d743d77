//! A run that was saved and is continued on other slabs, threads and ranks gives the same bits as an uninterrupted run;
//! the bytes of the states are also the same.

use crate::cases::{World, difference, settings};
use crate::saved_states::{Draw, MemorySource, MemoryStore, from_step};
use crate::shots::{Tape, lengths, part};
use crate::thread_ranks::{Capabilities, thread_ranks};
use kernels::Error;
use kernels::boundary::one_way::Form;
use kernels::communicator::{Alone, Communicator};
use kernels::device::cpu::Cpu;
use kernels::error::StateError;
use kernels::grid::{Grid, Padded};
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::{ParallelOptions, Shot, Simulation};
use kernels::parallel::gather::SnapshotWriter;
use kernels::receiver::Quantity;
use kernels::time_loop::state::{Checkpoints, Every, read_header};
use std::sync::Arc;

/// Where a run saves its states, and how often.
type Saving<'a> = Option<(&'a Arc<MemoryStore>, Every)>;

fn simulation(world: &World, shot: &Shot, threads: usize, slabs: &[usize]) -> Simulation<f32> {
    let layouts = SLABS.cut(world.padded.planes(), slabs).expect("the slabs fit");
    let cpu = Cpu::new(threads).expect("threads start");
    Simulation::new(shot, world.medium(), cpu, layouts).expect("a valid shot")
}

/// A whole run on these slabs, and the states that it has saved.
fn saved(
    world: &World,
    shot: &Shot,
    every: usize,
    (threads, slabs): (usize, &[usize]),
) -> (Tape<f32>, Vec<(usize, Vec<u8>)>) {
    let memory_store = Arc::new(MemoryStore::default());
    let mut checkpoints = Checkpoints::new(&Alone, memory_store.clone(), Every::Steps(every));
    let mut tape = Tape::default();
    simulation(world, shot, threads, slabs)
        .run_saving(
            &Alone,
            &mut tape,
            ParallelOptions::default(),
            Some(&mut checkpoints),
        )
        .expect("the shot runs");
    assert!(memory_store.failures.lock().unwrap().is_empty());
    assert!(tape.peak() > 0.0);
    tape.assert_lengths(lengths(shot, world.padded.ndim()));
    (tape, memory_store.states())
}

/// The records of a resumed run.
fn resumed(world: &World, shot: &Shot, state: &[u8], (threads, slabs): (usize, &[usize])) -> Tape<f32> {
    let mut simulation = simulation(world, shot, threads, slabs);
    simulation
        .resume(&Alone, &mut MemorySource(state))
        .expect("a valid state");
    let mut tape = Tape::default();
    simulation.run(&mut tape).expect("the shot runs");
    tape
}

fn same_bits(world: &World, seed: u64, change: impl Fn(usize, &mut Shot)) {
    let mut draw = Draw(seed);
    let planes = world.padded.planes();
    for (k, setting) in settings().into_iter().enumerate() {
        let mut shot = world.shot(setting);
        change(k, &mut shot);
        let whole = world.run(&shot, 1, &[]);
        let every = draw.of(1..world.steps);
        let first = (draw.of(1..3), draw.slabs(planes, 4));
        let (tape, states) = saved(world, &shot, every, (first.0, &first.1));
        assert_eq!(difference(&whole, &tape), None, "saving changes nothing");
        let steps: Vec<usize> = states.iter().map(|s| s.0).collect();
        let due: Vec<usize> = (1..world.steps).filter(|s| s % every == 0).collect();
        assert_eq!(steps, due);
        let (_, others) = saved(world, &shot, every, (1, &draw.slabs(planes, 5)));
        assert!(states == others, "{setting:?}: bytes of states, {first:?}");
        for _ in 0..2 {
            let (step, state) = &states[draw.of(0..states.len())];
            let then = (draw.of(1..3), draw.slabs(planes, 5));
            let tape = resumed(world, &shot, state, (then.0, &then.1));
            let first_difference = difference(&from_step(&whole, *step), &tape);
            assert_eq!(
                first_difference, None,
                "{setting:?} after {step}: {first:?} then {then:?}"
            );
        }
    }
}

#[test]
fn a_plane_goes_on_anywhere() {
    same_bits(&World::plane(), 1, |k, s| {
        s.quantity = Quantity::of_displacement(k % 3 == 1);
        s.jdata = 1 + k % 4;
        s.one_way = if k % 2 == 0 { Form::Box } else { Form::Upwind };
    });
}

#[test]
fn a_volume_goes_on_anywhere() {
    same_bits(&World::slender(3), 2, |k, s| {
        s.quantity = Quantity::of_displacement(k % 3 == 2);
        s.jdata = 1 + k % 3;
    });
}

/// A run of ranks: the records of rank 0, and the result of every rank.
fn among(
    world: &World,
    shot: &Shot,
    parts: &[Vec<usize>],
    (state, memory_store): (Option<&[u8]>, Saving<'_>),
) -> (Tape<f32>, Vec<Result<(), Error>>) {
    let layouts = SLABS
        .cut(world.padded.planes(), &parts.concat())
        .expect("the slabs fit");
    let whole = world.medium();
    let all = thread_ranks(parts.len(), Capabilities::default(), |ranks| {
        let first: usize = parts[..ranks.rank()].iter().map(Vec::len).sum();
        let slabs = layouts[first..first + parts[ranks.rank()].len()].to_vec();
        let own = slabs[0].own.start..slabs[slabs.len() - 1].own.end;
        let cpu = Cpu::new(1).expect("threads start");
        let mut simulation = Simulation::new(shot, part(&whole, &own), cpu, slabs).expect("a valid shot");
        let mut tape = Tape::default();
        let options = ParallelOptions {
            snapshots: SnapshotWriter::Root,
            ..ParallelOptions::default()
        };
        if let Some(state) = state
            && let Err(e) = simulation.resume(ranks, &mut MemorySource(state))
        {
            return (tape, Err(e));
        }
        let mut checkpoints =
            memory_store.map(|(memory_store, every)| Checkpoints::new(ranks, memory_store.clone(), every));
        let result = simulation.run_saving(ranks, &mut tape, options, checkpoints.as_mut());
        (tape, result)
    });
    let (mut tapes, results): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    (tapes.swap_remove(0), results)
}

#[test]
fn ranks_save_the_bytes_of_one_process_and_go_on_from_them() {
    let mut draw = Draw(3);
    for world in [World::plane(), World::slender(3)] {
        let planes = world.padded.planes();
        for (k, setting) in settings().into_iter().enumerate().step_by(3) {
            let mut shot = world.shot(setting);
            shot.quantity = Quantity::of_displacement(k % 2 == 1);
            let every = draw.of(3..world.steps);
            let (whole, states) = saved(&world, &shot, every, (1, &[planes]));
            let slabs = draw.slabs(planes, 5);
            let parts = draw.ranks(&slabs);
            let memory_store = Arc::new(MemoryStore::default());
            let kept = (None, Some((&memory_store, Every::Steps(every))));
            let (tape, results) = among(&world, &shot, &parts, kept);
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            assert_eq!(difference(&whole, &tape), None, "{setting:?} on {parts:?}");
            assert!(
                memory_store.states() == states,
                "{setting:?}: bytes of states, {parts:?}"
            );
            let (step, state) = &states[draw.of(0..states.len())];
            let slabs = draw.slabs(planes, 5);
            let parts = draw.ranks(&slabs);
            let (tape, results) = among(&world, &shot, &parts, (Some(state), None));
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            let first_difference = difference(&from_step(&whole, *step), &tape);
            assert_eq!(first_difference, None, "{setting:?} after {step} on {parts:?}");
        }
    }
}

#[test]
fn a_run_that_must_stop_saves_its_state_first() {
    let world = World::plane();
    let shot = world.shot(settings()[3]);
    let whole = world.run(&shot, 1, &[]);
    for parts in [vec![vec![60]], vec![vec![20], vec![9, 31]]] {
        let memory_store = Arc::new(MemoryStore::default());
        memory_store.stop.store(true, std::sync::atomic::Ordering::SeqCst);
        let (tape, results) = among(&world, &shot, &parts, (None, Some((&memory_store, Every::Never))));
        let stopped = |r: &Result<(), Error>| matches!(r, Err(Error::Stopped { done: 1 }));
        assert!(results.iter().all(stopped), "{results:?}");
        let [(1, state)] = &memory_store.states()[..] else {
            panic!("one state is saved after step 1");
        };
        assert_eq!(tape.steps, [0]);
        let tape = resumed(&world, &shot, state, (1, &[29, 31]));
        assert_eq!(difference(&from_step(&whole, 1), &tape), None);
    }
}

#[test]
fn time_decides_when_a_state_is_saved() {
    let world = World::plane();
    let shot = world.shot(settings()[0]);
    let memory_store = Arc::new(MemoryStore::default());
    let often = Every::Time(std::time::Duration::ZERO);
    let parts = [vec![20], vec![40]];
    let (_, results) = among(&world, &shot, &parts, (None, Some((&memory_store, often))));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let states = memory_store.states();
    assert!(states.len() > 2 && states.is_sorted_by_key(|s| s.0));
}

#[test]
fn a_disk_that_is_full_is_no_end_of_the_run() {
    let world = World::plane();
    let shot = world.shot(settings()[0]);
    let whole = world.run(&shot, 1, &[]);
    for parts in [vec![vec![60]], vec![vec![20], vec![9, 31]]] {
        for (room, locked) in [(3, false), (0, true)] {
            let memory_store = Arc::new(MemoryStore::default());
            memory_store.room.store(room, std::sync::atomic::Ordering::SeqCst);
            memory_store
                .locked
                .store(locked, std::sync::atomic::Ordering::SeqCst);
            let (tape, results) = among(
                &world,
                &shot,
                &parts,
                (None, Some((&memory_store, Every::Steps(40)))),
            );
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            assert_eq!(difference(&whole, &tape), None);
            assert!(memory_store.states().is_empty());
            let steps: Vec<usize> = memory_store
                .failures
                .lock()
                .unwrap()
                .iter()
                .map(|f| f.0)
                .collect();
            assert_eq!(steps, [40, 80]);
        }
    }
}

/// The error for a state that is refused.
fn refusal(world: &World, shot: &Shot, state: &[u8]) -> StateError {
    let mut simulation = simulation(world, shot, 1, &[20, world.padded.planes() - 20]);
    match simulation.resume(&Alone, &mut MemorySource(state)) {
        Err(Error::State(e)) => e,
        other => panic!("a bad state gives {other:?}"),
    }
}

#[test]
fn bad_states_are_refused_in_a_sentence() {
    let world = World::plane();
    let shot = world.shot(settings()[0]);
    let (_, states) = saved(&world, &shot, 50, (1, &[60]));
    let state = &states[0].1;
    let header = read_header(&mut MemorySource(state)).expect("a valid state");
    assert_eq!((header.step, header.label("records")), (50, Some("50")));
    assert_eq!(header.label("two\nlines\\"), Some("a=b\nc\\n\r"));
    let mut draw = Draw(4);
    // A state that is truncated anywhere is refused as too short.
    for _ in 0..50 {
        let cut = draw.of(0..state.len());
        let e = refusal(&world, &shot, &state[..cut]);
        assert!(matches!(e, StateError::Short { .. }), "{cut} bytes: {e}");
    }
    // One bit is wrong in the header, the first array, the last array, or the end.
    let first = 4096..4096 + header.arrays[0].bytes();
    let last = state.len() - 32 - header.arrays[1].bytes()..state.len() - 32;
    let text: usize = std::str::from_utf8(&state[15..27]).unwrap().parse().unwrap();
    for part in [0..28 + text, first, last, state.len() - 32..state.len()] {
        for _ in 0..40 {
            let (at, bit) = (draw.of(part.clone()), draw.of(0..8));
            let mut bad = state.clone();
            bad[at] ^= 1 << bit;
            let e = refusal(&world, &shot, &bad);
            let known = matches!(
                e,
                StateError::Damaged { .. }
                    | StateError::NotAState
                    | StateError::Version { .. }
                    | StateError::Short { .. }
            );
            assert!(known, "bit {bit} of byte {at}: {e}");
        }
    }
    // Two blocks are exchanged.
    let block = header.arrays[0].block;
    let mut bad = state.clone();
    let (low, high) = bad.split_at_mut(4096 + 30 * block);
    low[4096 + 29 * block..].swap_with_slice(&mut high[..block]);
    let e = refusal(&world, &shot, &bad).to_string();
    assert!(e.contains("damaged"), "{e}");
    // Files of other kinds are refused.
    for bytes in [&b"n1=3 in=stdin\n"[..], b"SIFAKA", b""] {
        let e = refusal(&world, &shot, bytes);
        assert!(
            matches!(e, StateError::NotAState | StateError::Short { .. }),
            "{e}"
        );
    }
    let mut newer = state.clone();
    newer[13] = b'2';
    let e = refusal(&world, &shot, &newer).to_string();
    assert!(e.contains("version 2") && e.contains("version 1"), "{e}");
    // States of another grid, and states that leave a run no steps, are refused.
    let e = refusal(&World::slender(2), &World::slender(2).shot(settings()[0]), state);
    assert!(matches!(e, StateError::Size { .. }), "{e}");
    let mut short = world.shot(settings()[0]);
    short.wavelet.truncate(short.wavelet.len() / world.steps * 50);
    let e = refusal(&world, &short, state).to_string();
    assert!(e.contains("after step 50") && e.contains("50 steps"), "{e}");
    // All of several ranks give the same message.
    let mut bad = state.clone();
    bad[5000] ^= 1;
    for bytes in [&bad, &state[..state.len() - 1].to_vec()] {
        let (_, results) = among(&world, &shot, &[vec![20], vec![40]], (Some(bytes), None));
        let words: Vec<String> = results.into_iter().map(|r| r.unwrap_err().to_string()).collect();
        assert!(
            words[0] == words[1] && words[0].contains("the state"),
            "{words:?}"
        );
    }
}

/// States are written in pieces of 4 MiB and read in pieces of 8 MiB. A component of displacement is longer here, and its
/// last piece shorter.
#[test]
fn a_state_of_many_pieces_goes_on() {
    let mut world = World::plane();
    world.padded = Padded::new(&Grid::new_2d([1448, 1416], [0.0; 2], [1.0, 0.9]), 12);
    world.steps = 4;
    world.receivers = vec![[9.3, 13.0, 0.0], [8.0, 22.0, 0.0]];
    let component = world.padded.cells() * size_of::<f32>();
    assert!(component > 8 << 20 && !component.is_multiple_of(4 << 20));
    let shot = world.shot(settings()[0]);
    let all = [world.padded.planes()];
    let (whole, states) = saved(&world, &shot, 2, (2, &all));
    let (step, state) = &states[0];
    let tape = resumed(&world, &shot, state, (2, &all));
    assert_eq!(difference(&from_step(&whole, *step), &tape), None);
}
