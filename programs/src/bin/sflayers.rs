//! Stiffness and density of rock between horizons.

fn main() -> std::process::ExitCode {
    rsf_io::start(&programs::layers::PROGRAM, programs::layers::run)
}
