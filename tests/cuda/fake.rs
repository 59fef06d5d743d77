//! Runs a test in a separate process, on a machine that the test defines.

use crate::fakes;
use std::process::Command;

pub use fakes::{Driver, skip};

/// This variable is set in the process that runs the body.
const INSIDE: &str = "SIFAKA_TEST_INSIDE";

/// Runs `body` on a machine with this driver and these variables; `name` is the calling test's, as `module::function`.
/// Variables `FAKE_...` set the machine that the fake driver simulates; there is a fake compiler, too, unless
/// `SIFAKA_NVRTC` is given.
pub fn on_machine(name: &str, driver: Driver, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == name) {
        return body();
    }
    let store = format!("store-{}-{}", std::process::id(), name.replace("::", "-"));
    let store = fakes::scratch().join(store);
    let Some(machine) = fakes::variables(name, driver, &store) else {
        return;
    };
    let mut command = Command::new(std::env::current_exe().expect("this test is a program"));
    command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .envs(machine)
        .env(INSIDE, name);
    for variable in fakes::HIDDEN {
        command.env_remove(variable);
    }
    let done = command
        .envs(variables.iter().copied())
        .output()
        .expect("this test can be started again");
    let _ = std::fs::remove_dir_all(&store);
    let output = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "in its own process:\n{output}");
    assert!(
        output.contains("1 passed"),
        "there is no test named {name}:\n{output}"
    );
    // The probe must not rely on panics that are caught.
    assert!(
        !output.contains("panicked"),
        "there was a panic on the way:\n{output}"
    );
}
