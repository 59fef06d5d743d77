//! Attenuation: three standard linear solids for shear and three for compression (Liu, Anderson & Kanamori 1976).
//!
//! The stress loses the memory variables R of the deviatoric strain and of its trace, which follow
//! dR/dt = -R/tau + P e with P = 2 mu_u y / (tau sum(tau_e/tau)) for shear, kappa_u y / (tau sum(tau_e/tau)) for
//! compression, y = tau_e/tau - 1. A step is R <- A R + P (B e_old + C e_new), the Runge-Kutta scheme of order 4 of that
//! linear equation. The strain is that of u + dt v as the step before predicts it: u - dt^2 a, with the displacement of
//! this step and the acceleration of the one before. What is kept from step to step is Q = A R + P B e, so that neither old
//! strains nor a second pass are needed: R = Q + P C e with the new e, for the stress of now.

use pulp::Simd;

use super::Relaxation;
use super::lanes::{Lanes, Part, Register};
use crate::medium::attenuation::Law;

/// Mechanisms.
pub(super) const MECHANISMS: usize = 3;

impl Relaxation {
    /// Quality factors of shear and bulk modulus that are constant over a band (Hz) within a few percent where its ends are
    /// a ratio of 12 apart, and moduli that hold at the frequency `reference` (Hz). An infinite factor is no loss.
    pub fn constant(quality: [f64; 2], band: [f64; 2], reference: f64) -> Self {
        let typical = quality[0].min(quality[1]);
        Self::by(&Law::new(MECHANISMS, band, reference, typical), quality)
    }

    /// The same by a law of three mechanisms.
    pub(super) fn by(law: &Law, quality: [f64; 2]) -> Self {
        let [(tau_shear, shear), (tau_bulk, bulk)] = quality.map(|q| {
            let loss = law.loss(q);
            // The share of a mechanism in the unrelaxed modulus is y/(3 + sum y), with y = tau_e/tau - 1.
            let share = |j: usize| loss.phi * law.weights[j];
            let rest = 1.0 - (0..MECHANISMS).map(share).sum::<f64>();
            let long = |j: usize| law.times[j] * (1.0 + MECHANISMS as f64 * share(j) / rest);
            (std::array::from_fn(long), loss.unrelaxed)
        });
        Self {
            tau_stress: std::array::from_fn(|j| law.times[j]),
            tau_shear,
            tau_bulk,
            factors: [shear, bulk],
        }
    }
}

/// How a mechanism goes on in a step.
#[derive(Clone, Copy, Debug)]
struct Mechanism {
    /// A.
    decay: Lanes,
    /// P C: of a strain in the variable now.
    now: Lanes,
    /// A P C + P B: of a strain in what is kept.
    kept: Lanes,
}

/// Memory variables of a block.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Of the deviator and of the trace.
    laws: [[Mechanism; MECHANISMS]; 2],
    /// Of shear and compression at every point, where points have their own: the laws are those of moduli of one.
    strengths: Option<Vec<[Lanes; 2]>>,
    /// `[point][component][mechanism]`; components are the upper triangle of the deviator, row by row, and the trace.
    variables: Vec<[Lanes; MECHANISMS]>,
}

/// The numbers of every mechanism's step; the laws are those of the deviator and of the trace.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Factors {
    /// A.
    pub(super) decay: [f32; MECHANISMS],
    /// `[law][mechanism]`: P C, of a strain in the variable now.
    pub(super) now: [[f32; MECHANISMS]; 2],
    /// A P C + P B, of a strain in what is kept.
    pub(super) kept: [[f32; MECHANISMS]; 2],
}

impl Factors {
    /// For unrelaxed moduli (mu, kappa).
    pub(super) fn new(law: &Relaxation, [mu, kappa]: [f64; 2], dt: f64) -> Self {
        let mut factors = Self::default();
        let sum = |long: &[f64; 3]| (0..MECHANISMS).map(|j| long[j] / law.tau_stress[j]).sum::<f64>();
        for j in 0..MECHANISMS {
            let tau = law.tau_stress[j];
            let x = -dt / tau;
            let power = |long: &[f64; 3]| (long[j] / tau - 1.0) / (tau * sum(long));
            let powers = [2.0 * mu * power(&law.tau_shear), kappa * power(&law.tau_bulk)];
            let decay = 1.0 + x + x * x / 2.0 + x.powi(3) / 6.0 + x.powi(4) / 24.0;
            let old = dt * (1.0 / 2.0 + x / 3.0 + x * x / 8.0 + x.powi(3) / 24.0);
            let new = dt * (1.0 / 2.0 + x / 6.0 + x * x / 24.0);
            factors.decay[j] = decay as f32;
            for (k, power) in powers.into_iter().enumerate() {
                factors.now[k][j] = (power * new) as f32;
                factors.kept[k][j] = (power * (decay * new + old)) as f32;
            }
        }
        factors
    }
}

/// Components of the deviator and its trace.
const fn components(dimension: usize) -> usize {
    dimension * (dimension + 1) / 2 + 1
}

impl Memory {
    /// Variables at rest; a relaxation and the unrelaxed moduli (mu, kappa) for each lane with an element, or moduli of one
    /// and the strengths of points.
    pub(super) fn new<const D: usize>(
        points: usize,
        lanes: &[(&Relaxation, [f64; 2])],
        strengths: Option<Vec<[Lanes; 2]>>,
        dt: f64,
    ) -> Self {
        let zero = Mechanism {
            decay: Lanes::ZERO,
            now: Lanes::ZERO,
            kept: Lanes::ZERO,
        };
        let mut memory = Self {
            laws: [[zero; MECHANISMS]; 2],
            variables: vec![[Lanes::ZERO; MECHANISMS]; points * components(D)],
            strengths,
        };
        for (lane, (law, moduli)) in lanes.iter().enumerate() {
            let factors = Factors::new(law, *moduli, dt);
            for j in 0..MECHANISMS {
                for (k, laws) in memory.laws.iter_mut().enumerate() {
                    laws[j].decay.0[lane] = factors.decay[j];
                    laws[j].now.0[lane] = factors.now[k][j];
                    laws[j].kept.0[lane] = factors.kept[k][j];
                }
            }
        }
        memory
    }

    /// Numbers of an element that the next step needs.
    pub(super) fn numbers(dimension: usize, points: usize) -> usize {
        points * components(dimension) * MECHANISMS
    }

    /// Copies the variables of the element in a lane.
    pub(super) fn save(&self, lane: usize, out: &mut [f32]) {
        let all = self.variables.as_flattened();
        out.iter_mut()
            .zip(all)
            .for_each(|(out, lanes)| *out = lanes.0[lane]);
    }

    /// Takes what [`Memory::save`] has copied.
    pub(super) fn load(&mut self, lane: usize, numbers: &[f32]) {
        let all = self.variables.as_flattened_mut().iter_mut();
        all.zip(numbers)
            .for_each(|(lanes, number)| lanes.0[lane] = *number);
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.variables[..]) + self.strengths.as_ref().map_or(0, |all| size_of_val(&all[..]))
    }

    /// Advances the variables of a point with the gradient `[i][c]` of what they follow, and takes them from its stress.
    #[inline(always)]
    pub(super) fn advance<S: Simd, const D: usize>(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &[[Register<S>; D]; D],
        stress: &mut [[Register<S>; D]; D],
    ) {
        let mut trace = gradient[0][0];
        (1..D).for_each(|i| trace = trace + gradient[i][i]);
        let (mut third, mut half, mut one) = (part.splat(1.0 / 3.0), part.splat(0.5), part.splat(1.0));
        let mut volume = trace;
        if let Some(strengths) = &self.strengths {
            let [shear, bulk] = &strengths[point];
            one = part.load(shear);
            (third, half) = (third * one, half * one);
            volume = part.load(bulk) * trace;
        }
        let first = point * components(D);
        let bulk = self.advance_one(part, first + components(D) - 1, 1, volume);
        let mut slot = first;
        for i in 0..D {
            for c in i..D {
                let lost = if i == c {
                    let strain = one * gradient[i][i] - third * trace;
                    bulk + self.advance_one(part, slot, 0, strain)
                } else {
                    let strain = half * (gradient[i][c] + gradient[c][i]);
                    self.advance_one(part, slot, 0, strain)
                };
                stress[i][c] = stress[i][c] - lost;
                stress[c][i] = stress[i][c];
                slot += 1;
            }
        }
    }

    /// Advances the mechanisms of a component by a law; their sum now.
    #[inline(always)]
    fn advance_one<S: Simd>(
        &mut self,
        part: Part<S>,
        slot: usize,
        law: usize,
        strain: Register<S>,
    ) -> Register<S> {
        let mut sum = part.zero();
        for (law, variable) in self.laws[law].iter().zip(&mut self.variables[slot]) {
            let kept = part.load(variable);
            sum = sum + part.load(&law.now).mul_add(strain, kept);
            let next = part.load(&law.kept).mul_add(strain, part.load(&law.decay) * kept);
            part.store(variable, next);
        }
        sum
    }
}
