//! Exact time: what the steps of a run do to the clock, and how series and records get around it.
//!
//! A scheme of second order in time that takes a centred difference over every step `dt` (leap-frog, and Newmark's with beta 0 and
//! gamma 1/2) solves the exact equations of a linear medium that does not change with time, at the frequency `2/dt sin(w dt/2)`
//! in place of `w`, whatever the medium and the differences in space are. So a source whose spectrum is shifted by that law
//! before the run, and records whose spectra are shifted back after it, have no error of the time step (Stork 2013; Wang and Xu
//! 2015; Koene, Robertsson, Broggini and Andersson 2018, whose names of the two directions are forward and inverse transform).
//!
//! Both directions are linear, and each has its exact transpose. A record at a time depends on what the steps have recorded up to that
//! time and a little after it: what a step spreads out is an Airy function, whose tail is [`run_on`] steps long. A run takes these
//! steps more. What follows them is free, and both directions continue a series smoothly there, for what ends abruptly has all
//! frequencies.

mod nonuniform;

pub use nonuniform::bessel;

use crate::num_complex::Complex;
use crate::{ComplexToReal, RealToComplex, double};
use nonuniform::Nonuniform;
use std::f64::consts::PI;
use std::sync::Arc;

type Number = Complex<f64>;

/// Samples by which a series is continued after the last step.
const CONTINUED: usize = 256;

/// Silence around a transform, in samples: its filters have died away there to 1e-6.
const SILENCE: usize = 128;

/// Share of the highest frequency of the samples from which a transform falls to zero.
const PASSED: f64 = 0.8;

/// When the samples of a series are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// How many there are in true time.
    pub samples: usize,
    /// How many there are on the clock of the steps, not fewer.
    pub steps: usize,
    /// Steps of the run from one to the next, not less than one.
    pub every: f64,
    /// The time of the first one, in steps.
    pub first: f64,
}

/// Steps that a run needs after `steps` steps for exact records up to the last of these: six times the width of the Airy function,
/// which leaves 1e-5 of what is cut.
pub fn run_on(steps: usize) -> usize {
    (3.0 * (steps as f64).cbrt()).ceil() as usize
}

/// How a quantity is made of what the steps know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// A field at its own time, or sums and differences of such over one step.
    #[default]
    OfOneTime,
    /// The mean of two times that are a step apart, or a difference over two steps: velocities of Newmark's scheme.
    OfTwoTimes,
}

/// The transforms of series with one sampling.
pub struct TimeDispersion {
    sampling: Sampling,
    /// How series of true time are continued, and those of the steps.
    continued: [Continued; 2],
    /// Samples of the evenly spaced transform.
    length: usize,
    nonuniform: Nonuniform,
    /// For each frequency of the evenly spaced transform: the filter, with the phase of the first sample, and the density of the
    /// true frequencies there.
    factors: Vec<(Number, f64)>,
    there: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
}

impl TimeDispersion {
    /// The transforms of series with this sampling.
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

    /// The forward transform: from true time to the clock of the steps, for sources before a run and for observed records that are
    /// put into one.
    pub fn to_steps(&self, series: &[f64]) -> Vec<f64> {
        let sums = self.nonuniform.sums(&self.continued[0].of(series));
        let spectrum = self.each(sums, |value, (filter, _)| value * filter.conj());
        let mut series = self.real(spectrum);
        series.truncate(self.sampling.steps);
        series
    }

    /// Its transpose.
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

    /// Its transpose.
    pub fn to_time_adjoint(&self, series: &[f64], reading: Reading) -> Vec<f64> {
        let sums = self.nonuniform.sums(series);
        let spectrum = self.each(sums, |value, factors| value * stretch(factors, reading).conj());
        self.continued[1].transpose(self.real(spectrum))
    }

    /// Applies the factors of the frequencies.
    fn each(&self, mut values: Vec<Number>, change: impl Fn(Number, (Number, f64)) -> Number) -> Vec<Number> {
        values.truncate(self.factors.len());
        for (value, &factors) in values.iter_mut().zip(&self.factors) {
            *value = change(*value, factors);
        }
        values
    }

    /// Divided by the length; frequencies that stand for two count twice.
    fn scaled(&self, mut values: Vec<Number>) -> Vec<Number> {
        for (q, value) in values.iter_mut().enumerate() {
            *value *= if q == 0 { 1.0 } else { 2.0 } / self.length as f64;
        }
        values
    }

    /// The evenly spaced spectrum of samples, followed by silence.
    fn spectrum(&self, series: &[f64]) -> Vec<Number> {
        let mut padded = self.there.make_input_vec();
        padded.iter_mut().zip(series).for_each(|(to, x)| *to = *x);
        let mut spectrum = self.there.make_output_vec();
        self.there
            .process(&mut padded, &mut spectrum)
            .expect("both buffers come from the plan");
        spectrum
    }

    /// The whole series of an evenly spaced spectrum.
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

/// What the spectrum of a record is multiplied with on its way to true time: the filter, and the density of the true frequencies
/// among those of the steps, which a mean of two times has in it already.
fn stretch((filter, density): (Number, f64), reading: Reading) -> Number {
    match reading {
        Reading::OfOneTime => filter * density,
        Reading::OfTwoTimes => filter,
    }
}

/// What is left at a share of the highest frequency.
fn passed(share: f64) -> f64 {
    let slope = ((share - PASSED) / (1.0 - PASSED)).clamp(0.0, 1.0);
    (0.5 * PI * slope).cos().powi(2)
}

/// Series that continue after their last sample: turned about it by half a turn, under a taper, up to a number of samples.
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

/// The relative error of the speed of waves of a frequency (Hz) in steps of `dt` (s): above zero, for they run early. `None` beyond the
/// highest frequency that steps have, `1 / (pi dt)`.
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
