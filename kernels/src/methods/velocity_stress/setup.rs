//! The data that the slabs of a shot on processors share, prepared for a medium and adapted to further shots over it.

use super::absorbing_frame::Edges;
use super::adjoint::Adjoint;
use super::attenuation::Relaxation;
use super::medium::{OnPlanes, Staggered};
use super::points::Placer;
use super::receivers::Receivers;
use super::sources::SourceNodes;
use super::surface::Images;
use super::{Setup, Shot, check, over_spacing, travelling};
use crate::Error;
use crate::device::cpu::Cpu;
use crate::device::simd::Real;
use crate::grid::Padded;
use crate::medium::{Medium, Symmetry};
use std::ops::Range;
use std::sync::Arc;

impl<T: Real> Setup<T> {
    /// Prepares a shot over a medium for the planes `own`. The medium is computed on those planes that are `prepared`
    /// and is zero on the others. `raw`, whose speeds hold at the reference frequency of the attenuation, becomes the
    /// unrelaxed medium; with attenuation, the relaxing part is returned with the set-up.
    pub(super) fn new(
        shot: &Shot,
        raw: &mut Medium<T>,
        (class, own, prepared): (Symmetry, &Range<usize>, &Range<usize>),
        cpu: Cpu,
    ) -> Result<(Self, Option<Medium<T>>), Error> {
        let padded = raw.padded().clone();
        let weights = check(shot, &padded)?;
        let losses = shot.attenuation.as_ref();
        let on = OnPlanes {
            cpu: &cpu,
            planes: own,
            prepared,
        };
        let relaxation = losses
            .map(|losses| Relaxation::new(raw, class, (losses, shot), on))
            .transpose()?;
        let (relaxation, weak) = relaxation.unzip();
        let medium = Staggered::new(raw, class, (shot.dt, shot.shears_in_place), on)?;
        let (spots, receivers) = points_of(shot, (&padded, &weights), &medium, own)?;
        let setup = Self {
            edges: Arc::new(Edges::new(&padded, &shot.frame, shot.dt)),
            surface: shot.surface.then(|| Arc::new(Images::new(weights.len()))),
            window: shot
                .snapshots
                .as_ref()
                .map_or([0..0, 0..0, 0..0], |s| s.window.clone()),
            weights: over_spacing(&padded, &weights),
            half: weights.len(),
            travelling: travelling(padded.ndim(), shot.quantity),
            quantity: shot.quantity,
            peaks: shot.peaks,
            dt: shot.dt,
            padded,
            medium: Arc::new(medium),
            relaxation: relaxation.map(Arc::new),
            spots,
            receivers,
            cpu: Arc::new(cpu),
        };
        Ok((setup, weak))
    }

    /// Prepares another shot over the same medium on the planes `own`, with other sources, series and receivers. All
    /// other fields of `shot` must be unchanged.
    ///
    /// # Errors
    /// Returns an error for a point that lies outside the fields.
    pub(super) fn another(&self, shot: &Shot, own: &Range<usize>) -> Result<Self, Error> {
        let weights = check(shot, &self.padded)?;
        let (spots, receivers) = points_of(shot, (&self.padded, &weights), &self.medium, own)?;
        Ok(Self {
            spots,
            receivers,
            ..self.clone()
        })
    }
}

/// Sources and receivers of a shot on the nodes of the planes `own`.
fn points_of<T: Real>(
    shot: &Shot,
    (padded, weights): (&Padded, &[f64]),
    medium: &Staggered<T>,
    own: &Range<usize>,
) -> Result<(SourceNodes<T>, Receivers<T>), Error> {
    let adjoint = shot.surface.then(|| Adjoint::new(weights));
    let placer = Placer {
        padded,
        free: adjoint.as_ref(),
    };
    let buoyancy = |field: usize, plane: usize, row: usize, z: usize| {
        medium.buoyancy(field)[medium.row(plane, row) + z].f64()
    };
    Ok((
        SourceNodes::new(&placer, (buoyancy, own), &shot.sources, &shot.series, shot.dt)?,
        Receivers::new(&placer, &shot.receivers, shot.quantity)?,
    ))
}
