//! Selected shots of a survey: `shots=`.

use crate::shots::{largest_difference, magnitude};
use crate::survey::{desk, with};

/// Selected shots have the same bits as among all shots, and the right positions.
#[test]
fn picked_shots_are_those_of_the_survey() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let line = |rec: &str, extra: &str| with(ndim, "sous.rsf", rec, extra);
        for rec in ["recs.rsf", "rec0.rsf"] {
            desk.ran(&format!("{} > data.rsf", line(rec, "")));
            let all = desk.read("data.rsf");
            let n = all.len() / 3;
            for (list, picked, [o, d], listed) in [
                ("2-3", &[1, 2][..], [120.0, 20.0], "2-3"),
                ("3,1", &[0, 2], [100.0, 40.0], "1-3:2"),
                ("1-3:2 groups=2", &[0, 2], [100.0, 40.0], "1-3:2"),
                ("3", &[2], [140.0, 20.0], "3"),
                ("1,2-3,2", &[0, 1, 2], [100.0, 20.0], "1-3"),
            ] {
                let extra = format!("shots={list}");
                desk.ran(&format!("{} > some.rsf", line(rec, &extra)));
                let expected: Vec<f32> = picked.iter().flat_map(|&k| &all[k * n..][..n]).copied().collect();
                assert!(desk.read("some.rsf") == expected, "{ndim}-D {rec} {extra}");
                let axes = desk.axes("some.rsf", 4);
                assert_eq!((axes[3].n, axes[3].o, axes[3].d), (picked.len(), o, d), "{extra}");
                let header = desk.open("some.rsf");
                assert_eq!(header.header().text("shots").as_deref(), Some(listed));
            }
        }
    }
    // Shots that are not evenly spaced have no positions on the axis, which then counts them from 0.
    let desk = desk(2);
    let points: Vec<f32> = (0..4).flat_map(|k| [100.0 + 10.0 * k as f32, 100.0]).collect();
    desk.dataset("four.rsf", "n1=2 n2=1 n3=4 o3=100 d3=10 unit3=m", &points);
    desk.ran(&format!(
        "{} > some.rsf",
        with(2, "four.rsf", "rec0.rsf", "shots=1,2,4")
    ));
    let axis = &desk.axes("some.rsf", 4)[3];
    assert_eq!((axis.n, axis.o, axis.d), (3, 0.0, 1.0));
    // Numbers have no unit.
    assert_eq!(axis.unit.as_deref().unwrap_or_default(), "");
    // Selected shots keep their numbers.
    let run = desk.ran(&format!(
        "{} > some.rsf",
        with(2, "four.rsf", "rec0.rsf", "shots=2,4 verb=y")
    ));
    assert!(
        ["shot 2 of 4: ", "shot 4 of 4: "]
            .iter()
            .all(|words| run.err.contains(words)),
        "{run:?}"
    );
    let run = desk.ran(&with(2, "four.rsf", "rec0.rsf", "shots=1,2,4 plan=y"));
    assert!(run.err.contains("there are 3, which takes about "), "{run:?}");
}

/// The label of the axis of shots is the label in the file of points, or `shot` if there is none.
#[test]
fn the_axis_of_shots_has_a_name() {
    let desk = desk(2);
    let points = [100.0, 100.0, 120.0, 100.0];
    for (label, expected) in [
        ("", "shot"),
        ("label3=\"\"", "shot"),
        ("label3=Station", "Station"),
    ] {
        desk.dataset("two.rsf", &format!("n1=2 n2=1 n3=2 {label}"), &points);
        desk.ran(&format!("{} > data.rsf", with(2, "two.rsf", "rec0.rsf", "")));
        let axis = &desk.axes("data.rsf", 4)[3];
        assert_eq!((axis.n, axis.label.as_deref()), (2, Some(expected)), "{label}");
    }
}

/// Options that only single shots can have are accepted if one shot is selected.
#[test]
fn a_lone_shot_may_be_filmed_and_saved() {
    let desk = desk(2);
    let extra = "snap=y jsnap=20 pgv=p.rsf";
    let files = ["data.rsf", "w.rsf", "p.rsf"];
    desk.ran(&format!(
        "{} wfl=w.rsf > data.rsf",
        with(2, "sou1.rsf", "rec1.rsf", extra)
    ));
    let expected = files.map(|file| desk.read(file));
    let line = with(
        2,
        "sous.rsf",
        "recs.rsf",
        &format!("{extra} shots=2 checkpoint=s every=25"),
    );
    desk.ran(&format!("{line} out=d.bin wfl=w.rsf > data.rsf"));
    assert!(files.map(|file| desk.read(file)) == expected);
    desk.ran(&format!("{line} resume=s out=d.bin wfl=w.rsf > data.rsf"));
    assert!(files.map(|file| desk.read(file)) == expected);
    let other = line.replace("shots=2", "shots=3");
    let run = desk.sh(&format!("{other} resume=s out=d.bin wfl=w.rsf > data.rsf"));
    assert!(
        run.code == 1 && run.err.contains("shots= is 2 in the state and 3 here"),
        "{run:?}"
    );
}

#[test]
fn lists_that_cannot_be_are_refused() {
    let desk = desk(2);
    for (list, expected) in [
        (
            "0-2",
            "there is no shot 0: there are 3 shots (n3= of sou= and rec=), counted from 1",
        ),
        ("2-4", "there is no shot 4: there are 3 shots"),
        ("3-2", "the range 3-2 has no shots"),
        ("1-3:0", "the range 1-3:0 has no shots"),
        ("all", "`all` is neither the number of a shot nor a range"),
    ] {
        for program in ["sfvsfd2d-gpu", "sfvsrtm2d-gpu"] {
            let line = with(2, "sous.rsf", "recs.rsf", &format!("shots={list}"));
            let line = line.replace("sfvsfd2d-gpu", program);
            let run = desk.sh(&format!("{line} < vp.rsf > data.rsf"));
            let last = run.err.lines().last().unwrap_or_default();
            assert!(
                run.code == 1 && last.contains(&format!("shots={list}: ")) && last.contains(expected),
                "{run:?}"
            );
        }
    }
    let run = desk.sh(&format!("{} > d.rsf", with(2, "sou0.rsf", "rec0.rsf", "shots=2")));
    assert!(run.code == 1 && run.err.contains("there is 1 shot"), "{run:?}");
}

/// A run continues only with the shots that were selected.
#[test]
fn picked_shots_are_taken_over() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > whole.rsf", line("")));
    desk.ran(&format!("{} > data.rsf", line("shots=2-3")));
    desk.ran("sfbasics cut f4=1 n4=1 < data.rsf > hole.rsf");
    let run = desk.ran(&format!("{} > again.rsf", line("shots=2-3 finished=hole.rsf")));
    assert!(
        run.err.contains("1 shot of 2 taken over from finished="),
        "{run:?}"
    );
    assert!(desk.read("again.rsf") == desk.read("data.rsf"));
    // A window of picked shots lists those that it holds. A window of the whole survey is identified only by the axis of
    // shots, which must equal the axis of the run.
    desk.ran("sfbasics window f4=1 squeeze=n < data.rsf > last.rsf; sfbasics window f4=1 squeeze=n < whole.rsf > rest.rsf");
    let run = desk.ran(&format!("{} > again.rsf", line("shots=2-3 finished=last.rsf")));
    assert!(
        run.err.contains("1 shot of 2 taken over from finished="),
        "{run:?}"
    );
    assert!(desk.read("again.rsf") == desk.read("data.rsf"));
    desk.ran("sfbasics put shots= < data.rsf > unknown.rsf; sfbasics put shots=2 < last.rsf > other.rsf");
    for (extra, expected) in [
        (
            "shots=2-3 finished=unknown.rsf",
            "the header of finished=unknown.rsf has an empty shots=",
        ),
        (
            "shots=2-3 finished=other.rsf",
            "other.rsf comes from a run with other inputs (the points of shot 2)",
        ),
        (
            "finished=rest.rsf",
            "rest.rsf has o4=120 d4=20, but all shots have o4=100 d4=20: shots were removed from it",
        ),
    ] {
        let run = desk.sh(&format!("{} > again.rsf", line(extra)));
        let last = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && last.contains(expected), "{extra}: {run:?}");
    }
    desk.ran(&format!("{} > again.rsf", line("shots=2-3 finished=rest.rsf")));
    assert!(desk.read("again.rsf") == desk.read("data.rsf"));
    // For a single shot the spacing is ignored; for several shots it must equal the spacing of the run.
    desk.ran("sfbasics window n4=1 squeeze=n < whole.rsf | sfbasics put d4=7 > lone.rsf; sfbasics put d4=7 < whole.rsf > wide.rsf");
    let run = desk.ran(&format!("{} > again.rsf", line("finished=lone.rsf")));
    assert!(run.err.contains("1 shot of 3 taken over"), "{run:?}");
    assert!(desk.read("again.rsf") == desk.read("whole.rsf"));
    let run = desk.sh(&format!("{} > again.rsf", line("finished=wide.rsf")));
    let expected = "wide.rsf has o4=100 d4=7, but all shots have o4=100 d4=20";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
    // Files that were concatenated are the survey.
    desk.ran(&format!("{} > first.rsf", line("shots=1")));
    desk.ran("sfbasics cat axis=4 first.rsf data.rsf > joined.rsf");
    let run = desk.ran(&format!("{} > again.rsf", line("finished=joined.rsf")));
    assert!(run.err.contains("3 shots of 3 taken over"), "{run:?}");
    assert!(desk.read("again.rsf") == desk.read("whole.rsf"));
}

/// Data of as many shots as are selected, but of other shots, are refused.
#[test]
fn operators_refuse_data_of_other_shots() {
    let desk = desk(2);
    let line = |program: &str, extra: &str| {
        let line = with(2, "sous.rsf", "recs.rsf", extra);
        format!("{program} {}", line.split_once(' ').unwrap().1)
    };
    desk.ran(&format!(
        "{} > late.rsf",
        with(2, "sous.rsf", "recs.rsf", "shots=2-3")
    ));
    for (program, extra) in [
        ("sfvsborn2d-gpu", "adj=y"),
        ("sfvsgrad2d-gpu", ""),
        ("sfvsrtm2d-gpu", ""),
    ] {
        let run = desk.sh(&format!(
            "{} < late.rsf > out.rsf",
            line(program, &format!("{extra} shots=1-2"))
        ));
        assert!(
            run.code == 1
                && run
                    .err
                    .contains("is of shots=2-3, but this run of shots=1-2: give the data"),
            "{run:?}"
        );
        // Without the list the axis of the same data says which shots they are.
        let unlisted = "sed '/shots=/d' late.rsf > unlisted.rsf";
        let run = desk.sh(&format!(
            "{unlisted}; {} < unlisted.rsf > out.rsf",
            line(program, &format!("{extra} shots=1-2"))
        ));
        let expected =
            "is of shots with o4=120 d4=20, but this run of shots=1-2 with o4=100 d4=20: give the data";
        assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
    }
}

/// Gradients, images and operators of selected shots accept the data of these shots or of all shots.
#[test]
fn operators_take_picked_shots() {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", with(2, "sous.rsf", "recs.rsf", "")));
    let slow: Vec<f32> = desk.read("vp.rsf").iter().map(|x| 0.95 * x).collect();
    desk.dataset("slow.rsf", "n1=24 n2=26 d1=10 d2=10", &slow);
    let line = |program: &str, extra: &str| {
        let line = with(2, "sous.rsf", "recs.rsf", extra);
        format!("{program} {}", line.split_once(' ').unwrap().1)
    };
    desk.ran("sfbasics window j4=2 < data.rsf > some.rsf");
    for (program, extra) in [
        ("sfvsborn2d-gpu", "adj=y"),
        ("sfvsgrad2d-gpu", "vp=slow.rsf misfit=misfit.rsf"),
        ("sfvsrtm2d-gpu", "norm=n"),
    ] {
        let out = |extra: &str, data: &str| {
            desk.ran(&format!("{} < {data} > out.rsf", line(program, extra)));
            desk.read("out.rsf")
        };
        let some = out(&format!("{extra} shots=1,3"), "some.rsf");
        assert!(
            some == out(&format!("{extra} shots=1,3 groups=2"), "data.rsf"),
            "{program}"
        );
        if program == "sfvsgrad2d-gpu" {
            let axis = &desk.axes("misfit.rsf", 1)[0];
            assert_eq!((axis.n, axis.o, axis.d), (2, 100.0, 40.0));
        }
        let mut rest: Vec<f64> = out(&format!("{extra} shots=2"), "data.rsf")
            .iter()
            .map(|&x| f64::from(x))
            .collect();
        rest.iter_mut()
            .zip(&some)
            .for_each(|(sum, x)| *sum += f64::from(*x));
        let all = out(extra, "data.rsf");
        let most = magnitude(&rest);
        let off = largest_difference(&all, &rest) / most;
        assert!(most > 0.0 && off < 1e-5, "{program}: {off}");
        let run = desk.sh(&format!(
            "{} < some.rsf > out.rsf",
            line(program, &format!("{extra} shots=2"))
        ));
        assert!(
            run.code == 1 && run.err.contains("takes data of this survey"),
            "{run:?}"
        );
        // There are too many shots, but no component is missing.
        assert!(!run.err.contains("The components are"), "{run:?}");
    }
    // The axis of shots identifies the shots in data, to a thousandth of their spacing.
    for (o4, code) in [(100.03, 0), (100.06, 1)] {
        desk.ran(&format!("sfbasics put o4={o4} < some.rsf > near.rsf"));
        let run = desk.sh(&format!(
            "{} < near.rsf > out.rsf",
            line("sfvsborn2d-gpu", "adj=y shots=1,3")
        ));
        let refused = run.err.contains("give the data of a run with the same shots");
        assert_eq!((run.code, refused), (code, code == 1), "{o4}: {run:?}");
    }
    // The picked shots of a linearised run have the data of a run with all shots.
    let change: Vec<f32> = (0..3 * slow.len()).map(|k| (k * 7919 % 100) as f32).collect();
    desk.dataset("dm.rsf", "n1=24 n2=26 n3=3 d1=10 d2=10", &change);
    let of = |extra: &str| {
        desk.ran(&format!("{} < dm.rsf > out.rsf", line("sfvsborn2d-gpu", extra)));
        desk.read("out.rsf")
    };
    let all = of("");
    assert!(of("shots=3") == all[2 * all.len() / 3..]);
    assert_eq!(desk.axes("out.rsf", 4)[3].o, 140.0);
}
