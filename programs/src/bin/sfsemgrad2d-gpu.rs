//! Misfit and gradient of an elastic survey on a mesh in 2-D. Everything is in `programs::modelling::spectral_elements::adjoint::gradient`.

use programs::modelling::main as start;
use programs::modelling::spectral_elements::adjoint::gradient::{PROGRAM_2D, run_2d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
