//! Measurement of the speed of processors, in at most about a second, on a small grid with absorbing frame.

use super::SLABS;
use super::{Shot, Simulation, SourceKind};
use crate::Error;
use crate::boundary::{free_surface::Surface, one_way::Form};
use crate::device::cpu::Cpu;
use crate::grid::{Grid, Padded};
use crate::medium::{Filler, Medium};
use crate::receiver::Quantity;
use crate::timing::{Nothing, rock, speed};

/// A shot of `steps` steps on a grid with spacing 1, whose time step is stable for the medium of [`rock`].
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
        quantity: Quantity::Displacement,
        jdata: 1,
        snapshots: None,
        jcheck: steps,
    }
}

/// Speed of the processors of this host, in points per second.
pub fn calibrate(ndim: usize, cpu: &Cpu) -> Result<f64, Error> {
    let (grid, steps) = match ndim {
        3 => (Grid::new_3d([120; 3], [0.0; 3], [1.0; 3]), 10),
        _ => (Grid::new_2d([1200; 2], [0.0; 2], [1.0; 2]), 25),
    };
    let padded = Padded::new(&grid, 20);
    let mut medium = Medium::<f32>::new(&padded)?;
    rock(&padded, &mut Filler::new(&mut medium, cpu))?;
    let slabs = SLABS.partition(padded.planes(), 1)?;
    let mut simulation = Simulation::new(&shot(ndim, steps), medium, cpu.another()?, slabs)?;
    speed(padded.cells() * steps, || simulation.run(&mut Nothing))
}
