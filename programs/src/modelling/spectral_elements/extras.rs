//! Further outputs of the modelling programs: snapshots, maps, cables, further quantities.

use super::maps::{self, Peaks};
use super::several::Several;
use super::{fibre, globe, outputs};
use crate::meshing::RawMesh;
use crate::modelling::exact_time::Timing;
use crate::modelling::fibre::Fibre;
use kernels::mesh::Mesh;
use kernels::methods::spectral_elements::Shot;
use rsf_io::{Axis, Job};

/// The outputs that only the modelling programs have.
#[derive(Default)]
pub struct Extras {
    pub several: Option<Several>,
    pub fibre: Option<Fibre>,
    /// Axes of the snapshots.
    pub window: Vec<Axis>,
    pub peaks: Option<Peaks>,
}

impl Extras {
    /// Reads these outputs from the command line, and adds the receivers and the steps that they need to the shot.
    pub fn read<const D: usize>(
        job: &mut Job,
        (raw, mesh): (&RawMesh, &Mesh<D>),
        (shot, jdata): (&mut Shot<D>, usize),
        timing: &Timing,
    ) -> anyhow::Result<Self> {
        let channels = shot.receivers.len();
        let several = Several::read(job)?;
        let fibre = fibre::requested(job, mesh, shot)?;
        globe::refuse_ground(job, raw)?;
        let window = maps::window(job, mesh, shot)?;
        outputs::correct(job, timing, (shot, jdata), channels, several.as_ref())?;
        Ok(Self {
            several,
            fibre,
            window,
            peaks: Peaks::read(job, mesh, shot)?,
        })
    }

    /// None of these outputs; the shot receives the steps that the run needs.
    pub fn none<const D: usize>((shot, jdata): (&mut Shot<D>, usize), timing: &Timing) -> Self {
        outputs::correct_steps(timing, (shot, jdata));
        Self::default()
    }
}
