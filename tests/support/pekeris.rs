//! Lamb's problem: the response at the surface of a half-space to a vertical force there.
//!
//! Pekeris (1955), Poisson's ratio 1/4, a vertical step of strength Z at time 0, `tau = b t/r`, downward displacement:
//! `w = Z/(32 pi mu r) (6 - sqrt(3)/sqrt(tau^2 - 1/4) - sqrt(3 sqrt(3) + 5)/sqrt(3/4 + sqrt(3)/4 - tau^2)`
//! `+ sqrt(3 sqrt(3) - 5)/sqrt(tau^2 + sqrt(3)/4 - 3/4))` from P to S,
//! `w = Z/(16 pi mu r) (6 - sqrt(3 sqrt(3) + 5)/sqrt(3/4 + sqrt(3)/4 - tau^2))` from S to the Rayleigh wave at
//! `tau^2 = 3/4 + sqrt(3)/4`, `w = 3 Z/(8 pi mu r)` after it. S velocity and density are 1, the P velocity is sqrt(3).

use crate::shots::Ricker;

/// The square of `tau` at the Rayleigh wave.
fn rayleigh() -> f64 {
    0.75 + 3f64.sqrt() / 4.0
}

/// `w pi mu r / Z` before the Rayleigh wave, times `sqrt(rayleigh - tau^2)`.
fn smooth(tau: f64) -> f64 {
    let root = (rayleigh() - tau * tau).sqrt();
    let pole = (3.0 * 3f64.sqrt() + 5.0).sqrt();
    if tau < 1.0 {
        let first = 3f64.sqrt() / (tau * tau - 0.25).sqrt();
        let last = (3.0 * 3f64.sqrt() - 5.0).sqrt() / (tau * tau + 3f64.sqrt() / 4.0 - 0.75).sqrt();
        ((6.0 - first + last) * root - pole) / 32.0
    } else {
        (6.0 * root - pole) / 16.0
    }
}

/// Downward velocity of a force whose rate is the wavelet: the integral over `s` of `w(s) F''(t - s)`.
pub fn exact(w: &Ricker, r: f64, t: f64) -> f64 {
    let end = rayleigh().sqrt();
    // The substitution tau = end - y^2 removes the root from the integrand. The kink at S requires a separate piece on
    // either side.
    let piece = |from: f64, to: f64| {
        let (a, b) = ((end - to).max(0.0).sqrt(), (end - from).sqrt());
        let n = 2000;
        let h = (b - a) / f64::from(n);
        let value = |k: i32| {
            let y = a + h * (f64::from(k) + 0.5);
            let tau = end - y * y;
            // sqrt(end^2 - tau^2) = y sqrt(end + tau)
            2.0 * smooth(tau.min(end)) / (end + tau).sqrt() * w.slope(t - r * tau)
        };
        (0..n).map(value).sum::<f64>() * h
    };
    let before = piece(1.0 / 3f64.sqrt(), 1.0 - 1e-12) + piece(1.0, end);
    let after = 0.375 * w.value(t - r * end) / r;
    (before + after) / std::f64::consts::PI
}
