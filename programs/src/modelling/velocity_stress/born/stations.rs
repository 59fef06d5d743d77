//! Computes the shots of a survey on the devices of a group, one after another or several side by side.

use super::super::Run;
use super::super::spreads::move_to;
use super::memory::{For, ReverseSweep};
use super::sampling::Sampling;
use crate::modelling::linearised::records::Records;
use crate::modelling::linearised::survey::{Stations, or_one_by_one};
use crate::modelling::machine::Machine;
use crate::modelling::shots::{All, Begun, ShotResult, Worker};
use crate::modelling::world::World;
use anyhow::Context;
use kernels::communicator::{Alone, Communicator};
use kernels::device::cpu::Cpu;
use kernels::medium::Symmetry;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest};
use kernels::methods::velocity_stress::{Linearised, calibrate_linearised};
use rsf_io::{Input, Job};

/// The purpose for which shots run.
#[derive(Clone, Copy)]
pub enum Ways<'a> {
    /// The data of a perturbation.
    Forward,
    /// A reverse sweep, with these images if any are requested.
    Back(Option<&'a ImageRequest>),
}

impl<'a> Ways<'a> {
    /// The requested images.
    pub fn images(self) -> Option<&'a ImageRequest> {
        match self {
            Self::Back(images) => images,
            Self::Forward => None,
        }
    }
}

/// The devices of a group, with an operator.
pub struct Station {
    /// The operator.
    pub born: Born<f32>,
    /// Processors for the processing of records.
    pub cpu: Cpu,
    /// The linear map from its records to its data.
    pub sampling: Sampling,
    run: Run,
    way: Option<ReverseSweep>,
    shots: usize,
    /// Whether all ranks share its shot.
    pub shared: bool,
}

/// The remaining work on shots after their steps, which can be done while the station runs the next ones.
pub type Rest<'a> = Box<dyn FnOnce() -> Vec<ShotResult> + Send + 'a>;

/// The work of a station on shots that it runs side by side, with the ranks that share them.
pub type Work<'a> = &'a (dyn Fn(&[usize], &Station, &dyn Communicator) -> anyhow::Result<Rest<'a>> + Sync);

impl Station {
    /// A station for a survey of `shots` shots.
    pub fn new(run: Run, (born, cpu): (Born<f32>, Cpu), (shots, sampling): (usize, Sampling)) -> Self {
        Self {
            born,
            cpu,
            sampling,
            run,
            way: None,
            shots,
            shared: false,
        }
    }

    /// Chooses the reverse sweep. `sharing` runs share the memory of the host, of which `free` bytes are
    /// free. A GPU runs `batches` batches at the same time, each with `requested_shots` shots if `groups=` requests a
    /// number.
    pub fn choose_way(
        &mut self,
        job: &Job,
        images: Option<&ImageRequest>,
        ((sharing, free), batches, requested_shots): ((usize, f64), usize, Option<usize>),
    ) -> anyhow::Result<()> {
        let of = For {
            steps: self.run.shot.nt,
            sharing,
            free,
            cells: self.run.padded.cells() / self.born.devices(),
            shots: self.shots,
            batches,
            requested_shots,
            images,
        };
        self.way = Some(ReverseSweep::choose(job, &mut self.born, of)?);
        Ok(())
    }

    /// A station for other shots at the same time, with its own threads, whose operator has not been placed on a device
    /// yet. Both share the medium.
    pub fn another(&self, cpu: &Cpu) -> anyhow::Result<Self> {
        Ok(Self {
            born: self.born.another(cpu.another()?),
            cpu: cpu.another()?,
            sampling: self.sampling.clone(),
            run: self.run.clone(),
            way: self.way.clone(),
            shots: self.shots,
            shared: self.shared,
        })
    }

    /// A copy of the reverse sweep, once it is chosen.
    pub fn clone_way(&self) -> Option<ReverseSweep> {
        self.way.clone()
    }

    /// Whether the chosen reverse sweep is at least as fast as another; true if one of them is missing.
    pub fn is_as_quick_as(&self, other: Option<&ReverseSweep>) -> bool {
        let both = self.way.as_ref().zip(other);
        both.is_none_or(|(own, other)| !other.schedule.beats(&own.schedule, self.run.shot.nt))
    }

    /// Number of shots that run side by side.
    pub fn side_by_side(&self) -> usize {
        self.way.as_ref().map_or(1, |way| way.side_by_side)
    }

    /// Number of shots that a GPU runs at the same time.
    pub fn at_a_time(&self) -> usize {
        self.way.as_ref().map_or(1, ReverseSweep::at_a_time)
    }

    /// Number of values in the data of a shot.
    pub fn count(&self) -> usize {
        self.sampling.count().unwrap_or(self.born.records()) * self.born.values()
    }

    /// The data of a shot with these records.
    pub fn data(&self, records: Vec<f32>) -> Vec<f32> {
        let sampling = &self.sampling;
        self.cpu.install(|| sampling.data(records))
    }

    /// The transpose of [`Self::data`], for several shots.
    pub fn records(&self, data: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
        let sampling = &self.sampling;
        self.cpu.install(|| sampling.of_shots(data))
    }

    /// The schedule of the chosen reverse sweep.
    pub fn schedule(&self) -> anyhow::Result<&CheckpointSchedule> {
        let way = self.way.as_ref().context("no reverse sweep was chosen")?;
        Ok(&way.schedule)
    }

    /// Prints the reverse sweep, if there is one.
    pub fn print_summary(&self, job: &Job) {
        if let Some(way) = &self.way {
            way.print_summary(job);
        }
    }

    /// The expected seconds of a shot, from a small grid that is timed now.
    pub fn seconds(&self, (machine, class): (&Machine, Symmetry), ways: Ways<'_>) -> anyhow::Result<f64> {
        let what = match ways {
            Ways::Forward => Linearised::Forward,
            Ways::Back(None) => Linearised::Back,
            Ways::Back(Some(request)) => Linearised::Images(request),
        };
        let (shot, padded, gpus) = (&self.run.shot, &self.run.padded, machine.open()?);
        let on = (gpus.first(), &machine.cpu);
        let step = calibrate_linearised(shot, padded, (class, what), on)?;
        // Several GPUs share the cells, including those of other ranks.
        let cells = padded.cells() as f64 / self.born.devices().max(1) as f64;
        let step = step.map(|seconds| seconds * cells);
        Ok(match &self.way {
            Some(way) => way.seconds(step),
            None => step[1] * shot.nt as f64,
        })
    }

    /// Runs `work` for these shots; the last word of each result contains the bits of `Born::drift`. If one of several
    /// shots that run side by side fails, all of them are run again, one by one.
    pub fn make<'a>(&mut self, numbers: &[usize], work: Work<'a>, ranks: &dyn Communicator) -> Begun<'a> {
        let begun = or_one_by_one(numbers, &mut |numbers| {
            let begun = self.attempt(numbers, work, ranks);
            match (self.shots, numbers) {
                (2.., &[number]) => {
                    begun.with_context(|| format!("shot {}", self.run.spreads.picks.number(number)))
                }
                _ => begun,
            }
        });
        let rest = move || -> All {
            let of = |begun: anyhow::Result<Rest<'a>>| match begun {
                Ok(rest) => rest().into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            begun.into_iter().flat_map(of).collect()
        };
        match self.on_gpu() {
            true => Begun::Rest(Box::new(rest)),
            // The processors are free now, because they have run the steps themselves.
            false => Begun::Ended(rest()),
        }
    }

    /// Whether its steps run on a GPU, so that the processors are idle at that time.
    pub fn on_gpu(&self) -> bool {
        self.born.runs_on_device()
    }

    fn attempt<'a>(
        &mut self,
        numbers: &[usize],
        work: Work<'a>,
        ranks: &dyn Communicator,
    ) -> anyhow::Result<Rest<'a>> {
        if self.shots > 1 {
            let shots = numbers.iter().map(|&number| {
                let mut shot = self.run.shot.clone();
                move_to(&self.run.spreads, &mut shot, number);
                shot
            });
            let shots: Vec<_> = shots.collect();
            self.born.next_shots(&shots)?;
        }
        let rest = work(numbers, self, ranks)?;
        let drift = self.born.drift().unwrap_or(f64::NAN);
        Ok(Box::new(move || {
            let mut all = rest();
            all.iter_mut()
                .for_each(|result| result.words.push(drift.to_bits()));
            all
        }))
    }
}

/// Stations that do this work on every shot that they receive.
pub fn at_work<'a>(mut stations: Vec<Station>, work: Work<'a>, world: &'a World) -> Stations<'a> {
    if stations.first().is_some_and(|station| station.shared) {
        let mut station = stations.remove(0);
        return Stations::Shared(Box::new(move |number| {
            station.make(&[number], work, world.ranks())
        }));
    }
    let on_gpu = stations.iter().any(Station::on_gpu);
    let worker = |mut station: Station| {
        let side_by_side = station.side_by_side();
        let make = move |numbers: &[usize]| station.make(numbers, work, &Alone);
        (Worker::with_rest(make), side_by_side)
    };
    Stations::Own {
        all: stations.into_iter().map(worker).collect(),
        on_gpu,
    }
}

/// The inputs from which all these stations read the records of their shots.
pub fn records_for(
    job: &mut Job,
    inputs: Vec<Input>,
    run: &Run,
    stations: &[Station],
) -> anyhow::Result<Records> {
    let count = stations.first().map_or(0, Station::count);
    // Shots that run side by side may run once more, one by one.
    let several = stations.len() > 1 || stations.iter().any(|station| station.side_by_side() > 1);
    Records::new(job, inputs, &run.spreads.picks, (count, several))
}
