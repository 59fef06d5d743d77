//! Speed of the velocity-stress method on the processors of this machine.
//!
//! `cargo bench -p kernels --bench velocity_stress [threads]` prints, for 2-D and 3-D grids, orders and frames, million
//! points of the padded grid a second. Receivers are recorded.

use kernels::Error;
use kernels::boundary::cpml::Layer;
use kernels::device::cpu::Cpu;
use kernels::domain::partition::partition;
use kernels::grid::Grid;
use kernels::medium::{Filler, Medium, Symmetry, plane_names};
use kernels::stencil::Family;
use kernels::time_loop::Recorder;
use kernels::velocity_stress::{Absorber, Action, Frame, Quantity, Shot, Simulation, Source};
use std::time::Instant;

struct Nothing;

impl Recorder<f32> for Nothing {
    fn traces(&mut self, _: usize, _: &[f32]) -> Result<(), Error> {
        Ok(())
    }

    fn snapshot(&mut self, _: usize, _: &[f32]) -> Result<(), Error> {
        Ok(())
    }
}

fn layers() -> Absorber {
    Absorber::Cpml(Layer {
        reflection: 1e-4,
        kappa_max: 1.0,
        frequency: 0.1,
        fastest: 1.8,
    })
}

/// Million points of the padded grid a second: the best of five runs.
fn speed(grid: &Grid, order: usize, frame: Frame, threads: usize) -> Result<f64, Error> {
    use kernels::medium::Destination;
    let padded = frame.around(grid);
    let cpu = Cpu::new(threads)?;
    let mut medium = Medium::<f32>::new(&padded)?;
    let (nz, lines) = (grid.n[0], grid.cells() / grid.n[0]);
    let arrays: &[f32] = if grid.ndim == 3 {
        &[3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    } else {
        &[3.0, 3.0, 1.0, 1.0, 1.0]
    };
    assert_eq!(arrays.len(), plane_names(grid.ndim).len() + 1);
    let mut filler = Filler::new(&mut medium, &cpu);
    for first in (0..lines).step_by(1000) {
        let count = 1000.min(lines - first);
        let block = filler.block(count)?;
        block
            .chunks_mut(count * nz)
            .zip(arrays)
            .for_each(|(array, &x)| array.fill(x));
        filler.commit(first, count)?;
    }
    let nt = (60_000_000 / padded.cells()).max(4);
    let middle = [0, 1, 2].map(|a| (grid.n[a] / 2) as f32);
    let shot = Shot {
        dt: 0.2,
        nt,
        order,
        family: Family::Taylor,
        frame,
        attenuation: None,
        surface: false,
        sources: vec![Source {
            point: middle,
            action: Action::explosion(1.0),
            series: 0,
        }],
        series: vec![vec![1.0; nt]],
        receivers: vec![middle],
        quantity: Quantity::Velocity,
        jdata: 1,
        snapshots: None,
        peaks: false,
        jcheck: nt,
    };
    let slabs = partition(padded.planes(), 1)?;
    let mut engine = Simulation::new(&shot, medium, Symmetry::Isotropic, cpu, slabs)?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let begun = Instant::now();
        engine.run(&mut Nothing)?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(1e-6 * (padded.cells() * nt) as f64 / best)
}

fn main() -> Result<(), Error> {
    let threads = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next_back()
        .unwrap_or(1);
    println!("{}", Cpu::new(threads)?.describe());
    for (words, grid) in [
        ("3-D 200^3", Grid::new_3d([200; 3], [0.0; 3], [1.0; 3])),
        ("2-D 1200^2", Grid::new_2d([1200; 2], [0.0; 2], [1.0; 2])),
    ] {
        for order in [2, 4, 8] {
            for (name, cells, absorber) in [
                ("no frame", 0, layers()),
                ("CPML of 10", 10, layers()),
                ("sponge of 20", 20, Absorber::Sponge(0.92)),
            ] {
                let frame = Frame {
                    cells: [[cells; 2]; 3],
                    absorber,
                };
                println!(
                    "{words} order {order} {name}: {:.1} Mpt/s",
                    speed(&grid, order, frame, threads)?
                );
            }
        }
    }
    Ok(())
}
