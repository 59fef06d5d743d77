//! Coordinates that single precision rounds too much, such as UTM coordinates far from their origin.

use rsf_io::Job;

/// The largest rounding error without a warning: a centimetre if coordinates are in metres.
const MOST: f64 = 0.01;
/// The same limit as a fraction of the distance between points; the smaller of the two limits holds.
const PART: f64 = 1e-3;
/// The magnitudes of numbers that are checked. Larger ones are not coordinates but, for instance, moments, whose last
/// digits do not matter; smaller ones keep four decimals.
const COORDINATES: std::ops::Range<f64> = 1e3..1e8;

/// The coordinate with the largest rounding error above the limit so far, with its name.
#[derive(Default)]
pub struct Rounding {
    worst: Option<(String, f64)>,
}

impl Rounding {
    /// Checks the values of one coordinate; `name` returns the name of the value with an index.
    pub fn see(&mut self, name: impl Fn(usize) -> String, values: impl Iterator<Item = f64> + Clone) {
        let (mut least, mut most, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0u32);
        for value in values.clone() {
            (least, most, count) = (least.min(value), most.max(value), count + 1);
        }
        let spacing = (most - least) / f64::from(count.max(2) - 1);
        let allowed = if spacing > 0.0 {
            MOST.min(PART * spacing)
        } else {
            MOST
        };
        for (i, value) in values.enumerate() {
            let off = off(value);
            let before = self.worst.as_ref().map_or(0.0, |(_, worst)| self::off(*worst));
            if off > allowed && off > before && COORDINATES.contains(&value.abs()) && !keeps_its_digits(value)
            {
                self.worst = Some((name(i), value));
            }
        }
    }

    /// Warns if a coordinate is rounded too much.
    pub fn warn(self, job: &Job) {
        self.warn_with(
            job,
            "subtract a nearby origin from all coordinates, including those of the model",
        );
    }

    /// Like [`Rounding::warn`], with different advice.
    pub fn warn_with(self, job: &Job, advice: &str) {
        if let Some((name, value)) = self.worst {
            job.warn(&format!(
                "{name}={} becomes {}, because a coordinate has four bytes: {advice}",
                (value * 1e4).round() / 1e4,
                value as f32
            ));
        }
    }
}

/// Whether the number, converted to f32, still prints with the same digits: 2083.38 does, 4728900.3 does not.
fn keeps_its_digits(value: f64) -> bool {
    let shown = (value as f32).to_string().parse::<f64>();
    shown.is_ok_and(|shown| (shown - value).abs() <= 1e-9 * value.abs())
}

/// The rounding error of a number in f32.
fn off(value: f64) -> f64 {
    (value - f64::from(value as f32)).abs()
}
