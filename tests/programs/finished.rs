//! Surveys with several quantities that continue from the shots of an earlier run.

use crate::desk::Desk;
use crate::survey::{desk, with};

/// Files of an earlier run are recognised by the quantity that their headers name; the result has the same bits as that
/// of a single run.
#[test]
fn further_quantities_are_taken_over() {
    let desk = desk(2);
    let extra = "data=displacement pressure=p.rsf das=d.rsf along=along.rsf gauge=20 dtout=0.002";
    desk.dataset("along.rsf", "n1=2 n2=1", &[1.0, 1.0]);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > data.rsf", line(extra)));
    let files = ["data.rsf", "p.rsf", "d.rsf"];
    let whole = files.map(|file| desk.read(file));
    assert!(whole.iter().flatten().any(|&x| x != 0.0));
    // The files come from a run that was stopped while it wrote the third shot, and from a run whose second shot has
    // failed.
    desk.ran("for f in data p d; do sfbasics window n4=2 squeeze=n < $f.rsf > $f-short.rsf || exit 1; done");
    desk.ran("for f in data p d; do sfbasics cut f4=1 n4=1 < $f.rsf > $f-hole.rsf || exit 1; done");
    let again = extra.replace("p.rsf", "p2.rsf").replace("d.rsf", "d2.rsf");
    let data_of = |desk: &crate::desk::Desk| ["data2.rsf", "p2.rsf", "d2.rsf"].map(|file| desk.read(file));
    for (finished, taken, groups) in [
        ("data.rsf,p.rsf,d.rsf", "3 shots of 3", 1),
        ("data.rsf,d.rsf,p.rsf", "3 shots of 3", 2),
        ("data-short.rsf,p.rsf,d.rsf", "2 shots of 3", 1),
        ("data.rsf,p.rsf,d-short.rsf", "2 shots of 3", 2),
        ("data-hole.rsf,d-hole.rsf,p-hole.rsf", "2 shots of 3", 1),
        // A shot that is zero in only one of the files has not failed.
        ("data-hole.rsf,d.rsf,p.rsf", "3 shots of 3", 1),
    ] {
        let words = line(&format!("{again} finished={finished} groups={groups}"));
        let run = desk.ran(&format!("{words} > data2.rsf"));
        let expected = format!("{taken} taken over from finished=");
        assert!(run.err.contains(&expected), "{finished}: {run:?}");
        if finished == "data-hole.rsf,d.rsf,p.rsf" {
            assert!(data_of(&desk)[0] != whole[0] && data_of(&desk)[1..] == whole[1..]);
        } else {
            assert!(data_of(&desk) == whole, "{finished}");
        }
    }
    for (finished, expected) in [
        (
            "data.rsf",
            "names no file with the pressure in Pa of the earlier run, which pressure= requires",
        ),
        ("data.rsf,p.rsf", "strain along the fibre of the earlier run"),
        (
            "data.rsf,p.rsf,d.rsf,sous.rsf",
            "sous.rsf is not a file of this run, which writes displacement in m, ",
        ),
        ("p.rsf,p.rsf,d.rsf", "has n2=1 "),
        ("data.rsf,gone.rsf,d.rsf", "takes the data of an earlier run"),
        (
            "data2.rsf",
            "finished=data2.rsf is empty. Either the earlier run ended before its first shot was complete, and finished= must be left out; or the file is also the output of this run,",
        ),
    ] {
        let run = desk.sh(&format!(
            "{} > data2.rsf",
            line(&format!("{again} finished={finished}"))
        ));
        let last = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && last.contains(expected), "{finished}: {run:?}");
    }
}

/// A run of some shots is continued by a run of all shots or of other shots, and the other way round; the bits equal
/// those of one run.
#[test]
fn some_shots_go_on_with_others() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    for (name, words) in [("all", ""), ("ends", "shots=1,3"), ("second", "shots=2")] {
        desk.ran(&format!("{} > {name}.rsf", line(words)));
    }
    for (words, expected, taken) in [
        ("finished=ends.rsf", "all", "2 shots of 3"),
        ("finished=second.rsf", "all", "1 shot of 3"),
        ("shots=1,3 finished=all.rsf", "ends", "2 shots of 2"),
        ("shots=2,3 finished=ends.rsf", "", "1 shot of 2"),
    ] {
        let run = desk.ran(&format!("{} > again.rsf", line(words)));
        assert!(
            run.err.contains(&format!("{taken} taken over")),
            "{words}: {run:?}"
        );
        let again = desk.read("again.rsf");
        match expected {
            "" => assert!(again == desk.read("all.rsf")[again.len() / 2..]),
            _ => assert!(again == desk.read(&format!("{expected}.rsf")), "{words}"),
        }
    }
}

/// Data made with other parameters belong to another run; parameters of the machine do not matter.
#[test]
fn data_of_other_parameters_are_not_taken_over() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > data.rsf", line("")));
    for (words, expected) in [
        (
            "m0=2e12",
            "data.rsf comes from a run with other parameters: m0= is 1000000000000 in it and 2000000000000 here;",
        ),
        ("stf=brune", "stf= is brune here and not given in it"),
        ("order=2 mxx=3", "order= is 2 here and not given in it; "),
    ] {
        let run = desk.sh(&format!(
            "{} > again.rsf",
            line(&format!("finished=data.rsf {words}"))
        ));
        assert!(run.code == 1 && run.err.contains(expected), "{words}: {run:?}");
    }
    desk.ran(&format!("{} > shallow.rsf", line("free=y")));
    let run = desk.sh(&format!("{} > again.rsf", line("finished=shallow.rsf")));
    let expected = "shallow.rsf comes from a run with other parameters: free= is y in it and not given here;";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
    for words in ["threads=2 groups=2", "order=4 verb=y"] {
        let run = desk.ran(&format!(
            "{} > again.rsf",
            line(&format!("finished=data.rsf {words}"))
        ));
        assert!(run.err.contains("3 shots of 3 taken over"), "{words}: {run:?}");
    }
}

/// Adds a thousandth of itself and a millionth to a value of a file; returns the previous bytes of the file.
fn change(desk: &Desk, file: &str, at: usize) -> Vec<u8> {
    let path = desk.path(file);
    let before = std::fs::read(&path).unwrap();
    let mut bytes = before.clone();
    let first = bytes.len() - 4 * desk.read(file).len() + 4 * at;
    let number: [u8; 4] = bytes[first..first + 4].try_into().unwrap();
    let changed = f32::from_ne_bytes(number) * 1.001 + 1e-6;
    bytes[first..first + 4].copy_from_slice(&changed.to_ne_bytes());
    std::fs::write(path, bytes).unwrap();
    before
}

/// Shots with another model, other time functions or other points are not mixed with the shots of this run, even if the
/// files have the same names: `line` is the run; `changes` are a file, the index of a value in it, and a text in the
/// message.
pub fn other_inputs(desk: &Desk, line: &dyn Fn(&str) -> String, changes: &[(&str, usize, &str)]) {
    for (name, words) in [("data", ""), ("ends", "shots=1,3"), ("second", "shots=2")] {
        desk.ran(&format!("{} > {name}.rsf", line(words)));
    }
    let again = |finished: &str, extra: &str| {
        let words = line(&format!("finished={finished}.rsf {extra}"));
        desk.sh(&format!("{words} > again.rsf"))
    };
    let taken = |finished: &str, extra: &str| {
        let run = again(finished, extra);
        let warned = run.err.contains("does not say");
        assert!(
            run.code == 0 && run.err.contains("taken over") && !warned,
            "{finished} {extra}: {run:?}"
        );
    };
    for (finished, extra) in [
        ("data", "threads=2"),
        ("ends", ""),
        ("second", "groups=2"),
        ("data", "shots=2-3"),
        ("ends", "shots=2,3"),
    ] {
        taken(finished, extra);
    }
    for (file, at, changed) in changes {
        let before = change(desk, file, *at);
        for finished in ["data", "second"] {
            let run = again(finished, "");
            let expected = format!(
                "finished={finished}.rsf comes from a run with other inputs ({changed}): finished= takes the data of an earlier run of the survey; give the files of that run, or leave out finished=; to combine shots of both runs, remove these checksums from the header with sfput made_of="
            );
            assert!(run.code == 1 && run.err.contains(&expected), "{file}: {run:?}");
        }
        // Points of shots that the file does not contain may differ.
        if changed.contains("shot 2") {
            taken("ends", "");
        }
        desk.put(file, before);
    }
    // Files of earlier versions do not have this information.
    desk.ran("sfbasics put made_of= < data.rsf > old.rsf");
    let run = again("old", "");
    let expected = "has no checksums of its inputs: model, sources and receivers cannot be compared";
    assert!(run.code == 0 && run.err.contains(expected), "{run:?}");
}

#[test]
fn data_of_other_inputs_are_not_taken_over() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    other_inputs(
        &desk,
        &line,
        &[
            ("vs.rsf", 17, "the model"),
            ("den.rsf", 0, "the model"),
            ("sous.rsf", 2, "the points of shot 2"),
            ("recs.rsf", 6, "the points of shot 2"),
        ],
    );
}

/// The moments in files are among the inputs that are compared.
#[test]
fn data_of_other_moments_are_not_taken_over() {
    let desk = desk(2);
    desk.dataset("mech.rsf", "n1=1 n2=1", &[1e12]);
    let line = |extra: &str| {
        let words = format!("mech=mech.rsf {extra}");
        with(2, "sous.rsf", "recs.rsf", &words).replace(" m0=1e12", "")
    };
    other_inputs(
        &desk,
        &line,
        &[("mech.rsf", 0, "the moments and forces of the sources")],
    );
}

/// Data with other axes belong to another survey, but the rounding of a header is allowed.
#[test]
fn data_on_other_axes_are_not_taken_over() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > data.rsf", line("")));
    for (put, code, expected) in [
        ("d3=0.00100000001", 0, "3 shots of 3 taken over"),
        ("d3=0.00101", 1, "d3=0.00101, but the data of this run"),
        ("o3=0.00052", 1, "o3=0.00052 d3=0.001, but the data of this run"),
        ("d1=2", 1, "d1=2, but the data of this run"),
        ("o2=1", 1, "o2=1 d2="),
    ] {
        desk.ran(&format!("sfbasics put {put} < data.rsf > other.rsf"));
        let run = desk.sh(&format!("{} > again.rsf", line("finished=other.rsf")));
        assert!(run.code == code && run.err.contains(expected), "{put}: {run:?}");
    }
}

/// Nothing is taken over from a run that was killed before its first shot was complete, and the bits are the same.
#[test]
fn a_run_that_was_killed_early_begins_again() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > data.rsf", line("")));
    let whole = desk.read("data.rsf");
    let shot = 4 * whole.len() / 3;
    for (bytes, held) in [(0, 0), (40, 0), (shot, 1), (shot + 40, 1), (2 * shot + 4, 2)] {
        desk.ran("cp data.rsf killed.rsf; sed -i 's/data.rsf@/killed.rsf@/' killed.rsf");
        desk.ran(&format!("head -c {bytes} data.rsf@ > killed.rsf@"));
        let run = desk.ran(&format!("{} > again.rsf", line("finished=killed.rsf")));
        assert!(
            run.err.contains(&format!("{held} of the 3 records along axis 4")),
            "{run:?}"
        );
        let taken = run.err.contains("taken over from finished=");
        assert_eq!(taken, held > 0, "{bytes}: {run:?}");
        assert!(desk.read("again.rsf") == whole, "{bytes}");
    }
}

/// Every computed shot is in the file before the next one, even if it has few values.
#[test]
fn finished_shots_survive_a_kill() {
    for (steps, every) in [(100_000, 1), (30_000, 1000)] {
        let desk = desk(2);
        let words = format!("pressure=p.rsf jdata={every}");
        let line = with(2, "sous.rsf", "recs.rsf", &words).replace("nt=60", &format!("nt={steps}"));
        let mut command = desk.command(&format!("exec {line} > data.rsf"));
        let mut child = command.spawn().unwrap();
        let begun = std::time::Instant::now();
        let size = |name: &str| std::fs::metadata(desk.path(name)).map_or(0, |meta| meta.len());
        let shot = 4 * 3 * 2 * steps / every;
        // The pressure has half as many values as the velocities, and a separate file.
        let is_written = || size("data.rsf@") >= shot && size("p.rsf@") >= shot / 2;
        while !is_written() && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed().as_secs() < 600, "no shot is written");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // At its end a run writes the remaining data at once, and continues for a moment.
        let early = size("data.rsf@") < 3 * shot && child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(early, "the shots were written only at the end of the run");
        assert!(is_written(), "a shot has disappeared");
    }
}

/// A plan gives the number of shots that exist already, and how many run at the same time.
#[test]
fn a_plan_counts_what_is_left() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > data.rsf", line("")));
    desk.ran("sfbasics window n4=1 squeeze=n < data.rsf > short.rsf");
    for (extra, expected) in [
        ("groups=2", "there are 3, 2 at a time, which takes about "),
        (
            "finished=short.rsf",
            "there are 3, 1 of them taken over from finished=, which takes about ",
        ),
    ] {
        let run = desk.ran(&line(&format!("{extra} plan=y")));
        assert!(run.out.is_empty() && run.err.contains(expected), "{run:?}");
    }
}

/// A record is searched up to its end: waves may come late, after more zeros than are read at a time.
#[test]
fn shots_whose_records_begin_with_zeros_are_finished() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra).replace("nt=60", "nt=12000");
    desk.ran(&format!("{} > data.rsf", line("")));
    let mut late = desk.read("data.rsf");
    let zeros = late.len() / 3 - 1;
    assert!(zeros > 1 << 16);
    late[..zeros].fill(0.0);
    late[zeros] = 1.0;
    let header = std::fs::read_to_string(desk.path("data.rsf")).unwrap();
    desk.put("late.rsf", header.replace("data.rsf@", "late.rsf@"));
    let bytes: Vec<u8> = late.iter().flat_map(|number| number.to_ne_bytes()).collect();
    desk.put("late.rsf@", bytes);
    let run = desk.ran(&format!("{} > again.rsf", line("finished=late.rsf")));
    assert!(run.err.contains("3 shots of 3 taken over"), "{run:?}");
    assert!(desk.read("again.rsf") == late);
}

/// At most three differences are listed, and a file with more shots than the survey belongs to another survey.
#[test]
fn other_surveys_are_refused_in_short_sentences() {
    let desk = desk(2);
    let line = |extra: &str| with(2, "sous.rsf", "recs.rsf", extra);
    desk.ran(&format!("{} > data.rsf", line("")));
    desk.ran("sfbasics put made_of=another < data.rsf > other.rsf");
    desk.ran("sfbasics cat axis=4 data.rsf data.rsf > twice.rsf");
    change(&desk, "sous.rsf", 2);
    for (finished, expected) in [
        (
            "other",
            "other inputs (qp=, qs=, the band of the sources): finished=",
        ),
        ("twice", "twice.rsf has 6 shots, but this survey has 3: finished="),
    ] {
        let run = desk.sh(&format!(
            "{} > again.rsf",
            line(&format!("finished={finished}.rsf"))
        ));
        assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
    }
}
