//! How fast a machine is at this method, from a second or so of a cut of a run's grid.

use super::{Action, Attenuation, Frame, Shot, Simulation, Source, gpu};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::device::cpu::Cpu;
use crate::domain::partition::partition;
use crate::grid::{Grid, Padded};
use crate::medium::{Destination, Filler, Medium, Symmetry};
use crate::time_loop::Nothing;
use std::sync::Arc;
use std::time::Instant;

/// A silent shot of so many steps with everything that the speed of a step depends on, over a model of at most `most` nodes
/// a side with spacing 1.
fn sample(run: &Shot, padded: &Padded, most: usize, steps: usize) -> (Shot, Grid) {
    let mut grid = Grid {
        o: [0.0; 3],
        d: [1.0; 3],
        ..padded.model.clone()
    };
    grid.n[..padded.ndim()]
        .iter_mut()
        .for_each(|n| *n = (*n).min(most));
    let attenuation = run.attenuation.as_ref().map(|losses| Attenuation {
        qp: vec![100.0],
        qs: vec![50.0],
        mechanisms: losses.mechanisms,
        band: [0.01, 0.1],
        reference: 0.03,
    });
    let cells = run.frame.cells.map(|ends| ends.map(|n| n.min(most / 4)));
    let shot = Shot {
        dt: 0.1,
        nt: steps,
        order: run.order,
        family: run.family,
        frame: Frame { cells, ..run.frame },
        attenuation,
        surface: run.surface,
        sources: vec![Source {
            point: [0, 1, 2].map(|axis| (grid.n[axis] / 2) as f32),
            action: Action::explosion(0.0),
            series: 0,
        }],
        series: vec![vec![0.0; steps]],
        receivers: vec![[0.0; 3]],
        quantity: run.quantity,
        jdata: 1,
        snapshots: None,
        peaks: false,
        jcheck: steps,
    };
    (shot, grid)
}

/// One rock: normal stiffnesses of 3, all others and the density 1.
fn rock(padded: &Padded, cpu: &Cpu) -> Result<Medium<f32>, Error> {
    let mut medium = Medium::new(padded)?;
    let (ndim, nz) = (padded.ndim(), padded.model.n[0]);
    let lines = padded.model.cells() / nz;
    let mut filler = Filler::new(&mut medium, cpu);
    let step = filler.lines((4 << 20) / (10 * nz)).max(1);
    for first in (0..lines).step_by(step) {
        let count = step.min(lines - first);
        let arrays = filler.block(count)?.chunks_mut(count * nz);
        for (k, array) in arrays.enumerate() {
            array.fill(if k < ndim { 3.0 } else { 1.0 });
        }
        filler.commit(first, count)?;
    }
    drop(filler);
    Ok(medium)
}

/// Points a second of steps that `once` runs, after a run to warm up.
fn speed(points: usize, mut once: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    once()?;
    let begun = Instant::now();
    once()?;
    Ok(points as f64 / begun.elapsed().as_secs_f64())
}

/// Points a second on the processors of this machine, for media of a class.
///
/// # Errors
/// What a run can fail of.
pub fn calibrate(run: &Shot, padded: &Padded, class: Symmetry, cpu: &Cpu) -> Result<f64, Error> {
    let (most, steps) = if padded.ndim() == 3 { (100, 8) } else { (1000, 25) };
    let (shot, grid) = sample(run, padded, most, steps);
    let padded = shot.frame.around(&grid);
    let slabs = partition(padded.planes(), 1)?;
    let threads = Cpu::new(cpu.threads())?;
    let mut simulation = Simulation::<f32>::new(&shot, rock(&padded, cpu)?, class, threads, slabs)?;
    speed(padded.cells() * steps, || simulation.run(&mut Nothing))
}

/// The same on one device, with fields of noise: zeros can be faster. The cut is as large as the device's free memory lets it
/// be, up to what tells the speed of a large grid.
///
/// # Errors
/// What a run can fail of.
pub fn calibrate_device<A: Accelerator>(
    run: &Shot,
    padded: &Padded,
    class: Symmetry,
    (device, cpu): (&Arc<A>, &Cpu),
) -> Result<f64, Error> {
    let free = device.free_bytes()?;
    let (mut most, steps) = if padded.ndim() == 3 {
        (256, 40)
    } else {
        (3000, 200)
    };
    let (shot, padded, layouts) = loop {
        let (shot, grid) = sample(run, padded, most, steps);
        let cut = shot.frame.around(&grid);
        let layouts = partition(cut.planes(), 1)?;
        if most <= 64 || gpu::bytes(&shot, &cut, &layouts[0], class, 0) <= free / 2 {
            break (shot, cut, layouts);
        }
        most /= 2;
    };
    let machines = layouts
        .into_iter()
        .map(|layout| (device.clone(), layout))
        .collect();
    let raw = rock(&padded, cpu)?;
    let mut simulation = gpu::Simulation::<f32, A>::new(&shot, raw, class, (machines, None), cpu)?;
    let mut seed = 1_u32;
    simulation.start_from(|_, _, numbers| {
        for x in numbers {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *x = (seed >> 8) as f32 * 1e-9 - 8e-3;
        }
    })?;
    speed(padded.cells() * steps, || simulation.run(&mut Nothing))
}
