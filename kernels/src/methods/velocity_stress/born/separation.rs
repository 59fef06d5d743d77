//! P and S waves apart.
//!
//! In an isotropic medium that changes little over a wavelength the force of the stresses has two parts, `div s = grad P - curl (mu curl
//! u)`: the pressure-like potential is `P = (lambda + 2 mu) div u`, a share of the sum of the normal stresses, and what is left of the
//! force belongs to S waves (Aki and Richards 2002, eq. 4.1; the derivatives here are those of the discrete program). The rotation of
//! the velocities is the potential of S waves.
//!
//! What waits for the fields, `l`, behaves like the waves of the data backward in time when it is multiplied by the medium: `b l_v`
//! like a velocity, `c l_s` like a stress.

use super::Number;
use super::forward::multiply_add;
use super::grid::{Shared, Slope};
use super::program::{Discrete, State};
use crate::methods::velocity_stress::layout::velocity;
use crate::methods::velocity_stress::rows::PAIR;

/// A field of every component behind each other.
pub type Fields<T> = Vec<T>;

impl<T: Number> Discrete<T> {
    /// What the sum of the normal stresses is multiplied by to be `P`, in every cell; nothing beyond the medium.
    pub fn share_of_pressure(&self) -> Vec<T> {
        let along = self.medium.stiffness(0);
        let across = self.medium.stiffness(if self.ndim() == 3 { 3 } else { 4 });
        let others = (self.ndim() - 1) as f64;
        let share = |(m, l): (&T, &T)| {
            let (m, sum) = (m.f64(), m.f64() + others * l.f64());
            T::of(if sum > 0.0 { m / sum } else { 0.0 })
        };
        along.iter().zip(across).map(share).collect()
    }

    /// The forces of P waves and of S waves, `[component]` each, of stresses.
    pub fn forces(&self, stress: &[T], share: &[T]) -> [Fields<T>; 2] {
        let (rows, ndim) = (&self.rows, self.ndim());
        let mut pressure = vec![T::of(0.0); rows.len];
        for s in stress.chunks_exact(rows.len).take(ndim) {
            multiply_add(&mut pressure, s, share);
        }
        let mut made = [(); 2].map(|()| vec![T::of(0.0); ndim * rows.len]);
        let (z, n) = (rows.z.clone(), rows.z.len());
        let [of_p, of_s] = made.each_mut().map(|made| Shared::new(made));
        rows.each(&self.cpu, 1, |scratch, plane, row| {
            let (d, base) = (&mut scratch[0][..n], rows.at(plane, row));
            for &t in rows.axes() {
                let at = velocity(ndim, t) * rows.len + base + z.start;
                // SAFETY: every row of the fields belongs to one call.
                let (p, s) = unsafe { (of_p.row(at, n), of_s.row(at, n)) };
                rows.derivative(&pressure, (base, &z), Slope::plain(t, true), p);
                for &a in rows.axes() {
                    let from = &stress[self.stress(PAIR[t][a]) * rows.len..][..rows.len];
                    rows.derivative(from, (base, &z), Slope::plain(a, a == t), d);
                    s.iter_mut().zip(&*d).for_each(|(s, d)| *s += *d);
                }
                s.iter_mut().zip(&*p).for_each(|(s, p)| *s = *s - *p);
            }
        });
        made
    }

    /// The pairs of axes about which things turn, each with the place of its shear stress.
    pub fn turns(&self) -> Vec<[usize; 2]> {
        let axes = self.rows.axes();
        let pairs = axes.iter().flat_map(|&t| axes.iter().map(move |&a| [t, a]));
        pairs.filter(|[t, a]| t < a).collect()
    }

    /// The rotation of velocities, `[pair of axes]`, where the shear stresses are.
    pub fn rotation(&self, velocities: &[T]) -> Fields<T> {
        let (rows, ndim, turns) = (&self.rows, self.ndim(), self.turns());
        let mut made = vec![T::of(0.0); turns.len() * rows.len];
        let (z, n) = (rows.z.clone(), rows.z.len());
        let to = Shared::new(&mut made);
        rows.each(&self.cpu, 1, |scratch, plane, row| {
            let (d, base) = (&mut scratch[0][..n], rows.at(plane, row));
            for (k, &[t, a]) in turns.iter().enumerate() {
                // SAFETY: every row of the fields belongs to one call.
                let turn = unsafe { to.row(k * rows.len + base + z.start, n) };
                let from = |axis: usize| &velocities[velocity(ndim, axis) * rows.len..][..rows.len];
                rows.derivative(from(a), (base, &z), Slope::plain(t, true), turn);
                rows.derivative(from(t), (base, &z), Slope::plain(a, true), d);
                turn.iter_mut().zip(&*d).for_each(|(turn, d)| *turn = *turn - *d);
            }
        });
        made
    }

    /// What waits for the stresses as stresses.
    pub fn stress_of_waiting(&self, waits: &State<T>) -> Fields<T> {
        let rows = &self.rows;
        let mut made = vec![T::of(0.0); waits.stress.len()];
        for (k, s) in made.chunks_exact_mut(rows.len).enumerate() {
            for &(place, other) in self.couplings(k) {
                let from = &waits.stress[other * rows.len..][..rows.len];
                multiply_add(s, self.medium.stiffness(place), from);
            }
        }
        made
    }

    /// What waits for the velocities as velocities.
    pub fn velocity_of_waiting(&self, waits: &State<T>) -> Fields<T> {
        let len = self.rows.len;
        let mut made = waits.velocity.clone();
        for (component, v) in made.chunks_exact_mut(len).enumerate() {
            let b = self.medium.buoyancy(component);
            v.iter_mut().zip(b).for_each(|(v, &b)| *v = *v * b);
        }
        made
    }
}
