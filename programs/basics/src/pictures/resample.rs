//! Resampling of a plane to the pixels of a picture.

use std::ops::Range;

use super::plane::{Plane, Side};

impl Plane {
    /// The plane at `size` (along axis 1, along axis 2) pixels, each the mean over the blocks that it covers, so that
    /// waves shorter than a pixel are attenuated instead of aliased. A side with fewer samples than pixels keeps its
    /// samples.
    pub fn thinned(&self, size: (usize, usize)) -> Plane {
        let length = |side: &Side, pixels: usize| {
            if side.block == 1 && side.samples <= pixels {
                side.samples
            } else {
                pixels.max(1)
            }
        };
        let (rows, columns) = (length(&self.one, size.0), length(&self.two, size.1));
        let mut values = Vec::with_capacity(rows * columns);
        for column in 0..columns {
            let across = self.two.shown(column, columns);
            for row in 0..rows {
                values.push(self.mean(across.clone(), self.one.shown(row, rows)));
            }
        }
        let side = |side: &Side, samples: usize| Side {
            samples,
            block: 1,
            ..side.clone()
        };
        Plane {
            values,
            one: side(&self.one, rows),
            two: side(&self.two, columns),
        }
    }

    /// Like [`Plane::thinned`], but with `smooth` a side with fewer samples than pixels is interpolated linearly.
    pub fn shown(&self, size: (usize, usize), smooth: bool) -> Plane {
        let plane = self.thinned(size);
        if !smooth {
            return plane;
        }
        let one = Between::of(plane.one.samples, size.0);
        let two = Between::of(plane.two.samples, size.1);
        let rows = plane.one.samples;
        let mut values = Vec::with_capacity(one.len() * two.len());
        for across in &two {
            for down in &one {
                let along = |column: usize| {
                    let column = &plane.values[column * rows..][..rows];
                    down.value(column[down.first], column[down.second])
                };
                values.push(across.value(along(across.first), along(across.second)));
            }
        }
        let side = |side: Side, samples: usize| Side { samples, ..side };
        Plane {
            values,
            one: side(plane.one, one.len()),
            two: side(plane.two, two.len()),
        }
    }

    fn mean(&self, across: Range<usize>, down: Range<usize>) -> f32 {
        let rows = self.one.blocks();
        let count = (across.len() * down.len()) as f64;
        let columns = across.map(|column| &self.values[column * rows..][down.clone()]);
        let sum: f64 = columns.flatten().map(|&value| f64::from(value)).sum();
        (sum / count) as f32
    }
}

/// The position of a pixel between two samples.
struct Between {
    first: usize,
    second: usize,
    share: f32,
}

impl Between {
    /// The positions of `pixels` among `samples`, both spread evenly over the same length. If there are more
    /// samples than pixels, the positions of the samples.
    fn of(samples: usize, pixels: usize) -> Vec<Self> {
        let pixels = pixels.max(samples);
        let place = |pixel: usize| {
            let at = (pixel as f64 + 0.5) * samples as f64 / pixels as f64 - 0.5;
            let at = at.clamp(0.0, (samples - 1) as f64);
            let first = at as usize;
            Self {
                first,
                second: (first + 1).min(samples - 1),
                share: (at - first as f64) as f32,
            }
        };
        (0..pixels).map(place).collect()
    }

    /// The interpolated value. Exactly at a sample it is the value of that sample, even if the other sample
    /// is NaN.
    fn value(&self, first: f32, second: f32) -> f32 {
        if self.share == 0.0 {
            first
        } else {
            first + self.share * (second - first)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(samples: usize) -> Side {
        Side {
            samples,
            block: 1,
            first: 0.0,
            last: samples as f64,
        }
    }

    #[test]
    fn fine_waves_fade() {
        let plane = Plane {
            values: (0..1000).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect(),
            one: side(1000),
            two: side(1),
        };
        let thin = plane.thinned((100, 5));
        assert_eq!((thin.one.samples, thin.two.samples), (100, 1));
        assert!(thin.values.iter().all(|value| *value == 0.0));
        assert_eq!(plane.thinned((2000, 5)).values, plane.values);
    }

    #[test]
    fn values_between_samples_lie_on_straight_lines() {
        let plane = Plane {
            values: vec![0.0, 4.0, 2.0, 6.0],
            one: side(2),
            two: side(2),
        };
        let shown = plane.shown((4, 4), true);
        assert_eq!((shown.one.samples, shown.two.samples), (4, 4));
        assert_eq!(shown.values[..4], [0.0, 1.0, 3.0, 4.0]);
        assert_eq!(shown.values[12..], [2.0, 3.0, 5.0, 6.0]);
        assert_eq!(shown.values[5], 1.5);
        assert_eq!(plane.shown((4, 4), false).values, plane.values);
        let whole = plane.shown((1, 1), true);
        assert_eq!(whole.values, [3.0], "fewer pixels than samples: means");
    }
}
