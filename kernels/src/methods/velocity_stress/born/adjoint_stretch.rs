//! The transpose of stretched derivatives, one SIMD register of cells at a time, and the memory that it needs in a
//! layer.

use crate::device::simd::{Lane, Real};
use crate::methods::velocity_stress::rows::{Line, Slope, derive};
use pulp::Simd;

/// The number of an axis among the axes of a run.
pub const fn rank(ndim: usize, axis: usize) -> usize {
    if ndim == 3 { axis } else { axis / 2 }
}

/// The memory of a layer, `[entry][cell of the layer]`: the first index of each kind of entry, and their total number.
pub mod kept {
    /// Memory variables of the adjoint forces, by component.
    pub const FORCES: usize = 0;

    /// Changes of the adjoint forces by stretching, by component.
    pub const fn stretched_forces(ndim: usize) -> usize {
        ndim
    }

    /// Changes of the adjoint strain rates by stretching, by the component that is differentiated.
    pub const fn stretched_strains(ndim: usize) -> usize {
        2 * ndim
    }

    /// Memory variables of the adjoint stresses: normal ones by axis, then shear stresses by their other axis.
    pub const fn stresses(ndim: usize) -> usize {
        3 * ndim
    }

    /// Memory variables of the relaxing part of the adjoint stresses.
    pub const fn relaxing(ndim: usize) -> usize {
        stresses(ndim) + 2 * ndim - 1
    }

    /// Total number of entries.
    pub const fn all(ndim: usize, lossy: bool) -> usize {
        if lossy {
            relaxing(ndim) + 2 * ndim - 1
        } else {
            relaxing(ndim)
        }
    }

    /// The index of the shear stress with another axis among the memory variables of a layer across `axis`.
    pub const fn shear(ndim: usize, axis: usize, other: usize) -> usize {
        let (axis, other) = (super::rank(ndim, axis), super::rank(ndim, other));
        ndim + if other > axis { other - 1 } else { other }
    }
}

/// Stretches the adjoint `x` of a derivative in a layer, with the memory variable at entry `part`.
///
/// # Safety
/// The line must lie in a layer whose memory only this thread accesses.
#[inline(always)]
pub unsafe fn unstretched<S: Simd, T: Real>(
    s: S,
    x: Lane<S, T>,
    line: &Line<T>,
    (slope, part): (Slope, usize),
    i: usize,
) -> Lane<S, T> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let at = line.psi.wrapping_add(part * line.component + i);
        let p = x + Lane::load(s, at.cast_const());
        (line.factor(s, slope, 2, i) * p).store(at);
        line.factor(s, slope, 0, i)
            .mul_add(x, line.factor(s, slope, 1, i) * p)
    }
}

/// Address of entry `part` of the cells from `i` on; null outside the layer.
#[inline(always)]
pub fn part_of<T>(line: &Line<T>, part: usize, i: usize) -> *const T {
    match line.psi.is_null() {
        true => std::ptr::null(),
        false => line.psi.wrapping_add(part * line.component + i).cast_const(),
    }
}

/// The derivative of a field plus the derivative of its change by stretching, half a cell ahead (`half`) or behind;
/// `from` points to the cells of both.
///
/// # Safety
/// `N` neighbours on either side must be readable, including those in the layer.
#[inline(always)]
pub unsafe fn slope_of<S: Simd, T: Real, const N: usize, const FRAMED: bool>(
    s: S,
    from: [*const T; 2],
    stride: usize,
    w: &[Lane<S, T>; N],
    half: bool,
) -> Lane<S, T> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut d = derive(s, from[0], stride, w, half);
        if FRAMED && !from[1].is_null() {
            d = d + derive(s, from[1], stride, w, half);
        }
        d
    }
}
