//! Speed of spectral elements on the processors of this machine: million element-steps a second, the best of several
//! runs, in a box whose elements are all a little bent, with absorbing sides and a source.
//!
//! `cargo bench -p kernels --bench elements -- [threads=1] [n=20,20,16 elements] [law=iso/full/loss/fluid] [degree=4]
//! [steps=80] [repeat=3]`; several values are separated by a slash.

mod case;

use std::time::Instant;

use case::Words;
use kernels::device::cpu::Cpu;
use kernels::mesh::step::{Law, Medium};
use kernels::mesh::{Basis, Mesh, Order, Parts, cell};
use kernels::methods::spectral_elements::{Engine, Lumping, Relaxation, Setup, Source, Strength};

/// A box of `counts` elements of 100 m, all sides but the top absorbing.
fn mesh(counts: [usize; 3]) -> Mesh<3> {
    let sizes = counts.map(|n| n + 1);
    let split = |k: usize, n: [usize; 3]| [k % n[0], k / n[0] % n[1], k / n[0] / n[1]];
    let node = |k: usize| {
        let u = split(k, sizes).map(|i| i as f64);
        std::array::from_fn(|c| 100.0 * u[c] + 8.0 * (u[(c + 1) % 3] + 0.7 * u[c]).sin())
    };
    let mut parts = Parts {
        nodes: (0..sizes.iter().product()).map(node).collect(),
        per_element: Order::Linear.nodes::<3>(),
        regions: vec![0; counts.iter().product()],
        ..Parts::default()
    };
    for element in 0..parts.regions.len() {
        let first = split(element, counts);
        for corner in 0..parts.per_element {
            let place = cell::place::<3>(corner);
            let k: [usize; 3] = std::array::from_fn(|c| first[c] + usize::from(place[c] / 2));
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
        "iso" | "loss" | "fluid" => {}
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

fn main() {
    let words = Words::new();
    let each = |key: &str, default: &str| -> Vec<String> {
        words.text(key, default).split('/').map(str::to_string).collect()
    };
    let numbers: Vec<usize> = words
        .text("n", "20,20,16")
        .split(',')
        .map(|w| w.parse().expect("a number"))
        .collect();
    let mesh = mesh([numbers[0], numbers[1], numbers[2]]);
    let (count, repeat) = (words.number("steps", 80), words.number("repeat", 3));
    for law in each("law", "iso") {
        let medium = medium(&law).expect("law= is iso, full, loss or fluid");
        for degree in each("degree", "4") {
            for threads in each("threads", "1") {
                let (degree, threads) = (
                    degree.parse().expect("a number"),
                    threads.parse().expect("a number"),
                );
                let bench = Bench::new(&mesh, &medium, law == "loss", degree);
                let runs: Vec<Speed> = (0..repeat).map(|_| bench.run(threads, count)).collect();
                let best = |speed: fn(&Speed) -> f64| runs.iter().map(speed).fold(0.0, f64::max);
                println!(
                    "{law} degree {degree}, {threads} threads, {} elements: {:.3} M element-steps/s, {:.3} a second of a processor's time; {} bytes an element",
                    mesh.len(),
                    best(|speed| speed.wall),
                    best(|speed| speed.busy),
                    runs[0].bytes / mesh.len()
                );
            }
        }
    }
}

/// Million element-steps in a second and in a second of a processor's time, which other processes do not share; bytes.
struct Speed {
    wall: f64,
    busy: f64,
    bytes: usize,
}

/// A mesh with its medium.
struct Bench<'a> {
    mesh: &'a Mesh<3>,
    basis: Basis,
    medium: &'a Medium,
    loss: bool,
    dt: f64,
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

impl<'a> Bench<'a> {
    fn new(mesh: &'a Mesh<3>, medium: &'a Medium, loss: bool, degree: usize) -> Self {
        let basis = Basis::new(degree).expect("degree= is 2 to 8");
        // Stable in elements of 100 m: points are about 4 / degree^2 of half an element apart at its ends.
        let dt = 0.2 * 200.0 / (degree * degree) as f64 / 2800.0;
        Self {
            mesh,
            basis,
            medium,
            loss,
            dt,
        }
    }

    /// Speed of `count` steps.
    fn run(&self, threads: usize, count: usize) -> Speed {
        let source = Source {
            at: self.mesh.centre(self.mesh.len() / 2),
            strength: Strength::Moment([[1e12, 0.0, 0.0], [0.0, 1e12, 0.0], [0.0, 0.0, 1e12]]),
            history: vec![1.0; count],
        };
        let setup = Setup {
            mesh: self.mesh,
            basis: &self.basis,
            media: std::slice::from_ref(self.medium),
            speeds: &[[2800.0, 1500.0]],
            dt: self.dt,
            relaxations: self.loss.then_some(std::slice::from_ref(&LOSS)),
            lumping: Lumping::Matrix,
            sources: &[source],
        };
        let cpu = Cpu::new(threads).expect("threads start");
        let mut engine = Engine::new(cpu, &setup).expect("the set-up is sound");
        // The first step takes memory from the system.
        engine.step();
        let (start, taken) = (Instant::now(), busy());
        (1..count).for_each(|_| engine.step());
        let steps = (self.mesh.len() * (count - 1)) as f64 / 1e6;
        Speed {
            wall: steps / start.elapsed().as_secs_f64(),
            busy: steps / (busy() - taken),
            bytes: engine.bytes(),
        }
    }
}
