//! Attenuation: three standard linear solids for shear and three for compression (Liu, Anderson & Kanamori 1976).
//!
//! The stress is reduced by the memory variables R of the deviatoric strain and of its trace. They obey
//! dR/dt = -R/tau + P e with P = 2 mu_u y / (tau sum(tau_e/tau)) for shear, kappa_u y / (tau sum(tau_e/tau)) for
//! compression, y = tau_e/tau - 1. A step is R <- A R + P (B e_old + C e_new), the Runge-Kutta scheme of order 4 for
//! this linear equation. The strain is the strain of the displacement u + dt v that the previous step predicted:
//! u - dt^2 a, with the displacement of this step and the acceleration of the previous one, as in SPECFEM3D. With a
//! single mechanism per point ([`Coarse`]) and with [`Followed::OfNow`] it is the strain of u, which needs no second
//! gradient. The value kept between steps is Q = A R + P B e, so that neither old strains nor a second pass are needed:
//! R = Q + P C e with the new e gives the current stress.

use super::Number;
use pulp::Simd;

use super::lanes::{Lanes, Part, Register};
use super::variables::{Advanced, Advancing, Mechanism, Variables};
use super::{Followed, Grain, Relaxation};
use crate::medium::attenuation::Law;
use crate::medium::periods;
use crate::mesh::Basis;
use crate::mesh::geometry::lattice;

/// Number of relaxation times of a material.
pub const MECHANISMS: usize = 3;

impl Relaxation {
    /// A relaxation with quality factors of the shear and the bulk modulus that are constant over a band (Hz), within
    /// a few percent if the ratio of its ends is 12. The moduli hold at the frequency `reference` (Hz). An infinite
    /// quality factor means no loss.
    pub fn constant(quality: [f64; 2], band: [f64; 2], reference: f64) -> Self {
        let typical = quality[0].min(quality[1]);
        Self::by(&Law::new(MECHANISMS, band, reference, typical), quality)
    }

    /// A relaxation with quality factors of the shear and the bulk modulus over a band (Hz) as in SPECFEM3D
    /// ([`periods`]), which limits them to 1 .. 9000; the moduli hold at the frequency `reference` (Hz).
    pub fn of_periods(quality: [f64; 2], band: [f64; 2], reference: f64) -> Self {
        let of = |q: f64| {
            let q = q.clamp(1.0, 9000.0);
            let times = periods::times(q, band);
            (times, periods::unrelaxed(q, times, band, reference))
        };
        let [([tau_stress, tau_shear], shear), ([_, tau_bulk], bulk)] = quality.map(of);
        Self {
            tau_stress,
            tau_shear,
            tau_bulk,
            factors: [shear, bulk],
        }
    }

    /// The same relaxation with memory variables that run ahead of the strain by a time (s), to first order in that
    /// time. In the LDDRK scheme of SPECFEM3D they run ahead by one step: of a mechanism with the share s of the
    /// unrelaxed modulus, s dt/tau acts at once.
    #[must_use]
    pub fn ahead(mut self, time: f64) -> Self {
        let at_once = self.tau_stress.map(|tau| time / tau);
        for (long, factor) in [&mut self.tau_shear, &mut self.tau_bulk]
            .into_iter()
            .zip(&mut self.factors)
        {
            let excess: [f64; MECHANISMS] = std::array::from_fn(|j| long[j] / self.tau_stress[j] - 1.0);
            let whole = MECHANISMS as f64 + excess.iter().sum::<f64>();
            let cut: f64 = (0..MECHANISMS).map(|j| excess[j] / whole * at_once[j]).sum();
            let share: [f64; MECHANISMS] =
                std::array::from_fn(|j| excess[j] / whole * (1.0 - at_once[j]) / (1.0 - cut));
            let rest = 1.0 - share.iter().sum::<f64>();
            *long = std::array::from_fn(|j| self.tau_stress[j] * (1.0 + MECHANISMS as f64 * share[j] / rest));
            *factor *= 1.0 - cut;
        }
        self
    }

    /// A relaxation with the same unrelaxed moduli and no loss.
    pub(super) fn lossless(&self) -> Self {
        Self {
            tau_shear: self.tau_stress,
            tau_bulk: self.tau_stress,
            ..*self
        }
    }

    /// The largest fraction of the unrelaxed shear or bulk modulus that a mechanism of [`Grain::Coarse`] takes at its
    /// point. If it were close to one, the point would have almost no stiffness for waves of low frequency.
    pub fn coarse_share<const D: usize>(&self, basis: &Basis) -> f64 {
        let shares = Coarse::new::<D>(basis).shares;
        let of = |long: &[f64; MECHANISMS]| {
            let ratio = |j: usize| long[j] / self.tau_stress[j];
            let sum = (0..MECHANISMS).map(ratio).sum::<f64>();
            let parts = (0..MECHANISMS).map(|j| f64::from(shares[j]) * (ratio(j) - 1.0) / sum);
            parts.fold(0.0, f64::max)
        };
        f64::max(of(&self.tau_shear), of(&self.tau_bulk))
    }

    /// The relaxation with the three mechanisms of `law` for the quality factors of the shear and the bulk modulus.
    pub(super) fn by(law: &Law, quality: [f64; 2]) -> Self {
        let [(tau_shear, shear), (tau_bulk, bulk)] = quality.map(|q| {
            let loss = law.loss(q);
            // The fraction of the unrelaxed modulus that a mechanism takes is y/(3 + sum y), with y = tau_e/tau - 1.
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

/// The coefficients of the memory variables of a block.
#[derive(Clone, Debug)]
struct Laws {
    /// The mechanisms of the deviator and of the trace.
    of_parts: [[Mechanism; MECHANISMS]; 2],
    /// The factors of shear and compression at every point, if the points differ; the laws are then for unit moduli.
    strengths: Option<Vec<[Lanes; 2]>>,
    /// The mechanism of each point, if each point has a single mechanism.
    coarse: Option<Coarse>,
    /// The strain that drives the variables.
    followed: Followed,
}

/// Memory variables of a block.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    laws: Laws,
    /// `[point][component][mechanism]`; components are the upper triangle of the deviator, row by row, and the trace.
    variables: Vec<Lanes>,
}

/// The contributions of the memory variables at a point, which reduce its stress.
pub(super) struct Lost<S: Simd, const D: usize> {
    /// Contribution of compression to each normal stress.
    pub(super) bulk: Register<S>,
    /// Contributions to the deviator: its upper triangle, `[i][c]`.
    pub(super) deviator: [[Register<S>; D]; D],
}

impl Grain {
    /// Number of mechanisms per point.
    pub fn mechanisms(self) -> usize {
        match self {
            Self::Fine => MECHANISMS,
            Self::Coarse => 1,
        }
    }
}

/// The mechanisms of an element's points if each point has a single mechanism: they alternate along every axis.
#[derive(Clone, Debug)]
pub(super) struct Coarse {
    /// The mechanism of each local point.
    mechanisms: Vec<usize>,
    /// The factors by which the mechanisms are strengthened at their points.
    pub(super) shares: [Number; MECHANISMS],
}

impl Coarse {
    /// The mechanisms for elements with this basis.
    pub(super) fn new<const D: usize>(basis: &Basis) -> Self {
        let along = basis.len();
        let places: Vec<[usize; D]> = (0..along.pow(D as u32)).map(|p| lattice::<D>(p, along)).collect();
        let mechanism = |place: &[usize; D]| place.iter().sum::<usize>() % MECHANISMS;
        let weight = |place: &[usize; D]| place.iter().map(|k| basis.weights()[*k]).product::<f64>();
        let shares = std::array::from_fn(|j| {
            let own = places.iter().filter(|place| mechanism(place) == j);
            (places.iter().map(weight).sum::<f64>() / own.map(weight).sum::<f64>()) as Number
        });
        Self {
            mechanisms: places.iter().map(mechanism).collect(),
            shares,
        }
    }
}

/// The coefficients of a step of every mechanism; the two laws apply to the deviator and to the trace.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Factors {
    /// A, the factor of the previous variable.
    pub(super) decay: [Number; MECHANISMS],
    /// `[law][mechanism]`: P C, the factor of the strain in the present variable.
    pub(super) now: [[Number; MECHANISMS]; 2],
    /// A P C + P B, the factor of the strain in the kept value.
    pub(super) kept: [[Number; MECHANISMS]; 2],
}

impl Factors {
    /// Coefficients for unrelaxed moduli (mu, kappa).
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
            factors.decay[j] = decay as Number;
            for (k, power) in powers.into_iter().enumerate() {
                factors.now[k][j] = (power * new) as Number;
                factors.kept[k][j] = (power * (decay * new + old)) as Number;
            }
        }
        factors
    }
}

/// Number of components of the deviator and its trace.
const fn components(dimension: usize) -> usize {
    dimension * (dimension + 1) / 2 + 1
}

impl Memory {
    /// Variables at rest. Each lane with an element has a relaxation and unrelaxed moduli (mu, kappa), or unit moduli
    /// with the strengths of its points; `coarse` contains the mechanisms of points that have a single mechanism each.
    pub(super) fn new<const D: usize>(
        points: usize,
        lanes: &[(Relaxation, [f64; 2])],
        (strengths, coarse): (Option<Vec<[Lanes; 2]>>, Option<Coarse>),
        (dt, followed): (f64, Followed),
    ) -> Self {
        let zero = Mechanism {
            decay: Lanes::ZERO,
            now: Lanes::ZERO,
            kept: Lanes::ZERO,
        };
        let mechanisms = if coarse.is_some() { 1 } else { MECHANISMS };
        let mut memory = Self {
            variables: vec![Lanes::ZERO; points * components(D) * mechanisms],
            laws: Laws {
                of_parts: [[zero; MECHANISMS]; 2],
                strengths,
                coarse,
                followed,
            },
        };
        for (lane, (law, moduli)) in lanes.iter().enumerate() {
            let factors = Factors::new(law, *moduli, dt);
            for j in 0..MECHANISMS {
                for (k, laws) in memory.laws.of_parts.iter_mut().enumerate() {
                    laws[j].decay.0[lane] = factors.decay[j];
                    laws[j].now.0[lane] = factors.now[k][j];
                    laws[j].kept.0[lane] = factors.kept[k][j];
                }
            }
        }
        memory
    }

    /// Length of the state of an element with `mechanisms` mechanisms per point.
    pub(super) fn numbers(dimension: usize, points: usize, mechanisms: usize) -> usize {
        points * components(dimension) * mechanisms
    }

    /// Copies the variables of the element in a lane.
    pub(super) fn save(&self, lane: usize, out: &mut [Number]) {
        let all = &self.variables;
        out.iter_mut()
            .zip(all)
            .for_each(|(out, lanes)| *out = lanes.0[lane]);
    }

    /// Restores the variables that [`Memory::save`] has copied.
    pub(super) fn load(&mut self, lane: usize, numbers: &[Number]) {
        let all = self.variables.iter_mut();
        all.zip(numbers)
            .for_each(|(lanes, number)| lanes.0[lane] = *number);
    }

    /// Sets the variables to zero.
    pub(super) fn forget(&mut self) {
        self.variables.fill(Lanes::ZERO);
    }

    /// Whether the variables are driven by the displacement of this step rather than the one predicted by the
    /// previous step.
    pub(super) fn follows_now(&self) -> bool {
        self.laws.coarse.is_some() || self.laws.followed == Followed::OfNow
    }

    /// The gradient that drives the variables: the gradient of the current displacement, or of the displacement that
    /// the previous step predicted.
    #[inline(always)]
    pub(super) fn followed<T>(&self, now: T, predicted: impl FnOnce() -> T) -> T {
        if self.follows_now() { now } else { predicted() }
    }

    pub(super) fn bytes(&self) -> usize {
        let strengths = self.laws.strengths.as_ref();
        size_of_val(&self.variables[..]) + strengths.map_or(0, |all| size_of_val(&all[..]))
    }

    /// The variables, `[point][component][mechanism]`.
    pub(super) fn variables(&self) -> &Vec<Lanes> {
        &self.variables
    }

    pub(super) fn variables_mut(&mut self) -> &mut Vec<Lanes> {
        &mut self.variables
    }

    /// Advances the variables of a point, driven by the gradient `[i][c]`, and subtracts them from its stress.
    #[inline(always)]
    pub(super) fn advance<S: Simd, const D: usize>(
        &mut self,
        part: Part<S>,
        point: usize,
        gradient: &[[Register<S>; D]; D],
        stress: &mut [[Register<S>; D]; D],
    ) {
        let Self { laws, variables } = self;
        let lost = laws.lost(part, point, gradient, &mut Advancing(variables));
        for i in 0..D {
            for c in i..D {
                let own = match i == c {
                    true => lost.bulk + lost.deviator[i][i],
                    false => lost.deviator[i][c],
                };
                stress[i][c] = stress[i][c] - own;
                stress[c][i] = stress[i][c];
            }
        }
    }

    /// The contributions of the variables of a point, which have been advanced with this gradient, to its stress.
    #[inline(always)]
    pub(super) fn lost<S: Simd, const D: usize>(
        &self,
        part: Part<S>,
        point: usize,
        gradient: &[[Register<S>; D]; D],
    ) -> Lost<S, D> {
        self.laws
            .lost(part, point, gradient, &mut Advanced(&self.variables))
    }
}

impl Laws {
    /// The contribution of a component to the stress: from all mechanisms of a law, or from the single mechanism of the
    /// point.
    #[inline(always)]
    fn of_component<S: Simd>(
        &self,
        (part, own): (Part<S>, Option<usize>),
        variables: &mut impl Variables<S>,
        (slot, law): (usize, usize),
        strain: Register<S>,
    ) -> Register<S> {
        let laws = &self.of_parts[law];
        if let Some(mechanism) = own {
            return variables.take(part, &laws[mechanism], slot, strain);
        }
        let mut sum = part.zero();
        for (j, law) in laws.iter().enumerate() {
            sum = sum + variables.take(part, law, slot * MECHANISMS + j, strain);
        }
        sum
    }

    /// The contributions of the variables of a point to its stress.
    #[inline(always)]
    fn lost<S: Simd, const D: usize>(
        &self,
        part: Part<S>,
        point: usize,
        gradient: &[[Register<S>; D]; D],
        variables: &mut impl Variables<S>,
    ) -> Lost<S, D> {
        let mut trace = gradient[0][0];
        for (i, row) in gradient.iter().enumerate().skip(1) {
            trace = trace + row[i];
        }
        let (mut third, mut half, mut one) = (part.splat(1.0 / 3.0), part.splat(0.5), part.splat(1.0));
        let mut volume = trace;
        if let Some(strengths) = &self.strengths {
            let [shear, bulk] = &strengths[point];
            one = part.load(shear);
            (third, half) = (third * one, half * one);
            volume = part.load(bulk) * trace;
        }
        let mut own = None;
        if let Some(coarse) = &self.coarse {
            let mechanism = coarse.mechanisms[point];
            let share = part.splat(coarse.shares[mechanism]);
            (third, half, one) = (third * share, half * share, one * share);
            volume = volume * share;
            own = Some(mechanism);
        }
        let first = point * components(D);
        let last = first + components(D) - 1;
        let bulk = self.of_component((part, own), variables, (last, 1), volume);
        let mut deviator = [[part.zero(); D]; D];
        let mut slot = first;
        for i in 0..D {
            for c in i..D {
                let strain = match i == c {
                    true => one * gradient[i][i] - third * trace,
                    false => half * (gradient[i][c] + gradient[c][i]),
                };
                deviator[i][c] = self.of_component((part, own), variables, (slot, 0), strain);
                slot += 1;
            }
        }
        Lost { bulk, deviator }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coarse, MECHANISMS};
    use crate::largest::largest_difference;
    use crate::mesh::Basis;
    use crate::mesh::geometry::lattice;

    /// Over an element, a mechanism has the same mean as if it were present at all points, for any degree.
    fn balanced<const D: usize>(basis: &Basis) {
        let coarse = Coarse::new::<D>(basis);
        let mut own = [0.0; MECHANISMS];
        for (point, mechanism) in coarse.mechanisms.iter().enumerate() {
            let place = lattice::<D>(point, basis.len());
            let weight: f64 = place.map(|k| basis.weights()[k]).iter().product();
            own[*mechanism] += weight * f64::from(coarse.shares[*mechanism]);
        }
        for sum in own {
            // A side of the reference element is 2 long.
            let whole = 2f64.powi(D as i32);
            assert!(
                (sum / whole - 1.0).abs() < 1e-13,
                "{D}-D, {} points: {own:?}",
                basis.len()
            );
        }
    }

    #[test]
    fn mechanisms_of_single_points_have_the_weight_of_all_points() {
        for degree in 2..=8 {
            let basis = Basis::new(degree).expect("a degree");
            balanced::<2>(&basis);
            balanced::<3>(&basis);
        }
        // By hand: with the weights 1/3, 4/3, 1/3, the points whose indices add up to 0 or 3, to 1 or 4, and to 2
        // have 1, 1 and 2 quarters of the total weight.
        let plane = Coarse::new::<2>(&Basis::new(2).expect("a degree"));
        assert!(largest_difference(plane.shares, [4.0, 4.0, 2.0]) < 1e-14);
    }
}
