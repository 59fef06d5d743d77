//! The partition of a mesh into subdomains: their elements, their points, and the data that neighbours exchange.
//!
//! Elements are cut along the longest side of the mesh. A point belongs to every subdomain that has an element with
//! it, and each of them stores its fields. Contributions of elements to such a point are sent to all other subdomains
//! that have it, element by element, so that all of them add the same numbers in the same order.

use super::Number;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Setup, pml};
use crate::mesh::{Mesh, Numbering};
use crate::parallel::halo::{Link, Traffic};
use crate::{Error, Hint, message};

/// Marks points that a subdomain does not have.
const ELSEWHERE: u32 = u32::MAX;

/// The contribution of an element to a point that several subdomains have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    point: u32,
    element: u32,
    local: u32,
    owner: u32,
    is_fluid: bool,
}

/// A mesh with numbered points and partitioned elements.
pub(super) struct Cut {
    numbering: Numbering,
    /// The subdomain of every element.
    owner: Vec<u32>,
    /// Terms of all shared points, in the order of points and elements.
    terms: Vec<Term>,
    /// Whether any element is fluid, so that a step has a stage for fluids.
    has_fluid: bool,
}

/// The elements sorted by their centres along the longest side of the mesh.
fn along_the_longest_side<const D: usize>(mesh: &Mesh<D>) -> Vec<u32> {
    let bounds = |c: usize| {
        let all = mesh.nodes().iter().map(move |x| x[c]);
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| {
            [low.min(x), high.max(x)]
        })
    };
    let length = |c: &usize| {
        let [low, high] = bounds(*c);
        high - low
    };
    let axis = (0..D).max_by(|a, b| length(a).total_cmp(&length(b))).unwrap_or(0);
    let mut order: Vec<(f64, u32)> = (0..mesh.len())
        .map(|e| (mesh.centre(e)[axis], e as u32))
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|entry| entry.1).collect()
}

impl Cut {
    /// Numbers the points and assigns to every subdomain its range of the elements, sorted along the longest side.
    ///
    /// # Errors
    /// Returns an error for too many points, and for ranges that do not make up all elements.
    pub(super) fn new<const D: usize>(setup: &Setup<D>, parts: &[Range<usize>]) -> Result<Self, Error> {
        let mesh = setup.mesh;
        pml::check(setup)?;
        let numbering = Numbering::new(mesh, setup.basis)?;
        let mut end = 0;
        for part in parts {
            if part.start != end || part.is_empty() {
                return Err(Error::setup(message![
                    format!("{} subdomains do not fit {} elements; ", parts.len(), mesh.len()),
                    Hint::FewerSubdomains,
                ]));
            }
            end = part.end;
        }
        let mut owner = vec![0; mesh.len()];
        if parts.len() > 1 {
            let order = along_the_longest_side(mesh);
            for (number, part) in parts.iter().enumerate() {
                for element in &order[part.clone()] {
                    owner[*element as usize] = number as u32;
                }
            }
        }
        let mut cut = Self {
            has_fluid: (0..mesh.len()).any(|e| setup.is_fluid(e)),
            numbering,
            owner,
            terms: Vec::new(),
        };
        cut.terms = cut.shared(|e| setup.is_fluid(e));
        Ok(cut)
    }

    fn shared(&self, is_fluid: impl Fn(usize) -> bool) -> Vec<Term> {
        let mut first = vec![ELSEWHERE; self.numbering.points()];
        let mut several = vec![false; self.numbering.points()];
        for (element, owner) in self.owner.iter().enumerate() {
            for point in self.numbering.element(element) {
                let known = &mut first[*point as usize];
                several[*point as usize] |= *known != ELSEWHERE && known != owner;
                *known = *owner;
            }
        }
        let mut terms = Vec::new();
        for (element, owner) in self.owner.iter().enumerate() {
            for (local, point) in self.numbering.element(element).iter().enumerate() {
                if several[*point as usize] {
                    terms.push(Term {
                        point: *point,
                        element: element as u32,
                        local: local as u32,
                        owner: *owner,
                        is_fluid: is_fluid(element),
                    });
                }
            }
        }
        terms.sort_unstable();
        terms
    }

    /// Number of points of the whole mesh.
    pub(super) fn points(&self) -> usize {
        self.numbering.points()
    }

    /// Whether any element of the mesh is fluid.
    pub(super) fn has_fluid(&self) -> bool {
        self.has_fluid
    }

    /// The elements and points of a subdomain.
    pub(super) fn share(&self, number: usize) -> Share<'_> {
        let mine = |e: &u32| self.owner[*e as usize] == number as u32;
        let elements: Vec<u32> = (0..self.owner.len() as u32).filter(mine).collect();
        let mut local = vec![ELSEWHERE; self.numbering.points()];
        for element in &elements {
            let points = self.numbering.element(*element as usize);
            points.iter().for_each(|point| local[*point as usize] = 0);
        }
        let mut global = Vec::new();
        for (point, local) in local.iter_mut().enumerate().filter(|(_, l)| **l == 0) {
            *local = global.len() as u32;
            global.push(point as u32);
        }
        let groups = self.terms.chunk_by(|a, b| a.point == b.point);
        let with_me = groups.filter(|terms| terms.iter().any(|t| t.owner == number as u32));
        Share {
            cut: self,
            number,
            elements,
            shared: with_me.collect(),
            global,
            local,
        }
    }
}

/// The part of a mesh that belongs to a subdomain, while it is set up.
pub(super) struct Share<'a> {
    cut: &'a Cut,
    /// The number of the subdomain.
    pub(super) number: usize,
    /// Its elements, in ascending order.
    pub(super) elements: Vec<u32>,
    /// Global numbers of its points, in ascending order: a point's index here is its number in the subdomain.
    pub(super) global: Vec<u32>,
    /// The number in the subdomain of every point of the mesh, or [`ELSEWHERE`].
    local: Vec<u32>,
    /// Terms of its shared points, point by point.
    shared: Vec<&'a [Term]>,
}

impl Share<'_> {
    pub(super) fn points(&self) -> usize {
        self.global.len()
    }

    /// The number in the subdomain of a point of any element; `None` if the subdomain does not have the point.
    pub(super) fn at(&self, element: usize, local: usize) -> Option<u32> {
        let point = self.cut.numbering.element(element)[local];
        Some(self.local[point as usize]).filter(|number| *number != ELSEWHERE)
    }

    /// The numbers of the points of one of its own elements.
    pub(super) fn element(&self, element: usize) -> Vec<u32> {
        let points = self.cut.numbering.element(element);
        points.iter().map(|point| self.local[*point as usize]).collect()
    }

    /// Whether the subdomain has any point of an element.
    pub(super) fn touches(&self, element: usize) -> bool {
        let points = self.cut.numbering.element(element);
        points
            .iter()
            .any(|point| self.local[*point as usize] != ELSEWHERE)
    }

    pub(super) fn owns(&self, element: usize) -> bool {
        self.cut.owner[element] == self.number as u32
    }

    /// Whether neighbours need the contributions of an element of this subdomain.
    pub(super) fn is_boundary(&self, element: u32) -> bool {
        let shared = |point: &u32| {
            self.shared
                .binary_search_by_key(point, |terms| terms[0].point)
                .is_ok()
        };
        self.cut.numbering.element(element as usize).iter().any(shared)
    }

    /// Ranges of global numbers of the points that no lower subdomain has.
    pub(super) fn owned_points(&self) -> Vec<Range<usize>> {
        let lower = |terms: &&[Term]| terms.iter().any(|t| t.owner < self.number as u32);
        let others: BTreeSet<u32> = self
            .shared
            .iter()
            .filter(|t| lower(t))
            .map(|t| t[0].point)
            .collect();
        ranges(
            self.global
                .iter()
                .copied()
                .filter(|point| !others.contains(point)),
        )
    }

    /// The exchange of the forces on solids or on fluids, with `components` numbers per point.
    fn traffic(&self, is_fluid: bool, components: usize) -> (BTreeMap<u32, Traffic>, Exchange) {
        let me = self.number as u32;
        let mut lists: BTreeMap<u32, [Vec<Term>; 2]> = BTreeMap::new();
        for terms in &self.shared {
            let holders: BTreeSet<u32> = terms.iter().map(|t| t.owner).collect();
            for other in holders.into_iter().filter(|other| *other != me) {
                let [send, receive] = lists.entry(other).or_default();
                let of = |owner: u32| {
                    let own = terms.iter().copied();
                    own.filter(move |t| t.owner == owner && t.is_fluid == is_fluid)
                };
                send.extend(of(me));
                receive.extend(of(other));
            }
        }
        let mut exchange = Exchange {
            components,
            ..Exchange::default()
        };
        let mut traffic: BTreeMap<u32, Traffic> = BTreeMap::new();
        let mut end = 0;
        let mut room = |terms: &[Term]| {
            let start = end;
            end += terms.len() * components;
            start..end
        };
        for (other, [send, _]) in &lists {
            let range = room(send);
            exchange.send.extend(send.iter().map(|t| (t.element, t.local)));
            let sends = &mut traffic.entry(*other).or_default().send;
            sends.extend(Some(range).filter(|range| !range.is_empty()));
        }
        for (other, [_, receive]) in &lists {
            let range = room(receive);
            for (k, term) in receive.iter().enumerate() {
                let point = self.local[term.point as usize];
                let place = range.start / components + k;
                exchange.arrived.push((point, term.element, place as u32));
            }
            let receives = &mut traffic.entry(*other).or_default().receive;
            receives.extend(Some(range).filter(|range| !range.is_empty()));
        }
        exchange.memory = vec![0.0; end];
        (traffic, exchange)
    }

    /// The links to all neighbours, with the stage of the fluids (one number per point) first if there are any, and
    /// the exchanges of the stages of the fluids and of the solids.
    pub(super) fn links(&self, dimension: usize) -> (Vec<Link>, [Exchange; 2]) {
        let (mut fluid, of_fluid) = self.traffic(true, 1);
        let (solid, of_solid) = self.traffic(false, dimension);
        let links = solid.into_iter().map(|(neighbour, solid)| {
            let fluid = fluid.remove(&neighbour).unwrap_or_default();
            let both = vec![fluid, solid];
            Link {
                neighbour: neighbour as usize,
                stages: both.into_iter().skip(usize::from(!self.cut.has_fluid)).collect(),
            }
        });
        (links.collect(), [of_fluid, of_solid])
    }
}

/// Outgoing and incoming contributions of a stage in one buffer, with the contributions to all neighbours first.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    /// Number of values per contribution.
    pub(super) components: usize,
    /// Element and local point of every outgoing contribution.
    pub(super) send: Vec<(u32, u32)>,
    /// Point, element and index in the buffer (counted in points) of every incoming contribution.
    pub(super) arrived: Vec<(u32, u32, u32)>,
    /// The buffer.
    pub(super) memory: Vec<Number>,
}

impl Exchange {
    /// Copies the contributions at these indices to the outgoing ones.
    pub(super) fn pack<const C: usize>(&mut self, places: &[u32], contributions: &[[Number; C]]) {
        let leaving = self.memory.as_chunks_mut::<C>().0;
        for (numbers, place) in leaving.iter_mut().zip(places) {
            *numbers = contributions[*place as usize];
        }
    }
}

/// Groups ascending numbers into ranges.
pub(super) fn ranges(numbers: impl Iterator<Item = u32>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for number in numbers.map(|n| n as usize) {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}
