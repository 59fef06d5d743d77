//! Measures a device's speed on grids similar to the grid of a run.

use super::{Simulation, Upload, bytes};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::grid::Padded;
use crate::medium::stiffness::Symmetry;
use crate::methods::displacement::SLABS;
use crate::methods::displacement::plan::shot;
use crate::timing::{Nothing, cut, noise, rock, speed};
use std::sync::Arc;

/// Speed of one device in points per second, measured in at most about a second on the grid of a run if it is small,
/// otherwise on a smaller grid, with an absorbing frame. Fields are noise, because zeros can be faster.
pub fn calibrate<A: Accelerator>(run: &Padded, device: &Arc<A>, symmetry: Symmetry) -> Result<f64, Error> {
    let (ndim, free) = (run.ndim(), device.free_bytes()?);
    let (mut most, steps) = if ndim == 3 { (256, 40) } else { (3000, 200) };
    let shot = shot(ndim, steps);
    let (padded, layouts) = loop {
        let padded = Padded::new(&cut(&run.model, most), run.nb.min(most / 4));
        let layouts = SLABS.partition(padded.planes(), 1)?;
        if most <= 64 || bytes(&shot, &padded, &layouts[0], symmetry, 0) <= free / 2 {
            break (padded, layouts);
        }
        most /= 2;
    };
    let machines = layouts
        .into_iter()
        .map(|layout| (device.clone(), layout))
        .collect();
    let mut upload = Upload::of_class(&padded, machines, shot.surface, shot.dt, symmetry)?;
    rock(&padded, &mut upload)?;
    let mut simulation = Simulation::new(&shot, upload, symmetry, None)?;
    let mut noise = noise();
    let (nz, pitch) = (padded.n[0], padded.pitch());
    // The padding after the last cell of a row stays zero.
    simulation.start_from(|_, _, plane| {
        let rows = plane.chunks_mut(pitch);
        rows.for_each(|row| row[..nz].iter_mut().for_each(|u| *u = noise()));
    })?;
    speed(padded.cells() * steps, || simulation.run(&mut Nothing))
}
