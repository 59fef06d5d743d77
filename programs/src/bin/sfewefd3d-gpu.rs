//! Elastic modelling in 3-D. Everything is in `programs::modelling::displacement`.

use programs::modelling::displacement::{PROGRAM_3D, run_3d};
use programs::modelling::main as start;

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
