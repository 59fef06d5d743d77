//! Shows the progress of a run.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernels::time_loop::Recorder;
use rsf_io::Job;
use std::io::IsTerminal;
use std::time::Instant;

/// On a terminal a bar with rate and remaining time; elsewhere, with `verb=y`, a line after every tenth of
/// the run.
pub enum Progress {
    /// A bar on a terminal.
    Bar(ProgressBar),
    /// Lines of text, if standard error is not a terminal.
    Lines {
        /// Name of the program.
        name: String,
        /// The number of steps of the run.
        steps: usize,
        /// The number of steps that were done before this run.
        first: usize,
        /// The step after which the next line is printed.
        next: usize,
        /// The time at which this run began.
        begun: Instant,
    },
    /// Nothing is shown.
    Quiet,
}

/// The step of the next line: each tenth of a run has one, even if the run was resumed.
fn next_line(done: usize, steps: usize) -> usize {
    ((done * 10 / steps.max(1) + 1) * steps).div_ceil(10)
}

/// The progress of a run that began after `first` of its steps and has done `done` of them `seconds` later.
fn rate_in_words([first, done, steps]: [usize; 3], seconds: f64) -> String {
    let rate = (done - first) as f64 / seconds;
    let left = (steps - done) as f64 / rate;
    format!("step {done} of {steps}, {rate:.1} steps/s, {left:.0} s left")
}

impl Progress {
    /// The progress of a run of `steps` steps, of which the first `first` are done; if there are several ranks, the
    /// rank with `leads` shows it.
    pub fn new(job: &Job, (first, steps): (usize, usize), leads: bool) -> anyhow::Result<Self> {
        if !leads {
            return Ok(Self::Quiet);
        }
        if std::io::stderr().is_terminal() {
            let bar =
                ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr_with_hz(4));
            bar.set_style(ProgressStyle::with_template(
                "{bar:40} {pos}/{len} steps, {per_sec}, {eta} left",
            )?);
            bar.set_position(first as u64);
            bar.reset_eta();
            return Ok(Self::Bar(bar));
        }
        if job.flag("verb")? {
            return Ok(Self::Lines {
                name: job.program().into(),
                steps,
                first,
                next: next_line(first, steps),
                begun: Instant::now(),
            });
        }
        Ok(Self::Quiet)
    }

    fn step(&mut self, it: usize) {
        match self {
            Self::Bar(bar) => bar.inc(1),
            Self::Lines {
                name,
                steps,
                first,
                next,
                begun,
            } if it + 1 >= *next => {
                let done = it + 1;
                eprintln!(
                    "{name}: {}",
                    rate_in_words([*first, done, *steps], begun.elapsed().as_secs_f64())
                );
                *next = next_line(done, *steps);
            }
            _ => {}
        }
    }

    /// Clears the bar.
    pub fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// A recorder that also shows the steps.
pub struct Watched<'a> {
    /// Receives traces and snapshots.
    pub recorder: &'a mut dyn Recorder<f32>,
    /// Receives the steps.
    pub progress: &'a mut Progress,
}

impl Recorder<f32> for Watched<'_> {
    fn traces(&mut self, it: usize, traces: &[f32]) -> Result<(), kernels::Error> {
        self.recorder.traces(it, traces)
    }

    fn snapshot(&mut self, it: usize, piece: &[f32]) -> Result<(), kernels::Error> {
        self.recorder.snapshot(it, piece)
    }

    fn step(&mut self, it: usize) -> Result<(), kernels::Error> {
        self.progress.step(it);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), kernels::Error> {
        self.recorder.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::{next_line, rate_in_words};

    #[test]
    fn every_tenth_of_a_run_has_a_line() {
        assert_eq!(
            [0, 99, 100, 250, 999].map(|done| next_line(done, 1000)),
            [100, 100, 200, 300, 1000]
        );
        // There may be fewer steps than lines, or no steps at all.
        assert_eq!([0, 1, 2].map(|done| next_line(done, 3)), [1, 2, 3]);
        assert_eq!(next_line(0, 0), 0);
    }

    /// The steps that an earlier run had completed before this one was resumed are not part of its time.
    #[test]
    fn resumed_runs_have_the_rate_of_their_own_steps() {
        assert_eq!(
            rate_in_words([600, 700, 1000], 20.0),
            "step 700 of 1000, 5.0 steps/s, 60 s left"
        );
    }
}
