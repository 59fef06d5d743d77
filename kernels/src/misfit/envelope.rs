//! Envelopes of traces and their misfit.
//!
//! Let `H` be the Hilbert transform of a trace that is padded with zeros and then truncated; it is antisymmetric,
//! `H^T = -H`. With the envelopes `E` (`E^2 = a^2 + (H a)^2 + e^2`) and `F` of two traces, the derivative of `J = sum
//! (E - F)^2 / 2` with respect to `a` is `r a - H(r H a)` with `r = (E - F) / E`.

use super::fourier::{Fourier, Number};

/// The Hilbert transform of traces of equal length.
pub struct Hilbert(Fourier);

impl Hilbert {
    /// The transform of traces with this number of samples.
    pub fn new(samples: usize) -> Self {
        Self(Fourier::new(samples))
    }

    /// Transforms a trace: every frequency is delayed by a quarter of its period.
    fn of(&self, trace: &[f64]) -> Vec<f64> {
        let mut spectrum = self.0.spectrum(trace);
        let last = spectrum.len() - 1;
        for (k, x) in spectrum.iter_mut().enumerate() {
            *x = match k == 0 || k == last {
                true => Number::new(0.0, 0.0),
                false => Number::new(x.im, -x.re),
            };
        }
        self.0.trace(spectrum)
    }

    /// The largest value of the envelope of a trace.
    pub fn largest_envelope(&self, trace: &[f64]) -> f64 {
        let pairs = trace.iter().zip(self.of(trace));
        pairs.map(|(a, h)| a.hypot(h)).fold(0.0, f64::max)
    }

    /// The misfit of the envelopes of traces `a` and `b`, half the sum of squared differences, and its derivative
    /// with respect to `a`. `floor` is the `e` of the module documentation, which keeps the derivative bounded where
    /// `a` vanishes.
    pub fn envelopes(&self, a: &[f64], b: &[f64], floor: f64) -> (f64, Vec<f64>) {
        let (of_a, of_b) = (self.of(a), self.of(b));
        let envelope = |x: f64, h: f64| (x * x + h * h + floor * floor).sqrt();
        let (mut half, mut along, mut across) = (0.0, Vec::new(), Vec::new());
        for (k, (&x, &h)) in a.iter().zip(&of_a).enumerate() {
            let own = envelope(x, h);
            let rest = own - envelope(b[k], of_b[k]);
            half += 0.5 * rest * rest;
            let share = if own > 0.0 { rest / own } else { 0.0 };
            along.push(share * x);
            across.push(share * h);
        }
        let back = self.of(&across);
        along.iter_mut().zip(back).for_each(|(to, x)| *to -= x);
        (half, along)
    }
}
