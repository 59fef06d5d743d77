//! Linearised modelling by velocity and stress: what `sfvsborn2d-gpu` and `sfvsborn3d-gpu` share.

mod params;
mod set_up;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::outputs;
use crate::modelling::plan::gigabytes;
use crate::modelling::world::World;
use anyhow::{bail, ensure};
use kernels::grid::AXES;
use kernels::methods::velocity_stress::born::{Born, Ladder};
use rsf_io::{Axis, Input, Job};
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
    ensure!(
        world.is_alone(),
        "{} runs in one process: start it without mpirun",
        job.program()
    );
    let adjoint = job.flag("adj")?;
    let planning = job.flag("plan")?;
    let input = if planning { None } else { Some(job.stdin()?) };
    let mut made = SetUp::read(job, ndim, world)?;
    if let Some(input) = &input {
        match adjoint {
            true => made.check_data(input)?,
            false => made.check_perturbation(input)?,
        }
    }
    if job.is_dry_run() && !planning {
        return header_only(job, &made, adjoint, world);
    }
    let born = made.born(job, world)?;
    let ladder = match adjoint {
        true => Some(ladder(job, &made, &born)?),
        false => None,
    };
    let Some(input) = input else {
        return plan(job, &made, &born, ladder);
    };
    match ladder {
        None => forward(job, &made, &born, (input, world)),
        Some(ladder) => back(job, &made, &born, (input, ladder)),
    }
}

/// The way back that `memory=` leaves room for.
fn ladder(job: &Job, made: &SetUp, born: &Born<f32>) -> anyhow::Result<Ladder> {
    let allowed = set_up::memory(job)?;
    let steps = made.run.shot.nt;
    match Ladder::choose(steps, born.sizes(), allowed) {
        Ok(ladder) => Ok(ladder),
        Err(error) => bail!("{error} (memory= in GB)"),
    }
}

/// The answer of `plan=y`.
fn plan(job: &Job, made: &SetUp, born: &Born<f32>, ladder: Option<Ladder>) -> anyhow::Result<()> {
    made.summary(job);
    let [state, tape] = born.sizes();
    match ladder {
        None => job.say(&format!(
            "adj=n: two fields of {} run side by side",
            gigabytes(state as f64)
        )),
        Some(ladder) => job.say(&set_up::way_back(&ladder, made.run.shot.nt, [state, tape])),
    }
    job.say("nothing was run (plan=y)");
    Ok(())
}

/// Writes the header of what would come out.
fn header_only(job: &mut Job, made: &SetUp, adjoint: bool, world: &World) -> anyhow::Result<()> {
    match adjoint {
        true => Ok(perturbation(job, made)?.finish()?),
        false => outputs::open(job, &made.run, world)?.header_only(),
    }
}

/// A perturbation in, data out.
fn forward(
    job: &mut Job,
    made: &SetUp,
    born: &Born<f32>,
    (mut input, world): (Input, &World),
) -> anyhow::Result<()> {
    let given = finite(&mut input)?;
    let mut records = outputs::open(job, &made.run, world)?;
    records.tell("linearised", "what the perturbation changes in the data");
    records.note(&made.machine.describe(None));
    let Some(mut data) = records.into_data() else {
        return Ok(());
    };
    if job.flag("verb")? {
        made.summary(job);
    }
    let mut written = Ok(());
    let mut take = |_: usize, _: &[f32], change: &[f32]| {
        if written.is_ok() {
            written = data.write_f32(change);
        }
        Ok(())
    };
    born.forward(Some(&given), &mut take)?;
    written?;
    Ok(data.finish()?)
}

/// Data in, a perturbation out.
fn back(
    job: &mut Job,
    made: &SetUp,
    born: &Born<f32>,
    (mut input, ladder): (Input, Ladder),
) -> anyhow::Result<()> {
    let given = finite(&mut input)?;
    if given.iter().all(|&x| x == 0.0) {
        job.warn(&format!(
            "{} is zero everywhere, and so is what comes back",
            input.name()
        ));
    }
    let mut output = perturbation(job, made)?;
    if job.flag("verb")? {
        made.summary(job);
        job.say(&set_up::way_back(&ladder, made.run.shot.nt, born.sizes()));
    }
    let found = born.adjoint(&given, &ladder)?;
    output.write_f32(&found)?;
    Ok(output.finish()?)
}

/// The output of `adj=y`.
fn perturbation(job: &mut Job, made: &SetUp) -> anyhow::Result<rsf_io::Output> {
    let mut output = job.output()?;
    let grid = &made.run.padded.model;
    for (a, name) in AXES.iter().enumerate().take(grid.ndim) {
        let axis = Axis::new(grid.n[a], grid.o[a], grid.d[a]).label(name).unit("m");
        output.set_axis(a + 1, &axis);
    }
    let names = made.names();
    let axis = Axis::new(names.len(), 0.0, 1.0).label(&names.join(" "));
    output.set_axis(grid.ndim + 1, &axis);
    output.set_rank(grid.ndim + 1);
    let (version, device) = (rsf_io::version(), made.machine.describe(None));
    output.put_note(&version, &device);
    Ok(output)
}

/// All numbers of an input.
fn finite(input: &mut Input) -> anyhow::Result<Vec<f32>> {
    let values = input.read_all_f32()?;
    if let Some(bad) = values.iter().position(|x| !x.is_finite()) {
        bail!(
            "{}: value {} is {}; all must be finite numbers",
            input.name(),
            bad + 1,
            values[bad]
        );
    }
    Ok(values)
}
