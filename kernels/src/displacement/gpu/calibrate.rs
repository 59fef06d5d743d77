//! How fast a device is on grids like that of a run.

use super::{Simulation, Upload, bytes};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::displacement::calibrate::{ones, shot};
use crate::domain::partition::partition;
use crate::grid::{Grid, Padded};
use crate::medium::stiffness::Symmetry;
use crate::time_loop::Nothing;
use std::sync::Arc;

/// Points a second of one device, from a second or less of the grid of a run where that is small, else of a cut of it;
/// always with the absorbing frame and fields of noise: zeros can be faster.
pub fn calibrate<A: Accelerator>(run: &Padded, device: &Arc<A>, symmetry: Symmetry) -> Result<f64, Error> {
    let (ndim, free) = (run.ndim(), device.free_bytes()?);
    let (mut most, steps) = if ndim == 3 { (256, 40) } else { (3000, 200) };
    let shot = shot(ndim, steps);
    let (padded, layouts) = loop {
        let mut grid = Grid {
            o: [0.0; 3],
            d: [1.0; 3],
            ..run.model.clone()
        };
        grid.n[..ndim].iter_mut().for_each(|n| *n = (*n).min(most));
        let padded = Padded::new(&grid, run.nb.min(most / 4));
        let layouts = partition(padded.planes(), 1)?;
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
    ones(&padded, &mut upload)?;
    let mut simulation = Simulation::new(&shot, upload, symmetry, None)?;
    let mut seed = 1_u32;
    let mut noise = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 * 1e-8
    };
    let (nz, pitch) = (padded.n[0], padded.pitch());
    // What lies behind the last cell of a row stays zero.
    simulation.start_from(|_, _, plane| {
        let rows = plane.chunks_mut(pitch);
        rows.for_each(|row| row[..nz].iter_mut().for_each(|u| *u = noise()));
    })?;
    simulation.run(&mut Nothing)?;
    let begun = std::time::Instant::now();
    simulation.run(&mut Nothing)?;
    Ok((padded.cells() * steps) as f64 / begun.elapsed().as_secs_f64())
}
