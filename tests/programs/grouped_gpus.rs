//! Surveys on groups of fake GPUs, whose fields stay zero: which GPUs take shots, and which requests are refused and
//! reported.

use crate::desk::Desk;
use crate::fakes::Driver;
use crate::gpus::{assert_mentions, assert_refused, on};
use crate::velocity_stress::line;

/// Memory of every GPU.
const MEMORY: (&str, &str) = ("FAKE_MEMORY", "1000000000");

/// The command line of a survey of three shots whose sources are silent.
fn survey(devices: &str) -> (Desk, String) {
    let desk = crate::survey::desk(2);
    let line = line(2).replace("sou=sou.rsf", "sou=sous.rsf");
    (desk, format!("{line} {devices}"))
}

#[test]
fn groups_of_gpus_take_shots() {
    let (desk, line) = survey("");
    for (devices, words) in [
        ("", &["GPU 0 Fake 0 (90)\n"][..]),
        ("gpu=0,1 ngpu=1", &["GPU 0 Fake 0 (90), the first of 2 groups"]),
        ("groups=2", &["GPU 0 Fake 0 (90), the first of 2 groups"]),
        ("gpu=1,0 groups=2", &["GPU 1 Fake 1 (90), the first of 2 groups"]),
        ("gpu=0,1", &["GPU 0 Fake 0 (90) and GPU 1 Fake 1 (90), 2 slabs"]),
        (
            "groups=4 ngpu=2",
            &["GPU 0 Fake 0 (90) and GPU 1 Fake 1 (90), 2 slabs, the first of 4 groups"],
        ),
    ] {
        let line = format!("{line} {devices} > data.rsf");
        let eight = [
            MEMORY,
            (
                "FAKE_DEVICES",
                if devices.contains("groups=4") { "8" } else { "2" },
            ),
        ];
        let Some(run) = on(&desk, Driver::Fake, &eight, &line) else {
            return;
        };
        assert_eq!(run.code, 0, "{devices}: {run:?}");
        assert_mentions(&run, words);
        // Every shot is computed, and the fields of fakes stay zero.
        assert_eq!(
            run.err.matches("all data are zero").count(),
            1,
            "{devices}: {run:?}"
        );
        assert_eq!(desk.axes("data.rsf", 4)[3].n, 3);
    }
}

#[test]
fn groups_that_cannot_be_are_refused() {
    for (devices, words) in [
        (
            "groups=3",
            &[
                "groups=3 cannot be divided evenly among 2 GPUs",
                "a multiple of 2",
            ][..],
        ),
        (
            "gpu=0,1 ngpu=3",
            &["gpu= names 2 GPUs", "cannot be divided into groups of ngpu=3"],
        ),
        (
            "gpu=0,1 groups=2 ngpu=2",
            &["gpu= names 2 GPUs", "groups=2 of ngpu=2 take 4 GPUs"],
        ),
        (
            "gpu=0,1 groups=3",
            &["groups=3 cannot be divided evenly among 2 GPUs"],
        ),
        (
            "groups=60000",
            &["groups= requests 30000 shots at a time", "at most", "fit"],
        ),
        ("ngpu=3", &["ngpu=3 GPUs are requested, but there are 2"]),
        ("gpu=0 device=cpu groups=2", &["device=cpu requests the CPU"]),
    ] {
        let (desk, line) = survey(devices);
        let Some(run) = on(&desk, Driver::Fake, &[MEMORY], &format!("{line} > data.rsf")) else {
            return;
        };
        assert_refused(&desk, &run, words);
    }
}

/// The memory of each GPU is checked before any shot is made.
#[test]
fn a_group_without_memory_ends_the_survey() {
    let (desk, line) = survey("groups=2 device=gpu");
    let little = [("FAKE_MEMORY", "1000000")];
    let Some(run) = on(&desk, Driver::Fake, &little, &format!("{line} > data.rsf")) else {
        return;
    };
    assert_eq!(run.code, 1, "{run:?}");
    assert_mentions(&run, &["has too little memory for this run"]);
    let line = format!("{line} plan=y");
    let run = on(&desk, Driver::Fake, &[MEMORY], &line).expect("the fake was there a moment ago");
    assert_mentions(&run, &["there are 3, 2 at a time, which takes about "]);
}

/// Linearised programs distribute shots over the GPUs, and each GPU runs as many of them side by side as it has room
/// for or as are requested.
#[test]
fn linearised_programs_run_shots_on_every_gpu() {
    let (desk, line) = survey("plan=y");
    let (_, words) = line.split_once(' ').expect("a program and its words");
    for (program, devices, code, expected) in [
        ("sfvsborn2d-gpu adj=y", "gpu=0,1", 0, "there are 3, 3 at a time"),
        (
            "sfvsborn2d-gpu adj=y",
            "groups=2 ngpu=1",
            0,
            "there are 3, 2 at a time",
        ),
        (
            "sfvsborn2d-gpu adj=y",
            "gpu=0,1 ngpu=2",
            0,
            "one of 2 GPUs that share a shot",
        ),
        ("sfvsgrad2d-gpu", "ngpu=3", 1, "ngpu=3 GPUs are requested"),
        (
            "sfvsgrad2d-gpu",
            "gpu=0,1 ngpu=2 groups=4",
            1,
            "groups=4 of ngpu=2 take 8 GPUs",
        ),
        ("sfvsborn2d-gpu", "gpu=0", 0, "there are 3, which takes about"),
        (
            "sfvsborn2d-gpu",
            "gpu=0 groups=2",
            1,
            "groups= requests 2 shots at a time on a GPU, but adj=n runs one at a time",
        ),
        (
            "sfvsgrad2d-gpu",
            "gpu=0",
            0,
            "3 shots run side by side on each GPU",
        ),
        (
            "sfvsgrad2d-gpu",
            "gpu=0 groups=1",
            0,
            "there are 3, which takes about",
        ),
        (
            "sfvsgrad2d-gpu",
            "gpu=0 groups=2",
            0,
            "2 shots run side by side on each GPU",
        ),
        (
            "sfvsgrad2d-gpu",
            "gpu=0 groups=60000",
            1,
            "groups= requests 60000 shots at a time on a GPU, but its memory holds",
        ),
        (
            "sfvsgrad2d-gpu",
            "groups=3",
            1,
            "groups=3 cannot be divided evenly among 2 GPUs",
        ),
        (
            "sfvsrtm2d-gpu",
            "gpu=0 groups=3",
            0,
            "3 shots run side by side on each GPU",
        ),
    ] {
        let line = format!("{program} {words} {devices}");
        let Some(run) = on(&desk, Driver::Fake, &[MEMORY], &line) else {
            return;
        };
        assert_eq!(run.code, code, "{program} {devices}: {run:?}");
        assert_mentions(&run, &[expected]);
    }
}

/// GPUs that share every shot run it to its end: the fake driver does not run kernels, but refuses the calls that CUDA
/// would refuse.
#[test]
fn gpus_share_the_shots_of_linearised_programs() {
    let (desk, line) = survey("ngpu=2");
    let (_, words) = line.split_once(' ').expect("a program and its words");
    let run = desk.ran(&format!("{line} device=cpu > observed.rsf"));
    assert_eq!(run.code, 0, "{run:?}");
    for (program, out) in [
        ("sfvsgrad2d-gpu", "gradient.rsf"),
        ("sfvsgrad2d-gpu keep=boundary", "gradient.rsf"),
        ("sfvsrtm2d-gpu", "image.rsf"),
        ("sfvsborn2d-gpu adj=y", "change.rsf"),
    ] {
        let line = format!("{program} {words} verb=y < observed.rsf > {out}");
        let Some(run) = on(&desk, Driver::Fake, &[MEMORY], &line) else {
            return;
        };
        assert_eq!(run.code, 0, "{program}: {run:?}");
        assert_mentions(&run, &["one of 2 GPUs that share a shot"]);
        assert!(!desk.read(out).is_empty(), "{program}");
    }
}

/// Each of the GPUs that share a shot has a part of its cells, so no fewer shots run side by side than on a single GPU,
/// which 8 million cells fill.
#[test]
fn gpus_that_share_a_shot_are_filled_together() {
    let (desk, line) = survey("plan=y");
    let (_, words) = line.split_once(' ').expect("a program and its words");
    let words = words.replace("nb=8", "nb=500");
    let memory = [("FAKE_MEMORY", "20000000000"), ("FAKE_DEVICES", "4")];
    let Some(run) = on(
        &desk,
        Driver::Fake,
        &memory,
        &format!("sfvsgrad2d-gpu {words} ngpu=4"),
    ) else {
        return;
    };
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(
        &run,
        &[
            "one of 4 GPUs that share a shot",
            "3 shots run side by side on each GPU",
        ],
    );
}

/// Half of a GPU's memory may be too little for a batch; then all shots run in one.
#[test]
fn shots_run_in_one_batch_where_two_do_not_fit() {
    let (desk, line) = survey("plan=y gpu=0");
    let (_, words) = line.split_once(' ').expect("a program and its words");
    for (memory, expected) in [
        ("1000000000", "3 shots run side by side on each GPU, in 2 batches"),
        ("400000000", "3 shots run side by side on each GPU\n"),
    ] {
        let memory = [("FAKE_MEMORY", memory)];
        let Some(run) = on(&desk, Driver::Fake, &memory, &format!("sfvsgrad2d-gpu {words}")) else {
            return;
        };
        assert_eq!(run.code, 0, "{run:?}");
        assert_mentions(&run, &[expected]);
    }
}

/// Shots that a GPU runs side by side have separate records, and if they cannot run together, each of them runs alone.
#[test]
fn shots_side_by_side_are_taken_apart_and_run_alone_where_they_fail() {
    // Three shots cannot be divided evenly among two workers.
    let (desk, line) = survey("gpu=0 groups=3 verb=y");
    // A record has three receivers and two components.
    let own = |shot: usize| 6 * shot..6 * (shot + 1);
    let variables = [MEMORY, ("FAKE_RAMP", "72")];
    let Some(run) = on(&desk, Driver::Fake, &variables, &format!("{line} > data.rsf")) else {
        return;
    };
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(&run, &["3 shots run side by side on each GPU"]);
    let data = desk.read("data.rsf");
    for (shot, data) in data.chunks_exact(data.len() / 3).enumerate() {
        let places = data.iter().map(|&place| place as usize % 18);
        assert!(
            places.clone().all(|place| own(shot).contains(&place)),
            "shot {shot}"
        );
        assert!(places.into_iter().any(|place| place == 6 * shot), "shot {shot}");
    }
    // A launch that is refused once ends a single shot, but shots side by side run again.
    for (shots, code) in [("1", 1), ("1-3", 0)] {
        let variables = [MEMORY, ("FAKE_REFUSED", "20"), ("CUDA_SYNC", "1")];
        let line = format!("{line} shots={shots} > data.rsf");
        let run = on(&desk, Driver::Fake, &variables, &line).expect("the fake was there a moment ago");
        assert_eq!(run.code, code, "{shots}: {run:?}");
        assert_eq!(run.err.contains("(701)"), code == 1, "{shots}: {run:?}");
    }
}

/// Shots from a pipe that a GPU runs side by side are available again if they cannot run together, and the history
/// names the first of the GPUs that take shots.
#[test]
fn shots_of_a_pipe_run_alone_where_they_fail_together() {
    let (desk, line) = survey("");
    let (_, words) = line.split_once(' ').expect("a program and its words");
    // All three shots are in one batch.
    let little = ("FAKE_MEMORY", "400000000");
    for (devices, variables, expected) in [
        ("gpu=0", vec![little], "GPU 0 Fake 0 (90)"),
        (
            "gpu=0",
            vec![little, ("FAKE_REFUSED", "20"), ("CUDA_SYNC", "1")],
            "GPU 0 Fake 0 (90)",
        ),
        ("gpu=0,1 ngpu=1", vec![MEMORY], "GPU 0 Fake 0 (90)"),
        ("gpu=1,0 ngpu=1", vec![MEMORY], "GPU 1 Fake 1 (90)"),
    ] {
        let line = format!("{line} device=cpu | sfvsborn2d-gpu adj=y {words} {devices} verb=y > change.rsf");
        let Some(run) = on(&desk, Driver::Fake, &variables, &line) else {
            return;
        };
        assert_eq!(run.code, 0, "{devices}: {run:?}");
        let header = std::fs::read_to_string(desk.path("change.rsf")).expect("a header");
        let named = header
            .lines()
            .rfind(|line| line.contains("GPU"))
            .unwrap_or_default();
        assert!(named.contains(expected), "{devices}: {header}");
    }
}
