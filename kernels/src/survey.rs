//! Sources and receivers: points off the grid turned into weights, injection and extraction.

use crate::Error;
use crate::device::simd::Real;
use crate::grid::{AXES, Padded};
use crate::stencil::derivative;
use std::ops::Range;

/// A point `[z, x, y]` in the coordinates of the grid (2-D: y ignored).
pub type Point = [f32; 3];

/// A snapshot window: first cell and cells along z, x, y in padded indices, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// Every so many steps, step 0 included.
    pub every: usize,
    /// Cells along z, x, y (2-D: y is `0..1`).
    pub window: [Range<usize>; 3],
}

impl Snapshots {
    /// Refuses windows that leave the padded grid.
    pub fn check(&self, padded: &Padded) -> Result<(), Error> {
        if self.every == 0 {
            return Err(Error::setup("jsnap= must be at least 1"));
        }
        for a in 0..padded.ndim() {
            if self.window[a].is_empty() || self.window[a].end > padded.n[a] {
                return Err(Error::setup(format!(
                    "the snapshot window takes padded cells {:?} along {}: the padded grid has cells 0..{}",
                    self.window[a], AXES[a], padded.n[a]
                )));
            }
        }
        Ok(())
    }
}

/// Position of a point on one axis: cell below it and distance from that cell in cells (0 to 1).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    cell: usize,
    beyond: f32,
}

/// Places a point on the padded grid: `q = (p - op)/d` in double precision, cell `trunc(q)`, rest in float32.
fn place(padded: &Padded, point: Point, what: &str, number: usize) -> Result<[Place; 3], Error> {
    let mut places = [Place { cell: 0, beyond: 0.0 }; 3];
    for a in 0..padded.ndim() {
        let (low, high) = padded.bounds(a);
        if !(low <= point[a] && point[a] < high) {
            let list: Vec<String> = (0..padded.ndim())
                .map(|b| format!("{}={}", AXES[b], point[b]))
                .collect();
            return Err(Error::setup(format!(
                "{what} {number} at {} is outside the grid: {} must lie in [{low}, {high}), frame included; move the point or enlarge the model or nb=",
                list.join(" "),
                AXES[a]
            )));
        }
        let q = (f64::from(point[a]) - f64::from(padded.o[a])) / f64::from(padded.d()[a]);
        let cell = (q.trunc() as usize).min(padded.n[a] - 2);
        places[a] = Place {
            cell,
            beyond: (q - cell as f64) as f32,
        };
    }
    Ok(places)
}

/// Axis weights of one source: the bell around each corner cell, the corners weighted by their distance.
///
/// The bell `exp(-(i^2 + k^2 + l^2)/(0.5 nbell))` is separable and so are the corner weights: the patch is the
/// product of three short arrays. It is not normalised; `nbell=0` is the bare point.
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
    /// Patches that touch a plane, in the order of the sources.
    by_plane: Vec<Vec<u32>>,
    /// `[time][component z, x, y][source]`, subtracted as the original programs do.
    wavelet: Vec<T>,
    components: usize,
    plane_axis: usize,
}

impl<T: Real> Sources<T> {
    /// Places every source; `wavelet` is `[time][component][source]`.
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
                    return Err(Error::setup(format!(
                        "the bell of source {} (nbell={nbell} cells) leaves the grid: {}={} must lie in [{low}, {}]; move the source, use a smaller nbell= or a larger nb=",
                        k + 1,
                        AXES[a],
                        point[a],
                        high - nbell as f32 * padded.d()[a]
                    )));
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

    /// Calls `add(first z, values)` for every source that touches a row, in the order of the sources:
    /// component `component` of step `it` times the row's weights, with the sign of the injection (minus).
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

    /// `[time][component z, x, y][source]`, before the sign of the injection.
    pub(crate) fn wavelet(&self) -> &[T] {
        &self.wavelet
    }

    /// Steps that the wavelet covers.
    pub fn steps(&self) -> usize {
        self.wavelet.len() / (self.components * self.patches.len().max(1))
    }
}

/// One receiver: corner cells and their weights.
struct Receiver<T> {
    cell: [usize; 3],
    /// Weight of the upper neighbour along z, x, y; the lower has the rest.
    beyond: [T; 3],
}

/// All receivers of a shot.
pub struct Receivers<T> {
    list: Vec<Receiver<T>>,
    ndim: usize,
}

impl<T: Real> Receivers<T> {
    /// Places every receiver; without `interpolate` each reads the nearest cell.
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

    /// Receivers in all.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Numbers of the receivers whose lower corner lies in `planes`, rising: the ones that [`Receivers::extract`] reads.
    pub fn within(&self, planes: &Range<usize>) -> Vec<usize> {
        let axis = self.ndim - 1;
        let inside = |k: &usize| planes.contains(&self.list[*k].cell[axis]);
        (0..self.list.len()).filter(inside).collect()
    }

    /// Lower corner and weight of the upper neighbour along z, x, y of every receiver.
    pub(crate) fn places(&self) -> impl Iterator<Item = ([usize; 3], [T; 3])> {
        self.list.iter().map(|r| (r.cell, r.beyond))
    }

    /// Reads the receivers whose lower corner lies in `planes`: `value(z, row, plane)` is the field; `out` holds
    /// one number a receiver.
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
                // A neighbour of no weight may lie outside the numbers: 0 * NaN is NaN.
                if weight != T::of(0.0) {
                    let (dp, dr) = if self.ndim == 3 { (e[2], e[1]) } else { (e[1], 0) };
                    sum += weight * value(r.cell[0] + e[0], row + dr, plane + dp);
                }
            }
            *out = sum;
        }
    }
}

/// Divergence (component 0) or a component of the curl of a displacement field at a cell, zero in the rim where the
/// derivative does not fit. 2-D: 1 is `D_z u_x - D_x u_z`. 3-D: 1, 2, 3 are the x, y, z components of the curl.
pub fn potential(
    padded: &Padded,
    component: usize,
    cell: [usize; 3],
    value: impl Fn(usize, [usize; 3]) -> f64,
) -> f64 {
    let r = crate::stencil::RADIUS;
    if (0..padded.ndim()).any(|a| cell[a] < r || cell[a] >= padded.n[a] - r) {
        return 0.0;
    }
    // d(axis, of component)
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
    fn points_and_bells_outside_are_refused_by_name() {
        let p = padded();
        let e = Receivers::<f32>::new(&p, &[[0.0, 0.0, 0.0], [0.0, 99.0, 0.0]], true)
            .err()
            .unwrap()
            .to_string();
        assert!(e.contains("receiver 2") && e.contains("x=99"), "{e}");
        let e = Sources::<f32>::new(&p, &[[-2.0, 3.0, 0.0]], 5, &[])
            .err()
            .unwrap()
            .to_string();
        assert!(e.contains("bell of source 1"), "{e}");
        assert!(Sources::<f32>::new(&p, &[[-2.0, 3.0, 0.0]], 2, &[]).is_ok());
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
