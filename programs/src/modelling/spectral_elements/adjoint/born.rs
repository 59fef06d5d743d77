//! Linearised modelling on meshes: what `sfsemborn2d-gpu` and `sfsemborn3d-gpu` share.

pub use super::params::{BORN_2D as PROGRAM_2D, BORN_3D as PROGRAM_3D};
use super::readout::Readout;
use super::{Opened, tell_linearised};
use crate::modelling::acquisition::finite;
use crate::modelling::machine;
use crate::modelling::observed::{name_transposed, of_shot};
use crate::modelling::spectral_elements::{outputs, plan};
use crate::modelling::world::World;
use kernels::methods::spectral_elements::adjoint::Adjoint;
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
    let (adjoint, planning) = (job.flag("adj")?, job.flag("plan")?);
    let input = match planning {
        true => None,
        false => Some(job.stdin()?),
    };
    let mut opened = Opened::<D>::read(job, world)?;
    match (input, adjoint) {
        (None, _) => opened.plan(job, adjoint),
        (Some(input), true) => back(job, opened, input),
        (Some(input), false) => forward(job, opened, input, world),
    }
}

/// A perturbation in, data out.
fn forward<const D: usize>(
    job: &mut Job,
    mut opened: Opened<D>,
    mut input: Input,
    world: &World,
) -> anyhow::Result<()> {
    opened.target.check(&input)?;
    let mut data = records(job, &opened, world)?;
    if job.is_dry_run() {
        return Ok(data.finish()?);
    }
    let count = input.len() as usize;
    let given = finite(&mut input, 0, count)?;
    let verb = job.flag("verb")?;
    if verb {
        plan::summary(job, &opened.run, &opened.step);
    }
    let change = opened.target.change(&given, &opened.run)?;
    opened.each_shot(job, None, |own, _, made: &mut Option<Adjoint<D>>| {
        let (setup, shot) = (own.run.setup(), &own.run.shot);
        let adjoint = match made {
            Some(adjoint) => {
                adjoint.next_shot(&setup, shot)?;
                adjoint
            }
            None => {
                let adjoint = own.adjoint(job)?;
                if verb {
                    tell_linearised(job, &adjoint);
                }
                made.insert(adjoint)
            }
        };
        let records = adjoint.linearised((&setup, shot), &change)?;
        data.write_f32(&Readout::new(&own.run).of(records))?;
        Ok(String::new())
    })?;
    Ok(data.finish()?)
}

/// The output of `adj=n`.
fn records<const D: usize>(job: &mut Job, opened: &Opened<D>, world: &World) -> anyhow::Result<Output> {
    let mut records = outputs::open(job, &opened.run, world)?;
    records.tell("linearised", "what the perturbation changes in the data");
    records.note(&machine::processors(job, 1)?.describe());
    match records.into_data() {
        Some((data, ..)) => Ok(data),
        None => anyhow::bail!("standard output takes the data"),
    }
}

/// Data in, a perturbation out.
fn back<const D: usize>(job: &mut Job, mut opened: Opened<D>, mut input: Input) -> anyhow::Result<()> {
    let readout = Readout::of_data(job, &opened.run, &input)?;
    let mut output = job.output()?;
    opened.target.head(&mut output);
    name_transposed(&mut output);
    output.put_note(&rsf_io::version(), &machine::processors(job, 1)?.describe());
    if job.is_dry_run() {
        return Ok(output.finish()?);
    }
    if job.flag("verb")? {
        plan::summary(job, &opened.run, &opened.step);
    }
    let count = (1..=3).map(|axis| input.axis(axis).n).product();
    let picks = opened.run.spreads.picks.clone();
    let mut heard = false;
    let sum = opened.back(job, &mut None, |shot, _| {
        let data = of_shot(&mut input, &picks, count, shot)?;
        heard |= data.iter().any(|&x| x != 0.0);
        Ok((String::new(), readout.transposed(data)))
    })?;
    if !heard {
        job.warn(&format!(
            "{} is zero everywhere, and so is what comes back",
            input.name()
        ));
    }
    opened.target.write(job, output, &sum, &opened.run)
}
