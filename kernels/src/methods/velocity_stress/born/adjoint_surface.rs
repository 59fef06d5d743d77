//! The transpose of the free surface ([`crate::methods::velocity_stress::surface`]).
//!
//! An image is a weighted sum of the nodes below it, so its adjoint is distributed to these nodes with the same
//! weights. The adjoint of an image is the transposed derivative there, along z only, because nothing else reads an
//! image. With `q_a = c_za / c_zz` on the surface, the slope of the vertical velocity is `-sum q_a D_a v_a`, and `q_a
//! s_zz` is subtracted from `s_aa` before `s_zz` is set to zero.

use super::Number;
use super::adjoint::{Adjoint, Cell};
use super::adjoint_stretch::{kept, rank};
use crate::device::cpu::Buffer;
use crate::methods::velocity_stress::cpu;
use crate::methods::velocity_stress::layout::{stress, velocity};
use crate::methods::velocity_stress::medium::live;
use crate::methods::velocity_stress::rows::{PAIR, Slope};
use crate::methods::velocity_stress::surface::Images;
use std::sync::Arc;

/// Largest number of nodes from which an image is computed.
const MOST: usize = 4;

impl<T: Number> Adjoint<T> {
    /// The images, and the horizontal axes.
    fn surface(&self) -> Option<(Arc<Images<T>>, &'static [usize])> {
        let images = self.setup.surface.clone()?;
        let horizontal: &[usize] = if self.setup.padded.ndim() == 3 {
            &[1, 2]
        } else {
            &[2]
        };
        Some((images, horizontal))
    }

    /// The nodes on the surface, `[plane, row, z]`.
    fn surface_nodes(&self) -> impl Iterator<Item = Cell> + use<T> {
        let p = &self.setup.padded;
        let (top, rows) = (p.low[0], cpu::rows(p));
        live(p.planes()).flat_map(move |plane| rows.clone().map(move |row| [plane, row, top]))
    }

    /// The derivative along an axis of an adjoint force or strain rate, which begins at index `from` of the field, at
    /// a cell, including its change by stretching, entry `part` of a layer.
    fn stretched_slope(
        &self,
        (field, from): (&Buffer<T>, usize),
        part: usize,
        (along, half): (usize, bool),
        cell: Cell,
    ) -> T {
        let (at, field) = (from + self.at(cell), field.as_slice());
        let d = self.slope(along, half, |steps| field[at.wrapping_add_signed(steps)]);
        if !self.layers.near(along, cell) {
            return d;
        }
        let p = &self.setup.padded;
        let stride = [1, p.pitch(), p.plane_len()][along] as isize;
        let more = self.slope(along, half, |steps| {
            let mut cell = cell;
            // There is nothing above the first cell of a row.
            let Some(line) = cell[2 - along].checked_add_signed(steps / stride) else {
                return T::of(0.0);
            };
            cell[2 - along] = line;
            self.layers.stretched(along, cell, part)
        });
        d + more
    }

    /// The adjoint of image `k` above a node on the surface: minus the derivative along z there.
    fn image(
        &self,
        source: (&Buffer<T>, usize),
        part: usize,
        half: bool,
        ([plane, row, top], k): (Cell, usize),
    ) -> T {
        T::of(0.0) - self.stretched_slope(source, part, (0, half), [plane, row, top - 1 - k])
    }

    /// The transpose of the stresses on and above the surface, before the first sweep of a step; `recorded` is the
    /// surface record of the step, as in [`super::forward::Tape`], and `behind` indicates whether a time step follows.
    pub fn stress_images(&mut self, recorded: &[T], behind: bool) {
        let Some((images, horizontal)) = self.surface() else {
            return;
        };
        let (p, ndim, len) = (self.setup.padded.clone(), self.setup.padded.ndim(), self.len());
        let rows = p.planes() * p.rows();
        let force = |axis: usize| velocity(ndim, axis);
        let part = |axis: usize| kept::stretched_forces(ndim) + force(axis);
        for node in self.surface_nodes() {
            let [plane, row, top] = node;
            let spread = |this: &mut Self, axis: usize, weights: &[Vec<T>], first: usize| {
                let number = (stress(ndim, PAIR[0][axis]) - ndim) * len;
                for (k, weights) in weights.iter().enumerate() {
                    let source = (&this.force, force(axis) * len);
                    let image = this.image(source, part(axis), axis != 0, (node, k));
                    for (m, &weight) in weights.iter().enumerate() {
                        let at = number + this.at([plane, row, first + m]);
                        this.stress.as_mut_slice()[at] += weight * image;
                    }
                }
            };
            // `back` is the term that the sweep will subtract from a normal stress.
            let back = |this: &Self, axis: usize| {
                let slope = Slope::of_velocity(axis, axis);
                let source = (&this.force, force(axis) * len);
                this.stretched_slope(source, part(axis), (axis, slope.half), node)
            };
            let at = self.at(node);
            let number = |axis: usize| (stress(ndim, axis) - ndim) * len + at;
            if behind {
                spread(self, 0, &images.normal, top + 1);
                horizontal
                    .iter()
                    .for_each(|&a| spread(self, a, &images.shear, top));
            }
            let mut left = if self.pending { back(self, 0) } else { T::of(0.0) };
            for (k, &a) in horizontal.iter().enumerate() {
                let mut normal = self.stress.as_slice()[number(a)];
                if self.pending {
                    normal = normal - back(self, a);
                }
                let stiff = |place: usize| self.setup.medium.stiffness(place)[at];
                left = left - stiff(PAIR[0][a]) / stiff(0) * normal;
                let line = plane * p.rows() + row;
                if let Some(gradient) = &mut self.gradient {
                    let ratio = &mut gradient.sums.ratios[k * rows + line];
                    *ratio = *ratio - recorded[horizontal.len() * rows + line] * normal;
                }
            }
            self.stress.as_mut_slice()[number(0)] = left;
        }
    }

    /// The transpose of the velocities above the surface, after the second sweep of a step.
    pub fn velocity_images(&mut self, recorded: &[T]) {
        let Some((images, horizontal)) = self.surface() else {
            return;
        };
        let (p, ndim, len) = (self.setup.padded.clone(), self.setup.padded.ndim(), self.len());
        let (rows, spacing) = (p.planes() * p.rows(), T::of(f64::from(p.d()[0])));
        let mut slopes = vec![T::of(0.0); rows];
        for node in self.surface_nodes() {
            let [plane, row, top] = node;
            let image = |this: &Self, axis: usize, k: usize| {
                let pair = stress(ndim, PAIR[0][axis]) - ndim;
                let part = kept::stretched_strains(ndim) + rank(ndim, axis);
                this.image((&this.strain, pair * len), part, axis == 0, (node, k))
            };
            let mut sums = [T::of(0.0); MOST];
            let mut slope = T::of(0.0);
            for (k, (weights, of_slope)) in images.vertical.iter().enumerate() {
                let image = image(self, 0, k);
                let pairs = sums.iter_mut().zip(weights);
                pairs.for_each(|(sum, &weight)| *sum += weight * image);
                slope += *of_slope * image;
            }
            slopes[plane * p.rows() + row] = (T::of(0.0) - slope) * spacing;
            let count = images.vertical.first().map_or(0, |(weights, _)| weights.len());
            for (m, &sum) in sums[..count].iter().enumerate() {
                self.add_to_force(0, [plane, row, top + m], sum);
            }
            for &a in horizontal {
                let mut sums = [T::of(0.0); MOST];
                for (k, weights) in images.horizontal.iter().enumerate() {
                    let image = image(self, a, k);
                    let pairs = sums.iter_mut().zip(weights);
                    pairs.for_each(|(sum, &weight)| *sum += weight * image);
                }
                let count = images.horizontal.first().map_or(0, Vec::len);
                for (m, &sum) in sums[..count].iter().enumerate() {
                    self.add_to_force(a, [plane, row, top + m], sum);
                }
            }
        }
        self.slopes(&slopes, recorded, horizontal);
    }

    /// Adds the contributions of the slopes at the surface to the horizontal velocities on it.
    fn slopes(&mut self, slopes: &[T], recorded: &[T], horizontal: &[usize]) {
        let p = self.setup.padded.clone();
        let (rows, lines) = (p.planes() * p.rows(), [live(p.planes()), cpu::rows(&p)]);
        for node in self.surface_nodes() {
            let [plane, row, top] = node;
            for (k, &a) in horizontal.iter().enumerate() {
                let number = plane * p.rows() + row;
                if let Some(gradient) = &mut self.gradient {
                    gradient.sums.ratios[k * rows + number] += recorded[k * rows + number] * slopes[number];
                }
                // Slopes outside the computed cells are zero.
                let weighted = |steps: isize| {
                    let [mut plane, mut row] = [plane, row];
                    let line = if a == 2 { &mut plane } else { &mut row };
                    *line = line.wrapping_add_signed(steps);
                    if !lines[0].contains(&plane) || !lines[1].contains(&row) {
                        return T::of(0.0);
                    }
                    let at = plane * p.plane_len() + row * p.pitch() + top;
                    let stiff = |place: usize| self.setup.medium.stiffness(place)[at];
                    stiff(PAIR[0][a]) / stiff(0) * slopes[plane * p.rows() + row]
                };
                // The transpose of a derivative taken half a cell behind.
                let stride = [1, p.pitch(), p.plane_len()][a] as isize;
                let sum = self.slope(a, !Slope::of_velocity(a, a).half, |steps| {
                    weighted(steps / stride)
                });
                self.add_to_force(a, node, T::of(0.0) - sum);
            }
        }
    }
}
