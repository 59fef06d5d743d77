//! Blocks of elements in vector lanes, and the places of their contributions to points.

use super::Number;
use rayon::prelude::*;

use super::attenuation::{Coarse, Memory};
use super::cut::Share;
use super::lanes::{LANES, Lanes};
use super::media::Contents;
use super::pml::{Damped, Filters};
use super::shape::Shape;
use super::{Attenuation, Followed, Grain, Setup};
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;

/// Stiffness of the elements of a block: one entry for all points, or one for each point.
#[derive(Clone, Debug)]
pub(super) enum Stiffness {
    /// Lame's constants lambda and mu.
    Isotropic(Vec<[Lanes; 2]>),
    /// The upper triangle of Voigt's matrix, row by row.
    Anisotropic(Vec<[Lanes; 21]>),
    /// One over the density of a fluid.
    Fluid(Vec<[Lanes; 1]>),
}

/// Elements that are computed at once. Lanes without an element repeat the last one, and their results are ignored.
#[derive(Clone, Debug)]
pub(super) struct Block<const D: usize> {
    /// Global numbers of the elements, at most [`LANES`].
    pub(super) elements: Vec<u32>,
    /// Number of each point of each element.
    pub(super) points: Vec<[u32; LANES]>,
    pub(super) shape: Shape<D>,
    pub(super) stiffness: Stiffness,
}

impl<const D: usize> Block<D> {
    /// The place, among the contributions of the block, of a point of the element in a lane.
    pub(super) fn place(&self, lane: usize, local: u32) -> u32 {
        (lane * self.points.len()) as u32 + local
    }

    pub(super) fn bytes(&self) -> usize {
        let constants = match &self.stiffness {
            Stiffness::Isotropic(c) => size_of_val(&c[..]),
            Stiffness::Anisotropic(c) => size_of_val(&c[..]),
            Stiffness::Fluid(c) => size_of_val(&c[..]),
        };
        size_of_val(&self.points[..]) + self.shape.bytes() + constants
    }
}

/// Index of row i, column j >= i in the upper triangle of a matrix of 6 x 6.
pub(super) const fn triangle(i: usize, j: usize) -> usize {
    i * 6 - i * (i + 1) / 2 + j
}

/// Cuts the solid or the fluid elements of a subdomain into blocks of one kind of stiffness. The blocks for which
/// neighbours wait come first, and their number is returned; within each kind, elements are in ascending order.
pub(super) fn blocks<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
    fluid: bool,
) -> (Vec<Block<D>>, usize) {
    let anisotropic = |e: &u32| matches!(setup.medium(*e as usize).law, Law::Anisotropic(_));
    let own = share.elements.iter().copied();
    let all = own.filter(|e| setup.is_fluid(*e as usize) == fluid);
    let (boundary, interior): (Vec<u32>, Vec<u32>) = all.partition(|e| share.is_boundary(*e));
    // The elements of a block lie in layers across the same axes, and either all or none of them are anisotropic.
    let kind = |e: &u32| (setup.layer_kind(*e as usize), anisotropic(e));
    let cut = |elements: Vec<u32>| -> Vec<Block<D>> {
        let mut sorted: Vec<_> = elements.iter().map(|e| (kind(e), *e)).collect();
        sorted.sort_unstable();
        let elements: Vec<u32> = sorted.iter().map(|(_, e)| *e).collect();
        let kinds = sorted.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
        let mut rest = &elements[..];
        let groups = kinds.flat_map(|count| {
            let (same, others) = rest.split_at(count);
            rest = others;
            same.chunks(LANES)
        });
        let groups: Vec<&[u32]> = groups.collect();
        let blocks = groups
            .into_par_iter()
            .map(|group| block(setup, share, table, group));
        blocks.collect()
    };
    let mut blocks = cut(boundary);
    let first = blocks.len();
    blocks.extend(cut(interior));
    (blocks, first)
}

fn block<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
    elements: &[u32],
) -> Block<D> {
    let mut points = vec![[0; LANES]; setup.basis.len().pow(D as u32)];
    for lane in 0..LANES {
        let element = elements[lane.min(elements.len() - 1)] as usize;
        let numbers = share.element(element).into_iter().zip(&mut points);
        numbers.for_each(|(number, lanes)| lanes[lane] = number);
    }
    Block {
        elements: elements.to_vec(),
        points,
        shape: Shape::new(setup.mesh, elements),
        stiffness: stiffness(setup, table, elements),
    }
}

/// Coefficients of a block, one set for all points or one for each point: `of` returns the coefficients of an element
/// at a point.
fn numbers<const D: usize, const C: usize>(
    setup: &Setup<D>,
    table: &Tabulated<D>,
    elements: &[u32],
    of: impl Fn(&Contents, usize) -> [f64; C],
) -> Vec<[Lanes; C]> {
    let points = if setup.points.is_some() { table.points() } else { 1 };
    let mut all = vec![[Lanes::ZERO; C]; points];
    for (lane, element) in elements.iter().enumerate() {
        let contents = setup.contents(*element as usize, table);
        for (point, numbers) in all.iter_mut().enumerate() {
            let values = numbers.iter_mut().zip(of(&contents, point));
            values.for_each(|(lanes, value)| lanes.0[lane] = value as Number);
        }
    }
    all
}

/// The constants of a block whose elements have one kind of law; unrelaxed if there is attenuation.
fn stiffness<const D: usize>(setup: &Setup<D>, table: &Tabulated<D>, elements: &[u32]) -> Stiffness {
    let full = |contents: &Contents, point: usize| -> [f64; 21] {
        let mut table = [0.0; 21];
        if let Law::Anisotropic(c) = &contents.medium(point).law {
            let pairs = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
            pairs.for_each(|(i, j)| table[triangle(i, j)] = c[i][j]);
        }
        table
    };
    match elements.first().map(|e| &setup.medium(*e as usize).law) {
        Some(Law::Anisotropic(_)) => Stiffness::Anisotropic(numbers(setup, table, elements, full)),
        Some(Law::Fluid(_)) => Stiffness::Fluid(numbers(setup, table, elements, |contents, point| {
            [1.0 / contents.medium(point).density]
        })),
        _ => Stiffness::Isotropic(numbers(setup, table, elements, |contents, point| {
            let [shear, bulk] = contents.moduli(point);
            [bulk - 2.0 / 3.0 * shear, shear]
        })),
    }
}

/// Memory variables of the blocks; `None` without attenuation.
pub(super) fn memories<const D: usize>(
    setup: &Setup<D>,
    table: &Tabulated<D>,
    blocks: &[Block<D>],
) -> Vec<Option<Memory>> {
    let of_block = |block: &Block<D>| {
        let Attenuation {
            regions,
            grain,
            followed,
        } = setup.relaxations?;
        let lane = |e: &u32| {
            let region = setup.mesh.regions()[*e as usize] as usize;
            // The moduli of points are part of their strengths.
            let moduli = match setup.points {
                None => setup.moduli_of_region(region),
                Some(_) => [1.0; 2],
            };
            match setup.is_lossless(*e as usize) {
                true => (regions[region].lossless(), moduli),
                false => (regions[region], moduli),
            }
        };
        let lanes: Vec<_> = block.elements.iter().map(lane).collect();
        let strengths = setup
            .points
            .map(|_| numbers(setup, table, &block.elements, Contents::strengths));
        let coarse = (grain == Grain::Coarse).then(|| Coarse::new::<D>(setup.basis));
        let first = block.elements.first();
        let in_layer = first.is_some_and(|e| setup.damped_axes(*e as usize) != 0);
        // In perfectly matched layers the memory variables of attenuation follow the filtered derivatives of the
        // current step.
        let followed = if in_layer { Followed::OfNow } else { followed };
        Some(Memory::new::<D>(
            block.points.len(),
            &lanes,
            (strengths, coarse),
            (setup.dt, followed),
        ))
    };
    blocks.iter().map(of_block).collect()
}

/// The filters of the blocks in perfectly matched layers, for a field with `components` components; `None` for other
/// blocks.
pub(super) fn damped<const D: usize>(
    setup: &Setup<D>,
    table: &Tabulated<D>,
    blocks: &[Block<D>],
    components: usize,
) -> Vec<Option<Damped>> {
    let filters = Filters::new(setup, table);
    let of_block = |block: &Block<D>| {
        let kind = setup.layer_kind(*block.elements.first()? as usize);
        let filters = filters.as_ref().filter(|_| kind != 0)?;
        Some(Damped::new(
            (setup, filters),
            table,
            (kind, components),
            &block.elements,
        ))
    };
    blocks.par_iter().map(of_block).collect()
}

/// Block and lane of each element, sorted by element.
#[derive(Clone, Debug)]
pub(super) struct Homes(Vec<(u32, u32, u32)>);

impl Homes {
    /// The block and the lane of every element of these blocks.
    pub(super) fn of<const D: usize>(blocks: &[Block<D>]) -> Self {
        let mut homes = Vec::new();
        for (k, block) in blocks.iter().enumerate() {
            let lanes = block.elements.iter().enumerate();
            homes.extend(lanes.map(|(lane, element)| (*element, k as u32, lane as u32)));
        }
        homes.sort_unstable();
        Self(homes)
    }

    /// Each element as a separate block.
    pub(super) fn in_a_row(elements: &[u32]) -> Self {
        let home = |(k, element): (usize, &u32)| (*element, k as u32, 0);
        let mut homes: Vec<_> = elements.iter().enumerate().map(home).collect();
        homes.sort_unstable();
        Self(homes)
    }

    /// Block and lane of an element.
    pub(super) fn find(&self, element: usize) -> Option<(usize, usize)> {
        let place = self.0.binary_search_by_key(&(element as u32), |home| home.0);
        place.ok().map(|k| (self.0[k].1 as usize, self.0[k].2 as usize))
    }
}

/// The place of the contribution of an element to one of its points, counted in points: `[block][lane][point]`.
pub(super) fn place((block, lane): (usize, usize), local: usize, points: usize) -> usize {
    (block * LANES + lane) * points + local
}
