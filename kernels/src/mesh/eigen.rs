//! The largest eigenvalue of mass^-1 stiffness of single elements, computed for several elements at once in vector
//! lanes.
//!
//! The Lanczos method in double precision yields an approximate eigenvalue; adding its residual gives an upper bound.
//! The field is the displacement in solids, and a scalar potential in fluids.

use std::borrow::Cow;
use std::collections::BTreeSet;

use pulp::{Simd, WithSimd};

use super::Basis;
use super::contact::Matrix;
use super::geometry::Element;
use super::medium::{Law, Medium, VOIGT};
use super::tridiagonal::Search;
use crate::device::simd::{Lane, Real, WIDEST};

/// Largest number of Lanczos iterations.
pub(super) const MOST_ROUNDS: usize = 80;
/// Residual at which the iteration ends, as a fraction of the eigenvalue.
pub(super) const RESIDUAL: f64 = 2e-3;

/// A single element of two or three dimensions.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// `[point][a][c]`: `du_a / dx_c`.
    inverse: Vec<f64>,
    /// Jacobian determinant at every point.
    determinant: Vec<f64>,
    /// One medium for all points, or one medium for each point.
    pub(super) media: Cow<'a, [Medium]>,
    /// Mass of every point.
    pub(super) mass: Vec<f64>,
    /// Points of a solid on contacts with a fluid, with the additional stiffness divided by the mass.
    pub(super) contacts: Vec<(usize, Matrix)>,
}

impl<'a> Piece<'a> {
    /// An element at the points of a basis, with its media and the mass of every point.
    pub(super) fn new<const D: usize>(element: Element<D>, media: Cow<'a, [Medium]>, mass: Vec<f64>) -> Self {
        Self {
            inverse: element.inverse.into_flattened().into_flattened(),
            determinant: element.determinant,
            media,
            mass,
            contacts: Vec::new(),
        }
    }

    fn medium(&self, point: usize) -> &Medium {
        at(&self.media, point)
    }

    fn kind(&self) -> Kind {
        let tables = |m: &Medium| matches!(m.law, Law::Anisotropic(_));
        match &self.media[0].law {
            Law::Fluid(_) => Kind::Fluid,
            _ if self.media.iter().any(tables) => Kind::Table,
            _ => Kind::Isotropic,
        }
    }
}

/// The medium of a point. The list contains one medium for all points, or one medium per point.
pub(super) fn at(media: &[Medium], point: usize) -> &Medium {
    &media[point.min(media.len() - 1)]
}

/// Constitutive law of an element.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Isotropic,
    Table,
    Fluid,
}

/// Upper bounds of the largest eigenvalues (1/s2) of elements; `weights` are the quadrature weights of the points. The
/// function is not generic, so that its long formulas are compiled only here.
pub(super) fn largest(weights: &[f64], basis: &Basis, pieces: &[Piece<'_>]) -> Vec<f64> {
    let flat = weights.len() == basis.len() * basis.len();
    if flat {
        largest_of::<2>(weights, basis, pieces)
    } else {
        largest_of::<3>(weights, basis, pieces)
    }
}

fn largest_of<const D: usize>(weights: &[f64], basis: &Basis, pieces: &[Piece<'_>]) -> Vec<f64> {
    let mut values = vec![0.0; pieces.len()];
    for kind in [Kind::Isotropic, Kind::Table, Kind::Fluid] {
        let own: Vec<usize> = (0..pieces.len()).filter(|k| pieces[*k].kind() == kind).collect();
        if !own.is_empty() {
            pulp::Arch::new().dispatch(Lots::<D> {
                weights,
                basis,
                kind,
                pieces,
                own: &own,
                values: &mut values,
            });
        }
    }
    values
}

/// All elements of one kind.
struct Lots<'a, const D: usize> {
    weights: &'a [f64],
    basis: &'a Basis,
    kind: Kind,
    pieces: &'a [Piece<'a>],
    own: &'a [usize],
    values: &'a mut [f64],
}

impl<const D: usize> WithSimd for Lots<'_, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for own in self.own.chunks(f64::lanes::<S>()) {
            let pieces: Vec<&Piece> = own.iter().map(|k| &self.pieces[*k]).collect();
            let cell = Cell::<S, D>::new(simd, self.weights, self.basis, &pieces);
            // For degree 4, the usual degree, loops have constant lengths if there are vector instructions.
            let known = self.basis.len() == 5 && f64::lanes::<S>() > 1;
            let eigenvalues = match (self.kind, known) {
                (Kind::Isotropic, true) => lanczos::<S, Isotropic, D, D, 5>(simd, cell, &pieces),
                (Kind::Isotropic, false) => lanczos::<S, Isotropic, D, D, 0>(simd, cell, &pieces),
                (Kind::Table, true) => lanczos::<S, Table, D, D, 5>(simd, cell, &pieces),
                (Kind::Table, false) => lanczos::<S, Table, D, D, 0>(simd, cell, &pieces),
                (Kind::Fluid, true) => lanczos::<S, Light, D, 1, 5>(simd, cell, &pieces),
                (Kind::Fluid, false) => lanczos::<S, Light, D, 1, 0>(simd, cell, &pieces),
            };
            own.iter()
                .zip(eigenvalues)
                .for_each(|(k, value)| self.values[*k] = value);
        }
    }
}

type Number<S> = Lane<S, f64>;
/// The components of a field at a point.
type Vector<S, const F: usize> = [Number<S>; F];

/// Geometry and masses of the elements in the lanes of a register; unused lanes repeat the last element.
struct Cell<S: Simd, const D: usize> {
    /// Number of points along an axis.
    along: usize,
    /// `[q * along + p]`: derivative at point q of the Lagrange polynomial of point p.
    derivative: Vec<Number<S>>,
    /// `du_a / dx_c` at every point.
    inverse: Vec<[[Number<S>; D]; D]>,
    /// Inverse square root of the mass of every point.
    root: Vec<Number<S>>,
    /// Weight times Jacobian determinant at every point, `[point][lane]`.
    volume: Vec<[f64; WIDEST]>,
    /// Points that lie on contacts in any lane, with the additional stiffness divided by the mass.
    contacts: Vec<(usize, [[Number<S>; 3]; 3])>,
}

impl<S: Simd, const D: usize> Cell<S, D> {
    #[inline(always)]
    fn new(simd: S, weights: &[f64], basis: &Basis, pieces: &[&Piece]) -> Self {
        let (along, last) = (basis.len(), pieces.len() - 1);
        let of = |lane: usize| pieces[lane.min(last)];
        let points = 0..weights.len();
        let inverse = |point: usize| {
            std::array::from_fn(|a| {
                std::array::from_fn(|c| Lane::from_fn(simd, |lane| of(lane).inverse[(point * D + a) * D + c]))
            })
        };
        Self {
            along,
            derivative: (0..along * along)
                .map(|k| Lane::splat(simd, basis.derivative(k / along, k % along)))
                .collect(),
            inverse: points.clone().map(inverse).collect(),
            root: points
                .clone()
                .map(|point| Lane::from_fn(simd, |lane| 1.0 / of(lane).mass[point].sqrt()))
                .collect(),
            volume: points
                .map(|point| std::array::from_fn(|lane| weights[point] * of(lane).determinant[point]))
                .collect(),
            contacts: contacts(simd, pieces),
        }
    }
}

/// The points on contacts of these elements.
fn contacts<S: Simd>(simd: S, pieces: &[&Piece]) -> Vec<(usize, [[Number<S>; 3]; 3])> {
    let all = pieces.iter().flat_map(|piece| &piece.contacts);
    let points: BTreeSet<usize> = all.map(|(point, _)| *point).collect();
    let last = pieces.len() - 1;
    let of = |lane: usize, point: usize, [i, k]: [usize; 2]| {
        let own = &pieces[lane.min(last)].contacts;
        let index = own.binary_search_by_key(&point, |entry| entry.0);
        index.map_or(0.0, |at| own[at].1[i][k])
    };
    let matrix = |point: usize| {
        std::array::from_fn(|i| std::array::from_fn(|k| Lane::from_fn(simd, |lane| of(lane, point, [i, k]))))
    };
    points.into_iter().map(|point| (point, matrix(point))).collect()
}

/// A constitutive law: the flux (stress) that follows from the gradient of a field and `NUMBERS` coefficients per
/// point.
trait Flux<S: Simd, const D: usize, const F: usize> {
    const NUMBERS: usize;

    /// A coefficient of a medium, by its index.
    fn number(medium: &Medium, place: usize) -> f64;

    /// The flux for a gradient `[i][c]` at a point with these coefficients.
    fn of(simd: S, numbers: &[Number<S>], gradient: &[[Number<S>; D]; F]) -> [[Number<S>; D]; F];
}

/// Hooke's law with the Lame constants.
struct Isotropic;

impl<S: Simd, const D: usize> Flux<S, D, D> for Isotropic {
    const NUMBERS: usize = 2;

    fn number(medium: &Medium, place: usize) -> f64 {
        match &medium.law {
            Law::Isotropic { lambda, mu } => [*lambda, *mu][place],
            _ => 0.0,
        }
    }

    #[inline(always)]
    fn of(_: S, numbers: &[Number<S>], gradient: &[[Number<S>; D]; D]) -> [[Number<S>; D]; D] {
        let [lambda, mu] = [numbers[0], numbers[1]];
        let mut trace = gradient[0][0];
        (1..D).for_each(|i| trace = trace + gradient[i][i]);
        let mut stress = [[lambda * trace; D]; D];
        for i in 0..D {
            stress[i][i] = mu.mul_add(gradient[i][i] + gradient[i][i], stress[i][i]);
            for c in i + 1..D {
                stress[i][c] = mu * (gradient[i][c] + gradient[c][i]);
                stress[c][i] = stress[i][c];
            }
        }
        stress
    }
}

/// Hooke's law with the 36 entries of the Voigt matrix, of which only the entries for x and z are used in 2-D.
struct Table;

impl<S: Simd, const D: usize> Flux<S, D, D> for Table {
    const NUMBERS: usize = 36;

    fn number(medium: &Medium, place: usize) -> f64 {
        let (row, column) = (place / 6, place % 6);
        match &medium.law {
            Law::Anisotropic(c) => c[row][column],
            Law::Isotropic { lambda, mu } => {
                let shear = if row == column { *mu } else { 0.0 };
                match (row < 3, column < 3) {
                    (true, true) => lambda + 2.0 * shear,
                    _ => shear,
                }
            }
            Law::Fluid(_) => 0.0,
        }
    }

    #[inline(always)]
    fn of(simd: S, numbers: &[Number<S>], gradient: &[[Number<S>; D]; D]) -> [[Number<S>; D]; D] {
        // The axis of space that belongs to axis c of the mesh: z is the last axis in both.
        let axis = |c: usize| if D == 2 { 2 * c } else { c };
        let mut stress = *gradient;
        for i in 0..D {
            for c in i..D {
                let row = 6 * VOIGT[axis(i)][axis(c)];
                let mut sum = Lane::splat(simd, 0.0);
                for k in 0..D {
                    for l in k..D {
                        // Shear strains in Voigt notation are twice the tensor components.
                        let strain = if k == l {
                            gradient[k][k]
                        } else {
                            gradient[k][l] + gradient[l][k]
                        };
                        sum = numbers[row + VOIGT[axis(k)][axis(l)]].mul_add(strain, sum);
                    }
                }
                (stress[i][c], stress[c][i]) = (sum, sum);
            }
        }
        stress
    }
}

/// A fluid: the flux is the gradient of the potential divided by the density.
struct Light;

impl<S: Simd, const D: usize> Flux<S, D, 1> for Light {
    const NUMBERS: usize = 1;

    fn number(medium: &Medium, _: usize) -> f64 {
        1.0 / medium.density
    }

    #[inline(always)]
    fn of(_: S, numbers: &[Number<S>], gradient: &[[Number<S>; D]; 1]) -> [[Number<S>; D]; 1] {
        let mut flux = *gradient;
        (0..D).for_each(|c| flux[0][c] = numbers[0] * gradient[0][c]);
        flux
    }
}

/// Upper bounds of the largest eigenvalues of the elements in the lanes of a register.
#[inline(always)]
fn lanczos<S: Simd, L: Flux<S, D, F>, const D: usize, const F: usize, const N: usize>(
    simd: S,
    cell: Cell<S, D>,
    pieces: &[&Piece],
) -> [f64; WIDEST] {
    let (points, last) = (cell.root.len(), pieces.len() - 1);
    let numbers: Vec<Number<S>> = (0..points * L::NUMBERS)
        .map(|k| {
            let (point, place) = (k / L::NUMBERS, k % L::NUMBERS);
            Lane::from_fn(simd, |lane| {
                L::number(pieces[lane.min(last)].medium(point), place) * cell.volume[point][lane]
            })
        })
        .collect();
    let zero = Lane::splat(simd, 0.0);
    // The starting vector must not be orthogonal to any mode, however symmetric the element is.
    let scatter = |k: usize| ((k as f64 + 1.0) * 0.618_033_988_749_894_9).fract() - 0.5;
    let size = (0..points * F)
        .map(|k| scatter(k) * scatter(k))
        .sum::<f64>()
        .sqrt();
    let mut now: Vec<[Number<S>; F]> = (0..points)
        .map(|p| std::array::from_fn(|i| Lane::splat(simd, scatter(p * F + i) / size)))
        .collect();
    let (mut before, mut next) = (vec![[zero; F]; points], vec![[zero; F]; points]);
    let mut flux = vec![[[zero; F]; D]; points];
    let mut search = Search::new(pieces.len());
    let mut beta = zero;
    for round in 1..=MOST_ROUNDS {
        apply::<S, L, D, F, N>(simd, (&cell, &numbers), (&now, &mut next), &mut flux);
        let mut alpha = zero;
        for (n, m) in next.iter().zip(&now) {
            (0..F).for_each(|i| alpha = n[i].mul_add(m[i], alpha));
        }
        let mut left = zero;
        for ((n, m), b) in next.iter_mut().zip(&now).zip(&before) {
            for i in 0..F {
                n[i] = n[i] - alpha * m[i] - beta * b[i];
                left = n[i].mul_add(n[i], left);
            }
        }
        let left = left.numbers().map(f64::sqrt);
        if search.ends(round, &alpha.numbers(), &left) {
            break;
        }
        beta = Lane::from_fn(simd, |lane| left[lane]);
        let inverse = Lane::from_fn(simd, |lane| 1.0 / left[lane].max(f64::MIN_POSITIVE));
        for n in &mut next {
            (0..F).for_each(|i| n[i] = n[i] * inverse);
        }
        // `now` becomes `before`, `next` becomes `now`, and the old `before` is overwritten.
        std::mem::swap(&mut before, &mut now);
        std::mem::swap(&mut now, &mut next);
    }
    search.values
}

/// Multiplies a field by mass^-1/2 stiffness mass^-1/2.
#[inline(always)]
fn apply<S: Simd, L: Flux<S, D, F>, const D: usize, const F: usize, const N: usize>(
    simd: S,
    (cell, numbers): (&Cell<S, D>, &[Number<S>]),
    (field, force): (&[Vector<S, F>], &mut [Vector<S, F>]),
    flux: &mut [[[Number<S>; F]; D]],
) {
    let n = if N > 0 { N } else { cell.along };
    let zero = Lane::splat(simd, 0.0);
    // `force` first holds the field divided by the square roots of the masses.
    for ((u, x), root) in force.iter_mut().zip(field).zip(&cell.root) {
        (0..F).for_each(|i| u[i] = x[i] * *root);
    }
    for (point, flux) in flux.iter_mut().enumerate() {
        let mut slopes = [[zero; F]; D];
        for (a, slopes) in slopes.iter_mut().enumerate() {
            let (first, stride, at) = line(point, a, n);
            for p in 0..n {
                let (d, u) = (cell.derivative[at * n + p], &force[first + p * stride]);
                (0..F).for_each(|i| slopes[i] = d.mul_add(u[i], slopes[i]));
            }
        }
        let inverse = &cell.inverse[point];
        let mut gradient = [[zero; D]; F];
        for (i, row) in gradient.iter_mut().enumerate() {
            for (c, entry) in row.iter_mut().enumerate() {
                (0..D).for_each(|a| *entry = inverse[a][c].mul_add(slopes[a][i], *entry));
            }
        }
        let own = &numbers[point * L::NUMBERS..(point + 1) * L::NUMBERS];
        let of_medium = L::of(simd, own, &gradient);
        for (a, flux) in flux.iter_mut().enumerate() {
            for (i, flux) in flux.iter_mut().enumerate() {
                *flux = zero;
                (0..D).for_each(|c| *flux = inverse[a][c].mul_add(of_medium[i][c], *flux));
            }
        }
    }
    for (point, force) in force.iter_mut().enumerate() {
        let mut sum = [zero; F];
        for a in 0..D {
            let (first, stride, at) = line(point, a, n);
            for q in 0..n {
                let (d, flux) = (cell.derivative[q * n + at], &flux[first + q * stride][a]);
                (0..F).for_each(|i| sum[i] = d.mul_add(flux[i], sum[i]));
            }
        }
        (0..F).for_each(|i| force[i] = sum[i] * cell.root[point]);
    }
    for (point, stiff) in &cell.contacts {
        for (i, row) in stiff.iter().enumerate().take(F) {
            for (k, entry) in row.iter().enumerate().take(F) {
                force[*point][i] = entry.mul_add(field[*point][k], force[*point][i]);
            }
        }
    }
}

/// The line of points through `point` along an axis: its first point, its stride, and the index of `point` on it.
#[inline(always)]
fn line(point: usize, axis: usize, n: usize) -> (usize, usize, usize) {
    let stride = n.pow(axis as u32);
    let at = point / stride % n;
    (point - at * stride, stride, at)
}
