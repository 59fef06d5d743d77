//! The linear operator of a shot: its model and its memory.

use super::super::{Run, engine, plan};
use crate::modelling::machine::Machine;
use crate::modelling::model::Volumes;
use crate::modelling::plan::Report;
use crate::modelling::survey::shot::Resources;
use crate::modelling::world::World;
use kernels::grid::Padded;
use kernels::medium::{Filler, Medium, Symmetry};
use kernels::methods::velocity_stress::born::{Born, Parameters, RankPlanes};
use rsf_io::Job;

/// The opened model, and the parameters of the linearisation.
pub(super) struct OfModel {
    /// The volumes of the model.
    pub volumes: Volumes,
    /// The number of bytes of inputs that are held in memory as a whole.
    pub held: u64,
    /// The parameters of the linearisation.
    pub parameters: Parameters,
}

/// Reads the model, or a rank's part of it, and prepares the operator of a shot. Also returns the findings
/// about the model. Ranks that need parts of the model call it together; rank 0 needs the whole model,
/// because it converts sums to derivatives with respect to the parameters.
pub(super) fn operator(
    job: &Job,
    (run, machine): (&mut Run, &Machine),
    of: &OfModel,
    (part, world): (Option<&RankPlanes>, &World),
) -> anyhow::Result<(Born<f32>, Report)> {
    let on = Resources {
        machine,
        gpus: &[],
        held: of.held,
        world,
    };
    let all = 0..run.padded.planes();
    let own = part.map_or(&all, |part| &part.own);
    let prepared = part
        .filter(|_| !world.leads())
        .map_or(&all, |part| &part.prepared);
    let mut medium = world.agree(Medium::<f32>::new(&run.padded).map_err(Into::into))?;
    let mut filler = Filler::new(&mut medium, &machine.cpu);
    let findings = of
        .volumes
        .read_around(&run.padded, [own, prepared], &machine.cpu, &mut filler);
    let report = engine::judge(job, run, &of.volumes, (on, findings))?;
    drop(filler);
    let known = world.leads().then_some(&medium);
    let growing = known.and_then(|medium| run.shot.frame.first_growing(medium));
    plan::layers_that_grow(job, run, growing, world)?;
    let class = match of.volumes.widest() {
        Symmetry::Isotropic => Symmetry::Isotropic,
        _ => report.class,
    };
    let born = machine.cpu.another().and_then(|cpu| {
        let by = (class, of.parameters);
        Born::on_planes(&run.shot, medium, by, (cpu, prepared))
    });
    Ok((world.agree(born.map_err(Into::into))?, report))
}

/// The number of bytes of the medium, which the groups of a process share, and of the fields and the
/// gradient, which each group has.
pub(super) fn needed(padded: &Padded, class: Symmetry) -> [f64; 2] {
    let numbers = match (padded.ndim(), class) {
        (3, _) => [12 + 9, 9 + 9 + 12 + 9],
        _ => [6 + 4, 5 + 5 + 6 + 5],
    };
    numbers.map(|numbers| (numbers * padded.cells() * size_of::<f32>()) as f64)
}
