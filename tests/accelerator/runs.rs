//! Helpers that run shots on accelerators of any kind.

use crate::cases::World;
use crate::shots::{Tape, largest, largest_difference, lengths, magnitude, run_on};
use kernels::Error;
use kernels::device::accelerator::Accelerator;
use kernels::device::simd::Real;
use kernels::medium::{Medium, Symmetry};
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::Shot;
use kernels::methods::displacement::gpu::{Simulation, Upload, tile::Tile};
use std::io::Write;
use std::sync::Arc;

/// The machines on which a body runs.
pub struct Machines<A> {
    /// Opens the machine of the k-th slab.
    pub open: fn(usize) -> Arc<A>,
    /// Whether the machines are quick enough for every combination.
    pub quick: bool,
    /// Whether the host can read and write their memory, so that ranks that are threads can send from it.
    pub open_memory: bool,
}

impl<A> Machines<A> {
    /// All items on quick machines; otherwise every third one, beginning with `k % 3`.
    pub fn some<I: Iterator>(&self, all: I, k: usize) -> impl Iterator<Item = I::Item> + use<I, A> {
        let step = if self.quick { 1 } else { 3 };
        all.skip(k % step).step_by(step)
    }
}

/// Prints past the capture of test output, so that a test that did not run is never silent.
pub fn skip(name: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped {name}: {reason}");
}

/// How a simulation is made, in addition to its shot and medium.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// Thickness of each slab; if empty, there is one slab.
    pub slabs: &'a [usize],
    pub symmetry: Symmetry,
    pub tile: Option<Tile>,
}

impl How<'_> {
    pub const PLAIN: How<'static> = How {
        slabs: &[],
        symmetry: Symmetry::Orthorhombic,
        tile: None,
    };
}

/// Orthorhombic kernels on these slabs.
pub fn on(slabs: &[usize]) -> How<'_> {
    How { slabs, ..How::PLAIN }
}

/// A simulation, and its devices so that they can be checked at the end.
pub type Prepared<T, A> = (Simulation<T, A>, Vec<Arc<A>>);

pub fn prepare<T: Real + Default, A: Accelerator>(
    machines: &Machines<A>,
    shot: &Shot,
    medium: &Medium<T>,
    how: How<'_>,
) -> Result<Prepared<T, A>, Error> {
    let planes = medium.padded().planes();
    let layouts = match how.slabs {
        [] => SLABS.partition(planes, 1),
        sizes => SLABS.cut(planes, sizes),
    }?;
    let devices: Vec<_> = (0..layouts.len()).map(machines.open).collect();
    let placed = devices.iter().cloned().zip(layouts).collect();
    let widest = Symmetry::widest(medium.coefficients());
    let mut upload = Upload::of_class(medium.padded(), placed, shot.surface, shot.dt, widest)?;
    upload.medium(medium)?;
    Ok((Simulation::new(shot, upload, how.symmetry, how.tile)?, devices))
}

/// Everything recorded, and the result of the run.
pub fn run<T: Real + Default, A: Accelerator>(
    machines: &Machines<A>,
    shot: &Shot,
    medium: &Medium<T>,
    how: How<'_>,
) -> (Tape<T>, Result<(), Error>) {
    let (mut simulation, devices) = prepare(machines, shot, medium, how).expect("a valid shot");
    let mut tape = Tape::default();
    let result = simulation.run(&mut tape);
    drop(simulation);
    devices
        .iter()
        .for_each(|d| d.finish().expect("no damage was done"));
    (tape, result)
}

/// Like [`run`], for a shot that must not fail.
pub fn record<T: Real + Default, A: Accelerator>(
    machines: &Machines<A>,
    shot: &Shot,
    medium: &Medium<T>,
    how: How<'_>,
) -> Tape<T> {
    let (tape, result) = run(machines, shot, medium, how);
    result.expect("the shot runs");
    tape.assert_lengths(lengths(shot, medium.padded().ndim()));
    tape
}

/// Runs with the medium of the parity tests on orthorhombic kernels.
pub fn world<A: Accelerator>(
    machines: &Machines<A>,
    world: &World,
    shot: &Shot,
    slabs: &[usize],
) -> Tape<f32> {
    record(machines, shot, &world.medium(), on(slabs))
}

/// The misfit between the two engines.
pub fn apart<T: Real + Default, A: Accelerator>(
    machines: &Machines<A>,
    world: &World,
    shot: &Shot,
    how: How<'_>,
) -> f64 {
    let cpu: Tape<T> = run_on(shot, world.medium_of(), 1, &[]).expect("the shot runs");
    assert!(cpu.peak() > 0.0, "something is recorded");
    misfit(&cpu, &record(machines, shot, &world.medium_of(), how))
}

/// Largest difference of traces and snapshots, relative to the largest amplitude of each. Fails if nothing was
/// recorded.
pub fn misfit<T: Real>(a: &Tape<T>, b: &Tape<T>) -> f64 {
    let snapshots = a.snapshots.iter().flat_map(|s| &s.1);
    magnitude(a.traces.iter().flatten().chain(snapshots).map(|x| x.f64()));
    misfit_or_silence(a, b)
}

/// Like [`misfit`], but the records may be zero everywhere.
pub fn misfit_or_silence<T: Real>(a: &Tape<T>, b: &Tape<T>) -> f64 {
    assert_eq!(a.steps, b.steps, "records of the same steps");
    let steps = |tape: &Tape<T>| tape.snapshots.iter().map(|s| s.0).collect::<Vec<_>>();
    assert_eq!(steps(a), steps(b), "snapshots of the same steps");
    let traces = |tape: &Tape<T>| tape.traces.concat();
    let snapshots = |tape: &Tape<T>| {
        tape.snapshots
            .iter()
            .flat_map(|s| s.1.clone())
            .collect::<Vec<_>>()
    };
    largest([far(&traces(a), &traces(b)), far(&snapshots(a), &snapshots(b))])
}

/// Largest difference relative to the largest amplitude.
fn far<T: Real>(a: &[T], b: &[T]) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 0.0; // a run without receivers, or without snapshots
    }
    let [a, b] = [a, b].map(|all| all.iter().map(|x| x.f64()).collect::<Vec<_>>());
    let apart = largest_difference(&b, &a);
    if apart == 0.0 { 0.0 } else { apart / magnitude(&a) }
}
