//! The transpose of stretched derivatives, a register of cells at a time, and what is kept of it in a layer.

use crate::device::simd::{Lane, Real};
use crate::methods::velocity_stress::rows::{Line, Slope, derive};
use pulp::Simd;

/// The number of an axis among those of a run.
pub const fn rank(ndim: usize, axis: usize) -> usize {
    if ndim == 3 { axis } else { axis / 2 }
}

/// What is kept in a layer, `[part][number]`, every number for all cells of the layer: the parts, and how many numbers.
pub mod kept {
    /// Memory of the adjoints of forces, by component.
    pub const FORCES: usize = 0;

    /// By how much the adjoints of forces change as they are stretched, by component.
    pub const fn stretched_forces(ndim: usize) -> usize {
        ndim
    }

    /// The same of rates of strain, by the component that is differentiated.
    pub const fn stretched_strains(ndim: usize) -> usize {
        2 * ndim
    }

    /// Memory of the adjoints of stresses: normal ones by axis, then shears by their other axis.
    pub const fn stresses(ndim: usize) -> usize {
        3 * ndim
    }

    /// The same of what relaxes.
    pub const fn relaxing(ndim: usize) -> usize {
        stresses(ndim) + 2 * ndim - 1
    }

    /// Numbers in all.
    pub const fn all(ndim: usize, lossy: bool) -> usize {
        if lossy {
            relaxing(ndim) + 2 * ndim - 1
        } else {
            relaxing(ndim)
        }
    }

    /// The place of the shear with another axis among the memory of a layer across `axis`.
    pub const fn shear(ndim: usize, axis: usize, other: usize) -> usize {
        let (axis, other) = (super::rank(ndim, axis), super::rank(ndim, other));
        ndim + if other > axis { other - 1 } else { other }
    }
}

/// Stretches the adjoint `x` of a derivative in a layer, with the memory of place `part`.
///
/// # Safety
/// The line must lie in a layer whose memory this thread alone uses.
#[inline(always)]
pub unsafe fn unstretched<S: Simd, T: Real>(
    s: S,
    x: Lane<S, T>,
    line: &Line<T>,
    (slope, part): (Slope, usize),
    i: usize,
) -> Lane<S, T> {
    // SAFETY: promised by the caller.
    unsafe {
        let at = line.psi.wrapping_add(part * line.component + i);
        let p = x + Lane::load(s, at.cast_const());
        (line.factor(s, slope, 2, i) * p).store(at);
        line.factor(s, slope, 0, i)
            .mul_add(x, line.factor(s, slope, 1, i) * p)
    }
}

/// Where the cells from `i` on have number `part` of a layer; null outside of it.
#[inline(always)]
pub fn part_of<T>(line: &Line<T>, part: usize, i: usize) -> *const T {
    match line.psi.is_null() {
        true => std::ptr::null(),
        false => line.psi.wrapping_add(part * line.component + i).cast_const(),
    }
}

/// The derivative of a field, half a cell ahead (`half`) or behind, with what its stretching adds: `from` has the cells of both.
///
/// # Safety
/// `N` neighbours on either side must be readable, of the layer, too.
#[inline(always)]
pub unsafe fn slope_of<S: Simd, T: Real, const N: usize, const FRAMED: bool>(
    s: S,
    from: [*const T; 2],
    stride: usize,
    w: &[Lane<S, T>; N],
    half: bool,
) -> Lane<S, T> {
    // SAFETY: promised by the caller.
    unsafe {
        let mut d = derive(s, from[0], stride, w, half);
        if FRAMED && !from[1].is_null() {
            d = d + derive(s, from[1], stride, w, half);
        }
        d
    }
}
