//! Images by correlation (Claerbout 1971): the pressure of the shot times that of the data, which go backward in time.
//!
//! Normal stresses know P waves alone in an isotropic medium. The tape has their rates `e_k` in the shot, so the correlation
//! at equal times is summed by parts: `sum_n p_n q_n = sum_k e_k sum_(n >= k) q_n`, the inner sum being made on the way back. `q` is
//! the pressure that waits, `sum c_ta g_aa` for what waits for the stresses.

use super::Number;
use super::forward::multiply_add;
use super::grid::Shared;
use super::program::{Discrete, State, Tape};

/// What an image is made of, on all cells of the padded grid.
pub struct Potentials<T> {
    /// The pressure that waits, summed over the steps so far.
    later: Vec<T>,
    /// The correlation.
    image: Vec<T>,
    /// The squared pressure of the shot.
    illumination: Vec<T>,
}

/// An image on the cells of the model, in file order.
pub struct Image<T> {
    /// The correlation of P waves with P waves; in the units of the data times those of the stress.
    pub pp: Vec<T>,
    /// The squared pressure of the shot, summed over the steps.
    pub illumination: Vec<T>,
}

impl<T: Number> Discrete<T> {
    /// Room for an image.
    pub fn potentials(&self) -> Potentials<T> {
        let zeros = || vec![T::of(0.0); self.rows.len];
        Potentials {
            later: zeros(),
            image: zeros(),
            illumination: zeros(),
        }
    }

    /// Adds the squared pressure of the shot.
    pub fn illuminate(&self, state: &State<T>, potentials: &mut Potentials<T>) {
        let (rows, n, ndim) = (&self.rows, self.rows.z.len(), self.ndim());
        let to = Shared::new(&mut potentials.illumination);
        let share = T::of(1.0 / ndim as f64);
        rows.each(&self.cpu, 1, |scratch, plane, row| {
            let (first, sum) = (rows.at(plane, row) + rows.z.start, &mut scratch[0][..n]);
            sum.fill(T::of(0.0));
            for k in 0..ndim {
                let s = &state.stress[k * rows.len + first..][..n];
                sum.iter_mut().zip(s).for_each(|(sum, s)| *sum += *s * share);
            }
            // SAFETY: every row of the fields belongs to one call.
            let to = unsafe { to.row(first, n) };
            to.iter_mut().zip(&*sum).for_each(|(to, p)| *to += *p * *p);
        });
    }

    /// Adds what the step behind `tape` has of the correlation, with what waits for the fields behind it.
    pub fn correlate(&self, waits: &State<T>, tape: &Tape<T>, potentials: &mut Potentials<T>) {
        let (rows, n, ndim) = (&self.rows, self.rows.z.len(), self.ndim());
        let later = Shared::new(&mut potentials.later);
        let image = Shared::new(&mut potentials.image);
        rows.each(&self.cpu, 1, |scratch, plane, row| {
            let (first, e) = (rows.at(plane, row) + rows.z.start, &mut scratch[0][..n]);
            // SAFETY: every row of the fields belongs to one call.
            let (later, image) = unsafe { (later.row(first, n), image.row(first, n)) };
            e.fill(T::of(0.0));
            for k in 0..ndim {
                for &(place, other) in self.couplings(k) {
                    let c = &self.medium.stiffness(place)[first..][..n];
                    multiply_add(later, c, &waits.stress[other * rows.len + first..][..n]);
                }
                let strain = &tape.strain[k * rows.len + first..][..n];
                e.iter_mut().zip(strain).for_each(|(e, strain)| *e += *strain);
            }
            multiply_add(image, e, later);
        });
    }

    /// The cells of the model.
    pub fn image_of(&self, potentials: Option<Potentials<T>>) -> Image<T> {
        let potentials = potentials.unwrap_or_else(|| self.potentials());
        self.image_of_parts([potentials.image, potentials.illumination])
    }

    /// The same of the correlation and the squared pressure.
    pub fn image_of_parts(&self, [image, illumination]: [Vec<T>; 2]) -> Image<T> {
        Image {
            pp: self.model_of(&image),
            illumination: self.model_of(&illumination),
        }
    }

    /// A field on the cells of the model, in file order.
    pub fn model_of(&self, field: &[T]) -> Vec<T> {
        let (rows, p) = (&self.rows, &self.rows.padded);
        let last = self.ndim() - 1;
        let lines = match self.ndim() {
            3 => p.low[1]..p.low[1] + p.model.n[1],
            _ => 0..1,
        };
        let mut model = Vec::with_capacity(p.model.cells());
        for plane in p.low[last]..p.low[last] + p.model.n[last] {
            for row in lines.clone() {
                model.extend_from_slice(&field[rows.at(plane, row) + p.low[0]..][..p.model.n[0]]);
            }
        }
        model
    }
}
