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
    match kind {
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

/// Options by which cases differ, in the order of [`options`], with the number of values of each.
const OPTIONS: [(&str, usize); 10] = [
    ("frame", 4),
    ("quantity", 6),
    ("attenuation", 4),
    ("order", 3),
    ("class", 2),
    ("surface", 2),
    ("shears in place", 2),
    ("family", 3),
    ("jdata", 3),
    ("peaks", 2),
];

/// Number of cases: each value of every option occurs with each value of every other option, except those that exclude
/// each other.
const CASES: usize = 24;

/// The values of the options in the `k`-th case.
fn options(k: usize) -> [usize; OPTIONS.len()] {
    let (quantity, frame, fifth) = (k / 4, k % 4, k / 5);
    let class = (quantity + frame + frame / 2 + fifth) % 2;
    [
        frame,
        quantity,
        (quantity + frame) % 4,
        (quantity + 2 * frame) % 3,
        class,
        // The layers of the last frame also lie along the surface.
        usize::from(frame != 3) * ((quantity + frame + fifth) % 2),
        // Isotropic media have no shear constants of their own.
        class * ((quantity + frame / 2) % 2),
        (quantity + 2 * frame + fifth) % 3,
        (2 * quantity + frame + quantity / 2) % 3,
        (quantity + frame + frame / 2) % 2,
    ]
}

#[test]
fn every_option_occurs_with_every_other() {
    let all: Vec<_> = (0..CASES).map(options).collect();
    for (j, (other, values)) in OPTIONS.iter().enumerate() {
        for (i, (name, count)) in OPTIONS[..j].iter().enumerate() {
            for (x, y) in (0..*count).flat_map(|x| (0..*values).map(move |y| (x, y))) {
                let excluded = match (*name, *other) {
                    ("frame", "surface") => (x, y) == (3, 1),
                    ("class", "shears in place") => (x, y) == (0, 1),
                    _ => false,
                };
                let occurs = all.iter().any(|case| (case[i], case[j]) == (x, y));
                assert!(occurs != excluded, "{name} {x} with {other} {y}");
            }
        }
    }
}

/// The `k`-th case.
fn case(ndim: usize, k: usize) -> Case {
    let [
        frame,
        quantity,
        loss,
        order,
        class,
        surface,
        in_place,
        family,
        jdata,
        peaks,
    ] = options(k);
    let (cells, name) = absorb(frame);
    let isotropic = class == 0;
    let mut s = shot(0.1, 40, cells);
    s.order = [4, 8, 2][order];
    s.family = match family {
        0 => Family::Taylor,
        1 => Family::Holberg,
        _ => minimax(s.order, 4.0).expect("an order"),
    };
    s.surface = surface == 1;
    s.quantity = QUANTITIES[quantity];
    s.peaks = peaks == 0;
    s.shears_in_place = in_place == 1;
    (s.jdata, s.jcheck) = (1 + jdata, 9);
    s.attenuation = LOSSES[loss].map(|mechanisms| Attenuation {
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
    (0..CASES).map(|k| case(ndim, k)).collect()
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

/// The message about an overflow has the density of the cell that it names, which no other cell has.
pub fn the_density_of_a_staggered_cell_is_named<A: Accelerator>(machines: &Machines<A>) {
    let number = |text: &str, key: &str| -> Option<f64> {
        let (_, rest) = text.split_once(key)?;
        rest.split([' ', ',']).next()?.parse().ok()
    };
    // The density is so small that the force overflows at once.
    let density = |at: [f64; 3]| 1e-4 * (1.0 + 0.01 * at[0] + 0.0031 * at[1] + 0.0017 * at[2]);
    for (ndim, place) in [
        (2, [8.3, 8.1, 0.0]),
        (2, [8.3, 22.4, 0.0]),
        (3, [8.3, 7.6, 5.3]),
        (3, [8.3, 7.6, 7.9]),
    ] {
        let grid = grid(ndim, 0);
        let mut s = shot(0.1, 20, absorb(3).0);
        s.jcheck = 1;
        source(&mut s, place, Action::Force([1.0; 3]), |_| 3e38);
        s.receivers = vec![place];
        let raw = medium::<f32>(&s.frame.around(&grid), |at| isotropic(3.0, 1.5, density(at)));
        for slabs in [1, 2, 3] {
            let layouts = SLABS.partition(raw.padded().planes(), slabs).expect("slabs fit");
            let placed = layouts.into_iter().enumerate();
            let placed = placed.map(|(k, layout)| ((machines.open)(k), layout)).collect();
            let cpu = Cpu::new(1).expect("one thread");
            let simulation = from_medium(&s, &raw, Symmetry::Isotropic, (placed, None), &cpu);
            let end = simulation.expect("a valid shot").run(&mut Tape::<f32>::default());
            let Err(Error::NotFinite { cell, medium, .. }) = end else {
                panic!("the force is too large: {end:?}");
            };
            let at = ["z=", "x=", "y="].map(|axis| number(&cell, axis).unwrap_or(0.0));
            let named = number(&medium, "density=").expect("a density");
            assert!(
                (named / density(at) - 1.0).abs() < 1e-5,
                "{ndim}-D, {slabs} slabs, {cell}: {medium}"
            );
        }
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
