//! Low-pass windows by which the volume fractions of rocks around a node are computed. A medium with wavenumbers above
//! the limit of the grid is aliased, and averaging over the cell of a node attenuates reflections: at normal incidence
//! a wave with `p` points per wavelength is reflected by the wavenumber `4 pi/p` of the medium (in radians per
//! spacing), of which the cell keeps `sinc(2 pi/p)`, 0.76 at five points. The windows here keep the low wavenumbers of
//! the medium and remove those that would alias onto them (Mittet 2017, Capdeville et al. 2010).
//!
//! A window along one axis is `(1 + cos(pi s/4))/2` times a cosine series, and zero beyond four spacings. The series
//! is a least-squares fit to a spectrum that is one below and zero above a transition band: 0.4 to 0.8 pi if all
//! fields are on the nodes, 0.7 to 1.1 pi if they are staggered. The fit is weighted with the spectrum of a Ricker
//! wavelet whose peak frequency has 12.5 points per wavelength. Reflections at normal incidence thus keep their
//! amplitude to within 4 % for waves with at least ten points on the nodes, and six on staggered grids; at five points
//! the window for the nodes keeps 0.13 of the amplitude, and the one for staggered grids 0.84.

use std::f64::consts::PI;

/// Half the width of the windows of several spacings, in spacings.
pub const REACH: usize = 4;

/// Weights of `cos(m pi s/4)`. The first is one over the width, so that the integral of the window is one; the
/// alternating sum vanishes to within rounding errors, so that the window is zero at its ends.
type Series = [f64; 7];
const ON_NODES: Series = [0.125, 0.2502, 0.222978, 0.064818, -0.012785, 0.010458, -0.009717];
const ON_STAGGERED: Series = [0.125, 0.250117, 0.250935, 0.22735, 0.092465, -0.009079, -0.000013];

/// A window along one axis; distances are in spacings of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// For fields that are all on the nodes.
    Nodes,
    /// For fields on a staggered grid.
    Staggered,
    /// The average over the cell of a node. At a contact of fluid and solid, the average does not mix the fluid into
    /// nodes of the solid beyond the contact.
    Cell,
}

impl Window {
    /// The integral of the window up to `s` spacings from its centre: 0 before the window and 1 after it. Windows of
    /// several spacings are negative in parts, so that values lie between -0.082 and 1.082.
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
        // sin(m x) by the Chebyshev recurrence.
        let (sine, cosine) = (PI * s / reach).sin_cos();
        let (mut before, mut now) = (0.0, sine);
        let mut sum = 0.5 + series[0] * s;
        for (m, weight) in series.iter().enumerate().skip(1) {
            sum += weight * reach / (m as f64 * PI) * now;
            (before, now) = (now, 2.0 * cosine * now - before);
        }
        sum
    }

    /// Half the width of the window, in spacings.
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
    use crate::largest::largest;

    /// The spectrum of a window at a wavenumber in radians per spacing, from differences of its integral.
    fn spectrum(window: Window, k: f64) -> f64 {
        let n = 4000;
        let at = |i: i32| f64::from(i) * REACH as f64 / f64::from(n);
        (-n..n)
            .map(|i| (window.below(at(i + 1)) - window.below(at(i))) * (k * 0.5 * (at(i) + at(i + 1))).cos())
            .sum()
    }

    /// The largest deviation of the spectrum from `target` at wavenumbers between these limits, in units of pi.
    fn farthest(window: Window, [low, high]: [f64; 2], target: f64) -> f64 {
        let count = ((high - low) / 0.01).round() as usize;
        largest((0..=count).map(|k| spectrum(window, (low + 0.01 * k as f64) * PI) - target))
    }

    /// The bounds are the largest deviations of the fit with seven weights, measured at the same wavenumbers: up to
    /// 0.8 of the pass band, in the whole pass band, and beyond 1, 1.1 and 2 times the lower end of the stop band.
    #[test]
    fn windows_pass_long_waves_and_stop_short_ones() {
        for (window, pass, stop, bounds) in [
            (Window::Nodes, 0.4, 0.8, [0.0038, 0.0134, 0.135, 0.0546, 0.0362]),
            (
                Window::Staggered,
                0.7,
                1.1,
                [0.0055, 0.0409, 0.140, 0.0480, 0.0020],
            ),
        ] {
            assert!((spectrum(window, 0.0) - 1.0).abs() < 1e-6);
            let errors = [
                farthest(window, [0.0, 0.8 * pass], 1.0),
                farthest(window, [0.0, pass], 1.0),
                farthest(window, [stop, 4.0], 0.0),
                farthest(window, [1.1 * stop, 4.0], 0.0),
                farthest(window, [2.0 * stop, 4.0], 0.0),
            ];
            for (error, bound) in errors.iter().zip(bounds) {
                assert!(*error < bound, "{window:?}: {error} above {bound}");
            }
        }
    }

    /// The average over a cell has the spectrum sin(k/2)/(k/2), and the integrals of the windows overshoot as
    /// documented.
    #[test]
    fn cells_attenuate_and_windows_overshoot() {
        for k in [0.4 * PI, 0.8 * PI, 1.5 * PI] {
            let closed = (0.5 * k).sin() / (0.5 * k);
            // The midpoint rule with a thousand steps over the cell has an error of (k/1000)^2/24.
            assert!((spectrum(Window::Cell, k) - closed).abs() < 1e-6, "{k}");
        }
        for (window, overshoot) in [(Window::Nodes, 0.0733), (Window::Staggered, 0.0815)] {
            let most = largest((-4000..=4000).map(|k| window.below(f64::from(k) / 1000.0)));
            assert!((most - 1.0 - overshoot).abs() < 1e-4, "{window:?} {most}");
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
