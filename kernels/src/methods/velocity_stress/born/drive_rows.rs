//! The effect of perturbed coefficients on the scattered field, one SIMD register of cells at a time. The memory
//! variables of the layers have already been advanced to this step.

use crate::device::simd::{Arch, Lane, Real};
use crate::grid::PITCH;
use crate::methods::velocity_stress::rows::{
    Formula, Line, PAIR, Plane, STIFFNESSES, STRESSES, Slope, derive, for_each_axis, walk,
};
use crate::methods::velocity_stress::stress_rows::Loss;
use pulp::Simd;

/// The part of the scattered field that is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Velocities, by a change of buoyancy.
    Forces,
    /// Stresses, by a change of the stiffness.
    Strains,
    /// The memory variables of attenuation, by a perturbation of the relaxing stiffness.
    Relaxing,
}

/// The background on a plane and the scattered field that it drives.
pub struct Drive<'a, T> {
    pub plane: Plane<'a, T>,
    pub part: Part,
    /// Velocities and stresses of the background.
    pub velocity: [*const T; 3],
    pub stress: [*const T; STRESSES],
    /// Velocities and stresses of the scattered field.
    pub to_velocity: [*mut T; 3],
    pub to_stress: [*mut T; STRESSES],
    /// Perturbations of `dt/rho`, of `dt c` and of its relaxing part.
    pub buoyancy: [*const T; 3],
    pub stiffness: [*const T; STIFFNESSES],
    pub relaxing: [*const T; STIFFNESSES],
    /// Memory variables of attenuation of the scattered field.
    pub loss: Option<Loss<'a, T>>,
}

/// A [`Drive`] for a number of dimensions and weights.
struct Of<'a, T, const NDIM: usize, const N: usize>(Drive<'a, T>);

impl<T: Real> Drive<'_, T> {
    /// Updates all cells of the plane.
    pub fn run(self, arch: Arch, ndim: usize, half: usize) {
        // Generic code is compiled again in every crate that runs it. `f64` is used only by tests and is compiled
        // with them.
        if const { size_of::<T>() == size_of::<f32>() } {
            // SAFETY: f32 is the only number of its size.
            return in_single(unsafe { crate::renamed(self) }, arch, (ndim, half));
        }
        self.visit(arch, (ndim, half));
    }

    fn visit(self, arch: Arch, kind: (usize, usize)) {
        match kind {
            (3, 1) => arch.dispatch(Of::<T, 3, 1>(self)),
            (3, 2) => arch.dispatch(Of::<T, 3, 2>(self)),
            (3, _) => arch.dispatch(Of::<T, 3, 4>(self)),
            (_, 1) => arch.dispatch(Of::<T, 2, 1>(self)),
            (_, 2) => arch.dispatch(Of::<T, 2, 2>(self)),
            _ => arch.dispatch(Of::<T, 2, 4>(self)),
        }
    }
}

#[inline(never)]
fn in_single(drive: Drive<'_, f32>, arch: Arch, kind: (usize, usize)) {
    drive.visit(arch, kind);
}

impl<T: Real, const NDIM: usize, const N: usize> pulp::WithSimd for Of<'_, T, NDIM, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        walk::<S, T, Self, N>(s, &self);
    }
}

impl<T: Real, const NDIM: usize, const N: usize> Of<'_, T, NDIM, N> {
    /// A stretched derivative with the memory variable left by the step.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn slope<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        (from, w): (*const T, &[Lane<S, T>; N]),
        line: &Line<T>,
        (slope, i): (Slope, usize),
    ) -> Lane<S, T> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let d = derive(s, from, self.0.plane.stride[slope.along], w, slope.half);
            if !FRAMED || line.psi.is_null() {
                return d;
            }
            let psi = line.psi.wrapping_add(slope.of * line.component + i);
            line.factor(s, slope, 0, i)
                .mul_add(d, Lane::load(s, psi.cast_const()))
        }
    }

    /// A derivative of a background velocity.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn rate<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        (w, line): (&[Lane<S, T>; N], &Line<T>),
        (row, i): (usize, usize),
        slope: Slope,
    ) -> Lane<S, T> {
        let from = self.0.velocity[slope.of].wrapping_add(self.0.plane.at(row, i));
        // SAFETY: guaranteed by the caller.
        unsafe { self.slope::<S, FRAMED>(s, (from, w), line, (slope, i)) }
    }

    /// Adds the products of the perturbed stiffnesses and the strain rates to stress `k`.
    ///
    /// # Safety
    /// The requirements of [`Formula::cells`] apply.
    #[inline(always)]
    unsafe fn add<S: Simd>(&self, s: S, (row, i): (usize, usize), k: usize, [rate, weak]: [Lane<S, T>; 2]) {
        let (d, at) = (&self.0, self.0.plane.at(row, i));
        // SAFETY: guaranteed by the caller.
        unsafe {
            let to = d.to_stress[k].add(at);
            let mut sum = Lane::load(s, to.cast_const()) + rate;
            let Some(loss) = &d.loss else {
                return sum.store(to);
            };
            for (m, patterns) in loss.patterns.iter().enumerate() {
                let take = Lane::load(s, patterns[row & 1].take.as_ptr().add(i % PITCH)) * weak;
                if d.part == Part::Relaxing {
                    let r = loss.r[k].add(m * loss.mechanism + at);
                    (Lane::load(s, r.cast_const()) - take).store(r);
                }
                sum = sum - Lane::splat(s, T::of(0.5)) * take;
            }
            if d.part == Part::Strains {
                sum.store(to);
            }
        }
    }
}

impl<T: Real, const NDIM: usize, const N: usize> Formula<T, N> for Of<'_, T, NDIM, N> {
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
        let (d, at, zero) = (&self.0, self.0.plane.at(row, i), Lane::splat(s, T::of(0.0)));
        // SAFETY: guaranteed by the caller.
        unsafe {
            if d.part == Part::Forces {
                for_each_axis!(NDIM, t => {
                    let mut sum = zero;
                    for_each_axis!(NDIM, a => {
                        let from = (d.stress[PAIR[t][a]].wrapping_add(at), &weights[a]);
                        let slope = (Slope::of_stress(t, a), i);
                        sum = sum + self.slope::<S, FRAMED>(s, from, &lines[a], slope);
                    });
                    let to = d.to_velocity[t].add(at);
                    Lane::load(s, d.buoyancy[t].add(at))
                        .mul_add(sum, Lane::load(s, to.cast_const()))
                        .store(to);
                });
                return;
            }
            let lossy = !d.relaxing[0].is_null();
            let mut e = [zero; 3];
            for_each_axis!(NDIM, t => { e[t] = self.rate::<S, FRAMED>(s, (&weights[t], &lines[t]), (row, i), Slope::of_velocity(t, t)); });
            for_each_axis!(NDIM, t => {
                let mut sums = [zero; 2];
                for_each_axis!(NDIM, a => {
                    sums[0] = Lane::load(s, d.stiffness[PAIR[t][a]].add(at)).mul_add(e[a], sums[0]);
                    if lossy {
                        sums[1] = Lane::load(s, d.relaxing[PAIR[t][a]].add(at)).mul_add(e[a], sums[1]);
                    }
                });
                self.add(s, (row, i), t, sums);
            });
            for_each_axis!(NDIM, t => {
                for_each_axis!(NDIM, a => {
                    if a > t {
                        let k = PAIR[t][a];
                        let e = self.rate::<S, FRAMED>(s, (&weights[t], &lines[t]), (row, i), Slope::of_velocity(a, t))
                            + self.rate::<S, FRAMED>(s, (&weights[a], &lines[a]), (row, i), Slope::of_velocity(t, a));
                        let strong = Lane::load(s, d.stiffness[3 + k].add(at)) * e;
                        let weak = match lossy {
                            true => Lane::load(s, d.relaxing[3 + k].add(at)) * e,
                            false => zero,
                        };
                        self.add(s, (row, i), k, [strong, weak]);
                    }
                });
            });
        }
    }

    fn fetch(&self, _at: usize) {}
}
