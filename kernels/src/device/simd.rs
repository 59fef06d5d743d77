//! Vector registers, for float32 (runs) and float64 (tests of order and precision) alike.

use pulp::{Simd, WithSimd};

/// An instruction set for which formulas are compiled.
#[derive(Clone, Copy)]
pub struct Arch(pulp::Arch);

impl Arch {
    /// The widest instruction set that this machine supports.
    pub fn of_this_machine() -> Self {
        Self(pulp::Arch::new())
    }

    /// Bits of a register.
    pub fn bits(self) -> usize {
        struct Width;
        impl WithSimd for Width {
            type Output = usize;
            fn with_simd<S: Simd>(self, _: S) -> usize {
                8 * size_of::<S::f32s>()
            }
        }
        self.0.dispatch(Width)
    }

    /// This instruction set, or the widest set with registers of at most `bits` bits.
    pub fn at_most(self, bits: usize) -> Self {
        Self(match self.0 {
            arch if self.bits() <= bits => arch,
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V4(_) if bits >= 256 => {
                pulp::x86::V3::try_new().map_or(pulp::Arch::Scalar, pulp::Arch::V3)
            }
            _ => pulp::Arch::Scalar,
        })
    }

    /// Name of the instruction set, for logs.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V4(_) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V3(_) => "AVX2",
            pulp::Arch::Scalar => "scalar",
            #[allow(unreachable_patterns)]
            _ => "vector",
        }
    }

    /// Runs the version of a job that is compiled for this instruction set.
    #[cfg(not(test))]
    #[inline(always)]
    pub fn dispatch<Job: WithSimd>(self, job: Job) -> Job::Output {
        self.0.dispatch(job)
    }

    /// Runs a job without vector instructions. The unit tests of this crate compile the crate a second time, and
    /// formulas for vector registers would take most of that time; tests of engines in other crates run them.
    #[cfg(test)]
    pub fn dispatch<Job: WithSimd>(self, job: Job) -> Job::Output {
        pulp::Scalar::new().vectorize(job)
    }
}

/// A real number type that the engine can run in.
pub trait Real:
    bytemuck::Pod
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + std::ops::AddAssign
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    /// A register of such numbers.
    type Register<S: Simd>: bytemuck::Pod;
    /// Number of values in a register, a divisor of the row pitch.
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Register<S>>() / size_of::<Self>()
    }
    /// Rounds a float64 to this type.
    fn of(x: f64) -> Self;
    /// This number as float64.
    fn f64(self) -> f64;
    /// The same number in every lane.
    fn splat<S: Simd>(s: S, x: Self) -> Self::Register<S>;
    /// a + b
    fn lane_add<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// a - b
    fn lane_sub<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// a * b
    fn lane_mul<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// a / b
    fn lane_div<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// a * b + c, fused where the machine has it
    fn lane_mul_add<S: Simd>(
        s: S,
        a: Self::Register<S>,
        b: Self::Register<S>,
        c: Self::Register<S>,
    ) -> Self::Register<S>;
    /// Deinterleaves four registers, in the order of the processor's shuffles ([`Lane::seat`]).
    fn lane_deinterleave<S: Simd>(s: S, all: [Self::Register<S>; 4]) -> [Self::Register<S>; 4];
    /// The inverse of [`Real::lane_deinterleave`].
    fn lane_interleave<S: Simd>(s: S, all: [Self::Register<S>; 4]) -> [Self::Register<S>; 4];
}

macro_rules! real {
    ($t:ty, $reg:ident, $splat:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $fma:ident, $deinterleave:ident, $interleave:ident) => {
        impl Real for $t {
            type Register<S: Simd> = S::$reg;
            fn of(x: f64) -> Self {
                x as $t
            }
            fn f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn splat<S: Simd>(s: S, x: Self) -> S::$reg {
                s.$splat(x)
            }
            #[inline(always)]
            fn lane_add<S: Simd>(s: S, a: S::$reg, b: S::$reg) -> S::$reg {
                s.$add(a, b)
            }
            #[inline(always)]
            fn lane_sub<S: Simd>(s: S, a: S::$reg, b: S::$reg) -> S::$reg {
                s.$sub(a, b)
            }
            #[inline(always)]
            fn lane_mul<S: Simd>(s: S, a: S::$reg, b: S::$reg) -> S::$reg {
                s.$mul(a, b)
            }
            #[inline(always)]
            fn lane_div<S: Simd>(s: S, a: S::$reg, b: S::$reg) -> S::$reg {
                s.$div(a, b)
            }
            #[inline(always)]
            fn lane_mul_add<S: Simd>(s: S, a: S::$reg, b: S::$reg, c: S::$reg) -> S::$reg {
                s.$fma(a, b, c)
            }
            #[inline(always)]
            fn lane_deinterleave<S: Simd>(s: S, all: [S::$reg; 4]) -> [S::$reg; 4] {
                s.$deinterleave(all)
            }
            #[inline(always)]
            fn lane_interleave<S: Simd>(s: S, all: [S::$reg; 4]) -> [S::$reg; 4] {
                s.$interleave(all)
            }
        }
    };
}
real!(
    f32,
    f32s,
    splat_f32s,
    add_f32s,
    sub_f32s,
    mul_f32s,
    div_f32s,
    mul_add_e_f32s,
    deinterleave_shfl_f32s,
    interleave_shfl_f32s
);
real!(
    f64,
    f64s,
    splat_f64s,
    add_f64s,
    sub_f64s,
    mul_f64s,
    div_f64s,
    mul_add_e_f64s,
    deinterleave_shfl_f64s,
    interleave_shfl_f64s
);

/// Number of values in the widest register: float32 with AVX-512.
pub const WIDEST: usize = 16;

/// One register of `T` on instruction set `S`, with arithmetic operators.
pub struct Lane<S: Simd, T: Real> {
    simd: S,
    value: T::Register<S>,
}

/// Prefetches the cache line at `p` into the second-level cache; `p` need not be valid. It does nothing on processors
/// other than x86-64.
#[inline(always)]
pub fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a hint never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Distance of prefetching in numbers, for processors with a small second-level cache: eight cache lines of float32.
pub const AHEAD: usize = 128;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Returns `(mask, value)` such that `index & mask == value` where a cache line begins, if memory is prefetched
/// (`ahead`); otherwise the equation holds for no index. A loop over registers thus needs one comparison in either
/// case.
pub const fn line_starts<T>(ahead: bool) -> (usize, usize) {
    if ahead {
        (LINE / size_of::<T>() - 1, 0)
    } else {
        (0, 1)
    }
}

/// Returns `i` while hiding from the compiler that it is a loop index. Otherwise the compiler would keep one pointer
/// per row of a formula, increment all of them in every iteration, and spill most of them, as a processor has only
/// sixteen registers for pointers.
#[inline(always)]
pub fn opaque(i: usize) -> usize {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut i = i;
        // SAFETY: the assembly contains no instruction.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) i, options(pure, nomem, nostack, preserves_flags))
        };
        i
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    i
}

impl<S: Simd, T: Real> Clone for Lane<S, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Simd, T: Real> Copy for Lane<S, T> {}

impl<S: Simd, T: Real> Lane<S, T> {
    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(simd: S, x: T) -> Self {
        Self {
            simd,
            value: T::splat(simd, x),
        }
    }

    /// Reads consecutive numbers; no alignment is needed.
    ///
    /// # Safety
    /// `T::lanes::<S>()` numbers from `p` on must be readable.
    #[inline(always)]
    pub unsafe fn load(simd: S, p: *const T) -> Self {
        // SAFETY: guaranteed by the caller; registers are plain data.
        let value = unsafe { p.cast::<T::Register<S>>().read_unaligned() };
        Self { simd, value }
    }

    /// Writes consecutive numbers; no alignment is needed.
    ///
    /// # Safety
    /// `T::lanes::<S>()` numbers from `p` on must be writable and not used by another thread.
    #[inline(always)]
    pub unsafe fn store(self, p: *mut T) {
        // SAFETY: guaranteed by the caller.
        unsafe { p.cast::<T::Register<S>>().write_unaligned(self.value) }
    }

    /// A register whose lane `i` is `number(i)`.
    #[inline(always)]
    pub fn from_fn(simd: S, number: impl FnMut(usize) -> T) -> Self {
        let mut numbers = [T::of(0.0); WIDEST];
        let lanes = &mut numbers[..T::lanes::<S>()];
        lanes
            .iter_mut()
            .zip((0..).map(number))
            .for_each(|(lane, x)| *lane = x);
        // SAFETY: the slice has a number for every lane.
        unsafe { Self::load(simd, lanes.as_ptr()) }
    }

    /// The numbers of all lanes, followed by zeros.
    #[inline(always)]
    pub fn numbers(self) -> [T; WIDEST] {
        let mut numbers = [T::of(0.0); WIDEST];
        let lanes = &mut numbers[..T::lanes::<S>()];
        // SAFETY: the slice has an element for every lane and is borrowed exclusively.
        unsafe { self.store(lanes.as_mut_ptr()) }
        numbers
    }

    /// self * b + c
    #[inline(always)]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        Self {
            simd: self.simd,
            value: T::lane_mul_add(self.simd, self.value, b.value, c.value),
        }
    }
}

impl<S: Simd, T: Real> Lane<S, T> {
    /// The index at which [`Lane::parted`] and [`Lane::joined`] keep the four numbers of a lane: they transpose
    /// registers in pieces of four lanes.
    #[inline(always)]
    pub fn seat(lane: usize) -> usize {
        let pieces = (T::lanes::<S>() / 4).max(1);
        match T::lanes::<S>() {
            1 => lane,
            width => lane / width * width + lane % 4 * pieces + lane % width / 4,
        }
    }

    /// Deinterleaves the four numbers of every lane, which are at the indices given by [`Lane::seat`], into a register
    /// of all first numbers, a register of all second numbers, and so on.
    #[inline(always)]
    pub fn parted(simd: S, numbers: &[[T; 4]]) -> [Self; 4] {
        let numbers: &[T] = numbers[..T::lanes::<S>()].as_flattened();
        let all: [T::Register<S>; 4] = bytemuck::pod_read_unaligned(bytemuck::cast_slice(numbers));
        let [a, b, c, d] = T::lane_deinterleave(simd, all);
        [
            Self { simd, value: a },
            Self { simd, value: b },
            Self { simd, value: c },
            Self { simd, value: d },
        ]
    }

    /// The inverse of [`Lane::parted`].
    #[inline(always)]
    pub fn joined(registers: [Self; 4], numbers: &mut [[T; 4]]) {
        let [a, b, c, d] = registers;
        let all = T::lane_interleave(a.simd, [a.value, b.value, c.value, d.value]);
        let numbers = numbers[..T::lanes::<S>()].as_flattened_mut();
        bytemuck::cast_slice_mut(numbers).copy_from_slice(bytemuck::bytes_of(&all));
    }
}

macro_rules! operator {
    ($tr:ident, $f:ident, $lane:ident) => {
        impl<S: Simd, T: Real> std::ops::$tr for Lane<S, T> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, b: Self) -> Self {
                Self {
                    simd: self.simd,
                    value: T::$lane(self.simd, self.value, b.value),
                }
            }
        }
    };
}
operator!(Add, add, lane_add);
operator!(Sub, sub, lane_sub);
operator!(Mul, mul, lane_mul);
operator!(Div, div, lane_div);
