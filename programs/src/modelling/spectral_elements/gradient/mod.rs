//! Gradients on meshes: what `sfsemgrad2d-gpu` and `sfsemgrad3d-gpu` share.

mod compared;
mod params;
mod target;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::{Run, plan, prepare, raw_mesh};
use crate::modelling::machine;
use crate::modelling::observed::write_misfits;
use crate::modelling::plan::{free_memory, gigabytes};
use crate::modelling::survey::Survey;
use crate::modelling::world::World;
use anyhow::{Context, bail};
use compared::Compared;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Gradient, Parameters, Unsupported, unsupported};
use kernels::time_loop::reversal::CheckpointSchedule;
use rsf_io::{Axis, Job, format_g};
use std::time::Instant;
use target::Target;

/// Bytes of a GB, in which `memory=` counts.
const GIGA: f64 = 1e9;

/// The share of the free memory that a run takes unless `memory=` says otherwise.
const SHARE: f64 = 0.5;

/// Runs `sfsemgrad2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<2>(job, world)
}

/// Runs `sfsemgrad3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run::<3>(job, world)
}

fn run<const D: usize>(job: &mut Job, world: &World) -> anyhow::Result<()> {
    world.agree(match world.is_alone() {
        true => Ok(()),
        false => Err(anyhow::anyhow!(
            "{} runs as one process: without mpirun, start one process for each part of the survey (shots=) and add the gradients by sfadd",
            job.program()
        )),
    })?;
    let planning = job.flag("plan")?;
    let observed = match planning {
        true => None,
        false => Some(job.stdin()?),
    };
    let raw = raw_mesh::<D>(job)?;
    let mut run: Run<D> = prepare(job, &raw, false)?;
    refuse(&run)?;
    let step = plan::judge(job, &run)?;
    let target = Target::read(job, &run)?;
    if planning {
        run.turn_to(&[0]);
        let setup = run.setup();
        let adjoint = Adjoint::new(machine::processors(job, 1)?, &setup, &run.shot)?;
        plan::summary(job, &run, &step);
        return tell(job, &adjoint, &schedule(job, &adjoint)?);
    }
    let Some(observed) = observed else {
        return Ok(());
    };
    let mut compared = Compared::read(job, &run, observed)?;
    let mut output = job.output()?;
    target.head(&mut output);
    output.put_note(&rsf_io::version(), &machine::processors(job, 1)?.describe());
    if job.is_dry_run() {
        return Ok(output.finish()?);
    }
    let file = match job.given("misfit") {
        true => Some(job.tagged_output("misfit")?),
        false => None,
    };
    if job.flag("verb")? {
        plan::summary(job, &run, &step);
    }
    let (gradient, misfits) = survey(job, &mut run, &mut compared)?;
    job.say(&format!("misfit {}", format_g(misfits.iter().sum(), 9)));
    let values = target.values(&gradient, &run)?;
    if values.iter().any(|x| !x.is_finite()) || (values.iter().all(|x| *x == 0.0) && !gradient.is_zero()) {
        job.warn("the gradient is beyond the numbers of single precision: scale m0= (or fx=, mech=) and the data, or take other parameters (wrt=)");
    }
    output.write_f32(&values)?;
    output.finish()?;
    match file {
        Some(file) => {
            let shots = Axis {
                n: misfits.len(),
                ..run.spreads.axis.clone()
            };
            write_misfits(file, &shots, &misfits)
        }
        None => Ok(()),
    }
}

/// The sum of the gradients of all shots, and the misfit of each.
fn survey<const D: usize>(
    job: &Job,
    run: &mut Run<D>,
    compared: &mut Compared,
) -> anyhow::Result<(Gradient<D>, Vec<f64>)> {
    let (shots, verb) = (run.spreads.count(), job.flag("verb")?);
    let (mut sum, mut misfits): (Option<Gradient<D>>, _) = (None, Vec::new());
    let mut made = None;
    for shot in 0..shots {
        let begun = Instant::now();
        run.turn_to(&[shot]);
        let found = one(job, run, compared, (shot, &mut made));
        let (gradient, misfit) = match shots {
            1 => found?,
            _ => found.with_context(|| format!("shot {}", run.spreads.picks.number(shot)))?,
        };
        if verb && shots > 1 {
            job.say(&format!(
                "shot {} of {shots}: misfit {}, {:.1} s",
                shot + 1,
                format_g(misfit, 6),
                begun.elapsed().as_secs_f64()
            ));
        }
        match &mut sum {
            None => sum = Some(gradient),
            Some(sum) => sum.add(&gradient),
        }
        misfits.push(misfit);
    }
    let sum = sum.context("there are no shots")?;
    Ok((sum, misfits))
}

/// What all shots share: the mesh is set up once, and all of them keep what the first one does.
type Made<const D: usize> = Option<(Adjoint<D>, CheckpointSchedule)>;

/// Gradient and misfit of a shot.
fn one<const D: usize>(
    job: &Job,
    run: &Run<D>,
    compared: &mut Compared,
    (shot, made): (usize, &mut Made<D>),
) -> anyhow::Result<(Gradient<D>, f64)> {
    let (observed, setup) = (compared.observed(shot)?, run.setup());
    let (adjoint, schedule) = match made {
        Some(made) => {
            made.0.next_shot(&setup, &run.shot)?;
            made
        }
        None => {
            let adjoint = Adjoint::new(machine::processors(job, 1)?, &setup, &run.shot)?;
            let schedule = schedule(job, &adjoint)?;
            if job.flag("verb")? {
                tell(job, &adjoint, &schedule)?;
            }
            made.insert((adjoint, schedule))
        }
    };
    let mut misfit = 0.0;
    let gradient = adjoint.gradient((&setup, &run.shot), schedule, |records| {
        let (sum, residual) = compared.judge(records, &observed);
        misfit = sum;
        match sum.is_finite() {
            true => Ok(residual),
            false => Err(kernels::Error::setup(format!(
                "the misfit is {sum}: look at the amplitudes of the data and of the sources"
            ))),
        }
    })?;
    Ok((gradient, misfit))
}

/// What is kept in `memory=`.
fn schedule<const D: usize>(job: &Job, adjoint: &Adjoint<D>) -> anyhow::Result<CheckpointSchedule> {
    let room = match (job.double_opt("memory")?, free_memory()) {
        (Some(asked), _) => asked * GIGA,
        (None, Some(free)) => SHARE * free,
        (None, None) => bail!(
            "the system does not say how much memory is free: give memory= (GB) for the stored wavefield"
        ),
    };
    Ok(CheckpointSchedule::choose(
        adjoint.steps(),
        adjoint.sizes(),
        room.max(0.0) as usize,
    )?)
}

/// The lines of `plan=y` and `verb=y` on memory.
fn tell<const D: usize>(
    job: &Job,
    adjoint: &Adjoint<D>,
    schedule: &CheckpointSchedule,
) -> anyhow::Result<()> {
    let (steps, sizes) = (adjoint.steps(), adjoint.sizes());
    job.say(&format!(
        "memory: {} and, for the stored wavefield, {} ({} of {steps} steps at a time, {} checkpoints)",
        gigabytes(adjoint.bytes() as f64),
        gigabytes(schedule.bytes(sizes) as f64),
        schedule.segment,
        schedule.checkpoints
    ));
    match schedule.extra(steps) {
        0 => job.say("no step is computed again"),
        again => job.say(&format!("{again} steps are computed again")),
    }
    Ok(())
}

/// Refuses what has no gradient, and says what to change.
fn refuse<const D: usize>(run: &Run<D>) -> anyhow::Result<()> {
    let Some(why) = unsupported(&run.setup(), run.shot.quantity) else {
        return Ok(());
    };
    let advice = match why {
        Unsupported::Constants(_) => format!("leave out ccc=, or use sfvsgrad{D}d-gpu"),
        Unsupported::Layers => "leave out cpml= (cpml=0 with specfem=) and give sponge=".into(),
        Unsupported::RowSums => "give lumping=matrix".into(),
        Unsupported::Quantity(_) => "give data=velocity, displacement, acceleration or pressure".into(),
    };
    bail!("{why}: {advice}")
}

/// The parameters that `wrt=` names.
fn parameters(job: &Job) -> anyhow::Result<(Parameters, &'static str)> {
    Ok(match job.choice("wrt")? {
        "lambda,mu,rho" => (Parameters::Lame, "lambda mu rho"),
        "ip,is,rho" => (Parameters::Impedances, "ip is rho"),
        _ => (Parameters::Speeds, "vp vs rho"),
    })
}
