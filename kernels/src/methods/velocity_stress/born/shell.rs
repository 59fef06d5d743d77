//! Waves that run backwards: of a recorded step only its shell is kept.
//!
//! Where nothing is lost (no attenuation, no sponge, no layers, no free surface) a step can be undone with the numbers that it added,
//! `s <- s - m - c e` and then `v <- v - b f - b S_j s_ij`. Inside of a core the derivatives `e` and `S_j s_ij` are computed anew
//! from the fields that come back; around it, in the shell, they are those of the recorded step. The shell is the frame, the rows at
//! a free surface, and beside them as many cells as a derivative reaches: all that the core needs of the fields lies in the
//! `region` where they come back. What differs from recording whole steps is rounding.

use super::Number;
use super::grid::{Shared, Slope};
use super::program::{Discrete, State, Tape};
use crate::methods::velocity_stress::layout::velocity;
use crate::methods::velocity_stress::rows::PAIR;
use std::ops::Range;

/// Where waves run backwards. Axes are 0 = z, 1 = row, 2 = plane.
pub struct Core {
    /// The cells whose fields come back.
    region: [Range<usize>; 3],
    /// The cells whose derivatives are computed anew.
    core: [Range<usize>; 3],
    /// By row among all rows of the grid: where its numbers begin in the shell of a field.
    starts: Vec<usize>,
    /// Numbers of the shell of a field.
    len: usize,
}

/// What is kept of a step.
pub struct Shell<T> {
    /// `[velocity, then stress][number of the shell]`
    fields: Vec<T>,
    /// As a tape has it.
    surface: Vec<T>,
}

impl<T> Shell<T> {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.fields.len() + self.surface.len()) * size_of::<T>()
    }
}

impl Core {
    /// The core of a program, or why there is none.
    pub fn of<T: Number>(program: &Discrete<T>) -> Result<Self, &'static str> {
        if program.relaxing.is_some() {
            return Err("attenuation takes energy everywhere");
        }
        let (rows, padded) = (&program.rows, &program.rows.padded);
        let mut region = [rows.z.clone(), rows.rows.clone(), rows.planes.clone()];
        let mut core = region.clone();
        for &axis in rows.axes() {
            let of_model = if axis == 2 { rows.ndim() - 1 } else { axis };
            let low = padded.low[of_model];
            region[axis] = low..low + padded.model.n[of_model];
            // The images on and above a free surface.
            region[axis].start += usize::from(axis == 0 && program.images.is_some());
            let inner = region[axis].start + rows.half..region[axis].end.saturating_sub(rows.half);
            if inner.is_empty() {
                return Err("the grid is too small for a part inside of which they could");
            }
            core[axis] = inner;
        }
        let lossless =
            |weights: &[T], cells: &Range<usize>| weights[cells.clone()].iter().all(|w| w.f64() == 1.0);
        if let Some([z, of_rows, planes]) = &program.sponge
            && !(lossless(z, &region[0]) && lossless(of_rows, &region[1]) && lossless(planes, &region[2]))
        {
            return Err("the sponge reaches into the model");
        }
        let mut made = Self {
            region,
            core,
            starts: vec![0; rows.count()],
            len: 0,
        };
        for plane in rows.planes.clone() {
            for row in rows.rows.clone() {
                made.starts[rows.number(plane, row)] = made.len;
                made.len += made
                    .pieces(program, plane, row)
                    .iter()
                    .map(Range::len)
                    .sum::<usize>();
            }
        }
        Ok(made)
    }

    /// The cells whose fields come back.
    pub fn region(&self) -> &[Range<usize>; 3] {
        &self.region
    }

    /// The cells of a row that are in the shell: before the core and behind it.
    fn pieces<T: Number>(&self, program: &Discrete<T>, plane: usize, row: usize) -> [Range<usize>; 2] {
        let z = &program.rows.z;
        match self.cuts(plane, row) {
            true => [z.start..self.core[0].start, self.core[0].end..z.end],
            false => [z.clone(), z.end..z.end],
        }
    }

    /// Whether a row runs through the core.
    fn cuts(&self, plane: usize, row: usize) -> bool {
        self.core[1].contains(&row) && self.core[2].contains(&plane)
    }

    /// Whether a row runs through the region.
    fn comes_back(&self, plane: usize, row: usize) -> bool {
        self.region[1].contains(&row) && self.region[2].contains(&plane)
    }

    /// Room for the shell of a step.
    pub fn shell<T: Number>(&self, program: &Discrete<T>) -> Shell<T> {
        let fields = program.ndim() + program.stresses();
        let surface = match program.images {
            Some(_) => program.ndim() * program.rows.count(),
            None => 0,
        };
        Shell {
            fields: vec![T::of(0.0); fields * self.len],
            surface: vec![T::of(0.0); surface],
        }
    }

    /// Keeps the shell of a recorded step.
    pub fn keep<T: Number>(&self, program: &Discrete<T>, tape: &Tape<T>, shell: &mut Shell<T>) {
        let (rows, ndim) = (&program.rows, program.ndim());
        let to = Shared::new(&mut shell.fields);
        rows.each(&program.cpu, 0, |_, plane, row| {
            let base = rows.at(plane, row);
            for field in 0..ndim + program.stresses() {
                let from = field_of(tape, (field, ndim), rows.len);
                let mut at = field * self.len + self.starts[rows.number(plane, row)];
                for z in self.pieces(program, plane, row) {
                    // SAFETY: every row of the shell belongs to one call.
                    let to = unsafe { to.row(at, z.len()) };
                    to.copy_from_slice(&from[base + z.start..][..z.len()]);
                    at += z.len();
                }
            }
        });
        shell.surface.copy_from_slice(&tape.surface);
    }

    /// Undoes step `it`: `state` becomes that before it, in the region, and `tape` what the step recorded.
    pub fn undo<T: Number>(
        &self,
        program: &Discrete<T>,
        (state, it): (&mut State<T>, usize),
        shell: &Shell<T>,
        tape: &mut Tape<T>,
    ) {
        program.take_sources(&mut state.stress, (1, it));
        self.undo_stresses(program, state, shell, &mut tape.strain);
        program.take_sources(&mut state.velocity, (0, it));
        self.undo_velocities(program, state, shell, &mut tape.force);
        tape.surface.copy_from_slice(&shell.surface);
    }

    /// Fills a row of a field of a tape outside of the core.
    fn fill<T: Number>(
        &self,
        program: &Discrete<T>,
        shell: &Shell<T>,
        (field, plane, row): (usize, usize, usize),
        to: &mut [T],
    ) {
        let mut at = field * self.len + self.starts[program.rows.number(plane, row)];
        for z in self.pieces(program, plane, row) {
            let from = &shell.fields[at..][..z.len()];
            to[z.start - program.rows.z.start..][..z.len()].copy_from_slice(from);
            at += z.len();
        }
    }

    /// The second stage: `s <- s - c e`.
    fn undo_stresses<T: Number>(
        &self,
        program: &Discrete<T>,
        state: &mut State<T>,
        shell: &Shell<T>,
        strain: &mut [T],
    ) {
        let (rows, ndim, count) = (&program.rows, program.ndim(), program.stresses());
        let (first, n) = (rows.z.start, rows.z.len());
        let (inner, back) = (&self.core[0], &self.region[0]);
        let from = &state.velocity;
        let stress = Shared::new(&mut state.stress);
        let tape = Shared::new(strain);
        rows.each(&program.cpu, 2, |scratch, plane, row| {
            let [d, rate] = scratch else { return };
            let (d, rate) = (&mut d[..inner.len()], &mut rate[..back.len()]);
            let base = rows.at(plane, row);
            // SAFETY: every row of the tape belongs to one call.
            let line = |k: usize| unsafe { tape.row(k * rows.len + base + first, n) };
            for &t in rows.axes() {
                for &a in rows.axes().iter().filter(|&&a| a >= t) {
                    let k = program.stress(PAIR[t][a]);
                    let e = line(k);
                    self.fill(program, shell, (ndim + k, plane, row), e);
                    if !self.cuts(plane, row) {
                        continue;
                    }
                    let e = &mut e[inner.start - first..inner.end - first];
                    e.fill(T::of(0.0));
                    let pairs: &[(usize, usize)] = if a == t { &[(t, t)] } else { &[(a, t), (t, a)] };
                    for &(of, along) in pairs {
                        let field = &from[velocity(ndim, of) * rows.len..][..rows.len];
                        rows.derivative(field, (base, inner), Slope::plain(along, of != along), d);
                        e.iter_mut().zip(&*d).for_each(|(e, d)| *e += *d);
                    }
                }
            }
            for k in (0..count).filter(|_| self.comes_back(plane, row)) {
                rate.fill(T::of(0.0));
                for &(place, strain) in program.couplings(k) {
                    let c = &program.medium.stiffness(place)[base + back.start..][..back.len()];
                    let e = &line(strain)[back.start - first..][..back.len()];
                    super::forward::multiply_add(rate, c, e);
                }
                // SAFETY: every row of the fields belongs to one call.
                let s = unsafe { stress.row(k * rows.len + base + back.start, back.len()) };
                s.iter_mut().zip(&*rate).for_each(|(s, rate)| *s = *s - *rate);
            }
        });
    }

    /// The first stage: `v <- v - b S_j s_ij`.
    fn undo_velocities<T: Number>(
        &self,
        program: &Discrete<T>,
        state: &mut State<T>,
        shell: &Shell<T>,
        force: &mut [T],
    ) {
        let (rows, ndim) = (&program.rows, program.ndim());
        let (first, n) = (rows.z.start, rows.z.len());
        let (inner, back) = (&self.core[0], &self.region[0]);
        let stress = &state.stress;
        let velocities = Shared::new(&mut state.velocity);
        let tape = Shared::new(force);
        rows.each(&program.cpu, 1, |scratch, plane, row| {
            let (d, base) = (&mut scratch[0][..inner.len()], rows.at(plane, row));
            for &t in rows.axes() {
                let component = velocity(ndim, t);
                // SAFETY: every row of the tape belongs to one call.
                let sum = unsafe { tape.row(component * rows.len + base + first, n) };
                self.fill(program, shell, (component, plane, row), sum);
                if self.cuts(plane, row) {
                    let sum = &mut sum[inner.start - first..inner.end - first];
                    sum.fill(T::of(0.0));
                    for &a in rows.axes() {
                        let from = &stress[program.stress(PAIR[t][a]) * rows.len..][..rows.len];
                        rows.derivative(from, (base, inner), Slope::plain(a, a == t), d);
                        sum.iter_mut().zip(&*d).for_each(|(sum, d)| *sum += *d);
                    }
                }
                if !self.comes_back(plane, row) {
                    continue;
                }
                let sum = &sum[back.start - first..][..back.len()];
                let b = &program.medium.buoyancy(component)[base + back.start..][..back.len()];
                // SAFETY: every row of the fields belongs to one call.
                let v = unsafe { velocities.row(component * rows.len + base + back.start, back.len()) };
                for (v, (&b, &sum)) in v.iter_mut().zip(b.iter().zip(sum)) {
                    *v = *v - b * sum;
                }
            }
        });
    }

    /// The largest magnitude of fields in the region.
    pub fn largest<T: Number>(&self, program: &Discrete<T>, fields: &[T]) -> f64 {
        let rows = &program.rows;
        let mut most = 0.0f64;
        for field in fields.chunks_exact(rows.len) {
            for plane in self.region[2].clone() {
                for row in self.region[1].clone() {
                    let line = &field[rows.at(plane, row)..][self.region[0].clone()];
                    most = line.iter().map(|x| x.f64().abs()).fold(most, f64::max);
                }
            }
        }
        most
    }
}

/// A field of a tape: velocities' forces, then strains.
fn field_of<T>(tape: &Tape<T>, (field, ndim): (usize, usize), len: usize) -> &[T] {
    match field.checked_sub(ndim) {
        None => &tape.force[field * len..][..len],
        Some(k) => &tape.strain[k * len..][..len],
    }
}

impl<T: Number> Discrete<T> {
    /// Takes away what sources added in a stage of step `it`.
    fn take_sources(&self, fields: &mut [T], (stage, it): (usize, usize)) {
        let (rows, ndim) = (&self.rows, self.ndim());
        for plane in rows.planes.clone() {
            self.spots
                .for_rows((stage, plane, it), &rows.rows, |field, row, z, value| {
                    let at = (field - stage * ndim) * rows.len + rows.at(plane, row) + z;
                    fields[at] = fields[at] - value;
                });
        }
    }
}
