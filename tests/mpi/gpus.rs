//! Ranks with GPUs and without, on a driver that needs no GPU: a single message, soon.

use crate::fakes::{self, Driver};
use crate::shot::desk;
use crate::velocity_stress;
use crate::{Desk, Outcome, launch, launcher, messages, words};
use std::time::{Duration, Instant};

/// The longest time that ending the ranks may take.
const SOON: Duration = Duration::from_secs(100);

/// The command line of a rank that finds this driver; `None` if no fake driver can be built.
fn rank(desk: &Desk, driver: Driver, more: &str) -> Option<String> {
    let words = words(2).replace("device=cpu", "");
    rank_of(desk, driver, &format!("{words} threads=1 wav=wav.rsf {more}"))
}

/// The command line of a rank for any program and its parameters.
fn rank_of(desk: &Desk, driver: Driver, words: &str) -> Option<String> {
    let machine = fakes::variables("mpi::gpus", driver, &desk.path(".store"))?;
    let hidden = fakes::HIDDEN.map(|name| format!("-u {name}")).join(" ");
    let variables: Vec<String> = machine
        .iter()
        .map(|(name, value)| format!("{name}={}", value.display()))
        .collect();
    Some(format!(
        "-n 1 env {hidden} FAKE_MEMORY=1000000000 {} {words}",
        variables.join(" ")
    ))
}

/// Two ranks, each with its driver and its parameters.
fn two(desk: &Desk, mpirun: &str, drivers: [Driver; 2], more: [&str; 2]) -> Option<Outcome> {
    let first = rank(desk, drivers[0], more[0])?;
    let second = rank(desk, drivers[1], more[1])?;
    let begun = Instant::now();
    let done = launch(desk, mpirun, &format!("{first} : {second} >d.rsf"));
    // A run that succeeds may take long, but a refusal may not.
    let late = done.code != 0 && begun.elapsed() > SOON;
    assert!(!late, "{:?}: {}", begun.elapsed(), done.err);
    Some(done)
}

/// Asserts that a run failed with a single message that contains these texts, in addition to lines about ranks and
/// devices.
fn assert_reported_once(done: &Outcome, expected: [&str; 2]) {
    assert_ne!(done.code, 0);
    let reports: Vec<&str> = messages(&done.err)
        .into_iter()
        .filter(|line| !line.contains(" ranks on "))
        .collect();
    assert!(
        reports.len() == 1 && expected.iter().all(|word| reports[0].contains(word)),
        "{expected:?}: {}",
        done.err
    );
}

#[test]
fn a_rank_without_a_gpu_beside_one_with_is_reported_once() {
    let Some(mpirun) = launcher("a_rank_without_a_gpu_beside_one_with_is_reported_once") else {
        return;
    };
    let desk = desk(2);
    for (drivers, parameter, expected) in [
        (
            [Driver::Fake, Driver::None],
            "",
            ["rank 0 has a GPU but rank 1 has none", "device=cpu"],
        ),
        (
            [Driver::None, Driver::Fake],
            "",
            ["rank 1 has a GPU but rank 0 has none", "device=cpu"],
        ),
        (
            [Driver::Fake, Driver::None],
            "device=gpu",
            ["rank 1 on ", "no NVIDIA driver"],
        ),
    ] {
        let Some(done) = two(&desk, mpirun, drivers, [parameter; 2]) else {
            return;
        };
        assert_reported_once(&done, expected);
    }
    // With device=cpu on all ranks the run succeeds.
    let done = two(&desk, mpirun, [Driver::Fake, Driver::None], ["device=cpu"; 2]);
    assert_eq!(done.expect("fakes were there").code, 0);
}

#[test]
fn what_one_gpu_cannot_do_is_reported_once() {
    let Some(mpirun) = launcher("what_one_gpu_cannot_do_is_reported_once") else {
        return;
    };
    let desk = desk(2);
    let fakes = [Driver::Fake; 2];
    let Some(done) = two(&desk, mpirun, fakes, [""; 2]) else {
        return;
    };
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("2 ranks on 1 host"), "{}", done.err);
    // The run is refused by all ranks together if one of them has too little memory.
    let small = "FAKE_MEMORY=20000000";
    let second = rank(&desk, Driver::Fake, "").expect("fakes were there");
    let second = second.replace("FAKE_MEMORY=1000000000", small);
    let first = rank(&desk, Driver::Fake, "").expect("fakes were there");
    let short = launch(&desk, mpirun, &format!("{first} : {second} >d.rsf"));
    let by_device = two(&desk, mpirun, fakes, ["exchange=device"; 2]).expect("fakes were there");
    assert_reported_once(&short, ["rank 1 on ", "memory for this run"]);
    assert_reported_once(&by_device, ["exchange=device", "exchange=auto"]);
}

#[test]
fn velocity_and_stress_share_gpus_among_ranks() {
    let Some(mpirun) = launcher("velocity_and_stress_share_gpus_among_ranks") else {
        return;
    };
    let desk = velocity_stress::desk(2);
    let run = |more: [&str; 2], memory: &str| {
        let rank = |k: usize| {
            let words = velocity_stress::words(2).replace("device=cpu", "");
            let words = format!("{words} pgv=map.rsf {}", more[k]);
            rank_of(&desk, Driver::Fake, &words)
        };
        let (first, second) = (rank(0)?, rank(1)?.replace("=1000000000", memory));
        let begun = Instant::now();
        let done = launch(&desk, mpirun, &format!("{first} : {second} >d.rsf"));
        assert!(begun.elapsed() < SOON, "{:?}: {}", begun.elapsed(), done.err);
        Some(done)
    };
    for way in ["exchange=auto", "exchange=host"] {
        let Some(done) = run([way; 2], "=1000000000") else {
            return;
        };
        assert_eq!(done.code, 0, "{way}: {}", done.err);
        assert!(
            done.err.contains("2 ranks on 1 host; rank 0: GPU 0"),
            "{way}: {}",
            done.err
        );
    }
    let planned = run(["plan=y"; 2], "=1000000000").expect("fakes were there");
    assert_eq!(planned.code, 0, "{}", planned.err);
    for word in [
        "per step to and from each neighbour",
        "memory of GPUs",
        "rank 1 on ",
    ] {
        assert!(planned.err.contains(word), "{word}: {}", planned.err);
    }
    // The run is refused by all ranks together if one of them has too little memory.
    let by_device = run(["exchange=device"; 2], "=1000000000").expect("fakes were there");
    let short = run([""; 2], "=20000000").expect("fakes were there");
    assert_reported_once(&short, ["rank 1 on ", "memory for this run"]);
    assert_reported_once(&by_device, ["exchange=device", "exchange=auto"]);
}

/// A single linearised shot is shared by the GPUs of all ranks, and runs to its end.
#[test]
fn ranks_share_a_linearised_shot() {
    let Some(mpirun) = launcher("ranks_share_a_linearised_shot") else {
        return;
    };
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::words(2).replace(" snap=y jsnap=20", "");
    let modelled = desk.sh(&format!("{line} >observed.rsf"));
    assert_eq!(modelled.code, 0, "{}", modelled.err);
    let (_, words) = line.split_once(' ').expect("a program and its words");
    let words = words.replace("device=cpu", "verb=y");
    for program in ["sfvsborn2d-gpu adj=y", "sfvsgrad2d-gpu", "sfvsrtm2d-gpu"] {
        for (more, text) in [
            ("plan=y", "nothing was run"),
            ("", "one of 2 GPUs that share a shot"),
        ] {
            let Some(rank) = rank_of(&desk, Driver::Fake, &format!("{program} {words} {more}")) else {
                return;
            };
            let done = launch(&desk, mpirun, &format!("{rank} : {rank} <observed.rsf >out.rsf"));
            assert_eq!(done.code, 0, "{program} {more}: {}", done.err);
            assert!(done.err.contains(text), "{program} {more}: {}", done.err);
        }
    }
}
