//! Elastic modelling in 2-D. Everything is in `programs::modelling::displacement`.

use programs::modelling::displacement::{PROGRAM_2D, run_2d};
use programs::modelling::main as start;

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
