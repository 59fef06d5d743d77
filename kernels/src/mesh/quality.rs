//! Quality measures of the elements of a mesh.

use rayon::prelude::*;

use super::cell;
use super::geometry::{Tabulated, difference, dot, length, map};
use super::{Basis, Mesh, Order};

/// Average number of points per wavelength that counts as resolved.
pub const POINTS_A_WAVELENGTH: f64 = 5.0;

/// Quality measures of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Smallest Jacobian determinant at the points of the basis (m^D); an eighth (in 2-D a quarter) of the volume if
    /// the element is a parallelepiped.
    pub jacobian: f64,
    /// Ratio of this determinant to the largest determinant of the element, at most 1.
    pub evenness: f64,
    /// Smallest and largest angle between edges at the corners, degrees.
    pub angles: [f64; 2],
    /// Shortest and longest edge, metres.
    pub edges: [f64; 2],
    /// Smallest distance between neighbouring points along the axes of the element, metres.
    pub spacing: f64,
}

impl Quality {
    /// Ratio of the longest edge to the shortest one.
    pub fn ratio(&self) -> f64 {
        self.edges[1] / self.edges[0]
    }

    /// The highest resolved frequency (Hz), at which waves of speed `slowest` (m/s) have five points per wavelength.
    pub fn frequency(&self, slowest: f64, degree: usize) -> f64 {
        frequency(self.edges[1], slowest, degree)
    }
}

fn frequency(longest: f64, slowest: f64, degree: usize) -> f64 {
    slowest * degree as f64 / (POINTS_A_WAVELENGTH * longest)
}

/// The element with the lowest [`Quality::frequency`], and that frequency (Hz). `slowest` holds the slowest wave
/// speed (m/s) of every element. Returns `None` if the mesh has no elements.
pub fn resolved<const D: usize>(mesh: &Mesh<D>, slowest: &[f64], degree: usize) -> Option<(usize, f64)> {
    let of = |element: usize| frequency(edges(mesh, element).1, slowest[element], degree);
    let all = (0..mesh.len())
        .into_par_iter()
        .map(|element| (element, of(element)));
    all.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))
}

/// The quality measures of all elements at the points of a basis.
pub fn all<const D: usize>(mesh: &Mesh<D>, basis: &Basis) -> Vec<Quality> {
    let table = Tabulated::new(mesh.order(), basis);
    (0..mesh.len())
        .into_par_iter()
        .map(|element| of(mesh, &table, element))
        .collect()
}

/// The quality measures of one element.
fn of<const D: usize>(mesh: &Mesh<D>, table: &Tabulated<D>, element: usize) -> Quality {
    let nodes = mesh.coordinates(element);
    let at_points = table.element(&nodes);
    let (least, most) = at_points
        .determinant
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), j| {
            (low.min(*j), high.max(*j))
        });
    let (shortest, longest) = edges(mesh, element);
    Quality {
        jacobian: least,
        evenness: least / most,
        angles: angles(mesh.order(), &nodes),
        edges: [shortest, longest],
        spacing: spacing(&at_points.position, table.per_axis()),
    }
}

/// Lengths (m) of the shortest and the longest edge; the length of a curved edge is the sum of its two chords.
pub(super) fn edges<const D: usize>(mesh: &Mesh<D>, element: usize) -> (f64, f64) {
    let nodes = mesh.element(element);
    let x = |local: usize| mesh.nodes()[nodes[local] as usize];
    let chord = |a: usize, b: usize| length(difference(x(a), x(b)));
    let lengths = cell::edges::<D>().into_iter().map(|[a, b]| match mesh.order() {
        Order::Linear => chord(a, b),
        Order::Quadratic => {
            let (p, q) = (cell::place::<D>(a), cell::place::<D>(b));
            let middle = cell::node_at::<D>(std::array::from_fn(|c| (p[c] + q[c]) / 2));
            chord(a, middle) + chord(middle, b)
        }
    });
    lengths.fold((f64::INFINITY, 0.0), |(low, high), l| (low.min(l), high.max(l)))
}

/// The smallest and the largest angle between edges at the corners, degrees.
fn angles<const D: usize>(order: Order, nodes: &[[f64; D]]) -> [f64; 2] {
    let (mut least, mut most) = (180.0_f64, 0.0_f64);
    for corner in 0..1 << D {
        let u = cell::place::<D>(corner).map(|c| f64::from(c) - 1.0);
        let (_, jacobian) = map(order, nodes, u);
        // The direction of edge `a`, away from the corner.
        let edge = |a: usize| -> [f64; D] { std::array::from_fn(|c| -u[a] * jacobian[c][a]) };
        for (a, b) in (0..D).flat_map(|a| (a + 1..D).map(move |b| (a, b))) {
            let (p, q) = (edge(a), edge(b));
            let angle = (dot(p, q) / (length(p) * length(q)))
                .clamp(-1.0, 1.0)
                .acos()
                .to_degrees();
            (least, most) = (least.min(angle), most.max(angle));
        }
    }
    [least, most]
}

/// The smallest distance between neighbouring points along an axis.
fn spacing<const D: usize>(position: &[[f64; D]], n: usize) -> f64 {
    let mut least = f64::INFINITY;
    for axis in 0..D {
        let stride = n.pow(axis as u32);
        for point in (0..position.len()).filter(|p| p / stride % n + 1 < n) {
            least = least.min(length(difference(position[point + stride], position[point])));
        }
    }
    least
}
