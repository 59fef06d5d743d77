//! Measures the speed of a machine at this method within about a second, on a small part of a run's grid.

use super::SLABS;
use super::born::{Born, CheckpointSchedule, ImageRequest, Parameters};
use super::{Attenuation, Frame, Shot, Simulation, gpu};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::device::cpu::Cpu;
use crate::grid::{Grid, Padded};
use crate::medium::{Filler, Medium, Symmetry};
use crate::source::{Action, Source};
use crate::timing::{Nothing, cut, noise, rock, speed};
use std::sync::Arc;

/// A shot of `steps` steps with zero sources and every option that affects the speed of a step, over a model of at
/// most `most` nodes per side with spacing 1.
fn sample(run: &Shot, padded: &Padded, most: usize, steps: usize) -> (Shot, Grid) {
    let grid = cut(&padded.model, most);
    let attenuation = run.attenuation.as_ref().map(|losses| Attenuation {
        qp: [100.0].into(),
        qs: [50.0].into(),
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
        shears_in_place: false,
        jcheck: steps,
    };
    (shot, grid)
}

/// Measures the grid points updated per second on the processors of this machine, for media of a symmetry class.
///
/// # Errors
/// Returns the errors of setting up and running a simulation.
pub fn calibrate(run: &Shot, padded: &Padded, class: Symmetry, cpu: &Cpu) -> Result<f64, Error> {
    let (most, steps) = if padded.ndim() == 3 { (100, 8) } else { (1000, 25) };
    let (shot, grid) = sample(run, padded, most, steps);
    let padded = shot.frame.around(&grid);
    let slabs = SLABS.partition(padded.planes(), 1)?;
    let threads = cpu.another()?;
    let mut medium = Medium::<f32>::new(&padded)?;
    rock(&padded, &mut Filler::new(&mut medium, cpu))?;
    let mut simulation = Simulation::new(&shot, medium, class, threads, slabs)?;
    speed(padded.cells() * steps, || simulation.run(&mut Nothing))
}

/// Measures the speed of one device, with fields of noise because zeros can be faster. The sample is as large as half
/// of the free device memory allows, up to a size that is representative of a large grid.
///
/// # Errors
/// Returns the errors of setting up and running a simulation.
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
        let padded = shot.frame.around(&grid);
        let layouts = SLABS.partition(padded.planes(), 1)?;
        if most <= 64 || gpu::bytes((&shot, 1), &padded, &layouts[0], (class, 0)) <= free / 2 {
            break (shot, padded, layouts);
        }
        most /= 2;
    };
    let machines = layouts
        .into_iter()
        .map(|layout| (device.clone(), layout))
        .collect();
    let mut medium = Medium::<f32>::new(&padded)?;
    rock(&padded, &mut Filler::new(&mut medium, cpu))?;
    let mut simulation = gpu::from_medium(&shot, &medium, class, (machines, None), cpu)?;
    let mut noise = noise();
    simulation.start_from(|_, _, numbers| numbers.iter_mut().for_each(|x| *x = noise()))?;
    speed(padded.cells() * steps, || simulation.run(&mut Nothing))
}

/// The work of a linearised shot.
#[derive(Clone, Copy, Debug)]
pub enum Linearised<'a> {
    /// Runs forward with the field scattered by a perturbation.
    Forward,
    /// Applies the adjoint: records the background and returns gradients of the parameters.
    Back,
    /// Records the background and forms these images in the reverse sweep.
    Images(&'a ImageRequest),
}

/// Measures the seconds per cell and step of a linearised shot on a device, or on processors: of the forward run
/// alone, and of the whole shot if every step is stored.
///
/// # Errors
/// Returns the errors of setting up and running a simulation.
pub fn calibrate_linearised<A: Accelerator>(
    run: &Shot,
    padded: &Padded,
    (class, what): (Symmetry, Linearised<'_>),
    (device, cpu): (Option<&Arc<A>>, &Cpu),
) -> Result<[f64; 2], Error> {
    let (most, steps) = match (padded.ndim(), device) {
        (3, None) => (60, 16),
        (3, Some(_)) => (96, 12),
        (_, None) => (400, 40),
        _ => (1000, 40),
    };
    let (shot, grid) = sample(run, padded, most, steps);
    let padded = shot.frame.around(&grid);
    let mut medium = Medium::<f32>::new(&padded)?;
    rock(&padded, &mut Filler::new(&mut medium, cpu))?;
    let mut born = Born::new(&shot, medium, (class, Parameters::Stiffness), cpu.another()?)?;
    if let Some(device) = device {
        born.run_on(vec![device.clone()])?;
    }
    let cells = padded.cells() * steps;
    let alone = speed(cells, || born.forward(None, &mut |_, _, _| Ok(())))?;
    let numbers = |count: usize| vec![0.0; count];
    let data = numbers(born.records() * born.values());
    let all = match what {
        Linearised::Forward => {
            let change = numbers(born.perturbation_len());
            speed(cells, || born.forward(Some(&change), &mut |_, _, _| Ok(())))?
        }
        Linearised::Back => {
            let schedule = CheckpointSchedule::choose(steps, born.sizes(), usize::MAX / 2)?;
            speed(cells, || born.adjoint(&data, &schedule).map(drop))?
        }
        Linearised::Images(request) => {
            let request = inside(request, &grid);
            let schedule = CheckpointSchedule::choose(steps, born.sizes_of_images(&request), usize::MAX / 2)?;
            speed(cells, || born.images(&data, &schedule, &request).map(drop))?
        }
    };
    Ok([1.0 / alone, 1.0 / all])
}

/// The same number of lags, clamped to the extent of the grid.
fn inside(request: &ImageRequest, grid: &Grid) -> ImageRequest {
    let most = grid.n.map(|n| (n as isize - 1) / 2);
    let within = |lag: &[isize; 3]| [0, 1, 2].map(|a| lag[a].clamp(-most[a], most[a]));
    ImageRequest {
        kinds: request.kinds.clone(),
        lags: request.lags.iter().map(within).collect(),
    }
}
