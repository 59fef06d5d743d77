//! Elastic wave physics and the machines that run it.
//!
//! Arrays are `[component][plane][row][z]`, `z` fastest: in 3-D a row runs along `z`, rows follow each other along
//! `x` and planes along `y`; in 2-D a plane is a single row and planes follow each other along `x`. This is the axis
//! order of RSF files. Triples such as [`grid::Grid::n`] are ordered `z, x, y`. The folder's `README.md` maps every
//! equation to its file and draws a slab with its ghosts.

// What a method alone uses is not used in a build without it.
#![cfg_attr(
    not(all(feature = "spectral-elements", feature = "velocity-stress")),
    allow(dead_code, unused_imports)
)]

/// Calls a method that is compiled in this crate for each of the listed types, which are all that come here. Generic code is
/// else compiled again in every crate that runs it, and formulas of all orders, degrees and processors take minutes.
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
    // For each number of dimensions, which the type of the argument has, too.
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
            // SAFETY: `this` has that number of dimensions, so that both are names of one type.
            return here(this, unsafe { crate::renamed::<_, $type>($argument) });
        }
    }};
}

/// A value of a generic function under the name that its type has where the parameters are known.
///
/// # Safety
/// Both are names of one type.
unsafe fn renamed<A, B>(value: A) -> B {
    const { assert!(size_of::<A>() == size_of::<B>()) };
    let value = std::mem::ManuallyDrop::new(value);
    // SAFETY: the types are the same, and the first name is not dropped.
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
pub mod source;
pub mod stability;
pub mod time_loop;
mod timing;

#[cfg(test)]
#[path = "../../tests/support/largest.rs"]
mod largest;

pub use error::Error;
