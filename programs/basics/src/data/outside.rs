//! New samples outside the data, where interpolation extrapolates a polynomial.

use rsf_io::{Job, format_g};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts, from all threads, such samples of lines whose values outside become larger than all data of the
/// line. Beyond an end at which a line is at rest they do not.
#[derive(Default)]
pub struct Outside {
    all: AtomicU64,
    outside: AtomicU64,
}

impl Outside {
    /// Examines the places and values of new samples of a line whose data lie between `ends`, `d` apart, with
    /// the largest magnitude `largest`. Within `d` of the ends a polynomial does not grow much yet.
    pub fn look(&self, samples: impl Iterator<Item = (f64, f32)>, ends: [f64; 2], d: f64, largest: f32) {
        let [first, last] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let slack = 1e-3 * d.abs();
        let (mut all, mut outside, mut furthest, mut grows) = (0, 0, 0.0f64, false);
        for (place, value) in samples {
            let beyond = (first - place).max(place - last);
            all += 1;
            if beyond > slack {
                outside += 1;
                furthest = furthest.max(beyond);
                grows |= value.abs() > largest;
            }
        }
        self.all.fetch_add(all, Ordering::Relaxed);
        if grows && furthest > d.abs() + slack {
            self.outside.fetch_add(outside, Ordering::Relaxed);
        }
    }

    /// Warns of such samples; `ends` are the ends of the data if they are the same for all lines.
    pub fn warn(&self, job: &Job, ends: Option<[f64; 2]>) {
        let [all, outside] = [&self.all, &self.outside].map(|count| count.load(Ordering::Relaxed));
        if outside == 0 {
            return;
        }
        let from_to = ends.map_or(String::new(), |[first, last]| {
            format!(
                ", which extend from {} to {}",
                format_g(first.min(last), 6),
                format_g(first.max(last), 6)
            )
        });
        job.warn(&format!(
            "{outside} of {all} new samples lie outside the data{from_to}, and values are larger there than \
            in all of their line: they grow with the distance and are meaningless; to avoid them, choose o1= \
            and n1= within the data, or pad the data with zeros first (sfpad)"
        ));
    }
}

/// The largest magnitude of some values.
pub fn largest(values: impl Iterator<Item = f32>) -> f32 {
    values.map(f32::abs).fold(0.0, f32::max)
}
