//! Bad input gives a single message that names the cause, exit code 1 and no output.

use super::rsf::{dataset, planes, run};
use std::io::Write;

/// The arguments, the contents of standard input, and texts that the message must contain.
fn refused(words: &str, stdin: Option<Vec<u8>>, parts: &[&str]) {
    let outcome = run(words, stdin);
    assert_eq!(outcome.code, Some(1), "{words}: {}", outcome.stderr);
    assert!(
        outcome.stdout.is_empty(),
        "{words}: wrote {} bytes",
        outcome.stdout.len()
    );
    assert_eq!(outcome.stderr.lines().count(), 1, "{words}: {}", outcome.stderr);
    assert!(outcome.stderr.starts_with("sfstiffness: "), "{}", outcome.stderr);
    for part in parts {
        assert!(
            outcome.stderr.contains(part),
            "{words}\n'{part}' is missing in: {}",
            outcome.stderr
        );
    }
}

const GRID: &str = "n1=3 n2=3";

/// Between 0.866 vp and vp a medium has a positive stiffness in 2-D, and a negative bulk modulus in 3-D.
#[test]
fn speeds_that_no_solid_has() {
    for (words, place) in [
        (
            "vp=2 vs=1.9 ro=2 n1=3 n2=3",
            Some("vs is 1.9 and vp is 2: a solid with vs above 0.866 vp"),
        ),
        ("vp=2 vs=1.73 ro=2 n1=3 n2=3", None),
        ("vp=2 vs=1.9 ro=2 n1=3 n2=3 sym=vti epsilon=0.1", None),
    ] {
        let outcome = run(words, None);
        assert_eq!(outcome.code, Some(0), "{words}: {}", outcome.stderr);
        assert_eq!(
            place.is_some(),
            outcome.stderr.contains("warning: "),
            "{}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains(place.unwrap_or_default()),
            "{}",
            outcome.stderr
        );
    }
    refused(
        "vp=2 vs=2.1 ro=2 n1=3 n2=3",
        None,
        &["not positive definite", "(2-D: vp)"],
    );
    // Anisotropic media in 2-D are checked, too.
    for law in ["vti", "hti", "ort"] {
        refused(
            &format!("vp=2 vs=3 ro=2 sym={law} n1=3 n2=3"),
            None,
            &["vs = 3 must be below vp = 2", "whether they are exchanged"],
        );
    }
}

#[test]
fn missing_or_contradictory_words() {
    refused("vp=2 ro=2 n1=3 n2=3", None, &["vs= is missing"]);
    refused("vs=2 ro=2 n1=3 n2=3", None, &["vp= is missing"]);
    refused("vp=2 vs=1 ro=2", None, &["no grid", "n1="]);
    refused(
        "vp=2 vs=1 ro=2 n1=3 n2=3 epsilon=0.1 eps2=0.1",
        None,
        &["sym=vti", "sym=ort"],
    );
    refused("vp=2 vs=1 ro=2 n1=3 n2=3 sym=mono", None, &["sym", "ort"]);
    refused("vp=2 vs=1 ro=2 n1=3 n2=3 n3=3 dim=2", None, &["dim=2", "n3=3"]);
    refused(
        "vp=2 vs=1 ro=2 n1=1000000 n2=1000000 n3=1000000",
        None,
        &["1e18 cells"],
    );
    for (key, word) in [("delta", "nan"), ("epsilon", "inf"), ("gamma", "1e99")] {
        let expected = format!(
            "{key}= got `{word}`, but must be a finite number (up to 3.4e38) or the name of an RSF file ("
        );
        refused(
            &format!("vp=2 vs=1 ro=2 n1=3 n2=3 {key}={word}"),
            None,
            &[&expected],
        );
    }
    refused("vp=nowhere.rsf vs=1 ro=2", None, &["nowhere.rsf"]);
    refused(
        "vp=vp-2d.rsf vs=1 ro=stiff3d-dim3.rsf",
        None,
        &["stiff3d-dim3.rsf", "n4=21"],
    );
}

#[test]
fn words_that_contradict_the_files() {
    refused(
        "vp=vp-2d.rsf vs=1 ro=2 n1=5",
        None,
        &["n1=5 is given, but vp=vp-2d.rsf gives the grid and has n1=12: leave out n1="],
    );
    refused(
        "vp=vp-2d.rsf vs=1 ro=2 d2=3.5",
        None,
        &["d2=3.5 is given", "vp-2d.rsf"],
    );
    refused(
        "vp=2 vs=1 ro=2 n1=3 n2=3 d1=0",
        None,
        &["d1=0 in n1=, n2=, n3=: the distance between nodes must be a number other than 0"],
    );
    refused(
        "vp=2 vs=1 ro=2 n1=3 n2=3 eps=0.1 epsilon=0.2",
        None,
        &["eps= and epsilon= are two names of one parameter"],
    );
}

#[test]
fn grids_that_differ() {
    refused(
        "vp=vp-2d.rsf vs=vs-3d.rsf ro=2",
        None,
        &["n1=6", "vs-3d.rsf", "n1=12", "vp-2d.rsf"],
    );
    refused(
        "vs=vs-2d.rsf ro=2",
        Some(dataset(&[12, 10], &[2.0; 120])),
        &["d1=0.02", "d1=1", "standard input"],
    );
}

#[test]
fn values_that_are_no_medium() {
    let mut vp = vec![2.0f32; 12];
    vp[7] = f32::NAN;
    let place = "cell (1, 2) at z = 1, x = 2";
    refused(
        "vs=1 ro=2",
        Some(dataset(&[3, 4], &vp)),
        &[place, "vp is NaN", "vs = 1"],
    );
    vp[7] = -2.0;
    refused(
        "vs=1 ro=2",
        Some(dataset(&[3, 4], &vp)),
        &[place, "vp = -2", "positive"],
    );
    vp[7] = 1.1;
    let in_3d = "cell (1, 0, 2) at z = 1, x = 0, y = 2";
    refused(
        "vs=1 ro=2",
        Some(dataset(&[3, 1, 4], &vp)),
        &[in_3d, "not positive definite", "vp = 1.1", "vs"],
    );
    refused(
        &format!("vp=2 vs=1 ro=-2 {GRID}"),
        None,
        &["cell (0, 0)", "ro = -2"],
    );
    refused(
        &format!("vp=2 vs=2.5 ro=2 {GRID}"),
        None,
        &["not positive definite", "vs = 2.5"],
    );
    refused(
        &format!("vp=2 vs=1 ro=2 epsilon=-0.6 {GRID}"),
        None,
        &["c11 = -1.6", "epsilon = -0.6"],
    );
    let below = "delta must be at least -0.375";
    refused(
        &format!("vp=2 vs=1 ro=2 delta=-0.5 {GRID}"),
        None,
        &["c13 has no real value", below],
    );
    refused(
        &format!("vp=2 vs=1 ro=2 gam2=-0.5 {GRID} n3=2"),
        None,
        &["gam2 = -0.5", "c44"],
    );
    refused(&format!("vp=1e20 vs=1 ro=2 {GRID}"), None, &["c11 is inf"]);
}

#[test]
fn anisotropy_in_percent_is_warned_of() {
    for (word, warns) in [
        ("epsilon=20", true),
        ("eps2=-15", true),
        ("epsilon=0.3", false),
        ("nu=20", false),
    ] {
        let outcome = run(&format!("vp=2 vs=1 ro=2 {word} {GRID}"), None);
        assert_eq!(
            outcome.stderr.contains("check that it is not in percent"),
            warns,
            "{word}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn tilts_that_do_not_fit() {
    let ti = "vp=2 vs=1 ro=2 epsilon=0.2 n1=3 n2=3";
    refused(
        &format!("{ti} nu=30 planes=4"),
        None,
        &[
            "does not fit 4 planes",
            "c15",
            "% of the largest",
            "nu = 30",
            "leave out planes=",
            "drop=y",
        ],
    );
    refused(
        &format!("{ti} n3=2 nu=90 alpha=20 planes=9"),
        None,
        &["does not fit 9 planes", "alpha = 20"],
    );
    refused(
        &format!("{ti} nu=40 alpha=90"),
        None,
        &["does not fit 6 planes", "3-D"],
    );
    refused(
        &format!("{ti} planes=21"),
        None,
        &["planes=21", "4 planes or", "6"],
    );
    refused(
        &format!("{ti} n3=2 planes=6"),
        None,
        &["planes=6", "9 planes or", "21"],
    );
    // Around the vertical axis only a medium that differs along x and y is turned.
    for (eps1, count) in [("0.2", 9), ("0.1", 21)] {
        let words = format!("vp=2 vs=1 ro=2 eps1={eps1} eps2=0.2 n1=3 n2=3 n3=2 alpha=30");
        assert_eq!(planes(&words).int("n4"), count, "{words}");
    }
    for fits in ["nu=90", "nu=180 alpha=77", "nu=90 alpha=90"] {
        assert_eq!(planes(&format!("{ti} {fits}")).int("n3"), 4, "{fits}");
    }
}

/// A small tilt nu gives c15 = nu (c11 - c13 - 2 c55), here 0.29 nu of the largest coefficient: a millionth may be
/// lost, which is reached at 0.0002 degrees.
#[test]
fn tilts_fit_as_long_as_a_millionth_is_lost() {
    let ti = "vp=2 vs=1 ro=2 epsilon=0.2 n1=3 n2=3";
    for (size, few, all) in [("", 4, 6), ("n3=2", 9, 21)] {
        let axis = if size.is_empty() { "n3" } else { "n4" };
        for (tilt, count) in [("0.0001", few), ("0.0004", all)] {
            let header = planes(&format!("{ti} {size} nu={tilt}"));
            assert_eq!(header.int(axis), count, "{size} nu={tilt}");
        }
        planes(&format!("{ti} {size} nu=0.0001 planes={few}"));
        refused(
            &format!("{ti} {size} nu=0.0004 planes={few}"),
            None,
            &[&format!("does not fit {few} planes")],
        );
    }
}

/// The first bad cell is named, however the cells are distributed over threads and pieces.
#[test]
fn the_first_bad_cell() {
    let mut vp = vec![2.0f32; 300 * 400];
    for bad in [119_000, 70_001, 69_999] {
        vp[bad] = -1.0;
    }
    for memory in ["", "memory=0"] {
        refused(
            &format!("vs=1 ro=2 {memory}"),
            Some(dataset(&[300, 400], &vp)),
            &["cell (99, 233) at z = 99, x = 233"],
        );
    }
}

#[test]
fn models_that_are_cut_short() {
    let mut file = tempfile::NamedTempFile::new().expect("a scratch file");
    let model = dataset(&[4, 3, 5], &[2.0; 60]);
    file.write_all(&model[..model.len() - 72])
        .expect("the scratch file is writable");
    refused(
        &format!("vp={} vs=1 ro=1 dim=3", file.path().display()),
        None,
        &["(3 of the 5 records along axis 3 are complete; sfwindow takes them out)"],
    );
}
