//! Separation of P and S waves.
//!
//! In an isotropic medium that changes little over a wavelength the force of the stresses has two parts, `div s = grad
//! P - curl (mu curl u)`: the potential of P waves is `P = (lambda + 2 mu) div u`, a share of the sum of the normal
//! stresses, and the remaining force belongs to S waves (Aki and Richards 2002, eq. 4.1; here the derivatives are
//! discrete, as in the program). The rotation of the velocities is the potential of S waves.
//!
//! Multiplied by the medium, the adjoint fields `l` behave like the wavefield of the data backward in time: `b l_v`
//! like a velocity, `c l_s` like a stress.

use super::Number;
use super::grid::Shared;
use super::program::Discrete;
use crate::methods::velocity_stress::layout::velocity;
use crate::methods::velocity_stress::rows::PAIR;

/// A field for each component, concatenated.
pub type Fields<T> = Vec<T>;

impl<T: Number> Discrete<T> {
    /// The factor that turns the sum of the normal stresses into `P`, for every cell; zero outside the medium.
    pub fn share_of_pressure(&self) -> Vec<T> {
        let along = self.setup.medium.stiffness(0);
        let across = self.setup.medium.stiffness(if self.ndim() == 3 { 3 } else { 4 });
        let others = (self.ndim() - 1) as f64;
        let share = |(m, l): (&T, &T)| {
            let (m, sum) = (m.f64(), m.f64() + others * l.f64());
            T::of(if sum > 0.0 { m / sum } else { 0.0 })
        };
        along.iter().zip(across).map(share).collect()
    }

    /// The forces of P waves and of S waves in the stresses, `[component]` each.
    pub fn forces(&self, stress: &[T], share: &[T]) -> [Fields<T>; 2] {
        let (rows, ndim) = (&self.rows, self.ndim());
        let mut pressure = vec![T::of(0.0); rows.len];
        for s in stress.chunks_exact(rows.len).take(ndim) {
            multiply_add(&mut pressure, s, share);
        }
        let mut forces = [(); 2].map(|()| vec![T::of(0.0); ndim * rows.len]);
        let (z, n) = (rows.z.clone(), rows.z.len());
        let [of_p, of_s] = forces.each_mut().map(|field| Shared::new(field));
        rows.each(&self.setup.cpu, 1, |scratch, plane, row| {
            let (d, base) = (&mut scratch[0][..n], rows.at(plane, row));
            for &t in rows.axes() {
                let at = velocity(ndim, t) * rows.len + base + z.start;
                // SAFETY: every row of the fields belongs to one call.
                let (p, s) = unsafe { (of_p.row(at, n), of_s.row(at, n)) };
                rows.derivative(&pressure, (base, &z), (t, true), p);
                for &a in rows.axes() {
                    let from = &stress[self.stress(PAIR[t][a]) * rows.len..][..rows.len];
                    rows.derivative(from, (base, &z), (a, a == t), d);
                    s.iter_mut().zip(&*d).for_each(|(s, d)| *s += *d);
                }
                s.iter_mut().zip(&*p).for_each(|(s, p)| *s = *s - *p);
            }
        });
        forces
    }

    /// The pairs of axes of the components of the rotation, in the order of the shear stresses.
    pub fn turns(&self) -> Vec<[usize; 2]> {
        let axes = self.rows.axes();
        let pairs = axes.iter().flat_map(|&t| axes.iter().map(move |&a| [t, a]));
        pairs.filter(|[t, a]| t < a).collect()
    }

    /// The rotation of velocities, `[pair of axes]`, at the shear stresses.
    pub fn rotation(&self, velocities: &[T]) -> Fields<T> {
        let (rows, ndim, turns) = (&self.rows, self.ndim(), self.turns());
        let mut rotation = vec![T::of(0.0); turns.len() * rows.len];
        let (z, n) = (rows.z.clone(), rows.z.len());
        let to = Shared::new(&mut rotation);
        rows.each(&self.setup.cpu, 1, |scratch, plane, row| {
            let (d, base) = (&mut scratch[0][..n], rows.at(plane, row));
            for (k, &[t, a]) in turns.iter().enumerate() {
                // SAFETY: every row of the fields belongs to one call.
                let turn = unsafe { to.row(k * rows.len + base + z.start, n) };
                let from = |axis: usize| &velocities[velocity(ndim, axis) * rows.len..][..rows.len];
                rows.derivative(from(a), (base, &z), (t, true), turn);
                rows.derivative(from(t), (base, &z), (a, true), d);
                turn.iter_mut().zip(&*d).for_each(|(turn, d)| *turn = *turn - *d);
            }
        });
        rotation
    }

    /// The adjoint velocities from the adjoint forces.
    pub fn velocity_of_force(&self, forces: &[T]) -> Fields<T> {
        let mut velocities = forces.to_vec();
        for (component, field) in velocities.chunks_exact_mut(self.rows.len).enumerate() {
            let b = self.setup.medium.buoyancy(component);
            for (value, &b) in field.iter_mut().zip(b) {
                *value = if b > T::of(0.0) { *value / b } else { T::of(0.0) };
            }
        }
        velocities
    }

    /// The products of the stiffness `c` and the adjoint stresses.
    pub fn stress_of_adjoint(&self, adjoint: &[T]) -> Fields<T> {
        let len = self.rows.len;
        let mut stress = vec![T::of(0.0); adjoint.len()];
        for (k, s) in stress.chunks_exact_mut(len).enumerate() {
            for &(place, other) in self.couplings(k) {
                multiply_add(
                    s,
                    self.setup.medium.stiffness(place),
                    &adjoint[other * len..][..len],
                );
            }
        }
        stress
    }

    /// The stiffnesses of stress `k` and the strains that they multiply.
    fn couplings(&self, k: usize) -> &'static [(usize, usize)] {
        const SHEAR_3D: [&[(usize, usize)]; 3] = [&[(6, 3)], &[(7, 4)], &[(8, 5)]];
        match (self.ndim(), k) {
            (3, 0) => &[(0, 0), (3, 1), (4, 2)],
            (3, 1) => &[(3, 0), (1, 1), (5, 2)],
            (3, 2) => &[(4, 0), (5, 1), (2, 2)],
            (3, _) => SHEAR_3D[k - 3],
            (_, 0) => &[(0, 0), (4, 1)],
            (_, 1) => &[(4, 0), (2, 1)],
            _ => &[(7, 2)],
        }
    }
}

/// `sum += a b`
fn multiply_add<T: Number>(sum: &mut [T], a: &[T], b: &[T]) {
    for ((sum, &a), &b) in sum.iter_mut().zip(a).zip(b) {
        *sum += a * b;
    }
}
