//! Fake drivers and a fake compiler that need no GPU, built from `tests/cuda/fake.c`, for processes that should find
//! them.

#![allow(dead_code)] // each test target that includes this file uses a part of it

use crate::built;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The driver that the process finds.
#[derive(Clone, Copy, PartialEq)]
pub enum Driver {
    /// A file that cannot be loaded as a library.
    None,
    /// A library without functions.
    Hollow,
    /// `fake.c`.
    Fake,
}

/// Environment variables of a process that finds this driver and the fake compiler, and keeps compiled kernels in
/// `store`. Without a C compiler this reports that the test is skipped, and returns `None`.
pub fn variables(test: &str, driver: Driver, store: &Path) -> Option<Vec<(&'static str, PathBuf)>> {
    let Some(folder) = folder() else {
        let why = "no C compiler (cc) to build a fake driver with";
        assert!(
            std::env::var_os("REQUIRE_CC").is_none_or(|value| value != "1"),
            "REQUIRE_CC=1, but {why}"
        );
        skip(test, why);
        return None;
    };
    let library = match driver {
        Driver::None => "none",
        Driver::Hollow => "hollow",
        Driver::Fake => "driver",
    };
    Some(vec![
        ("LD_LIBRARY_PATH", folder.join(library)),
        ("SIFAKA_NVRTC", folder.join("compiler")),
        ("SIFAKA_CACHE", store.to_path_buf()),
        ("FAKE_COMPILED", store.join("compiled")),
    ])
}

/// Variables that such a process must not inherit.
pub const HIDDEN: [&str; 5] = [
    "CUDA_VISIBLE_DEVICES",
    "CUDA_SYNC",
    "CUDA_PATH",
    "CUDA_HOME",
    "VIRTUAL_ENV",
];

/// Reports a skipped test to standard error directly, which the capture of test output does not hide.
pub fn skip(name: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped {name}: {reason}");
}

/// The folder of the fakes, built once by each test process; `None` without a C compiler.
fn folder() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref()
}

/// A folder for these tests in cargo's folder, which the environment names if they were copied to another machine.
pub fn scratch() -> PathBuf {
    let here = std::env::var_os("CARGO_TARGET_TMPDIR");
    let here = here.map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
    here.join("cuda-fakes")
}

fn build() -> Option<PathBuf> {
    Command::new("cc").arg("--version").output().ok()?;
    let top = scratch();
    for inside in ["none", "hollow", "driver", "compiler"] {
        std::fs::create_dir_all(top.join(inside)).expect("cargo's folder for tests can be written");
    }
    // A machine may have a real driver; files of these names are found before it and cannot be loaded.
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

/// Compiles to a draft and moves it, because another run of the tests may be using the old one.
fn compile(to: &Path, what: Option<&str>) {
    let draft = to.with_extension(format!("draft{}", std::process::id()));
    let source = built::checkout("tests/cuda/fake.c");
    let done = Command::new("cc")
        .args(["-shared", "-fPIC", "-pthread", "-O1", "-w", "-o"])
        .args([&draft, &source])
        .args(what)
        .output()
        .expect("cc was there a moment ago");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::rename(&draft, to).expect("cargo's folder can be written");
}
