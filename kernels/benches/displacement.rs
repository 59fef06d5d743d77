//! Speed of the displacement method on processors, compared with the memory bandwidth.
//!
//! `cargo bench -p kernels --bench displacement -- [3d=200] [2d=1000] [3d-all=200] [2d-all=1000] [nb=48] [steps3=20]
//! [steps2=200] [threads=1,2] [tile=z,x] [registers=512, largest number of bits of a register] [cache=assumed KiB of
//! the second-level cache] [triad=y]`; a size of 0 skips a case, and `-all` means all coefficients.
//!
//! Boundary conditions are on (one-way condition and sponge), and a line of receivers is recorded every tenth step.
//! Mpt/s is the number of padded grid points times steps per second of the time loop, the median of three runs.
//! Effective GB/s is the minimum traffic of a fused pass (in 3-D 19 words per point: 3 + 3 + 10 read, 3 written; in 2-D
//! 11; with all coefficients 31 and 13). The triad is `a = b + s*c` over 3 x 256 MB in the same run on the same
//! threads, with 12 bytes per element. The machine is described first, with a warning if other processes use it.

#[path = "case/machine.rs"]
mod machine;

use kernels::boundary::free_surface::Surface;
use kernels::device::cpu::Cpu;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Coefficients, Medium, Property};
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::{Shot, Simulation, SourceKind};
use kernels::time_loop::Recorder;
use std::time::Instant;

struct Count(usize);

impl Recorder<f32> for Count {
    fn traces(&mut self, _it: usize, traces: &[f32]) -> Result<(), kernels::Error> {
        self.0 += traces.len();
        Ok(())
    }
    fn snapshot(&mut self, _it: usize, _piece: &[f32]) -> Result<(), kernels::Error> {
        Ok(())
    }
}

fn medium(padded: &Padded, kind: Coefficients) -> Medium<f32> {
    let planes = 0..padded.model.n[padded.ndim() - 1];
    let mut medium = Medium::holding(padded, planes, kind).expect("it fits memory");
    let lines = padded.model.cells() / padded.model.n[0];
    let value = |&(i, j): &(usize, usize)| match (i <= 3, j <= 3) {
        (true, true) if i != j => 9.2,
        (true, true) => 21.0,
        _ if i == j => 5.2,
        _ => 0.2,
    };
    let values: Vec<f32> = kind.table(padded.ndim()).pairs.iter().map(value).collect();
    let mut line = vec![0.0f32; padded.model.n[0]];
    for l in 0..lines {
        for (k, &v) in values.iter().enumerate() {
            line.fill(v * (1.0 + 0.05 * ((l * 7 + k) as f32).sin()));
            medium.fill(Property::Stiffness(k), l, &line);
        }
        line.fill(2.0);
        medium.fill(Property::Density, l, &line);
    }
    medium
}

fn run(n: usize, (ndim, kind): (usize, Coefficients), nb: usize, steps: usize, cpu: Cpu) -> (f64, f64) {
    let grid = match ndim {
        3 => Grid::new_3d([n; 3], [0.0; 3], [0.01; 3]),
        _ => Grid::new_2d([n; 2], [0.0; 2], [0.01; 2]),
    };
    let padded = Padded::new(&grid, nb);
    let centre = n as f32 * 0.005;
    let shot = Shot {
        dt: 0.0012,
        wavelet: (0..steps * ndim).map(|k| (k as f32 * 0.01).sin()).collect(),
        sources: vec![[centre; 3]],
        receivers: (0..n).map(|k| [centre, k as f32 * 0.01, centre]).collect(),
        kind: SourceKind::Stress,
        nbell: 5,
        absorbing: true,
        one_way: kernels::boundary::one_way::Form::Box,
        surface: Surface::None,
        interpolate: true,
        quantity: kernels::receiver::Quantity::Displacement,
        jdata: 10,
        snapshots: None,
        jcheck: 100,
    };
    let slabs = SLABS.partition(padded.planes(), 1).expect("one slab fits");
    let mut simulation =
        Simulation::new(&shot, medium(&padded, kind), cpu, slabs).expect("the shot is valid");
    let bytes = simulation.bytes() as f64 / padded.cells() as f64;
    let mut rates: Vec<f64> = (0..3)
        .map(|_| {
            let start = Instant::now();
            simulation.run(&mut Count(0)).expect("the run is stable");
            padded.cells() as f64 * steps as f64 / start.elapsed().as_secs_f64() / 1e6
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    (rates[1], bytes)
}

/// Dimensions, coefficients, the parameter for the size, its default, and the default number of steps.
const CASES: [(usize, Coefficients, &str, &str, &str); 4] = [
    (3, Coefficients::Orthorhombic, "3d", "200", "20"),
    (2, Coefficients::Orthorhombic, "2d", "1000", "200"),
    (3, Coefficients::All, "3d-all", "200", "20"),
    (2, Coefficients::All, "2d-all", "1000", "200"),
];

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let get = |key: &str, default: &str| {
        let value = words.iter().find_map(|w| w.strip_prefix(&format!("{key}=")));
        value.unwrap_or(default).to_string()
    };
    let number = |key: &str, default: &str| get(key, default).parse::<usize>().expect("a number");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = get(
        "threads",
        &if cores == 1 {
            "1".into()
        } else {
            format!("1,{cores}")
        },
    );
    let (tile, sizes) = (
        get("tile", ""),
        [number("registers", "512"), number("cache", "0")],
    );
    let processors = |threads: usize| machine::processors(threads, &tile, sizes).expect("threads start");
    machine::describe(&processors(1));
    let mut one = None;
    println!(
        "{:>6} {:>6} {:>7} {:>9} {:>8} {:>9} {:>8} {:>7}",
        "case", "n", "threads", "Mpt/s", "GB/s", "triad", "share", "B/pt"
    );
    for t in threads
        .split(',')
        .map(|t| t.parse::<usize>().expect("threads=1,2"))
    {
        let copy = if get("triad", "y") == "y" {
            machine::print_triad(t, one)
        } else {
            f64::NAN
        };
        if t == 1 {
            one = Some(copy);
        }
        for (ndim, kind, key, size, steps) in CASES {
            let n = number(key, size);
            if n == 0 {
                continue;
            }
            let (rate, bytes) = run(
                n,
                (ndim, kind),
                number("nb", "48"),
                number(&format!("steps{ndim}"), steps),
                processors(t),
            );
            let words = (3 * ndim + kind.count(ndim) + 1) as f64;
            let gbs = rate * words * 4.0 / 1e3;
            println!(
                "{key:>6} {n:>6} {t:>7} {rate:>9.1} {gbs:>8.2} {copy:>9.2} {:>7.0}% {bytes:>7.1}",
                100.0 * gbs / copy
            );
        }
    }
}
