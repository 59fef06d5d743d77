//! A step of the discrete program and of its linearisation.
//!
//! The background obeys (Michea & Komatitsch 2010, eqs 2, 6-9; `S` is the stretched derivative of a layer, `w` the
//! sponge):
//!
//! 1. `v <- w (v + b S_j s_ij) + b f`
//! 2. images of `v` above the surface; `r <- keep r - take (c_R e)`, `s <- w (s + c e + (r_old + r_new)/2) - m`, `e = S v`;
//!    `szz`, `sxx`, `syy` and images of the stresses at the surface
//!
//! A change of the coefficients `b`, `c`, `c_R` and of the ratios at the surface changes the fields by what obeys the same
//! program without `f` and `m`, to which every step adds the change of a coefficient times what stands beside it in the
//! background.

use super::Number;
use super::grid::{Shared, Slope};
use super::layers::Place;
use super::program::{Changes, Discrete, State, Tape, places};
use crate::grid::PITCH;
use crate::methods::velocity_stress::layout::velocity;
use crate::methods::velocity_stress::rows::PAIR;

/// What drives the fields.
pub enum Drive<'a, T> {
    /// The sources of the run.
    Sources,
    /// Changes of the coefficients, beside what the background had in the same step.
    Changes(&'a Tape<T>, &'a Changes<T>),
}

impl<T> Clone for Drive<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Drive<'_, T> {}

/// The number of a place among those of a run.
pub fn place(ndim: usize, place: usize) -> usize {
    places(ndim).iter().position(|&p| p == place).unwrap_or(0)
}

impl<T: Number> Discrete<T> {
    /// Step `it` of all fields; what the step can be linearised about goes to the tape.
    pub fn step(&self, state: &mut State<T>, it: usize, drive: Drive<'_, T>, mut tape: Option<&mut Tape<T>>) {
        self.velocities(state, drive, tape.as_deref_mut());
        self.sources(&mut state.velocity, (0, it), drive);
        if self.images.is_some() {
            self.velocity_images(&mut state.velocity, drive, tape.as_deref_mut());
        }
        self.stresses_of(state, drive, tape.as_deref_mut());
        self.sources(&mut state.stress, (1, it), drive);
        if self.images.is_some() {
            self.stress_images(&mut state.stress, drive, tape);
        }
    }

    /// What sources add in a stage; of a change of buoyancy what forces add by it.
    fn sources(&self, fields: &mut [T], (stage, it): (usize, usize), drive: Drive<'_, T>) {
        let (rows, ndim) = (&self.rows, self.ndim());
        let all = rows.rows.start..rows.rows.end;
        for plane in rows.planes.clone() {
            self.spots
                .for_rows((stage, plane, it), &all, |field, row, z, value| {
                    let at = (field - stage * ndim) * rows.len + rows.at(plane, row) + z;
                    match drive {
                        Drive::Sources => fields[at] += value,
                        Drive::Changes(_, changes) if stage == 0 => {
                            fields[at] += value * self.relative(changes, at);
                        }
                        Drive::Changes(..) => {}
                    }
                });
        }
    }

    /// The change of buoyancy at a cell of a velocity as a share of it.
    fn relative(&self, changes: &Changes<T>, at: usize) -> T {
        let (component, cell) = (at / self.rows.len, at % self.rows.len);
        changes.buoyancy[at] / self.medium.buoyancy(component)[cell]
    }

    /// The first stage.
    fn velocities(&self, state: &mut State<T>, drive: Drive<'_, T>, tape: Option<&mut Tape<T>>) {
        let (rows, ndim) = (&self.rows, self.ndim());
        let (z, n) = (rows.z.clone(), rows.z.len());
        let stress = &state.stress;
        let velocities = Shared::new(&mut state.velocity);
        let memory = state.layers[0].each_mut().map(|m| Shared::new(m));
        let tape = tape.map(|tape| Shared::new(&mut tape.force));
        rows.each(&self.cpu, 2, |scratch, plane, row| {
            let [d, sum] = scratch else { return };
            let (d, sum, base) = (&mut d[..n], &mut sum[..n], rows.at(plane, row));
            for &t in rows.axes() {
                let component = velocity(ndim, t);
                sum.fill(T::of(0.0));
                for &a in rows.axes() {
                    let from = &stress[self.stress(PAIR[t][a]) * rows.len..][..rows.len];
                    rows.derivative(from, (base, &z), Slope::plain(a, a == t), d);
                    self.stretched(d, (a, a == t), [component, plane, row], memory[a]);
                    sum.iter_mut().zip(&*d).for_each(|(sum, d)| *sum += *d);
                }
                let at = component * rows.len + base + z.start;
                // SAFETY: every row of the fields belongs to one call.
                let v = unsafe { velocities.row(at, n) };
                let b = &self.medium.buoyancy(component)[base + z.start..][..n];
                v.iter_mut()
                    .zip(b.iter().zip(&*sum))
                    .for_each(|(v, (b, sum))| *v += *b * *sum);
                if let Drive::Changes(tape, changes) = drive {
                    multiply_add(v, &changes.buoyancy[at..][..n], &tape.force[at..][..n]);
                }
                self.damp(v, plane, row);
                if let Some(tape) = tape {
                    // SAFETY: the same.
                    unsafe { tape.row(at, n) }.copy_from_slice(sum);
                }
            }
        });
    }

    /// Stretches a derivative of a component along an axis where a row lies in its layers.
    #[inline(always)]
    fn stretched(
        &self,
        d: &mut [T],
        (axis, half): (usize, bool),
        [component, plane, row]: [usize; 3],
        memory: Shared<'_, T>,
    ) {
        let first = self.rows.z.start;
        for (z, at) in self
            .layers
            .pieces(axis, component, plane, row)
            .into_iter()
            .flatten()
        {
            // SAFETY: the memory of a row belongs to the call that has the row.
            let psi = unsafe { memory.row(at, z.len()) };
            let place = Place {
                axis,
                half,
                line: (plane, row),
                z: &z,
            };
            self.layers
                .stretch(place, &mut d[z.start - first..z.end - first], psi);
        }
    }

    /// The sponge on a row.
    #[inline(always)]
    pub fn damp(&self, numbers: &mut [T], plane: usize, row: usize) {
        if let Some((z, rest)) = self.damping(plane, row) {
            let pairs = numbers.iter_mut().zip(z);
            pairs.for_each(|(x, &z)| *x = *x * (z * rest));
        }
    }

    /// The second stage, without the surface.
    fn stresses_of(&self, state: &mut State<T>, drive: Drive<'_, T>, tape: Option<&mut Tape<T>>) {
        let (rows, ndim, count) = (&self.rows, self.ndim(), self.stresses());
        let (z, n) = (rows.z.clone(), rows.z.len());
        let from = &state.velocity;
        let stress = Shared::new(&mut state.stress);
        let relaxing = Shared::new(&mut state.relaxing);
        let memory = state.layers[1].each_mut().map(|m| Shared::new(m));
        let tape = tape.map(|tape| Shared::new(&mut tape.strain));
        rows.each(&self.cpu, count + 3, |scratch, plane, row| {
            let (strains, rest) = scratch.split_at_mut(count);
            let [d, rate, weak] = rest else { return };
            let base = rows.at(plane, row);
            for &t in rows.axes() {
                for &a in rows.axes().iter().filter(|&&a| a >= t) {
                    let e = &mut strains[self.stress(PAIR[t][a])][..n];
                    e.fill(T::of(0.0));
                    let pairs: &[(usize, usize)] = if a == t { &[(t, t)] } else { &[(a, t), (t, a)] };
                    for &(of, along) in pairs {
                        let component = velocity(ndim, of);
                        let field = &from[component * rows.len..][..rows.len];
                        let d = &mut d[..n];
                        rows.derivative(field, (base, &z), Slope::plain(along, of != along), d);
                        self.stretched(d, (along, of != along), [component, plane, row], memory[along]);
                        e.iter_mut().zip(&*d).for_each(|(e, d)| *e += *d);
                    }
                }
            }
            for k in 0..count {
                let at = k * rows.len + base + z.start;
                let (rate, weak) = (&mut rate[..n], &mut weak[..n]);
                self.rates(k, (base, strains), drive, (rate, weak));
                // SAFETY: every row of the fields belongs to one call.
                let s = unsafe { stress.row(at, n) };
                s.iter_mut().zip(&*rate).for_each(|(s, rate)| *s += *rate);
                self.relax(s, weak, (k, plane, row), relaxing);
                self.damp(s, plane, row);
                if let Some(tape) = tape {
                    // SAFETY: the same.
                    unsafe { tape.row(at, n) }.copy_from_slice(&strains[k][..n]);
                }
            }
        });
    }

    /// The rate of stress `k` on a row that begins at `base`, and of what relaxes of it, with what changes of the
    /// stiffness add.
    #[inline(always)]
    fn rates(
        &self,
        k: usize,
        (base, strains): (usize, &[Vec<T>]),
        drive: Drive<'_, T>,
        (rate, weak): (&mut [T], &mut [T]),
    ) {
        let (rows, ndim) = (&self.rows, self.ndim());
        let (first, n) = (base + rows.z.start, rows.z.len());
        rate.fill(T::of(0.0));
        weak.fill(T::of(0.0));
        for &(place_of, strain) in self.couplings(k) {
            let e = &strains[strain][..n];
            multiply_add(rate, &self.medium.stiffness(place_of)[first..][..n], e);
            if let Some(relaxing) = &self.relaxing {
                multiply_add(weak, &relaxing.medium.stiffness(place_of)[first..][..n], e);
            }
            if let Drive::Changes(tape, changes) = drive {
                let e = &tape.strain[strain * rows.len + first..][..n];
                let at = place(ndim, place_of) * rows.len + first;
                multiply_add(rate, &changes.stiffness[at..][..n], e);
                if self.relaxing.is_some() {
                    multiply_add(weak, &changes.relaxing[at..][..n], e);
                }
            }
        }
    }

    /// The stiffnesses of stress `k` and the strains that they multiply.
    pub fn couplings(&self, k: usize) -> &'static [(usize, usize)] {
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

    /// The mechanisms of stress `k` on a row, with the rate of what relaxes.
    #[inline(always)]
    fn relax(&self, s: &mut [T], weak: &[T], (k, plane, row): (usize, usize, usize), memory: Shared<'_, T>) {
        let Some(relaxing) = &self.relaxing else { return };
        let (rows, first) = (&self.rows, self.rows.z.start);
        for (m, patterns) in relaxing.patterns[plane & 1].iter().enumerate() {
            let pattern = &patterns[row & 1];
            let at = (m * self.stresses() + k) * rows.len + rows.at(plane, row) + first;
            // SAFETY: every row of the memory belongs to one call.
            let r = unsafe { memory.row(at, s.len()) };
            for (i, ((s, r), weak)) in s.iter_mut().zip(r).zip(weak).enumerate() {
                let z = (first + i) % PITCH;
                let next = pattern.keep[z] * *r - pattern.take[z] * *weak;
                *s += T::of(0.5) * (*r + next);
                *r = next;
            }
        }
    }
}

/// `sum += a b`
#[inline(always)]
pub fn multiply_add<T: Number>(sum: &mut [T], a: &[T], b: &[T]) {
    for ((sum, &a), &b) in sum.iter_mut().zip(a).zip(b) {
        *sum += a * b;
    }
}
