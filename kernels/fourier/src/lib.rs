//! Plans of Fourier transforms by `rustfft` and `realfft`, and the time dispersion of finite steps
//! ([`time_dispersion`]).
//!
//! The planners of those crates are generic: a crate that calls one compiles every algorithm for every length once
//! more, which adds a megabyte of code for each type of number. The functions here are not generic, so that this
//! happens only once. No transform is scaled: a forward transform followed by an inverse one multiplies by the length.

pub mod time_dispersion;

#[cfg(test)]
#[path = "../../../tests/support/largest.rs"]
mod largest;

pub use realfft::{ComplexToReal, RealToComplex, num_complex};
pub use rustfft::{Fft, FftDirection};

use realfft::RealFftPlanner;
use rustfft::FftPlanner;
use std::sync::Arc;

/// From `length` real numbers to `length / 2 + 1` complex ones.
pub fn forward(length: usize) -> Arc<dyn RealToComplex<f32>> {
    RealFftPlanner::new().plan_fft_forward(length)
}

/// From `length / 2 + 1` complex numbers to `length` real ones.
pub fn inverse(length: usize) -> Arc<dyn ComplexToReal<f32>> {
    RealFftPlanner::new().plan_fft_inverse(length)
}

/// A transform of `length` complex numbers in place.
pub fn complex(length: usize, direction: FftDirection) -> Arc<dyn Fft<f32>> {
    FftPlanner::new().plan_fft(length, direction)
}

/// The smallest product of 2, 3 and 5 that is not below `n`: transforms of such lengths are fast.
pub fn fast_length(n: usize) -> usize {
    let left = |n: usize| {
        [2, 3, 5].into_iter().fold(n, |mut left, factor| {
            while left % factor == 0 {
                left /= factor;
            }
            left
        })
    };
    (n.max(1)..).find(|n| left(*n) == 1).unwrap_or(n)
}

/// Transforms in double precision.
pub mod double {
    use super::*;

    /// From `length` real numbers to `length / 2 + 1` complex ones.
    pub fn forward(length: usize) -> Arc<dyn RealToComplex<f64>> {
        RealFftPlanner::new().plan_fft_forward(length)
    }

    /// From `length / 2 + 1` complex numbers to `length` real ones.
    pub fn inverse(length: usize) -> Arc<dyn ComplexToReal<f64>> {
        RealFftPlanner::new().plan_fft_inverse(length)
    }

    /// A transform of `length` complex numbers in place.
    pub fn complex(length: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
        FftPlanner::new().plan_fft(length, direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_lengths() {
        for (n, fast) in [
            (0, 1),
            (1, 1),
            (7, 8),
            (11, 12),
            (13, 15),
            (121, 125),
            (1001, 1024),
        ] {
            assert_eq!(fast_length(n), fast, "{n}");
        }
    }
}
