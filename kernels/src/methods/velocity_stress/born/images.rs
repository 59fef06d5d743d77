//! The free surface of the discrete program, its linearisation and its transpose.
//!
//! The images are linear in the fields below them, and in the ratios `q_a = c_za/c_zz` on the surface: the slope of the
//! vertical velocity is `-sum q_a D_a v_a`, and `s_aa` loses `q_a szz` before `szz` is put to zero.

use super::Number;
use super::forward::Drive;
use super::program::{Discrete, Tape};
use super::transpose::Gradient;
use crate::methods::velocity_stress::layout::velocity;
use crate::methods::velocity_stress::rows::PAIR;

/// A node of the surface.
#[derive(Clone, Copy)]
struct Node {
    /// Its place in a field.
    at: usize,
    /// Its row among all rows.
    number: usize,
}

impl<T: Number> Discrete<T> {
    fn surface(&self) -> impl Iterator<Item = Node> + '_ {
        let rows = &self.rows;
        let line = move |plane: usize, row: usize| Node {
            at: rows.at(plane, row) + rows.padded.low[0],
            number: rows.number(plane, row),
        };
        let planes = rows.planes.clone();
        planes.flat_map(move |plane| rows.rows.clone().map(move |row| line(plane, row)))
    }

    /// Where the component of an axis begins.
    fn velocity_of(&self, axis: usize) -> usize {
        velocity(self.ndim(), axis) * self.rows.len
    }

    /// Where a stress begins.
    fn stress_of(&self, axis: usize, other: usize) -> usize {
        self.stress(PAIR[axis][other]) * self.rows.len
    }

    /// The derivative of a horizontal velocity along its own axis on a node of the surface.
    fn spread(&self, velocities: &[T], axis: usize, node: Node) -> T {
        let (rows, at) = (&self.rows, self.velocity_of(axis) + node.at);
        let stride = rows.stride[axis];
        let mut sum = T::of(0.0);
        for (m, &weight) in rows.weights[axis][..rows.half].iter().enumerate() {
            sum += weight * (velocities[at + m * stride] - velocities[at - (m + 1) * stride]);
        }
        sum
    }

    /// Velocities above the surface.
    pub fn velocity_images(&self, v: &mut [T], drive: Drive<'_, T>, mut tape: Option<&mut Tape<T>>) {
        let Some(images) = &self.images else { return };
        let (rows, spacing) = (&self.rows, T::of(f64::from(self.rows.padded.d()[0])));
        for node in self.surface() {
            let mut across = T::of(0.0);
            for (k, &axis) in rows.horizontal().iter().enumerate() {
                let spread = self.spread(v, axis, node);
                across += self.ratios[k][node.number] * spread;
                let place = k * rows.count() + node.number;
                if let Some(tape) = tape.as_deref_mut() {
                    tape.surface[place] = spread;
                }
                if let Drive::Changes(tape, changes) = drive {
                    across += changes.ratios[place] * tape.surface[place];
                }
            }
            let slope = (T::of(0.0) - across) * spacing;
            let at = self.velocity_of(0) + node.at;
            for (k, (weights, of_slope)) in images.vertical.iter().enumerate() {
                v[at - 1 - k] = *of_slope * slope + weighted(&v[at..], weights);
            }
            for &axis in rows.horizontal() {
                let at = self.velocity_of(axis) + node.at;
                for (k, weights) in images.horizontal.iter().enumerate() {
                    v[at - 1 - k] = weighted(&v[at..], weights);
                }
            }
        }
    }

    /// Stresses on and above the surface.
    pub fn stress_images(&self, s: &mut [T], drive: Drive<'_, T>, mut tape: Option<&mut Tape<T>>) {
        let Some(images) = &self.images else { return };
        let rows = &self.rows;
        let left_of = rows.horizontal().len() * rows.count();
        for node in self.surface() {
            let zz = self.stress_of(0, 0) + node.at;
            let left = s[zz];
            if let Some(tape) = tape.as_deref_mut() {
                tape.surface[left_of + node.number] = left;
            }
            for (k, &axis) in rows.horizontal().iter().enumerate() {
                let at = self.stress_of(axis, axis) + node.at;
                let mut put = self.ratios[k][node.number] * left;
                if let Drive::Changes(tape, changes) = drive {
                    let change = changes.ratios[k * rows.count() + node.number];
                    put += change * tape.surface[left_of + node.number];
                }
                s[at] = s[at] - put;
                let at = self.stress_of(0, axis) + node.at;
                for (k, weights) in images.shear.iter().enumerate() {
                    s[at - 1 - k] = weighted(&s[at..], weights);
                }
            }
            s[zz] = T::of(0.0);
            for (k, weights) in images.normal.iter().enumerate() {
                s[zz - 1 - k] = weighted(&s[zz + 1..], weights);
            }
        }
    }

    /// The transpose of [`Discrete::velocity_images`]: what waits for the images goes to the nodes below, of the slope
    /// to the horizontal velocities.
    pub fn velocity_images_transposed(&self, v: &mut [T], gradient: Gradient<'_, T>) {
        let Some(images) = &self.images else { return };
        let (rows, spacing) = (&self.rows, T::of(f64::from(self.rows.padded.d()[0])));
        let mut slopes = vec![T::of(0.0); rows.count()];
        for node in self.surface() {
            let at = self.velocity_of(0) + node.at;
            let mut slope = T::of(0.0);
            for (k, (weights, of_slope)) in images.vertical.iter().enumerate() {
                let image = taken(v, at - 1 - k);
                spread_out(&mut v[at..], weights, image);
                slope += *of_slope * image;
            }
            slopes[node.number] = (T::of(0.0) - slope) * spacing;
            for &axis in rows.horizontal() {
                let at = self.velocity_of(axis) + node.at;
                for (k, weights) in images.horizontal.iter().enumerate() {
                    let image = taken(v, at - 1 - k);
                    spread_out(&mut v[at..], weights, image);
                }
            }
        }
        for node in self.surface() {
            let slope = slopes[node.number];
            for (k, &axis) in rows.horizontal().iter().enumerate() {
                let (at, stride) = (self.velocity_of(axis) + node.at, rows.stride[axis]);
                let waits = self.ratios[k][node.number] * slope;
                for (m, &weight) in rows.weights[axis][..rows.half].iter().enumerate() {
                    v[at + m * stride] += weight * waits;
                    let behind = &mut v[at - (m + 1) * stride];
                    *behind = *behind - weight * waits;
                }
            }
        }
        if let Some((tape, gradient)) = gradient {
            for node in self.surface() {
                for k in 0..rows.horizontal().len() {
                    let place = k * rows.count() + node.number;
                    gradient.ratios[place] += tape.surface[place] * slopes[node.number];
                }
            }
        }
    }

    /// The transpose of [`Discrete::stress_images`].
    pub fn stress_images_transposed(&self, s: &mut [T], mut gradient: Gradient<'_, T>) {
        let Some(images) = &self.images else { return };
        let rows = &self.rows;
        let left_of = rows.horizontal().len() * rows.count();
        for node in self.surface() {
            let zz = self.stress_of(0, 0) + node.at;
            for (k, weights) in images.normal.iter().enumerate() {
                let image = taken(s, zz - 1 - k);
                spread_out(&mut s[zz + 1..], weights, image);
            }
            let mut left = T::of(0.0);
            for (k, &axis) in rows.horizontal().iter().enumerate() {
                let at = self.stress_of(0, axis) + node.at;
                for (k, weights) in images.shear.iter().enumerate() {
                    let image = taken(s, at - 1 - k);
                    spread_out(&mut s[at..], weights, image);
                }
                let waits = s[self.stress_of(axis, axis) + node.at];
                left = left - self.ratios[k][node.number] * waits;
                if let Some((tape, gradient)) = &mut gradient {
                    let ratio = &mut gradient.ratios[k * rows.count() + node.number];
                    *ratio = *ratio - tape.surface[left_of + node.number] * waits;
                }
            }
            s[zz] = left;
        }
    }
}

/// The weighted sum of the first numbers.
fn weighted<T: Number>(numbers: &[T], weights: &[T]) -> T {
    let mut sum = T::of(0.0);
    for (&weight, &x) in weights.iter().zip(numbers) {
        sum += weight * x;
    }
    sum
}

/// Its transpose.
fn spread_out<T: Number>(numbers: &mut [T], weights: &[T], x: T) {
    for (&weight, to) in weights.iter().zip(numbers) {
        *to += weight * x;
    }
}

/// Takes a number away.
fn taken<T: Number>(numbers: &mut [T], at: usize) -> T {
    std::mem::replace(&mut numbers[at], T::of(0.0))
}
