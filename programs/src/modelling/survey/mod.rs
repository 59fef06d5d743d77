//! Several shots in one run: a shot that fails is reported and leaves zeros, and the others continue. Each of several
//! ranks, and each group of GPUs or threads in it, computes whole shots; rank 0 writes them.

pub mod finished;
mod ledger;
pub mod shot;
mod station;

use crate::modelling::checkpoint::Wishes;
use crate::modelling::machine::{Machine, at_the_same_time};
use crate::modelling::model::Opened;
use crate::modelling::record::Outputs;
use crate::modelling::shots::{self, Workers};
use crate::modelling::spreads::Spreads;
use crate::modelling::words::counted;
use crate::modelling::world::{World, share_stdin};
use anyhow::{anyhow, bail, ensure};
use finished::{DataFile, Finished, InputChecksums};
use kernels::device::gpu::Gpu;
use ledger::Ledger;
use rsf_io::{Job, Watch};
use shot::{Method, Resources};
use station::Station;
use std::sync::Arc;
use std::time::Instant;

/// The way in which the shots of a survey share the devices of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// The number of workers, each with its own streams: while one worker sets up shots and collects their records, the
    /// GPU runs the shots of the other.
    pub workers: usize,
    /// The largest number of shots that each of them runs side by side.
    pub shots: usize,
}

impl Sharing {
    /// One shot after another.
    pub const ONE_BY_ONE: Self = Self { workers: 1, shots: 1 };
}

/// A method whose programs run several shots.
pub trait Survey: Method<Engine: Send, Files: Opened<Volumes: Sync>> + Clone + Send {
    /// The sources and receivers of the shots.
    fn spreads(&self) -> &Spreads;

    /// The mechanism of each source at unit strength, in words.
    fn actions(&self) -> Vec<String> {
        Vec::new()
    }

    /// The quantities that are written for a shot: first the quantity of the data, then the quantities with separate
    /// files.
    fn data_files(&self) -> Vec<DataFile>;

    /// The number of values in a record as the engine produces it, and the number of records of a shot.
    fn records(&self) -> [usize; 2];

    /// Prints the needs of a shot; returns its expected seconds.
    fn plan_shot(&mut self, job: &Job, volumes: &Volumes<Self>, on: Resources<'_>) -> anyhow::Result<f64>;

    /// The way in which shots share the devices: several run side by side if one does not fill a GPU and the
    /// memory suffices.
    ///
    /// # Errors
    /// Returns an error if `groups=` requests more shots than fit.
    fn side_by_side(&self, _volumes: &Volumes<Self>, on: Resources<'_>) -> anyhow::Result<Sharing> {
        match on.machine.requested_shots {
            Some(groups) if groups > 1 => bail!(
                "groups= requests {groups} shots at a time on one GPU, but this method runs them one after \
                another on a GPU: give as many groups as there are GPUs, or let them share the CPU \
                (device=cpu)"
            ),
            _ => Ok(Sharing::ONE_BY_ONE),
        }
    }

    /// Sets the method to other shots, counted from 0; several shots run side by side.
    fn turn_to(&mut self, numbers: &[usize]);

    /// Prepares the engine for the shots; the engine is `None` before the first. Returns the findings about
    /// the model if it was read.
    fn again(
        &mut self,
        job: &Job,
        volumes: &Volumes<Self>,
        on: Resources<'_>,
        engine: &mut Option<Self::Engine>,
    ) -> anyhow::Result<Option<Self::Report>>;
}

/// The volumes of the model, as a method reads them.
type Volumes<M> = <<M as Method>::Files as Opened>::Volumes;

/// Runs a program of the method `M` in `ndim` dimensions, one shot or several.
pub fn main<M: Survey>(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    let started = Instant::now();
    world.same_shot(job)?;
    if M::reads_stdin(job) {
        share_stdin(job, world)?;
    }
    let (shot, files) = world.agree(M::read(job, ndim))?;
    match shot.spreads().count() {
        1 if job.given("finished") => world.agree(Err(anyhow!(
            "finished= takes over shots that an earlier run of a survey has finished, but there is only one shot: leave it out; resume= continues one shot from a state that checkpoint= has saved"
        ))),
        1 if job.given("groups") => {
            job.warn("groups= is not used: each group models whole shots, but there is only one shot");
            shot::one(job, (shot, files), (world, started))
        }
        1 => shot::one(job, (shot, files), (world, started)),
        _ => several(job, (shot, files), world),
    }
}

/// Refuses parameters that need a single shot.
fn refuse(job: &Job, shots: usize) -> anyhow::Result<()> {
    let no = |what: &str| -> anyhow::Result<()> {
        bail!(
            "{what} requires a single shot, but this run has {shots} (n3= of sou= and rec=, or shots=): \
            leave it out, or pick one of them (shots=1)"
        )
    };
    if job.flag("snap")? {
        no("snap=y")?;
    }
    for key in ["pgv", "pgd", "pga", "checkpoint"] {
        if job.given(key) {
            no(&format!("{key}="))?;
        }
    }
    ensure!(
        !job.given("resume"),
        "resume= continues one shot from a state that checkpoint= has saved, but sou= and rec= have {shots} \
        (n3=): finished= takes the data of an earlier run of the survey, and only the missing shots are modelled"
    );
    Ok(())
}

fn several<M: Survey>(job: &mut Job, (mut shot, files): (M, M::Files), world: &World) -> anyhow::Result<()> {
    let shots = shot.spreads().count();
    world.agree(refuse(job, shots))?;
    let ndim = shot.pieces().ndim();
    let tile = world.agree(shot.tile(job))?;
    let machines = Machine::groups(job, shot.pieces(), None, world)?.into_iter();
    let machines: Vec<Machine> = machines.map(|machine| machine.with_tile(job, tile)).collect();
    let planning = job.flag("plan")?;
    if job.is_dry_run() && !planning {
        return shot.open(job, world)?.header_only();
    }
    let gpus = at_the_same_time(&machines, Machine::open);
    let (gpus, held) = (world.agree(gpus)?, files.held());
    let on = |world| Resources {
        machine: &machines[0],
        gpus: &gpus[0],
        held,
        world,
    };
    if !planning || gpus[0].is_empty() {
        shot.check_memory(job, on(world))?;
    }
    let volumes = world.agree(files.volumes(ndim, None))?;
    // A plan that has nothing to compare does not read the model.
    let checksums = match planning && !job.given("finished") {
        true => None,
        false => input_checksums(&shot, &volumes, world)?,
    };
    if planning {
        let alone = World::alone();
        let sharing = world.agree(shot.side_by_side(&volumes, on(&alone)))?;
        let seconds = world.agree(shot.plan_shot(job, &volumes, on(&alone)))?;
        let todo = finished(job, &shot, &checksums, world)?.1;
        let workers = machines.len() * sharing.workers;
        let batch = shots::batch(shots::of_rank(&todo, world).len(), workers, sharing.shots);
        let together = (machines.len(), batch * sharing.workers, seconds);
        let words = shots::plan((shots, todo.len()), together, world)?;
        job.say(&format!("that is one shot: {words}"));
        return Ok(());
    }
    world.agree(Wishes::read(job, shot.steps()))?;
    let alone = World::alone();
    let sharing = world.agree(shot.side_by_side(&volumes, on(&alone)))?;
    let (finished, todo) = finished(job, &shot, &checksums, world)?;
    let own = shots::of_rank(&todo, world).len();
    let batch = shots::batch(own, machines.len() * sharing.workers, sharing.shots);
    let mut outputs = shot.open(job, world)?;
    if let Some(checksums) = &checksums {
        checksums.write_to(&mut outputs);
    }
    let device = machines[0].describe(None);
    outputs.note(&device);
    job.say(&device);
    let together = (batch * sharing.workers).min(own.div_ceil(machines.len()));
    if together > 1 && machines[0].has_gpus() && job.flag("verb")? {
        let batches = match together > batch {
            true => format!(
                ", in {} batches: one computes while the processors work on the records of the other",
                sharing.workers
            ),
            false => String::new(),
        };
        job.say(&format!("{together} shots run side by side on each GPU{batches}"));
    }
    let opened = outputs.into_data();
    let mut ledger = opened.map(|files| Ledger::new(job, &shot, files, finished));
    let groups = machines.len();
    let workers = workers((machines, gpus), sharing, world)?.into_iter().enumerate();
    let stations = workers.map(|(k, on)| {
        let reports = world.leads() && k == 0;
        let shows = (reports, reports && groups == 1);
        Station::new(job, shot.clone(), &volumes, held, on, shows)
    });
    run((stations.collect(), batch), &todo, world, &mut ledger)
}

/// A machine with its GPUs.
type Equipped = (Machine, Vec<Arc<Gpu>>);

/// The machines of all workers: first the chosen machines, then each of them again for every further worker that shares
/// it.
fn workers(
    (machines, gpus): (Vec<Machine>, Vec<Vec<Arc<Gpu>>>),
    sharing: Sharing,
    world: &World,
) -> anyhow::Result<Vec<Equipped>> {
    let again = |machine: &Machine| Ok((machine.another()?, machine.open()?));
    let further = (1..sharing.workers).map(|_| at_the_same_time(&machines, again));
    let further = world.agree(further.collect::<anyhow::Result<Vec<_>>>())?;
    let first = machines.into_iter().zip(gpus);
    Ok(first.chain(further.into_iter().flatten()).collect())
}

/// The checksums of the inputs of the shots, on rank 0.
fn input_checksums<M: Survey>(
    shot: &M,
    volumes: &Volumes<M>,
    world: &World,
) -> anyhow::Result<Option<InputChecksums>> {
    world.agree(match world.leads() {
        true => InputChecksums::of(shot, volumes).map(Some),
        false => Ok(None),
    })
}

/// Writes the checksums of the inputs of a picked shot to the headers, because a later run of more shots may
/// take it over.
pub fn write_checksums_of_picked<M: Survey>(
    shot: &M,
    volumes: &Volumes<M>,
    outputs: &mut Outputs,
    world: &World,
) -> anyhow::Result<()> {
    if shot.spreads().picks.listed().is_some()
        && let Some(checksums) = input_checksums(shot, volumes, world)?
    {
        checksums.write_to(outputs);
    }
    Ok(())
}

/// The shots that an earlier run has finished, on rank 0, and the shots that remain to be computed, on all ranks.
fn finished<M: Survey>(
    job: &mut Job,
    shot: &M,
    checksums: &Option<InputChecksums>,
    world: &World,
) -> anyhow::Result<(Finished, Vec<usize>)> {
    let shots = shot.spreads().count();
    let opened = match checksums {
        Some(checksums) => {
            let of = (shot.spreads(), shot.timing().exact.is_some());
            Finished::open(job, &shot.data_files(), (of, checksums))
        }
        None => Ok(Finished::default()),
    };
    let opened = world.agree(opened)?;
    let todo: Vec<u64> = opened.todo(shots).into_iter().map(|n| n as u64).collect();
    let todo = world.from_first(&todo)?;
    Ok((opened, todo.into_iter().map(|n| n as usize).collect()))
}

/// Computes the shots of `todo`; rank 0 has the ledger.
fn run<M: Survey>(
    (mut stations, batch): (Vec<Station<'_, M>>, usize),
    todo: &[usize],
    world: &World,
    ledger: &mut Option<Ledger<'_>>,
) -> anyhow::Result<()> {
    // From now on a signal waits for the end of a step.
    let _watch = Watch::begin();
    let own = shots::of_rank(todo, world);
    // Errors of the model concern every shot, so they end the run here.
    stations.truncate(own.len().div_ceil(batch));
    let all = stations.iter_mut().zip(own.chunks(batch));
    world.agree(at_the_same_time(all, |(station, first)| station.begin(first)))?;
    let workers = Workers {
        all: stations.into_iter().map(Station::worker).collect(),
        batch,
        ahead: false,
    };
    let taken = shots::in_order(todo, workers, world, &mut |number, outcome| match ledger {
        Some(ledger) => ledger.take(number, outcome),
        None => Ok(()),
    });
    let ended = match (taken, ledger.take()) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(ledger)) => ledger.end(),
        // The other ranks do not know of the error.
        (Err(error), None) => return Err(world.fail(error)),
        (Err(error), Some(ledger)) => return Err(world.fail(ledger.broken_off(error))),
    };
    world.agree(ended)
}

/// The message of a survey that has taken over shots.
fn taken_over(finished: usize, shots: usize) -> String {
    format!(
        "{} of {shots} taken over from finished=",
        counted(finished, "shot")
    )
}
