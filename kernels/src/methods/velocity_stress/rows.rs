//! The formulas of a cell, a register of cells at a time (Michea & Komatitsch 2010, eqs 2 and 5-7).
//!
//! Axes are numbered 0 = `z`, 1 = from row to row (x in 3-D, absent in 2-D), 2 = the slowest one (y in 3-D, x in 2-D),
//! so that one text serves both dimensions. Stresses and stiffnesses stand where [`PAIR`] says.

use crate::device::simd::{Lane, Real, line_starts, opaque, prefetch};
use pulp::Simd;
use std::ops::Range;

/// Place of the stress with these two axes: three normal ones, then `z`-row, `z`-plane, row-plane. Stiffnesses follow
/// the same table (diagonal, then couplings of two normal stresses); behind them stand the three shears.
pub const PAIR: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];

/// Stresses of a cell.
pub const STRESSES: usize = 6;

/// Stiffnesses of a cell.
pub const STIFFNESSES: usize = 9;

/// Most weights of a derivative.
pub const MOST: usize = 4;

/// A row without memory variables.
pub const NONE: usize = usize::MAX;

/// Repeats a text for each axis of a run, which is then a constant of it: a loop of so long a text would stay one, with its
/// numbers in memory.
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
    /// The first number of component 0; null without a layer here.
    pub psi: *mut T,
    /// Numbers from component to component.
    pub component: usize,
    /// Where each row starts in a component; [`NONE`] without a layer there.
    pub starts: &'a [usize],
    /// `1/kappa`, `a`, `b` at the nodes and half a cell further on: along `z` numbers of each cell, else of row 0.
    pub factors: [[*const T; 3]; 2],
    /// Steps of the factors from row to row.
    pub per_row: usize,
    /// Numbers between the two parts of a row in the frame along `z`.
    pub gap: usize,
}

impl<T: Real + std::ops::Add<Output = T>> Layer<'_, T> {
    /// What the layer makes of the derivative `d` of component `of` at a node along its axis, with the memory that a step left; `z` as in
    /// [`Plane`].
    ///
    /// # Safety
    /// The row and the cell `i` must lie on the plane, whose memory nothing changes meanwhile.
    pub unsafe fn stretched(&self, z: &[usize; 4], (row, i): (usize, usize), of: usize, d: T) -> T {
        let along_z = of == 0;
        let inside = along_z && (z[1]..z[2]).contains(&i);
        if self.psi.is_null() || self.starts[row] == NONE || inside {
            return d;
        }
        let beyond = if along_z && i >= z[2] { z[2] - z[1] } else { 0 };
        let place = if along_z { i } else { row * self.per_row };
        // SAFETY: promised by the caller.
        unsafe {
            let psi = *self.psi.add(of * self.component + self.starts[row] + i - beyond);
            *self.factors[0][0].add(place) * d + psi
        }
    }
}

/// A layer on one row.
#[derive(Clone, Copy)]
pub(super) struct Line<T> {
    /// The memory variable of component 0 at cell 0 of the row; null outside of the layers.
    pub psi: *mut T,
    /// Numbers from component to component.
    pub component: usize,
    factors: [[*const T; 3]; 2],
}

impl<T: Real> Line<T> {
    /// Whether the layer changes a derivative on the row: beside a layer its factors are those of no layer. Along `z` cells are not told
    /// apart.
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
        // SAFETY: promised by the caller.
        unsafe {
            match slope.along {
                0 => Lane::load(s, factors[k].add(i)),
                _ => Lane::splat(s, *factors[k]),
            }
        }
    }
}

impl<T> Line<T> {
    /// Beside all layers.
    const NONE: Self = Self {
        psi: std::ptr::null_mut(),
        component: 0,
        factors: [[std::ptr::null(); 3]; 2],
    };

    /// Asks for memory variables.
    #[inline(always)]
    fn fetch(&self, i: usize) {
        if !self.psi.is_null() {
            (0..3).for_each(|of| prefetch(self.psi.wrapping_add(of * self.component + i)));
        }
    }
}

/// Damping of the sponge: along `z`, of the rows, of the plane.
#[derive(Clone, Copy)]
pub struct Sponge<'a, T> {
    /// Weights along `z`.
    pub z: &'a [T],
    /// Weights of the rows.
    pub rows: &'a [T],
    /// Weight of the plane.
    pub plane: T,
}

/// What both stages know of a plane. All pointers into it lead to the first cell of row 0.
pub struct Plane<'a, T> {
    /// Rows to compute.
    pub rows: Range<usize>,
    /// Cells of them; multiples of every register's length, as `z`.
    pub cells: Range<usize>,
    /// Rows that lie in the frame as a whole.
    pub framed: &'a dyn Fn(usize) -> bool,
    /// Along `z`: frame from 0 to 1, none from 1 to 2, frame from 2 to 3; multiples of every register's length.
    pub z: [usize; 4],
    /// Numbers from cell to cell along the axes.
    pub stride: [usize; 3],
    /// Weights divided by the spacing.
    pub weights: &'a [[T; MOST]; 3],
    /// Absorbing layers of the axes.
    pub layers: [Layer<'a, T>; 3],
    /// The sponge.
    pub sponge: Option<Sponge<'a, T>>,
    /// How far ahead of a cell memory is asked for, 0 for not at all: so many rows at once are more than a processor follows
    /// by itself.
    pub ahead: usize,
}

/// What a stage does with the cells of a plane.
pub(super) trait Formula<T: Real, const N: usize> {
    /// Where.
    fn plane(&self) -> &Plane<'_, T>;

    /// Computes one register of cells.
    ///
    /// # Safety
    /// The cells must be writable by this thread alone, their neighbours readable.
    unsafe fn cells<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        at: (usize, usize),
        lines: &[Line<T>; 3],
    );

    /// Asks for what no cell before has read of the cells that begin at a distance from cell 0 of row 0.
    fn fetch(&self, at: usize);
}

/// Visits every register of the plane once; those in the frame with its layers.
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
    // Without vector instructions, on no processor of today, the longer text serves all cells: it does nothing outside of layers.
    let one_text = const { size_of::<S::f32s>() == size_of::<f32>() };
    let (mask, start_of_line) = line_starts::<T>(plane.ahead > 0);
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
        for (z, framed, lines) in [
            (start..low, true, &upper),
            (low..high, (plane.framed)(row), &middle),
            (high..end, true, &lower),
        ] {
            let cells = z.start.max(plane.cells.start)..z.end.min(plane.cells.end);
            // No closures: so long a text would not be inlined into its only caller, and lose the instructions meant for it.
            for i in cells.step_by(T::lanes::<S>()) {
                if i & mask == start_of_line {
                    formula.fetch(plane.at(row, i) + plane.ahead);
                    if framed {
                        lines.iter().for_each(|line| line.fetch(i + plane.ahead));
                    }
                }
                let at = (row, opaque(i));
                match one_text || framed {
                    // SAFETY: promised by whoever made the formula.
                    true => unsafe { formula.cells::<S, true>(s, &weights, at, lines) },
                    // SAFETY: the same.
                    false => unsafe { formula.cells::<S, false>(s, &weights, at, lines) },
                }
            }
        }
    }
}

impl<T: Real> Plane<'_, T> {
    /// The layers of a row.
    #[inline(always)]
    fn lines(&self, row: usize) -> [Line<T>; 3] {
        // No closures here either: arrays of arrays that are mapped were calls, which took longer than the cells of a short row.
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

    /// What the sponge leaves of the cells.
    ///
    /// # Safety
    /// The row and the cells must lie on the plane.
    #[inline(always)]
    pub unsafe fn damped<S: Simd>(&self, s: S, x: Lane<S, T>, row: usize, i: usize) -> Lane<S, T> {
        match &self.sponge {
            None => x,
            // SAFETY: promised by the caller.
            Some(w) => unsafe {
                let outer = Lane::splat(s, *w.rows.get_unchecked(row) * w.plane);
                x * (Lane::load(s, w.z.as_ptr().add(i)) * outer)
            },
        }
    }

    /// The cells' distance from cell 0 of row 0.
    #[inline(always)]
    pub fn at(&self, row: usize, i: usize) -> usize {
        row * self.stride[1] + i
    }
}

/// The derivative half a cell `beyond` the cells (`AHEAD`) or before them, of eq. 5: summed from the far neighbours
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
    // SAFETY: promised by the caller.
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

/// A derivative: of which component, along which axis, and whether it is taken half a cell beyond a node.
#[derive(Clone, Copy)]
pub(super) struct Slope {
    pub of: usize,
    pub along: usize,
    pub half: bool,
}

impl Slope {
    /// Of a stress, on its way to the velocity `of`.
    pub fn of_stress(of: usize, along: usize) -> Self {
        let half = of == along;
        Self { of, along, half }
    }

    /// Of a velocity, which lies half a cell beyond the nodes along its own axis.
    pub fn of_velocity(of: usize, along: usize) -> Self {
        let half = of != along;
        Self { of, along, half }
    }
}

/// Eqs 6 and 7: the derivative in the layer.
///
/// # Safety
/// The line's memory variables of the cells must be writable by this thread alone.
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
    // SAFETY: promised by the caller.
    unsafe {
        let factor = |k: usize| line.factor(s, slope, k, i);
        let p = line.psi.wrapping_add(slope.of * line.component + i);
        let psi = factor(2).mul_add(Lane::load(s, p), factor(1) * d);
        psi.store(p);
        factor(0).mul_add(d, psi)
    }
}

/// `v += dt/rho D_j s_ij` on the rows of a plane; with `KEEP` the new velocities are recorded, too, for a reverse sweep.
pub struct Velocity<'a, T, const NDIM: usize, const N: usize, const KEEP: bool> {
    /// Where.
    pub plane: Plane<'a, T>,
    /// Velocities along the axes.
    pub v: [*mut T; 3],
    /// Stresses.
    pub s: [*const T; STRESSES],
    /// `dt/rho` where each velocity sits.
    pub b: [*const T; 3],
    /// Where new velocities are recorded.
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
    unsafe fn cells<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        lines: &[Line<T>; 3],
    ) {
        let at = self.plane.at(row, i);
        // SAFETY: promised by the caller.
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
