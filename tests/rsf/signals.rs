//! The messages and files of an interrupted program, and the status that the shell sees.

use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};

use crate::support::{Scratch, place, probe};
use rsf_io::Input;

/// A slow probe whose header is `x.rsf` in the folder, and which has reported that it runs.
fn running(scratch: &Scratch, words: &[&str]) -> Child {
    let mut command = probe(scratch.path());
    command
        .args(words)
        .stdout(fs::File::create(scratch.file("x.rsf")).unwrap());
    begun(command.stderr(Stdio::piped()).spawn().unwrap())
}

/// Waits for the line that the probe prints when it runs.
fn begun(mut child: Child) -> Child {
    let mut line = [0; "rsf-probe: it runs\n".len()];
    child.stderr.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"rsf-probe: it runs\n");
    child
}

fn send(child: &Child, signal: i32) {
    // SAFETY: the call takes no pointers, and the child has not been waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

/// The signal that ended the child, and its messages.
fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.signal(), text)
}

#[test]
fn a_program_that_watches_ends_in_order() {
    for (signal, name) in [
        (libc::SIGINT, "SIGINT"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGHUP, "SIGHUP"),
    ] {
        for form in ["native", "ascii"] {
            let scratch = Scratch::new();
            let child = running(&scratch, &["mode=watch", "n1=1000", &format!("form={form}")]);
            send(&child, signal);
            let (by, text) = end(child);
            assert_eq!(by, Some(signal), "{text}");
            let records = scratch.open("x.rsf").axis(2).n;
            let sentence = format!("rsf-probe: ended by {name}: {records} records are there\n");
            assert_eq!(text, sentence);
            assert!((1..1000).contains(&records));
            let numbers = scratch.reals("x.rsf");
            assert_eq!(numbers.len(), 3 * records);
            assert_eq!(numbers[numbers.len() - 1], (records - 1) as f32);
            if form == "native" {
                let bytes = fs::metadata(scratch.file("x.rsf@")).unwrap().len();
                assert_eq!(bytes, 12 * records as u64);
            }
        }
    }
}

#[test]
fn a_shell_gets_the_usual_code() {
    let scratch = Scratch::new();
    // Background jobs of a script ignore SIGINT, so TERM and HUP are sent.
    let one = |mode: &str, signal: &str| {
        format!(
            "{:?} mode={mode} n1=1000 > x.rsf & sleep 0.3; kill -{signal} $!; wait $!; echo $?\n",
            place()
        )
    };
    let line = one("watch", "TERM") + &one("slow", "HUP");
    let run = scratch.shell(&line);
    let codes = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(codes, "143\n129\n");
}

#[test]
fn a_program_that_does_not_watch_ends_at_once_with_a_sentence() {
    let scratch = Scratch::new();
    let child = running(&scratch, &["mode=slow", "n1=1000"]);
    send(&child, libc::SIGTERM);
    let (by, text) = end(child);
    assert_eq!(by, Some(libc::SIGTERM));
    assert_eq!(
        text,
        "rsf-probe: ended by SIGTERM; what it was writing is not complete\n"
    );
    let text = Input::open(&scratch.file("x.rsf")).unwrap_err().to_string();
    assert!(text.contains("of the 1000 records along axis 2"), "{text}");
}

#[test]
fn a_second_signal_ends_a_program_that_watches() {
    let scratch = Scratch::new();
    let mut command = probe(scratch.path());
    command.args(["mode=watch", "n1=1000"]).stderr(Stdio::piped());
    // Nobody reads the output, but its 12 kB fit into the pipe: the program waits only between its records.
    let child = command.args(["form=native"]).spawn().unwrap();
    let child = begun(child);
    send(&child, libc::SIGINT);
    send(&child, libc::SIGTERM);
    let (by, text) = end(child);
    // The system may merge or reorder signals that are pending together, but one of them ends the program.
    assert!(by == Some(libc::SIGTERM) || by == Some(libc::SIGINT), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let scratch = Scratch::new();
    let mut command = probe(scratch.path());
    command
        .args(["mode=watch", "n1=40"])
        .stdout(fs::File::create(scratch.file("x.rsf")).unwrap())
        .stderr(Stdio::piped());
    // SAFETY: the closure between fork and exec only sets one signal's action, which is allowed there.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        })
    };
    let child = begun(command.spawn().unwrap());
    send(&child, libc::SIGHUP);
    let (by, text) = end(child);
    assert_eq!((by, text.as_str()), (None, ""));
    assert_eq!(scratch.reals("x.rsf").len(), 120);
}
