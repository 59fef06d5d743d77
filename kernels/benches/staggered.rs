//! Speed of the velocity-stress engine on GPUs: points of the padded grid per second, effective GB/s and their ratio to
//! the speed of a copy, medians of several runs.
//!
//! ```text
//! cargo bench -p kernels --bench staggered -- [dim=3] [n=512, or z,x,y: cells of the model] [nb=10]
//!     [absorb=cpml|sponge|none] [free=n] [order=4] [sym=iso|ort] [q=none|coarse|1|2|3|4] [gpus=1] [deep=n] [steps=100]
//!     [repeat=5] [jdata=10] [noise=y] [tile=threads along z,rows,deep,strip,velocity blocks,stress blocks,ahead,
//!     frame threads,frame blocks]
//! ```
//!
//! Several values of `tile=` are separated by a slash.

mod case;

use case::{Nothing, Words, copy_speed};
use kernels::Error;
use kernels::boundary::cpml::Layer;
use kernels::device::cpu::Cpu;
use kernels::device::cuda::{Cuda, probe};
use kernels::grid::Grid;
use kernels::grid::stencil::Family;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Destination, Filler, Medium, Symmetry};
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::gpu::{Simulation, from_medium, tile::Tile};
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, Shot};
use kernels::source::{Action, Source};
use std::sync::Arc;
use std::time::Instant;

/// A homogeneous isotropic medium on the grid with its frame.
fn rock(grid: &Grid, frame: &Frame, cpu: &Cpu) -> Result<Medium<f32>, Error> {
    let mut medium = Medium::new(&frame.around(grid))?;
    let (nz, lines) = (grid.n[0], grid.cells() / grid.n[0]);
    let arrays: &[f32] = match grid.ndim {
        3 => &[3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        _ => &[3.0, 3.0, 1.0, 1.0, 1.0],
    };
    let mut filler = Filler::new(&mut medium, cpu);
    for first in (0..lines).step_by(10_000) {
        let count = 10_000.min(lines - first);
        let block = filler.block(count)?;
        let each = block.chunks_mut(count * nz).zip(arrays);
        each.for_each(|(array, &x)| array.fill(x));
        filler.commit(first, count)?;
    }
    drop(filler);
    Ok(medium)
}

/// The grid, the shot and the symmetry class that the arguments describe.
fn shot(words: &Words) -> (Grid, Shot, Symmetry) {
    let n: Vec<usize> = words
        .text("n", "512")
        .split(',')
        .map(|n| n.parse().expect("a number"))
        .collect();
    let at = |k: usize| n.get(k).copied().unwrap_or(n[0]);
    let last = words.number("deep", if words.number("dim", 3) == 3 { at(2) } else { at(1) });
    let grid = match words.number("dim", 3) {
        3 => Grid::new_3d([at(0), at(1), last], [0.0; 3], [1.0; 3]),
        _ => Grid::new_2d([at(0), last], [0.0; 2], [1.0; 2]),
    };
    let (free, nb) = (words.text("free", "n") == "y", words.number("nb", 10));
    let mut cells = [[nb; 2]; 3];
    if free {
        cells[0][0] = 0;
    }
    let absorber = match words.text("absorb", "cpml").as_str() {
        "sponge" => Absorber::Sponge(0.92),
        kind => {
            if kind == "none" {
                cells = [[0; 2]; 3];
            }
            Absorber::Cpml(Layer {
                reflection: 1e-4,
                kappa_max: 1.0,
                frequency: 0.1,
                fastest: 1.8,
            })
        }
    };
    let mechanisms = match words.text("q", "none").as_str() {
        "none" => None,
        "coarse" => Some(Mechanisms::Coarse),
        n => Some(Mechanisms::Everywhere(n.parse().expect("a number"))),
    };
    let steps = words.number("steps", 100);
    let middle = [0, 1, 2].map(|a| (grid.n[a] / 2) as f32);
    let shot = Shot {
        dt: 0.2,
        nt: steps,
        order: words.number("order", 4),
        family: Family::Taylor,
        frame: Frame { cells, absorber },
        attenuation: mechanisms.map(|mechanisms| Attenuation {
            qp: [100.0].into(),
            qs: [50.0].into(),
            mechanisms,
            band: [0.01, 0.1],
            reference: 0.03,
        }),
        surface: free,
        sources: vec![Source {
            point: middle,
            action: Action::explosion(1.0),
            series: 0,
        }],
        series: vec![vec![1.0; steps]],
        receivers: (0..100)
            .map(|k| [1.0, middle[1] - 50.0 + k as f32, middle[2]])
            .collect(),
        quantity: Quantity::Velocity,
        jdata: words.number("jdata", 10),
        snapshots: None,
        peaks: false,
        shears_in_place: false,
        jcheck: steps,
    };
    let class = match words.text("sym", "iso").as_str() {
        "ort" => Symmetry::Orthorhombic,
        _ => Symmetry::Isotropic,
    };
    (grid, shot, class)
}

/// The count of numbers that a step must move for each cell if both stages read and write each of them once.
fn words_moved(ndim: usize, class: Symmetry, mechanisms: usize) -> usize {
    let stresses = if ndim == 3 { 6 } else { 3 };
    let stiffness = match (ndim, class) {
        (_, Symmetry::Isotropic) => 2,
        (3, _) => 9,
        _ => 4,
    };
    let velocity = stresses + 2 * ndim + 1;
    let relaxing = if mechanisms > 0 {
        stiffness + 2 * mechanisms * stresses
    } else {
        0
    };
    velocity + ndim + 2 * stresses + stiffness + relaxing
}

fn measure(words: &Words, tile: Option<Tile>, devices: &[Arc<Cuda>], copy: f64) -> Result<(), Error> {
    let (grid, shot, class) = shot(words);
    let padded = shot.frame.around(&grid);
    let cpu = Cpu::new(0)?;
    let raw = rock(&grid, &shot.frame, &cpu)?;
    let started = Instant::now();
    let layouts = SLABS.partition(padded.planes(), devices.len())?;
    let machines = devices.iter().cloned().zip(layouts).collect();
    let mut simulation: Simulation<f32, Cuda> = from_medium(&shot, &raw, class, (machines, tile), &cpu)?;
    let set_up = started.elapsed().as_secs_f64();
    if words.text("noise", "y") == "y" {
        let mut seed = 12345u32;
        simulation.start_from(|_, _, numbers| {
            for x in numbers {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *x = (seed >> 8) as f32 * 1e-9 - 8e-3;
            }
        })?;
    }
    simulation.run(&mut Nothing::default())?;
    let mut times: Vec<f64> = (0..words.number("repeat", 5))
        .map(|_| {
            let begun = Instant::now();
            simulation
                .run(&mut Nothing::default())
                .map(|()| begun.elapsed().as_secs_f64())
        })
        .collect::<Result<_, _>>()?;
    times.sort_by(f64::total_cmp);
    let (seconds, cells) = (times[times.len() / 2], padded.cells() as f64);
    let of = |seconds: f64| cells * shot.nt as f64 / seconds / 1e9;
    let mechanisms = shot.attenuation.as_ref().map_or(0, Attenuation::variables);
    let moved = words_moved(grid.ndim, class, mechanisms);
    let bytes = of(seconds) * (4 * moved) as f64;
    println!(
        "n={:?} padded={:?} order={} {class} q={} {} nb={} free={} gpus={} tile={}: {:.2} Gpt/s ({:.2} to {:.2}), {:.1} us a step, {bytes:.0} GB/s effective ({moved} words), {:.0} % of copy, {:.1} bytes a point, set-up {set_up:.2} s",
        &grid.n[..grid.ndim],
        &padded.n[..grid.ndim],
        shot.order,
        words.text("q", "none"),
        words.text("absorb", "cpml"),
        words.number("nb", 10),
        shot.surface,
        devices.len(),
        tile.map_or("default".into(), |t| format!("{t:?}").replace("Tile ", "")),
        of(seconds),
        of(times[times.len() - 1]),
        of(times[0]),
        seconds / shot.nt as f64 * 1e6,
        100.0 * bytes * 1e9 / (copy * devices.len() as f64),
        simulation.bytes() as f64 / cells,
    );
    Ok(())
}

/// The tiles that the argument `tile=` lists; `None` is the default tile.
fn tiles(list: &str) -> Vec<Option<Tile>> {
    let tile = |words: &str| {
        let n: Vec<usize> = words.split(',').filter_map(|w| w.parse().ok()).collect();
        let at = |k: usize, default: usize| n.get(k).copied().unwrap_or(default);
        (!n.is_empty()).then(|| Tile {
            z: n[0],
            rows: at(1, 1),
            deep: at(2, 2),
            strip: at(3, 64),
            blocks: [at(4, 4), at(5, 3)],
            ahead: at(6, 1) == 1,
            frame_threads: at(7, 128),
            frame_blocks: at(8, 4),
        })
    };
    list.split('/').map(tile).collect()
}

fn main() {
    let words = Words::new();
    let properties = match probe() {
        Ok(properties) => properties,
        Err(absent) => return println!("skipped: {absent}"),
    };
    let gpus = words.number("gpus", 1);
    if properties.len() < gpus {
        return println!("skipped: {gpus} GPUs asked for, {} found", properties.len());
    }
    let devices: Vec<Arc<Cuda>> = (0..gpus)
        .map(|k| Arc::new(Cuda::open(properties[k].number).expect("a device")))
        .collect();
    let copy = copy_speed(&devices[0]).expect("memory for a copy");
    println!("{} x {}, copy {:.0} GB/s", gpus, properties[0].name, copy / 1e9);
    for tile in tiles(&words.text("tile", "")) {
        if let Err(error) = measure(&words, tile, &devices, copy) {
            println!("{tile:?}: {error}");
        }
    }
}
