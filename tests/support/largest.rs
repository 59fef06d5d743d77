//! Differences between numbers: every error that a test measures is computed by one of these functions. Rust's maximum
//! of floats ignores NaN, and the largest error of an empty list would be zero, so a measured error could be small
//! although all results are wrong. These functions panic instead.
//!
//! `SPOIL=nan`, `zero`, `empty` or `short` in the environment replaces the records that they measure (`spoil.rs`):
//! every test of physics must then fail, and `tests/spoil` names the tests that do not.
#![allow(dead_code)] // not every test target that includes this file calls all of it

#[allow(clippy::duplicate_mod)] // desk.rs is included without this file, too
#[path = "spoil.rs"]
pub mod spoil;

use spoil::Spoil;

/// A number, or a reference to one.
pub trait Value: Copy {
    /// Its type.
    type Number: Value<Number = Self::Number> + PartialOrd + Default;
    /// The number.
    fn number(self) -> Self::Number;
    /// The number in double precision.
    fn double(self) -> f64;
    /// A number of this type.
    fn of(x: f64) -> Self::Number;
}

macro_rules! values {
    ($($number:ty),*) => {$(
        impl Value for $number {
            type Number = $number;
            fn number(self) -> $number {
                self
            }
            fn double(self) -> f64 {
                f64::from(self)
            }
            fn of(x: f64) -> $number {
                x as $number
            }
        }
        impl Value for &$number {
            type Number = $number;
            fn number(self) -> $number {
                *self
            }
            fn double(self) -> f64 {
                f64::from(*self)
            }
            fn of(x: f64) -> $number {
                x as $number
            }
        }
    )*};
}
values!(f32, f64);

/// The largest magnitude among numbers, which may be zero.
///
/// # Panics
/// Panics if there is no number or one of them is not finite, because no test may continue with it.
#[track_caller]
pub fn largest<V: Value>(values: impl IntoIterator<Item = V>) -> V::Number {
    let values = spoiled(values, &[Spoil::Nan, Spoil::Empty]);
    assert!(
        !values.is_empty(),
        "the largest of an empty list is requested: nothing was recorded"
    );
    let mut most = 0.0;
    for (k, value) in values.into_iter().enumerate() {
        assert!(
            value.is_finite(),
            "value {k} of a list whose largest is requested is not finite: {value}"
        );
        if value.abs() > most {
            most = value.abs();
        }
    }
    V::of(most)
}

/// The largest magnitude among numbers of which at least one is not zero: the scale of relative errors.
///
/// # Panics
/// Panics as [`largest`] does, and if all numbers are zero.
#[track_caller]
pub fn magnitude<V: Value>(values: impl IntoIterator<Item = V>) -> V::Number {
    let values = spoiled(values, &[Spoil::Zero]);
    let most = largest(values);
    assert!(most > 0.0, "all numbers are zero: nothing happened");
    V::of(most)
}

/// The largest difference between numbers and their expected values.
///
/// # Panics
/// Panics if their counts differ, there are none, or one of them is not finite.
#[track_caller]
pub fn largest_difference<A: Value, B: Value>(
    computed: impl IntoIterator<Item = A>,
    expected: impl IntoIterator<Item = B>,
) -> f64 {
    let computed = spoiled(computed, &[Spoil::Nan, Spoil::Zero, Spoil::Empty, Spoil::Short]);
    let expected: Vec<f64> = expected.into_iter().map(Value::double).collect();
    assert_eq!(
        computed.len(),
        expected.len(),
        "there must be as many numbers as those that they are compared with"
    );
    largest(computed.iter().zip(&expected).map(|(a, b)| a - b))
}

/// The largest difference, divided by the largest magnitude of the expected values.
///
/// # Panics
/// Panics as [`largest_difference`] does, and if all expected values are zero.
#[track_caller]
pub fn relative_difference<A: Value, B: Value>(
    computed: impl IntoIterator<Item = A>,
    expected: impl IntoIterator<Item = B>,
) -> f64 {
    let expected: Vec<f64> = expected.into_iter().map(Value::double).collect();
    largest_difference(computed, &expected) / magnitude(&expected)
}

/// Records that a test measures in its own way: finite numbers of which at least one is not zero.
///
/// # Panics
/// Panics if they are not.
#[track_caller]
pub fn records<V: Value>(values: impl IntoIterator<Item = V>) -> Vec<f64> {
    measured(spoiled(values, &[Spoil::Nan, Spoil::Zero, Spoil::Empty]))
}

/// Like [`records`], with a check of their number.
///
/// # Panics
/// Panics as [`records`] does, and if there are more or fewer.
#[track_caller]
pub fn records_of<V: Value>(count: usize, values: impl IntoIterator<Item = V>) -> Vec<f64> {
    let values = spoiled(values, &[Spoil::Nan, Spoil::Zero, Spoil::Empty, Spoil::Short]);
    assert_eq!(values.len(), count, "there must be as many records as requested");
    measured(values)
}

#[track_caller]
fn measured(values: Vec<f64>) -> Vec<f64> {
    assert!(!values.is_empty(), "nothing was recorded");
    if let Some(k) = values.iter().position(|value| !value.is_finite()) {
        panic!("value {k} of the records is not finite: {}", values[k]);
    }
    assert!(
        values.iter().any(|value| *value != 0.0),
        "all records are zero: nothing happened"
    );
    values
}

/// Records and their expected values.
///
/// # Panics
/// Panics as [`records`] does, and if their counts differ.
#[track_caller]
fn beside<A: Value, B: Value>(
    computed: impl IntoIterator<Item = A>,
    expected: impl IntoIterator<Item = B>,
) -> [Vec<f64>; 2] {
    let expected: Vec<f64> = expected.into_iter().map(Value::double).collect();
    [records_of(expected.len(), computed), expected]
}

/// The root of the summed squares of differences, divided by the same root for the expected values.
///
/// # Panics
/// Panics as [`records`] does, and if their counts differ.
#[track_caller]
pub fn rms_difference<A: Value, B: Value>(
    computed: impl IntoIterator<Item = A>,
    expected: impl IntoIterator<Item = B>,
) -> f64 {
    let [computed, expected] = beside(computed, expected);
    let size: f64 = expected.iter().map(|x| x * x).sum();
    let apart: f64 = computed.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum();
    assert!(
        size > 0.0 && size.is_finite(),
        "the expected values have no size: {size}"
    );
    (apart / size).sqrt()
}

/// The correlation of two traces without a shift, and their ratio in size.
///
/// # Panics
/// Panics as [`rms_difference`] does.
#[track_caller]
pub fn correlation(computed: &[f64], expected: &[f64]) -> [f64; 2] {
    let [a, b] = beside(computed, expected);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (aa, bb) = (dot(&a, &a), dot(&b, &b));
    [dot(&a, &b) / (aa * bb).sqrt(), (aa / bb).sqrt()]
}

/// The delay of a trace relative to the expected one in samples, at most `reach`, for which they correlate best.
///
/// # Panics
/// Panics as [`rms_difference`] does.
#[track_caller]
pub fn lag(computed: &[f64], expected: &[f64], reach: i64) -> f64 {
    let [computed, expected] = beside(computed, expected);
    let at = |lag: i64| -> f64 {
        let other = |i: usize| computed.get(usize::try_from(i as i64 + lag).ok()?);
        let pairs = expected
            .iter()
            .enumerate()
            .filter_map(|(i, x)| Some(x * other(i)?));
        pairs.sum()
    };
    top_of(at, -reach..=reach)
}

/// The sample, among these, at which a trace correlates best with a wavelet, regardless of its sign.
///
/// # Panics
/// Panics as [`records`] does, and if the best is the first or the last sample.
#[track_caller]
pub fn pick(trace: &[f64], wavelet: &[f64], samples: std::ops::RangeInclusive<usize>) -> f64 {
    let trace = records(trace);
    let at = |first: i64| -> f64 {
        let terms = wavelet.iter().zip(&trace[first as usize..]);
        terms.map(|(w, u)| w * u).sum::<f64>().abs()
    };
    let (first, last) = (*samples.start() as i64, *samples.end() as i64);
    let best = top_of(at, first..=last);
    assert!(
        best > first as f64 && best < last as f64,
        "no peak within {samples:?}"
    );
    best
}

/// The position of the largest value of a function of integers, refined by a parabola.
fn top_of(of: impl Fn(i64) -> f64, within: std::ops::RangeInclusive<i64>) -> f64 {
    let best = within
        .max_by(|&a, &b| of(a).total_cmp(&of(b)))
        .expect("at least one number");
    let (before, top, after) = (of(best - 1), of(best), of(best + 1));
    best as f64 + 0.5 * (before - after) / (before - 2.0 * top + after)
}

fn spoiled<V: Value>(values: impl IntoIterator<Item = V>, seen: &[Spoil]) -> Vec<f64> {
    let values = values.into_iter().map(Value::double).collect();
    spoil::spoiled(values, (f64::NAN, 0.0), seen)
}

mod tests {
    use super::spoil::{ALL, HERE};
    use super::{
        Spoil, correlation, lag, largest, largest_difference, magnitude, pick, records, records_of,
        relative_difference, rms_difference,
    };

    #[test]
    fn errors_are_measured() {
        assert_eq!(largest([0.5f32, -2.0, 1.0]), 2.0);
        assert_eq!(largest([0.0f64, 0.0]), 0.0);
        assert_eq!(magnitude([0.5f32, -2.0, 1.0].iter()), 2.0);
        assert_eq!(largest_difference([1.0f32, -2.0], [0.5f64, -4.0]), 2.0);
        assert_eq!(relative_difference([1.0f32, -2.0], [0.5f64, -4.0]), 0.5);
    }

    /// Tests require errors below a bound of less than 1, so a measure that panics or returns 1 or more makes them
    /// fail.
    #[test]
    fn records_that_are_spoiled_fail_every_measure() {
        let (computed, expected) = ([1.0, -2.0, 0.25], [1.0, -2.0, 0.25]);
        let fails = |kind: Spoil, measure: fn(&[f64], &[f64]) -> f64| {
            HERE.set(Some(kind));
            let error = std::panic::catch_unwind(|| measure(&computed, &expected));
            HERE.set(None);
            error.map_or(true, |error| error >= 1.0)
        };
        let difference: fn(&[f64], &[f64]) -> f64 = |a, b| largest_difference(a, b);
        let relative: fn(&[f64], &[f64]) -> f64 = |a, b| relative_difference(a, b);
        // Many tests scale by themselves, as this function does.
        let scaled: fn(&[f64], &[f64]) -> f64 = |a, b| largest_difference(a, b) / magnitude(b);
        let rms: fn(&[f64], &[f64]) -> f64 = |a, b| rms_difference(a, b);
        let unlike: fn(&[f64], &[f64]) -> f64 = |a, b| 1.0 - correlation(a, b)[0];
        let late: fn(&[f64], &[f64]) -> f64 = |a, b| lag(a, b, 1).abs();
        let counted: fn(&[f64], &[f64]) -> f64 = |a, b| records_of(b.len(), a)[0] - b[0];
        for kind in ALL {
            for measure in [difference, relative, scaled, rms, unlike, late, counted] {
                assert!(measure(&computed, &expected) < 1e-15);
                assert!(fails(kind, measure), "{kind:?}");
            }
        }
        // A single list cannot show that it is too short, and numbers may be zero if no scale is needed.
        let most: fn(&[f64], &[f64]) -> f64 = |a, _| 0.1 * largest(a);
        let scale: fn(&[f64], &[f64]) -> f64 = |a, _| 0.1 * magnitude(a);
        let other: fn(&[f64], &[f64]) -> f64 = |a, _| 0.1 * records(a)[0];
        let picked: fn(&[f64], &[f64]) -> f64 = |a, b| pick(&[a, &[0.0; 3]].concat(), b, 0..=2) - 1.0;
        for kind in [Spoil::Nan, Spoil::Empty] {
            assert!(fails(kind, most), "{kind:?}");
        }
        for kind in [Spoil::Nan, Spoil::Empty, Spoil::Zero] {
            assert!(
                [scale, other, picked].iter().all(|&measure| fails(kind, measure)),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn times_and_likeness_are_measured() {
        let bell = |late: f64| -> Vec<f64> {
            let x = (0..40).map(|i| (f64::from(i) - 18.0 - late) / 3.0);
            x.map(|x| (-x * x).exp()).collect()
        };
        assert!((lag(&bell(1.25), &bell(0.0), 5) - 1.25).abs() < 0.02);
        assert!((pick(&bell(1.25), &bell(0.0)[6..], 0..=12) - 7.25).abs() < 0.02);
        assert!((rms_difference([1.0, 3.0], [1.0, 2.0]) - 0.2f64.sqrt()).abs() < 1e-12);
        let [alike, size] = correlation(&[2.0, -4.0, 0.0], &[1.0, -2.0, 0.0]);
        assert!((alike - 1.0).abs() < 1e-12 && (size - 2.0).abs() < 1e-12);
    }

    #[test]
    #[should_panic(expected = "value 1 of a list whose largest is requested is not finite")]
    fn the_largest_of_what_is_not_a_number_is_a_failure() {
        largest([3.0, f64::NAN, 5.0]);
    }

    #[test]
    #[should_panic(expected = "value 0 of a list whose largest is requested is not finite")]
    fn differences_of_infinite_values_are_a_failure() {
        largest_difference([f64::INFINITY], [f64::INFINITY]);
    }
}
