//! Patterns of C's printf, for numbers as text.

use anyhow::{Context, Result, ensure};
use sprintf::{Printf, vsprintf};

/// A pattern such as `%12.5e` or `%g,%gi`, checked once.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// For every conversion whether it takes a whole number.
    whole: Vec<bool>,
}

impl Pattern {
    /// Reads a pattern of conversions d, i, u, e, f, g and text around them.
    pub fn read(text: &str) -> Result<Self> {
        let mut whole = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' || rest.next_if_eq(&'%').is_some() {
                continue;
            }
            let mut length = 0;
            while rest
                .next_if(|c| c.is_ascii_digit() || "+-# .".contains(*c))
                .is_some()
            {
                length += 1;
            }
            let kind = rest.next();
            let real = kind.is_some_and(|kind| "eEfFgG".contains(kind));
            ensure!(
                length <= 8 && (real || kind.is_some_and(|kind| "diu".contains(kind))),
                "`{text}` is no pattern of printf for numbers, such as %g, %12.5e or %4d"
            );
            whole.push(!real);
        }
        ensure!(
            matches!(whole.len(), 1 | 2),
            "`{text}` holds {} conversions (% and a letter); one is needed, or two for complex numbers",
            whole.len()
        );
        let pattern = Self {
            text: text.to_string(),
            whole,
        };
        pattern.write(&vec![0.0; pattern.whole.len()], &mut Vec::new())?;
        Ok(pattern)
    }

    /// Appends the values of one number. Errors: another number of values than conversions.
    pub fn write(&self, values: &[f64], out: &mut Vec<u8>) -> Result<()> {
        ensure!(
            values.len() == self.whole.len(),
            "`{}` holds {} conversions, a number of these data needs {}",
            self.text,
            self.whole.len(),
            values.len()
        );
        let pairs = values.iter().zip(&self.whole);
        let boxed: Vec<Box<dyn Printf>> = pairs
            .map(|(value, whole)| -> Box<dyn Printf> {
                if *whole {
                    Box::new(*value as i64)
                } else {
                    Box::new(*value)
                }
            })
            .collect();
        let borrowed: Vec<&dyn Printf> = boxed.iter().map(|value| &**value).collect();
        let text = vsprintf(&self.text, &borrowed)
            .ok()
            .with_context(|| format!("`{}` is no pattern of printf for numbers", self.text))?;
        out.extend_from_slice(text.as_bytes());
        Ok(())
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
            ("%06.2f", 3.14159, "003.14"),
        ] {
            let mut text = Vec::new();
            Pattern::read(pattern)
                .unwrap()
                .write(&[value], &mut text)
                .unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected, "{pattern}");
        }
        for bad in ["", "%s", "%", "%5", "%g%g%g", "%123456789d", "%n"] {
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
