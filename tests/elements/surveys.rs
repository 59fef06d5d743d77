//! Surveys of gradients and linearised runs on meshes: their results are the sums over the shots, and they continue
//! from saved states with the same bits as in one run.

use crate::desk::Desk;
use crate::largest::{magnitude, relative_difference};

const SHOTS: usize = 5;

const RUN: &str =
    "mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=260 dt=0.0015 src=force fz=1e9 fx=4e8 stf=ricker freq=7";

/// Two layers with five shots, data of other rocks and a perturbation of both regions.
fn desk() -> Desk {
    let desk = Desk::new();
    for (name, rocks) in [
        ("truth.rsf", "vp=3040,2700 vs=1650,1460"),
        ("box.rsf", "vp=2900,2600 vs=1700,1500"),
        ("other.rsf", "vp=2900,2601 vs=1700,1500"),
    ] {
        desk.ran(&format!(
            "sfhexmesh surfaces=500,220,0 layers=3,2 nx=7 xmin=0 xmax=700 rho=2300,2100 {rocks} judge=n > {name}"
        ));
    }
    let sources: Vec<f32> = (0..SHOTS).flat_map(|k| [110.0 + 97.0 * k as f32, 60.0]).collect();
    desk.dataset("sou.rsf", &format!("n1=2 n2=1 n3={SHOTS}"), &sources);
    desk.dataset("rec.rsf", "n1=2 n2=3", &[100.0, 5.0, 290.0, 20.0, 430.0, 150.0]);
    desk.dataset("change.rsf", "n1=2 n2=3", &[20.0, -13.0, 9.0, 7.0, -11.0, 5.0]);
    let truth = RUN.replace("box.rsf", "truth.rsf");
    desk.ran(&format!("sfsem2d-gpu {truth} device=cpu > data.rsf"));
    desk
}

/// The programs, their inputs, and the files that they write in addition to their output.
const WAYS: [(&str, &str, &[&str]); 3] = [
    (
        "sfsemgrad2d-gpu misfit=m.rsf sougrad=sg.rsf stfgrad=tg.rsf",
        "data.rsf",
        &["m.rsf", "sg.rsf", "tg.rsf"],
    ),
    ("sfsemborn2d-gpu adj=y", "data.rsf", &[]),
    ("sfsemborn2d-gpu adj=n", "change.rsf", &[]),
];

fn bits(desk: &Desk, beside: &[&str]) -> Vec<Vec<u32>> {
    let bits = |file: &&str| desk.read(file).into_iter().map(f32::to_bits).collect();
    ["out.rsf"].iter().chain(beside).map(bits).collect()
}

#[test]
fn a_survey_goes_on_behind_its_states() {
    let desk = desk();
    for (program, input, beside) in WAYS {
        let run = |more: &str| {
            desk.ran(&format!("{program} < {input} {RUN} {more} > out.rsf"))
                .err
        };
        run("");
        let expected = bits(&desk, beside);
        for file in &expected {
            assert!(
                magnitude(file.iter().map(|&x| f32::from_bits(x))) > 0.0,
                "{program}"
            );
        }
        let messages = run("checkpoint=state every=2 verb=y memory=0.02");
        assert!(messages.contains("shot 5 of 5: "), "{program}: {messages}");
        assert!(bits(&desk, beside) == expected, "{program}");
        for (state, done) in [("state.1", 2), ("state", 4)] {
            let messages = run(&format!("resume={state} threads=1"));
            let sentence = format!("resume={state}: continues after {done} shots of 5");
            assert!(messages.contains(&sentence), "{program}: {messages}");
            assert!(bits(&desk, beside) == expected, "{program}: {state}");
        }
    }
}

#[test]
fn states_of_other_surveys_are_refused() {
    let desk = desk();
    let line = |more: &str| format!("sfsemgrad2d-gpu {more} > out.rsf");
    desk.ran(&line(&format!("< data.rsf {RUN} checkpoint=state")));
    let mut data = desk.read("data.rsf");
    data[9] += 1.0;
    desk.dataset(
        "loud.rsf",
        &format!("n1=3 n2=2 n3=260 d3=0.0015 n4={SHOTS}"),
        &data,
    );
    let other = RUN.replace("box.rsf", "other.rsf");
    let moved = RUN.replace("freq=7", "freq=8");
    for (input, words, expected) in [
        (
            "loud.rsf",
            RUN,
            "the state belongs to other data: the first 4 shots of",
        ),
        ("data.rsf", &other, "the mesh, model=, materials="),
        ("data.rsf", &moved, "freq= is 7 in the state and 8 here"),
        (
            "data.rsf",
            &format!("{RUN} wrt=lambda,mu,rho"),
            "wrt= is vp,vs,rho in the state and lambda,mu,rho here",
        ),
        ("data.rsf", &format!("{RUN} sougrad=sg.rsf"), "resume=state"),
    ] {
        let ended = desk.sh(&line(&format!("< {input} {words} resume=state")));
        assert!(
            ended.code == 1 && ended.err.contains(expected),
            "{words}: {ended:?}"
        );
    }
}

/// There is a warning for a shot whose data are zero, even in a run that continues from a state that includes it.
#[test]
fn silent_shots_of_a_state_are_warned_of() {
    let desk = desk();
    let mut data = desk.read("data.rsf");
    let shot = data.len() / SHOTS;
    data[shot..2 * shot].fill(0.0);
    desk.dataset(
        "data.rsf",
        &format!("n1=3 n2=2 n3=260 d3=0.0015 n4={SHOTS}"),
        &data,
    );
    for more in ["checkpoint=state", "resume=state"] {
        let text = desk
            .ran(&format!("sfsemgrad2d-gpu < data.rsf {RUN} {more} > out.rsf"))
            .err;
        assert!(text.contains("the data of shot 2 are"), "{more}: {text}");
    }
}

/// The gradient of all shots is compared with the sum of the gradients of single shots, which are separate runs.
#[test]
fn the_sum_is_that_of_its_shots() {
    let desk = desk();
    for (program, words) in [
        ("sfsemgrad2d-gpu", "kind=correlation"),
        ("sfsemborn2d-gpu", "adj=y"),
    ] {
        let of = |more: &str| {
            desk.ran(&format!("{program} {words} < data.rsf {RUN} {more} > out.rsf"));
            desk.read("out.rsf")
        };
        let whole = of("");
        let mut sum = vec![0.0f64; whole.len()];
        for shot in 1..=SHOTS {
            let own = of(&format!("shots={shot}"));
            sum.iter_mut().zip(own).for_each(|(sum, x)| *sum += f64::from(x));
        }
        // The planes of vp, vs and rho have different units.
        for (whole, sum) in whole.chunks(2).zip(sum.chunks(2)) {
            let apart = relative_difference(whole, sum);
            println!("{program}: {apart:e} of the sum of five runs");
            assert!(apart < 1e-6);
        }
    }
}
