//! The medium at the staggered fields: arithmetic means of the density at the velocities, harmonic means of the shear
//! stiffness at the shear stresses unless it is given there, and the other stiffnesses on their nodes (Moczo et al.
//! 2002).

use super::layout::RIM;
use super::rows::STIFFNESSES;
use crate::Error;
use crate::device::cpu::{Buffer, Cpu};
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::medium::voigt::slot;
use crate::medium::{Medium, Symmetry};
use std::ops::Range;

/// Index in memory order of each stiffness of [`super::rows::PAIR`], 3-D: zz xx yy zx zy xy, shears zx zy xy.
pub(super) const PLACES_3D: [usize; STIFFNESSES] = [
    slot(3, (3, 3)),
    slot(3, (1, 1)),
    slot(3, (2, 2)),
    slot(3, (1, 3)),
    slot(3, (2, 3)),
    slot(3, (1, 2)),
    slot(3, (5, 5)),
    slot(3, (4, 4)),
    slot(3, (6, 6)),
];
/// [`PLACES_3D`] for 2-D media; unused entries repeat a used one.
pub(super) const PLACES_2D: [usize; STIFFNESSES] = {
    let [zz, xx, zx, shear] = [slot(2, (3, 3)), slot(2, (1, 1)), slot(2, (1, 3)), slot(2, (5, 5))];
    [zz, zz, xx, zx, zx, zx, shear, shear, shear]
};

/// Stiffness times the time step, and the time step over density, at every cell of some planes of the padded grid,
/// `[plane][row][z]`; zero in the rim along `z`.
pub struct Staggered<T> {
    padded: Padded,
    /// The planes of the padded grid on which this medium is stored.
    planes: Range<usize>,
    /// Distinct stiffnesses on the nodes, then shear stiffnesses.
    arrays: Vec<Buffer<T>>,
    /// The index in `arrays` of each stiffness.
    places: [usize; STIFFNESSES],
    /// `dt/rho` at the velocities along z, x, y.
    buoyancy: Vec<Buffer<T>>,
    dt: f64,
}

/// The planes and threads for which the medium is prepared.
#[derive(Clone, Copy)]
pub struct OnPlanes<'a> {
    /// The threads that perform the computation.
    pub cpu: &'a Cpu,
    /// The planes of the grid on which the medium is stored.
    pub planes: &'a Range<usize>,
    /// The planes on which the medium is computed; it stays zero on the others.
    pub prepared: &'a Range<usize>,
}

/// How a value is averaged over neighbouring cells.
#[derive(Clone, Copy)]
enum Mean {
    /// `dt` times the value on the node.
    Node(f64),
    /// `dt` times the harmonic mean over two axes.
    Harmonic(f64, [usize; 2]),
    /// `dt` over the arithmetic mean along an axis.
    Over(f64, usize),
}

impl<T: Real> Staggered<T> {
    /// The medium on `planes` of a run with the time step `dt`, whose shear stiffnesses are given on the nodes or at
    /// the shear stresses. It is zero on planes that are not `prepared`; `raw` must also contain the plane after each
    /// prepared plane.
    pub fn new(
        raw: &Medium<T>,
        class: Symmetry,
        (dt, shears_in_place): (f64, bool),
        on: OnPlanes<'_>,
    ) -> Result<Self, Error> {
        let mut medium = Self::relaxing(raw, class, (dt, shears_in_place), on)?;
        medium.buoyancy = (0..medium.padded.ndim())
            .map(|a| fill(raw, on, raw.density(), Mean::Over(dt, a)))
            .collect::<Result<_, _>>()?;
        Ok(medium)
    }

    /// The stiffness of a medium without its buoyancy. Isotropic media share arrays between stiffnesses.
    pub fn relaxing(
        raw: &Medium<T>,
        class: Symmetry,
        (dt, shears_in_place): (f64, bool),
        on: OnPlanes<'_>,
    ) -> Result<Self, Error> {
        let padded = raw.padded().clone();
        let ndim = padded.ndim();
        let order = if ndim == 3 { PLACES_3D } else { PLACES_2D };
        let (normals, pairs): (&[usize], [usize; 6]) = match (ndim, class) {
            (_, Symmetry::Isotropic) => (&[0, 3], [0, 0, 0, 1, 1, 1]),
            (3, _) => (&[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
            _ => (&[0, 2, 3], [0, 1, 1, 2, 2, 2]),
        };
        let mut jobs: Vec<(usize, Mean)> = normals.iter().map(|&k| (order[k], Mean::Node(dt))).collect();
        let first = jobs.len();
        let shears: &[[usize; 2]] = if ndim == 3 {
            &[[0, 1], [0, 2], [1, 2]]
        } else {
            &[[0, 1]]
        };
        for (k, &axes) in shears.iter().enumerate() {
            // An isotropic medium has a single shear stiffness, which its normal stresses also use on the nodes.
            let mean = if shears_in_place && class != Symmetry::Isotropic {
                Mean::Node(dt)
            } else {
                Mean::Harmonic(dt, axes)
            };
            jobs.push((order[6 + k], mean));
        }
        let shear = |k: usize| first + if ndim == 3 { k } else { 0 };
        let mut places = [0; STIFFNESSES];
        places[..6].copy_from_slice(&pairs);
        (0..3).for_each(|k| places[6 + k] = shear(k));
        let make = |from: &[T], mean: Mean| fill(raw, on, from, mean);
        let arrays = jobs
            .iter()
            .map(|&(k, mean)| make(raw.stiffness_array(k), mean))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            padded,
            planes: on.planes.clone(),
            arrays,
            places,
            buoyancy: Vec::new(),
            dt,
        })
    }

    /// `dt c` of one place in [`super::rows::PAIR`].
    pub fn stiffness(&self, place: usize) -> &[T] {
        self.arrays[self.places[place]].as_slice()
    }

    /// `dt/rho` at the velocity along z, x, y (0, 1, 2).
    pub fn buoyancy(&self, component: usize) -> &[T] {
        self.buoyancy[component].as_slice()
    }

    /// The index at which a row of a plane that is held begins in every array.
    pub fn row(&self, plane: usize, row: usize) -> usize {
        let p = &self.padded;
        (plane - self.planes.start) * p.plane_len() + row * p.pitch()
    }

    pub fn bytes(&self) -> usize {
        self.arrays.iter().chain(&self.buoyancy).map(Buffer::bytes).sum()
    }

    /// Describes the density and the wave speeds at a cell.
    pub fn describe(&self, index: [usize; 3]) -> String {
        let p = &self.padded;
        let (plane, row) = if p.ndim() == 3 {
            (index[2], index[1])
        } else {
            (index[1], 0)
        };
        let live = live(p.n[0]);
        let at = self.row(plane, row) + index[0].clamp(live.start, live.end - 1);
        let rho = self.dt / self.buoyancy[0].as_slice()[at].f64();
        let speed = |k: usize| (self.stiffness(k)[at].f64() / self.dt / rho).sqrt() as f32;
        format!(
            "medium there: density={} P speed={} S speed={}",
            rho as f32,
            speed(0),
            speed(7)
        )
    }
}

/// `dt/rho` at the velocity along z, x, y (0, 1, 2) of a live cell in `ndim` dimensions; `density(plane, row, z)` is
/// the density of a cell.
pub fn buoyancy_at(
    (ndim, dt): (usize, f64),
    component: usize,
    [plane, row, z]: [usize; 3],
    density: impl Fn(usize, usize, usize) -> f64,
) -> f64 {
    let along = |axis: usize| usize::from(component == axis);
    let (planes, rows) = match ndim {
        3 => (along(2), along(1)),
        _ => (along(1), 0),
    };
    2.0 * dt / (density(plane, row, z) + density(plane + planes, row + rows, z + along(0)))
}

/// Cells of an axis that are computed.
pub fn live(n: usize) -> Range<usize> {
    RIM..n - RIM
}

/// Computes one array of the medium on `planes` with all threads; planes that are not `prepared` stay zero.
fn fill<T: Real>(
    raw: &Medium<T>,
    OnPlanes {
        cpu,
        planes,
        prepared,
    }: OnPlanes<'_>,
    from: &[T],
    mean: Mean,
) -> Result<Buffer<T>, Error> {
    use rayon::prelude::*;
    let p = raw.padded();
    let (pitch, rows) = (p.pitch(), p.rows());
    let mut out = Buffer::zeroed(planes.len() * p.plane_len())?;
    let plane_axis = p.ndim() - 1;
    // The row of cells `beyond` steps further along x and y.
    let line = |plane: usize, row: usize, beyond: [usize; 3]| {
        let along_rows = if plane_axis == 2 { beyond[1] } else { 0 };
        let row = (row + along_rows).min(rows - 1);
        let plane = (plane + beyond[plane_axis]).min(p.planes() - 1);
        &from[raw.row_start(plane, row)..][..pitch]
    };
    let one = |axis: usize| [0, 1, 2].map(|a| usize::from(a == axis));
    let row = |(number, to): (usize, &mut [T])| {
        let (plane, row) = (planes.start + number / rows, number % rows);
        if !prepared.contains(&plane) {
            return;
        }
        let here = line(plane, row, [0; 3]);
        for z in live(p.n[0]) {
            let at = |cells: &[T], up: usize| cells[z + up].f64();
            to[z] = T::of(match mean {
                Mean::Node(dt) => dt * at(here, 0),
                Mean::Over(dt, axis) => {
                    let next = line(plane, row, one(axis));
                    2.0 * dt / (at(here, 0) + at(next, usize::from(axis == 0)))
                }
                Mean::Harmonic(dt, [a, b]) => {
                    let both = [0, 1, 2].map(|k| usize::from(k == a) + usize::from(k == b));
                    let corners = [[0; 3], one(a), one(b), both].map(|e| at(line(plane, row, e), e[0]));
                    // 1/0 is infinite and its inverse zero: a single fluid cell makes the mean zero.
                    4.0 * dt / corners.iter().map(|c| 1.0 / c).sum::<f64>()
                }
            });
        }
    };
    cpu.install(|| {
        out.as_mut_slice()
            .par_chunks_mut(pitch)
            .enumerate()
            .with_min_len(16)
            .for_each(row);
    });
    Ok(out)
}
