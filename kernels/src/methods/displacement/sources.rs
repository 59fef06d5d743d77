//! Sources: weights of Gaussian bells around points between cells, and their injection.

use crate::device::simd::Real;
use crate::grid::points::{Place, Point, place};
use crate::grid::{AXES, Padded};
use crate::{Error, Hint, message};

/// Weights of one source along each axis: a bell around each of the surrounding cells, with linear interpolation
/// weights.
///
/// The bell `exp(-(i^2 + k^2 + l^2)/(0.5 nbell))` and the interpolation weights are separable, so that the patch is the
/// product of three short arrays. It is not normalised; `nbell=0` is a point source.
struct Patch<T> {
    /// First cell along z, x, y.
    first: [usize; 3],
    /// Weights along z, x, y.
    weights: [Vec<T>; 3],
}

fn patch_axis<T: Real>(at: Place, nbell: usize) -> Vec<T> {
    let bell = |i: i64| match nbell {
        0 => f64::from(i == 0),
        _ if i.unsigned_abs() as usize > nbell => 0.0,
        _ => (-((i * i) as f64) / (0.5 * nbell as f64)).exp(),
    };
    let n = nbell as i64;
    let f = f64::from(at.beyond);
    (-n..=n + 1)
        .map(|i| T::of(bell(i) * (1.0 - f) + bell(i - 1) * f))
        .collect()
}

/// All sources of a shot.
pub struct Sources<T> {
    patches: Vec<Patch<T>>,
    /// For each plane the sources that touch it, ascending.
    by_plane: Vec<Vec<u32>>,
    /// Values `[time][component z, x, y][source]`, which are subtracted as in the original programs.
    wavelet: Vec<T>,
    components: usize,
    plane_axis: usize,
}

impl<T: Real> Sources<T> {
    /// Locates every source; `wavelet` is `[time][component][source]`.
    ///
    /// # Errors
    /// Returns an error if a source or its bell extends beyond the padded grid.
    pub fn new(padded: &Padded, points: &[Point], nbell: usize, wavelet: &[f32]) -> Result<Self, Error> {
        let plane_axis = padded.ndim() - 1;
        let mut by_plane = vec![Vec::new(); padded.planes()];
        let mut patches = Vec::with_capacity(points.len());
        for (k, &point) in points.iter().enumerate() {
            let places = place(padded, point, "source", k + 1)?;
            let mut patch = Patch {
                first: [0; 3],
                weights: [vec![], vec![], vec![T::of(1.0)]],
            };
            for a in 0..padded.ndim() {
                let (cell, n) = (places[a].cell, padded.n[a]);
                let last = cell + nbell + usize::from(places[a].beyond > 0.0);
                if cell < nbell || last >= n {
                    let (low, high) = (padded.o[a] + nbell as f32 * padded.d()[a], padded.bounds(a).1);
                    return Err(Error::setup(message![
                        format!(
                            "the bell of source {} ({nbell} cells) leaves the grid: {}={} must lie in [{low}, {}]; move the source, use ",
                            k + 1,
                            AXES[a],
                            point[a],
                            high - nbell as f32 * padded.d()[a]
                        ),
                        Hint::SmallerBell,
                        " or ",
                        Hint::WiderFrame,
                    ]));
                }
                patch.first[a] = cell - nbell;
                patch.weights[a] = patch_axis(places[a], nbell);
                patch.weights[a].truncate(n - patch.first[a]);
            }
            for p in 0..patch.weights[plane_axis].len() {
                by_plane[patch.first[plane_axis] + p].push(k as u32);
            }
            patches.push(patch);
        }
        let wavelet = wavelet.iter().map(|&w| T::of(f64::from(w))).collect();
        Ok(Self {
            patches,
            by_plane,
            wavelet,
            components: padded.ndim(),
            plane_axis,
        })
    }

    /// Whether any source touches this plane.
    pub fn touch(&self, plane: usize) -> bool {
        !self.by_plane[plane].is_empty()
    }

    /// Calls `add(first z, amplitude, weights along z)` for every source that touches a row, in the order of the
    /// sources. The amplitude is component `component` of step `it` times the weights of row and plane, with a minus
    /// sign for the injection.
    pub fn for_row(
        &self,
        it: usize,
        component: usize,
        plane: usize,
        row: usize,
        mut add: impl FnMut(usize, T, &[T]),
    ) {
        let ns = self.patches.len();
        for &k in &self.by_plane[plane] {
            let patch = &self.patches[k as usize];
            let along = |a: usize, i: usize| {
                i.checked_sub(patch.first[a])
                    .and_then(|i| patch.weights[a].get(i).copied())
            };
            let middle = if self.plane_axis == 2 {
                along(1, row)
            } else {
                Some(T::of(1.0))
            };
            if let (Some(p), Some(r)) = (along(self.plane_axis, plane), middle) {
                let amplitude = self.wavelet[(it * self.components + component) * ns + k as usize];
                add(
                    patch.first[0],
                    T::of(-1.0) * amplitude * (p * r),
                    &patch.weights[0],
                );
            }
        }
    }

    /// First cell and weights along z, x, y of every source.
    pub(crate) fn bells(&self) -> impl Iterator<Item = ([usize; 3], &[Vec<T>; 3])> {
        self.patches.iter().map(|patch| (patch.first, &patch.weights))
    }

    /// Values `[time][component z, x, y][source]`, without the minus sign of the injection.
    pub(crate) fn wavelet(&self) -> &[T] {
        &self.wavelet
    }

    /// Number of steps of the wavelet.
    pub fn steps(&self) -> usize {
        self.wavelet.len() / (self.components * self.patches.len().max(1))
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
    fn weights_sum_to_the_bell_and_its_centre_is_the_point() {
        let s = Sources::<f64>::new(&padded(), &[[3.3, 7.25, 0.0]], 5, &[1.0, 1.0]).unwrap();
        let w = &s.patches[0].weights;
        let total: f64 = (-5..=5).map(|i| (-f64::from(i * i) / 2.5).exp()).sum();
        assert!((w[0].iter().sum::<f64>() - total).abs() < 1e-12);
        let centre: f64 = w[1]
            .iter()
            .enumerate()
            .map(|(i, w)| (s.patches[0].first[1] + i) as f64 * w)
            .sum::<f64>()
            / total;
        assert!((centre - 13.25).abs() < 1e-6);
    }

    #[test]
    fn bells_outside_are_refused_by_name() {
        let p = padded();
        let e = Sources::<f32>::new(&p, &[[-2.0, 3.0, 0.0]], 5, &[])
            .err()
            .unwrap()
            .to_string();
        assert!(e.contains("bell of source 1"), "{e}");
        assert!(Sources::<f32>::new(&p, &[[-2.0, 3.0, 0.0]], 2, &[]).is_ok());
    }
}
