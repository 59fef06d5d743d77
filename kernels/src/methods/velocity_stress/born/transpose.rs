//! The transpose of a step, stage by stage in the other order: every number of a [`State`] is what waits for the number of
//! the same place, the derivative of a sum over the data by it.
//!
//! With `g` what waits for a new number of stage 1 or 2 of [`super::forward`]:
//!
//! 2. images go back to the nodes below them; `g <- w g`, what waits for `s`; `p = g_r + g/2` waits for a new `r`, so that `g_r <-
//!    keep p + g/2` and `-take p` waits for `c_R e`; `c g - c_R take p` waits for `e`, and `S'` of it for `v`
//! 1. `g <- w g` waits for `v`; `b g` waits for the force, and `S'` of it for the stresses
//!
//! What waits for a coefficient is the product of what waits for its sum and what stands beside it there.

use super::Number;
use super::forward::{multiply_add, place};
use super::grid::{Shared, Slope};
use super::layers::Place;
use super::program::{Changes, Discrete, State, Tape};
use crate::grid::PITCH;
use crate::methods::velocity_stress::layout::velocity;
use std::ops::Range;

/// A derivative that was taken of a field: for which component, along which axis, and whether ahead of the cell.
type Taken = (usize, usize, bool);

/// What waits for every derivative, `[component][axis][plane][row][z]`; zero where nothing is computed.
pub struct Waiting<T>(Vec<T>);

/// What a step was linearised about, and the sums over all steps of what waits for the coefficients.
pub type Gradient<'a, T> = Option<(&'a Tape<T>, &'a mut Changes<T>)>;

fn lent<'a, T>(gradient: &'a mut Gradient<'_, T>) -> Gradient<'a, T> {
    gradient.as_mut().map(|(tape, changes)| (&**tape, &mut **changes))
}

impl<T: Number> Discrete<T> {
    /// Room for a transposed step.
    pub fn waiting(&self) -> Waiting<T> {
        Waiting(vec![T::of(0.0); self.ndim() * self.ndim() * self.rows.len])
    }

    /// The number of an axis among those there are.
    fn axis(&self, axis: usize) -> usize {
        velocity(self.ndim(), axis)
    }

    /// Where the derivative of a component along an axis waits.
    fn place_of(&self, of: usize, along: usize) -> usize {
        (self.axis(of) * self.ndim() + self.axis(along)) * self.rows.len
    }

    /// The transpose of step `it`; with what the step was linearised about it adds to the `gradient`.
    pub fn step_transposed(
        &self,
        state: &mut State<T>,
        it: usize,
        waiting: &mut Waiting<T>,
        mut gradient: Gradient<'_, T>,
    ) {
        self.stress_images_transposed(&mut state.stress, lent(&mut gradient));
        self.stresses_transposed(state, waiting, lent(&mut gradient));
        self.gather_velocities(&mut state.velocity, waiting);
        self.velocity_images_transposed(&mut state.velocity, lent(&mut gradient));
        if let Some((_, changes)) = &mut gradient {
            self.sources_transposed(&state.velocity, it, changes);
        }
        self.velocities_transposed(state, waiting, gradient);
        self.gather_stresses(&mut state.stress, waiting);
    }

    /// What forces add to the gradient of buoyancy.
    fn sources_transposed(&self, velocities: &[T], it: usize, gradient: &mut Changes<T>) {
        let rows = &self.rows;
        for plane in rows.planes.clone() {
            let add = |field: usize, row: usize, z: usize, value: T| {
                let cell = rows.at(plane, row) + z;
                let at = field * rows.len + cell;
                gradient.buoyancy[at] += value / self.medium.buoyancy(field)[cell] * velocities[at];
            };
            self.spots.for_rows((0, plane, it), &rows.rows, add);
        }
    }

    /// The second stage as far as what waits for derivatives of velocities.
    fn stresses_transposed(&self, state: &mut State<T>, waiting: &mut Waiting<T>, gradient: Gradient<'_, T>) {
        let (rows, ndim, count) = (&self.rows, self.ndim(), self.stresses());
        let (z, n) = (rows.z.clone(), rows.z.len());
        let stress = Shared::new(&mut state.stress);
        let relaxing = Shared::new(&mut state.relaxing);
        let memory = state.layers[1].each_mut().map(|m| Shared::new(m));
        let waits = Shared::new(&mut waiting.0);
        let gradient = gradient.map(|(tape, changes)| {
            let parts = [&mut changes.stiffness, &mut changes.relaxing];
            (tape, parts.map(|part| Shared::new(part)))
        });
        rows.each(&self.cpu, 2 * count + 1, |scratch, plane, row| {
            let (strong, rest) = scratch.split_at_mut(count);
            let (weak, rest) = rest.split_at_mut(count);
            let [e] = rest else { return };
            let first = rows.at(plane, row) + z.start;
            for k in 0..count {
                // SAFETY: every row of the fields belongs to one call.
                let s = unsafe { stress.row(k * rows.len + first, n) };
                self.damp(s, plane, row);
                strong[k][..n].copy_from_slice(s);
                self.relax_transposed(s, &mut weak[k][..n], (k, plane, row), relaxing);
            }
            for k in 0..count {
                let e = &mut e[..n];
                e.fill(T::of(0.0));
                // The table of stiffnesses is symmetric: a strain gets what its stress gives.
                for &(place_of, other) in self.couplings(k) {
                    multiply_add(
                        e,
                        &self.medium.stiffness(place_of)[first..][..n],
                        &strong[other][..n],
                    );
                    if let Some(relaxing) = &self.relaxing {
                        let c = &relaxing.medium.stiffness(place_of)[first..][..n];
                        multiply_add(e, c, &weak[other][..n]);
                    }
                    let Some((tape, parts)) = &gradient else { continue };
                    let at = place(ndim, place_of) * rows.len + first;
                    let strain = &tape.strain[k * rows.len + first..][..n];
                    for (part, waits) in parts.iter().zip([&strong[other], &weak[other]]) {
                        if !part.is_empty() {
                            // SAFETY: the same.
                            multiply_add(unsafe { part.row(at, n) }, strain, &waits[..n]);
                        }
                    }
                }
                let [t, a] = self.axes_of(k);
                let pairs: &[(usize, usize)] = if a == t { &[(t, t)] } else { &[(a, t), (t, a)] };
                for &(of, along) in pairs {
                    // SAFETY: the same.
                    let d = unsafe { waits.row(self.place_of(of, along) + first, n) };
                    d.copy_from_slice(e);
                    let line = [velocity(ndim, of), plane, row];
                    self.unstretched(d, (along, of != along), line, memory[along]);
                }
            }
        });
    }

    /// The axes of stress `k`, the smaller first.
    fn axes_of(&self, k: usize) -> [usize; 2] {
        const ALL: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];
        match self.ndim() {
            3 => ALL[k],
            _ => ALL[2 * k],
        }
    }

    /// What waits for the rates of what relaxes, and for the memory before the step.
    #[inline(always)]
    fn relax_transposed(
        &self,
        s: &[T],
        weak: &mut [T],
        (k, plane, row): (usize, usize, usize),
        memory: Shared<'_, T>,
    ) {
        let Some(relaxing) = &self.relaxing else { return };
        let (rows, first) = (&self.rows, self.rows.z.start);
        weak.fill(T::of(0.0));
        for (m, patterns) in relaxing.patterns[plane & 1].iter().enumerate() {
            let pattern = &patterns[row & 1];
            let at = (m * self.stresses() + k) * rows.len + rows.at(plane, row) + first;
            // SAFETY: every row of the memory belongs to one call.
            let r = unsafe { memory.row(at, s.len()) };
            for (i, ((s, r), weak)) in s.iter().zip(r).zip(&mut *weak).enumerate() {
                let z = (first + i) % PITCH;
                let half = T::of(0.5) * *s;
                let next = *r + half;
                *weak = *weak - pattern.take[z] * next;
                *r = pattern.keep[z] * next + half;
            }
        }
    }

    /// The transpose of a stretched derivative on a row.
    #[inline(always)]
    fn unstretched(
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
                .unstretch(place, &mut d[z.start - first..z.end - first], psi);
        }
    }

    /// The first stage as far as what waits for derivatives of stresses.
    fn velocities_transposed(
        &self,
        state: &mut State<T>,
        waiting: &mut Waiting<T>,
        gradient: Gradient<'_, T>,
    ) {
        let (rows, ndim) = (&self.rows, self.ndim());
        let (z, n) = (rows.z.clone(), rows.z.len());
        let velocities = Shared::new(&mut state.velocity);
        let memory = state.layers[0].each_mut().map(|m| Shared::new(m));
        let waits = Shared::new(&mut waiting.0);
        let gradient = gradient.map(|(tape, changes)| (tape, Shared::new(&mut changes.buoyancy)));
        rows.each(&self.cpu, 0, |_, plane, row| {
            let first = rows.at(plane, row) + z.start;
            for &t in rows.axes() {
                let component = velocity(ndim, t);
                let at = component * rows.len + first;
                // SAFETY: every row of the fields belongs to one call.
                let v = unsafe { velocities.row(at, n) };
                self.damp(v, plane, row);
                if let Some((tape, gradient)) = gradient {
                    // SAFETY: the same.
                    multiply_add(unsafe { gradient.row(at, n) }, &tape.force[at..][..n], v);
                }
                let b = &self.medium.buoyancy(component)[first..][..n];
                for &a in rows.axes() {
                    // SAFETY: the same.
                    let d = unsafe { waits.row(self.place_of(t, a) + first, n) };
                    for ((d, &b), &v) in d.iter_mut().zip(b).zip(&*v) {
                        *d = b * v;
                    }
                    self.unstretched(d, (a, a == t), [component, plane, row], memory[a]);
                }
            }
        });
    }

    /// Cells along z to which something may come back: those above a surface have images.
    fn reached(&self) -> Range<usize> {
        let z = &self.rows.z;
        if self.images.is_some() {
            0..z.end
        } else {
            z.clone()
        }
    }

    /// Gives velocities what waits for their derivatives.
    fn gather_velocities(&self, velocities: &mut [T], waiting: &Waiting<T>) {
        let rows = &self.rows;
        let sources = |of: usize| {
            rows.axes()
                .iter()
                .map(move |&along| (of, along, of != along))
                .collect()
        };
        let fields = rows.axes().iter().map(|&of| (self.axis(of), sources(of)));
        self.gather(velocities, waiting, &fields.collect::<Vec<_>>());
    }

    /// Gives stresses what waits for their derivatives.
    fn gather_stresses(&self, stresses: &mut [T], waiting: &Waiting<T>) {
        let fields = (0..self.stresses()).map(|k| {
            let [t, a] = self.axes_of(k);
            let sources = match a == t {
                true => vec![(t, t, true)],
                false => vec![(t, a, false), (a, t, false)],
            };
            (k, sources)
        });
        self.gather(stresses, waiting, &fields.collect::<Vec<_>>());
    }

    /// Adds to fields the transposed derivatives of what waits: for each field
    /// which those are.
    fn gather(&self, to: &mut [T], waiting: &Waiting<T>, fields: &[(usize, Vec<Taken>)]) {
        let (rows, z) = (&self.rows, self.reached());
        let to = Shared::new(to);
        rows.each(&self.cpu, 1, |scratch, plane, row| {
            let d = &mut scratch[0][..z.len()];
            let base = rows.at(plane, row);
            for (field, sources) in fields {
                // SAFETY: every row of the fields belongs to one call.
                let sum = unsafe { to.row(field * rows.len + base + z.start, z.len()) };
                for &(of, along, ahead) in sources {
                    let waits = &waiting.0[self.place_of(of, along)..][..rows.len];
                    rows.derivative(waits, (base, &z), Slope::transposed(along, ahead), d);
                    sum.iter_mut().zip(&*d).for_each(|(sum, d)| *sum += *d);
                }
            }
        });
    }
}
