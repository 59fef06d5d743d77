//! The update formulas of a cell, one SIMD register of cells at a time (Michea & Komatitsch 2010, eqs 2 and 5-7).
//!
//! Axes are numbered 0 = `z`, 1 = row (x in 3-D, absent in 2-D) and 2 = plane, the slowest axis (y in 3-D, x in 2-D),
//! so that the same code serves both dimensions. Stresses and stiffnesses are ordered as in [`PAIR`].

use crate::device::simd::{Lane, Real, line_starts, opaque, prefetch};
use pulp::Simd;
use std::ops::Range;

/// Index of the stress with these two axes: three normal ones, then `z`-row, `z`-plane, row-plane. Stiffnesses follow
/// the same table (diagonal, then couplings of two normal stresses), followed by the three shear stiffnesses.
pub const PAIR: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];

/// Stresses of a cell.
pub const STRESSES: usize = 6;

/// Stiffnesses of a cell.
pub const STIFFNESSES: usize = 9;

/// Largest number of weights of a derivative.
pub const MOST: usize = 4;

/// Marks a row without memory variables.
pub const NONE: usize = usize::MAX;

/// Repeats a block for each axis of a run with the axis as a constant. The compiler would not unroll a loop over so
/// long a body, and would keep its values in memory.
macro_rules! for_each_axis {
    ($ndim:ident, $axis:ident => $body:block) => {{
        {
            let $axis = 0;
            $body
        }
        if $ndim == 3 {
            let $axis = 1;
            $body
        }
        {
            let $axis = 2;
            $body
        }
    }};
}

pub(super) use for_each_axis;

/// The absorbing layer of one axis on a plane: its memory variables `[component][row][z]` and its factors.
#[derive(Clone, Copy)]
pub struct Layer<'a, T> {
    /// The first value of component 0; null where this plane has no layer.
    pub psi: *mut T,
    /// Offset from one component to the next.
    pub component: usize,
    /// Where each row starts in a component; [`NONE`] for rows without a layer.
    pub starts: &'a [usize],
    /// `1/kappa`, `a`, `b` at the nodes and half a cell further on: along `z` they point to the values of cell 0,
    /// along other axes to the values of row 0.
    pub factors: [[*const T; 3]; 2],
    /// Stride of the factors from row to row.
    pub per_row: usize,
    /// Memory variables between the two parts of a row in the frame along `z`.
    pub gap: usize,
}

impl<T: Real + std::ops::Add<Output = T>> Layer<'_, T> {
    /// The stretched derivative of component `of` at a node along its axis, from the derivative `d` and the memory
    /// variable left by the step; `z` as in [`Plane`].
    ///
    /// # Safety
    /// The row and the cell `i` must lie on the plane, whose memory variables nothing changes meanwhile.
    pub unsafe fn stretched(&self, z: &[usize; 4], (row, i): (usize, usize), of: usize, d: T) -> T {
        let along_z = of == 0;
        let inside = along_z && (z[1]..z[2]).contains(&i);
        if self.psi.is_null() || self.starts[row] == NONE || inside {
            return d;
        }
        let beyond = if along_z && i >= z[2] { z[2] - z[1] } else { 0 };
        let place = if along_z { i } else { row * self.per_row };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let psi = *self.psi.add(of * self.component + self.starts[row] + i - beyond);
            *self.factors[0][0].add(place) * d + psi
        }
    }
}

/// A layer on one row.
#[derive(Clone, Copy)]
pub(super) struct Line<T> {
    /// The memory variable of component 0 at cell 0 of the row; null outside the layers.
    pub psi: *mut T,
    /// Offset from one component to the next.
    pub component: usize,
    factors: [[*const T; 3]; 2],
}

impl<T: Real> Line<T> {
    /// Whether the layer changes a derivative on the row: next to a layer its factors are those without absorption.
    /// Along `z` cells are not distinguished.
    #[inline(always)]
    pub fn stretches(&self, slope: Slope) -> bool {
        if self.psi.is_null() || slope.along == 0 {
            return !self.psi.is_null();
        }
        let [inverse_kappa, a, _] = self.factors[usize::from(slope.half)];
        // SAFETY: a line in the frame has its factors.
        unsafe { *a != T::of(0.0) || *inverse_kappa != T::of(1.0) }
    }

    /// A factor (`1/kappa`, `a`, `b`) of the cells from `i` on, at the place of a derivative.
    ///
    /// # Safety
    /// The line must lie in a layer, and the cells in the line.
    #[inline(always)]
    pub unsafe fn factor<S: Simd>(&self, s: S, slope: Slope, k: usize, i: usize) -> Lane<S, T> {
        let factors = &self.factors[usize::from(slope.half)];
        // SAFETY: guaranteed by the caller.
        unsafe {
            match slope.along {
                0 => Lane::load(s, factors[k].add(i)),
                _ => Lane::splat(s, *factors[k]),
            }
        }
    }
}

impl<T> Line<T> {
    /// A row outside all layers.
    const NONE: Self = Self {
        psi: std::ptr::null_mut(),
        component: 0,
        factors: [[std::ptr::null(); 3]; 2],
    };

    /// Prefetches memory variables.
    #[inline(always)]
    fn fetch(&self, i: usize) {
        if !self.psi.is_null() {
            (0..3).for_each(|of| prefetch(self.psi.wrapping_add(of * self.component + i)));
        }
    }
}

/// Damping weights of the sponge along the axes.
#[derive(Clone, Copy)]
pub struct Sponge<'a, T> {
    /// Weights along `z`.
    pub z: &'a [T],
    /// Weights of the rows.
    pub rows: &'a [T],
    /// Weight of the plane.
    pub plane: T,
}

/// The data of a plane that both stages share.
pub struct Plane<'a, T> {
    /// Rows to compute.
    pub rows: Range<usize>,
    /// Cells of each row to compute; like `z`, multiples of every register length.
    pub cells: Range<usize>,
    /// Whether all cells of a row lie in the frame.
    pub framed: &'a dyn Fn(usize) -> bool,
    /// Along `z`: frame from 0 to 1, interior from 1 to 2, frame from 2 to 3; multiples of every register length.
    pub z: [usize; 4],
    /// Strides from cell to cell along the axes.
    pub stride: [usize; 3],
    /// Weights of the derivative divided by the spacing.
    pub weights: &'a [[T; MOST]; 3],
    /// Absorbing layers of the axes.
    pub layers: [Layer<'a, T>; 3],
    pub sponge: Option<Sponge<'a, T>>,
    /// Prefetch distance in cells, 0 for none: the hardware prefetcher cannot follow this many rows at once.
    pub ahead: usize,
}

/// The update of the cells of a plane in a stage.
pub(super) trait Formula<T: Real, const N: usize> {
    /// Number of groups of quantities, at most four. Each has a loop of its own over the cells of a row: a loop over
    /// all quantities of a long formula would need more pointers than a processor has registers.
    const GROUPS: usize = 1;

    fn plane(&self) -> &Plane<'_, T>;

    /// Computes one group of quantities for one register of cells.
    ///
    /// # Safety
    /// The cells must be writable only by this thread, and their neighbours readable.
    unsafe fn cells<S: Simd, const FRAMED: bool, const GROUP: usize>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        at: (usize, usize),
        lines: &[Line<T>; 3],
    );

    /// Prefetches the cells at index `at` that no earlier cell has read.
    fn fetch(&self, at: usize);
}

/// Visits every register of the plane once, applying the layers to the registers in the frame.
#[inline(always)]
pub(super) fn walk<S: Simd, T: Real, F: Formula<T, N>, const N: usize>(s: S, formula: &F) {
    let plane = formula.plane();
    let mut weights = [[Lane::splat(s, T::of(0.0)); N]; 3];
    for (to, from) in weights.iter_mut().zip(plane.weights) {
        for (to, weight) in to.iter_mut().zip(from) {
            *to = Lane::splat(s, *weight);
        }
    }
    let [start, low, high, end] = plane.z;
    for row in plane.rows.clone() {
        let upper = plane.lines(row);
        let (mut middle, mut lower) = (upper, upper);
        middle[0].psi = std::ptr::null_mut();
        if !upper[0].psi.is_null() {
            lower[0].psi = upper[0]
                .psi
                .wrapping_sub(high - low)
                .wrapping_add(plane.layers[0].gap);
        }
        let parts = [
            (start..low, true, &upper),
            (low..high, (plane.framed)(row), &middle),
            (high..end, true, &lower),
        ];
        walk_row::<S, T, F, N, 0>(s, formula, &weights, row, &parts);
        if F::GROUPS > 1 {
            walk_row::<S, T, F, N, 1>(s, formula, &weights, row, &parts);
        }
        if F::GROUPS > 2 {
            walk_row::<S, T, F, N, 2>(s, formula, &weights, row, &parts);
        }
        if F::GROUPS > 3 {
            walk_row::<S, T, F, N, 3>(s, formula, &weights, row, &parts);
        }
    }
}

/// A part of a row: its cells, whether they lie in the frame, and its layers.
type RowPart<'a, T> = (Range<usize>, bool, &'a [Line<T>; 3]);

/// Visits every register of a row once, for one group of quantities.
#[inline(always)]
fn walk_row<S: Simd, T: Real, F: Formula<T, N>, const N: usize, const GROUP: usize>(
    s: S,
    formula: &F,
    weights: &[[Lane<S, T>; N]; 3],
    row: usize,
    parts: &[RowPart<'_, T>; 3],
) {
    let plane = formula.plane();
    // Without vector instructions, which every current processor has, the framed code serves all cells: outside
    // layers it has no effect.
    let one_text = const { size_of::<S::f32s>() == size_of::<f32>() };
    let (mask, start_of_line) = line_starts::<T>(plane.ahead > 0);
    for (z, framed, lines) in parts {
        let cells = z.start.max(plane.cells.start)..z.end.min(plane.cells.end);
        // These are not closures: the compiler would not inline so long a body into its only caller, and the body
        // would lose the target features.
        for i in cells.step_by(T::lanes::<S>()) {
            if GROUP == 0 && i & mask == start_of_line {
                formula.fetch(plane.at(row, i) + plane.ahead);
                if *framed {
                    lines.iter().for_each(|line| line.fetch(i + plane.ahead));
                }
            }
            let at = (row, opaque(i));
            match one_text || *framed {
                // SAFETY: guaranteed by the code that creates the formula.
                true => unsafe { formula.cells::<S, true, GROUP>(s, weights, at, lines) },
                // SAFETY: the same.
                false => unsafe { formula.cells::<S, false, GROUP>(s, weights, at, lines) },
            }
        }
    }
}

impl<T: Real> Plane<'_, T> {
    #[inline(always)]
    fn lines(&self, row: usize) -> [Line<T>; 3] {
        // These are not closures: mapping arrays of arrays compiled to calls, which took longer than the cells of a
        // short row.
        let mut lines = [Line::NONE; 3];
        for (line, layer) in lines.iter_mut().zip(&self.layers) {
            line.component = layer.component;
            if !layer.psi.is_null() && layer.starts[row] != NONE {
                line.psi = layer.psi.wrapping_add(layer.starts[row]);
            }
            for (to, from) in line.factors.iter_mut().zip(&layer.factors) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.wrapping_add(row * layer.per_row);
                }
            }
        }
        lines
    }

    /// Applies the sponge to the cells.
    ///
    /// # Safety
    /// The row and the cells must lie on the plane.
    #[inline(always)]
    pub unsafe fn damped<S: Simd>(&self, s: S, x: Lane<S, T>, row: usize, i: usize) -> Lane<S, T> {
        match &self.sponge {
            None => x,
            // SAFETY: guaranteed by the caller.
            Some(w) => unsafe {
                let outer = Lane::splat(s, *w.rows.get_unchecked(row) * w.plane);
                x * (Lane::load(s, w.z.as_ptr().add(i)) * outer)
            },
        }
    }

    /// Index of a cell relative to cell 0 of row 0.
    #[inline(always)]
    pub fn at(&self, row: usize, i: usize) -> usize {
        row * self.stride[1] + i
    }
}

/// The derivative of eq. 5, half a cell beyond the cells (`ahead`) or before them, summed from the far neighbours
/// inwards.
///
/// # Safety
/// `N` neighbours on either side must be readable.
#[inline(always)]
pub(super) unsafe fn derive<S: Simd, T: Real, const N: usize>(
    s: S,
    p: *const T,
    stride: usize,
    w: &[Lane<S, T>; N],
    ahead: bool,
) -> Lane<S, T> {
    let (stride, first) = (stride as isize, isize::from(ahead));
    // SAFETY: guaranteed by the caller.
    let pair = |m: usize| unsafe {
        let m = m as isize;
        Lane::load(s, p.offset((m + first) * stride)) - Lane::load(s, p.offset((first - m - 1) * stride))
    };
    let mut sum = Lane::splat(s, T::of(0.0));
    for m in (0..N).rev() {
        sum = w[m].mul_add(pair(m), sum);
    }
    sum
}

/// Identifies a derivative: the component, the axis along which it is taken, and whether it lies half a cell beyond a
/// node.
#[derive(Clone, Copy)]
pub(super) struct Slope {
    pub of: usize,
    pub along: usize,
    pub half: bool,
}

impl Slope {
    /// The derivative of a stress that contributes to the velocity `of`.
    pub fn of_stress(of: usize, along: usize) -> Self {
        let half = of == along;
        Self { of, along, half }
    }

    /// The derivative of a velocity, which lies half a cell beyond the nodes along its own axis.
    pub fn of_velocity(of: usize, along: usize) -> Self {
        let half = of != along;
        Self { of, along, half }
    }
}

/// The stretched derivative in the layer (eqs 6 and 7).
///
/// # Safety
/// The line's memory variables of the cells must be accessible only to this thread.
#[inline(always)]
pub(super) unsafe fn stretched<S: Simd, T: Real>(
    s: S,
    d: Lane<S, T>,
    line: &Line<T>,
    slope: Slope,
    i: usize,
) -> Lane<S, T> {
    if line.psi.is_null() {
        return d;
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let factor = |k: usize| line.factor(s, slope, k, i);
        let p = line.psi.wrapping_add(slope.of * line.component + i);
        let psi = factor(2).mul_add(Lane::load(s, p), factor(1) * d);
        psi.store(p);
        factor(0).mul_add(d, psi)
    }
}

/// `v += dt/rho D_j s_ij` on the rows of a plane; with `KEEP` the new velocities are also recorded for a reverse
/// sweep.
pub struct Velocity<'a, T, const NDIM: usize, const N: usize, const KEEP: bool> {
    pub plane: Plane<'a, T>,
    /// Velocities along the axes.
    pub v: [*mut T; 3],
    /// Stresses, ordered as in [`PAIR`].
    pub s: [*const T; STRESSES],
    /// `dt/rho` at each velocity.
    pub b: [*const T; 3],
    /// Record of the new velocities.
    pub keep: [*mut T; 3],
}

impl<T: Real, const NDIM: usize, const N: usize, const KEEP: bool> pulp::WithSimd
    for Velocity<'_, T, NDIM, N, KEEP>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        walk::<S, T, Self, N>(s, &self);
    }
}

impl<T: Real, const NDIM: usize, const N: usize, const KEEP: bool> Formula<T, N>
    for Velocity<'_, T, NDIM, N, KEEP>
{
    fn plane(&self) -> &Plane<'_, T> {
        &self.plane
    }

    #[inline(always)]
    unsafe fn cells<S: Simd, const FRAMED: bool, const GROUP: usize>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
    ) {
        let at = self.plane.at(row, i);
        // SAFETY: guaranteed by the caller.
        unsafe {
            for_each_axis!(NDIM, t => {
                let mut sum = Lane::splat(s, T::of(0.0));
                for_each_axis!(NDIM, a => {
                    let from = self.s[PAIR[t][a]].add(at);
                    let mut d = derive(s, from, self.plane.stride[a], &weights[a], a == t);
                    if FRAMED {
                        d = stretched(s, d, &lines[a], Slope::of_stress(t, a), i);
                    }
                    sum = sum + d;
                });
                let v = self.v[t].add(at);
                let mut new = Lane::load(s, self.b[t].add(at)).mul_add(sum, Lane::load(s, v.cast_const()));
                if FRAMED {
                    new = self.plane.damped(s, new, row, i);
                }
                new.store(v);
                if KEEP {
                    new.store(self.keep[t].add(at));
                }
            });
        }
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        let far = N * self.plane.stride[2];
        for_each_axis!(NDIM, t => {
            prefetch(self.v[t].wrapping_add(at));
            prefetch(self.b[t].wrapping_add(at));
            for_each_axis!(NDIM, a => {
                if a >= t {
                    let beyond = if a == 2 { far } else { 0 };
                    prefetch(self.s[PAIR[t][a]].wrapping_add(at + beyond));
                }
            });
        });
    }
}
