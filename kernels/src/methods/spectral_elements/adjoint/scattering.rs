//! The forces that a small perturbation of the medium exerts on the points of a block.

use pulp::{Simd, WithSimd};

use super::super::assembly::{Block, Stiffness};
use super::super::attenuation::Memory;
use super::super::element::{Anisotropic, Isotropic, Law, Tensor, at, forces};
use super::super::lanes::{Lanes, Part, Register};
use super::super::scratch::Scratch;
use super::super::shape::Tables;
use super::super::transfer::{gather, scatter, step_back};

/// Subtracts the perturbed masses and dampings, times the second and the first derivative of a field, from the forces
/// of a block.
pub(super) fn inertia<const D: usize, const C: usize>(
    block: &Block<D>,
    masses: &[[f32; 2]],
    (second, first): (&[[f32; C]], &[[f32; C]]),
    out: &mut [[f32; C]],
) {
    for (lane, _) in block.elements.iter().enumerate() {
        for (local, numbers) in block.points.iter().enumerate() {
            let (at, point) = (lane * block.points.len() + local, numbers[lane] as usize);
            let [mass, damping] = masses[at];
            (0..C).for_each(|c| out[at][c] -= mass * second[point][c] + damping * first[point][c]);
        }
    }
}

/// Writes the forces of perturbed moduli of a block of a solid, `[element][point][component]`.
pub(super) struct InSolid<'a, const D: usize, const N: usize> {
    pub(super) block: &'a Block<D>,
    pub(super) tables: &'a Tables<N>,
    pub(super) change: &'a Stiffness,
    /// With memory variables: the perturbations of the logarithms of the shares of mechanisms in the bulk and the
    /// shear modulus.
    pub(super) shares: &'a [[Lanes; 2]],
    pub(super) displacement: &'a [[f32; D]],
    /// Memory variables, the acceleration of the previous step, and the square of the time step.
    pub(super) memory: Option<(&'a Memory, &'a [[f32; D]], f32)>,
    pub(super) scratch: &'a mut Scratch<D>,
    pub(super) out: &'a mut [f32],
}

impl<const D: usize, const N: usize> WithSimd for InSolid<'_, D, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (block, tables, scratch) = (self.block, self.tables, self.scratch);
        gather(simd, block, &mut scratch.field, self.displacement);
        if let Some((_, before, square)) = self.memory.filter(|(memory, ..)| !memory.follows_now()) {
            gather(simd, block, &mut scratch.strained, before);
            for part in Part::all(simd) {
                step_back(part, &scratch.field, square, &mut scratch.strained);
            }
        }
        match (self.change, self.memory, &block.stiffness) {
            (Stiffness::Isotropic(change), Some((memory, ..)), Stiffness::Isotropic(moduli)) => {
                for part in Part::all(simd) {
                    let mut law = Relaxing {
                        moduli,
                        change,
                        shares: self.shares,
                        memory,
                    };
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut law);
                }
            }
            (Stiffness::Isotropic(change), ..) => {
                for part in Part::all(simd) {
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut Isotropic(change));
                }
            }
            (Stiffness::Anisotropic(change), Some((memory, ..)), _) => {
                for part in Part::all(simd) {
                    let mut law = RelaxingConstants {
                        change,
                        logarithms: self.shares,
                        memory,
                    };
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut law);
                }
            }
            (Stiffness::Anisotropic(change), ..) => {
                for part in Part::all(simd) {
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut Anisotropic(change));
                }
            }
            (Stiffness::Fluid(_), ..) => {}
        }
        scatter::<S, D, D, N>(simd, block, &scratch.force, self.out);
    }
}

/// The perturbation of a stress with attenuation by perturbations of the constants, and by those of the logarithms of
/// the bulk and shear modulus, which are factors of the memory variables.
struct RelaxingConstants<'a> {
    change: &'a [[Lanes; 21]],
    logarithms: &'a [[Lanes; 2]],
    memory: &'a Memory,
}

impl<S: Simd, const D: usize> Law<S, D, D> for RelaxingConstants<'_> {
    #[inline(always)]
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, D>,
        strained: impl FnOnce() -> Tensor<S, D, D>,
    ) -> Tensor<S, D, D> {
        let followed = self.memory.followed(*gradient, strained);
        let lost = self.memory.lost(part, point, &followed);
        let mut elastic = Anisotropic(self.change);
        let mut stress = elastic.flux(part, point, gradient, || *gradient);
        let [bulk, shear] = &self.logarithms[point];
        let (bulk, shear) = (part.load(bulk) * lost.bulk, part.load(shear));
        for i in 0..D {
            for c in i..D {
                let gone = shear * lost.deviator[i][c];
                stress[i][c] = stress[i][c] - if i == c { gone + bulk } else { gone };
                stress[c][i] = stress[i][c];
            }
        }
        stress
    }
}

/// The perturbation of a stress with attenuation by perturbations of the unrelaxed bulk and shear modulus and of the
/// mechanisms' shares in them.
struct Relaxing<'a> {
    /// Lambda and mu, unrelaxed.
    moduli: &'a [[Lanes; 2]],
    change: &'a [[Lanes; 2]],
    shares: &'a [[Lanes; 2]],
    memory: &'a Memory,
}

impl<S: Simd, const D: usize> Law<S, D, D> for Relaxing<'_> {
    #[inline(always)]
    fn flux(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &Tensor<S, D, D>,
        strained: impl FnOnce() -> Tensor<S, D, D>,
    ) -> Tensor<S, D, D> {
        let followed = self.memory.followed(*gradient, strained);
        let lost = self.memory.lost(part, point, &followed);
        let [lambda, mu] = at(self.moduli, point);
        let (lambda, twice_mu) = (part.load(lambda), part.load(mu) + part.load(mu));
        let [bulk, shear] = self.change[point];
        let (bulk, shear) = (part.load(&bulk), part.load(&shear));
        let third: Register<S> = part.splat(1.0 / 3.0);
        // Relative perturbations: the memory variables are proportional to the moduli and to the shares of mechanisms.
        let [of_bulk, of_shear] = &self.shares[point];
        let of_bulk = bulk / third.mul_add(twice_mu, lambda) + part.load(of_bulk);
        let of_shear = (shear + shear) / twice_mu + part.load(of_shear);
        let mut trace = gradient[0][0];
        for (i, row) in gradient.iter().enumerate().skip(1) {
            trace = trace + row[i];
        }
        let pressure = bulk * trace - of_bulk * lost.bulk;
        let mut stress = *gradient;
        for i in 0..D {
            for c in i..D {
                let strain = gradient[i][c] + gradient[c][i];
                let own = shear * strain - of_shear * lost.deviator[i][c];
                stress[i][c] = match i == c {
                    true => own - third * (shear + shear) * trace + pressure,
                    false => own,
                };
                stress[c][i] = stress[i][c];
            }
        }
        stress
    }
}
