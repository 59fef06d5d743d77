//! The mapping of the reference cell to an element: positions, the Jacobian and its inverse, normals of faces.

use super::basis::Basis;
use super::cell::{self, Face, Order};

/// A small matrix, row by row.
pub type Matrix<const D: usize> = [[f64; D]; D];

/// The determinant of a 2 x 2 or 3 x 3 matrix.
pub fn determinant<const D: usize>(m: &Matrix<D>) -> f64 {
    match D {
        2 => m[0][0] * m[1][1] - m[0][1] * m[1][0],
        _ => (0..D).map(|a| m[0][a] * cofactor(m, 0, a)).sum(),
    }
}

/// The cofactor of an entry, including its sign.
fn cofactor<const D: usize>(m: &Matrix<D>, row: usize, column: usize) -> f64 {
    if D == 2 {
        let sign = if row == column { 1.0 } else { -1.0 };
        return sign * m[1 - row][1 - column];
    }
    let (r, s) = ((row + 1) % 3, (row + 2) % 3);
    let (c, d) = ((column + 1) % 3, (column + 2) % 3);
    m[r][c] * m[s][d] - m[r][d] * m[s][c]
}

/// The inverse of a matrix whose determinant is not zero.
pub fn inverse<const D: usize>(m: &Matrix<D>) -> Matrix<D> {
    let scale = 1.0 / determinant(m);
    std::array::from_fn(|a| std::array::from_fn(|c| scale * cofactor(m, c, a)))
}

/// The length of a vector.
pub fn length<const D: usize>(v: [f64; D]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// `a - b`.
pub fn difference<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    std::array::from_fn(|c| a[c] - b[c])
}

/// The scalar product.
pub fn dot<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    (0..D).map(|c| a[c] * b[c]).sum()
}

/// Position and Jacobian `dx_c / du_a` (row c, column a) at `u` of an element with these nodes.
pub fn map<const D: usize>(order: Order, nodes: &[[f64; D]], u: [f64; D]) -> ([f64; D], Matrix<D>) {
    let shape = cell::shape(order, u);
    let terms = || shape.iter().zip(nodes);
    (
        std::array::from_fn(|c| terms().map(|((n, _), x)| n * x[c]).sum()),
        std::array::from_fn(|c| std::array::from_fn(|a| terms().map(|((_, d), x)| d[a] * x[c]).sum())),
    )
}

/// Shape functions and their derivatives at every point of a basis, computed once for all elements of a mesh.
#[derive(Clone, Debug)]
pub struct Tabulated<const D: usize> {
    order: Order,
    per_axis: usize,
    /// Products of the quadrature weights, one for each point.
    weights: Vec<f64>,
    /// `[point][node]`: value and gradient.
    shape: Vec<Vec<(f64, [f64; D])>>,
}

/// The geometry of an element at the points of a basis; points are numbered with the axis u fastest.
#[derive(Clone, Debug)]
pub struct Element<const D: usize> {
    /// Positions, metres.
    pub position: Vec<[f64; D]>,
    /// Determinant of the Jacobian.
    pub determinant: Vec<f64>,
    /// `du_a / dx_c`: row a, column c. It is not finite where the determinant is zero.
    pub inverse: Vec<Matrix<D>>,
}

/// The points of a face of an element, with outward normals and areas.
#[derive(Clone, Debug)]
pub struct Surface<const D: usize> {
    /// Local numbers of the points in the element, ascending.
    pub points: Vec<usize>,
    /// Outward unit normals.
    pub normal: Vec<[f64; D]>,
    /// Area (in 2-D length) represented by each point: its quadrature weight times the surface Jacobian.
    pub area: Vec<f64>,
}

/// Indices along each axis of a point of an element with `n` points along each axis.
pub fn lattice<const D: usize>(point: usize, n: usize) -> [usize; D] {
    std::array::from_fn(|a| point / n.pow(a as u32) % n)
}

impl<const D: usize> Tabulated<D> {
    /// Tabulates the shape functions of elements of an order at the points of a basis.
    pub fn new(order: Order, basis: &Basis) -> Self {
        let n = basis.len();
        let places = (0..n.pow(D as u32)).map(|point| lattice::<D>(point, n));
        let (mut weights, mut shape) = (Vec::new(), Vec::new());
        for place in places {
            weights.push(place.iter().map(|i| basis.weights()[*i]).product());
            shape.push(cell::shape(order, place.map(|i| basis.points()[i])));
        }
        Self {
            order,
            per_axis: n,
            weights,
            shape,
        }
    }

    /// Number of points of an element.
    pub fn points(&self) -> usize {
        self.weights.len()
    }

    /// Number of points of an element along an axis.
    pub fn per_axis(&self) -> usize {
        self.per_axis
    }

    /// Order of the elements.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Quadrature weights, one for each point; their sum is 2 to the power D.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The Jacobian `dx_c / du_a` (row c, column a) at a point.
    fn jacobian(&self, nodes: &[[f64; D]], point: usize) -> Matrix<D> {
        let terms = || self.shape[point].iter().zip(nodes);
        std::array::from_fn(|c| std::array::from_fn(|a| terms().map(|((_, d), x)| d[a] * x[c]).sum()))
    }

    /// The Jacobian determinants at all points of an element.
    pub fn determinants(&self, nodes: &[[f64; D]]) -> Vec<f64> {
        (0..self.points())
            .map(|p| determinant(&self.jacobian(nodes, p)))
            .collect()
    }

    /// The smallest Jacobian determinant of an element, and the point at which it occurs.
    pub fn smallest_determinant(&self, nodes: &[[f64; D]]) -> (f64, usize) {
        let all = (0..self.points()).map(|p| (determinant(&self.jacobian(nodes, p)), p));
        // NaN counts as smaller than any number.
        all.min_by(|a, b| {
            (!a.0.is_nan(), a.0)
                .partial_cmp(&(!b.0.is_nan(), b.0))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
        .unwrap_or((f64::NAN, 0))
    }

    /// The position of a point of an element.
    pub fn position(&self, nodes: &[[f64; D]], point: usize) -> [f64; D] {
        let terms = || self.shape[point].iter().zip(nodes);
        std::array::from_fn(|c| terms().map(|((n, _), x)| n * x[c]).sum())
    }

    /// The positions of all points of an element.
    pub fn positions(&self, nodes: &[[f64; D]]) -> Vec<[f64; D]> {
        (0..self.points()).map(|p| self.position(nodes, p)).collect()
    }

    /// The geometry of an element with these nodes (m).
    pub fn element(&self, nodes: &[[f64; D]]) -> Element<D> {
        let jacobians: Vec<Matrix<D>> = (0..self.points()).map(|p| self.jacobian(nodes, p)).collect();
        Element {
            position: self.positions(nodes),
            determinant: jacobians.iter().map(determinant).collect(),
            inverse: jacobians.iter().map(inverse).collect(),
        }
    }

    /// The points of a face of an element, with outward normals and areas.
    pub fn surface(&self, element: &Element<D>, face: Face) -> Surface<D> {
        let points = face.points::<D>(self.per_axis);
        let across = if face.high { 1.0 } else { -1.0 };
        let (mut normal, mut area) = (Vec::new(), Vec::new());
        // The weight of a point is a product of quadrature weights over all axes. An integral over the face needs only
        // those along the face, so the weight of the end point of the normal axis is divided out.
        let end = 2.0 / ((self.per_axis - 1) * self.per_axis) as f64;
        for p in &points {
            // The gradient of a coordinate is normal to the surfaces on which it is constant.
            let scaled = element.inverse[*p][face.axis].map(|g| across * element.determinant[*p] * g);
            let jacobian = length(scaled);
            normal.push(scaled.map(|x| x / jacobian));
            area.push(jacobian * self.weights[*p] / end);
        }
        Surface { points, normal, area }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::cell::{face, faces, place};

    /// A distorted element of an order: the reference cell, stretched, sheared and bent.
    fn bent<const D: usize>(order: Order) -> Vec<[f64; D]> {
        let nodes = (0..order.nodes::<D>()).map(place::<D>);
        let twist = |c: usize, u: &[f64; D]| {
            let stretched = (c as f64 + 2.0) * u[c] + 0.3 * u[(c + 1) % D];
            stretched + 0.1 * u[0] * u[1] + 0.07 * u[D - 1] * u[D - 1] * u[(c + 1) % D]
        };
        nodes
            .map(|code| {
                let u = code.map(|k| f64::from(k) - 1.0);
                std::array::from_fn(|c| twist(c, &u))
            })
            .collect()
    }

    #[test]
    fn inverse_times_matrix_is_one() {
        let m = [[2.0, 0.3, -0.1], [0.4, 1.5, 0.2], [-0.3, 0.1, 3.0]];
        let i = inverse(&m);
        for (r, c) in (0..9).map(|k| (k / 3, k % 3)) {
            let product: f64 = (0..3).map(|k| m[r][k] * i[k][c]).sum();
            assert!((product - f64::from(r == c)).abs() < 1e-14);
        }
        let flat = inverse(&[[2.0, 1.0], [0.5, 3.0]]);
        assert!((flat[0][0] - 3.0 / 5.5).abs() < 1e-15 && (flat[0][1] + 1.0 / 5.5).abs() < 1e-15);
    }

    /// By Gauss's theorem the surface integral of x_c n_c is the volume, and the integral of n_c alone is zero.
    fn closes<const D: usize>(order: Order) {
        let nodes = bent::<D>(order);
        let table = Tabulated::new(order, &Basis::new(6).unwrap());
        let element = table.element(&nodes);
        let volume: f64 = element
            .determinant
            .iter()
            .zip(table.weights())
            .map(|(j, w)| j * w)
            .sum();
        for c in 0..D {
            let (mut total, mut flux) = (0.0, 0.0);
            for number in 0..faces::<D>() {
                let surface = table.surface(&element, face::<D>(number));
                for (k, p) in surface.points.iter().enumerate() {
                    assert!((length(surface.normal[k]) - 1.0).abs() < 1e-14);
                    total += surface.normal[k][c] * surface.area[k];
                    flux += element.position[*p][c] * surface.normal[k][c] * surface.area[k];
                }
            }
            assert!(total.abs() < 1e-12 * volume, "{order:?} {D} {total}");
            assert!(
                (flux - volume).abs() < 1e-12 * volume,
                "{order:?} {D} {flux} {volume}"
            );
        }
    }

    #[test]
    fn normals_close_the_element_and_measure_its_volume() {
        for order in [Order::Linear, Order::Quadratic] {
            closes::<2>(order);
            closes::<3>(order);
        }
    }

    #[test]
    fn tables_agree_with_the_mapping() {
        let nodes = bent::<3>(Order::Quadratic);
        let basis = Basis::new(3).unwrap();
        let table = Tabulated::new(Order::Quadratic, &basis);
        let element = table.element(&nodes);
        for point in 0..table.points() {
            let u = lattice::<3>(point, 4).map(|i| basis.points()[i]);
            let (x, jacobian) = map(Order::Quadratic, &nodes, u);
            assert!(length(difference(x, element.position[point])) < 1e-13);
            assert!((determinant(&jacobian) - element.determinant[point]).abs() < 1e-12);
        }
    }
}
