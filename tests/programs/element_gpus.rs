//! The programs on meshes on fake GPUs, whose fields stay zero: what is taken, refused and told.

use crate::desk::Desk;
use crate::fakes::Driver;
use crate::gpus::{assert_refused, assert_says, on};

const LINE: &str =
    "sfsem2d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf m0=1e12 stf=ricker freq=5 nt=20 dt=0.0001 device=gpu";

/// A box of 10,000 elements.
fn desk() -> Desk {
    let desk = Desk::new();
    let made = desk.sh(
        "sfhexmesh surfaces=800,0 layers=100 nx=100 xmin=0 xmax=800 rho=2300 vp=3000 vs=1700 judge=n > box.rsf",
    );
    assert_eq!(made.code, 0, "{}", made.err);
    desk.dataset("sou.rsf", "n1=2 n2=1", &[401.0, 303.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[251.0, 200.0, 551.0, 200.0]);
    desk
}

#[test]
fn meshes_run_on_gpus_that_hold_them() {
    let desk = desk();
    let with = |bytes: &str, asked: &str| {
        let line = format!("{LINE} {asked} > data.rsf");
        on(&desk, Driver::Fake, &[("FAKE_MEMORY", bytes)], &line)
    };
    let Some(run) = with("2000000", "") else {
        return;
    };
    assert_refused(
        &desk,
        &run,
        &[
            "GPU 0 Fake 0 (90) has not the memory for 10000 elements: 0.0",
            "GB are needed, 0.00 GB are free",
            "device=cpu",
        ],
    );
    let run = with("200000000", "ngpu=9").expect("the fake was there a moment ago");
    assert_refused(&desk, &run, &["ngpu=9 GPUs are asked for"]);
    let run = with("200000000", "").expect("the fake was there a moment ago");
    assert_eq!(run.code, 0, "{run:?}");
    assert_says(&run, &["GPU 0 Fake 0 (90)"]);
    let run = with("200000000", "ngpu=2 plan=y").expect("the fake was there a moment ago");
    assert_eq!(run.code, 0, "{run:?}");
    assert_says(&run, &["memory of GPUs: about"]);
}
