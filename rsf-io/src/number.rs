//! Numbers as the C library reads and prints them.

/// `isspace` of the C locale: blank, tab, CR, LF, VT or FF.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn skip_space(text: &[u8]) -> usize {
    text.iter().take_while(|b| is_space(**b)).count()
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// `strtol` in base 10: the leading whole number and the number of bytes used. Without digits both are 0; a
/// value outside 64 bits is `None`.
pub(crate) fn leading_int(text: &[u8]) -> (Option<i64>, usize) {
    let start = skip_space(text);
    let signed = usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let count = digits(&text[start + signed..]);
    if count == 0 {
        return (Some(0), 0);
    }
    let end = start + signed + count;
    // These bytes are ASCII signs and digits, which are always valid text.
    let value = std::str::from_utf8(&text[start..end])
        .ok()
        .and_then(|t| t.parse().ok());
    (value, end)
}

/// The span of the leading real number according to the grammar of `strtod`.
enum Span {
    Nothing,
    Decimal(usize, usize),
    Hex(usize, usize),
    Word(f64, usize),
}

fn span(text: &[u8]) -> Span {
    let start = skip_space(text);
    let signed = usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let body = &text[start + signed..];
    let at = start + signed;
    let starts = |word: &[u8]| body.len() >= word.len() && body[..word.len()].eq_ignore_ascii_case(word);
    let sign = if text.get(start) == Some(&b'-') { -1.0 } else { 1.0 };
    if starts(b"infinity") {
        return Span::Word(sign * f64::INFINITY, at + 8);
    }
    if starts(b"inf") {
        return Span::Word(sign * f64::INFINITY, at + 3);
    }
    if starts(b"nan") {
        return Span::Word(f64::NAN, at + 3);
    }
    if starts(b"0x") {
        let whole = body[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let point = usize::from(body.get(2 + whole) == Some(&b'.'));
        let part = body[2 + whole + point..]
            .iter()
            .take_while(|b| b.is_ascii_hexdigit())
            .count();
        if whole + part > 0 {
            let mantissa = 2 + whole + point + part;
            return Span::Hex(start, at + mantissa + exponent(&body[mantissa..], b'p'));
        }
    }
    let whole = digits(body);
    let point = usize::from(body.get(whole) == Some(&b'.'));
    let part = digits(&body[(whole + point).min(body.len())..]);
    if whole + part == 0 {
        return Span::Nothing;
    }
    let mantissa = whole + point + part;
    Span::Decimal(start, at + mantissa + exponent(&body[mantissa..], b'e'))
}

/// The length of an exponent such as `e-3`; 0 if there are no digits after the letter.
fn exponent(text: &[u8], letter: u8) -> usize {
    if text.first().map(u8::to_ascii_lowercase) != Some(letter) {
        return 0;
    }
    let signed = usize::from(matches!(text.get(1), Some(b'+' | b'-')));
    match digits(&text[1 + signed..]) {
        0 => 0,
        count => 1 + signed + count,
    }
}

fn hex(text: &[u8]) -> f64 {
    let negative = text.first() == Some(&b'-');
    let mut value = 0.0f64;
    let mut scale = 0i32;
    let mut after_point = false;
    let mut rest = text
        .iter()
        .copied()
        .skip_while(|b| !matches!(b, b'x' | b'X'))
        .skip(1);
    for byte in rest.by_ref() {
        match (byte as char).to_digit(16) {
            Some(digit) => {
                value = value * 16.0 + f64::from(digit);
                scale -= if after_point { 4 } else { 0 };
            }
            None if byte == b'.' => after_point = true,
            None => break,
        }
    }
    let tail: Vec<u8> = rest.collect();
    let power = leading_int(&tail)
        .0
        .unwrap_or(i64::from(i32::MAX))
        .clamp(-100_000, 100_000);
    let value = value * 2f64.powi((power as i32).saturating_add(scale));
    if negative { -value } else { value }
}

fn parse<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok().and_then(|t| t.parse().ok())
}

/// `strtod`: the leading real number and the number of bytes used; both are 0 if there is no number. Overflow
/// gives an infinity.
pub(crate) fn leading_f64(text: &[u8]) -> (f64, usize) {
    match span(text) {
        Span::Nothing => (0.0, 0),
        Span::Word(value, end) => (value, end),
        Span::Hex(start, end) => (hex(&text[start..end]), end),
        Span::Decimal(start, end) => (parse(&text[start..end]).unwrap_or(0.0), end),
    }
}

/// `strtof`: as [`leading_f64`], rounded once.
pub(crate) fn leading_f32(text: &[u8]) -> (f32, usize) {
    match span(text) {
        Span::Decimal(start, end) => (parse(&text[start..end]).unwrap_or(0.0), end),
        _ => {
            let (value, end) = leading_f64(text);
            (value as f32, end)
        }
    }
}

/// A value of a header as `double`: `None` on a range error (overflow or underflow).
pub(crate) fn stored_f64(text: &[u8]) -> Option<f64> {
    let (value, used) = leading_f64(text);
    let named = matches!(span(text), Span::Word(..));
    let mantissa = text[..used]
        .split(|b| matches!(b, b'e' | b'E'))
        .next()
        .unwrap_or(&[]);
    let lost = value == 0.0 && mantissa.iter().any(|b| (b'1'..=b'9').contains(b));
    let overflow = value.is_infinite() && !named;
    (!(overflow || value.is_subnormal() || lost)).then_some(value)
}

/// A value of a header as `float`: `None` if it is not representable as a finite f32 (NaN is kept).
pub(crate) fn stored_f32(text: &[u8]) -> Option<f32> {
    let value = stored_f64(text)?;
    (value.is_nan() || value.abs() <= f64::from(f32::MAX)).then_some(value as f32)
}

/// `%g` of C: `digits` significant digits, trailing zeros removed, exponents of two digits or more.
pub fn format_g(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() {
            "-nan".into()
        } else {
            "nan".into()
        };
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    if power < -4 || power >= digits as i32 {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), power.abs());
    }
    trimmed(&format!("{value:.*}", (digits as i32 - 1 - power) as usize)).to_string()
}

/// A single-precision number with as many digits as are needed to read it back, but at least six as in Madagascar:
/// `0.004`, `1e+06`, but `4726277`, for which six digits are up to 5 m wrong. Sums and products of axes have rounding
/// errors (5 times 0.004 is 0.0200000014): six digits that differ only by such an error are kept, except where the last
/// digit of single precision is more than a millimetre.
pub fn shortest_g(value: f32) -> String {
    let wide = f64::from(value);
    let written = |digits| format_g(wide, digits);
    let usual = written(6);
    let off = (leading_f64(usual.as_bytes()).0 - wide).abs();
    if !value.is_finite() || (wide.abs() < 1e4 && off <= 1.5 * f64::from(f32::EPSILON) * wide.abs()) {
        return usual;
    }
    let same = |text: &String| leading_f32(text.as_bytes()).0 == value;
    (6..9).map(written).find(same).unwrap_or_else(|| written(9))
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_as_strtol() {
        for (text, value, used) in [
            ("7.9", 7, 1),
            ("+5", 5, 2),
            ("1k", 1, 1),
            ("0x10", 0, 1),
            ("abc", 0, 0),
            ("", 0, 0),
            (" -3", -3, 3),
        ] {
            assert_eq!(leading_int(text.as_bytes()), (Some(value), used), "{text}");
        }
        assert_eq!(leading_int(b"99999999999999999999").0, None);
    }

    #[test]
    fn real_numbers_as_strtod() {
        for (text, value, used) in [
            ("2.5km", 2.5, 3),
            ("0x10", 16.0, 4),
            ("0x1.8p1z", 3.0, 7),
            ("0x.8z", 0.5, 4),
            ("0x2.p3", 16.0, 6),
            ("0x", 0.0, 1),
            ("0x.z", 0.0, 1),
            ("3*2", 3.0, 1),
            ("-.5", -0.5, 3),
            ("5.", 5.0, 2),
            (".", 0.0, 0),
            ("1e", 1.0, 1),
            ("1e+", 1.0, 1),
            ("1E-3x", 1e-3, 4),
            ("", 0.0, 0),
        ] {
            assert_eq!(leading_f64(text.as_bytes()), (value, used), "{text}");
        }
        assert!(leading_f64(b"nan").0.is_nan());
        assert_eq!(stored_f32(b"1e39"), None);
        assert_eq!(stored_f32(b"inf"), None);
        // The word `inf` is not an overflow.
        assert_eq!(stored_f64(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(stored_f64(b"1e999"), None);
        assert_eq!(stored_f64(b"1e-999"), None);
        assert_eq!(stored_f64(b"0e-999"), Some(0.0));
        assert_eq!(leading_f64(b"-0x2").0, -2.0);
    }

    #[test]
    fn percent_g() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1f32 as f64, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (123456.0, "123456"),
            (1234567.0, "1.23457e+06"),
            (999999.5, "1e+06"),
            (-10.758749, "-10.7587"),
            (1e100, "1e+100"),
            (1.0 / 3.0, "0.333333"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(format_g(value, 6), text);
        }
        assert_eq!(format_g(f64::NAN, 6), "nan");
    }

    #[test]
    fn as_many_digits_as_it_takes() {
        for (value, text) in [
            (0.004, "0.004"),
            (5.0 * 0.004f32, "0.02"),
            (7.0 * 0.1f32 - 0.5, "0.2"),
            (1e6, "1e+06"),
            (-0.0, "-0"),
            (1.0 / 3.0, "0.33333334"),
            (0.123_456_79, "0.12345679"),
            (4_726_277.0, "4726277"),
            (4_726_280.5, "4726280.5"),
            (-500_000.06, "-500000.06"),
            (16_777_216.0, "16777216"),
            (f32::MAX, "3.4028235e+38"),
            (f32::INFINITY, "inf"),
            (f32::NAN, "nan"),
        ] {
            assert_eq!(shortest_g(value), text);
        }
    }

    #[test]
    fn words_that_are_no_digits() {
        for (text, value, used) in [
            ("inf", f64::INFINITY, 3),
            ("-Infinity!", f64::NEG_INFINITY, 9),
            ("+INF ", f64::INFINITY, 4),
            ("-inf", f64::NEG_INFINITY, 4),
        ] {
            assert_eq!(leading_f64(text.as_bytes()), (value, used), "{text}");
        }
        let (value, used) = leading_f64(b" nan,");
        assert!(value.is_nan() && used == 4);
    }
}
