//! Weights of sources below a free surface. A receiver reads a smooth field, but a source acts through the adjoint
//! fields, which near the surface are not smooth from node to node, because the operator of the images is not
//! symmetric. Weights that reproduce these fields give a source its strength at any depth, with an error of order
//! three for forces and horizontal moments and of order two for the others.
//!
//! Let `D` differentiate stresses at the positions of velocities, and `E` velocities at the positions of stresses,
//! including images. An adjoint velocity `l` has the strain `-D^T l`, and its tractions `q` the force `-E^T q`. Close
//! to a free surface the traction vanishes: the strain `d_z l_x` balances `d_x l_z`, and vice versa. So the fields that
//! tend to `z^p` at depth obey `-D^T l_x(p) = p l_z(p-1)`, `-D^T l_z(p) = p l_x(p-1)` and `-E^T q(p) = p l(p-1)` for p
//! up to two; the surface hardly affects higher powers.

use super::surface::Images;
use crate::grid::solve::solved;

/// Number of powers of the depth that the weights of a source reproduce.
const POWERS: usize = 6;

/// Highest power whose strain obeys the condition at the surface.
const BOUND: usize = 2;

/// The group of fields on which a source acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acts {
    /// Velocities and stresses whose nodes include those on the surface: horizontal velocities, `sxx`, `syy`, `sxy`.
    Level,
    /// The vertical velocity, half a cell beyond its node.
    Vertical,
    /// `szz`, on nodes.
    Normal,
    /// `szx`, `szy`, half a cell beyond their nodes.
    Shear,
}

/// An adjoint field that is a power of the depth, except near the surface.
struct Mode {
    power: usize,
    /// Depth of the first node, in cells.
    start: f64,
    /// Values of the first nodes, where they differ from the power.
    near: Vec<f64>,
}

impl Mode {
    fn at(&self, node: usize) -> f64 {
        let far = || (node as f64 + self.start).powi(self.power as i32);
        self.near.get(node).copied().unwrap_or_else(far)
    }
}

/// Adjoint fields, by power.
pub(super) struct Adjoint {
    /// Velocities on nodes and half a cell beyond them.
    velocities: [Vec<Mode>; 2],
    /// Tractions: shear half a cell beyond the nodes, normal on the nodes from the first below the surface.
    tractions: [Vec<Mode>; 2],
}

/// The operators `[to][from]` of a column of nodes that is long enough.
struct Operators<'a> {
    c: &'a [f64],
    images: Images<f64>,
    nodes: usize,
}

impl Operators<'_> {
    /// One row of a derivative's matrix: `ahead(m)` and `behind(m)` are the nodes that weight `m` multiplies with
    /// either sign. Nodes above the first one (-1, -2, ...) are replaced by their images `image(k)`.
    fn line(
        &self,
        ahead: impl Fn(isize) -> isize,
        behind: impl Fn(isize) -> isize,
        image: impl Fn(usize) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut line = vec![0.0; self.nodes + 2 * self.c.len()];
        for (m, &weight) in (0..).zip(self.c) {
            line[ahead(m) as usize] += weight;
            match usize::try_from(behind(m)) {
                Ok(node) => line[node] -= weight,
                Err(_) => {
                    let weights = image((-behind(m) - 1) as usize);
                    weights
                        .iter()
                        .zip(&mut line)
                        .for_each(|(w, at)| *at -= weight * w);
                }
            }
        }
        line
    }

    /// Derivatives of the shear stresses at the velocities on nodes, or of the normal stress, from the first node
    /// below the surface, at the vertical velocities half a cell beyond.
    fn of_stress(&self, normal: bool) -> Vec<Vec<f64>> {
        let image = |k: usize| match normal {
            false => self.images.shear[k].clone(),
            // The stress on the surface is zero.
            true if k == 0 => Vec::new(),
            true => self.images.normal[k - 1].clone(),
        };
        let line = |k: usize| self.line(|m| k as isize + m, |m| k as isize - m - 1, image);
        (0..self.nodes).map(line).collect()
    }

    /// Derivatives of the velocities on nodes at the shear stresses, or of the velocities half a cell beyond at the
    /// normal stress, from the first node below the surface.
    fn of_velocity(&self, normal: bool) -> Vec<Vec<f64>> {
        let line = |k: usize| match normal {
            false => {
                let image = |above: usize| self.images.horizontal[above].clone();
                self.line(|m| k as isize + 1 + m, |m| k as isize - m, image)
            }
            true => {
                let image = |above: usize| self.images.vertical[above].0.clone();
                self.line(|m| k as isize + 1 + m, |m| k as isize - m, image)
            }
        };
        (0..self.nodes).map(line).collect()
    }

    /// Solves for the field that tends to a power at depth and whose negative product with the transposed operator is
    /// `of`.
    fn mode(&self, operator: &[Vec<f64>], (power, start): (usize, f64), of: &dyn Fn(usize) -> f64) -> Mode {
        let (unknown, columns) = (self.c.len() + 4, self.nodes - self.c.len());
        let far = |j: usize| (j as f64 + start).powi(power as i32);
        let rest = |n: usize| {
            let tail: f64 = (unknown..self.nodes).map(|j| operator[j][n] * far(j)).sum();
            -of(n) - tail
        };
        let sum =
            |i: usize, of: &dyn Fn(usize) -> f64| (0..columns).map(|n| operator[i][n] * of(n)).sum::<f64>();
        let system = (0..unknown).map(|i| {
            let row = (0..unknown).map(|j| sum(i, &|n| operator[j][n]));
            row.chain([sum(i, &rest)]).collect()
        });
        Mode {
            power,
            start,
            near: solved(system.collect()),
        }
    }

    /// The discrete derivative of a power of the depth.
    fn slope(&self, power: usize, depth: f64) -> f64 {
        let at = |cells: f64| (depth + cells).powi(power as i32);
        let pairs = self.c.iter().zip(0..).map(|(c, m)| (c, f64::from(m) + 0.5));
        pairs.map(|(c, m)| c * (at(m) - at(-m))).sum()
    }
}

impl Adjoint {
    /// Computes the adjoint fields for these weights of the derivative.
    pub fn new(c: &[f64]) -> Self {
        let grid = Operators {
            c,
            images: Images::new(c.len()),
            nodes: 3 * c.len() + 8,
        };
        // The discrete derivative of the depth itself.
        let one = grid.slope(1, 0.0);
        let (of_shear, of_normal) = (grid.of_stress(false), grid.of_stress(true));
        let [mut level, mut vertical] = [Vec::<Mode>::new(), Vec::<Mode>::new()];
        for p in 0..POWERS {
            let strain = |other: &Vec<Mode>, node: usize, depth: f64| match p {
                0 => 0.0,
                1..=BOUND => one * p as f64 * other[p - 1].at(node),
                _ => grid.slope(p, depth),
            };
            let x = grid.mode(&of_shear, (p, 0.0), &|n| strain(&vertical, n, n as f64 + 0.5));
            let z = grid.mode(&of_normal, (p, 0.5), &|n| strain(&level, n + 1, n as f64 + 1.0));
            level.push(x);
            vertical.push(z);
        }
        let traction = |velocities: &Vec<Mode>, normal: bool| {
            let operator = grid.of_velocity(normal);
            let (start, depth) = if normal { (1.0, 0.5) } else { (0.5, 0.0) };
            let mode = |p: usize| {
                let force = |n: usize| match p {
                    1..=BOUND => one * p as f64 * velocities[p - 1].at(n),
                    _ => grid.slope(p, n as f64 + depth),
                };
                grid.mode(&operator, (p, start), &force)
            };
            (1..POWERS).map(mode).collect()
        };
        Self {
            tractions: [traction(&level, false), traction(&vertical, true)],
            velocities: [level, vertical],
        }
    }

    /// Weights of the nodes from `first` on, counted from the surface, with which a source at a depth in cells has
    /// its strength; `None` where the surface is too far away to matter.
    pub fn weights(&self, acts: Acts, first: usize, nodes: usize, depth: f64) -> Option<Vec<f64>> {
        let [level, vertical] = &self.velocities;
        if first >= level[0].near.len() || nodes != POWERS {
            return None;
        }
        let row = |mode: &Mode| -> Vec<f64> {
            let values = (first..first + nodes).map(|node| mode.at(node));
            values.chain([depth.powi(mode.power as i32)]).collect()
        };
        let rows = |modes: &[Mode]| modes.iter().map(row).collect::<Vec<_>>();
        Some(solved(match acts {
            Acts::Level => rows(level),
            Acts::Vertical => rows(vertical),
            Acts::Shear => {
                // The traction vanishes at the surface, so the sum of the weights is arbitrary.
                let mut all = rows(&self.tractions[0]);
                all.push(vec![1.0; nodes + 1]);
                all
            }
            Acts::Normal => {
                let mut all = rows(level);
                // The strain has two parts: one from the horizontal strain, one from the traction.
                let traction = |node: usize| node.checked_sub(1).map_or(0.0, |n| self.tractions[1][0].at(n));
                let apart: Vec<f64> = (first..first + nodes)
                    .map(|node| level[1].at(node) - traction(node))
                    .collect();
                let largest = apart.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                if largest > 1e-6 {
                    all[POWERS - 1] = apart.iter().map(|x| x / largest).chain([0.0]).collect();
                }
                all
            }
        }))
    }
}
