//! Elastic wave physics and the machines that run it.
//!
//! Arrays are `[component][plane][row][z]`, `z` fastest: in 3-D a row runs along `z`, rows follow each other along
//! `x` and planes along `y`; in 2-D a plane is a single row and planes follow each other along `x`. This is the axis
//! order of RSF files. Triples such as [`grid::Grid::n`] are ordered `z, x, y`. The folder's `README.md` maps every
//! equation to its file and draws a slab with its ghosts.

pub mod boundary;
pub mod device;
pub mod error;
pub mod grid;
pub mod medium;
pub mod mesh;
pub mod methods;
pub mod parallel;
pub mod stability;
pub mod time_loop;
mod timing;

#[cfg(test)]
#[path = "../../tests/support/largest.rs"]
mod largest;

pub use error::Error;
