//! Sources in absolute units: moment tensors and forces at points off the grid.
//!
//! A moment tensor M adds `-dM_ij/dt dt / V` to the stress (V is the volume of a cell; in 2-D its area, with M per
//! metre), and a force F adds `F dt / (rho V)` to the velocity. The axes are the grid's, with z down.

use super::layout::{fields, tensor, velocity};
use super::points::{Placer, Weights};
use crate::Error;
use crate::device::simd::Real;
use crate::source::{Action, Source};
use std::ops::Range;

/// The stage of a step in which an action takes place.
fn stage(action: &Action) -> usize {
    match action {
        Action::Moment(_) => 1,
        Action::Force(_) => 0,
    }
}

/// The fields on which a source acts, with the strength in each.
fn parts(action: &Action, ndim: usize) -> Vec<(usize, f64)> {
    match action {
        Action::Moment(m) => {
            let fields = tensor(ndim).into_iter().zip(m);
            fields.filter_map(|(field, &m)| Some((field?, -m))).collect()
        }
        Action::Force([x, y, z]) => match ndim {
            3 => vec![(0, *z), (1, *x), (2, *y)],
            _ => vec![(velocity(2, 0), *z), (velocity(2, 2), *x)],
        },
    }
}

/// One cell on which a source acts.
#[derive(Clone)]
pub(super) struct Spot<T> {
    pub field: u8,
    pub row: u32,
    pub z: u32,
    pub series: u32,
    pub weight: T,
}

/// All sources as contributions to cells.
#[derive(Clone)]
pub(super) struct SourceNodes<T> {
    /// Contributions `[stage][plane]`, in the order of the sources.
    planes: [Vec<Vec<Spot<T>>>; 2],
    /// `[series][step]`
    series: Vec<Vec<T>>,
}

impl<T: Real> SourceNodes<T> {
    /// Distributes the sources over the nodes of the planes `held`; `buoyancy(field, plane, row, z)` is `dt/rho` at a
    /// velocity.
    pub fn new(
        placer: &Placer<'_>,
        (buoyancy, held): (impl Fn(usize, usize, usize, usize) -> f64, &Range<usize>),
        sources: &[Source],
        series: &[Vec<f32>],
        dt: f64,
    ) -> Result<Self, Error> {
        let p = placer.padded;
        let ndim = p.ndim();
        let empty = || (0..p.planes()).map(|_| Vec::new()).collect::<Vec<_>>();
        let mut planes = [empty(), empty()];
        let volume: f64 = p.d()[..ndim].iter().map(|&d| f64::from(d)).product();
        for (number, source) in sources.iter().enumerate() {
            placer.check(source.point, "source", number + 1)?;
            for (field, strength) in parts(&source.action, ndim)
                .into_iter()
                .filter(|part| part.1 != 0.0)
            {
                let weights = [0, 1, 2].map(|a| placer.spread(source.point, a, field));
                for_each(&weights, ndim, |plane, row, z, weight| {
                    if !held.contains(&plane) {
                        return;
                    }
                    let factor = match source.action {
                        Action::Moment(_) => dt,
                        Action::Force(_) => buoyancy(field, plane, row, z),
                    };
                    planes[stage(&source.action)][plane].push(Spot {
                        field: u8::try_from(field).unwrap_or(fields(3) as u8),
                        row: row as u32,
                        z: z as u32,
                        series: source.series as u32,
                        weight: T::of(weight * strength * factor / volume),
                    });
                });
            }
        }
        let real = |s: &Vec<f32>| s.iter().map(|&x| T::of(f64::from(x))).collect();
        Ok(Self {
            planes,
            series: series.iter().map(real).collect(),
        })
    }

    /// Whether the weights of all cells are finite.
    pub fn is_finite(&self) -> bool {
        let mut spots = self.planes.iter().flatten().flatten();
        spots.all(|spot| spot.weight.f64().is_finite())
    }

    /// The contributions to a plane in a stage, in the order of the sources.
    pub fn on(&self, stage: usize, plane: usize) -> &[Spot<T>] {
        &self.planes[stage][plane]
    }

    /// Source time functions `[series][step]`.
    pub fn series(&self) -> &[Vec<T>] {
        &self.series
    }

    /// Calls `add(field, row, z, value)` for every contribution to these rows of a plane in a stage of step `it`.
    pub fn for_rows(
        &self,
        (stage, plane, it): (usize, usize, usize),
        rows: &Range<usize>,
        mut add: impl FnMut(usize, usize, usize, T),
    ) {
        for spot in &self.planes[stage][plane] {
            let row = spot.row as usize;
            if rows.contains(&row)
                && let Some(&strength) = self.series[spot.series as usize].get(it)
            {
                add(
                    usize::from(spot.field),
                    row,
                    spot.z as usize,
                    spot.weight * strength,
                );
            }
        }
    }
}

/// Calls `visit(plane, row, z, weight)` for every node of a patch whose weight is not zero.
pub(super) fn for_each(weights: &[Weights; 3], ndim: usize, mut visit: impl FnMut(usize, usize, usize, f64)) {
    let [z, x, y] = weights;
    let (rows, planes) = if ndim == 3 { (x, y) } else { (y, x) };
    for (j, wj) in planes.weights.iter().enumerate() {
        for (k, wk) in rows.weights.iter().enumerate() {
            for (l, wl) in z.weights.iter().enumerate() {
                let weight = wj * wk * wl;
                if weight != 0.0 {
                    visit(planes.first + j, rows.first + k, z.first + l, weight);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tensor of slip and normal, `M0 (n_i s_j + n_j s_i)`, with x north, y east and z down.
    fn of_vectors(strike: f64, dip: f64, rake: f64) -> [f64; 6] {
        let (p, d, l) = (strike.to_radians(), dip.to_radians(), rake.to_radians());
        let normal = [-d.sin() * p.sin(), d.sin() * p.cos(), -d.cos()];
        let slip = [
            l.cos() * p.cos() + d.cos() * l.sin() * p.sin(),
            l.cos() * p.sin() - d.cos() * l.sin() * p.cos(),
            -d.sin() * l.sin(),
        ];
        let m = |i: usize, j: usize| normal[i] * slip[j] + normal[j] * slip[i];
        [m(0, 0), m(1, 1), m(2, 2), m(0, 1), m(0, 2), m(1, 2)]
    }

    #[test]
    fn double_couples_are_slip_on_a_plane() {
        for (strike, dip, rake) in [(0.0, 90.0, 0.0), (30.0, 45.0, 90.0), (200.0, 63.0, -37.0)] {
            let Action::Moment(m) = Action::double_couple(strike, dip, rake, 1.0, 0.0) else {
                panic!("a moment");
            };
            let exact = of_vectors(strike, dip, rake);
            assert!(
                m.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-12),
                "{m:?} {exact:?}"
            );
        }
        // On a grid with x east and y north, which is left-handed, the same fault has other angles.
        let of = |angles: [f64; 3]| of_vectors(angles[0], angles[1], angles[2]);
        let (north, east) = (of([30.0, 50.0, 70.0]), of([270.0 - 30.0, 50.0, 180.0 - 70.0]));
        let swapped = [north[1], north[0], north[2], north[3], north[5], north[4]];
        assert!(east.iter().zip(swapped).all(|(a, b)| (a - b).abs() < 1e-12));
        // A vertical fault along x that slips along x has only Mxy.
        let Action::Moment(m) = Action::double_couple(40.0, 90.0, 0.0, 2.0, 40.0) else {
            panic!("a moment");
        };
        assert!((m[3] - 2.0).abs() < 1e-12 && m[0].abs() + m[4].abs() < 1e-12);
    }
}
