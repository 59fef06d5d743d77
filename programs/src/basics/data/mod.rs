//! Programs that make, cut, join and look at datasets.

pub mod cube;
mod pad;
mod put;
mod spike;
mod window;

use super::Programs;

/// Programs of this folder.
pub const PROGRAMS: Programs = &[
    (&spike::SPEC, spike::run),
    (&window::SPEC, window::run),
    (&pad::SPEC, pad::run),
    (&put::SPEC, put::run),
];
