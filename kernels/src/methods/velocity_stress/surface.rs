//! The flat free surface by images (Levander 1988; Robertsson 1996). It runs through the top nodes of the
//! model, where `szz` and the horizontal velocities sit.
//!
//! The fields above the surface continue the fields below it by polynomials, so that every derivative at the surface
//! has order two while the rest of the grid keeps its own order (the switch of Michea & Komatitsch 2010, section 2):
//! `szz`, `szx` and `szy`, which vanish on the surface, through the surface and three nodes; horizontal velocities
//! through three nodes; the vertical velocity through two nodes and with the slope that zero traction requires, `d_z
//! v_z = -(c13 d_x v_x + c23 d_y v_y) / c33`.
//!
//! The degrees minimise the error in the speed of the discrete Rayleigh wave. At ten cells per S wavelength and
//! Poisson's ratio 1/4, this error is 0.01 % in order 4 (parabolas for the stresses: 0.24 %; plain odd images: 0.9 %)
//! and 0.1 % in order 8 (0.35 %, 1 %); it falls with the third power of the spacing. All modes of the discrete
//! half-space have real frequencies for ratios of the P to the S speed from 1.5 to 100.

use super::cpu::View;
use super::layout;
use super::rows::PAIR;
use crate::device::simd::Real;
use crate::grid::solve::solved;

/// Degree of the polynomials that continue the velocities above the surface.
pub(super) const DEGREE: usize = 2;

/// Highest degree of the polynomials that continue the stresses above the surface.
pub(super) const STRESS_DEGREE: usize = 3;

/// Degree of the polynomials that continue the stresses, for finite differences of order `2 * half`.
fn stress_degree(half: usize) -> usize {
    if half == 1 { DEGREE } else { STRESS_DEGREE }
}

/// Weights of the images.
pub(super) struct Images<T> {
    /// For each image of the vertical velocity, upwards: weights of the nodes below and of the slope times the spacing.
    pub vertical: Vec<(Vec<T>, T)>,
    /// For each image of a horizontal velocity, upwards: weights of the node on the surface and of those below.
    pub horizontal: Vec<Vec<T>>,
    /// For each image of `szz`, upwards: weights of the nodes below the surface, on which it is zero.
    pub normal: Vec<Vec<T>>,
    /// For each image of the shear stresses `szx` and `szy`, upwards: weights of the nodes below the surface.
    pub shear: Vec<Vec<T>>,
}

/// Solves for the weights of the values at some nodes and, last, of the slope at 0 if requested: the sum over the
/// nodes of weight times `x^p` (plus the slope's weight for p = 1) is `moment(p)`.
fn weights(nodes: &[f64], slope: bool, moment: impl Fn(i32) -> f64) -> Vec<f64> {
    let n = nodes.len() + usize::from(slope);
    let known = |k: usize, power: i32| match nodes.get(k) {
        Some(x) => x.powi(power),
        None => f64::from(u8::from(power == 1)),
    };
    let a = (0..n as i32)
        .map(|p| (0..n).map(|k| known(k, p)).chain([moment(p)]).collect())
        .collect();
    solved(a)
}

/// Weights that extrapolate a polynomial to `target` from its values at `nodes` and, last, its slope at 0 if
/// requested.
fn continued(nodes: &[f64], slope: bool, target: f64) -> Vec<f64> {
    weights(nodes, slope, |p| target.powi(p))
}

impl<T: Real> Images<T> {
    /// Image weights for finite differences of order `2 * half`.
    pub fn new(half: usize) -> Self {
        let real = |w: Vec<f64>| w.into_iter().map(T::of).collect::<Vec<_>>();
        let below: Vec<f64> = (0..DEGREE).map(|k| k as f64 + 0.5).collect();
        let vertical = (0..half).map(|k| {
            let mut w = real(continued(&below, true, -(k as f64) - 0.5));
            let slope = w.pop().unwrap_or(T::of(0.0));
            (w, slope)
        });
        let on: Vec<f64> = (0..=DEGREE).map(|k| k as f64).collect();
        let horizontal = (1..=half).map(|k| real(continued(&on, false, -(k as f64))));
        // The node on the surface is left out, since its value is zero.
        let vanishing = |first: f64, target: f64| {
            let nodes: Vec<f64> = [0.0]
                .into_iter()
                .chain((0..stress_degree(half)).map(|k| first + k as f64))
                .collect();
            real(continued(&nodes, false, target)).split_off(1)
        };
        Self {
            normal: (1..=half).map(|k| vanishing(1.0, -(k as f64))).collect(),
            shear: (1..=half).map(|k| vanishing(0.5, 0.5 - k as f64)).collect(),
            vertical: vertical.collect(),
            horizontal: horizontal.collect(),
        }
    }
}

impl<T: Real> View<'_, T> {
    /// Sets the velocities above the surface on one plane, before its stresses are computed.
    pub fn velocity_images(&self, images: &Images<T>, plane: usize) {
        let (s, ndim) = (self.setup, self.setup.padded.ndim());
        let (top, spacing) = (s.padded.low[0], s.padded.d()[0]);
        let horizontal: &[usize] = if ndim == 3 { &[1, 2] } else { &[2] };
        for row in self.rows() {
            let at = self.local(plane, row) + top;
            let stiff = |place: usize| s.medium.stiffness(place)[self.global(plane, row) + top].f64();
            let mut across = 0.0;
            for (k, &a) in horizontal.iter().enumerate() {
                let spread = self.spread(a, at);
                across += stiff(PAIR[0][a]) * spread;
                let number = self.number(k, plane, row);
                self.keep_surface(number, T::of(spread));
                if let Some(more) = self.changed(number, number) {
                    across += stiff(0) * more.f64();
                }
            }
            let slope = T::of(-across / stiff(0) * f64::from(spacing));
            for (k, (weights, of_slope)) in images.vertical.iter().enumerate() {
                let mut sum = *of_slope * slope;
                for (m, &w) in weights.iter().enumerate() {
                    sum += w * self.get(self.velocity(0), at + m);
                }
                self.set(self.velocity(0), at - 1 - k, sum);
                self.keep(layout::velocity(ndim, 0), (plane, row, top - 1 - k), sum);
            }
            for &a in horizontal {
                for (k, weights) in images.horizontal.iter().enumerate() {
                    let mut sum = T::of(0.0);
                    for (m, &w) in weights.iter().enumerate() {
                        sum += w * self.get(self.velocity(a), at + m);
                    }
                    self.set(self.velocity(a), at - 1 - k, sum);
                    self.keep(layout::velocity(ndim, a), (plane, row, top - 1 - k), sum);
                }
            }
        }
    }

    /// Stores a value of the surface record if the run records the surface.
    fn keep_surface(&self, number: usize, x: T) {
        if !self.hooks.surface.is_null() {
            // SAFETY: the record has a number for every row, which belongs to this thread.
            unsafe { *self.hooks.surface.add(number) = x }
        }
    }

    /// The product of a perturbed ratio and a value of the background, in a run of the scattered field.
    fn changed(&self, ratio: usize, of: usize) -> Option<T> {
        let hooks = self.hooks;
        // SAFETY: both arrays have an entry for every row, and no thread changes them.
        (!hooks.ratios.is_null()).then(|| unsafe { *hooks.ratios.add(ratio) * *hooks.background.add(of) })
    }

    /// The derivative of a horizontal velocity along its own axis at a node.
    fn spread(&self, axis: usize, at: usize) -> f64 {
        let (s, field) = (self.setup, self.velocity(axis));
        let stride = self.stride()[axis];
        let mut sum = 0.0;
        for (m, w) in s.weights[axis][..s.half].iter().enumerate() {
            let (ahead, behind) = (
                self.get(field, at + m * stride),
                self.get(field, at - (m + 1) * stride),
            );
            sum += w.f64() * (ahead.f64() - behind.f64());
        }
        sum
    }

    /// Sets the stresses on and above the surface on one plane, after its stresses are computed. The remaining `szz`
    /// on the surface is proportional to the error of the vertical strain there, by which the other normal stresses
    /// are corrected.
    pub fn stress_images(&self, images: &Images<T>, plane: usize) {
        let (s, ndim) = (self.setup, self.setup.padded.ndim());
        let top = s.padded.low[0];
        let horizontal: &[usize] = if ndim == 3 { &[1, 2] } else { &[2] };
        for row in self.rows() {
            let at = self.local(plane, row) + top;
            let stiff = |place: usize| s.medium.stiffness(place)[self.global(plane, row) + top].f64();
            let number = self.number(horizontal.len(), plane, row);
            self.keep_surface(number, self.get(self.stress(0), at));
            let left = self.get(self.stress(0), at).f64() / stiff(0);
            for (k, &a) in horizontal.iter().enumerate() {
                let normal = self.stress(a);
                let mut put = self.get(normal, at).f64() - stiff(PAIR[0][a]) * left;
                if let Some(more) = self.changed(self.number(k, plane, row), number) {
                    put -= more.f64();
                }
                self.set(normal, at, T::of(put));
            }
            self.set(self.stress(0), at, T::of(0.0));
            let image = |field: usize, first: usize, weights: &[Vec<T>]| {
                for (k, weights) in weights.iter().enumerate() {
                    let mut sum = T::of(0.0);
                    for (m, &w) in weights.iter().enumerate() {
                        sum += w * self.get(field, first + m);
                    }
                    self.set(field, at - 1 - k, sum);
                }
            };
            image(self.stress(0), at + 1, &images.normal);
            horizontal
                .iter()
                .for_each(|&a| image(self.stress(PAIR[0][a]), at, &images.shear));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degree_two_is_the_derivative_of_order_two() {
        // 9/8 (v1 - v0) - (v2 - v(-1))/24 = v1 - v0 holds if v(-1) = 3 v0 - 3 v1 + v2.
        let w = continued(&[0.0, 1.0, 2.0], false, -1.0);
        assert!(w.iter().zip([3.0, -3.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn polynomials_are_continued_exactly() {
        for degree in 1..=4 {
            let f = |x: f64| 2.0 + 0.7 * x - (0.3 * x).powi(degree);
            let slope = 0.7 - if degree == 1 { 0.3 } else { 0.0 };
            let below: Vec<f64> = (0..degree).map(|k| k as f64 + 0.5).collect();
            for target in [-0.5, -1.5, -3.5] {
                let w = continued(&below, true, target);
                let got: f64 = below
                    .iter()
                    .map(|&x| f(x))
                    .chain([slope])
                    .zip(&w)
                    .map(|(v, w)| v * w)
                    .sum();
                assert!((got - f(target)).abs() < 1e-9, "{degree} {target}");
            }
        }
    }
}
