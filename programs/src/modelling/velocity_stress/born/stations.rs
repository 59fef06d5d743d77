//! Where the shots of a survey are made, one after the other, and what all of them together are.

use super::super::Run;
use super::super::spreads::move_to;
use super::memory::WayBack;
use super::sampling::Sampling;
use crate::modelling::checkpoint::Checksum;
use crate::modelling::machine::Machine;
use crate::modelling::picks::Picks;
use crate::modelling::shots::{self, Made, Outcome, Worker};
use crate::modelling::world::World;
use anyhow::{Context, bail};
use kernels::medium::Symmetry;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, Wanted};
use kernels::methods::velocity_stress::{Linearised, calibrate_linearised};
use rsf_io::{Input, Job};
use std::sync::{Mutex, PoisonError};

/// Whether shots have a way back.
#[derive(Clone, Copy)]
pub enum Ways<'a> {
    /// They have none.
    Forward,
    /// They have one, with these images if any are asked for.
    Back(Option<&'a Wanted>),
}

impl<'a> Ways<'a> {
    /// The images that are asked for.
    pub fn images(self) -> Option<&'a Wanted> {
        match self {
            Self::Back(images) => images,
            Self::Forward => None,
        }
    }
}

/// A machine with its operator.
pub struct Station {
    /// The operator.
    pub born: Born<f32>,
    /// How its data are made of its records.
    pub sampling: Sampling,
    run: Run,
    way: Option<WayBack>,
    shots: usize,
}

/// What a station makes of a shot.
pub type Work<'a> = &'a (dyn Fn(usize, &Station) -> anyhow::Result<Made> + Sync);

impl Station {
    /// For a survey of so many shots.
    pub fn new(run: Run, (born, sampling): (Born<f32>, Sampling), shots: usize) -> Self {
        Self {
            born,
            sampling,
            run,
            way: None,
            shots,
        }
    }

    /// Chooses the way back; so many stations share the memory of the host.
    pub fn choose_way(&mut self, job: &Job, images: Option<&Wanted>, sharing: usize) -> anyhow::Result<()> {
        let way = WayBack::choose(job, &mut self.born, (self.run.shot.nt, sharing), images)?;
        self.way = Some(way);
        Ok(())
    }

    /// Numbers of the data of a shot.
    pub fn count(&self) -> usize {
        self.sampling.count().unwrap_or(self.born.records()) * self.born.values()
    }

    /// The way back that was chosen.
    pub fn schedule(&self) -> anyhow::Result<&CheckpointSchedule> {
        let way = self.way.as_ref().context("no way back was chosen")?;
        Ok(&way.schedule)
    }

    /// Tells of the way back, if there is one.
    pub fn tell(&self, job: &Job) {
        if let Some(way) = &self.way {
            way.tell(job);
        }
    }

    /// Seconds of a shot, from a small grid that is timed now.
    pub fn seconds(&self, (machine, class): (&Machine, Symmetry), ways: Ways<'_>) -> anyhow::Result<f64> {
        let what = match ways {
            Ways::Forward => Linearised::Forward,
            Ways::Back(None) => Linearised::Back,
            Ways::Back(Some(wanted)) => Linearised::Images(wanted),
        };
        let (shot, padded, gpu) = (&self.run.shot, &self.run.padded, machine.open()?.pop());
        let on = (gpu.as_ref(), &machine.cpu);
        let step = calibrate_linearised(shot, padded, (class, what), on)?;
        let step = step.map(|seconds| seconds * padded.cells() as f64);
        Ok(match &self.way {
            Some(way) => way.seconds(step),
            None => step[1] * shot.nt as f64,
        })
    }

    /// What `work` makes of a shot, with how far its waves have drifted as its last word.
    fn make(&mut self, number: usize, work: Work<'_>) -> anyhow::Result<Made> {
        if self.shots > 1 {
            move_to(&self.run.spreads, &mut self.run.shot, number);
            self.born.next_shot(&self.run.shot)?;
        }
        let made = work(number, self);
        let mut made = match self.shots {
            1 => made?,
            _ => made.with_context(|| format!("shot {}", self.run.spreads.picks.number(number)))?,
        };
        let drift = self.born.drift().unwrap_or(f64::NAN);
        made.words.push(drift.to_bits());
        Ok(made)
    }
}

/// Lets all stations of all ranks make the shots from number `first` on, and rank 0 `take` them in their order. How far waves have drifted
/// that ran backwards, on rank 0.
pub fn stack(
    mut stations: Vec<Station>,
    (first, shots): (usize, usize),
    world: &World,
    work: Work<'_>,
    take: &mut dyn FnMut(usize, Made) -> anyhow::Result<()>,
) -> anyhow::Result<Option<f64>> {
    let todo: Vec<usize> = (first..shots).collect();
    stations.truncate(shots::of_rank(&todo, world).len());
    let worker =
        |mut station: Station| -> Worker<'_> { Worker::one_by_one(move |number| station.make(number, work)) };
    let workers = stations.into_iter().map(worker).collect();
    let mut drifted: Option<f64> = None;
    let taken = shots::in_order(&todo, (workers, 1), world, &mut |number, outcome| match outcome {
        Outcome::Made(mut made) => {
            let drift = made.words.pop().map_or(f64::NAN, f64::from_bits);
            if !drift.is_nan() {
                drifted = Some(drifted.map_or(drift, |before| before.max(drift)));
            }
            take(number, made)
        }
        Outcome::Failed(error) => Err(error),
        Outcome::Stopped(signal) => bail!("{signal} has ended the run"),
    });
    match taken {
        Ok(()) => Ok(drifted),
        // The other ranks do not know of it.
        Err(error) => Err(world.fail(error)),
    }
}

/// The data of a survey, and what lies beside them, for all stations.
pub struct Records {
    inputs: Mutex<Vec<Input>>,
    /// Numbers of a shot.
    count: usize,
    picks: Picks,
    names: Vec<String>,
}

impl Records {
    /// Of inputs that have so many numbers for each of the shots that are picked, or for each of the survey; `several` stations read
    /// them.
    pub fn new(
        job: &mut Job,
        inputs: Vec<Input>,
        (count, picks): (usize, &Picks),
        several: bool,
    ) -> anyhow::Result<Self> {
        let names = inputs.iter().map(Input::name).collect();
        let inputs = inputs.into_iter().map(|input| match several {
            true => Ok(job.by_position(input)?),
            false => Ok(input),
        });
        Ok(Self {
            inputs: Mutex::new(inputs.collect::<anyhow::Result<_>>()?),
            count,
            picks: picks.clone(),
            names,
        })
    }

    /// Names of the inputs.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers of a shot in every input, and their checksums. Inputs that have one order are read in that.
    pub fn shot(&self, number: usize) -> anyhow::Result<(Vec<Vec<f32>>, Vec<u64>)> {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut all, mut sums) = (Vec::new(), Vec::new());
        for input in inputs.iter_mut() {
            let place = match input.len() == (self.picks.whole() * self.count) as u64 {
                true => self.picks.number(number) - 1,
                false => number,
            };
            let values = finite(input, (place * self.count) as u64, self.count)?;
            sums.push(Checksum::new().with(&values).end());
            all.push(values);
        }
        Ok((all, sums))
    }
}

/// So many numbers of an input from number `first` on.
pub fn finite(input: &mut Input, first: u64, count: usize) -> anyhow::Result<Vec<f32>> {
    let mut values = vec![0.0; count];
    if input.is_seekable() {
        input.read_f32_at(first, &mut values)?;
    } else {
        let passed = input.len() - input.remaining();
        input.skip(first.saturating_sub(passed))?;
        input.read_f32(&mut values)?;
    }
    if let Some(bad) = values.iter().position(|x| !x.is_finite()) {
        bail!(
            "{}: value {} is {}; all must be finite numbers",
            input.name(),
            first + bad as u64 + 1,
            values[bad]
        );
    }
    Ok(values)
}
