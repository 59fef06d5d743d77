//! The memory of absorbing layers in the transposed steps: the adjoint memory variables and the changes of the
//! adjoints by stretching.
//!
//! Both are differentiated across the layer, so they extend beyond it as far as a derivative reaches, and as far
//! again with zeros. Parts that are not adjacent in the grid are separated by zeros as well.

use super::adjoint_stretch::kept;
use crate::Error;
use crate::boundary::cpml;
use crate::device::cpu::Buffer;
use crate::device::simd::Real;
use crate::grid::{PITCH, Padded};
use crate::methods::velocity_stress::absorbing_frame::Edges;
use crate::methods::velocity_stress::layout::RIM;
use crate::methods::velocity_stress::rows::{Layer, NONE};
use std::ops::Range;

/// Zeros between the two parts of a row along `z`.
const GAP: usize = PITCH;

/// The lines of an axis that have memory in the layers.
struct Lines {
    /// Number of each line among the lines that have memory variables, or [`NONE`].
    numbers: Vec<usize>,
    /// Whether a line is within reach of a layer.
    feels: Vec<bool>,
    /// Number of lines with memory.
    count: usize,
}

impl Lines {
    /// The lines of an axis of `n` lines, with `outside` lines before and after the model and layers on the faces
    /// `on`.
    fn new(n: usize, outside: [usize; 2], on: [bool; 2], half: usize) -> Self {
        let near = |i: usize, reach: usize| {
            (on[0] && i < outside[0] + reach) || (on[1] && i + 1 + outside[1] + reach >= n)
        };
        let mut count = 0;
        let number = |i: usize| {
            if !near(i, 2 * half) {
                return NONE;
            }
            count += 1;
            count - 1
        };
        Self {
            numbers: (0..n).map(number).collect(),
            feels: (0..n)
                .map(|i| near(i, half) && (RIM..n - RIM).contains(&i))
                .collect(),
            count,
        }
    }
}

/// The layers of a grid for transposed steps.
pub struct AdjointLayers<T> {
    /// `[entry][plane][row][z]` by axis, where planes, rows or `z` cover only those near the layers of the axis.
    buffers: [Buffer<T>; 3],
    /// Bounds along `z`: near a layer, interior, near a layer.
    z: [usize; 4],
    lines: [Option<Lines>; 3],
    /// Where rows start in a plane, by axis.
    starts: [Vec<usize>; 3],
    /// Number of values of an entry per plane, by axis.
    plane: [usize; 3],
    /// Offset from one entry to the next, by axis.
    component: [usize; 3],
}

impl<T: Real> AdjointLayers<T> {
    /// Allocates memory, initially zero, for a grid with derivatives of the order `2 half` and, with attenuation, for
    /// the relaxing part.
    ///
    /// # Errors
    /// Returns an error if memory is insufficient.
    pub fn new(padded: &Padded, edges: &Edges<T>, half: usize, lossy: bool) -> Result<Self, Error> {
        let frame = edges.faces();
        let (ndim, rows, pitch) = (padded.ndim(), padded.rows(), padded.pitch());
        let of_model = [0, 1, ndim - 1];
        let layered = |axis: usize| edges.factors(axis).is_some() && (ndim == 3 || axis != 1);
        let on = |axis: usize| frame[of_model[axis]].map(|cells| cells > 0 && layered(axis));
        let outside = |axis: usize| {
            let a = of_model[axis];
            [padded.low[a], padded.n[a] - padded.low[a] - padded.model.n[a]]
        };
        let lines = |axis: usize| {
            let any = on(axis).contains(&true);
            any.then(|| Lines::new(padded.n[of_model[axis]], outside(axis), on(axis), half))
        };
        let lines = [None, lines(1), lines(2)];
        let ([low_on, high_on], [low_out, high_out]) = (on(0), outside(0));
        let low = match low_on {
            true => (low_out + half).next_multiple_of(PITCH).min(pitch),
            false => 0,
        };
        let high = match high_on {
            true => (padded.n[0] - high_out - 1).saturating_sub(half) / PITCH * PITCH,
            false => pitch,
        };
        // If the two parts would meet, they are merged.
        let z = match high > low {
            true => [0, low, high, pitch],
            false => [0, pitch, pitch, pitch],
        };
        let along = z[1] + z[3] - z[2];
        let width = if along > 0 { along + GAP } else { 0 };
        let of = |axis: usize| lines[axis].as_ref();
        let count = |axis: usize| of(axis).map_or(0, |lines| lines.count);
        let starts = [
            (0..rows).map(|row| row * width).collect(),
            match of(1) {
                Some(lines) => {
                    let start = |row: usize| match lines.feels[row] {
                        true => lines.numbers[row] * pitch,
                        false => NONE,
                    };
                    (0..rows).map(start).collect()
                }
                None => vec![NONE; rows],
            },
            (0..rows).map(|row| row * pitch).collect(),
        ];
        let plane = [rows * width, count(1) * pitch, rows * pitch];
        let planes = [padded.planes(), padded.planes(), count(2)];
        let component = [0, 1, 2].map(|axis| planes[axis] * plane[axis]);
        let numbers = kept::all(ndim, lossy);
        let buffer = |axis: usize| Buffer::zeroed(numbers * component[axis]);
        Ok(Self {
            buffers: [buffer(0)?, buffer(1)?, buffer(2)?],
            z,
            lines,
            starts,
            plane,
            component,
        })
    }

    pub fn clear(&mut self) {
        self.buffers
            .iter_mut()
            .for_each(|buffer| buffer.as_mut_slice().fill(T::of(0.0)));
    }

    /// Bounds along `z`: near a layer from 0 to 1, interior from 1 to 2, near a layer from 2 to 3.
    pub fn z(&self) -> [usize; 4] {
        self.z
    }

    /// Whether all cells of a row of a plane are near a layer.
    pub fn framed(&self, plane: usize, row: usize) -> bool {
        self.feels(1, row) || self.feels(2, plane)
    }

    fn feels(&self, axis: usize, line: usize) -> bool {
        self.lines[axis].as_ref().is_some_and(|lines| lines.feels[line])
    }

    /// Pointers to the memory of each axis.
    pub fn origins(&mut self) -> [*mut T; 3] {
        self.buffers.each_mut().map(|b| b.as_mut_slice().as_mut_ptr())
    }

    /// The layers of a plane, with `origins` from [`AdjointLayers::origins`].
    pub fn layers<'a>(
        &'a self,
        edges: &'a Edges<T>,
        origins: [*mut T; 3],
        plane: usize,
    ) -> [Layer<'a, T>; 3] {
        [0, 1, 2].map(|axis| {
            let number = match (axis, &self.lines[2]) {
                (2, Some(lines)) if lines.feels[plane] => lines.numbers[plane],
                (2, _) => NONE,
                _ => plane,
            };
            let empty = self.component[axis] == 0 || number == NONE;
            let psi = match empty {
                true => std::ptr::null_mut(),
                false => origins[axis].wrapping_add(number * self.plane[axis]),
            };
            let ahead = if axis == 2 { plane } else { 0 };
            let factors = match edges.factors(axis) {
                None => [[std::ptr::null(); 3]; 2],
                Some(all) => all
                    .each_ref()
                    .map(|f| [&f.inverse_kappa, &f.a, &f.b].map(|v| v.as_ptr().wrapping_add(ahead))),
            };
            Layer {
                psi,
                component: self.component[axis],
                starts: &self.starts[axis],
                factors,
                per_row: usize::from(axis == 1),
                gap: GAP,
            }
        })
    }

    /// Index of entry 0 of a cell in the memory of an axis; `None` if the cell is not near a layer across it.
    pub fn cell(&self, axis: usize, [plane, row, z]: [usize; 3]) -> Option<usize> {
        if self.component[axis] == 0 {
            return None;
        }
        match axis {
            0 => {
                let start = plane * self.plane[0] + self.starts[0][row];
                match z {
                    z if z < self.z[1] => Some(start + z),
                    z if z >= self.z[2] => Some(start + z - (self.z[2] - self.z[1]) + GAP),
                    _ => None,
                }
            }
            1 => match self.starts[1][row] {
                NONE => None,
                start => Some(plane * self.plane[1] + start + z),
            },
            _ => {
                let lines = self.lines[2].as_ref()?;
                let own = lines.feels[plane].then_some(lines.numbers[plane])?;
                Some(own * self.plane[2] + self.starts[2][row] + z)
            }
        }
    }

    /// Whether a derivative across an axis at a cell reads cells near a layer.
    pub fn near(&self, axis: usize, [plane, row, z]: [usize; 3]) -> bool {
        match axis {
            0 => self.component[0] > 0 && (z < self.z[1] + RIM || z + RIM >= self.z[2]),
            1 => self.feels(1, row),
            _ => self.feels(2, plane),
        }
    }

    /// Entry `part` of a cell across an axis; zero where there is no memory.
    pub fn stretched(&self, axis: usize, [plane, row, z]: [usize; 3], part: usize) -> T {
        let lines = |axis: usize, line: usize| match &self.lines[axis] {
            Some(lines) if lines.numbers[line] != NONE => Some(lines.numbers[line] * self.line(axis)),
            _ => None,
        };
        let at = match axis {
            0 => self.cell(0, [plane, row, z]),
            1 => lines(1, row).map(|start| plane * self.plane[1] + start + z),
            _ => lines(2, plane).map(|start| start + self.starts[2][row] + z),
        };
        at.map_or(T::of(0.0), |at| {
            self.buffers[axis].as_slice()[at + part * self.component[axis]]
        })
    }

    /// Memory per line of an axis.
    fn line(&self, axis: usize) -> usize {
        match axis {
            1 => self.starts[2].get(1).copied().unwrap_or(self.plane[2]),
            _ => self.plane[2],
        }
    }

    /// A value in the memory of an axis.
    pub fn number(&mut self, axis: usize, at: usize) -> &mut T {
        &mut self.buffers[axis].as_mut_slice()[at]
    }

    /// Offset from one entry to the next.
    pub fn component(&self, axis: usize) -> usize {
        self.component[axis]
    }
}

/// The factors `1/kappa`, `a`, `b` on a line of an axis.
pub fn factors_on<T: Real>(factors: &[cpml::Factors<T>; 2], half: bool, line: usize) -> [T; 3] {
    let f = &factors[usize::from(half)];
    [f.inverse_kappa[line], f.a[line], f.b[line]]
}

/// The rows of a plane in a region given by ranges along z, rows and planes; none if the plane lies outside.
pub fn rows_of(region: &[Range<usize>; 3], plane: usize) -> Range<usize> {
    match region[2].contains(&plane) {
        true => region[1].clone(),
        false => 0..0,
    }
}
