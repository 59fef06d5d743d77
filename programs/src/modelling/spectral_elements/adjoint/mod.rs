//! Derivatives on meshes: gradients (`sfsemgrad2d-gpu`, `sfsemgrad3d-gpu`) and linearised modelling (`sfsemborn2d-gpu`, `sfsemborn3d-gpu`).

pub mod born;
mod compared;
pub mod gradient;
mod params;
mod readout;
mod sources;
mod target;

use super::{Run, plan, prepare, raw_mesh};
use crate::modelling::machine;
use crate::modelling::plan::{free_memory, gigabytes};
use crate::modelling::survey::Survey;
use crate::modelling::world::World;
use anyhow::{Context, bail};
use kernels::methods::spectral_elements::adjoint::{Adjoint, Gradient, Parameters, Unsupported, unsupported};
use kernels::time_loop::reversal::CheckpointSchedule;
use rsf_io::Job;
use sources::SourceFiles;
use std::time::Instant;
use target::Target;

/// Bytes of a GB, in which `memory=` counts.
const GIGA: f64 = 1e9;

/// The share of the free memory that a run takes unless `memory=` says otherwise.
const SHARE: f64 = 0.5;

/// A survey on a mesh, and what derivatives are by.
struct Opened<const D: usize> {
    run: Run<D>,
    step: plan::Step,
    target: Target<D>,
}

impl<const D: usize> Opened<D> {
    /// As the command line says.
    fn read(job: &mut Job, world: &World) -> anyhow::Result<Self> {
        world.agree(match world.is_alone() {
            true => Ok(()),
            false => Err(anyhow::anyhow!(
                "{} runs as one process: without mpirun, start one process for each part of the survey (shots=) and add what they write by sfadd",
                job.program()
            )),
        })?;
        let raw = raw_mesh::<D>(job)?;
        let run: Run<D> = prepare(job, &raw, false)?;
        let target = Target::read(job, &run)?;
        refuse(&run, target.parameters())?;
        Ok(Self {
            step: plan::judge(job, &run)?,
            run,
            target,
        })
    }

    /// Prints the mesh and what `reverse` or a linearised run needs, of the first shot.
    fn plan(&mut self, job: &Job, reverse: bool) -> anyhow::Result<()> {
        self.run.turn_to(&[0]);
        let adjoint = self.adjoint(job)?;
        plan::summary(job, &self.run, &self.step);
        match reverse {
            true => tell(job, &adjoint, &schedule(job, &adjoint)?),
            false => tell_linearised(job, &adjoint),
        }
        Ok(())
    }

    /// The engine of the shot that the run has turned to.
    fn adjoint(&self, job: &Job) -> anyhow::Result<Adjoint<D>> {
        let cpu = machine::processors(job, 1)?;
        Ok(Adjoint::new(
            cpu,
            &self.run.setup(),
            &self.run.shot,
            self.target.parameters(),
        )?)
    }

    /// Does something with every shot, whose mesh is set up once, and names the shot where that fails. `made` begins with none.
    fn each_shot<M>(
        &mut self,
        job: &Job,
        mut made: Option<M>,
        mut act: impl FnMut(&Self, usize, &mut Option<M>) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let (shots, verb) = (self.run.spreads.count(), job.flag("verb")?);
        for shot in 0..shots {
            let begun = Instant::now();
            self.run.turn_to(&[shot]);
            let done = act(self, shot, &mut made);
            let words = match shots {
                1 => done?,
                _ => done.with_context(|| format!("shot {}", self.run.spreads.picks.number(shot)))?,
            };
            if verb && shots > 1 {
                let seconds = begun.elapsed().as_secs_f64();
                job.say(&format!("shot {} of {shots}: {words}{seconds:.1} s", shot + 1));
            }
        }
        Ok(())
    }

    /// The sum over the shots of what the adjoint run makes of the derivatives by their records; `judge` takes the number of a shot and its
    /// records, and may say something about them. Derivatives by sources go to `files`.
    fn back(
        &mut self,
        job: &Job,
        files: &mut Option<SourceFiles>,
        mut judge: impl FnMut(usize, Vec<f32>) -> anyhow::Result<(String, Vec<f32>)>,
    ) -> anyhow::Result<Gradient<D>> {
        let mut sum: Option<Gradient<D>> = None;
        let verb = job.flag("verb")?;
        self.each_shot(job, None, |own, shot, made: &mut Made<D>| {
            let setup = own.run.setup();
            let (adjoint, schedule) = match made {
                Some(made) => {
                    made.0.next_shot(&setup, &own.run.shot)?;
                    made
                }
                None => {
                    let adjoint = own.adjoint(job)?;
                    let schedule = schedule(job, &adjoint)?;
                    if verb {
                        tell(job, &adjoint, &schedule);
                    }
                    made.insert((adjoint, schedule))
                }
            };
            let (mut words, mut failed) = (String::new(), None);
            let of_records = |records| match judge(shot, records) {
                Ok((said, residual)) => {
                    words = said;
                    Ok(residual)
                }
                Err(error) => {
                    failed = Some(error);
                    Err(kernels::Error::setup("the records of a shot are refused"))
                }
            };
            let shot = (&setup, &own.run.shot);
            let found = match files {
                Some(_) => adjoint.gradient_with_sources(shot, schedule, of_records),
                None => adjoint
                    .gradient(shot, schedule, of_records)
                    .map(|gradient| (gradient, Vec::new())),
            };
            if let Some(error) = failed {
                return Err(error);
            }
            let (gradient, sources) = found?;
            if let Some(files) = files {
                files.write(job, &own.run, &sources)?;
            }
            match &mut sum {
                None => sum = Some(gradient),
                Some(sum) => sum.add(&gradient),
            }
            Ok(words)
        })?;
        sum.context("there are no shots")
    }
}

/// What all shots share: the mesh is set up once, and all of them keep what the first one does.
type Made<const D: usize> = Option<(Adjoint<D>, CheckpointSchedule)>;

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
fn tell<const D: usize>(job: &Job, adjoint: &Adjoint<D>, schedule: &CheckpointSchedule) {
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
}

/// The same of a linearised run.
fn tell_linearised<const D: usize>(job: &Job, adjoint: &Adjoint<D>) {
    let bytes = gigabytes(adjoint.linearised_bytes() as f64);
    job.say(&format!(
        "memory: {bytes}; adj=n: two wavefields advance together"
    ));
}

/// Refuses what has no derivative, and says what to change.
fn refuse<const D: usize>(run: &Run<D>, parameters: Parameters) -> anyhow::Result<()> {
    let Some(why) = unsupported(&run.setup(), run.shot.quantity, parameters) else {
        return Ok(());
    };
    let advice = match why {
        Unsupported::Constants(_) => "give wrt=ccc,rho",
        Unsupported::LossyConstants => "give attenuation=n or, for isotropic rock, another wrt=",
        Unsupported::Layers => "leave out cpml= (cpml=0 with specfem=) and give sponge=",
        Unsupported::RowSums => "give lumping=matrix",
        Unsupported::Quantity(_) => "give data=velocity, displacement, acceleration or pressure",
    };
    bail!("{why}: {advice}")
}
