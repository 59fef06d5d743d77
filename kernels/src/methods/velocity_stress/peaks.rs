//! The largest horizontal speeds at the top nodes of the model.

use super::CpuSlab;
use super::cpu::rows;
use super::layout;
use crate::device::simd::Real;
use crate::parallel::slabs::Slab as Layout;

impl<T: Real> CpuSlab<T> {
    /// Largest horizontal speeds so far at the top nodes of the model, `[own plane][row]`.
    pub(super) fn peaks(&self) -> (&Layout, &[T]) {
        (&self.layout, &self.peaks)
    }

    /// Updates the peaks from the horizontal velocities at the depth of the top nodes, interpolated onto the nodes by
    /// cubic polynomials.
    pub(super) fn keep_peaks(&mut self) {
        let p = self.setup.padded.clone();
        let (ndim, top, own) = (p.ndim(), p.low[0], self.layout.own.clone());
        let live = super::medium::live(p.planes());
        let mut peaks = std::mem::take(&mut self.peaks);
        for plane in own.start.max(live.start)..own.end.min(live.end) {
            for row in rows(&p) {
                let across = |k: usize| {
                    self.value(layout::velocity(ndim, 2), plane + k - 2, row, top)
                        .f64()
                };
                let along = |k: usize| {
                    self.value(layout::velocity(ndim, 1), plane, row + k - 2, top)
                        .f64()
                };
                let square = match ndim {
                    3 => on_node(across).powi(2) + on_node(along).powi(2),
                    _ => on_node(across).powi(2),
                };
                let peak = &mut peaks[(plane - own.start) * p.rows() + row];
                *peak = T::of(peak.f64().max(square.sqrt()));
            }
        }
        self.peaks = peaks;
    }
}

/// Interpolates midway between the second and the third of four values.
fn on_node(value: impl Fn(usize) -> f64) -> f64 {
    (9.0 * (value(1) + value(2)) - value(0) - value(3)) / 16.0
}
