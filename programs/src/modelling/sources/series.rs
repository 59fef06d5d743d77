//! Interpolates time functions whose samples are farther apart than the steps of a run, with cubic splines.
use kernels::source::TimeFunction;

/// The pole of the filter from samples to coefficients (Unser, Aldroubi and Eden 1993, equation 2.5).
const POLE: f64 = -0.267_949_192_431_122_7;

/// The rounding error of a step on a float32 axis, as a fraction of the step.
const ROUNDING: f64 = 1e-3;

/// The largest number of samples of a refined series; a longer one has a wrong step, of which other messages
/// warn.
const MOST: f64 = 1e7;

/// The series with samples at most `dt` apart, on a cubic spline through its own samples if these are farther apart.
///
/// The series is mirrored at its ends, so that the integral of the spline equals the integral of straight lines between
/// the samples: a moment does not change.
pub fn refined(series: TimeFunction, dt: f64) -> TimeFunction {
    let TimeFunction::Series { start, step, values } = series else {
        return series;
    };
    let parts = (step / dt - ROUNDING).ceil();
    if !(parts > 1.0 && parts * values.len() as f64 <= MOST) || values.len() < 2 {
        return TimeFunction::Series { start, step, values };
    }
    let parts = parts as usize;
    let coefficients = coefficients(&values);
    let count = (values.len() - 1) * parts + 1;
    let fine = (0..count).map(|k| match k % parts {
        // The given samples remain unchanged.
        0 => values[k / parts],
        part => between(&coefficients, k / parts, part as f64 / parts as f64) as f32,
    });
    TimeFunction::Series {
        start,
        step: step / parts as f64,
        values: fine.collect(),
    }
}

/// The index of a sample in a series of `n` that is mirrored at its ends.
fn mirrored(k: i64, n: usize) -> usize {
    let period = 2 * (n as i64 - 1);
    let k = k.rem_euclid(period);
    k.min(period - k) as usize
}

/// Coefficients of the cubic B-splines whose sum goes through the samples.
fn coefficients(values: &[f32]) -> Vec<f64> {
    let n = values.len();
    let mut c: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    // This is the contribution of samples before the first, which is negligible beyond forty of them.
    c[0] = (0..40)
        .map(|k| POLE.powi(k as i32) * f64::from(values[mirrored(k, n)]))
        .sum();
    (1..n).for_each(|k| c[k] += POLE * c[k - 1]);
    c[n - 1] = POLE / (POLE * POLE - 1.0) * (c[n - 1] + POLE * c[n - 2]);
    (0..n - 1).rev().for_each(|k| c[k] = POLE * (c[k + 1] - c[k]));
    c.iter_mut().for_each(|c| *c *= 6.0);
    c
}

/// The spline at the share `t` of the way from sample `k` to the next.
fn between(c: &[f64], k: usize, t: f64) -> f64 {
    let s = 1.0 - t;
    let weights = [
        s.powi(3) / 6.0,
        2.0 / 3.0 - t * t * (1.0 - 0.5 * t),
        2.0 / 3.0 - s * s * (1.0 - 0.5 * s),
        t.powi(3) / 6.0,
    ];
    let at = |j: usize| c[mirrored(k as i64 - 1 + j as i64, c.len())];
    (0..4).map(|j| weights[j] * at(j)).sum()
}

#[cfg(test)]
mod tests {
    use super::refined;
    use kernels::source::TimeFunction;

    fn fine(values: &[f32], step: f64, dt: f64) -> (f64, Vec<f32>) {
        let series = TimeFunction::Series {
            start: 0.5,
            step,
            values: values.to_vec(),
        };
        let TimeFunction::Series { start, step, values } = refined(series, dt) else {
            unreachable!()
        };
        assert_eq!(start, 0.5);
        (step, values)
    }

    /// The wavelet has no frequencies above half of the Nyquist frequency of its samples.
    #[test]
    fn wavelets_are_what_they_were_between_their_samples() {
        let ricker = |t: f64| {
            let a = (std::f64::consts::PI * 25.0 * (t - 0.06)).powi(2);
            ((1.0 - 2.0 * a) * (-a).exp()) as f32
        };
        let coarse: Vec<f32> = (0..31).map(|k| ricker(0.004 * k as f64)).collect();
        let (step, values) = fine(&coarse, 0.004, 0.0005);
        assert_eq!((values.len(), (step * 1e9).round()), (241, 5e5));
        // The measured error is 4.3e-3; the error of straight lines is 0.06.
        for (k, value) in values.iter().enumerate() {
            assert!((value - ricker(step * k as f64)).abs() < 0.01, "{k}: {value}");
        }
        assert!(coarse.iter().zip(values.iter().step_by(8)).all(|(a, b)| a == b));
    }

    /// The integral of a moment rate is its moment, as with straight lines, even if a triangle has only three
    /// samples.
    #[test]
    fn integrals_are_those_of_straight_lines() {
        for values in [
            &[0.0, 1.0, 0.0][..],
            &[1.0, 1.0],
            &[2.0, -1.0, 0.5, 4.0, 3.0],
            &[1.0; 9],
        ] {
            let trapezoids = |values: &[f32], step: f64| {
                let all: f64 = values.iter().map(|&x| f64::from(x)).sum();
                step * (all - 0.5 * f64::from(values[0] + values[values.len() - 1]))
            };
            let expected = trapezoids(values, 0.1);
            let (step, samples) = fine(values, 0.1, 0.000_5);
            // The measured error of trapezoids of the spline is 2e-5.
            assert!(
                (trapezoids(&samples, step) - expected).abs() < 1e-4 * expected.abs().max(0.1),
                "{values:?}"
            );
        }
    }

    #[test]
    fn samples_as_close_as_the_steps_stay() {
        let values = [0.0, 1.0, 0.25];
        assert_eq!(fine(&values, 0.001, 0.001_000_000_1), (0.001, values.to_vec()));
        assert_eq!(fine(&values, 0.001, 0.002), (0.001, values.to_vec()));
        assert_eq!(fine(&[3.0], 0.1, 0.001), (0.1, vec![3.0]));
    }
}
