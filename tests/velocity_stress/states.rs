//! A run that was saved and is continued on other slabs, threads and ranks gives bit-identical traces, snapshots and
//! largest speeds to an uninterrupted one; the bytes of the states are the same, too.

use crate::cuts::{grid, layers, ready};
use crate::desk::{frame, layer, shot};
use crate::saved_states::{Draw, MemorySource, MemoryStore, from_step};
use crate::shots::{Tape, medium, part};
use crate::thread_ranks::{Capabilities, thread_ranks};
use kernels::Error;
use kernels::communicator::{Alone, Communicator};
use kernels::device::cpu::Cpu;
use kernels::error::StateError;
use kernels::medium::Symmetry;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, Shot, Simulation};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::options::ParallelOptions;
use kernels::time_loop::state::{Checkpoints, Every};
use std::sync::Arc;

const QUANTITIES: [Quantity; 5] = [
    Quantity::Velocity,
    Quantity::Pressure,
    Quantity::Displacement,
    Quantity::Acceleration,
    Quantity::Strain,
];

const LOSSES: [Option<Mechanisms>; 6] = [
    None,
    Some(Mechanisms::Everywhere(1)),
    Some(Mechanisms::Coarse),
    Some(Mechanisms::Everywhere(2)),
    Some(Mechanisms::Everywhere(3)),
    Some(Mechanisms::Everywhere(4)),
];

/// Layers on five faces, layers on all faces, layers at the ends of only one axis, a sponge, no frame.
fn absorb(kind: usize) -> Frame {
    let all = frame(9, layer(3.5, 0.5));
    let of = |cells: [[usize; 2]; 3]| Frame { cells, ..all };
    match kind % 6 {
        0 => of([[0, 5], [7, 9], [9, 9]]),
        1 => all,
        2 => of([[0, 0], [0, 0], [6, 0]]),
        3 => of([[0, 17], [0, 0], [0, 0]]),
        4 => Frame {
            absorber: Absorber::Sponge(0.9),
            ..all
        },
        _ => of([[0; 2]; 3]),
    }
}

/// The `k`-th case; the options change with different periods in `k`.
fn case(ndim: usize, k: usize) -> Shot {
    let mut s = ready(shot(0.12, 41, absorb(k)), ndim);
    s.order = [4, 8, 2][k % 3];
    s.quantity = QUANTITIES[k % 5];
    s.surface = s.frame.cells[0][0] == 0;
    s.peaks = k % 4 != 1;
    s.jdata = 1 + k % 3;
    let cells = grid(ndim).cells();
    s.attenuation = LOSSES[(k / 2) % 6].map(|mechanisms| Attenuation {
        qp: (0..cells).map(|k| 40.0 + (k % 37) as f32).collect(),
        qs: (0..cells).map(|k| 25.0 + (k % 29) as f32).collect(),
        mechanisms,
        band: [0.05, 0.5],
        reference: 0.2,
    });
    s
}

/// The results of a run: records and largest speeds.
type Given = (Tape<f32>, Vec<f32>);

/// The state from which a run begins, and how it is saved.
#[derive(Clone, Copy, Default)]
struct States<'a> {
    from: Option<&'a [u8]>,
    to: Option<(&'a Arc<MemoryStore>, Every)>,
}

/// A run on ranks, each with slabs and threads: the results on rank 0, and how all ranks ended.
fn go(
    s: &Shot,
    ndim: usize,
    (parts, threads): (&[Vec<usize>], usize),
    states: States<'_>,
) -> Result<Given, Error> {
    let padded = s.frame.around(&grid(ndim));
    let layouts = SLABS.cut(padded.planes(), &parts.concat())?;
    let whole = medium::<f32>(&padded, layers);
    let run = |ranks: &dyn Communicator| {
        let first: usize = parts[..ranks.rank()].iter().map(Vec::len).sum();
        let slabs = layouts[first..first + parts[ranks.rank()].len()].to_vec();
        let own = slabs[0].own.start..slabs[slabs.len() - 1].own.end;
        let (raw, cpu) = (part(&whole, &own), Cpu::new(threads)?);
        let mut simulation = Simulation::new(s, raw, Symmetry::Isotropic, cpu, slabs)?;
        let mut tape = Tape::default();
        if let Some(state) = states.from {
            simulation.resume(ranks, &mut MemorySource(state))?;
        }
        let to = |(memory_store, every): (&Arc<MemoryStore>, _)| {
            Checkpoints::new(ranks, memory_store.clone(), every)
        };
        let mut checkpoints = states.to.map(to);
        let options = ParallelOptions {
            snapshots: SnapshotWriter::Root,
            ..ParallelOptions::default()
        };
        simulation.run_saving(ranks, &mut tape, options, checkpoints.as_mut())?;
        Ok((tape, simulation.peaks_among(ranks)?))
    };
    if parts.len() == 1 {
        return run(&Alone);
    }
    let all = thread_ranks(parts.len(), Capabilities::default(), |ranks| run(ranks));
    let mut all: Vec<Given> = all.into_iter().collect::<Result<_, Error>>()?;
    Ok(all.swap_remove(0))
}

fn same_bits(ndim: usize, seed: u64, cases: impl Iterator<Item = usize>) {
    let mut draw = Draw(seed);
    for k in cases {
        let s = case(ndim, k);
        let planes = s.frame.around(&grid(ndim)).planes();
        let what = format!("{ndim}-D case {k}: {:?}, {:?}", s.quantity, s.frame);
        let every = draw.of(1..s.nt);
        let saved = |parts: &[Vec<usize>], threads: usize| {
            let memory_store = Arc::new(MemoryStore::default());
            let states = States {
                to: Some((&memory_store, Every::Steps(every))),
                ..States::default()
            };
            let given = go(&s, ndim, (parts, threads), states).expect("the shot runs");
            (given, memory_store.states())
        };
        let (whole, states) = saved(&[vec![planes]], 1);
        let plain = go(&s, ndim, (&[vec![planes]], 2), States::default()).expect("the shot runs");
        assert!(
            plain == whole && whole.0.peak() > 0.0,
            "{what}: saving changes nothing"
        );
        let slabs = draw.slabs(planes, 4);
        let parts = draw.ranks(&slabs);
        let (other, bytes) = saved(&parts, 1);
        assert!(other == whole, "{what} on {parts:?}");
        assert!(bytes == states, "{what}: bytes of states, {parts:?}");
        for round in 0..2 {
            let (step, state) = &states[draw.of(0..states.len())];
            let slabs = draw.slabs(planes, 5);
            let parts = if round == 0 {
                vec![slabs]
            } else {
                draw.ranks(&slabs)
            };
            let from = States {
                from: Some(state),
                ..States::default()
            };
            let (tape, peaks) = go(&s, ndim, (&parts, 1 + round), from).expect("the shot continues");
            let expected = from_step(&whole.0, *step);
            assert!(
                tape == expected && peaks == whole.1,
                "{what} after {step} on {parts:?}"
            );
        }
    }
}

#[test]
fn a_plane_goes_on_anywhere() {
    same_bits(2, 5, 0..30);
}

#[test]
fn a_volume_goes_on_anywhere() {
    same_bits(3, 6, (0..30).step_by(7).chain([3, 10]));
}

#[test]
fn a_state_of_another_run_is_refused() {
    let saved = |s: &Shot| {
        let memory_store = Arc::new(MemoryStore::default());
        let states = States {
            to: Some((&memory_store, Every::Steps(20))),
            ..States::default()
        };
        go(s, 2, (&[vec![s.frame.around(&grid(2)).planes()]], 1), states).expect("the shot runs");
        memory_store.states().swap_remove(0).1
    };
    let plain = case(2, 1);
    let planes = plain.frame.around(&grid(2)).planes();
    let state = saved(&plain);
    let refusal = |s: &Shot, planes: usize| {
        let from = States {
            from: Some(&state),
            ..States::default()
        };
        match go(s, 2, (&[vec![20, planes - 20]], 1), from) {
            Err(Error::State(e)) => e,
            other => panic!("{other:?}"),
        }
    };
    let mut other = plain.clone();
    other.quantity = Quantity::Strain;
    let e = refusal(&other, planes);
    assert!(
        matches!(e, StateError::Arrays { .. }) && e.to_string().contains("sums at receivers"),
        "{e}"
    );
    other = plain.clone();
    other.frame = frame(11, layer(3.5, 0.5));
    let e = refusal(&other, planes + 4);
    assert!(matches!(e, StateError::Size { .. }), "{e}");
    other = plain.clone();
    other.nt = 20;
    let e = refusal(&other, planes);
    assert!(matches!(e, StateError::AtEnd { step: 20, steps: 20 }), "{e}");
}
