//! Linearised modelling by velocity and stress: what `sfvsborn2d-gpu` and `sfvsborn3d-gpu` share; beside it gradients and images.

mod folder;
pub mod gradient;
pub mod image;
mod kept;
mod memory;
mod params;
mod set_up;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::outputs;
use crate::modelling::checkpoint::{Checksum, Sums};
use crate::modelling::plan::gigabytes;
use crate::modelling::record::Outputs;
use crate::modelling::world::World;
use kept::Kept;
use kernels::methods::velocity_stress::born::Born;
use memory::WayBack;
use rsf_io::{Input, Job, Output};
use set_up::SetUp;

/// Runs `sfvsborn2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsborn3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    let adjoint = job.flag("adj")?;
    let planning = job.flag("plan")?;
    let input = if planning { None } else { Some(job.stdin()?) };
    let mut made = SetUp::read(job, ndim, world)?;
    if let Some(input) = &input {
        match adjoint {
            true => made.check_data(input, "adj=y")?,
            false => made.check_perturbation(input)?,
        }
    }
    if job.is_dry_run() && !planning {
        return header_only(job, &made, adjoint, world);
    }
    let (mut input, mut given, mut kept) = (input, Vec::new(), None);
    if let Some(input) = &mut input {
        let mut contents = Vec::new();
        if !adjoint {
            given = set_up::finite(input, input.len() as usize)?;
            contents.push(("the perturbation", Checksum::new().with(&given).end()));
        }
        kept = Some(Kept::open(job, &mut made, contents, world)?);
    }
    let mut born = made.born(job, world)?;
    let way = match adjoint {
        true => Some(WayBack::choose(job, &mut born, made.run.shot.nt, None)?),
        false => None,
    };
    let (Some(input), Some(kept)) = (input, kept) else {
        return plan(job, &made, &born, way);
    };
    match way {
        None => forward(job, (made, kept), born, (&given, world)),
        Some(way) => back(job, (made, kept), born, (input, way)),
    }
}

/// The answer of `plan=y`.
fn plan(job: &Job, made: &SetUp, born: &Born<f32>, way: Option<WayBack>) -> anyhow::Result<()> {
    made.summary(job);
    match way {
        None => {
            born.fits_side_by_side()?;
            job.say(&format!(
                "adj=n: two fields of {} run side by side",
                gigabytes(born.sizes()[0] as f64)
            ));
        }
        Some(way) => way.tell(job),
    }
    job.say("nothing was run (plan=y)");
    Ok(())
}

/// Writes the header of what would come out.
fn header_only(job: &mut Job, made: &SetUp, adjoint: bool, world: &World) -> anyhow::Result<()> {
    match adjoint {
        true => Ok(perturbation(job, made)?.finish()?),
        false => records(job, made, world)?.header_only(),
    }
}

/// Opens the output of `adj=n`.
fn records(job: &mut Job, made: &SetUp, world: &World) -> anyhow::Result<Outputs> {
    let mut records = outputs::open(job, &made.run, world)?;
    records.tell("linearised", "what the perturbation changes in the data");
    records.note(&made.machine.describe(None));
    if made.shots() > 1 {
        records.count_shots(&made.run.spreads.axis);
    }
    Ok(records)
}

/// A perturbation in, data out.
fn forward(
    job: &mut Job,
    (mut made, mut kept): (SetUp, Kept),
    mut born: Born<f32>,
    (given, world): (&[f32], &World),
) -> anyhow::Result<()> {
    let Some((mut data, _)) = records(job, &made, world)?.into_data() else {
        return Ok(());
    };
    if job.flag("verb")? {
        made.summary(job);
    }
    // The data go on where they are, so that a state holds nothing of them.
    kept.load(job, &made, Sums::default())?;
    kept.watch(job, &data);
    made.each_shot(kept.done(), &mut born, |number, born| {
        let mut written = Ok(());
        let mut take = |_: usize, _: &[f32], change: &[f32]| {
            if written.is_ok() {
                written = data.write_f32(change);
            }
            Ok(())
        };
        born.forward(Some(given), &mut take)?;
        written?;
        kept.behind(number, Some(&mut data), Sums::default())
    })?;
    Ok(data.finish()?)
}

/// What comes back of the shots so far.
struct Found {
    sum: Vec<f32>,
    /// Numbers of a line of the model.
    line: usize,
    /// 1 where any number of the data was not zero.
    heard: [u64; 1],
    /// Checksum of the data that were read.
    read: [u64; 1],
}

impl Found {
    /// What a state holds.
    fn sums(&mut self) -> Sums<'_> {
        Sums::default()
            .with("what has come back", self.line, &mut self.sum)
            .with("whether data are zero", 1, &mut self.heard)
            .with("the checksum of the data", 1, &mut self.read)
    }
}

/// Data in, a perturbation out.
fn back(
    job: &mut Job,
    (mut made, mut kept): (SetUp, Kept),
    mut born: Born<f32>,
    (mut input, way): (Input, WayBack),
) -> anyhow::Result<()> {
    let mut output = perturbation(job, &made)?;
    if job.flag("verb")? {
        made.summary(job);
        way.tell(job);
    }
    let count = born.records() * born.values();
    let mut found = Found {
        sum: vec![0.0; born.perturbation_len()],
        line: made.run.padded.model.n[0],
        heard: [0],
        read: [0],
    };
    kept.load(job, &made, found.sums())?;
    let mut read = kept.pass(&mut [&mut input], (count, found.read[0]))?;
    made.each_shot(kept.done(), &mut born, |number, born| {
        let given = read.shot(&mut [&mut input], count)?.concat();
        found.heard[0] |= u64::from(given.iter().any(|&x| x != 0.0));
        let back = born.adjoint(&given, &way.ladder)?;
        found.sum.iter_mut().zip(back).for_each(|(sum, x)| *sum += x);
        found.read = [read.sum()];
        kept.behind(number, None, found.sums())
    })?;
    memory::tell_drift(job, &born);
    if found.heard == [0] {
        job.warn(&format!(
            "{} is zero everywhere, and so is what comes back",
            input.name()
        ));
    }
    output.write_f32(&found.sum)?;
    Ok(output.finish()?)
}

/// The output of `adj=y`.
fn perturbation(job: &mut Job, made: &SetUp) -> anyhow::Result<Output> {
    let mut output = job.output()?;
    set_up::model_axes(&mut output, &made.run.padded.model, &made.names());
    output.put_note(&rsf_io::version(), &made.machine.describe(None));
    Ok(output)
}
