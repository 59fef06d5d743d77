//! Linearised elastic modelling in 3-D with velocity-stress finite differences. Everything is in
//! `programs::modelling::velocity_stress::born`.

use programs::modelling::main as start;
use programs::modelling::velocity_stress::born::{PROGRAM_3D, run_3d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
