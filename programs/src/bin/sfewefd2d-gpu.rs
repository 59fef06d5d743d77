//! Elastic modelling in 2-D. Everything is in `programs::modelling`.

use programs::modelling::{PROGRAM_2D, main as start, run_2d};

fn main() -> std::process::ExitCode {
    start(&PROGRAM_2D, run_2d)
}
