//! Internal forces of the elements of a block in perfectly matched layers.

use pulp::Simd;

use super::assembly::Block;
use super::element::{Law, add_layer, gradient, keep_fluxes};
use super::lanes::{Lanes, Part};
use super::pml::Damped;
use super::scratch::Scratch;
use super::shape::{Layer, Row, Tables};

/// The forces of a block in perfectly matched layers. Derivatives across a layer are filtered, and so are the forces
/// of the stresses across it, which are therefore summed separately for each such axis.
#[inline(always)]
pub(super) fn damped_forces<S: Simd, L: Law<S, D, C>, const D: usize, const C: usize, const N: usize>(
    part: Part<S>,
    block: &Block<D>,
    tables: &Tables<N>,
    scratch: &mut Scratch<C>,
    (law, damped): (&mut L, &mut Damped),
) {
    let (layers, points) = (if D == 3 { N } else { 1 }, N.pow(D as u32));
    scratch.along.resize((D + 1) * points, [Lanes::ZERO; C]);
    scratch.turns.resize(N * N * D * D, Lanes::ZERO);
    scratch.stresses.resize(N * N * D, [Lanes::ZERO; C]);
    for force in &mut scratch.along {
        force.iter_mut().for_each(|lanes| part.store(lanes, part.zero()));
    }
    for k in 0..layers {
        let layer = Layer::new(part, tables, &block.shape, k);
        for j in 0..N {
            let row = Row::new(part, tables, &layer, j);
            for i in 0..N {
                let (cofactors, determinant) = row.cofactors(part, tables, i);
                let turn = (&cofactors, part.splat(1.0) / determinant);
                let mut slopes = gradient::<S, D, C, N>(part, tables, &scratch.field, [i, j, k], turn);
                let (at, point) = (j * N + i, (k * N + j) * N + i);
                for (c, slopes) in slopes.iter_mut().enumerate() {
                    for (axis, slope) in slopes.iter_mut().enumerate() {
                        *slope = damped.filter(part, (axis, point), (c, 0), *slope);
                    }
                }
                let flux = law.flux(part, point, &slopes, || slopes);
                for axis in 0..D {
                    for (c, flux) in flux.iter().enumerate() {
                        part.store(&mut scratch.stresses[at * D + axis][c], flux[axis]);
                    }
                    for (a, cofactors) in cofactors.iter().enumerate() {
                        part.store(&mut scratch.turns[(at * D + a) * D + axis], cofactors[axis]);
                    }
                }
            }
        }
        let across = if D == 3 { tables.weight[k] } else { 1.0 };
        // The forces due to the stresses across each axis with a layer are computed first, then the forces due to all
        // other stresses together.
        for group in 0..=D {
            let is_in = |axis: usize| match group < D {
                true => axis == group && damped.axes >> axis & 1 == 1,
                false => damped.axes >> axis & 1 == 0,
            };
            if !(0..D).any(is_in) {
                continue;
            }
            for at in 0..N * N {
                let weight = part.splat(-(tables.weight[at % N] * tables.weight[at / N]) * across);
                for a in 0..D {
                    let mut sums = [part.zero(); C];
                    for axis in (0..D).filter(|axis| is_in(*axis)) {
                        let turn = part.load(&scratch.turns[(at * D + a) * D + axis]);
                        let stresses = &scratch.stresses[at * D + axis];
                        (0..C).for_each(|c| sums[c] = turn.mul_add(part.load(&stresses[c]), sums[c]));
                    }
                    (0..C).for_each(|c| part.store(&mut scratch.flux[a][at][c], weight * sums[c]));
                }
            }
            let forces = &mut scratch.along[group * points..][..points];
            add_layer::<S, D, C, N>(part, tables, (&scratch.flux, forces), k);
        }
    }
    for point in 0..points {
        for c in 0..C {
            let mut sum = part.load(&scratch.along[D * points + point][c]);
            let axes = damped.axes;
            for axis in (0..D).filter(|axis| axes >> axis & 1 == 1) {
                let force = part.load(&scratch.along[axis * points + point][c]);
                sum = sum + damped.filter(part, (axis, point), (c, 1), force);
            }
            part.store(&mut scratch.force[point][c], sum);
        }
    }
}

/// The transpose of [`damped_forces`], by which the adjoint wavefield is advanced: the field is filtered at the
/// points of every element before it is differentiated across a layer, and the stresses across it are filtered before
/// they become forces.
#[inline(always)]
pub(super) fn transposed_forces<S: Simd, L: Law<S, D, C>, const D: usize, const C: usize, const N: usize>(
    part: Part<S>,
    block: &Block<D>,
    tables: &Tables<N>,
    scratch: &mut Scratch<C>,
    (law, damped): (&mut L, &mut Damped),
) {
    let (layers, points) = (if D == 3 { N } else { 1 }, N.pow(D as u32));
    let axes = damped.axes;
    // The filtered field for the derivatives across each layer.
    scratch.along.resize((D + 1) * points, [Lanes::ZERO; C]);
    for point in 0..points {
        for axis in (0..D).filter(|axis| axes >> axis & 1 == 1) {
            for c in 0..C {
                let value = part.load(&scratch.field[point][c]);
                let value = damped.filter(part, (axis, point), (c, 1), value);
                part.store(&mut scratch.along[axis * points + point][c], value);
            }
        }
        scratch.force[point]
            .iter_mut()
            .for_each(|lanes| part.store(lanes, part.zero()));
    }
    for k in 0..layers {
        let layer = Layer::new(part, tables, &block.shape, k);
        let across = if D == 3 { tables.weight[k] } else { 1.0 };
        for j in 0..N {
            let row = Row::new(part, tables, &layer, j);
            for i in 0..N {
                let (cofactors, determinant) = row.cofactors(part, tables, i);
                let turn = (&cofactors, part.splat(1.0) / determinant);
                let point = (k * N + j) * N + i;
                let mut slopes = gradient::<S, D, C, N>(part, tables, &scratch.field, [i, j, k], turn);
                for axis in (0..D).filter(|axis| axes >> axis & 1 == 1) {
                    let filtered = &scratch.along[axis * points..][..points];
                    let own = gradient::<S, D, C, N>(part, tables, filtered, [i, j, k], turn);
                    (0..C).for_each(|c| slopes[c][axis] = own[c][axis]);
                }
                let mut flux = law.flux(part, point, &slopes, || slopes);
                for (c, flux) in flux.iter_mut().enumerate() {
                    for (axis, flux) in flux.iter_mut().enumerate() {
                        *flux = damped.filter(part, (axis, point), (c, 0), *flux);
                    }
                }
                let weight = part.splat(-(tables.weight[i] * tables.weight[j]) * across);
                keep_fluxes(part, (&cofactors, weight), &flux, &mut scratch.flux, j * N + i);
            }
        }
        add_layer::<S, D, C, N>(part, tables, (&scratch.flux, &mut scratch.force), k);
    }
}

/// The modal filter: adds the forces that damp the highest-degree polynomial of the velocity, on every line of points
/// along the axes of the cell that run along the layers.
#[inline(always)]
pub(super) fn smooth<S: Simd, const D: usize, const C: usize, const N: usize>(
    part: Part<S>,
    tables: &Tables<N>,
    scratch: &mut Scratch<C>,
    damped: &Damped,
) {
    let masses = &damped.smoothing;
    let [values, takes] = &tables.highest;
    for axis in (0..D).filter(|axis| damped.lines >> axis & 1 == 1) {
        let stride = N.pow(axis as u32);
        for line in 0..N.pow(D as u32 - 1) {
            let first = line / stride * stride * N + line % stride;
            let mut mass = part.zero();
            for (p, value) in values.iter().enumerate() {
                mass = part
                    .splat(value * value)
                    .mul_add(part.load(&masses[first + p * stride]), mass);
            }
            for c in 0..C {
                let mut coefficient = part.zero();
                for (p, take) in takes.iter().enumerate() {
                    let v = part.load(&scratch.strained[first + p * stride][c]);
                    coefficient = part.splat(*take).mul_add(v, coefficient);
                }
                let lost = part.zero() - mass * coefficient;
                for (p, take) in takes.iter().enumerate() {
                    let force = &mut scratch.force[first + p * stride][c];
                    let sum = part.splat(*take).mul_add(lost, part.load(force));
                    part.store(force, sum);
                }
            }
        }
    }
}
