//! The forces that a small perturbation of the medium exerts on the points of a block.

use crate::methods::spectral_elements::Number;
use pulp::{Simd, WithSimd};

use super::super::assembly::{Block, Stiffness};
use super::super::attenuation::Memory;
use super::super::element::{Anisotropic, Isotropic, Law, Tensor, forces};
use super::super::lanes::{Lanes, Part};
use super::super::scratch::Scratch;
use super::super::shape::Tables;
use super::super::transfer::{gather, scatter, step_back};

/// Subtracts the perturbed masses and dampings, times the second and the first derivative of a field, from the forces
/// of a block.
pub(super) fn inertia<const D: usize, const C: usize>(
    block: &Block<D>,
    masses: &[[Number; 2]],
    (second, first): (&[[Number; C]], &[[Number; C]]),
    out: &mut [[Number; C]],
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
    /// With memory variables: the relative perturbations of the mean and of the deviator of their contribution to the
    /// stress, at every point.
    pub(super) relative: &'a [[Lanes; 2]],
    pub(super) displacement: &'a [[Number; D]],
    /// Memory variables, the acceleration of the previous step, and the square of the time step.
    pub(super) memory: Option<(&'a Memory, &'a [[Number; D]], Number)>,
    pub(super) scratch: &'a mut Scratch<D>,
    pub(super) out: &'a mut [Number],
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
        let relative = self.relative;
        for part in Part::all(simd) {
            match (self.change, self.memory) {
                (Stiffness::Isotropic(change), Some((memory, ..))) => {
                    let elastic = Isotropic(change);
                    let mut law = Losing {
                        elastic,
                        relative,
                        memory,
                    };
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut law);
                }
                (Stiffness::Isotropic(change), None) => {
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut Isotropic(change));
                }
                (Stiffness::Anisotropic(change), Some((memory, ..))) => {
                    let elastic = Anisotropic(change);
                    let mut law = Losing {
                        elastic,
                        relative,
                        memory,
                    };
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut law);
                }
                (Stiffness::Anisotropic(change), None) => {
                    forces::<S, _, D, D, N>(part, block, tables, scratch, &mut Anisotropic(change));
                }
                (Stiffness::Fluid(_), _) => {}
            }
        }
        scatter::<S, D, D, N>(simd, block, &scratch.force, self.out);
    }
}

/// The perturbation of a stress with attenuation: the perturbation of the elastic stress, and the relative
/// perturbations of the mean and of the deviator of the contribution of memory variables, which is proportional to the
/// moduli and to the shares of mechanisms.
struct Losing<'a, L> {
    elastic: L,
    relative: &'a [[Lanes; 2]],
    memory: &'a Memory,
}

impl<S: Simd, const D: usize, L: Law<S, D, D>> Law<S, D, D> for Losing<'_, L> {
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
        let mut stress = self.elastic.flux(part, point, gradient, || *gradient);
        let [mean, deviator] = &self.relative[point];
        let (mean, deviator) = (part.load(mean) * lost.bulk, part.load(deviator));
        for i in 0..D {
            for c in i..D {
                let gone = deviator * lost.deviator[i][c];
                stress[i][c] = stress[i][c] - if i == c { gone + mean } else { gone };
                stress[c][i] = stress[i][c];
            }
        }
        stress
    }
}
