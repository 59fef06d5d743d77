//! How the records of a mesh are compared with data: exact time, times of their own, axes of stations, weights.

use super::super::{Run, outputs};
use crate::modelling::acquisition::finite;
use crate::modelling::exact_time::{CLOCK, Operator};
use crate::modelling::picks::Picks;
use crate::modelling::resample::{Samples, Times};
use crate::modelling::turn::Turn;
use anyhow::{bail, ensure};
use kernels::misfit::{Misfit, Observed};
use rsf_io::{Axis, Input, Job};

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
        let [receivers, components] = [run.receivers.n, D];
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
        if data.header().text(CLOCK).is_some() && run.timing.exact.is_none() {
            job.warn(&format!(
                "{} is in exact time (tdc=y), and this run is not: give tdc=y",
                data.name()
            ));
        }
        let weight = match job.has_input("weight") {
            true => Some(job.input("weight")?),
            false => None,
        };
        if let Some(weight) = &weight {
            ensure!(
                weight.len() == data.len(),
                "{} has {} values and the data {}: a weight has one for each",
                weight.name(),
                weight.len(),
                data.len()
            );
        }
        let exact = run
            .timing
            .correction(outputs::taken(&run.shot), run.jdata)
            .map(Operator::new);
        Ok(Self {
            kind: match job.choice("kind")? {
                "correlation" => Misfit::Correlation,
                "envelope" => Misfit::Envelope,
                _ => Misfit::Squares,
            },
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
        let mut of = |input: &mut Input| {
            let place = match input.len() == (picks.whole() * count) as u64 {
                true => picks.number(shot) - 1,
                false => shot,
            };
            finite(input, (place * count) as u64, count)
        };
        let values = of(&mut self.data)?;
        let weight = self.weight.as_mut().map(&mut of).transpose()?;
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
    let Axis { n, o, d, .. } = data.axis(3);
    // What the header says, and not the nearest number of single precision.
    let [o, d] = [o, d].map(|x| format!("{x}").parse().unwrap_or(f64::from(x)));
    let (steps, jdata) = (run.timing.steps, run.jdata);
    let step = run.dt * jdata as f64;
    if (d - step).abs() <= 1e-3 * step && (o - run.begin).abs() <= 0.1 * run.dt {
        let wanted = steps.div_ceil(jdata);
        ensure!(
            n == wanted,
            "{} has n3={n} records and this run has {wanted} at the same times: give the nt= of the data",
            data.name()
        );
        return Ok(None);
    }
    ensure!(
        !job.given("jdata"),
        "{} has o3={o} d3={d}, and with jdata={jdata} the records of this run begin at {} s and are {step} s apart: leave jdata= out, and they are resampled to the times of the data",
        data.name(),
        run.begin
    );
    ensure!(
        d > 0.0 && d.is_finite() && o.is_finite(),
        "{} has o3={o} d3={d}: its third axis is time in s, and d3 is above 0",
        data.name()
    );
    let (last, whole) = (o + (n as f64 - 1.0) * d, run.begin + steps as f64 * run.dt);
    ensure!(
        last <= whole + 1e-3 * run.dt,
        "{} ends at {last} s (n3={n} o3={o} d3={d}) and this run at {whole} s: give a larger nt=, or take the beginning of the data by sfwindow n3=",
        data.name()
    );
    let times = Times {
        first: run.begin - o,
        dt: run.dt,
        step: d,
        count: n,
    };
    Ok(Some(Samples::new(&times, steps)))
}
