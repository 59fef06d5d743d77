//! The absorbing layers in the form that accelerators use: lines with their factors.

use super::Number;
use super::grid::Rows;
use crate::boundary::cpml;
use crate::methods::velocity_stress::absorbing_frame::Edges;
use crate::methods::velocity_stress::rows::NONE;

/// The layers of one axis.
#[derive(Clone)]
struct Layer<T> {
    /// Factors at the nodes and half a cell further on.
    factors: [cpml::Factors<T>; 2],
    /// Number of each line (plane, row or `z`) among the lines in the layers, or [`NONE`].
    number: Vec<usize>,
}

/// The layers of all axes, numbered as on accelerators.
#[derive(Clone)]
pub struct Layers<T> {
    axes: [Option<Layer<T>>; 3],
}

impl<T: Number> Layers<T> {
    /// The layers of a frame.
    pub fn new(rows: &Rows<T>, edges: &Edges<T>) -> Self {
        let p = &rows.padded;
        let live = [rows.z.clone(), rows.rows.clone(), rows.planes.clone()];
        let axes = [0, 1, 2].map(|axis| {
            let factors = edges
                .factors(axis)
                .filter(|_| rows.axes().contains(&axis))?
                .clone();
            let one = |f: &cpml::Factors<T>, i: usize| {
                f.inverse_kappa[i] == T::of(1.0) && f.a[i] == T::of(0.0) && f.b[i] == T::of(0.0)
            };
            let mut count = 0usize;
            let lines = [p.n[0], p.rows(), p.planes()][axis];
            let number = (0..lines).map(|i| {
                if !live[axis].contains(&i) || factors.iter().all(|f| one(f, i)) {
                    return NONE;
                }
                count += 1;
                count - 1
            });
            let number = number.collect();
            (count > 0).then_some(Layer { factors, number })
        });
        Self { axes }
    }

    /// The factors across an axis at the nodes and half a cell further on, and the number of each line; `None`
    /// without layers.
    pub fn lines(&self, axis: usize) -> Option<(&[cpml::Factors<T>; 2], &[usize])> {
        let layer = self.axes[axis].as_ref()?;
        Some((&layer.factors, &layer.number))
    }
}
