//! Runs that continue from a saved state: their outputs equal those of one run, and states that do not fit are
//! reported.

use crate::desk::{Desk, Outcome};
use crate::{shot, velocity_stress};

/// A command line of each of the four programs, and the number of steps.
pub fn lines() -> [(Desk, String, usize); 4] {
    let of = |staggered: bool, ndim: usize| {
        let small = "snap=y jsnap=6 nqz=9 nqx=7 jdata=2";
        match staggered {
            false => {
                let line = format!("{} {small} < wav.rsf", shot::line(ndim));
                (shot::desk(ndim), line, shot::NT)
            }
            true => {
                let more = "free=y pgv=pgv.rsf qp=40 qs=30 data=displacement device=cpu";
                let line = format!("{} {small} {more}", velocity_stress::line(ndim));
                (velocity_stress::desk(ndim), line, 60)
            }
        }
    };
    [of(false, 2), of(false, 3), of(true, 2), of(true, 3)]
}

/// Runs the line with the outputs `dNAME.rsf` and `wNAME.rsf`.
#[track_caller]
fn done(desk: &Desk, line: &str, name: &str) -> Outcome {
    let run = desk.sh(&format!("{line} wfl=w{name}.rsf > d{name}.rsf"));
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// The bits of data, snapshots and map.
fn outputs(desk: &Desk, name: &str) -> Vec<Vec<u32>> {
    let mut files = vec![format!("d{name}.rsf"), format!("w{name}.rsf")];
    files.extend(desk.path("pgv.rsf").exists().then(|| "pgv.rsf".into()));
    let bits = |file: &String| desk.read(file).iter().map(|x| x.to_bits()).collect();
    files.iter().map(bits).collect()
}

/// The lines of a header except the banner and the name of the data file.
fn header(desk: &Desk, file: &str) -> Vec<String> {
    let text = std::fs::read(desk.path(file)).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let differs = |line: &str| line.contains("sifaka") || line.trim_start().starts_with("in=");
    let lines = text.lines().filter(|line| !differs(line)).map(str::to_string);
    lines.collect()
}

#[test]
fn outputs_are_those_of_one_run() {
    for (desk, line, steps) in lines() {
        done(&desk, &line, "0");
        let whole = outputs(&desk, "0");
        assert!(whole.iter().flatten().any(|&x| x != 0), "{line}");
        // The run writes the last state, and the state ten steps before it.
        done(&desk, &format!("{line} checkpoint=state every=10 ngpu=2"), "1");
        assert_eq!(outputs(&desk, "1"), whole, "{line}");
        for (state, step) in [
            ("state", (steps - 1) / 10 * 10),
            ("state.1", (steps - 1) / 10 * 10 - 10),
        ] {
            // The run continues on other slabs, in the same files and then in other files.
            for (name, cut) in [("1", "ngpu=1 threads=2"), ("2", "ngpu=3 threads=1")] {
                let run = done(&desk, &format!("{line} resume={state} {cut}"), name);
                let expected = format!("resume={state}: continues after step {step} of {steps}");
                assert!(run.err.contains(&expected), "{run:?}");
                assert_eq!(outputs(&desk, name), whole, "{line} {state} {cut}");
                for kind in ["d", "w"] {
                    let one = header(&desk, &format!("{kind}0.rsf"));
                    assert_eq!(header(&desk, &format!("{kind}{name}.rsf")), one, "{line}");
                }
            }
        }
        // Output goes to a pipe, and the run that continues saves a state itself.
        let run = desk.sh(&format!(
            "{line} resume=state.1 checkpoint=state every=5 wfl=w3.rsf | sfbasics window > d3.rsf"
        ));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(
            run.err
                .contains("standard output is a pipe, whose data are not kept"),
            "{run:?}"
        );
        assert_eq!(outputs(&desk, "3"), whole, "{line}");
    }
}

#[test]
fn text_and_streams_go_on_too() {
    let desk = shot::desk(2);
    let line = format!("{} snap=y jsnap=4", shot::line(2));
    let with = |words: &str, wavelet: &str, name: &str| {
        done(&desk, &format!("{line} {words} < {wavelet}"), name);
    };
    assert_eq!(desk.sh("sfbasics dd form=ascii < wav.rsf > text.rsf").code, 0);
    assert_eq!(desk.sh("sfbasics dd form=xdr < wav.rsf > xdr.rsf").code, 0);
    for wavelet in ["text.rsf", "xdr.rsf"] {
        with("", wavelet, "0");
        with("checkpoint=state every=9", wavelet, "1");
        with("resume=state", wavelet, "1");
        with("resume=state", wavelet, "2");
        for name in ["1", "2"] {
            assert_eq!(outputs(&desk, name), outputs(&desk, "0"), "{wavelet}");
            for kind in ["d", "w"] {
                let bytes = |name: &str| std::fs::read(desk.path(&format!("{kind}{name}.rsf@"))).unwrap();
                assert!(bytes(name) == bytes("0"), "{wavelet} {kind}{name}");
            }
        }
    }
    // Header and data are in one file, which is kept under another name because a shell truncates the file to which it
    // redirects.
    with("", "wav.rsf", "0");
    with("out=stdout checkpoint=state every=9", "wav.rsf", "1");
    with("out=stdout resume=state", "wav.rsf", "2");
    assert_eq!(outputs(&desk, "2"), outputs(&desk, "0"));
    let lost = desk.sh(&format!(
        "{line} wfl=w1.rsf out=stdout resume=state < wav.rsf > d1.rsf"
    ));
    refused(
        &lost,
        &[
            "d1.rsf",
            "of the interrupted run has 0 bytes",
            "cut or written again",
        ],
    );
}

/// Asserts that there is a single message with these texts.
#[track_caller]
fn refused(run: &Outcome, words: &[&str]) {
    assert_eq!(run.code, 1, "{run:?}");
    let sentences: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
    let sentence = sentences.last().expect("a sentence");
    assert!(
        words.iter().all(|word| sentence.contains(word)),
        "{words:?}: {run:?}"
    );
}

#[test]
fn states_that_do_not_fit_are_refused_and_nothing_is_touched() {
    let desk = shot::desk(2);
    let line = format!("{} snap=y jsnap=6 wfl=w.rsf", shot::line(2));
    let run = desk.sh(&format!("{line} checkpoint=state every=10 < wav.rsf > d.rsf"));
    assert_eq!(run.code, 0, "{run:?}");
    let kept = ["d.rsf@", "w.rsf", "w.rsf@"].map(|name| std::fs::read(desk.path(name)).unwrap());
    let tried = |line: &str, words: &[&str]| {
        refused(&desk.sh(&format!("{line} > d.rsf")), words);
        let now = ["d.rsf@", "w.rsf", "w.rsf@"].map(|name| std::fs::read(desk.path(name)).unwrap());
        assert!(now == kept, "{line} has changed the outputs");
    };
    let go = format!("{line} resume=state < wav.rsf");
    tried(
        &go.replace("nb=8", "nb=9"),
        &[
            "resume=state: ",
            "the state belongs to another run: nb= is 8 in the state and 9 here",
        ],
    );
    tried(
        &format!("{} interp=n jdata=2", go.replace("dabc=y", "dabc=n")),
        &[
            "dabc= is y in the state and n here",
            "interp= is y in the state and n here; jdata= is 1 in the state and 2 here",
            "continue with the parameters of that run",
        ],
    );
    tried(
        &go.replace("rec=rec.rsf", "rec=sou.rsf"),
        &["rec= has changed since the state was saved"],
    );
    let mut wavelet = shot::wavelet(2);
    wavelet[2 * 19] += 1.0;
    desk.dataset("other.rsf", &shot::wavelet_header(2), &wavelet);
    tried(
        &go.replace("wav.rsf", "other.rsf"),
        &["sources of the first 20 steps differ from those in the state"],
    );
    let mut stiffness = shot::stiffness(2);
    stiffness[7] *= 1.0001;
    desk.dataset("ccc2.rsf", &shot::stiffness_header(2), &stiffness);
    tried(
        &go.replace("ccc=ccc.rsf", "ccc=ccc2.rsf"),
        &["resume=state: the state belongs to another model"],
    );
    tried(
        &go.replace("resume=state", "resume=gone"),
        &["resume=gone: cannot read the state"],
    );
    std::fs::rename(desk.path("state"), desk.path("kept")).unwrap();
    tried(&go, &["cannot read the state", "state.1 is the state before it"]);
    let state = std::fs::read(desk.path("kept")).unwrap();
    let mut bad = state.clone();
    bad[state.len() / 2] ^= 4;
    desk.put("state", &bad);
    tried(
        &go,
        &["resume=state: the state is damaged", "use the previous one"],
    );
    desk.put("state", &state[..state.len() - 100]);
    tried(&go, &["resume=state: the state ends after"]);
    tried(
        &go.replace("resume=state", "resume=ccc.rsf"),
        &["is not a saved state"],
    );
}

/// States of another program, and of a run that has reached its end, are refused.
#[test]
fn states_of_other_programs_and_of_runs_that_ended_are_refused() {
    let desk = shot::desk(2);
    let line = format!("{} snap=y jsnap=6 wfl=w.rsf", shot::line(2));
    desk.ran(&format!("{line} checkpoint=kept every=10 < wav.rsf > d.rsf"));
    let other = velocity_stress::desk(2);
    std::fs::copy(desk.path("kept"), other.path("state")).unwrap();
    let run = other.sh(&format!("{} resume=state > d.rsf", velocity_stress::line(2)));
    refused(
        &run,
        &["the state was saved by sfewefd2d-gpu, but this program is sfvsfd2d-gpu"],
    );
    let line = velocity_stress::line(2);
    let run = other.sh(&format!("{line} checkpoint=s every=50 > d.rsf"));
    assert_eq!(run.code, 0, "{run:?}");
    let run = other.sh(&format!("{} resume=s > d.rsf", line.replace("nt=60", "nt=50")));
    refused(
        &run,
        &["saved after step 50, but the run has 50 steps: there is nothing left to do"],
    );
    let longer = line.replace("nt=60", "nt=90");
    assert_eq!(other.sh(&format!("{longer} resume=s > d.rsf")).code, 0);
    assert_eq!(other.sh(&format!("{longer} > e.rsf")).code, 0);
    assert!(other.read("d.rsf") == other.read("e.rsf"));
}

#[test]
fn records_that_are_gone_are_missed() {
    let desk = shot::desk(2);
    let line = shot::line(2);
    let run = desk.sh(&format!("{line} checkpoint=state every=10 < wav.rsf > d.rsf"));
    assert_eq!(run.code, 0, "{run:?}");
    let bytes = std::fs::read(desk.path("d.rsf@")).unwrap();
    let go = |name: &str| desk.sh(&format!("{line} resume=state < wav.rsf > {name}"));
    let mut other = bytes.clone();
    other[8 * 30] ^= 1;
    desk.put("d.rsf@", &other);
    refused(
        &go("d.rsf"),
        &["d.rsf@ does not hold what the interrupted run had written"],
    );
    desk.put("d.rsf@", &bytes[..400]);
    refused(&go("e.rsf"), &["has 400 bytes, but the state requires 480"]);
    std::fs::remove_file(desk.path("d.rsf@")).unwrap();
    refused(
        &go("e.rsf"),
        &["cannot read data file", "which the interrupted run has written"],
    );
    let run = desk.sh(&format!(
        "{line} checkpoint=state every=10 < wav.rsf | cat > d.rsf"
    ));
    assert_eq!(run.code, 0, "{run:?}");
    refused(&go("d.rsf"), &["went into a pipe and cannot be written again"]);
}

#[test]
fn words_about_states_are_checked() {
    let desk = shot::desk(2);
    let tried = |words: &str| desk.sh(&format!("{} {words} < wav.rsf > d.rsf", shot::line(2)));
    refused(&tried("checkpoint=s every=10m"), &["every=10m: ", "every=10min"]);
    refused(&tried("checkpoint=s every=0"), &["every=0: "]);
    refused(&tried("checkpoint="), &["checkpoint= is empty"]);
    refused(
        &tried("checkpoint=den.rsf"),
        &["checkpoint=den.rsf: this file exists already but is not a state"],
    );
    refused(
        &tried("checkpoint=no/where"),
        &["checkpoint=no/where: cannot write no/where.new"],
    );
    let idle = tried("every=10");
    assert!(
        idle.code == 0 && idle.err.contains("every= has no effect without checkpoint="),
        "{idle:?}"
    );
    // Runs without states, and runs that end before the first state, leave no files of states.
    assert_eq!(tried("checkpoint=s every=1h").code, 0);
    assert!(
        shot::names(&desk)
            .iter()
            .all(|name| !name.starts_with('s') || name == "sou.rsf")
    );
}
