//! A filter by which the modelled records of a shot come as near to the observed ones as they can: the source is not what the run had,
//! and what its spectrum must be multiplied by is the same for all traces (Pratt 1999, eq. 17).
//!
//! With the spectra `D_t` of modelled traces, and `A_t`, `B_t` of modelled and observed ones that are weighted, the filter is `F =
//! sum_t conj(A_t) B_t / (P + e)`, `P = sum_t |A_t|^2`, `e` the damping times the mean of `P` over the frequencies. Filtered records
//! have the spectra `F D_t`. With `L_t` the spectra of their adjoint sources, the adjoint source of the modelled records is
//!
//! `conj(F) L_t`, and with `Q = sum_t conj(L_t) D_t`, `U = Q / (P + e)`, weighted, `U B_t - 2 (V + m) A_t`,
//!
//! `V = Re(U F)`, `m` the damping times the mean of `V` over the frequencies: filter and damping are made of the records, too.

use super::Observed;
use super::fourier::{Fourier, Number};
use crate::Error;
use crate::device::simd::Real;

/// A filter between modelled and observed records.
pub struct Wiener {
    fourier: Fourier,
    damping: f64,
    /// `F`
    filter: Vec<Number>,
    /// `P + e`
    power: Vec<f64>,
}

impl Wiener {
    /// The filter that brings modelled records, `[sample][trace]`, to observed ones.
    ///
    /// # Errors
    /// Modelled records that are zero where they have a weight.
    pub fn new<N: Real, T: Real>(made: &[N], observed: &Observed<T>, damping: f64) -> Result<Self, Error> {
        let fourier = Fourier::new(observed.samples());
        let mut filter = vec![Number::new(0.0, 0.0); fourier.frequencies()];
        let mut power = vec![0.0; fourier.frequencies()];
        for trace in 0..observed.traces() {
            let a = fourier.spectrum(&observed.weighted(made, trace));
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
        // Where there is nothing at all, no division is left.
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

    /// Filtered records.
    pub fn applied<N: Real, T: Real>(&self, made: &[N], observed: &Observed<T>) -> Vec<f64> {
        let mut filtered = vec![0.0; made.len()];
        for trace in 0..observed.traces() {
            let mut spectrum = self.fourier.spectrum(&observed.plain(made, trace));
            spectrum.iter_mut().zip(&self.filter).for_each(|(x, f)| *x *= f);
            observed.add(&self.fourier.trace(spectrum), trace, &mut filtered);
        }
        filtered
    }

    /// The adjoint source of modelled records, from that of the filtered ones.
    pub fn transposed<N: Real, T: Real>(
        &self,
        made: &[N],
        observed: &Observed<T>,
        adjoint_source: &[f64],
    ) -> Vec<f64> {
        let fourier = &self.fourier;
        let mut of_filter = vec![Number::new(0.0, 0.0); self.filter.len()];
        for trace in 0..observed.traces() {
            let own = fourier.spectrum(&observed.plain(made, trace));
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
        let mut found = vec![0.0; made.len()];
        for trace in 0..observed.traces() {
            let mut plain = fourier.spectrum(&observed.plain(adjoint_source, trace));
            plain
                .iter_mut()
                .zip(&self.filter)
                .for_each(|(l, f)| *l *= f.conj());
            observed.add(&fourier.trace(plain), trace, &mut found);
            let a = fourier.spectrum(&observed.weighted(made, trace));
            let b = fourier.spectrum(&observed.own(trace));
            let of_weighted = |k: usize| of_filter[k] * b[k] - a[k] * (2.0 * (of_power[k] + of_damping));
            let mut weighted = fourier.trace((0..a.len()).map(of_weighted).collect());
            observed.weigh(&mut weighted, trace);
            observed.add(&weighted, trace, &mut found);
        }
        found
    }

    /// The history of a source that has been modelled with `series`, whose samples are `every` times as dense as those of the
    /// records, as the filter says it is.
    pub fn source(&self, series: &[f32], every: usize) -> Vec<f32> {
        let fine = Fourier::padded(series.len(), self.fourier.len() * every);
        let series: Vec<f64> = series.iter().map(|&x| f64::from(x)).collect();
        let mut spectrum = fine.spectrum(&series);
        let last = self.filter.len() - usize::from(every > 1);
        // The records know nothing of frequencies that they do not have.
        spectrum[last..].fill(Number::new(0.0, 0.0));
        spectrum.iter_mut().zip(&self.filter).for_each(|(x, f)| *x *= f);
        fine.trace(spectrum).into_iter().map(|x| x as f32).collect()
    }
}

/// The mean over all frequencies of what is the same for those below zero.
fn mean(fourier: &Fourier, values: &[f64]) -> f64 {
    let sum = values.iter().enumerate().map(|(k, x)| fourier.times(k) * x);
    sum.sum::<f64>() / fourier.len() as f64
}
