//! Speed of linearised velocity-stress runs on GPUs: milliseconds a step of forward runs and of gradients, or of images in place of
//! gradients, with `apart=y` those of each kernel, which the host then waits for. `cargo bench -p kernels --bench linearised -- [dim=3]
//! [n=256, or z,x,y: cells of the model] [nb=10] [order=4] [absorb=cpml|sponge|none] [free=n] [q=none|1|2|3|4] [steps=140] [memory=GB of the
//! reverse sweep] [keep=steps|boundary, of gradients] [image=none|pp|energy] [repeat=2] [gpus=1: so many share the shot] [apart=y]`

mod case;

use case::{Words, copy_speed};
use kernels::Error;
use kernels::boundary::cpml::Layer;
use kernels::device::accelerator::{Accelerator, Boxes, Dims, Memory, Properties, Source as Text, Stream};
use kernels::device::cpu::Cpu;
use kernels::device::cuda::{Cuda, probe};
use kernels::grid::Grid;
use kernels::grid::stencil::Family;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Destination, Filler, Medium, Symmetry};
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, Kind, Parameters, Wanted};
use kernels::methods::velocity_stress::{Absorber, Action, Attenuation, Frame, Quantity, Shot, Source};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Steps of a run.
const STEPS: usize = 140;

/// A device that knows when its kernels were done. Where they are to be told apart it waits for each, and adds up how long they take.
struct Watched {
    device: Cuda,
    apart: bool,
    taken: Mutex<BTreeMap<String, (usize, f64)>>,
    /// Whether kernels were launched since the host looked, and when those before were done.
    done: Mutex<(bool, Option<Instant>)>,
}

type Kernel = (String, <Cuda as Accelerator>::Kernel);

impl Accelerator for Watched {
    type Memory = <Cuda as Accelerator>::Memory;
    type Pinned = <Cuda as Accelerator>::Pinned;
    type Kernel = Kernel;
    type Event = <Cuda as Accelerator>::Event;
    type Graph = <Cuda as Accelerator>::Graph;

    fn properties(&self) -> &Properties {
        self.device.properties()
    }
    fn free_bytes(&self) -> Result<usize, Error> {
        self.device.free_bytes()
    }
    fn load(&self, source: &Text, kernels: &[&str]) -> Result<Vec<Kernel>, Error> {
        let names = kernels.iter().map(|name| name.to_string());
        Ok(names.zip(self.device.load(source, kernels)?).collect())
    }
    fn resident_blocks(&self, kernel: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        self.device.resident_blocks(&kernel.1, threads, shared)
    }
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Error> {
        self.device.allocate(bytes)
    }
    fn reserve(&self, bytes: usize) -> Result<Self::Memory, Error> {
        let begun = Instant::now();
        let memory = self.device.reserve(bytes);
        self.add("(memory taken)", begun);
        memory
    }
    fn clear(&self, memory: &Self::Memory) -> Result<(), Error> {
        self.device.clear(memory)
    }
    fn pin(&self, bytes: usize) -> Result<Self::Pinned, Error> {
        self.device.pin(bytes)
    }
    unsafe fn upload(
        &self,
        stream: Stream,
        from: &Self::Pinned,
        offset: usize,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { self.device.upload(stream, from, offset, to, bytes) }
    }
    unsafe fn download(
        &self,
        stream: Stream,
        from: u64,
        to: &mut Self::Pinned,
        offset: usize,
        bytes: usize,
    ) -> Result<(), Error> {
        let mut done = self.done.lock().expect("nobody panics with it");
        if std::mem::take(&mut done.0) {
            self.device.finish()?;
            done.1 = Some(Instant::now());
        }
        // SAFETY: the caller's promise.
        unsafe { self.device.download(stream, from, to, offset, bytes) }
    }
    unsafe fn copy_to(
        &self,
        stream: Stream,
        from: u64,
        peer: &Self,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { self.device.copy_to(stream, from, &peer.device, to, bytes) }
    }
    unsafe fn launch(
        &self,
        stream: Stream,
        (name, kernel): &Kernel,
        dims: Dims,
        args: &[*const c_void],
    ) -> Result<(), Error> {
        self.done.lock().expect("nobody panics with it").0 = true;
        if !self.apart {
            // SAFETY: the caller's promise.
            return unsafe { self.device.launch(stream, kernel, dims, args) };
        }
        self.device.finish()?;
        let begun = Instant::now();
        // SAFETY: the caller's promise.
        unsafe { self.device.launch(stream, kernel, dims, args)? };
        self.device.finish()?;
        self.add(name, begun);
        Ok(())
    }
    fn event(&self) -> Result<Self::Event, Error> {
        self.device.event()
    }
    fn record(&self, stream: Stream, event: &Self::Event) -> Result<(), Error> {
        self.device.record(stream, event)
    }
    fn wait(&self, stream: Stream, event: &Self::Event) -> Result<(), Error> {
        self.device.wait(stream, event)
    }
    fn synchronize(&self, event: &Self::Event) -> Result<(), Error> {
        self.device.synchronize(event)
    }
    fn finish(&self) -> Result<(), Error> {
        self.device.finish()
    }
    fn capture(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Self::Graph, Error> {
        self.device.capture(work)
    }
    fn launch_graph(&self, graph: &Self::Graph) -> Result<(), Error> {
        self.device.launch_graph(graph)
    }
    fn boxes(&self, boxes: &Boxes) -> Result<[u64; 16], Error> {
        self.device.boxes(boxes)
    }
    fn export_ipc(&self, memory: &Self::Memory) -> Result<Vec<u8>, Error> {
        self.device.export_ipc(memory)
    }
    fn import_ipc(&self, words: &[u8]) -> Option<Box<dyn Memory>> {
        self.device.import_ipc(words)
    }
    fn enable_peer_access(&self, peer: &Self) -> Result<bool, Error> {
        self.device.enable_peer_access(&peer.device)
    }
}

impl Watched {
    fn add(&self, name: &str, begun: Instant) {
        let mut taken = self.taken.lock().expect("nobody panics with it");
        let (calls, seconds) = taken.entry(name.to_string()).or_default();
        *calls += 1;
        *seconds += begun.elapsed().as_secs_f64();
    }

    /// Seconds from an instant to the end of the last kernel.
    fn since(&self, begun: Instant) -> f64 {
        let done = self.done.lock().expect("nobody panics with it").1;
        done.map_or(0.0, |done| done.duration_since(begun).as_secs_f64())
    }

    /// Prints what was added up, and begins anew.
    fn tell(&self, cells: f64) {
        let taken = std::mem::take(&mut *self.taken.lock().expect("nobody panics with it"));
        let mut all: Vec<_> = taken.into_iter().collect();
        all.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
        for (name, (calls, seconds)) in all {
            let each = seconds / calls as f64;
            println!(
                "  {name:<24} {calls:>5} calls, {:>8.1} us each, {:>7.2} ps a cell, {:>8.1} ms in all",
                each * 1e6,
                each / cells * 1e12,
                seconds * 1e3
            );
        }
    }
}

/// Prints what was added up on each device, and begins anew.
fn tell(devices: &[Arc<Watched>], cells: f64) {
    for (number, device) in devices.iter().enumerate() {
        if devices.len() > 1 && device.apart {
            println!("GPU {number}:");
        }
        device.tell(cells / devices.len() as f64);
    }
}

/// Points all over a model, so many along an axis: waves are soon everywhere, for zeros draw less power.
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

/// The shot that the words describe, on its grid.
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

/// A medium of one rock.
fn rock(grid: &Grid, frame: &Frame, cpu: &Cpu) -> Result<Medium<f32>, Error> {
    let mut medium = Medium::new(&frame.around(grid))?;
    let (nz, lines) = (grid.n[0], grid.cells() / grid.n[0]);
    // vp 1.7, vs 1, density 1.
    let arrays: &[f32] = match grid.ndim {
        3 => &[2.89, 2.89, 2.89, 1.0, 1.0, 1.0, 0.89, 0.89, 0.89, 1.0],
        _ => &[2.89, 2.89, 1.0, 0.89, 1.0],
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

/// Numbers without a pattern. In short runs no wave has reached a receiver, and an adjoint source of zero would be zero all the reverse
/// sweep.
fn noise(count: usize) -> Vec<f32> {
    let number = |k: usize| ((k as f32 * 12.9898).sin() * 43_758.547).fract();
    (0..count).map(number).collect()
}

/// Images of noise on devices.
fn measure_images(
    words: &Words,
    born: &Born<f32>,
    kind: Kind,
    devices: &[Arc<Watched>],
) -> Result<(), Error> {
    let wanted = Wanted {
        kinds: vec![kind],
        lags: vec![[0; 3]],
    };
    let room = born.room_of_images(&wanted, 1)?.unwrap_or(0);
    let memory = room.min(words.number("memory", usize::MAX >> 30) << 30);
    let (sizes, nt) = (born.sizes_of_images(&wanted), words.number("steps", STEPS));
    let schedule = CheckpointSchedule::choose(nt, sizes, memory)?;
    describe(&schedule, nt, schedule.bytes(sizes));
    let data = noise(born.records() * born.values());
    for _ in 0..words.number("repeat", 2) {
        let begun = Instant::now();
        let pictures = born.images(&data, &schedule, &wanted)?;
        let sum: f64 = pictures[0].image.iter().map(|&x| f64::from(x.abs())).sum();
        let seconds = devices[0].since(begun);
        println!(
            "image: {:.3} ms a step; {:.2} s beside, sum {sum:.6e}",
            seconds * 1e3 / nt as f64,
            begun.elapsed().as_secs_f64() - seconds
        );
        tell(devices, pictures[0].image.len() as f64);
    }
    Ok(())
}

/// Prints how a reverse sweep goes, and its bytes on a device.
fn describe(schedule: &CheckpointSchedule, nt: usize, bytes: usize) {
    println!(
        "{} steps at a time, {} checkpoints, {} steps run again, {:.1} GB",
        schedule.segment,
        schedule.checkpoints,
        schedule.extra(nt),
        bytes as f64 / 1e9
    );
}

/// Forward runs, then gradients or images, on devices.
fn measure(words: &Words, devices: Vec<Arc<Watched>>) -> Result<(), Error> {
    let device = devices[0].clone();
    let (grid, shot) = shot(words);
    let cpu = Cpu::new(0)?;
    let raw = rock(&grid, &shot.frame, &cpu)?;
    let cells = shot.frame.around(&grid).cells() as f64;
    let mut born = Born::new(&shot, raw, (Symmetry::Isotropic, Parameters::Speeds), cpu)?;
    born.run_on(devices.clone())?;
    tell(&devices, cells);
    let step = |seconds: f64| seconds * 1e3 / shot.nt as f64;
    for _ in 0..words.number("repeat", 2) {
        let begun = Instant::now();
        born.forward(None, &mut |_, _, _| Ok(()))?;
        println!("forward: {:.3} ms a step", step(device.since(begun)));
        tell(&devices, cells);
    }
    let kind = match words.text("image", "none").as_str() {
        "none" => None,
        "pp" => Some(Kind::Pp),
        "energy" => Some(Kind::Energy),
        other => panic!("image={other}: an image is none, pp or energy"),
    };
    if let Some(kind) = kind {
        return measure_images(words, &born, kind, &devices);
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
    describe(&schedule, shot.nt, schedule.bytes(sizes) + once);
    for _ in 0..words.number("repeat", 2) {
        let begun = Instant::now();
        let mut ahead = 0.0;
        let mut residual = |made: &[f32]| {
            ahead = device.since(begun);
            Ok(noise(made.len()))
        };
        let gradient = born.gradient(&mut residual, &schedule)?;
        let sum: f64 = gradient.iter().map(|&x| f64::from(x.abs())).sum();
        println!(
            "gradient: {:.3} ms a step, of which {:.3} as far as the records; {:.2} s beside, sum {sum:.6e}",
            step(device.since(begun)),
            step(ahead),
            begun.elapsed().as_secs_f64() - device.since(begun)
        );
        tell(&devices, cells);
    }
    if let Some(drift) = born.drift() {
        println!("waves that ran backwards came to rest within {drift:.1e}");
    }
    Ok(())
}

fn main() {
    let words = Words::new();
    let found = match probe() {
        Ok(found) => found,
        Err(absent) => return println!("skipped: {absent}"),
    };
    let open = |properties: &Properties| {
        Arc::new(Watched {
            device: Cuda::open(properties.number).expect("a device"),
            apart: words.text("apart", "n") == "y",
            taken: Mutex::default(),
            done: Mutex::default(),
        })
    };
    let count = words.number("gpus", 1);
    if count == 0 || count > found.len() {
        return println!("gpus={count}: there are {}", found.len());
    }
    let devices: Vec<_> = found[..count].iter().map(open).collect();
    let copy = copy_speed(&devices[0].device).expect("memory for a copy");
    println!("{} x {}, copy {:.0} GB/s", count, found[0].name, copy / 1e9);
    if let Err(error) = measure(&words, devices) {
        println!("{error}");
    }
}
