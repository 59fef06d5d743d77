//! The linear map from the records of the steps to data: it rotates them to the axes of stations, corrects
//! them to exact time and resamples them. This module also has its transpose.

use super::super::{Run, outputs};
use crate::earth::{OriginTime, origin_time};
use crate::modelling::components::{Modelled, same_kind};
use crate::modelling::exact_time::Operator;
use crate::modelling::observed::{self, DataSampling, DataTimes, Recorded, of_another_survey};
use crate::modelling::resample::{Samples, Times};
use crate::modelling::turn::Turn;
use anyhow::bail;
use rsf_io::{Input, Job};

/// A linear map from the records of a shot, `[record][component][receiver]`, to its data.
pub struct Readout {
    /// Numbers of a record.
    values: usize,
    turn: Option<Turn>,
    exact: Option<Operator>,
    samples: Option<Samples>,
}

impl Readout {
    /// The map to data at the times of the records of a run.
    pub fn new<const D: usize>(run: &Run<D>) -> Self {
        let correction = run.timing.correction(outputs::taken(&run.shot), run.jdata);
        Self {
            values: run.receivers.n * run.shot.quantity.components(D),
            turn: (!run.frames.is_empty()).then(|| Turn::new(&run.frames)),
            exact: correction.map(Operator::new),
            samples: None,
        }
    }

    /// The map to data at the times in their header.
    ///
    /// # Errors
    /// Returns an error for data of another survey or of another quantity, or times that do not fit the run.
    pub fn of_data<const D: usize>(job: &Job, run: &Run<D>, data: &Input) -> anyhow::Result<Self> {
        check(run, data)?;
        check_names(run, data)?;
        // Only earthquake files set an origin time, and 2-D programs do not read them.
        if D == 3 {
            check_origin(job, data)?;
        }
        observed::warn_of_clock(job, data, run.timing.exact.is_some());
        Ok(Self {
            samples: samples(job, run, data)?,
            ..Self::new(run)
        })
    }

    /// Numbers of a record.
    pub fn values(&self) -> usize {
        self.values
    }

    fn each(&self, records: &[f32], turn: impl Fn(&[f32]) -> Vec<f32>) -> Vec<f32> {
        records.chunks_exact(self.values).flat_map(turn).collect()
    }

    /// Converts records to data.
    pub fn of(&self, mut records: Vec<f32>) -> Vec<f32> {
        if let Some(turn) = &self.turn {
            records = self.each(&records, |record| turn.apply(record));
        }
        if let Some(exact) = &self.exact {
            records = exact.of(records);
        }
        if let Some(samples) = &self.samples {
            records = samples.of(&records);
        }
        records
    }

    /// The transpose of [`Readout::of`].
    pub fn transposed(&self, mut data: Vec<f32>) -> Vec<f32> {
        if let Some(samples) = &self.samples {
            data = samples.transposed(&data);
        }
        if let Some(exact) = &self.exact {
            data = exact.transposed(data);
        }
        if let Some(turn) = &self.turn {
            data = self.each(&data, |record| turn.transposed(record));
        }
        data
    }
}

/// Refuses data of other stations, or of the same stations in another order; data without names are accepted.
fn check_names<const D: usize>(run: &Run<D>, data: &Input) -> anyhow::Result<()> {
    let names = data.header().text("stations");
    let Some(names) = names.filter(|names| !names.is_empty() && !run.stations.is_empty()) else {
        return Ok(());
    };
    let codes: Vec<&str> = names.split(',').collect();
    if codes == run.stations {
        return Ok(());
    }
    let mut sorted = [codes.clone(), run.stations.iter().map(String::as_str).collect()];
    sorted.iter_mut().for_each(|names| names.sort_unstable());
    let what = match sorted[0] == sorted[1] {
        true => "the same ones in another order: put the lines of stations= into the order of the data",
        false => "others: give the stations of the data in stations=",
    };
    bail!(
        "{} has the stations {names}, but this run has {}: {what}. If the header is wrong, sfput stations={} corrects it",
        data.name(),
        run.stations.join(","),
        run.stations.join(",")
    )
}

/// Refuses data whose times are relative to an origin that is not the run's, if both have one. Origins that differ by
/// less than a hundredth of a step, or by less than 20 microseconds, are the same.
fn check_origin(job: &Job, data: &Input) -> anyhow::Result<()> {
    let (Some(other), Some(own)) = (OriginTime::of_header(data.header()), origin_time(job)?) else {
        return Ok(());
    };
    let same = match (other.zero(), own.zero()) {
        (Some(other), Some(own)) => (other - own).abs() < 0.01 * job.double("dt")?.max(2e-3),
        _ => other.origin == own.origin,
    };
    if same {
        return Ok(());
    }
    let (other, shown) = (other.words(), own.words());
    let [(_, origin), (_, shift)] = own.keys();
    bail!(
        "{} has times relative to {other} (origin_time, time_shift), but the times of this run are relative to \
        {shown}: sfput o3= sets the time of its first sample relative to {shown}, together with \
        origin_time={origin} time_shift={shift} (in Python from_stream(stream, \
        origin_time=obspy.UTCDateTime({origin}) + {shift}) does both)",
        data.name()
    )
}

/// Refuses data of another survey.
fn check<const D: usize>(run: &Run<D>, data: &Input) -> anyhow::Result<()> {
    let [receivers, components] = [run.receivers.n, run.shot.quantity.components(D)];
    let lengths = [1, 2, 3, 4].map(|i| data.axis(i).n);
    let shots = [run.spreads.count(), run.spreads.picks.whole()];
    if lengths[..2] != [receivers, components]
        || !shots.contains(&lengths[3])
        || data.len() != lengths.iter().product::<usize>() as u64
    {
        let expected = [receivers, components];
        bail!(of_another_survey(data, "this program", expected, shots));
    }
    if run.spreads.picks_alone(data) {
        run.spreads.same_shots(data)?;
    }
    let turned = outputs::is_turned(run);
    let components = outputs::records(run).components.label.unwrap_or_default();
    let or = match turned {
        true => "give the points of the receivers by rec= instead of stations=, which models z x y",
        false => "give the receivers by stations= instead of rec=, which models Z N E",
    };
    let modelled = Modelled {
        quantity: run.quantity,
        components: &components,
        or: Some(or).filter(|_| D == 3),
    };
    same_kind(data, &modelled)
}

/// The map from records to the times in the header of the data, if these differ from the times of the records or end
/// earlier.
fn samples<const D: usize>(job: &Job, run: &Run<D>, data: &Input) -> anyhow::Result<Option<Samples>> {
    let recorded = Recorded {
        begin: run.begin,
        first: run.begin,
        dt: run.dt,
        steps: run.timing.steps,
        jdata: run.jdata,
    };
    Ok(match observed::times(job, data, &recorded)? {
        DataSampling::AsTheyAre => None,
        DataSampling::OfTheFirst(times) => {
            let records = run.timing.steps.div_ceil(run.jdata);
            Some(Samples::first(times.count, records))
        }
        DataSampling::Resampled(DataTimes { first, step, count }) => {
            let times = Times {
                first: run.begin - first,
                dt: run.dt,
                step,
                count,
            };
            Some(Samples::new(&times, run.timing.steps))
        }
    })
}
