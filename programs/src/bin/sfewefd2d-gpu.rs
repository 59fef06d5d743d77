//! Elastic modelling in 2-D. Everything is in `programs::modelling`.

use programs::modelling::{PROGRAM_2D, run};

fn main() -> std::process::ExitCode {
    rsf_io::start(&PROGRAM_2D, |job| run(job, 2))
}
