//! Messages of a survey about the shots that it takes over from an earlier run, and about the shots that it does not
//! take over.

use crate::desk::{Desk, Outcome};
use crate::shots::magnitude;
use crate::survey::{desk, with};

fn line(extra: &str) -> String {
    with(2, "sous.rsf", "recs.rsf", extra)
}

/// A run that takes over shots from data and writes again.rsf.
fn goes_on(desk: &Desk, extra: &str) -> Outcome {
    desk.sh(&format!("{} > again.rsf", line(extra)))
}

/// A name may contain commas if a file of that name exists; otherwise commas separate names.
#[test]
fn names_of_finished_data_may_hold_commas() {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", line("")));
    desk.ran("sfbasics window n4=2 squeeze=n < data.rsf > two,shots.rsf");
    let run = goes_on(&desk, "finished=two,shots.rsf");
    assert!(
        run.code == 0 && run.err.contains("2 shots of 3 taken over from finished="),
        "{run:?}"
    );
    assert!(desk.read("again.rsf") == desk.read("data.rsf"));
    let run = goes_on(&desk, "finished=two,four.rsf");
    assert!(run.code == 1 && run.err.contains("finished=two:"), "{run:?}");
}

/// Data that another program has changed no longer belong to the run, but `sfwindow` keeps the values of its shots.
#[test]
fn data_that_were_changed_are_not_taken_over() {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", line("")));
    desk.ran("sfbasics window n4=1 squeeze=n < data.rsf > part.rsf; sfbasics scale dscale=2 < part.rsf | sfbasics window squeeze=n > loud.rsf");
    let run = goes_on(&desk, "finished=part.rsf");
    assert!(
        run.code == 0 && run.err.contains("1 shot of 3 taken over"),
        "{run:?}"
    );
    let run = goes_on(&desk, "finished=loud.rsf");
    let expected =
        "loud.rsf was changed by sfscale after its run, but finished= takes records as the run wrote them";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
}

/// Three of several differences are listed: first differences in this run's parameters, in order, then parameters that
/// it lacks.
#[test]
fn three_differences_of_parameters_are_listed() {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", line("free=y")));
    let run = goes_on(&desk, "finished=data.rsf order=2 m0=2e12 mxx=3 myy=2 mzz=2");
    let last = run.err.lines().last().unwrap_or_default();
    let differences = last.matches(" in it and ").count() + last.matches(" here and ").count();
    assert!(
        run.code == 1 && last.contains("comes from a run with other parameters: ") && differences == 3,
        "{run:?}"
    );
    // There is one difference: a parameter that this run lacks.
    let run = goes_on(&desk, "finished=data.rsf");
    let expected = "other parameters: free= is y in it and not given here; finished= takes the data";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
}

/// Data with corrected time are not taken over by a run without it, nor the other way round.
#[test]
fn data_of_another_clock_are_not_taken_over() {
    let desk = desk(2);
    for (earlier, own) in [("n", "y"), ("y", "n")] {
        desk.ran(&format!("{} > data.rsf", line(&format!("tdc={earlier}"))));
        let run = goes_on(&desk, &format!("finished=data.rsf tdc={own}"));
        let expected =
            format!("comes from a run with tdc={earlier}, but this one has tdc={own}: finished= takes");
        assert!(run.code == 1 && run.err.contains(&expected), "{run:?}");
        let run = goes_on(&desk, &format!("finished=data.rsf tdc={earlier}"));
        assert!(run.err.contains("3 shots of 3 taken over"), "{run:?}");
    }
}

/// Messages number shots as the survey does, even if a run computes only some of them.
#[test]
fn shots_are_named_by_their_numbers_in_the_survey() {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", line("")));
    let mut places = desk.read("sous.rsf");
    places[4] += 0.5;
    desk.dataset("moved.rsf", "n1=2 n2=1 n3=3 o3=100 d3=20", &places);
    let run = |extra: &str| {
        desk.sh(&format!(
            "{} > again.rsf",
            with(2, "moved.rsf", "recs.rsf", extra)
        ))
    };
    for words in ["", "shots=2-3", "shots=3,1"] {
        let run = run(&format!("finished=data.rsf {words}"));
        assert!(
            run.code == 1 && run.err.contains("with other inputs (the points of shot 3): "),
            "{words}: {run:?}"
        );
    }
    let later = run("finished=data.rsf shots=1-2");
    assert!(
        later.code == 0 && later.err.contains("2 shots of 2 taken over"),
        "{later:?}"
    );
    // This list has shots that the survey lacks.
    desk.ran("sfbasics put shots=1-3,9 < data.rsf > more.rsf");
    let later = goes_on(&desk, "finished=more.rsf");
    let expected = "the header of finished=more.rsf: shots=1-3,9: there is no shot 9: there are 3 shots";
    assert!(later.code == 1 && later.err.contains(expected), "{later:?}");
    let text = run("finished=data.rsf shots=1-2 verb=y").err;
    assert!(!text.contains("shot 1 of 3: "), "nothing was made: {text}");
    let text = run("shots=2-3 verb=y").err;
    for (words, times) in [("shot 1 of ", 0), ("shot 2 of 3: ", 1), ("shot 3 of 3: ", 1)] {
        assert_eq!(text.matches(words).count(), times, "{words}: {text}");
    }
}

/// With a step far above the limit every shot fails; the last message lists them by number, and the data are zero.
#[test]
fn several_shots_that_fail_are_listed() {
    let desk = desk(2);
    // Waves run at 3000 m/s on a grid of 10 m, so the step is ten times the limit.
    let wild = |extra: &str| {
        let line = line(&format!("cfl=warn jcheck=1 {extra}")).replace("dt=0.001", "dt=0.03");
        desk.sh(&format!("{line} > data.rsf"))
    };
    for (words, expected) in [
        ("", "3 shots of 3 failed; the traces of them are zero: 1, 2, 3"),
        (
            "shots=2-3",
            "2 shots of 2 failed; the traces of them are zero: 2, 3",
        ),
        (
            "shots=1,3 groups=2",
            "2 shots of 2 failed; the traces of them are zero: 1, 3",
        ),
    ] {
        let run = wild(words);
        let last = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && last.ends_with(expected), "{words}: {run:?}");
        assert!(desk.read_as_it_is("data.rsf").iter().all(|x| *x == 0.0));
    }
}

/// There is a warning about zeros if all shots are zero, but not if some were finished in an earlier run.
#[test]
fn shots_of_zeros_beside_finished_ones_are_no_matter() {
    let desk = desk(2);
    // No wave reaches the receivers in two steps.
    desk.dataset("far.rsf", "n1=2 n2=1", &[5.0, 225.0]);
    let silent = |extra: &str| with(2, "sous.rsf", "far.rsf", extra).replace("nt=60", "nt=2");
    let expected = "all data are zero";
    let run = desk.ran(&format!("{} > data.rsf", silent("")));
    assert_eq!(run.err.matches(expected).count(), 1, "{run:?}");
    let mut numbers = desk.read_as_it_is("data.rsf");
    let shot = numbers.len() / 3;
    assert!(shot > 0 && numbers.iter().all(|x| *x == 0.0));
    // The second shot of the earlier run is not zero.
    numbers[shot] = 1.0;
    desk.dataset(
        "heard.rsf",
        "n1=1 n2=2 n3=2 o3=0.0005 d3=0.001 n4=3 o4=100 d4=20",
        &numbers,
    );
    let run = desk.ran(&format!("{} > again.rsf", silent("finished=heard.rsf")));
    assert!(run.err.contains("1 shot of 3 taken over"), "{run:?}");
    assert!(!run.err.contains(expected), "{run:?}");
    assert!(desk.read("again.rsf") == numbers);
}

/// The warning of growing records includes shots that are taken over, with the largest of their factors.
#[test]
fn shots_that_are_taken_over_are_looked_at() {
    let desk = desk(2);
    let steps = 400;
    let long = |extra: &str| line(extra).replace("nt=60", &format!("nt={steps}"));
    desk.ran(&format!("{} > data.rsf", long("")));
    let mut numbers = desk.read("data.rsf");
    let largest = magnitude(&numbers);
    let record = 3 * 2;
    // After the waves, the first trace of the first two shots is unchanged, or doubles every 20 steps, or every 15.
    for (shot, steps_of_two) in [(0, 20.0), (1, 15.0)] {
        for it in 80usize..steps {
            let grown = (it.saturating_sub(110) as f32 / steps_of_two).exp2();
            for (k, x) in numbers[(shot * steps + it) * record..][..record]
                .iter_mut()
                .enumerate()
            {
                *x = if k == 0 { 0.01 * largest * grown } else { 0.0 };
            }
        }
    }
    let header = std::fs::read_to_string(desk.path("data.rsf")).unwrap();
    desk.put("grown.rsf", header.replace("data.rsf@", "grown.rsf@"));
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    desk.put("grown.rsf@", bytes);
    let run = desk.ran(&format!("{} > again.rsf", long("finished=grown.rsf")));
    let expected = "the records of 2 shots (1, 2) grow by a factor of ";
    let (_, rest) = run.err.split_once(expected).unwrap_or_else(|| panic!("{run:?}"));
    let factor: f32 = rest.split(' ').next().unwrap_or_default().parse().unwrap();
    // The warning has two digits.
    let expected = ((steps - 1 - 110) as f32 / 15.0).exp2();
    assert!((factor / expected - 1.0).abs() < 0.051, "{factor} {expected}");
    let run = desk.ran(&format!("{} > again.rsf", long("finished=grown.rsf shots=2-3")));
    assert!(run.err.contains("the records of 1 shot (2) grow by"), "{run:?}");
    let run = desk.ran(&format!("{} > again.rsf", long("finished=data.rsf")));
    assert!(!run.err.contains("grow by"), "{run:?}");
}
