//! Receivers: interpolation weights of points between cells, extraction, and divergence and curl of the field.

use crate::Error;
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::grid::points::{Point, place};
use crate::grid::stencil::derivative;
use std::ops::Range;

/// One receiver: its lower cell and interpolation weights.
struct Receiver<T> {
    cell: [usize; 3],
    /// Weight of the upper neighbour along z, x, y; the weight of the lower cell is one minus this weight.
    beyond: [T; 3],
}

/// All receivers of a shot.
pub struct Receivers<T> {
    list: Vec<Receiver<T>>,
    ndim: usize,
}

impl<T: Real> Receivers<T> {
    /// Locates every receiver; without `interpolate` each reads the nearest cell.
    ///
    /// # Errors
    /// Returns an error if a receiver lies outside the padded grid.
    pub fn new(padded: &Padded, points: &[Point], interpolate: bool) -> Result<Self, Error> {
        let mut list = Vec::with_capacity(points.len());
        for (k, &point) in points.iter().enumerate() {
            let places = place(padded, point, "receiver", k + 1)?;
            let mut receiver = Receiver {
                cell: [0; 3],
                beyond: [T::of(0.0); 3],
            };
            for a in 0..padded.ndim() {
                let f = if interpolate {
                    places[a].beyond
                } else {
                    places[a].beyond.round()
                };
                receiver.cell[a] = places[a].cell;
                receiver.beyond[a] = T::of(f64::from(f));
            }
            list.push(receiver);
        }
        Ok(Self {
            list,
            ndim: padded.ndim(),
        })
    }

    /// Number of receivers.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Numbers, ascending, of the receivers whose lower cell lies in `planes`, which [`Receivers::extract`] reads.
    pub fn within(&self, planes: &Range<usize>) -> Vec<usize> {
        let axis = self.ndim - 1;
        let inside = |k: &usize| planes.contains(&self.list[*k].cell[axis]);
        (0..self.list.len()).filter(inside).collect()
    }

    /// Lower cell of every receiver, and weight of the upper neighbour along z, x, y.
    pub(crate) fn places(&self) -> impl Iterator<Item = ([usize; 3], [T; 3])> {
        self.list.iter().map(|r| (r.cell, r.beyond))
    }

    /// Reads the receivers whose lower cell lies in `planes`. `value(z, row, plane)` is the field, and `out` holds
    /// one value for each receiver.
    pub fn extract(&self, planes: &Range<usize>, value: impl Fn(usize, usize, usize) -> T, out: &mut [T]) {
        for (r, out) in self.list.iter().zip(out) {
            let (plane, row) = if self.ndim == 3 {
                (r.cell[2], r.cell[1])
            } else {
                (r.cell[1], 0)
            };
            if !planes.contains(&plane) {
                continue;
            }
            let mut sum = T::of(0.0);
            for corner in 0..1usize << self.ndim {
                let e = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
                let mut weight = T::of(1.0);
                for a in 0..self.ndim {
                    let f = r.beyond[a];
                    weight = weight * if e[a] == 1 { f } else { T::of(1.0 - f.f64()) };
                }
                // Neighbours with zero weight are skipped, because they may lie outside the grid or not be finite.
                if weight != T::of(0.0) {
                    let (dp, dr) = if self.ndim == 3 { (e[2], e[1]) } else { (e[1], 0) };
                    sum += weight * value(r.cell[0] + e[0], row + dr, plane + dp);
                }
            }
            *out = sum;
        }
    }
}

/// Divergence (component 0) or a component of the curl of a displacement field at a cell; zero in the rim, where the
/// derivative would leave the grid. In 2-D, component 1 is `D_z u_x - D_x u_z`. In 3-D, components 1, 2, 3 are the x,
/// y, z components of the curl.
pub fn potential(
    padded: &Padded,
    component: usize,
    cell: [usize; 3],
    value: impl Fn(usize, [usize; 3]) -> f64,
) -> f64 {
    let r = crate::grid::stencil::RADIUS;
    if (0..padded.ndim()).any(|a| cell[a] < r || cell[a] >= padded.n[a] - r) {
        return 0.0;
    }
    // The derivative of a component along an axis.
    let d = |axis: usize, of: usize| {
        let at = |m: isize| {
            let mut c = cell;
            c[axis] = (c[axis] as isize + m) as usize;
            value(of, c)
        };
        derivative(at, f64::from(padded.d()[axis]))
    };
    let (z, x, y) = (0, 1, 2);
    match (component, padded.ndim()) {
        (0, ndim) => (0..ndim).map(|a| d(a, a)).sum(),
        (_, 2) => d(z, x) - d(x, z),
        (1, _) => d(y, z) - d(z, y),
        (2, _) => d(z, x) - d(x, z),
        _ => d(x, y) - d(y, x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    fn padded() -> Padded {
        Padded::new(&Grid::new_2d([20, 30], [0.0, 0.0], [0.5, 1.0]), 6)
    }

    #[test]
    fn points_outside_are_refused_by_name() {
        let p = padded();
        let e = Receivers::<f32>::new(&p, &[[0.0, 0.0, 0.0], [0.0, 99.0, 0.0]], true)
            .err()
            .unwrap()
            .to_string();
        assert!(e.contains("receiver 2") && e.contains("x=99"), "{e}");
    }

    #[test]
    fn a_linear_field_is_read_exactly() {
        let p = padded();
        let r = Receivers::<f64>::new(&p, &[[3.3, 7.25, 0.0]], true).unwrap();
        let mut out = [0.0];
        r.extract(&(0..p.planes()), |z, _, x| 2.0 * z as f64 + x as f64, &mut out);
        assert!((out[0] - (2.0 * 12.6 + 13.25)).abs() < 1e-5, "{out:?}");
    }
}
