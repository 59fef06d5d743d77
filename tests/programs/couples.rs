//! Double couples in 2-D, of which only the part in the plane makes waves.

use crate::desk::{Desk, Outcome};
use crate::shots::magnitude;
use crate::velocity_stress::{desk, line};

/// A run of `src=dc` with these words; `m0=` of the line is left out with `mech=`.
fn shoot(desk: &Desk, words: &str) -> Outcome {
    let line = match words.contains("mech=") {
        true => line(2).replace("m0=1e12", ""),
        false => line(2),
    };
    desk.sh(&format!("{line} src=dc {words} > data.rsf"))
}

/// The warnings about slip across the plane.
fn warnings(run: &Outcome) -> Vec<&str> {
    assert_eq!(run.code, 0, "{run:?}");
    run.err.lines().filter(|l| l.contains("SH waves")).collect()
}

#[test]
fn couples_across_a_section_are_warned_of_once() {
    let desk = desk(2);
    desk.dataset("sou.rsf", "n1=2 n2=3", &[100.0, 90.0, 110.0, 90.0, 120.0, 90.0]);
    let slips = [
        90.0, 45.0, 90.0, 1e12, 30.0, 45.0, 90.0, 1e12, 60.0, 45.0, 0.0, 1e12,
    ];
    desk.dataset("mech.rsf", "n1=4 n2=3", &slips);
    let run = shoot(&desk, "mech=mech.rsf");
    let lines = warnings(&run);
    assert_eq!(lines.len(), 1, "{run:?}");
    assert!(lines[0].contains("source 2 (and 1 more) also moves"), "{run:?}");
}

/// Rounding errors of the angles are zeros: they make no waves, and no warning prints them.
#[test]
fn couples_without_a_part_in_the_section_are_refused() {
    let desk = desk(2);
    desk.dataset("across.rsf", "n1=4 n2=1", &[0.0, 90.0, 0.0, 1e12]);
    for (words, azimuth, strike) in [
        ("", 0, 90),
        ("strike=0 dip=90 rake=180", 0, 90),
        ("strike=90 dip=90 rake=0", 0, 90),
        ("strike=0 dip=90 rake=90", 0, 90),
        ("strike=300 xaz=300", 300, 30),
        ("mech=across.rsf", 0, 90),
    ] {
        let run = shoot(&desk, words);
        let text = run.err.lines().last().unwrap_or_default();
        assert!(
            run.code == 1
                && text.contains("all sources have the strength zero in the plane x-z")
                && text.contains(&format!("xaz={azimuth}, and strike={strike} dip=45 rake=90")),
            "{words}: {run:?}"
        );
        // The command follows the advice of the message.
        let run = shoot(&desk, &format!("strike={strike} dip=45 rake=90 xaz={azimuth}"));
        assert!(warnings(&run).is_empty(), "{run:?}");
        assert!(magnitude(&desk.read("data.rsf")) > 0.0);
    }
    let gradient = line(2).replace("sfvsfd2d-gpu", "sfvsgrad2d-gpu");
    let run = desk.sh(&format!("{gradient} src=dc > gradient.rsf < rec.rsf"));
    assert!(
        run.code == 1 && run.err.contains("strength zero in the plane"),
        "{run:?}"
    );
}

#[test]
fn warnings_name_the_components_that_a_couple_has() {
    let desk = desk(2);
    let run = shoot(&desk, "strike=30 dip=90 rake=0");
    let lines = warnings(&run);
    assert!(lines[0].contains("(Mxy=5.000e11): that part"), "{run:?}");
    desk.dataset("sou.rsf", "n1=2 n2=2", &[100.0, 90.0, 110.0, 90.0]);
    desk.dataset(
        "mech.rsf",
        "n1=4 n2=2",
        &[0.0, 90.0, 90.0, 1e12, 90.0, 45.0, 90.0, 1e12],
    );
    let run = shoot(&desk, "mech=mech.rsf");
    let lines = warnings(&run);
    assert!(
        lines[0].contains("source 1 moves rock only across the plane x-z (Myz=-1.000e12)"),
        "{run:?}"
    );
}
