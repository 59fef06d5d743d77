//! The effective medium of a fine grid on a coarser one.

fn main() -> std::process::ExitCode {
    rsf_io::start(
        &programs::layers::upscale::PROGRAM,
        programs::layers::upscale::run,
    )
}
