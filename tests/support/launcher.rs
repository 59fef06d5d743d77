//! The launcher of the MPI that the tests were built with.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The launcher and its options, or the reason why there is none.
static LAUNCHER: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let beside = std::env::var_os("MPICC").map(|mpicc| Path::new(&mpicc).with_file_name("mpirun"));
    let named = std::env::var_os("MPIRUN").map(PathBuf::from);
    let mpirun = named.or(beside).unwrap_or_else(|| "mpirun".into());
    let answer = Command::new(&mpirun).arg("--version").output();
    let answer = answer.map_err(|e| format!("{} does not start: {e}", mpirun.display()))?;
    let open = String::from_utf8_lossy(&answer.stdout).contains("Open MPI");
    // Ranks of one host communicate through its memory, and libfabric's search for networks takes a second at each
    // start. Several tests run in parallel, so a rank that waits must leave its processor to another.
    let words = if open {
        " --oversubscribe --mca btl ^ofi --mca mpi_yield_when_idle 1"
    } else {
        ""
    };
    Ok(format!("{}{words}", mpirun.display()))
});

/// The launcher with its options; if there is none, reports this and returns `None` (with `REQUIRE_MPI=1` it panics).
pub fn command(test: &str) -> Option<&'static str> {
    match LAUNCHER.as_ref() {
        Ok(launcher) => Some(launcher),
        Err(why) => {
            assert!(
                std::env::var("REQUIRE_MPI").is_err(),
                "REQUIRE_MPI is set, but {why}"
            );
            let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
            None
        }
    }
}
