//! How fast a machine is, from a second or less of a small grid with the absorbing frame.

use super::{Shot, Simulation, SourceKind};
use crate::Error;
use crate::boundary::{free_surface::Surface, one_way::Form};
use crate::device::cpu::Cpu;
use crate::domain::partition::partition;
use crate::grid::{Grid, Padded};
use crate::medium::{Destination, Filler, Medium, plane_names};
use crate::time_loop::Nothing;

/// A shot of `steps` steps on a grid with spacing 1, wave speeds of [`ones`].
pub(super) fn shot(ndim: usize, steps: usize) -> Shot {
    Shot {
        dt: 0.1,
        wavelet: vec![0.0; steps * ndim],
        sources: vec![[0.0; 3]],
        receivers: vec![[0.0; 3]],
        kind: SourceKind::Force,
        nbell: 0,
        absorbing: true,
        one_way: Form::Box,
        surface: Surface::None,
        interpolate: true,
        potentials: false,
        jdata: 1,
        snapshots: None,
        jcheck: steps,
    }
}

/// A medium whose stiffness and density are one.
pub(super) fn ones(padded: &Padded, medium: &mut dyn Destination) -> Result<(), Error> {
    let nz = padded.model.n[0];
    let lines = padded.model.cells() / nz;
    let step = medium
        .lines((4 << 20) / ((plane_names(padded.ndim()).len() + 1) * nz))
        .max(1);
    for first in (0..lines).step_by(step) {
        let count = step.min(lines - first);
        medium.block(count)?.fill(1.0);
        medium.commit(first, count)?;
    }
    Ok(())
}

/// Points a second on the processors of this machine.
pub fn calibrate(ndim: usize, cpu: &Cpu) -> Result<f64, Error> {
    let (grid, steps) = match ndim {
        3 => (Grid::new_3d([120; 3], [0.0; 3], [1.0; 3]), 10),
        _ => (Grid::new_2d([1200; 2], [0.0; 2], [1.0; 2]), 25),
    };
    let padded = Padded::new(&grid, 20);
    let mut medium = Medium::<f32>::new(&padded)?;
    ones(&padded, &mut Filler::new(&mut medium, cpu))?;
    let slabs = partition(padded.planes(), 1)?;
    let mut simulation = Simulation::new(&shot(ndim, steps), medium, Cpu::new(cpu.threads())?, slabs)?;
    simulation.run(&mut Nothing)?;
    let begun = std::time::Instant::now();
    simulation.run(&mut Nothing)?;
    Ok((padded.cells() * steps) as f64 / begun.elapsed().as_secs_f64())
}
