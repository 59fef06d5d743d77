//! Linearised elastic modelling on a mesh in 3-D, and its transpose. Everything is in `programs::modelling::spectral_elements::adjoint::born`.

use programs::modelling::main as start;
use programs::modelling::spectral_elements::adjoint::born::{PROGRAM_3D, run_3d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
