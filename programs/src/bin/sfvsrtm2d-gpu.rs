//! Elastic reverse-time migration in 2-D. Everything is in `programs::modelling::velocity_stress::born::image`.

use programs::modelling::main as start;
use programs::modelling::velocity_stress::born::image::{PROGRAM_2D, run_2d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
