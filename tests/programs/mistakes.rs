//! Errors in the input whose effects appear elsewhere are reported at their origin: wavelets that begin with a jump,
//! and speeds that no solid has.

use crate::desk::Desk;
use crate::{earthquakes, shot, velocity_stress};

/// Writes a Ricker wavelet of 10 Hz centred at this time (s), with samples 1 ms apart.
fn ricker(desk: &Desk, middle: f32) {
    let value = |i: i32| {
        let a = (std::f32::consts::PI * 10.0 * (i as f32 * 1e-3 - middle)).powi(2);
        (1.0 - 2.0 * a) * (-a).exp()
    };
    desk.dataset(
        "series.rsf",
        "n1=400 d1=0.001",
        &(0..400).map(value).collect::<Vec<f32>>(),
    );
}

#[test]
fn a_wavelet_that_begins_with_a_jump_is_distinguished_from_a_coarse_grid() {
    let desk = velocity_stress::desk(2);
    let messages = |middle: f32, more: &str| {
        ricker(&desk, middle);
        let line = velocity_stress::line(2).replace("tau=0.008", "series=series.rsf");
        let run = desk.sh(&format!("{line} nt=500 {more} > data.rsf"));
        assert_eq!(run.code, 0, "{run:?}");
        run.err
    };
    let jump =
        "warning: the wavelet begins with 25 % of its largest value, and this jump contains all frequencies";
    let cut = messages(0.055, "");
    assert!(cut.contains(jump) && cut.contains("delay it"), "{cut}");
    assert!(!cut.contains("refine the grid"), "{cut}");
    // `error=` cannot be met for all frequencies; that message is also about the wavelet, not about the grid.
    ricker(&desk, 0.055);
    let line = velocity_stress::line(2).replace("tau=0.008", "series=series.rsf");
    for (words, expected) in [
        (
            "",
            "error= includes exact time (tdc=y), which tdc=n switches off: tdc=y: series 1 of the time functions of the sources begins with 25 %",
        ),
        ("tdc=n", "error=0.01: the wavelet begins with 25 %"),
    ] {
        let run = desk.sh(&format!("{line} nt=500 error=0.01 path=5 {words} > data.rsf"));
        assert!(run.code == 1 && run.err.contains(expected), "{words}: {run:?}");
        assert!(
            !run.err.contains("a spacing of") && !run.err.contains("give dt="),
            "{run:?}"
        );
    }
    let whole = messages(0.15, "");
    assert!(
        !whole.contains("begins with") && !whole.contains("points per"),
        "{whole}"
    );
    // The small shot of the displacement programs has a wavelet of this kind.
    let desk = shot::desk(2);
    let run = shot::shoot(&desk, 2, "");
    assert!(
        run.err
            .contains("warning: the wavelet begins with 45 % of its largest value"),
        "{run:?}"
    );
    assert!(!run.err.contains("refine the grid"), "{run:?}");
}

#[test]
fn speeds_that_a_plane_has_and_no_solid_are_warned_of() {
    let desk = velocity_stress::desk(2);
    let grid = "n1=24 d1=10 n2=26 d2=10";
    let mut values = vec![1700.0f32; 24 * 26];
    values[24 + 3] = 2700.0;
    desk.dataset("vs.rsf", grid, &values);
    let run = desk.sh(&format!("{} > data.rsf", velocity_stress::line(2)));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("at z=30.000000 (index 3), x=10.000000 (index 1) vs is 2700 and vp is 3000: a solid with vs above 0.866 vp has a negative bulk modulus"),
        "{run:?}"
    );
    values[24 + 3] = 2590.0;
    desk.dataset("vs.rsf", grid, &values);
    let run = desk.sh(&format!("{} > data.rsf", velocity_stress::line(2)));
    assert!(!run.err.contains("bulk modulus"), "{run:?}");
}

/// A 2-D model would use only the first row of a map that changes along y.
#[test]
fn maps_with_rows_are_no_horizons_in_two_dimensions() {
    let desk = Desk::new();
    desk.dataset(
        "rows.rsf",
        "n1=2 d1=100 n2=3 d2=50",
        &[60.0, 61.0, 62.0, 63.0, 64.0, 65.0],
    );
    let line = "sflayers horizons=rows.rsf rho=2000,2300 vp=2000,3000 vs=1000,1700 n1=21 n2=11 d1=10 d2=10 den=den.rsf";
    let run = desk.sh(&format!("{line} > ccc.rsf"));
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.err.contains("the map rows.rsf of horizons= has 3 values of y (n2): give n3= for a model in 3-D, or a line of the map for a model in 2-D"),
        "{run:?}"
    );
    let run = desk.sh(&format!("{line} n3=11 d3=10 > ccc.rsf"));
    assert_eq!(run.code, 0, "{run:?}");
}

/// Units other than SI are reported, both if a header names them and if speeds, steps and depths suggest a model in km.
#[test]
fn units_of_files_that_are_not_si_are_warned_of() {
    let desk = velocity_stress::desk(2);
    let grid = "n1=24 d1=10 n2=26 d2=10";
    let line = velocity_stress::line(2);
    let messages = |file: &str, header: &str, value: f32, line: &str| {
        desk.dataset(file, header, &[value; 24 * 26]);
        let run = desk.sh(&format!("{line} > data.rsf"));
        desk.dataset("vs.rsf", grid, &[1700.0; 24 * 26]);
        run
    };
    let small = messages("vs.rsf", &format!("{grid} unit=km/s"), 1.7, &line);
    for words in [
        "the header of vs=vs.rsf says unit=km/s, but its numbers are taken as m/s: if they are in km/s, multiply them (sfscale dscale=1000 | sfput unit=m/s)",
        "vs is 1.7 m/s at z=",
    ] {
        assert!(small.code == 0 && small.err.contains(words), "{words}: {small:?}");
    }
    let plain = messages("vs.rsf", &format!("{grid} unit=m/s"), 1700.0, &line);
    assert!(
        !plain.err.contains("header")
            && !plain.err.contains("units are SI")
            && !plain.err.contains("Check the units"),
        "{plain:?}"
    );
    // Axes are in km, but speeds in m/s.
    let axes = "n1=24 d1=0.01 n2=26 d2=0.01";
    for (name, value) in [("vp", 3000.0f32), ("vs", 1700.0), ("den", 2200.0)] {
        desk.dataset(&format!("{name}-km.rsf"), axes, &[value; 24 * 26]);
    }
    desk.dataset("near.rsf", "n1=2 n2=1", &[0.1f32, 0.1]);
    let line = ["vp", "vs", "den"].iter().fold(line, |line, name| {
        line.replace(&format!("{name}={name}.rsf"), &format!("{name}={name}-km.rsf"))
    });
    let line = ["sou", "rec"].iter().fold(line, |line, name| {
        line.replace(&format!("{name}={name}.rsf"), &format!("{name}=near.rsf"))
    });
    let run = desk.sh(&format!("{line} > data.rsf"));
    assert!(
        run.code == 1
            && run
                .err
                .contains("dt= must be in s, coordinates in m and speeds in m/s"),
        "{run:?}"
    );
    let run = desk.sh(&format!("{line} dt=1e-6 plan=y"));
    assert!(
        run.err
            .contains("points: check that the axes of the model are in m"),
        "{run:?}"
    );
    // The axis of the wavelet is in ms.
    desk.dataset("ms.rsf", "n1=3 d1=1 unit1=ms", &[0.0, 1.0, 0.0]);
    let line = velocity_stress::line(2).replace("tau=0.008", "series=ms.rsf");
    let run = desk.sh(&format!("{line} plan=y"));
    assert!(
        run.err
            .contains("series=ms.rsf says unit1=ms, but its times are taken as s: d1=1 is 0.001 s"),
        "{run:?}"
    );
}

/// A wavelet begins with its first sample that is not zero, of either sign; and its time must run forward.
#[test]
fn series_that_begin_too_early_or_stand_still_are_warned_of() {
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2).replace("tau=0.008", "series=series.rsf");
    for (first, expected) in [
        (-1.0f32, "series= begins at -0.001953125 s"),
        (0.0, "series= begins at -0.0009765625 s"),
    ] {
        desk.dataset(
            "series.rsf",
            "n1=5 d1=0.0009765625 o1=-0.0029296875",
            &[0.0, first, -2.0, 1.0, 0.0],
        );
        let run = desk.sh(&format!("{line} > data.rsf"));
        assert!(run.code == 0 && run.err.contains(expected), "{expected}: {run:?}");
    }
    for step in ["0", "-0.01"] {
        desk.dataset("series.rsf", &format!("n1=3 d1={step}"), &[0.0, 1.0, 0.0]);
        let run = desk.sh(&format!("{line} > data.rsf"));
        let expected = "the time step must be a positive number";
        assert!(run.code == 1 && run.err.contains(expected), "{step}: {run:?}");
    }
}

/// If a band is too wide for its mechanisms, the warning says by how much Q varies.
#[test]
fn quality_factors_that_are_not_constant_are_warned_of() {
    let desk = velocity_stress::desk(2);
    for (words, expected) in [
        (
            "qband=0.01,100",
            "3 relaxation times cannot keep it constant over a factor of 10000 in frequency",
        ),
        (
            "qmech=1",
            "1 relaxation time cannot keep it constant over a factor of 12 in frequency",
        ),
        ("qband=2,20", ""),
        ("qmech=4 qband=1,40", ""),
        ("", ""),
    ] {
        let line = velocity_stress::line(2);
        let text = desk.sh(&format!("{line} qp=40 qs=40 {words} plan=y")).err;
        let warned = text.contains("Q is wrong by up to");
        assert!(
            warned != expected.is_empty() && text.contains(expected),
            "{words}: {text}"
        );
    }
}

/// The steps are too long by a thousandth: the records of both shots grow after the waves, but are still finite at the
/// end.
#[test]
fn shots_whose_records_grow_are_named() {
    let desk = Desk::new();
    for (name, value) in [("vp", 1500.0), ("vs", 800.0), ("den", 2000.0)] {
        desk.dataset(&format!("{name}.rsf"), "n1=60 n2=60 d1=10 d2=10", &[value; 3600]);
    }
    let sources = [100.0, 120.0, 150.0, 170.0, 180.0, 190.0];
    desk.dataset("sous.rsf", "n1=2 n2=1 n3=3", &sources);
    desk.dataset(
        "rec.rsf",
        "n1=2 n2=3",
        &[200.0, 200.0, 250.0, 250.0, 300.0, 300.0],
    );
    let line = "sfvsfd2d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sous.rsf rec=rec.rsf nt=800 cfl=warn stf=ricker freq=8 m0=1e9 nb=8 jcheck=800 device=cpu";
    for (words, expected) in [
        (
            "dt=0.004044 shots=2-3",
            Some("the records of 2 shots (2, 3) grow by a factor of "),
        ),
        ("dt=0.004044 shots=2", Some("the records grow by a factor of ")),
        ("dt=0.0039", None),
    ] {
        let run = desk.ran(&format!("{line} {words} > data.rsf"));
        assert_eq!(
            run.err.contains(expected.unwrap_or("this is an instability")),
            expected.is_some(),
            "{words}: {run:?}"
        );
        // The growth depends on rounding, so the message gives two digits of it.
        if let Some((_, rest)) = run.err.split_once("grow by a factor of ") {
            let factor = rest.split(' ').next().unwrap_or_default();
            let digits = factor.split('e').next().unwrap_or_default().replace('.', "");
            let size: f64 = factor.parse().expect("a number");
            assert!(size > 1e5 && digits.len() <= 2, "{factor}");
        }
    }
}

/// If the cut cells of a model are for another grid the run has a warning, and if they dip the message of the refusal
/// names the missing parameter.
#[test]
fn models_for_nodes_are_warned_of_on_a_staggered_grid() {
    let desk = Desk::new();
    desk.dataset("point.rsf", "n1=2 n2=1", &[200.0, 150.0]);
    desk.dataset("dip.rsf", "n1=2 d1=400", &[83.0, 133.0]);
    let run = |horizon: &str, words: &str| {
        desk.ran(&format!("sflayers horizons={horizon} rho=2000,2300 vp=2000,3000 vs=1000,1700 n1=41 n2=41 d1=10 d2=10 den=den.rsf {words} > ccc.rsf"));
        desk.sh("sfvsfd2d-gpu ccc=ccc.rsf den=den.rsf sou=point.rsf rec=point.rsf nt=9 dt=0.001 m0=1e9 stf=ricker freq=8 nb=4 device=cpu > data.rsf")
    };
    let expected = "ccc= has shears=collocated in its header";
    let flat = run("103", "");
    assert!(flat.code == 0 && flat.err.contains(expected), "{flat:?}");
    for words in ["scheme=staggered", "average=n"] {
        let run = run("103", words);
        assert!(run.code == 0 && !run.err.contains(expected), "{words}: {run:?}");
    }
    let dipping = run("dip.rsf", "");
    assert!(
        dipping.code == 1
            && dipping
                .err
                .contains("make models for this program with scheme=staggered"),
        "{dipping:?}"
    );
}

/// Programs take z as the first axis: a warning says how to transpose a model whose labels have x first.
#[test]
fn models_whose_labels_say_x_first_are_warned_of() {
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2);
    let warning = "warning: vp=turned.rsf has label1=X label2=Depth, but its axes are taken as z, x";
    desk.ran("sfbasics put label1=X label2=Depth < vp.rsf > turned.rsf");
    for (model, expected) in [("vp.rsf", false), ("turned.rsf", true)] {
        let run = desk.sh(&format!(
            "{} > data.rsf",
            line.replace("vp=vp.rsf", &format!("vp={model}"))
        ));
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(run.err.contains(warning), expected, "{run:?}");
    }
}

/// An earthquake is one shot: receivers of several shots are refused, and the message names the remedy.
#[test]
fn receivers_of_several_shots_beside_one_earthquake_are_refused() {
    let desk = earthquakes::desk();
    desk.put("CMT", earthquakes::cmt(4_727_150.0, 500_150.0, 0.5));
    let place = [500_120.0f32, 4_727_100.0, 0.0];
    desk.dataset("recs.rsf", "n1=3 n2=1 n3=2", &place.repeat(2));
    let (run, grid) = (earthquakes::RUN, earthquakes::GRID);
    let run = desk.sh(&format!(
        "{run} layers=layers.txt {grid} cmt=CMT rec=recs.rsf > no.rsf"
    ));
    let expected = "rec= has 2 shots (n3=), but cmt= gives one: give the receivers of one shot, or";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
}

/// A StationXML file without stations, such as a data centre's empty answer, is refused with a message that says so.
#[test]
fn station_xml_without_stations_is_refused() {
    let desk = earthquakes::desk();
    desk.put("CMT", earthquakes::cmt(42.696_9, 15.001_8, 0.5));
    desk.put(
        "none.xml",
        "<FDSNStationXML><Source>a data centre</Source></FDSNStationXML>",
    );
    let (run, grid) = (earthquakes::RUN, earthquakes::GRID);
    let run = desk.sh(&format!(
        "{run} layers=layers.txt {grid} utm=33 cmt=CMT stations=none.xml > no.rsf"
    ));
    let expected = "it has no <Network> with a <Station>: give a StationXML file with stations";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
}

/// Files that disagree on the grid of the model are refused with both names and both numbers, quality factors included.
#[test]
fn quality_factors_on_another_grid_are_refused() {
    for ndim in [2, 3] {
        let desk = velocity_stress::desk(ndim);
        let axes = velocity_stress::grid(ndim);
        let lengths = &velocity_stress::N[..ndim];
        let cells: usize = lengths.iter().product();
        let [n1, n2] = [lengths[0], lengths[1]];
        let turned = axes
            .replacen(&format!("n1={n1}"), "n1=_", 1)
            .replacen(&format!("n2={n2}"), &format!("n2={n1}"), 1)
            .replacen("n1=_", &format!("n1={n2}"), 1);
        for (name, axes) in [
            ("turned", turned.clone()),
            ("moved", format!("{axes} o2=500")),
            ("plain", format!("{axes} d1=1")),
            ("whole", axes.clone()),
        ] {
            desk.dataset(&format!("{name}.rsf"), &axes, &vec![60.0; cells]);
        }
        let modelling = velocity_stress::line(ndim);
        desk.ran(&format!("{modelling} > data.rsf"));
        let linear = modelling.replace(&format!("sfvsfd{ndim}d"), &format!("sfvsgrad{ndim}d"));
        let image = modelling.replace(&format!("sfvsfd{ndim}d"), &format!("sfvsrtm{ndim}d"));
        let born = modelling.replace(
            &format!("sfvsfd{ndim}d-gpu"),
            &format!("sfvsborn{ndim}d-gpu adj=y"),
        );
        let hint = "sftransp exchanges the first two axes of a file";
        for line in [modelling, linear, image, born] {
            for (words, expected) in [
                (
                    "qp=turned.rsf qs=40",
                    format!("vp=vp.rsf has n1={n1} but qp=turned.rsf has n1={n2}: both must lie on one grid"),
                ),
                ("qp=60 qs=turned.rsf", hint.to_string()),
                ("qp=60 qs=moved.rsf", "but qs=moved.rsf has o2=500".to_string()),
                (
                    "qp=plain.rsf qs=whole.rsf",
                    "but qp=plain.rsf has d1=1:".to_string(),
                ),
            ] {
                let run = desk.sh(&format!("{line} {words} < data.rsf > x.rsf"));
                assert!(
                    run.code == 1 && run.err.contains(&expected),
                    "{line} {words}: {run:?}"
                );
            }
        }
    }
}

/// The grid of a model of layers= has no file.
#[test]
fn quality_factors_beside_layers_need_their_grid() {
    let desk = velocity_stress::desk(2);
    desk.put("layers.txt", "0 3000 1700 2200\n");
    let [n1, n2] = [velocity_stress::N[0], velocity_stress::N[1]];
    desk.dataset(
        "q.rsf",
        &format!("n1={n2} n2={n1} d1=10 d2=10"),
        &vec![60.0; n1 * n2],
    );
    let line = velocity_stress::line(2).replace("vp=vp.rsf vs=vs.rsf den=den.rsf", "layers=layers.txt");
    let run = desk.sh(&format!(
        "{line} n1={n1} n2={n2} d1=10 d2=10 qp=q.rsf qs=40 > x.rsf"
    ));
    let expected =
        format!("the grid of layers= has n1={n1} but qp=q.rsf has n1={n2}: both must lie on one grid");
    assert!(run.code == 1 && run.err.contains(&expected), "{run:?}");
}

/// Weights must have the axes of the data; the same number of values is not enough.
#[test]
fn weights_with_exchanged_axes_are_refused() {
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2);
    desk.ran(&format!("{line} > data.rsf"));
    let gradient = line.replace("sfvsfd2d", "sfvsgrad2d");
    let all = desk.read("data.rsf");
    let count = all.len() / 6;
    desk.dataset(
        "whole.rsf",
        &format!("n1=3 n2=2 n3={count}"),
        &vec![1.0; all.len()],
    );
    desk.dataset(
        "turned.rsf",
        &format!("n1={count} n2=2 n3=3"),
        &vec![1.0; all.len()],
    );
    desk.ran(&format!("{gradient} weight=whole.rsf < data.rsf > x.rsf"));
    let run = desk.sh(&format!("{gradient} weight=turned.rsf < data.rsf > x.rsf"));
    let expected = format!(
        "weight=turned.rsf has n1={count} n2=2 n3=3, but standard input has n1=3 n2=2 n3={count}: weights need the axes of the data"
    );
    assert!(run.code == 1 && run.err.contains(&expected), "{run:?}");
}

/// Times in messages have the digits of the header.
#[test]
fn data_that_end_after_the_run_are_refused_with_their_time() {
    let desk = velocity_stress::desk(2);
    desk.dataset("late.rsf", "n1=3 n2=2 n3=367 d3=0.003", &[1.0; 6 * 367]);
    let line = velocity_stress::line(2).replace("sfvsfd2d", "sfvsgrad2d");
    let run = desk.sh(&format!("{line} < late.rsf > x.rsf"));
    // 366 times 0.003 is 1.0979999999999999 in double precision.
    let expected = "ends at 1.098 s (n3=367 o3=0 d3=0.003) but this run at 0.06 s";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
}

/// A density in g/cm3 with a stiffness in Pa gives waves that are far too fast, for which no time step is short enough.
#[test]
fn waves_that_are_faster_than_any_in_the_earth_are_warned_of() {
    for ndim in [2, 3] {
        let desk = shot::desk(ndim);
        let line = format!("{} < wav.rsf > data.rsf", shot::line(ndim));
        let warning = "no wave in the Earth is faster than 14000 m/s; with axes in m, ccc= must be in Pa";
        assert!(!desk.ran(&line).err.contains(warning));
        let stiff: Vec<f32> = shot::stiffness(ndim).iter().map(|c| 1e9 * c).collect();
        desk.dataset("ccc.rsf", &shot::stiffness_header(ndim), &stiff);
        let run = desk.sh(&line);
        assert!(
            run.code == 1 && run.err.contains(warning) && run.err.contains("is unstable"),
            "{run:?}"
        );
    }
}

/// Speeds of two units are reported as what they are, and not as an eigenvalue of the stiffness.
#[test]
fn layers_with_speeds_of_two_units_are_refused() {
    let run = Desk::new()
        .sh("sflayers horizons=50 rho=2000 vp=1.8 vs=1000 n1=21 n2=11 d1=10 d2=10 den=den.rsf > ccc.rsf");
    let expected = "vp=1.8 vs=1000: vs is larger than vp, but is at most 0.866 vp in a solid";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
}
