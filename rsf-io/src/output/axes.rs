//! The axes of a dataset that is written, and the digits of their numbers.

use super::Output;
use crate::Axis;
use crate::axis::MAX_AXES;
use crate::number::{format_g, leading_f32, shortest_g};

impl Output {
    /// Sets n, o, d, label and unit of axis `i`, counted from 1. If the axis has no label or unit, an old label or unit
    /// in the history is emptied.
    pub fn set_axis(&mut self, i: usize, axis: &Axis) {
        self.put_int(&format!("n{i}"), i64::try_from(axis.n).unwrap_or(i64::MAX));
        self.put_float(&format!("o{i}"), axis.o);
        self.put_float(&format!("d{i}"), axis.d);
        for (key, text) in [
            (format!("label{i}"), &axis.label),
            (format!("unit{i}"), &axis.unit),
        ] {
            match text {
                Some(text) => self.put_text(&key, text),
                None if self.history.raw(&key).is_some() => self.put_text(&key, ""),
                None => {}
            }
        }
    }

    /// Sets n=1 for the axes of the history after axis `rank`.
    pub fn set_rank(&mut self, rank: usize) {
        for i in rank + 1..=MAX_AXES {
            let key = format!("n{i}");
            if self.history.raw(&key).is_some() {
                self.put_int(&key, 1);
            }
        }
    }

    /// Sets the number of axes as [`Output::set_rank`] does, and resets o, d, label and unit of the further axes of the history.
    pub fn end_axes(&mut self, rank: usize) {
        for i in rank + 1..=MAX_AXES {
            if self.history.raw(&format!("n{i}")).is_some() {
                self.set_axis(i, &Axis::new(1, 0.0, 1.0));
            }
        }
    }

    /// Puts a real number into the header: with the six digits of Madagascar if they read as the same number; otherwise
    /// with the digits of the history, if it has that number under this key or for another axis, so that unchanged and
    /// transposed axes keep all of their digits; otherwise with as many digits as are needed.
    pub fn put_float(&mut self, key: &str, value: f32) {
        let usual = leading_f32(format_g(f64::from(value), 6).as_bytes()).0 == value;
        let kept = if usual { None } else { self.known(key, value) };
        self.put(key, kept.unwrap_or_else(|| shortest_g(value)));
    }

    /// The text of `value` in the history, under `key` or under the same key of another axis.
    fn known(&self, key: &str, value: f32) -> Option<String> {
        let letter = key.trim_end_matches(|c: char| c.is_ascii_digit());
        let others = (1..=MAX_AXES).map(|i| format!("{letter}{i}"));
        let mut keys = std::iter::once(key.to_string()).chain(others);
        let key = keys.find(|key| self.history.float(key) == Some(value))?;
        let text = self.history.raw(&key)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}
