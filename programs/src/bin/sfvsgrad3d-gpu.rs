//! Misfit and gradient of an elastic survey in 3-D. Everything is in `programs::modelling::velocity_stress::born::gradient`.

use programs::modelling::main as start;
use programs::modelling::velocity_stress::born::gradient::{PROGRAM_3D, run_3d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
