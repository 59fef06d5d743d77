#![allow(dead_code)] // each test target that includes this file uses a part of it
//! Shots of the velocity-stress method, and their results. Triples are (z, x, y), tensors xx yy zz xy xz yz.

use crate::shots::{Tape, medium};
use kernels::Error;
use kernels::boundary::cpml::Layer;
use kernels::device::cpu::Cpu;
use kernels::device::simd::Real;
use kernels::grid::points::{Point, Snapshots};
use kernels::grid::stencil::Family;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness, Symmetry};
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::{Absorber, Frame, Quantity, Shot, Simulation};
use kernels::source::{Action, Source};
use std::ops::Range;

/// A layer for waves up to this speed around this frequency.
pub fn layer(fastest: f64, frequency: f64) -> Absorber {
    Absorber::Cpml(Layer {
        reflection: 1e-5,
        kappa_max: 1.0,
        frequency,
        fastest,
    })
}

/// A frame of the same thickness on all faces.
pub fn frame(cells: usize, absorber: Absorber) -> Frame {
    Frame {
        cells: [[cells; 2]; 3],
        absorber,
    }
}

/// A shot of order 4 without sources and receivers.
pub fn shot(dt: f64, nt: usize, frame: Frame) -> Shot {
    Shot {
        dt,
        nt,
        order: 4,
        family: Family::Taylor,
        frame,
        attenuation: None,
        surface: false,
        sources: Vec::new(),
        series: Vec::new(),
        receivers: Vec::new(),
        quantity: Quantity::Velocity,
        jdata: 1,
        snapshots: None,
        peaks: false,
        shears_in_place: false,
        jcheck: 100,
    }
}

/// Adds a source with a time function, sampled when it acts.
pub fn source(shot: &mut Shot, point: Point, action: Action, history: impl Fn(f64) -> f64) {
    let sample = |it: usize| history(action.time(it) * shot.dt) as f32;
    shot.series.push((0..shot.nt).map(sample).collect());
    shot.sources.push(Source {
        point,
        action,
        series: shot.series.len() - 1,
    });
}

/// An isotropic cell.
pub fn isotropic(vp: f64, vs: f64, rho: f64) -> (Stiffness, f64) {
    (Stiffness::isotropic(Speeds { vp, vs, rho }), rho)
}

/// Runs a shot on `threads` threads with slabs of these thicknesses (without any: one slab).
pub fn run_on<T: Real + Default>(
    shot: &Shot,
    grid: &Grid,
    cell: impl Fn([f64; 3]) -> (Stiffness, f64),
    class: Symmetry,
    (threads, slabs): (usize, &[usize]),
) -> Result<Tape<T>, Error> {
    run_with(shot, grid, cell, class, (Cpu::new(threads)?, slabs))
}

/// Like [`run_on`], on processors with other tiles, caches or registers.
pub fn run_with<T: Real + Default>(
    shot: &Shot,
    grid: &Grid,
    cell: impl Fn([f64; 3]) -> (Stiffness, f64),
    class: Symmetry,
    (cpu, slabs): (Cpu, &[usize]),
) -> Result<Tape<T>, Error> {
    let padded: Padded = shot.frame.around(grid);
    let slabs = match slabs {
        [] => SLABS.partition(padded.planes(), 1)?,
        [n] => SLABS.partition(padded.planes(), *n)?,
        sizes => SLABS.cut(padded.planes(), sizes)?,
    };
    let mut tape = Tape {
        steps: Vec::new(),
        traces: Vec::new(),
        snapshots: Vec::new(),
    };
    let raw = medium::<T>(&padded, cell);
    Simulation::new(shot, raw, class, cpu, slabs)?.run(&mut tape)?;
    tape.assert_lengths(lengths(shot, grid.ndim));
    Ok(tape)
}

/// Number of values of a record and of a snapshot of a shot.
pub fn lengths(shot: &Shot, ndim: usize) -> [usize; 2] {
    let window = |snapshots: &Snapshots| snapshots.window.iter().map(Range::len).product::<usize>();
    let components = shot.quantity.of_snapshots().components(ndim);
    [
        shot.quantity.components(ndim) * shot.receivers.len(),
        shot.snapshots
            .as_ref()
            .map_or(0, |snapshots| components * window(snapshots)),
    ]
}

/// Like [`run_on`], for isotropic media on one thread and one slab, because tests run in parallel, and two threads
/// would wait for each other a quarter of the time.
pub fn run<T: Real + Default>(
    shot: &Shot,
    grid: &Grid,
    cell: impl Fn([f64; 3]) -> (Stiffness, f64),
) -> Tape<T> {
    run_on(shot, grid, cell, Symmetry::Isotropic, (1, &[])).expect("the shot runs")
}
