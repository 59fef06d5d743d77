//! The Wiener filter that minimises the difference between the modelled records of a shot and the observed ones. It
//! corrects the source time function of the run, and is thus the same for all traces (Pratt 1999, eq. 17).
//!
//! Let `D_t` be the spectra of modelled traces, and `A_t` and `B_t` the spectra of weighted modelled and observed
//! traces. The filter is `F = sum_t conj(A_t) B_t / (P + e)`, where `P = sum_t |A_t|^2` and `e` is the damping times
//! the mean of `P` over the frequencies. Filtered records have the spectra `F D_t`. If `L_t` are the spectra of their
//! adjoint sources, the adjoint source of the modelled records is the sum of `conj(F) L_t` and, multiplied by the
//! weights, of
//!
//! `U B_t - 2 (V + m) A_t`, with `U = sum_t conj(L_t) D_t / (P + e)`, `V = Re(U F)`,
//!
//! where `m` is the damping times the mean of `V` over the frequencies. The second term arises because the filter and
//! `e` depend on the records.

use super::Observed;
use super::fourier::{Fourier, Number};
use crate::Error;
use crate::device::simd::Real;

/// The Wiener filter from modelled to observed records.
pub struct Wiener {
    fourier: Fourier,
    damping: f64,
    /// `F`
    filter: Vec<Number>,
    /// `P + e`
    power: Vec<f64>,
}

impl Wiener {
    /// The filter from modelled records, `[sample][trace]`, to observed ones; `damping` is relative to the mean power.
    ///
    /// # Errors
    /// Returns an error if the weighted modelled records are zero or not finite.
    pub fn new<N: Real, T: Real>(
        modelled: &[N],
        observed: &Observed<T>,
        damping: f64,
    ) -> Result<Self, Error> {
        let fourier = Fourier::new(observed.samples());
        let mut filter = vec![Number::new(0.0, 0.0); fourier.frequencies()];
        let mut power = vec![0.0; fourier.frequencies()];
        for trace in 0..observed.traces() {
            let a = fourier.spectrum(&observed.weighted(modelled, trace));
            let b = fourier.spectrum(&observed.own(trace));
            for (k, (a, b)) in a.iter().zip(&b).enumerate() {
                filter[k] += a.conj() * b;
                power[k] += a.norm_sqr();
            }
        }
        let mean = mean(&fourier, &power);
        if mean <= 0.0 || !mean.is_finite() {
            return Err(Error::setup(
                "the modelled records are zero, or weighted with zero: no source can be estimated from them",
            ));
        }
        // The lower limit avoids a division by zero where there is no power and no damping.
        let least = (damping * mean).max(f64::MIN_POSITIVE);
        power.iter_mut().for_each(|power| *power += least);
        filter.iter_mut().zip(&power).for_each(|(f, p)| *f /= *p);
        Ok(Self {
            fourier,
            damping,
            filter,
            power,
        })
    }

    /// Applies the filter to records.
    pub fn applied<N: Real, T: Real>(&self, modelled: &[N], observed: &Observed<T>) -> Vec<f64> {
        let mut filtered = vec![0.0; modelled.len()];
        for trace in 0..observed.traces() {
            let mut spectrum = self.fourier.spectrum(&observed.plain(modelled, trace));
            spectrum.iter_mut().zip(&self.filter).for_each(|(x, f)| *x *= f);
            observed.add(&self.fourier.trace(spectrum), trace, &mut filtered);
        }
        filtered
    }

    /// The adjoint source of modelled records, from the adjoint source of the filtered records.
    pub fn transposed<N: Real, T: Real>(
        &self,
        modelled: &[N],
        observed: &Observed<T>,
        adjoint_source: &[f64],
    ) -> Vec<f64> {
        let fourier = &self.fourier;
        let mut of_filter = vec![Number::new(0.0, 0.0); self.filter.len()];
        for trace in 0..observed.traces() {
            let own = fourier.spectrum(&observed.plain(modelled, trace));
            let adjoint_source = fourier.spectrum(&observed.plain(adjoint_source, trace));
            for (k, (d, l)) in own.iter().zip(&adjoint_source).enumerate() {
                of_filter[k] += l.conj() * d;
            }
        }
        of_filter.iter_mut().zip(&self.power).for_each(|(u, p)| *u /= *p);
        let of_power: Vec<f64> = of_filter
            .iter()
            .zip(&self.filter)
            .map(|(u, f)| (u * f).re)
            .collect();
        let of_damping = self.damping * mean(fourier, &of_power);
        let mut result = vec![0.0; modelled.len()];
        for trace in 0..observed.traces() {
            let mut plain = fourier.spectrum(&observed.plain(adjoint_source, trace));
            plain
                .iter_mut()
                .zip(&self.filter)
                .for_each(|(l, f)| *l *= f.conj());
            observed.add(&fourier.trace(plain), trace, &mut result);
            let a = fourier.spectrum(&observed.weighted(modelled, trace));
            let b = fourier.spectrum(&observed.own(trace));
            let of_weighted = |k: usize| of_filter[k] * b[k] - a[k] * (2.0 * (of_power[k] + of_damping));
            let mut weighted = fourier.trace((0..a.len()).map(of_weighted).collect());
            observed.weigh(&mut weighted, trace);
            observed.add(&weighted, trace, &mut result);
        }
        result
    }

    /// The estimated source time function: the filter applied to the run's time function `series`, whose sampling
    /// interval is 1/`every` times the sampling interval of the records.
    pub fn source(&self, series: &[f32], every: usize) -> Vec<f32> {
        let fine = Fourier::padded(series.len(), self.fourier.len() * every);
        let series: Vec<f64> = series.iter().map(|&x| f64::from(x)).collect();
        let mut spectrum = fine.spectrum(&series);
        let last = self.filter.len() - usize::from(every > 1);
        // The filter is unknown beyond the Nyquist frequency of the records.
        spectrum[last..].fill(Number::new(0.0, 0.0));
        spectrum.iter_mut().zip(&self.filter).for_each(|(x, f)| *x *= f);
        fine.trace(spectrum).into_iter().map(|x| x as f32).collect()
    }
}

/// The mean over all frequencies of values that are symmetric about zero.
fn mean(fourier: &Fourier, values: &[f64]) -> f64 {
    let sum = values.iter().enumerate().map(|(k, x)| fourier.times(k) * x);
    sum.sum::<f64>() / fourier.len() as f64
}
