//! What a source below a free surface acts through. A receiver reads a smooth field; a source is seen by the fields of
//! the reversed problem, and beside the surface those are not smooth from node to node: the images are no mirror of
//! themselves. A source whose weights know those fields has its strength at any depth, with an error of order three.
//!
//! With the derivative `D` of the stresses, images included, and `l` a velocity of the reversed problem, `-D^T l` is its
//! strain. Close to a free surface no traction is left: the strain `d_z l_x` is that which `d_x l_z` asks for, and the
//! other way round. So the fields `l` that go over into `z^p` below obey `-D^T l_x(p) = p l_z(p-1)` and
//! `-D^T l_z(p) = p l_x(p-1)` for p up to two, beyond which the surface is too close to matter.

use super::surface::{Images, solved};

/// Powers of the depth that a source has right.
const POWERS: usize = 6;

/// Powers whose strain follows the surface.
const BOUND: usize = 2;

/// Fields of the reversed problem that go over into the powers of the depth, on nodes (0, 1, ... cells below the
/// surface) and half a cell beyond them.
pub(super) struct Adjoint {
    /// `[half a cell beyond][power][node]`, where they differ from the powers.
    fields: [Vec<Vec<f64>>; 2],
}

/// The derivative of the stresses at the velocities `[velocity][stress below the surface]`; `shifted`: of the normal
/// stress on nodes at velocities half a cell beyond, else of a shear stress at velocities on nodes.
fn derivative(c: &[f64], images: &Images<f64>, shifted: bool, nodes: usize) -> Vec<Vec<f64>> {
    let above = if shifted { &images.normal } else { &images.shear };
    let mut d = vec![vec![0.0; nodes + c.len()]; nodes];
    for (k, row) in d.iter_mut().enumerate() {
        for (m, &weight) in c.iter().enumerate() {
            row[k + m] += weight;
            // A normal stress on the surface is zero: the first that counts is one cell below.
            let (behind, zero) = (k as isize - m as isize - 1, usize::from(shifted));
            match usize::try_from(behind) {
                Ok(behind) => row[behind] -= weight,
                Err(_) => {
                    let image = (-behind - 1) as usize;
                    if let Some(image) = image.checked_sub(zero) {
                        let weights = above[image].iter().enumerate();
                        weights.for_each(|(n, w)| row[n] -= weight * w);
                    }
                }
            }
        }
    }
    d
}

impl Adjoint {
    /// For these weights of the derivative.
    pub fn new(c: &[f64]) -> Self {
        let images = Images::<f64>::new(c.len());
        let (unknown, columns) = (c.len() + 4, 2 * c.len() + 8);
        let nodes = columns + c.len();
        let operators = [false, true].map(|shifted| derivative(c, &images, shifted, nodes));
        let slope: f64 = c.iter().zip(0..).map(|(c, m)| c * f64::from(2 * m + 1)).sum();
        let mut fields: [Vec<Vec<f64>>; 2] = [Vec::new(), Vec::new()];
        for p in 0..POWERS {
            let power = |x: f64| x.powi(p as i32);
            let found = [0, 1].map(|s| {
                let (d, start) = (&operators[s], 0.5 * s as f64);
                // The strain at the stresses, half a cell below the velocities.
                let strain = |n: usize| match p {
                    0 => 0.0,
                    1..=BOUND => {
                        slope * p as f64 * of(&fields[1 - s][p - 1], p - 1, n + s, 0.5 * (1 - s) as f64)
                    }
                    _ => {
                        let at = |cells: f64| power(n as f64 + start + 0.5 + cells);
                        let pairs = c.iter().zip(0..).map(|(c, m)| (c, f64::from(m) + 0.5));
                        pairs.map(|(c, m)| c * (at(m) - at(-m))).sum()
                    }
                };
                let rest = |n: usize| {
                    let tail: f64 = (unknown..nodes).map(|j| d[j][n] * power(j as f64 + start)).sum();
                    -strain(n) - tail
                };
                let sum = |i: usize, of: &dyn Fn(usize) -> f64| (0..columns).map(|n| d[i][n] * of(n)).sum();
                let system = (0..unknown).map(|i| {
                    let row = (0..unknown).map(|j| sum(i, &|n| d[j][n]));
                    row.chain([sum(i, &rest)]).collect()
                });
                solved(system.collect())
            });
            let [on, beyond] = found;
            fields[0].push(on);
            fields[1].push(beyond);
        }
        Self { fields }
    }

    /// Weights of the nodes from `first` on (counted from the surface; `shifted`: half a cell beyond) with which a source
    /// at a depth in cells has its strength; `None` where the surface is too far to matter.
    pub fn weights(&self, shifted: bool, first: usize, nodes: usize, depth: f64) -> Option<Vec<f64>> {
        let (fields, start) = (
            &self.fields[usize::from(shifted)],
            0.5 * f64::from(u8::from(shifted)),
        );
        if first >= fields[0].len() {
            return None;
        }
        let row = |p: usize| {
            let values = (first..first + nodes).map(|node| of(&fields[p], p, node, start));
            values.chain([depth.powi(p as i32)]).collect()
        };
        Some(solved((0..nodes.min(POWERS)).map(row).collect()))
    }
}

/// A field on a node: where it is not kept it is the power.
fn of(field: &[f64], p: usize, node: usize, start: f64) -> f64 {
    field
        .get(node)
        .copied()
        .unwrap_or_else(|| (node as f64 + start).powi(p as i32))
}
