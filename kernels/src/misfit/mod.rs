//! How far the records of a model are from observed ones, and the derivative of that by every number of the records: what goes
//! back through the steps of a run to become a gradient.
//!
//! Records are `[sample][trace]`, a trace being one component of one receiver, in single or double precision. All arithmetic is in double
//! precision.

mod envelope;
mod fourier;
mod wiener;

pub use wiener::Wiener;

use crate::Error;
use crate::device::simd::Real;
use envelope::Hilbert;

/// Envelopes below this share of the largest observed one are not told apart.
const FLOOR: f64 = 1e-3;

/// What is compared of two traces `a` (modelled) and `b` (observed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// `sum (a - b)^2 / 2`
    Squares,
    /// `1 - sum a b / (|a| |b|)`, which knows no amplitude (Choi and Alkhalifah 2012). A silent observed trace has no part, a silent
    /// modelled one the misfit 1 and no derivative.
    Correlation,
    /// `sum (E(a) - E(b))^2 / 2` of the envelopes `E(a)^2 = a^2 + H(a)^2 + e^2`, `H` being the Hilbert transform (Bozdag, Trampert
    /// and Tromp 2011) and `e` a thousandth of the largest observed envelope of the shot.
    Envelope,
}

/// Observed records of a shot.
pub struct Observed<T> {
    traces: usize,
    values: Vec<T>,
    weight: Option<Vec<T>>,
}

impl<T: Real> Observed<T> {
    /// So many traces, `[sample][trace]`, and a weight for each number, with which observed and modelled ones are multiplied before
    /// they are compared.
    ///
    /// # Errors
    /// Sizes that do not go together.
    pub fn new(traces: usize, values: Vec<T>, weight: Option<Vec<T>>) -> Result<Self, Error> {
        let whole = traces > 0 && values.len().is_multiple_of(traces);
        if !whole || weight.as_ref().is_some_and(|weight| weight.len() != values.len()) {
            return Err(Error::setup(format!(
                "{} observed numbers in {traces} traces and {} weights do not go together",
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

    /// Traces.
    pub fn traces(&self) -> usize {
        self.traces
    }

    /// Samples of a trace.
    pub fn samples(&self) -> usize {
        self.values.len() / self.traces
    }

    /// A trace of some records.
    fn plain<N: Real>(&self, records: &[N], trace: usize) -> Vec<f64> {
        let trace = records[trace..].iter().step_by(self.traces);
        trace.map(|x| x.f64()).collect()
    }

    /// A trace of some records, weighted.
    fn weighted<N: Real>(&self, records: &[N], trace: usize) -> Vec<f64> {
        let mut values = self.plain(records, trace);
        self.weigh(&mut values, trace);
        values
    }

    /// An observed trace, weighted.
    fn own(&self, trace: usize) -> Vec<f64> {
        self.weighted(&self.values, trace)
    }

    /// Multiplies by the weights of a trace.
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

    /// Half the sum of the squares of the weighted differences, and its derivative, number by number.
    fn squares<N: Real>(&self, made: &[N]) -> (f64, Vec<N>) {
        let mut sum = 0.0;
        let mut rest = |made: &N, observed: &T, weight: f64| {
            let rest = weight * (made.f64() - observed.f64());
            sum += rest * rest;
            N::of(weight * rest)
        };
        let both = made.iter().zip(&self.values);
        let derivative = match &self.weight {
            None => both.map(|(a, b)| rest(a, b, 1.0)).collect(),
            Some(weight) => both.zip(weight).map(|((a, b), w)| rest(a, b, w.f64())).collect(),
        };
        (0.5 * sum, derivative)
    }
}

impl Misfit {
    /// The misfit of modelled records, `[sample][trace]`, and its derivative by them.
    pub fn of<N: Real, T: Real>(self, made: &[N], observed: &Observed<T>) -> (f64, Vec<N>) {
        if self == Self::Squares {
            return observed.squares(made);
        }
        let hilbert = Hilbert::new(observed.samples());
        let floor = match self {
            Self::Envelope => {
                let largest = |trace: usize| hilbert.largest_envelope(&observed.own(trace));
                FLOOR * (0..observed.traces).map(largest).fold(0.0, f64::max)
            }
            _ => 0.0,
        };
        let (mut sum, mut adjoint_source) = (0.0, vec![N::of(0.0); made.len()]);
        for trace in 0..observed.traces {
            let (a, b) = (observed.weighted(made, trace), observed.own(trace));
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

    /// The same for modelled records that a filter brings as near to the observed ones as it can, which is made for them: what it owes
    /// to the records is in the derivative. Returns the filter, too.
    ///
    /// # Errors
    /// What [`Wiener::new`] refuses.
    pub fn of_filtered<N: Real, T: Real>(
        self,
        made: &[N],
        observed: &Observed<T>,
        damping: f64,
    ) -> Result<(f64, Vec<N>, Wiener), Error> {
        let filter = Wiener::new(made, observed, damping)?;
        let (misfit, adjoint_source) = self.of(&filter.applied(made, observed), observed);
        let adjoint_source = filter.transposed(made, observed, &adjoint_source);
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
    let found = dot(a, b) / (own * other);
    let derivative = a.iter().zip(b);
    let derivative = derivative.map(|(a, b)| (found * a / own - b / other) / own);
    (1.0 - found, derivative.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Traces of a few waves, different for every seed.
    fn records(traces: usize, samples: usize, seed: f64) -> Vec<f64> {
        let at = |k: usize| {
            let (sample, trace) = ((k / traces) as f64, (k % traces) as f64);
            let t = (sample - 18.0 - 2.0 * trace - 3.0 * seed) / (4.0 + 0.4 * trace);
            (1.0 - t * t) * (-0.5 * t * t).exp() + 0.2 * (0.3 * sample + seed + trace).sin()
        };
        (0..traces * samples).map(at).collect()
    }

    /// What is left of a small change beyond its derivative is of second order.
    #[test]
    fn derivatives_are_exact() {
        let (traces, samples) = (3, 61);
        let weight = (0..traces * samples).map(|k| if k < 20 { 0.0 } else { 1.0 + 0.1 * (k % 7) as f64 });
        let observed = Observed::new(traces, records(traces, samples, 0.4), Some(weight.collect()));
        let observed = observed.expect("sizes agree");
        let (made, step) = (records(traces, samples, 0.0), records(traces, samples, 1.7));
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
                let (before, adjoint_source) = of(&made);
                let left = |h: f64| {
                    let after: Vec<f64> = made.iter().zip(&step).map(|(a, b)| a + h * b).collect();
                    (of(&after).0 - before - h * dot(&adjoint_source, &step)).abs()
                };
                let found = [0.03, 0.003, 0.0003, 0.00003].map(left);
                let orders: Vec<f64> = found.windows(2).map(|pair| (pair[0] / pair[1]).log10()).collect();
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
        for made in [&waves, &silence] {
            let (misfit, adjoint_source) = Misfit::Envelope.of(made, &still);
            assert!(misfit.is_finite() && adjoint_source.iter().all(|x| x.is_finite()));
        }
        assert!(Wiener::new(&silence, &loud, 0.01).is_err());
        assert!(Observed::new(3, vec![0.0; 40], None).is_err());
    }

    /// A wave of so many periods a sample whose envelope is a bell of 9 samples about the 60th, and that envelope: what it has of
    /// frequencies on the other side of zero, which would bend the envelope, is below 1e-13.
    fn bell(sample: f64, frequency: f64) -> [f64; 2] {
        let t = sample - 60.0;
        let envelope = (-0.5 * (t / 9.0).powi(2)).exp();
        let wave = (2.0 * std::f64::consts::PI * frequency * t).cos();
        [envelope * wave, envelope]
    }

    /// A trace that is as weak as the floor, against none: envelopes of both are known.
    #[test]
    fn envelopes_below_a_thousandth_of_the_largest_are_not_told_apart() {
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
        let wanted: f64 = (0..120).map(|k| 0.5 * rest(k).powi(2)).sum();
        println!("{misfit:.6e} {wanted:.6e}");
        // Seven digits are the same; the bell is cut where it is 2e-10 of its height.
        assert!((misfit / wanted - 1.0).abs() < 1e-6, "{misfit} {wanted}");
    }

    /// The spectrum of a spike is flat: every frequency is damped by 1/(1 + damping).
    #[test]
    fn damping_is_a_share_of_the_mean_power() {
        let mut spike = vec![0.0; 50];
        spike[11] = 3.0;
        let observed = Observed::new(1, spike.clone(), None).expect("sizes agree");
        for damping in [1e-3, 0.1, 0.7] {
            let filter = Wiener::new(&spike, &observed, damping).expect("a wave");
            let found = filter.applied(&spike, &observed);
            for (k, (found, own)) in found.iter().zip(&spike).enumerate() {
                // Rounding of a transform of 100 numbers.
                assert!(
                    (found - own / (1.0 + damping)).abs() < 1e-13,
                    "{damping} {k}: {found}"
                );
            }
        }
    }

    /// Records of every third sample of a source: its history comes in its own samples, without the frequencies above those of
    /// the records, of which they know nothing.
    #[test]
    fn a_source_with_denser_samples_is_found() {
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
                // Of 0.8 of the sampling frequency of the records.
                scale * pulse(t - late) + buzz * bell(t, 0.8)[0]
            };
            (0..120 * EVERY).map(at).collect()
        };
        for buzz in [0.0, 0.5] {
            let series: Vec<f32> = dense(0.0, 1.0, buzz).into_iter().map(|x| x as f32).collect();
            let found = filter.source(&series, EVERY);
            assert_eq!(found.len(), series.len());
            let apart = found
                .iter()
                .zip(dense(4.0, 2.0, 0.0))
                .map(|(a, b)| (f64::from(*a) - b).abs());
            let apart = apart.max_by(f64::total_cmp).expect("samples");
            println!("buzz {buzz}: {apart:.1e}");
            // Single precision of a pulse of 2, damping 1e-9 where it has no power: 5.6e-6 are measured.
            assert!(apart < 4e-5, "buzz {buzz}: {apart}");
        }
    }

    /// A filter that is known is found, and with it the history of a source.
    #[test]
    fn a_wavelet_is_found() {
        let (traces, samples) = (4, 120);
        let pulse: Vec<f64> = (0..samples)
            .map(|k| (-0.5 * ((k as f64 - 20.0) / 2.0).powi(2)).exp())
            .collect();
        // What the records of the pulse are for an echo in every trace, and those of a source that is late and twice as strong.
        let trace = |scale: f64, late: usize| -> Vec<f64> {
            let echo = |k: usize, trace: usize| {
                let at = |back: usize| k.checked_sub(back + late).map_or(0.0, |k| pulse[k]);
                scale * (at(5 + 3 * trace) + 0.5 * at(20 + 7 * trace))
            };
            let all = 0..samples * traces;
            all.map(|k| echo(k / traces, k % traces)).collect()
        };
        let (made, wanted) = (trace(1.0, 0), trace(2.0, 6));
        let observed = Observed::new(traces, wanted, None).expect("sizes agree");
        let (misfit, _, filter) = Misfit::Squares
            .of_filtered(&made, &observed, 1e-6)
            .expect("waves");
        let (before, _) = Misfit::Squares.of(&made, &observed);
        assert!(misfit < 1e-4 * before, "{misfit} {before}");
        let series: Vec<f32> = pulse.iter().map(|&x| x as f32).collect();
        let found = filter.source(&series, 1);
        for (k, &x) in found.iter().enumerate() {
            let wanted = k.checked_sub(6).map_or(0.0, |k| 2.0 * pulse[k]);
            assert!((f64::from(x) - wanted).abs() < 0.03, "{k}: {x} {wanted}");
        }
    }
}
