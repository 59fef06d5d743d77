//! GPUs of this machine, for tests that run the programs on them.

use std::io::Write;

/// How many GPUs the programs can use here. Where there is none the test says that it is skipped, and why; with
/// `REQUIRE_GPU=1` that is a failure.
pub fn gpus(test: &str) -> usize {
    match kernels::device::gpu::probe() {
        Ok(found) => found.len(),
        Err(why) => {
            assert!(
                std::env::var("REQUIRE_GPU").map_or(true, |v| v != "1"),
                "REQUIRE_GPU=1, but {why}"
            );
            // Past the capture of test output: a test that did not run is never silent.
            let _ = writeln!(std::io::stderr(), "skipped {test} on a GPU: {why}");
            0
        }
    }
}
