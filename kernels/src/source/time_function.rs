//! Source time functions.

use std::f64::consts::PI;

/// A source time function. The moment rate follows [`TimeFunction::rate`], a force follows [`TimeFunction::pulse`];
/// both begin at time zero, except for [`Self::Series`].
#[derive(Clone, Debug, PartialEq)]
pub enum TimeFunction {
    /// Michea & Komatitsch (2010), eq. 10: a moment rate `exp(-(t-4 tau)^2 / (2 tau^2)) / sqrt(2 pi tau^2)` of area
    /// one. The pulse has the same shape and the maximum one.
    Gaussian {
        /// Standard deviation in seconds.
        tau: f64,
    },
    /// `(1 - 2a) exp(-a)` with `a = (pi f (t - 1.2/f))^2`, as the moment, whose rate is thus the derivative, or as the
    /// force.
    Ricker {
        /// Peak frequency in Hz.
        frequency: f64,
    },
    /// Brune (1970): a moment rate `t/tau^2 exp(-t/tau)` of area one. The pulse has the same shape and the maximum one.
    Brune {
        /// Time of the largest rate in seconds.
        tau: f64,
    },
    /// A moment rate `(1 - cos(2 pi t/T))/T` for `t < T`, of area one. The pulse has the same shape and the maximum
    /// one.
    Cosine {
        /// Duration in seconds.
        duration: f64,
    },
    /// The pulse of [`Self::Gaussian`] as the moment, whose rate is thus the derivative, or as the force.
    Bell {
        /// Standard deviation in seconds.
        tau: f64,
    },
    /// The integral of the rate of [`Self::Gaussian`], a smooth step from zero to one, as the moment or the force.
    Step {
        /// Standard deviation of that rate in seconds.
        tau: f64,
    },
    /// A sine from time zero on, whose amplitude grows to one as `(1 - cos(pi t/growth))/2`, as the moment or the
    /// force.
    Sine {
        /// Period in seconds.
        period: f64,
        /// Time at which the amplitude reaches one, in seconds.
        growth: f64,
    },
    /// Samples with linear interpolation, and zero outside. They are both the rate (1/s) and the pulse.
    Series {
        /// Time of the first sample, in seconds.
        start: f64,
        /// Sampling interval, in seconds.
        step: f64,
        /// The samples.
        values: Vec<f32>,
    },
}

impl TimeFunction {
    /// Moment rate divided by the moment, in 1/s, at a time in seconds.
    pub fn rate(&self, t: f64) -> f64 {
        match *self {
            Self::Gaussian { tau } => self.pulse(t) / ((2.0 * PI).sqrt() * tau),
            Self::Brune { tau } if t > 0.0 => t / (tau * tau) * (-t / tau).exp(),
            Self::Cosine { duration } => 2.0 * self.pulse(t) / duration,
            Self::Ricker { frequency } if t >= 0.0 => {
                let (k, x) = (2.0 * (PI * frequency).powi(2), t - 1.2 / frequency);
                k * x * (k * x * x - 3.0) * (-0.5 * k * x * x).exp()
            }
            Self::Bell { tau } => (4.0 - t / tau) / tau * self.pulse(t),
            Self::Step { tau } => Self::Gaussian { tau }.rate(t),
            Self::Sine { period, growth } if t >= 0.0 => {
                let (w, v) = (2.0 * PI / period, PI / growth);
                let (weight, slope) = match t < growth {
                    true => (0.5 - 0.5 * (v * t).cos(), 0.5 * v * (v * t).sin()),
                    false => (1.0, 0.0),
                };
                w * (w * t).cos() * weight + (w * t).sin() * slope
            }
            Self::Series { .. } => self.pulse(t),
            _ => 0.0,
        }
    }

    /// Beginning and end, s. Outside this interval the rate and the pulse are below 3e-3 of their largest values,
    /// except that the pulses of a step and a sine, and the rate of a sine, continue after the end.
    pub fn span(&self) -> [f64; 2] {
        match self {
            Self::Gaussian { tau } | Self::Bell { tau } | Self::Step { tau } => [0.0, 8.0 * tau],
            Self::Sine { period, growth } => [0.0, growth + 8.0 * period],
            Self::Ricker { frequency } => [0.0, 2.4 / frequency],
            Self::Brune { tau } => [0.0, 15.0 * tau],
            Self::Cosine { duration } => [0.0, *duration],
            Self::Series { start, step, values } => [*start, start + step * values.len() as f64],
        }
    }

    /// Force divided by its strength, at a time in seconds.
    pub fn pulse(&self, t: f64) -> f64 {
        match self {
            Self::Series { start, step, values } => {
                let q = (t - start) / step;
                let at = |k: f64| {
                    values
                        .get(k as usize)
                        .copied()
                        .filter(|_| k >= 0.0)
                        .map_or(0.0, f64::from)
                };
                let (below, beyond) = (q.floor(), q - q.floor());
                at(below) * (1.0 - beyond) + at(below + 1.0) * beyond
            }
            _ if t < 0.0 => 0.0,
            Self::Gaussian { tau } | Self::Bell { tau } => (-0.5 * (t / tau - 4.0).powi(2)).exp(),
            Self::Step { tau } => 0.5 + 0.5 * libm::erf((t / tau - 4.0) / std::f64::consts::SQRT_2),
            Self::Sine { period, growth } => {
                let weight = 0.5 - 0.5 * (PI * (t / growth).min(1.0)).cos();
                (2.0 * PI * t / period).sin() * weight
            }
            Self::Ricker { frequency } => {
                let a = (PI * (frequency * t - 1.2)).powi(2);
                (1.0 - 2.0 * a) * (-a).exp()
            }
            Self::Brune { tau } => t / tau * (1.0 - t / tau).exp(),
            Self::Cosine { duration } if t < *duration => 0.5 * (1.0 - (2.0 * PI * t / duration).cos()),
            Self::Cosine { .. } => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_area_that_they_should_have() {
        let series = TimeFunction::Series {
            start: 0.1,
            step: 0.5,
            values: vec![0.0, 2.0, 0.0],
        };
        for (f, area) in [
            (TimeFunction::Gaussian { tau: 0.1 }, 1.0),
            (TimeFunction::Brune { tau: 0.1 }, 1.0),
            (TimeFunction::Cosine { duration: 0.7 }, 1.0),
            (TimeFunction::Ricker { frequency: 3.0 }, 0.0),
            (TimeFunction::Bell { tau: 0.1 }, 0.0),
            (TimeFunction::Step { tau: 0.1 }, 1.0),
            (series, 1.0),
        ] {
            let sum: f64 = (-100..5000).map(|k| 1e-3 * f.rate(1e-3 * f64::from(k))).sum();
            assert!((sum - area).abs() < 1e-3, "{f:?}: {sum}");
        }
        for own in [
            TimeFunction::Ricker { frequency: 3.0 },
            TimeFunction::Bell { tau: 0.12 },
            TimeFunction::Step { tau: 0.12 },
            TimeFunction::Sine {
                period: 0.7,
                growth: 1.4,
            },
        ] {
            for t in [0.425, 0.9, 1.63] {
                let slope = (own.pulse(t + 1e-4) - own.pulse(t - 1e-4)) / 2e-4;
                assert!((own.rate(t) - slope).abs() < 1e-4, "{own:?}: {slope}");
            }
        }
        assert!((TimeFunction::Brune { tau: 0.2 }.pulse(0.2) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_history_is_over_at_the_end_of_its_span() {
        let series = TimeFunction::Series {
            start: -0.2,
            step: 0.1,
            values: vec![1.0, 2.0, 1.0],
        };
        for f in [
            TimeFunction::Gaussian { tau: 0.1 },
            TimeFunction::Brune { tau: 0.1 },
            TimeFunction::Cosine { duration: 0.7 },
            TimeFunction::Ricker { frequency: 3.0 },
            series,
        ] {
            let [begin, end] = f.span();
            for what in [TimeFunction::rate, TimeFunction::pulse] {
                let most = |range: std::ops::Range<i32>, from: f64| {
                    let at = |k| what(&f, from + 1e-3 * f64::from(k));
                    crate::largest::largest(range.map(at))
                };
                let all = most(0..((end - begin) * 1e3) as i32, begin);
                assert!(
                    most(1..5000, end) < 1e-3 * all && most(-5000..0, begin - 0.1) < 1e-3 * all,
                    "{f:?}"
                );
            }
        }
    }

    #[test]
    fn endless_histories_begin_at_time_zero() {
        for f in [
            TimeFunction::Step { tau: 0.1 },
            TimeFunction::Sine {
                period: 0.7,
                growth: 1.4,
            },
        ] {
            for what in [TimeFunction::rate, TimeFunction::pulse] {
                let before = (1..2000).map(|k| what(&f, -1e-3 * f64::from(k)));
                assert_eq!(crate::largest::largest(before), 0.0, "{f:?}");
                let after = (1..2000).map(|k| what(&f, 1e-3 * f64::from(k)));
                assert!(crate::largest::largest(after) > 0.1, "{f:?}");
            }
        }
    }
}
