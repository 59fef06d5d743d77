//! Common part of the benchmarks of linearised runs: forward runs, then gradients or images, in one process or on
//! several ranks.

use crate::case::Words;
use crate::watched::{Watched, print_times};
use kernels::Error;
use kernels::boundary::cpml::Layer;
use kernels::communicator::Communicator;
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::grid::stencil::Family;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Destination, Filler, Medium, Symmetry};
use kernels::methods::velocity_stress::born::{
    Born, CheckpointSchedule, ImageRequest, Kind, Parameters, RankPlanes,
};
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, GHOST, Quantity, Shot};
use kernels::parallel::options::Transport;
use kernels::source::{Action, Source};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Default number of steps of a run.
const STEPS: usize = 140;

/// Points on a lattice over the whole model, `count` along each axis. Sources there soon fill the model with waves,
/// because computing with zeros uses less power.
fn lattice(grid: &Grid, count: usize) -> impl Iterator<Item = [f32; 3]> + use<> {
    let (n, ndim) = (grid.n, grid.ndim);
    let place = move |k: usize, a: usize| (k as f32 + 0.5) * n[a] as f32 / count as f32;
    (0..count.pow(ndim as u32)).map(move |k| {
        let numbers = [k % count, k / count % count, k / count / count];
        [0, 1, 2].map(|a| {
            if ndim == 2 && a == 2 {
                0.0
            } else {
                place(numbers[a], a)
            }
        })
    })
}

/// The grid and the shot that the command line describes.
fn shot(words: &Words) -> (Grid, Shot) {
    let n: Vec<usize> = words
        .text("n", "256")
        .split(',')
        .map(|n| n.parse().expect("a number"))
        .collect();
    let at = |k: usize| n.get(k).copied().unwrap_or(n[0]);
    let grid = match words.number("dim", 3) {
        3 => Grid::new_3d([at(0), at(1), at(2)], [0.0; 3], [1.0; 3]),
        _ => Grid::new_2d([at(0), at(1)], [0.0; 2], [1.0; 2]),
    };
    let (free, nb, kind) = (
        words.text("free", "n") == "y",
        words.number("nb", 10),
        words.text("absorb", "cpml"),
    );
    let mut cells = [[if kind == "none" { 0 } else { nb }; 2]; 3];
    if free {
        cells[0][0] = 0;
    }
    let absorber = match kind.as_str() {
        "sponge" => Absorber::Sponge(0.92),
        _ => Absorber::Cpml(Layer {
            reflection: 1e-4,
            kappa_max: 1.0,
            frequency: 0.05,
            fastest: 1.8,
        }),
    };
    let steps = words.number("steps", STEPS);
    let source = |point| Source {
        point,
        action: Action::explosion(1.0),
        series: 0,
    };
    let pulse = |it: usize| {
        let t = (it as f32 * 0.2 - 8.0) / 4.0;
        (1.0 - 2.0 * t * t) * (-t * t).exp()
    };
    let shot = Shot {
        dt: 0.2,
        nt: steps,
        order: words.number("order", 4),
        family: Family::Taylor,
        frame: Frame { cells, absorber },
        attenuation: words.text("q", "none").parse().ok().map(|n| Attenuation {
            qp: [100.0].into(),
            qs: [50.0].into(),
            mechanisms: Mechanisms::Everywhere(n),
            band: [0.01, 0.1],
            reference: 0.03,
        }),
        surface: free,
        sources: lattice(&grid, 8).map(source).collect(),
        series: vec![(0..steps).map(pulse).collect()],
        receivers: lattice(&grid, 7).collect(),
        quantity: Quantity::Velocity,
        jdata: 1,
        snapshots: None,
        peaks: false,
        shears_in_place: false,
        jcheck: 100,
    };
    (grid, shot)
}

/// A homogeneous medium on these planes of the grid and the ghost planes around them.
fn rock(grid: &Grid, frame: &Frame, planes: &Range<usize>, cpu: &Cpu) -> Result<Medium<f32>, Error> {
    let padded = frame.around(grid);
    let mut medium = Medium::new(&padded)?;
    let axis = grid.ndim - 1;
    let line = |plane: usize| {
        let plane = plane.saturating_sub(padded.low[axis]).min(grid.n[axis]);
        plane * (grid.cells() / grid.n[0] / grid.n[axis])
    };
    let lines = line(planes.start.saturating_sub(GHOST))..line(planes.end + GHOST);
    let nz = grid.n[0];
    // The medium has vp = 1.7, vs = 1 and density 1.
    let arrays: &[f32] = match grid.ndim {
        3 => &[2.89, 2.89, 2.89, 1.0, 1.0, 1.0, 0.89, 0.89, 0.89, 1.0],
        _ => &[2.89, 2.89, 1.0, 0.89, 1.0],
    };
    let mut filler = Filler::new(&mut medium, cpu);
    for first in lines.clone().step_by(10_000) {
        let count = 10_000.min(lines.end - first);
        let block = filler.block(count)?;
        let each = block.chunks_mut(count * nz).zip(arrays);
        each.for_each(|(array, &x)| array.fill(x));
        filler.commit(first, count)?;
    }
    drop(filler);
    Ok(medium)
}

/// Pseudo-random numbers as residuals. In short runs no wave has reached a receiver, and with zero residuals the
/// adjoint field would be zero throughout.
fn noise(count: usize) -> Vec<f32> {
    let number = |k: usize| ((k as f32 * 12.9898).sin() * 43_758.547).fract();
    (0..count).map(number).collect()
}

/// The ranks of a run, and the devices of this one.
pub struct Place<'a> {
    pub ranks: &'a dyn Communicator,
    pub devices: Vec<Arc<Watched>>,
}

impl Place<'_> {
    /// Synchronises all ranks and returns the time; the next kernel of a device counts as the first of a run.
    fn begin(&self) -> Result<Instant, Error> {
        self.devices.iter().for_each(|device| device.begin());
        self.ranks.all_gather(&[])?;
        Ok(Instant::now())
    }

    /// Seconds from the launch of a rank's first kernel to the end of its last one, on the slowest rank. The time in
    /// which devices are connected is not included.
    fn seconds(&self) -> Result<f64, Error> {
        let all = self.ranks.all_gather(&self.devices[0].seconds().to_le_bytes())?;
        let seconds = |words: &Vec<u8>| words.as_slice().try_into().map_or(0.0, f64::from_le_bytes);
        Ok(all.iter().map(seconds).fold(0.0, f64::max))
    }

    /// Whether this rank prints.
    fn prints(&self) -> bool {
        self.ranks.rank() == 0
    }
}

/// Measures images from noise on devices.
fn measure_images(words: &Words, born: &Born<f32>, kind: Kind, place: &Place<'_>) -> Result<(), Error> {
    let request = ImageRequest {
        kinds: vec![kind],
        lags: vec![[0; 3]],
    };
    let room = born.room_of_images(&request, 1)?.unwrap_or(0);
    let memory = room.min(words.number("memory", usize::MAX >> 30) << 30);
    let (sizes, nt) = (born.sizes_of_images(&request), words.number("steps", STEPS));
    let schedule = CheckpointSchedule::choose(nt, sizes, memory)?;
    if place.prints() {
        describe(&schedule, nt, schedule.bytes(sizes));
    }
    let data = [noise(born.records() * born.values())];
    for _ in 0..words.number("repeat", 2) {
        let begun = place.begin()?;
        let pictures = born.images_among(place.ranks, &data, (&schedule, &request))?;
        let seconds = place.seconds()?;
        if !place.prints() {
            continue;
        }
        let image = &pictures[0][0].image;
        let sum: f64 = image.iter().map(|&x| f64::from(x.abs())).sum();
        println!(
            "image: {:.3} ms a step; {:.2} s beside, sum {sum:.6e}",
            seconds * 1e3 / nt as f64,
            begun.elapsed().as_secs_f64() - seconds
        );
        print_times(&place.devices, image.len() as f64);
    }
    Ok(())
}

/// Prints the schedule of a reversal, and the bytes that it needs on a device.
fn describe(schedule: &CheckpointSchedule, nt: usize, bytes: usize) {
    println!(
        "{} steps at a time, {} checkpoints, {} steps run again, {:.1} GB",
        schedule.segment,
        schedule.checkpoints,
        schedule.extra(nt),
        bytes as f64 / 1e9
    );
}

/// The linearised operator of a shot on the devices of all ranks.
fn operator(words: &Words, (grid, shot): (&Grid, &Shot), place: &Place<'_>) -> Result<Born<f32>, Error> {
    let Place { ranks, devices } = place;
    let (cpu, padded) = (Cpu::new(0)?, shot.frame.around(grid));
    let of_ranks = RankPlanes::of(shot, &padded, &vec![devices.len(); ranks.size()]);
    // Rank 0 has the whole medium.
    let planes = match of_ranks.as_deref().and_then(|all| all.get(ranks.rank())) {
        Some(rank) if ranks.rank() > 0 => rank.prepared.clone(),
        _ => 0..padded.planes(),
    };
    let raw = rock(grid, &shot.frame, &planes, &cpu)?;
    let class = (Symmetry::Isotropic, Parameters::Speeds);
    let mut born = Born::on_planes(shot, raw, class, (cpu, &planes))?;
    let transport = match words.text("way", "auto").as_str() {
        "host" => Transport::HostStaged,
        _ => Transport::Auto,
    };
    born.run_on_ranks(devices.clone(), *ranks, transport)?;
    Ok(born)
}

/// Measures forward runs, then gradients or images, on the devices of all ranks.
pub fn measure(words: &Words, place: &Place<'_>) -> Result<(), Error> {
    let Place { ranks, devices } = place;
    let (grid, shot) = shot(words);
    let cells = shot.frame.around(&grid).cells() as f64;
    let born = operator(words, (&grid, &shot), place)?;
    if place.prints() {
        print_times(devices, cells);
    }
    let step = |seconds: f64| seconds * 1e3 / shot.nt as f64;
    for _ in 0..words.number("repeat", 2) {
        place.begin()?;
        born.forward_among(*ranks, None, &mut |_, _, _| Ok(()))?;
        let seconds = place.seconds()?;
        if place.prints() {
            println!("forward: {:.3} ms a step", step(seconds));
            print_times(devices, cells);
        }
    }
    let kind = match words.text("image", "none").as_str() {
        "none" => None,
        "pp" => Some(Kind::Pp),
        "energy" => Some(Kind::Energy),
        other => panic!("image={other}: an image is none, pp or energy"),
    };
    if let Some(kind) = kind {
        return measure_images(words, &born, kind, place);
    }
    let room = born.room(1).unwrap_or(0);
    let memory = room.min(words.number("memory", usize::MAX >> 30) << 30);
    let (schedule, sizes, once) = match words.text("keep", "steps").as_str() {
        "boundary" => {
            let (sizes, once) = born.boundary_sizes()?;
            let schedule = CheckpointSchedule::choose(shot.nt, sizes, memory.saturating_sub(once))?;
            (schedule.with_boundary_saving(), sizes, once)
        }
        _ => (
            CheckpointSchedule::choose(shot.nt, born.sizes(), memory)?,
            born.sizes(),
            0,
        ),
    };
    if place.prints() {
        describe(&schedule, shot.nt, schedule.bytes(sizes) + once);
    }
    for _ in 0..words.number("repeat", 2) {
        let begun = place.begin()?;
        let mut ahead = 0.0;
        let mut residuals = |records: Vec<Vec<f32>>| {
            ahead = devices[0].seconds();
            Ok(records.iter().map(|records| noise(records.len())).collect())
        };
        let derivatives = born.gradients_among(*ranks, &mut residuals, &schedule)?;
        let seconds = place.seconds()?;
        if !place.prints() {
            continue;
        }
        let gradients = derivatives.by_parameters();
        let sum: f64 = gradients.iter().flatten().map(|&x| f64::from(x.abs())).sum();
        println!(
            "gradient: {:.3} ms a step, of which {:.3} as far as the records; {:.2} s beside, sum {sum:.6e}",
            step(seconds),
            step(ahead),
            begun.elapsed().as_secs_f64() - seconds
        );
        print_times(devices, cells);
    }
    if let Some(drift) = born.drift() {
        println!("waves that ran backwards came to rest within {drift:.1e}");
    }
    Ok(())
}
