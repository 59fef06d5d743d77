//! Collects the shots of a survey: writes their data in order, and notes which shots failed.

use super::station::seconds_and_growth;
use super::{Survey, taken_over};
use crate::modelling::divide::Divide;
use crate::modelling::exact_time::Timing;
use crate::modelling::growth::Growth;
use crate::modelling::picks::Picks;
use crate::modelling::shots::{Outcome, ShotResult};
use crate::modelling::survey::finished::Finished;
use crate::modelling::turn::Turn;
use crate::modelling::words;
use crate::modelling::words::counted;
use crate::modelling::words::{warn_of_growth, warn_of_zeros};
use anyhow::bail;
use rsf_io::{Job, Output, Signal};

/// The data of a survey as they are written to files.
pub struct Ledger<'a> {
    job: &'a Job,
    data: Data,
    finished: Finished,
    shots: usize,
    /// The numbers of the shots in the survey.
    picks: Picks,
    /// The number of values of a shot, and of a record.
    numbers: usize,
    record: usize,
    steps: usize,
    /// The time steps and the correction of their dispersion.
    timing: Timing,
    /// Number of shots written so far.
    written: usize,
    failed: Vec<String>,
    /// The shots whose records grow until the end, and the factor of that growth.
    growing: Vec<(String, f32)>,
    silent: bool,
    /// The signal that ended the run, if one did.
    stopped: Option<Signal>,
}

impl<'a> Ledger<'a> {
    /// A ledger for the shots of a survey, whose data are written to these files.
    pub fn new<M: Survey>(
        job: &'a Job,
        shot: &M,
        (file, divide, turn): (Output, Option<Divide>, Option<Turn>),
        finished: Finished,
    ) -> Self {
        Self {
            job,
            data: Data {
                file,
                divide,
                turn,
                record: shot.records()[0],
            },
            silent: finished.shots.is_empty(),
            finished,
            shots: shot.spreads().count(),
            picks: shot.spreads().picks.clone(),
            numbers: shot.records().iter().product(),
            record: shot.records()[0].max(1),
            steps: shot.steps(),
            timing: *shot.timing(),
            written: 0,
            failed: Vec::new(),
            growing: Vec::new(),
            stopped: None,
        }
    }

    /// Writes the outcome of a shot, after the outcomes of preceding shots that an earlier run has finished.
    pub fn take(&mut self, number: usize, outcome: Outcome) -> anyhow::Result<()> {
        self.write_finished(number)?;
        match outcome {
            Outcome::Done(ShotResult { values, words, .. }) => {
                self.silent &= values.iter().all(|&x| x == 0.0);
                let (seconds, grows) = seconds_and_growth(&words);
                self.note_growth(number, grows);
                self.data.write(&values)?;
                if self.job.flag("verb")? {
                    let name = self.picks.name(number);
                    self.job.say(&format!("shot {name}: {seconds:.2} s"));
                }
            }
            Outcome::Failed(error) => {
                let text = words::explained(&error);
                self.job.say(&format!(
                    "shot {} failed, its traces are zero: {text}",
                    self.picks.name(number)
                ));
                self.failed.push(self.picks.number(number).to_string());
                self.data.write(&vec![0.0; self.numbers])?;
            }
            Outcome::Stopped(signal) => {
                self.stopped = Some(signal);
                bail!("{signal} has ended the run");
            }
        }
        self.written += 1;
        // The file keeps this shot even if the run is killed.
        Ok(self.data.flush()?)
    }

    /// Checks whether the records of a shot of an earlier run grow.
    fn watch(&mut self, number: usize, values: &[f32]) {
        let records = values.chunks_exact(self.record);
        let mut growth = Growth::new(&self.timing, [self.steps, records.len()]);
        records.for_each(|record| growth.take(record));
        self.note_growth(number, growth.factor());
    }

    /// Notes the factor by which the records of a shot grow, if they do.
    fn note_growth(&mut self, number: usize, factor: Option<f32>) {
        let number = self.picks.number(number).to_string();
        self.growing.extend(factor.map(|factor| (number, factor)));
    }

    /// Writes the shots before `number` that were finished earlier.
    fn write_finished(&mut self, number: usize) -> anyhow::Result<()> {
        while self.written < number {
            let values = self.finished.of(self.written)?;
            if let Some(values) = values.first() {
                self.watch(self.written, values);
            }
            self.data.copy(&values)?;
            self.written += 1;
        }
        Ok(())
    }

    /// Ends a run that has computed all shots.
    pub fn end(mut self) -> anyhow::Result<()> {
        self.write_finished(self.shots)?;
        self.data.finish()?;
        let (job, shots) = (self.job, self.shots);
        if !self.finished.shots.is_empty() {
            job.say(&taken_over(self.finished.shots.len(), shots));
        }
        if job.flag("verb")? {
            self.timing.words().iter().for_each(|words| job.say(words));
        }
        if let Some((_, first)) = self.growing.first() {
            let shots: Vec<&str> = self.growing.iter().map(|(shot, _)| shot.as_str()).collect();
            let largest = self
                .growing
                .iter()
                .map(|(_, factor)| *factor)
                .fold(*first, f32::max);
            let which = counted(shots.len(), "shot");
            warn_of_growth(job, largest, Some(&format!("{which} ({})", shots.join(", "))));
        }
        match self.failed.len() {
            // A single record of the first step is taken before any wave arrives, and another warning has
            // reported that already.
            0 if self.silent && (job.int("jdata")? as usize) < self.steps.max(2) => {
                warn_of_zeros(job);
            }
            0 => {}
            count => bail!(
                "{} of {shots} failed; the traces of {} are zero: {}",
                counted(count, "shot"),
                if count == 1 { "it" } else { "them" },
                self.failed.join(", ")
            ),
        }
        Ok(())
    }

    /// Ends a run that could not continue; after a signal, the data hold the shots that were written before
    /// it.
    pub fn broken_off(self, error: anyhow::Error) -> anyhow::Error {
        let Some(signal) = self.stopped else {
            return error;
        };
        match self.data.end_early(self.written) {
            Ok(left) => rsf_io::Error::Interrupted { signal, left }.into(),
            Err(error) => error.into(),
        }
    }
}

/// The files to which the data of the shots are written.
struct Data {
    file: Output,
    /// The derivation of several quantities from the records.
    divide: Option<Divide>,
    /// The rotation of the components of a record to other axes.
    turn: Option<Turn>,
    /// The number of values of a record.
    record: usize,
}

impl Data {
    /// Writes the data of a shot.
    fn write(&mut self, values: &[f32]) -> rsf_io::Result<()> {
        if self.divide.is_none() && self.turn.is_none() {
            return self.file.write_f32(values);
        }
        for (it, read) in values.chunks_exact(self.record.max(1)).enumerate() {
            let turned = self.turn.as_ref().map(|turn| turn.apply(read));
            let read = turned.as_deref().unwrap_or(read);
            match &mut self.divide {
                Some(divide) => divide.take(it, read, &mut self.file)?,
                None => self.file.write_f32(read)?,
            }
        }
        let divide = self.divide.as_mut();
        divide.map_or(Ok(()), |divide| divide.end_shot(&mut self.file))
    }

    /// Writes the records of a shot from an earlier run; `values` has one list for each file.
    fn copy(&mut self, values: &[Vec<f32>]) -> rsf_io::Result<()> {
        let others = self.divide.iter_mut().flat_map(Divide::files);
        let mut files = std::iter::once(&mut self.file).chain(others);
        values
            .iter()
            .try_for_each(|values| files.next().map_or(Ok(()), |file| file.write_f32(values)))
    }

    /// Flushes all files.
    fn flush(&mut self) -> rsf_io::Result<()> {
        let mut others = self.divide.iter_mut().flat_map(Divide::files);
        others.try_for_each(Output::flush)?;
        self.file.flush()
    }

    fn finish(self) -> rsf_io::Result<()> {
        self.divide.map_or(Ok(()), Divide::finish)?;
        self.file.finish()
    }

    /// Ends the files after `shots` shots; returns a description of their contents.
    fn end_early(self, shots: usize) -> rsf_io::Result<String> {
        let name = self.file.name();
        if let Some(divide) = self.divide {
            divide.finish_early(4, "shots")?;
        }
        self.file.finish_at(4, shots as u64)?;
        Ok(format!("{name} holds {}", counted(shots, "shot")))
    }
}
