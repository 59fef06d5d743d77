//! Spectra of traces that are padded with zeros, so that nothing wraps around.

use fourier::num_complex::Complex;
use fourier::{ComplexToReal, RealToComplex, double};
use std::sync::Arc;

/// A value of a spectrum.
pub type Number = Complex<f64>;

/// Transforms of traces of equal length.
pub struct Fourier {
    samples: usize,
    padded: usize,
    there: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
}

impl Fourier {
    /// Transforms of traces with this number of samples, padded to twice that number.
    pub fn new(samples: usize) -> Self {
        Self::padded(samples, 2 * samples.max(1))
    }

    /// Transforms of traces with this number of samples, padded to the length `padded`, which must be even.
    pub fn padded(samples: usize, padded: usize) -> Self {
        Self {
            samples,
            padded,
            there: double::forward(padded),
            back: double::inverse(padded),
        }
    }

    /// Number of samples of a padded trace.
    pub fn len(&self) -> usize {
        self.padded
    }

    /// Number of frequencies of a spectrum, including zero and the Nyquist frequency.
    pub fn frequencies(&self) -> usize {
        self.padded / 2 + 1
    }

    /// How often value `k` of the half spectrum occurs in the full one.
    pub fn times(&self, k: usize) -> f64 {
        if k == 0 || k + 1 == self.frequencies() {
            1.0
        } else {
            2.0
        }
    }

    /// The spectrum of a trace at non-negative frequencies.
    pub fn spectrum(&self, trace: &[f64]) -> Vec<Number> {
        let mut padded = self.there.make_input_vec();
        padded.iter_mut().zip(trace).for_each(|(to, &x)| *to = x);
        let mut spectrum = self.there.make_output_vec();
        self.there
            .process(&mut padded, &mut spectrum)
            .expect("both buffers come from the plan");
        spectrum
    }

    /// The trace with this spectrum, truncated to the original number of samples. The first and the last value are
    /// taken to be real.
    pub fn trace(&self, mut spectrum: Vec<Number>) -> Vec<f64> {
        let last = spectrum.len() - 1;
        for k in [0, last] {
            spectrum[k].im = 0.0;
        }
        let mut padded = self.back.make_output_vec();
        self.back
            .process(&mut spectrum, &mut padded)
            .expect("both buffers come from the plan");
        let share = 1.0 / self.padded as f64;
        padded.truncate(self.samples);
        padded.iter_mut().for_each(|x| *x *= share);
        padded
    }
}
