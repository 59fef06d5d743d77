//! What the programs print: documentation, plan, progress, memory.

use crate::desk::{Desk, built};
use crate::shot::{desk, line, names, shoot};
use programs::modelling::displacement::{PROGRAM_2D, PROGRAM_3D};
use rsf_io::{ParamKind, Program};
use std::fs::{self, File};
use std::process::{Command, Stdio};

const BOTH: [&Program; 2] = [&PROGRAM_2D, &PROGRAM_3D];

#[test]
fn declarations_are_sound() {
    for program in BOTH {
        program.verify().unwrap();
        for p in program.params {
            assert!(p.doc.len() >= 10, "{} {}=: {}", program.name, p.name, p.doc);
        }
    }
    programs::stiffness::PROGRAM.verify().unwrap();
}

#[test]
fn a_bare_call_documents_every_parameter() {
    for program in BOTH {
        let run = Desk::new().sh(program.name);
        assert_eq!(run.code, 0);
        let (_, parameters) = run.out.split_once("PARAMETERS").unwrap();
        // Entries for parameters of other programs are not parameters of this program.
        let own = program.params.iter().filter(|p| p.kind != ParamKind::Elsewhere);
        for p in own {
            let at = parameters.find(&format!("  {}=", p.name));
            let at = at.unwrap_or_else(|| panic!("{} is not documented", p.name));
            let head = parameters[at..].lines().next().unwrap();
            let default = p.default.or(p.default_text).unwrap_or_default();
            assert!(head.contains(&format!("{}={default}", p.name)), "{head}");
            let is_documented =
                p.required || p.ignored || !default.is_empty() || p.name == "wav" || p.name == "wfl";
            assert!(
                is_documented,
                "{}= has neither a default nor a note that it is required",
                p.name
            );
            let bounded = p.range.is_some() || (p.min.is_none() && p.max.is_none());
            assert!(bounded, "{}= has a limit but no text for its range", p.name);
        }
        assert!(run.out.contains(program.example.lines().next().unwrap()));
    }
}

/// Columns of numbers as a spike program of Madagascar writes them: `n1` values, and the axes given.
fn points(desk: &Desk, name: &str, values: &[f32]) {
    desk.dataset(name, &format!("n1={} o1=0 d1=0.004", values.len()), values);
}

fn ricker(desk: &Desk, ndim: usize, nt: usize) {
    let mut values = Vec::new();
    for it in 0..nt {
        let a = (std::f32::consts::PI * 10.0 * (it as f32 - 100.0) * 0.001).powi(2);
        values.extend(std::iter::repeat_n((1.0 - 2.0 * a) * (-a).exp(), ndim));
    }
    desk.dataset(
        "wav.rsf",
        &format!("n1=1 n2={ndim} n3={nt} d3=0.001 o3=0"),
        &values,
    );
}

/// Runs this suite's lines of an example: the model builder unchanged, and the solvers as plans. The files that
/// Madagascar's programs make in the example exist already.
fn follow(desk: &Desk, example: &str) {
    let joined = example.replace("\\\n", " ");
    let lines: Vec<&str> = joined
        .lines()
        .filter(|l| l.starts_with("sfstiffness") || l.starts_with("sfewefd"))
        .collect();
    assert!(lines.len() >= 2, "{lines:?}");
    for line in lines {
        let own = line.trim_end_matches('|');
        let plan = if own.starts_with("sfewefd") { " plan=y" } else { "" };
        let run = desk.sh(&format!("{own}{plan}"));
        assert_eq!(run.code, 0, "{own}: {run:?}");
        assert!(!run.err.contains("warning"), "{own}: {run:?}");
    }
}

#[test]
fn the_worked_examples_work() {
    let desk = Desk::new();
    desk.dataset("den.rsf", "n1=201 n2=201 d1=0.01 d2=0.01", &[2.2; 201 * 201]);
    ricker(&desk, 2, 1000);
    points(&desk, "sou.rsf", &[1.0, 1.0]);
    let receivers: Vec<f32> = (0..201).flat_map(|i| [0.01 * i as f32, 0.1]).collect();
    desk.dataset("rec.rsf", "n1=2 n2=201 d1=1 d2=0.01", &receivers);
    follow(&desk, PROGRAM_2D.example);
    let desk = Desk::new();
    let header = "n1=101 n2=101 n3=101 d1=0.01 d2=0.01 d3=0.01";
    desk.dataset("den.rsf", header, &vec![2.3; 101 * 101 * 101]);
    ricker(&desk, 3, 500);
    points(&desk, "sou.rsf", &[0.5, 0.5, 0.5]);
    points(&desk, "rec.rsf", &[0.8, 0.5, 0.1]);
    follow(&desk, PROGRAM_3D.example);
}

#[test]
fn threads_of_the_environment_are_at_most_the_cores() {
    let desk = desk(2);
    let cores = std::thread::available_parallelism().unwrap().get();
    for (set, word, expected) in [("100000", "", cores), ("1", "", 1), ("1", "threads=3", 3)] {
        let run = desk.sh(&format!(
            "OMP_NUM_THREADS={set} {} {word} device=cpu plan=y < wav.rsf",
            line(2)
        ));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(
            run.err.contains(&format!("device CPU, {expected} thread")),
            "{run:?}"
        );
    }
}

#[test]
fn a_plan_prints_everything_and_writes_nothing() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let before = names(&desk);
        let run = desk.sh(&format!(
            "{} plan=y ngpu=2 snap=y wfl=wfl.rsf < wav.rsf",
            line(ndim)
        ));
        assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
        assert_eq!(names(&desk), before);
        for words in [
            "grid z 20 x x 24",
            "frame of 8 nodes",
            "medium isotropic",
            "stability limit",
            "points per shortest wavelength",
            "slab 2: planes",
            "memory",
            "bytes per point",
            "time about",
            "nothing was run",
        ] {
            assert!(run.err.contains(words), "`{words}` is missing in {}", run.err);
        }
        let auto = desk
            .sh(&format!("{} plan=y device=auto < wav.rsf", line(ndim)))
            .err;
        let gpu = auto.contains("device GPU");
        assert!(
            gpu != auto.contains("no GPU is used: ") && gpu != auto.contains("device CPU"),
            "{auto}"
        );
        // Two levels of displacement are in memory, and the density with at least two moduli.
        let line = run.err.lines().find(|line| line.contains("bytes per point"));
        let mut words = line.unwrap_or_default().split(' ').rev();
        let bytes: f64 = words.find_map(|word| word.parse().ok()).unwrap_or(0.0);
        let least = 4.0 * (2.0 * ndim as f64 + 3.0);
        assert!(
            bytes >= least,
            "{bytes} bytes per point, at least {least} expected: {line:?}"
        );
    }
}

#[test]
fn a_run_beyond_the_memory_is_refused_before_it_begins() {
    let desk = desk(2);
    let run = desk.sh(&format!("{} nb=200000 plan=y < wav.rsf", line(2)));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("warning: this run needs 256")
            && run.err.contains("GB are free: it will be refused"),
        "{run:?}"
    );
    let run = desk.sh(&format!("{} nb=200000 < wav.rsf > data.rsf", line(2)));
    assert!(
        run.code == 1
            && run
                .err
                .contains("GB are free: the run was not started; use a smaller grid and"),
        "{run:?}"
    );
    let small = desk.sh(&format!("{} plan=y < wav.rsf", line(2)));
    assert!(!small.err.contains("are free"), "{small:?}");
}

#[test]
fn verb_prints_progress_and_speed_and_silence_is_the_default() {
    let desk = desk(3);
    let run = shoot(&desk, 3, "verb=y");
    assert_eq!(run.code, 0, "{run:?}");
    for words in [
        "grid z 20",
        "wave speeds 1.1000 to 2.0000",
        "set-up ",
        "Mpt/s",
        "GB/s",
        "step 23 of 23",
    ] {
        assert!(run.err.contains(words), "`{words}` is missing in {}", run.err);
    }
    let quiet = shoot(&desk, 3, "");
    let lines: Vec<&str> = quiet.err.lines().filter(|l| !l.contains("warning")).collect();
    assert_eq!(lines.len(), 1, "the device: {quiet:?}");
    assert!(lines[0].contains("CPU, "));
}

/// A source on few nodes excites waves that the grid cannot propagate.
#[test]
fn narrow_bells_are_warned_of() {
    let desk = desk(2);
    for (nbell, warns) in [(0, true), (3, true), (4, false)] {
        for words in ["", "plan=y"] {
            let run = desk.ran(&format!(
                "{} {words} < wav.rsf > data.rsf",
                line(2).replace("nbell=3", &format!("nbell={nbell}"))
            ));
            let warning = format!("nbell={nbell} also excites slow waves with a wavelength of two cells");
            assert_eq!(run.err.contains(&warning), warns, "{run:?}");
        }
    }
}

#[test]
fn a_run_that_records_nothing_is_warned_of() {
    let desk = desk(2);
    desk.dataset("wav.rsf", &crate::shot::wavelet_header(2), &[0.0; 46]);
    let run = shoot(&desk, 2, "");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("warning: the wavelet is zero everywhere"),
        "{run:?}"
    );
    assert!(run.err.contains("warning: all data are zero"), "{run:?}");
}

/// Peak memory of a 3-D run: 92 bytes per point of the padded grid are enough for two levels of displacement, ten
/// planes and the ghosts; the original needs 228.
#[test]
fn memory_of_a_3d_run() {
    let desk = Desk::new();
    let n = 150;
    let header = format!("n1={n} n2={n} n3={n} d1=0.01 d2=0.01 d3=0.01");
    let run = desk.sh(&format!(
        "sfstiffness vp=2 vs=1.1 ro=2.2 dim=3 {header} > ccc.rsf"
    ));
    assert_eq!(run.code, 0, "{run:?}");
    desk.dataset("den.rsf", &header, &vec![2.2; n * n * n]);
    desk.dataset("wav.rsf", "n1=1 n2=3 n3=2 d3=0.001", &[1.0; 6]);
    for name in ["sou.rsf", "rec.rsf"] {
        desk.dataset(name, "n1=3", &[0.5; 3]);
    }
    let line = line(3).replace("nb=8", "nb=24");
    let mut command = Command::new(built::program(env!("CARGO_BIN_EXE_sfewefd3d-gpu")));
    command
        .args(line.split_whitespace().skip(1))
        .current_dir(desk.path("."))
        .env("DATAPATH", "./")
        .stdin(File::open(desk.path("wav.rsf")).unwrap())
        .stdout(File::create(desk.path("data.rsf")).unwrap())
        .stderr(Stdio::null());
    let peak = peak_bytes(&mut command);
    let points = (n + 48_usize).pow(3) as f64;
    let bytes = peak as f64 / points;
    println!("{bytes:.1} bytes per padded point");
    assert!(bytes > 40.0 && bytes <= 92.0, "{bytes:.1} bytes per padded point");
    assert!(fs::metadata(desk.path("data.rsf@")).unwrap().len() > 0);
}

/// Peak resident bytes of a command that must succeed, sampled about every millisecond while it runs.
fn peak_bytes(command: &mut Command) -> u64 {
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
        peak = std::cmp::max(peak, 1024 * kilobytes.unwrap_or(0));
        if let Some(end) = child.try_wait().unwrap() {
            assert!(end.success());
            return peak;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
