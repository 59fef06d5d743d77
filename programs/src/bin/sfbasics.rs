//! The everyday programs in one binary.

fn main() -> std::process::ExitCode {
    programs::basics::start(std::env::args_os().collect())
}
