//! The frequency band of a wavelet, and its sampling by a grid.

/// The frequency band of a wavelet, in the inverse of the unit of its `dt` (Hz for seconds).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// Frequency of the largest amplitude.
    pub peak: f64,
    /// Highest frequency with at least 1 % of that amplitude.
    pub max: f64,
}

/// Fraction of the largest amplitude below which a frequency does not count.
const FLOOR: f32 = 0.01;

/// The band of one trace with time step `dt`. Both frequencies are 0 if the trace is zero, empty or not finite.
pub fn dominant_frequency(wavelet: &[f32], dt: f64) -> Band {
    let silent = wavelet.iter().all(|v| *v == 0.0) || wavelet.iter().any(|v| !v.is_finite());
    if silent {
        return Band::default();
    }
    let loudest = wavelet.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let padded = (4 * wavelet.len()).next_power_of_two().max(64);
    let forward = fourier::forward(padded);
    let mut trace = vec![0.0; padded];
    trace.iter_mut().zip(wavelet).for_each(|(t, w)| *t = w / loudest);
    let mut spectrum = forward.make_output_vec();
    forward
        .process(&mut trace, &mut spectrum)
        .expect("both buffers come from the plan");
    let amplitudes: Vec<f32> = spectrum.iter().map(|c| c.norm()).collect();
    let top = amplitudes.iter().copied().fold(0.0, f32::max);
    let frequency = |i: usize| i as f64 / (padded as f64 * dt);
    let peak = amplitudes.iter().position(|a| *a == top).unwrap_or(0);
    let last = amplitudes.iter().rposition(|a| *a >= FLOOR * top).unwrap_or(0);
    Band {
        peak: frequency(peak),
        max: frequency(last),
    }
}

/// Grid points per shortest wavelength (of the slowest wave at the highest frequency), along the axis with the largest
/// spacing. Infinite for frequency zero.
pub fn points_per_wavelength(slowest: f64, highest_frequency: f64, largest_spacing: f64) -> f64 {
    slowest / (highest_frequency * largest_spacing.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ricker(f: f64, dt: f64, n: usize) -> Vec<f32> {
        let shape = |t: f64| {
            let a = (std::f64::consts::PI * f * t).powi(2);
            (1.0 - 2.0 * a) * (-a).exp()
        };
        (0..n).map(|i| shape(i as f64 * dt - 1.5 / f) as f32).collect()
    }

    #[test]
    fn band_of_a_ricker_wavelet() {
        for (f, dt) in [(20.0, 0.001), (8.0, 0.002), (2000.0, 1e-5)] {
            let band = dominant_frequency(&ricker(f, dt, 800), dt);
            assert!((band.peak / f - 1.0).abs() < 0.01, "{band:?}");
            // The amplitude x^2 exp(1 - x^2), x = f / peak, is 0.01 at x = 2.762.
            assert!((band.max / f - 2.762).abs() < 0.02, "{band:?}");
        }
    }

    #[test]
    fn degenerate_wavelets() {
        assert_eq!(dominant_frequency(&[], 0.001), Band::default());
        assert_eq!(dominant_frequency(&[0.0; 7], 0.001), Band::default());
        assert_eq!(dominant_frequency(&[1.0, f32::NAN], 0.001), Band::default());
        assert_eq!(
            dominant_frequency(&[3.0], 0.001).max,
            500.0,
            "a spike reaches the Nyquist frequency"
        );
        let tiny = dominant_frequency(&[0.0, 1e-30, 0.0], 0.001);
        assert_eq!(tiny.max, 500.0);
    }

    #[test]
    fn sampling() {
        assert_eq!(points_per_wavelength(1000.0, 50.0, 4.0), 5.0);
        assert_eq!(points_per_wavelength(1000.0, 0.0, 4.0), f64::INFINITY);
    }
}
