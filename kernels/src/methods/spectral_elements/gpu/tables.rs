//! The elements of a subdomain as tables for a device: one set for its solids, another for its fluids.

use super::single;
use super::variant::{Kind, Variant};
use crate::mesh::geometry::{Tabulated, lattice};
use crate::mesh::step::{Law, Medium};
use crate::mesh::{Order, cell};
use crate::methods::spectral_elements::assembly::Homes;
use crate::methods::spectral_elements::attenuation::Factors;
use crate::methods::spectral_elements::cut::{Exchange, Share};
use crate::methods::spectral_elements::pml::AXES;
use crate::methods::spectral_elements::points::Placed;
use crate::methods::spectral_elements::{Number, Setup};
use crate::time_loop::Part;
use crate::{Error, Hint, message};
use rayon::prelude::*;
use std::ops::Range;

/// The elements of a part that one kernel computes.
#[derive(Clone, Debug)]
pub struct Run {
    pub part: Part,
    pub kind: Kind,
    /// The kind of their perfectly matched layers (`Pml::kind`); 0 outside layers.
    pub layer: u8,
    /// The range of the elements, in the device's order.
    pub elements: Range<usize>,
}

/// Elements in the order of the device: boundary elements first; in each part first isotropic elements, then those
/// with tables of constants; and within each kind in ascending order.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Global numbers.
    pub elements: Vec<u32>,
    /// Elements that are launched together.
    pub runs: Vec<Run>,
    /// Indices of the elements in the listing, by their global numbers.
    pub homes: Homes,
}

impl Listing {
    /// The solid elements of a subdomain, or its fluid ones.
    pub fn new<const D: usize>(setup: &Setup<D>, share: &Share<'_>, fluid: bool) -> Self {
        let kind = |element: &u32| match setup.medium(*element as usize).law {
            Law::Isotropic { .. } => Kind::Isotropic,
            Law::Anisotropic(_) => Kind::Table,
            Law::Fluid(_) => Kind::Fluid,
        };
        let own = share.elements.iter().copied();
        let all = own.filter(|e| setup.is_fluid(*e as usize) == fluid);
        let (boundary, interior): (Vec<u32>, Vec<u32>) = all.partition(|e| share.is_boundary(*e));
        let (mut elements, mut runs) = (Vec::new(), Vec::new());
        for (part, list) in [(Part::Boundary, boundary), (Part::Interior, interior)] {
            let sorted: Vec<_> = list
                .iter()
                .map(|e| (kind(e), setup.layer_kind(*e as usize), *e))
                .collect();
            let kinds = [Kind::Isotropic, Kind::Table, Kind::Fluid];
            let mut layers: Vec<u8> = sorted.iter().map(|(_, layer, _)| *layer).collect();
            layers.sort_unstable();
            layers.dedup();
            let pairs = kinds
                .into_iter()
                .flat_map(|kind| layers.iter().map(move |layer| (kind, *layer)));
            for (sought, layer) in pairs {
                let first = elements.len();
                let same = sorted
                    .iter()
                    .filter(|(kind, own, _)| (*kind, *own) == (sought, layer));
                elements.extend(same.map(|(_, _, e)| *e));
                if elements.len() > first {
                    runs.push(Run {
                        part,
                        kind: sought,
                        layer,
                        elements: first..elements.len(),
                    });
                }
            }
        }
        Self {
            homes: Homes::in_a_row(&elements),
            elements,
            runs,
        }
    }

    /// Number of boundary elements.
    pub fn boundary(&self) -> usize {
        let boundary = self.runs.iter().filter(|run| run.part == Part::Boundary);
        boundary.map(|run| run.elements.len()).sum()
    }

    /// The index of an element in the listing.
    pub fn find(&self, element: u32) -> Option<usize> {
        self.homes.find(element as usize).map(|home| home.0)
    }
}

/// Points, regions and geometry of listed elements.
#[derive(Clone, Debug)]
pub struct Elements {
    /// `[element][point]`
    pub points: Vec<i32>,
    /// The region of every element.
    pub regions: Vec<i32>,
    /// For linear elements the coefficients of u, v, w, uv, uw, vw, uvw (2-D: u, v, uv), each a vector; otherwise
    /// `du_a/dx_c` and the weight of every point, `[element][number][point]`.
    pub shape: Vec<f32>,
}

/// Coefficients of the bilinear or trilinear mapping without its constant.
fn coefficients<const D: usize>(corners: &[[f64; D]]) -> Vec<f32> {
    let sets: &[usize] = match D {
        3 => &[0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111],
        _ => &[0b01, 0b10, 0b11],
    };
    let mut numbers = Vec::with_capacity(sets.len() * D);
    for set in sets {
        for c in 0..D {
            let term = |(corner, x): (usize, &[f64; D])| {
                let place = cell::place::<D>(corner);
                let axes = (0..D).filter(|a| set >> a & 1 == 1);
                let sign: f64 = axes.map(|a| f64::from(place[a]) - 1.0).product();
                sign * x[c]
            };
            let sum: f64 = corners.iter().enumerate().map(term).sum();
            numbers.push((sum / (1 << D) as f64) as f32);
        }
    }
    numbers
}

impl Elements {
    /// The tables of these elements.
    pub fn new<const D: usize>(
        setup: &Setup<D>,
        share: &Share<'_>,
        table: &Tabulated<D>,
        elements: &[u32],
    ) -> Self {
        let count = table.points();
        let numbers = match setup.mesh.order() {
            Order::Linear => D * ((1 << D) - 1),
            Order::Quadratic => (D * D + 1) * count,
        };
        let mut all = Self {
            points: vec![0; elements.len() * count],
            regions: vec![0; elements.len()],
            shape: vec![0.0; elements.len() * numbers],
        };
        let rooms = all.points.par_chunks_exact_mut(count).zip(&mut all.regions);
        let rooms = rooms.zip(all.shape.par_chunks_exact_mut(numbers));
        rooms
            .zip(elements)
            .for_each(|(((points, region), shape), element)| {
                let element = *element as usize;
                let own = share.element(element).into_iter();
                points.iter_mut().zip(own).for_each(|(p, own)| *p = own as i32);
                let lossless = usize::from(setup.is_lossless(element)) * setup.media.len();
                *region = (setup.mesh.regions()[element] as usize + lossless) as i32;
                let nodes = setup.mesh.coordinates(element);
                if setup.mesh.order() == Order::Linear {
                    shape.copy_from_slice(&coefficients::<D>(&nodes));
                    return;
                }
                let own = table.element(&nodes);
                let weights = table.weights().iter().zip(&own.determinant);
                let inverses = (0..D * D).flat_map(|k| own.inverse.iter().map(move |i| i[k / D][k % D]));
                let all = inverses.chain(weights.map(|(w, j)| w * j));
                shape.iter_mut().zip(all).for_each(|(s, x)| *s = x as f32);
            });
        all
    }
}

/// Number of constants of a law in the kernels of a kind.
pub fn numbers_of_law<const D: usize>(kind: Kind) -> usize {
    let strains = D * (D + 1) / 2;
    match kind {
        Kind::Isotropic => 2,
        Kind::Table => strains * (strains + 1) / 2,
        Kind::Fluid => 1,
    }
}

/// Constants of a medium with these unrelaxed moduli for the kernels of a kind; zeros for media of another kind.
fn numbers_of<const D: usize>(kind: Kind, medium: &Medium, [mu, kappa]: [f64; 2]) -> Vec<f32> {
    // Voigt's indices of the strains in this dimension.
    let met: &[usize] = if D == 3 { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 4] };
    match (&medium.law, kind) {
        (Law::Isotropic { .. }, Kind::Isotropic) => vec![(kappa - 2.0 / 3.0 * mu) as f32, mu as f32],
        (Law::Anisotropic(c), Kind::Table) => {
            let pairs = (0..met.len()).flat_map(|i| (i..met.len()).map(move |j| (i, j)));
            pairs.map(|(i, j)| c[met[i]][met[j]] as f32).collect()
        }
        (Law::Fluid(_), Kind::Fluid) => vec![(1.0 / medium.density) as f32],
        _ => vec![0.0; numbers_of_law::<D>(kind)],
    }
}

/// The regions in the order of their tables, and whether they are lossless variants, which follow the others.
fn regions<const D: usize>(setup: &Setup<D>) -> impl Iterator<Item = (usize, bool)> {
    let kinds = if setup.has_lossless_layers() { 2 } else { 1 };
    let count = setup.media.len();
    (0..kinds * count).map(move |number| (number % count, number >= count))
}

/// Constants of every region for the kernels of a kind, in the order of [`regions`]; zeros for regions of other kinds.
pub fn laws<const D: usize>(setup: &Setup<D>, kind: Kind) -> Vec<f32> {
    let region = |(number, _)| numbers_of::<D>(kind, &setup.media[number], setup.moduli_of_region(number));
    regions(setup).flat_map(region).collect()
}

/// Index of a point's constant among the constants of its element: tables of constants are stored in groups of four per
/// point, and the remaining ones singly.
pub fn law_at(kind: Kind, (number, numbers): (usize, usize), (point, points): (usize, usize)) -> usize {
    let quads = if kind == Kind::Table { numbers / 4 } else { 0 };
    match number / 4 < quads {
        true => (number / 4 * points + point) * 4 + number % 4,
        false => number * points + point,
    }
}

/// The length of the constants of an element with `points` points in the tables of [`laws_of_points`].
pub fn stride_of_law<const D: usize>(kind: Kind, points: usize) -> usize {
    let numbers = numbers_of_law::<D>(kind) * points;
    match kind {
        Kind::Table => numbers.next_multiple_of(4),
        _ => numbers,
    }
}

/// Constants of these elements for the kernels of a kind, laid out as in elements.cuh for constants that vary from
/// point to point.
pub fn laws_of_points<const D: usize>(
    setup: &Setup<D>,
    table: &Tabulated<D>,
    (kind, elements): (Kind, &[u32]),
) -> Vec<f32> {
    let points = table.points();
    let (numbers, stride) = (numbers_of_law::<D>(kind), stride_of_law::<D>(kind, points));
    let mut all = vec![0.0; elements.len() * stride];
    let rooms = all.par_chunks_exact_mut(stride);
    rooms.zip(elements).for_each(|(own, element)| {
        let contents = setup.contents(*element as usize, table);
        for point in 0..points {
            let law = numbers_of::<D>(kind, contents.medium(point), contents.moduli(point));
            law.iter()
                .enumerate()
                .for_each(|(k, x)| own[law_at(kind, (k, numbers), (point, points))] = *x);
        }
    });
    all
}

/// Factors that convert the regions' mechanisms for unit moduli to the mechanisms at the points of these elements,
/// `[element][shear, bulk][point]`.
pub fn strengths<const D: usize>(setup: &Setup<D>, table: &Tabulated<D>, elements: &[u32]) -> Vec<f32> {
    let points = table.points();
    let mut all = vec![0.0; elements.len() * 2 * points];
    let rooms = all.par_chunks_exact_mut(2 * points);
    rooms.zip(elements).for_each(|(own, element)| {
        let contents = setup.contents(*element as usize, table);
        let strength = |k: usize| contents.strengths(k % points)[k / points] as f32;
        own.iter_mut().enumerate().for_each(|(k, x)| *x = strength(k));
    });
    all
}

/// Coefficients of the mechanisms of every region in the order of [`regions`], as in elements.cuh; for unit moduli if
/// the moduli differ between points. Empty without attenuation.
pub fn losses<const D: usize>(setup: &Setup<D>) -> Vec<f32> {
    let Some(all) = setup.relaxations else {
        return Vec::new();
    };
    let region = |(number, lossless): (usize, bool)| {
        let own = &all.regions[number];
        let law = if lossless { own.lossless() } else { *own };
        let moduli = match setup.points {
            None => setup.moduli_of_region(number),
            Some(_) => [1.0; 2],
        };
        let f = Factors::new(&law, moduli, setup.dt);
        [f.decay, f.now[0], f.kept[0], f.now[1], f.kept[1]].map(|law| law.map(single))
    };
    regions(setup).flat_map(region).flatten().collect()
}

/// Length of an element's memory variables on the device, with `mechanisms` mechanisms per point.
pub fn relaxing(dimension: usize, points: usize, mechanisms: usize) -> usize {
    (if dimension == 3 { 6 } else { 4 }) * mechanisms * points
}

/// The places of the contributions of elements to their points, in the order of the global element numbers.
#[derive(Clone, Debug)]
pub struct Places {
    /// Points whose contributions are summed, in ascending order.
    pub targets: Vec<i32>,
    /// Index of the first place of every sum, and the number of all places at the end.
    pub starts: Vec<i32>,
    /// `element * points + point of it`; incoming contributions follow all of them.
    pub places: Vec<i32>,
    /// The sum of every point, or -1.
    pub sums: Vec<i32>,
}

/// Whether a local point lies in the interior of an element with `along` points along an axis.
pub fn is_inside<const D: usize>(local: usize, along: usize) -> bool {
    lattice::<D>(local, along)
        .into_iter()
        .all(|at| at > 0 && at < along - 1)
}

impl Places {
    /// The places of listed elements with these points (the subdomain has `count`), without the local points in
    /// `skips`, and of incoming contributions.
    ///
    /// # Errors
    /// Returns an error for more places than 31 bits can count.
    pub fn new(
        listing: &Listing,
        (points, count): (&[i32], usize),
        exchange: &Exchange,
        skips: &[bool],
    ) -> Result<Self, Error> {
        let (own, local) = (points.len(), skips.len());
        let all = own + exchange.memory.len() / exchange.components;
        if i32::try_from(all).is_err() {
            return Err(Error::setup(message![
                format!(
                    "the elements of one GPU have {all} points, each element's counted; {} are possible: use ",
                    i32::MAX
                ),
                Hint::MoreGpus,
            ]));
        }
        let mut terms = vec![0i32; count];
        let kept = points.iter().enumerate().filter(|(k, _)| !skips[k % local]);
        kept.for_each(|(_, p)| terms[*p as usize] += 1);
        let arrived = exchange.arrived.iter();
        arrived.for_each(|(point, ..)| terms[*point as usize] += 1);
        let (mut targets, mut starts, mut end) = (Vec::new(), Vec::new(), 0);
        let mut sums = vec![-1; count];
        for (point, terms) in terms.into_iter().enumerate().filter(|(_, terms)| *terms > 0) {
            sums[point] = targets.len() as i32;
            targets.push(point as i32);
            starts.push(end);
            end += terms;
        }
        let (mut next, mut places) = (starts.clone(), vec![0i32; end as usize]);
        starts.push(end);
        let mut put = |point: usize, place: usize| {
            let next = &mut next[sums[point] as usize];
            places[*next as usize] = place as i32;
            *next += 1;
        };
        // Each element comes with its index here, or with the index of one of its incoming contributions.
        let mut order: Vec<(u32, bool, usize)> = Vec::new();
        let own_elements = listing.elements.iter().enumerate();
        order.extend(own_elements.map(|(k, element)| (*element, false, k)));
        let arriving = exchange.arrived.iter().enumerate();
        order.extend(arriving.map(|(k, (_, element, _))| (*element, true, k)));
        order.sort_unstable();
        for (_, arrives, k) in order {
            if arrives {
                let (point, _, place) = exchange.arrived[k];
                put(point as usize, own + place as usize);
                continue;
            }
            for (at, _) in skips.iter().enumerate().filter(|(_, skips)| !**skips) {
                put(points[k * local + at] as usize, k * local + at);
            }
        }
        Ok(Self {
            targets,
            starts,
            places,
            sums,
        })
    }
}

/// The sources as contributions to entries of the forces.
#[derive(Clone, Debug, Default)]
pub struct Spots {
    /// Indices of the entries.
    pub place: Vec<i64>,
    /// Index of the first source of every entry; there is one element more than there are entries.
    pub first: Vec<i32>,
    /// Time series of each source.
    pub series: Vec<i32>,
    /// Weight of each source.
    pub weight: Vec<f32>,
    /// `[step][series]`
    pub strength: Vec<f32>,
    /// Number of time series.
    pub count: usize,
    /// Length of the longest time series.
    pub steps: usize,
    /// Number of entries of boundary elements.
    pub boundary: usize,
}

impl Spots {
    /// Collects the sources of all listed elements.
    pub fn new<const C: usize>(sources: &[Vec<Placed<C>>], boundary: usize) -> Self {
        let mut spots = Self {
            first: vec![0],
            ..Self::default()
        };
        let mut histories: Vec<&[Number]> = Vec::new();
        for (element, placed) in sources.iter().enumerate() {
            let before = histories.len();
            histories.extend(placed.iter().map(|p| &p.history[..]));
            let points = placed.first().map_or(0, |p| p.weights.len());
            for (local, c) in (0..points * C).map(|k| (k / C, k % C)) {
                spots.place.push(((element * points + local) * C + c) as i64);
                for (k, source) in placed.iter().enumerate() {
                    spots.series.push((before + k) as i32);
                    spots.weight.push(single(source.weights[local][c]));
                }
                spots.first.push(spots.series.len() as i32);
            }
            if element < boundary {
                spots.boundary = spots.place.len();
            }
        }
        spots.count = histories.len();
        spots.steps = histories.iter().map(|h| h.len()).max().unwrap_or(0);
        for step in 0..spots.steps {
            let now = histories.iter().map(|h| h.get(step).map_or(0.0, |x| single(*x)));
            spots.strength.extend(now);
        }
        spots
    }
}

/// The kernel variants of the runs of a listing.
pub fn variants<const D: usize>(setup: &Setup<D>, listing: &Listing) -> Vec<Variant> {
    let variant = |run: &Run| Variant {
        dimension: D,
        degree: setup.basis.degree(),
        kind: run.kind,
        stored: setup.mesh.order() != Order::Linear,
        loss: setup
            .relaxations
            .filter(|_| run.kind != Kind::Fluid)
            .map(|all| all.grain),
        varies: setup.points.is_some(),
        layers: run.layer & ((1 << AXES) - 1),
    };
    listing.runs.iter().map(variant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::geometry::map;

    #[test]
    fn coefficients_give_the_jacobian() {
        let nodes: Vec<[f64; 3]> = (0..8)
            .map(|corner| {
                let u = cell::place::<3>(corner).map(|k| f64::from(k) - 1.0);
                std::array::from_fn(|c| 3.0 * u[c] + 0.2 * u[0] * u[1] + 0.1 * u[0] * u[1] * u[2])
            })
            .collect();
        let x = coefficients(&nodes);
        let (u, v, w) = (0.3, -0.4, 0.7);
        let jacobian = map(Order::Linear, &nodes, [u, v, w]).1;
        for c in 0..3 {
            let at = |k: usize| f64::from(x[3 * k + c]);
            let slopes = [
                at(0) + at(3) * v + at(4) * w + at(6) * v * w,
                at(1) + at(3) * u + at(5) * w + at(6) * u * w,
                at(2) + at(4) * u + at(5) * v + at(6) * u * v,
            ];
            for a in 0..3 {
                assert!((slopes[a] - jacobian[c][a]).abs() < 1e-6);
            }
        }
    }
}
