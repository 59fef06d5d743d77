//! How far numbers are apart: every error that a test measures goes through one of these functions. Rust's own maximum of
//! floats passes over what is not a number, and an empty list has no error at all, so that a measure made with it would be
//! small where everything is wrong. These panic instead.
//!
//! `SPOIL=nan`, `zero`, `empty` or `short` in the environment replaces the records that they measure: every test of physics
//! must then fail, and `tests/spoil` names those that do not.
#![allow(dead_code)] // not every test target that mounts this file calls all of it

use std::cell::Cell;
use std::io::Write;

/// A number, or a reference to one.
pub trait Value: Copy {
    /// Its type.
    type Number: Value<Number = Self::Number> + PartialOrd + Default;
    /// The number.
    fn number(self) -> Self::Number;
    /// The same in double precision.
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
/// When there is no number, or one of them is not finite: no test may go on with it.
#[track_caller]
pub fn largest<V: Value>(values: impl IntoIterator<Item = V>) -> V::Number {
    let values = spoiled(values, &[Spoil::Nan, Spoil::Empty]);
    assert!(
        !values.is_empty(),
        "the largest of no numbers is asked for: nothing was recorded"
    );
    let mut most = 0.0;
    for (k, value) in values.into_iter().enumerate() {
        assert!(
            value.is_finite(),
            "value {k} of those whose largest is asked for is not finite: {value}"
        );
        if value.abs() > most {
            most = value.abs();
        }
    }
    V::of(most)
}

/// The largest magnitude among numbers of which one at least is not zero: what errors are shares of.
///
/// # Panics
/// As [`largest`], and when all numbers are zero.
#[track_caller]
pub fn magnitude<V: Value>(values: impl IntoIterator<Item = V>) -> V::Number {
    let values = spoiled(values, &[Spoil::Zero]);
    let most = largest(values);
    assert!(most > 0.0, "all numbers are zero: nothing happened");
    V::of(most)
}

/// The largest difference between numbers and those that they should be.
///
/// # Panics
/// When there are more of the one than of the other, none at all, or one of them is not finite.
#[track_caller]
pub fn largest_difference<A: Value, B: Value>(
    found: impl IntoIterator<Item = A>,
    wanted: impl IntoIterator<Item = B>,
) -> f64 {
    let found = spoiled(found, &[Spoil::Nan, Spoil::Zero, Spoil::Empty, Spoil::Short]);
    let wanted: Vec<f64> = wanted.into_iter().map(Value::double).collect();
    assert_eq!(
        found.len(),
        wanted.len(),
        "there must be as many numbers as those that they are compared with"
    );
    largest(found.iter().zip(&wanted).map(|(a, b)| a - b))
}

/// The largest difference as a share of the largest of the numbers that should be.
///
/// # Panics
/// As [`largest_difference`], and when all wanted numbers are zero.
#[track_caller]
pub fn relative_difference<A: Value, B: Value>(
    found: impl IntoIterator<Item = A>,
    wanted: impl IntoIterator<Item = B>,
) -> f64 {
    let wanted: Vec<f64> = wanted.into_iter().map(Value::double).collect();
    largest_difference(found, &wanted) / magnitude(&wanted)
}

/// What takes the place of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spoil {
    /// As many values that are not numbers.
    Nan,
    /// As many zeros.
    Zero,
    /// Nothing.
    Empty,
    /// All but the last.
    Short,
}

thread_local! {
    /// What the test below asks for, where the environment says nothing.
    static HERE: Cell<Option<Spoil>> = const { Cell::new(None) };
}

fn asked() -> Option<Spoil> {
    let named = match std::env::var("SPOIL").as_deref() {
        Err(_) | Ok("") => None,
        Ok("nan") => Some(Spoil::Nan),
        Ok("zero") => Some(Spoil::Zero),
        Ok("empty") => Some(Spoil::Empty),
        Ok("short") => Some(Spoil::Short),
        Ok(other) => panic!("SPOIL={other} is not known; give nan, zero, empty or short"),
    };
    HERE.get().or(named)
}

/// The numbers, or what is asked for in their place where the function that measures can see that kind.
fn spoiled<V: Value>(values: impl IntoIterator<Item = V>, seen: &[Spoil]) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().map(Value::double).collect();
    let Some(kind) = asked().filter(|kind| seen.contains(kind)) else {
        return values;
    };
    note();
    match kind {
        Spoil::Nan => values.fill(f64::NAN),
        Spoil::Zero => values.fill(0.0),
        Spoil::Empty => values.clear(),
        Spoil::Short => drop(values.pop()),
    }
    values
}

/// Adds the name of the test, which is that of its thread, to the file SPOIL_LOG.
fn note() {
    let Ok(path) = std::env::var("SPOIL_LOG") else {
        return;
    };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap_or_else(|e| panic!("SPOIL_LOG={path}: {e}"));
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a thread without a name");
    file.write_all(format!("{name}\n").as_bytes())
        .unwrap_or_else(|e| panic!("SPOIL_LOG={path}: {e}"));
}

mod tests {
    use super::{HERE, Spoil, largest, largest_difference, magnitude, relative_difference};

    #[test]
    fn errors_are_measured() {
        assert_eq!(largest([0.5f32, -2.0, 1.0]), 2.0);
        assert_eq!(largest([0.0f64, 0.0]), 0.0);
        assert_eq!(magnitude([0.5f32, -2.0, 1.0].iter()), 2.0);
        assert_eq!(largest_difference([1.0f32, -2.0], [0.5f64, -4.0]), 2.0);
        assert_eq!(relative_difference([1.0f32, -2.0], [0.5f64, -4.0]), 0.5);
    }

    /// The bar that tests ask errors to stay below is less than 1: what panics or gives that much is a failure.
    #[test]
    fn records_that_are_spoiled_fail_every_measure() {
        let (found, wanted) = ([1.0, -2.0, 0.25], [1.0, -2.0, 0.25]);
        let fails = |kind: Spoil, measure: fn(&[f64], &[f64]) -> f64| {
            HERE.set(Some(kind));
            let error = std::panic::catch_unwind(|| measure(&found, &wanted));
            HERE.set(None);
            error.map_or(true, |error| error >= 1.0)
        };
        let difference: fn(&[f64], &[f64]) -> f64 = |a, b| largest_difference(a, b);
        let relative: fn(&[f64], &[f64]) -> f64 = |a, b| relative_difference(a, b);
        // A test that scales by itself, as many do.
        let scaled: fn(&[f64], &[f64]) -> f64 = |a, b| largest_difference(a, b) / magnitude(b);
        for kind in [Spoil::Nan, Spoil::Zero, Spoil::Empty, Spoil::Short] {
            for measure in [difference, relative, scaled] {
                assert!(measure(&found, &wanted) < 1e-15);
                assert!(fails(kind, measure), "{kind:?}");
            }
        }
        // One list alone cannot show that it is short, and numbers may be zero where no scale is asked for.
        let most: fn(&[f64], &[f64]) -> f64 = |a, _| 0.1 * largest(a);
        let scale: fn(&[f64], &[f64]) -> f64 = |a, _| 0.1 * magnitude(a);
        for kind in [Spoil::Nan, Spoil::Empty] {
            assert!(fails(kind, most) && fails(kind, scale), "{kind:?}");
        }
        assert!(fails(Spoil::Zero, scale));
    }

    #[test]
    #[should_panic(expected = "value 1 of those whose largest is asked for is not finite")]
    fn the_largest_of_what_is_not_a_number_is_a_failure() {
        largest([3.0, f64::NAN, 5.0]);
    }

    #[test]
    #[should_panic(expected = "value 0 of those whose largest is asked for is not finite")]
    fn differences_of_infinite_values_are_a_failure() {
        largest_difference([f64::INFINITY], [f64::INFINITY]);
    }
}
