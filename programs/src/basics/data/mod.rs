//! Programs that make, cut, join and look at datasets.

mod add;
mod cat;
pub mod cube;
mod math;
mod noise;
mod pad;
mod put;
mod ricker1;
mod scale;
mod spike;
mod transp;
mod window;

use super::Programs;

/// Programs of this folder.
pub const PROGRAMS: Programs = &[
    (&spike::SPEC, spike::run),
    (&math::SPEC, math::run),
    (&window::SPEC, window::run),
    (&cat::SPEC, cat::run),
    (&cat::MERGE, cat::merge),
    (&transp::SPEC, transp::run),
    (&put::SPEC, put::run),
    (&pad::SPEC, pad::run),
    (&scale::SPEC, scale::run),
    (&add::SPEC, add::run),
    (&ricker1::SPEC, ricker1::run),
    (&noise::SPEC, noise::run),
];
