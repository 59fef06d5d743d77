//! Internal forces of the elements of a block.

use pulp::{Simd, WithSimd};

use super::Number;
use super::assembly::{Block, Stiffness, triangle};
use super::attenuation::Memory;
use super::damped::{damped_forces, smooth, transposed_forces};
use super::lanes::{Lanes, Part, Register};
use super::pml::Damped;
use super::scratch::Scratch;
use super::shape::{Layer, Row, Tables};
use super::transfer::{gather, scatter, step_back};
use crate::device::simd::Arch;

/// A gradient `[i][c]` or a flux of a field at a point.
pub(super) type Tensor<S, const D: usize, const C: usize> = [[Register<S>; D]; C];

/// Displacement, acceleration of the previous step, and velocity half a step before the displacement:
/// `[point][component]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<'a, const D: usize> {
    pub(super) displacement: &'a [[Number; D]],
    pub(super) acceleration: &'a [[Number; D]],
    pub(super) velocity: &'a [[Number; D]],
    /// Square of the time step.
    pub(super) square: Number,
}

/// The constitutive law of a medium: the flux for the gradient of a field.
pub(super) trait Law<S: Simd, const D: usize, const C: usize> {
    /// The flux at a point; `strained` gives the gradient there of the field that drives memory variables.
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, C>,
        strained: impl FnOnce() -> Tensor<S, D, C>,
    ) -> Tensor<S, D, C>;
}

/// Writes the internal forces of a block of solids, `[element][point][component]`, and advances its memory variables.
pub(super) struct Forces<'a, const D: usize, const N: usize> {
    pub(super) block: &'a Block<D>,
    pub(super) tables: &'a Tables<N>,
    pub(super) motion: Motion<'a, D>,
    pub(super) memory: Option<&'a mut Memory>,
    pub(super) damped: Option<&'a mut Damped>,
    pub(super) scratch: &'a mut Scratch<D>,
    pub(super) out: &'a mut [Number],
}

impl<const D: usize, const N: usize> Forces<'_, D, N> {
    /// Runs with the instruction set of this processor. The function is compiled once for all callers.
    #[inline(never)]
    pub(super) fn run(self, arch: Arch) {
        arch.dispatch(self);
    }
}

impl<const D: usize, const N: usize> WithSimd for Forces<'_, D, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            block,
            tables,
            motion,
            mut memory,
            damped,
            scratch,
            out,
        } = self;
        gather(simd, block, &mut scratch.field, motion.displacement);
        if let Some(damped) = damped {
            gather(simd, block, &mut scratch.strained, motion.velocity);
            for part in Part::all(simd) {
                let mut law = Any(&block.stiffness, memory.as_deref_mut());
                match damped.transposed {
                    false => damped_forces::<S, _, D, D, N>(part, block, tables, scratch, (&mut law, damped)),
                    true => {
                        transposed_forces::<S, _, D, D, N>(part, block, tables, scratch, (&mut law, damped));
                    }
                }
                smooth::<S, D, D, N>(part, tables, scratch, damped);
            }
            return scatter::<S, D, D, N>(simd, block, &scratch.force, out);
        }
        if memory.as_ref().is_some_and(|memory| !memory.follows_now()) {
            // This is the displacement that the previous step predicted for its end.
            gather(simd, block, &mut scratch.strained, motion.acceleration);
            for part in Part::all(simd) {
                step_back(part, &scratch.field, motion.square, &mut scratch.strained);
            }
        }
        // Without vector instructions, which every current processor has, one instance serves every medium.
        if const { size_of::<Register<S>>() == size_of::<Number>() } {
            for part in Part::all(simd) {
                let mut law = Any(&block.stiffness, memory.as_deref_mut());
                forces::<S, _, D, D, N>(part, block, tables, scratch, &mut law);
            }
            return scatter::<S, D, D, N>(simd, block, &scratch.force, out);
        }
        for part in Part::all(simd) {
            match (&block.stiffness, &mut memory) {
                (Stiffness::Isotropic(moduli), None) => {
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut Isotropic(moduli));
                }
                (Stiffness::Isotropic(moduli), Some(memory)) => {
                    let mut law = Relaxing(Isotropic(moduli), memory);
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut law);
                }
                (Stiffness::Anisotropic(c), None) => {
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut Anisotropic(c));
                }
                (Stiffness::Anisotropic(c), Some(memory)) => {
                    let mut law = Relaxing(Anisotropic(c), memory);
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut law);
                }
                (Stiffness::Fluid(_), _) => {}
            }
        }
        scatter::<S, D, D, N>(simd, block, &scratch.force, out);
    }
}

/// Writes the right-hand side of a block of fluids, `[element][point]`, for a potential.
pub(super) struct FluidForces<'a, const D: usize, const N: usize> {
    pub(super) block: &'a Block<D>,
    /// The stiffness of the block, or a perturbation of it.
    pub(super) stiffness: &'a Stiffness,
    pub(super) tables: &'a Tables<N>,
    pub(super) potential: &'a [[Number; 1]],
    pub(super) damped: Option<&'a mut Damped>,
    pub(super) scratch: &'a mut Scratch<1>,
    pub(super) out: &'a mut [Number],
}

impl<const D: usize, const N: usize> WithSimd for FluidForces<'_, D, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (block, scratch) = (self.block, self.scratch);
        let Stiffness::Fluid(lightness) = self.stiffness else {
            return;
        };
        gather(simd, block, &mut scratch.field, self.potential);
        if let Some(damped) = self.damped {
            for part in Part::all(simd) {
                let mut law = Light(lightness);
                let with = (&mut law, &mut *damped);
                match with.1.transposed {
                    false => damped_forces::<S, _, D, 1, N>(part, block, self.tables, scratch, with),
                    true => transposed_forces::<S, _, D, 1, N>(part, block, self.tables, scratch, with),
                }
            }
            return scatter::<S, D, 1, N>(simd, block, &scratch.force, self.out);
        }
        for part in Part::all(simd) {
            forces::<S, _, D, 1, N>(part, block, self.tables, scratch, &mut Light(lightness));
        }
        scatter::<S, D, 1, N>(simd, block, &scratch.force, self.out);
    }
}

/// The forces of a block under a constitutive law, one layer of points at a time, so that the fluxes stay in the cache.
#[inline(always)]
pub(super) fn forces<S: Simd, L: Law<S, D, C>, const D: usize, const C: usize, const N: usize>(
    part: Part<S>,
    block: &Block<D>,
    tables: &Tables<N>,
    scratch: &mut Scratch<C>,
    law: &mut L,
) {
    let layers = if D == 3 { N } else { 1 };
    for force in &mut scratch.force {
        force.iter_mut().for_each(|lanes| part.store(lanes, part.zero()));
    }
    for k in 0..layers {
        let layer = Layer::new(part, tables, &block.shape, k);
        let across = if D == 3 { tables.weight[k] } else { 1.0 };
        for j in 0..N {
            let row = Row::new(part, tables, &layer, j);
            for i in 0..N {
                let (cofactors, determinant) = row.cofactors(part, tables, i);
                let scale = part.splat(1.0) / determinant;
                let at = [i, j, k];
                let turn = (&cofactors, scale);
                let of_field = gradient::<S, D, C, N>(part, tables, &scratch.field, at, turn);
                let point = (k * N + j) * N + i;
                let flux = law.flux(
                    part,
                    point,
                    &of_field,
                    #[inline(always)]
                    || gradient::<S, D, C, N>(part, tables, &scratch.strained, at, turn),
                );
                let weight = part.splat(-(tables.weight[i] * tables.weight[j]) * across);
                keep_fluxes(part, (&cofactors, weight), &flux, &mut scratch.flux, j * N + i);
            }
        }
        add_layer::<S, D, C, N>(part, tables, (&scratch.flux, &mut scratch.force), k);
    }
}

/// Stores the weighted fluxes of a point of a layer along the axes of the cell, which [`add_layer`] turns into forces.
#[inline(always)]
pub(super) fn keep_fluxes<S: Simd, const D: usize, const C: usize>(
    part: Part<S>,
    (cofactors, weight): (&[[Register<S>; D]; D], Register<S>),
    flux: &Tensor<S, D, C>,
    out: &mut [Vec<[Lanes; C]>; 3],
    at: usize,
) {
    for (out, cofactors) in out.iter_mut().zip(cofactors) {
        for (c, flux) in flux.iter().enumerate() {
            let mut sum = part.zero();
            (0..D).for_each(|d| sum = cofactors[d].mul_add(flux[d], sum));
            part.store(&mut out[at][c], weight * sum);
        }
    }
}

/// The gradient `[i][c]` of a field at a point, from cofactors and one over the determinant.
#[inline(always)]
pub(super) fn gradient<S: Simd, const D: usize, const C: usize, const N: usize>(
    part: Part<S>,
    tables: &Tables<N>,
    field: &[[Lanes; C]],
    at: [usize; 3],
    (cofactors, scale): (&[[Register<S>; D]; D], Register<S>),
) -> Tensor<S, D, C> {
    let mut slopes = [[part.zero(); C]; D];
    for (a, slopes) in slopes.iter_mut().enumerate() {
        let stride = N.pow(a as u32);
        let first = (at[2] * N + at[1]) * N + at[0] - at[a] * stride;
        for p in 0..N {
            let weight = part.splat(tables.derivative[at[a]][p]);
            let values = &field[first + p * stride];
            (0..C).for_each(|i| slopes[i] = weight.mul_add(part.load(&values[i]), slopes[i]));
        }
    }
    let mut gradient = [[part.zero(); D]; C];
    for (i, row) in gradient.iter_mut().enumerate() {
        for (c, entry) in row.iter_mut().enumerate() {
            let mut sum = cofactors[0][c] * slopes[0][i];
            (1..D).for_each(|a| sum = cofactors[a][c].mul_add(slopes[a][i], sum));
            *entry = scale * sum;
        }
    }
    gradient
}

/// Adds the fluxes of layer k, weighted by the derivatives of the Lagrange polynomials.
#[inline(always)]
pub(super) fn add_layer<S: Simd, const D: usize, const C: usize, const N: usize>(
    part: Part<S>,
    tables: &Tables<N>,
    (flux, forces): (&[Vec<[Lanes; C]>; 3], &mut [[Lanes; C]]),
    k: usize,
) {
    let [along, beside, across] = flux;
    for j in 0..N {
        for i in 0..N {
            let force = &mut forces[(k * N + j) * N + i];
            let mut sum = [part.zero(); C];
            (0..C).for_each(|c| sum[c] = part.load(&force[c]));
            for q in 0..N {
                let weights = [
                    part.splat(tables.derivative[q][i]),
                    part.splat(tables.derivative[q][j]),
                ];
                let (u, v) = (&along[j * N + q], &beside[q * N + i]);
                for c in 0..C {
                    sum[c] = weights[0].mul_add(part.load(&u[c]), sum[c]);
                    sum[c] = weights[1].mul_add(part.load(&v[c]), sum[c]);
                }
            }
            (0..C).for_each(|c| part.store(&mut force[c], sum[c]));
            if D < 3 {
                continue;
            }
            let mut flux = [part.zero(); C];
            (0..C).for_each(|c| flux[c] = part.load(&across[j * N + i][c]));
            for q in 0..N {
                let weight = part.splat(tables.derivative[k][q]);
                let force = &mut forces[(q * N + j) * N + i];
                for c in 0..C {
                    let sum = weight.mul_add(flux[c], part.load(&force[c]));
                    part.store(&mut force[c], sum);
                }
            }
        }
    }
}

/// The values of a point from an array with one entry for all points or one for each point.
#[inline(always)]
pub(super) fn at<const C: usize>(all: &[[Lanes; C]], point: usize) -> &[Lanes; C] {
    if all.len() == 1 { &all[0] } else { &all[point] }
}

/// Hooke's law with Lame's constants.
pub(super) struct Isotropic<'a>(pub(super) &'a [[Lanes; 2]]);

impl<S: Simd, const D: usize> Law<S, D, D> for Isotropic<'_> {
    #[inline(always)]
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, D>,
        _: impl FnOnce() -> Tensor<S, D, D>,
    ) -> Tensor<S, D, D> {
        let [lambda, mu] = at(self.0, point);
        let [lambda, mu] = [part.load(lambda), part.load(mu)];
        let mut trace = gradient[0][0];
        (1..D).for_each(|i| trace = trace + gradient[i][i]);
        let pressure = lambda * trace;
        let mut stress = [[pressure; D]; D];
        for i in 0..D {
            stress[i][i] = mu.mul_add(gradient[i][i] + gradient[i][i], pressure);
            for c in i + 1..D {
                stress[i][c] = mu * (gradient[i][c] + gradient[c][i]);
                stress[c][i] = stress[i][c];
            }
        }
        stress
    }
}

/// Voigt's index of two axes of a mesh.
pub(super) const fn voigt<const D: usize>(i: usize, k: usize) -> usize {
    const OF_AXES: [[usize; 3]; 3] = [[0, 5, 4], [5, 1, 3], [4, 3, 2]];
    match D {
        2 => OF_AXES[2 * i][2 * k],
        _ => OF_AXES[i][k],
    }
}

/// Hooke's law with 21 constants, of which only the constants of x and z are used in 2-D.
pub(super) struct Anisotropic<'a>(pub(super) &'a [[Lanes; 21]]);

impl<S: Simd, const D: usize> Law<S, D, D> for Anisotropic<'_> {
    #[inline(always)]
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, D>,
        _: impl FnOnce() -> Tensor<S, D, D>,
    ) -> Tensor<S, D, D> {
        let (mut stress, constants) = (*gradient, at(self.0, point));
        for i in 0..D {
            for k in i..D {
                let mut sum = part.zero();
                for l in 0..D {
                    for m in l..D {
                        let (row, column) = (voigt::<D>(i, k), voigt::<D>(l, m));
                        let entry = part.load(&constants[triangle(row.min(column), row.max(column))]);
                        // Shear strains are twice the tensor components.
                        let strain = if l == m {
                            gradient[l][l]
                        } else {
                            gradient[l][m] + gradient[m][l]
                        };
                        sum = entry.mul_add(strain, sum);
                    }
                }
                (stress[i][k], stress[k][i]) = (sum, sum);
            }
        }
        stress
    }
}

/// A law with attenuation by memory variables.
struct Relaxing<'a, L>(L, &'a mut Memory);

impl<S: Simd, L: Law<S, D, D>, const D: usize> Law<S, D, D> for Relaxing<'_, L> {
    #[inline(always)]
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, D>,
        strained: impl FnOnce() -> Tensor<S, D, D>,
    ) -> Tensor<S, D, D> {
        let mut stress = self.0.flux(
            part,
            point,
            gradient,
            #[inline(always)]
            || *gradient,
        );
        let followed = self.1.followed(*gradient, strained);
        self.1.advance(part, point, &followed, &mut stress);
        stress
    }
}

/// The law of any solid, selected at each point.
struct Any<'a>(&'a Stiffness, Option<&'a mut Memory>);

impl<S: Simd, const D: usize> Law<S, D, D> for Any<'_> {
    #[inline(always)]
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, D>,
        strained: impl FnOnce() -> Tensor<S, D, D>,
    ) -> Tensor<S, D, D> {
        let same = || *gradient;
        let mut stress = match self.0 {
            Stiffness::Isotropic(moduli) => Isotropic(moduli).flux(part, point, gradient, same),
            Stiffness::Anisotropic(c) => Anisotropic(c).flux(part, point, gradient, same),
            Stiffness::Fluid(_) => [[part.zero(); D]; D],
        };
        if let Some(memory) = &mut self.1 {
            let followed = memory.followed(*gradient, strained);
            memory.advance(part, point, &followed, &mut stress);
        }
        stress
    }
}

/// The flux of a potential in a fluid, whose coefficient is one over the density.
struct Light<'a>(&'a [[Lanes; 1]]);

impl<S: Simd, const D: usize> Law<S, D, 1> for Light<'_> {
    #[inline(always)]
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, 1>,
        _: impl FnOnce() -> Tensor<S, D, 1>,
    ) -> Tensor<S, D, 1> {
        let [lightness] = at(self.0, point);
        let lightness = part.load(lightness);
        let mut flux = *gradient;
        (0..D).for_each(|c| flux[0][c] = lightness * gradient[0][c]);
        flux
    }
}
