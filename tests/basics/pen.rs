//! `sfpen` shows a picture, or prints the name of the file that it kept.

use std::os::unix::fs::PermissionsExt;

use crate::bench::{Bench, ramp};

/// A folder with a dataset and a folder for temporary files, without a screen.
fn without_screen() -> (Bench, &'static str) {
    let bench = Bench::new();
    bench.dataset("in.rsf", &[4, 5], &ramp(20));
    std::fs::create_dir(bench.path("tmp")).unwrap();
    (bench, "unset DISPLAY WAYLAND_DISPLAY; export TMPDIR=$PWD/tmp;")
}

#[test]
fn without_a_screen_the_picture_is_kept() {
    let (bench, bare) = without_screen();
    bench.run("sfgrey < in.rsf > wanted.png; sfgrey < in.rsf format=svg > wanted.svg");
    for (words, file, expected) in [
        ("sfgrey | sfpen", "tmp/picture-0.png", "wanted.png"),
        ("sfgrey | sfpen", "tmp/picture-1.png", "wanted.png"),
        ("sfgrey format=svg | sfpen", "tmp/picture-0.svg", "wanted.svg"),
        ("sfgrey | sfpen keep=mine.png", "mine.png", "wanted.png"),
    ] {
        let run = bench.sh(&format!("{bare} < in.rsf {words}"));
        assert_eq!((run.code, run.out.as_str()), (0, ""), "{words}: {}", run.err);
        assert!(
            run.err
                .starts_with("sfpen: no viewer is available (viewer= names one); the picture is saved in ")
                && run.err.ends_with(&format!("{file}\n")),
            "{words}: {}",
            run.err
        );
        assert!(bench.bytes(file) == bench.bytes(expected), "{words}");
    }
}

#[test]
fn viewers_are_called_with_the_file() {
    let (bench, bare) = without_screen();
    bench.put("bin/xdg-open", "#!/bin/sh\ncp \"$1\" shown.png\n");
    bench.put("bin/failing", "#!/bin/sh\nexit 3\n");
    for name in ["bin/xdg-open", "bin/failing"] {
        std::fs::set_permissions(bench.path(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    bench.run("sfgrey < in.rsf > wanted.png");
    for (screen, words) in [
        ("export DISPLAY=:9;", "sfpen < wanted.png"),
        ("", "sfpen viewer=xdg-open < wanted.png"),
        ("export WAYLAND_DISPLAY=w;", "sfpen wanted.png"),
    ] {
        let run = bench.sh(&format!("{bare} {screen} {words}"));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{words}");
        assert!(bench.bytes("shown.png") == bench.bytes("wanted.png"));
        std::fs::remove_file(bench.path("shown.png")).unwrap();
    }
    let message = bench.refused(&format!("{bare} sfpen viewer=failing < wanted.png"));
    assert!(
        message.contains("viewer=failing failed (exit status: 3)"),
        "{message}"
    );
    let message = bench.refused(&format!("{bare} sfpen viewer=nowhere < wanted.png"));
    assert!(message.contains("viewer=nowhere cannot be started"), "{message}");
}

#[test]
fn what_is_no_picture_is_refused() {
    let (bench, _) = without_screen();
    let message = bench.refused("sfpen < in.rsf");
    assert!(
        message.contains("standard input is not a picture (PNG, SVG, PDF or GIF); sfgrey"),
        "{message}"
    );
    let message = bench.refused("sfpen none.png");
    assert!(message.contains("cannot read none.png"), "{message}");
}
