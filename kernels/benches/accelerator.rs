//! Speed of the displacement engine on GPUs: points a second, effective GB/s and share of the copy speed of the same
//! run, medians. `cargo bench -p kernels --bench accelerator -- [dim=3] [n=512] [nb=48] [sym=ort] [gpus=1] [steps=100]
//! [deep=n, interior cells along the slowest axis] [edge=planes computed before the exchange] [noise=y] [repeat=5] [jdata=10] [absorbing=y] [tile=vec,z,rows,ahead,blocks[,bulk,form,pad]]`; several values of n= or tile= are separated by a
//! slash.

use kernels::Error;
use kernels::boundary::{free_surface::Surface, one_way::Form};
use kernels::device::accelerator::{Accelerator, Memory, Queue};
use kernels::device::cuda::{Cuda, probe};
use kernels::displacement::gpu::tile::{self, Tile};
use kernels::displacement::gpu::{Simulation, Upload};
use kernels::displacement::{Shot, SourceKind};
use kernels::domain::partition::{Slab, balance};
use kernels::grid::{Grid, Padded};
use kernels::medium::Symmetry;
use kernels::time_loop::Recorder;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Takes the records and forgets them.
#[derive(Default)]
struct Nothing(f64);

impl Recorder<f32> for Nothing {
    fn traces(&mut self, _it: usize, traces: &[f32]) -> Result<(), Error> {
        self.0 += traces.iter().map(|&x| f64::from(x.abs())).sum::<f64>();
        Ok(())
    }
    fn snapshot(&mut self, _it: usize, _piece: &[f32]) -> Result<(), Error> {
        Ok(())
    }
}

/// Words of the command line.
struct Words(HashMap<String, String>);

impl Words {
    fn text(&self, key: &str, default: &str) -> String {
        self.0.get(key).cloned().unwrap_or_else(|| default.into())
    }
    fn number(&self, key: &str, default: usize) -> usize {
        self.0.get(key).map_or(default, |v| v.parse().expect("a number"))
    }
}

/// What is measured.
struct Case {
    ndim: usize,
    n: usize,
    /// Interior cells along the slowest axis.
    deep: usize,
    nb: usize,
    /// Planes of a slab that come first at a cut, in place of the partition's own choice.
    edge: Option<usize>,
    noise: bool,
    symmetry: Symmetry,
    gpus: usize,
    steps: usize,
    jdata: usize,
    absorbing: bool,
    tile: Option<Tile>,
}

impl Case {
    fn padded(&self) -> Padded {
        let grid = match self.ndim {
            3 => Grid::new_3d([self.n, self.n, self.deep], [0.0; 3], [10.0; 3]),
            _ => Grid::new_2d([self.n, self.deep], [0.0; 2], [10.0; 2]),
        };
        Padded::new(&grid, self.nb)
    }

    fn shot(&self) -> Shot {
        let middle = 5.0 * self.n as f32;
        let count = self.n.min(200);
        let along = |k: usize| [100.0, 10.0 * (k * (self.n - 1) / count) as f32, middle];
        Shot {
            dt: 0.001,
            wavelet: (0..self.steps * self.ndim)
                .map(|i| (i as f32 * 0.1).sin())
                .collect(),
            sources: vec![[middle; 3]],
            receivers: (0..count).map(along).collect(),
            kind: SourceKind::Stress,
            nbell: 5,
            absorbing: self.absorbing,
            one_way: Form::Box,
            surface: Surface::None,
            interpolate: true,
            potentials: false,
            jdata: self.jdata,
            snapshots: None,
            jcheck: 100,
        }
    }

    fn set_edges(&self, slab: &mut Slab) {
        let Some(edge) = self.edge else { return };
        if !slab.low_edge.is_empty() {
            slab.low_edge.end = slab.own.start + edge;
        }
        if !slab.high_edge.is_empty() {
            slab.high_edge.start = (slab.own.end - edge).max(slab.low_edge.end);
        }
        slab.interior = slab.low_edge.end..slab.high_edge.start;
    }

    /// A homogeneous medium of vp 3000, vs 1700 m/s with the planes of every class filled, in blocks from the host.
    fn simulation(&self, devices: &[Arc<Cuda>]) -> Result<Simulation<f32, Cuda>, Error> {
        let (padded, shot) = (self.padded(), self.shot());
        let mut layouts = balance(padded.planes(), padded.nb, &vec![1.0; self.gpus])?;
        for slab in &mut layouts {
            self.set_edges(slab);
        }
        let machines = devices.iter().cloned().zip(layouts).collect();
        let mut upload = Upload::<f32, Cuda>::new(&padded, machines, shot.surface, shot.dt)?;
        let (p, s, rho) = (2200.0f32 * 9e6, 2200.0f32 * 2.89e6, 2200.0f32);
        let planes: &[f32] = match self.ndim {
            3 => &[p, p, p, s, s, s, p - 2.0 * s, p - 2.0 * s, p - 2.0 * s, rho],
            _ => &[p, p, s, p - 2.0 * s, rho],
        };
        let lines = padded.model.cells() / self.n;
        let mut first = 0;
        while first < lines {
            let count = upload.capacity().min(lines - first);
            let block = upload.numbers(count)?;
            for (out, &value) in block.chunks_mut(count * self.n).zip(planes) {
                out.fill(value);
            }
            upload.send(first, count)?;
            first += count;
        }
        let mut simulation = Simulation::new(&shot, upload, self.symmetry, self.tile)?;
        if !self.noise {
            return Ok(simulation);
        }
        // Noise: fields of zeros can run faster than real ones.
        let mut seed = 1u32;
        let mut noise = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 * 1e-8
        };
        let (nz, pitch) = (padded.n[0], padded.pitch());
        simulation.start_from(|_, _, plane| {
            plane
                .chunks_mut(pitch)
                .for_each(|row| row[..nz].iter_mut().for_each(|x| *x = noise()));
        })?;
        Ok(simulation)
    }

    /// Words that a fused step must move at least for a point of the padded grid; the medium has its own, smaller grid.
    fn words(&self) -> f64 {
        let medium = match (self.ndim, self.symmetry) {
            (2, Symmetry::Isotropic) | (3, Symmetry::Isotropic) => 3.0,
            (2, _) => 5.0,
            (_, Symmetry::Vti | Symmetry::Hti) => 6.0,
            _ => 10.0,
        };
        3.0 * self.ndim as f64 + medium
    }

    fn measure(&self, devices: &[Arc<Cuda>], repeat: usize, copy: f64) -> Result<(), Error> {
        let started = Instant::now();
        let mut simulation = self.simulation(devices)?;
        let set_up = started.elapsed().as_secs_f64();
        let mut sum = Nothing::default();
        simulation.run(&mut sum)?;
        let mut times: Vec<f64> = (0..repeat)
            .map(|_| {
                let begun = Instant::now();
                simulation
                    .run(&mut Nothing::default())
                    .map(|()| begun.elapsed().as_secs_f64())
            })
            .collect::<Result<_, _>>()?;
        times.sort_by(f64::total_cmp);
        let (seconds, cells) = (times[times.len() / 2], self.padded().cells() as f64);
        let rate = cells * self.steps as f64 / seconds;
        let bytes = rate * self.words() * 4.0;
        println!(
            "{}-D n={} deep={} nb={} {:?} gpus={} absorbing={} tile={}: {:.2} Gpt/s ({:.2} to {:.2}), {:.1} us a step, {:.0} GB/s effective ({} words), {:.0} % of copy, {:.1} bytes a point, set-up {set_up:.2} s, sum {:.7e}",
            self.ndim,
            self.n,
            self.deep,
            self.nb,
            self.symmetry,
            self.gpus,
            self.absorbing,
            self.tile
                .map_or("default".into(), |t| format!("{t:?}").replace("Tile ", "")),
            rate / 1e9,
            cells * self.steps as f64 / times[times.len() - 1] / 1e9,
            cells * self.steps as f64 / times[0] / 1e9,
            seconds / self.steps as f64 * 1e6,
            bytes / 1e9,
            self.words(),
            100.0 * bytes / (copy * self.gpus as f64),
            simulation.bytes() as f64 / cells,
            sum.0,
        );
        Ok(())
    }
}

/// Bytes a second, read and written, of a copy inside a device.
fn copy_speed(device: &Cuda) -> Result<f64, Error> {
    let bytes = 2usize << 30;
    let (from, to) = (device.allocate(bytes)?, device.allocate(bytes)?);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let begun = Instant::now();
        for _ in 0..10 {
            // SAFETY: both live until the copies are done, which is waited for.
            unsafe { device.copy_to(Queue::Main, from.address(), device, to.address(), bytes)? };
        }
        device.finish()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(20.0 * bytes as f64 / best)
}

fn tiles(text: &str) -> Vec<Option<Tile>> {
    let one = |t: &str| {
        let k: Vec<usize> = t.split(',').map(|x| x.parse().expect("five numbers")).collect();
        let form = [tile::Form::Sweep, tile::Form::Relay, tile::Form::Small][k.get(6).copied().unwrap_or(0)];
        Tile {
            form,
            vec: k[0],
            z: k[1],
            rows: if form == tile::Form::Small { 1 } else { k[2] },
            planes: if form == tile::Form::Small { k[2] } else { 1 },
            ahead: k[3],
            blocks: k[4],
            bulk: k.get(5) != Some(&0),
            pad: k.get(7).copied().unwrap_or(4),
        }
    };
    if text.is_empty() {
        vec![None]
    } else {
        text.split('/').map(|t| Some(one(t))).collect()
    }
}

fn main() {
    let words = std::env::args().skip(1);
    let words = Words(
        words
            .filter_map(|w| w.split_once('=').map(|(k, v)| (k.into(), v.into())))
            .collect(),
    );
    let found = match probe() {
        Ok(found) => found,
        Err(absent) => return println!("skipped: {absent}"),
    };
    let gpus = words.number("gpus", 1);
    if found.len() < gpus {
        return println!("skipped: {gpus} GPUs asked for, {} found", found.len());
    }
    let devices: Vec<Arc<Cuda>> = (0..gpus)
        .map(|k| Arc::new(Cuda::open(found[k].number).expect("a device")))
        .collect();
    let copy = copy_speed(&devices[0]).expect("memory for a copy");
    println!("{} x {}, copy {:.0} GB/s", gpus, found[0].name, copy / 1e9);
    let symmetry = match words.text("sym", "ort").as_str() {
        "iso" => Symmetry::Isotropic,
        "vti" => Symmetry::Vti,
        "hti" => Symmetry::Hti,
        _ => Symmetry::Orthorhombic,
    };
    for n in words.text("n", "512").split('/') {
        for tile in tiles(&words.text("tile", "")) {
            let case = Case {
                ndim: words.number("dim", 3),
                n: n.parse().expect("a number"),
                deep: words.number("deep", n.parse().expect("a number")),
                edge: words.0.get("edge").map(|v| v.parse().expect("a number")),
                noise: words.text("noise", "y") == "y",
                nb: words.number("nb", 48),
                symmetry,
                gpus,
                steps: words.number("steps", 100),
                jdata: words.number("jdata", 10),
                absorbing: words.text("absorbing", "y") == "y",
                tile,
            };
            if let Err(error) = case.measure(&devices, words.number("repeat", 5), copy) {
                println!("n={n} {tile:?}: {error}");
            }
        }
    }
}
