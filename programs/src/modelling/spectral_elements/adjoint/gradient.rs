//! Gradients on meshes: what `sfsemgrad2d-gpu` and `sfsemgrad3d-gpu` share.

use super::Opened;
use super::compared::Compared;
pub use super::params::{GRADIENT_2D as PROGRAM_2D, GRADIENT_3D as PROGRAM_3D};
use super::sources::SourceFiles;
use crate::modelling::machine;
use crate::modelling::observed::{name_gradient, tell_silent, write_misfits};
use crate::modelling::spectral_elements::plan;
use crate::modelling::world::World;
use anyhow::ensure;
use rsf_io::{Axis, Job, format_g};

/// Runs `sfsemgrad2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<2>(job, world)
}

/// Runs `sfsemgrad3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<3>(job, world)
}

fn run<const D: usize>(job: &mut Job, world: &World) -> anyhow::Result<()> {
    let observed = match job.flag("plan")? {
        true => None,
        false => Some(job.stdin()?),
    };
    let mut opened = Opened::<D>::read(job, world)?;
    let Some(observed) = observed else {
        return opened.plan(job, true);
    };
    let mut compared = Compared::read(job, &opened.run, observed)?;
    let mut output = job.output()?;
    opened.target.head(&mut output);
    name_gradient(&mut output);
    output.put_note(&rsf_io::version(), &machine::processors(job, 1)?.describe());
    if job.is_dry_run() {
        return Ok(output.finish()?);
    }
    let mut files = SourceFiles::open(job, &opened.run)?;
    let file = match job.given("misfit") {
        true => Some(job.tagged_output("misfit")?),
        false => None,
    };
    if job.flag("verb")? {
        plan::summary(job, &opened.run, &opened.step);
    }
    let (mut misfits, mut silent) = (Vec::new(), Vec::new());
    let picks = opened.run.spreads.picks.clone();
    let gradient = opened.back(job, &mut files, |shot, records| {
        let (observed, heard) = compared.observed(shot)?;
        silent.extend((!heard).then_some(picks.number(shot)));
        let (misfit, residual) = compared.judge(records, &observed);
        ensure!(
            misfit.is_finite(),
            "the misfit is {misfit}: look at the amplitudes of the data and of the sources"
        );
        misfits.push(misfit);
        Ok((format!("misfit {}, ", format_g(misfit, 6)), residual))
    })?;
    tell_silent(job, &silent, misfits.len())?;
    job.say(&format!("misfit {}", format_g(misfits.iter().sum(), 9)));
    opened.target.write(job, output, &gradient, &opened.run)?;
    if let Some(files) = files {
        files.finish()?;
    }
    match file {
        Some(file) => {
            let shots = Axis {
                n: misfits.len(),
                ..opened.run.spreads.axis.clone()
            };
            write_misfits(file, &shots, &misfits)
        }
        None => Ok(()),
    }
}
