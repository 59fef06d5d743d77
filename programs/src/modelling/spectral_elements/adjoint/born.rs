//! Linearised modelling on meshes: the common part of `sfsemborn2d-gpu` and `sfsemborn3d-gpu`.

pub use super::params::{BORN_2D as PROGRAM_2D, BORN_3D as PROGRAM_3D};
use super::readout::Readout;
use super::station::{Station, at_work};
use super::{Opened, Progress, target};
use crate::modelling::acquisition::finite;
use crate::modelling::checkpoint::Sums;
use crate::modelling::checksum::Checksum;
use crate::modelling::linearised::kept::{Stack, Summed};
use crate::modelling::linearised::records::Records;
use crate::modelling::linearised::{meet, survey};
use crate::modelling::observed::name_transposed;
use crate::modelling::shots::ShotResult;
use crate::modelling::spectral_elements::outputs;
use crate::modelling::world::World;
use rsf_io::{Input, Job, Output};

/// Runs `sfsemborn2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<2>(job, world)
}

/// Runs `sfsemborn3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<3>(job, world)
}

fn run<const D: usize>(job: &mut Job, world: &World) -> anyhow::Result<()> {
    meet(job, world)?;
    let adjoint = job.flag("adj")?;
    if job.flag("plan")? {
        return Opened::<D>::read(job, world)?.plan(job, world, adjoint);
    }
    let input = world.agree(job.stdin().map_err(Into::into))?;
    let opened = Opened::<D>::read(job, world)?;
    match adjoint {
        true => back(job, &opened, input, world),
        false => forward(job, &opened, input, world),
    }
}

/// `adj=n`: from a perturbation to data.
fn forward<const D: usize>(
    job: &mut Job,
    opened: &Opened<D>,
    mut input: Input,
    world: &World,
) -> anyhow::Result<()> {
    world.agree(opened.target.check(&input))?;
    if job.is_dry_run() {
        let data = world.agree(data(job, opened, world))?;
        return Ok(data.map_or(Ok(()), Output::finish)?);
    }
    let count = input.len() as usize;
    let given = world.agree(finite(&mut input, 0, count))?;
    let change = world.agree(opened.target.change(&given, &opened.run))?;
    let contents = vec![("the perturbation", Checksum::new().with(&given).end())];
    let mut kept = opened.kept(job, contents, world)?;
    let mut data = world.agree(data(job, opened, world))?;
    let stations = opened.stations(job, false, world)?;
    let job: &Job = job;
    // The data file itself is continued, so a state does not contain any of it.
    world.agree(data.as_ref().map_or(Ok(()), |data| {
        kept.load(job, opened.run.sum, Sums::default())?;
        kept.watch(job, data);
        Ok(())
    }))?;
    let work = |_: usize, station: &mut Station<D>| {
        let records = station.linearised(&change)?;
        Ok(ShotResult {
            values: Readout::new(&station.run).of(records),
            ..ShotResult::default()
        })
    };
    let mut progress = Progress::new(job, opened.shots())?;
    let stations = at_work(stations, &work);
    let (clock, shots) = (kept.clock, kept.todo());
    let mut take = |number: usize, result: ShotResult| {
        let Some(data) = &mut data else { return Ok(()) };
        data.write_f32(&result.values)?;
        if let Some(progress) = &mut progress {
            progress.report(number, "");
        }
        kept.behind(&(number..number + 1), Some(data), Sums::default())
    };
    clock.shots(job, shots.len(), || {
        survey::each(stations, (shots.clone(), world), &mut take)
    })?;
    world.agree(data.map_or(Ok(()), |data| Ok(data.finish()?)))
}

/// The output of `adj=n`, on rank 0.
fn data<const D: usize>(job: &mut Job, opened: &Opened<D>, world: &World) -> anyhow::Result<Option<Output>> {
    let mut records = outputs::open(job, &opened.run, world)?;
    records.put_text(
        "linearised",
        "change of the data by the perturbation, to first order",
    );
    records.note(&opened.machine().describe(None));
    Ok(records.into_data().map(|(data, ..)| data))
}

/// The sum over the shots so far.
struct ShotSum<'a> {
    stack: Stack,
    /// Whether any number of the data was not zero, and whether single precision has lost numbers, as 1 or 0.
    nonzero: [u64; 1],
    lost: [u64; 1],
    progress: Option<Progress<'a>>,
}

impl Summed for ShotSum<'_> {
    fn sums(&mut self) -> Sums<'_> {
        let sums = self.stack.sums();
        sums.with("whether data are zero", 1, &mut self.nonzero).with(
            "whether numbers are lost",
            1,
            &mut self.lost,
        )
    }

    fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    fn note(&mut self, shot: usize, _: &[f32], words: &[u64]) {
        if let Some((&[nonzero, lost], sums)) = words.split_first_chunk() {
            self.nonzero[0] |= nonzero;
            self.lost[0] |= lost;
            self.stack.note_read(sums);
        }
        if let Some(progress) = &mut self.progress {
            progress.report(shot, "");
        }
    }
}

/// `adj=y`: from data to a perturbation.
fn back<const D: usize>(
    job: &mut Job,
    opened: &Opened<D>,
    input: Input,
    world: &World,
) -> anyhow::Result<()> {
    let readout = world.agree(Readout::of_data(job, &opened.run, &input))?;
    let mut kept = opened.kept(job, Vec::new(), world)?;
    let output = world.agree(perturbation(job, opened, world))?;
    if job.is_dry_run() {
        return Ok(output.map_or(Ok(()), Output::finish)?);
    }
    let stations = opened.stations(job, true, world)?;
    let (name, count) = (input.name(), (1..=3).map(|axis| input.axis(axis).n).product());
    let picks = &opened.run.spreads.picks;
    let records = world.agree(Records::new(
        job,
        vec![input],
        picks,
        (count, opened.machines.len() > 1),
    ))?;
    let job: &Job = job;
    let mut sum = ShotSum {
        stack: Stack::new("what has come back", opened.target.numbers(), kept.done()),
        nonzero: [0],
        lost: [0],
        progress: Progress::new(job, opened.shots())?,
    };
    kept.begin((job, opened.run.sum), &records, &mut sum, world)?;
    let work = |number: usize, station: &mut Station<D>| {
        let (given, sums) = records.shot(number)?;
        let data = given.concat();
        let nonzero = data.iter().any(|&x| x != 0.0);
        let (gradient, _) = station.derivatives(false, |_| Ok(readout.transposed(data)))?;
        let (values, lost) = opened
            .target
            .values(&gradient, &station.run, &opened.machine().cpu)?;
        Ok(ShotResult {
            values,
            own: Vec::new(),
            words: [&[nonzero, lost].map(u64::from)[..], &sums].concat(),
        })
    };
    let (clock, shots) = (kept.clock, kept.todo().len());
    clock.shots(job, shots, || {
        survey::sum(at_work(stations, &work), (&mut kept, &mut sum), world)
    })?;
    world.agree(output.map_or(Ok(()), |output| {
        if sum.nonzero == [0] {
            job.warn(&format!("{name} is zero everywhere, and so is the result"));
        }
        target::write(job, output, &sum.stack.total(), sum.lost != [0])
    }))
}

/// The output of `adj=y`, on rank 0.
fn perturbation<const D: usize>(
    job: &mut Job,
    opened: &Opened<D>,
    world: &World,
) -> anyhow::Result<Option<Output>> {
    if !world.leads() {
        return Ok(None);
    }
    let mut output = job.output()?;
    opened.target.head(&mut output);
    name_transposed(&mut output);
    output.put_note(&rsf_io::version(), &opened.machine().describe(None));
    Ok(Some(output))
}
