//! Several shots in one run of the velocity-stress programs.

use crate::desk::Desk;
use crate::shots::{largest_difference, magnitude, relative_difference};
use crate::velocity_stress::{desk as model, line};

/// A desk with points of three shots, sources and receivers that move with them.
pub fn desk(ndim: usize) -> Desk {
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

/// The command line with other points.
pub fn with(ndim: usize, sou: &str, rec: &str, extra: &str) -> String {
    let line = line(ndim);
    let line = line
        .replace("sou=sou.rsf", &format!("sou={sou}"))
        .replace("rec=rec.rsf", &format!("rec={rec}"));
    format!("{line} device=cpu {extra}")
}

/// Every shot has the same bits as in a separate run.
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
        // All shots have the same receivers.
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
    for (sou, rec, extra, expected) in [
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
            "snap=y requires a single shot",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "finished=vp.rsf",
            "finished= takes the data of an earlier run",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "finished=gone.rsf",
            "finished= takes the data of an earlier run",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "checkpoint=s",
            "checkpoint= requires a single shot",
        ),
        ("sous.rsf", "recs.rsf", "pgv=p.rsf", "pgv= requires a single shot"),
        (
            "sous.rsf",
            "recs.rsf",
            "resume=data.rsf",
            "sou= and rec= have 3 (n3=): finished= takes the data of an earlier run of the survey",
        ),
        (
            "sous.rsf",
            "recs.rsf",
            "shots=2 finished=data.rsf",
            "there is only one shot: leave it out; resume= continues one shot from a state",
        ),
    ] {
        let run = desk.sh(&format!("{} > data.rsf", with(2, sou, rec, extra)));
        let last = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && last.contains(expected), "{extra}: {run:?}");
    }
    let run = desk.ran(&with(2, "sous.rsf", "recs.rsf", "plan=y"));
    assert!(
        run.err
            .contains("that is one shot: there are 3, which takes about "),
        "{run:?}"
    );
}

/// The command line of a program for other points.
fn words(program: &str, sou: &str, rec: &str, extra: &str) -> String {
    let line = with(2, sou, rec, extra);
    let (_, words) = line.split_once(' ').unwrap();
    format!("{program} {words}")
}

/// A desk with data of three shots, and a model that is too slow; and the data.
fn surveyed() -> (Desk, Vec<f32>) {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", with(2, "sous.rsf", "recs.rsf", "")));
    let slow: Vec<f32> = desk.read("vp.rsf").iter().map(|x| 0.95 * x).collect();
    desk.dataset("slow.rsf", "n1=24 n2=26 d1=10 d2=10", &slow);
    let all = desk.read("data.rsf");
    (desk, all)
}

/// Images, gradients and adjoints of a survey are the sums over its shots.
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
        let mut expected = Vec::new();
        for shot in 0..3 {
            let (sou, rec) = (format!("sou{shot}.rsf"), format!("rec{shot}.rsf"));
            let line = words(program, &sou, &rec, extra);
            desk.ran(&format!("{line} < data{shot}.rsf > one.rsf"));
            let one = desk.read("one.rsf");
            expected.resize(one.len(), 0.0f64);
            expected
                .iter_mut()
                .zip(one)
                .for_each(|(sum, x)| *sum += f64::from(x));
        }
        let line = words(program, "sous.rsf", "recs.rsf", extra);
        desk.ran(&format!("{line} < data.rsf > all.rsf"));
        let got = desk.read("all.rsf");
        let most = magnitude(&expected);
        let off = largest_difference(&got, &expected) / most;
        assert!(most > 0.0 && off < 1e-5, "{program}: {off}");
    }
}

/// The misfit of the true model is zero, and so is any misfit with zero weights.
#[test]
fn misfits_and_illumination() {
    let (desk, all) = surveyed();
    let of = |program: &str, extra: &str| words(program, "sous.rsf", "recs.rsf", extra);
    let line = of("sfvsgrad2d-gpu", "misfit=misfit.rsf");
    let run = desk.ran(&format!("{line} < data.rsf > all.rsf"));
    assert!(run.err.contains("misfit "), "{run:?}");
    let misfits = desk.read_as_it_is("misfit.rsf");
    let energy = f64::from(magnitude(&all)).powi(2);
    assert!(
        misfits.len() == 3 && misfits.iter().all(|&x| f64::from(x) < 1e-8 * energy),
        "{misfits:?}"
    );
    desk.dataset("zero.rsf", "n1=3 n2=2 n3=60 n4=3", &vec![0.0; all.len()]);
    let line = of("sfvsgrad2d-gpu", "vp=slow.rsf weight=zero.rsf");
    desk.ran(&format!("{line} < data.rsf > all.rsf"));
    assert!(desk.read_as_it_is("all.rsf").iter().all(|&x| x == 0.0));
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

/// The requirements of a survey are planned without its data.
#[test]
fn a_survey_is_planned() {
    let (desk, _) = surveyed();
    for (program, devices, expected) in [
        ("sfvsgrad2d-gpu", "groups=1", "there are 3, which takes about "),
        ("sfvsgrad2d-gpu", "threads=1", "there are 3, which takes about "),
        // Small grids share the threads.
        (
            "sfvsgrad2d-gpu",
            "threads=2",
            "there are 3, 2 at a time, which takes about ",
        ),
        (
            "sfvsrtm2d-gpu",
            "threads=8",
            "there are 3, 3 at a time, which takes about ",
        ),
    ] {
        let line = words(program, "sous.rsf", "recs.rsf", &format!("plan=y {devices}"));
        let run = desk.ran(&line);
        assert!(
            run.out.is_empty()
                && run.err.contains("reverse sweep:")
                && run.err.contains(expected)
                && run.err.contains("nothing was run"),
            "{run:?}"
        );
    }
}

/// Each kind of misfit is reported; an unknown source is estimated, and a run with the estimate reproduces the data.
#[test]
fn sources_are_estimated() {
    let (desk, all) = surveyed();
    let of = |program: &str, extra: &str| words(program, "sous.rsf", "recs.rsf", extra);
    // The data come from another source, twice as strong and five steps later.
    let line = with(2, "sous.rsf", "recs.rsf", "m0=2e12 onset=onset.rsf");
    desk.dataset("onset.rsf", "n1=1", &[0.005]);
    desk.ran(&format!("{line} > data.rsf"));
    let misfit = |extra: &str| {
        let line = of("sfvsgrad2d-gpu", &format!("misfit=misfit.rsf {extra}"));
        desk.ran(&format!("{line} < data.rsf > gradient.rsf"));
        let values = desk.read("gradient.rsf");
        assert!(
            values.iter().all(|x| x.is_finite()) && values.iter().any(|&x| x != 0.0),
            "{extra}"
        );
        desk.read("misfit.rsf").iter().map(|&x| f64::from(x)).sum::<f64>()
    };
    for kind in ["squares", "correlation", "envelope"] {
        let given = misfit(&format!("kind={kind}"));
        let estimated = misfit(&format!(
            "kind={kind} wavelet=estimate damp=1e-4 source=source.rsf"
        ));
        println!("{kind}: {given:.2e} with the given source, {estimated:.2e} with the estimated one");
        assert!(estimated < 0.02 * given, "{kind}: {estimated} {given}");
    }
    let axes = desk.axes("source.rsf", 3);
    assert_eq!((axes[0].n, axes[1].n, axes[2].n), (60, 1, 3));
    desk.ran("sfbasics window n3=1 < source.rsf > series.rsf");
    let line = words("sfvsfd2d-gpu", "sou0.rsf", "rec0.rsf", "series=series.rsf").replace("tau=0.008", "");
    desk.ran(&format!("{line} > again.rsf"));
    let (again, expected) = (desk.read("again.rsf"), desk.read("data.rsf"));
    // The data are compared with the first of three shots.
    let off = relative_difference(&again, &expected[..expected.len() / 3]);
    println!("{off:.1e}");
    assert!(off < 0.05, "{off}");
    for (extra, expected) in [
        ("source=s.rsf", "source= requires wavelet=estimate"),
        ("damp=1", "damp= requires wavelet=estimate"),
        ("kind=phase", "kind="),
    ] {
        let run = desk.sh(&format!("{} < data.rsf > x.rsf", of("sfvsgrad2d-gpu", extra)));
        assert!(run.code == 1 && run.err.contains(expected), "{extra}: {run:?}");
    }
    desk.dataset("zero.rsf", "n1=3 n2=2 n3=60 n4=3", &vec![0.0; all.len()]);
    let line = of("sfvsgrad2d-gpu", "wavelet=estimate weight=zero.rsf");
    let run = desk.sh(&format!("{line} < data.rsf > x.rsf"));
    assert!(
        run.code == 1 && run.err.contains("shot 1") && run.err.contains("no source can be estimated"),
        "{run:?}"
    );
}

/// Several images with lags are each the same as in a separate run; the bits are the same for any memory.
#[test]
fn images_of_several_kinds() {
    for ndim in [2, 3] {
        let desk = model(ndim);
        // In 3-D there are half as many steps, which is still more than fit into the memory.
        let line = line(ndim).replace("nt=60", if ndim == 3 { "nt=30" } else { "nt=60" });
        let words = |extra: &str| {
            let (_, words) = line.split_once(' ').unwrap();
            format!("sfvsrtm{ndim}d-gpu {words} {extra}")
        };
        desk.ran(&format!("{line} device=cpu > data.rsf"));
        let of = |extra: &str| {
            desk.ran(&format!("{} < data.rsf > image.rsf", words(extra)));
            desk.read("image.rsf")
        };
        let cells = desk.read("vp.rsf").len();
        let all = of("image=pp,ps,sp,ss,energy illum=light.rsf");
        let axes = desk.axes("image.rsf", ndim + 1);
        assert_eq!((all.len(), axes[ndim].n), (5 * cells, 5));
        assert_eq!(axes[ndim].label.as_deref(), Some("pp ps sp ss energy"));
        assert_eq!(desk.read("light.rsf").len(), 5 * cells);
        let memory = if ndim == 3 { 0.05 } else { 0.004 };
        let few = of(&format!("image=pp,ps,sp,ss,energy memory={memory} threads=1"));
        assert!(all == few, "{ndim}-D: memory changes the image");
        for (k, kind) in ["pp", "ps", "sp", "ss", "energy"].into_iter().enumerate() {
            let own = &all[k * cells..][..cells];
            let one = of(&format!("image={kind}"));
            // A separate PP image is formed in the same sweep as the step; rounding in another order gives 2e-7.
            let off = largest_difference(&one, own) / f64::from(magnitude(&one));
            println!("{ndim}-D {kind} alone: {off:.1e}");
            assert!(
                off <= if kind == "pp" { 2e-6 } else { 0.0 },
                "{ndim}-D {kind}: {off}"
            );
        }
        let lags = of("image=pp,ps nhx=2 nhz=1");
        let axes = desk.axes("image.rsf", ndim + 3);
        let sizes = [ndim, ndim + 1, ndim + 2].map(|a| (axes[a].n, axes[a].o, axes[a].d));
        assert_eq!(sizes, [(3, -10.0, 10.0), (5, -20.0, 10.0), (2, 0.0, 1.0)]);
        for k in 0..2 {
            let (none, own) = (&lags[(k * 15 + 7) * cells..][..cells], &all[k * cells..][..cells]);
            let off = largest_difference(none, own) / f64::from(magnitude(own));
            assert!(off <= 2e-6, "{ndim}-D, image {k} at lag zero: {off}");
        }
        for (extra, expected) in [
            ("image=pp,qq", "the images are pp, ps, sp, ss and energy"),
            ("image=ps,ps", "ps twice"),
            ("nhx=13", "nhx=13: twice the largest lag"),
        ] {
            let run = desk.sh(&format!("{} < data.rsf > x.rsf", words(extra)));
            assert!(run.code == 1 && run.err.contains(expected), "{extra}: {run:?}");
        }
    }
}

/// A shot that fails in the middle is named and its data are zero; the others are as in separate runs. A run that
/// continues computes only the missing shot, and the bits are the same.
#[test]
fn a_shot_that_fails_is_contained_and_run_later() {
    let desk = Desk::new();
    let grid = "n1=24 n2=60 d1=10 d2=10";
    // Beyond x = 500 m the waves are too fast for the step; only the waves of a shot near it get there in time.
    let fast = |cell: usize| if cell / 24 > 50 { 10500.0 } else { 1500.0 };
    let vp: Vec<f32> = (0..24 * 60).map(fast).collect();
    desk.dataset("vp.rsf", grid, &vp);
    desk.dataset("vs.rsf", grid, &vp.iter().map(|x| x / 1.8).collect::<Vec<_>>());
    desk.dataset("den.rsf", grid, &vec![2000.0; vp.len()]);
    desk.dataset("slow.rsf", grid, &vec![1500.0; vp.len()]);
    desk.dataset("slow-vs.rsf", grid, &vec![830.0; vp.len()]);
    let sources = [60.0, 100.0, 540.0, 100.0, 220.0, 100.0];
    desk.dataset("sous.rsf", "n1=2 n2=1 n3=3", &sources);
    desk.dataset(
        "rec.rsf",
        "n1=2 n2=4",
        &[60.0, 90.0, 100.0, 90.0, 220.0, 90.0, 540.0, 90.0],
    );
    let line = |sou: &str, vp: &str, vs: &str| {
        format!(
            "sfvsfd2d-gpu vp={vp} vs={vs} den=den.rsf sou={sou} rec=rec.rsf nt=35 dt=0.0015 cfl=warn tau=0.004 m0=1e12 jcheck=1 nb=4 device=cpu"
        )
    };
    let run = desk.sh(&format!("{} > data.rsf", line("sous.rsf", "vp.rsf", "vs.rsf")));
    assert!(
        run.code == 1 && run.err.contains("shot 2 of 3 failed, its traces are zero: "),
        "{run:?}"
    );
    let last = run.err.lines().last().unwrap_or_default();
    assert!(
        last.contains("1 shot of 3 failed") && last.ends_with(": 2"),
        "{run:?}"
    );
    let data = desk.read("data.rsf");
    let n = data.len() / 3;
    assert!(data[n..2 * n].iter().all(|&x| x == 0.0));
    let line_of_groups = line("sous.rsf", "vp.rsf", "vs.rsf") + " groups=2";
    let run = desk.sh(&format!("{line_of_groups} > groups.rsf"));
    assert!(
        run.code == 1 && run.err.contains("shot 2 of 3 failed, its traces are zero: "),
        "{run:?}"
    );
    assert!(desk.read("groups.rsf") == data);
    let picked = line("sous.rsf", "vp.rsf", "vs.rsf") + " shots=2-3";
    let run = desk.sh(&format!("{picked} > picked.rsf"));
    assert!(
        run.code == 1
            && run.err.contains("shot 2 of 3 failed, its traces are zero: ")
            && run
                .err
                .contains("1 shot of 2 failed; the traces of it are zero: 2"),
        "{run:?}"
    );
    assert!(desk.read("picked.rsf") == data[n..]);
    for shot in [0, 2] {
        desk.dataset("sou.rsf", "n1=2 n2=1", &sources[2 * shot..][..2]);
        desk.ran(&format!("{} > one.rsf", line("sou.rsf", "vp.rsf", "vs.rsf")));
        assert!(desk.read("one.rsf") == data[shot * n..][..n], "shot {shot}");
    }
    // In a model without the fault the survey continues: only the shot that failed is computed.
    let sound = line("sous.rsf", "slow.rsf", "slow-vs.rsf");
    let marked = "sfbasics put made_of= < data.rsf > marked.rsf";
    let run = desk.ran(&format!("{marked}; {sound} finished=marked.rsf > all.rsf"));
    assert!(run.err.contains("2 shots of 3 taken over"), "{run:?}");
    let all = desk.read("all.rsf");
    assert!(all[..n] == data[..n] && all[2 * n..] == data[2 * n..]);
    assert!(all[n..2 * n].iter().any(|&x| x != 0.0));
    // If data end early, their complete shots are taken over.
    desk.dataset(
        "cut.rsf",
        "n1=4 n2=2 n3=35 o3=0.00075 d3=0.0015 n4=2",
        &all[..2 * n],
    );
    let run = desk.ran(&format!("{sound} finished=cut.rsf > again.rsf"));
    assert!(run.err.contains("2 shots of 3 taken over"), "{run:?}");
    let again = desk.read("again.rsf");
    assert!(again[..2 * n] == all[..2 * n] && again[2 * n..].iter().any(|&x| x != 0.0));
}

/// Shots run in several groups, and requests that cannot be met are refused.
#[test]
fn groups_model_shots_at_the_same_time() {
    let desk = desk(2);
    for extra in [
        "free=y",
        "data=acceleration pressure=p.rsf rotation=r.rsf",
        "qp=60 qs=40",
    ] {
        let files: &[&str] = match extra.contains("pressure=") {
            true => &["data.rsf", "p.rsf", "r.rsf"],
            false => &["data.rsf"],
        };
        let line = with(2, "sous.rsf", "recs.rsf", extra);
        let all = |desk: &Desk| files.iter().map(|file| desk.read(file)).collect::<Vec<_>>();
        desk.ran(&format!("{line} > data.rsf"));
        let expected = all(&desk);
        for words in ["groups=2", "groups=3 threads=2", "groups=5 ngpu=2"] {
            let run = desk.ran(&format!("{line} {words} > data.rsf"));
            assert!(all(&desk) == expected, "{extra} {words}");
            assert!(run.err.contains("groups"), "the device is reported: {run:?}");
        }
    }
    let line = with(2, "sous.rsf", "recs.rsf", "groups=2 verb=y");
    let run = desk.ran(&format!("{line} > data.rsf"));
    for shot in 1..4 {
        assert_eq!(
            run.err.matches(&format!("shot {shot} of 3: ")).count(),
            1,
            "{run:?}"
        );
    }
    assert_eq!(run.err.matches("medium ").count(), 1, "{run:?}");
    let run = desk.ran(&format!(
        "{} > data.rsf",
        with(2, "sou0.rsf", "rec0.rsf", "groups=2")
    ));
    assert!(run.err.contains("groups= is not used"), "{run:?}");
    let line = with(2, "sous.rsf", "recs.rsf", "gpu=0 groups=2");
    let run = desk.sh(&format!("{line} > data.rsf"));
    assert!(
        run.code == 1 && run.err.contains("device=cpu requests the CPU"),
        "{run:?}"
    );
}
