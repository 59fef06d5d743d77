//! Several shots in one run of the displacement programs.

use crate::desk::Desk;
use crate::fakes::Driver;
use crate::finished::other_inputs;
use crate::gpus::{assert_mentions, on};
use crate::shot::{DT, NT, desk as model, line, line_on, wavelet, wavelet_header};

/// A desk with the model, the wavelet of two sources, and the points of three shots whose receivers move with them.
pub fn desk(ndim: usize) -> Desk {
    let desk = model(ndim);
    let at = |x: f32| match ndim {
        3 => vec![x, x + 0.013, x - 0.02],
        _ => vec![x, x - 0.02],
    };
    let two: Vec<f32> = wavelet(ndim).iter().flat_map(|&w| [w, -0.5 * w]).collect();
    desk.dataset("wav.rsf", &wavelet_header(ndim).replace("n1=1", "n1=2"), &two);
    let pair = |x: f32| [at(x), at(x + 0.021)].concat();
    let sources: Vec<f32> = [0.08, 0.1, 0.12].into_iter().flat_map(pair).collect();
    let spread = |shift: f32| [0.06, 0.095, 0.1512].into_iter().flat_map(move |x| at(x + shift));
    let receivers: Vec<f32> = [0.0, 0.005, 0.01].into_iter().flat_map(spread).collect();
    let both = [
        ("sou", &sources, 2, "o3=0.08 d3=0.02 label3=x"),
        ("rec", &receivers, 3, "o2=5 d2=2"),
    ];
    for (name, points, n, axis) in both {
        let header = format!("n1={ndim} n2={n}");
        desk.dataset(&format!("{name}s.rsf"), &format!("{header} n3=3 {axis}"), points);
        for shot in 0..3 {
            let own = &points[shot * n * ndim..][..n * ndim];
            desk.dataset(&format!("{name}{shot}.rsf"), &format!("{header} {axis}"), own);
        }
    }
    desk
}

/// The command line with other points.
fn with(ndim: usize, sou: &str, rec: &str, extra: &str) -> String {
    let line = line(ndim);
    let line = line
        .replace("sou=sou.rsf", &format!("sou={sou}"))
        .replace("rec=rec.rsf", &format!("rec={rec}"));
    format!("{line} {extra} < wav.rsf")
}

/// Every shot has the same bits as in a separate run.
#[test]
fn shots_are_runs_of_their_own() {
    for (ndim, extra) in [
        (2, "ssou=y free=y jdata=2"),
        (2, "opot=y interp=n ngpu=2"),
        (3, ""),
        (3, "ssou=y opot=y jdata=3"),
    ] {
        let desk = desk(ndim);
        for (sou, rec) in [
            ("sous.rsf", "recs.rsf"),
            ("sous.rsf", "rec0.rsf"),
            ("sou1.rsf", "recs.rsf"),
        ] {
            desk.ran(&format!("{} > data.rsf", with(ndim, sou, rec, extra)));
            let all = desk.read("data.rsf");
            let axes = desk.axes("data.rsf", 4);
            let places = if sou == "sous.rsf" {
                (3, 0.08, 0.02)
            } else {
                (3, 0.0, 1.0)
            };
            assert_eq!((axes[3].n, axes[3].o, axes[3].d), places);
            for shot in 0..3 {
                let of = |name: &str| name.replace("s.rsf", &format!("{shot}.rsf"));
                let (sou, rec) = (of(sou), of(rec));
                desk.ran(&format!("{} > one.rsf", with(ndim, &sou, &rec, extra)));
                let one = desk.read("one.rsf");
                assert!(one.iter().any(|&x| x != 0.0));
                assert!(
                    one == all[shot * one.len()..][..one.len()],
                    "{ndim}-D {extra}: {sou} {rec}"
                );
                assert_eq!(desk.axes("one.rsf", 3), axes[..3]);
            }
        }
    }
}

/// Groups, selected shots, and data of an earlier run do not change any bit.
#[test]
fn groups_and_earlier_runs_change_no_bit() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let line = |extra: &str| with(ndim, "sous.rsf", "recs.rsf", extra);
        desk.ran(&format!("{} > data.rsf", line("")));
        let all = desk.read("data.rsf");
        for words in ["groups=2", "groups=3 threads=2", "groups=2 ngpu=2"] {
            let run = desk.ran(&format!("{} > other.rsf", line(words)));
            assert!(desk.read("other.rsf") == all, "{ndim}-D {words}");
            assert!(run.err.contains("groups"), "the device is reported: {run:?}");
        }
        desk.ran(&format!("{} > other.rsf", line("shots=2-3")));
        assert!(desk.read("other.rsf") == all[all.len() / 3..]);
        assert_eq!(desk.axes("other.rsf", 4)[3].o, 0.1);
        other_inputs(
            &desk,
            &line,
            &[
                ("ccc.rsf", 17, "the model"),
                ("wav.rsf", 40, "the time functions of the sources"),
                ("sous.rsf", 2 * ndim, "the points of shot 2"),
            ],
        );
        desk.ran("sfbasics cut f4=1 n4=1 < data.rsf > hole.rsf");
        let run = desk.ran(&format!("{} > other.rsf", line("finished=hole.rsf verb=y")));
        assert!(
            run.err.contains("2 shots of 3 taken over from finished=") && run.err.contains("shot 2 of 3: "),
            "{run:?}"
        );
        assert!(!run.err.contains("shot 1 of 3: ") && desk.read("other.rsf") == all);
    }
    let desk = desk(2);
    for (extra, expected) in [
        ("", "there are 3, which takes about "),
        (
            "shots=1,3 groups=2",
            "there are 2, 2 at a time, which takes about ",
        ),
    ] {
        let run = desk.ran(&with(2, "sous.rsf", "recs.rsf", &format!("{extra} plan=y")));
        assert!(run.out.is_empty() && run.err.contains(expected), "{run:?}");
        // A run has the same number of warnings as its plan.
        let warnings = |text: &str| text.matches("warning").count();
        let whole = desk.ran(&format!("{} > all.rsf", with(2, "sous.rsf", "recs.rsf", extra)));
        assert_eq!(warnings(&run.err), warnings(&whole.err), "{run:?} {whole:?}");
    }
    // A single shot may have snapshots.
    let words = "shots=2 snap=y jsnap=10 wfl=w.rsf";
    desk.ran(&format!("{} > one.rsf", with(2, "sous.rsf", "recs.rsf", words)));
    let snapshots = desk.read("w.rsf");
    desk.ran(&format!(
        "{} > one.rsf",
        with(2, "sou1.rsf", "rec1.rsf", &words.replace("shots=2", ""))
    ));
    assert!(desk.read("w.rsf") == snapshots && snapshots.iter().any(|&x| x != 0.0));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let desk = desk(2);
    desk.dataset("two.rsf", "n1=2 n2=3 n3=2", &[0.1; 12]);
    let far = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 9.0, 0.1];
    desk.dataset("far.rsf", "n1=2 n2=2 n3=3", &far);
    for (sou, rec, extra, expected) in [
        (
            "sous.rsf",
            "two.rsf",
            "",
            "has 3 shots (n3=) and rec=two.rsf has 2",
        ),
        (
            "far.rsf",
            "rec0.rsf",
            "",
            "shot 3: sou=far.rsf: point 2 at z=0.1 x=9 is outside the model",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "snap=y wfl=w.rsf jsnap=10",
            "snap=y requires a single shot",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "checkpoint=s",
            "checkpoint= requires a single shot",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "finished=ccc.rsf",
            "finished= takes the data of an earlier run",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "shots=4",
            "there is no shot 4: there are 3 shots",
        ),
    ] {
        let run = desk.sh(&format!("{} > data.rsf", with(2, sou, rec, extra)));
        let last = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && last.contains(expected), "{extra}: {run:?}");
    }
    let run = desk.ran(&format!(
        "{} > data.rsf",
        with(2, "sou0.rsf", "rec0.rsf", "groups=2")
    ));
    assert!(run.err.contains("groups= is not used"), "{run:?}");
}

/// A shot that fails in the middle is named and its data are zero; the others are as in separate runs. A run that
/// continues computes only the missing shot.
#[test]
fn a_shot_that_fails_is_contained_and_run_later() {
    let desk = Desk::new();
    let (nz, nx) = (20, 320);
    let grid = format!("n1={nz} n2={nx} d1=0.01 d2=0.01");
    // Beyond cell 300 the waves are too fast for the step; only the waves of a shot near it get there in time.
    let planes = |fast: f32| -> Vec<f32> {
        let plane = |factor: f32| {
            let cell = move |k: usize| factor * 2.2 * if k / nz > 300 { fast * fast } else { 4.0 };
            (0..nz * nx).map(cell).collect::<Vec<f32>>()
        };
        [1.0, 1.0, 0.3, 0.4].into_iter().flat_map(plane).collect()
    };
    desk.dataset("ccc.rsf", &format!("{grid} n3=4"), &planes(60.0));
    desk.dataset("sound.rsf", &format!("{grid} n3=4"), &planes(2.0));
    desk.dataset("den.rsf", &grid, &vec![2.2; nz * nx]);
    desk.dataset("wav.rsf", &wavelet_header(2), &wavelet(2));
    let sources = [0.2, 0.1, 3.1, 0.1, 1.0, 0.1];
    desk.dataset("sous.rsf", "n1=2 n2=1 n3=3", &sources);
    desk.dataset("rec.rsf", "n1=2 n2=3", &[0.22, 0.08, 1.02, 0.1, 3.1, 0.12]);
    let line = |sou: &str, extra: &str| {
        format!(
            "sfewefd2d-gpu ccc=ccc.rsf den=den.rsf sou={sou} rec=rec.rsf nb=8 nbell=3 jcheck=1 cfl=warn device=cpu {extra} < wav.rsf"
        )
    };
    let run = desk.sh(&format!("{} > data.rsf", line("sous.rsf", "")));
    let last = run.err.lines().last().unwrap_or_default();
    assert!(
        run.code == 1
            && run.err.contains("shot 2 of 3 failed, its traces are zero: ")
            && last.contains("1 shot of 3 failed")
            && last.ends_with(": 2"),
        "{run:?}"
    );
    let data = desk.read("data.rsf");
    let n = data.len() / 3;
    assert_eq!(n, 3 * 2 * NT);
    assert!(data[n..2 * n].iter().all(|&x| x == 0.0));
    let run = desk.sh(&format!("{} > groups.rsf", line("sous.rsf", "groups=2")));
    assert!(run.code == 1 && desk.read("groups.rsf") == data, "{run:?}");
    for shot in [0, 2] {
        desk.dataset("sou.rsf", "n1=2 n2=1", &sources[2 * shot..][..2]);
        desk.ran(&format!("{} > one.rsf", line("sou.rsf", "")));
        assert!(desk.read("one.rsf") == data[shot * n..][..n], "shot {shot}");
    }
    desk.ran("sfbasics put made_of= < data.rsf > marked.rsf; mv marked.rsf data.rsf");
    let sound = line("sous.rsf", "finished=data.rsf").replace("ccc.rsf", "sound.rsf");
    let run = desk.ran(&format!("{sound} > all.rsf"));
    assert!(
        run.err.contains("2 shots of 3 taken over from finished="),
        "{run:?}"
    );
    let all = desk.read("all.rsf");
    assert!(all[..n] == data[..n] && all[2 * n..] == data[2 * n..]);
    assert!(all[n..2 * n].iter().any(|&x| x != 0.0));
    // Data of a run with other parameters are reported.
    let other = sound.replace("finished=", "jdata=2 finished=");
    let run = desk.sh(&format!("{other} > again.rsf"));
    assert!(
        run.code == 1 && run.err.contains(&format!("has n3={NT} o3=0 d3={DT}, but")),
        "{run:?}"
    );
}

/// Every group has its own model and fields.
#[test]
fn two_groups_need_twice_the_memory() {
    let desk = desk(2);
    let needed = |groups: usize| -> f64 {
        let words = format!("groups={groups} nb=200000 plan=y");
        let run = desk.ran(&with(2, "sous.rsf", "recs.rsf", &words));
        let rest = run.err.split_once("this run needs ").map(|(_, rest)| rest);
        let number = rest.and_then(|rest| rest.split(' ').next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no memory is told: {run:?}"))
    };
    let ratio = needed(2) / needed(1);
    assert!((ratio - 2.0).abs() < 1e-3, "{ratio}");
}

/// Fake GPUs, whose fields stay zero, take the shots in turn.
#[test]
fn groups_of_gpus_take_shots() {
    let desk = desk(2);
    let line = line_on(2, "").replace("sou=sou.rsf", "sou=sous.rsf");
    let memory = ("FAKE_MEMORY", "1000000000");
    for (devices, words) in [
        ("gpu=0,1 ngpu=1", "GPU 0 Fake 0 (90), the first of 2 groups"),
        ("groups=2", "GPU 0 Fake 0 (90), the first of 2 groups"),
        ("gpu=0,1", "GPU 0 Fake 0 (90) and GPU 1 Fake 1 (90), 2 slabs"),
    ] {
        let line = format!("{line} {devices} < wav.rsf > data.rsf");
        let Some(run) = on(&desk, Driver::Fake, &[memory, ("FAKE_DEVICES", "2")], &line) else {
            return;
        };
        assert_eq!(run.code, 0, "{devices}: {run:?}");
        assert_mentions(&run, &[words]);
        assert_eq!(
            run.err.matches("all data are zero").count(),
            1,
            "{devices}: {run:?}"
        );
        assert_eq!(desk.axes("data.rsf", 4)[3].n, 3);
    }
    let line = format!("{line} groups=4 < wav.rsf > data.rsf");
    let run = on(&desk, Driver::Fake, &[memory], &line).expect("the fake was there a moment ago");
    assert!(
        run.code == 1 && run.err.contains("one after another on a GPU"),
        "{run:?}"
    );
}

/// A plane of receivers with one source and snapshots, as in Madagascar's book: only the first line is recorded.
#[test]
fn a_plane_of_receivers_with_snapshots_is_its_first_line() {
    let desk = desk(2);
    let run = desk.sh(&format!(
        "{} > plane.rsf",
        with(2, "sou1.rsf", "recs.rsf", "snap=y wfl=wfl.rsf")
    ));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err
            .contains("rec= has 3 lines of receivers (n3=), but sou= has one shot"),
        "{run:?}"
    );
    desk.ran(&format!("{} > line.rsf", with(2, "sou1.rsf", "rec0.rsf", "")));
    assert_eq!(desk.read("plane.rsf"), desk.read("line.rsf"));
}

/// All records except the first may contain waves: there is a warning of zeros if the data have a later record, but not
/// if there is only the first one.
#[test]
fn silence_is_reported_of_records_that_could_hold_waves() {
    let desk = desk(2);
    desk.dataset(
        "wav.rsf",
        &wavelet_header(2).replace("n1=1", "n1=2"),
        &vec![0.0; 4 * NT],
    );
    for (jdata, expected) in [(1, 1), (NT - 1, 1), (NT, 0), (NT + 1, 0)] {
        let line = with(2, "sous.rsf", "recs.rsf", &format!("jdata={jdata}"));
        let run = desk.ran(&format!("{line} > data.rsf"));
        let count = run.err.matches("all data are zero").count();
        assert_eq!(count, expected, "jdata={jdata}: {run:?}");
    }
}
