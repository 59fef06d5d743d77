//! The misfit of a survey and its gradient: what `sfvsgrad2d-gpu` and `sfvsgrad3d-gpu` share.

use super::params;
use super::set_up::{self, SetUp};
use crate::modelling::world::World;
use anyhow::ensure;
pub use params::{GRADIENT_2D as PROGRAM_2D, GRADIENT_3D as PROGRAM_3D};
use rsf_io::{Axis, Job, Output, format_g};

/// Runs `sfvsgrad2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsgrad3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    if job.flag("plan")? {
        return SetUp::read(job, ndim, world)?.plan_survey(job, world);
    }
    let mut observed = job.stdin()?;
    let mut made = SetUp::read(job, ndim, world)?;
    made.check_data(&observed, "this program")?;
    let mut weight = match job.has_input("weight") {
        true => Some(job.input("weight")?),
        false => None,
    };
    if let Some(weight) = &weight {
        ensure!(
            weight.len() == observed.len(),
            "{} has {} values and the data {}: a weight has one for each",
            weight.name(),
            weight.len(),
            observed.len()
        );
    }
    let mut output = job.output()?;
    set_up::model_axes(&mut output, &made.run.padded.model, &made.names());
    output.put_note(&rsf_io::version(), &made.machine.describe(None));
    if job.is_dry_run() {
        return Ok(output.finish()?);
    }
    let mut born = made.born(job, world)?;
    let ladder = set_up::ladder(job, made.run.shot.nt, &born)?;
    if job.flag("verb")? {
        made.summary(job);
        job.say(&set_up::way_back(&ladder, made.run.shot.nt, born.sizes()));
    }
    let (mut sum, mut misfits) = (vec![0.0f32; born.perturbation_len()], Vec::new());
    made.each_shot(&mut born, |_, born| {
        let count = born.records() * born.values();
        let wanted = set_up::finite(&mut observed, count)?;
        let weight = weight
            .as_mut()
            .map(|weight| set_up::finite(weight, count))
            .transpose()?;
        let mut misfit = 0.0;
        let mut residual = |made: &[f32]| {
            let (values, half) = least_squares(made, &wanted, weight.as_deref());
            misfit = half;
            Ok(values)
        };
        let found = born.gradient(&mut residual, &ladder)?;
        sum.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
        misfits.push(misfit);
        Ok(())
    })?;
    job.say(&format!("misfit {}", format_g(misfits.iter().sum(), 9)));
    if job.given("misfit") {
        write_misfits(job, &made, &misfits)?;
    }
    output.write_f32(&sum)?;
    Ok(output.finish()?)
}

/// Half the squares of what weighted records differ by, and its derivative by the records.
fn least_squares(made: &[f32], wanted: &[f32], weight: Option<&[f32]>) -> (Vec<f32>, f64) {
    let mut half = 0.0;
    let pairs = made.iter().zip(wanted).enumerate();
    let residual = pairs.map(|(k, (made, wanted))| {
        let weight = weight.map_or(1.0, |weight| weight[k]);
        let rest = weight * (made - wanted);
        half += 0.5 * f64::from(rest).powi(2);
        weight * rest
    });
    (residual.collect(), half)
}

/// Writes the misfit of every shot.
fn write_misfits(job: &mut Job, made: &SetUp, misfits: &[f64]) -> anyhow::Result<()> {
    let mut file: Output = job.tagged_output("misfit")?;
    let axis = Axis {
        n: misfits.len(),
        ..made.run.spreads.axis.clone()
    };
    file.set_axis(1, &axis);
    file.set_rank(1);
    let values: Vec<f32> = misfits.iter().map(|&x| x as f32).collect();
    file.write_f32(&values)?;
    Ok(file.finish()?)
}
