//! Plans of Fourier transforms of `rustfft` and `realfft`.
//!
//! Their planners are generic: a crate that calls one compiles every algorithm for every length again, a megabyte for each
//! kind of number. These functions are not, so that happens here only. Neither direction scales: there and back
//! multiplies by the length.

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

/// From `length` complex numbers to as many, in place.
pub fn complex(length: usize, direction: FftDirection) -> Arc<dyn Fft<f32>> {
    FftPlanner::new().plan_fft(length, direction)
}

/// The same in double precision.
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

    /// From `length` complex numbers to as many, in place.
    pub fn complex(length: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
        FftPlanner::new().plan_fft(length, direction)
    }
}
