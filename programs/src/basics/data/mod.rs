//! Programs that make, cut, join and look at datasets.

mod add;
mod attr;
mod byte;
mod cat;
pub mod cube;
mod dd;
mod disfil;
mod files;
mod get;
mod info;
mod math;
mod noise;
mod order;
mod pad;
mod parts;
mod pattern;
mod put;
mod ricker1;
mod scale;
mod smooth;
mod spike;
mod stack;
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
    (&cat::RCAT, cat::run),
    (&transp::SPEC, transp::run),
    (&put::SPEC, put::run),
    (&pad::SPEC, pad::run),
    (&scale::SPEC, scale::run),
    (&add::SPEC, add::run),
    (&add::MUL, add::mul),
    (&add::DIV, add::div),
    (&ricker1::SPEC, ricker1::run),
    (&noise::SPEC, noise::run),
    (&smooth::SPEC, smooth::run),
    (&stack::SPEC, stack::run),
    (&stack::MAX, stack::max),
    (&stack::MIN, stack::min),
    (&stack::PROD, stack::prod),
    (&stack::RMS, stack::rms),
    (&order::REVERSE, order::reverse),
    (&order::ROTATE, order::rotate),
    (&dd::SPEC, dd::run),
    (&byte::SPEC, byte::run),
    (&parts::REAL, parts::real),
    (&parts::IMAG, parts::imag),
    (&parts::CMPLX, parts::cmplx),
    (&parts::RTOC, parts::rtoc),
    (&info::SPEC, info::run),
    (&attr::SPEC, attr::run),
    (&get::SPEC, get::run),
    (&disfil::SPEC, disfil::run),
    (&files::CP, files::cp),
    (&files::MV, files::mv),
    (&files::RM, files::rm),
];
