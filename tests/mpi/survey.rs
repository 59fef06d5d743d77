//! Several shots on several ranks: each rank models whole shots, and the data equal those of one process.

use crate::desk::outcome;
use crate::{Desk, command, launch, launcher, messages, shot, started, velocity_stress};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The number of shots of the survey.
const SHOTS: usize = 5;

/// The longest time to wait for anything.
const PATIENCE: Duration = Duration::from_secs(400);

/// A desk with a survey whose receivers move with its shots.
fn desk(ndim: usize) -> Desk {
    let desk = velocity_stress::desk(ndim);
    let at = |x: f32| match ndim {
        3 => vec![x, 110.0, 80.0],
        _ => vec![x, 80.0],
    };
    let sources: Vec<f32> = (0..SHOTS).flat_map(|k| at(60.0 + 25.0 * k as f32)).collect();
    let spread = |k: usize| {
        [70.0, 130.0]
            .into_iter()
            .flat_map(move |x| at(x + 3.0 * k as f32))
    };
    let receivers: Vec<f32> = (0..SHOTS).flat_map(spread).collect();
    desk.dataset("sous.rsf", &format!("n1={ndim} n2=1 n3={SHOTS}"), &sources);
    desk.dataset("recs.rsf", &format!("n1={ndim} n2=2 n3={SHOTS}"), &receivers);
    desk
}

fn words(ndim: usize) -> String {
    let words = velocity_stress::words(ndim);
    words
        .replace("sou=sou.rsf", "sou=sous.rsf")
        .replace("rec=rec.rsf", "rec=recs.rsf")
        .replace(" snap=y jsnap=20", "")
}

fn bits(desk: &Desk, name: &str) -> Vec<u32> {
    desk.read(name).into_iter().map(f32::to_bits).collect()
}

#[test]
fn any_number_of_ranks_gives_the_same_bits() {
    let Some(mpirun) = launcher("survey::any_number_of_ranks_gives_the_same_bits") else {
        return;
    };
    for (ndim, more, all) in [
        (2, "free=y qp=qp.rsf qs=qs.rsf", &[2, 3, 5, 7][..]),
        (2, "data=displacement pressure=p.rsf", &[2]),
        (3, "ngpu=2", &[2]),
    ] {
        let (desk, words) = (desk(ndim), format!("{} {more}", words(ndim)));
        let files = match more.contains("pressure=") {
            true => vec!["data.rsf", "p.rsf"],
            false => vec!["data.rsf"],
        };
        let one = desk.sh(&format!("{words} >data.rsf"));
        assert_eq!(one.code, 0, "{}", one.err);
        let expected: Vec<_> = files.iter().map(|file| bits(&desk, file)).collect();
        let axes = desk.axes("data.rsf", 4);
        for ranks in all {
            let done = launch(&desk, mpirun, &format!("-n {ranks} {words} >data.rsf"));
            assert_eq!(done.code, 0, "{more}: {ranks} ranks: {}", done.err);
            let computed: Vec<_> = files.iter().map(|file| bits(&desk, file)).collect();
            assert!(computed == expected, "{ndim}-D {more}: {ranks} ranks");
            assert_eq!(desk.axes("data.rsf", 4), axes);
        }
    }
}

/// The other methods share the survey as well.
#[test]
fn displacements_and_elements_do() {
    let Some(mpirun) = launcher("survey::displacements_and_elements_do") else {
        return;
    };
    let desk = shot::desk(2);
    let sources: Vec<f32> = (0..SHOTS).flat_map(|k| [0.06 + 0.02 * k as f32, 0.09]).collect();
    desk.dataset("sous.rsf", &format!("n1=2 n2=1 n3={SHOTS}"), &sources);
    let mesh =
        "sfhexmesh surfaces=200,0 layers=2 nx=4 xmin=0 xmax=400 rho=2300 vp=3000 vs=1700 judge=n > mesh.rsf";
    assert_eq!(desk.sh(mesh).code, 0);
    let (places, channels): (Vec<f32>, _) = (sources.iter().map(|x| 1000.0 * x).collect(), [120.0, 60.0]);
    desk.dataset("many.rsf", &format!("n1=2 n2=1 n3={SHOTS}"), &places);
    desk.dataset("channel.rsf", "n1=2 n2=1", &channels);
    let displacement = crate::words(2).replace("sou=sou.rsf", "sou=sous.rsf") + " wav=wav.rsf threads=1";
    let elements = "sfsem2d-gpu mesh=mesh.rsf sou=many.rsf rec=channel.rsf nt=40 dt=0.001 m0=1e12 tau=0.004 device=cpu threads=1";
    for words in [&displacement, elements] {
        let one = desk.sh(&format!("{words} >data.rsf"));
        assert_eq!(one.code, 0, "{}", one.err);
        let (expected, axes) = (bits(&desk, "data.rsf"), desk.axes("data.rsf", 4));
        assert!(axes[3].n == SHOTS && expected.iter().any(|&x| x != 0));
        for (ranks, more) in [(2, ""), (3, "groups=2"), (7, "")] {
            let done = launch(&desk, mpirun, &format!("-n {ranks} {words} {more} >data.rsf"));
            assert_eq!(done.code, 0, "{ranks} ranks: {}", done.err);
            assert!(bits(&desk, "data.rsf") == expected, "{words}: {ranks} ranks");
            assert_eq!(desk.axes("data.rsf", 4), axes);
        }
        let done = launch(&desk, mpirun, &format!("-n 3 {words} plan=y"));
        assert_eq!(done.code, 0, "{}", done.err);
        assert_eq!(
            done.err.matches("there are 5, 3 at a time").count(),
            1,
            "{}",
            done.err
        );
    }
}

/// In a part of the model waves are too fast for the time step; only the waves of shots near it reach it before the run
/// ends.
#[test]
fn a_shot_that_fails_is_contained() {
    let Some(mpirun) = launcher("survey::a_shot_that_fails_is_contained") else {
        return;
    };
    let desk = Desk::new();
    let grid = "n1=24 n2=60 d1=10 d2=10";
    let fast = |cell: usize| if cell / 24 > 50 { 10500.0 } else { 1500.0 };
    let vp: Vec<f32> = (0..24 * 60).map(fast).collect();
    desk.dataset("vp.rsf", grid, &vp);
    desk.dataset("vs.rsf", grid, &vp.iter().map(|x| x / 1.8).collect::<Vec<_>>());
    desk.dataset("den.rsf", grid, &vec![2000.0; vp.len()]);
    desk.dataset("slow.rsf", grid, &vec![1500.0; vp.len()]);
    desk.dataset("slow-vs.rsf", grid, &vec![830.0; vp.len()]);
    desk.dataset(
        "sous.rsf",
        "n1=2 n2=1 n3=4",
        &[60.0, 100.0, 540.0, 100.0, 220.0, 100.0, 140.0, 100.0],
    );
    desk.dataset("rec.rsf", "n1=2 n2=3", &[60.0, 90.0, 220.0, 90.0, 540.0, 90.0]);
    let line = |vp: &str, vs: &str| {
        format!(
            "sfvsfd2d-gpu vp={vp} vs={vs} den=den.rsf sou=sous.rsf rec=rec.rsf nt=35 dt=0.0015 cfl=warn tau=0.004 m0=1e12 jcheck=1 nb=4 device=cpu threads=1"
        )
    };
    let faulty = line("vp.rsf", "vs.rsf");
    let one = desk.sh(&format!("{faulty} >one.rsf"));
    assert_eq!(one.code, 1, "{}", one.err);
    for ranks in [2, 3] {
        let done = launch(&desk, mpirun, &format!("-n {ranks} {faulty} >data.rsf"));
        assert_ne!(done.code, 0);
        let messages = messages(&done.err);
        let reports: Vec<_> = messages
            .iter()
            .filter(|line| line.contains("shot 2 of 4 failed, its traces are zero: "))
            .collect();
        assert!(
            reports.len() == 1 && reports[0].contains("rank 1 on "),
            "{ranks} ranks: {}",
            done.err
        );
        let last: Vec<_> = messages
            .iter()
            .filter(|line| line.contains("1 shot of 4 failed"))
            .collect();
        assert_eq!(last.len(), 1, "{ranks} ranks: {}", done.err);
        assert!(bits(&desk, "data.rsf") == bits(&desk, "one.rsf"), "{ranks} ranks");
    }
    // In a model without the fault, only the shot that failed is computed. The other data belong to another model, so
    // the key that names it is removed first.
    let sound = line("slow.rsf", "slow-vs.rsf");
    desk.ran("sfbasics put made_of= <one.rsf >marked.rsf");
    let one = desk.sh(&format!("{sound} finished=marked.rsf >whole.rsf"));
    assert_eq!(one.code, 0, "{}", one.err);
    let done = launch(
        &desk,
        mpirun,
        &format!("-n 3 {sound} finished=marked.rsf >again.rsf"),
    );
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(
        done.err.matches("3 shots of 4 taken over from finished=").count(),
        1,
        "{}",
        done.err
    );
    assert!(bits(&desk, "again.rsf") == bits(&desk, "whole.rsf"));
}

/// An error in every shot or in the survey is reported once, and nothing is modelled.
#[test]
fn what_is_wrong_is_reported_once() {
    let Some(mpirun) = launcher("survey::what_is_wrong_is_reported_once") else {
        return;
    };
    let desk = desk(2);
    for (wrong, expected) in [
        ("dt=0.01", "stab"),
        ("snap=y jsnap=10 wfl=w.rsf", "snap=y requires a single shot"),
        ("ngpu=100", "slabs do not fit"),
        ("finished=vp.rsf", "finished= takes the data of an earlier run"),
        ("pressure=nowhere/p.rsf", "nowhere"),
    ] {
        let done = launch(&desk, mpirun, &format!("-n 3 {} {wrong} >d.rsf", words(2)));
        let messages = messages(&done.err);
        assert_ne!(done.code, 0, "{wrong}");
        let sentences: Vec<_> = messages.iter().filter(|line| line.contains(expected)).collect();
        assert_eq!(sentences.len(), 1, "{wrong}: {}", done.err);
    }
    let done = launch(&desk, mpirun, &format!("-n 3 {} plan=y", words(2)));
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(done.err.matches("there are 5").count(), 1, "{}", done.err);
    let done = launch(&desk, mpirun, &format!("-n 3 {} --dryrun=y >d.rsf", words(2)));
    assert_eq!(done.code, 0, "{}", done.err);
}

/// A signal ends the ranks; the shots that rank 0 has received are in its file, and another number of ranks computes
/// the remaining shots.
#[test]
fn a_survey_that_is_ended_goes_on() {
    let Some(mpirun) = launcher("survey::a_survey_that_is_ended_goes_on") else {
        return;
    };
    let desk = desk(2);
    // A shot has 10 MB, which is more than buffers hold and more than one message between ranks (8 MiB).
    let many: Vec<f32> = (0..320).flat_map(|k| [(k % 200) as f32, 80.0]).collect();
    desk.dataset("many.rsf", "n1=2 n2=320", &many);
    let words = words(2)
        .replace("nt=41", "nt=8001")
        .replace("rec=recs.rsf", "rec=many.rsf");
    let one = desk.sh(&format!("{words} >whole.rsf"));
    assert_eq!(one.code, 0, "{}", one.err);
    let whole = bits(&desk, "whole.rsf");
    let line = format!("-n 1 sh -c 'echo $$ >pid; exec {words} out=d.bin' : -n 1 {words} out=d.bin >d.rsf");
    let mut child = started(&desk, &command(mpirun, &line))
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell starts");
    let begun = Instant::now();
    let written = || std::fs::metadata(desk.path("d.bin")).map_or(0, |meta| meta.len());
    while written() == 0 && begun.elapsed() < PATIENCE {
        sleep(Duration::from_millis(2));
    }
    assert!(written() > 0, "no shot within {PATIENCE:?}");
    desk.sh("kill -TERM $(cat pid)");
    let ended = child.wait().expect("the launcher ends");
    assert!(!ended.success(), "the run ended before it was stopped");
    let shot = 4 * whole.len() / SHOTS;
    let held = written() as usize;
    assert!(
        held > 0 && held < 4 * whole.len() && held.is_multiple_of(shot),
        "{held}"
    );
    let done = launch(
        &desk,
        mpirun,
        &format!("-n 3 {words} finished=d.rsf out=e.bin >e.rsf"),
    );
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("taken over from finished="), "{}", done.err);
    assert!(bits(&desk, "e.rsf") == whole);
}

/// A desk with data of a survey, and a model that is too slow.
fn stacked() -> Desk {
    let desk = desk(2);
    let done = desk.sh(&format!("{} >data.rsf", words(2)));
    assert_eq!(done.code, 0, "{}", done.err);
    let grid = "n1=20 n2=26 d1=10 d2=10";
    let slow: Vec<f32> = desk.read("vp.rsf").iter().map(|x| 0.96 * x).collect();
    let change: Vec<f32> = (0..3 * slow.len()).map(|k| (k * 7919 % 100) as f32).collect();
    desk.dataset("vp.rsf", grid, &slow);
    desk.dataset("dm.rsf", &format!("{grid} n3=3"), &change);
    desk
}

/// Operators, gradients and images, their inputs, and the files that they write in addition to their output.
const OPERATORS: [(&str, &str, &[&str]); 4] = [
    (
        "sfvsgrad2d-gpu wavelet=estimate misfit=misfit.rsf source=source.rsf",
        "data.rsf",
        &["misfit.rsf", "source.rsf"],
    ),
    (
        "sfvsrtm2d-gpu image=pp,ps nhx=1 illum=light.rsf",
        "data.rsf",
        &["light.rsf"],
    ),
    ("sfvsborn2d-gpu adj=y", "data.rsf", &[]),
    ("sfvsborn2d-gpu adj=n", "dm.rsf", &[]),
];

/// The command line of an operator.
fn operator(program: &str) -> String {
    let words = words(2);
    let (_, words) = words.split_once(' ').expect("a program and its words");
    format!("{program} {words}")
}

/// Runs an operator in one process and on ranks, which must write the same bits; a state of one number of ranks can be
/// continued by another.
fn same_sums((desk, mpirun): (&Desk, &str), line: &str, (input, beside): (&str, &[&str]), groups: &str) {
    let all = |desk: &Desk| -> Vec<Vec<u32>> {
        let files = ["out.rsf"].iter().chain(beside);
        files.map(|file| bits(desk, file)).collect()
    };
    let one = desk.sh(&format!("{line} <{input} >out.rsf"));
    assert_eq!(one.code, 0, "{}", one.err);
    let (expected, axes) = (all(desk), desk.axes("out.rsf", 5));
    assert!(expected.iter().all(|file| file.iter().any(|&x| x != 0)), "{line}");
    for (ranks, extra) in [
        (2, ""),
        (3, "checkpoint=state every=2 out=out.bin"),
        (2, &format!("resume=state {groups} out=out.bin")),
        (7, "memory=0.003"),
    ] {
        let done = launch(
            desk,
            mpirun,
            &format!("-n {ranks} {line} {extra} <{input} >out.rsf"),
        );
        assert_eq!(done.code, 0, "{ranks} {line} {extra}: {}", done.err);
        assert!(all(desk) == expected, "{ranks} ranks: {line} {extra}");
        assert_eq!(desk.axes("out.rsf", 5), axes);
    }
    let _ = std::fs::remove_file(desk.path("state"));
}

#[test]
fn ranks_and_groups_make_the_same_sums() {
    let Some(mpirun) = launcher("survey::ranks_and_groups_make_the_same_sums") else {
        return;
    };
    let desk = stacked();
    for (program, input, beside) in OPERATORS {
        same_sums((&desk, mpirun), &operator(program), (input, beside), "groups=2");
    }
}

/// A survey on a mesh, whose shots run one after the other on each rank.
#[test]
fn ranks_make_the_same_sums_on_meshes() {
    let Some(mpirun) = launcher("survey::ranks_make_the_same_sums_on_meshes") else {
        return;
    };
    let desk = Desk::new();
    for (name, vs) in [("mesh.rsf", 1700), ("true.rsf", 1650)] {
        let mesh = format!(
            "sfhexmesh surfaces=200,0 layers=2 nx=4 xmin=0 xmax=400 rho=2300 vp=3000 vs={vs} judge=n > {name}"
        );
        assert_eq!(desk.sh(&mesh).code, 0);
    }
    let places: Vec<f32> = (0..SHOTS).flat_map(|k| [60.0 + 20.0 * k as f32, 90.0]).collect();
    desk.dataset("many.rsf", &format!("n1=2 n2=1 n3={SHOTS}"), &places);
    desk.dataset("channel.rsf", "n1=2 n2=2", &[120.0, 60.0, 310.0, 20.0]);
    desk.dataset("dm.rsf", "n1=1 n2=3", &[20.0, -9.0, 7.0]);
    let words =
        "mesh=mesh.rsf sou=many.rsf rec=channel.rsf nt=160 dt=0.001 m0=1e12 stf=ricker freq=9 threads=1";
    let truth = words.replace("mesh.rsf", "true.rsf");
    let done = desk.sh(&format!("sfsem2d-gpu {truth} device=cpu >data.rsf"));
    assert_eq!(done.code, 0, "{}", done.err);
    let beside: &[&str] = &["misfit.rsf", "sg.rsf", "tg.rsf"];
    for (program, input, beside) in [
        (
            "sfsemgrad2d-gpu misfit=misfit.rsf sougrad=sg.rsf stfgrad=tg.rsf",
            "data.rsf",
            beside,
        ),
        ("sfsemborn2d-gpu adj=y", "data.rsf", &[]),
        ("sfsemborn2d-gpu adj=n", "dm.rsf", &[]),
    ] {
        same_sums(
            (&desk, mpirun),
            &format!("{program} {words}"),
            (input, beside),
            "",
        );
    }
    let line = format!("-n 3 sfsemgrad2d-gpu {words} <data.rsf");
    for (more, expected) in [
        ("nt=90", "has n3=160 records, but this run has 90"),
        ("resume=gone", "cannot read the state"),
        ("misfit=nowhere/m.rsf", "nowhere"),
    ] {
        let done = launch(&desk, mpirun, &format!("{line} {more} >out.rsf"));
        let count = messages(&done.err)
            .iter()
            .filter(|line| line.contains(expected))
            .count();
        assert!(done.code != 0 && count == 1, "{more}: {}", done.err);
    }
    let done = launch(&desk, mpirun, &format!("{line} shots=2 >out.rsf"));
    assert!(
        done.code == 0
            && done
                .err
                .contains("there are 3 ranks but only 1 shot: the remaining ranks are idle"),
        "{}",
        done.err
    );
}

/// If nobody reads the sums, all ranks end without a message, as one process does.
#[test]
fn operators_that_nobody_reads_say_nothing() {
    let Some(mpirun) = launcher("survey::operators_that_nobody_reads_say_nothing") else {
        return;
    };
    let desk = stacked();
    desk.sh("mkfifo pipe");
    let line = operator("sfvsborn2d-gpu adj=y");
    let ranks = format!("-n 1 sh -c 'exec {line} >pipe' : -n 1 {line} <data.rsf");
    let line = format!("true <pipe & {}", command(mpirun, &ranks));
    let done = outcome(started(&desk, &line).output().expect("a shell starts"));
    let errors = messages(&done.err)
        .iter()
        .filter(|line| line.contains("pipe"))
        .count();
    assert_eq!((done.code, errors), (141, 0), "{}", done.err);
}

/// An error in a shot of another rank, or in all shots, is reported once.
#[test]
fn operators_report_what_is_wrong_once() {
    let Some(mpirun) = launcher("survey::operators_report_what_is_wrong_once") else {
        return;
    };
    let desk = stacked();
    let mut bad = desk.read("data.rsf");
    let shot = bad.len() / SHOTS;
    // Rank 0 adds up the first two of five shots, and rank 1 the remaining ones.
    bad[2 * shot + 1] = f32::NAN;
    desk.dataset(
        "bad.rsf",
        &format!("n1=2 n2=2 n3=21 o3=0.0005 d3=0.002 n4={SHOTS}"),
        &bad,
    );
    let line = operator("sfvsgrad2d-gpu");
    for (extra, input, expected) in [
        ("", "bad.rsf", "rank 1 on "),
        ("kind=phase", "data.rsf", "kind="),
        ("nt=32", "data.rsf", "n3=21 records"),
        ("resume=gone", "data.rsf", "cannot read the state"),
        ("misfit=nowhere/m.rsf", "data.rsf", "nowhere"),
        ("dt=0.01", "data.rsf", "d3=0.002"),
    ] {
        let done = launch(&desk, mpirun, &format!("-n 3 {line} {extra} <{input} >out.rsf"));
        let messages = messages(&done.err);
        assert_ne!(done.code, 0, "{extra}");
        let last = messages.last().copied().unwrap_or_default();
        let count = messages.iter().filter(|line| line.contains(expected)).count();
        assert!(count == 1 && last.contains(expected), "{extra}: {}", done.err);
    }
    let done = launch(
        &desk,
        mpirun,
        &format!("-n 3 {line} --dryrun=y <data.rsf >out.rsf"),
    );
    assert_eq!(done.code, 0, "{}", done.err);
    let done = launch(&desk, mpirun, &format!("-n 3 {line} plan=y"));
    assert!(
        done.code == 0 && done.err.matches("there are 5").count() == 1,
        "{}",
        done.err
    );
}
