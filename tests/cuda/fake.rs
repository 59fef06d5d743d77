//! Runs a test in a process of its own that sees a machine as the test wants it.

use crate::built::checkout;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What the process finds as the driver.
#[derive(Clone, Copy, PartialEq)]
pub enum Driver {
    /// Nothing that loads.
    None,
    /// A library without functions.
    Hollow,
    /// `fake.c`.
    Fake,
}

/// Set in the process that runs the body.
const INSIDE: &str = "SIFAKA_TEST_INSIDE";

/// Runs `body` on a machine with this driver and these variables; `name` is the calling test's, as `module::function`.
/// `FAKE_...` variables set what the fake pretends; it comes with a fake compiler unless `SIFAKA_NVRTC` is given.
pub fn on_machine(name: &str, driver: Driver, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == name) {
        return body();
    }
    let Some(folder) = folder() else {
        return skip(name, "no C compiler (cc) to build a fake driver with");
    };
    let at = |inside: &str| folder.join(inside);
    let library = match driver {
        Driver::None => at("none"),
        Driver::Hollow => at("hollow"),
        Driver::Fake => at("driver"),
    };
    let store = at(&format!(
        "store-{}-{}",
        std::process::id(),
        name.replace("::", "-")
    ));
    let mut command = Command::new(std::env::current_exe().expect("this test is a program"));
    command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env("LD_LIBRARY_PATH", library)
        .env("SIFAKA_NVRTC", at("compiler"))
        .env("SIFAKA_CACHE", &store)
        .env("FAKE_COMPILED", store.join("compiled"))
        .env(INSIDE, name);
    for variable in [
        "CUDA_VISIBLE_DEVICES",
        "CUDA_SYNC",
        "CUDA_PATH",
        "CUDA_HOME",
        "VIRTUAL_ENV",
    ] {
        command.env_remove(variable);
    }
    let done = command
        .envs(variables.iter().copied())
        .output()
        .expect("this test can be started again");
    let _ = std::fs::remove_dir_all(&store);
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "in its own process:\n{said}");
    assert!(said.contains("1 passed"), "{name} names no test:\n{said}");
    // The probe must not lean on panics that somebody catches.
    assert!(
        !said.contains("panicked"),
        "something panicked on the way:\n{said}"
    );
}

/// Said past the capture of test output: a test that did not run is never silent.
pub fn skip(name: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped {name}: {reason}");
}

/// Where the fakes lie, built once by each test process; `None` without a C compiler.
fn folder() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref()
}

/// Cargo's folder for tests, if cargo built them here.
fn scratch() -> PathBuf {
    let here = std::env::var_os("CARGO_TARGET_TMPDIR");
    here.map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
}

fn build() -> Option<PathBuf> {
    Command::new("cc").arg("--version").output().ok()?;
    let top = scratch().join("cuda-fakes");
    for inside in ["none", "hollow", "driver", "compiler"] {
        std::fs::create_dir_all(top.join(inside)).expect("cargo's folder for tests can be written");
    }
    // A machine with a real driver has it somewhere; files of these names come first and do not load.
    for name in [
        "libcuda.so",
        "libcuda.so.13",
        "libcuda.so.12",
        "libcuda.so.11",
        "libcuda.so.1",
    ] {
        std::fs::write(top.join("none").join(name), "no library").expect("cargo's folder can be written");
    }
    compile(&top.join("hollow/libcuda.so"), None);
    compile(&top.join("driver/libcuda.so"), Some("-DDRIVER"));
    compile(&top.join("compiler/libnvrtc.so.13"), Some("-DCOMPILER"));
    Some(top)
}

/// Built aside and moved: another run of the tests may be using the old one.
fn compile(to: &Path, what: Option<&str>) {
    let draft = to.with_extension(format!("draft{}", std::process::id()));
    let source = checkout("tests/cuda/fake.c");
    let done = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
        .args([&draft, &source])
        .args(what)
        .output()
        .expect("cc was there a moment ago");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::rename(&draft, to).expect("cargo's folder can be written");
}
