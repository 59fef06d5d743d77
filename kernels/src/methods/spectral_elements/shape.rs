//! The shape of elements, recomputed in every step: nodes need a tenth of the memory of inverse Jacobians at all
//! points.
//!
//! Elements are stored as hexahedra of 27 nodes (quadrilaterals of 9) for either order: sums along one axis after the
//! other yield Jacobians from the nodes with few operations per point. Nodes are relative to the centre of their
//! element, so that single precision resolves an element at any position.

use super::Number;
use pulp::Simd;

use super::lanes::{LANES, Lanes, Part, Register};
use super::pml;
use crate::mesh::cell::{self, Order};
use crate::mesh::geometry::map;
use crate::mesh::{Basis, Mesh};

/// Number of nodes of a shape per axis.
const NODES: usize = 3;

/// The tables that all elements of a basis with `N` points per axis share, in single precision.
#[derive(Clone, Debug)]
pub(super) struct Tables<const N: usize> {
    /// Slope at point q of the polynomial of point p: `[q][p]`.
    pub(super) derivative: [[Number; N]; N],
    /// The highest-degree Legendre polynomial at the points, and the weights of its coefficient (`pml::highest_of`).
    pub(super) highest: [[Number; N]; 2],
    pub(super) weight: [Number; N],
    /// Values and slopes of the shape functions of an axis at the points: `[point][node]`.
    value: [[Number; NODES]; N],
    slope: [[Number; NODES]; N],
}

impl<const N: usize> Tables<N> {
    /// The tables of a basis with `N` points.
    pub(super) fn new(basis: &Basis) -> Self {
        let along = |q: usize| cell::along(Order::Quadratic, basis.points()[q]);
        Self {
            derivative: std::array::from_fn(|q| std::array::from_fn(|p| basis.derivative(q, p) as Number)),
            highest: pml::highest(basis.points(), basis.weights()),
            weight: std::array::from_fn(|q| basis.weights()[q] as Number),
            value: std::array::from_fn(|q| along(q).0.map(|x| x as Number)),
            slope: std::array::from_fn(|q| along(q).1.map(|x| x as Number)),
        }
    }
}

/// The nodes of the elements of a block, the first axis fastest: `[node][component]`, in metres from the element's
/// centre. Lanes without an element repeat the last one.
#[derive(Clone, Debug)]
pub(super) struct Shape<const D: usize>(Vec<[Lanes; D]>);

impl<const D: usize> Shape<D> {
    /// The shapes of these elements of a mesh.
    pub(super) fn new(mesh: &Mesh<D>, elements: &[u32]) -> Self {
        let mut nodes = vec![[Lanes::ZERO; D]; NODES.pow(D as u32)];
        for lane in 0..LANES {
            let element = elements[lane.min(elements.len() - 1)] as usize;
            let (given, centre) = (mesh.coordinates(element), mesh.centre(element));
            for (node, place) in nodes.iter_mut().enumerate() {
                let at = std::array::from_fn(|a| (node / NODES.pow(a as u32) % NODES) as f64 - 1.0);
                let x = map(mesh.order(), &given, at).0;
                (0..D).for_each(|c| place[c].0[lane] = (x[c] - centre[c]) as Number);
            }
        }
        Self(nodes)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}

/// Values `[node][component]` along an axis.
type Line<S, const D: usize> = [[Register<S>; D]; NODES];

/// `sum_m weights[m] x[m]`. No function of this file passes a closure to the library, because a closure that is not
/// inlined would be compiled without the vector instructions.
#[inline(always)]
fn weighted<S: Simd, const D: usize>(
    part: Part<S>,
    weights: &[Number; NODES],
    x: [&[Register<S>; D]; NODES],
) -> [Register<S>; D] {
    let mut sum = [part.zero(); D];
    for (weight, x) in weights.iter().zip(x) {
        let weight = part.splat(*weight);
        (0..D).for_each(|c| sum[c] = weight.mul_add(x[c], sum[c]));
    }
    sum
}

/// Nodes interpolated to a layer of points, and their slopes across it: `[row of nodes][node]`.
pub(super) struct Layer<S: Simd, const D: usize> {
    at: [Line<S, D>; NODES],
    across: [Line<S, D>; NODES],
}

impl<S: Simd, const D: usize> Layer<S, D> {
    /// Layer k along the third axis; in 2-D there is a single layer.
    #[inline(always)]
    pub(super) fn new<const N: usize>(part: Part<S>, tables: &Tables<N>, shape: &Shape<D>, k: usize) -> Self {
        let zero = [[[part.zero(); D]; NODES]; NODES];
        let (mut at, mut across) = (zero, zero);
        for j in 0..NODES {
            for i in 0..NODES {
                let mut nodes = [[part.zero(); D]; NODES];
                for (m, node) in nodes.iter_mut().enumerate().take(if D == 3 { NODES } else { 1 }) {
                    let lanes = &shape.0[(m * NODES + j) * NODES + i];
                    (0..D).for_each(|c| node[c] = part.load(&lanes[c]));
                }
                let [low, middle, high] = &nodes;
                if D == 2 {
                    at[j][i] = *low;
                } else {
                    at[j][i] = weighted(part, &tables.value[k], [low, middle, high]);
                    across[j][i] = weighted(part, &tables.slope[k], [low, middle, high]);
                }
            }
        }
        Self { at, across }
    }
}

/// Nodes interpolated to a row of points, for the slopes along each axis.
pub(super) struct Row<S: Simd, const D: usize>([Line<S, D>; D]);

impl<S: Simd, const D: usize> Row<S, D> {
    /// Row j of a layer.
    #[inline(always)]
    pub(super) fn new<const N: usize>(
        part: Part<S>,
        tables: &Tables<N>,
        layer: &Layer<S, D>,
        j: usize,
    ) -> Self {
        let mut lines = [[[part.zero(); D]; NODES]; D];
        for (a, line) in lines.iter_mut().enumerate() {
            let weights = if a == 1 {
                &tables.slope[j]
            } else {
                &tables.value[j]
            };
            let [low, middle, high] = if a == 2 { &layer.across } else { &layer.at };
            for (i, node) in line.iter_mut().enumerate() {
                *node = weighted(part, weights, [&low[i], &middle[i], &high[i]]);
            }
        }
        Self(lines)
    }

    /// Cofactors of the Jacobian at point i of the row, `[axis of the cell][component]`, and its determinant;
    /// `du_a/dx_c` is their quotient.
    #[inline(always)]
    pub(super) fn cofactors<const N: usize>(
        &self,
        part: Part<S>,
        tables: &Tables<N>,
        i: usize,
    ) -> ([[Register<S>; D]; D], Register<S>) {
        let mut jacobian = [[part.zero(); D]; D];
        for (a, row) in jacobian.iter_mut().enumerate() {
            let weights = if a == 0 {
                &tables.slope[i]
            } else {
                &tables.value[i]
            };
            let [low, middle, high] = &self.0[a];
            *row = weighted(part, weights, [low, middle, high]);
        }
        let mut cofactors = [[part.zero(); D]; D];
        for (a, row) in cofactors.iter_mut().enumerate() {
            for (c, entry) in row.iter_mut().enumerate() {
                *entry = cofactor(part, &jacobian, a, c);
            }
        }
        let mut determinant = part.zero();
        (0..D).for_each(|c| determinant = jacobian[0][c].mul_add(cofactors[0][c], determinant));
        (cofactors, determinant)
    }
}

/// The signed cofactor of an entry.
#[inline(always)]
fn cofactor<S: Simd, const D: usize>(
    part: Part<S>,
    m: &[[Register<S>; D]; D],
    row: usize,
    column: usize,
) -> Register<S> {
    if D == 2 {
        let other = m[1 - row][1 - column];
        return if row == column { other } else { part.zero() - other };
    }
    let (r, s) = ((row + 1) % 3, (row + 2) % 3);
    let (c, d) = ((column + 1) % 3, (column + 2) % 3);
    m[r][c] * m[s][d] - m[r][d] * m[s][c]
}
