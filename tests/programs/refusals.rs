//! Bad input: a single clear message, exit code 1, and no output that looks complete.

use crate::desk::{Desk, Outcome};
use crate::shot::{
    self, cells, desk, fed, grid, line, middle, names, shoot, stiffness, stiffness_header, wavelet_header,
};
use std::fs;
use std::io::Read;
use std::process::Stdio;

/// The message of a run that is refused, after checking its form and that no output looks complete.
fn sentence(desk: &Desk, run: &Outcome) -> String {
    assert_eq!(run.code, 1, "{run:?}");
    let sentences: Vec<&str> = run
        .err
        .lines()
        .filter(|l| !l.contains("-gpu: warning: ") && !l.contains("-gpu: CPU, "))
        .collect();
    assert_eq!(sentences.len(), 1, "a single message, got {run:?}");
    let (program, text) = sentences[0].split_once(": ").unwrap();
    assert!(
        program.starts_with("sfewefd") && program.ends_with("d-gpu"),
        "{run:?}"
    );
    assert!(!text.contains("internal error"), "{run:?}");
    println!("{text}");
    for name in ["data.rsf", "wfl.rsf"] {
        if fs::metadata(desk.path(name)).is_ok_and(|m| m.len() > 0) {
            let whole = rsf_io::Input::open(&desk.path(name));
            assert!(whole.is_err(), "{name} looks complete after {run:?}");
        } else {
            let data = desk.path(&format!("{name}@"));
            assert!(!data.exists(), "{name}@ is left behind by {run:?}");
        }
    }
    text.to_string()
}

/// The run must be refused with a message that has all these texts.
fn refused(desk: &Desk, run: &Outcome, words: &[&str]) {
    let text = sentence(desk, run);
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in: {text}");
    }
}

/// A 2-D shot with one dataset replaced must be refused.
fn replaced(name: &str, header: &str, values: &[f32], words: &[&str]) {
    let desk = desk(2);
    desk.dataset(name, header, values);
    refused(&desk, &shoot(&desk, 2, "snap=y wfl=wfl.rsf"), words);
}

/// A 2-D or 3-D shot with extra parameters must be refused.
fn parameters(ndim: usize, extra: &str, words: &[&str]) {
    let desk = desk(ndim);
    refused(&desk, &shoot(&desk, ndim, extra), words);
}

#[test]
fn missing_files() {
    for tag in ["ccc", "den", "sou", "rec"] {
        let desk = desk(2);
        fs::remove_file(desk.path(&format!("{tag}.rsf"))).unwrap();
        refused(
            &desk,
            &shoot(&desk, 2, ""),
            &[&format!("{tag}={tag}.rsf"), "No such file"],
        );
    }
    let desk = desk(2);
    refused(
        &desk,
        &shoot(&desk, 2, "wav=nothing.rsf"),
        &["wav=nothing.rsf", "No such file"],
    );
    let run = desk.sh("sfewefd2d-gpu ccc=ccc.rsf < wav.rsf > data.rsf");
    refused(&desk, &run, &["missing", "den=", "sou=", "rec="]);
    let run = desk.sh(&format!("{} > data.rsf", line(2)));
    refused(&desk, &run, &["standard input", "empty"]);
}

#[test]
fn truncated_files() {
    for tag in ["ccc", "den", "sou", "rec", "wav"] {
        for ndim in [2, 3] {
            let desk = desk(ndim);
            let path = desk.path(&format!("{tag}.rsf"));
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
            let name = if tag == "wav" {
                "standard input"
            } else {
                &format!("{tag}={tag}.rsf")
            };
            refused(&desk, &shoot(&desk, ndim, ""), &[name, "cut short"]);
        }
    }
}

#[test]
fn files_that_end_early_in_a_pipe() {
    for tag in ["ccc", "den", "sou", "rec"] {
        let desk = desk(2);
        let bytes = fs::metadata(desk.path(&format!("{tag}.rsf"))).unwrap().len();
        let run = desk.sh(&fed(
            &[(&format!("head -c {} {tag}.rsf", bytes - 3), "pipe")],
            &format!("{} {tag}=pipe < wav.rsf > data.rsf", line(2)),
        ));
        refused(
            &desk,
            &run,
            &[&format!("{tag}=pipe"), "the data end before element"],
        );
    }
}

#[test]
fn a_file_cut_off_in_its_header() {
    let desk = desk(2);
    desk.put("ccc.rsf", &stiffness_header(2)[..20]);
    refused(&desk, &shoot(&desk, 2, ""), &["ccc=ccc.rsf"]);
    desk.put("ccc.rsf", "");
    refused(&desk, &shoot(&desk, 2, ""), &["ccc=ccc.rsf", "empty"]);
}

#[test]
fn grids_that_disagree() {
    let ro = vec![2.0; cells(2)];
    let swapped = |key: &str, value: &str| {
        let words = grid(2);
        let words = words.split_whitespace().map(|w| match w.split_once('=') {
            Some((k, _)) if k == key => format!("{key}={value}"),
            _ => w.to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    replaced(
        "den.rsf",
        &swapped("n1", "21"),
        &[2.0; 21 * 24],
        &["n1=20", "n1=21", "den=", "ccc="],
    );
    replaced("den.rsf", &swapped("n2", "12"), &ro, &["n2=24", "n2=12"]);
    replaced("den.rsf", &swapped("d2", "0.02"), &ro, &["d2=0.01", "d2=0.02"]);
    replaced("den.rsf", &swapped("o1", "0.005"), &ro, &["o1=0", "o1=0.005"]);
    replaced(
        "den.rsf",
        &format!("{} n3=2", grid(2)),
        &[2.0; 2 * 20 * 24],
        &["den=", "three axes (n1=20, n2=24, n3=2)", "sfewefd3d-gpu runs"],
    );
    let zero_spacing = stiffness_header(2).replace("d1=0.01", "d1=0");
    replaced("ccc.rsf", &zero_spacing, &stiffness(2), &["d1="]);
}

#[test]
fn wrong_numbers_of_planes() {
    let header = |planes: usize| format!("{} n3={planes}", grid(2));
    for planes in [1, 3, 5, 9] {
        let values = vec![5.0; planes * cells(2)];
        let words = [&format!("n3={planes}"), "n3=4", "c11 c33 c55 c13"];
        replaced("ccc.rsf", &header(planes), &values, &words);
    }
    let desk = desk(3);
    desk.dataset("ccc.rsf", &format!("{} n4=4", grid(3)), &vec![5.0; 4 * cells(3)]);
    refused(&desk, &shoot(&desk, 3, ""), &["n4=4", "n4=9", "c11 c22 c33"]);
}

#[test]
fn a_wavelet_that_does_not_fit() {
    let values = [0.5; 3 * 6 * 4];
    replaced(
        "wav.rsf",
        "n1=2 n2=2 n3=10 d3=0.001",
        &values[..40],
        &["n1=2", "sources", "sou=", "n2=1"],
    );
    replaced(
        "wav.rsf",
        "n1=1 n2=3 n3=10 d3=0.001",
        &values[..30],
        &["n2=3", "components", "z, x"],
    );
    replaced(
        "wav.rsf",
        "n1=1 n2=2 n3=5 d3=0.001 n4=2",
        &values[..20],
        &["20 values", "n3"],
    );
    replaced(
        "wav.rsf",
        "n1=1 n2=2 n3=5 d3=-0.001",
        &values[..10],
        &["d3=-0.001", "positive"],
    );
    replaced(
        "wav.rsf",
        "n1=1 n2=2 n3=5 d3=0",
        &values[..10],
        &["d3=0", "positive"],
    );
    replaced("wav.rsf", "n1=1 n2=2 n3=0 d3=0.001", &[], &["n3=0"]);
    let mut spoilt = shot::wavelet(2);
    spoilt[7] = f32::NAN;
    replaced(
        "wav.rsf",
        &wavelet_header(2),
        &spoilt,
        &["not finite", "sample 3"],
    );
    let desk = desk(2);
    desk.put(
        "wav.rsf",
        "n1=1 n2=2 n3=3 d3=0.001 data_format=ascii_int in=stdin\n\x0c\x0c\x041 2 3 4 5 6\n",
    );
    refused(&desk, &shoot(&desk, 2, ""), &["standard input", "int", "float"]);
}

#[test]
fn media_that_no_wave_can_cross() {
    let at = 5 + shot::N[0] * 7; // z index 5, x index 7
    let place = [
        "z=0.05",
        "index 5",
        "x=0.07",
        "index 7",
        "ccc=ccc.rsf den=den.rsf",
    ];
    let with = |words: &[&'static str]| [&place[..], words].concat();
    for (plane, value, words) in [
        (0, f32::NAN, &["c11", "NaN"][..]),
        (3, f32::INFINITY, &["c13", "inf"]),
        (2, -1.0, &["positive"]),
        (3, 50.0, &["positive"]),
        (1, 0.0, &["positive"]),
    ] {
        let mut c = stiffness(2);
        c[plane * cells(2) + at] = value;
        replaced("ccc.rsf", &stiffness_header(2), &c, &with(words));
    }
    for (value, words) in [
        (f32::NAN, &["density", "NaN"][..]),
        (f32::INFINITY, &["density", "inf"]),
        (0.0, &["density", "positive"]),
        (-2.2, &["density", "positive", "-2.2"]),
    ] {
        let mut ro = vec![2.2; cells(2)];
        ro[at] = value;
        replaced("den.rsf", &grid(2), &ro, &with(words));
    }
    let desk = desk(3);
    let mut c = stiffness(3);
    c[8 * cells(3) + at] = 60.0;
    desk.dataset("ccc.rsf", &stiffness_header(3), &c);
    refused(
        &desk,
        &shoot(&desk, 3, ""),
        &["z=0.05", "x=0.07", "y=0", "positive"],
    );
}

#[test]
fn an_unstable_time_step() {
    let desk = desk(2);
    let header = wavelet_header(2).replace("d3=0.001", "d3=0.01");
    desk.dataset("wav.rsf", &header, &shot::wavelet(2));
    refused(
        &desk,
        &shoot(&desk, 2, ""),
        &["0.01", "unstable", "largest stable", "cfl=warn"],
    );
    // A plan is printed completely before it ends with the same refusal.
    let run = shoot(&desk, 2, "plan=y device=cpu");
    let last = run.err.lines().last().unwrap_or_default();
    assert!(
        run.code == 1 && last.contains("unstable") && run.err.contains("memory "),
        "{run:?}"
    );
    // The overflow takes a few steps; values are checked at every tenth step.
    let longer: Vec<f32> = shot::wavelet(2).into_iter().chain([0.0; 600]).collect();
    let header = header.replace("n3=23", "n3=323");
    desk.dataset("wav.rsf", &header, &longer);
    let run = shoot(&desk, 2, "cfl=warn jcheck=10");
    assert!(run.err.contains("warning: time step 0.01"), "{run:?}");
    refused(&desk, &run, &["not finite at step", "z=", "x=", "index", "ro"]);
    let written = fs::metadata(desk.path("data.rsf@")).unwrap().len();
    assert!(
        written > 0 && written.is_multiple_of(3 * 2 * 4),
        "{written} bytes: complete records"
    );
    let values = fs::read(desk.path("data.rsf@")).unwrap();
    let first = f32::from_ne_bytes(values[..4].try_into().unwrap());
    assert!(first.is_finite());
}

#[test]
fn parameters_out_of_range() {
    parameters(2, "nb=-3", &["nb=", "-3", "from 0"]);
    parameters(2, "nb=four", &["nb=", "four"]);
    parameters(2, "jdata=0", &["jdata=", ">= 1"]);
    parameters(2, "nbell=-1", &["nbell="]);
    parameters(2, "snap=y jsnap=0", &["jsnap="]);
    parameters(2, "ngpu=0", &["ngpu="]);
    parameters(2, "ngpu=6", &["6 slabs", "(ngpu=)", "40 planes", "1 to 5"]);
    parameters(3, "ngpu=1000", &["1000 slabs", "38 planes"]);
    parameters(2, "free=maybe", &["free=", "maybe"]);
    parameters(2, "surface=lava", &["surface=", "vacuum", "traction"]);
}

#[test]
fn windows_off_the_grid() {
    let snap = |extra: &str| format!("snap=y wfl=wfl.rsf {extra}");
    parameters(2, &snap("nqz=37"), &["nqz=37", "36 nodes", "-0.08"]);
    parameters(2, &snap("nqx=10 oqx=0.3"), &["nqx=10", "oqx=0.3", "40 nodes"]);
    parameters(2, &snap("nqz=2 oqz=-0.2"), &["oqz=-0.2"]);
    parameters(2, &snap("oqz=nan"), &["oqz"]);
    parameters(3, &snap("nqy=4 oqy=1"), &["nqy=4", "oqy=1", "along y"]);
}

#[test]
fn points_off_the_grid() {
    let bad = |name: &str, values: &[f32], words: &[&str]| {
        replaced(name, &format!("n1=2 n2={}", values.len() / 2), values, words);
    };
    bad(
        "sou.rsf",
        &[2.0, 0.1],
        &[
            "sou=sou.rsf: point 1",
            "x=2",
            "outside the model",
            "x from 0 to 0.23",
        ],
    );
    bad(
        "rec.rsf",
        &[0.1, 0.1, 0.1, -0.2],
        &["rec=rec.rsf: point 2", "z=-0.2", "outside"],
    );
    bad("rec.rsf", &[f32::NAN, 0.1], &["rec=rec.rsf", "point 1", "NaN"]);
    replaced(
        "rec.rsf",
        "n1=3 n2=1",
        &[0.1; 3],
        &["rec=", "n1=3", "n1=2", "x, z"],
    );
    replaced("rec.rsf", "n1=2 n2=0", &[], &["rec=", "no points"]);
    replaced("sou.rsf", "n1=2 n2=0", &[], &["sou="]);
    let desk = desk(3);
    desk.dataset("rec.rsf", "n1=3 n2=1", &[0.1, 7.0, 0.1]);
    refused(&desk, &shoot(&desk, 3, ""), &["rec=rec.rsf: point 1", "y=7"]);
}

#[test]
fn headers_that_claim_too_much() {
    let desk = desk(3);
    let huge = "n1=1000000 n2=1000000 n3=1000000 d1=1 d2=1 d3=1";
    desk.dataset("ccc.rsf", &format!("{huge} n4=9"), &[1.0; 100]);
    desk.dataset("den.rsf", huge, &[1.0; 100]);
    refused(&desk, &shoot(&desk, 3, ""), &["ccc=ccc.rsf", "1000000"]);
    // For a pipe, only the header gives the size.
    let run = desk.sh(&fed(
        &[("cat ccc.rsf", "c"), ("cat den.rsf", "d")],
        &format!("{} ccc=c den=d < wav.rsf > data.rsf", line(3)),
    ));
    refused(&desk, &run, &["1000000", "more elements than can be counted"]);
    let large = huge.replace("1000000", "100000");
    desk.dataset("ccc.rsf", &format!("{large} n4=9"), &[1.0; 100]);
    desk.dataset("den.rsf", &large, &[1.0; 100]);
    let run = desk.sh(&fed(
        &[("cat ccc.rsf", "e"), ("cat den.rsf", "f")],
        &format!("{} ccc=e den=f < wav.rsf > data.rsf", line(3)),
    ));
    refused(&desk, &run, &["100000", "is too large"]);
    let desk = shot::desk(2);
    desk.put(
        "claim",
        b"n1=2 n2=1000000000000000000 in=stdin data_format=native_float\n\x0c\x0c\x04xxxx",
    );
    let run = desk.sh(&fed(
        &[("cat claim", "r")],
        &format!("{} rec=r < wav.rsf > data.rsf", line(2)),
    ));
    refused(&desk, &run, &["rec=r"]);
    let desk = shot::desk(3);
    refused(&desk, &shoot(&desk, 3, "nb=1000000"), &["nb=1000000"]);
}

#[test]
fn directories_as_files() {
    for tag in ["ccc", "den", "sou", "rec", "wav"] {
        let desk = desk(2);
        refused(
            &desk,
            &shoot(&desk, 2, &format!("{tag}=.")),
            &[&format!("{tag}=."), "directory"],
        );
    }
    let desk = desk(2);
    refused(
        &desk,
        &desk.sh(&format!("{} < . > data.rsf", line(2))),
        &["standard input", "directory"],
    );
    refused(&desk, &shoot(&desk, 2, "snap=y wfl=."), &["wfl=.", "directory"]);
}

#[test]
fn places_that_cannot_be_written() {
    let desk = desk(2);
    refused(
        &desk,
        &shoot(&desk, 2, "snap=y wfl=no/such/wfl.rsf"),
        &["wfl=no/such/wfl.rsf"],
    );
    refused(&desk, &shoot(&desk, 2, "datapath=/no/such/"), &["/no/such/"]);
    refused(&desk, &shoot(&desk, 2, "out=/no/such/data"), &["/no/such/data"]);
}

#[test]
fn full_disks() {
    let desk = desk(2);
    let run = desk.sh(&format!("{} < wav.rsf > /dev/full", line(2)));
    refused(&desk, &run, &["standard output", "No space left"]);
    let run = desk.sh(&format!("{} snap=y wfl=/dev/full < wav.rsf > /dev/null", line(2)));
    refused(&desk, &run, &["wfl=/dev/full", "No space left"]);
    let run = desk.sh(&format!("{} out=stdout < wav.rsf > /dev/full", line(2)));
    refused(&desk, &run, &["standard output", "No space left"]);
    let left: Vec<String> = names(&desk).into_iter().filter(|n| n.ends_with('@')).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_reader_of_a_pipe_leaves() {
    let desk = desk(2);
    // The data are more than a pipe and buffers hold: a process that another test starts meanwhile may keep the reading
    // end for a moment.
    let nt = 4000;
    desk.dataset("rec.rsf", "n1=2 n2=2000", &middle(2).repeat(2000));
    desk.dataset(
        "wav.rsf",
        &format!("n1=1 n2=2 n3={nt} d3=0.001"),
        &vec![0.0; 2 * nt],
    );
    let mut run = desk
        .command(&format!("exec {} < wav.rsf", line(2)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(run.stdout.take());
    let mut err = String::new();
    run.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let code = run.wait().unwrap().code();
    let sentences: Vec<&str> = err
        .lines()
        .filter(|l| !l.contains("CPU,") && !l.contains("warning:"))
        .collect();
    assert_eq!(code, Some(141), "{err}");
    assert!(sentences.is_empty(), "{err}");
}

#[test]
fn inputs_are_not_overwritten() {
    let desk = desk(2);
    let before = fs::read(desk.path("ccc.rsf")).unwrap();
    let run = shoot(&desk, 2, "snap=y wfl=ccc.rsf");
    refused(&desk, &run, &["wfl=ccc.rsf", "overwrite", "ccc=ccc.rsf"]);
    assert_eq!(fs::read(desk.path("ccc.rsf")).unwrap(), before);
    let run = shoot(&desk, 2, "out=./den.rsf");
    refused(&desk, &run, &["overwrite", "den=den.rsf"]);
    // The shell empties the file before the program starts.
    let run = desk.sh(&format!("{} < wav.rsf > den.rsf", line(2)));
    refused(&desk, &run, &["den=den.rsf", "empty"]);
}

#[test]
fn copies_under_mpirun() {
    for (name, launcher) in [("OMPI_COMM_WORLD_SIZE", "mpirun"), ("PMI_SIZE", "mpiexec")] {
        let desk = desk(2);
        let run = desk.sh(&format!("{name}=2 {} < wav.rsf > data.rsf", line(2)));
        refused(&desk, &run, &[launcher, "2 ranks", "no MPI"]);
        let run = desk.sh(&format!("{name}=1 {} < wav.rsf > data.rsf", line(2)));
        assert_eq!(run.code, 0, "{run:?}");
    }
}

#[test]
fn unknown_parameters() {
    let desk = desk(2);
    let run = shoot(&desk, 2, "nbel=3");
    assert_eq!(run.code, 0, "{run:?}");
    let text = "warning: unknown parameter nbel= (did you mean nbell= ?); RSF_STRICT=1 makes this an error";
    assert!(run.err.contains(text), "{run:?}");
    fs::remove_file(desk.path("data.rsf")).unwrap();
    fs::remove_file(desk.path("data.rsf@")).unwrap();
    let run = desk.sh(&format!("RSF_STRICT=1 {} nbel=3 < wav.rsf > data.rsf", line(2)));
    refused(&desk, &run, &["unknown parameter nbel=", "nbell="]);
}
