//! The depth of the ground of a mesh on a regular grid of horizontal positions, and of its top at any positions.

use std::collections::HashSet;

use rayon::prelude::*;

use super::cell::{self, Order};
use super::geometry::{length, map};
use super::search::TOUCHES;
use super::{Mesh, Side};

/// Faces count as vertical if the ratio of their horizontal projection to their area is at most this.
const UPRIGHT: f64 = 1e-6;

/// A regular axis of horizontal positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Places {
    /// First position, m.
    pub first: f64,
    /// Distance between neighbouring positions, m; above zero.
    pub step: f64,
    /// Number of positions.
    pub count: usize,
}

impl Places {
    /// Position `k`, m.
    pub fn at(&self, k: usize) -> f64 {
        self.first + k as f64 * self.step
    }

    /// The range of positions from `low` to `high`.
    fn within(&self, [low, high]: [f64; 2]) -> std::ops::Range<usize> {
        // Negative indices become zero.
        let place = |x: f64| ((x - self.first) / self.step).max(0.0);
        let first = place(low).ceil() as usize;
        let end = if high < self.first {
            0
        } else {
            place(high).floor() as usize + 1
        };
        first..end.min(self.count).max(first)
    }
}

/// The depth z (m) of the ground at all positions of the axes x[, y], x fastest: the smallest depth at which a
/// vertical line meets an outer face that does not absorb; `None` outside the mesh. In 2-D the second axis must have
/// one position, whose value is ignored.
pub fn depths<const D: usize>(mesh: &Mesh<D>, axes: [Places; 2]) -> Vec<Option<f64>> {
    let mut ground = vec![None; axes[0].count * axes[1].count];
    let absorbing: HashSet<Side> = mesh.absorbing().iter().copied().collect();
    for side in mesh.outer().filter(|side| !absorbing.contains(side)) {
        let nodes = mesh.coordinates(side.element);
        let reach = |c: usize| match c < D - 1 {
            true => axes[c].within(span(mesh, side, &nodes, c)),
            false => 0..1,
        };
        for l in reach(1) {
            for k in reach(0) {
                let position = [axes[0].at(k), axes[1].at(l)];
                let Some(z) = depth(mesh.order(), &nodes, side.face, position) else {
                    continue;
                };
                let known = &mut ground[l * axes[0].count + k];
                *known = Some(known.map_or(z, |other: f64| other.min(z)));
            }
        }
    }
    ground
}

/// The depth z (m) of the top of the mesh at positions x, y: the smallest depth at which a vertical line meets an
/// outer face, absorbing or not; `None` outside the mesh. In 2-D the second coordinate of a position is ignored.
pub fn tops<const D: usize>(mesh: &Mesh<D>, places: &[[f64; 2]]) -> Vec<Option<f64>> {
    let faces: Vec<(Side, Vec<[f64; 2]>)> = mesh
        .outer()
        .map(|side| {
            let nodes = mesh.coordinates(side.element);
            let spans = (0..D - 1).map(|c| span(mesh, side, &nodes, c));
            (side, spans.collect())
        })
        .collect();
    let top = |at: &[f64; 2]| {
        let over = |spans: &[[f64; 2]]| spans.iter().zip(at).all(|([low, high], x)| low <= x && x <= high);
        faces
            .iter()
            .filter(|(_, spans)| over(spans))
            .filter_map(|(side, _)| depth(mesh.order(), &mesh.coordinates(side.element), side.face, *at))
            .reduce(f64::min)
    };
    places.par_iter().map(top).collect()
}

/// Bounds of the coordinates of a face along an axis.
fn span<const D: usize>(mesh: &Mesh<D>, side: Side, nodes: &[[f64; D]], c: usize) -> [f64; 2] {
    let code = cell::face::<D>(side.face).code::<D>();
    let on_face = (0..nodes.len()).filter(|node| {
        let place = cell::place::<D>(*node);
        (0..D).all(|a| code[a] == 1 || place[a] == code[a])
    });
    let (low, high) = on_face.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), node| {
        (low.min(nodes[node][c]), high.max(nodes[node][c]))
    });
    // Between its nodes a quadratic face can exceed their bounding box by a factor of at most the Lebesgue constant of
    // three points, 5/4, for each axis.
    let grown = match mesh.order() {
        Order::Linear => 1.0,
        Order::Quadratic => 1.25_f64.powi(D as i32 - 1),
    };
    let (middle, half) = ((low + high) / 2.0, (grown + 2.0 * TOUCHES) * (high - low) / 2.0);
    [middle - half, middle + half]
}

/// The depth z of a face at a horizontal position, by Newton's method; `None` if no point of the face has that
/// position.
fn depth<const D: usize>(order: Order, nodes: &[[f64; D]], face: usize, position: [f64; 2]) -> Option<f64> {
    let face = cell::face::<D>(face);
    let mut u = [0.0; D];
    u[face.axis] = if face.high { 1.0 } else { -1.0 };
    let free: Vec<usize> = (0..D).filter(|a| *a != face.axis).collect();
    for _ in 0..30 {
        let (at, jacobian) = map(order, nodes, u);
        let miss: Vec<f64> = (0..D - 1).map(|c| position[c] - at[c]).collect();
        let tangents: Vec<[f64; D]> = free
            .iter()
            .map(|a| std::array::from_fn(|c| jacobian[c][*a]))
            .collect();
        let step = solve(&tangents, &miss)?;
        for (a, step) in free.iter().zip(&step) {
            u[*a] = (u[*a] + step).clamp(-1.5, 1.5);
        }
        if step.iter().all(|step| step.abs() < 1e-10) {
            let inside = free.iter().all(|a| u[*a].abs() <= 1.0 + TOUCHES);
            return inside.then(|| map(order, nodes, u.map(|x| x.clamp(-1.0, 1.0))).0[D - 1]);
        }
    }
    None
}

/// The step along one or two tangents of a face that removes a horizontal deviation; `None` if the face is vertical.
fn solve<const D: usize>(tangents: &[[f64; D]], miss: &[f64]) -> Option<Vec<f64>> {
    let size: f64 = tangents.iter().map(|t| length(*t)).product();
    let determinant = match tangents {
        [t] => t[0],
        [s, t] => s[0] * t[1] - s[1] * t[0],
        _ => 0.0,
    };
    if determinant.abs() <= UPRIGHT * size {
        return None;
    }
    Some(match tangents {
        [_] => vec![miss[0] / determinant],
        [s, t] => vec![
            (miss[0] * t[1] - miss[1] * t[0]) / determinant,
            (s[0] * miss[1] - s[1] * miss[0]) / determinant,
        ],
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::fixtures::{bend, bricks};

    fn close(depths: &[Option<f64>], expected: impl Fn(usize) -> Option<f64>) {
        for (k, z) in depths.iter().enumerate() {
            let apart = match (z, expected(k)) {
                (Some(z), Some(w)) => (z - w).abs(),
                (None, None) => 0.0,
                _ => f64::INFINITY,
            };
            assert!(apart < 1e-9, "{k}: {z:?} {:?}", expected(k));
        }
    }

    #[test]
    fn a_plane_hill_lies_at_its_height() {
        // The ground is a sloping plane over linear elements, and a parabola over quadratic ones.
        let slope = |x: f64, y: f64| 0.3 * x - 0.2 * y;
        let mesh = Mesh::new(bend(bricks([4, 3, 2], Order::Linear), |x| {
            [
                x[0] + 0.1 * x[2],
                x[1],
                x[2] * 2.0 + slope(x[0] + 0.1 * x[2], x[1]),
            ]
        }))
        .unwrap();
        let axis = |first: f64, step: f64, count: usize| Places { first, step, count };
        let axes = [axis(-0.5, 0.25, 19), axis(0.1, 0.7, 5)];
        close(&depths(&mesh, axes), |k| {
            let (x, y) = (axes[0].at(k % 19), axes[1].at(k / 19));
            ((0.0..=4.0).contains(&x) && y <= 3.0).then(|| slope(x, y))
        });
        let mesh = Mesh::new(bend(bricks([3, 2], Order::Quadratic), |x| {
            [x[0], x[1] + 0.1 * x[0] * x[0]]
        }))
        .unwrap();
        let axes = [axis(0.0, 0.1, 31), axis(0.0, 1.0, 1)];
        close(&depths(&mesh, axes), |k| Some(0.1 * axes[0].at(k).powi(2)));
    }

    #[test]
    fn the_ground_is_the_highest_face_that_does_not_absorb() {
        let mut parts = bricks([2, 2], Order::Linear);
        // The upper face of the first column absorbs, so that its ground is the lower face of the mesh.
        parts.absorbing = vec![[0, 0]];
        let mesh = Mesh::new(parts).unwrap();
        let axes = [
            Places {
                first: 0.5,
                step: 1.0,
                count: 2,
            },
            Places {
                first: 0.0,
                step: 1.0,
                count: 1,
            },
        ];
        close(&depths(&mesh, axes), |k| Some([2.0, 0.0][k]));
        close(&tops(&mesh, &[[0.5, 0.0], [1.5, 0.0], [2.5, 0.0]]), |k| {
            [Some(0.0), Some(0.0), None][k]
        });
    }

    #[test]
    fn the_top_is_over_every_place_of_a_slanted_mesh() {
        let slope = |x: f64, y: f64| 7.0 + 0.3 * x - 0.2 * y;
        let mesh = Mesh::new(bend(bricks([4, 3, 2], Order::Linear), |x| {
            [x[0], x[1], x[2] * 2.0 + slope(x[0], x[1])]
        }))
        .unwrap();
        let places: Vec<[f64; 2]> = (0..60)
            .map(|k| [-0.3 + 0.37 * f64::from(k % 12), 0.1 + 0.7 * f64::from(k / 12)])
            .collect();
        close(&tops(&mesh, &places), |k| {
            let [x, y] = places[k];
            ((0.0..=4.0).contains(&x) && y <= 3.0).then(|| slope(x, y))
        });
    }
}
