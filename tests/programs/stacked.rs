//! Surveys of the linearised programs that are killed at any moment and continue from their last state give the same
//! bits as one run. States that do not fit are refused with a message.
//!
//! `KILLS=30 cargo test --release -p programs --test programs stacked::` kills every program 30 times; `KILL_SEED=n`
//! repeats moments.

use std::os::unix::process::ExitStatusExt;
use std::thread::sleep;
use std::time::Instant;

use crate::desk::Desk;
use crate::kill::{Dice, number, start};
use crate::velocity_stress::{desk as model, line};

/// The number of shots of the survey in 2-D.
const SHOTS: usize = 6;
/// The number of shots in 3-D, where they take longer: enough for groups of three.
const SHOTS_3D: usize = 4;
/// Number of kills of each program in the usual tests, and in the long tests.
const KILLS: [usize; 2] = [1, 3];
/// Steps of a shot in 3-D: a few more than fit into the smaller of the two memories.
const STEPS_3D: usize = 30;
/// Kills of one run before it may reach its end.
const LIVES: usize = 2;

/// The parameters of a survey of `steps` steps.
fn words(ndim: usize, steps: usize) -> String {
    let line = line(ndim)
        .replace("sou=sou.rsf", "sou=sous.rsf")
        .replace("nt=60", &format!("nt={steps}"));
    let (_, words) = line.split_once(' ').unwrap();
    format!("{words} device=cpu")
}

/// A desk with a survey, its data, a perturbation, and a model that is too slow.
fn desk(ndim: usize, steps: usize) -> Desk {
    let desk = model(ndim);
    let at = |shot: usize| {
        let x = 90.0 + 15.0 * shot as f32;
        match ndim {
            3 => vec![x, 110.0, 60.0],
            _ => vec![x, 60.0],
        }
    };
    let shots = if ndim == 3 { SHOTS_3D } else { SHOTS };
    let sources: Vec<f32> = (0..shots).flat_map(at).collect();
    desk.dataset("sous.rsf", &format!("n1={ndim} n2=1 n3={shots}"), &sources);
    desk.ran(&format!("sfvsfd{ndim}d-gpu {} > data.rsf", words(ndim, steps)));
    let header = |desk: &Desk| -> String {
        let axes = desk.axes("vp.rsf", ndim);
        (1..=ndim)
            .map(|i| format!("n{i}={} d{i}=10 ", axes[i - 1].n))
            .collect()
    };
    let slow: Vec<f32> = desk.read("vp.rsf").iter().map(|x| 0.96 * x).collect();
    let change: Vec<f32> = (0..3 * slow.len()).map(|k| (k * 7919 % 100) as f32).collect();
    let grid = header(&desk);
    desk.dataset("dm.rsf", &format!("{grid} n{}=3", ndim + 1), &change);
    desk.dataset("vp.rsf", &grid, &slow);
    desk
}

/// The four kinds of runs through a survey, and the files that they write in addition to their output.
fn ways(ndim: usize) -> [(String, &'static str, Vec<&'static str>); 4] {
    [
        (
            format!("sfvsgrad{ndim}d-gpu kind=envelope wavelet=estimate misfit=misfit.rsf source=source.rsf"),
            "data.rsf",
            vec!["misfit.rsf", "source.rsf"],
        ),
        (
            format!("sfvsrtm{ndim}d-gpu image=pp,ps nhx=1 illum=light.rsf"),
            "data.rsf",
            vec!["light.rsf"],
        ),
        (format!("sfvsborn{ndim}d-gpu adj=y"), "data.rsf", vec![]),
        (format!("sfvsborn{ndim}d-gpu adj=n"), "dm.rsf", vec![]),
    ]
}

fn bits(desk: &Desk, beside: &[&str]) -> Vec<Vec<u32>> {
    let files = ["out.rsf"].iter().chain(beside);
    let bits = |file: &&str| desk.read(file).iter().map(|x| x.to_bits()).collect();
    files.map(bits).collect()
}

/// Kills a survey repeatedly, and lets it continue with other numbers of threads and other amounts of memory.
fn killed((salt, kills): (u64, usize), desk: &Desk, line: &str, (input, beside): (&str, &[&str])) {
    let begun = Instant::now();
    desk.ran(&format!("{line} < {input} > out.rsf"));
    let span = begun.elapsed();
    let expected = bits(desk, beside);
    assert!(expected.iter().all(|file| file.iter().any(|&x| x != 0)), "{line}");
    let most = number("KILLS").map_or(kills, |n| n as usize);
    for mut dice in Dice::all(salt) {
        let seed = dice.seed;
        let (mut kills, mut resumed) = (0, 0);
        while kills < most {
            for name in ["out.rsf", "out.rsf@", "state", "state.1", "state.new"] {
                let _ = std::fs::remove_file(desk.path(name));
            }
            let mut lives = LIVES;
            loop {
                let resume = match desk.path("state").exists() {
                    true => "resume=state",
                    false => "",
                };
                let (threads, every) = (dice.below(3) + 1, dice.below(2) + 1);
                let memory = ["memory=1", "memory=0.05"][dice.below(2) as usize];
                let groups = dice.below(3) + 1;
                let words = format!(
                    "checkpoint=state every={every} {resume} threads={threads} groups={groups} {memory}"
                );
                let mut child = start(desk, &format!("{line} {words} < {input} > out.rsf"), false);
                if lives > 0 {
                    sleep(span.mul_f64(0.05 + dice.below(1000) as f64 / 900.0));
                    if child.try_wait().unwrap().is_none() {
                        child.kill().unwrap();
                    }
                }
                let ended = child.wait_with_output().unwrap();
                let messages = String::from_utf8_lossy(&ended.stderr);
                resumed += usize::from(messages.contains("continues after"));
                if let Some(code) = ended.status.code() {
                    assert_eq!(code, 0, "KILL_SEED={seed} {line}: {messages}");
                    assert!(
                        resume.is_empty() || messages.contains("continues after"),
                        "{messages}"
                    );
                    break;
                }
                assert_eq!(ended.status.signal(), Some(9), "{messages}");
                (lives, kills) = (lives - 1, kills + 1);
            }
            assert!(
                bits(desk, beside) == expected,
                "KILL_SEED={seed} {line}: the bits differ"
            );
        }
        println!("KILL_SEED={seed} {line}: {kills} kills, {resumed} resumed");
    }
}

fn all_killed(ndim: usize, steps: usize, kills: usize) {
    let desk = desk(ndim, steps).in_memory();
    for (salt, (program, input, beside)) in ways(ndim).into_iter().enumerate() {
        let line = program.replacen(' ', &format!(" {} ", words(ndim, steps)), 1);
        let dice = ((10 * ndim + salt) as u64, kills);
        killed(dice, &desk, &line, (input, &beside));
    }
}

#[test]
fn killed_surveys_go_on_in_2d() {
    all_killed(2, 300, KILLS[0]);
}

#[test]
fn killed_surveys_go_on_in_3d() {
    all_killed(3, STEPS_3D, KILLS[0]);
}

#[test]
#[ignore = "long: ./sconsw test full=y"]
fn surveys_that_are_killed_often_go_on() {
    all_killed(2, 300, KILLS[1]);
    all_killed(3, STEPS_3D, KILLS[1]);
}

/// Groups do not change any bit, nor does a state in between, nor an input that can only be read in order.
#[test]
fn groups_make_the_same_sums() {
    let desk = desk(2, 60);
    let axes = [1, 2, 3, 4].map(|i| desk.open("data.rsf").axis(i));
    let header: String = axes
        .iter()
        .enumerate()
        .map(|(i, axis)| format!("n{k}={} o{k}={} d{k}={} ", axis.n, axis.o, axis.d, k = i + 1))
        .collect();
    let data = desk.read("data.rsf");
    desk.dataset("inline.rsf", &header, &data);
    for (program, input, beside) in ways(2) {
        let line = program.replacen(' ', &format!(" {} ", words(2, 60)), 1);
        desk.ran(&format!("{line} < {input} > out.rsf"));
        let expected = bits(&desk, &beside);
        for extra in [
            "groups=2",
            "groups=4 threads=1 memory=0.003",
            "groups=9 keep=steps",
            "groups=3 checkpoint=state every=2",
            "groups=2 resume=state",
        ] {
            let run = desk.ran(&format!("{line} {extra} < {input} > out.rsf"));
            assert!(bits(&desk, &beside) == expected, "{line} {extra}");
            let warned = run.err.contains("the remaining groups are idle");
            assert_eq!(warned, extra.contains("groups=9"), "{extra}: {run:?}");
        }
        if input == "data.rsf" {
            // Single shots are read in order, shots of groups at their positions.
            for extra in ["groups=1", "groups=3"] {
                desk.ran(&format!("cat inline.rsf | {line} {extra} > out.rsf"));
                assert!(bits(&desk, &beside) == expected, "{line} {extra}: from a pipe");
            }
        }
    }
    let line = format!("sfvsgrad2d-gpu {}", words(2, 60));
    let run = desk.ran(&format!("{line} keep=boundary groups=3 < data.rsf > out.rsf"));
    assert_eq!(run.err.matches("boundary saving").count(), 1, "{run:?}");
    let run = desk.ran(&format!("sfvsborn2d-gpu {} plan=y groups=4", words(2, 60)));
    let sentence = format!("there are {SHOTS}, 4 at a time, which takes about ");
    assert!(run.err.contains(&sentence), "{run:?}");
    let run = desk.sh(&format!("{line} groups=0 < data.rsf > out.rsf"));
    assert!(run.code == 1 && run.err.contains("groups="), "{run:?}");
    let mut bad = data;
    bad[3 * data_of_a_shot(&axes) + 1] = f32::NAN;
    desk.dataset("inline.rsf", &header, &bad);
    let run = desk.sh(&format!("{line} groups=2 < inline.rsf > out.rsf"));
    let sentence = format!("value {} is NaN", 3 * data_of_a_shot(&axes) + 2);
    assert!(
        run.code == 1 && run.err.contains("shot 4: ") && run.err.contains(&sentence),
        "{run:?}"
    );
}

fn data_of_a_shot(axes: &[rsf_io::Axis; 4]) -> usize {
    axes[..3].iter().map(|axis| axis.n).product()
}

/// Writes states that were damaged after they were saved, and another model, other data, other sources and receivers.
fn misfits(desk: &Desk, state: &[u8]) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(desk.path(name), bytes).unwrap();
    let mut damaged = state.to_vec();
    damaged[state.len() / 2] ^= 4;
    write("damaged", &damaged);
    write("cut", &state[..state.len() - 9]);
    write("other", b"n1=5 n2=7 and nothing that a state begins with");
    let mut data = desk.read("data.rsf");
    data[7] += 1.0;
    let header = format!("n1=3 n2=2 n3=60 o3=0.0005 d3=0.001 n4={SHOTS}");
    desk.dataset("loud.rsf", &header, &data);
    let mut vs = desk.read("vs.rsf");
    vs[100] += 1.0;
    desk.dataset("vs2.rsf", "n1=24 n2=26 d1=10 d2=10", &vs);
    let mut sources = desk.read("sous.rsf");
    sources[11] += 5.0;
    desk.dataset("sous2.rsf", &format!("n1=2 n2=1 n3={SHOTS}"), &sources);
    let mut receivers = desk.read("rec.rsf");
    receivers[1] += 3.0;
    desk.dataset("rec2.rsf", "n1=2 n2=3 o2=5 d2=2", &receivers);
}

/// A pipe does not keep its data, so a linearised survey into a pipe cannot be resumed, and a warning says so.
#[test]
fn a_survey_into_a_pipe_cannot_be_resumed() {
    let desk = desk(2, 60);
    let line = format!("sfvsborn2d-gpu {} checkpoint=state < dm.rsf", words(2, 60));
    for (target, warns) in [("| cat > out.rsf", true), ("> out.rsf", false)] {
        let run = desk.sh(&format!("{line} {target}"));
        let warned = run.err.contains(
            "standard output is a pipe, whose data are not kept: this survey can be saved but not resumed",
        );
        assert!(run.code == 0 && warned == warns, "{target}: {run:?}");
    }
}

/// A run continues from the state after the second-to-last shot, and is refused if that state does not fit.
#[test]
fn states_that_do_not_fit_are_refused() {
    let desk = desk(2, 60);
    let words = words(2, 60);
    let line = |extra: &str| format!("sfvsgrad2d-gpu {words} {extra} > out.rsf");
    desk.ran(&line("checkpoint=state < data.rsf"));
    let whole = bits(&desk, &[]);
    let messages = desk
        .ran(&line("resume=state threads=1 memory=0.003 < data.rsf"))
        .err;
    assert!(
        messages.contains(&format!("resume=state: continues after 5 shots of {SHOTS}")),
        "{messages}"
    );
    assert!(bits(&desk, &[]) == whole);
    let messages = desk.ran(&line("resume=state.1 < data.rsf")).err;
    assert!(messages.contains("continues after 4 shots"), "{messages}");
    assert!(bits(&desk, &[]) == whole);
    let state = std::fs::read(desk.path("state")).unwrap();
    misfits(&desk, &state);
    for (extra, expected) in [
        ("resume=damaged < data.rsf", "the state is damaged"),
        ("resume=cut < data.rsf", "the state ends after"),
        ("resume=other < data.rsf", "is not a saved state"),
        ("resume=gone < data.rsf", "cannot read the state"),
        (
            "resume=state < loud.rsf",
            "the state belongs to other data: the first 5 shots of",
        ),
        (
            "resume=state vs=vs2.rsf < data.rsf",
            "the state belongs to another model",
        ),
        (
            "resume=state sou=sous2.rsf < data.rsf",
            "sou= and rec= of all shots has changed since the state was saved",
        ),
        (
            "resume=state rec=rec2.rsf < data.rsf",
            "sou= and rec= of all shots has changed since the state was saved",
        ),
        (
            "resume=state tau=0.009 < data.rsf",
            "tau= is 0.008 in the state and 0.009 here",
        ),
        (
            "resume=state kind=envelope < data.rsf",
            "kind= is squares in the state and envelope here",
        ),
        (
            "resume=state order=8 < data.rsf",
            "order= is 4 in the state and 8 here",
        ),
        (
            "checkpoint=data.rsf < data.rsf",
            "exists already but is not a state",
        ),
        (
            "checkpoint=new every=0 < data.rsf",
            "every=0: give a number of shots",
        ),
    ] {
        let run = desk.sh(&line(extra));
        let sentences: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
        // The device is reported before the data are compared.
        let last = sentences.last().copied().unwrap_or_default();
        assert!(run.code == 1 && last.contains(expected), "{extra}: {run:?}");
    }
    let line = format!("sfvsrtm2d-gpu {words} resume=state < data.rsf > out.rsf");
    let run = desk.sh(&line);
    assert!(
        run.code == 1
            && run
                .err
                .contains("the state was saved by sfvsgrad2d-gpu, but this program is sfvsrtm2d-gpu"),
        "{run:?}"
    );
    assert!(std::fs::read(desk.path("state")).unwrap() == state);
}
