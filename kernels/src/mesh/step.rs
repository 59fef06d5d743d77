//! The largest stable time step of a mesh, bounded by the eigenvalues of single elements.
//!
//! The mass and the stiffness of a mesh are sums over elements, so that no eigenvalue of the mesh exceeds the largest
//! one of all single elements (Irons & Treharne 1971), however the mass of a point is distributed over its elements.
//! Explicit Newmark steps are stable for dt <= 2 / omega, hence for a dt below the bounds of all elements. This holds
//! for any medium and any shape; on regular meshes the bound is some 15 % below the true limit. `contact.rs` adds the
//! coupling of fluids and solids.
//!
//! If masses are redistributed, the eigenvalue of an element changes at most by the largest factor by which the masses
//! of its points change. Many eigenvalues are therefore known within narrow bounds without computation, or known to be
//! far below the largest one (`Rule`).

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use rayon::prelude::*;

use super::contact::{Contacts, Matrix};
use super::eigen::{self, Piece, RESIDUAL, at};
use super::geometry::{Element, Tabulated, difference, length};
use super::shares::Masses;
use super::{Basis, Mesh, Numbering};

pub use super::medium::{Law, Media, Medium};

/// The bound of the time step on a mesh.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The largest step (s) that is guaranteed to be stable.
    pub limit: f64,
    /// The element that sets the limit: among the elements whose step is close to it, the one with the largest
    /// eigenvalue before masses are redistributed.
    pub element: usize,
    /// A stable step (s) of every element. The smallest is the limit; values close to it are accurate, and the others
    /// are lower bounds.
    pub each: Vec<f64>,
}

/// Elements whose step is at most this factor above the smallest one set the bound together: a stiff element takes
/// mass from its neighbours until their steps are as small as its own.
const NEAR: f64 = 1.05;

/// The largest stable step of a mesh, and the element that sets it. `media` is one medium for each region or a
/// function of position.
pub fn bound<'a, const D: usize>(mesh: &Mesh<D>, basis: &Basis, media: impl Into<Media<'a, D>>) -> Bound {
    bound_with(mesh, basis, media.into(), Rule::Needed)
}

/// Like [`bound`], with a rule for the elements whose eigenvalues are computed.
pub(super) fn bound_with<const D: usize>(
    mesh: &Mesh<D>,
    basis: &Basis,
    media: Media<D>,
    rule: Rule,
) -> Bound {
    let mut filled = Filled::new(mesh, basis, media);
    filled.choose_share();
    bound_of(&Whole::new(&filled, basis), rule)
}

fn bound_of(whole: &Whole<'_>, rule: Rule) -> Bound {
    let alone = whole.eigenvalues();
    let each: Vec<f64> = whole
        .shared(&alone, rule)
        .iter()
        .map(|value| 2.0 / value.sqrt())
        .collect();
    let limit = each.iter().copied().fold(f64::INFINITY, f64::min);
    let near = (0..each.len()).filter(|e| each[*e] <= NEAR * limit);
    // If several steps are equal, the first element is chosen.
    let element = near.reduce(|best, e| if alone[e] > alone[best] { e } else { best });
    Bound {
        limit,
        element: element.unwrap_or(0),
        each,
    }
}

/// A stable step (s) of every element, as in [`Bound::each`]. The smallest is the bound of the mesh.
pub fn steps<'a, const D: usize>(mesh: &Mesh<D>, basis: &Basis, media: impl Into<Media<'a, D>>) -> Vec<f64> {
    bound(mesh, basis, media).each
}

/// Relative accuracy of the eigenvalues of softer elements, which determine the mass that they give to stiff
/// neighbours.
const LOOSE: f64 = 0.03;

/// The elements whose eigenvalues are computed after masses are redistributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// Elements that may have the largest eigenvalue, and those whose eigenvalue is known only within wide bounds.
    Needed,
    /// Elements whose eigenvalue may be close to the largest one.
    Near,
    /// All elements, which takes a long time.
    #[cfg(test)]
    All,
}

impl Rule {
    /// The lowest eigenvalue of interest if the largest one known so far is `top`.
    fn lowest(self, top: f64) -> f64 {
        match self {
            Self::Needed => top,
            Self::Near => top / (NEAR * NEAR),
            #[cfg(test)]
            Self::All => f64::NEG_INFINITY,
        }
    }

    /// The relative width up to which an interval for an eigenvalue suffices below [`Rule::lowest`].
    fn loose(self) -> f64 {
        match self {
            Self::Needed => LOOSE,
            _ => f64::INFINITY,
        }
    }
}

/// Eigenvalues of elements after masses are redistributed.
struct Values {
    /// Upper bounds, tight where they matter.
    bounds: Vec<f64>,
    /// The eigenvalues, exact or estimated.
    likely: Vec<f64>,
}

impl Values {
    fn top(&self) -> f64 {
        most(&self.bounds)
    }
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The elements of a mesh of two or three dimensions with their media. Code that uses this trait is compiled only
/// once for both.
pub(super) trait Elements: Sync {
    fn count(&self) -> usize;
    /// Products of the quadrature weights, one for each point.
    fn weights(&self) -> &[f64];
    fn piece(&self, element: usize) -> Piece<'_>;
    /// A hash that is the same for equal elements.
    fn likeness(&self, element: usize) -> u128;
    /// Whether a fluid and a solid meet at a point of the element.
    fn is_on_contact(&self, element: usize) -> bool;
    /// The numbering of points; `None` if there are too many.
    fn numbering(&self) -> Option<Numbering>;
}

/// A mesh with its media.
struct Filled<'a, 'b, const D: usize> {
    mesh: &'a Mesh<D>,
    basis: &'a Basis,
    media: Media<'b, D>,
    table: Tabulated<D>,
    contacts: Contacts,
    /// The fraction d in `contact.rs` of a fluid's mass on contacts.
    share: f64,
}

/// Fractions d that are tried.
const SHARES: [f64; 6] = [0.08, 0.16, 0.28, 0.42, 0.58, 0.75];

impl<'a, 'b, const D: usize> Filled<'a, 'b, D> {
    fn new(mesh: &'a Mesh<D>, basis: &'a Basis, media: Media<'b, D>) -> Self {
        let mut filled = Self {
            table: Tabulated::new(mesh.order(), basis),
            mesh,
            basis,
            media,
            contacts: Contacts::default(),
            share: 0.5,
        };
        let fluids = filled.fluids();
        let meets = fluids.contains(&Some(true)) && fluids.contains(&Some(false));
        if let Some(numbering) = filled.numbering().filter(|_| meets) {
            let is_fluid = |element: usize| fluids[mesh.regions()[element] as usize] == Some(true);
            let masses = |element: usize| filled.piece(element).mass;
            filled.contacts = Contacts::of(mesh, (&filled.table, &numbering), is_fluid, masses);
        }
        filled
    }

    /// Whether each region is fluid; `None` for regions without elements.
    fn fluids(&self) -> Vec<Option<bool>> {
        let regions = self.mesh.regions();
        let count = regions.iter().map(|region| *region as usize + 1).max();
        let mut fluids = vec![None; count.unwrap_or(0)];
        for (element, region) in regions.iter().enumerate() {
            let known = &mut fluids[*region as usize];
            if known.is_none() {
                let media = self.media.of(self.mesh, &self.table, element);
                *known = Some(matches!(media[0].law, Law::Fluid(_)));
            }
        }
        fluids
    }

    /// Chooses the fraction d that allows the largest step of the elements on contacts.
    fn choose_share(&mut self) {
        if self.contacts.is_empty() {
            return;
        }
        let mut own: Vec<(u128, u32)> = self
            .contacts
            .elements()
            .into_iter()
            .map(|element| (self.likeness(element as usize), element))
            .collect();
        own.sort_unstable();
        own.dedup_by_key(|entry| entry.0);
        let own: Vec<u32> = own.into_iter().map(|(_, element)| element).collect();
        let mut best = (f64::INFINITY, self.share);
        for share in SHARES {
            self.share = share;
            let top = most(&Whole::new(self, self.basis).look(&own, |_, _| {}));
            if top < best.0 {
                best = (top, share);
            }
        }
        self.share = best.1;
    }
}

impl<const D: usize> Elements for Filled<'_, '_, D> {
    fn count(&self) -> usize {
        self.mesh.len()
    }

    fn weights(&self) -> &[f64] {
        self.table.weights()
    }

    fn piece(&self, number: usize) -> Piece<'_> {
        let media = self.media.of(self.mesh, &self.table, number);
        let element = self.table.element(&self.mesh.coordinates(number));
        let mass = masses(&self.table, &element, &media);
        let mut piece = Piece::new(element, media, mass);
        let contacts = self.contacts.points(number);
        if matches!(piece.media[0].law, Law::Fluid(_)) {
            contacts
                .iter()
                .for_each(|(point, _)| piece.mass[*point] *= 1.0 - self.share);
        } else {
            let stiff =
                |(point, matrix): &(usize, Matrix)| (*point, matrix.map(|row| row.map(|x| x / self.share)));
            piece.contacts = contacts.iter().map(stiff).collect();
        }
        piece
    }

    fn likeness(&self, element: usize) -> u128 {
        let media = self.media.of(self.mesh, &self.table, element);
        likeness((self.mesh, element), &media, self.contacts.points(element))
    }

    fn is_on_contact(&self, element: usize) -> bool {
        !self.contacts.points(element).is_empty()
    }

    fn numbering(&self) -> Option<Numbering> {
        Numbering::new(self.mesh, self.basis).ok()
    }
}

/// All elements of a mesh, with their basis.
struct Whole<'a> {
    elements: &'a dyn Elements,
    basis: &'a Basis,
}

/// The largest eigenvalue of every single element.
#[cfg(test)]
pub(super) fn eigenvalues<'a, const D: usize>(
    mesh: &Mesh<D>,
    basis: &Basis,
    media: impl Into<Media<'a, D>>,
) -> Vec<f64> {
    Whole::new(&Filled::new(mesh, basis, media.into()), basis).eigenvalues()
}

impl<'a> Whole<'a> {
    fn new(elements: &'a dyn Elements, basis: &'a Basis) -> Self {
        Self { elements, basis }
    }

    /// Upper bounds of the largest eigenvalues after masses are redistributed to the elements that need them. `alone`
    /// holds the eigenvalues of single elements.
    fn shared(&self, alone: &[f64], rule: Rule) -> Vec<f64> {
        let least = alone.iter().copied().fold(f64::INFINITY, f64::min);
        // Redistribution gains nothing if all elements are nearly equal.
        if most(alone) <= 1.02 * least {
            return alone.to_vec();
        }
        let Some(numbering) = self.elements.numbering() else {
            return alone.to_vec();
        };
        let masses = Masses::of(self.elements, &numbering);
        let (mut needs, mut best) = (alone.to_vec(), None);
        let mut lowest = most(alone);
        for _ in 0..ROUNDS_OF_SHARING {
            let values = self.with_shared_masses(&masses, (alone, &needs), rule);
            let top = values.top();
            if top < lowest {
                (lowest, best) = (top, Some(needs.clone()));
            }
            needs
                .iter_mut()
                .zip(&values.likely)
                .for_each(|(need, value)| *need *= value / top);
        }
        match best {
            None => alone.to_vec(),
            Some(needs) => {
                let rule = if rule == Rule::Needed { Rule::Near } else { rule };
                self.with_shared_masses(&masses, (alone, &needs), rule).bounds
            }
        }
    }

    /// The largest eigenvalue of every single element.
    fn eigenvalues(&self) -> Vec<f64> {
        let mut order: Vec<(u128, u32)> = (0..self.elements.count())
            .into_par_iter()
            .map(|element| (self.elements.likeness(element), element as u32))
            .collect();
        order.par_sort_unstable();
        // Equal elements are computed once, for the first of them.
        let mut first: Vec<u32> = vec![0; order.len()];
        for group in order.chunk_by(|a, b| a.0 == b.0) {
            let of_group = group.iter();
            of_group.for_each(|(_, element)| first[*element as usize] = group[0].1);
        }
        drop(order);
        let own: Vec<u32> = (0..first.len() as u32)
            .filter(|e| first[*e as usize] == *e)
            .collect();
        let eigenvalues_of_own = self.look(&own, |_, _| {});
        let mut values = vec![0.0; first.len()];
        own.iter()
            .zip(eigenvalues_of_own)
            .for_each(|(element, value)| values[*element as usize] = value);
        first.iter().map(|element| values[*element as usize]).collect()
    }

    /// Computes the largest eigenvalues of some elements, after `change` has modified their masses.
    fn look(&self, elements: &[u32], change: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let some = |elements: &[u32]| {
            let pieces: Vec<Piece> = elements
                .iter()
                .map(|element| {
                    let element = *element as usize;
                    let mut piece = self.elements.piece(element);
                    change(element, &mut piece.mass);
                    piece
                })
                .collect();
            eigen::largest(self.elements.weights(), self.basis, &pieces)
        };
        elements.par_chunks(TOGETHER).flat_map_iter(some).collect()
    }

    /// Eigenvalues after the whole mass of each point is distributed over its elements in proportion to their needs
    /// per unit of their own mass. Any distribution bounds the mesh; this one gives a bound close to the true limit
    /// for stiff elements among heavy ones.
    fn with_shared_masses(&self, masses: &Masses, (alone, needs): (&[f64], &[f64]), rule: Rule) -> Values {
        let shares = masses.shares(needs);
        // If all factors of an element's masses are at least s, its eigenvalue grows by at most 1 / s; if all are at
        // most s, by at least 1 / s.
        let ends: Vec<[f64; 2]> = (0..alone.len())
            .into_par_iter()
            .map(|element| {
                let own = shares.of(element);
                // The additional stiffness of contacts does not depend on the factors.
                let start = match self.elements.is_on_contact(element) {
                    true => [1.0, 1.0],
                    false => [f64::INFINITY, 0.0],
                };
                let ends = own.fold(start, |[low, high]: [f64; 2], s| [low.min(s), high.max(s)]);
                ends.map(|s| alone[element] / s)
            })
            .collect();
        let mut values = Values {
            bounds: ends.iter().map(|[above, _]| *above).collect(),
            likely: ends.iter().map(|[above, below]| (above * below).sqrt()).collect(),
        };
        let above = |e: &u32| ends[*e as usize][0];
        let is_known = |e: &u32, part: f64| above(e) <= (1.0 + part) * ends[*e as usize][1];
        let (known, mut open): (Vec<u32>, Vec<u32>) =
            (0..alone.len() as u32).partition(|e| is_known(e, RESIDUAL));
        open.sort_unstable_by(|a, b| above(b).total_cmp(&above(a)).then(a.cmp(b)));
        let mut top = known.iter().map(above).fold(0.0, f64::max);
        // The stiffest elements come first. Softer ones are skipped if their interval is small enough.
        for some in open.chunks(AT_ONCE) {
            let matters = |e: &u32| above(e) > rule.lowest(top) || !is_known(e, rule.loose());
            let some: Vec<u32> = some.iter().copied().filter(matters).collect();
            let eigenvalues = self.look(&some, |element, mass| shares.apply(element, mass));
            for (element, value) in some.iter().zip(eigenvalues) {
                values.bounds[*element as usize] = value;
                values.likely[*element as usize] = value;
                top = top.max(value);
            }
        }
        values
    }
}

/// Number of elements whose eigenvalues a thread computes together.
const TOGETHER: usize = 8;
/// Number of elements after which the largest eigenvalue known so far is updated.
const AT_ONCE: usize = if cfg!(test) { 8 } else { 512 };

/// Number of times that masses are redistributed, each time by the eigenvalues of the previous one.
const ROUNDS_OF_SHARING: usize = 6;

/// A hash that is the same for elements of the same shape and media. It is computed from coordinates relative to the
/// first node, in millionths of the diagonal. With 128 bits, different elements have the same hash in one of 10^25
/// meshes.
fn likeness<const D: usize>(
    (mesh, element): (&Mesh<D>, usize),
    media: &[Medium],
    contacts: &[(usize, Matrix)],
) -> u128 {
    let nodes = mesh.coordinates(element);
    let size = length(difference(nodes[0], nodes[(1 << D) - 1]));
    // The size is rounded to 20 bits of its mantissa, about as accurately as the shape.
    let digits = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, (size.to_bits() + (1 << 31)) >> 32).hash(&mut hasher);
        media.iter().for_each(|medium| medium.hash(&mut hasher));
        for (point, matrix) in contacts {
            point.hash(&mut hasher);
            // These numbers are rounded like the size.
            let own = matrix
                .as_flattened()
                .iter()
                .map(|x| (x.to_bits() + (1 << 31)) >> 32);
            own.for_each(|bits| bits.hash(&mut hasher));
        }
        for x in &nodes {
            difference(*x, nodes[0])
                .map(|c| (c / size * 1e6).round() as i64)
                .hash(&mut hasher);
        }
        u128::from(hasher.finish())
    };
    digits(1) << 64 | digits(2)
}

/// An upper bound of the largest eigenvalue (1/s2) of mass^-1 stiffness of a single element: the Lanczos value plus its
/// residual. The field is the displacement in solids, and a scalar potential in fluids. `nodes` are in m; `media` is
/// one medium, or one for each point.
pub fn largest_eigenvalue<const D: usize>(
    table: &Tabulated<D>,
    basis: &Basis,
    nodes: &[[f64; D]],
    media: &[Medium],
) -> f64 {
    let element = table.element(nodes);
    let mass = masses(table, &element, media);
    let piece = Piece::new(element, media.into(), mass);
    eigen::largest(table.weights(), basis, &[piece])[0]
}

/// The factor of the second time derivative of the field per unit volume: the density of a solid, the compressibility
/// of a fluid.
fn inertia(medium: &Medium) -> f64 {
    match medium.law {
        Law::Fluid(modulus) => 1.0 / modulus,
        _ => medium.density,
    }
}

/// Contribution of an element to the masses of its points.
fn masses<const D: usize>(table: &Tabulated<D>, element: &Element<D>, media: &[Medium]) -> Vec<f64> {
    let volumes = table.weights().iter().zip(&element.determinant);
    volumes
        .enumerate()
        .map(|(point, (weight, jacobian))| weight * jacobian * inertia(at(media, point)))
        .collect()
}
