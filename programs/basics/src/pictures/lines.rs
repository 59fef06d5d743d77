//! Lines and symbols of curves: pens, dashes, and the thinning of points to the resolution of the picture.

use std::fmt::Write;

use anyhow::Result;
use rsf_io::Job;

use super::clipping;
use super::colours::pen;
use super::drawing::{Drawing, Place, Rgb, Stroke, path_through, short, text_width};
use super::standard::{INCH, thickness};

/// Madagascar's dash patterns, by number: the relative lengths of dashes and gaps, and the length of one
/// period in inches.
const DASHES: [(&[f64], f64); 10] = [
    (&[], 0.0),
    (&[1.0, 2.0], 0.15),
    (&[1.0, 6.0], 0.1),
    (&[4.0, 2.0], 0.2),
    (&[3.0, 2.0], 0.3),
    (&[0.3, 1.0, 3.0, 1.0], 0.5),
    (&[4.0, 1.0, 2.0, 1.0], 0.6),
    (&[1.0, 2.0, 1.0, 4.0], 0.4),
    (&[5.0, 2.0, 5.0, 4.0], 0.8),
    (&[1.0, 1.0], 0.3),
];

/// The pens of curves, which `plotcol=`, `plotfat=` and `dash=` set.
#[derive(Clone, Debug)]
pub struct Pens {
    colours: Vec<i64>,
    fats: Vec<i64>,
    dashes: Vec<f32>,
    usual: &'static [i64],
    width: f64,
}

impl Pens {
    /// Reads the parameters; without `plotcol=` curves use the `usual` colours in turn, and without `plotfat=` they
    /// have `width`.
    pub fn of(job: &Job, usual: &'static [i64], width: f64) -> Result<Self> {
        Ok(Self {
            colours: job.ints("plotcol")?,
            fats: job.ints("plotfat")?,
            dashes: job.floats("dash")?,
            usual,
            width,
        })
    }

    /// The pen of curve `number` (from 0); if a list is shorter, its last value also applies to the remaining
    /// curves.
    pub fn stroke(&self, number: usize) -> Stroke {
        let dash = f64::from(at_or_last(&self.dashes, number).unwrap_or(0.0));
        Stroke {
            colour: self.colour(number),
            width: at_or_last(&self.fats, number).map_or(self.width, thickness),
            dashes: dashes(dash),
            crisp: false,
        }
    }

    /// The colour of curve `number` (from 0).
    pub fn colour(&self, number: usize) -> Rgb {
        pen(at_or_last(&self.colours, number).unwrap_or(self.usual[number % self.usual.len()]))
    }
}

fn at_or_last<T: Copy>(values: &[T], number: usize) -> Option<T> {
    values.get(number).or(values.last()).copied()
}

/// The lengths of dashes and gaps. A fractional part of `number` scales them by fraction / 0.4.
fn dashes(number: f64) -> Vec<f64> {
    let (units, inches) = DASHES[(number.abs() as usize).min(DASHES.len() - 1)];
    let stretch = match number.fract().abs() {
        fraction if fraction < 1e-3 => 1.0,
        fraction => fraction / 0.4,
    };
    let sum: f64 = units.iter().sum();
    units
        .iter()
        .map(|unit| unit / sum * inches * INCH * stretch)
        .collect()
}

/// The same line without points that cannot be distinguished: among consecutive points whose `key` lies within the same
/// third of a pixel, only the first, the last and the points with the smallest and largest `other` are kept.
pub fn thinned(points: &[Place], key: impl Fn(&Place) -> f64, other: impl Fn(&Place) -> f64) -> Vec<Place> {
    let column = |point: &Place| (3.0 * key(point)).floor() as i64;
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a) == column(b)) {
        if group.len() <= 4 {
            kept.extend_from_slice(group);
            continue;
        }
        let by = |a: &usize, b: &usize| other(&group[*a]).total_cmp(&other(&group[*b]));
        let low = (0..group.len()).min_by(by).unwrap_or(0);
        let high = (0..group.len()).max_by(by).unwrap_or(0);
        let mut chosen = [0, low.min(high), low.max(high), group.len() - 1].to_vec();
        chosen.dedup();
        kept.extend(chosen.into_iter().map(|index| group[index]));
    }
    kept
}

/// Draws `symbol` of `size` at all `points`.
pub fn symbols(drawing: &mut Drawing, points: &[Place], symbol: char, size: f64, stroke: &Stroke) {
    let half = 0.5 * size;
    let reach = drawing.reach(size + stroke.width);
    let points: Vec<Place> = points
        .iter()
        .copied()
        .filter(|&point| clipping::holds(reach, point))
        .collect();
    let solid = Stroke::solid(stroke.colour, stroke.width);
    let mut path = String::new();
    for &(x, y) in &points {
        match symbol {
            '.' => circle(&mut path, (x, y), 0.5 * stroke.width + 0.15 * size),
            'o' | 'O' => circle(&mut path, (x, y), half),
            '+' => cross(&mut path, (x, y), half, 0.0),
            'x' | 'X' => cross(&mut path, (x, y), half, 45.0),
            '*' => {
                for turned in [30.0, 90.0, 150.0] {
                    ray(&mut path, (x, y), half, turned);
                }
            }
            _ => {}
        }
    }
    match symbol {
        '.' => drawing.path(&path, None, Some(stroke.colour)),
        'o' | 'O' | '+' | 'x' | 'X' | '*' => drawing.path(&path, Some(&solid), None),
        letter => letters(drawing, &points, letter, size, stroke.colour),
    }
}

fn letters(drawing: &mut Drawing, points: &[Place], letter: char, size: f64, colour: Rgb) {
    let words = letter.to_string();
    // The height of capitals is 0.73 of the size of letters.
    let size = size / 0.73;
    for &(x, y) in points {
        drawing.text(&super::drawing::Text {
            at: (x - 0.5 * text_width(&words) * size, y + 0.365 * size),
            words: &words,
            size,
            anchor: super::drawing::Anchor::Start,
            turned: 0.0,
            fat: 0.0,
            colour,
        });
    }
}

fn circle(path: &mut String, (x, y): Place, radius: f64) {
    let (left, r, d) = (short(x - radius), short(radius), short(2.0 * radius));
    // Writing to a string cannot fail.
    let _ = write!(
        path,
        "M{left} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
        short(y)
    );
}

fn cross(path: &mut String, at: Place, half: f64, turned: f64) {
    ray(path, at, half, turned);
    ray(path, at, half, turned + 90.0);
}

/// Appends a line of length 2 `half` centred at `at` and rotated by `turned` degrees from the horizontal.
fn ray(path: &mut String, (x, y): Place, half: f64, turned: f64) {
    let (sine, cosine) = turned.to_radians().sin_cos();
    let (dx, dy) = (half * cosine, half * sine);
    path.push_str(&path_through(&[(x - dx, y - dy), (x + dx, y + dy)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_what_is_seen() {
        let points: Vec<Place> = (0..100_000)
            .map(|i| (i as f64 * 0.001, if i == 50_000 { 9.0 } else { (i % 2) as f64 }))
            .collect();
        let kept = thinned(&points, |p| p.0, |p| p.1);
        assert!(kept.len() <= 4 * 301, "{}", kept.len());
        assert_eq!(kept.first(), points.first());
        assert_eq!(kept.last(), points.last());
        assert!(kept.contains(&points[50_000]), "a spike of one sample stays");
        assert_eq!(thinned(&points[..3], |p| p.0, |p| p.1), points[..3]);
    }

    #[test]
    fn dashes_have_their_length() {
        assert!(dashes(0.0).is_empty());
        let turn = |number: f64| dashes(number).iter().sum::<f64>();
        assert!((turn(3.0) - 0.2 * INCH).abs() < 1e-9);
        assert!((turn(3.8) - 0.4 * INCH).abs() < 1e-9);
        assert_eq!(dashes(42.0).len(), 2);
    }
}
