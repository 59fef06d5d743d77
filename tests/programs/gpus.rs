//! `device=`, `gpu=`, `ngpu=`: which requests are accepted, refused and reported; on fake GPUs, whose fields stay zero,
//! and on real ones if there are any.

use crate::desk::{Desk, Outcome, outcome};
use crate::fakes::{self, Driver};
use crate::real;
use crate::shot::{cells, desk, grid, line_on, names, shoot};
use crate::shots::relative_difference;
use std::fs;

/// A warning of the small shot on fake GPUs.
const ZERO: &str = "warning: all data are zero";

/// Runs a shell line with this driver and `FAKE_...` variables; `None` if no fake can be built.
pub fn on(desk: &Desk, driver: Driver, variables: &[(&str, &str)], line: &str) -> Option<Outcome> {
    let machine = fakes::variables("programs on fake GPUs", driver, &desk.path(".store"))?;
    let mut command = desk.command(line);
    fakes::HIDDEN.iter().for_each(|name| {
        command.env_remove(name);
    });
    let done = command.envs(machine).envs(variables.iter().copied()).output();
    Some(outcome(done.unwrap()))
}

/// The small shot with `< wav.rsf > data.rsf`.
fn small(ndim: usize, device: &str) -> String {
    format!("{} < wav.rsf > data.rsf", line_on(ndim, device))
}

pub fn assert_mentions(run: &Outcome, words: &[&str]) {
    for word in words {
        assert!(run.err.contains(word), "`{word}` is missing in {run:?}");
    }
}

/// Asserts that there is a single message with these texts, exit code 1, and no output.
pub fn assert_refused(desk: &Desk, run: &Outcome, words: &[&str]) {
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
    let messages = run.err.lines().filter(|l| !l.contains(": warning: "));
    assert_eq!(messages.count(), 1, "a single message: {run:?}");
    println!("{}", run.err.trim_end());
    assert_mentions(run, words);
    let left = fs::metadata(desk.path("data.rsf")).map_or(0, |m| m.len());
    assert!(left == 0 && !desk.path("data.rsf@").exists(), "{:?}", names(desk));
}

#[test]
fn without_a_gpu_the_processors_run_and_asking_for_one_is_an_error() {
    let desk = desk(2);
    let missing = "no NVIDIA driver: libcuda.so.1 was not found";
    for devices in [
        "device=gpu",
        "gpu=0",
        "device=gpu gpu=0 ngpu=2",
        "device=gpu plan=y",
    ] {
        let Some(run) = on(&desk, Driver::None, &[], &small(2, devices)) else {
            return;
        };
        assert_refused(&desk, &run, &[missing, "device=cpu"]);
        assert_eq!(
            run.err.matches(missing).count(),
            1,
            "the reason is given once: {run:?}"
        );
    }
    // On a machine without a driver the user expects the processors; a plan says why they are used.
    for devices in ["", "device=auto verb=y", "plan=y", "device=cpu verb=y"] {
        let run = on(&desk, Driver::None, &[], &small(2, devices)).unwrap();
        assert_eq!(run.code, 0, "{run:?}");
        assert_mentions(&run, &["CPU, "]);
        assert_eq!(run.err.contains(missing), devices == "plan=y", "{run:?}");
    }
    let hidden = [("FAKE_INIT", "100"), ("CUDA_VISIBLE_DEVICES", "")];
    let run = on(&desk, Driver::Fake, &hidden, &small(2, "device=gpu")).unwrap();
    assert_mentions(&run, &["CUDA_VISIBLE_DEVICES=\"\" hides every"]);
}

#[test]
fn lists_and_counts_that_do_not_fit_are_refused() {
    let desk = desk(2);
    for (devices, words) in [
        (
            "gpu=0,5",
            [
                "gpu=5: there is no such GPU",
                "GPU 0 Fake 0 (90), GPU 1 Fake 1 (90)",
            ],
        ),
        ("gpu=-1", ["gpu= got `-1`", ">= 0"]),
        ("gpu=1,0,1", ["names GPU 1 twice", "there is 0, 1"]),
        (
            "ngpu=3",
            ["ngpu=3 GPUs are requested, but there are 2 (0, 1)", "device=cpu"],
        ),
        (
            "device=cpu gpu=0",
            ["gpu= names GPUs, but device=cpu", "leave out one"],
        ),
    ] {
        let Some(run) = on(&desk, Driver::Fake, &[], &small(2, devices)) else {
            return;
        };
        assert_refused(&desk, &run, &words);
    }
    let old = [("FAKE_CAPABILITY", "75,90"), ("FAKE_DEVICES", "2")];
    let run = on(&desk, Driver::Fake, &old, &small(2, "gpu=0")).unwrap();
    assert_refused(
        &desk,
        &run,
        &["gpu=0: there is no such GPU", "there is GPU 1 Fake 1 (90)"],
    );
    let run = on(&desk, Driver::Fake, &old, &small(2, "ngpu=2")).unwrap();
    assert_refused(&desk, &run, &["there is 1 (1); use ngpu=1 or less"]);
}

#[test]
fn the_choice_is_printed_and_kept_in_the_history() {
    let memory = ("FAKE_MEMORY", "1000000000");
    for ndim in [2, 3] {
        let desk = desk(ndim);
        for (devices, device) in [
            ("", "GPU 0 Fake 0 (90), isotropic kernels"),
            ("device=gpu sym=ort", "GPU 0 Fake 0 (90), "),
            ("gpu=1", "GPU 1 Fake 1 (90), isotropic kernels"),
            (
                "gpu=1,0",
                "GPU 1 Fake 1 (90) and GPU 0 Fake 0 (90), isotropic kernels, 2 slabs",
            ),
            (
                "ngpu=2",
                "GPU 0 Fake 0 (90) and GPU 1 Fake 1 (90), isotropic kernels, 2 slabs",
            ),
            ("device=cpu ngpu=3", "3 slabs"),
        ] {
            let devices = format!("{devices} jdata=5 snap=y jsnap=10 wfl=wfl.rsf");
            let Some(run) = on(&desk, Driver::Fake, &[memory], &small(ndim, &devices)) else {
                return;
            };
            assert_eq!(run.code, 0, "{run:?}");
            assert_mentions(&run, &[device]);
            assert_eq!(run.err.contains(ZERO), run.err.contains("GPU"), "{run:?}");
            for file in ["data.rsf", "wfl.rsf"] {
                let header = fs::read_to_string(desk.path(file)).unwrap();
                assert!(header.contains(device), "{header}");
            }
            // The fake does not compute anything.
            assert_eq!(desk.read_as_it_is("data.rsf").len(), 3 * ndim * 5);
            let padded: usize = [36, 40, 38][..ndim].iter().product();
            assert_eq!(desk.read_as_it_is("wfl.rsf").len(), padded * ndim * 3);
        }
    }
    let desk = desk(2);
    let run = on(&desk, Driver::Fake, &[memory], &small(2, "gpu=1 ngpu=2")).unwrap();
    assert_mentions(
        &run,
        &["warning: ngpu=2 is not used: gpu= names 1", "GPU 1 Fake 1"],
    );
    let header = on(&desk, Driver::Fake, &[memory], &small(2, "--dryrun=y"));
    assert_eq!(header.unwrap().code, 0);
    assert!(
        fs::read_to_string(desk.path("data.rsf"))
            .unwrap()
            .contains("GPU 0 Fake 0 (90)")
    );
}

#[test]
fn verb_and_plan_describe_the_gpu() {
    let memory = [("FAKE_MEMORY", "2000000000")];
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let Some(run) = on(&desk, Driver::Fake, &memory, &small(ndim, "verb=y")) else {
            return;
        };
        assert_mentions(&run, &["set-up ", "effective (", "step 23 of 23", "GB of memory"]);
        let before = names(&desk);
        let plan = format!("{} < wav.rsf", line_on(ndim, "ngpu=2 plan=y tile=16"));
        let run = on(&desk, Driver::Fake, &memory, &plan).unwrap();
        assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
        assert_mentions(
            &run,
            &["tile= is not used: it cuts the work of CPU threads, and GPUs run the shot"],
        );
        assert_eq!(names(&desk), before);
        assert_mentions(
            &run,
            &[
                "device GPU 0 Fake 0 (90) and GPU 1 Fake 1 (90), isotropic kernels, 2 slabs",
                "slab 2: planes",
                "on GPU 1 Fake 1 (90), 0.0",
                "GB of 2.00 GB that are free",
                "bytes per point",
                "time about",
                "nothing was run",
            ],
        );
    }
}

/// A 3-D model whose orthorhombic kernels need 150 MB with everything that is counted, and whose isotropic kernels need
/// 105 MB.
fn larger() -> Desk {
    let desk = desk(3);
    let n = 100;
    let header = format!("n1={n} n2={n} n3={n} d1=0.01 d2=0.01 d3=0.01");
    let (p, s) = (2.2 * 4.0, 2.2 * 1.21);
    let planes = [p, p, p, s, s, s, p - 2.0 * s, p - 2.0 * s, p - 2.0 * s];
    let values: Vec<f32> = planes
        .iter()
        .flat_map(|&c| std::iter::repeat_n(c, n * n * n))
        .collect();
    desk.dataset("ccc.rsf", &format!("{header} n4=9"), &values);
    desk.dataset("den.rsf", &header, &vec![2.2; n * n * n]);
    desk
}

#[test]
fn memory_is_looked_at_before_it_is_taken() {
    let desk = larger();
    let with =
        |bytes: &str, devices: &str| on(&desk, Driver::Fake, &[("FAKE_MEMORY", bytes)], &small(3, devices));
    let Some(run) = with("100000000", "") else {
        return;
    };
    assert_refused(
        &desk,
        &run,
        &[
            "GPU 0 Fake 0 (90) has too little memory for this run: 0.1",
            "GB are needed with isotropic kernels, but 0.10 GB are free",
            "2 such GPUs hold it (ngpu=2)",
            "with its frame fits this one",
            "device=cpu",
        ],
    );
    // There is room only for the isotropic kernels.
    let run = with("130000000", "sym=ort").unwrap();
    assert_refused(
        &desk,
        &run,
        &[
            "needed with orthorhombic kernels",
            "kernels fit (sym=iso, if the model has that symmetry)",
        ],
    );
    for devices in ["", "sym=iso"] {
        let run = with("130000000", devices).unwrap();
        assert_eq!(run.code, 0, "{run:?}");
        assert_mentions(&run, &["GPU 0 Fake 0 (90), isotropic kernels"]);
    }
    let run = with("100000000", "ngpu=2").unwrap();
    assert_eq!(run.code, 0, "{run:?}");
    let run = with("100000000", "plan=y").unwrap();
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(
        &run,
        &["warning: GPU 0 Fake 0 (90) has too little memory", "time about"],
    );
}

#[test]
fn a_model_too_wide_for_the_memory_is_refused_with_its_class() {
    let desk = larger();
    let mut values = desk.read("ccc.rsf");
    let n = 1_000_000;
    values[..n].iter_mut().for_each(|c| *c += 0.5);
    values[n..2 * n].iter_mut().for_each(|c| *c += 0.25);
    desk.dataset(
        "ccc.rsf",
        "n1=100 n2=100 n3=100 d1=0.01 d2=0.01 d3=0.01 n4=9",
        &values,
    );
    let memory = [("FAKE_MEMORY", "130000000")];
    let Some(run) = on(&desk, Driver::Fake, &memory, &small(3, "")) else {
        return;
    };
    assert_refused(
        &desk,
        &run,
        &["needed with orthorhombic kernels, but 0.13 GB are free"],
    );
}

/// The number of records of a run that was stopped, after checking that the header gives the number of all records.
fn records(desk: &Desk, ndim: usize, nt: usize) -> usize {
    let header = fs::read_to_string(desk.path("data.rsf")).unwrap();
    assert!(header.contains(&format!("n3={nt}")), "{header}");
    let bytes = fs::read(desk.path("data.rsf@")).unwrap();
    assert_eq!(bytes.len() % (3 * ndim * 4), 0, "complete records");
    bytes.len() / (3 * ndim * 4)
}

#[test]
fn a_gpu_lost_in_the_middle_ends_the_run_and_what_was_written_stays() {
    let nt = 300;
    for (ndim, launches, sync) in [(2, "8", "0"), (3, "1400", "1"), (2, "580", "1")] {
        let desk = desk(ndim);
        desk.dataset(
            "wav.rsf",
            &format!("n1=1 n2={ndim} n3={nt} d3=0.001"),
            &vec![1.0; ndim * nt],
        );
        let variables = [
            ("FAKE_MEMORY", "1000000000"),
            ("FAKE_LAUNCHES", launches),
            ("CUDA_SYNC", sync),
        ];
        let Some(run) = on(&desk, Driver::Fake, &variables, &small(ndim, "device=gpu")) else {
            return;
        };
        assert_eq!(run.code, 1, "{run:?}");
        let messages: Vec<&str> = run
            .err
            .lines()
            .filter(|l| !l.contains(": GPU 0 Fake 0 (90), ") && !l.contains(": warning: "))
            .collect();
        assert_eq!(messages.len(), 1, "{run:?}");
        println!("{}", messages[0]);
        assert_mentions(
            &run,
            &[
                "GPU 0 (Fake 0): ",
                "(700)",
                "What was written so far stays readable",
            ],
        );
        // Failures of replayed steps name the recorded work, other failures the kernel.
        assert_eq!(run.err.contains("recorded work"), launches == "8", "{run:?}");
        if launches != "8" {
            let written = records(&desk, ndim, nt);
            assert!(written > 0 && written < nt, "{written}");
        }
    }
}

#[test]
fn an_output_that_takes_no_more_ends_the_run() {
    let desk = desk(3);
    let memory = [("FAKE_MEMORY", "1000000000")];
    let line = format!(
        "{} snap=y jsnap=1 wfl=/dev/full < wav.rsf > /dev/null",
        line_on(3, "device=gpu")
    );
    let Some(run) = on(&desk, Driver::Fake, &memory, &line) else {
        return;
    };
    assert_eq!(run.code, 1, "{run:?}");
    assert_mentions(&run, &["wfl=/dev/full", "No space left"]);
}

/// Largest difference relative to the largest amplitude.
fn misfit(a: &[f32], b: &[f32]) -> f64 {
    relative_difference(b, a)
}

#[test]
fn real_gpus_agree_with_the_processors() {
    let count = real::gpus("programs on real GPUs");
    if count == 0 {
        return;
    }
    for ndim in [2, 3] {
        let desk = desk(ndim);
        for options in [
            "",
            "free=y ssou=y opot=y",
            "free=y surface=traction jdata=3",
            "dabc=n interp=n",
        ] {
            let extra = format!("{options} snap=y jsnap=7 wfl=wfl.rsf nqz=12 oqz=0.03");
            let run = shoot(&desk, ndim, &extra);
            assert_eq!(run.code, 0, "{run:?}");
            let cpu = ["data.rsf", "wfl.rsf"].map(|file| desk.read(file));
            let mut first: Option<[Vec<f32>; 2]> = None;
            for gpus in 1..=count.min(4) {
                let run = shoot(&desk, ndim, &format!("{extra} device=gpu ngpu={gpus}"));
                assert_eq!(run.code, 0, "{run:?}");
                assert_mentions(&run, &["-gpu: GPU", "isotropic kernels"]);
                let gpu = ["data.rsf", "wfl.rsf"].map(|file| desk.read(file));
                for (a, b) in cpu.iter().zip(&gpu) {
                    let apart = misfit(a, b);
                    println!("{ndim}-D {options} {gpus} GPUs: {apart:.1e}");
                    assert!(apart <= 1e-5, "{options}: {apart}");
                }
                assert!(
                    first.get_or_insert_with(|| gpu.clone()) == &gpu,
                    "{gpus} GPUs: the bits differ"
                );
            }
        }
        let run = desk.sh(&format!("{} plan=y < wav.rsf", line_on(ndim, "device=gpu")));
        assert_eq!(run.code, 0, "{run:?}");
        assert_mentions(&run, &["device GPU ", "slab 1: planes", "time about"]);
    }
}

#[test]
fn real_gpus_are_given_up_for_a_file_that_is_too_large() {
    if real::gpus("a run beyond the memory of a GPU") == 0 {
        return;
    }
    let desk = desk(2);
    desk.dataset("den.rsf", &grid(2), &vec![2.2; cells(2)]);
    let run = desk.sh(&small(2, "device=gpu nb=100000"));
    assert_refused(
        &desk,
        &run,
        &["has too little memory for this run", "such GPUs hold it"],
    );
}
