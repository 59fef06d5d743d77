//! Misfit and gradient of an elastic survey in 2-D. Everything is in `programs::modelling::velocity_stress::born::gradient`.

use programs::modelling::main as start;
use programs::modelling::velocity_stress::born::gradient::{PROGRAM_2D, run_2d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
