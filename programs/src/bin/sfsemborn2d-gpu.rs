//! Linearised elastic modelling on a mesh in 2-D, and its transpose. Everything is in `programs::modelling::spectral_elements::adjoint::born`.

use programs::modelling::main as start;
use programs::modelling::spectral_elements::adjoint::born::{PROGRAM_2D, run_2d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
