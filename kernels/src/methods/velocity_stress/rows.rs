//! The formulas of a cell, a register of cells at a time (Michea & Komatitsch 2010, eqs 2 and 5-7).
//!
//! Axes are numbered 0 = `z`, 1 = from row to row (x in 3-D, absent in 2-D), 2 = the slowest one (y in 3-D, x in 2-D),
//! so that one text serves both dimensions. Stresses and stiffnesses stand where [`PAIR`] says.

use crate::device::simd::{Lane, Real};
use crate::grid::PITCH;
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

/// The axes of a run.
#[inline(always)]
fn axes<const NDIM: usize>() -> [usize; NDIM] {
    std::array::from_fn(|k| if NDIM == 2 { 2 * k } else { k })
}

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
}

/// A layer on one row.
#[derive(Clone, Copy)]
struct Line<T> {
    psi: *mut T,
    component: usize,
    factors: [[*const T; 3]; 2],
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
}

/// What a stage does with the cells of a plane.
trait Formula<T: Real, const N: usize> {
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
}

/// Visits every register of the plane once; those in the frame with its layers.
#[inline(always)]
fn walk<S: Simd, T: Real, F: Formula<T, N>, const N: usize>(s: S, formula: &F) {
    let plane = formula.plane();
    let splat = |w: [T; MOST]| std::array::from_fn(|m| Lane::splat(s, w[m]));
    let weights: [[Lane<S, T>; N]; 3] = plane.weights.map(splat);
    let [start, low, high, end] = plane.z;
    for row in plane.rows.clone() {
        let upper = plane.lines(row);
        let (mut middle, mut lower) = (upper, upper);
        middle[0].psi = std::ptr::null_mut();
        if !upper[0].psi.is_null() {
            lower[0].psi = upper[0].psi.wrapping_sub(high - low);
        }
        for (z, framed, lines) in [
            (start..low, true, &upper),
            (low..high, (plane.framed)(row), &middle),
            (high..end, true, &lower),
        ] {
            let cells = z.start.max(plane.cells.start)..z.end.min(plane.cells.end);
            for i in cells.step_by(T::lanes::<S>()) {
                match framed {
                    // SAFETY: promised by whoever made the formula.
                    true => unsafe { formula.cells::<S, true>(s, &weights, (row, i), lines) },
                    // SAFETY: the same.
                    false => unsafe { formula.cells::<S, false>(s, &weights, (row, i), lines) },
                }
            }
        }
    }
}

impl<T: Real> Plane<'_, T> {
    /// The layers of a row.
    #[inline(always)]
    fn lines(&self, row: usize) -> [Line<T>; 3] {
        [0, 1, 2].map(|axis| {
            let layer = &self.layers[axis];
            let start = match layer.psi.is_null() {
                true => NONE,
                false => layer.starts[row],
            };
            Line {
                psi: match start {
                    NONE => std::ptr::null_mut(),
                    _ => layer.psi.wrapping_add(start),
                },
                component: layer.component,
                factors: layer
                    .factors
                    .map(|f| f.map(|p| p.wrapping_add(row * layer.per_row))),
            }
        })
    }

    /// What the sponge leaves of the cells.
    ///
    /// # Safety
    /// The row and the cells must lie on the plane.
    #[inline(always)]
    unsafe fn damped<S: Simd>(&self, s: S, x: Lane<S, T>, row: usize, i: usize) -> Lane<S, T> {
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
    fn at(&self, row: usize, i: usize) -> usize {
        row * self.stride[1] + i
    }
}

/// The derivative half a cell `beyond` the cells (`AHEAD`) or before them, of eq. 5: summed from the far neighbours
/// inwards.
///
/// # Safety
/// `N` neighbours on either side must be readable.
#[inline(always)]
unsafe fn derive<S: Simd, T: Real, const N: usize>(
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
struct Slope {
    of: usize,
    along: usize,
    half: bool,
}

impl Slope {
    /// Of a stress, on its way to the velocity `of`.
    fn of_stress(of: usize, along: usize) -> Self {
        let half = of == along;
        Self { of, along, half }
    }

    /// Of a velocity, which lies half a cell beyond the nodes along its own axis.
    fn of_velocity(of: usize, along: usize) -> Self {
        let half = of != along;
        Self { of, along, half }
    }
}

/// Eqs 6 and 7: the derivative in the layer.
///
/// # Safety
/// The line's memory variables of the cells must be writable by this thread alone.
#[inline(always)]
unsafe fn stretched<S: Simd, T: Real>(
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
        let half = usize::from(slope.half);
        let factor = |k: usize| match slope.along {
            0 => Lane::load(s, line.factors[half][k].add(i)),
            _ => Lane::splat(s, *line.factors[half][k]),
        };
        let p = line.psi.wrapping_add(slope.of * line.component + i);
        let psi = factor(2).mul_add(Lane::load(s, p), factor(1) * d);
        psi.store(p);
        factor(0).mul_add(d, psi)
    }
}

/// `v += dt/rho D_j s_ij` on the rows of a plane.
pub struct Velocity<'a, T, const NDIM: usize, const N: usize> {
    /// Where.
    pub plane: Plane<'a, T>,
    /// Velocities along the axes.
    pub v: [*mut T; 3],
    /// Stresses.
    pub s: [*const T; STRESSES],
    /// `dt/rho` where each velocity sits.
    pub b: [*const T; 3],
}

impl<T: Real, const NDIM: usize, const N: usize> pulp::WithSimd for Velocity<'_, T, NDIM, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        walk::<S, T, Self, N>(s, &self);
    }
}

impl<T: Real, const NDIM: usize, const N: usize> Formula<T, N> for Velocity<'_, T, NDIM, N> {
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
            for t in axes::<NDIM>() {
                let mut sum = Lane::splat(s, T::of(0.0));
                for a in axes::<NDIM>() {
                    let from = self.s[PAIR[t][a]].add(at);
                    let mut d = derive(s, from, self.plane.stride[a], &weights[a], a == t);
                    if FRAMED {
                        d = stretched(s, d, &lines[a], Slope::of_stress(t, a), i);
                    }
                    sum = sum + d;
                }
                let v = self.v[t].add(at);
                let mut new = Lane::load(s, self.b[t].add(at)).mul_add(sum, Lane::load(s, v.cast_const()));
                if FRAMED {
                    new = self.plane.damped(s, new, row, i);
                }
                new.store(v);
            }
        }
    }
}

/// How a mechanism goes on in a step, cell by cell along `z`: `r <- keep r - take (relaxing rate of stress)`.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<T> {
    /// What stays of the memory variable.
    pub keep: [T; PITCH],
    /// What a rate adds, with its sign changed.
    pub take: [T; PITCH],
}

/// The memory variables of attenuation on a plane.
#[derive(Clone, Copy)]
pub struct Loss<'a, T> {
    /// The first number of each stress.
    pub r: [*mut T; STRESSES],
    /// Numbers from mechanism to mechanism.
    pub mechanism: usize,
    /// By mechanism and whether the row is odd.
    pub patterns: &'a [[Pattern<T>; 2]],
    /// `dt` times the relaxing stiffness, as [`PAIR`] says.
    pub c: [*const T; STIFFNESSES],
}

/// `s_ij += dt c_ijkl e_kl` on the rows of a plane, `e` the strain rate; with `LOSSY` also what relaxes of it.
pub struct Stress<'a, T, const NDIM: usize, const N: usize, const LOSSY: bool> {
    /// Where.
    pub plane: Plane<'a, T>,
    /// Velocities along the axes.
    pub v: [*const T; 3],
    /// Stresses.
    pub s: [*mut T; STRESSES],
    /// `dt c` where each stress sits, as [`PAIR`] says.
    pub c: [*const T; STIFFNESSES],
    /// Attenuation.
    pub loss: Option<Loss<'a, T>>,
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> pulp::WithSimd
    for Stress<'_, T, NDIM, N, LOSSY>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        walk::<S, T, Self, N>(s, &self);
    }
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> Formula<T, N>
    for Stress<'_, T, NDIM, N, LOSSY>
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
            let mut e = [Lane::splat(s, T::of(0.0)); 3];
            for t in axes::<NDIM>() {
                e[t] = self.slope::<S, FRAMED>(s, weights, (row, i), Slope::of_velocity(t, t), lines);
            }
            for t in axes::<NDIM>() {
                let rate = normal::<S, T, NDIM>(s, &self.c, &e, t, at);
                let relaxing = match &self.loss {
                    Some(loss) if LOSSY => normal::<S, T, NDIM>(s, &loss.c, &e, t, at),
                    _ => rate,
                };
                self.add::<S, FRAMED>(s, (row, i), t, [rate, relaxing]);
            }
            for t in axes::<NDIM>() {
                for a in axes::<NDIM>() {
                    if a > t {
                        let one =
                            self.slope::<S, FRAMED>(s, weights, (row, i), Slope::of_velocity(a, t), lines);
                        let other =
                            self.slope::<S, FRAMED>(s, weights, (row, i), Slope::of_velocity(t, a), lines);
                        let (shear, k) = (one + other, PAIR[t][a]);
                        let rate = Lane::load(s, self.c[3 + k].add(at)) * shear;
                        let relaxing = match &self.loss {
                            Some(loss) if LOSSY => Lane::load(s, loss.c[3 + k].add(at)) * shear,
                            _ => rate,
                        };
                        self.add::<S, FRAMED>(s, (row, i), k, [rate, relaxing]);
                    }
                }
            }
        }
    }
}

/// The rate of a normal stress from the rates of the normal strains.
///
/// # Safety
/// The stiffnesses of the cells must be readable.
#[inline(always)]
unsafe fn normal<S: Simd, T: Real, const NDIM: usize>(
    s: S,
    c: &[*const T; STIFFNESSES],
    e: &[Lane<S, T>; 3],
    t: usize,
    at: usize,
) -> Lane<S, T> {
    // SAFETY: promised by the caller.
    unsafe {
        let mut rate = Lane::load(s, c[t].add(at)) * e[t];
        for a in axes::<NDIM>() {
            if a != t {
                rate = Lane::load(s, c[PAIR[t][a]].add(at)).mul_add(e[a], rate);
            }
        }
        rate
    }
}

impl<T: Real, const NDIM: usize, const N: usize, const LOSSY: bool> Stress<'_, T, NDIM, N, LOSSY> {
    /// The derivative of velocity `of` along an axis, where the stress sits that needs it.
    ///
    /// # Safety
    /// As for the cells.
    #[inline(always)]
    unsafe fn slope<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        weights: &[[Lane<S, T>; N]; 3],
        (row, i): (usize, usize),
        slope: Slope,
        lines: &[Line<T>; 3],
    ) -> Lane<S, T> {
        let Slope { of, along, half } = slope;
        // SAFETY: promised by the caller.
        unsafe {
            let from = self.v[of].add(self.plane.at(row, i));
            let d = derive(s, from, self.plane.stride[along], &weights[along], half);
            match FRAMED {
                true => stretched(s, d, &lines[along], slope, i),
                false => d,
            }
        }
    }

    /// Adds a rate to a stress, and what its relaxing part leaves of it.
    ///
    /// # Safety
    /// As for the cells.
    #[inline(always)]
    unsafe fn add<S: Simd, const FRAMED: bool>(
        &self,
        s: S,
        (row, i): (usize, usize),
        stress: usize,
        [rate, relaxing]: [Lane<S, T>; 2],
    ) {
        // SAFETY: promised by the caller.
        unsafe {
            let at = self.plane.at(row, i);
            let p = self.s[stress].add(at);
            let mut new = Lane::load(s, p.cast_const()) + rate;
            if LOSSY && let Some(loss) = &self.loss {
                for (k, patterns) in loss.patterns.iter().enumerate() {
                    let pattern = &patterns[row & 1];
                    let of = |numbers: &[T; PITCH]| Lane::load(s, numbers.as_ptr().add(i % PITCH));
                    let r = loss.r[stress].add(k * loss.mechanism + at);
                    let old = Lane::load(s, r.cast_const());
                    let next = of(&pattern.keep) * old - of(&pattern.take) * relaxing;
                    next.store(r);
                    new = Lane::splat(s, T::of(0.5)).mul_add(old + next, new);
                }
            }
            if FRAMED {
                new = self.plane.damped(s, new, row, i);
            }
            new.store(p);
        }
    }
}
