//! Elastic wave propagation on processors and GPUs.
//!
//! Arrays are `[component][plane][row][z]`, `z` fastest: in 3-D a row runs along `z`, rows follow each other along
//! `x` and planes along `y`; in 2-D a plane is a single row and planes follow each other along `x`. This is the axis
//! order of RSF files. Triples such as [`grid::Grid::n`] are ordered `z, x, y`. The folder's `README.md` maps every
//! equation to its file and draws a slab with its ghosts.

// Items that only one method uses are dead code in a build without that method.
#![cfg_attr(
    not(all(feature = "spectral-elements", feature = "velocity-stress")),
    allow(dead_code, unused_imports)
)]

/// Calls a generic method through one of the listed concrete types, so that the method is compiled in this crate. The
/// list must contain all types that occur. Otherwise every crate that calls generic code compiles it again, which
/// takes minutes for all orders, degrees and instruction sets.
macro_rules! compiled_here {
    ($this:ident: $($concrete:ty)|+, $method:ident($argument:expr): $type:ty) => {{
        let any: &mut dyn std::any::Any = $this;
        $(if let Some(this) = any.downcast_mut::<$concrete>() {
            #[inline(never)]
            fn here(this: &mut $concrete, argument: $type) {
                this.$method(argument);
            }
            return here(this, $argument);
        })+
        unreachable!("every type that comes here is listed")
    }};
    ($this:ident: $($concrete:ty)|+, $method:ident()) => {{
        let any: &mut dyn std::any::Any = $this;
        $(if let Some(this) = any.downcast_mut::<$concrete>() {
            #[inline(never)]
            fn here(this: &mut $concrete) {
                this.$method();
            }
            return here(this);
        })+
        unreachable!("every type that comes here is listed")
    }};
    (&$this:ident: $($concrete:ty)|+, $method:ident() -> $out:ty) => {{
        let any: &dyn std::any::Any = $this;
        $(if let Some(this) = any.downcast_ref::<$concrete>() {
            #[inline(never)]
            fn here(this: &$concrete) -> $out {
                this.$method()
            }
            return here(this);
        })+
        unreachable!("every type that comes here is listed")
    }};
    // If the type of the argument depends on the number of dimensions, a call is compiled for each of them.
    (&$this:ident: $dims:ident in [$($n:literal),+], $call:tt) => {{
        $(compiled_here!(@ $this, $dims, $n, $call);)+
        unreachable!("every number of dimensions that comes here is listed")
    }};
    (@ $this:ident, $dims:ident, $n:literal, ($concrete:ty, $method:ident($argument:ident: $type:ty))) => {{
        const $dims: usize = $n;
        let any: &dyn std::any::Any = $this;
        if let Some(this) = any.downcast_ref::<$concrete>() {
            #[inline(never)]
            fn here(this: &$concrete, argument: $type) {
                this.$method(argument);
            }
            // SAFETY: `this` has that number of dimensions, so both types are the same.
            return here(this, unsafe { crate::renamed::<_, $type>($argument) });
        }
    }};
}

/// Converts a value of generic type `A` to `B`, the same type with its parameters known.
///
/// # Safety
/// `A` and `B` must be the same type.
unsafe fn renamed<A, B>(value: A) -> B {
    const { assert!(size_of::<A>() == size_of::<B>()) };
    let value = std::mem::ManuallyDrop::new(value);
    // SAFETY: the types are the same, and `ManuallyDrop` keeps the original from being dropped.
    unsafe { std::ptr::from_ref(&value).cast::<B>().read() }
}

pub mod boundary;
pub mod communicator;
pub mod device;
pub mod earth;
pub mod error;
pub mod grid;
pub mod medium;
pub mod mesh;
pub mod methods;
pub mod misfit;
pub mod parallel;
pub mod receiver;
pub mod source;
pub mod stability;
pub mod time_loop;
mod timing;

#[cfg(test)]
#[allow(clippy::duplicate_mod)] // `exact` includes it, too
#[path = "../../tests/support/largest.rs"]
mod largest;

// Tests of exactness, which other targets run, too, are run here in double precision. They name this crate as other crates do.
#[cfg(all(test, feature = "spectral-elements"))]
extern crate self as kernels;
#[cfg(all(test, feature = "spectral-elements"))]
#[path = "../../tests/spectral_elements/exact/mod.rs"]
#[allow(dead_code)] // the other targets use all of it
#[allow(clippy::useless_conversion, clippy::unnecessary_cast)] // they convert from single precision
mod exact;

pub use error::{Error, Hint, Message, Part};
