//! Speed of spectral elements: million element-steps a second, the best of several runs, in a box whose elements are all a
//! little bent, with absorbing sides, a free surface, a source and receivers; on the processors of this machine, or with
//! gpus=1 (2, ...) on GPUs, there with the bytes that a step must move and their share of the copy speed of the same run.
//! With ranks=y each GPU is run by a rank of its own and halos go by messages from host to host, as between nodes: the exchange
//! as programs have it, blocking, with nothing sent, without buffers (Komatitsch et al. 2010, figures 11 to 15).
//!
//! `cargo bench -p kernels --bench elements -- [threads=1] [gpus=0] [n=20,20,16 elements] [law=iso/full/loss/coarse/fluid] [points=y: constants of every point]
//! [cpml=0: elements in perfectly matched layers along each side but the top, of straight elements then] [degree=4] [order=1: elements of 8 nodes, 2: of 27] [steps=80] [repeat=3] [jdata=10, ranks=n: on GPUs]`; several values
//! are separated by a slash.

mod case;
#[path = "../../tests/support/thread_ranks.rs"]
mod thread_ranks;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use case::{Nothing, Words, copy_speed};
use kernels::device::cpu::Cpu;
use kernels::device::cuda::{Cuda, probe};
use kernels::mesh::step::{Law, Medium, steps};
use kernels::mesh::{Basis, Mesh, Order, Parts, cell};
use kernels::methods::spectral_elements::{
    Attenuation, Engine, Grain, Lumping, Pml, PointMedium, Quantity, Relaxation, Setup, Shot, Source,
    Strength, gpu,
};
use kernels::parallel::communicator::Communicator;
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::parallel::rank_halo::Overlap;
use thread_ranks::{Capabilities, thread_ranks};

/// A box of `counts` elements of 100 m, all sides but the top absorbing.
fn mesh(counts: [usize; 3], order: Order, straight: bool) -> Mesh<3> {
    let fine = if order == Order::Linear { 1 } else { 2 };
    let sizes = counts.map(|n| fine * n + 1);
    let split = |k: usize, n: [usize; 3]| [k % n[0], k / n[0] % n[1], k / n[0] / n[1]];
    let node = |k: usize| {
        let u = split(k, sizes).map(|i| i as f64 / fine as f64);
        let bend = |c: usize| {
            if straight {
                0.7 * u[c]
            } else {
                u[(c + 1) % 3] + 0.7 * u[c]
            }
        };
        std::array::from_fn(|c| 100.0 * u[c] + 8.0 * bend(c).sin())
    };
    let mut parts = Parts {
        nodes: (0..sizes.iter().product()).map(node).collect(),
        per_element: order.nodes::<3>(),
        regions: vec![0; counts.iter().product()],
        ..Parts::default()
    };
    for element in 0..parts.regions.len() {
        let first = split(element, counts);
        for corner in 0..parts.per_element {
            let place = cell::place::<3>(corner);
            let k: [usize; 3] = std::array::from_fn(|c| fine * first[c] + fine * usize::from(place[c]) / 2);
            parts
                .elements
                .push((k[0] + sizes[0] * (k[1] + sizes[1] * k[2])) as i32);
        }
        for face in 1..cell::faces::<3>() {
            let side = cell::face::<3>(face);
            if first[side.axis] == if side.high { counts[side.axis] - 1 } else { 0 } {
                parts.absorbing.push([element as i32, face as i32]);
            }
        }
    }
    Mesh::new(parts).expect("the box is sound")
}

/// The medium of a word.
fn medium(word: &str) -> Option<Medium> {
    let mut medium = Medium::isotropic(2300.0, 2800.0, if word == "fluid" { 0.0 } else { 1500.0 });
    match word {
        "iso" | "loss" | "coarse" | "fluid" => {}
        "full" => {
            let modulus = |speed: f64| 2300.0 * speed * speed;
            let (p, s) = (modulus(2800.0), modulus(1500.0));
            let mut table = [[p * 0.01; 6]; 6];
            for i in 0..6 {
                (0..3)
                    .filter(|j| i < 3 && *j != i)
                    .for_each(|j| table[i][j] = p - 2.0 * s);
                table[i][i] = if i < 3 { p } else { s };
            }
            medium.law = Law::Anisotropic(Box::new(table));
        }
        _ => return None,
    }
    Some(medium)
}

const LOSS: Relaxation = Relaxation {
    tau_stress: [0.477, 0.095, 0.019],
    tau_shear: [0.563, 0.106, 0.0229],
    tau_bulk: [0.513, 0.0998, 0.0206],
    factors: [1.063, 1.026],
};

/// What is measured.
struct Case {
    mesh: Mesh<3>,
    basis: Basis,
    law: String,
    medium: Medium,
    points: bool,
    pml: Option<Pml<3>>,
    /// The element in the middle.
    middle: usize,
    dt: f64,
    count: usize,
}

impl Case {
    fn new(words: &Words, (law, degree): (&str, &str)) -> Self {
        let numbers: Vec<usize> = words
            .text("n", "20,20,16")
            .split(',')
            .map(|w| w.parse().expect("a number"))
            .collect();
        let order = match words.number("order", 1) {
            1 => Order::Linear,
            _ => Order::Quadratic,
        };
        let basis = Basis::new(degree.parse().expect("a number")).expect("degree= is 2 to 8");
        let medium = medium(law).expect("law= is iso, full, loss, coarse or fluid");
        // The elements of a small box are like those of a large one.
        let layers = words.number("cpml", 0);
        let small = mesh([12; 3], order, layers > 0);
        let bound = steps(&small, &basis, std::slice::from_ref(&medium));
        let mesh = mesh([numbers[0], numbers[1], numbers[2]], order, layers > 0);
        let thickness = 100.0 * layers as f64;
        let pml = (layers > 0).then(|| Pml::along_sides(&mesh, thickness).expect("flat sides"));
        Self {
            mesh,
            pml,
            middle: numbers[0] / 2 + numbers[0] * (numbers[1] / 2 + numbers[1] * (numbers[2] / 2)),
            dt: 0.45 * bound.into_iter().fold(f64::INFINITY, f64::min),
            law: law.into(),
            count: words.number("steps", 80),
            points: words.text("points", "n") == "y",
            basis,
            medium,
        }
    }

    /// Where the mechanisms of attenuation are.
    fn grain(&self) -> Option<Grain> {
        match self.law.as_str() {
            "loss" => Some(Grain::Fine),
            "coarse" => Some(Grain::Coarse),
            _ => None,
        }
    }

    fn with<R>(&self, run: impl Fn(&Setup<3>) -> R) -> R {
        let of_point = PointMedium {
            medium: self.medium.clone(),
            speeds: [2800.0, 1500.0],
            loss: None,
        };
        let points =
            |_: usize, _: usize, positions: &[[f64; 3]]| Some(vec![of_point.clone(); positions.len()]);
        let source = Source {
            at: self.mesh.centre(self.middle),
            strength: Strength::Moment([[1e12, 0.0, 0.0], [0.0, 1e12, 0.0], [0.0, 0.0, 1e12]]),
            history: vec![1.0; self.count],
        };
        run(&Setup {
            mesh: &self.mesh,
            basis: &self.basis,
            media: std::slice::from_ref(&self.medium),
            speeds: &[[2800.0, 1500.0]],
            points: self.points.then_some(&points),
            dt: self.dt,
            relaxations: self.grain().map(|grain| Attenuation {
                grain,
                ..Attenuation::from(std::slice::from_ref(&LOSS))
            }),
            lumping: Lumping::Matrix,
            sponge: None,
            pml: self.pml.as_ref(),
            sources: &[source],
        })
    }

    fn speed(&self, seconds: f64) -> f64 {
        (self.mesh.len() * self.count) as f64 / seconds / 1e6
    }

    /// Bytes that a step must move for an element of a large mesh: fields of the points that no other element has read,
    /// numbers of all points, forces out and in (with tables of every point only those of points that elements share), places and
    /// masses, geometry, memory variables; as elements.cu and nodes.cu count them.
    fn bytes(&self) -> f64 {
        let (along, degree) = (self.basis.len(), self.basis.degree());
        let [all, inside, own] = [along.pow(3), (along - 2).pow(3), degree.pow(3)].map(|n| n as f64);
        let components = if self.law == "fluid" { 1.0 } else { 3.0 };
        let geometry = match self.mesh.order() {
            Order::Linear => 21.0,
            Order::Quadratic => 10.0 * all,
        };
        let tables = all + (all - inside) + 2.0 * (own - inside) + own + 1.0;
        let at_once = self.law == "full" && self.points;
        let forces = if at_once { all - inside } else { all };
        let fields = components * (5.0 * own - inside + 2.0 * forces);
        let loss = match self.law.as_str() {
            // Accelerations of shared points, written and read; memory variables, too.
            "loss" => 2.0 * (own - inside) * components + 2.0 * 18.0 * all,
            "coarse" => 2.0 * 6.0 * all,
            // The levels of a potential are read and written once more.
            "fluid" => 5.0 * own,
            _ => 0.0,
        };
        let constants = match self.law.as_str() {
            _ if !self.points => 0.0,
            "full" => 21.0,
            "fluid" => 1.0,
            // What mechanisms are times, too.
            "loss" | "coarse" => 4.0,
            _ => 2.0,
        };
        4.0 * (geometry + tables + fields + loss + constants * all)
    }
}

/// Equal ranges of the elements, and what is recorded.
fn shares(case: &Case, words: &Words, parts: usize) -> (Vec<Range<usize>>, Shot<3>) {
    let elements = case.mesh.len();
    let cut = |k: usize| elements * k / parts..elements * (k + 1) / parts;
    let shot = Shot {
        nt: case.count,
        jdata: words.number("jdata", 10),
        receivers: (0..100)
            .map(|k| case.mesh.centre(elements / 3 + k * 7 % (elements / 2)))
            .collect(),
        quantity: Quantity::Velocity,
        jcheck: case.count,
        ..Shot::default()
    };
    ((0..parts).map(cut).collect(), shot)
}

/// Exchanges that are compared.
const MANNERS: [Overlap; 4] = [
    Overlap::Overlapped,
    Overlap::Blocking,
    Overlap::WithoutSends,
    Overlap::WithoutBuffers,
];

/// Runs on GPUs with a rank each; times are those of the slowest rank.
fn among_ranks(case: &Case, words: &Words, devices: &[Arc<Cuda>]) {
    let (cuts, shot) = shares(case, words, devices.len());
    let options = |overlap: Overlap| ParallelOptions {
        overlap,
        transport: Transport::HostStaged,
        ..ParallelOptions::default()
    };
    thread_ranks(devices.len(), Capabilities::default(), |ranks| {
        let own = ranks.rank()..ranks.rank() + 1;
        let group =
            case.with(|setup| gpu::subdomains(&devices[own.clone()], setup, &shot, (&cuts, own.clone())));
        let mut group = group.expect("the set-up is sound");
        group
            .connect(ranks, Transport::HostStaged)
            .expect("ranks connect");
        let mut first = None;
        for overlap in MANNERS {
            let mut run = || {
                ranks.all_gather(&[]).expect("ranks meet");
                let begun = Instant::now();
                group
                    .run_connected(ranks, &mut Nothing::default(), options(overlap))
                    .expect("the shot runs");
                let mine = begun.elapsed().as_secs_f64().to_le_bytes();
                let all = ranks.all_gather(&mine).expect("ranks meet");
                let seconds = |words: &Vec<u8>| words.as_slice().try_into().map_or(0.0, f64::from_le_bytes);
                all.iter().map(seconds).fold(0.0, f64::max)
            };
            let mut times: Vec<f64> = (0..words.number("repeat", 3) + 1)
                .map(|_| run())
                .skip(1)
                .collect();
            times.sort_by(f64::total_cmp);
            let median = times[times.len() / 2];
            let base = *first.get_or_insert(median);
            if ranks.rank() == 0 {
                println!(
                    "{} degree {} order {:?} {} elements, {} ranks, {overlap:?}: {:.1} M element-steps/s, {:.1} us a step ({:.1} to {:.1}), {:+.2} % of overlapped",
                    case.law,
                    case.basis.degree(),
                    case.mesh.order(),
                    case.mesh.len(),
                    ranks.size(),
                    case.speed(median),
                    median / case.count as f64 * 1e6,
                    times[0] / case.count as f64 * 1e6,
                    times[times.len() - 1] / case.count as f64 * 1e6,
                    100.0 * (median / base - 1.0)
                );
            }
        }
        group.disconnect(ranks).expect("ranks part");
    });
}

/// Runs on GPUs; `copy` is what a copy moves in a second.
fn on_gpus(case: &Case, words: &Words, (devices, copy): (&[Arc<Cuda>], f64)) {
    let begun = Instant::now();
    let (parts, elements) = (devices.len(), case.mesh.len());
    let (cuts, shot) = shares(case, words, parts);
    let group = case.with(|setup| gpu::subdomains(devices, setup, &shot, (&cuts, 0..parts)));
    let mut group = group.expect("the set-up is sound");
    let set_up = begun.elapsed().as_secs_f64();
    let mut times: Vec<f64> = (0..words.number("repeat", 3) + 1)
        .map(|_| {
            let begun = Instant::now();
            group.run(&mut Nothing::default()).expect("the shot runs");
            begun.elapsed().as_secs_f64()
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let bytes: usize = group.subdomains.iter().map(gpu::DevicePart::bytes).sum();
    let moved = case.speed(median) * case.bytes() / 1e3;
    println!(
        "{} degree {} order {:?} {elements} elements gpus={parts}: {:.1} M element-steps/s ({:.1} to {:.1}), {:.1} us a step, {:.0} bytes an element-step, {moved:.0} GB/s, {:.0} % of copy, {:.0} bytes of memory an element, set-up {set_up:.1} s",
        case.law,
        case.basis.degree(),
        case.mesh.order(),
        case.speed(median),
        case.speed(times[times.len() - 1]),
        case.speed(times[0]),
        median / case.count as f64 * 1e6,
        case.bytes(),
        100.0 * moved * 1e9 / (copy * parts as f64),
        bytes as f64 / elements as f64,
    );
}

/// Million element-steps in a second and in a second of a processor's time, which other processes do not share; bytes.
struct Speed {
    wall: f64,
    busy: f64,
    bytes: usize,
}

/// Seconds of processors that this process has taken.
fn busy() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes the time and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Speed of all steps but the first on so many threads.
fn on_threads(case: &Case, threads: usize) -> Speed {
    let engine = case.with(|setup| Engine::new(Cpu::new(threads).expect("threads start"), setup));
    let mut engine = engine.expect("the set-up is sound");
    // The first step takes memory from the system.
    engine.step();
    let (start, taken) = (Instant::now(), busy());
    (1..case.count).for_each(|_| engine.step());
    let steps = (case.mesh.len() * (case.count - 1)) as f64 / 1e6;
    Speed {
        wall: steps / start.elapsed().as_secs_f64(),
        busy: steps / (busy() - taken),
        bytes: engine.bytes(),
    }
}

fn main() {
    let words = Words::new();
    let each = |key: &str, default: &str| -> Vec<String> {
        words.text(key, default).split('/').map(str::to_string).collect()
    };
    let gpus = words.number("gpus", 0);
    let found = match probe() {
        Ok(found) => found.len(),
        Err(absent) if gpus > 0 => return println!("skipped: {absent}"),
        Err(_) => 0,
    };
    if found < gpus {
        return println!("skipped: {gpus} GPUs asked for, {found} found");
    }
    let devices: Vec<Arc<Cuda>> = (0..gpus)
        .map(|k| Arc::new(Cuda::open(k).expect("a GPU that was found opens")))
        .collect();
    let copy = devices
        .first()
        .map_or(0.0, |device| copy_speed(device).expect("a copy"));
    for law in each("law", "iso") {
        for degree in each("degree", "4") {
            let case = Case::new(&words, (&law, &degree));
            if gpus > 0 {
                match words.text("ranks", "n").as_str() {
                    "y" => among_ranks(&case, &words, &devices),
                    _ => on_gpus(&case, &words, (&devices, copy)),
                }
                continue;
            }
            for threads in each("threads", "1") {
                let threads = threads.parse().expect("a number");
                let runs: Vec<Speed> = (0..words.number("repeat", 3))
                    .map(|_| on_threads(&case, threads))
                    .collect();
                let best = |speed: fn(&Speed) -> f64| runs.iter().map(speed).fold(0.0, f64::max);
                println!(
                    "{law} degree {degree}, {threads} threads, {} elements: {:.3} M element-steps/s, {:.3} a second of a processor's time; {} bytes an element",
                    case.mesh.len(),
                    best(|speed| speed.wall),
                    best(|speed| speed.busy),
                    runs[0].bytes / case.mesh.len()
                );
            }
        }
    }
}
