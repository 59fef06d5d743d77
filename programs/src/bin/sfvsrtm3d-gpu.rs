//! Elastic reverse-time migration in 3-D. Everything is in `programs::modelling::velocity_stress::born::image`.

use programs::modelling::main as start;
use programs::modelling::velocity_stress::born::image::{PROGRAM_3D, run_3d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
