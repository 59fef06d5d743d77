//! Misfit and gradient of an elastic survey on a mesh in 3-D. Everything is in `programs::modelling::spectral_elements::adjoint::gradient`.

use programs::modelling::main as start;
use programs::modelling::spectral_elements::adjoint::gradient::{PROGRAM_3D, run_3d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
