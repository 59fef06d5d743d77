//! Where the shots of a survey are made, one after the other, and what all of them together are.

use super::super::Run;
use super::super::spreads::move_to;
use super::memory::{For, ReverseSweep};
use super::sampling::Sampling;
use crate::modelling::checkpoint::Checksum;
use crate::modelling::machine::Machine;
use crate::modelling::observed::of_shot;
use crate::modelling::picks::Picks;
use crate::modelling::shots::{self, All, Made, Outcome, Worker};
use crate::modelling::world::World;
use anyhow::{Context, bail};
use kernels::device::cpu::Cpu;
use kernels::medium::Symmetry;
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, Wanted};
use kernels::methods::velocity_stress::{Linearised, calibrate_linearised};
use kernels::parallel::communicator::{Alone, Communicator};
use rsf_io::{Input, Job};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What shots are run for.
#[derive(Clone, Copy)]
pub enum Ways<'a> {
    /// The data of a perturbation.
    Forward,
    /// A reverse sweep, with these images if any are asked for.
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
    /// Processors for what is done with records.
    pub cpu: Cpu,
    /// How its data are made of its records.
    pub sampling: Sampling,
    run: Run,
    way: Option<ReverseSweep>,
    shots: usize,
    /// Whether all ranks share its shot.
    pub shared: bool,
}

/// The data of several shots, and checksums of every input for each of them.
type Given = (Vec<Vec<f32>>, Vec<Vec<u64>>);

/// What a station makes of shots that it runs side by side, with the ranks that share them.
pub type Work<'a> = &'a (dyn Fn(&[usize], &Station, &dyn Communicator) -> anyhow::Result<Vec<Made>> + Sync);

impl Station {
    /// For a survey of so many shots.
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

    /// Chooses the reverse sweep; so many runs share the memory of the host, of which so many bytes are free, a GPU runs so many batches at the
    /// same time, and `groups=` may ask for so many shots in each of them.
    pub fn choose_way(
        &mut self,
        job: &Job,
        images: Option<&Wanted>,
        ((sharing, free), batches, asked): ((usize, f64), usize, Option<usize>),
    ) -> anyhow::Result<()> {
        let of = For {
            steps: self.run.shot.nt,
            sharing,
            free,
            cells: self.run.padded.cells() / self.born.devices(),
            shots: self.shots,
            batches,
            asked,
            images,
        };
        self.way = Some(ReverseSweep::choose(job, &mut self.born, of)?);
        Ok(())
    }

    /// A station for other shots at the same time with as many threads of its own, whose operator is not on a device yet. Both share the
    /// medium.
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

    /// The reverse sweep that was chosen.
    pub fn clone_way(&self) -> Option<ReverseSweep> {
        self.way.clone()
    }

    /// Whether the reverse sweep that was chosen is as quick as another one.
    pub fn is_as_quick_as(&self, other: Option<&ReverseSweep>) -> bool {
        let both = self.way.as_ref().zip(other);
        both.is_none_or(|(own, other)| !other.schedule.beats(&own.schedule, self.run.shot.nt))
    }

    /// Shots that run side by side.
    pub fn side_by_side(&self) -> usize {
        self.way.as_ref().map_or(1, |way| way.side_by_side)
    }

    /// Shots that a GPU runs at the same time.
    pub fn at_a_time(&self) -> usize {
        self.way.as_ref().map_or(1, ReverseSweep::at_a_time)
    }

    /// Numbers of the data of a shot.
    pub fn count(&self) -> usize {
        self.sampling.count().unwrap_or(self.born.records()) * self.born.values()
    }

    /// The data of a shot of which these are the records.
    pub fn data(&self, records: Vec<f32>) -> Vec<f32> {
        let sampling = &self.sampling;
        self.cpu.install(|| sampling.data(records))
    }

    /// The transpose, for several shots.
    pub fn records(&self, data: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
        let sampling = &self.sampling;
        self.cpu.install(|| sampling.of_shots(data))
    }

    /// The schedule of the reverse sweep that was chosen.
    pub fn schedule(&self) -> anyhow::Result<&CheckpointSchedule> {
        let way = self.way.as_ref().context("no reverse sweep was chosen")?;
        Ok(&way.schedule)
    }

    /// Tells of the reverse sweep, if there is one.
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
        let (shot, padded, gpus) = (&self.run.shot, &self.run.padded, machine.open()?);
        let on = (gpus.first(), &machine.cpu);
        let step = calibrate_linearised(shot, padded, (class, what), on)?;
        // Several GPUs share the cells, those of other ranks among them.
        let cells = padded.cells() as f64 / self.born.devices().max(1) as f64;
        let step = step.map(|seconds| seconds * cells);
        Ok(match &self.way {
            Some(way) => way.seconds(step),
            None => step[1] * shot.nt as f64,
        })
    }

    /// What `work` makes of shots, each with how far its waves have drifted as its last word. Where one fails that runs side by side with
    /// others, all of them run once more, one by one.
    fn make(&mut self, numbers: &[usize], work: Work<'_>, ranks: &dyn Communicator) -> All {
        or_one_by_one(numbers, &mut |numbers| {
            let made = self.attempt(numbers, work, ranks);
            match (self.shots, numbers) {
                (2.., &[number]) => {
                    made.with_context(|| format!("shot {}", self.run.spreads.picks.number(number)))
                }
                _ => made,
            }
        })
    }

    fn attempt(
        &mut self,
        numbers: &[usize],
        work: Work<'_>,
        ranks: &dyn Communicator,
    ) -> anyhow::Result<Vec<Made>> {
        if self.shots > 1 {
            let shots = numbers.iter().map(|&number| {
                let mut shot = self.run.shot.clone();
                move_to(&self.run.spreads, &mut shot, number);
                shot
            });
            let shots: Vec<_> = shots.collect();
            self.born.next_shots(&shots)?;
        }
        let mut all = work(numbers, self, ranks)?;
        let drift = self.born.drift().unwrap_or(f64::NAN);
        all.iter_mut().for_each(|made| made.words.push(drift.to_bits()));
        Ok(all)
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
    if stations.first().is_some_and(|station| station.shared) {
        return shared(stations.remove(0), first..shots, world, (work, take));
    }
    let todo: Vec<usize> = (first..shots).collect();
    let own = shots::of_rank(&todo, world).len();
    stations.truncate(own);
    let most = room_of_all(stations.iter().map(Station::side_by_side));
    let batch = shots::batch(own, stations.len(), most);
    let worker = |mut station: Station| -> Worker<'_> {
        Worker::side_by_side(move |numbers| station.make(numbers, work, &Alone))
    };
    let workers = stations.into_iter().map(worker).collect();
    let mut drifted: Option<f64> = None;
    let taken = shots::in_order(
        &todo,
        (workers, batch),
        world,
        &mut |number, outcome| match outcome {
            Outcome::Made(mut made) => {
                let drift = made.words.pop().map_or(f64::NAN, f64::from_bits);
                drifted = larger(drifted, drift);
                take(number, made)
            }
            Outcome::Failed(error) => Err(error),
            Outcome::Stopped(signal) => bail!("{signal} has ended the run"),
        },
    );
    match taken {
        Ok(()) => Ok(drifted),
        // The other ranks do not know of it.
        Err(error) => Err(world.fail(error)),
    }
}

/// The same with shots that all ranks share: they make them one by one, and rank 0 takes them.
fn shared(
    mut station: Station,
    shots: Range<usize>,
    world: &World,
    (work, take): (Work<'_>, &mut dyn FnMut(usize, Made) -> anyhow::Result<()>),
) -> anyhow::Result<Option<f64>> {
    let mut drifted = None;
    for number in shots {
        for made in station.make(&[number], work, world.ranks()) {
            let taken = made.and_then(|mut made| {
                let drift = made.words.pop().map_or(f64::NAN, f64::from_bits);
                drifted = larger(drifted, drift);
                if world.leads() { take(number, made) } else { Ok(()) }
            });
            // The other ranks do not know of it.
            taken.map_err(|error| world.fail(error))?;
        }
    }
    Ok(drifted)
}

/// Shots that run side by side on every station, of which one may have less room than the others.
fn room_of_all(rooms: impl Iterator<Item = usize>) -> usize {
    rooms.min().unwrap_or(1)
}

/// What an attempt makes of shots side by side; where it fails with several of them, of one after the other.
fn or_one_by_one(numbers: &[usize], attempt: &mut dyn FnMut(&[usize]) -> anyhow::Result<Vec<Made>>) -> All {
    match attempt(numbers) {
        Ok(all) => all.into_iter().map(Ok).collect(),
        Err(error) if numbers.len() == 1 => vec![Err(error)],
        Err(_) => {
            let one = |number: &usize| or_one_by_one(std::slice::from_ref(number), attempt);
            numbers.iter().flat_map(one).collect()
        }
    }
}

/// The larger of what is known and the drift of one more shot, which is no number where no waves ran backwards.
fn larger(known: Option<f64>, drift: f64) -> Option<f64> {
    match drift.is_nan() {
        true => known,
        false => Some(known.map_or(drift, |known| known.max(drift))),
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
    /// Of inputs that have the data of each of the shots that are picked, or of each shot of the survey, which these stations read.
    pub fn new(
        job: &mut Job,
        inputs: Vec<Input>,
        picks: &Picks,
        stations: &[Station],
    ) -> anyhow::Result<Self> {
        let count = stations.first().map_or(0, Station::count);
        // Shots that run side by side may run once more, one by one.
        let several = stations.len() > 1 || stations.iter().any(|station| station.side_by_side() > 1);
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

    /// The numbers of several shots, those of every input one behind the other, and their checksums.
    pub fn of_shots(&self, numbers: &[usize]) -> anyhow::Result<Given> {
        let (mut all, mut sums) = (Vec::new(), Vec::new());
        for &number in numbers {
            let (given, of_shot) = self.shot(number)?;
            all.push(given.concat());
            sums.push(of_shot);
        }
        Ok((all, sums))
    }

    /// The numbers of a shot in every input, and their checksums. Inputs that have one order are read in that.
    pub fn shot(&self, number: usize) -> anyhow::Result<(Vec<Vec<f32>>, Vec<u64>)> {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut all, mut sums) = (Vec::new(), Vec::new());
        for input in inputs.iter_mut() {
            let values = of_shot(input, &self.picks, self.count, number)?;
            sums.push(Checksum::new().with(&values).end());
            all.push(values);
        }
        Ok((all, sums))
    }
}

#[cfg(test)]
mod tests {
    use super::{Made, larger, or_one_by_one, room_of_all};

    #[test]
    fn the_station_with_the_least_room_says_how_many_shots_run_side_by_side() {
        assert_eq!(room_of_all([4, 2, 3].into_iter()), 2);
        assert_eq!(room_of_all(std::iter::empty()), 1);
    }

    #[test]
    fn a_shot_that_fails_beside_others_takes_none_of_them_along() {
        let mut tried = Vec::new();
        let mut attempt = |numbers: &[usize]| {
            tried.push(numbers.to_vec());
            anyhow::ensure!(!numbers.contains(&7), "no memory");
            let made = |&number: &usize| Made {
                values: vec![number as f32],
                words: Vec::new(),
            };
            Ok(numbers.iter().map(made).collect())
        };
        let firsts = |all: super::All| -> Vec<Option<f32>> {
            all.into_iter()
                .map(|made| made.ok().map(|made| made.values[0]))
                .collect()
        };
        let found = firsts(or_one_by_one(&[4, 7, 9], &mut attempt));
        assert_eq!(found, [Some(4.0), None, Some(9.0)]);
        assert_eq!(firsts(or_one_by_one(&[7], &mut attempt)), [None]);
        assert_eq!(
            firsts(or_one_by_one(&[2, 3], &mut attempt)),
            [Some(2.0), Some(3.0)]
        );
        let wanted: [&[usize]; 6] = [&[4, 7, 9], &[4], &[7], &[9], &[7], &[2, 3]];
        assert_eq!(tried, wanted);
    }

    #[test]
    fn the_drift_of_a_survey_is_that_of_its_worst_shot() {
        let of = |drifts: &[f64]| drifts.iter().fold(None, |known, &drift| larger(known, drift));
        assert_eq!(of(&[2e-6, f64::NAN, 3e-6, 1e-6]), Some(3e-6));
        assert_eq!(of(&[f64::NAN, 0.0]), Some(0.0));
        assert_eq!(of(&[f64::NAN]), None);
    }
}
