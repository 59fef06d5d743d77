//! Surfaces in depth: the bottom, interfaces and top of a box, or the horizons of a model.

use anyhow::{Result, bail};
use rsf_io::{Axis, Job};

use crate::modelling::units;

/// z as a function of x and y.
pub(crate) enum Surface {
    Flat(f64),
    Map {
        name: String,
        x: Axis,
        y: Axis,
        values: Vec<f32>,
    },
}

impl Surface {
    /// Opens an entry of the parameter `key`: a number, or an RSF file with a map.
    ///
    /// # Errors
    /// Returns an error for an empty entry, a number that is not finite, or a file that cannot be read or is
    /// not a map of finite numbers.
    pub(crate) fn open(job: &mut Job, key: &str, word: &str) -> Result<Self> {
        if let Ok(z) = word.parse::<f64>() {
            if !z.is_finite() {
                bail!("{key}= has {word}; every entry must be a finite number or an RSF file");
            }
            return Ok(Self::Flat(z));
        }
        if word.is_empty() {
            bail!(
                "{key}= has an empty entry; entries must be numbers or RSF files, separated by single commas"
            );
        }
        let name = format!("the map {word} of {key}=");
        let mut input = job.open_as(name.clone(), word.as_ref())?;
        let (x, y) = (input.axis(1), input.axis(2));
        let sound = |axis: &Axis| {
            axis.n >= 1 && axis.o.is_finite() && axis.d.is_finite() && (axis.n == 1 || axis.d > 0.0)
        };
        if !sound(&x) || !sound(&y) || input.len() != (x.n * y.n) as u64 {
            bail!(
                "{name} is {}; a map must have n1 along x, n2 along y and spacings above zero",
                input.header().sizes()
            );
        }
        // If z has the same unit as x, the whole model may be in km.
        if input.header().text("unit") != x.unit {
            units::header(job, &input);
        }
        let values = input.read_all_f32()?;
        if let Some(bad) = values.iter().position(|z| !z.is_finite()) {
            let (column, row) = (bad % x.n, bad / x.n);
            let count = values.iter().filter(|z| !z.is_finite()).count();
            bail!(
                "{name} is {} in row {} and column {} (x={}, y={}), {}: every z must be finite; fill cells \
                without data from their neighbours, for example with interpolate_na() of xarray, or cut the \
                map",
                values[bad],
                row + 1,
                column + 1,
                f64::from(x.o) + column as f64 * f64::from(x.d),
                f64::from(y.o) + row as f64 * f64::from(y.d),
                match count {
                    1 => "the only such place".into(),
                    _ => format!("the first of {count} such places"),
                }
            );
        }
        Ok(Self::Map { name, x, y, values })
    }

    /// Refuses a map that varies along y for a model of x and z, which would use only its first row. `count`
    /// is the parameter that makes the model 3-D.
    ///
    /// # Errors
    /// Returns an error for a map of this kind.
    pub(crate) fn refuse_rows(&self, count: &str) -> Result<()> {
        match self {
            Self::Map { name, x, y, values } if values.chunks(x.n).any(|row| *row != values[..x.n]) => bail!(
                "{name} has {} values of y (n2): give {count}= for a model in 3-D, or a line of the map for a model in \
                2-D, as from sfwindow n2=1 f2=0",
                y.n
            ),
            _ => Ok(()),
        }
    }

    /// Whether z is the same everywhere.
    pub(crate) fn is_flat(&self) -> bool {
        match self {
            Self::Flat(_) => true,
            Self::Map { values, .. } => values.iter().all(|z| *z == values[0]),
        }
    }

    /// The largest magnitude of z.
    pub(crate) fn farthest(&self) -> f64 {
        match self {
            Self::Flat(z) => z.abs(),
            Self::Map { values, .. } => values.iter().fold(0.0, |far, z| z.abs().max(far)).into(),
        }
    }

    /// First and last coordinate along x (`axis` 0) or y; `None` if the surface is constant along it.
    pub(crate) fn span(&self, axis: usize) -> Option<[f64; 2]> {
        let Self::Map { x, y, .. } = self else { return None };
        let axis = if axis == 0 { x } else { y };
        (axis.n > 1).then(|| {
            [
                axis.o.into(),
                f64::from(axis.o) + (axis.n - 1) as f64 * f64::from(axis.d),
            ]
        })
    }

    /// z at a position, interpolated linearly between the samples.
    ///
    /// # Errors
    /// Returns an error for a position outside the map by more than rounding errors.
    pub(crate) fn at(&self, place: [f64; 2]) -> Result<f64> {
        let (name, x, y, values) = match self {
            Self::Flat(z) => return Ok(*z),
            Self::Map { name, x, y, values } => (name, x, y, values),
        };
        let split = |axis: &Axis, at: f64, word: &str| -> Result<(usize, f64)> {
            if axis.n == 1 {
                return Ok((0, 0.0));
            }
            let last = (axis.n - 1) as f64;
            let k = (at - f64::from(axis.o)) / f64::from(axis.d);
            if !(-1e-3..=last + 1e-3).contains(&k) {
                bail!(
                    "{name} ends before {word}={at}: it extends from {} to {}; make the map larger or the \
                    model smaller (sfhexmesh has {word}min= and {word}max=, sflayers the axes of its grid)",
                    axis.o,
                    f64::from(axis.o) + last * f64::from(axis.d)
                );
            }
            let k = k.clamp(0.0, last);
            let low = (k as usize).min(axis.n - 2);
            Ok((low, k - low as f64))
        };
        let ((i, s), (j, t)) = (split(x, place[0], "x")?, split(y, place[1], "y")?);
        let value = |i: usize, j: usize| f64::from(values[j.min(y.n - 1) * x.n + i.min(x.n - 1)]);
        let along = |j: usize| (1.0 - s) * value(i, j) + s * value(i + 1, j);
        Ok((1.0 - t) * along(j) + t * along(j + 1))
    }
}
