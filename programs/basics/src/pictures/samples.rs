//! Samples of the data from which clip and bias are computed.

use std::ops::Range;

use anyhow::{Result, bail};
use rsf_io::{Input, Job};

use super::plane::holds_colours;

/// The number of values that is sufficient for a quantile.
const ENOUGH_FOR_A_QUANTILE: u64 = 1 << 22;

/// The planes to which `pclip=` applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Panel {
    Shown,
    EachShown,
    All,
    Number(u64),
}

/// Samples of the data from which clip and bias are computed; if the data are large, only a regular subset of
/// them.
#[derive(Clone, Debug)]
pub struct Samples {
    panel: Panel,
    /// Number of elements of a plane of axes 1 and 2.
    panel_len: u64,
    stride: u64,
    panels: Vec<Seen>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    values: Vec<f32>,
    low: Option<f32>,
    high: Option<f32>,
    /// The number of values, and how many of them are not finite.
    count: [u64; 2],
}

impl Samples {
    /// Reads `gainpanel=`.
    ///
    /// # Errors
    /// Returns an error if `gainpanel=` is not a word or number that is allowed.
    pub fn of(job: &Job, input: &Input) -> Result<Self> {
        let panel_len = (input.axis(1).n * input.axis(2).n).max(1) as u64;
        let planes = input.len() / panel_len;
        let text = job.text("gainpanel")?.unwrap_or_default();
        let panel = match text.chars().next() {
            None | Some('e') => Panel::Shown,
            Some('a') => Panel::All,
            _ => match text.parse::<u64>() {
                Ok(number) if (1..=planes).contains(&number) => Panel::Number(number - 1),
                _ => bail!(
                    "gainpanel={text} is not allowed: gainpanel= must be each, all or the number of a plane \
                    from 1 to {planes}"
                ),
            },
        };
        let panel = if job.given("clip") || holds_colours(input) {
            Panel::Shown
        } else {
            panel
        };
        let seen = if panel == Panel::All {
            input.len()
        } else {
            panel_len
        };
        Ok(Self {
            panel,
            panel_len,
            // The stride is odd, because lengths of lines are often even.
            stride: seen.div_ceil(ENOUGH_FOR_A_QUANTILE) | 1,
            panels: Vec::new(),
        })
    }

    /// Samples for pictures without colours.
    pub fn of_nothing() -> Self {
        Self {
            panel: Panel::Shown,
            panel_len: 1,
            stride: u64::MAX,
            panels: Vec::new(),
        }
    }

    /// Collects samples of several pictures separately, so that a common clip can be found from their clips.
    pub fn of_pictures(mut self) -> Self {
        if self.panel == Panel::Shown {
            self.panel = Panel::EachShown;
        }
        self
    }

    /// Whether lines are needed that do not belong to a drawn plane.
    pub fn wants_all(&self) -> bool {
        matches!(self.panel, Panel::All | Panel::Number(_))
    }

    /// Adds a line of the dataset that begins at element `start`; `drawn` is its part that is drawn.
    pub fn see(&mut self, start: u64, line: &[f32], drawn: Option<Range<usize>>) {
        let number = start / self.panel_len;
        let (slot, part) = match (self.panel, drawn) {
            (Panel::Shown, Some(part)) => (0, part),
            (Panel::EachShown, Some(part)) => (number as usize, part),
            (Panel::All, _) => (number as usize, 0..line.len()),
            (Panel::Number(own), _) if own == number => (0, 0..line.len()),
            _ => return,
        };
        if self.panels.len() <= slot {
            self.panels.resize(slot + 1, Seen::default());
        }
        let seen = &mut self.panels[slot];
        let stride = self.stride as usize;
        let first = ((self.stride - (start + part.start as u64) % self.stride) % self.stride) as usize;
        let part = &line[part];
        seen.values.extend(
            part.iter()
                .skip(first)
                .step_by(stride)
                .filter(|value| value.is_finite()),
        );
        for value in part.iter().filter(|value| value.is_finite()) {
            seen.low = Some(seen.low.map_or(*value, |low| low.min(*value)));
            seen.high = Some(seen.high.map_or(*value, |high| high.max(*value)));
        }
        let odd = part.iter().filter(|value| !value.is_finite()).count();
        seen.count = [seen.count[0] + part.len() as u64, seen.count[1] + odd as u64];
    }

    /// The mean of the values.
    pub fn mean(&self) -> f32 {
        let values = self.panels.iter().flat_map(|seen| &seen.values);
        let (count, sum) = values.fold((0u64, 0.0f64), |(count, sum), value| {
            (count + 1, sum + f64::from(*value))
        });
        (sum / count.max(1) as f64) as f32
    }

    /// Whether any value is a finite number.
    pub fn holds_numbers(&self) -> bool {
        self.panels.iter().any(|seen| seen.low.is_some())
    }

    /// The number of values, and how many of them are not finite.
    pub fn count(&self) -> [u64; 2] {
        self.panels.iter().fold([0, 0], |[all, odd], seen| {
            [all + seen.count[0], odd + seen.count[1]]
        })
    }

    /// The distance from `bias` within which `percent` of the values of a plane lie; for several planes, the same
    /// percentile of their distances.
    pub fn distance(&self, bias: f32, percent: f32) -> f32 {
        let of_one = |seen: &Seen| {
            if percent >= 100.0 {
                let ends = [seen.low, seen.high].into_iter().flatten();
                return ends.map(|value| (value - bias).abs()).fold(0.0, f32::max);
            }
            quantile(seen.values.iter().map(|value| (value - bias).abs()), percent)
        };
        let seen = self.panels.iter().filter(|seen| seen.low.is_some());
        let each: Vec<f32> = seen.map(of_one).collect();
        match each.as_slice() {
            [one] => *one,
            several => quantile(several.iter().copied(), percent),
        }
    }
}

/// The value that `percent` of the finite values do not exceed; 0 if no value is finite.
pub fn quantile(values: impl Iterator<Item = f32>, percent: f32) -> f32 {
    let mut values: Vec<f32> = values.filter(|value| value.is_finite()).collect();
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let place = (values.len() as f64 * f64::from(percent) / 100.0 + 0.5) as usize;
    *values.select_nth_unstable_by(place.min(last), f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_from_the_bias() {
        let mut samples = Samples::of_nothing();
        samples.stride = 1;
        samples.panel_len = 4;
        samples.see(0, &[1.0, 2.0, f32::NAN, 5.0], Some(0..4));
        let of = |bias| [20.0, 100.0].map(|percent| samples.distance(bias, percent));
        assert_eq!(of(0.0), [2.0, 5.0]);
        assert_eq!(of(4.0), [2.0, 3.0]);
        assert_eq!(samples.mean(), 8.0 / 3.0);
    }

    #[test]
    fn quantiles_ignore_what_is_not_finite() {
        let values = || [3.0, 1.0, f32::NAN, 2.0, f32::INFINITY, 4.0, 5.0].into_iter();
        assert_eq!(quantile(values(), 100.0), 5.0);
        assert_eq!(quantile(values(), 0.0), 1.0);
        assert_eq!(quantile(values(), 50.0), 4.0);
        assert_eq!(quantile([f32::NAN].into_iter(), 50.0), 0.0);
    }
}
