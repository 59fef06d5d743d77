//! Receivers of the discrete program and their transpose.

use super::Number;
use super::program::{Discrete, State};
use crate::methods::velocity_stress::receivers::{Node, Quantity};

impl<T: Number> Discrete<T> {
    /// Numbers of a record, `[component][receiver]`.
    pub fn values(&self) -> usize {
        self.receivers.values()
    }

    /// What a receiver's number reads of the fields.
    fn read(&self, state: &State<T>, number: usize) -> T {
        let mut sum = T::of(0.0);
        for node in self.receivers.nodes(number) {
            let (field, at) = self.place_of_node(node);
            sum += node.weight
                * match field < self.ndim() {
                    true => state.velocity[at],
                    false => state.stress[at],
                };
        }
        sum
    }

    /// The field of a node, and its place among the velocities or the stresses.
    fn place_of_node(&self, node: &Node<T>) -> (usize, usize) {
        let [field, plane, row, z] = [node.field, node.plane, node.row, node.z].map(|k| k as usize);
        let component = field.checked_sub(self.ndim()).unwrap_or(field);
        (field, component * self.rows.len + self.rows.at(plane, row) + z)
    }

    /// The end of a step: what runs at the receivers goes on, and `record` gets their numbers.
    pub fn record(&self, state: &mut State<T>, record: &mut [T]) {
        let dt = T::of(self.dt);
        for (number, out) in record.iter_mut().enumerate() {
            let now = self.read(state, number);
            *out = match self.quantity {
                Quantity::Velocity | Quantity::Pressure | Quantity::Readings(_) => now,
                Quantity::Displacement | Quantity::Strain | Quantity::Rotation => {
                    state.kept[0][number] += dt * now;
                    state.kept[0][number]
                }
                Quantity::Acceleration => {
                    let before = std::mem::replace(&mut state.kept[0][number], now);
                    (now - before) / dt
                }
            };
        }
    }

    /// The transpose of [`Discrete::record`]: `record` are the numbers that wait for those of this step, zeros where nothing
    /// was recorded.
    pub fn record_transposed(&self, state: &mut State<T>, record: &[T]) {
        let dt = T::of(self.dt);
        for (number, &waits) in record.iter().enumerate() {
            let now = match self.quantity {
                Quantity::Velocity | Quantity::Pressure | Quantity::Readings(_) => waits,
                Quantity::Displacement | Quantity::Strain | Quantity::Rotation => {
                    state.kept[0][number] += waits;
                    dt * state.kept[0][number]
                }
                // A reading enters its own record, and with the other sign the next one.
                Quantity::Acceleration => {
                    let next = std::mem::replace(&mut state.kept[0][number], waits / dt);
                    waits / dt - next
                }
            };
            for node in self.receivers.nodes(number) {
                let (field, at) = self.place_of_node(node);
                match field < self.ndim() {
                    true => state.velocity[at] += node.weight * now,
                    false => state.stress[at] += node.weight * now,
                }
            }
        }
    }
}
