//! The velocity-stress method on accelerators: compared with the CPU engine, on slabs, and in repeated runs.

use crate::cases::difference;
use crate::desk::{frame, isotropic, layer, lengths, run_on, shot, source};
use crate::runs::{Machines, misfit};
use crate::shots::{Tape, medium};
use kernels::Error;
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::device::simd::Real;
use kernels::grid::Grid;
use kernels::grid::minimax::minimax;
use kernels::grid::points::Snapshots;
use kernels::grid::stencil::Family;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::gpu::from_medium;
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, Readings, Shot};
use kernels::source::Action;
use std::sync::Arc;

/// A model of rock, a fluid in a corner and a fast layer, which differs in every direction.
fn earth(at: [f64; 3]) -> (Stiffness, f64) {
    let step = f64::from(u8::from(at[0] + 0.3 * at[1] > 9.0)) + 0.5 * f64::from(u8::from(at[2] > 7.0));
    let vs = if at[1] > 12.0 && at[0] < 8.0 {
        0.0
    } else {
        1.1 + 0.4 * step
    };
    isotropic(2.0 + step, vs, 2.0 + 0.1 * step)
}

/// Nine different stiffnesses.
fn crystal(at: [f64; 3]) -> (Stiffness, f64) {
    let s = 1.0 + 0.2 * f64::from(u8::from(at[0] + at[1] > 16.0));
    let c = Stiffness {
        c11: 9.0 * s,
        c22: 7.0,
        c33: 6.0 * s,
        c44: 2.2,
        c55: 2.6 * s,
        c66: 3.1,
        c12: 1.1,
        c13: 0.6 * s,
        c23: 0.9,
    };
    (c, 1.4 + 0.1 * s)
}

/// A grid of odd sizes, so that rows end inside vectors and tiles extend beyond the grid.
fn grid(ndim: usize, number: usize) -> Grid {
    let n = [[17, 15, 14], [18, 9, 23], [23, 11, 12]][number % 3];
    match ndim {
        3 => Grid::new_3d(n, [0.0; 3], [1.0, 1.1, 0.9]),
        _ => Grid::new_2d([n[0], n[1] + n[2]], [0.0; 2], [1.0, 1.1]),
    }
}

/// A run and how it is cut.
pub struct Case {
    pub shot: Shot,
    pub grid: Grid,
    pub class: Symmetry,
    pub what: String,
}

impl Case {
    pub fn cell(&self) -> fn([f64; 3]) -> (Stiffness, f64) {
        if self.class == Symmetry::Isotropic {
            earth
        } else {
            crystal
        }
    }
}

/// A shot with sources of both kinds, receivers everywhere and a window of snapshots.
fn survey(mut s: Shot, grid: &Grid) -> Shot {
    let history = |t: f64| (-((t - 1.5) / 0.5).powi(2)).exp();
    let y = if grid.ndim == 3 { 5.3 } else { 0.0 };
    let tensor = Action::Moment([1.0, 0.4, 0.7, 0.3, -0.2, 0.5]);
    source(&mut s, [4.3, 5.6, y], tensor, history);
    source(&mut s, [4.0, 6.0, y + 0.4], tensor, history);
    source(
        &mut s,
        [1.0, 7.0, y + 2.0],
        Action::Force([1.0, 0.4, 0.7]),
        history,
    );
    s.receivers = (0..7)
        .map(|k| {
            let across = if grid.ndim == 3 { 0.5 + 1.4 * k as f32 } else { 0.0 };
            [0.3 * k as f32, 1.1 + 1.2 * k as f32, across]
        })
        .collect();
    let n = s.frame.around(grid).n;
    s.snapshots = Some(Snapshots {
        every: 7,
        window: [4..n[0], 3..n[1], 0..n[2]],
    });
    s
}

/// Frames of every kind, and their names.
fn absorb(kind: usize) -> (Frame, &'static str) {
    let mut faces = frame(6, layer(3.5, 0.5));
    faces.cells[0] = [0, 5];
    faces.cells[1] = [7, 4];
    let sponge = Absorber::Sponge(0.9);
    match kind % 4 {
        0 => (faces, "layers on five faces"),
        1 => (
            Frame {
                absorber: sponge,
                ..faces
            },
            "sponge",
        ),
        2 => (
            Frame {
                cells: [[0; 2]; 3],
                ..faces
            },
            "no frame",
        ),
        _ => (frame(9, layer(3.5, 0.5)), "layers"),
    }
}

const QUANTITIES: [Quantity; 6] = [
    Quantity::Velocity,
    Quantity::Pressure,
    Quantity::Displacement,
    Quantity::Acceleration,
    Quantity::Strain,
    Quantity::Readings(Readings {
        velocity: true,
        pressure: true,
        strain: true,
        rotation: true,
        pressure_snapshots: true,
    }),
];

const LOSSES: [Option<Mechanisms>; 4] = [
    None,
    Some(Mechanisms::Coarse),
    Some(Mechanisms::Everywhere(1)),
    Some(Mechanisms::Everywhere(3)),
];

/// The `k`-th case; every option occurs with every other option for some `k`.
fn case(ndim: usize, k: usize) -> Case {
    let (cells, name) = absorb(k / 2);
    let isotropic = k % 3 != 2;
    let mut s = shot(0.1, 40, cells);
    s.order = [4, 8, 2, 4, 4][k % 5];
    s.family = match k % 7 {
        3 => Family::Holberg,
        5 => minimax(s.order, 4.0).expect("an order"),
        _ => Family::Taylor,
    };
    s.surface = cells.cells[0][0] == 0 && k % 4 != 1;
    s.quantity = QUANTITIES[(k / 3) % 6];
    s.peaks = k.is_multiple_of(2);
    s.shears_in_place = !isotropic && k % 4 < 2;
    (s.jdata, s.jcheck) = (1 + k % 3, 9);
    s.attenuation = LOSSES[(k / 2 + k / 8) % 4].map(|mechanisms| Attenuation {
        qp: [60.0].into(),
        qs: [25.0].into(),
        mechanisms,
        band: [0.1, 1.2],
        reference: 0.4,
    });
    let grid = grid(ndim, k);
    let class = if isotropic {
        Symmetry::Isotropic
    } else {
        Symmetry::Orthorhombic
    };
    let what = format!(
        "{ndim}-D case {k}: order {} {name} {class} {:?} {:?} surface {} shears in place {}",
        s.order,
        s.quantity,
        s.attenuation.as_ref().map(|a| a.mechanisms),
        s.surface,
        s.shears_in_place
    );
    Case {
        shot: survey(s, &grid),
        grid,
        class,
        what,
    }
}

pub fn cases(ndim: usize) -> Vec<Case> {
    (0..24).map(|k| case(ndim, k)).collect()
}

/// Everything that a run on accelerators gives, with the largest speeds.
pub fn record<T: Real + Default, A: Accelerator>(
    machines: &Machines<A>,
    case: &Case,
    slabs: &[usize],
) -> Result<(Tape<T>, Vec<T>), Error> {
    let raw = medium::<T>(&case.shot.frame.around(&case.grid), case.cell());
    let planes = raw.padded().planes();
    let layouts = match slabs {
        [] => SLABS.partition(planes, 1)?,
        [n] => SLABS.partition(planes, *n)?,
        sizes => SLABS.cut(planes, sizes)?,
    };
    let devices: Vec<Arc<A>> = (0..layouts.len()).map(machines.open).collect();
    let placed = devices.iter().cloned().zip(layouts).collect();
    let cpu = Cpu::new(1)?;
    let mut simulation = from_medium(&case.shot, &raw, case.class, (placed, None), &cpu)?;
    let mut tape = Tape::default();
    let result = simulation.run(&mut tape);
    let peaks = simulation.peaks()?;
    drop(simulation);
    devices.iter().try_for_each(|d| d.finish())?;
    result?;
    tape.assert_lengths(lengths(&case.shot, case.grid.ndim));
    Ok((tape, peaks))
}

fn agree<T: Real + Default, A: Accelerator>(machines: &Machines<A>, ndim: usize, limit: f64) {
    // The step is odd, so that choices that alternate in twos all occur.
    let step = match (machines.quick, size_of::<T>()) {
        (true, _) => 1,
        (_, 8) => 5,
        _ if ndim == 3 => 3,
        _ => 1,
    };
    for case in cases(ndim).iter().step_by(step) {
        let cpu = run_on::<T>(&case.shot, &case.grid, case.cell(), case.class, (1, &[]));
        let cpu = cpu.expect("the shot runs");
        assert!(cpu.peak() > 0.0, "{}: something is recorded", case.what);
        let (tape, _) = record::<T, A>(machines, case, &[]).expect("the shot runs");
        let far = misfit(&cpu, &tape);
        println!("{}: {far:.1e}", case.what);
        assert!(far < limit, "{}: {far}", case.what);
    }
}

pub fn staggered_planes_agree<A: Accelerator>(machines: &Machines<A>) {
    agree::<f32, A>(machines, 2, 1e-5);
}

pub fn staggered_volumes_agree<A: Accelerator>(machines: &Machines<A>) {
    agree::<f32, A>(machines, 3, 1e-5);
}

pub fn staggered_grids_agree_in_float64<A: Accelerator>(machines: &Machines<A>) {
    agree::<f64, A>(machines, 2, 1e-12);
    agree::<f64, A>(machines, 3, 1e-12);
}

pub fn staggered_slabs_give_the_same_bits<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        for case in cases(ndim)
            .iter()
            .skip(ndim)
            .step_by(if machines.quick { 1 } else { 7 })
        {
            let (one, peaks) = record::<f32, A>(machines, case, &[]).expect("the shot runs");
            let again = record::<f32, A>(machines, case, &[]).expect("the shot runs");
            assert_eq!(difference(&one, &again.0), None, "again, {}", case.what);
            for slabs in [2, 3] {
                let planes = case.shot.frame.around(&case.grid).planes();
                if planes < 8 * slabs {
                    continue;
                }
                let (cut, cut_peaks) = record::<f32, A>(machines, case, &[slabs]).expect("the shot runs");
                assert_eq!(difference(&one, &cut), None, "{slabs} slabs, {}", case.what);
                assert!(peaks == cut_peaks, "{slabs} slabs, peaks of {}", case.what);
            }
        }
    }
}

pub fn a_staggered_run_that_grows_is_noticed<A: Accelerator>(machines: &Machines<A>) {
    let mut case = cases(2).swap_remove(0);
    (case.shot.dt, case.shot.nt) = (1.5, 400);
    let error = record::<f32, A>(machines, &case, &[]).expect_err("the step is far too long");
    let words = error.to_string();
    assert!(words.contains("P speed"), "{words}");
    // Slabs give the same bits, so the same cell is reported on any slabs.
    for slabs in [2, 3] {
        let cut = record::<f32, A>(machines, &case, &[slabs]).expect_err("the step is far too long");
        assert_eq!(cut.to_string(), words, "{slabs} slabs");
    }
}

/// A few short runs that use every kernel, for tools that watch each access (tests/gpu/run sanitize).
pub fn every_kernel_of_staggered_grids<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        for (mut case, slabs) in cases(ndim).into_iter().zip([1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1]) {
            case.shot.nt = 11;
            let cpu = run_on::<f32>(&case.shot, &case.grid, case.cell(), case.class, (1, &[]));
            let (tape, _) = record::<f32, A>(machines, &case, &[slabs]).expect("the shot runs");
            let far = misfit(&cpu.expect("the shot runs"), &tape);
            assert!(far < 1e-5, "{}: {far}", case.what);
        }
    }
}
