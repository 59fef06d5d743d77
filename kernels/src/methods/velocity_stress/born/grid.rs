//! Rows of the padded grid: their indices, derivatives along them, and their distribution over threads.

use super::super::layout::RIM;
use super::super::rows::MOST;
use super::super::{Setup, cpu};
use super::Number;
use crate::device::cpu::Cpu;
use crate::grid::Padded;
use std::marker::PhantomData;
use std::ops::Range;

/// Number of pieces of work per thread of a sweep.
const PIECES: usize = 4;

/// The layout of fields in memory, `[plane][row][z]`, and the weights of their derivatives. Axes are 0 = z, 1 = row,
/// 2 = plane.
#[derive(Clone)]
pub struct Rows<T> {
    /// The grid with its frame.
    pub padded: Padded,
    /// Length of a field.
    pub len: usize,
    /// Cells along z that are computed.
    pub z: Range<usize>,
    /// Rows that are computed.
    pub rows: Range<usize>,
    /// Planes that are computed.
    pub planes: Range<usize>,
    /// Strides from cell to cell along the axes.
    pub stride: [usize; 3],
    /// Weights of the derivative divided by the spacing, along the axes.
    pub weights: [[T; MOST]; 3],
    /// Number of weights of a derivative.
    pub half: usize,
}

impl<T: Number> Rows<T> {
    /// The layout and derivatives of a run.
    pub fn new(setup: &Setup<T>) -> Self {
        let padded = &setup.padded;
        Self {
            len: padded.planes() * padded.plane_len(),
            z: RIM..padded.n[0] - RIM,
            rows: cpu::rows(padded),
            planes: RIM..padded.planes() - RIM,
            stride: [1, padded.pitch(), padded.plane_len()],
            weights: setup.weights,
            half: setup.half,
            padded: padded.clone(),
        }
    }

    /// Number of dimensions, 2 or 3.
    pub fn ndim(&self) -> usize {
        self.padded.ndim()
    }

    pub fn axes(&self) -> &'static [usize] {
        if self.ndim() == 3 { &[0, 1, 2] } else { &[0, 2] }
    }

    pub fn horizontal(&self) -> &'static [usize] {
        &self.axes()[1..]
    }

    /// Index at which a row begins in a field.
    pub fn at(&self, plane: usize, row: usize) -> usize {
        plane * self.padded.plane_len() + row * self.padded.pitch()
    }

    /// Index of a row among all rows of the grid.
    pub fn number(&self, plane: usize, row: usize) -> usize {
        plane * self.padded.rows() + row
    }

    /// Number of rows of the grid.
    pub fn count(&self) -> usize {
        self.padded.planes() * self.padded.rows()
    }

    /// The derivative of a field along an axis, half a cell `ahead` of the cells `z` of a row that begins at `base`, or
    /// behind them.
    #[inline(always)]
    pub fn derivative(
        &self,
        field: &[T],
        (base, z): (usize, &Range<usize>),
        (along, ahead): (usize, bool),
        out: &mut [T],
    ) {
        let (stride, first, n) = (self.stride[along], usize::from(ahead), z.len());
        let out = &mut out[..n];
        out.fill(T::of(0.0));
        for m in (0..self.half).rev() {
            let weight = self.weights[along][m];
            let plus = &field[base + z.start + (m + first) * stride..][..n];
            let minus = &field[base + z.start - (m + 1 - first) * stride..][..n];
            for ((out, &plus), &minus) in out.iter_mut().zip(plus).zip(minus) {
                *out += weight * (plus - minus);
            }
        }
    }

    /// Calls `job(scratch, plane, row)` for every computed row, on all threads; `scratch` holds `scratch` rows
    /// private to a thread.
    pub fn each(&self, cpu: &Cpu, scratch: usize, job: impl Fn(&mut [Vec<T>], usize, usize) + Sync) {
        let (rows, count) = (self.rows.len(), self.rows.len() * self.planes.len());
        let pieces = (PIECES * cpu.threads()).min(count);
        cpu.for_each(pieces, |_, piece| {
            let mut scratch = vec![vec![T::of(0.0); self.padded.pitch()]; scratch];
            let mine = count * piece / pieces..count * (piece + 1) / pieces;
            cpu.arch().dispatch(|| {
                for k in mine.clone() {
                    job(
                        &mut scratch,
                        self.planes.start + k / rows,
                        self.rows.start + k % rows,
                    );
                }
            });
        });
    }
}

/// A slice that the threads of a sweep share. Each of them writes different rows.
pub struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

// SAFETY: the callers of `row` guarantee that no two threads take the same row.
unsafe impl<T: Send> Sync for Shared<'_, T> {}
// SAFETY: the same.
unsafe impl<T: Send> Send for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares a slice among threads.
    pub fn new(numbers: &'a mut [T]) -> Self {
        Self {
            start: numbers.as_mut_ptr(),
            len: numbers.len(),
            of: PhantomData,
        }
    }

    /// The `len` numbers from `start` on.
    ///
    /// # Safety
    /// No other code may access these numbers while the slice lives.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub unsafe fn row(&self, start: usize, len: usize) -> &'a mut [T] {
        assert!(start + len <= self.len, "a row lies in its field");
        // SAFETY: the range lies in the slice, and the caller guarantees exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }
}
