//! Elements side by side in vector lanes, and the sums of what they add to their points.

use super::Setup;
use super::attenuation::Memory;
use super::cut::Share;
use crate::mesh::geometry::Tabulated;
use crate::mesh::step::Law;

/// Elements that are computed at once, one in each lane.
pub(super) const LANES: usize = 8;

/// One number of every element of a block.
pub(super) type Lanes = [f32; LANES];

/// Stiffness of the elements of a block.
#[derive(Clone, Debug)]
pub(super) enum Stiffness {
    /// Lame's constants.
    Isotropic { lambda: Lanes, mu: Lanes },
    /// The upper triangle of Voigt's matrix, row by row: 21 numbers.
    Anisotropic(Vec<Lanes>),
    /// One over the density of a fluid.
    Fluid { lightness: Lanes },
}

/// Elements that are computed at once. Lanes without an element have weights of zero and add nothing.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Global numbers of the elements, at most [`LANES`].
    pub(super) elements: Vec<u32>,
    /// Number of each point of each element.
    pub(super) points: Vec<[u32; LANES]>,
    /// `du_a / dx_c` of each point: `[point][a][c]`.
    pub(super) inverse: Vec<Lanes>,
    /// Weight of the rule times the Jacobian of each point.
    pub(super) weight: Vec<Lanes>,
    pub(super) stiffness: Stiffness,
}

impl Block {
    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let lanes = self.points.len() + self.inverse.len() + self.weight.len();
        lanes * size_of::<Lanes>()
    }
}

/// Index of row i, column j >= i in the upper triangle of a matrix of 6 x 6.
pub(super) const fn triangle(i: usize, j: usize) -> usize {
    i * 6 - i * (i + 1) / 2 + j
}

/// Cuts the solid elements of a subdomain, or its fluid ones, into blocks of one kind of stiffness: first those that
/// neighbours wait for, whose number is told, each kind in ascending order.
pub(super) fn blocks<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
    fluid: bool,
) -> (Vec<Block>, usize) {
    let anisotropic = |e: &u32| matches!(setup.medium(*e as usize).law, Law::Anisotropic(_));
    let own = share.elements.iter().copied();
    let all = own.filter(|e| setup.is_fluid(*e as usize) == fluid);
    let (boundary, interior): (Vec<u32>, Vec<u32>) = all.partition(|e| share.is_boundary(*e));
    let cut = |elements: Vec<u32>| -> Vec<Block> {
        let (full, plain): (Vec<u32>, Vec<u32>) = elements.into_iter().partition(anisotropic);
        let groups = plain.chunks(LANES).chain(full.chunks(LANES));
        groups.map(|group| block(setup, share, table, group)).collect()
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
) -> Block {
    let count = table.points();
    let mut block = Block {
        elements: elements.to_vec(),
        points: vec![[0; LANES]; count],
        inverse: vec![[0.0; LANES]; count * D * D],
        weight: vec![[0.0; LANES]; count],
        stiffness: stiffness(setup, elements),
    };
    for (lane, element) in elements.iter().enumerate() {
        let own = table.element(&setup.mesh.coordinates(*element as usize));
        for (point, number) in share.element(*element as usize).into_iter().enumerate() {
            block.points[point][lane] = number;
            block.weight[point][lane] = (table.weights()[point] * own.determinant[point]) as f32;
            for (k, g) in own.inverse[point].iter().flatten().enumerate() {
                block.inverse[point * D * D + k][lane] = *g as f32;
            }
        }
    }
    block
}

/// The constants of a block whose elements have one kind of law; unrelaxed ones where there is attenuation.
fn stiffness<const D: usize>(setup: &Setup<D>, elements: &[u32]) -> Stiffness {
    let (mut lambda, mut mu, mut lightness) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut full = vec![[0.0; LANES]; 21];
    for (lane, element) in elements.iter().enumerate() {
        let medium = setup.medium(*element as usize);
        match &medium.law {
            Law::Isotropic { .. } => {
                let [shear, bulk] = setup.moduli(*element as usize);
                (lambda[lane], mu[lane]) = ((bulk - 2.0 / 3.0 * shear) as f32, shear as f32);
            }
            Law::Fluid(_) => lightness[lane] = (1.0 / medium.density) as f32,
            Law::Anisotropic(c) => {
                let pairs = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
                pairs.for_each(|(i, j)| full[triangle(i, j)][lane] = c[i][j] as f32);
            }
        }
    }
    match elements.first().map(|e| &setup.medium(*e as usize).law) {
        Some(Law::Anisotropic(_)) => Stiffness::Anisotropic(full),
        Some(Law::Fluid(_)) => Stiffness::Fluid { lightness },
        _ => Stiffness::Isotropic { lambda, mu },
    }
}

/// Memory variables of the blocks; none without attenuation.
pub(super) fn memories<const D: usize>(setup: &Setup<D>, blocks: &[Block]) -> Vec<Option<Memory>> {
    let of_block = |block: &Block| {
        let relaxations = setup.relaxations?;
        let lane = |e: &u32| {
            (
                &relaxations[setup.mesh.regions()[*e as usize] as usize],
                setup.moduli(*e as usize),
            )
        };
        let lanes: Vec<_> = block.elements.iter().map(lane).collect();
        Some(Memory::new::<D>(block.weight.len(), &lanes, setup.dt))
    };
    blocks.iter().map(of_block).collect()
}

/// Block and lane of the elements of the blocks, in the order of the elements.
#[derive(Clone, Debug)]
pub(super) struct Homes(Vec<(u32, u32, u32)>);

impl Homes {
    /// Of the elements of these blocks.
    pub(super) fn of(blocks: &[Block]) -> Self {
        let mut homes = Vec::new();
        for (k, block) in blocks.iter().enumerate() {
            let lanes = block.elements.iter().enumerate();
            homes.extend(lanes.map(|(lane, element)| (*element, k as u32, lane as u32)));
        }
        homes.sort_unstable();
        Self(homes)
    }

    /// Elements in a row, each a block of its own.
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

/// Where the first of `components` numbers stands that an element adds to one of its points, which has so many.
pub(super) fn place((block, lane): (usize, usize), local: usize, points: usize, components: usize) -> u64 {
    (((block * points + local) * components) * LANES + lane) as u64
}

/// Where the elements of every point write what they add to it, in the order of the global element numbers.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    starts: Vec<u32>,
    /// Index of the first component among the subdomain's own contributions, where the others follow at a distance of
    /// [`LANES`]; from `own` on among those that have arrived, where they follow each other.
    places: Vec<u64>,
    own: u64,
}

impl Sums {
    /// Sums over blocks of elements with `components` numbers a point, and over (point, element, place) of what arrives.
    pub(super) fn new(
        blocks: &[Block],
        points: usize,
        components: usize,
        arrived: &[(u32, u32, u64)],
    ) -> Self {
        let mut all: Vec<(u32, u32, u64)> = Vec::new();
        let mut own = 0;
        for (k, block) in blocks.iter().enumerate() {
            let count = block.points.len();
            own = ((k + 1) * count * components * LANES) as u64;
            for (local, numbers) in block.points.iter().enumerate() {
                for (lane, element) in block.elements.iter().enumerate() {
                    all.push((
                        numbers[lane],
                        *element,
                        place((k, lane), local, count, components),
                    ));
                }
            }
        }
        all.extend(
            arrived
                .iter()
                .map(|(point, element, place)| (*point, *element, own + place)),
        );
        all.sort_unstable();
        let mut starts = vec![0; points + 1];
        all.iter().for_each(|entry| starts[entry.0 as usize + 1] += 1);
        (0..points).for_each(|point| starts[point + 1] += starts[point]);
        Self {
            starts,
            places: all.into_iter().map(|entry| entry.2).collect(),
            own,
        }
    }

    /// The sum of all contributions to a point: of the subdomain's own ones and those that have arrived.
    #[inline(always)]
    pub(super) fn of<const D: usize>(&self, point: usize, own: &[f32], arrived: &[f32]) -> [f32; D] {
        let places = &self.places[self.starts[point] as usize..self.starts[point + 1] as usize];
        let mut sum = [0.0; D];
        for place in places {
            if *place < self.own {
                for (c, sum) in sum.iter_mut().enumerate() {
                    *sum += own[*place as usize + c * LANES];
                }
            } else {
                let first = (*place - self.own) as usize;
                for (c, sum) in sum.iter_mut().enumerate() {
                    *sum += arrived[first + c];
                }
            }
        }
        sum
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        4 * self.starts.len() + 8 * self.places.len()
    }
}
