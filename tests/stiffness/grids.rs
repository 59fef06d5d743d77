//! The origin of the grid and of the values, and the number of passes in which files are read.

use super::rsf::{Dataset, dataset, planes, run};

/// More cells than are read at a time, all different.
fn large(n: [usize; 2], base: f32) -> Vec<u8> {
    let values: Vec<f32> = (0..n[0] * n[1])
        .map(|i| base + (i as f32 * 0.37).sin() * 0.1 * base)
        .collect();
    dataset(&n, &values)
}

#[test]
fn numbers_only() {
    let got = planes("vp=2 vs=1 ro=2.5 n1=3 n2=4 d1=0.5 o2=-1 sym=iso");
    assert_eq!([got.int("n1"), got.int("n2"), got.int("n3")], [3, 4, 4]);
    assert_eq!(
        (got.key("d1"), got.key("o2"), got.key("label1")),
        (Some("0.5"), Some("-1"), Some("\"z\""))
    );
    for (plane, value) in [10.0, 10.0, 2.5, 5.0].into_iter().enumerate() {
        assert_eq!(got.plane(plane, 4), [value; 12]);
    }
    let flat = planes("vp=2 vs=1 ro=2.5 n1=3 n2=4 n3=1");
    assert_eq!([flat.int("n3"), flat.int("n4"), flat.values.len()], [1, 9, 108]);
}

#[test]
fn grid_from_standard_input() {
    let grid = dataset(&[3, 2, 2], &[f32::NAN; 12]);
    let outcome = run("vp=2 vs=1 den=2.5", Some(grid));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let got = Dataset::parse(&outcome.stdout);
    assert_eq!(
        [got.int("n1"), got.int("n3"), got.int("n4"), got.values.len()],
        [3, 2, 9, 108]
    );
}

/// The bytes are the same if the input is held in memory, read once for every plane or every two, or piped.
#[test]
fn passes_do_not_matter() {
    let n = [400, 300];
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_string();
    for (name, base) in [("vp", 3.0), ("vs", 1.5), ("eps", 0.2)] {
        std::fs::write(path(name), large(n, base)).expect("a file");
    }
    let rest = format!(
        "vs={} ro=2.1 epsilon={} delta=-0.05 nu=90",
        path("vs"),
        path("eps")
    );
    let values = |outcome: super::rsf::Outcome| {
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        Dataset::parse(&outcome.stdout).values
    };
    let held = values(run(&format!("vp={} {rest}", path("vp")), None));
    let streamed = values(run(&format!("vp={} {rest} memory=0", path("vp")), None));
    // There are 120,000 cells, so that two planes fit in a MiB.
    let grouped = values(run(&format!("vp={} {rest} memory=1", path("vp")), None));
    let piped = values(run(&format!("{rest} memory=0"), Some(large(n, 3.0))));
    assert_eq!(held.len(), 4 * 120_000);
    assert!(held == streamed && held == grouped && held == piped);
    // The last cell has its own value, not the value of another piece: c33 of a medium rotated by 90 degrees is c11 of
    // the upright one.
    let last = 119_999.0f32;
    let (vp, eps) = (3.0 + (last * 0.37).sin() * 0.3, 0.2 + (last * 0.37).sin() * 0.02);
    let c33 = 2.1 * vp * vp * (1.0 + 2.0 * eps);
    assert!((held[2 * 120_000 - 1] / c33 - 1.0).abs() < 1e-6);
}

#[test]
fn fluids_and_unused_parameters() {
    let got = planes("vp=1.5 vs=0 ro=1 n1=2 n2=2 n3=2");
    assert!(got.plane(3, 9).iter().chain(got.plane(5, 9)).all(|v| *v == 0.0));
    let outcome = run("vp=2 vs=1 ro=2 n1=2 n2=2 sym=iso epsilon=0.1", None);
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome.stderr.contains("epsilon= has no effect with sym=iso"),
        "{}",
        outcome.stderr
    );
}
