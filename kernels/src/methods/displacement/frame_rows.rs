//! The absorbing frame on a row: the one-way condition and the sponge.

use crate::boundary::one_way::Form;
use crate::device::simd::{Lane, Real};
use pulp::Simd;
use std::ops::Range;

/// The one-way condition between two rows, for all cells of a row (see [`crate::boundary::one_way`]).
pub struct OneWayRow<T> {
    /// `next` of this row, in place.
    pub next: *mut T,
    /// `next` of the adjacent row towards the interior.
    pub next_in: *const T,
    /// `curr` of this row.
    pub curr: *const T,
    /// `curr` of the adjacent row towards the interior.
    pub curr_in: *const T,
    /// Form of the condition.
    pub form: Form,
    /// Factors `b`.
    pub b: *const T,
    /// Length of the rows.
    pub len: usize,
}

impl<T: Real> pulp::WithSimd for OneWayRow<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let mut i = 0;
        while i < self.len {
            // SAFETY: the caller owns `len` numbers of all five rows.
            unsafe {
                let load = |p: *const T| Lane::load(s, p.add(i));
                let (curr, next_in, b) = (load(self.curr), load(self.next_in), load(self.b));
                let next = match self.form {
                    Form::Box => (curr - next_in).mul_add(b, load(self.curr_in)),
                    // 1/(1+q) = (1+b)/2 and q/(1+q) = (1-b)/2.
                    Form::Upwind => (curr - next_in).mul_add(b, curr + next_in) * Lane::splat(s, T::of(0.5)),
                };
                next.store(self.next.add(i));
            }
            i += T::lanes::<S>();
        }
    }
}

/// Multiplies a row of each component by the sponge along z and the factor of the row.
pub struct SpongeRow<'a, T> {
    /// Cell 0 of the row, for each component.
    pub rows: &'a [*mut T],
    /// Weights of the sponge along z, from cell 0.
    pub sponge_z: *const T,
    /// Product of the weights of the other axes.
    pub sponge: T,
    /// The cells that are damped; their lengths are multiples of a register.
    pub parts: [Range<usize>; 2],
}

impl<T: Real> pulp::WithSimd for SpongeRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let outer = Lane::splat(s, self.sponge);
        for part in self.parts {
            for &row in self.rows {
                let mut i = part.start;
                while i < part.end {
                    // SAFETY: the caller owns these cells of the rows and of the weights.
                    unsafe {
                        let damp = Lane::load(s, self.sponge_z.add(i)) * outer;
                        (Lane::load(s, row.add(i)) * damp).store(row.add(i));
                    }
                    i += T::lanes::<S>();
                }
            }
        }
    }
}
