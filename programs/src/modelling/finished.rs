//! Shots that an earlier run of a survey has finished: `resume=` of several shots.

use anyhow::{Context, ensure};
use rsf_io::{Axis, Input, Job};
use std::ffi::OsStr;

/// The data of an earlier run.
pub struct Finished {
    input: Option<Input>,
    /// Shots that it holds, the last ones perhaps not.
    shots: usize,
    /// Shots that were taken over.
    pub taken: usize,
}

impl Finished {
    /// Opens what `resume=` names, which must be data like these: the axes of a shot, with `shots` behind them.
    pub fn open(job: &mut Job, axes: &[Axis; 3], shots: usize) -> anyhow::Result<Self> {
        let Some(path) = job.text("resume")? else {
            return Ok(Self {
                input: None,
                shots: 0,
                taken: 0,
            });
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
        Ok(Self {
            input: Some(input),
            shots: held,
            taken: 0,
        })
    }

    /// The data of a shot if they are there; a shot of zeros has failed, and is none. To be called for every shot in order.
    pub fn next(&mut self, number: usize, numbers: usize) -> anyhow::Result<Option<Vec<f32>>> {
        let Some(input) = self.input.as_mut().filter(|_| number < self.shots) else {
            return Ok(None);
        };
        let mut values = vec![0.0; numbers];
        input.read_f32(&mut values)?;
        let made = values.iter().any(|&x| x != 0.0);
        self.taken += usize::from(made);
        Ok(made.then_some(values))
    }
}
