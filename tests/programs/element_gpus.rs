//! The programs on meshes on fake GPUs, whose fields stay zero: which requests are accepted, refused and reported.

use crate::desk::Desk;
use crate::fakes::Driver;
use crate::gpus::{assert_mentions, assert_refused, on};
use crate::real;
use crate::shots::{magnitude, relative_difference};

const LINE: &str =
    "sfsem2d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf m0=1e12 stf=ricker freq=5 nt=20 dt=0.0001 device=gpu";

/// A box of 10,000 elements.
fn desk() -> Desk {
    let desk = Desk::new();
    let meshing = desk.sh(
        "sfhexmesh surfaces=800,0 layers=100 nx=100 xmin=0 xmax=800 rho=2300 vp=3000 vs=1700 judge=n > box.rsf",
    );
    assert_eq!(meshing.code, 0, "{}", meshing.err);
    desk.dataset("sou.rsf", "n1=2 n2=1", &[401.0, 303.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[251.0, 200.0, 551.0, 200.0]);
    desk
}

#[test]
fn meshes_run_on_gpus_that_hold_them() {
    let desk = desk();
    let with = |bytes: &str, devices: &str| {
        let line = format!("{LINE} {devices} > data.rsf");
        on(&desk, Driver::Fake, &[("FAKE_MEMORY", bytes)], &line)
    };
    let Some(run) = with("2000000", "") else {
        return;
    };
    assert_refused(
        &desk,
        &run,
        &[
            "GPU 0 Fake 0 (90) has too little memory for 10000 elements: 0.0",
            "GB are needed, 0.00 GB are free",
            "device=cpu",
        ],
    );
    let run = with("200000000", "ngpu=9").expect("the fake was there a moment ago");
    assert_refused(&desk, &run, &["ngpu=9 GPUs are requested"]);
    let run = with("200000000", "").expect("the fake was there a moment ago");
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(&run, &["GPU 0 Fake 0 (90)"]);
    let run = with("200000000", "ngpu=2 plan=y").expect("the fake was there a moment ago");
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(&run, &["memory of GPUs: about"]);
}

/// Data of two shots in the box, and the command line of their gradient.
fn survey(desk: &Desk) -> String {
    desk.dataset("sou.rsf", "n1=2 n2=1 n3=2", &[401.0, 303.0, 301.0, 403.0]);
    desk.dataset("data.rsf", "n1=2 n2=2 n3=20 d3=0.0001 n4=2", &[1e-6; 160]);
    "sfsemgrad2d-gpu < data.rsf mesh=box.rsf sou=sou.rsf rec=rec.rsf m0=1e12 stf=ricker freq=5 nt=20 dt=0.0001 verb=y".into()
}

#[test]
fn gradients_on_meshes_run_on_gpus_that_hold_them() {
    let desk = desk();
    let line = survey(&desk);
    let with = |bytes: &str, devices: &str| {
        let line = format!("{line} device=gpu {devices} > gradient.rsf");
        on(&desk, Driver::Fake, &[("FAKE_MEMORY", bytes)], &line)
    };
    let Some(run) = with("12000000", "") else {
        return;
    };
    assert_eq!(run.code, 1, "{run:?}");
    assert_mentions(
        &run,
        &[
            "GPU 0 Fake 0 (90) has too little memory for the adjoint wavefield and the gradient sums of 10000 elements, in addition to the forward run: 0.0",
            "device=cpu uses the memory of the host",
        ],
    );
    let with = |bytes, devices| with(bytes, devices).expect("the fake was there a moment ago");
    let run = with("400000000", "");
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(
        &run,
        &[
            "GPU 0 Fake 0 (90)",
            "memory of the GPU: 0.",
            "21 of 21 steps at a time",
            "no step is computed again",
            "shot 2 of 2",
        ],
    );
    let run = with("400000000", "memory=0.02");
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(&run, &["steps are computed again"]);
    for devices in ["gpu=0,1", "gpu=0,1 groups=2"] {
        let run = with("400000000", devices);
        assert_eq!(run.code, 0, "{run:?}");
        assert_mentions(&run, &["the first of 2 groups"]);
    }
    let run = with("400000000", "gpu=0 groups=2");
    assert_eq!(run.code, 1, "{run:?}");
    assert_mentions(
        &run,
        &[
            "groups= requests 2 shots",
            "runs shots on meshes one at a time",
            "leave out groups=",
        ],
    );
}

#[test]
fn linearised_runs_on_meshes_take_gpus_that_hold_them() {
    let desk = desk();
    desk.dataset("change.rsf", "n1=1 n2=3", &[30.0, 20.0, 10.0]);
    let line = survey(&desk).replace("sfsemgrad2d-gpu < data.rsf", "sfsemborn2d-gpu < change.rsf");
    let with = |bytes: usize, devices: &str| {
        let line = format!("{line} device=gpu {devices} > born.rsf");
        on(&desk, Driver::Fake, &[("FAKE_MEMORY", &bytes.to_string())], &line)
    };
    let Some(run) = with(400_000_000, "") else {
        return;
    };
    assert_eq!(run.code, 0, "{run:?}");
    assert_mentions(
        &run,
        &[
            "GPU 0 Fake 0 (90)",
            "memory of the GPU: 0.0",
            "adj=n: two wavefields advance together",
            "shot 2 of 2",
        ],
    );
    // A tenth more than the predicted memory is enough, and an eighth less is not.
    let predicted = run
        .err
        .split("memory of the GPU: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let predicted: f64 = predicted
        .and_then(|words| words.parse().ok())
        .expect("GB of memory");
    let enough = (1.1e9 * predicted) as usize;
    let with = |bytes, devices| with(bytes, devices).expect("the fake was there a moment ago");
    let run = with(enough, "");
    assert_eq!(run.code, 0, "{run:?}");
    let run = with((0.88e9 * predicted) as usize, "");
    assert_eq!(run.code, 1, "{run:?}");
    assert_mentions(&run, &["GPU 0 Fake 0 (90)", "GB are needed"]);
    for devices in ["gpu=0,1", "gpu=0,1 groups=2"] {
        let run = with(400_000_000, devices);
        assert_eq!(run.code, 0, "{run:?}");
        assert_mentions(&run, &["the first of 2 groups"]);
    }
}

#[test]
fn gradients_on_meshes_agree_on_real_gpus_with_processors() {
    if real::gpus("gradients on meshes on real GPUs") == 0 {
        return;
    }
    let desk = desk();
    let line = survey(&desk).replace("nt=20 dt=0.0001", "nt=700 dt=0.0003 data=displacement");
    let line = line.replace("freq=5", "freq=20").replace("data.rsf", "true.rsf");
    let model = line.replace("sfsemgrad2d-gpu < true.rsf", "sfsem2d-gpu");
    desk.dataset("change.rsf", "n1=1 n2=3", &[30.0, 20.0, 10.0]);
    let born = line.replace("sfsemgrad2d-gpu < true.rsf", "sfsemborn2d-gpu < change.rsf");
    for command in [
        format!("{model} device=cpu > records.rsf"),
        "sfbasics scale < records.rsf rscale=0.9 > true.rsf".into(),
        format!("{line} device=cpu misfit=a.rsf > cpu.rsf"),
        format!("{line} device=gpu misfit=b.rsf > gpu.rsf"),
        format!("{line} device=gpu memory=0.05 misfit=b.rsf > again.rsf"),
        format!("{born} device=cpu > c.rsf"),
        format!("{born} device=gpu > d.rsf"),
    ] {
        let run = desk.sh(&command);
        assert_eq!(run.code, 0, "{run:?}");
    }
    for [cpu, gpu] in [["cpu.rsf", "gpu.rsf"], ["a.rsf", "b.rsf"], ["c.rsf", "d.rsf"]] {
        let (cpu, gpu) = (desk.read(cpu), desk.read(gpu));
        magnitude(cpu.clone());
        let apart = relative_difference(&gpu, &cpu);
        println!("{apart:.1e}");
        assert!(apart < 1e-4, "{apart:.1e}");
    }
    assert_eq!(desk.read("gpu.rsf"), desk.read("again.rsf"));
}
