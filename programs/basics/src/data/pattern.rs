//! Format strings of C's printf for numbers.

use std::iter::Peekable;
use std::str::Chars;

use anyhow::{Result, ensure};
use rsf_io::format_g;

/// A parsed format such as `%12.5e` or `%g,%gi`.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The format as the user typed it, for messages.
    text: String,
    /// The conversions, each with the text before it.
    conversions: Vec<(String, Conversion)>,
    /// The text after the last conversion.
    end: String,
}

/// One conversion: `%`, flags, width, `.` and precision, letter.
#[derive(Clone, Debug, Default)]
struct Conversion {
    left: bool,
    zeros: bool,
    /// The sign of a number that is not negative: `+`, a blank or nothing.
    plus: &'static str,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

impl Pattern {
    /// Parses a format: one or two conversions d, i, u, x, o, e, f or g (X, E, F and G for upper case) with the flags
    /// `-`, `0`, `+` and blank, and text around them.
    ///
    /// # Errors
    /// Returns an error if the text is not a format of this kind.
    pub fn read(text: &str) -> Result<Self> {
        let (mut conversions, mut literal) = (Vec::new(), String::new());
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' || rest.next_if_eq(&'%').is_some() {
                literal.push(c);
                continue;
            }
            let mut conversion = Conversion::default();
            while let Some(flag) = rest.next_if(|c| "-0+ ".contains(*c)) {
                match flag {
                    '-' => conversion.left = true,
                    '0' => conversion.zeros = true,
                    '+' => conversion.plus = "+",
                    _ if conversion.plus.is_empty() => conversion.plus = " ",
                    _ => {}
                }
            }
            let width = number(&mut rest);
            let precision = if rest.next_if_eq(&'.').is_some() {
                number(&mut rest).map(Some)
            } else {
                Some(None)
            };
            conversion.letter = rest.next().unwrap_or(' ');
            let (Some(width), Some(precision), true) =
                (width, precision, "diuxXoeEfFgG".contains(conversion.letter))
            else {
                anyhow::bail!("`{text}` is not a format of printf for numbers, such as %g, %12.5e or %4d");
            };
            (conversion.width, conversion.precision) = (width, precision);
            conversions.push((std::mem::take(&mut literal), conversion));
        }
        ensure!(
            matches!(conversions.len(), 1 | 2),
            "`{text}` holds {} conversions (% and a letter), but one is needed, or two for complex numbers",
            conversions.len()
        );
        Ok(Self {
            text: text.to_string(),
            conversions,
            end: literal,
        })
    }

    /// Appends a number as text. The real and the imaginary part of a complex number are two values.
    ///
    /// # Errors
    /// Returns an error if the number of values differs from the number of conversions.
    pub fn write(&self, values: &[f64], out: &mut Vec<u8>) -> Result<()> {
        ensure!(
            values.len() == self.conversions.len(),
            "`{}` holds {} conversions, but a number of these data needs {}",
            self.text,
            self.conversions.len(),
            values.len()
        );
        for ((before, conversion), value) in self.conversions.iter().zip(values) {
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(conversion.number(*value).as_bytes());
        }
        out.extend_from_slice(self.end.as_bytes());
        Ok(())
    }
}

/// Reads a number of up to three digits, 0 if there are none; `None` if there are more.
fn number(rest: &mut Peekable<Chars>) -> Option<usize> {
    let mut digits = String::new();
    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    (digits.len() <= 3).then(|| digits.parse().unwrap_or(0))
}

impl Conversion {
    fn number(&self, value: f64) -> String {
        let digits = self.digits(value);
        let sign = if "xXo".contains(self.letter) && value.is_finite() {
            ""
        } else if value.is_sign_negative() && !value.is_nan() {
            "-"
        } else {
            self.plus
        };
        let fill = self.width.saturating_sub(sign.len() + digits.len());
        match (self.left, self.zeros && value.is_finite()) {
            (true, _) => format!("{sign}{digits}{:fill$}", ""),
            (false, true) => format!("{sign}{:0>width$}", digits, width = digits.len() + fill),
            (false, false) => format!("{:fill$}{sign}{digits}", ""),
        }
    }

    /// The digits of a number, without sign and padding.
    fn digits(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let least = self.precision.unwrap_or(1);
        // x and o print negative numbers as the bits of an integer of 4 bytes.
        let bits = value as i64 as u32;
        let value = value.abs();
        let text = match self.letter {
            _ if !value.is_finite() => format_g(value, 6),
            'd' | 'i' | 'u' => format!("{:0least$}", value as i64),
            'x' | 'X' => format!("{bits:0least$x}"),
            'o' => format!("{bits:0least$o}"),
            'f' | 'F' => format!("{value:.precision$}"),
            'e' | 'E' => {
                let text = format!("{value:.precision$e}");
                let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
                let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
                format!("{mantissa}e{sign}{power:0>2}")
            }
            _ => format_g(value, precision),
        };
        if self.letter.is_ascii_uppercase() {
            text.to_uppercase()
        } else {
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_write_as_printf_does() {
        for (pattern, value, expected) in [
            ("%13.4g", 0.0625, "       0.0625"),
            ("%13.4g", 1.0e7, "        1e+07"),
            ("%12.5e ", -2.5, "-2.50000e+00 "),
            ("%4d ", -7.0, "  -7 "),
            ("<%-8.3f>", 1.0, "<1.000   >"),
            ("%g", 100000.0, "100000"),
            ("%g", 1234567.0, "1.23457e+06"),
            ("%g%%", 0.0001, "0.0001%"),
            ("%06.2f", 7.14159, "007.14"),
            ("%06.1f", -2.5, "-002.5"),
            ("%+g", 0.0, "+0"),
            ("% d|", 5.0, " 5|"),
            ("%.0e", 15.0, "2e+01"),
            ("%e", 1.0e-5, "1.000000e-05"),
            ("%f", 0.5, "0.500000"),
            ("%G", 1.0e-7, "1E-07"),
            ("%5g", f64::NAN, "  nan"),
            ("%05.1f", f64::NEG_INFINITY, " -inf"),
            ("%.3i", 7.0, "007"),
            ("%x ", 255.0, "ff "),
            ("%08X", -2.0, "FFFFFFFE"),
            ("%4o|", 8.0, "  10|"),
        ] {
            let mut text = Vec::new();
            Pattern::read(pattern)
                .unwrap()
                .write(&[value], &mut text)
                .unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected, "{pattern}");
        }
        for bad in ["", "%s", "%", "%5", "%g%g%g", "%123456789d", "%n", "%#g", "%ld"] {
            assert!(Pattern::read(bad).is_err(), "{bad}");
        }
        assert!(
            Pattern::read("%g")
                .unwrap()
                .write(&[1.0, 2.0], &mut Vec::new())
                .is_err()
        );
    }
}
