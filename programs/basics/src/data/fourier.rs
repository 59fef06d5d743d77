//! Lengths, labels and units for all programs with Fourier transforms.

use rsf_io::Header;

pub use ::fourier::fast_length;

/// The even length to which `n` real samples are padded: twice a length with the factors 2, 3 and 5 only.
pub fn fast_even_length(n: usize) -> usize {
    2 * fast_length(n.div_ceil(2))
}

/// The label of an axis after the transform. Time becomes Frequency, and the reverse. With `forward`, any other label
/// becomes Frequency if the unit is s (records have the label t), otherwise Wavenumber; the inverse transform keeps it.
pub fn label(label: Option<&str>, unit: Option<&str>, forward: bool) -> Option<String> {
    let other = match label? {
        "Time" => "Frequency",
        "time" => "frequency",
        "Frequency" => "Time",
        "frequency" => "time",
        _ if forward && unit == Some("s") => "Frequency",
        _ if forward => "Wavenumber",
        same => same,
    };
    Some(other.into())
}

/// The unit of an axis after the transform: s and Hz, or km and 1/km, replace each other.
pub fn unit(unit: Option<&str>) -> Option<String> {
    Some(match unit? {
        "" => String::new(),
        "s" => "Hz".into(),
        "Hz" => "s".into(),
        other => match other.strip_prefix("1/") {
            Some(inside) => inside.into(),
            None => format!("1/{other}"),
        },
    })
}

/// The sampling interval of an axis before a transform of `length` samples gave it the frequency step `step`. It is
/// computed from these numbers, unless it agrees with the value that the forward transform stored as `key`, which is
/// then used because a header contains only six digits of `step`.
pub fn sampling(header: &Header, key: &str, length: usize, step: f32) -> f64 {
    let computed = 1.0 / (length as f64 * f64::from(step));
    let kept = header.float(key).map(f64::from);
    kept.filter(|kept| (kept / computed - 1.0).abs() < 1e-5)
        .unwrap_or(computed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_units_change_sides() {
        for (before, after) in [("s", "Hz"), ("Hz", "s"), ("km", "1/km"), ("1/km", "km"), ("", "")] {
            assert_eq!(unit(Some(before)).as_deref(), Some(after));
        }
        assert_eq!(label(Some("Time"), None, true).as_deref(), Some("Frequency"));
        assert_eq!(label(Some("t"), Some("s"), true).as_deref(), Some("Frequency"));
        assert_eq!(
            label(Some("Distance"), Some("km"), true).as_deref(),
            Some("Wavenumber")
        );
        assert_eq!(
            label(Some("frequency"), Some("Hz"), false).as_deref(),
            Some("time")
        );
        assert_eq!((label(None, Some("s"), true), unit(None)), (None, None));
    }
}
