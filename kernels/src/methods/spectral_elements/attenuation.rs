//! Attenuation: three standard linear solids for shear and three for compression (Liu, Anderson & Kanamori 1976).
//!
//! The stress loses the memory variables R of the deviatoric strain and of its trace, which follow
//! dR/dt = -R/tau + P e with P = 2 mu_u y / (tau sum(tau_e/tau)) for shear, kappa_u y / (tau sum(tau_e/tau)) for
//! compression, y = tau_e/tau - 1. A step is R <- A R + P (B e_old + C e_new), the Runge-Kutta scheme of order 4 of that
//! linear equation, with the strain of u + dt v: the stress of the next step meets memory variables of its own time.

use super::Relaxation;
use super::assembly::{LANES, Lanes};

/// Mechanisms.
pub(super) const MECHANISMS: usize = 3;

/// Memory variables of a block.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// A, B and C of the update, times P where the strain enters: `[mechanism]`.
    decay: [Lanes; MECHANISMS],
    shear: [[Lanes; MECHANISMS]; 2],
    bulk: [[Lanes; MECHANISMS]; 2],
    /// `[point][component][mechanism]`; components are the upper triangle of the deviator, row by row, and the trace.
    variables: Vec<Lanes>,
    /// Strain of the step before: `[point][component]`.
    strain: Vec<Lanes>,
}

/// A, B and C of the update of each mechanism, B and C times P.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Factors {
    pub(super) decay: [f32; MECHANISMS],
    /// By the strain of the step before, and by the new one.
    pub(super) shear: [[f32; MECHANISMS]; 2],
    pub(super) bulk: [[f32; MECHANISMS]; 2],
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
            let (shear, bulk) = (2.0 * mu * power(&law.tau_shear), kappa * power(&law.tau_bulk));
            let old = dt * (1.0 / 2.0 + x / 3.0 + x * x / 8.0 + x.powi(3) / 24.0);
            let new = dt * (1.0 / 2.0 + x / 6.0 + x * x / 24.0);
            factors.decay[j] = (1.0 + x + x * x / 2.0 + x.powi(3) / 6.0 + x.powi(4) / 24.0) as f32;
            for (k, weight) in [old, new].into_iter().enumerate() {
                factors.shear[k][j] = (shear * weight) as f32;
                factors.bulk[k][j] = (bulk * weight) as f32;
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
    /// Variables at rest; a relaxation and the unrelaxed moduli (mu, kappa) for each lane with an element.
    pub(super) fn new<const D: usize>(points: usize, lanes: &[(&Relaxation, [f64; 2])], dt: f64) -> Self {
        let zero = [[0.0; LANES]; MECHANISMS];
        let mut memory = Self {
            decay: zero,
            shear: [zero; 2],
            bulk: [zero; 2],
            variables: vec![[0.0; LANES]; points * components(D) * MECHANISMS],
            strain: vec![[0.0; LANES]; points * components(D)],
        };
        for (lane, (law, moduli)) in lanes.iter().enumerate() {
            let factors = Factors::new(law, *moduli, dt);
            for j in 0..MECHANISMS {
                memory.decay[j][lane] = factors.decay[j];
                for k in 0..2 {
                    memory.shear[k][j][lane] = factors.shear[k][j];
                    memory.bulk[k][j][lane] = factors.bulk[k][j];
                }
            }
        }
        memory
    }

    /// Numbers of an element that the next step needs.
    pub(super) fn numbers(dimension: usize, points: usize) -> usize {
        points * components(dimension) * (MECHANISMS + 1)
    }

    /// Copies the variables of the element in a lane, then its strains.
    pub(super) fn save(&self, lane: usize, out: &mut [f32]) {
        let all = self.variables.iter().chain(&self.strain);
        out.iter_mut()
            .zip(all)
            .for_each(|(out, lanes)| *out = lanes[lane]);
    }

    /// Takes what [`Memory::save`] has copied.
    pub(super) fn load(&mut self, lane: usize, numbers: &[f32]) {
        let all = self.variables.iter_mut().chain(&mut self.strain);
        all.zip(numbers).for_each(|(lanes, number)| lanes[lane] = *number);
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        (self.variables.len() + self.strain.len()) * size_of::<Lanes>()
    }

    /// Sum over the mechanisms of a component.
    #[inline(always)]
    fn sum(&self, slot: usize) -> Lanes {
        let mut sum = [0.0; LANES];
        for j in 0..MECHANISMS {
            let variable = &self.variables[slot * MECHANISMS + j];
            (0..LANES).for_each(|l| sum[l] += variable[l]);
        }
        sum
    }

    /// Takes the memory variables of a point from its stress.
    #[inline(always)]
    pub(super) fn relax<const D: usize>(&self, point: usize, stress: &mut [[Lanes; D]; D]) {
        let first = point * components(D);
        let trace = self.sum(first + components(D) - 1);
        let mut slot = first;
        for i in 0..D {
            for c in i..D {
                let mut sum = self.sum(slot);
                if i == c {
                    (0..LANES).for_each(|l| sum[l] += trace[l]);
                }
                (0..LANES).for_each(|l| stress[i][c][l] -= sum[l]);
                stress[c][i] = stress[i][c];
                slot += 1;
            }
        }
    }

    /// Advances the variables of a point with the gradient `[i][c]` of the displacement at the end of the step.
    #[inline(always)]
    pub(super) fn advance<const D: usize>(&mut self, point: usize, gradient: &[[Lanes; D]; D]) {
        let mut trace = [0.0; LANES];
        (0..D).for_each(|i| (0..LANES).for_each(|l| trace[l] += gradient[i][i][l]));
        let mut slot = point * components(D);
        for i in 0..D {
            for c in i..D {
                let mut strain = [0.0; LANES];
                for l in 0..LANES {
                    let mean = if i == c { trace[l] * (1.0 / 3.0) } else { 0.0 };
                    strain[l] = 0.5 * (gradient[i][c][l] + gradient[c][i][l]) - mean;
                }
                self.advance_one(slot, false, &strain);
                slot += 1;
            }
        }
        self.advance_one(slot, true, &trace);
    }

    #[inline(always)]
    fn advance_one(&mut self, slot: usize, is_trace: bool, strain: &Lanes) {
        let [old, new] = if is_trace { &self.bulk } else { &self.shear };
        for j in 0..MECHANISMS {
            let variable = &mut self.variables[slot * MECHANISMS + j];
            for l in 0..LANES {
                let input = old[j][l] * self.strain[slot][l] + new[j][l] * strain[l];
                variable[l] = self.decay[j][l] * variable[l] + input;
            }
        }
        self.strain[slot] = *strain;
    }
}
