//! Derivatives on meshes: gradients (`sfsemgrad2d-gpu`, `sfsemgrad3d-gpu`) and linearised modelling (`sfsemborn2d-gpu`, `sfsemborn3d-gpu`).

pub mod born;
mod compared;
pub mod gradient;
mod params;
mod readout;
mod sources;
mod station;
mod target;

use super::{Run, plan, prepare, raw_mesh};
use crate::modelling::linearised::kept::Kept;
use crate::modelling::machine::{Machine, Pieces};
use crate::modelling::plan::end;
use crate::modelling::words::counted;
use crate::modelling::world::World;
use anyhow::bail;
use kernels::methods::spectral_elements::adjoint::{Parameters, Unsupported, unsupported};
use rsf_io::Job;
use station::Station;
use std::time::Instant;
use target::Target;

/// A survey on a mesh, and the parameters of its derivatives.
struct Opened<const D: usize> {
    run: Run<D>,
    step: plan::Step,
    target: Target<D>,
    /// The devices that run shots at the same time.
    machines: Vec<Machine>,
}

impl<const D: usize> Opened<D> {
    /// Reads the survey from the command line; all ranks call it.
    fn read(job: &mut Job, world: &World) -> anyhow::Result<Self> {
        let mut opened = world.agree(Self::own(job))?;
        let (shots, ranks) = (opened.shots(), world.ranks().size());
        let pieces = Pieces::Elements(D, opened.run.mesh.len());
        // Shots on meshes use all threads unless groups= divides them.
        opened.machines = Machine::groups(job, pieces, Some([shots, usize::MAX]), world)?;
        let groups = opened.machines.len();
        if groups > shots {
            job.warn(&format!(
                "there are {} but only {}: the remaining groups are idle; use fewer groups",
                counted(groups, "group"),
                counted(shots, "shot")
            ));
            opened.machines.truncate(shots.max(1));
        }
        if ranks > shots {
            job.warn(&format!(
                "there are {} but only {}: the remaining ranks are idle; start fewer ranks",
                counted(ranks, "rank"),
                counted(shots, "shot")
            ));
        }
        Ok(opened)
    }

    fn own(job: &mut Job) -> anyhow::Result<Self> {
        let raw = raw_mesh::<D>(job)?;
        let run: Run<D> = prepare(job, &raw, false)?;
        let target = Target::read(job, &run)?;
        refuse(&run, target.parameters())?;
        Ok(Self {
            step: plan::judge(job, &run)?,
            run,
            target,
            machines: Vec::new(),
        })
    }

    /// The first of the machines.
    fn machine(&self) -> &Machine {
        &self.machines[0]
    }

    /// The number of shots of the survey.
    fn shots(&self) -> usize {
        self.run.spreads.count()
    }

    /// The stations; `verb=y` describes the first. All ranks call it.
    fn stations(&self, job: &Job, reverse: bool, world: &World) -> anyhow::Result<Vec<Station<D>>> {
        let stations = world.agree(Station::all(job, self, world, reverse))?;
        if job.flag("verb")? {
            self.print_summary(job, &stations);
        }
        Ok(stations)
    }

    fn print_summary(&self, job: &Job, stations: &[Station<D>]) {
        plan::summary(job, &self.run, &self.step);
        let machine = self.machine();
        let device = match stations.first().is_some_and(Station::is_on_gpu) {
            true => machine.describe(None),
            false => machine.cpu.describe(),
        };
        job.say(&format!("device {device}"));
        if let Some(station) = stations.first() {
            station.print_summary(job);
        }
    }

    /// Prints the mesh and the needs of a reverse or linearised run of the first shot. All ranks call it.
    fn plan(&self, job: &Job, world: &World, reverse: bool) -> anyhow::Result<()> {
        let stations = world.agree(Station::all(job, self, world, reverse))?;
        self.print_summary(job, &stations);
        world.agree(end(self.step.refused.as_ref()))
    }

    /// Opens the states of the survey; `contents` identify it in addition to its shots. All ranks call it.
    fn kept(&self, job: &mut Job, contents: Vec<(&'static str, u64)>, world: &World) -> anyhow::Result<Kept> {
        Kept::open(job, &self.run, contents, world)
    }
}

/// Prints the line of `verb=y` after each shot of a survey.
struct Progress<'a> {
    job: &'a Job,
    shots: usize,
    /// The time at which the previous shot was done.
    begun: Instant,
}

impl<'a> Progress<'a> {
    /// `None` without `verb=y`, or if there is one shot.
    fn new(job: &'a Job, shots: usize) -> anyhow::Result<Option<Self>> {
        let begun = Instant::now();
        Ok((job.flag("verb")? && shots > 1).then_some(Self { job, shots, begun }))
    }

    /// Reports that a shot is done; `words` are printed before its time.
    fn report(&mut self, shot: usize, words: &str) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let (number, shots) = (shot + 1, self.shots);
        self.job
            .say(&format!("shot {number} of {shots}: {words}{seconds:.1} s"));
        self.begun = Instant::now();
    }
}

/// Refuses features that have no derivative, and advises what to change.
fn refuse<const D: usize>(run: &Run<D>, parameters: Parameters) -> anyhow::Result<()> {
    let Some(why) = unsupported(&run.setup(), run.shot.quantity, parameters) else {
        return Ok(());
    };
    let advice = match why {
        Unsupported::Constants(_) => "give wrt=ccc,rho",
        Unsupported::RowSums => "give lumping=matrix",
        Unsupported::Quantity(_) => "give data=velocity, displacement, acceleration or pressure",
    };
    bail!("{why}: {advice}")
}
