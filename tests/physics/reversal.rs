//! Time can be reversed: in a model without absorption, 500 steps forward and the same steps backward return to every
//! field on the way. The source acts in both directions: backward it removes what it has added.

use crate::shots::{Ricker, Tape, largest, largest_difference, magnitude, medium, shot};
use kernels::boundary::free_surface::Surface;
use kernels::device::cpu::Cpu;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness, Thomsen};
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::{Shot, Simulation, Snapshots, SourceKind};
use kernels::time_loop::Direction;

const STEPS: usize = 500;

fn layers(at: [f64; 3]) -> (Stiffness, f64) {
    let fast = at[0] + 0.2 * at[1] > 14.0;
    let (vp, vs, rho) = if fast { (3.0, 1.7, 2.4) } else { (2.4, 1.4, 2.0) };
    let t = Thomsen {
        epsilon: 0.12,
        delta: 0.05,
        gamma: 0.1,
    };
    (
        Stiffness::vti(Speeds { vp, vs, rho }, t).expect("a real medium"),
        rho,
    )
}

/// The largest difference between a field of the backward and of the forward run, relative to the largest value: when
/// step `it` has been undone, the field is the one that was current after step `it - 2`, because the two time levels
/// have been exchanged.
fn returns(padded: &Padded, surface: Surface, kind: SourceKind, slabs: &[usize]) -> f64 {
    let wavelet = Ricker::starting_at_zero(0.12).samples(STEPS, 0.15, &[1.0, 0.5, -0.7][..padded.ndim()]);
    let middle = [0, 1, 2].map(|a| (padded.model.n[a] / 2) as f32);
    let s = Shot {
        kind,
        surface,
        snapshots: Some(Snapshots {
            every: 1,
            window: padded.n.map(|n| 0..n),
        }),
        jdata: STEPS,
        ..shot(0.15, wavelet, vec![middle], vec![middle])
    };
    let cut = SLABS.cut(padded.planes(), slabs).expect("the slabs fit");
    let cpu = Cpu::new(2).expect("threads start");
    let mut simulation = Simulation::new(&s, medium::<f32>(padded, layers), cpu, cut).expect("a valid shot");
    let (mut there, mut back) = (Tape::<f32>::default(), Tape::<f32>::default());
    simulation.run(&mut there).expect("forward");
    simulation.schedule().direction = Direction::Backward;
    simulation.run(&mut back).expect("backward");
    assert_eq!((there.snapshots.len(), back.snapshots.len()), (STEPS, STEPS));
    let all = there.snapshots.iter().flat_map(|(_, u)| u);
    let most = f64::from(magnitude(all));
    let rest = vec![0.0; there.snapshots[0].1.len()];
    let worst = largest(back.snapshots.iter().map(|(it, fields)| {
        let before = it.checked_sub(2).map_or(&rest, |k| &there.snapshots[k].1);
        largest_difference(fields, before)
    }));
    assert!(most > 0.0 && back.snapshots.last().is_some_and(|(it, _)| *it == 0));
    worst / most
}

#[test]
fn a_lossless_run_comes_back_to_where_it_began() {
    let plane = Padded::new(&Grid::new_2d([40, 50], [0.0; 2], [1.0; 2]), 12);
    let volume = Padded::new(&Grid::new_3d([16, 18, 14], [0.0; 3], [1.0; 3]), 10);
    for (padded, surface, kind, slabs) in [
        (&plane, Surface::None, SourceKind::Force, &[74][..]),
        (&plane, Surface::Traction, SourceKind::Stress, &[30, 21, 23]),
        (&volume, Surface::None, SourceKind::Stress, &[20, 14]),
        (&volume, Surface::Traction, SourceKind::Force, &[34]),
    ] {
        let worst = returns(padded, surface, kind, slabs);
        println!(
            "{}-D {surface:?} {kind:?}: {worst:.1e} of the largest",
            padded.ndim()
        );
        assert!(
            worst <= 1e-4,
            "{}-D {surface:?} {kind:?}: {worst:e}",
            padded.ndim()
        );
    }
}

#[test]
fn a_run_that_loses_energy_is_not_turned() {
    let padded = Padded::new(&Grid::new_2d([40, 50], [0.0; 2], [1.0; 2]), 20);
    let wavelet = Ricker::starting_at_zero(0.12).samples(30, 0.1, &[1.0, 0.5]);
    let s = Shot {
        absorbing: true,
        ..shot(0.1, wavelet, vec![[20.0; 3]], vec![[20.0; 3]])
    };
    let slabs = SLABS.cut(padded.planes(), &[90]).expect("the slab fits");
    let cpu = Cpu::new(1).expect("a thread starts");
    let mut simulation =
        Simulation::new(&s, medium::<f32>(&padded, layers), cpu, slabs).expect("a valid shot");
    simulation.schedule().direction = Direction::Backward;
    let refused = simulation
        .run(&mut Tape::<f32>::default())
        .expect_err("a run that loses energy");
    assert!(refused.to_string().contains("backward"), "{refused}");
}
