//! Data at times other than the time steps: exact time, `dtout=`, and the times in headers of observed data.

use super::super::{Run, outputs};
use super::set_up::SetUp;
use crate::modelling::checksum::Checksum;
use crate::modelling::components::{Modelled, same_kind};
use crate::modelling::exact_time::Operator;
use crate::modelling::observed::{self, DataSampling, DataTimes, Recorded};
use crate::modelling::resample::{Samples, Times};
use anyhow::{bail, ensure};
use rsf_io::{Axis, Input, Job, Output};
use std::sync::Arc;

/// The linear map from the records of a shot to its data: a correction to exact time if it is requested, then
/// a resampling to the times of the data.
#[derive(Clone)]
pub struct Sampling {
    exact: Option<Arc<Operator>>,
    times: Option<Arc<Resampled>>,
}

/// Data at times other than the times of the records, or at the first of these times.
struct Resampled {
    samples: Samples,
    /// The treatment of the records, in words.
    how: &'static str,
    axis: Axis,
    step: f64,
}

impl Sampling {
    /// The map to one record of a run in `jdata`.
    pub fn of_records(run: &Run) -> Self {
        let exact = run
            .correction()
            .map(|correction| Arc::new(Operator::new(correction)));
        Self { exact, times: None }
    }

    /// The map to the times of `dtout=`, if it is given.
    pub fn of_output(job: &Job, set_up: &SetUp) -> anyhow::Result<Self> {
        let Some(step) = job.double_opt("dtout")? else {
            return Ok(set_up.sampling.clone());
        };
        let timing = &set_up.run.timing;
        let whole = timing.steps as f64 * timing.dt;
        ensure!(
            !job.given("jdata"),
            "dtout= and jdata= both select the records that are written: give one of them"
        );
        ensure!(
            step <= whole,
            "dtout={step}: it must be the time from record to record in s, above 0 and not above the {} \
            s of the run",
            whole as f32
        );
        timing.warn_of_filtered(job, step);
        let count = (whole / step * (1.0 + 1e-9)) as usize + 1;
        Ok(Self::at(
            set_up,
            DataTimes {
                first: 0.0,
                step,
                count,
            },
        ))
    }

    /// The map to these times.
    fn at(set_up: &SetUp, data: DataTimes) -> Self {
        let (shot, steps) = (&set_up.run.shot, set_up.run.timing.steps);
        let DataTimes { first, step, count } = data;
        let times = Times {
            first: shot.quantity.first_time() * shot.dt - first,
            dt: shot.dt,
            step,
            count,
        };
        let how = "records of the steps are resampled to them";
        Self::of_samples(set_up, data, (Samples::new(&times, steps), how))
    }

    /// The map to the first of the records, which have these times.
    fn beginning(set_up: &SetUp, times: DataTimes) -> Self {
        let records = set_up.run.timing.steps.div_ceil(set_up.run.jdata);
        let how = "the run continues after them";
        Self::of_samples(set_up, times, (Samples::first(times.count, records), how))
    }

    fn of_samples(set_up: &SetUp, times: DataTimes, (samples, how): (Samples, &'static str)) -> Self {
        let axis = Axis::new(times.count, times.first as f32, times.step as f32);
        let resampled = Resampled {
            samples,
            how,
            axis: axis.label("t").unit("s"),
            step: times.step,
        };
        Self {
            exact: set_up.sampling.exact.clone(),
            times: Some(Arc::new(resampled)),
        }
    }

    /// The number of times, if they differ from the times of the records.
    pub fn count(&self) -> Option<usize> {
        let own = self.times.as_ref().map(|own| own.samples.count());
        own.or(self.exact.as_ref().map(|exact| exact.count()))
    }

    /// Converts the records of a shot, `[record][component][receiver]`, to its data.
    pub fn data(&self, mut records: Vec<f32>) -> Vec<f32> {
        if let Some(exact) = &self.exact {
            records = exact.of(records);
        }
        match &self.times {
            Some(own) => own.samples.of(&records),
            None => records,
        }
    }

    /// The transpose: from data of a shot to its records.
    pub fn records(&self, mut data: Vec<f32>) -> Vec<f32> {
        if let Some(own) = &self.times {
            data = own.samples.transposed(&data);
        }
        match &self.exact {
            Some(exact) => exact.transposed(data),
            None => data,
        }
    }

    /// The records of several shots.
    pub fn of_shots(&self, data: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
        data.into_iter().map(|data| self.records(data)).collect()
    }

    /// The number of steps from one time to the next, rounded up; for an estimated time function it must be a
    /// whole number.
    pub fn steps(&self, set_up: &SetUp, whole: bool) -> anyhow::Result<usize> {
        let shot = &set_up.run.shot;
        let Some(own) = &self.times else {
            return Ok(set_up.run.jdata);
        };
        let steps = own.step / shot.dt;
        ensure!(
            !whole || (steps > 0.5 && (steps - steps.round()).abs() < 1e-3),
            "source= with data {} s apart and dt={}: an estimated time function needs data whose sampling is a multiple of dt=; choose such a dt=",
            own.step,
            shot.dt
        );
        Ok((steps - 1e-3).ceil().max(1.0) as usize)
    }

    /// Gives the data their axis of time.
    pub fn head(&self, data: &mut Output) {
        if let Some(own) = &self.times {
            data.set_axis(3, &own.axis);
        }
    }

    /// A checksum of the times, to compare saved states with the run; `None` if they equal the times of the records.
    pub fn content(&self) -> Option<(&'static str, u64)> {
        let own = self.times.as_ref()?;
        let words = format!("{} {} {}", own.axis.n, own.axis.o, own.step);
        Some(("the times of the data", Checksum::new().with_text(&words).end()))
    }

    /// Prints the line of `verb=y`.
    pub fn print_summary(&self, job: &Job) {
        if let Some(own) = &self.times {
            job.say(&format!(
                "data: {} times from {} s on, {} s apart; {}",
                own.axis.n, own.axis.o, own.step, own.how
            ));
        }
    }
}

impl SetUp {
    /// Takes the times of observed data from their header, and refuses data of another survey; `what` describes in
    /// messages what the data are for.
    pub fn take_data(&mut self, job: &Job, input: &Input, what: &str) -> anyhow::Result<()> {
        self.check_shape(input, what)?;
        let modelled = Modelled {
            quantity: self.run.quantity,
            components: &outputs::components(&self.run),
            or: None,
        };
        same_kind(input, &modelled)?;
        observed::warn_of_clock(job, input, self.run.timing.exact.is_some());
        let (shot, timing) = (&self.run.shot, &self.run.timing);
        if let Some(axis) = self.sampling.times.as_ref().map(|own| &own.axis) {
            let DataTimes { first, step, count } = DataTimes::of(input);
            let near = |a: f64, b: f64, share: f64| (a - b).abs() <= share;
            ensure!(
                count == axis.n
                    && near(step, axis.d.into(), 1e-3 * step.abs())
                    && near(first, 0.0, 0.1 * shot.dt),
                "{} has n3={count} o3={first} d3={step}, but dtout= means n3={} o3=0 d3={}: leave out \
                dtout=, so that the header counts",
                input.name(),
                axis.n,
                axis.d
            );
            return Ok(());
        }
        let recorded = Recorded {
            begin: 0.0,
            first: shot.quantity.first_time() * shot.dt,
            dt: shot.dt,
            steps: timing.steps,
            jdata: self.run.jdata,
        };
        match observed::times(job, input, &recorded)? {
            DataSampling::AsTheyAre => {}
            DataSampling::OfTheFirst(times) => self.sampling = Sampling::beginning(self, times),
            DataSampling::Resampled(times) => self.sampling = Sampling::at(self, times),
        }
        Ok(())
    }

    /// Refuses data of other receivers, components or shots.
    fn check_shape(&self, input: &Input, what: &str) -> anyhow::Result<()> {
        let lengths = [1, 2, 3, 4].map(|i| input.axis(i).n);
        let components = self.run.shot.quantity.components(self.run.padded.ndim());
        let expected = [self.run.shot.receivers.len(), components];
        // If only some shots are picked, data of all shots can be used, too.
        let shots = [self.shots(), self.run.spreads.picks.whole()];
        if lengths[..2] == expected
            && lengths[2] > 0
            && shots.contains(&lengths[3])
            && input.len() == lengths.iter().product::<usize>() as u64
        {
            return match self.run.spreads.picks_alone(input) {
                true => self.run.spreads.same_shots(input),
                false => Ok(()),
            };
        }
        bail!(observed::of_another_survey(input, what, expected, shots));
    }
}
