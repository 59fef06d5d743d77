//! What contacts of fluids and solids do to the largest stable step.
//!
//! With the mass M and the stiffness K of a solid, those of a fluid Mf and Kf, and A, which holds areas times normals of the points at which
//! they meet, a step is the central difference of `M u'' + K u + A chi'' = 0` and `Mf chi'' + Kf chi - A' u = 0`. Its eigenvalues are those of the
//! energies `u' K u + r' r / Mf` with `r = Kf chi - A' u` over `u' M u + chi' Kf chi`. The mass of a fluid's point on a contact is
//! divided: a share d bears `A' u`, the rest bears `Kf chi`, and by the inequality of Cauchy and Schwarz
//! `r' r / Mf <= (Kf chi)' (Kf chi) / ((1 - d) Mf) + (A' u)' (A' u) / (d Mf)`. So single elements bound the mesh again, the solid ones with
//! the stiffness `A A' / (d Mf)` at their points on contacts, the fluid ones with the rest of the mass there.

use std::collections::HashMap;

use super::cell::{self, faces};
use super::geometry::Tabulated;
use super::{Mesh, Numbering, Side};

/// A square matrix of at most three rows.
pub(super) type Matrix = [[f64; 3]; 3];

/// The points of elements that lie on contacts.
#[derive(Clone, Debug, Default)]
pub(super) struct Contacts {
    /// By elements that have any: their points, and for solids `A A' / (M Mf)` (1/s2), the additional stiffness over the mass of the point for a
    /// share of one.
    of: HashMap<u32, Vec<(usize, Matrix)>>,
}

/// A point at which a fluid and a solid meet.
#[derive(Clone, Copy, Default)]
struct Point {
    /// Area times normal.
    area: [f64; 3],
    fluid: f64,
    solid: f64,
}

impl Contacts {
    /// Of a mesh; `is_fluid` says which elements are fluids, and `masses` what an element adds to the masses of its points.
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

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The points of an element that lie on contacts.
    pub(super) fn points(&self, element: usize) -> &[(usize, Matrix)] {
        self.of.get(&(element as u32)).map_or(&[], Vec::as_slice)
    }

    /// The elements with such points, rising.
    pub(super) fn elements(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.of.keys().copied().collect();
        all.sort_unstable();
        all
    }
}
