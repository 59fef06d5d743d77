//! Typed values of parameters. A value at which Madagascar would guess is an error (`nb=abc`, which is 0
//! there); all others are read as Madagascar reads them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::header::{repeated, unquoted};
use crate::number::{leading_f64, leading_int};
use crate::params::{Param, ParamKind};

/// The longest list that is taken from a command line.
const LONGEST_LIST: u64 = 10_000_000;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i64),
    Float(f64),
    Flag(bool),
    Text(OsString),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

/// A value, and a warning about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parsed {
    pub value: Value,
    pub remark: Option<String>,
}

impl Param {
    /// Like [`Param::parse`], but messages name `key`, which may have a number.
    pub(crate) fn parse_as(&self, key: &str, raw: &OsStr) -> Result<Parsed, String> {
        let named = |text: String| text.replacen(self.name, key, 1);
        let mut parsed = self.parse(raw).map_err(named)?;
        parsed.remark = parsed.remark.map(named);
        Ok(parsed)
    }

    /// Reads a value; the error gives the invalid text and the values that are allowed.
    pub(crate) fn parse(&self, raw: &OsStr) -> Result<Parsed, String> {
        let bytes = unquoted(raw.as_bytes());
        let trimmed = bytes.trim_ascii();
        let mut remark = None;
        let value = match self.kind {
            ParamKind::Int => {
                let (value, cut) = whole(trimmed).ok_or_else(|| self.wrong(raw))?;
                if cut {
                    remark = Some(format!(
                        "{}={} is taken as {value}",
                        self.name,
                        raw.to_string_lossy()
                    ));
                }
                self.in_range(value as f64, raw).map(|()| Value::Int(value))?
            }
            ParamKind::Float => {
                let value = real(trimmed).ok_or_else(|| self.wrong(raw))?;
                self.in_range(value, raw).map(|()| Value::Float(value))?
            }
            ParamKind::Bool => Value::Flag(flag(trimmed).ok_or_else(|| self.wrong(raw))?),
            ParamKind::Text | ParamKind::Words | ParamKind::Keys | ParamKind::Elsewhere => {
                Value::Text(OsString::from_vec(bytes.to_vec()))
            }
            ParamKind::Choice(words) => {
                let word = words.iter().find(|word| word.as_bytes() == trimmed);
                Value::Text((*word.ok_or_else(|| self.wrong(raw))?).into())
            }
            ParamKind::Ints => {
                let any_cut = std::cell::Cell::new(false);
                let values = self.list(bytes, raw, |item| {
                    let (value, cut) = whole(item)?;
                    any_cut.set(any_cut.get() || cut);
                    Some(value)
                })?;
                if any_cut.get() {
                    let words: Vec<String> = values.iter().map(i64::to_string).collect();
                    remark = Some(format!(
                        "{}={} is taken as {}",
                        self.name,
                        raw.to_string_lossy(),
                        words.join(",")
                    ));
                }
                Value::Ints(values)
            }
            ParamKind::Floats => Value::Floats(self.list(bytes, raw, real)?),
            ParamKind::Input | ParamKind::Output => self.file(bytes, raw)?,
            ParamKind::NumberOrFile => match real(trimmed) {
                Some(value) => self.in_range(value, raw).map(|()| Value::Float(value))?,
                None => self.file(bytes, raw)?,
            },
        };
        Ok(Parsed { value, remark })
    }

    fn file(&self, bytes: &[u8], raw: &OsStr) -> Result<Value, String> {
        if bytes.is_empty() {
            return Err(self.wrong(raw));
        }
        Ok(Value::Text(OsString::from_vec(bytes.to_vec())))
    }

    fn list<T: Clone + Into64>(
        &self,
        bytes: &[u8],
        raw: &OsStr,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let mut values = Vec::new();
        for item in bytes
            .split(|b| *b == b',')
            .map(<[u8]>::trim_ascii)
            .filter(|item| !item.is_empty())
        {
            let (count, item) = repeated(item);
            let value = read(item.trim_ascii()).ok_or_else(|| self.wrong(raw))?;
            self.in_range(value.clone().into64(), raw)?;
            if count.saturating_add(values.len() as u64) > LONGEST_LIST {
                return Err(format!(
                    "{}={}: more than {LONGEST_LIST} values",
                    self.name,
                    raw.to_string_lossy()
                ));
            }
            values.resize(values.len() + count as usize, value);
        }
        if values.is_empty() {
            Err(self.wrong(raw))
        } else {
            Ok(values)
        }
    }

    fn in_range(&self, value: f64, raw: &OsStr) -> Result<(), String> {
        let low = self.min.is_some_and(|min| value < min);
        let high = self.max.is_some_and(|max| value > max);
        if low || high { Err(self.wrong(raw)) } else { Ok(()) }
    }

    fn wrong(&self, raw: &OsStr) -> String {
        let got = match raw.to_string_lossy() {
            text if text.is_empty() => "an empty value".to_string(),
            text => format!("`{text}`"),
        };
        format!("{}= got {got}, but must be {}", self.name, self.allowed())
    }

    /// The allowed values, in words: `a whole number >= 4`.
    pub(crate) fn allowed(&self) -> String {
        let what = match self.kind {
            ParamKind::Int => "a whole number".to_string(),
            ParamKind::Float => "a number".to_string(),
            ParamKind::Bool => return "y or n".to_string(),
            ParamKind::Text | ParamKind::Keys | ParamKind::Elsewhere => return "a text".to_string(),
            ParamKind::Words => return "words without =".to_string(),
            ParamKind::Choice(words) => return words.join(" or "),
            ParamKind::Ints => "whole numbers separated by commas".to_string(),
            ParamKind::Floats => "numbers separated by commas".to_string(),
            ParamKind::Input => return "the name of an RSF file".to_string(),
            ParamKind::Output => return "the name of a file to write".to_string(),
            ParamKind::NumberOrFile => "a number or the name of an RSF file".to_string(),
        };
        match self.range {
            Some(words) => format!("{what} {words}"),
            None => what,
        }
    }
}

/// A type of numbers whose range can be checked.
trait Into64 {
    fn into64(self) -> f64;
}

impl Into64 for i64 {
    fn into64(self) -> f64 {
        self as f64
    }
}

impl Into64 for f64 {
    fn into64(self) -> f64 {
        self
    }
}

/// A whole number. A decimal number loses its fraction, and the flag is then true.
fn whole(text: &[u8]) -> Option<(i64, bool)> {
    if let (Some(value), used) = leading_int(text)
        && used == text.len()
        && used > 0
    {
        return Some((value, false));
    }
    // 7.9, 7. and .5 are accepted, but neither 1e3 nor 0x10, which the older programs read as 1 and 0.
    let decimal = text
        .iter()
        .all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.'));
    match real(text) {
        Some(value) if decimal && value.abs() < 9e15 => Some((value.trunc() as i64, true)),
        _ => None,
    }
}

/// A finite number that occupies the whole text and fits into f32.
fn real(text: &[u8]) -> Option<f64> {
    let (value, used) = leading_f64(text);
    (used > 0 && used == text.len() && value.abs() <= f64::from(f32::MAX)).then_some(value)
}

fn flag(text: &[u8]) -> Option<bool> {
    match text.to_ascii_lowercase().as_slice() {
        b"y" | b"1" | b"yes" => Some(true),
        b"n" | b"0" | b"no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(param: Param, text: &str) -> Result<Value, String> {
        param.parse(OsStr::new(text)).map(|parsed| parsed.value)
    }

    #[test]
    fn whole_numbers() {
        let nb = Param::int("nb").range(">= 4", Some(4.0), None);
        assert_eq!(read(nb, "48"), Ok(Value::Int(48)));
        assert_eq!(read(nb, "\"+5\""), Ok(Value::Int(5)));
        let cut = nb.parse(OsStr::new("7.9")).unwrap();
        assert_eq!(
            (cut.value, cut.remark.as_deref()),
            (Value::Int(7), Some("nb=7.9 is taken as 7"))
        );
        for bad in ["abc", "", "3", "1e3", "0x10", "5k", "nan", "99999999999999999999"] {
            let error = read(nb, bad).unwrap_err();
            assert!(
                error.starts_with("nb= got ") && error.ends_with("a whole number >= 4"),
                "{error}"
            );
        }
    }

    #[test]
    fn lists_of_whole_numbers() {
        let layers = Param::ints("layers");
        let cut = layers.parse(OsStr::new("10.7,2x5")).unwrap();
        assert_eq!(cut.value, Value::Ints(vec![10, 5, 5]));
        assert_eq!(cut.remark.as_deref(), Some("layers=10.7,2x5 is taken as 10,5,5"));
        assert_eq!(layers.parse(OsStr::new("10,5")).unwrap().remark, None);
    }

    #[test]
    fn real_numbers() {
        let x = Param::float("x");
        assert_eq!(read(x, "-1.5e-3"), Ok(Value::Float(-1.5e-3)));
        for bad in ["2.5km", "inf", "nan", "1e39", "3*2", "1,5", ""] {
            assert!(read(x, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_words_lists() {
        let free = Param::bool("free");
        for (text, value) in [
            ("y", true),
            ("Y", true),
            ("1", true),
            ("n", false),
            ("N", false),
            ("0", false),
        ] {
            assert_eq!(read(free, text), Ok(Value::Flag(value)));
        }
        assert_eq!(
            read(free, "true").unwrap_err(),
            "free= got `true`, but must be y or n"
        );
        let surface = Param::choice("surface", &["vacuum", "traction"]);
        assert_eq!(read(surface, "vacuum"), Ok(Value::Text("vacuum".into())));
        assert!(read(surface, "water").unwrap_err().contains("vacuum or traction"));
        assert_eq!(
            read(Param::ints("gpu"), "0,2x3, 1"),
            Ok(Value::Ints(vec![0, 3, 3, 1]))
        );
        assert_eq!(
            read(Param::floats("f"), "3*1.5,2"),
            Ok(Value::Floats(vec![1.5, 1.5, 1.5, 2.0]))
        );
        assert!(read(Param::ints("gpu"), "99999999999*1").is_err());
        assert!(read(Param::ints("gpu"), ",").is_err());
        assert!(read(Param::floats("f").range(">= 0", Some(0.0), None), "1,-1").is_err());
    }

    #[test]
    fn numbers_or_files() {
        let vp = Param::number_or_file("vp").range("> 0", Some(1e-30), None);
        assert_eq!(read(vp, "2.5"), Ok(Value::Float(2.5)));
        assert_eq!(read(vp, "2.5km.rsf"), Ok(Value::Text("2.5km.rsf".into())));
        assert!(read(vp, "-1").is_err());
        assert!(read(Param::input("ccc"), "").is_err());
    }
}
