//! The one-way condition on the outer faces: a shear wave at normal incidence passes through a face without reflection.
//!
//! In the published form ([`Form::Box`]), over the cells 4, 3, 2, 1 from a face, in this order and in place (cell 0 is
//! never touched):
//! `next(i) = curr(i+1) + (curr(i) - next(i+1)) b`, `b = (1-q)/(1+q)`, `q = sqrt(c55/rho) dt/d`, with the speed at
//! cell 4 (which equals that at the model's edge, as the frame extends the model). The faces are treated in the order
//! z, x, y.
//!
//! The published form amplifies the shortest waves of the grid: without a thick sponge in front of it and a small time
//! step it becomes unstable, in the original programs, too. [`Form::Upwind`] is the implicit upwind form of the same
//! condition, `next(i) = (curr(i) + q next(i+1)) / (1+q)`, which damps them.
//!
//! Every face uses c55, as published, for every symmetry class of the medium: waves with another normal speed have to
//! be absorbed by the sponge before the face.

use crate::device::simd::Real;
use crate::grid::stencil::RADIUS;
use crate::medium::voigt::slot;
use crate::medium::{Medium, lines_of_plane};

/// Number of cells next to a face that the condition reads: the cells that it updates and one more towards the
/// interior.
pub const DEPTH: usize = RADIUS + 1;

/// Discretisation of the one-way condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The published form, centred in space and time. It is of second order, and can become unstable in long runs.
    Box,
    /// Implicit upwind: first order, far less prone to instability.
    Upwind,
}

/// Factors `b` of every face, in the order of the medium's arrays.
pub struct OneWay<T> {
    /// Discretisation in which the factors are used.
    pub form: Form,
    /// Top and bottom: one factor for each line of the medium along z.
    pub z: [Vec<T>; 2],
    /// Low and high x face of a 3-D grid, `[plane of the medium][padded z]`; empty in 2-D.
    pub rows: [Vec<T>; 2],
    /// Low and high face of the slowest axis, `[model row][padded z]`; meaningful only where the medium holds the
    /// outermost plane.
    pub planes: [Vec<T>; 2],
}

impl<T: Real> OneWay<T> {
    /// Factors for a time step of `dt` seconds.
    pub fn new(medium: &Medium<T>, dt: f64, form: Form) -> Self {
        let p = medium.padded().clone();
        let shear = medium.stiffness_array(slot(p.ndim(), (5, 5)));
        let factor = |at: usize, d: f32| {
            let v = (shear[at].f64() / medium.density()[at].f64()).sqrt();
            let q = v * dt / f64::from(d);
            T::of((1.0 - q) / (1.0 + q))
        };
        let (pitch, nz, d) = (p.pitch(), p.n[0], p.d());
        let (rows, planes) = (lines_of_plane(&p), medium.planes().len());
        let line = |plane: usize, row: usize| (plane * rows + row) * pitch;
        let top = |z: usize| (0..rows * planes).map(|l| factor(l * pitch + z, d[0])).collect();
        let along_rows = |row: usize| {
            let cells = (0..planes).flat_map(|q| (0..pitch).map(move |z| line(q, row) + z));
            if p.ndim() == 3 {
                cells.map(|at| factor(at, d[1])).collect()
            } else {
                Vec::new()
            }
        };
        let along_planes = |plane: usize| {
            let cells = (0..rows).flat_map(|r| (0..pitch).map(move |z| line(plane, r) + z));
            cells.map(|at| factor(at, d[p.ndim() - 1])).collect()
        };
        Self {
            form,
            z: [top(RADIUS), top(nz - 1 - RADIUS)],
            rows: [along_rows(0), along_rows(rows - 1)],
            planes: [along_planes(0), along_planes(planes - 1)],
        }
    }
}
