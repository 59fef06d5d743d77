//! The progress of the work, for meshes of millions of elements: a bar on a terminal, and elsewhere with
//! `verb=y` a line for each stage.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rsf_io::Job;

/// The number of elements between two updates of the progress bar.
pub(super) const MANY: usize = 1 << 14;

/// Shows the progress of the stages of the work.
pub(super) struct Stages {
    name: String,
    terminal: bool,
    lines: bool,
    begun: Instant,
}

impl Stages {
    /// The stages of the program of this command line; the clock starts now.
    pub(super) fn new(job: &Job) -> Result<Self> {
        Ok(Self {
            name: job.program().into(),
            terminal: std::io::stderr().is_terminal(),
            lines: job.flag("verb")?,
            begun: Instant::now(),
        })
    }

    /// Runs a stage of the work. `work` advances the progress bar that it receives if the number of `parts` is
    /// known; otherwise `parts` is 0.
    pub(super) fn during<T>(&self, what: &str, parts: usize, work: impl FnOnce(&ProgressBar) -> T) -> T {
        if !self.terminal {
            if self.lines {
                let seconds = self.begun.elapsed().as_secs_f64();
                eprintln!("{}: {what}, after {seconds:.1} s", self.name);
            }
            return work(&ProgressBar::hidden());
        }
        let target = ProgressDrawTarget::stderr_with_hz(4);
        let length = (parts > 0).then_some(parts as u64);
        let template = match parts {
            0 => "{spinner} {msg}, {elapsed}",
            _ => "{bar:40} {msg}, {pos}/{len}, {eta} left",
        };
        let bar = ProgressBar::with_draw_target(length, target).with_message(what.to_string());
        let bar = match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        bar.enable_steady_tick(Duration::from_millis(250));
        let result = work(&bar);
        bar.finish_and_clear();
        result
    }
}
