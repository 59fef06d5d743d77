//! Elastic modelling in 3-D. Everything is in `programs::modelling`.

use programs::modelling::{PROGRAM_3D, main as start, run_3d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_3D, run_3d)
}
