//! The positions and formats of the numbers of an axis.

use anyhow::{Result, bail};

/// The largest number of labelled ticks on an axis.
const MOST: usize = 1000;

/// The choices of the user for the numbers of an axis; by default they are chosen to be readable.
#[derive(Clone, Debug, Default)]
pub struct TickRule {
    /// The interval between numbers.
    pub step: Option<f64>,
    /// One of the numbers.
    pub origin: Option<f64>,
    /// The largest number of labelled ticks.
    pub most: Option<usize>,
    /// Format of a number.
    pub format: Option<Format>,
    /// Whether no numbers are written.
    pub silent: bool,
    /// Fraction of the line, from its beginning, that stays free of numbers.
    pub clear: f64,
}

/// Numbers at regular intervals, with their texts.
#[derive(Clone, Debug)]
pub struct Ticks {
    /// Coordinate and text of every number.
    pub marks: Vec<(f64, String)>,
    /// The power of ten in units of which the numbers are written.
    pub power: i32,
}

impl Ticks {
    /// Numbers from `low` to `high` (in either order), at most `most` of them unless `rule` says otherwise.
    pub fn new(low: f64, high: f64, most: usize, rule: &TickRule) -> Self {
        let (low, high) = (low.min(high), low.max(high));
        let most = rule.most.unwrap_or(most).max(1);
        let step = match rule.step {
            Some(step) if step.abs() > 0.0 && (high - low) / step.abs() < MOST as f64 => step.abs(),
            _ => nice_step((high - low) / most as f64),
        };
        let origin = rule.origin.unwrap_or(0.0);
        // The tolerance is a millionth of a step, because the ends come from numbers of six digits.
        let first = ((low - origin) / step - 1e-6).ceil();
        let last = ((high - origin) / step + 1e-6).floor();
        let values: Vec<f64> = (0..=(last - first).clamp(0.0, MOST as f64) as usize)
            .map(|number| origin + (first + number as f64) * step)
            .filter(|value| !rule.silent && *value <= high + 1e-6 * step)
            .collect();
        let power = match rule.format {
            // A power of ten is used only if numbers are written without a given format.
            None if !rule.silent => power_of(low, high),
            _ => 0,
        };
        let unit = 10f64.powi(power);
        let write = |value: f64| match &rule.format {
            Some(format) => format.write(value),
            None => plain(value / unit, step / unit),
        };
        let marks = values.iter().map(|&value| {
            // A rounding error is written as 0.
            let value = if value.abs() < 1e-6 * step { 0.0 } else { value };
            (value, write(value).replace('-', "\u{2212}"))
        });
        Self {
            marks: marks.collect(),
            power,
        }
    }

    /// The label of an axis with its unit: `depth (km)`, `displacement (10⁻⁹ m)`. A unit that the label already
    /// contains is not repeated.
    pub fn label(&self, label: &str, unit: &str) -> String {
        let own = match unit.trim() {
            "" => None,
            unit => label.trim().strip_suffix(&format!("({unit})")),
        };
        let label = own.unwrap_or(label);
        let power = match self.power {
            0 => String::new(),
            power => format!("10{}", raised(power)),
        };
        let unit = [power.as_str(), unit.trim()].join(" ");
        match (label.trim(), unit.trim()) {
            (label, "") => label.to_string(),
            ("", unit) => format!("({unit})"),
            (label, unit) => format!("{label} ({unit})"),
        }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `step`.
fn nice_step(step: f64) -> f64 {
    if !(step.is_finite() && step > 0.0) {
        return 1.0;
    }
    let decade = 10f64.powf(step.log10().floor());
    let candidates = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
    let nice = candidates
        .into_iter()
        .find(|&candidate| candidate >= step * (1.0 - 1e-9));
    nice.unwrap_or(10.0 * decade)
}

/// The power of ten in units of which very large or small numbers are written, otherwise 0.
fn power_of(low: f64, high: f64) -> i32 {
    let largest = low.abs().max(high.abs());
    if largest == 0.0 || (1e-2..1e5).contains(&largest) {
        0
    } else {
        largest.log10().floor() as i32
    }
}

/// A number with as many decimals as `step` has.
fn plain(value: f64, step: f64) -> String {
    let exact = |digits: &usize| {
        let scaled = step * 10f64.powi(*digits as i32);
        (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
    };
    let digits = (0..12).find(exact).unwrap_or(12);
    format!("{value:.digits$}")
}

fn raised(power: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |letter: char| letter.to_digit(10).map_or('⁻', |digit| digits[digit as usize]);
    power.to_string().chars().map(raise).collect()
}

/// The format of a number, as in C's printf: `%3.1f`, `%g`, `%d s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    before: String,
    precision: Option<usize>,
    kind: char,
    after: String,
}

impl Format {
    /// Parses a format.
    ///
    /// # Errors
    /// Returns an error if the format does not have exactly one conversion `f`, `e`, `g`, `d` or `i`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || bail_format(text);
        let Some((before, rest)) = text.split_once('%') else {
            return wrong();
        };
        let spec = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || " +-#".contains(letter));
        let (precision, spec) = match spec.strip_prefix('.') {
            Some(rest) => {
                let end = rest
                    .find(|letter: char| !letter.is_ascii_digit())
                    .unwrap_or(rest.len());
                (Some(rest[..end].parse().unwrap_or(0)), &rest[end..])
            }
            None => (None, spec),
        };
        let spec = spec.strip_prefix('l').unwrap_or(spec);
        let Some(kind) = spec.chars().next().filter(|kind| "fegdi".contains(*kind)) else {
            return wrong();
        };
        if spec[1..].contains('%') || precision.is_some_and(|digits| digits > 20) {
            return wrong();
        }
        Ok(Self {
            before: before.to_string(),
            precision,
            kind,
            after: spec[1..].to_string(),
        })
    }

    fn write(&self, value: f64) -> String {
        let digits = self.precision.unwrap_or(6);
        let number = match self.kind {
            'f' => format!("{value:.digits$}"),
            'e' => format!("{value:.digits$e}"),
            'g' => shortest(value, digits.max(1)),
            _ => format!("{value:.0}"),
        };
        format!("{}{number}{}", self.before, self.after)
    }
}

fn bail_format(text: &str) -> Result<Format> {
    bail!("the format `{text}` cannot be read; write it like %g, %4.1f, %5.2e or %d, with one conversion")
}

/// C's `%g`: `digits` significant digits without trailing zeros.
fn shortest(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (digits_text, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if power < -4 || power >= digits as i32 {
        format!("{}e{power}", trimmed(digits_text))
    } else {
        trimmed(&format!(
            "{value:.*}",
            (digits as i32 - 1 - power).max(0) as usize
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64, most: usize) -> Vec<String> {
        let ticks = Ticks::new(low, high, most, &TickRule::default());
        ticks.marks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn numbers_are_round_and_short() {
        assert_eq!(texts(0.0, 4.0, 5), ["0", "1", "2", "3", "4"]);
        assert_eq!(texts(-0.005, 2.005, 5), ["0.0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(texts(2.0, -1.0, 4), ["−1", "0", "1", "2"]);
        assert_eq!(texts(1000.0, 2000.0, 3), ["1000", "1500", "2000"]);
        assert_eq!(texts(7.0, 7.0, 3), ["7"]);
        // There is no multiple of the given step between these ends.
        let rule = TickRule {
            step: Some(1.0),
            ..TickRule::default()
        };
        assert!(Ticks::new(2.2, 2.8, 3, &rule).marks.is_empty());
    }

    #[test]
    fn units_are_not_repeated() {
        let ticks = Ticks::new(0.0, 4.0, 5, &TickRule::default());
        for (label, unit, shown) in [
            ("vz (m/s)", "m/s", "vz (m/s)"),
            ("vz (m/s)", "", "vz (m/s)"),
            ("vz (up)", "m/s", "vz (up) (m/s)"),
            ("(m/s)", "m/s", "(m/s)"),
        ] {
            assert_eq!(ticks.label(label, unit), shown);
        }
    }

    #[test]
    fn powers_of_ten_go_to_the_label() {
        let ticks = Ticks::new(-5e-11, 5e-11, 5, &TickRule::default());
        assert_eq!(ticks.label("uz", "m"), "uz (10⁻¹¹ m)");
        assert_eq!(ticks.marks[0].1, "−4");
        assert_eq!(Ticks::new(0.0, 3.0, 3, &TickRule::default()).label("z", ""), "z");
        let offset = Ticks::new(2e6, 2.002e6, 3, &TickRule::default());
        assert_eq!(offset.label("", "Pa"), "(10⁶ Pa)");
        assert_eq!(offset.marks[1].1, "2.001");
        // Five digits stay on the axis, and so do hundredths.
        let power = |largest: f64| Ticks::new(0.0, largest, 3, &TickRule::default()).power;
        assert_eq!([9e4, 1e5, 5e5, 0.01, 0.009].map(power), [0, 5, 5, 0, -3]);
    }

    #[test]
    fn the_user_may_choose() {
        let rule = TickRule {
            step: Some(0.25),
            origin: Some(0.1),
            format: Some(Format::parse("%4.2f s").unwrap()),
            ..TickRule::default()
        };
        let texts: Vec<String> = Ticks::new(0.0, 0.7, 3, &rule)
            .marks
            .into_iter()
            .map(|mark| mark.1)
            .collect();
        assert_eq!(texts, ["0.10 s", "0.35 s", "0.60 s"]);
        // At seven steps below 0.7 a rounding error remains, which must be written as 0.0.
        let tenths = TickRule {
            step: Some(0.1),
            origin: Some(0.7),
            ..TickRule::default()
        };
        let marks = Ticks::new(-0.1, 0.1, 3, &tenths).marks;
        let texts: Vec<&str> = marks.iter().map(|mark| mark.1.as_str()).collect();
        assert_eq!((marks[1].0, texts), (0.0, vec!["−0.1", "0.0", "0.1"]));
        let g = Format::parse("%g").unwrap();
        assert_eq!(
            ["1e-5", "0.0001", "1234560", "100000"].map(|t| g.write(t.parse().unwrap())),
            ["1e-5", "0.0001", "1.23456e6", "100000"]
        );
        assert!(Format::parse("%s").unwrap_err().to_string().contains("like %g"));
        assert!(Format::parse("%g %g").is_err());
    }
}
