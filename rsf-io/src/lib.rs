//! The RSF format and Madagascar's `key=value` command line.
mod axis;
mod data;
mod error;
mod header;
mod input;
mod job;
mod output;
mod params;

pub use axis::Axis;
pub use data::{Complex, Form, Format, Kind};
pub use error::{Error, Result};
pub use header::Header;
pub use input::{Input, NumberOrFile};
pub use job::Job;
pub use output::Output;
pub use params::{Param, ParamKind, Program};

/// Starts a program: arguments, self-documentation, errors, exit code.
pub fn start(_program: &'static Program, _run: fn(&mut Job) -> anyhow::Result<()>) -> std::process::ExitCode {
    unimplemented!()
}
