//! Common parts of the speed measurements of all methods: a small grid, a homogeneous medium, noise as initial
//! fields, and a recorder that discards everything.

use crate::Error;
use crate::grid::{Grid, Padded};
use crate::medium::Destination;
use crate::time_loop::Recorder;
use std::time::Instant;

/// A recorder that discards all traces and snapshots.
pub(crate) struct Nothing;

impl<T> Recorder<T> for Nothing {
    fn traces(&mut self, _it: usize, _traces: &[T]) -> Result<(), Error> {
        Ok(())
    }

    fn snapshot(&mut self, _it: usize, _piece: &[T]) -> Result<(), Error> {
        Ok(())
    }
}

/// A copy of a model's grid with at most `most` nodes along each axis, spacing 1 and origin 0.
pub(crate) fn cut(model: &Grid, most: usize) -> Grid {
    let mut grid = Grid {
        o: [0.0; 3],
        d: [1.0; 3],
        ..model.clone()
    };
    grid.n[..model.ndim].iter_mut().for_each(|n| *n = (*n).min(most));
    grid
}

/// Fills a homogeneous medium: 3 for the normal stiffnesses; 1 for the shear stiffnesses, the couplings of normal
/// strains and the density; 0.05 for the couplings that involve a shear strain.
pub(crate) fn rock(padded: &Padded, medium: &mut dyn Destination) -> Result<(), Error> {
    let (ndim, nz) = (padded.ndim(), padded.model.n[0]);
    let lines = padded.model.cells() / nz;
    let pairs = medium.coefficients().table(ndim).pairs;
    let value = |k: usize| match pairs.get(k) {
        Some((i, j)) if i == j && *i <= 3 => 3.0,
        Some((i, j)) if i != j && *j > 3 => 0.05,
        _ => 1.0,
    };
    let step = medium.lines((4 << 20) / ((pairs.len() + 1) * nz)).max(1);
    for first in (0..lines).step_by(step) {
        let count = step.min(lines - first);
        let arrays = medium.block(count)?.chunks_mut(count * nz);
        for (k, array) in arrays.enumerate() {
            array.fill(value(k));
        }
        medium.commit(first, count)?;
    }
    Ok(())
}

/// Pseudo-random numbers from 0 to 0.17: with fields of zeros the measured speed could be higher than in a real run.
pub(crate) fn noise() -> impl FnMut() -> f32 {
    let mut seed = 1_u32;
    move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 * 1e-8
    }
}

/// Speed of `once`, which updates `points` points, in points per second. A first call to warm up is not timed.
pub(crate) fn speed(points: usize, mut once: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    once()?;
    let begun = Instant::now();
    once()?;
    Ok(points as f64 / begun.elapsed().as_secs_f64())
}
