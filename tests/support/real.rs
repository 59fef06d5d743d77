//! Real GPUs of this machine, for tests that run the programs on them.

use std::io::Write;

/// The number of GPUs that the programs can use here. If there is none, the test reports that it is skipped, and gives
/// the reason; fewer than `REQUIRE_GPU=` requires is a failure.
pub fn gpus(test: &str) -> usize {
    let required = std::env::var("REQUIRE_GPU").ok().map_or(0, |n| {
        n.parse::<usize>()
            .unwrap_or_else(|e| panic!("REQUIRE_GPU={n}: {e}; it is how many GPUs must be there"))
    });
    let devices = kernels::device::gpu::probe();
    let count = devices.as_ref().map_or(0, Vec::len);
    assert!(
        count >= required,
        "REQUIRE_GPU={required}, but {count} can be used: {devices:?}"
    );
    if let Err(why) = devices {
        // This bypasses the capture of test output, so that a test that did not run is never silent.
        let _ = writeln!(std::io::stderr(), "skipped {test} on a GPU: {why}");
    }
    count
}
