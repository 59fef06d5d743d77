//! Several shots in one run of the velocity-stress programs.

use crate::desk::Desk;
use crate::shots::largest;
use crate::velocity_stress::{desk as model, line};

/// Points of three shots, sources and receivers that move with them.
fn desk(ndim: usize) -> Desk {
    let desk = model(ndim);
    let at = |x: f32| match ndim {
        3 => vec![x, x + 3.0, x - 7.0],
        _ => vec![x, x - 7.0],
    };
    let sources: Vec<f32> = [100.0, 120.0, 140.0].into_iter().flat_map(at).collect();
    desk.dataset("sous.rsf", &format!("n1={ndim} n2=1 n3=3 o3=100 d3=20"), &sources);
    let spread = |shift: f32| [80.0, 110.0, 151.5].into_iter().flat_map(move |x| at(x + shift));
    let receivers: Vec<f32> = [0.0, 5.0, 10.0].into_iter().flat_map(spread).collect();
    desk.dataset("recs.rsf", &format!("n1={ndim} n2=3 n3=3"), &receivers);
    for shot in 0..3 {
        let (s, r) = (
            &sources[shot * ndim..][..ndim],
            &receivers[3 * shot * ndim..][..3 * ndim],
        );
        desk.dataset(&format!("sou{shot}.rsf"), &format!("n1={ndim} n2=1"), s);
        desk.dataset(&format!("rec{shot}.rsf"), &format!("n1={ndim} n2=3"), r);
    }
    desk
}

/// The line with other points.
fn with(ndim: usize, sou: &str, rec: &str, extra: &str) -> String {
    let line = line(ndim);
    let line = line
        .replace("sou=sou.rsf", &format!("sou={sou}"))
        .replace("rec=rec.rsf", &format!("rec={rec}"));
    format!("{line} device=cpu {extra}")
}

/// Every shot has the bits of a run of its own.
#[test]
fn shots_are_runs_of_their_own() {
    for (ndim, extra) in [
        (2, "free=y jdata=2"),
        (2, "data=displacement qp=60 qs=40 ngpu=2"),
        (3, ""),
    ] {
        let desk = desk(ndim);
        desk.ran(&format!(
            "{} > data.rsf",
            with(ndim, "sous.rsf", "recs.rsf", extra)
        ));
        let axes = desk.axes("data.rsf", 4);
        assert_eq!((axes[3].n, axes[3].o, axes[3].d), (3, 100.0, 20.0));
        let all = desk.read("data.rsf");
        for shot in 0..3 {
            let (sou, rec) = (format!("sou{shot}.rsf"), format!("rec{shot}.rsf"));
            desk.ran(&format!("{} > one.rsf", with(ndim, &sou, &rec, extra)));
            let one = desk.read("one.rsf");
            assert!(
                one == all[shot * one.len()..][..one.len()],
                "{ndim}-D {extra}: shot {shot}"
            );
        }
        // One spread for all of them.
        desk.ran(&format!(
            "{} > data.rsf",
            with(ndim, "sous.rsf", "rec0.rsf", extra)
        ));
        desk.ran(&format!(
            "{} > one.rsf",
            with(ndim, "sou2.rsf", "rec0.rsf", extra)
        ));
        let (all, one) = (desk.read("data.rsf"), desk.read("one.rsf"));
        assert!(one == all[2 * one.len()..]);
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let desk = desk(2);
    desk.dataset("two.rsf", "n1=2 n2=3 n3=2", &[100.0; 12]);
    desk.dataset(
        "far.rsf",
        "n1=2 n2=1 n3=3",
        &[100.0, 100.0, 100.0, 100.0, 9000.0, 100.0],
    );
    for (sou, rec, extra, wanted) in [
        (
            "sous.rsf",
            "two.rsf",
            "",
            "has 3 shots (n3=) and rec=two.rsf has 2",
        ),
        (
            "far.rsf",
            "rec.rsf",
            "",
            "shot 3: source 1 at z=100 x=9000 is outside the grid",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "snap=y wfl=w.rsf jsnap=10",
            "snap=y goes with one shot",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "checkpoint=s",
            "checkpoint= goes with one shot",
        ),
        ("sous.rsf", "recs.rsf", "pgv=p.rsf", "pgv= goes with one shot"),
    ] {
        let run = desk.sh(&format!("{} > data.rsf", with(2, sou, rec, extra)));
        let said = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && said.contains(wanted), "{extra}: {run:?}");
    }
    let run = desk.ran(&with(2, "sous.rsf", "recs.rsf", "plan=y"));
    assert!(run.err.contains("that is one shot: there are 3"), "{run:?}");
}

/// The words of a program over other points.
fn words(program: &str, sou: &str, rec: &str, extra: &str) -> String {
    let line = with(2, sou, rec, extra);
    let (_, words) = line.split_once(' ').unwrap();
    format!("{program} {words}")
}

/// A desk with data of three shots, and a model that is too slow; the data.
fn surveyed() -> (Desk, Vec<f32>) {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", with(2, "sous.rsf", "recs.rsf", "")));
    let slow: Vec<f32> = desk.read("vp.rsf").iter().map(|x| 0.95 * x).collect();
    desk.dataset("slow.rsf", "n1=24 n2=26 d1=10 d2=10", &slow);
    let all = desk.read("data.rsf");
    (desk, all)
}

/// Images, gradients and what comes back of a survey are the sums of its shots.
#[test]
fn operators_stack_shots() {
    let (desk, all) = surveyed();
    let n = all.len() / 3;
    for shot in 0..3 {
        let header = "n1=3 n2=2 n3=60 o3=0.0005 d3=0.001";
        desk.dataset(&format!("data{shot}.rsf"), header, &all[shot * n..][..n]);
    }
    for (program, extra) in [
        ("sfvsborn2d-gpu", "adj=y"),
        ("sfvsgrad2d-gpu", "vp=slow.rsf memory=0.01"),
        ("sfvsrtm2d-gpu", "norm=n"),
    ] {
        let mut wanted = Vec::new();
        for shot in 0..3 {
            let (sou, rec) = (format!("sou{shot}.rsf"), format!("rec{shot}.rsf"));
            let line = words(program, &sou, &rec, extra);
            desk.ran(&format!("{line} < data{shot}.rsf > one.rsf"));
            let one = desk.read("one.rsf");
            wanted.resize(one.len(), 0.0f64);
            wanted
                .iter_mut()
                .zip(one)
                .for_each(|(sum, x)| *sum += f64::from(x));
        }
        let line = words(program, "sous.rsf", "recs.rsf", extra);
        desk.ran(&format!("{line} < data.rsf > all.rsf"));
        let got = desk.read("all.rsf");
        let most = largest(wanted.iter().copied());
        let off = largest(got.iter().zip(&wanted).map(|(a, b)| f64::from(*a) - b)) / most;
        assert!(most > 0.0 && off < 1e-5, "{program}: {off}");
    }
}

/// The true model has no misfit, and weights of zero leave none.
#[test]
fn misfits_and_illumination() {
    let (desk, all) = surveyed();
    let of = |program: &str, extra: &str| words(program, "sous.rsf", "recs.rsf", extra);
    let line = of("sfvsgrad2d-gpu", "misfit=misfit.rsf");
    let run = desk.ran(&format!("{line} < data.rsf > all.rsf"));
    assert!(run.err.contains("misfit "), "{run:?}");
    let misfits = desk.read("misfit.rsf");
    let energy = largest(all.iter().map(|&x| f64::from(x))).powi(2);
    assert!(
        misfits.len() == 3 && misfits.iter().all(|&x| f64::from(x) < 1e-8 * energy),
        "{misfits:?}"
    );
    desk.dataset("zero.rsf", "n1=3 n2=2 n3=60 n4=3", &vec![0.0; all.len()]);
    let line = of("sfvsgrad2d-gpu", "vp=slow.rsf weight=zero.rsf");
    desk.ran(&format!("{line} < data.rsf > all.rsf"));
    assert!(desk.read("all.rsf").iter().all(|&x| x == 0.0));
    let line = of("sfvsrtm2d-gpu", "illum=light.rsf");
    desk.ran(&format!("{line} < data.rsf > all.rsf"));
    assert!(desk.read("light.rsf").iter().all(|&x| x >= 0.0));
    assert!(desk.read("all.rsf").iter().all(|x| x.is_finite()));
    desk.dataset(
        "short.rsf",
        "n1=3 n2=2 n3=60 o3=0.0005 d3=0.001",
        &all[..all.len() / 3],
    );
    let run = desk.sh(&format!("{} < short.rsf > all.rsf", of("sfvsrtm2d-gpu", "")));
    assert!(run.code == 1 && run.err.contains("n4=3 shots"), "{run:?}");
}

/// What a survey takes is told without its data.
#[test]
fn a_survey_is_planned() {
    let (desk, _) = surveyed();
    for program in ["sfvsgrad2d-gpu", "sfvsrtm2d-gpu"] {
        let line = words(program, "sous.rsf", "recs.rsf", "plan=y");
        let run = desk.ran(&line);
        assert!(
            run.out.is_empty()
                && run.err.contains("way back:")
                && run.err.contains("there are 3; nothing was run"),
            "{run:?}"
        );
    }
}
