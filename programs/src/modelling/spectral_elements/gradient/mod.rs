//! Gradients on meshes: what `sfsemgrad2d-gpu` and `sfsemgrad3d-gpu` share.

mod compared;
mod params;
mod target;

pub use params::{PROGRAM_2D, PROGRAM_3D};

use super::{Run, plan, prepare, raw_mesh};
use crate::modelling::machine;
use crate::modelling::plan::{free_memory, gigabytes};
use crate::modelling::survey::Survey;
use crate::modelling::world::World;
use anyhow::{Context, bail};
use compared::Compared;
use kernels::device::cpu::Cpu;
use kernels::mesh::step::Law;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Gradient, Parameters};
use kernels::methods::spectral_elements::{Lumping, Quantity};
use kernels::time_loop::reversal::CheckpointSchedule;
use rsf_io::{Axis, Job, Output, format_g};
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
        Some(file) => write_misfits(file, &run, &misfits),
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
    let mut kept = None;
    for shot in 0..shots {
        let begun = Instant::now();
        run.turn_to(&[shot]);
        let found = one(job, run, compared, (shot, &mut kept));
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

/// Gradient and misfit of a shot.
fn one<const D: usize>(
    job: &Job,
    run: &Run<D>,
    compared: &mut Compared,
    (shot, kept): (usize, &mut Option<CheckpointSchedule>),
) -> anyhow::Result<(Gradient<D>, f64)> {
    let observed = compared.observed(shot)?;
    let setup = run.setup();
    let cpu: Cpu = machine::processors(job, 1)?;
    let mut adjoint = Adjoint::new(cpu, &setup, &run.shot)?;
    // All shots keep what the first one does.
    let schedule = match kept {
        Some(schedule) => *schedule,
        None => {
            let schedule = schedule(job, &adjoint)?;
            if job.flag("verb")? {
                tell(job, &adjoint, &schedule)?;
            }
            *kept.insert(schedule)
        }
    };
    let mut misfit = 0.0;
    let gradient = adjoint.gradient(&schedule, |records| {
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
fn schedule<const D: usize>(job: &Job, adjoint: &Adjoint<'_, D>) -> anyhow::Result<CheckpointSchedule> {
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
    adjoint: &Adjoint<'_, D>,
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

/// Writes the misfit of every shot.
fn write_misfits<const D: usize>(mut file: Output, run: &Run<D>, misfits: &[f64]) -> anyhow::Result<()> {
    let shots = Axis {
        n: misfits.len(),
        ..run.spreads.axis.clone()
    };
    file.set_axis(1, &shots);
    file.set_rank(1);
    let values: Vec<f32> = misfits.iter().map(|&x| x as f32).collect();
    file.write_f32(&values)?;
    Ok(file.finish()?)
}

/// Refuses what has no gradient, in the words of the command line.
fn refuse<const D: usize>(run: &Run<D>) -> anyhow::Result<()> {
    let fluid = run
        .rocks
        .media
        .iter()
        .position(|medium| matches!(medium.law, Law::Fluid(_)));
    if let Some(region) = fluid {
        bail!(
            "region {region} is a fluid (vs=0 in materials=), and gradients on meshes are those of solids: leave the water out of the mesh and take its floor as a free surface, or use sfvsgrad{D}d-gpu"
        );
    }
    let table = run
        .rocks
        .media
        .iter()
        .position(|medium| matches!(medium.law, Law::Anisotropic(_)));
    if let Some(region) = table {
        bail!(
            "region {region} takes its constants from ccc=, and gradients on meshes are those of isotropic solids: leave out ccc=, or use sfvsgrad{D}d-gpu"
        );
    }
    if run.rocks.relaxations.is_some() {
        bail!(
            "the medium attenuates, and gradients on meshes are those of elastic solids: give attenuation=n (and leave out qp=, qs=, sls=)"
        );
    }
    if run.pml.is_some() {
        bail!(
            "perfectly matched layers have no gradient: leave out cpml= (cpml=0 with specfem=) and give sponge="
        );
    }
    if run.lumping != Lumping::Matrix {
        bail!("lumping=specfem has no exact adjoint: give lumping=matrix");
    }
    match run.shot.quantity {
        Quantity::Displacement | Quantity::Velocity | Quantity::Acceleration => Ok(()),
        other => {
            bail!("data= asks for {other:?}; gradients take data=velocity, displacement or acceleration")
        }
    }
}

/// The parameters that `wrt=` names.
fn parameters(job: &Job) -> anyhow::Result<(Parameters, &'static str)> {
    Ok(match job.choice("wrt")? {
        "lambda,mu,rho" => (Parameters::Lame, "lambda mu rho"),
        "ip,is,rho" => (Parameters::Impedances, "ip is rho"),
        _ => (Parameters::Speeds, "vp vs rho"),
    })
}
