//! The largest stable time step of a mesh, bounded by the eigenvalues of single elements.
//!
//! The mass and the stiffness of a mesh are sums over elements, so no eigenvalue of the whole is above the largest
//! one of a single element (Irons & Treharne 1971), in whatever shares the mass of a point is given to its elements. With
//! explicit Newmark steps dt <= 2 / omega is stable, hence a dt below the bound of every element is. The bound holds for
//! any medium and any shape; on regular meshes it is some 15 % below the true limit.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use rayon::prelude::*;

use super::geometry::{Element, Tabulated, difference, length};
use super::{Basis, Mesh, Numbering};

pub use super::medium::{Law, Media, Medium};

/// The bound of a mesh.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The largest step (s) that is surely stable.
    pub limit: f64,
    /// The element that sets it: the stiffest by itself of those that are near it.
    pub element: usize,
    /// The same for every element: the smallest is the limit.
    pub each: Vec<f64>,
}

/// Elements whose step is at most this much above the smallest share what sets the bound: a stiff one takes from the mass of
/// its neighbours until they need as small a step.
const NEAR: f64 = 1.05;

/// The largest stable step of a mesh, and the element that sets it.
pub fn bound<'a, const D: usize>(mesh: &Mesh<D>, basis: &Basis, media: impl Into<Media<'a, D>>) -> Bound {
    let media = media.into();
    let alone = eigenvalues(mesh, basis, media);
    let each: Vec<f64> = shared(mesh, basis, media, &alone)
        .iter()
        .map(|value| 2.0 / value.sqrt())
        .collect();
    let limit = each.iter().copied().fold(f64::INFINITY, f64::min);
    let near = (0..each.len()).filter(|e| each[*e] <= NEAR * limit);
    // Of equal ones the first.
    let element = near.reduce(|best, e| if alone[e] > alone[best] { e } else { best });
    Bound {
        limit,
        element: element.unwrap_or(0),
        each,
    }
}

/// The largest stable step (s) of every element. The smallest is the bound of the mesh.
pub fn steps<'a, const D: usize>(mesh: &Mesh<D>, basis: &Basis, media: impl Into<Media<'a, D>>) -> Vec<f64> {
    bound(mesh, basis, media).each
}

/// The largest eigenvalues when the masses of points are shared out as elements need them, from those of elements alone.
fn shared<const D: usize>(mesh: &Mesh<D>, basis: &Basis, media: Media<D>, alone: &[f64]) -> Vec<f64> {
    let mut best = alone.to_vec();
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let least = best.iter().copied().fold(f64::INFINITY, f64::min);
    // Among equal elements there is nothing to be shared out.
    if most(&best) > 1.02 * least
        && let Ok(numbering) = Numbering::new(mesh, basis)
    {
        let mut needs = best.clone();
        for _ in 0..ROUNDS_OF_SHARING {
            let values = with_shared_masses(mesh, basis, media, &numbering, &needs);
            let top = most(&values);
            needs
                .iter_mut()
                .zip(&values)
                .for_each(|(need, value)| *need *= value / top);
            if top < most(&best) {
                best = values;
            }
        }
    }
    best
}

/// The largest eigenvalue of every element by itself.
pub(super) fn eigenvalues<'a, const D: usize>(
    mesh: &Mesh<D>,
    basis: &Basis,
    media: impl Into<Media<'a, D>>,
) -> Vec<f64> {
    let (table, media) = (Tabulated::new(mesh.order(), basis), media.into());
    let mut order: Vec<(u128, u32)> = (0..mesh.len())
        .into_par_iter()
        .map(|element| {
            let own = media.of(mesh, &table, element);
            (likeness(mesh, element, &own), element as u32)
        })
        .collect();
    order.par_sort_unstable();
    // Equal elements are computed once.
    let groups: Vec<&[(u128, u32)]> = order.chunk_by(|a, b| a.0 == b.0).collect();
    let found: Vec<f64> = groups
        .par_iter()
        .map(|group| {
            let element = group[0].1 as usize;
            let own = media.of(mesh, &table, element);
            largest_eigenvalue(&table, basis, &mesh.coordinates(element), &own)
        })
        .collect();
    let mut values = vec![0.0; mesh.len()];
    for (group, value) in groups.iter().zip(found) {
        group
            .iter()
            .for_each(|(_, element)| values[*element as usize] = value);
    }
    values
}

/// The largest eigenvalue of every element when the whole mass of each point is shared out to its elements by what they
/// need a unit of their own mass. Any shares bound the mesh; these bring a stiff element among heavy ones
/// near to the truth.
fn with_shared_masses<const D: usize>(
    mesh: &Mesh<D>,
    basis: &Basis,
    media: Media<D>,
    numbering: &Numbering,
    needs: &[f64],
) -> Vec<f64> {
    let table = Tabulated::new(mesh.order(), basis);
    let is_fluid = |own: &[Medium]| matches!(own[0].law, Law::Fluid(_));
    // Mass and need of every point: a fluid and a solid that meet have each their own.
    let mut sums = vec![[[0.0; 2]; 2]; numbering.points()];
    for element in 0..mesh.len() {
        let own = media.of(mesh, &table, element);
        let mass = masses(&table, &table.element(&mesh.coordinates(element)), &own);
        for (point, mass) in numbering.element(element).iter().zip(mass) {
            let sum = &mut sums[*point as usize][usize::from(is_fluid(&own))];
            sum[0] += mass;
            sum[1] += mass * needs[element];
        }
    }
    let value = |element: usize| {
        let own = media.of(mesh, &table, element);
        let at_points = table.element(&mesh.coordinates(element));
        let mut mass = masses(&table, &at_points, &own);
        for (mass, point) in mass.iter_mut().zip(numbering.element(element)) {
            let [all, need] = sums[*point as usize][usize::from(is_fluid(&own))];
            *mass *= needs[element] * all / need;
        }
        eigenvalue(&table, basis, at_points, &own, mass)
    };
    (0..mesh.len()).into_par_iter().map(value).collect()
}

/// How often the masses are shared out anew: what an element lacks shows in its eigenvalue.
const ROUNDS_OF_SHARING: usize = 6;

/// A number that elements of the same shape and media have in common: coordinates relative to the first node, in
/// parts of a millionth of a diagonal. At 128 bits two others meet once in 10^25 meshes.
fn likeness<const D: usize>(mesh: &Mesh<D>, element: usize, media: &[Medium]) -> u128 {
    let nodes = mesh.coordinates(element);
    let size = length(difference(nodes[0], nodes[(1 << D) - 1]));
    // The size keeps 20 bits of its fraction, as the shape does.
    let digits = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, (size.to_bits() + (1 << 31)) >> 32).hash(&mut hasher);
        media.iter().for_each(|medium| medium.hash(&mut hasher));
        for x in &nodes {
            difference(*x, nodes[0])
                .map(|c| (c / size * 1e6).round() as i64)
                .hash(&mut hasher);
        }
        u128::from(hasher.finish())
    };
    digits(1) << 64 | digits(2)
}

/// Steps of Lanczos' method at most.
const MOST_ROUNDS: usize = 80;
/// What is accepted as the residual, as a part of the eigenvalue.
const RESIDUAL: f64 = 2e-3;

/// An upper bound of the largest eigenvalue (1/s2) of mass^-1 stiffness of one element by itself: Lanczos' value and
/// its residual. A solid moves by its displacement, a fluid by a potential. `media` is one medium, or one for each point.
pub fn largest_eigenvalue<const D: usize>(
    table: &Tabulated<D>,
    basis: &Basis,
    nodes: &[[f64; D]],
    media: &[Medium],
) -> f64 {
    let element = table.element(nodes);
    let mass = masses(table, &element, media);
    eigenvalue(table, basis, element, media, mass)
}

/// What multiplies the second derivative of the field in a unit volume.
fn inertia(medium: &Medium) -> f64 {
    match medium.law {
        Law::Fluid(modulus) => 1.0 / modulus,
        _ => medium.density,
    }
}

/// The medium of a point, where there is one for all points or one each.
fn at(media: &[Medium], point: usize) -> &Medium {
    &media[point.min(media.len() - 1)]
}

/// What an element alone adds to the mass of its points.
fn masses<const D: usize>(table: &Tabulated<D>, element: &Element<D>, media: &[Medium]) -> Vec<f64> {
    let volumes = table.weights().iter().zip(&element.determinant);
    volumes
        .enumerate()
        .map(|(point, (weight, jacobian))| weight * jacobian * inertia(at(media, point)))
        .collect()
}

/// The largest eigenvalue of an element whose points have these masses.
fn eigenvalue<const D: usize>(
    table: &Tabulated<D>,
    basis: &Basis,
    element: Element<D>,
    media: &[Medium],
    mass: Vec<f64>,
) -> f64 {
    match &media[0].law {
        Law::Fluid(_) => lanczos(&Operator {
            element,
            table,
            basis,
            mass,
            flux: |point: usize, gradient: &[[f64; D]; 1]| {
                gradient.map(|row| row.map(|x| x / at(media, point).density))
            },
        }),
        _ => lanczos(&Operator {
            element,
            table,
            basis,
            mass,
            flux: |point: usize, gradient: &[[f64; D]; D]| at(media, point).law.stress(gradient),
        }),
    }
}

/// The largest eigenvalue of an element, from above.
fn lanczos<const D: usize, const F: usize, X>(operator: &Operator<D, X>) -> f64
where
    X: Fn(usize, &[[f64; D]; F]) -> [[f64; D]; F],
{
    let points = operator.table.points();
    // A start that no symmetry of the element is orthogonal to.
    let scatter = |k: usize| ((k as f64 + 1.0) * 0.618_033_988_749_894_9).fract() - 0.5;
    let mut now: Vec<[f64; F]> = (0..points)
        .map(|p| std::array::from_fn(|i| scatter(p * F + i)))
        .collect();
    let mut before = vec![[0.0; F]; points];
    let size = norm(&now);
    scale(&mut now, 1.0 / size);
    let (mut diagonal, mut side) = (Vec::new(), vec![0.0]);
    let mut bound = 0.0;
    for round in 1..=MOST_ROUNDS {
        let mut next = operator.apply(&now);
        let alpha: f64 = next
            .iter()
            .flatten()
            .zip(now.iter().flatten())
            .map(|(a, b)| a * b)
            .sum();
        let beta: f64 = side[round - 1];
        for ((n, m), b) in next.iter_mut().zip(&now).zip(&before) {
            *n = std::array::from_fn(|i| n[i] - alpha * m[i] - beta * b[i]);
        }
        let left = norm(&next);
        diagonal.push(alpha);
        side.push(left);
        let (value, residual) = largest_of_tridiagonal(&diagonal, &side);
        bound = value + residual;
        if left <= 1e-12 * value || residual <= RESIDUAL * value {
            break;
        }
        scale(&mut next, 1.0 / left);
        before = std::mem::replace(&mut now, next);
    }
    bound
}

fn norm<const D: usize>(v: &[[f64; D]]) -> f64 {
    v.iter().flatten().map(|x| x * x).sum::<f64>().sqrt()
}

fn scale<const D: usize>(v: &mut [[f64; D]], by: f64) {
    v.iter_mut().flatten().for_each(|x| *x *= by);
}

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection, and the residual of its vector in Lanczos'
/// method; `side[k]` couples rows k-1 and k, its last entry goes beyond the matrix.
fn largest_of_tridiagonal(diagonal: &[f64], side: &[f64]) -> (f64, f64) {
    let n = diagonal.len();
    let radius = |k: usize| if k + 1 < n { side[k] + side[k + 1] } else { side[k] };
    let mut low = diagonal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut high = (0..n).map(|k| diagonal[k] + radius(k)).fold(low, f64::max);
    // Sturm: no pivot of (x - T) is below zero exactly when x is above all eigenvalues.
    let above = |x: f64| {
        let mut pivot = 1.0;
        (0..n).all(|k| {
            let coupling = if k == 0 { 0.0 } else { side[k] * side[k] / pivot };
            pivot = x - diagonal[k] - coupling;
            pivot > 0.0
        })
    };
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        *(if above(middle) { &mut high } else { &mut low }) = middle;
    }
    // The vector by its recurrence from the last row upwards, where it is stable for the largest eigenvalue.
    let mut vector = vec![0.0; n];
    vector[0] = 1.0;
    if n > 1 {
        vector[1] = (high - diagonal[0]) / side[1].max(f64::MIN_POSITIVE);
    }
    for k in 1..n.saturating_sub(1) {
        vector[k + 1] =
            ((high - diagonal[k]) * vector[k] - side[k] * vector[k - 1]) / side[k + 1].max(f64::MIN_POSITIVE);
    }
    let size = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let last = vector[n - 1] / size;
    (high, side[n] * if last.is_finite() { last.abs() } else { 1.0 })
}

/// One element: mass^-1/2 stiffness mass^-1/2 of a field.
struct Operator<'a, const D: usize, X> {
    element: Element<D>,
    table: &'a Tabulated<D>,
    basis: &'a Basis,
    /// Mass of every point.
    mass: Vec<f64>,
    /// From the gradient `[i][c]` of the field at a point to its flux.
    flux: X,
}

impl<const D: usize, X> Operator<'_, D, X> {
    fn weight(&self, point: usize) -> f64 {
        self.table.weights()[point] * self.element.determinant[point]
    }

    fn apply<const F: usize>(&self, x: &[[f64; F]]) -> Vec<[f64; F]>
    where
        X: Fn(usize, &[[f64; D]; F]) -> [[f64; D]; F],
    {
        let root: Vec<f64> = self.mass.iter().map(|m| m.sqrt()).collect();
        let u: Vec<[f64; F]> = x.iter().zip(&root).map(|(v, root)| v.map(|c| c / root)).collect();
        let fluxes: Vec<[[f64; F]; D]> = (0..u.len()).map(|q| self.flux_along(&u, q)).collect();
        let n = self.basis.len();
        let mut force = vec![[0.0; F]; u.len()];
        for p in 0..u.len() {
            for a in 0..D {
                let (first, stride, at) = line(p, a, n);
                for q in 0..n {
                    let d = self.basis.derivative(q, at);
                    (0..F).for_each(|i| force[p][i] += d * fluxes[first + q * stride][a][i]);
                }
            }
            force[p] = force[p].map(|f| f / root[p]);
        }
        force
    }

    /// Weighted flux through the surfaces on which each coordinate of the cell is constant: `[a][i]`.
    fn flux_along<const F: usize>(&self, u: &[[f64; F]], point: usize) -> [[f64; F]; D]
    where
        X: Fn(usize, &[[f64; D]; F]) -> [[f64; D]; F],
    {
        let n = self.basis.len();
        let mut slopes = [[0.0; F]; D];
        for a in 0..D {
            let (first, stride, at) = line(point, a, n);
            for p in 0..n {
                let d = self.basis.derivative(at, p);
                (0..F).for_each(|i| slopes[a][i] += d * u[first + p * stride][i]);
            }
        }
        let inverse = &self.element.inverse[point];
        let gradient: [[f64; D]; F] = std::array::from_fn(|i| {
            std::array::from_fn(|c| (0..D).map(|a| inverse[a][c] * slopes[a][i]).sum())
        });
        let flux = (self.flux)(point, &gradient);
        let weight = self.weight(point);
        std::array::from_fn(|a| {
            std::array::from_fn(|i| weight * (0..D).map(|c| inverse[a][c] * flux[i][c]).sum::<f64>())
        })
    }
}

/// The line of points through `point` along an axis: its first point, its stride, and where `point` is on it.
fn line(point: usize, axis: usize, n: usize) -> (usize, usize, usize) {
    let stride = n.pow(axis as u32);
    let at = point / stride % n;
    (point - at * stride, stride, at)
}
