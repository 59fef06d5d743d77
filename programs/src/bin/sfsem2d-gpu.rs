//! Elastic modelling in 2-D by spectral elements. Everything is in `programs::modelling::spectral_elements`.

use programs::modelling::main as start;
use programs::modelling::spectral_elements::{PROGRAM_2D, run_2d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
