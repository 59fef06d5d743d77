//! If ranks are killed, another number of ranks or a single process continues from their last state with the same bits.

use crate::shot::desk;
use crate::{Desk, launch, launcher, started, velocity_stress, words};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest time to wait for a state.
const PATIENCE: Duration = Duration::from_secs(400);

fn bits(desk: &Desk, name: &str) -> Vec<u32> {
    desk.read(name).into_iter().map(f32::to_bits).collect()
}

/// Starts three ranks, kills the second one as soon as there is a state, and continues with each of the commands
/// `heirs`.
fn killed_and_resumed(desk: &Desk, mpirun: &str, words: &str, heirs: &[&str]) {
    let outputs = "snap=y wfl=w.rsf datapath=./";
    let done = desk.sh(&format!(
        "{words} {} >whole.rsf",
        outputs.replace("w.rsf", "whole-w.rsf")
    ));
    assert_eq!(done.code, 0, "{}", done.err);
    let program = words.split(' ').next().expect("a program");
    for heir in heirs {
        for name in ["state", "state.1", "d.rsf", "d.bin", "w.rsf", "w.rsf@"] {
            let _ = std::fs::remove_file(desk.path(name));
        }
        let run = format!("{words} {outputs} out=d.bin checkpoint=state every=5");
        // Only the second rank knows its process number, so it waits for the file and kills itself.
        let second = format!(
            "sh -c 'trap \"\" TERM; {run} & (until [ -e kill-it ]; do sleep 0.01; done; kill -9 $!) & wait $!'"
        );
        let _ = std::fs::remove_file(desk.path("kill-it"));
        let line = format!("timeout -k 2 600 {mpirun} -n 1 {run} : -n 1 {second} : -n 1 {run} >d.rsf");
        let mut child = started(desk, &line)
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let begun = Instant::now();
        while !desk.path("state").exists() && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(2));
        }
        std::fs::write(desk.path("kill-it"), "").expect("the folder takes a file");
        let ended = child.wait().expect("the launcher ends");
        assert!(
            desk.path("state").exists(),
            "{program}: no state within {PATIENCE:?}"
        );
        assert!(!ended.success(), "{program}: the run ended before it was killed");
        let line = format!("{heir} {run} resume=state >d.rsf");
        let done = match heir.starts_with("-n") {
            true => launch(desk, mpirun, &line),
            false => desk.sh(line.trim()),
        };
        assert_eq!(done.code, 0, "{heir} {program}: {}", done.err);
        assert!(done.err.contains("continues after step"), "{}", done.err);
        assert_eq!(
            bits(desk, "d.rsf"),
            bits(desk, "whole.rsf"),
            "{heir} {program}: data"
        );
        assert_eq!(
            bits(desk, "w.rsf"),
            bits(desk, "whole-w.rsf"),
            "{heir} {program}: snapshots"
        );
    }
}

/// Extends the wavelet of the desk to `steps` steps.
fn longer(desk: &Desk, ndim: usize, steps: usize) {
    let mut wavelet = crate::shot::wavelet(ndim);
    wavelet.resize(ndim * steps, 0.0);
    let header =
        crate::shot::wavelet_header(ndim).replace(&format!("n3={}", crate::shot::NT), &format!("n3={steps}"));
    desk.dataset("wav.rsf", &header, &wavelet);
}

#[test]
fn killed_ranks_go_on_as_others() {
    let Some(mpirun) = launcher("killed_ranks_go_on_as_others") else {
        return;
    };
    for (ndim, steps, heirs) in [(2, 600, ["-n 2", "-n 4"]), (3, 120, ["-n 2", ""])] {
        let desk = desk(ndim).in_memory();
        longer(&desk, ndim, steps);
        let words = format!("{} wav=wav.rsf threads=1 jsnap={}", words(ndim), steps / 10);
        killed_and_resumed(&desk, mpirun, &words, &heirs);
    }
}

#[test]
fn killed_ranks_of_velocity_and_stress_go_on_as_others() {
    let Some(mpirun) = launcher("killed_ranks_of_velocity_and_stress_go_on_as_others") else {
        return;
    };
    let desk = velocity_stress::desk(3).in_memory();
    let words = velocity_stress::words(3).replace("nt=41", "nt=161");
    killed_and_resumed(&desk, mpirun, &words, &["-n 2", ""]);
}
