//! How much of the rocks around a node the node stands for. A medium that is sharper than the grid makes waves that the grid
//! does not carry, and a box as wide as a cell blunts reflections (a fifth of them at five points a wavelength). The windows here pass
//! the wavenumbers with which waves of five points and more meet a medium and stop those that fold back upon them (Mittet
//! 2017, Capdeville et al. 2010).
//!
//! A window along one axis is `(1 + cos(pi s/4))/2` times a cosine series, zero beyond four spacings. Its weights are the least
//! squares fit, weighted with the spectrum of a Ricker wavelet with 12.5 points at its peak, of a spectrum that is one below
//! and zero above a band: 0.4 to 0.8 of pi over the spacing for fields that all stand on the nodes, whose derivatives lose
//! what lies beyond, 0.7 to 1.1 for staggered ones.

use std::f64::consts::PI;

/// Half its width, in spacings.
pub const REACH: usize = 4;

/// Weights of `cos(m pi s/4)`; half the last one is that of the end points, so they are as many as the seven here.
type Series = [f64; 7];
const ON_NODES: Series = [0.125, 0.2502, 0.222978, 0.064818, -0.012785, 0.010458, -0.009717];
const ON_STAGGERED: Series = [0.125, 0.250117, 0.250935, 0.22735, 0.092465, -0.009079, -0.000013];

/// A window along one axis, in spacings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// For fields that all stand on the nodes.
    Nodes,
    /// For fields on a staggered grid.
    Staggered,
    /// The cell of a node alone, for fluids against solids: nothing of a fluid may reach into the solid.
    Cell,
}

impl Window {
    /// How much of the window lies below `s`: 0 to 1 over its width.
    pub fn below(self, s: f64) -> f64 {
        let series = match self {
            Self::Nodes => &ON_NODES,
            Self::Staggered => &ON_STAGGERED,
            Self::Cell => return (s + 0.5).clamp(0.0, 1.0),
        };
        let reach = REACH as f64;
        if s.abs() >= reach {
            return if s > 0.0 { 1.0 } else { 0.0 };
        }
        // sin(m x) by the recurrence of Chebyshev.
        let (sine, cosine) = (PI * s / reach).sin_cos();
        let (mut before, mut now) = (0.0, sine);
        let mut sum = 0.5 + series[0] * s;
        for (m, weight) in series.iter().enumerate().skip(1) {
            sum += weight * reach / (m as f64 * PI) * now;
            (before, now) = (now, 2.0 * cosine * now - before);
        }
        sum
    }

    /// Half its width, in spacings.
    pub fn reach(self) -> f64 {
        match self {
            Self::Cell => 0.5,
            _ => REACH as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spectrum of a window at a wavenumber times the spacing, from its steps.
    fn spectrum(window: Window, k: f64) -> f64 {
        let n = 4000;
        let at = |i: i32| f64::from(i) * REACH as f64 / f64::from(n);
        (-n..n)
            .map(|i| (window.below(at(i + 1)) - window.below(at(i))) * (k * 0.5 * (at(i) + at(i + 1))).cos())
            .sum()
    }

    #[test]
    fn windows_pass_long_waves_and_stop_short_ones() {
        for (window, pass, stop) in [(Window::Nodes, 0.4, 0.8), (Window::Staggered, 0.7, 1.1)] {
            assert!((spectrum(window, 0.0) - 1.0).abs() < 1e-6);
            for part in [0.25, 0.5, 0.8] {
                let passed = spectrum(window, pass * part * PI);
                assert!((passed - 1.0).abs() < 0.005, "{window:?} {part} {passed}");
            }
            // The fit leaves a seventh at the edge of the band, and a twentieth of waves that are a tenth shorter.
            for (over, most) in [(1.0, 0.15), (1.125, 0.06), (1.5, 0.06), (2.0, 0.06), (4.0, 0.001)] {
                let stopped = spectrum(window, stop * over * PI);
                assert!(stopped.abs() < most, "{window:?} {over} {stopped}");
            }
        }
    }

    #[test]
    fn windows_are_even_and_reach_their_ends_smoothly() {
        for window in [Window::Nodes, Window::Staggered, Window::Cell] {
            for s in [0.0, 0.2, 0.5, 1.7, 3.9, 4.0, 9.0] {
                assert!((window.below(s) + window.below(-s) - 1.0).abs() < 1e-12);
            }
            let end = window.reach();
            assert!((window.below(end - 1e-9) - 1.0).abs() < 2e-6, "{window:?}");
        }
    }
}
