//! Laws of constant Q.

use kernels::methods::spectral_elements::Relaxation;

/// Real and imaginary part of the modulus over the unrelaxed one at a frequency in Hz.
fn modulus(law: &Relaxation, long: &[f64; 3], frequency: f64) -> [f64; 2] {
    let w = std::f64::consts::TAU * frequency;
    let pairs = || law.tau_stress.iter().zip(long);
    let whole = pairs().map(|(t, e)| e / t).sum::<f64>();
    let part = |top: fn(f64, f64, f64) -> f64| {
        let terms = pairs().map(|(t, e)| top(w, *t, *e) / (1.0 + (w * t).powi(2)));
        terms.sum::<f64>() / whole
    };
    [part(|w, t, e| 1.0 + w * w * e * t), part(|w, t, e| w * (e - t))]
}

#[test]
fn quality_is_constant_in_the_band_and_moduli_hold_at_the_reference() {
    for quality in [[30.0, 80.0], [150.0, f64::INFINITY]] {
        let law = Relaxation::constant(quality, [0.5, 6.0], 2.0);
        for (k, long) in [law.tau_shear, law.tau_bulk].iter().enumerate() {
            for step in 0..=20 {
                let [re, im] = modulus(&law, long, 0.5 * 12f64.powf(f64::from(step) / 20.0));
                let inverse = if quality[k].is_finite() {
                    quality[k] * im / re
                } else {
                    1.0 + im
                };
                assert!((inverse - 1.0).abs() < 0.03, "{quality:?} {k} {inverse}");
            }
            // The phase speed belongs to the inverse root of the modulus.
            let [re, im] = modulus(&law, long, 2.0);
            let slowness = (0.5 * im.atan2(re)).cos() / re.hypot(im).sqrt();
            assert!((law.factors[k] / slowness.powi(2) - 1.0).abs() < 1e-9);
        }
    }
}
