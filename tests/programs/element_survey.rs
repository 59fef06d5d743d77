//! Several shots in one run of the programs on meshes.

use crate::desk::Desk;
use crate::fakes::Driver;
use crate::gpus::{assert_mentions, on};

/// Number of steps of the runs.
const NT: usize = 40;

/// A mesh of two layers, the upper one a fluid if `sea`, and the points of three shots whose receivers move with them.
fn desk(ndim: usize, sea: bool) -> Desk {
    let desk = Desk::new();
    let (across, vs) = (
        if ndim == 3 {
            "nx=4 ny=3 ymin=0 ymax=300"
        } else {
            "nx=5"
        },
        if sea { 0 } else { 1100 },
    );
    desk.ran(&format!(
        "sfhexmesh surfaces=400,200,0 layers=2,2 {across} xmin=0 xmax=500 rho=2300,1900 vp=3000,2000 vs=1700,{vs} judge=n > mesh.rsf"
    ));
    let at = |x: f32, z: f32| match ndim {
        3 => vec![x, 140.0, z],
        _ => vec![x, z],
    };
    // Each layer has one source.
    let pair = |x: f32| [at(x, 290.0), at(x + 31.0, 110.0)].concat();
    let sources: Vec<f32> = [150.0, 200.0, 250.0].into_iter().flat_map(pair).collect();
    let spread = |shift: f32| {
        [(100.0, 260.0), (222.0, 300.0), (351.5, 350.0)]
            .into_iter()
            .flat_map(move |(x, z)| at(x + shift, z))
    };
    let receivers: Vec<f32> = [0.0, 15.0, 30.0].into_iter().flat_map(spread).collect();
    for (name, points, n, axis) in [
        ("sou", &sources, 2, "o3=150 d3=50"),
        ("rec", &receivers, 3, "o2=5 d2=2"),
    ] {
        let header = format!("n1={ndim} n2={n}");
        desk.dataset(&format!("{name}s.rsf"), &format!("{header} n3=3 {axis}"), points);
        for shot in 0..3 {
            let own = &points[shot * n * ndim..][..n * ndim];
            desk.dataset(&format!("{name}{shot}.rsf"), &format!("{header} {axis}"), own);
        }
    }
    desk.dataset("along.rsf", &format!("n1={ndim} n2=1"), &at(1.0, 0.5));
    desk.dataset("onset.rsf", "n1=2", &[0.0, 0.004]);
    desk
}

/// The command line with these points.
fn with(ndim: usize, sou: &str, rec: &str, extra: &str) -> String {
    format!(
        "sfsem{ndim}d-gpu mesh=mesh.rsf sou={sou} rec={rec} nt={NT} dt=0.001 m0=1e12 tau=0.004 onset=onset.rsf device=cpu {extra}"
    )
}

/// Every shot has the same bits as in a separate run.
#[test]
fn shots_are_runs_of_their_own() {
    for (ndim, sea, extra) in [
        (2, false, "jdata=3"),
        (2, true, "data=displacement ngpu=2"),
        (2, false, "data=das along=along.rsf gauge=20 qp=60 qs=40"),
        (2, true, "qp=60 qs=40 qmech=coarse data=strain sponge=50"),
        (3, true, "data=acceleration ngpu=2"),
        (3, false, "qp=80 qs=50"),
    ] {
        let desk = desk(ndim, sea);
        for (sou, rec) in [
            ("sous.rsf", "recs.rsf"),
            ("sous.rsf", "rec0.rsf"),
            ("sou1.rsf", "recs.rsf"),
        ] {
            desk.ran(&format!("{} > data.rsf", with(ndim, sou, rec, extra)));
            let all = desk.read("data.rsf");
            let axes = desk.axes("data.rsf", 4);
            let places = if sou == "sous.rsf" {
                (3, 150.0, 50.0)
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
                    "{ndim}-D {sea} {extra}: {sou} {rec}"
                );
                assert_eq!(desk.axes("one.rsf", 3), axes[..3]);
            }
        }
    }
}

/// Groups, selected shots, and data of an earlier run do not change any bit.
#[test]
fn groups_and_earlier_runs_change_no_bit() {
    let desk = desk(2, true);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > data.rsf", line("")));
    let all = desk.read("data.rsf");
    for words in ["groups=2", "groups=3 threads=2", "groups=2 ngpu=2"] {
        let run = desk.ran(&format!("{} > other.rsf", line(words)));
        assert!(desk.read("other.rsf") == all, "{words}");
        assert!(run.err.contains("groups"), "the device is reported: {run:?}");
    }
    desk.ran(&format!("{} > other.rsf", line("shots=2-3")));
    assert!(desk.read("other.rsf") == all[all.len() / 3..]);
    assert_eq!(desk.axes("other.rsf", 4)[3].o, 200.0);
    desk.ran("sfbasics cut f4=1 n4=1 < data.rsf > hole.rsf");
    let run = desk.ran(&format!("{} > other.rsf", line("finished=hole.rsf verb=y")));
    assert!(
        run.err.contains("2 shots of 3 taken over from finished=") && run.err.contains("shot 2 of 3: "),
        "{run:?}"
    );
    assert!(!run.err.contains("shot 1 of 3: ") && desk.read("other.rsf") == all);
    // The file of a further quantity is recognised by its header.
    let further = |k: usize| line(&format!("data=displacement velocity=v{k}.rsf"));
    desk.ran(&format!("{} > u.rsf", further(1)));
    let run = desk.ran(&format!("{} finished=u.rsf,v1.rsf > other.rsf", further(2)));
    assert!(
        run.err.contains("3 shots of 3 taken over from finished="),
        "{run:?}"
    );
    assert!(desk.read("v2.rsf") == desk.read("v1.rsf") && desk.read("other.rsf") == desk.read("u.rsf"));
    crate::finished::other_inputs(
        &desk,
        &line,
        &[
            ("onset.rsf", 1, "the time functions of the sources"),
            ("sous.rsf", 4, "the points of shot 2"),
            ("recs.rsf", 6, "the points of shot 2"),
        ],
    );
    // A single shot may have snapshots.
    let words = "shots=2 snap=y jsnap=20 wfl=w.rsf nqx=21 nqz=21";
    desk.ran(&format!("{} > one.rsf", line(words)));
    let snapshots = desk.read("w.rsf");
    let alone = words.replace("shots=2", "");
    desk.ran(&format!("{} > one.rsf", with(2, "sou1.rsf", "rec1.rsf", &alone)));
    assert!(desk.read("w.rsf") == snapshots && snapshots.iter().any(|&x| x != 0.0));
}

/// There is a warning if a run ends before its sources have acted, and messages in 2-D do not mention files that only
/// 3-D programs have.
#[test]
fn early_ends_and_far_points_are_named() {
    let desk = desk(2, false);
    let line = |sou: &str, nt: usize| {
        with(2, sou, "rec0.rsf", "").replace(&format!("nt={NT} "), &format!("nt={nt} "))
    };
    for (nt, expected) in [(15, true), (40, false)] {
        let run = desk.ran(&format!("{} > data.rsf", line("sou0.rsf", nt)));
        let words = "s, before the sources have reached more than";
        assert_eq!(run.err.contains(words), expected, "{nt}: {run:?}");
    }
    desk.dataset("far.rsf", "n1=2 n2=2", &[9000.0, 100.0, 150.0, 100.0]);
    let run = desk.sh(&format!("{} > data.rsf", line("far.rsf", 15)));
    let expected = "points less than half an element away are moved: move the point, remove it from its file";
    assert!(
        run.code == 1 && run.err.contains(expected) && !run.err.contains("cmt="),
        "{run:?}"
    );
}

/// A plan gives the time of one shot and of all shots.
#[test]
fn a_plan_predicts_the_time() {
    for (ndim, sea, extra, expected) in [
        (2, false, "qp=60 qs=40", "there are 3, which takes about "),
        (
            2,
            true,
            "shots=1,3 groups=2",
            "there are 2, 2 at a time, which takes about ",
        ),
        (3, false, "", "there are 3, which takes about "),
    ] {
        let desk = desk(ndim, sea);
        let run = desk.ran(&with(ndim, "sous.rsf", "recs.rsf", &format!("{extra} plan=y")));
        assert!(
            run.out.is_empty()
                && run.err.contains("million elements per second")
                && run.err.contains(expected),
            "{run:?}"
        );
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let desk = desk(2, false);
    desk.dataset("two.rsf", "n1=2 n2=3 n3=2", &[100.0; 12]);
    let mut far = vec![100.0; 12];
    far[10] = 9000.0;
    desk.dataset("far.rsf", "n1=2 n2=2 n3=3", &far);
    for (sou, rec, extra, expected) in [
        (
            "sous.rsf",
            "two.rsf",
            "",
            "has 3 shots (n3=) and rec=two.rsf has 2",
        ),
        ("far.rsf", "rec0.rsf", "", "shot 3: source 2 at "),
        (
            "sous.rsf",
            "recs.rsf",
            "data=das along=along.rsf gauge=800",
            "an end of the gauge of receiver 1 at ",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "snap=y wfl=w.rsf jsnap=10",
            "snap=y requires a single shot",
        ),
        ("sous.rsf", "recs.rsf", "pgv=p.rsf", "pgv= requires a single shot"),
        (
            "sous.rsf",
            "recs.rsf",
            "checkpoint=s",
            "checkpoint= requires a single shot",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "finished=onset.rsf",
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
}

/// The earthquakes of a file form one shot; stations may record several shots, with components up, north and east.
#[test]
fn earthquakes_and_stations() {
    let desk = desk(3, false);
    let stations = "ONE XX 140. 222. 0. 300.\nTWO XX 150. 400. 0. 100.\n";
    desk.put("STATIONS", stations);
    let stations = "sfsem3d-gpu mesh=mesh.rsf stations=STATIONS nt=40 dt=0.001 m0=1e12 tau=0.004 device=cpu";
    desk.ran(&format!("{stations} sou=sous.rsf > data.rsf"));
    let (all, axes) = (desk.read("data.rsf"), desk.axes("data.rsf", 4));
    assert_eq!(axes[1].label.as_deref(), Some("Z N E"));
    for shot in 0..3 {
        desk.ran(&format!("{stations} sou=sou{shot}.rsf > one.rsf"));
        let one = desk.read("one.rsf");
        assert!(one.iter().any(|&x| x != 0.0) && one == all[shot * one.len()..][..one.len()]);
    }
    let event = " PDE 2000 1 1 0 0 0.00 140. 222. 0.25 5.0 5.0 TEST\nevent name: TEST\ntime shift: 0.0\nhalf duration: 0.0\nlatitude: 140.\nlongitude: 222.\ndepth: 0.25\nMrr: 1e20\nMtt: 1e20\nMpp: 1e20\nMrt: 0.0\nMrp: 0.0\nMtp: 0.0\n";
    desk.put("CMT", event);
    let words = "sfsem3d-gpu mesh=mesh.rsf cmt=CMT nt=40 dt=0.001 device=cpu";
    desk.ran(&format!("{words} rec=rec0.rsf > one.rsf"));
    let run = desk.sh(&format!("{words} rec=recs.rsf > data.rsf"));
    assert!(
        run.code == 1
            && run
                .err
                .contains("rec=recs.rsf has 3 shots (n3=), but cmt= gives one"),
        "{run:?}"
    );
}

/// A shot that fails in the middle is named and its data are zero; the others are as in separate runs. A run that
/// continues makes only the missing shot.
#[test]
fn a_shot_that_fails_is_contained_and_run_later() {
    let desk = Desk::new();
    desk.ran(
        "sfhexmesh surfaces=60,0 layers=3 nx=80 xmin=0 xmax=1600 rho=2300 vp=3000 vs=1700 judge=n > mesh.rsf",
    );
    // Beyond x = 1400 m the waves are too fast for the step; only the waves of a shot near it get there in time.
    let grid = "n1=1 n2=161 d2=10";
    let fast: Vec<f32> = (0..161).map(|k| if k > 140 { 3e5 } else { 3000.0 }).collect();
    desk.dataset("fast.rsf", grid, &fast);
    desk.dataset("sound.rsf", grid, &[3000.0; 161]);
    let sources = [50.0, 30.0, 1510.0, 30.0, 600.0, 30.0];
    desk.dataset("sous.rsf", "n1=2 n2=1 n3=3", &sources);
    desk.dataset("rec.rsf", "n1=2 n2=3", &[60.0, 30.0, 620.0, 33.0, 1500.0, 32.0]);
    let line = |sou: &str, vp: &str, extra: &str| {
        format!(
            "sfsem2d-gpu mesh=mesh.rsf vp={vp} sou={sou} rec=rec.rsf nt=30 dt=0.0005 cfl=warn jcheck=1 tau=0.002 m0=1e12 device=cpu {extra}"
        )
    };
    let run = desk.sh(&format!("{} > data.rsf", line("sous.rsf", "fast.rsf", "")));
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
    assert!(data[n..2 * n].iter().all(|&x| x == 0.0));
    let run = desk.sh(&format!(
        "{} > groups.rsf",
        line("sous.rsf", "fast.rsf", "groups=2")
    ));
    assert!(run.code == 1 && desk.read("groups.rsf") == data, "{run:?}");
    for shot in [0, 2] {
        desk.dataset("sou.rsf", "n1=2 n2=1", &sources[2 * shot..][..2]);
        desk.ran(&format!("{} > one.rsf", line("sou.rsf", "fast.rsf", "")));
        assert!(desk.read("one.rsf") == data[shot * n..][..n], "shot {shot}");
    }
    desk.ran("sfbasics put made_of= < data.rsf > marked.rsf");
    let run = desk.ran(&format!(
        "{} > all.rsf",
        line("sous.rsf", "sound.rsf", "finished=marked.rsf")
    ));
    assert!(
        run.err.contains("2 shots of 3 taken over from finished="),
        "{run:?}"
    );
    let all = desk.read("all.rsf");
    assert!(all[..n] == data[..n] && all[2 * n..] == data[2 * n..]);
    assert!(all[n..2 * n].iter().any(|&x| x != 0.0));
}

/// Fake GPUs, whose fields stay zero, take the shots in turn.
#[test]
fn groups_of_gpus_take_shots() {
    let desk = desk(2, false);
    let line = with(2, "sous.rsf", "rec0.rsf", "").replace("device=cpu", "");
    let fakes = [("FAKE_MEMORY", "1000000000"), ("FAKE_DEVICES", "2")];
    for devices in ["gpu=0,1 ngpu=1", "groups=2"] {
        let line = format!("{line} {devices} > data.rsf");
        let Some(run) = on(&desk, Driver::Fake, &fakes, &line) else {
            return;
        };
        assert_eq!(run.code, 0, "{devices}: {run:?}");
        assert_mentions(&run, &["GPU 0 Fake 0 (90), the first of 2 groups"]);
        assert_eq!(
            run.err.matches("all data are zero").count(),
            1,
            "{devices}: {run:?}"
        );
        assert_eq!(desk.axes("data.rsf", 4)[3].n, 3);
    }
    let line = format!("{line} groups=2 plan=y");
    let run = on(&desk, Driver::Fake, &fakes, &line).expect("the fake was there a moment ago");
    assert_mentions(&run, &["there are 3, 2 at a time, which takes about "]);
}
