//! The largest magnitude among numbers of a test. Rust's maximum of floats passes over what is not a number, so that a
//! measure of error made with it would be small where everything is wrong.
#![allow(dead_code)] // not every test target that mounts this file calls it

use std::ops::Neg;

/// The largest magnitude, zero of no numbers at all.
///
/// # Panics
/// When one of the values is not a number: no test may go on with it.
#[track_caller]
pub fn largest<T: Copy + Default + PartialOrd + Neg<Output = T>>(values: impl IntoIterator<Item = T>) -> T {
    let mut most = T::default();
    for (k, value) in values.into_iter().enumerate() {
        let size = if value < T::default() { -value } else { value };
        assert!(
            size >= T::default(),
            "value {k} of those whose largest is asked for is not a number"
        );
        if size > most {
            most = size;
        }
    }
    most
}

mod tests {
    #[test]
    fn the_largest_is_a_magnitude() {
        assert_eq!(super::largest([0.5f32, -2.0, 1.0]), 2.0);
        assert_eq!(super::largest::<f64>([]), 0.0);
        assert_eq!(super::largest([0.0, f64::NEG_INFINITY]), f64::INFINITY);
    }

    #[test]
    #[should_panic(expected = "value 1 of those whose largest is asked for is not a number")]
    fn the_largest_of_what_is_not_a_number_is_a_failure() {
        super::largest([3.0, f64::NAN, 5.0]);
    }
}
