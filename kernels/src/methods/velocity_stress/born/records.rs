//! The transpose of the receivers.

use super::Number;
use super::adjoint::{Adjoint, Cell};
use crate::methods::velocity_stress::layout::velocity;
use crate::methods::velocity_stress::receivers::Quantity;

impl<T: Number> Adjoint<T> {
    /// The values injected at the receivers in a step, computed from the adjoint source; zero where nothing was
    /// recorded.
    pub fn injected(&mut self, record: &[T]) -> Vec<T> {
        let dt = T::of(self.setup.dt);
        let quantity = self.setup.quantity;
        let number = |(number, &x): (usize, &T)| match quantity {
            Quantity::Velocity | Quantity::Pressure | Quantity::Potentials | Quantity::Readings(_) => x,
            Quantity::Displacement | Quantity::Strain | Quantity::Rotation => {
                self.kept[number] += x;
                dt * self.kept[number]
            }
            // A reading contributes to its own record, and with the opposite sign to the next one.
            Quantity::Acceleration => {
                let next = std::mem::replace(&mut self.kept[number], x / dt);
                x / dt - next
            }
        };
        record.iter().enumerate().map(number).collect()
    }

    /// Injects a record into the adjoint stresses, before the first sweep of a step.
    pub fn inject_stresses(&mut self, injected: &[T]) {
        let (ndim, len) = (self.setup.padded.ndim(), self.len());
        self.each_node(injected, |this, field, cell, x| {
            if let Some(number) = field.checked_sub(ndim) {
                let at = number * len + this.at(cell);
                this.stress.as_mut_slice()[at] += x;
            }
        });
    }

    /// Injects a record into the adjoint forces, before the second sweep of a step without a gradient.
    pub fn inject_forces(&mut self, injected: &[T]) {
        let (ndim, len) = (self.setup.padded.ndim(), self.len());
        self.each_node(injected, |this, field, cell, x| {
            if field < ndim {
                let b = this.setup.medium.buoyancy(field)[this.at(cell)];
                let at = field * len + this.at(cell);
                this.force.as_mut_slice()[at] += b * x;
            }
        });
    }

    /// Injects a record into the adjoint velocities, after the second sweep.
    pub fn inject_velocities(&mut self, injected: &[T]) {
        let ndim = self.setup.padded.ndim();
        let axes: &[usize] = if ndim == 3 { &[0, 1, 2] } else { &[0, 2] };
        self.each_node(injected, |this, field, cell, x| {
            if let Some(&axis) = axes.iter().find(|&&axis| velocity(ndim, axis) == field) {
                this.add_to_force(axis, cell, x);
            }
        });
    }

    /// Calls `visit(self, field, cell, value)` for every node of the receivers with its share of a record.
    fn each_node(&mut self, injected: &[T], visit: impl Fn(&mut Self, usize, Cell, T)) {
        let setup = self.setup.clone();
        for (number, &x) in injected.iter().enumerate().filter(|(_, x)| x.f64() != 0.0) {
            for node in setup.receivers.nodes(number) {
                let [field, plane, row, z] = [node.field, node.plane, node.row, node.z].map(|k| k as usize);
                visit(self, field, [plane, row, z], node.weight * x);
            }
        }
    }
}
