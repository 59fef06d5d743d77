//! Stiffness planes from velocities, density and anisotropy parameters.

fn main() -> std::process::ExitCode {
    rsf_io::start(&programs::stiffness::PROGRAM, programs::stiffness::run)
}
