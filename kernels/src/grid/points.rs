//! Points between the nodes of a regular grid, and windows of snapshots.

use super::{AXES, Padded};
use crate::{Error, Hint, message};
use std::ops::Range;

/// A point `[z, x, y]` in the coordinates of the grid (2-D: y is ignored).
pub type Point = [f32; 3];

/// The window of snapshots in padded indices, and the number of steps between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// Number of steps from one snapshot to the next; the first is taken at step 0.
    pub every: usize,
    /// Cells along z, x, y (2-D: y is `0..1`).
    pub window: [Range<usize>; 3],
}

impl Snapshots {
    /// Checks the window.
    ///
    /// # Errors
    /// Returns an error if `every` is 0, or the window is empty or extends beyond the padded grid.
    pub fn check(&self, padded: &Padded) -> Result<(), Error> {
        if self.every == 0 {
            return Err(Error::setup(
                "snapshots every 0 steps are impossible; the number of steps between them must be at least 1",
            ));
        }
        for a in 0..padded.ndim() {
            if self.window[a].is_empty() || self.window[a].end > padded.n[a] {
                return Err(Error::setup(format!(
                    "the snapshot window covers padded cells {:?} along {}; it must not be empty and must lie in 0..{}",
                    self.window[a], AXES[a], padded.n[a]
                )));
            }
        }
        Ok(())
    }
}

/// Position of a point along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The cell at or before the point.
    pub cell: usize,
    /// Distance from that cell, in cells from 0 to 1.
    pub beyond: f32,
}

/// Locates a point on the padded grid: `q = (p - o)/d` in double precision, cell `trunc(q)`, remainder in float32.
///
/// # Errors
/// Returns an error if the point lies outside the padded grid; the message names it by `what` and `number`.
pub fn place(padded: &Padded, point: Point, what: &str, number: usize) -> Result<[Place; 3], Error> {
    let mut places = [Place { cell: 0, beyond: 0.0 }; 3];
    for a in 0..padded.ndim() {
        let (low, high) = padded.bounds(a);
        if !(low <= point[a] && point[a] < high) {
            let list: Vec<String> = (0..padded.ndim())
                .map(|b| format!("{}={}", AXES[b], point[b]))
                .collect();
            return Err(Error::setup(message![
                format!(
                    "{what} {number} at {} is outside the grid: {} must lie in [{low}, {high}), frame included; move the point, or use a larger model or ",
                    list.join(" "),
                    AXES[a]
                ),
                Hint::WiderFrame,
            ]));
        }
        let q = (f64::from(point[a]) - f64::from(padded.o[a])) / f64::from(padded.d()[a]);
        let cell = (q.trunc() as usize).min(padded.n[a] - 2);
        places[a] = Place {
            cell,
            beyond: (q - cell as f64) as f32,
        };
    }
    Ok(places)
}
