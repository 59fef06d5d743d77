//! The products of the forward and the adjoint wavefield that a gradient sums over steps at every point of every
//! element.

use crate::methods::spectral_elements::Number;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::super::assembly::{Block, Stiffness, triangle};
use super::super::attenuation::Memory;
use super::super::element::{at, gradient, voigt};
use super::super::lanes::{LANES, Lanes, Part, Register};
use super::super::shape::{Layer, Row, Tables};

/// Number of products of a point of an isotropic solid or of a fluid; the first factor belongs to the forward
/// wavefield.
///
/// In solids: displacement times acceleration, displacement times velocity, divergence times divergence, and twice
/// strain times strain. With attenuation the last two are divergence times divergence of the adjoint wavefield, and
/// twice strain times deviator of the adjoint strain, each minus the contribution of the memory variables. In fluids:
/// the second derivative of the forward potential times the second and the first derivative of the adjoint potential,
/// and the slopes of both potentials; the last product is not used.
pub(super) const PRODUCTS: usize = 4;

/// Number of products of a point of a solid with attenuation: the products of an isotropic solid, then divergence times
/// the memory variables' contribution to the adjoint stress over the unrelaxed bulk modulus, and twice strain times
/// their contribution over twice the unrelaxed shear modulus.
pub(super) const LOSSY: usize = 6;

/// Number of products of a point of a solid for derivatives with respect to the constants of Voigt's matrix: the first
/// two as above, then the products of engineering strains (shears are twice the tensor components) in the order of the
/// upper triangle, where both orders are added off the diagonal.
pub(in super::super) const CONSTANTS: usize = 2 + 21;

/// Number of products of such a point with attenuation: [`CONSTANTS`], then divergence times the memory variables'
/// contribution to each normal stress, and twice strain times their contribution to the deviator.
pub(in super::super) const LOSSY_CONSTANTS: usize = CONSTANTS + 2;

/// Sums of products at all points of some blocks.
pub(super) struct Products {
    /// `[block][point][product]`, in single precision.
    pub(super) sums: Vec<Vec<Lanes>>,
    /// `[block][lane][point][product]`: the totals in double precision.
    totals: Vec<f64>,
    points: usize,
    /// Number of products per point.
    pub(super) width: usize,
}

impl Products {
    /// Sums for `blocks` blocks with `points` points and `width` products per point.
    pub(super) fn new(blocks: usize, points: usize, width: usize) -> Self {
        Self {
            sums: vec![vec![Lanes::ZERO; points * width]; blocks],
            totals: vec![0.0; blocks * LANES * points * width],
            points,
            width,
        }
    }

    /// The totals of a point of the element in a lane of a block.
    pub(super) fn at(&self, (block, lane): (usize, usize), point: usize) -> &[f64] {
        &self.totals[((block * LANES + lane) * self.points + point) * self.width..][..self.width]
    }

    /// Sets the totals to zero.
    pub(super) fn clear(&mut self) {
        self.totals.fill(0.0);
    }

    /// Adds the sums in single precision to the totals in double precision.
    pub(super) fn flush(&mut self) {
        let length = self.points * self.width;
        let totals = self.totals.par_chunks_mut((LANES * length).max(1));
        self.sums.par_iter_mut().zip(totals).for_each(|(sums, totals)| {
            for (at, lanes) in sums.iter_mut().enumerate() {
                for (lane, x) in lanes.0.iter_mut().enumerate() {
                    totals[lane * length + at] += f64::from(std::mem::take(x));
                }
            }
        });
    }

    pub(super) fn bytes(&self) -> usize {
        self.sums.len() * self.points * self.width * size_of::<Lanes>() + size_of_val(&self.totals[..])
    }
}

/// The adjoint wavefield at all points of the mesh: displacement or potential, and its time derivatives.
#[derive(Clone, Copy)]
pub(super) struct Back<'a, const C: usize> {
    pub(super) field: &'a [[Number; C]],
    pub(super) rate: &'a [[Number; C]],
    pub(super) second: &'a [[Number; C]],
}

/// Scratch memory for one block.
pub(super) struct Room<const C: usize> {
    forward: Vec<[Lanes; C]>,
    back: Vec<[Lanes; C]>,
    followed: Vec<[Lanes; C]>,
}

impl<const C: usize> Room<C> {
    /// Scratch memory for blocks with `points` points.
    pub(super) fn new(points: usize) -> Self {
        let room = || vec![[Lanes::ZERO; C]; points];
        Self {
            forward: room(),
            back: room(),
            followed: room(),
        }
    }

    /// Copies the values of both wavefields at a point of a block, and returns the products of the forward field and
    /// the second and first derivative of the adjoint field.
    fn fill<const D: usize>(
        &mut self,
        (block, local): (&Block<D>, usize),
        forward: &[[Number; C]],
        back: &Back<'_, C>,
    ) -> [[Number; LANES]; 2] {
        let mut products = [[0.0; LANES]; 2];
        for (lane, number) in block.points[local].iter().enumerate() {
            let at = *number as usize;
            let (u, field, v, a) = (forward[at], back.field[at], back.rate[at], back.second[at]);
            for c in 0..C {
                self.forward[local][c].0[lane] = u[c];
                self.back[local][c].0[lane] = field[c];
                products[0][lane] += u[c] * a[c];
                products[1][lane] += u[c] * v[c];
            }
        }
        products
    }
}

fn accumulate(sums: &mut [Lanes], products: [[Number; LANES]; 2]) {
    for (sum, products) in sums.iter_mut().zip(products) {
        sum.0.iter_mut().zip(products).for_each(|(sum, x)| *sum += x);
    }
}

/// Repeats its body, in a function with the constants `D` and `N`, for every point of a block of elements: with the
/// position of the point in its element, its number, and the cofactors and one over the determinant there. This is a
/// macro because a closure that is not inlined would be compiled without the processor's vector instructions and
/// would cost a function call for each of them.
macro_rules! each_point {
    (($part:expr, $tables:expr), $block:expr, |$place:ident, $point:ident, $turn:ident| $body:block) => {
        let last = if D == 3 { N } else { 1 };
        for k in 0..last {
            let layer = Layer::new($part, $tables, &$block.shape, k);
            for j in 0..N {
                let row = Row::new($part, $tables, &layer, j);
                for i in 0..N {
                    let (cofactors, determinant) = row.cofactors($part, $tables, i);
                    let $turn = (&cofactors, $part.splat(1.0) / determinant);
                    let ($place, $point) = ([i, j, k], (k * N + j) * N + i);
                    $body
                }
            }
        }
    };
}

/// Adds a product of a point.
#[inline(always)]
fn add<S: Simd>(part: Part<S>, to: &mut Lanes, x: Register<S>) {
    part.store(to, part.load(to) + x);
}

/// Adds the products of a step to the sums of a block of a solid, `[point][product]`.
pub(super) struct InSolid<'a, const D: usize, const N: usize> {
    pub(super) block: &'a Block<D>,
    pub(super) tables: &'a Tables<N>,
    /// The displacement of the forward wavefield.
    pub(super) forward: &'a [[Number; D]],
    pub(super) back: Back<'a, D>,
    /// Memory variables of the adjoint wavefield, its acceleration of the previous step, and the square of the time
    /// step.
    pub(super) memory: Option<(&'a Memory, &'a [[Number; D]], Number)>,
    pub(super) room: &'a mut Room<D>,
    pub(super) sums: &'a mut [Lanes],
    /// Products per point: [`PRODUCTS`], [`LOSSY`], [`CONSTANTS`] or [`LOSSY_CONSTANTS`].
    pub(super) width: usize,
}

impl<const D: usize, const N: usize> WithSimd for InSolid<'_, D, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            block,
            tables,
            forward,
            back,
            memory,
            room,
            sums,
            width,
        } = self;
        for (local, sums) in sums.chunks_exact_mut(width).enumerate() {
            accumulate(sums, room.fill((block, local), forward, &back));
        }
        let by_constants = matches!(width, CONSTANTS | LOSSY_CONSTANTS);
        if by_constants {
            for part in Part::all(simd) {
                pairs::<S, D, N>(part, block, tables, room, (sums, width));
            }
        }
        let Some((memory, before, square)) = memory else {
            for part in Part::all(simd).filter(|_| !by_constants) {
                strains::<S, D, N>(part, block, tables, room, sums);
            }
            return;
        };
        if !memory.follows_now() {
            for (local, numbers) in block.points.iter().enumerate() {
                for (lane, number) in numbers.iter().enumerate() {
                    let at = *number as usize;
                    let of = |c: usize| back.field[at][c] - square * before[at][c];
                    (0..D).for_each(|c| room.followed[local][c].0[lane] = of(c));
                }
            }
        }
        for part in Part::all(simd) {
            match by_constants {
                true => taken::<S, D, N>((part, tables), block, memory, room, sums),
                false => relaxing::<S, D, N>((part, tables), block, memory, room, sums),
            }
        }
    }
}

#[inline(always)]
fn strains<S: Simd, const D: usize, const N: usize>(
    part: Part<S>,
    block: &Block<D>,
    tables: &Tables<N>,
    room: &Room<D>,
    sums: &mut [Lanes],
) {
    each_point!((part, tables), block, |place, point, turn| {
        let one = gradient::<S, D, D, N>(part, tables, &room.forward, place, turn);
        let other = gradient::<S, D, D, N>(part, tables, &room.back, place, turn);
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
        add(part, &mut sums[point * PRODUCTS + 2], trace * beside);
        add(part, &mut sums[point * PRODUCTS + 3], twice);
    });
}

/// Strains in Voigt's order; shear strains are twice the tensor components.
#[inline(always)]
fn in_voigts_order<S: Simd, const D: usize>(part: Part<S>, of: &[[Register<S>; D]; D]) -> [Register<S>; 6] {
    let mut all = [part.zero(); 6];
    for i in 0..D {
        all[voigt::<D>(i, i)] = of[i][i];
        for c in i + 1..D {
            all[voigt::<D>(i, c)] = of[i][c] + of[c][i];
        }
    }
    all
}

/// The products of all pairs of strains, in Voigt's order.
#[inline(always)]
fn pairs<S: Simd, const D: usize, const N: usize>(
    part: Part<S>,
    block: &Block<D>,
    tables: &Tables<N>,
    room: &Room<D>,
    (sums, width): (&mut [Lanes], usize),
) {
    each_point!((part, tables), block, |place, point, turn| {
        let one = gradient::<S, D, D, N>(part, tables, &room.forward, place, turn);
        let other = gradient::<S, D, D, N>(part, tables, &room.back, place, turn);
        let (one, other) = (in_voigts_order(part, &one), in_voigts_order(part, &other));
        let sums = &mut sums[point * width + 2..];
        let met: &[usize] = if D == 3 { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 4] };
        for (count, row) in met.iter().copied().enumerate() {
            for column in met[count..].iter().copied() {
                let mut product = one[row] * other[column];
                if row != column {
                    product = one[column].mul_add(other[row], product);
                }
                add(part, &mut sums[triangle(row, column)], product);
            }
        }
    });
}

/// The products of strains with the contributions of memory variables to the adjoint stress.
#[inline(always)]
fn taken<S: Simd, const D: usize, const N: usize>(
    (part, tables): (Part<S>, &Tables<N>),
    block: &Block<D>,
    memory: &Memory,
    room: &Room<D>,
    sums: &mut [Lanes],
) {
    each_point!((part, tables), block, |place, point, turn| {
        let one = gradient::<S, D, D, N>(part, tables, &room.forward, place, turn);
        let other = gradient::<S, D, D, N>(part, tables, &room.back, place, turn);
        let predicted = || gradient::<S, D, D, N>(part, tables, &room.followed, place, turn);
        let followed = memory.followed(other, predicted);
        let lost = memory.lost(part, point, &followed);
        let (mut trace, mut sum) = (part.zero(), part.zero());
        for i in 0..D {
            trace = trace + one[i][i];
            for c in i..D {
                // Off-diagonal components occur twice.
                let pair = one[i][c] + one[c][i];
                let weight = if i == c { pair } else { pair + pair };
                sum = weight.mul_add(lost.deviator[i][c], sum);
            }
        }
        let sums = &mut sums[point * LOSSY_CONSTANTS + CONSTANTS..];
        add(part, &mut sums[0], trace * lost.bulk);
        add(part, &mut sums[1], sum);
    });
}

/// The products of strains with the adjoint strains, less the contributions of the memory variables to the adjoint
/// stress.
#[inline(always)]
fn relaxing<S: Simd, const D: usize, const N: usize>(
    (part, tables): (Part<S>, &Tables<N>),
    block: &Block<D>,
    memory: &Memory,
    room: &Room<D>,
    sums: &mut [Lanes],
) {
    let Stiffness::Isotropic(moduli) = &block.stiffness else {
        return;
    };
    let (third, half) = (part.splat(1.0 / 3.0), part.splat(0.5));
    each_point!((part, tables), block, |place, point, turn| {
        let one = gradient::<S, D, D, N>(part, tables, &room.forward, place, turn);
        let other = gradient::<S, D, D, N>(part, tables, &room.back, place, turn);
        let predicted = || gradient::<S, D, D, N>(part, tables, &room.followed, place, turn);
        let followed = memory.followed(other, predicted);
        let lost = memory.lost(part, point, &followed);
        let [lambda, mu] = at(moduli, point);
        let (lambda, twice_mu) = (part.load(lambda), part.load(mu) + part.load(mu));
        let (of_bulk, of_shear) = (
            part.splat(1.0) / third.mul_add(twice_mu, lambda),
            part.splat(1.0) / twice_mu,
        );
        let [mut trace, mut beside] = [part.zero(); 2];
        for c in 0..D {
            trace = trace + one[c][c];
            beside = beside + other[c][c];
        }
        let (mut twice, mut taken) = (part.zero(), part.zero());
        for i in 0..D {
            for c in i..D {
                let strain = half * (other[i][c] + other[c][i]);
                let deviator = if i == c { strain - third * beside } else { strain };
                let gone = of_shear * lost.deviator[i][c];
                // Off-diagonal components occur twice.
                let weight = one[i][c] + one[c][i];
                let weight = if i == c { weight } else { weight + weight };
                twice = weight.mul_add(deviator - gone, twice);
                taken = weight.mul_add(gone, taken);
            }
        }
        let (gone, sums) = (of_bulk * lost.bulk, &mut sums[point * LOSSY + 2..]);
        let products = [trace * (beside - gone), twice, trace * gone, taken];
        for (sum, x) in sums.iter_mut().zip(products) {
            add(part, sum, x);
        }
    });
}

/// Adds the products of a step to the sums of a block of a fluid, `[point][product]`.
pub(super) struct InFluid<'a, const D: usize, const N: usize> {
    pub(super) block: &'a Block<D>,
    pub(super) tables: &'a Tables<N>,
    /// The second derivative of the potential of the forward wavefield.
    pub(super) forward: &'a [[Number; 1]],
    pub(super) back: Back<'a, 1>,
    pub(super) room: &'a mut Room<1>,
    pub(super) sums: &'a mut [Lanes],
}

impl<const D: usize, const N: usize> WithSimd for InFluid<'_, D, N> {
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
        for (local, sums) in sums.chunks_exact_mut(PRODUCTS).enumerate() {
            accumulate(sums, room.fill((block, local), forward, &back));
        }
        for part in Part::all(simd) {
            each_point!((part, tables), block, |place, point, turn| {
                let [one] = gradient::<S, D, 1, N>(part, tables, &room.forward, place, turn);
                let [other] = gradient::<S, D, 1, N>(part, tables, &room.back, place, turn);
                let mut sum = part.zero();
                for c in 0..D {
                    sum = one[c].mul_add(other[c], sum);
                }
                add(part, &mut sums[point * PRODUCTS + 2], sum);
            });
        }
    }
}
