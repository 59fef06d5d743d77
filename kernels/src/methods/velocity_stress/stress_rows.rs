//! The stress update of a cell (Michea & Komatitsch 2010, eq. 2) with attenuation, one SIMD register of cells at a
//! time.

use super::rows::{
    Formula, Line, PAIR, Plane, STIFFNESSES, STRESSES, Slope, derive, for_each_axis, stretched, walk,
};
use crate::device::simd::{Lane, Real, prefetch};
use crate::grid::PITCH;
use pulp::Simd;

/// Coefficients of the memory variable of a mechanism, cell by cell along `z`: `r <- keep r - take (relaxing rate of
/// stress)`.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<T> {
    /// Factor of the previous memory variable.
    pub keep: [T; PITCH],
    /// Factor of the stress rate, with its sign changed.
    pub take: [T; PITCH],
}

/// The memory variables of attenuation on a plane.
#[derive(Clone, Copy)]
pub struct Loss<'a, T> {
    /// First memory variable of each stress.
    pub r: [*mut T; STRESSES],
    /// Offset from one mechanism to the next.
    pub mechanism: usize,
    /// Patterns `[mechanism][parity of the row]`.
    pub patterns: &'a [[Pattern<T>; 2]],
    /// `dt` times the relaxing stiffness, ordered as in [`super::rows::PAIR`].
    pub c: [*const T; STIFFNESSES],
}

/// `s_ij += dt c_ijkl e_kl` on the rows of a plane, where `e` is the strain rate; with `LOSSY` also the contribution
/// of the memory variables.
pub struct Stress<'a, T, const NDIM: usize, const N: usize, const LOSSY: bool> {
    pub plane: Plane<'a, T>,
    /// Velocities along the axes.
    pub v: [*const T; 3],
    /// Stresses, which are updated in place.
    pub s: [*mut T; STRESSES],
    /// `dt c` at each stress, ordered as in [`super::rows::PAIR`].
    pub c: [*const T; STIFFNESSES],
    /// Attenuation; only used with `LOSSY`.
    pub loss: Option<Loss<'a, T>>,
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> pulp::WithSimd
    for Stress<'_, T, NDIM, N, LOSSY>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        walk::<S, T, Self, N>(s, &self);
    }
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> Formula<T, N>
    for Stress<'_, T, NDIM, N, LOSSY>
{
    fn plane(&self) -> &Plane<'_, T> {
        &self.plane
    }

    #[inline(always)]
    unsafe fn cells<S: Simd, const FRAMED: bool, const GROUP: usize>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
    ) {
        let at = self.plane.at(row, i);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut e = [Lane::splat(s, T::of(0.0)); 3];
            for_each_axis!(NDIM, t => {
                e[t] = self.slope::<S, FRAMED>(s, weights, (row, i), Slope::of_velocity(t, t), lines);
            });
            for_each_axis!(NDIM, t => {
                let rate = normal::<S, T, NDIM>(s, &self.c, &e, t, at);
                let relaxing = match &self.loss {
                    Some(loss) if LOSSY => normal::<S, T, NDIM>(s, &loss.c, &e, t, at),
                    _ => rate,
                };
                self.add::<S, FRAMED>(s, (row, i), t, [rate, relaxing]);
            });
            for_each_axis!(NDIM, t => {
                for_each_axis!(NDIM, a => {
                    if a > t {
                        let one =
                            self.slope::<S, FRAMED>(s, weights, (row, i), Slope::of_velocity(a, t), lines);
                        let other =
                            self.slope::<S, FRAMED>(s, weights, (row, i), Slope::of_velocity(t, a), lines);
                        let (shear, k) = (one + other, PAIR[t][a]);
                        let rate = Lane::load(s, self.c[3 + k].add(at)) * shear;
                        let relaxing = match &self.loss {
                            Some(loss) if LOSSY => Lane::load(s, loss.c[3 + k].add(at)) * shear,
                            _ => rate,
                        };
                        self.add::<S, FRAMED>(s, (row, i), k, [rate, relaxing]);
                    }
                });
            });
        }
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        let far = N * self.plane.stride[2];
        for_each_axis!(NDIM, t => {
            prefetch(self.v[t].wrapping_add(at + far));
            for_each_axis!(NDIM, a => {
                if a >= t {
                    let k = PAIR[t][a];
                    prefetch(self.s[k].wrapping_add(at));
                    prefetch(self.c[k].wrapping_add(at));
                    if a > t {
                        prefetch(self.c[3 + k].wrapping_add(at));
                    }
                }
            });
        });
    }
}

/// The rate of a normal stress from the rates of the normal strains.
///
/// # Safety
/// The stiffnesses of the cells must be readable.
#[inline(always)]
unsafe fn normal<S: Simd, T: Real, const NDIM: usize>(
    s: S,
    c: &[*const T; STIFFNESSES],
    e: &[Lane<S, T>; 3],
    t: usize,
    at: usize,
) -> Lane<S, T> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut rate = Lane::load(s, c[t].add(at)) * e[t];
        for_each_axis!(NDIM, a => {
            if a != t {
                rate = Lane::load(s, c[PAIR[t][a]].add(at)).mul_add(e[a], rate);
            }
        });
        rate
    }
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> Stress<'_, T, NDIM, N, LOSSY> {
    /// The derivative of a velocity along an axis, at the position of the stress that needs it.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn slope<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        slope: Slope,
        lines: &[Line<T>; 3],
    ) -> Lane<S, T> {
        let Slope { of, along, half } = slope;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let from = self.v[of].add(self.plane.at(row, i));
            let d = derive(s, from, self.plane.stride[along], &weights[along], half);
            match FRAMED {
                true => stretched(s, d, &lines[along], slope, i),
                false => d,
            }
        }
    }

    /// Adds a rate to a stress, and the mean of the old and new memory variables.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn add<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        (row, i): (usize, usize),
        stress: usize,
        [rate, relaxing]: [Lane<S, T>; 2],
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let at = self.plane.at(row, i);
            let p = self.s[stress].add(at);
            let mut new = Lane::load(s, p.cast_const()) + rate;
            if LOSSY && let Some(loss) = &self.loss {
                for (k, patterns) in loss.patterns.iter().enumerate() {
                    let pattern = &patterns[row & 1];
                    let r = loss.r[stress].add(k * loss.mechanism + at);
                    let old = Lane::load(s, r.cast_const());
                    let next = Lane::load(s, pattern.keep.as_ptr().add(i % PITCH)) * old
                        - Lane::load(s, pattern.take.as_ptr().add(i % PITCH)) * relaxing;
                    next.store(r);
                    new = Lane::splat(s, T::of(0.5)).mul_add(old + next, new);
                }
            }
            if FRAMED {
                new = self.plane.damped(s, new, row, i);
            }
            new.store(p);
        }
    }
}
