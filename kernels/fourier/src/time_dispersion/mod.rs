//! Exact time: the time dispersion of the steps of a run, and transforms of series and records that compensate for it.
//!
//! A scheme of second order in time that takes a centred difference over every step `dt` (leap-frog, and Newmark's
//! scheme with beta 0 and gamma 1/2) solves the exact equations of a linear, time-invariant medium at the frequency
//! `2/dt sin(w dt/2)` instead of `w`, whatever the medium and the discretisation in space are. If the spectrum of a
//! source is shifted by that law before the run, and the spectra of records are shifted back after it, the records
//! have no error from the time step (Stork 2013; Wang and Xu 2015; Koene, Robertsson, Broggini and Andersson 2018, who
//! call the two directions forward and inverse transform).
//!
//! Both directions are linear, and each has an exact transpose. A sample of the corrected record depends on what the
//! steps have recorded up to its time and a little longer: time dispersion spreads a pulse into an Airy function, whose
//! tail is [`run_on`] steps long. A run therefore needs this many additional steps. The values after them are
//! arbitrary, and both directions continue a series smoothly there, because a series that ends abruptly contains all
//! frequencies.

mod nonuniform;

pub use nonuniform::bessel;

use crate::num_complex::Complex;
use crate::{ComplexToReal, RealToComplex, double};
use nonuniform::Nonuniform;
use std::f64::consts::PI;
use std::sync::Arc;

type Number = Complex<f64>;

/// Number of samples by which a series is continued after the last step.
const CONTINUED: usize = 256;

/// Number of zeros with which a series is padded: the filters decay to 1e-6 within it.
const SILENCE: usize = 128;

/// Fraction of the Nyquist frequency of the samples above which a transform is tapered to zero.
const PASSED: f64 = 0.8;

/// The times at which the samples of a series are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Number of samples in true time.
    pub samples: usize,
    /// Number of samples on the clock of the steps, which is not smaller.
    pub steps: usize,
    /// Number of steps from one sample to the next, at least one.
    pub every: f64,
    /// The time of the first sample, in steps.
    pub first: f64,
}

/// Number of steps that a run needs after `steps` steps for exact records up to the last of these: six times the width
/// of the Airy function, beyond which its amplitude is 1e-5.
pub fn run_on(steps: usize) -> usize {
    (3.0 * (steps as f64).cbrt()).ceil() as usize
}

/// The times of the fields from which a quantity is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// A field at its own time, or sums of such fields and their differences over one step.
    #[default]
    OfOneTime,
    /// The mean of two times that are a step apart, or a difference over two steps: velocities of Newmark's scheme.
    OfTwoTimes,
}

/// The transforms of series with one sampling.
pub struct TimeDispersion {
    sampling: Sampling,
    /// The continuation of series in true time, and of series on the clock of the steps.
    continued: [Continued; 2],
    /// Number of samples of the evenly spaced transform.
    length: usize,
    nonuniform: Nonuniform,
    /// For each frequency of the evenly spaced transform: the filter, with the phase of the first sample, and the density of the
    /// true frequencies there.
    factors: Vec<(Number, f64)>,
    there: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
}

impl TimeDispersion {
    /// Prepares the transforms of series with this sampling.
    pub fn new(sampling: Sampling) -> Self {
        let all = sampling.steps + CONTINUED;
        let length = 2 * crate::fast_length(all + SILENCE);
        let (mut frequencies, mut factors) = (Vec::new(), Vec::new());
        for q in 0..length / 2 {
            let theta = 2.0 * PI * q as f64 / length as f64;
            let half = theta / (2.0 * sampling.every);
            let nu = 2.0 * sampling.every * half.sin();
            let phase = Number::from_polar(1.0, (nu - theta) * sampling.first / sampling.every);
            frequencies.push(nu);
            factors.push((phase * passed(theta / PI), half.cos()));
        }
        Self {
            sampling,
            continued: [sampling.samples, sampling.steps].map(|samples| Continued::new(samples, all)),
            length,
            nonuniform: Nonuniform::new(all, &frequencies),
            factors,
            there: double::forward(length),
            back: double::inverse(length),
        }
    }

    /// The forward transform: from true time to the clock of the steps, for sources before a run and for observed
    /// records that enter a run.
    pub fn to_steps(&self, series: &[f64]) -> Vec<f64> {
        let sums = self.nonuniform.sums(&self.continued[0].of(series));
        let spectrum = self.each(sums, |value, (filter, _)| value * filter.conj());
        let mut series = self.real(spectrum);
        series.truncate(self.sampling.steps);
        series
    }

    /// The transpose of [`Self::to_steps`].
    pub fn to_steps_adjoint(&self, series: &[f64]) -> Vec<f64> {
        let spectrum = self.spectrum(series);
        let sums = self.each(spectrum, |value, (filter, _)| value * filter);
        let scaled = self.scaled(sums);
        self.continued[0].transpose(self.nonuniform.transpose(&scaled))
    }

    /// The inverse transform: from the clock of the steps to true time, for records of a run.
    pub fn to_time(&self, record: &[f64], reading: Reading) -> Vec<f64> {
        let spectrum = self.spectrum(&self.continued[1].of(record));
        let sums = self.each(spectrum, |value, factors| value * stretch(factors, reading));
        let mut series = self.nonuniform.transpose(&self.scaled(sums));
        series.truncate(self.sampling.samples);
        series
    }

    /// The transpose of [`Self::to_time`].
    pub fn to_time_adjoint(&self, series: &[f64], reading: Reading) -> Vec<f64> {
        let sums = self.nonuniform.sums(series);
        let spectrum = self.each(sums, |value, factors| value * stretch(factors, reading).conj());
        self.continued[1].transpose(self.real(spectrum))
    }

    /// Applies `change` to the value of each frequency and its factors.
    fn each(&self, mut values: Vec<Number>, change: impl Fn(Number, (Number, f64)) -> Number) -> Vec<Number> {
        values.truncate(self.factors.len());
        for (value, &factors) in values.iter_mut().zip(&self.factors) {
            *value = change(*value, factors);
        }
        values
    }

    /// Divides values by the length, and doubles all except the one at frequency zero, because each represents two
    /// frequencies.
    fn scaled(&self, mut values: Vec<Number>) -> Vec<Number> {
        for (q, value) in values.iter_mut().enumerate() {
            *value *= if q == 0 { 1.0 } else { 2.0 } / self.length as f64;
        }
        values
    }

    /// The evenly spaced spectrum of samples that are padded with zeros.
    fn spectrum(&self, series: &[f64]) -> Vec<Number> {
        let mut padded = self.there.make_input_vec();
        padded.iter_mut().zip(series).for_each(|(to, x)| *to = *x);
        let mut spectrum = self.there.make_output_vec();
        self.there
            .process(&mut padded, &mut spectrum)
            .expect("both buffers come from the plan");
        spectrum
    }

    /// The series of an evenly spaced spectrum, with the samples of its padding.
    fn real(&self, mut spectrum: Vec<Number>) -> Vec<f64> {
        spectrum.resize(self.length / 2 + 1, Number::default());
        spectrum[0].im = 0.0;
        let mut series = self.back.make_output_vec();
        self.back
            .process(&mut spectrum, &mut series)
            .expect("both buffers come from the plan");
        let share = 1.0 / self.length as f64;
        series.iter_mut().for_each(|x| *x *= share);
        series
    }
}

/// The factor of a record's spectrum in the transform to true time: the filter, multiplied by the density of the true
/// frequencies relative to the frequencies of the steps, which a mean of two times already contains.
fn stretch((filter, density): (Number, f64), reading: Reading) -> Number {
    match reading {
        Reading::OfOneTime => filter * density,
        Reading::OfTwoTimes => filter,
    }
}

/// The factor of the taper at a fraction of the Nyquist frequency.
fn passed(share: f64) -> f64 {
    let slope = ((share - PASSED) / (1.0 - PASSED)).clamp(0.0, 1.0);
    (0.5 * PI * slope).cos().powi(2)
}

/// The continuation of series after their last sample, by the series itself rotated by 180 degrees about that sample
/// and tapered.
struct Continued {
    samples: usize,
    taper: Vec<f64>,
}

impl Continued {
    fn new(samples: usize, all: usize) -> Self {
        let count = (all - samples).min(samples.saturating_sub(1));
        let share = |k: usize| (k + 1) as f64 / (count + 1) as f64;
        Self {
            samples,
            taper: (0..count).map(|k| (0.5 * PI * share(k)).cos().powi(2)).collect(),
        }
    }

    fn of(&self, series: &[f64]) -> Vec<f64> {
        let last = self.samples.saturating_sub(1);
        let behind = |(k, taper): (usize, &f64)| taper * (2.0 * series[last] - series[last - 1 - k]);
        let tail: Vec<f64> = self.taper.iter().enumerate().map(behind).collect();
        [series, &tail].concat()
    }

    fn transpose(&self, mut whole: Vec<f64>) -> Vec<f64> {
        let last = self.samples.saturating_sub(1);
        for (k, taper) in self.taper.iter().enumerate() {
            let value = taper * whole[self.samples + k];
            whole[last] += 2.0 * value;
            whole[last - 1 - k] -= value;
        }
        whole.truncate(self.samples);
        whole
    }
}

/// The relative error of the speed of waves of a frequency (Hz) in steps of `dt` (s), which is positive because waves
/// arrive early. `None` from `1 / (pi dt)` on, the highest frequency that such steps can represent.
pub fn early(frequency: f64, dt: f64) -> Option<f64> {
    let half = PI * frequency * dt;
    match half {
        0.0 => Some(0.0),
        _ if half < 1.0 => Some(half.asin() / half - 1.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
