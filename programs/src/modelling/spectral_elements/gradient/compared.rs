//! How the records of a mesh are compared with data: exact time, times of their own, axes of stations, weights.

use super::super::{Run, outputs};
use crate::modelling::exact_time::Operator;
use crate::modelling::observed::{self, DataTimes, Recorded};
use crate::modelling::picks::Picks;
use crate::modelling::resample::{Samples, Times};
use crate::modelling::turn::Turn;
use anyhow::bail;
use kernels::misfit::{Misfit, Observed};
use rsf_io::{Input, Job};

/// The data, and what is made of records before they are compared with them.
pub struct Compared {
    kind: Misfit,
    data: Input,
    weight: Option<Input>,
    /// Numbers of a record, and of a shot.
    values: usize,
    count: usize,
    picks: Picks,
    exact: Option<Operator>,
    samples: Option<Samples>,
    turn: Option<Turn>,
}

impl Compared {
    /// As the command line and the header of the data say.
    pub fn read<const D: usize>(job: &mut Job, run: &Run<D>, data: Input) -> anyhow::Result<Self> {
        let [receivers, components] = [run.receivers.n, run.shot.quantity.components(D)];
        let found = [1, 2, 3, 4].map(|i| data.axis(i).n);
        let shots = [run.spreads.count(), run.spreads.picks.whole()];
        if found[..2] != [receivers, components]
            || !shots.contains(&found[3])
            || data.len() != found.iter().product::<usize>() as u64
        {
            bail!(
                "{} has n1={} n2={} n3={} n4={} and {} values; this program takes data of this survey: n1={receivers} receivers, n2={components} components, n3 times, n4={} shots (or all {})",
                data.name(),
                found[0],
                found[1],
                found[2],
                found[3],
                data.len(),
                shots[0],
                shots[1]
            );
        }
        if found[3] == shots[0] && shots[0] != shots[1] {
            let listed = data.header().text("shots");
            let axes = [&data.axis(4), &run.spreads.axis];
            run.spreads.picks.same(&data.name(), listed.as_deref(), axes)?;
        }
        if let Some(quantity) = data
            .header()
            .text("quantity")
            .filter(|found| *found != run.quantity)
        {
            bail!(
                "{} holds {quantity}, and this run models {}: give the data= of the data",
                data.name(),
                run.quantity
            );
        }
        observed::tell_clock(job, &data, run.timing.exact.is_some());
        let weight = observed::weight(job, &data)?;
        let exact = run
            .timing
            .correction(outputs::taken(&run.shot), run.jdata)
            .map(Operator::new);
        Ok(Self {
            kind: observed::kind(job)?,
            samples: samples(job, run, &data)?,
            values: receivers * components,
            count: found[..3].iter().product(),
            picks: run.spreads.picks.clone(),
            turn: (!run.frames.is_empty()).then(|| Turn::new(&run.frames)),
            exact,
            data,
            weight,
        })
    }

    /// The data of a shot, with their weights.
    pub fn observed(&mut self, shot: usize) -> anyhow::Result<Observed<f32>> {
        let (count, picks) = (self.count, &self.picks);
        let of = |input: &mut Input| observed::of_shot(input, picks, count, shot);
        let values = of(&mut self.data)?;
        let weight = self.weight.as_mut().map(of).transpose()?;
        Ok(Observed::new(self.values, values, weight)?)
    }

    /// The misfit of the records of a shot, `[record][component][receiver]`, and its derivative by them.
    pub fn judge(&self, mut records: Vec<f32>, observed: &Observed<f32>) -> (f64, Vec<f32>) {
        let each = |records: Vec<f32>, turn: &dyn Fn(&[f32]) -> Vec<f32>| -> Vec<f32> {
            records.chunks_exact(self.values).flat_map(turn).collect()
        };
        if let Some(turn) = &self.turn {
            records = each(records, &|record| turn.apply(record));
        }
        if let Some(exact) = &self.exact {
            records = exact.of(records);
        }
        if let Some(samples) = &self.samples {
            records = samples.of(&records);
        }
        let (misfit, mut residual) = self.kind.of(&records, observed);
        if let Some(samples) = &self.samples {
            residual = samples.transposed(&residual);
        }
        if let Some(exact) = &self.exact {
            residual = exact.transposed(residual);
        }
        if let Some(turn) = &self.turn {
            residual = each(residual, &|record| turn.transposed(record));
        }
        (misfit, residual)
    }
}

/// How records become data at the times that a header tells, where those are others.
fn samples<const D: usize>(job: &Job, run: &Run<D>, data: &Input) -> anyhow::Result<Option<Samples>> {
    let recorded = Recorded {
        begin: run.begin,
        first: run.begin,
        dt: run.dt,
        steps: run.timing.steps,
        jdata: run.jdata,
    };
    let found = observed::times(job, data, &recorded)?;
    Ok(found.map(|DataTimes { first, step, count }| {
        let times = Times {
            first: run.begin - first,
            dt: run.dt,
            step,
            count,
        };
        Samples::new(&times, run.timing.steps)
    }))
}
