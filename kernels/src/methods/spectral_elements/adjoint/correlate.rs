//! What a gradient needs of every step: products of the forward and the adjoint wavefield at every point of every element.

use pulp::{Simd, WithSimd};

use super::super::assembly::Block;
use super::super::element::gradient;
use super::super::lanes::{Lanes, Part, Register};
use super::super::shape::{Layer, Row, Tables};

/// Products of a point, summed over steps: displacement by acceleration, displacement by velocity, divergence by divergence, and twice
/// the strain by the strain. The first factor is that of the forward wavefield.
pub(super) const PRODUCTS: usize = 4;

/// The adjoint wavefield at all points of the mesh.
#[derive(Clone, Copy)]
pub(super) struct Back<'a, const D: usize> {
    pub(super) displacement: &'a [[f32; D]],
    pub(super) velocity: &'a [[f32; D]],
    pub(super) acceleration: &'a [[f32; D]],
}

/// Room for one block.
pub(super) struct Room<const D: usize> {
    forward: Vec<[Lanes; D]>,
    back: Vec<[Lanes; D]>,
}

impl<const D: usize> Room<D> {
    /// For blocks with so many points.
    pub(super) fn new(points: usize) -> Self {
        Self {
            forward: vec![[Lanes::ZERO; D]; points],
            back: vec![[Lanes::ZERO; D]; points],
        }
    }
}

/// Adds the products of a step to the sums of a block, `[point][product]`.
pub(super) struct Correlate<'a, const D: usize, const N: usize> {
    pub(super) block: &'a Block<D>,
    pub(super) tables: &'a Tables<N>,
    /// The displacement of the forward wavefield.
    pub(super) forward: &'a [[f32; D]],
    pub(super) back: Back<'a, D>,
    pub(super) room: &'a mut Room<D>,
    pub(super) sums: &'a mut [[Lanes; PRODUCTS]],
}

impl<const D: usize, const N: usize> WithSimd for Correlate<'_, D, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            block,
            tables,
            forward,
            back,
            room,
            sums,
        } = self;
        for (local, numbers) in block.points.iter().enumerate() {
            for (lane, number) in numbers.iter().enumerate() {
                let at = *number as usize;
                let (u, v, a) = (forward[at], back.velocity[at], back.acceleration[at]);
                let [mut by_acceleration, mut by_velocity] = [0.0; 2];
                for c in 0..D {
                    room.forward[local][c].0[lane] = u[c];
                    room.back[local][c].0[lane] = back.displacement[at][c];
                    by_acceleration += u[c] * a[c];
                    by_velocity += u[c] * v[c];
                }
                sums[local][0].0[lane] += by_acceleration;
                sums[local][1].0[lane] += by_velocity;
            }
        }
        for part in Part::all(simd) {
            strains::<S, D, N>(part, block, tables, room, sums);
        }
    }
}

/// The products of strains.
#[inline(always)]
fn strains<S: Simd, const D: usize, const N: usize>(
    part: Part<S>,
    block: &Block<D>,
    tables: &Tables<N>,
    room: &Room<D>,
    sums: &mut [[Lanes; PRODUCTS]],
) {
    let add = |to: &mut Lanes, x: Register<S>| part.store(to, part.load(to) + x);
    for k in 0..if D == 3 { N } else { 1 } {
        let layer = Layer::new(part, tables, &block.shape, k);
        for j in 0..N {
            let row = Row::new(part, tables, &layer, j);
            for i in 0..N {
                let (cofactors, determinant) = row.cofactors(part, tables, i);
                let turn = (&cofactors, part.splat(1.0) / determinant);
                let of = |field| gradient::<S, D, D, N>(part, tables, field, [i, j, k], turn);
                let (one, other) = (of(&room.forward), of(&room.back));
                let [mut trace, mut beside] = [part.zero(); 2];
                let mut twice = part.zero();
                for c in 0..D {
                    trace = trace + one[c][c];
                    beside = beside + other[c][c];
                    let both = one[c][c] + one[c][c];
                    twice = both.mul_add(other[c][c], twice);
                    for d in c + 1..D {
                        let (shear, opposite) = (one[c][d] + one[d][c], other[c][d] + other[d][c]);
                        twice = shear.mul_add(opposite, twice);
                    }
                }
                let point = &mut sums[(k * N + j) * N + i];
                add(&mut point[2], trace * beside);
                add(&mut point[3], twice);
            }
        }
    }
}
