//! Runs on devices that were saved continue on other devices and ranks with the same bits, with and without replayed
//! steps, and on processors to rounding.

use crate::cases::{World, difference, settings};
use crate::runs::{Machines, misfit, on, prepare};
use crate::saved_states::{Draw, MemorySource, MemoryStore, from_step};
use crate::shots::{Tape, lengths, medium, part};
use crate::staggered::{Case, cases};
use crate::thread_ranks::{Capabilities, thread_ranks};
use kernels::Error;
use kernels::boundary::one_way::Form;
use kernels::communicator::{Alone, Communicator};
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::device::device_to_host::HALF;
use kernels::medium::Symmetry;
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::gpu::from_medium;
use kernels::methods::displacement::{self, Shot};
use kernels::methods::velocity_stress::{self, gpu};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::options::ParallelOptions;
use kernels::receiver::Quantity;
use kernels::time_loop::state::{Checkpoints, Every};
use std::sync::Arc;

/// The state from which a run begins, and the number of steps after which it is saved again.
#[derive(Clone, Copy, Default)]
struct States<'a> {
    from: Option<&'a [u8]>,
    every: Option<usize>,
}

/// The results of a run: records, largest speeds, and states by step.
struct Given {
    tape: Tape<f32>,
    peaks: Vec<f32>,
    states: Vec<(usize, Vec<u8>)>,
}

fn options() -> ParallelOptions {
    ParallelOptions {
        snapshots: SnapshotWriter::Root,
        ..ParallelOptions::default()
    }
}

/// Saves into a memory store every `every` steps.
fn saving<'a>(
    ranks: &'a dyn Communicator,
    memory_store: &Arc<MemoryStore>,
    every: Option<usize>,
) -> Option<Checkpoints<'a>> {
    every.map(|n| Checkpoints::new(ranks, memory_store.clone(), Every::Steps(n)))
}

/// The displacement method on ranks, each with devices for its slabs.
fn displaced<A: Accelerator>(
    machines: &Machines<A>,
    (world, shot): (&World, &Shot),
    parts: &[Vec<usize>],
    states: States<'_>,
) -> Given {
    let layouts = SLABS
        .cut(world.padded.planes(), &parts.concat())
        .expect("the slabs fit");
    let memory_store = Arc::new(MemoryStore::default());
    let run = |ranks: &dyn Communicator| -> Result<Tape<f32>, Error> {
        let first: usize = parts[..ranks.rank()].iter().map(Vec::len).sum();
        let own = first..first + parts[ranks.rank()].len();
        let placed = own.map(|k| ((machines.open)(k), layouts[k].clone())).collect();
        let mut simulation = from_medium(shot, &world.medium(), placed, Symmetry::Orthorhombic)?;
        if let Some(state) = states.from {
            simulation.resume(ranks, &mut MemorySource(state))?;
        }
        let mut tape = Tape::default();
        let mut checkpoints = saving(ranks, &memory_store, states.every);
        simulation.run_saving(ranks, &mut tape, options(), checkpoints.as_mut())?;
        Ok(tape)
    };
    let mut tapes = match parts.len() {
        1 => vec![run(&Alone)],
        n => thread_ranks(n, Capabilities::default(), |ranks| run(ranks)),
    };
    let tape = tapes.swap_remove(0).expect("the shot runs");
    tape.assert_lengths(lengths(shot, world.padded.ndim()));
    Given {
        tape,
        peaks: Vec::new(),
        states: memory_store.states(),
    }
}

/// The velocity-stress method on ranks, each with devices for its slabs.
fn staggered<A: Accelerator>(
    machines: &Machines<A>,
    case: &Case,
    parts: &[Vec<usize>],
    states: States<'_>,
) -> Given {
    let padded = case.shot.frame.around(&case.grid);
    let layouts = SLABS
        .cut(padded.planes(), &parts.concat())
        .expect("the slabs fit");
    let whole = medium::<f32>(&padded, case.cell());
    let memory_store = Arc::new(MemoryStore::default());
    let run = |ranks: &dyn Communicator| -> Result<(Tape<f32>, Vec<f32>), Error> {
        let first: usize = parts[..ranks.rank()].iter().map(Vec::len).sum();
        let mine = first..first + parts[ranks.rank()].len();
        let own = layouts[first].own.start..layouts[mine.end - 1].own.end;
        let placed = mine.map(|k| ((machines.open)(k), layouts[k].clone())).collect();
        let (raw, cpu) = (part(&whole, &own), Cpu::new(1)?);
        let mut simulation = gpu::from_medium(&case.shot, &raw, case.class, (placed, None), &cpu)?;
        if let Some(state) = states.from {
            simulation.resume(ranks, &mut MemorySource(state))?;
        }
        let mut tape = Tape::default();
        let mut checkpoints = saving(ranks, &memory_store, states.every);
        simulation.run_saving(ranks, &mut tape, options(), checkpoints.as_mut())?;
        Ok((tape, simulation.peaks_among(ranks)?))
    };
    let mut all = match parts.len() {
        1 => vec![run(&Alone)],
        n => thread_ranks(n, Capabilities::default(), |ranks| run(ranks)),
    };
    let (tape, peaks) = all.swap_remove(0).expect("the shot runs");
    Given {
        tape,
        peaks,
        states: memory_store.states(),
    }
}

/// A run by `run` that is saved on one cut and continued on others.
fn goes_on(
    planes: usize,
    steps: usize,
    draw: &mut Draw,
    what: &str,
    run: &dyn Fn(&[Vec<usize>], States<'_>) -> Given,
) -> Given {
    let plain = run(&[vec![planes]], States::default());
    assert!(plain.tape.peak() > 0.0, "{what}: something is recorded");
    let slabs = draw.slabs(planes, 4);
    let parts = draw.ranks(&slabs);
    let every = draw.of(1..steps / 2 + 1);
    let saving = States {
        every: Some(every),
        ..States::default()
    };
    let saved = run(&parts, saving);
    let first_difference = difference(&plain.tape, &saved.tape);
    assert_eq!(
        first_difference, None,
        "{what} saved after every {every} on {parts:?}"
    );
    assert!(plain.peaks == saved.peaks, "{what}: peaks on {parts:?}");
    // A state close to the end may be followed by no record.
    let is_followed = |step: usize| {
        let rest = from_step(&plain.tape, step);
        rest.traces.iter().flatten().any(|x| *x != 0.0)
    };
    let states: Vec<_> = saved
        .states
        .iter()
        .filter(|(step, _)| is_followed(*step))
        .collect();
    assert!(!states.is_empty(), "{what}: no record follows the states");
    for round in 0..2 {
        let (step, state) = states[draw.of(0..states.len())];
        let slabs = draw.slabs(planes, 4);
        let then = match round {
            0 => vec![slabs],
            _ => draw.ranks(&slabs),
        };
        let from = States {
            from: Some(state),
            ..States::default()
        };
        let given = run(&then, from);
        let first_difference = difference(&from_step(&plain.tape, *step), &given.tape);
        assert_eq!(
            first_difference, None,
            "{what} after {step}: {parts:?} then {then:?}"
        );
        assert!(
            plain.peaks == given.peaks,
            "{what}: peaks after {step} on {then:?}"
        );
    }
    saved
}

pub fn saved_runs_go_on_on_other_devices<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        let mut draw = Draw(10 + ndim as u64);
        let world = World::slender(ndim);
        for (k, setting) in machines.some(settings().into_iter(), ndim).enumerate() {
            let mut shot = world.shot(setting);
            (shot.quantity, shot.jdata) = (Quantity::of_displacement(k % 2 == 1), 1 + k % 3);
            let run = |parts: &[Vec<usize>], states: States<'_>| {
                displaced(machines, (&world, &shot), parts, states)
            };
            let what = format!("{ndim}-D {setting:?}");
            goes_on(world.padded.planes(), world.steps, &mut draw, &what, &run);
        }
    }
}

pub fn saved_staggered_runs_go_on_on_other_devices<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        let mut draw = Draw(20 + ndim as u64);
        let step = match (machines.quick, ndim) {
            (true, _) => 1,
            (_, 3) => 5,
            _ => 2,
        };
        for case in cases(ndim).iter().step_by(step) {
            let planes = case.shot.frame.around(&case.grid).planes();
            let run = |parts: &[Vec<usize>], states: States<'_>| staggered(machines, case, parts, states);
            goes_on(planes, case.shot.nt, &mut draw, &case.what, &run);
        }
    }
}

/// The device counts replayed steps, so a run that continues must tell it the current step, which may be odd.
pub fn replayed_steps_go_on_behind_a_state<A: Accelerator>(machines: &Machines<A>) {
    for n in [&[20, 13][..], &[3, 2, 11]] {
        let mut tiny = World::tiny(n);
        tiny.steps = 170;
        for (k, (every, jdata)) in [(45, 1), (61, 7), (100, 20)].into_iter().enumerate() {
            let mut shot = tiny.shot(settings()[4 * k + 1]);
            (shot.nbell, shot.jdata, shot.snapshots) = (k, jdata, None);
            let planes = vec![vec![tiny.padded.planes()]];
            let run = |states: States<'_>| displaced(machines, (&tiny, &shot), &planes, states);
            let saving = States {
                every: Some(every),
                ..States::default()
            };
            let (plain, saved) = (run(States::default()), run(saving));
            assert_eq!(difference(&plain.tape, &saved.tape), None);
            for (step, state) in &saved.states {
                let from = States {
                    from: Some(state),
                    ..States::default()
                };
                let first_difference = difference(&from_step(&plain.tape, *step), &run(from).tape);
                assert_eq!(first_difference, None, "{n:?} every {every} after {step}");
            }
        }
    }
}

/// A wrong state would cause larger differences than rounding does.
const CLOSE: f64 = 1e-5;

pub fn states_move_between_processors_and_devices<A: Accelerator>(machines: &Machines<A>) {
    let every = |steps: usize| States {
        every: Some(steps / 2),
        ..States::default()
    };
    for ndim in [2, 3] {
        let world = World::slender(ndim);
        let shot = world.shot(settings()[2]);
        let planes = world.padded.planes();
        let given = displaced(machines, (&world, &shot), &[vec![planes]], every(world.steps));
        let (step, state) = &given.states[0];
        let layouts = SLABS.cut(planes, &[planes - 9, 9]).expect("the slabs fit");
        let cpu = Cpu::new(1).expect("one thread");
        let mut simulation =
            displacement::Simulation::new(&shot, world.medium(), cpu, layouts).expect("a valid shot");
        let header = simulation
            .resume(&Alone, &mut MemorySource(state))
            .expect("a valid state");
        let mut tape = Tape::default();
        simulation.run(&mut tape).expect("the shot continues");
        assert_eq!(header.step, *step);
        let far = misfit(&from_step(&given.tape, *step), &tape);
        assert!(far < CLOSE, "{ndim}-D displacement: {far}");
        let step = if machines.quick { 1 } else { 4 };
        for case in cases(ndim).iter().skip(ndim % 2).step_by(step) {
            to_and_fro(machines, case, every(case.shot.nt));
        }
    }
    // In the other direction, a device that replays steps continues from the levels of a processor's state.
    let mut tiny = World::tiny(&[20, 13]);
    tiny.steps = 130;
    let shot = tiny.shot(settings()[0]);
    let (mut simulation, _) = prepare(machines, &shot, &tiny.medium(), on(&[])).expect("a valid shot");
    let memory_store = Arc::new(MemoryStore::default());
    let layouts = SLABS
        .cut(tiny.padded.planes(), &[tiny.padded.planes()])
        .expect("one slab fits");
    let cpu = Cpu::new(1).expect("one thread");
    let mut whole = Tape::default();
    displacement::Simulation::new(&shot, tiny.medium(), cpu, layouts)
        .expect("a valid shot")
        .run_saving(
            &Alone,
            &mut whole,
            options(),
            saving(&Alone, &memory_store, Some(33)).as_mut(),
        )
        .expect("the shot runs");
    let (step, state) = memory_store.states().swap_remove(0);
    simulation
        .resume(&Alone, &mut MemorySource(&state))
        .expect("a valid state");
    let mut tape = Tape::default();
    simulation.run(&mut tape).expect("the shot continues");
    let far = misfit(&from_step(&whole, step), &tape);
    assert!(far < CLOSE, "processor to device: {far}");
}

/// A velocity-stress run that moves from a device to processors, and one that moves from processors to a device.
fn to_and_fro<A: Accelerator>(machines: &Machines<A>, case: &Case, every: States<'_>) {
    let padded = case.shot.frame.around(&case.grid);
    let planes = padded.planes();
    let on_processors = |from: Option<&[u8]>| {
        let (raw, cpu) = (
            medium::<f32>(&padded, case.cell()),
            Cpu::new(1).expect("one thread"),
        );
        let layouts = SLABS.cut(planes, &[9, planes - 9]).expect("the slabs fit");
        let mut simulation = velocity_stress::Simulation::new(&case.shot, raw, case.class, cpu, layouts)
            .expect("a valid shot");
        if let Some(state) = from {
            simulation
                .resume(&Alone, &mut MemorySource(state))
                .expect("a valid state");
        }
        let (mut tape, memory_store) = (Tape::default(), Arc::new(MemoryStore::default()));
        let mut checkpoints = saving(&Alone, &memory_store, every.every);
        simulation
            .run_saving(&Alone, &mut tape, options(), checkpoints.as_mut())
            .expect("the shot runs");
        (tape, memory_store.states())
    };
    let given = staggered(machines, case, &[vec![planes]], every);
    let (step, state) = &given.states[0];
    let far = misfit(&from_step(&given.tape, *step), &on_processors(Some(state)).0);
    assert!(far < CLOSE, "{} to processors: {far}", case.what);
    let (tape, states) = on_processors(None);
    let (step, state) = &states[0];
    let from = States {
        from: Some(state),
        ..States::default()
    };
    let back = staggered(machines, case, &[vec![planes]], from);
    let far = misfit(&from_step(&tape, *step), &back.tape);
    assert!(far < CLOSE, "{} to a device: {far}", case.what);
}

/// The records before a state are delivered when it is saved, so that the ring continues with a part of its half
/// already sent.
pub fn records_go_round_between_states<A: Accelerator>(machines: &Machines<A>) {
    let mut tiny = World::tiny(&[8, 9]);
    tiny.steps = 3 * HALF + 60;
    let mut shot = tiny.shot(settings()[1]);
    (shot.nbell, shot.jcheck, shot.jdata, shot.snapshots) = (1, 1000, 1, None);
    // The published form is unstable in so thin a frame.
    shot.one_way = Form::Upwind;
    let parts = [vec![tiny.padded.planes()]];
    let whole = displaced(machines, (&tiny, &shot), &parts, States::default());
    for every in [HALF / 3, HALF - 28] {
        let states = States {
            from: None,
            every: Some(every),
        };
        let given = displaced(machines, (&tiny, &shot), &parts, states);
        assert_eq!(difference(&whole.tape, &given.tape), None, "every {every} steps");
    }
}
