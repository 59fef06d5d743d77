//! The everyday programs in one binary.

fn main() -> std::process::ExitCode {
    basics::start(std::env::args_os().collect())
}
