//! How far a run is.

use super::world::World;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernels::time_loop::Recorder;
use rsf_io::{Job, Signal, Watch, interrupted};
use std::io::IsTerminal;
use std::time::Instant;

/// A bar with rate and time left on a terminal; elsewhere, with `verb=y`, a line every tenth of the run.
pub enum Progress {
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere.
    Lines {
        /// Of the program.
        name: String,
        /// All of them.
        steps: usize,
        /// Step whose end is worth a line.
        next: usize,
        /// When the first began.
        begun: Instant,
    },
    /// Not asked for.
    Quiet,
}

impl Progress {
    /// For a run of `steps` steps; of several ranks the one that `leads` shows it.
    pub fn new(job: &Job, steps: usize, leads: bool) -> anyhow::Result<Self> {
        if !leads {
            return Ok(Self::Quiet);
        }
        if std::io::stderr().is_terminal() {
            let bar =
                ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr_with_hz(4));
            bar.set_style(ProgressStyle::with_template(
                "{bar:40} {pos}/{len} steps, {per_sec}, {eta} left",
            )?);
            return Ok(Self::Bar(bar));
        }
        if job.flag("verb")? {
            return Ok(Self::Lines {
                name: job.program().into(),
                steps,
                next: steps.div_ceil(10),
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
                next,
                begun,
            } if it + 1 >= *next => {
                let done = it + 1;
                let rate = done as f64 / begun.elapsed().as_secs_f64();
                let left = (*steps - done) as f64 / rate;
                eprintln!("{name}: step {done} of {steps}, {rate:.1} steps/s, {left:.0} s left");
                *next = ((done * 10 / *steps + 1) * *steps).div_ceil(10);
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

/// A signal ended a run between two steps.
#[derive(Debug, thiserror::Error)]
#[error("ended by {signal} after step {step} of {steps}")]
pub struct Interrupted {
    /// Which one.
    pub signal: Signal,
    /// Steps that are done.
    pub step: usize,
    /// Steps that were wanted.
    pub steps: usize,
}

/// Looks for signals between the steps of a run.
pub struct Signals<'a> {
    world: &'a World,
    steps: usize,
    /// Steps between two looks of several ranks, which must look together.
    every: usize,
    /// From now on the first signal waits for a look.
    _watch: Watch,
}

impl<'a> Signals<'a> {
    /// For a run of `steps` steps. A lone process looks after every step, ranks after every `jcheck`-th, when they wait
    /// for each other anyway.
    pub fn new(world: &'a World, steps: usize, jcheck: usize) -> Self {
        Self {
            world,
            steps,
            every: if world.is_alone() { 1 } else { jcheck },
            _watch: Watch::begin(),
        }
    }

    /// Step `it` is done. Errors: [`kernels::Error::Interrupted`] with [`Interrupted`] on all ranks when one of them was sent
    /// a signal, unless this was the last step.
    fn look(&self, it: usize) -> Result<(), kernels::Error> {
        let step = it + 1;
        if !step.is_multiple_of(self.every) || step == self.steps {
            return Ok(());
        }
        let mut signal = interrupted();
        if !self.world.is_alone() {
            let mine = signal.map_or(0, Signal::number);
            let all = self.world.ranks().all_gather(&[mine])?;
            signal = all.iter().flatten().find_map(|&number| Signal::of(number));
        }
        match signal {
            None => Ok(()),
            Some(signal) => Err(kernels::Error::Interrupted(Box::new(Interrupted {
                signal,
                step,
                steps: self.steps,
            }))),
        }
    }
}

/// A recorder whose steps are told, and that ends a run when a signal has come.
pub struct Watched<'a> {
    /// Takes the rest.
    pub recorder: &'a mut dyn Recorder<f32>,
    /// Takes the steps.
    pub progress: &'a mut Progress,
    /// Asked after every step.
    pub signals: &'a Signals<'a>,
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
        self.signals.look(it)
    }
}
