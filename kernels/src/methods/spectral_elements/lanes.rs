//! Vector lanes with one element each, and registers that hold some of them.

use super::Number;
use pulp::Simd;

use crate::device::simd::{Lane, Real};

/// Number of elements that are computed at once, one in each lane: one register of AVX-512, or two of AVX2.
pub(super) const LANES: usize = 16;

/// One number of every element of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Lanes(pub(super) [Number; LANES]);

impl Lanes {
    /// Zero in every lane.
    pub(super) const ZERO: Self = Self([0.0; LANES]);
}

/// A register of some lanes of a block.
pub(super) type Register<S> = Lane<S, Number>;

/// The lanes of a block in one register.
#[derive(Clone, Copy)]
pub(super) struct Part<S> {
    simd: S,
    first: usize,
}

impl<S: Simd> Part<S> {
    /// The parts that make up a block.
    #[inline(always)]
    pub(super) fn all(simd: S) -> impl Iterator<Item = Self> {
        let width = Number::lanes::<S>();
        (0..LANES / width).map(move |k| Self {
            simd,
            first: k * width,
        })
    }

    #[inline(always)]
    pub(super) fn load(self, lanes: &Lanes) -> Register<S> {
        // SAFETY: `first` is a multiple of the register's width below LANES, which that width divides.
        unsafe { Lane::load(self.simd, lanes.0.as_ptr().add(self.first)) }
    }

    #[inline(always)]
    pub(super) fn store(self, lanes: &mut Lanes, numbers: Register<S>) {
        // SAFETY: as in `load`, and the lanes are borrowed only here.
        unsafe { numbers.store(lanes.0.as_mut_ptr().add(self.first)) }
    }

    /// The index at which [`Part::parted`] and [`Part::joined`] hold the four numbers of a lane of the block.
    #[inline(always)]
    pub(super) fn seat(lane: usize) -> usize {
        Register::<S>::seat(lane)
    }

    /// Splits the four numbers of every lane, at the indices of [`Part::seat`], into one register of these
    /// lanes for each of the four.
    #[inline(always)]
    pub(super) fn parted(self, numbers: &[[Number; 4]; LANES]) -> [Register<S>; 4] {
        Lane::parted(self.simd, &numbers[self.first..])
    }

    /// The inverse of [`Part::parted`].
    #[inline(always)]
    pub(super) fn joined(self, registers: [Register<S>; 4], numbers: &mut [[Number; 4]; LANES]) {
        Lane::joined(registers, &mut numbers[self.first..]);
    }

    /// The same number in all lanes.
    #[inline(always)]
    pub(super) fn splat(self, x: Number) -> Register<S> {
        Lane::splat(self.simd, x)
    }

    #[inline(always)]
    pub(super) fn zero(self) -> Register<S> {
        self.splat(0.0)
    }
}
