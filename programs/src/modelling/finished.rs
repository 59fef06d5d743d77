//! Shots that an earlier run of a survey has finished: `resume=` of several shots.

use anyhow::{Context, ensure};
use rsf_io::{Axis, Input, Job};
use std::ffi::OsStr;

/// Numbers that are looked at together.
const LOOK: usize = 1 << 16;

/// The data of an earlier run.
#[derive(Default)]
pub struct Finished {
    input: Option<Input>,
    /// Numbers of a shot.
    numbers: usize,
    /// Shots that need not be made again, in their order.
    pub shots: Vec<usize>,
}

impl Finished {
    /// Opens what `resume=` names, which must be data like these: the axes of a shot, with `shots` behind them.
    pub fn open(job: &mut Job, axes: &[Axis; 3], shots: usize) -> anyhow::Result<Self> {
        let Some(path) = job.text("resume")? else {
            return Ok(Self::default());
        };
        // A run that was killed has left fewer numbers than its header says.
        job.accept_cut_data();
        let name = format!("resume={path}");
        let input = job
            .open_as(name.clone(), OsStr::new(&path))
            .context("with several shots resume= takes the data of an earlier run of the survey")?;
        let numbers: usize = axes.iter().map(|axis| axis.n).product();
        let near = |a: f32, b: f32, d: f32| (a - b).abs() <= 1e-3 * d.abs();
        for (k, axis) in axes.iter().enumerate() {
            let i = k + 1;
            let own = input.axis(i);
            ensure!(
                own.n == axis.n && near(own.d, axis.d, axis.d) && near(own.o, axis.o, axis.d),
                "{name} has n{i}={} o{i}={} d{i}={} and the data of this run n{i}={} o{i}={} d{i}={}: with several shots resume= takes the data of an earlier run of the survey",
                own.n,
                own.o,
                own.d,
                axis.n,
                axis.o,
                axis.d
            );
        }
        let held = (input.len() / numbers.max(1) as u64) as usize;
        ensure!(
            held <= shots,
            "{name} has {held} shots and this survey {shots}: with several shots resume= takes the data of an earlier run of the survey"
        );
        let mut finished = Self {
            input: Some(job.by_position(input)?),
            numbers,
            shots: Vec::new(),
        };
        for number in 0..held {
            if finished.is_made(number)? {
                finished.shots.push(number);
            }
        }
        Ok(finished)
    }

    /// Whether a shot has anything but zeros: one of zeros has failed.
    fn is_made(&self, number: usize) -> anyhow::Result<bool> {
        let mut values = vec![0.0; LOOK.min(self.numbers)];
        for first in (0..self.numbers).step_by(LOOK) {
            let count = LOOK.min(self.numbers - first);
            self.read(number, first, &mut values[..count])?;
            if values[..count].iter().any(|&x| x != 0.0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Numbers of a shot from its number `first` on.
    fn read(&self, shot: usize, first: usize, values: &mut [f32]) -> anyhow::Result<()> {
        let input = self.input.as_ref().context("nothing was opened")?;
        let at = shot as u64 * self.numbers as u64 + first as u64;
        Ok(input.read_f32_at(at, values)?)
    }

    /// The data of a shot that is finished.
    pub fn of(&self, shot: usize) -> anyhow::Result<Vec<f32>> {
        let mut values = vec![0.0; self.numbers];
        self.read(shot, 0, &mut values)?;
        Ok(values)
    }

    /// Shots of so many that are to be made.
    pub fn todo(&self, shots: usize) -> Vec<usize> {
        (0..shots).filter(|shot| !self.shots.contains(shot)).collect()
    }
}
