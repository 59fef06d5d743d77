//! The second sweep of a transposed step, one SIMD register of cells at a time ([`super::adjoint_rows`] has the
//! equations).

use super::adjoint_stretch::{kept, part_of, rank, slope_of, unstretched};
use crate::device::simd::{Lane, Real};
use crate::methods::velocity_stress::rows::{
    Formula, Line, PAIR, Plane, STRESSES, Slope, derive, for_each_axis, walk,
};
use pulp::Simd;

/// The update of the adjoint forces on a plane.
pub struct AdjointForce<'a, T, const NDIM: usize, const N: usize> {
    pub plane: Plane<'a, T>,
    /// Adjoint forces by axis.
    pub force: [*mut T; 3],
    /// Adjoint strain rates.
    pub strain: [*const T; STRESSES],
    /// `dt/rho` at each velocity.
    pub b: [*const T; 3],
    /// Velocities of the step, and the gradient with respect to the buoyancy times the buoyancy, by axis.
    pub sums: Option<([*const T; 3], [*mut T; 3])>,
    /// The reconstructed wavefield.
    pub waves: Option<Waves<T>>,
}

/// A wavefield that is reconstructed backwards.
pub struct Waves<T> {
    /// Stresses before the step.
    pub stress: [*const T; STRESSES],
    /// Velocities of the step, by axis.
    pub from: [*const T; 3],
    /// Velocities of the previous step.
    pub to: [*mut T; 3],
    /// Rows of the plane that belong to the region.
    pub rows: std::ops::Range<usize>,
}

impl<T: Real, const NDIM: usize, const N: usize> pulp::WithSimd for AdjointForce<'_, T, NDIM, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        walk::<S, T, Self, N>(s, &self);
    }
}

impl<T: Real, const NDIM: usize, const N: usize> Formula<T, N> for AdjointForce<'_, T, NDIM, N> {
    /// In 3-D each component is a group.
    const GROUPS: usize = if NDIM == 3 { 3 } else { 1 };

    fn plane(&self) -> &Plane<'_, T> {
        &self.plane
    }

    #[inline(always)]
    unsafe fn cells<S: Simd, const FRAMED: bool, const GROUP: usize>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        at: (usize, usize),
        lines: &[Line<T>; 3],
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if NDIM == 3 {
                return self.component::<S, FRAMED>(s, weights, at, lines, GROUP);
            }
            for_each_axis!(NDIM, t => { self.component::<S, FRAMED>(s, weights, at, lines, t) });
        }
    }

    fn fetch(&self, _at: usize) {}
}

impl<T: Real, const NDIM: usize, const N: usize> AdjointForce<'_, T, NDIM, N> {
    /// Updates the adjoint force along axis `t`, its sums, and the reconstructed velocity.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn component<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
        t: usize,
    ) {
        let at = self.plane.at(row, i);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut back = Lane::splat(s, T::of(0.0));
            for_each_axis!(NDIM, a => {
                let part = kept::stretched_strains(NDIM) + rank(NDIM, t);
                let from = [self.strain[PAIR[t][a]].wrapping_add(at), part_of(&lines[a], part, i)];
                let stride = self.plane.stride[a];
                back = back + slope_of::<S, T, N, FRAMED>(s, from, stride, &weights[a], a == t);
            });
            if let Some((velocity, sums)) = &self.sums {
                let p = sums[t].add(at);
                (Lane::load(s, p.cast_const()) - Lane::load(s, velocity[t].add(at)) * back).store(p);
            }
            let b = Lane::load(s, self.b[t].add(at));
            let force = self.force[t].add(at);
            let mut f = Lane::load(s, force.cast_const()) - b * back;
            if FRAMED {
                f = self.plane.damped(s, f, row, i);
            }
            f.store(force);
            if FRAMED {
                for_each_axis!(NDIM, a => {
                    let (line, slope) = (&lines[a], Slope::of_stress(t, a));
                    if line.stretches(slope) {
                        let part = kept::FORCES + rank(NDIM, t);
                        let stretched = unstretched(s, f, line, (slope, part), i);
                        let part = kept::stretched_forces(NDIM) + rank(NDIM, t);
                        (stretched - f).store(line.psi.wrapping_add(part * line.component + i));
                    }
                });
            }
            if let Some(waves) = &self.waves
                && waves.rows.contains(&row)
            {
                let mut sum = Lane::splat(s, T::of(0.0));
                for_each_axis!(NDIM, a => {
                    let from = waves.stress[PAIR[t][a]].wrapping_add(at);
                    sum = sum + derive(s, from, self.plane.stride[a], &weights[a], a == t);
                });
                let v = Lane::load(s, waves.from[t].add(at));
                (v - b * sum).store(waves.to[t].add(at));
            }
        }
    }
}
