//! Warnings of the velocity-stress programs about settings that the user may not have intended.

use crate::desk::{Desk, Outcome};
use crate::velocity_stress::{desk, line};

fn shoot(desk: &Desk, ndim: usize, extra: &str) -> Outcome {
    desk.sh(&format!("{} {extra} > data.rsf", line(ndim)))
}

/// The only warning of a run that succeeds, or an empty string.
fn warning(desk: &Desk, ndim: usize, extra: &str) -> String {
    let run = shoot(desk, ndim, extra);
    assert_eq!(run.code, 0, "{run:?}");
    let coarse =
        |line: &&str| line.contains(": warning: ") && !line.contains("points per shortest wavelength");
    let warnings: Vec<&str> = run.err.lines().filter(coarse).collect();
    assert!(warnings.len() < 2, "{run:?}");
    warnings.concat()
}

fn warned(desk: &Desk, ndim: usize, extra: &str, words: &[&str]) {
    let text = warning(desk, ndim, extra);
    assert!(
        words.iter().all(|word| text.contains(word)),
        "{extra}: {words:?}: {text}"
    );
}

fn refused(desk: &Desk, ndim: usize, extra: &str, words: &[&str]) {
    let run = shoot(desk, ndim, extra);
    assert_eq!(run.code, 1, "{run:?}");
    let text = run.err.lines().last().unwrap_or_default();
    assert!(
        words.iter().all(|word| text.contains(word)),
        "{extra}: {words:?}: {run:?}"
    );
    assert!(!desk.path("data.rsf@").exists());
}

fn grid(desk: &Desk, name: &str) -> String {
    let axes = desk.axes(name, 3);
    (1..=3)
        .map(|k| {
            format!(
                "n{k}={} o{k}={} d{k}={} ",
                axes[k - 1].n,
                axes[k - 1].o,
                axes[k - 1].d
            )
        })
        .collect()
}

/// Multiplies all values of a model file.
fn scaled(desk: &Desk, from: &str, to: &str, factor: f32) {
    let values: Vec<f32> = desk.read(from).iter().map(|x| x * factor).collect();
    desk.dataset(to, &grid(desk, from), &values);
}

#[test]
fn a_run_that_ends_earlier_has_the_same_beginning_with_attenuation_too() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        for extra in ["qp=40 qs=20", "qp=40 qs=20 stf=ricker freq=40"] {
            assert_eq!(shoot(&desk, ndim, &format!("{extra} nt=60")).code, 0);
            let long = desk.read("data.rsf");
            assert_eq!(shoot(&desk, ndim, &format!("{extra} nt=35")).code, 0);
            let short = desk.read("data.rsf");
            assert!(short.iter().any(|x| x.abs() > 1e-6));
            assert!(short == long[..short.len()], "{ndim}-D {extra}");
        }
    }
}

#[test]
fn speeds_that_no_rock_has_are_refused_in_the_words_of_the_files() {
    for (ndim, limit) in [(2, "to vp"), (3, "0.866 vp")] {
        let desk = desk(ndim);
        scaled(&desk, "vs.rsf", "negative.rsf", -1.0);
        refused(
            &desk,
            ndim,
            "vs=negative.rsf",
            &["vs=negative.rsf", "z=0", "vs is -1700", limit],
        );
        scaled(&desk, "vp.rsf", "negative.rsf", -1.0);
        refused(
            &desk,
            ndim,
            "vp=negative.rsf",
            &["vp=negative.rsf", "vp is -3000"],
        );
        scaled(&desk, "vp.rsf", "nan.rsf", f32::NAN);
        refused(&desk, ndim, "vp=nan.rsf", &["vp is NaN", "finite"]);
        refused(
            &desk,
            ndim,
            "vp=vs.rsf vs=vp.rsf",
            &["vp is 1700, vs is 3000", limit],
        );
        let mut values = desk.read("den.rsf");
        values[30] = 0.0;
        desk.dataset("hole.rsf", &grid(&desk, "den.rsf"), &values);
        refused(&desk, ndim, "den=hole.rsf", &["index 6", "density is 0"]);
    }
}

#[test]
fn units_that_are_not_si_are_warned_of() {
    let desk = desk(2);
    for name in ["vp", "vs", "den"] {
        scaled(&desk, &format!("{name}.rsf"), &format!("{name}_small.rsf"), 1e-3);
    }
    warned(&desk, 2, "", &[]);
    assert_eq!(warning(&desk, 2, ""), "");
    warned(&desk, 2, "den=den_small.rsf", &["2.2 kg/m3", "g/cm3"]);
    warned(&desk, 2, "vp=vp_small.rsf vs=vs_small.rsf", &["3.0000 m/s", "SI"]);
    desk.dataset("far.rsf", "n1=2 n2=3", &[0.08, 0.07, 0.11, 0.1, 0.17, 0.16]);
    warned(&desk, 2, "rec=far.rsf", &["all 3 receivers", "one cell", "rec="]);
}

#[test]
fn points_in_the_frame_are_warned_of() {
    let desk = desk(2);
    desk.dataset("off.rsf", "n1=2 n2=3", &[80.0, -5.0, 80.0, -20.0, -40.0, 100.0]);
    warned(
        &desk,
        2,
        "rec=off.rsf",
        &["2 receivers lie", "frame", "z=-20 x=80"],
    );
    desk.dataset("off.rsf", "n1=2 n2=1", &[275.0, 60.0]);
    warned(&desk, 2, "sou=off.rsf", &["1 source lies", "x=275"]);
}

#[test]
fn parameters_without_effect_are_warned_of() {
    let desk = desk(2);
    for (extra, words) in [
        (
            "strike=30 dip=60",
            "strike=, dip= have no effect with src=explosion, only with src=dc",
        ),
        (
            "mxx=1e12",
            "mxx= has no effect with src=explosion, only with src=moment",
        ),
        ("fz=1", "fz= has no effect"),
        (
            "freq=8",
            "freq= has no effect with stf=gauss, only with stf=ricker",
        ),
        ("stf=ricker freq=60", "tau= has no effect with stf=ricker"),
        (
            "src=force fz=1e9",
            "m0= has no effect with src=force, only with src=explosion or src=dc",
        ),
        ("absorb=none", "nb= has no effect with absorb=none"),
        (
            "edge=0.9",
            "edge= has no effect with absorb=cpml, only with absorb=sponge",
        ),
        ("faces=8,8,8,8", "nb= has no effect with faces="),
        ("absorb=sponge nb=20 kappa=2", "kappa= has no effect with absorb"),
        (
            "sponge=100",
            "unknown parameter sponge=: sfsem2d-gpu and sfsem3d-gpu take it. Here absorb=sponge",
        ),
        // These are parameters of other programs.
        (
            "freesurface=n",
            "unknown parameter freesurface= (did you mean free= ?)",
        ),
        ("npml=8", "unknown parameter npml= (did you mean nb= ?)"),
        ("f0=8", "unknown parameter f0= (did you mean freq= ?)"),
        (
            "frequency=8",
            "unknown parameter frequency= (did you mean freq= ?)",
        ),
        ("jsnap=10 oqz=0", "jsnap=, oqz= have no effect without snap=y"),
        ("qmech=2 qband=1,9", "qmech=, qband= have no effect without qp="),
    ] {
        warned(&desk, 2, extra, &[words]);
    }
    desk.dataset("mech.rsf", "n1=1 n2=1", &[1e12]);
    warned(&desk, 2, "mech=mech.rsf", &["m0= has no effect with mech="]);
    desk.dataset("series.rsf", "n1=3 d1=0.01", &[0.0, 1.0, 0.0]);
    warned(
        &desk,
        2,
        "series=series.rsf",
        &["tau= has no effect with series="],
    );
}

#[test]
fn histories_that_the_run_cuts_are_warned_of() {
    let desk = desk(2);
    let hopeless = shoot(&desk, 2, "dt=0.5 tau=0.01");
    let text = "no time step falls within the source time functions, which last 0.08 s: dt=0.5 s is longer";
    assert!(
        hopeless.code == 1 && hopeless.err.contains(text) && !hopeless.err.contains("silent"),
        "{hopeless:?}"
    );
    for (key, doc) in [("den", "density"), ("onset", "delay of every source")] {
        let words = [
            format!("{key}=-1 is a number, but {key}= takes an RSF file ({doc}"),
            "sfmath n1= output=-1 makes one".into(),
        ];
        refused(&desk, 2, &format!("{key}=-1"), &[&words[0], &words[1]]);
    }
    for key in ["sou", "rec"] {
        let expected = format!("{key}=700 is a number, but {key}= takes an RSF file (");
        let advice = "): sfpoints x= z= makes one from coordinates";
        refused(&desk, 2, &format!("{key}=700"), &[&expected, advice]);
    }
    let listed = "onset=0.1,0.2 is a list of numbers, but onset= takes an RSF file";
    refused(
        &desk,
        2,
        "onset=0.1,0.2",
        &[listed, "echo 0.1,0.2 | sfcsv2rsf > onset.rsf makes one with n1=2"],
    );
    warned(&desk, 2, "tau=1", &["ends after 0.06 s", "largest value", "nt="]);
    warned(&desk, 2, "tau=0.025", &["ends after 0.06 s", "nt="]);
    let line = line(2).replace("tau=0.008", "");
    for (o1, cut) in [(-0.015, true), (-0.01, false), (0.0, false)] {
        desk.dataset(
            "series.rsf",
            &format!("n1=4 d1=0.01 o1={o1}"),
            &[0.0, 1.0, -1.0, 0.0],
        );
        let run = desk.sh(&format!("{line} series=series.rsf > data.rsf"));
        assert_eq!(
            (run.code, run.err.contains("series= begins at -0.01")),
            (0, cut),
            "{run:?}"
        );
    }
    refused(
        &crate::velocity_stress::desk(2),
        2,
        "nt=4000000000000000000",
        &["nt=4000000000000000000", "memory", "dt="],
    );
}

#[test]
fn coarse_mechanisms_that_cannot_hold_a_low_q_are_refused() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        refused(
            &desk,
            ndim,
            "qp=3 qs=3 qmech=coarse",
            &["qmech=coarse", "Q is 3", "qmech=3"],
        );
        warned(
            &desk,
            ndim,
            "qp=15 qs=15 qmech=coarse",
            &["or more in", "lowest is 15"],
        );
        let fine = if ndim == 2 { "qp=80 qs=50" } else { "qp=40 qs=20" };
        assert_eq!(warning(&desk, ndim, &format!("{fine} qmech=coarse")), "");
    }
}

#[test]
fn windows_have_the_places_of_their_nodes_and_lone_snapshots_are_warned_of() {
    let desk = desk(2);
    for (origin, node) in [(20.0, 20.0), (15.0, 10.0), (16.0, 20.0), (24.0, 20.0)] {
        let window = format!("snap=y wfl=wfl.rsf jsnap=20 nqz=1 oqz={origin}");
        assert_eq!(warning(&desk, 2, &window), "");
        let axes = desk.axes("wfl.rsf", 4);
        assert_eq!(axes[0].o, node, "oqz={origin}");
        assert_eq!(
            (axes[0].label.as_deref(), axes[1].label.as_deref()),
            (Some("z"), Some("x"))
        );
    }
    warned(
        &desk,
        2,
        "snap=y wfl=wfl.rsf",
        &["only snapshot is the one of the first step", "jsnap="],
    );
    warned(
        &desk,
        2,
        "snap=y wfl=wfl.rsf jsnap=100",
        &["jsnap=100", "60 steps"],
    );
}

#[test]
fn files_of_sources_and_axes_that_do_not_fit_are_named_once() {
    let desk = desk(2);
    desk.dataset("three.rsf", "n1=3 n2=1", &[1.0, 2.0, 3.0]);
    desk.dataset("two.rsf", "n1=2 n2=2", &[1.0; 4]);
    let sentence = |extra: &str| {
        let run = shoot(&desk, 2, extra);
        assert_eq!(run.code, 1, "{run:?}");
        run.err.lines().last().unwrap_or_default().to_string()
    };
    for (extra, rest) in [
        (
            "mech=three.rsf",
            "mech=three.rsf has n1=3 n2=1; src=explosion with 1 source needs n1=1 (M0) n2=1",
        ),
        (
            "onset=three.rsf",
            "onset=three.rsf has 3 values; onset= takes one for each source, 1 here",
        ),
        (
            "series=two.rsf",
            "series=two.rsf has n1=2 times and n2=2 series; n2 must be 1 or the number of sources, 1",
        ),
    ] {
        assert_eq!(sentence(extra), format!("sfvsfd2d-gpu: {rest}"));
    }
    for name in ["vp", "vs", "den"] {
        desk.dataset(&format!("{name}_up.rsf"), "n1=2 n2=2 d1=-10 d2=10", &[1.0; 4]);
    }
    let up = sentence("vp=vp_up.rsf vs=vs_up.rsf den=den_up.rsf");
    assert!(up.contains("vp=vp_up.rsf") && up.contains("d=-10"), "{up}");
    let missing = desk.sh(&format!("{} > data.rsf", line(2).replace("vp=vp.rsf ", "")));
    assert!(
        missing.err.contains("vp= is missing") && missing.err.contains("/dev/stdin"),
        "{missing:?}"
    );
}

/// With qmech=coarse, four mechanisms share a block of cells in 2-D and eight in 3-D, so 2-D needs a higher Q.
#[test]
fn coarse_mechanisms_are_weak_in_a_plane() {
    let words = ["qmech=coarse needs a Q of 50 or more in 2-D", "8 %", "qmech=3"];
    warned(&desk(2), 2, "qp=60 qs=49 qmech=coarse", &words);
    assert_eq!(warning(&desk(3), 3, "qp=60 qs=49 qmech=coarse"), "");
}

/// If the mechanisms can keep other quality factors constant in this band, the warning is about the loss and not about
/// the band.
#[test]
fn losses_too_large_for_a_constant_q_are_named_as_such() {
    let words = [
        "where it is 1: 4 relaxation times keep factors of",
        "within a wavelength",
    ];
    let text = warning(&desk(2), 2, "qp=2 qs=1 qmech=4");
    assert!(
        words.iter().all(|word| text.contains(word)) && !text.contains("qband="),
        "{text}"
    );
    let wide = warning(&desk(2), 2, "qp=60 qs=50 qmech=4 qband=0.01,1000");
    assert!(
        wide.contains("give a narrower qband=, the band of the waves") && !wide.contains("qmech=4"),
        "{wide}"
    );
}

#[test]
fn water_beside_rock_is_warned_of() {
    let desk = desk(2);
    let cells = desk.read("vs.rsf").len();
    let water: Vec<f32> = (0..cells)
        .map(|k| if k < cells / 2 { 0.0 } else { 1700.0 })
        .collect();
    let header = "n1=24 o1=0 d1=10 n2=26 o2=0 d2=10";
    desk.dataset("vs.rsf", header, &water);
    warned(
        &desk,
        2,
        "",
        &["a fluid in 312 cells", "order=4", "thirty or more points"],
    );
    assert_eq!(warning(&desk, 2, "order=2"), "");
    desk.dataset("vs.rsf", header, &vec![0.0; cells]);
    assert_eq!(warning(&desk, 2, ""), "");
}

/// The message for a model with another number of dimensions names the axes, and the program for them.
#[test]
fn models_and_points_of_other_dimensions_name_their_program() {
    let (flat, solid) = (desk(2), desk(3));
    for name in ["vp", "vs", "den", "sou", "rec"] {
        for (from, to) in [(&flat, &solid), (&solid, &flat)] {
            let header = std::fs::read(from.path(&format!("{name}.rsf"))).unwrap();
            let moved = String::from_utf8_lossy(&header)
                .replace("in=\"", &format!("in=\"{}/", from.path("").display()));
            std::fs::write(to.path(&format!("{name}-other.rsf")), moved).unwrap();
        }
    }
    let all = "vp=vp-other.rsf vs=vs-other.rsf den=den-other.rsf";
    refused(
        &flat,
        2,
        all,
        &[
            "vp=vp-other.rsf has three axes (n1=",
            "a 2-D program takes z and x: sfvsfd3d-gpu runs",
        ],
    );
    refused(
        &solid,
        3,
        all,
        &[
            "vp=vp-other.rsf has two axes (n1=",
            "takes z, x and y: sfvsfd2d-gpu runs",
            "sfspray axis=3",
        ],
    );
    refused(
        &flat,
        2,
        "sou=sou-other.rsf",
        &[
            "n1=3 coordinates per point",
            "x, z (sfvsfd3d-gpu takes points of n1=3)",
        ],
    );
    refused(
        &solid,
        3,
        "rec=rec-other.rsf",
        &[
            "n1=2 coordinates per point",
            "x, y, z (sfvsfd2d-gpu takes points of n1=2)",
        ],
    );
    for (desk, program, expected) in [
        (&flat, "sfvsgrad2d-gpu", "sfvsgrad3d-gpu runs"),
        (&solid, "sfvsborn3d-gpu", "sfvsborn2d-gpu runs"),
    ] {
        let run = desk.sh(&format!(
            "{program} {all} sou=sou.rsf rec=rec.rsf nt=9 dt=0.001 tau=0.008 < vp.rsf > data.rsf"
        ));
        assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
    }
}

/// Programs that do not read earthquake files refuse them, and name the parameters that they accept.
#[test]
fn files_of_earthquakes_are_refused_in_a_plane_with_what_it_takes() {
    let say = |desk: &Desk, program: &str, word: &str| {
        let run = desk.sh(&format!("{program} {word}=CMT vp=vp.rsf > data.rsf"));
        assert_eq!(run.code, 1, "{run:?}");
        run.err.lines().next().unwrap_or_default().to_string()
    };
    let desk = desk(2);
    for program in [
        "sfvsfd2d-gpu",
        "sfvsgrad2d-gpu",
        "sfvsborn2d-gpu",
        "sfvsrtm2d-gpu",
        "sfsem2d-gpu",
        "sfsemgrad2d-gpu",
    ] {
        for word in ["cmt", "quakeml"] {
            let message = say(&desk, program, word);
            let words = format!(
                "{program}: warning: unknown parameter {word}=: a moment tensor needs three dimensions, and sfvsfd3d-gpu"
            );
            assert!(
                message.starts_with(&words) && message.contains("src=moment with mxx=, mzz= and mxz="),
                "{message}"
            );
        }
        assert!(say(&desk, program, "force").contains("src=force with fx= and fz="));
        assert!(say(&desk, program, "stations").contains("rec= names the points (x, z)"));
    }
    for program in ["sfvsgrad3d-gpu", "sfvsborn3d-gpu", "sfvsrtm3d-gpu"] {
        let message = say(&desk, program, "cmt");
        assert!(
            message.contains("sfvsfd3d-gpu and sfsem3d-gpu take such files") && message.contains("myz="),
            "{message}"
        );
    }
    for program in ["sfewefd2d-gpu", "sfewefd3d-gpu"] {
        assert!(say(&desk, program, "cmt").contains("standard input has the wavelets"));
    }
    // They are not parameters of these programs: neither the help nor the list for sfdoc has them.
    let shown = desk.sh("sfvsfd2d-gpu --help; sfvsfd2d-gpu --sfdoc");
    assert!(!shown.out.contains("\n    string      cmt="), "{shown:?}");
    assert!(!shown.out.contains("\"cmt\""), "{shown:?}");
}
