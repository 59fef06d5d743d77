//! Sizes, spacings and padding. Axis order of every triple: `z, x, y` (in 2-D the last entry is unused and 1).

pub mod minimax;
pub mod points;
pub mod solve;
pub mod stencil;

use crate::Error;
use crate::grid::stencil::RADIUS;

/// The model grid, as defined by the input files.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Number of dimensions, 2 or 3.
    pub ndim: usize,
    /// Numbers of cells along z, x, y.
    pub n: [usize; 3],
    /// Origins along z, x, y (length unit of the files).
    pub o: [f32; 3],
    /// Spacings along z, x, y (length unit of the files).
    pub d: [f32; 3],
}

/// Names of the axes in the order of every triple.
pub const AXES: [&str; 3] = ["z", "x", "y"];

impl Grid {
    /// A 2-D grid of `[nz, nx]` cells.
    pub fn new_2d(n: [usize; 2], o: [f32; 2], d: [f32; 2]) -> Self {
        Self {
            ndim: 2,
            n: [n[0], n[1], 1],
            o: [o[0], o[1], 0.0],
            d: [d[0], d[1], 1.0],
        }
    }

    /// A 3-D grid of `[nz, nx, ny]` cells.
    pub fn new_3d(n: [usize; 3], o: [f32; 3], d: [f32; 3]) -> Self {
        Self { ndim: 3, n, o, d }
    }

    /// Number of cells in all.
    pub fn cells(&self) -> usize {
        self.n.iter().product()
    }

    /// Checks the grid.
    ///
    /// # Errors
    /// Returns an error if a spacing is not a positive finite number, an origin is not finite, an axis is empty, or
    /// there are 2^40 cells or more.
    pub fn check(&self) -> Result<(), Error> {
        for a in 0..self.ndim {
            if !(self.d[a] > 0.0 && self.d[a].is_finite() && self.o[a].is_finite()) {
                return Err(Error::setup(format!(
                    "axis {} has d={} o={}: the spacing must be a positive finite number and the origin finite",
                    AXES[a], self.d[a], self.o[a]
                )));
            }
            if self.n[a] == 0 {
                return Err(Error::setup(format!(
                    "axis {} has no cells; at least 1 is needed",
                    AXES[a]
                )));
            }
        }
        match self.n.iter().try_fold(1usize, |p, &n| p.checked_mul(n)) {
            Some(cells) if cells < 1 << 40 => Ok(()),
            _ => Err(Error::setup(format!(
                "a grid of {:?} cells is too large: fewer than 2^40 cells are allowed in all",
                self.n
            ))),
        }
    }
}

/// The model grid surrounded by a frame of cells, and the memory layout of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Padded {
    /// The model grid.
    pub model: Grid,
    /// Number of cells of frame at every face; where the faces differ, the largest of these numbers.
    pub nb: usize,
    /// Numbers of cells of frame before the model along z, x, y.
    pub low: [usize; 3],
    /// Padded cells along z, x, y (2-D: y stays 1).
    pub n: [usize; 3],
    /// Padded origins, `o - nb*d` in float32 as the original programs round it.
    pub o: [f32; 3],
}

/// Rows start at multiples of this many values, so that a SIMD register never spans two rows.
pub const PITCH: usize = 16;

impl Padded {
    /// Pads `grid` with `nb` cells; fewer than the stencil's radius become the radius, as in the original programs.
    pub fn new(grid: &Grid, nb: usize) -> Self {
        Self::framed(grid, [[nb.max(RADIUS); 2]; 3])
    }

    /// Pads `grid` with the given numbers of cells before and after it along z, x, y.
    pub fn framed(grid: &Grid, frame: [[usize; 2]; 3]) -> Self {
        let (mut n, mut o, mut low) = (grid.n, grid.o, [0; 3]);
        for a in 0..grid.ndim {
            let [before, behind] = frame[a];
            n[a] += before + behind;
            o[a] = grid.o[a] - before as f32 * grid.d[a];
            low[a] = before;
        }
        Self {
            model: grid.clone(),
            nb: frame[..grid.ndim].iter().flatten().copied().max().unwrap_or(0),
            low,
            n,
            o,
        }
    }

    /// Number of dimensions, 2 or 3.
    pub fn ndim(&self) -> usize {
        self.model.ndim
    }

    /// Spacings along z, x, y.
    pub fn d(&self) -> [f32; 3] {
        self.model.d
    }

    /// Number of cells in all, including the frame.
    pub fn cells(&self) -> usize {
        self.n.iter().product()
    }

    /// Number of rows of a plane: along x in 3-D, a single row in 2-D.
    pub fn rows(&self) -> usize {
        if self.ndim() == 3 { self.n[1] } else { 1 }
    }

    /// Number of planes along the slowest axis, along which the grid is divided into slabs: y in 3-D, x in 2-D.
    pub fn planes(&self) -> usize {
        self.n[self.ndim() - 1]
    }

    /// Distance between consecutive rows in memory, in values.
    pub fn pitch(&self) -> usize {
        self.n[0].next_multiple_of(PITCH)
    }

    /// Distance between consecutive planes in memory, in values.
    pub fn plane_len(&self) -> usize {
        self.rows() * self.pitch()
    }

    /// The model row nearest to padded row `row` (2-D: 0), whose medium the frame repeats.
    pub fn model_row(&self, row: usize) -> usize {
        if self.ndim() == 3 { self.clamp(row, 1) } else { 0 }
    }

    /// The model plane nearest to padded plane `plane`, whose medium the frame repeats.
    pub fn model_plane(&self, plane: usize) -> usize {
        self.clamp(plane, self.ndim() - 1)
    }

    fn clamp(&self, index: usize, axis: usize) -> usize {
        index.saturating_sub(self.low[axis]).min(self.model.n[axis] - 1)
    }

    /// Padded indices `[z, x, y]` of a cell given by plane, row and z.
    pub fn index(&self, plane: usize, row: usize, z: usize) -> [usize; 3] {
        if self.ndim() == 3 {
            [z, row, plane]
        } else {
            [z, plane, 0]
        }
    }

    /// Padded indices `[z, x, y]` of the cell with this index in the memory of a component, which is
    /// `[plane][row][z]` with rows of [`Padded::pitch`] values.
    pub fn cell_at(&self, number: usize) -> [usize; 3] {
        let (plane, rest) = (number / self.plane_len(), number % self.plane_len());
        self.index(plane, rest / self.pitch(), rest % self.pitch())
    }

    /// Model indices and coordinates of a cell given by padded indices `[z, x, y]`, for messages.
    pub fn describe(&self, index: [usize; 3]) -> String {
        let mut words = Vec::new();
        for a in 0..self.ndim() {
            let i = index[a] as i64 - self.low[a] as i64;
            let at = f64::from(self.model.o[a]) + i as f64 * f64::from(self.model.d[a]);
            words.push(format!("{}={at:.6} (index {i})", AXES[a]));
        }
        words.join(", ")
    }

    /// The coordinates of the first and last padded cell of an axis. A point at or beyond the first and before the
    /// last can be interpolated.
    pub fn bounds(&self, axis: usize) -> (f32, f32) {
        (
            self.o[axis],
            self.o[axis] + (self.n[axis] - 1) as f32 * self.model.d[axis],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_and_clamping() {
        let p = Padded::new(&Grid::new_3d([10, 3, 2], [0.0, 1.0, 2.0], [0.5, 0.25, 1.0]), 5);
        assert_eq!((p.n, p.rows(), p.planes(), p.pitch()), ([20, 13, 12], 13, 12, 32));
        assert_eq!(p.o, [-2.5, -0.25, -3.0]);
        assert_eq!(
            (0..13).map(|r| p.model_row(r)).collect::<Vec<_>>(),
            [0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]
        );
        let p = Padded::new(&Grid::new_2d([10, 3], [0.0; 2], [1.0; 2]), 0);
        assert_eq!((p.nb, p.rows(), p.planes(), p.model_row(0)), (4, 1, 11, 0));
        let p = Padded::framed(
            &Grid::new_2d([10, 3], [0.0; 2], [1.0; 2]),
            [[4, 7], [5, 6], [9, 9]],
        );
        assert_eq!((p.nb, p.low, p.n), (7, [4, 5, 0], [21, 14, 1]));
        assert_eq!((0..14).map(|q| p.model_plane(q)).filter(|&q| q == 1).count(), 1);
    }
}
