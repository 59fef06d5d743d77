//! Misfits between modelled and observed records, and their derivatives with respect to the modelled records: the
//! adjoint sources from which a run backwards in time computes a gradient.
//!
//! Records are `[sample][trace]` in single or double precision; a trace is one component of one receiver. All
//! arithmetic is in double precision.

mod envelope;
mod fourier;
mod wiener;

pub use wiener::Wiener;

use crate::Error;
use crate::device::simd::Real;
use envelope::Hilbert;

/// Floor of envelopes as a fraction of the largest observed one.
const FLOOR: f64 = 1e-3;

/// The measure of the difference between traces `a` (modelled) and `b` (observed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// `sum (a - b)^2 / 2`
    Squares,
    /// `1 - sum a b / (|a| |b|)`, which does not depend on amplitudes (Choi and Alkhalifah 2012). An observed trace
    /// of zeros does not contribute; a modelled one has the misfit 1 and the derivative zero.
    Correlation,
    /// `sum (E(a) - E(b))^2 / 2` of the envelopes `E(a)^2 = a^2 + H(a)^2 + e^2`, where `H` is the Hilbert transform
    /// and `e` a thousandth of the largest observed envelope of the shot (Bozdag, Trampert and Tromp 2011).
    Envelope,
}

/// Observed records of a shot.
pub struct Observed<T> {
    traces: usize,
    values: Vec<T>,
    weight: Option<Vec<T>>,
}

impl<T: Real> Observed<T> {
    /// Records of `traces` traces, `[sample][trace]`, and optionally a weight for each value, by which both observed
    /// and modelled records are multiplied before they are compared.
    ///
    /// # Errors
    /// Returns an error if there are no traces, the number of values is not a multiple of their number, or the number
    /// of weights differs.
    pub fn new(traces: usize, values: Vec<T>, weight: Option<Vec<T>>) -> Result<Self, Error> {
        let whole = traces > 0 && values.len().is_multiple_of(traces);
        if !whole || weight.as_ref().is_some_and(|weight| weight.len() != values.len()) {
            return Err(Error::setup(format!(
                "{} observed values and {} weights do not fit {traces} traces; the values must be a multiple of the traces, and the weights as many as the values",
                values.len(),
                weight.map_or(0, |weight| weight.len())
            )));
        }
        Ok(Self {
            traces,
            values,
            weight,
        })
    }

    /// Number of traces.
    pub fn traces(&self) -> usize {
        self.traces
    }

    /// Number of samples of a trace.
    pub fn samples(&self) -> usize {
        self.values.len() / self.traces
    }

    /// A trace of the given records.
    fn plain<N: Real>(&self, records: &[N], trace: usize) -> Vec<f64> {
        let trace = records[trace..].iter().step_by(self.traces);
        trace.map(|x| x.f64()).collect()
    }

    /// A trace of the given records, multiplied by its weights.
    fn weighted<N: Real>(&self, records: &[N], trace: usize) -> Vec<f64> {
        let mut values = self.plain(records, trace);
        self.weigh(&mut values, trace);
        values
    }

    /// An observed trace, multiplied by its weights.
    fn own(&self, trace: usize) -> Vec<f64> {
        self.weighted(&self.values, trace)
    }

    /// Multiplies values by the weights of a trace.
    fn weigh(&self, values: &mut [f64], trace: usize) {
        if let Some(weight) = &self.weight {
            let weights = weight[trace..].iter().step_by(self.traces);
            values.iter_mut().zip(weights).for_each(|(x, w)| *x *= w.f64());
        }
    }

    /// Adds a trace to records.
    fn add<N: Real>(&self, values: &[f64], trace: usize, records: &mut [N]) {
        let to = records[trace..].iter_mut().step_by(self.traces);
        to.zip(values).for_each(|(to, x)| *to = N::of(to.f64() + x));
    }

    /// Half the sum of the squared weighted differences, and its derivative.
    fn squares<N: Real>(&self, modelled: &[N]) -> (f64, Vec<N>) {
        let mut sum = 0.0;
        let mut rest = |modelled: &N, observed: &T, weight: f64| {
            let rest = weight * (modelled.f64() - observed.f64());
            sum += rest * rest;
            N::of(weight * rest)
        };
        let both = modelled.iter().zip(&self.values);
        let derivative = match &self.weight {
            None => both.map(|(a, b)| rest(a, b, 1.0)).collect(),
            Some(weight) => both.zip(weight).map(|((a, b), w)| rest(a, b, w.f64())).collect(),
        };
        (0.5 * sum, derivative)
    }
}

impl Misfit {
    /// The misfit of modelled records, `[sample][trace]`, and its derivative with respect to them, the adjoint source.
    pub fn of<N: Real, T: Real>(self, modelled: &[N], observed: &Observed<T>) -> (f64, Vec<N>) {
        if self == Self::Squares {
            return observed.squares(modelled);
        }
        let hilbert = Hilbert::new(observed.samples());
        let floor = match self {
            Self::Envelope => {
                let largest = |trace: usize| hilbert.largest_envelope(&observed.own(trace));
                FLOOR * (0..observed.traces).map(largest).fold(0.0, f64::max)
            }
            _ => 0.0,
        };
        let (mut sum, mut adjoint_source) = (0.0, vec![N::of(0.0); modelled.len()]);
        for trace in 0..observed.traces {
            let (a, b) = (observed.weighted(modelled, trace), observed.own(trace));
            let (misfit, mut derivative) = match self {
                Self::Envelope => hilbert.envelopes(&a, &b, floor),
                _ => correlation(&a, &b),
            };
            observed.weigh(&mut derivative, trace);
            observed.add(&derivative, trace, &mut adjoint_source);
            sum += misfit;
        }
        (sum, adjoint_source)
    }

    /// Like [`Misfit::of`], for modelled records to which the Wiener filter towards the observed ones is
    /// applied, and that filter. The derivative includes the dependence of the filter on the records.
    ///
    /// # Errors
    /// Returns the errors of [`Wiener::new`].
    pub fn of_filtered<N: Real, T: Real>(
        self,
        modelled: &[N],
        observed: &Observed<T>,
        damping: f64,
    ) -> Result<(f64, Vec<N>, Wiener), Error> {
        let filter = Wiener::new(modelled, observed, damping)?;
        let (misfit, adjoint_source) = self.of(&filter.applied(modelled, observed), observed);
        let adjoint_source = filter.transposed(modelled, observed, &adjoint_source);
        Ok((misfit, adjoint_source.into_iter().map(N::of).collect(), filter))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn correlation(a: &[f64], b: &[f64]) -> (f64, Vec<f64>) {
    let [own, other] = [dot(a, a).sqrt(), dot(b, b).sqrt()];
    if own == 0.0 || other == 0.0 {
        let silent = if other == 0.0 { 0.0 } else { 1.0 };
        return (silent, vec![0.0; a.len()]);
    }
    let coefficient = dot(a, b) / (own * other);
    let derivative = a.iter().zip(b);
    let derivative = derivative.map(|(a, b)| (coefficient * a / own - b / other) / own);
    (1.0 - coefficient, derivative.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of a few waves, different for every seed.
    fn records(traces: usize, samples: usize, seed: f64) -> Vec<f64> {
        let at = |k: usize| {
            let (sample, trace) = ((k / traces) as f64, (k % traces) as f64);
            let t = (sample - 18.0 - 2.0 * trace - 3.0 * seed) / (4.0 + 0.4 * trace);
            (1.0 - t * t) * (-0.5 * t * t).exp() + 0.2 * (0.3 * sample + seed + trace).sin()
        };
        (0..traces * samples).map(at).collect()
    }

    /// The remainder of a first-order expansion is of second order.
    #[test]
    fn derivatives_are_exact() {
        let (traces, samples) = (3, 61);
        let weight = (0..traces * samples).map(|k| if k < 20 { 0.0 } else { 1.0 + 0.1 * (k % 7) as f64 });
        let observed = Observed::new(traces, records(traces, samples, 0.4), Some(weight.collect()));
        let observed = observed.expect("sizes agree");
        let (modelled, step) = (records(traces, samples, 0.0), records(traces, samples, 1.7));
        for kind in [Misfit::Squares, Misfit::Correlation, Misfit::Envelope] {
            for filtered in [false, true] {
                let of = |records: &[f64]| match filtered {
                    false => kind.of(records, &observed),
                    true => {
                        let (misfit, adjoint_source, _) =
                            kind.of_filtered(records, &observed, 0.01).expect("waves");
                        (misfit, adjoint_source)
                    }
                };
                let (before, adjoint_source) = of(&modelled);
                let left = |h: f64| {
                    let after: Vec<f64> = modelled.iter().zip(&step).map(|(a, b)| a + h * b).collect();
                    (of(&after).0 - before - h * dot(&adjoint_source, &step)).abs()
                };
                let remainders = [0.03, 0.003, 0.0003, 0.00003].map(left);
                let orders: Vec<f64> = remainders
                    .windows(2)
                    .map(|pair| (pair[0] / pair[1]).log10())
                    .collect();
                println!("{kind:?} filtered={filtered}: {before:.3e}, orders {orders:.3?}");
                assert!(
                    orders.iter().all(|order| (order - 2.0).abs() < 0.1),
                    "{kind:?} {filtered}: {orders:?}"
                );
            }
        }
    }

    #[test]
    fn silent_traces_have_no_derivative() {
        let waves = records(2, 40, 0.0);
        let silence = vec![0.0; waves.len()];
        let still = Observed::new(2, silence.clone(), None).expect("sizes agree");
        let loud = Observed::new(2, waves.clone(), None).expect("sizes agree");
        let (misfit, adjoint_source) = Misfit::Correlation.of(&waves, &still);
        assert!(misfit == 0.0 && adjoint_source.iter().all(|&x| x == 0.0));
        let (misfit, adjoint_source) = Misfit::Correlation.of(&silence, &loud);
        assert!(misfit == 2.0 && adjoint_source.iter().all(|&x| x == 0.0));
        for modelled in [&waves, &silence] {
            let (misfit, adjoint_source) = Misfit::Envelope.of(modelled, &still);
            assert!(misfit.is_finite() && adjoint_source.iter().all(|x| x.is_finite()));
        }
        assert!(Wiener::new(&silence, &loud, 0.01).is_err());
        assert!(Observed::new(3, vec![0.0; 40], None).is_err());
    }

    /// A wave of this frequency (periods per sample) whose envelope is a Gaussian with a standard deviation of 9
    /// samples around sample 60, and that envelope. Its components at frequencies beyond zero, which would distort
    /// the envelope, are below 1e-13.
    fn bell(sample: f64, frequency: f64) -> [f64; 2] {
        let t = sample - 60.0;
        let envelope = (-0.5 * (t / 9.0).powi(2)).exp();
        let wave = (2.0 * std::f64::consts::PI * frequency * t).cos();
        [envelope * wave, envelope]
    }

    /// A trace that is about as weak as the floor is compared with zeros; the envelopes of both are known.
    #[test]
    fn envelopes_below_a_thousandth_of_the_largest_are_not_distinguished() {
        const WEAK: f64 = 2e-3;
        let waves = |strength: f64| -> Vec<f64> {
            let both = |k: usize| {
                [
                    5.0 * bell(k as f64, 0.25)[0],
                    5.0 * strength * bell(k as f64, 0.2)[0],
                ]
            };
            (0..120).flat_map(both).collect()
        };
        let observed = Observed::new(2, waves(WEAK), None).expect("sizes agree");
        let (misfit, _) = Misfit::Envelope.of(&waves(0.0), &observed);
        let floor = 5.0 * 1e-3;
        let rest = |k: usize| (5.0 * WEAK * bell(k as f64, 0.2)[1]).hypot(floor) - floor;
        let expected: f64 = (0..120).map(|k| 0.5 * rest(k).powi(2)).sum();
        println!("{misfit:.6e} {expected:.6e}");
        // Seven digits agree; the Gaussian is truncated at 2e-10 of its height.
        assert!((misfit / expected - 1.0).abs() < 1e-6, "{misfit} {expected}");
    }

    /// The spectrum of a spike is flat, so that every frequency is multiplied by 1/(1 + damping).
    #[test]
    fn damping_is_a_share_of_the_mean_power() {
        let mut spike = vec![0.0; 50];
        spike[11] = 3.0;
        let observed = Observed::new(1, spike.clone(), None).expect("sizes agree");
        for damping in [1e-3, 0.1, 0.7] {
            let filter = Wiener::new(&spike, &observed, damping).expect("a wave");
            let filtered = filter.applied(&spike, &observed);
            for (k, (filtered, own)) in filtered.iter().zip(&spike).enumerate() {
                // The tolerance allows for the rounding errors of a transform of 100 numbers.
                assert!(
                    (filtered - own / (1.0 + damping)).abs() < 1e-13,
                    "{damping} {k}: {filtered}"
                );
            }
        }
    }

    /// The records have every third sample of the source. The estimated source time function has the sampling of the
    /// source, but no frequencies above the Nyquist frequency of the records.
    #[test]
    fn the_filter_gives_a_source_with_denser_samples() {
        const EVERY: usize = 3;
        let pulse = |t: f64| (-0.5 * ((t - 25.0) / 2.5).powi(2)).exp();
        let records = |late: f64, scale: f64| {
            (0..120)
                .map(|k| scale * pulse(k as f64 - late))
                .collect::<Vec<_>>()
        };
        let observed = Observed::new(1, records(4.0, 2.0), None).expect("sizes agree");
        let filter = Wiener::new(&records(0.0, 1.0), &observed, 1e-9).expect("a wave");
        let dense = |late: f64, scale: f64, buzz: f64| -> Vec<f64> {
            let at = |k: usize| {
                let t = k as f64 / EVERY as f64;
                // The added wave has 0.8 of the sampling frequency of the records.
                scale * pulse(t - late) + buzz * bell(t, 0.8)[0]
            };
            (0..120 * EVERY).map(at).collect()
        };
        for buzz in [0.0, 0.5] {
            let series: Vec<f32> = dense(0.0, 1.0, buzz).into_iter().map(|x| x as f32).collect();
            let source = filter.source(&series, EVERY);
            assert_eq!(source.len(), series.len());
            let apart = source
                .iter()
                .zip(dense(4.0, 2.0, 0.0))
                .map(|(a, b)| (f64::from(*a) - b).abs());
            let apart = apart.max_by(f64::total_cmp).expect("samples");
            println!("buzz {buzz}: {apart:.1e}");
            // The error comes from single precision with an amplitude of 2, and from the damping where there is no
            // power; 5.6e-6 was measured.
            assert!(apart < 4e-5, "buzz {buzz}: {apart}");
        }
    }

    /// A known filter is recovered, and with it the source time function.
    #[test]
    fn the_filter_gives_a_wavelet() {
        let (traces, samples) = (4, 120);
        let pulse: Vec<f64> = (0..samples)
            .map(|k| (-0.5 * ((k as f64 - 20.0) / 2.0).powi(2)).exp())
            .collect();
        // Records of the pulse with an echo in every trace; `scale` and `late` make the source stronger and later.
        let trace = |scale: f64, late: usize| -> Vec<f64> {
            let echo = |k: usize, trace: usize| {
                let at = |back: usize| k.checked_sub(back + late).map_or(0.0, |k| pulse[k]);
                scale * (at(5 + 3 * trace) + 0.5 * at(20 + 7 * trace))
            };
            let all = 0..samples * traces;
            all.map(|k| echo(k / traces, k % traces)).collect()
        };
        let (modelled, expected) = (trace(1.0, 0), trace(2.0, 6));
        let observed = Observed::new(traces, expected, None).expect("sizes agree");
        let (misfit, _, filter) = Misfit::Squares
            .of_filtered(&modelled, &observed, 1e-6)
            .expect("waves");
        let (before, _) = Misfit::Squares.of(&modelled, &observed);
        assert!(misfit < 1e-4 * before, "{misfit} {before}");
        let series: Vec<f32> = pulse.iter().map(|&x| x as f32).collect();
        let source = filter.source(&series, 1);
        for (k, &x) in source.iter().enumerate() {
            let expected = k.checked_sub(6).map_or(0.0, |k| 2.0 * pulse[k]);
            assert!((f64::from(x) - expected).abs() < 0.03, "{k}: {x} {expected}");
        }
    }
}
