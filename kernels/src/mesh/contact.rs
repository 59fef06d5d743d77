//! The effect of contacts between fluids and solids on the largest stable time step.
//!
//! Let M and K be the mass and stiffness of the solid, Mf and Kf those of the fluid, and let A hold the areas times
//! normals of the points on the contact. A time step is a central difference in time of `M u'' + K u + A chi'' = 0` and
//! `Mf chi'' + Kf chi - A^T u = 0`. Its eigenvalues are the stationary values of the quotient of `u^T K u + r^T r /
//! Mf`, with `r = Kf chi - A^T u`, and `u^T M u + chi^T Kf chi`. The mass of a fluid point on the contact is divided
//! into a fraction d for `A^T u` and the rest for `Kf chi`. The Cauchy-Schwarz inequality then gives `r^T r / Mf <= (Kf
//! chi)^T (Kf chi) / ((1 - d) Mf) + (A^T u)^T (A^T u) / (d Mf)`. Hence the eigenvalues of single elements still bound
//! those of the mesh, if solid elements get the additional stiffness `A A^T / (d Mf)` at their points on contacts, and
//! fluid elements only the remaining mass there.

use std::collections::HashMap;

use super::cell::{self, faces};
use super::geometry::Tabulated;
use super::{Mesh, Numbering, Side};

/// A square matrix of at most three rows.
pub(super) type Matrix = [[f64; 3]; 3];

/// The points of elements that lie on contacts.
#[derive(Clone, Debug, Default)]
pub(super) struct Contacts {
    /// For each element with such points: their local numbers, each with `A A^T / (M Mf)` (1/s2), which is the
    /// additional stiffness of a solid for d = 1 divided by the mass of the point.
    of: HashMap<u32, Vec<(usize, Matrix)>>,
}

/// A point on a contact: its area, and the masses of the fluid and the solid there.
#[derive(Clone, Copy, Default)]
struct Point {
    /// Area times normal.
    area: [f64; 3],
    fluid: f64,
    solid: f64,
}

impl Contacts {
    /// Finds the contacts of a mesh. `is_fluid` returns whether an element is fluid, and `masses` returns the
    /// contribution of an element to the mass of each of its points.
    pub(super) fn of<const D: usize>(
        mesh: &Mesh<D>,
        (table, numbering): (&Tabulated<D>, &Numbering),
        is_fluid: impl Fn(usize) -> bool,
        masses: impl Fn(usize) -> Vec<f64>,
    ) -> Self {
        let mut points: HashMap<u32, Point> = HashMap::new();
        for element in (0..mesh.len()).filter(|element| is_fluid(*element)) {
            let met = (0..faces::<D>()).filter(|face| {
                let across = mesh.across(Side { element, face: *face });
                across.is_some_and(|other| !is_fluid(other.element))
            });
            for face in met {
                let own = table.element(&mesh.coordinates(element));
                let surface = table.surface(&own, cell::face::<D>(face));
                for (k, local) in surface.points.iter().enumerate() {
                    let point = points.entry(numbering.element(element)[*local]).or_default();
                    for (sum, n) in point.area.iter_mut().zip(surface.normal[k]) {
                        *sum += n * surface.area[k];
                    }
                }
            }
        }
        let mut touching = Vec::new();
        if !points.is_empty() {
            let touches = |e: &usize| numbering.element(*e).iter().any(|p| points.contains_key(p));
            touching.extend((0..mesh.len()).filter(touches));
        }
        for element in &touching {
            let fluid = is_fluid(*element);
            for (number, mass) in numbering.element(*element).iter().zip(masses(*element)) {
                if let Some(point) = points.get_mut(number) {
                    *(if fluid { &mut point.fluid } else { &mut point.solid }) += mass;
                }
            }
        }
        let of_element = |element: usize| {
            let own = numbering.element(element).iter().enumerate();
            let on_contact = own.filter_map(|(local, number)| Some((local, points.get(number)?)));
            let stiff = |point: &Point| -> Matrix {
                let [a, over] = [point.area, [1.0 / (point.fluid * point.solid); 3]];
                std::array::from_fn(|i| std::array::from_fn(|k| a[i] * a[k] * over[i]))
            };
            on_contact.map(|(local, point)| (local, stiff(point))).collect()
        };
        Self {
            of: touching
                .iter()
                .map(|element| (*element as u32, of_element(*element)))
                .collect(),
        }
    }

    /// Whether the mesh has no contacts.
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The local numbers and matrices of the points of an element that lie on contacts.
    pub(super) fn points(&self, element: usize) -> &[(usize, Matrix)] {
        self.of.get(&(element as u32)).map_or(&[], Vec::as_slice)
    }

    /// The elements with points on contacts, in ascending order.
    pub(super) fn elements(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.of.keys().copied().collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::fixtures::{bend, bricks};
    use crate::mesh::{Basis, Order};

    /// The areas times normals of all points of an arched contact add up to those of the flat contact between its ends.
    #[test]
    fn areas_of_an_arched_contact_span_its_ends() {
        let mesh = Mesh::new(bend(bricks([1, 2], Order::Quadratic), |x| {
            [
                x[0],
                x[1] + 1.2 * x[0] * (1.0 - x[0]) * x[1] * (2.0 - x[1]) + 0.25 * x[0],
            ]
        }))
        .unwrap();
        let basis = Basis::new(4).unwrap();
        let table = Tabulated::new(Order::Quadratic, &basis);
        let numbering = Numbering::new(&mesh, &basis).unwrap();
        // The upper element is fluid. With unit masses the matrices are `A A^T`.
        let masses = |_| vec![1.0; numbering.per_element()];
        let contacts = Contacts::of(&mesh, (&table, &numbering), |element| element == 1, masses);
        let mut sum = [0.0; 2];
        for (_, matrix) in contacts.points(0) {
            let up = matrix[1][1].sqrt();
            sum[0] += matrix[0][1] / up;
            sum[1] += up;
        }
        assert_eq!(contacts.points(0).len(), 5);
        // The ends are 1 apart along x and 0.25 along y; the normals of the fluid point down.
        let flat = [-0.25, 1.0];
        assert!((0..2).all(|i| (sum[i] - flat[i]).abs() < 1e-12), "{sum:?}");
    }
}
