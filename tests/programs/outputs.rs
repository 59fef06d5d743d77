//! What the programs write, where, and in which form: pipes, forms, headers, /dev/null, dry runs.

use crate::shot::{
    DT, N, NT, cells, desk, fed, grid, line, names, shoot, stiffness, wavelet, wavelet_header,
};
use crate::shots::relative_difference;
use crate::velocity_stress;
use rsf_io::{Axis, Form};
use std::fs;

/// The data of the run without options.
fn plain(desk: &crate::desk::Desk, ndim: usize) -> Vec<f32> {
    let run = shoot(desk, ndim, "");
    assert_eq!(run.code, 0, "{run:?}");
    desk.read("data.rsf")
}

#[test]
fn the_wavelet_may_come_from_a_pipe_and_the_data_go_into_one() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let expected = plain(&desk, ndim);
        assert!(expected.iter().any(|x| x.abs() > 1e-9));
        let run = desk.sh(&format!("cat wav.rsf | {} | cat > piped.rsf", line(ndim)));
        assert_eq!(run.code, 0, "{run:?}");
        let input = desk.open("piped.rsf");
        assert_eq!(input.data_name(), input.name(), "header and data in one stream");
        assert_eq!(desk.read("piped.rsf"), expected);
        let run = desk.sh(&format!("{} wav=wav.rsf > tagged.rsf", line(ndim)));
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(desk.read("tagged.rsf"), expected);
    }
}

#[test]
fn every_other_input_may_come_from_a_pipe() {
    let desk = desk(2);
    let expected = plain(&desk, 2);
    for tag in ["ccc", "den", "sou", "rec"] {
        let pipe = format!("{tag}.pipe");
        let run = desk.sh(&fed(
            &[(&format!("cat {tag}.rsf"), &pipe)],
            &format!("{} {tag}={pipe} < wav.rsf > piped.rsf", line(2)),
        ));
        assert_eq!(run.code, 0, "{tag}: {run:?}");
        assert_eq!(desk.read("piped.rsf"), expected, "{tag}");
    }
}

#[test]
fn stiffness_straight_from_its_builder() {
    let desk = desk(2);
    let numbers = "vp=2 vs=1.1 ro=2.2 sym=iso dim=2 n1=20 n2=24 d1=0.01 d2=0.01";
    let run = desk.sh(&fed(
        &[(&format!("sfstiffness {numbers}"), "c")],
        &format!("{} ccc=c < wav.rsf > piped.rsf", line(2)),
    ));
    assert_eq!(run.code, 0, "{run:?}");
    let (got, expected) = (desk.read("piped.rsf"), plain(&desk, 2));
    let apart = relative_difference(&got, &expected);
    assert!(apart < 1e-5, "{apart}");
}

#[test]
fn data_take_the_form_of_the_wavelet() {
    let desk = desk(2);
    let expected = plain(&desk, 2);
    let values = wavelet(2);
    let words: Vec<String> = values.iter().map(|x| format!("{x:.9e}")).collect();
    let ascii = format!(
        "{} data_format=ascii_float in=stdin\n\x0c\x0c\x04{}\n",
        wavelet_header(2),
        words.join(" ")
    );
    desk.put("ascii.rsf", ascii);
    let mut xdr = format!(
        "{} data_format=xdr_float in=stdin\n\x0c\x0c\x04",
        wavelet_header(2)
    )
    .into_bytes();
    xdr.extend(values.iter().flat_map(|x| x.to_be_bytes()));
    desk.put("xdr.rsf", xdr);
    for (name, form, exact) in [("ascii.rsf", Form::Ascii, false), ("xdr.rsf", Form::Xdr, true)] {
        let run = desk.sh(&format!("{} snap=y wfl=wfl.rsf < {name} > out.rsf", line(2)));
        assert_eq!(run.code, 0, "{run:?}");
        for file in ["out.rsf", "wfl.rsf"] {
            assert_eq!(desk.open(file).format().form, form, "{file} of {name}");
        }
        let got = desk.read("out.rsf");
        // Ascii output has six digits.
        let near = relative_difference(&got, &expected) <= 6e-6;
        assert!(near && (!exact || got == expected), "{name}");
    }
}

#[test]
fn headers_count_the_records_that_are_written() {
    let desk = desk(2);
    for jdata in [1, 2, 3, 7, 22, 23, 24, 1000] {
        let run = shoot(&desk, 2, &format!("jdata={jdata}"));
        assert_eq!(run.code, 0, "{run:?}");
        let records = NT.div_ceil(jdata);
        let axes = desk.axes("data.rsf", 3);
        let receivers = Axis {
            unit: Some("km".into()),
            ..Axis::new(3, 5.0, 2.0).label("r")
        };
        assert_eq!((axes[0].clone(), axes[1].n, axes[2].n), (receivers, 2, records));
        assert!((axes[2].d / (DT * jdata as f32) - 1.0).abs() < 1e-5);
        assert_eq!(
            (axes[2].label.as_deref(), axes[2].unit.as_deref()),
            (Some("t"), Some("s"))
        );
        let bytes = fs::metadata(desk.path("data.rsf@")).unwrap().len();
        assert_eq!(bytes, (3 * 2 * records * 4) as u64);
    }
}

#[test]
fn snapshots_and_their_windows() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let run = shoot(&desk, ndim, "snap=y jsnap=5 wfl=whole.rsf");
        assert_eq!(run.code, 0, "{run:?}");
        let whole = desk.axes("whole.rsf", ndim + 2);
        let n: Vec<usize> = whole.iter().map(|a| a.n).collect();
        let mut padded: Vec<usize> = N[..ndim].iter().map(|n| n + 16).collect();
        padded.extend([ndim, NT.div_ceil(5)]);
        assert_eq!(n, padded);
        assert!((whole[0].o + 0.08).abs() < 1e-6);
        let cut = |oqz: &str| {
            let words = format!("verb=y snap=y jsnap=5 wfl=cut.rsf nqz=4 oqz={oqz} nqx=6 oqx=0.08");
            let run = shoot(&desk, ndim, &words);
            assert_eq!(run.code, 0, "{run:?}");
            let cut = desk.axes("cut.rsf", ndim + 2);
            // The header has the requested origin, as in Madagascar, and verb=y names the node of the data.
            assert_eq!((cut[0].n, cut[1].n, cut[0].o), (4, 6, oqz.parse().unwrap()));
            let warned = run.err.contains("begin at the node 0.05, and their header");
            assert_eq!(warned, oqz != "0.05", "{run:?}");
            desk.read("cut.rsf")
        };
        let got = cut("0.05");
        assert!(cut("0.054") == got && cut("0.046") == got);
        // The same values, extracted by hand: z index 13 and x index 16 of the padded grid.
        let all = desk.read("whole.rsf");
        let rest = all.len() / (padded[0] * padded[1]);
        let by_hand: Vec<f32> = (0..rest * 24)
            .map(|i| {
                let (z, x, k) = (i % 4 + 13, i / 4 % 6 + 16, i / 24);
                all[z + padded[0] * (x + padded[1] * k)]
            })
            .collect();
        assert_eq!(got, by_hand);
    }
}

#[test]
fn without_a_name_snapshots_go_where_madagascar_puts_them() {
    let desk = desk(2);
    let run = shoot(&desk, 2, "snap=y");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(desk.axes("wfl", 4)[3].n, 1, "one snapshot, after the first step");
    assert!(run.err.contains("wfl= is not given"), "{run:?}");
    let run = shoot(&desk, 2, "wfl=unused.rsf");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("warning: ") && run.err.contains("snap=y"),
        "{run:?}"
    );
    assert!(!desk.path("unused.rsf").exists());
}

#[test]
fn everything_may_go_to_dev_null() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let before = names(&desk);
        let run = desk.sh(&format!(
            "{} snap=y jsnap=1 wfl=/dev/null < wav.rsf > /dev/null",
            line(ndim)
        ));
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(names(&desk), before);
    }
}

#[test]
fn a_dry_run_writes_the_header_only() {
    let desk = desk(2);
    let run = shoot(&desk, 2, "--dryrun=y jdata=2");
    assert_eq!(run.code, 0, "{run:?}");
    let header = fs::read_to_string(desk.path("data.rsf")).unwrap();
    assert!(header.contains("n3=12") && header.contains("n1=3"), "{header}");
    assert_eq!(fs::metadata(desk.path("data.rsf@")).map_or(0, |m| m.len()), 0);
}

#[test]
fn data_do_not_depend_on_slabs_threads_or_tiles() {
    for (ndim, extras) in [
        (
            2,
            ["threads=1", "threads=2 ngpu=2", "ngpu=5", "threads=3 tile=16"],
        ),
        (
            3,
            ["threads=1", "threads=2 ngpu=2", "ngpu=4", "threads=3 tile=16,9"],
        ),
    ] {
        let desk = desk(ndim);
        for boundary in [
            "",
            "free=y",
            "free=y surface=traction ssou=y opot=y",
            "dabc=n interp=n",
        ] {
            let expected = {
                let run = shoot(&desk, ndim, boundary);
                assert_eq!(run.code, 0, "{run:?}");
                fs::read(desk.path("data.rsf@")).unwrap()
            };
            for extra in extras {
                let run = shoot(&desk, ndim, &format!("{boundary} {extra}"));
                assert_eq!(run.code, 0, "{run:?}");
                let got = fs::read(desk.path("data.rsf@")).unwrap();
                assert!(got == expected, "{ndim}-D {boundary} {extra}: the bits differ");
            }
        }
    }
}

#[test]
fn tiles_are_printed_and_what_is_none_is_refused() {
    let desk = desk(2);
    let run = shoot(&desk, 2, "device=cpu verb=y");
    assert!(
        run.code == 0 && run.err.contains("of the second-level cache per thread; caches "),
        "{run:?}"
    );
    let run = shoot(&desk, 2, "device=cpu verb=y tile=16");
    assert!(
        run.code == 0 && run.err.contains("their size is asked for"),
        "{run:?}"
    );
    for (words, expected) in [
        ("tile=16,9", "in 2-D tiles are cut only along z"),
        ("tile=-1", "tile= got `-1`"),
        ("tile=wide", "tile= got `wide`"),
    ] {
        let run = shoot(&desk, 2, words);
        assert!(run.code == 1 && run.err.contains(expected), "{words}: {run:?}");
    }
}

#[test]
fn headers_may_lack_what_madagascar_lets_them_lack() {
    let desk = desk(2);
    let expected = plain(&desk, 2);
    // For one point, n2 is missing; for one time series there are trailing axes of length 1.
    desk.dataset("sou.rsf", "n1=2", &crate::shot::middle(2));
    desk.dataset("den.rsf", &format!("{} n3=1 n4=1", grid(2)), &vec![2.2; cells(2)]);
    desk.dataset("ccc.rsf", &format!("{} n3=4 n4=1", grid(2)), &stiffness(2));
    assert_eq!(plain(&desk, 2), expected);
}

#[test]
fn outputs_name_the_program_that_wrote_them() {
    let desk = desk(2);
    plain(&desk, 2);
    let header = fs::read_to_string(desk.path("data.rsf")).unwrap();
    assert!(
        header.contains("sfewefd2d-gpu") && header.contains("CPU, "),
        "{header}"
    );
    assert!(header.contains(env!("CARGO_PKG_VERSION")), "{header}");
    // The wavelet's history is kept.
    assert!(header.contains("label3=Time"), "{header}");
}

/// UTM coordinates have more than six digits, and maps and snapshots of such a model have the right positions.
#[test]
fn maps_and_snapshots_keep_the_digits_of_their_places() {
    let (desk, far) = (velocity_stress::desk(2), 4_726_277.0f32);
    let grid = format!("n1=21 o1=0 d1=10 n2=31 o2={far} d2=10");
    for (name, value) in [("vp", 3000.0f32), ("vs", 1700.0), ("den", 2200.0)] {
        desk.dataset(&format!("{name}.rsf"), &grid, &[value; 21 * 31]);
    }
    for name in ["sou", "rec"] {
        desk.dataset(&format!("{name}.rsf"), "n1=2 n2=1", &[far + 150.0, 100.0]);
    }
    let words = "free=y pgv=pgv.rsf snap=y jsnap=10 wfl=wfl.rsf nqx=5 oqx=4726287 > data.rsf";
    let run = desk.sh(&format!("{} {words}", velocity_stress::line(2)));
    assert_eq!(run.code, 0, "{run:?}");
    for (name, key) in [("pgv.rsf", "o1=4726277"), ("wfl.rsf", "o2=4726287")] {
        let header = String::from_utf8_lossy(&fs::read(desk.path(name)).unwrap()).into_owned();
        assert!(
            header.split_whitespace().any(|word| word == key),
            "{name}: {header}"
        );
    }
}
