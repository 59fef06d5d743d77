//! Elastic modelling in 3-D. Everything is in `programs::modelling`.

use programs::modelling::{PROGRAM_3D, run};

fn main() -> std::process::ExitCode {
    rsf_io::start(&PROGRAM_3D, |job| run(job, 3))
}
