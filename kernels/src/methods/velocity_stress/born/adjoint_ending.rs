//! The end of a transposed step without the beginning of the next one, and the PP image of a step.

use super::adjoint_rows::AdjointStress;
use crate::device::simd::{Lane, Real};
use crate::methods::velocity_stress::rows::{Formula, Line, PAIR, Plane, Slope, for_each_axis};
use pulp::Simd;

/// Completes the following time step and adds the stresses to a PP image.
pub struct Ending<'a, 'b, T, const NDIM: usize, const N: usize, const LOSSY: bool>(
    pub &'a AdjointStress<'b, T, NDIM, N, LOSSY>,
);

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> Formula<T, N>
    for Ending<'_, '_, T, NDIM, N, LOSSY>
{
    fn plane(&self) -> &Plane<'_, T> {
        &self.0.plane
    }

    #[inline(always)]
    unsafe fn cells<S: Simd, const FRAMED: bool, const GROUP: usize>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
    ) {
        let step = self.0;
        // SAFETY: guaranteed by the caller.
        unsafe {
            for_each_axis!(NDIM, t => {
                for_each_axis!(NDIM, a => {
                    if a >= t && !step.force[0].is_null() {
                        let mut back = step.slope::<S, FRAMED>(s, weights, (row, i), lines, Slope::of_velocity(a, t));
                        if a > t {
                            let other = Slope::of_velocity(t, a);
                            back = back + step.slope::<S, FRAMED>(s, weights, (row, i), lines, other);
                        }
                        let p = step.stress[PAIR[t][a]].add(step.plane.at(row, i));
                        (Lane::load(s, p.cast_const()) - back).store(p);
                    }
                });
            });
            if step.pressure_image.is_some() {
                let (mut g, mut rates) = ([Lane::splat(s, T::of(0.0)); 3], [Lane::splat(s, T::of(0.0)); 3]);
                for_each_axis!(NDIM, t => {
                    g[t] = Lane::load(s, step.stress[t].add(step.plane.at(row, i)).cast_const());
                    rates[t] = step.rate(s, weights, (row, i), Slope::of_velocity(t, t));
                });
                step.add_to_image(s, [&g, &rates], step.plane.at(row, i));
            }
        }
    }

    fn fetch(&self, _at: usize) {}
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> AdjointStress<'_, T, NDIM, N, LOSSY> {
    /// Adds to the PP image the product of the sum of the normal strain rates and the adjoint pressure of the adjoint
    /// stresses `g`, summed over the steps with half of this step; then adds this step to that pressure.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply, and there is an image.
    #[inline(always)]
    pub(super) unsafe fn add_to_image<S: Simd>(&self, s: S, [g, rates]: [&[Lane<S, T>; 3]; 2], at: usize) {
        let Some([later, image]) = self.pressure_image else {
            return;
        };
        let (mut pressure, mut rate) = (Lane::splat(s, T::of(0.0)), Lane::splat(s, T::of(0.0)));
        // SAFETY: guaranteed by the caller.
        unsafe {
            for_each_axis!(NDIM, t => {
                pressure = pressure + self.through(s, &self.c, g, t, at);
                rate = rate + rates[t];
            });
            let (later, image) = (later.add(at), image.add(at));
            let sum = Lane::load(s, later.cast_const());
            let middle = Lane::splat(s, T::of(0.5)).mul_add(pressure, sum);
            rate.mul_add(middle, Lane::load(s, image.cast_const()))
                .store(image);
            (sum + pressure).store(later);
        }
    }
}
