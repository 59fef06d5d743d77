//! A run that is ended by a signal: its files have headers that describe their contents, and there are a message and
//! the usual exit code.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::desk::Desk;
use crate::{shot, velocity_stress};

/// A shell that has been replaced by the program, after its outputs have begun.
fn running(desk: &Desk, line: &str, file: &str) -> Child {
    let mut command = Command::new("sh");
    let shell = desk.command("");
    command
        .args(["-c", &format!("exec {line}")])
        .current_dir(desk.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in shell.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let child = command.spawn().unwrap();
    let begun = Instant::now();
    while std::fs::metadata(desk.path(file)).map_or(0, |meta| meta.len()) == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(600),
            "{line} does not begin"
        );
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(150));
    child
}

/// Sends the signal `name` and waits for the end: returns the signal that ended the program, and its messages.
fn ended(mut child: Child, name: &str) -> (Option<i32>, String) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(300) {
            child.kill().unwrap();
            panic!("a signal does not end the program");
        }
        sleep(Duration::from_millis(5));
    };
    let mut messages = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut messages)
        .unwrap();
    (status.signal(), messages)
}

/// Asserts that there is a message of the program with these texts.
#[track_caller]
fn holds(messages: &str, words: &[&str]) {
    let last = messages.lines().last().unwrap_or_default();
    assert!(
        words.iter().all(|word| last.contains(word)),
        "{words:?}: {messages}"
    );
}

#[test]
fn displacement_runs_end_in_order() {
    let desk = shot::desk(2);
    let steps = 4_000_000;
    let mut wavelet = shot::wavelet(2);
    wavelet.resize(2 * steps, 0.0);
    let header =
        |nt: usize| shot::wavelet_header(2).replace(&format!("n3={}", shot::NT), &format!("n3={nt}"));
    desk.dataset("long.rsf", &header(steps), &wavelet);
    let line = format!("{} oneway=upwind snap=y jsnap=500 jdata=4", shot::line(2));
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let child = running(
            &desk,
            &format!("{line} wfl=wfl.rsf threads=1 < long.rsf > data.rsf"),
            "data.rsf",
        );
        let (signal, messages) = ended(child, name);
        assert_eq!(signal, Some(number), "{messages}");
        let (records, snapshots) = (desk.axes("data.rsf", 3)[2].n, desk.axes("wfl.rsf", 4)[3].n);
        assert!(
            records > 1 && records < steps / 4 && snapshots > 0,
            "{records} {snapshots}"
        );
        holds(
            &messages,
            &[
                &format!("sfewefd2d-gpu: ended by SIG{name}: step "),
                &format!(
                    "of {steps} was the last; standard output holds {records} of {} records",
                    steps / 4
                ),
                &format!("wfl=wfl.rsf holds {snapshots} of {} snapshots", steps / 500),
            ],
        );
        // No value is missing or wrong: a shorter run with as many records gives the same values.
        let (data, wfl) = (desk.read("data.rsf"), desk.read("wfl.rsf"));
        let again = 4 * records;
        desk.dataset("short.rsf", &header(again), &wavelet[..2 * again]);
        let run = desk.sh(&format!("{line} wfl=w2.rsf < short.rsf > d2.rsf"));
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(desk.read("d2.rsf") == data);
        let whole = desk.read("w2.rsf");
        let equal = wfl.len().min(whole.len());
        assert!(equal > 0 && wfl[..equal] == whole[..equal]);
        for file in ["data.rsf", "wfl.rsf"] {
            std::fs::remove_file(desk.path(file)).unwrap();
        }
    }
}

#[test]
fn velocity_stress_runs_end_in_order() {
    for ndim in [2, 3] {
        let desk = velocity_stress::desk(ndim);
        let line = velocity_stress::line(ndim).replace("nt=60", "nt=3000000");
        let child = running(
            &desk,
            &format!("{line} snap=y jsnap=50 jdata=5 wfl=wfl.rsf pgv=pgv.rsf device=cpu > data.rsf"),
            "data.rsf",
        );
        let (signal, messages) = ended(child, "TERM");
        assert_eq!(signal, Some(15), "{messages}");
        let records = desk.axes("data.rsf", 3)[2].n;
        let snapshots = desk.axes("wfl.rsf", ndim + 2)[ndim + 1].n;
        assert!(records > 1 && snapshots > 0);
        holds(
            &messages,
            &[
                "ended by SIGTERM: step ",
                &format!("standard output holds {records} of 600000 records"),
                &format!("wfl=wfl.rsf holds {snapshots} of 60000 snapshots"),
            ],
        );
        assert_eq!(desk.read("data.rsf").len(), 3 * ndim * records);
        // The map of an unfinished run would be wrong.
        assert!(!desk.path("pgv.rsf").exists());
    }
}

#[test]
fn a_reader_gets_what_was_written_into_the_pipe() {
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2).replace("nt=60", "nt=3000000");
    desk.sh("mkfifo pipe");
    let mut reader = desk.command("cat pipe > got").spawn().unwrap();
    let child = running(&desk, &format!("{line} device=cpu > pipe"), "got");
    let (signal, messages) = ended(child, "INT");
    assert_eq!(signal, Some(2), "{messages}");
    assert!(reader.wait().unwrap().success());
    holds(
        &messages,
        &["ended by SIGINT", "standard output holds", "of 3000000 records"],
    );
    let run = desk.sh("sfbasics window < got > out.rsf");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("records along axis 3 are complete and are read"),
        "{}",
        run.err
    );
}
