//! The inverse mass of every point.

use super::Number;
use std::collections::BTreeMap;

use rayon::prelude::*;

use super::boundary::FacePoint;
use super::cut::Share;
use super::pml::fixed_points;
use super::sponge::Damping;
use super::{Lumping, Setup};
use crate::mesh::geometry::{Matrix, Tabulated, inverse};
use crate::mesh::step::{Law, Medium};

/// Inverse masses: one number per point, and matrices for points on absorbing faces.
#[derive(Clone, Debug)]
pub(super) struct InverseMass<const D: usize> {
    pub(super) diagonal: Vec<Number>,
    /// Damping of the sponge, kg/s; empty without a sponge.
    pub(super) sponge: Vec<f64>,
    half: f64,
    /// Points in ascending order with the inverse of mass plus half a step of damping.
    pub(super) matrices: Vec<(u32, [[Number; D]; D])>,
}

impl<const D: usize> InverseMass<D> {
    /// Computes the masses in double precision and sums them in the order of the elements.
    pub(super) fn new(
        setup: &Setup<D>,
        share: &Share<'_>,
        table: &Tabulated<D>,
        faces: &[FacePoint<D>],
    ) -> Self {
        let solid = |medium: &Medium| (!matches!(medium.law, Law::Fluid(_))).then_some(medium.density);
        let mut mass = masses(setup, share, table, solid);
        let layer = Damping::new(setup, table);
        let sponge = layer.map_or(Vec::new(), |layer| layer.masses(share, table, solid));
        mass.iter_mut()
            .zip(&sponge)
            .for_each(|(mass, damping)| *mass += setup.dt / 2.0 * damping);
        let mut damped: BTreeMap<u32, Matrix<D>> = BTreeMap::new();
        for p in faces.iter().filter(|p| !setup.is_fluid(p.element as usize)) {
            let damping = damping(p, setup.lumping);
            let sum = damped.entry(p.point).or_insert([[0.0; D]; D]);
            for (row, more) in sum.iter_mut().flatten().zip(damping.iter().flatten()) {
                *row += setup.dt / 2.0 * more;
            }
        }
        let whole = |(point, mut matrix): (u32, Matrix<D>)| {
            (0..D).for_each(|c| matrix[c][c] += mass[point as usize]);
            (point, inverse(&matrix).map(|row| row.map(|x| x as Number)))
        };
        let fixed = fixed_points(setup, share, table);
        damped.retain(|point, _| fixed.binary_search(point).is_err());
        let matrices = damped.into_iter().map(whole).collect();
        fixed.iter().for_each(|point| mass[*point as usize] = 0.0);
        Self {
            matrices,
            sponge,
            half: setup.dt / 2.0,
            // Points that belong only to fluids have no mass and receive no force; points at the outer end of a
            // perfectly matched layer are fixed.
            diagonal: mass
                .iter()
                .map(|m| if *m > 0.0 { (1.0 / m) as Number } else { 0.0 })
                .collect(),
        }
    }

    /// The mass of a point without damping, kg.
    pub(super) fn mass(&self, point: usize) -> f64 {
        let inverse = f64::from(self.diagonal[point]);
        let damping = self.sponge.get(point).map_or(0.0, |damping| self.half * damping);
        if inverse > 0.0 {
            1.0 / inverse - damping
        } else {
            0.0
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.diagonal[..]) + size_of_val(&self.matrices[..]) + size_of_val(&self.sponge[..])
    }

    /// Converts the forces of the points `first ..` to accelerations.
    #[inline(always)]
    pub(super) fn apply(&self, first: usize, forces: &mut [[Number; D]]) {
        let last = first + forces.len();
        let low = self.matrices.partition_point(|m| (m.0 as usize) < first);
        let high = self.matrices.partition_point(|m| (m.0 as usize) < last);
        let divide = |forces: &mut [[Number; D]], first: usize| {
            for (force, inverse) in forces.iter_mut().zip(&self.diagonal[first..]) {
                (0..D).for_each(|c| force[c] *= inverse);
            }
        };
        let mut done = 0;
        for (point, matrix) in &self.matrices[low..high] {
            let k = *point as usize - first;
            divide(&mut forces[done..k], first + done);
            let f = forces[k];
            for (c, row) in matrix.iter().enumerate() {
                forces[k][c] = 0.0;
                (0..D).for_each(|d| forces[k][c] += row[d] * f[d]);
            }
            done = k + 1;
        }
        divide(&mut forces[done..], first + done);
    }
}

/// The sum over all elements of the mesh, in order, of weight, Jacobian and a factor of the medium, at the points of
/// a subdomain; elements without a factor add nothing.
pub(super) fn masses<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
    factor: impl Fn(&Medium) -> Option<f64> + Sync,
) -> Vec<f64> {
    let mut mass = vec![0.0; share.points()];
    let adds = |e: &usize| share.touches(*e) && factor(setup.medium(*e)).is_some();
    let elements: Vec<usize> = (0..setup.mesh.len()).into_par_iter().filter(adds).collect();
    let of_element = |element: &usize| -> Vec<f64> {
        let contents = setup.contents(*element, table);
        let own = table.element(&setup.mesh.coordinates(*element));
        let weights = table.weights().iter().enumerate();
        let factor = |local: usize| factor(contents.medium(local)).unwrap_or(0.0);
        weights
            .map(|(local, weight)| weight * own.determinant[local] * factor(local))
            .collect()
    };
    // Elements are evaluated in parallel, and their masses are added by one thread in the order of the elements.
    for some in elements.chunks(TOGETHER) {
        let masses_of_some: Vec<Vec<f64>> = some.par_iter().map(of_element).collect();
        for (element, masses) in some.iter().zip(masses_of_some) {
            for (local, own) in masses.into_iter().enumerate() {
                if let Some(point) = share.at(*element, local) {
                    mass[point as usize] += own;
                }
            }
        }
    }
    mass
}

/// Number of elements whose masses are held at once.
const TOGETHER: usize = 8192;

/// The damping matrix of a face point, traction over velocity, as it enters the mass.
pub(super) fn damping<const D: usize>(p: &FacePoint<D>, lumping: Lumping) -> Matrix<D> {
    let [along, across] = p.impedance;
    match lumping {
        Lumping::Matrix => std::array::from_fn(|i| {
            std::array::from_fn(|c| {
                let dyad = p.normal[i] * p.normal[c];
                along * dyad + across * (f64::from(i == c) - dyad)
            })
        }),
        Lumping::RowSums => {
            let mut normal = p.normal;
            normal[D - 1] = -normal[D - 1];
            let sum: f64 = normal.iter().sum();
            let row = |i: usize| (along - across) * normal[i] * sum + across;
            std::array::from_fn(|i| std::array::from_fn(|c| if i == c { row(i) } else { 0.0 }))
        }
    }
}
