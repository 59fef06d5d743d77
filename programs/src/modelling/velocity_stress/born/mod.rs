//! Linearised velocity-stress modelling: the common part of `sfvsborn2d-gpu` and `sfvsborn3d-gpu`; gradients and
//! images.

mod folder;
pub mod gradient;
pub mod image;
mod memory;
mod operator;
mod params;
mod placing;
mod sampling;
mod set_up;
mod stations;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::outputs;
use crate::modelling::acquisition::finite;
use crate::modelling::checkpoint::Sums;
use crate::modelling::checksum::Checksum;
use crate::modelling::linearised::kept::{Kept, Stack, Summed};
use crate::modelling::linearised::{meet, survey};
use crate::modelling::observed;
use crate::modelling::plan::gigabytes;
use crate::modelling::shots::ShotResult;
use crate::modelling::world::World;
use kernels::communicator::Communicator;
use rsf_io::{Input, Job, Output};
use sampling::Sampling;
use set_up::SetUp;
use stations::{Rest, Station, Ways, at_work, records_for};

/// Runs `sfvsborn2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsborn3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    meet(job, world)?;
    let (adjoint, planning) = (job.flag("adj")?, job.flag("plan")?);
    let input = match planning {
        true => None,
        false => Some(world.agree(job.stdin().map_err(Into::into))?),
    };
    let mut set_up = SetUp::read(job, ndim, world)?;
    set_up.sampling = world.agree(Sampling::of_output(job, &set_up))?;
    let checked = input.as_ref().map_or(Ok(()), |input| match adjoint {
        true => set_up.take_data(job, input, "adj=y"),
        false => set_up.check_perturbation(input),
    });
    world.agree(checked)?;
    let Some(mut input) = input else {
        return plan(job, set_up, adjoint, world);
    };
    if job.is_dry_run() {
        return header_only(job, &set_up, adjoint, world);
    }
    let (mut given, mut contents) = (Vec::new(), Vec::new());
    if !adjoint {
        let count = input.len() as usize;
        given = world.agree(finite(&mut input, 0, count))?;
        contents.push(("the perturbation", Checksum::new().with(&given).end()));
    }
    let kept = set_up.kept(job, contents, world)?;
    match adjoint {
        false => forward(job, (set_up, kept), &given, world),
        true => back(job, (set_up, kept), input, world),
    }
}

/// Prints the plan of `plan=y`.
fn plan(job: &Job, mut set_up: SetUp, adjoint: bool, world: &World) -> anyhow::Result<()> {
    if adjoint {
        return set_up.plan_survey(job, None, world);
    }
    let stations = set_up.stations(job, world, Ways::Forward)?;
    set_up.summary(job);
    job.say(&format!("device {}", set_up.machine().describe(None)));
    let born = &stations[0].born;
    world.agree(born.fits_side_by_side().map_err(Into::into))?;
    job.say(&format!(
        "adj=n: two fields of {} run side by side",
        gigabytes(born.sizes()[0] as f64)
    ));
    set_up.print_shots(job, &stations[0], Ways::Forward, world)
}

/// Writes the header of the output.
fn header_only(job: &mut Job, set_up: &SetUp, adjoint: bool, world: &World) -> anyhow::Result<()> {
    match adjoint {
        true => Ok(perturbation(job, set_up, world)?.map_or(Ok(()), Output::finish)?),
        false => Ok(records(job, set_up, world)?.map_or(Ok(()), Output::finish)?),
    }
}

/// The output of `adj=n`, on rank 0.
fn records(job: &mut Job, set_up: &SetUp, world: &World) -> anyhow::Result<Option<Output>> {
    let mut records = outputs::open(job, &set_up.run, world)?;
    records.put_text(
        "linearised",
        "change of the data by the perturbation, to first order",
    );
    records.note(&set_up.machine().describe(None));
    let mut data = records.into_data().map(|(data, ..)| data);
    if let Some(data) = &mut data {
        set_up.sampling.head(data);
    }
    Ok(data)
}

/// `adj=n`: from a perturbation to data.
fn forward(
    job: &mut Job,
    (mut set_up, mut kept): (SetUp, Kept),
    given: &[f32],
    world: &World,
) -> anyhow::Result<()> {
    let stations = set_up.stations(job, world, Ways::Forward)?;
    let mut data = records(job, &set_up, world)?;
    if job.flag("verb")? {
        set_up.summary(job);
    }
    // The data file itself is continued, so a state does not hold any of it.
    world.agree(data.as_ref().map_or(Ok(()), |data| {
        kept.load(job, set_up.model(), Sums::default())?;
        kept.watch(job, data);
        Ok(())
    }))?;
    let work = |_: &[usize], station: &Station, ranks: &dyn Communicator| {
        let mut values = Vec::with_capacity(station.born.records() * station.born.values());
        let mut take = |_: usize, _: &[f32], change: &[f32]| {
            values.extend_from_slice(change);
            Ok(())
        };
        station.born.forward_among(ranks, Some(given), &mut take)?;
        let values = station.data(values);
        let result = ShotResult {
            values,
            ..ShotResult::default()
        };
        Ok(Box::new(|| vec![result]) as Rest<'_>)
    };
    let stations = at_work(stations, &work, world);
    let (clock, shots) = (kept.clock, kept.todo());
    let mut take = |number: usize, result: ShotResult| {
        let Some(data) = &mut data else { return Ok(()) };
        data.write_f32(&result.values)?;
        kept.behind(&(number..number + 1), Some(data), Sums::default())
    };
    clock.shots(job, shots.len(), || {
        survey::each(stations, (shots.clone(), world), &mut take)
    })?;
    world.agree(data.map_or(Ok(()), |data| Ok(data.finish()?)))
}

/// The sum over the shots so far.
struct ShotSum {
    stack: Stack,
    /// 1 if any value of the data is not zero, otherwise 0.
    nonzero: [u64; 1],
}

impl Summed for ShotSum {
    fn sums(&mut self) -> Sums<'_> {
        self.stack
            .sums()
            .with("whether data are zero", 1, &mut self.nonzero)
    }

    fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    fn note(&mut self, _: usize, _: &[f32], words: &[u64]) {
        let (nonzero, sums) = words.split_first().unwrap_or((&0, &[]));
        self.nonzero[0] |= nonzero;
        self.stack.note_read(sums);
    }
}

/// `adj=y`: from data to a perturbation.
fn back(
    job: &mut Job,
    (mut set_up, mut kept): (SetUp, Kept),
    input: Input,
    world: &World,
) -> anyhow::Result<()> {
    let stations = set_up.stations(job, world, Ways::Back(None))?;
    let output = world.agree(perturbation(job, &set_up, world))?;
    if job.flag("verb")? {
        set_up.summary(job);
        stations[0].print_summary(job);
    }
    let name = input.name();
    let numbers = [stations[0].born.perturbation_len(), set_up.run.padded.model.n[0]];
    let mut sum = ShotSum {
        stack: Stack::new("what has come back", numbers, kept.done()),
        nonzero: [0],
    };
    let records = records_for(job, vec![input], &set_up.run, &stations);
    let records = world.agree(records)?;
    kept.begin((job, set_up.model()), &records, &mut sum, world)?;
    let work = |numbers: &[usize], station: &Station, ranks: &dyn Communicator| {
        let (given, sums) = records.of_shots(numbers)?;
        let nonzero: Vec<_> = given
            .iter()
            .map(|given| u64::from(given.iter().any(|&x| x != 0.0)))
            .collect();
        let given = station.records(given);
        let adjoints = station.born.adjoints_among(ranks, &given, station.schedule()?)?;
        Ok(Box::new(move || {
            let all = adjoints
                .by_parameters()
                .into_iter()
                .zip(nonzero.into_iter().zip(sums));
            let results = all.map(|(values, (nonzero, sums))| ShotResult {
                values,
                own: Vec::new(),
                words: [vec![nonzero], sums].concat(),
            });
            results.collect()
        }) as Rest<'_>)
    };
    let (clock, shots) = (kept.clock, kept.todo().len());
    let drift = clock.shots(job, shots, || {
        survey::sum(at_work(stations, &work, world), (&mut kept, &mut sum), world)
    })?;
    memory::report_drift(job, drift);
    let Some(mut output) = output else {
        return world.agree(Ok(()));
    };
    if sum.nonzero == [0] {
        job.warn(&format!("{name} is zero everywhere, and so is the result"));
    }
    let written = output
        .write_f32(&sum.stack.total())
        .and_then(|()| output.finish());
    world.agree(written.map_err(Into::into))
}

/// The output of `adj=y`, on rank 0.
fn perturbation(job: &mut Job, set_up: &SetUp, world: &World) -> anyhow::Result<Option<Output>> {
    if !world.leads() {
        return Ok(None);
    }
    let mut output = job.output()?;
    set_up::model_axes(&mut output, &set_up.run.padded.model, &set_up.names());
    observed::name_transposed(&mut output);
    output.put_note(&rsf_io::version(), &set_up.machine().describe(None));
    Ok(Some(output))
}
