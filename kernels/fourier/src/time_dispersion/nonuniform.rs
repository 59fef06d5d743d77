//! Fourier sums of real samples at frequencies that are not evenly spaced, and the exact transpose, by a fast
//! transform of twice the length and a Kaiser-Bessel window (Fessler and Sutton 2003).

use super::Number;
use crate::double;
use crate::{ComplexToReal, RealToComplex};
use std::f64::consts::PI;
use std::sync::Arc;

/// Number of frequencies of the fast transform from which one sum is interpolated. With twice the length the error is
/// about 1e-12.
const WIDTH: usize = 14;

/// The shape of the window for twice the length: its transform has its first zero where the first alias ends.
const SHAPE: f64 = PI * WIDTH as f64 * 0.75;

/// Sums `F[q] = sum_k x[k] exp(-i nu[q] k)` of real samples `x` at given frequencies `nu`, in radians per sample.
pub struct Nonuniform {
    samples: usize,
    length: usize,
    /// The reciprocal of the transform of the window, for each sample.
    correction: Vec<f64>,
    /// For each frequency: the first of its [`WIDTH`] neighbours, their weights, and the phase of the middle sample.
    neighbours: Vec<(i64, [f64; WIDTH], Number)>,
    there: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
}

impl Nonuniform {
    /// The sums over `samples` samples at these frequencies, each from 0 to pi.
    pub fn new(samples: usize, frequencies: &[f64]) -> Self {
        let length = 2 * crate::fast_length(samples.max(WIDTH));
        let middle = samples / 2;
        let correction = (0..samples)
            .map(|k| {
                let share = PI * WIDTH as f64 * (k as f64 - middle as f64) / length as f64;
                let root = (SHAPE * SHAPE - share * share).sqrt();
                // The factor e^SHAPE is left out here as in the weights.
                2.0 * root * (SHAPE - root).exp() / (WIDTH as f64 * (1.0 - (-2.0 * root).exp()))
            })
            .collect();
        let neighbours = frequencies
            .iter()
            .map(|nu| {
                let place = nu * length as f64 / (2.0 * PI);
                let first = (place - WIDTH as f64 / 2.0).ceil();
                let weight = |k: usize| {
                    let x = 2.0 * (first + k as f64 - place) / WIDTH as f64;
                    bessel(SHAPE * (1.0 - x * x).max(0.0).sqrt()) * (-SHAPE).exp()
                };
                let phase = Number::from_polar(1.0, -nu * middle as f64);
                (first as i64, std::array::from_fn(weight), phase)
            })
            .collect();
        Self {
            samples,
            length,
            correction,
            neighbours,
            there: double::forward(length),
            back: double::inverse(length),
        }
    }

    /// The place of sample `k` in the fast transform, whose origin is the middle sample.
    fn place(&self, k: usize) -> usize {
        (k + self.length - self.samples / 2) % self.length
    }

    /// The index of frequency `k` of the fast transform in its half spectrum, and whether the value there is its
    /// conjugate.
    fn folded(&self, k: i64) -> (usize, bool) {
        let k = k.rem_euclid(self.length as i64) as usize;
        match k > self.length / 2 {
            true => (self.length - k, true),
            false => (k, false),
        }
    }

    /// The sums of these samples; missing samples are zero.
    pub fn sums(&self, samples: &[f64]) -> Vec<Number> {
        let mut padded = self.there.make_input_vec();
        for (k, (x, correction)) in samples.iter().zip(&self.correction).enumerate() {
            padded[self.place(k)] = x * correction;
        }
        let mut spectrum = self.there.make_output_vec();
        self.there
            .process(&mut padded, &mut spectrum)
            .expect("both buffers come from the plan");
        let sum = |(first, weights, phase): &(i64, [f64; WIDTH], Number)| {
            let mut sum = Number::default();
            for (k, weight) in (*first..).zip(weights) {
                let (at, conjugate) = self.folded(k);
                let value = spectrum[at];
                sum += (if conjugate { value.conj() } else { value }) * *weight;
            }
            sum * phase
        };
        self.neighbours.iter().map(sum).collect()
    }

    /// The transpose: `x[k] = sum_q Re(F[q] exp(i nu[q] k))`.
    pub fn transpose(&self, sums: &[Number]) -> Vec<f64> {
        let mut spectrum = self.back.make_input_vec();
        for (sum, (first, weights, phase)) in sums.iter().zip(&self.neighbours) {
            let value = sum * phase.conj();
            for (k, weight) in (*first..).zip(weights) {
                let (at, conjugate) = self.folded(k);
                spectrum[at] += (if conjugate { value.conj() } else { value }) * *weight;
            }
        }
        // Each value of the half spectrum stands for two frequencies, except at the ends.
        let last = spectrum.len() - 1;
        for value in &mut spectrum[1..last] {
            *value *= 0.5;
        }
        (spectrum[0].im, spectrum[last].im) = (0.0, 0.0);
        let mut padded = self.back.make_output_vec();
        self.back
            .process(&mut spectrum, &mut padded)
            .expect("both buffers come from the plan");
        let sample = |(k, correction): (usize, &f64)| padded[self.place(k)] * correction;
        self.correction.iter().enumerate().map(sample).collect()
    }
}

/// The modified Bessel function of the first kind and order zero, by its series; for arguments up to 40.
pub fn bessel(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..90 {
        term *= (0.5 * x / f64::from(k)).powi(2);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::largest::largest;

    #[test]
    fn sums_are_those_of_the_formula() {
        for samples in [1, 2, 7, 100, 333] {
            let frequencies: Vec<f64> = (0..50).map(|q| PI * (f64::from(q) / 49.0).powi(2)).collect();
            let plan = Nonuniform::new(samples, &frequencies);
            let x: Vec<f64> = (0..samples).map(|k| ((k * k + 3) % 17) as f64 - 8.0).collect();
            let exact = |nu: &f64| -> Number {
                let terms = x.iter().enumerate();
                terms
                    .map(|(k, x)| Number::from_polar(1.0, -nu * k as f64) * x)
                    .sum()
            };
            let size: f64 = x.iter().map(|x| x.abs()).sum();
            let sums = plan.sums(&x);
            let off = largest(
                sums.iter()
                    .zip(&frequencies)
                    .map(|(sum, nu)| (sum - exact(nu)).norm() / size),
            );
            // This is the error of the window and of rounding.
            assert!(off < 1e-11, "{samples}: {off:e}");
            // <F, L x> = <L' F, x>
            let y: Vec<Number> = (0..50)
                .map(|q| Number::new(f64::from(q % 7) - 3.0, f64::from(q % 5) - 2.0))
                .collect();
            let one: f64 = sums.iter().zip(&y).map(|(a, b)| a.re * b.re + a.im * b.im).sum();
            let other: f64 = plan.transpose(&y).iter().zip(&x).map(|(a, b)| a * b).sum();
            assert!((one - other).abs() < 1e-12 * (50.0 * size), "{one} {other}");
        }
    }
}
