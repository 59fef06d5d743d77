//! Elastic modelling in 3-D by spectral elements. Everything is in `programs::modelling::spectral_elements`.

use programs::modelling::main as start;
use programs::modelling::spectral_elements::{PROGRAM_3D, run_3d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
