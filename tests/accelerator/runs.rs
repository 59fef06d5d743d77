//! Runs on accelerators, whatever they are.

use crate::shots::Tape;
use crate::worlds::World;
use kernels::device::accelerator::Accelerator;
use kernels::device::simd::Real;
use kernels::displacement::Shot;
use kernels::displacement::gpu::{Simulation, Upload, tile::Tile};
use kernels::domain::partition::{cut, partition};
use kernels::medium::{Medium, Symmetry};
use std::sync::Arc;

/// Everything recorded, on slabs of these sizes (none: one), the k-th on `machine(k)`.
pub fn record<T: Real + Default, A: Accelerator>(
    shot: &Shot,
    medium: &Medium<T>,
    slabs: &[usize],
    symmetry: Symmetry,
    machine: impl Fn(usize) -> Arc<A>,
) -> Tape<T> {
    with_tile(shot, medium, slabs, (symmetry, None), machine)
}

/// The same with a tile of one's own.
pub fn with_tile<T: Real + Default, A: Accelerator>(
    shot: &Shot,
    medium: &Medium<T>,
    slabs: &[usize],
    (symmetry, tile): (Symmetry, Option<Tile>),
    machine: impl Fn(usize) -> Arc<A>,
) -> Tape<T> {
    let planes = medium.padded().planes();
    let layouts = match slabs {
        [] => partition(planes, 1),
        sizes => cut(planes, sizes),
    };
    let layouts = layouts.expect("the slabs fit").into_iter().enumerate();
    let machines: Vec<_> = layouts.map(|(k, layout)| (machine(k), layout)).collect();
    let devices: Vec<_> = machines.iter().map(|m| m.0.clone()).collect();
    let mut upload = Upload::new(medium.padded(), machines, shot.surface, shot.dt).expect("the medium fits");
    upload.medium(medium).expect("the medium travels");
    let mut tape = Tape::default();
    let mut simulation = Simulation::new(shot, upload, symmetry, tile).expect("a sound shot");
    simulation.run(&mut tape).expect("the shot runs");
    drop(simulation);
    devices
        .iter()
        .for_each(|d| d.finish().expect("no damage was done"));
    tape
}

/// Largest difference of traces and snapshots, in units of the largest amplitude of each.
pub fn misfit<T: Real>(a: &Tape<T>, b: &Tape<T>) -> f64 {
    assert_eq!(a.steps, b.steps, "records of the same steps");
    assert_eq!(a.snapshots.len(), b.snapshots.len(), "as many snapshots");
    let worst = |a: &[T], b: &[T]| {
        assert_eq!(a.len(), b.len());
        let (mut top, mut far) = (0.0f64, 0.0f64);
        for (x, y) in a.iter().zip(b) {
            top = top.max(x.f64().abs());
            let apart = (x.f64() - y.f64()).abs();
            far = if apart <= far { far } else { apart };
        }
        (top, far)
    };
    let traces = a.traces.iter().zip(&b.traces).map(|(x, y)| worst(x, y));
    let (top, far) = traces.fold((0.0, 0.0), |m: (f64, f64), w| {
        (m.0.max(w.0), if w.1 <= m.1 { m.1 } else { w.1 })
    });
    let shots = a
        .snapshots
        .iter()
        .zip(&b.snapshots)
        .map(|(x, y)| worst(&x.1, &y.1));
    let (s_top, s_far) = shots.fold((0.0, 0.0), |m: (f64, f64), w| {
        (m.0.max(w.0), if w.1 <= m.1 { m.1 } else { w.1 })
    });
    (far / top).max(if s_top > 0.0 { s_far / s_top } else { 0.0 })
}

/// The orthorhombic world of the parity tests on accelerators.
pub fn world<A: Accelerator>(
    world: &World,
    shot: &Shot,
    slabs: &[usize],
    machine: impl Fn(usize) -> Arc<A>,
) -> Tape<f32> {
    record(shot, &world.medium(), slabs, Symmetry::Orthorhombic, machine)
}
