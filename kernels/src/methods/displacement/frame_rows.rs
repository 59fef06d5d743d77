//! What the absorbing frame does with a row: the one-way condition and the sponge.

use crate::boundary::one_way::Form;
use crate::device::simd::{Lane, Real};
use pulp::Simd;

/// The one-way condition between two rows, for all cells of a row (see [`crate::boundary::one_way`]).
pub struct OneWayRow<T> {
    /// `next` of this row, in place.
    pub next: *mut T,
    /// `next` of the row further in.
    pub next_in: *const T,
    /// `curr` of this row.
    pub curr: *const T,
    /// `curr` of the row further in.
    pub curr_in: *const T,
    /// How.
    pub form: Form,
    /// Factors.
    pub b: *const T,
    /// Numbers a row.
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

/// Multiplies a row by the sponge along z and the row's own factor.
pub struct SpongeRow<T> {
    /// The row.
    pub row: *mut T,
    /// Sponge along z.
    pub sponge_z: *const T,
    /// Product of the other axes.
    pub sponge: T,
    /// Numbers a row.
    pub len: usize,
}

impl<T: Real> pulp::WithSimd for SpongeRow<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let outer = Lane::splat(s, self.sponge);
        let mut i = 0;
        while i < self.len {
            // SAFETY: the caller owns `len` numbers of both rows.
            unsafe {
                let damp = Lane::load(s, self.sponge_z.add(i)) * outer;
                (Lane::load(s, self.row.add(i)) * damp).store(self.row.add(i));
            }
            i += T::lanes::<S>();
        }
    }
}
