//! Several quantities of one run, and records at other times than those of the steps.

use crate::desk::Desk;
use crate::shots::largest;
use crate::velocity_stress::{desk as model, line};

const ALL: [&str; 5] = ["velocity", "displacement", "acceleration", "pressure", "strain"];

fn bits(desk: &Desk, file: &str) -> Vec<u32> {
    desk.read(file).iter().map(|x| x.to_bits()).collect()
}

/// Files for all quantities but that of the data.
fn others(data: &str) -> String {
    let all = ALL.iter().filter(|word| **word != data);
    all.map(|word| format!("{word}={word}.rsf ")).collect()
}

/// Every quantity has the numbers and the axes of a run of its own.
#[test]
fn each_has_the_bits_of_a_run_of_its_own() {
    for (ndim, data, extra) in [
        (2, "velocity", "free=y jdata=3"),
        (2, "pressure", "ngpu=2 qp=50 qs=40"),
        (3, "strain", "jdata=2 ngpu=2"),
        (2, "acceleration", "jdata=2 shots"),
    ] {
        let desk = model(ndim);
        let mut words = format!("{} device=cpu {extra}", line(ndim));
        let rank = if extra.ends_with("shots") { 4 } else { 3 };
        if rank == 4 {
            desk.dataset("sous.rsf", "n1=2 n2=1 n3=2", &[100.0, 80.0, 130.0, 90.0]);
            words = words.replace("sou=sou.rsf", "sou=sous.rsf").replace(" shots", "");
        }
        desk.ran(&format!("{words} data={data} {} > {data}.rsf", others(data)));
        for word in ALL {
            desk.ran(&format!("{words} data={word} > one.rsf"));
            let own = format!("{word}.rsf");
            assert!(bits(&desk, "one.rsf").iter().any(|&x| x != 0));
            assert!(
                bits(&desk, &own) == bits(&desk, "one.rsf"),
                "{ndim}-D {extra}: {word}"
            );
            assert_eq!(desk.axes(&own, rank), desk.axes("one.rsf", rank), "{word}");
            let text = |file: &str, key: &str| desk.open(file).header().text(key).map(|t| t.to_string());
            for key in ["quantity", "label", "unit", "convention"] {
                assert_eq!(text(&own, key), text("one.rsf", key), "{word}");
            }
        }
    }
}

/// Snapshots are those of the same data=.
#[test]
fn snapshots_are_those_of_the_data() {
    let desk = model(2);
    let of = |words: &str| {
        desk.ran(&format!(
            "{} device=cpu data=pressure snap=y jsnap=20 {words} > data.rsf",
            line(2)
        ));
    };
    of("wfl=one.rsf");
    of("wfl=two.rsf velocity=v.rsf");
    assert_eq!(desk.axes("one.rsf", 4), desk.axes("two.rsf", 4));
    assert!(bits(&desk, "one.rsf") == bits(&desk, "two.rsf"));
}

/// Resampled records are those of the steps at the same times.
#[test]
fn resampled_records_have_the_same_times() {
    let desk = model(2);
    let line = line(2).replace("nt=60", "nt=300");
    desk.ran(&format!("{line} device=cpu data=pressure velocity=v.rsf > p.rsf"));
    desk.ran(&format!(
        "{line} device=cpu data=pressure velocity=v2.rsf dtout=0.002 > p2.rsf"
    ));
    for file in ["p2.rsf", "v2.rsf"] {
        let time = &desk.axes(file, 3)[2];
        assert_eq!((time.n, time.o, time.d), (151, 0.0, 0.002), "{file}");
    }
    let samples = |n: usize| (1..130usize).flat_map(move |k| (0..n).map(move |r| (k, r)));
    let (fine, coarse) = (desk.read("p.rsf"), desk.read("p2.rsf"));
    let most = largest(fine.iter().map(|&x| f64::from(x)));
    // A pressure is known at the ends of the steps; the last samples know too little of what follows.
    let off = |(k, r)| f64::from(coarse[3 * k + r]) - f64::from(fine[3 * (2 * k - 1) + r]);
    let off = largest(samples(3).map(off)) / most;
    println!("pressure: {off:.1e}");
    assert!(off < 1e-3, "{off}");
    // A velocity is known half a step later: the mean of two records is right to second order.
    let (fine, coarse) = (desk.read("v.rsf"), desk.read("v2.rsf"));
    let most = largest(fine.iter().map(|&x| f64::from(x)));
    let off = |(k, r)| {
        let mean = 0.5 * (f64::from(fine[6 * (2 * k - 1) + r]) + f64::from(fine[12 * k + r]));
        f64::from(coarse[6 * k + r]) - mean
    };
    let off = largest(samples(6).map(off)) / most;
    println!("velocity: {off:.1e}");
    assert!(off < 0.02, "{off}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let desk = model(2);
    for (extra, wanted) in [
        (
            "data=velocity,pressure",
            "each further one goes into a file that is named by it: data=velocity pressure=pressure.rsf",
        ),
        ("data=speed", "receivers record velocity, displacement"),
        (
            "velocity=v.rsf",
            "velocity= names a file for what standard output has",
        ),
        (
            "pressure=p.rsf checkpoint=state",
            "checkpoint= goes with one quantity at the times of the steps",
        ),
        ("dtout=0.002 jdata=2", "both say which records are written"),
        ("dtout=5", "not above the 0.06 s of the run"),
    ] {
        let run = desk.sh(&format!("{} device=cpu {extra} > data.rsf", line(2)));
        let sentences: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
        assert!(run.code == 1 && sentences.len() == 1, "{extra}: {run:?}");
        assert!(sentences[0].contains(wanted), "{extra}: {run:?}");
    }
}
