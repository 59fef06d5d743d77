//! Runs that are killed at any moment, even while a state is being written and while the disk is full, and continue
//! from their last state on other slabs and threads, or on another number of GPUs: data, snapshots and maps have the
//! same bits as in one run.
//!
//! `KILLS=30 cargo test --release -p programs --test programs kill:: -- --nocapture` kills every program 30 times and
//! prints how it ended; `KILL_SEED=n` repeats a sequence of moments. If a test fails, its seed is kept in
//! `tests/regressions/kill.txt`, and every run of that test begins with it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::desk::{Desk, built};
use crate::{real, shot, velocity_stress};

/// Number of times that each program is killed in the usual tests.
const KILLS: usize = 4;
/// Number of times that one run is killed before it may reach its end.
const LIVES: usize = 3;

/// A sequence of pseudorandom numbers (xorshift). A test that fails keeps its seed among the regressions.
pub struct Dice {
    state: u64,
    salt: u64,
    /// The seed with which the sequence can be repeated.
    pub seed: u64,
}

impl Dice {
    /// The sequences of the test with this salt: one for each seed with which it has failed, then one with a seed from
    /// the clock; or only the sequence of `KILL_SEED`.
    pub fn all(salt: u64) -> impl Iterator<Item = Self> {
        let now = std::time::SystemTime::now();
        let clock = now.duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos() as u64;
        let seeds = match number("KILL_SEED") {
            Some(seed) => vec![seed],
            None => [kept(salt), vec![clock]].concat(),
        };
        seeds.into_iter().map(move |seed| Self::of(salt, seed))
    }

    fn of(salt: u64, seed: u64) -> Self {
        let state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt | 1;
        Self { state, salt, seed }
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }
}

impl Drop for Dice {
    fn drop(&mut self) {
        if std::thread::panicking() && !kept(self.salt).contains(&self.seed) {
            let file = OpenOptions::new().create(true).append(true).open(failed());
            let _ = file.and_then(|mut file| writeln!(file, "{} {}", self.salt, self.seed));
        }
    }
}

/// The file with the salts and seeds with which tests have failed, one per line.
fn failed() -> PathBuf {
    built::checkout("tests/regressions/kill.txt")
}

/// The seeds with which the test with this salt has failed.
fn kept(salt: u64) -> Vec<u64> {
    seeds(&std::fs::read_to_string(failed()).unwrap_or_default(), salt)
}

fn seeds(text: &str, salt: u64) -> Vec<u64> {
    let of_line = |line: &str| {
        let (own, seed) = line.split_once(' ')?;
        (own.parse() == Ok(salt)).then(|| seed.parse().ok())?
    };
    text.lines().filter_map(of_line).collect()
}

#[test]
fn seeds_that_a_test_has_failed_with_are_tried_again() {
    assert_eq!(seeds("3 71\n12 5\n3 9\nno line\n", 3), [71, 9]);
    let first = |salt: u64, seed: u64| {
        let mut dice = Dice::of(salt, seed);
        [(); 3].map(|()| dice.below(1000))
    };
    assert_eq!(first(3, 71), first(3, 71));
    assert_ne!(first(3, 71), first(12, 71));
}

pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Counts of the outcomes.
#[derive(Debug, Default)]
struct Count {
    kills: usize,
    ended_by_sigterm: usize,
    while_saving: usize,
    before_a_state: usize,
    on_a_full_disk: usize,
    resumed: usize,
    runs: usize,
}

/// The device on which runs are killed and continued.
#[derive(Clone, Copy)]
enum On {
    /// The processors.
    Cpu,
    /// GPUs, up to this number.
    Gpus(u64),
}

impl On {
    /// The parameters for the machine of one part of a run.
    fn words(self, dice: &mut Dice) -> String {
        match self {
            Self::Cpu => {
                let (slabs, threads) = (dice.below(4) + 1, dice.below(3) + 1);
                format!("device=cpu ngpu={slabs} threads={threads}")
            }
            Self::Gpus(count) => format!("device=gpu ngpu={}", dice.below(count.min(2)) + 1),
        }
    }
}

/// Steps between states, the duration of a whole run, and where it runs.
struct Plan {
    every: u64,
    span: Duration,
    on: On,
}

/// Starts a shell that is replaced by the program; if `full`, there is no room for states.
pub fn start(desk: &Desk, line: &str, full: bool) -> std::process::Child {
    let mut command = Command::new("sh");
    // The limit is in blocks of 512 or 1024 bytes, depending on the shell: more than the outputs need and less than a
    // state.
    let blocks = if line.contains("3d-gpu") { 200 } else { 20 };
    let limit = if full {
        format!("ulimit -f {blocks}; ")
    } else {
        String::new()
    };
    command
        .args(["-c", &format!("{limit}exec {line}")])
        .current_dir(desk.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    for (name, value) in desk.command("").get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.spawn().unwrap()
}

/// The output files, as bits.
fn outputs(desk: &Desk, line: &str) -> Vec<Vec<u32>> {
    let mut files = vec!["data.rsf", "wfl.rsf"];
    let beside = ["pgv.rsf", "acceleration.rsf", "displacement.rsf", "strain.rsf"];
    files.extend(beside.iter().filter(|file| line.contains(**file)));
    let bits = |file: &&str| desk.read(file).iter().map(|x| x.to_bits()).collect();
    files.iter().map(bits).collect()
}

/// Kills runs of `line` and lets them continue until the requested number of kills is reached.
fn kill_and_go_on(salt: u64, (desk, line): (Desk, String), every: u64, on: On) {
    let desk = &desk.in_memory();
    let line = format!("{line} snap=y nqz=3 nqx=3 wfl=wfl.rsf > data.rsf");
    let first = match on {
        On::Cpu => "device=cpu",
        On::Gpus(_) => "device=gpu ngpu=1",
    };
    if matches!(on, On::Gpus(_)) {
        // Kernels are compiled before the time is measured.
        desk.sh(&line.replacen(" >", &format!(" {first} >"), 1));
    }
    let begun = Instant::now();
    let whole = desk.sh(&line.replacen(" >", &format!(" {first} >"), 1));
    let span = begun.elapsed();
    assert_eq!(whole.code, 0, "{whole:?}");
    let expected = outputs(desk, &line);
    assert!(expected.iter().all(|file| file.iter().any(|&x| x != 0)), "{line}");
    let plan = Plan { every, span, on };
    let kills = number("KILLS").map_or(KILLS, |n| n as usize);
    for mut dice in Dice::all(salt) {
        let (mut count, seed) = (Count::default(), dice.seed);
        while count.kills < kills {
            for name in [
                "data.rsf",
                "data.rsf@",
                "wfl.rsf",
                "wfl.rsf@",
                "state",
                "state.1",
                "state.new",
            ] {
                let _ = std::fs::remove_file(desk.path(name));
            }
            let mut lives = LIVES;
            while !leg(desk, &line, &plan, (&mut lives, &mut dice), &mut count) {}
            count.runs += 1;
            assert!(
                outputs(desk, &line) == expected,
                "KILL_SEED={seed} {line}: the bits differ, {count:?}"
            );
        }
        println!("KILL_SEED={seed} {}: {count:?}", line.split(' ').next().unwrap());
    }
}

/// Starts the run, or continues from its state, on any slabs and threads; kills it unless no kills remain. Returns
/// whether it has reached its end.
fn leg(
    desk: &Desk,
    line: &str,
    plan: &Plan,
    (lives, dice): (&mut usize, &mut Dice),
    count: &mut Count,
) -> bool {
    let resumes = desk.path("state").exists();
    let resume = if resumes { "resume=state" } else { "" };
    let (full, polite) = (dice.below(4) == 0, dice.below(5) == 0);
    let words = format!(
        "checkpoint=state every={} {resume} {}",
        plan.every + dice.below(plan.every),
        plan.on.words(dice)
    );
    let line = line.replacen(" >", &format!(" {words} >"), 1);
    let mut child = start(desk, &line, full);
    if *lives > 0 {
        sleep(plan.span.mul_f64(0.02 + dice.below(1000) as f64 / 1000.0));
        // A program that has reached its end cannot be killed.
        if child.try_wait().unwrap().is_none() {
            if polite {
                let sent = Command::new("kill")
                    .args(["-TERM", &child.id().to_string()])
                    .status();
                assert!(sent.unwrap().success());
            } else {
                child.kill().unwrap();
            }
        }
    }
    let ended = child.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&ended.stderr);
    count.resumed += usize::from(messages.contains("continues after step"));
    let failed = messages.contains("could not be saved");
    assert!(full || !failed, "{messages}");
    match ended.status.code() {
        Some(code) => {
            assert_eq!(code, 0, "{line}: {messages}");
            assert!(
                !resumes || messages.contains("continues after step"),
                "{messages}"
            );
            true
        }
        None => {
            *lives -= 1;
            if polite {
                assert_eq!(ended.status.signal(), Some(15), "{messages}");
                // Otherwise the signal came before the first step, or before the program watched for it, so that there
                // is no message; or the disk was full.
                let saved = messages.contains("; resume=state continues from there");
                let early = messages.is_empty() || messages.contains("what it was writing is not complete");
                assert!(saved || full || early, "{messages}");
                count.ended_by_sigterm += usize::from(saved);
                return false;
            }
            count.kills += 1;
            count.on_a_full_disk += usize::from(failed);
            count.while_saving += usize::from(desk.path("state.new").exists());
            count.before_a_state += usize::from(!desk.path("state").exists());
            false
        }
    }
}

/// A displacement shot with a number of steps.
fn displacement(ndim: usize, steps: usize) -> (Desk, String) {
    let desk = shot::desk(ndim);
    let mut wavelet = shot::wavelet(ndim);
    wavelet.resize(ndim * steps, 0.0);
    let header = shot::wavelet_header(ndim).replace(&format!("n3={}", shot::NT), &format!("n3={steps}"));
    desk.dataset("wav.rsf", &header, &wavelet);
    let line = format!(
        "{} wav=wav.rsf jdata={} jsnap={}",
        shot::line(ndim),
        steps / 100,
        steps / 10
    );
    (desk, line)
}

fn staggered(ndim: usize, steps: usize) -> (Desk, String) {
    let line = velocity_stress::line(ndim).replace("nt=60", &format!("nt={steps}"));
    // There are several quantities in 2-D, and resampled ones in 3-D. The number of samples does not depend on the
    // number of steps, because the limit of file size that stands for a full disk must affect states but not outputs.
    let records = match ndim {
        2 => format!("jdata={}", steps / 100),
        _ => format!("dtout={}", 0.004 * steps as f64 / 300.0),
    };
    let more = format!(
        "free=y pgv=pgv.rsf qp=50 qs=40 {records} acceleration=acceleration.rsf displacement=displacement.rsf strain=strain.rsf jsnap={}",
        steps / 10
    );
    (velocity_stress::desk(ndim), format!("{line} {more}"))
}

#[test]
fn displacement_2d() {
    kill_and_go_on(1, displacement(2, 8000), 20, On::Cpu);
}

#[test]
fn displacement_3d() {
    kill_and_go_on(2, displacement(3, 500), 10, On::Cpu);
}

#[test]
fn velocity_stress_2d() {
    kill_and_go_on(3, staggered(2, 4000), 20, On::Cpu);
}

#[test]
fn velocity_stress_3d() {
    kill_and_go_on(4, staggered(3, 300), 10, On::Cpu);
}

/// A box of 100 elements that no wave leaves, with a map of the largest speeds on its top, for a number of steps.
fn elements(steps: usize) -> (Desk, String) {
    let desk = Desk::new();
    desk.ran("sfhexmesh surfaces=400,0 layers=4 nx=5 ny=5 xmin=0 xmax=500 ymin=0 ymax=500 rho=2500 vp=3500 vs=2000 judge=n > box.rsf");
    desk.dataset("sou.rsf", "n1=3 n2=1", &[230.0, 260.0, 210.0]);
    desk.dataset("rec.rsf", "n1=3 n2=2", &[100.0, 150.0, 0.0, 300.0, 400.0, 50.0]);
    let line = format!(
        "sfsem3d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf nt={steps} dt=0.002 src=force fx=2e9 fz=1e9 stf=ricker freq=12 pgv=pgv.rsf nqy=3 jdata={} jsnap={}",
        steps / 100,
        steps / 10
    );
    (desk, line)
}

#[test]
fn elements_3d() {
    kill_and_go_on(9, elements(1500), 150, On::Cpu);
}

/// Kills runs on real GPUs, one or two. They take a few seconds, because a GPU makes thousands of small steps per
/// second.
fn on_gpus(salt: u64, run: (Desk, String), every: u64) {
    match real::gpus("runs that are killed and go on") {
        0 => (),
        count => kill_and_go_on(salt, run, every, On::Gpus(count as u64)),
    }
}

/// A displacement shot of so many steps that waves would grow in a frame of 8 cells; the frame has 24.
fn long_displacement(ndim: usize, steps: usize) -> (Desk, String) {
    let (desk, line) = displacement(ndim, steps);
    (desk, line.replace("nb=8", "nb=24"))
}

#[test]
fn displacement_2d_on_gpus() {
    on_gpus(5, long_displacement(2, 200_000), 10_000);
}

#[test]
fn displacement_3d_on_gpus() {
    on_gpus(6, long_displacement(3, 50_000), 2_000);
}

#[test]
fn velocity_stress_2d_on_gpus() {
    on_gpus(7, staggered(2, 60_000), 3_000);
}

#[test]
fn velocity_stress_3d_on_gpus() {
    on_gpus(8, staggered(3, 30_000), 1_500);
}
