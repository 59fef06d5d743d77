//! The transposed step, one SIMD register of cells at a time.
//!
//! Let `g` be the adjoint of a stress after stage 2 of a step and `f = b l` the adjoint force, where `l` is the
//! adjoint of a velocity. In the order of a reverse sweep, the transpose of the step of
//! [`crate::methods::velocity_stress::rows`] is (`D'` the transposed derivative, `w` the sponge):
//!
//! 1. `g <- w (g + D' f~)` completes the following time step; the present one begins with `h = c g`, the adjoint of
//!    the strain rates, and the gradient with respect to the stiffness gains `g~_i e_j`, where `e` is the strain rate
//!    of the recorded velocities
//! 2. `f <- w (f + b D' h~)`, and the gradient with respect to the buoyancy gains `v D' h~ / b`: it is summed by parts
//!    over the steps, so that no force needs to be recorded (the adjoint of a velocity grows by `D' h~` in a step)
//!
//! The transpose of a stretched derivative stretches first: with `p = q + x` its memory variable becomes `b p`, and
//! `x~ = x / kappa + a p` is differentiated. Outside the layers `x~ = x`; inside, the difference `x~ - x` is stored
//! in addition to the memory variable. For the gradient the adjoint of each stress is stretched separately, so that the
//! memory variables of the layers need not be recorded either.

use super::adjoint_ending::Ending;
use super::adjoint_stretch::{kept, part_of, rank, slope_of, unstretched};
use crate::device::simd::{Lane, Real};
use crate::grid::PITCH;
use crate::methods::velocity_stress::rows::{
    Formula, Line, PAIR, Plane, STIFFNESSES, STRESSES, Slope, derive, for_each_axis, walk,
};
use crate::methods::velocity_stress::stress_rows::Loss;
use pulp::Simd;

/// Sums of a gradient on a plane, ordered as in [`PAIR`]; null if there are none.
#[derive(Clone, Copy)]
pub struct Sums<T> {
    /// Derivatives with respect to the stiffness.
    pub stiffness: [*mut T; STIFFNESSES],
    /// Derivatives with respect to the relaxing stiffness.
    pub relaxing: [*mut T; STIFFNESSES],
}

/// The first sweep of a transposed step.
pub struct AdjointStress<'a, T, const NDIM: usize, const N: usize, const LOSSY: bool> {
    pub plane: Plane<'a, T>,
    /// Whether the sweep only completes the following time step.
    pub ends: bool,
    /// Adjoint forces by axis; null at the end of the run, where no time step follows.
    pub force: [*const T; 3],
    /// Adjoint stresses.
    pub stress: [*mut T; STRESSES],
    /// Adjoint strain rates.
    pub strain: [*mut T; STRESSES],
    /// `dt c` at each stress.
    pub c: [*const T; STIFFNESSES],
    /// Attenuation; only used with `LOSSY`.
    pub loss: Option<Loss<'a, T>>,
    /// Velocities of the step by axis; null if not needed.
    pub velocity: [*const T; 3],
    /// The sums of the gradient.
    pub sums: Option<Sums<T>>,
    /// Stresses of the reconstructed wavefield, and the rows of the plane in which it exists.
    pub waves: Option<([*mut T; STRESSES], std::ops::Range<usize>)>,
    /// For a PP image: the adjoint pressure summed over the steps, and the image.
    pub pressure_image: Option<[*mut T; 2]>,
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> pulp::WithSimd
    for AdjointStress<'_, T, NDIM, N, LOSSY>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        match self.ends {
            true => walk::<S, T, _, N>(s, &Ending(&self)),
            false => walk::<S, T, Self, N>(s, &self),
        }
    }
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> Formula<T, N>
    for AdjointStress<'_, T, NDIM, N, LOSSY>
{
    /// In 3-D the normal stresses are a group, and so is each shear stress.
    const GROUPS: usize = if NDIM == 3 { 4 } else { 1 };

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
            match GROUP {
                0 => self.normals::<S, FRAMED>(s, weights, at, lines),
                1 => self.shear::<S, FRAMED>(s, weights, at, lines, [0, 2]),
                2 => self.shear::<S, FRAMED>(s, weights, at, lines, [0, 1]),
                _ => self.shear::<S, FRAMED>(s, weights, at, lines, [1, 2]),
            }
            if NDIM == 2 {
                self.shear::<S, FRAMED>(s, weights, at, lines, [0, 2]);
            }
        }
    }

    fn fetch(&self, _at: usize) {}
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> AdjointStress<'_, T, NDIM, N, LOSSY> {
    /// The derivative of the adjoint force `of` along an axis.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    pub(super) unsafe fn slope<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
        slope: Slope,
    ) -> Lane<S, T> {
        let along = slope.along;
        let part = kept::stretched_forces(NDIM) + rank(NDIM, slope.of);
        let from = [
            self.force[slope.of].wrapping_add(self.plane.at(row, i)),
            part_of(&lines[along], part, i),
        ];
        let stride = self.plane.stride[along];
        // SAFETY: guaranteed by the caller.
        unsafe { slope_of::<S, T, N, FRAMED>(s, from, stride, &weights[along], slope.half) }
    }

    /// The derivative of the recorded velocity `of` along an axis.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    pub(super) unsafe fn rate<S: Simd>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        Slope { of, along, half }: Slope,
    ) -> Lane<S, T> {
        let from = self.velocity[of].wrapping_add(self.plane.at(row, i));
        // SAFETY: guaranteed by the caller.
        unsafe { derive(s, from, self.plane.stride[along], &weights[along], half) }
    }

    /// Completes the following time step for stress `k` with the transposed derivatives `back`, and returns the
    /// adjoint stress and the adjoint of its relaxing rate.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn ended<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        (row, i): (usize, usize),
        k: usize,
        back: Lane<S, T>,
    ) -> [Lane<S, T>; 2] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let at = self.plane.at(row, i);
            let p = self.stress[k].add(at);
            let mut g = Lane::load(s, p.cast_const()) - back;
            if FRAMED {
                g = self.plane.damped(s, g, row, i);
            }
            g.store(p);
            let mut weak = Lane::splat(s, T::of(0.0));
            if LOSSY && let Some(loss) = &self.loss {
                let half = Lane::splat(s, T::of(0.5)) * g;
                for (m, patterns) in loss.patterns.iter().enumerate() {
                    let pattern = &patterns[row & 1];
                    let r = loss.r[k].add(m * loss.mechanism + at);
                    let next = Lane::load(s, r.cast_const()) + half;
                    weak = weak - Lane::load(s, pattern.take.as_ptr().add(i % PITCH)) * next;
                    Lane::load(s, pattern.keep.as_ptr().add(i % PITCH))
                        .mul_add(next, half)
                        .store(r);
                }
            }
            [g, weak]
        }
    }

    /// The adjoint of normal strain rate `j` from the adjoints `g` of the normal stresses, by axis.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    pub(super) unsafe fn through<S: Simd>(
        &self,
        s: S,
        c: &[*const T; STIFFNESSES],
        g: &[Lane<S, T>; 3],
        j: usize,
        at: usize,
    ) -> Lane<S, T> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut sum = Lane::load(s, c[j].add(at)) * g[j];
            for_each_axis!(NDIM, i => {
                if i != j {
                    sum = Lane::load(s, c[PAIR[i][j]].add(at)).mul_add(g[i], sum);
                }
            });
            sum
        }
    }

    /// The adjoint of normal strain rate `j` including the relaxing stiffness.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn strained<S: Simd>(&self, s: S, g: [&[Lane<S, T>; 3]; 2], j: usize, at: usize) -> Lane<S, T> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let strong = self.through(s, &self.c, g[0], j, at);
            match &self.loss {
                Some(loss) if LOSSY => strong + self.through(s, &loss.c, g[1], j, at),
                _ => strong,
            }
        }
    }

    /// Updates the adjoints of the normal stresses and strain rates.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn normals<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
    ) {
        let zero = Lane::splat(s, T::of(0.0));
        let (mut g, mut weak) = ([zero; 3], [zero; 3]);
        let at = self.plane.at(row, i);
        // SAFETY: guaranteed by the caller.
        unsafe {
            for_each_axis!(NDIM, t => {
                let back = match self.force[0].is_null() {
                    true => zero,
                    false => self.slope::<S, FRAMED>(s, weights, (row, i), lines, Slope::of_velocity(t, t)),
                };
                [g[t], weak[t]] = self.ended::<S, FRAMED>(s, (row, i), t, back);
            });
            let mut rates = [zero; 3];
            let grouped = self
                .sums
                .is_none_or(|sums| sums.stiffness[0] == sums.stiffness[2]);
            // Sums of the gradient, ordered as in [`PAIR`]: diagonal, then couplings.
            let (mut sums, mut weaker) = ([zero; STRESSES], [zero; STRESSES]);
            for_each_axis!(NDIM, j => {
                let slope = Slope::of_velocity(j, j);
                if !self.velocity[0].is_null() {
                    rates[j] = self.rate(s, weights, (row, i), slope);
                }
                let h = self.strained(s, [&g, &weak], j, at);
                h.store(self.strain[j].add(at));
                let (mut of_g, mut of_weak) = (g, weak);
                if FRAMED && lines[j].stretches(slope) {
                    for_each_axis!(NDIM, k => {
                        let part = kept::stresses(NDIM) + rank(NDIM, k);
                        of_g[k] = unstretched(s, g[k], &lines[j], (slope, part), i);
                        if LOSSY {
                            let part = kept::relaxing(NDIM) + rank(NDIM, k);
                            of_weak[k] = unstretched(s, weak[k], &lines[j], (slope, part), i);
                        }
                    });
                    let stretched = self.strained(s, [&of_g, &of_weak], j, at);
                    let part = kept::stretched_strains(NDIM) + rank(NDIM, j);
                    (stretched - h).store(lines[j].psi.wrapping_add(part * lines[j].component + i));
                }
                for_each_axis!(NDIM, k => {
                    if FRAMED || !grouped {
                        sums[PAIR[k][j]] = of_g[k].mul_add(rates[j], sums[PAIR[k][j]]);
                        if LOSSY {
                            weaker[PAIR[k][j]] = of_weak[k].mul_add(rates[j], weaker[PAIR[k][j]]);
                        }
                    }
                });
            });
            if let Some(all) = &self.sums {
                if !FRAMED && grouped {
                    sums = self.grouped(s, &g, &rates);
                    weaker = self.grouped(s, &weak, &rates);
                }
                self.add_normals(s, &all.stiffness, &sums, at);
                if LOSSY {
                    self.add_normals(s, &all.relaxing, &weaker, at);
                }
            }
            if self.pressure_image.is_some() {
                self.add_to_image(s, [&g, &rates], at);
            }
            if let Some((waves, rows)) = &self.waves
                && rows.contains(&row)
            {
                for_each_axis!(NDIM, t => {
                    let p = waves[t].add(at);
                    (Lane::load(s, p.cast_const()) - self.through(s, &self.c, &rates, t, at)).store(p);
                });
            }
        }
    }

    /// The sum of the products of adjoints and rates of the same axis (entry 0), and of different axes (entry 4).
    #[inline(always)]
    fn grouped<S: Simd>(&self, s: S, g: &[Lane<S, T>; 3], rates: &[Lane<S, T>; 3]) -> [Lane<S, T>; STRESSES] {
        let mut sums = [Lane::splat(s, T::of(0.0)); STRESSES];
        let (mut all, mut rate) = (g[0] + g[2], rates[0] + rates[2]);
        sums[0] = g[0].mul_add(rates[0], g[2] * rates[2]);
        if NDIM == 3 {
            (all, rate) = (all + g[1], rate + rates[1]);
            sums[0] = g[1].mul_add(rates[1], sums[0]);
        }
        sums[4] = all * rate - sums[0];
        sums
    }

    /// Adds to the gradient with respect to normal stiffnesses and couplings, summed over each kind if its entries
    /// share their memory.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn add_normals<S: Simd>(
        &self,
        s: S,
        to: &[*mut T; STIFFNESSES],
        sums: &[Lane<S, T>; STRESSES],
        at: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let add = |place: usize, sum: Lane<S, T>| {
                let p = to[place].add(at);
                (Lane::load(s, p.cast_const()) + sum).store(p);
            };
            if to[0] == to[2] {
                let (mut own, mut coupled) = (sums[0] + sums[2], sums[4]);
                if NDIM == 3 {
                    own = own + sums[1];
                    coupled = coupled + (sums[3] + sums[5]);
                }
                add(0, own);
                return add(4, coupled);
            }
            for_each_axis!(NDIM, t => {
                for_each_axis!(NDIM, a => {
                    if a >= t {
                        add(PAIR[t][a], sums[PAIR[t][a]]);
                    }
                });
            });
        }
    }

    /// Updates the adjoints of the shear stress and strain rate of two axes.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn shear<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
        [t, a]: [usize; 2],
    ) {
        let zero = Lane::splat(s, T::of(0.0));
        let (at, k) = (self.plane.at(row, i), PAIR[t][a]);
        let slopes = [Slope::of_velocity(a, t), Slope::of_velocity(t, a)];
        // SAFETY: guaranteed by the caller.
        unsafe {
            let back = match self.force[0].is_null() {
                true => zero,
                false => {
                    self.slope::<S, FRAMED>(s, weights, (row, i), lines, slopes[0])
                        + self.slope::<S, FRAMED>(s, weights, (row, i), lines, slopes[1])
                }
            };
            let [g, weak] = self.ended::<S, FRAMED>(s, (row, i), k, back);
            let c = Lane::load(s, self.c[3 + k].add(at));
            let c_weak = match &self.loss {
                Some(loss) if LOSSY => Lane::load(s, loss.c[3 + k].add(at)),
                _ => zero,
            };
            let h = if LOSSY { c.mul_add(g, c_weak * weak) } else { c * g };
            h.store(self.strain[k].add(at));
            let (mut sum, mut weaker, mut rates) = (zero, zero, zero);
            let rated = self.sums.is_some() || self.waves.is_some();
            for slope in slopes {
                let Slope { of, along, .. } = slope;
                let rate = match rated {
                    false => zero,
                    true => self.rate(s, weights, (row, i), slope),
                };
                let (mut of_g, mut of_weak) = (g, weak);
                let line = &lines[along];
                if FRAMED && line.stretches(slope) {
                    let place = kept::shear(NDIM, along, of);
                    of_g = unstretched(s, g, line, (slope, kept::stresses(NDIM) + place), i);
                    if LOSSY {
                        of_weak = unstretched(s, weak, line, (slope, kept::relaxing(NDIM) + place), i);
                    }
                    let stretched = match LOSSY {
                        true => c.mul_add(of_g, c_weak * of_weak),
                        false => c * of_g,
                    };
                    let part = kept::stretched_strains(NDIM) + rank(NDIM, of);
                    (stretched - h).store(line.psi.wrapping_add(part * line.component + i));
                }
                sum = of_g.mul_add(rate, sum);
                if LOSSY {
                    weaker = of_weak.mul_add(rate, weaker);
                }
                rates = rates + rate;
            }
            if let Some(all) = &self.sums {
                let add = |to: *mut T, sum: Lane<S, T>| {
                    let p = to.add(at);
                    (Lane::load(s, p.cast_const()) + sum).store(p);
                };
                add(all.stiffness[3 + k], sum);
                if LOSSY {
                    add(all.relaxing[3 + k], weaker);
                }
            }
            if let Some((waves, rows)) = &self.waves
                && rows.contains(&row)
            {
                let p = waves[k].add(at);
                (Lane::load(s, p.cast_const()) - c * rates).store(p);
            }
        }
    }
}
