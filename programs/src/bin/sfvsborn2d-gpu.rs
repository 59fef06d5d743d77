//! Linearised elastic modelling in 2-D with velocity-stress finite differences. Everything is in
//! `programs::modelling::velocity_stress::born`.

use programs::modelling::main as start;
use programs::modelling::velocity_stress::born::{PROGRAM_2D, run_2d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
