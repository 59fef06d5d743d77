//! Whatever happens to one rank, all ranks end soon, with a single message.

use crate::desk::outcome;
use crate::shot::{desk, middle, wavelet_header};
use crate::{command, launch, launcher, messages, started, words};
use std::time::{Duration, Instant};

/// The longest time that ending the ranks may take in any case.
const SOON: Duration = Duration::from_secs(100);

#[test]
fn a_wrong_parameter_is_reported_once() {
    let Some(mpirun) = launcher("a_wrong_parameter_is_reported_once") else {
        return;
    };
    let desk = desk(2);
    for (wrong, expected) in [
        ("nbell=-1", "nbell="),
        ("sou=nothing.rsf", "nothing.rsf"),
        ("ngpu=100", "slabs do not fit"),
        ("device=gpu gpu=99", "GPU"),
    ] {
        let begun = Instant::now();
        let line = format!("-n 3 {} threads=1 wav=wav.rsf {wrong} >d.rsf", words(2));
        let done = launch(&desk, mpirun, &line);
        assert_ne!(done.code, 0, "{wrong}");
        let messages = messages(&done.err);
        assert!(
            messages.len() == 1 && messages[0].contains(expected),
            "{wrong}: {}",
            done.err
        );
        assert!(begun.elapsed() < SOON, "{wrong}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_cell_that_no_run_can_use_is_reported_by_its_rank() {
    let Some(mpirun) = launcher("a_cell_that_no_run_can_use_is_reported_by_its_rank") else {
        return;
    };
    let desk = desk(3);
    let mut density = desk.read("den.rsf");
    let last = density.len() - 1;
    // If there are several faulty cells, the first one is reported.
    for (cell, rank) in [(last, "rank 2 on "), (0, "rank 0 on ")] {
        density[cell] = -1.0;
        desk.dataset("den.rsf", &crate::shot::grid(3), &density);
        let line = format!("-n 3 {} threads=1 wav=wav.rsf >d.rsf", words(3));
        let done = launch(&desk, mpirun, &line);
        let messages = messages(&done.err);
        assert!(
            messages.len() == 1 && messages[0].contains(rank) && messages[0].contains("density"),
            "{}",
            done.err
        );
        assert_ne!(done.code, 0);
    }
}

#[test]
fn an_unstable_run_is_reported_once_and_its_data_stay() {
    let Some(mpirun) = launcher("an_unstable_run_is_reported_once_and_its_data_stay") else {
        return;
    };
    let desk = desk(2);
    let wavelet: Vec<f32> = (0..2 * 400).map(|k| if k < 2 { 1.0 } else { 0.0 }).collect();
    let header = wavelet_header(2)
        .replace("n3=23", "n3=400")
        .replace("d3=0.001", "d3=0.02");
    desk.dataset("wav.rsf", &header, &wavelet);
    let line = format!(
        "-n 3 {} threads=1 wav=wav.rsf cfl=warn jcheck=20 >d.rsf",
        words(2)
    );
    let done = launch(&desk, mpirun, &line);
    let messages = messages(&done.err);
    assert_ne!(done.code, 0);
    let reports: Vec<_> = messages
        .iter()
        .filter(|line| line.contains("not finite at step"))
        .collect();
    assert_eq!(reports.len(), 1, "{}", done.err);
    assert!(
        std::fs::metadata(desk.path("d.rsf")).unwrap().len() > 200,
        "records up to the failure"
    );
}

#[test]
fn a_rank_that_is_killed_ends_the_others() {
    let Some(mpirun) = launcher("a_rank_that_is_killed_ends_the_others") else {
        return;
    };
    let desk = desk(3);
    let wavelet = vec![0.5f32; 3 * 200_000];
    desk.dataset(
        "wav.rsf",
        &wavelet_header(3).replace("n3=23", "n3=200000"),
        &wavelet,
    );
    let words = format!("{} threads=1 wav=wav.rsf wfl=w.rsf snap=y jsnap=100000", words(3));
    let line = format!(
        "-n 1 {words} : -n 1 sh -c 'echo $$ >pid; exec {words}' : -n 1 {words} >d.rsf &
        while [ ! -s w.rsf@ ] || [ ! -s pid ]; do sleep 0.1; done; sleep 0.5
        kill -9 $(cat pid); date +%s >killed; wait $!; code=$?; date +%s >ended; exit $code"
    );
    let done = launch(&desk, mpirun, &line);
    assert_ne!(done.code, 0);
    let when = |name: &str| -> u64 {
        let text = std::fs::read_to_string(desk.path(name)).unwrap_or_default();
        text.trim()
            .parse()
            .unwrap_or_else(|_| panic!("{name}: {text} {}", done.err))
    };
    assert!(when("ended") - when("killed") <= SOON.as_secs(), "{}", done.err);
    assert!(!done.err.trim().is_empty(), "the launcher reports what happened");
}

/// If a signal ends the ranks, the header says how many snapshots there are: as many as were due by then.
#[test]
fn ranks_that_a_signal_ends_report_their_snapshots() {
    let Some(mpirun) = launcher("ranks_that_a_signal_ends_report_their_snapshots") else {
        return;
    };
    let desk = desk(2);
    let header = wavelet_header(2).replace("n3=23", "n3=400000");
    desk.dataset("wav.rsf", &header, &vec![0.5f32; 2 * 400_000]);
    let words = format!("{} threads=1 wav=wav.rsf wfl=w.rsf snap=y jsnap=997", words(2));
    let line = format!(
        "-n 1 {words} : -n 1 sh -c 'echo $$ >pid; exec {words}' : -n 1 {words} >d.rsf &
        while [ ! -s w.rsf@ ] || [ ! -s pid ]; do sleep 0.1; done
        kill -TERM $(cat pid); wait $!"
    );
    let done = launch(&desk, mpirun, &line);
    assert_ne!(done.code, 0);
    let number = |before: &str| -> usize {
        let rest = done
            .err
            .split_once(before)
            .unwrap_or_else(|| panic!("{}", done.err))
            .1;
        let word = rest.split(' ').next().expect("a word");
        word.parse().unwrap_or_else(|_| panic!("{word}: {}", done.err))
    };
    let steps = number("step ");
    assert!(steps > 0 && steps < 400_000, "{}", done.err);
    assert_eq!(number("wfl=w.rsf holds "), steps.div_ceil(997), "{}", done.err);
    assert_eq!(desk.axes("w.rsf", 4)[3].n, steps.div_ceil(997));
}

#[test]
fn a_full_disk_on_one_rank_is_reported_by_it() {
    let Some(mpirun) = launcher("a_full_disk_on_one_rank_is_reported_by_it") else {
        return;
    };
    let desk = desk(3);
    let words = format!("{} threads=1 wav=wav.rsf wfl=w.rsf snap=y jsnap=2", words(3));
    // A limit on the size of files represents a full disk: MPI's own files fit, but the snapshots (34 MB) do not.
    let limited = format!("sh -c 'trap \"\" XFSZ; ulimit -f 40000; exec {words}'");
    let begun = Instant::now();
    let done = launch(&desk, mpirun, &format!("-n 1 {words} : -n 1 {limited} >d.rsf"));
    assert_ne!(done.code, 0);
    let messages = messages(&done.err);
    assert!(
        messages
            .iter()
            .any(|line| line.contains("rank 1 on ") && line.contains("w.rsf@")),
        "{}",
        done.err
    );
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn a_reader_that_leaves_ends_all_ranks_as_it_ends_one() {
    let Some(mpirun) = launcher("a_reader_that_leaves_ends_all_ranks_as_it_ends_one") else {
        return;
    };
    let desk = desk(2);
    // The run writes 16 kB per step, more data than fit in the buffers, so that it is stopped in its middle.
    desk.dataset("rec.rsf", "n1=2 n2=2000", &middle(2).repeat(2000));
    let steps = 20_000;
    desk.dataset(
        "wav.rsf",
        &wavelet_header(2).replace("n3=23", &format!("n3={steps}")),
        &vec![0.5; 2 * steps],
    );
    let words = format!("{} threads=1 jdata=1 wav=wav.rsf", words(2));
    desk.sh("mkfifo pipe");
    let leaves = "head -c 2000 <pipe >/dev/null &";
    let one = desk.sh(&format!("{leaves} {words} >pipe; exit $?"));
    assert_eq!(one.code, 141, "{}", one.err);
    let begun = Instant::now();
    let ranks = format!("-n 1 sh -c 'exec {words} >pipe' : -n 2 {words}");
    let line = format!("{leaves} {}", command(mpirun, &ranks));
    let done = outcome(started(&desk, &line).output().expect("a shell starts"));
    let messages = messages(&done.err);
    let errors = messages.iter().filter(|line| !line.contains("CPU,")).count();
    assert_eq!((done.code, errors), (141, 0), "{}", done.err);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

/// Each rank alone would fit; the warning is about the sum of the ranks on the host.
#[test]
fn the_memory_of_a_host_is_that_of_all_its_ranks() {
    let Some(mpirun) = launcher("the_memory_of_a_host_is_that_of_all_its_ranks") else {
        return;
    };
    let text = std::fs::read_to_string("/proc/meminfo").expect("Linux reports its memory");
    let kilobytes = |key: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(key));
        let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        number.unwrap_or(0.0)
    };
    let free = 1024.0 * (kilobytes("MemAvailable:") + kilobytes("SwapFree:"));
    // Two levels of two components on the padded grid, four bytes per number, need one and a half times the free
    // memory.
    let nb = (1.5 * free / 16.0).sqrt() / 2.0;
    let desk = desk(2);
    let words = words(2).replace("nb=20", &format!("nb={nb:.0}"));
    let line = format!("-n 2 {words} threads=1 wav=wav.rsf plan=y");
    let done = launch(&desk, mpirun, &line);
    assert_eq!(done.code, 0, "{}", done.err);
    let warned = |line: &&str| line.contains("warning: 2 ranks on ") && line.contains("together need");
    assert_eq!(done.err.lines().filter(warned).count(), 1, "{}", done.err);
    // With half the cells there is no warning.
    let half = line.replace(&format!("nb={nb:.0}"), &format!("nb={:.0}", nb / 2f64.sqrt()));
    let done = launch(&desk, mpirun, &half);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.err.contains("together need"), "{}", done.err);
}

#[test]
fn ranks_of_different_binaries_refuse_to_run() {
    let Some(mpirun) = launcher("ranks_of_different_binaries_refuse_to_run") else {
        return;
    };
    let desk = desk(2);
    let copy = desk.sh("cp \"$(command -v sfewefd2d-gpu)\" other && printf x >>other");
    assert_eq!(copy.code, 0, "{}", copy.err);
    let words = format!("{} threads=1 wav=wav.rsf", words(2));
    let (_, rest) = words.split_once(' ').unwrap();
    let done = launch(
        &desk,
        mpirun,
        &format!("-n 1 {words} : -n 1 ./other {rest} >d.rsf"),
    );
    assert_ne!(done.code, 0);
    let reports: Vec<_> = done
        .err
        .lines()
        .filter(|line| line.contains("different binaries"))
        .collect();
    assert_eq!(reports.len(), 1, "{}", done.err);
}

#[test]
fn ranks_of_different_shots_refuse_to_run() {
    let Some(mpirun) = launcher("ranks_of_different_shots_refuse_to_run") else {
        return;
    };
    let desk = desk(2);
    let words = format!("{} threads=1 wav=wav.rsf", words(2));
    for other in ["jcheck=7", "plan=y", "--help"] {
        let line = format!("-n 1 {words} : -n 1 {words} {other} >d.rsf");
        let done = launch(&desk, mpirun, &line);
        assert_ne!(done.code, 0, "{other}");
        let messages = messages(&done.err);
        assert!(
            messages.len() == 1 && messages[0].contains("ranks"),
            "{other}: {}",
            done.err
        );
        if let Some((name, _)) = other.split_once('=') {
            let of_ranks = messages[0].split_once(", rank 1 has ");
            let names_it =
                of_ranks.is_some_and(|(first, second)| !first.contains(name) && second.contains(name));
            assert!(names_it, "{other}: {}", done.err);
        }
    }
    // Parameters that only change the messages may differ between ranks.
    let done = launch(
        &desk,
        mpirun,
        &format!("-n 1 {words} : -n 1 {words} verb=y >d.rsf"),
    );
    assert_eq!(done.code, 0, "{}", done.err);
}

#[test]
fn a_dry_run_writes_the_header_and_ends() {
    let Some(mpirun) = launcher("a_dry_run_writes_the_header_and_ends") else {
        return;
    };
    let desk = desk(2);
    let line = format!("-n 3 {} wav=wav.rsf --dryrun=y >d.rsf", words(2));
    let begun = Instant::now();
    let done = launch(&desk, mpirun, &line);
    assert_eq!(done.code, 0, "{}", done.err);
    let header = std::fs::read(desk.path("d.rsf")).unwrap();
    assert!(
        String::from_utf8_lossy(&header).contains("n1=3"),
        "three receivers"
    );
    assert!(begun.elapsed() < SOON);
}
