//! The velocity-stress programs on fake GPUs, whose fields stay zero: which requests are accepted, refused and
//! reported.

use crate::fakes::Driver;
use crate::gpus::{assert_mentions, assert_refused, on};
use crate::velocity_stress::{desk, line};
use std::fs;

#[test]
fn memory_is_looked_at_before_it_is_taken() {
    let desk = desk(3);
    let with = |bytes: &str, devices: &str| {
        let line = format!("{} {devices} > data.rsf", line(3));
        on(&desk, Driver::Fake, &[("FAKE_MEMORY", bytes)], &line)
    };
    let Some(run) = with("40000000", "") else {
        return;
    };
    assert_refused(
        &desk,
        &run,
        &[
            "GPU 0 Fake 0 (90) has too little memory for this run: 0.0",
            "GB are needed, but 0.04 GB are free",
            "device=cpu",
        ],
    );
    let run = with("200000000", "ngpu=9").expect("the fake was there a moment ago");
    assert_refused(&desk, &run, &["ngpu=9 GPUs are requested"]);
    let run = with("200000000", "").expect("the fake was there a moment ago");
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(&run, &["GPU 0 Fake 0 (90), isotropic kernels"]);
    let run = with("200000000", "ngpu=2 plan=y").expect("the fake was there a moment ago");
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(
        &run,
        &["slab 2", "memory of GPUs", "time about", "nothing was run"],
    );
}

#[test]
fn a_gpu_lost_in_the_middle_ends_the_run_and_what_was_written_stays() {
    let nt = 400;
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let line = line(ndim).replace("nt=60", &format!("nt={nt}"));
        let variables = [
            ("FAKE_MEMORY", "1000000000"),
            // There are six launches per step: for either stage the frame and the remaining cells, and one each for the
            // source and the receivers.
            ("FAKE_LAUNCHES", "1900"),
            ("CUDA_SYNC", "1"),
        ];
        let line = format!("{line} device=gpu > data.rsf");
        let Some(run) = on(&desk, Driver::Fake, &variables, &line) else {
            return;
        };
        assert_eq!(run.code, 1, "{run:?}");
        let words = [
            "GPU 0 (Fake 0): ",
            "(700)",
            "What was written so far stays readable",
        ];
        assert_mentions(&run, &words);
        let header = fs::read_to_string(desk.path("data.rsf")).expect("a header");
        assert!(header.contains(&format!("n3={nt}")), "{header}");
        let bytes = fs::metadata(desk.path("data.rsf@")).expect("data").len() as usize;
        let record = 3 * ndim * size_of::<f32>();
        assert!(
            bytes > 0 && bytes < nt * record && bytes.is_multiple_of(record),
            "{bytes}"
        );
    }
}

#[test]
fn linearised_programs_look_at_the_memory_of_a_gpu() {
    let desk = desk(3);
    let line = line(3);
    let (_, words) = line.split_once(' ').expect("a program and its words");
    let with = |bytes: &str, devices: &str| {
        let line = format!("sfvsborn3d-gpu {words} adj=y plan=y {devices}");
        on(&desk, Driver::Fake, &[("FAKE_MEMORY", bytes)], &line)
    };
    let Some(run) = with("40000000", "") else {
        return;
    };
    assert_eq!(run.code, 1, "{run:?}");
    assert_mentions(
        &run,
        &[
            "GPU 0 Fake 0 (90)",
            "has 0.04 GB of memory free",
            "GB there in addition to the reverse sweep",
            "device=cpu",
        ],
    );
    let run = with("1000000000", "").expect("the fake was there a moment ago");
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(
        &run,
        &[
            "of its memory are needed in addition to the reverse sweep",
            "1.00 GB are free",
            "all steps are kept",
        ],
    );
    let run = with("1000000000", "memory=2").expect("the fake was there a moment ago");
    assert_eq!(run.code, 1, "{run:?}");
    assert_mentions(&run, &["memory=2 GB are requested"]);
}
