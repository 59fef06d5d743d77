//! The machine on which a benchmark of processors runs: model, instruction sets, caches, and memory bandwidth.
#![allow(dead_code)] // each benchmark uses a part of it

use kernels::Error;
use kernels::device::caches::Caches;
use kernels::device::cpu::{Cpu, Tile};
use std::time::Instant;

/// Instruction sets that determine the speed of vector code, as named by Linux.
const FLAGS: [&str; 8] = [
    "sse2", "avx", "avx2", "fma", "avx512f", "avx512vl", "asimd", "sve",
];

/// If the median bandwidth is below this fraction of the best one, other processes have slowed the measurement.
const QUIET: f64 = 0.85;

/// A pool of threads with the settings of a benchmark's command line: the tile (`cells[,rows]`; empty: chosen by the
/// caches), the largest number of bits of registers, and the size of the second-level cache (KiB; 0: the size of
/// the machine's cache).
pub fn processors(threads: usize, tile: &str, [registers, cache]: [usize; 2]) -> Result<Cpu, Error> {
    let tile: Vec<usize> = tile.split(',').filter_map(|n| n.parse().ok()).collect();
    let tile = tile.first().map(|&cells| Tile {
        cells,
        rows: tile.get(1).copied().unwrap_or(0),
    });
    let cpu = Cpu::new(threads)?.with_tile(tile).with_registers(registers);
    Ok(match cache {
        0 => cpu,
        kib => cpu.with_caches(Caches::given(kib << 10)),
    })
}

/// Prints model, instruction sets and caches.
pub fn describe(cpu: &Cpu) {
    let all = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let word = |keys: &[&str]| {
        let values = all.lines().filter_map(|line| line.split_once(':'));
        let mut lines = values.filter(|(key, _)| keys.contains(&key.trim()));
        lines.next().map_or("", |(_, value)| value.trim()).to_string()
    };
    let held = word(&["flags", "Features"]);
    let flags: Vec<&str> = held.split(' ').filter(|flag| FLAGS.contains(flag)).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{} processors, {} ({})",
        cores,
        word(&["model name"]),
        flags.join(" ")
    );
    println!("{}, {}", cpu.describe(), cpu.caches());
}

/// Bandwidth in GB/s of `a = b + s*c` on `threads` threads over 3 x 256 MB, with 12 bytes per element: the median and
/// the best of nine passes.
pub fn triad(threads: usize) -> [f64; 2] {
    const N: usize = 1 << 26;
    let cpu = Cpu::new(threads).expect("threads start");
    let (mut a, b, c) = (vec![0.5f32; N], vec![1.0f32; N], vec![2.0f32; N]);
    let mut rates: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            cpu.install(|| {
                use rayon::prelude::*;
                let chunks = a
                    .par_chunks_mut(1 << 16)
                    .zip(b.par_chunks(1 << 16))
                    .zip(c.par_chunks(1 << 16));
                chunks.for_each(|((a, b), c)| {
                    a.iter_mut()
                        .zip(b)
                        .zip(c)
                        .for_each(|((a, b), c)| *a = b + 3.0 * c)
                });
            });
            12.0 * N as f64 / start.elapsed().as_secs_f64() / 1e9
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    [rates[4], rates[8]]
}

/// Prints and returns the median bandwidth of [`triad`] on `threads` threads; `one` is the bandwidth of one thread, if
/// it was measured. Warns if the passes differ, or if several threads are hardly faster than one, because other processes
/// then use the memory or the cores.
pub fn print_triad(threads: usize, one: Option<f64>) -> f64 {
    let [median, best] = triad(threads);
    let plural = if threads == 1 { "" } else { "s" };
    println!("triad on {threads} thread{plural}: {median:.1} GB/s (best {best:.1})");
    if median < QUIET * best {
        println!(
            "warning: passes of the triad differ by {:.0} %: other processes use this machine; alternate the runs to be compared, and use medians",
            100.0 * (best / median - 1.0)
        );
    }
    if let Some(one) = one.filter(|one| threads > 1 && median < 1.25 * one) {
        println!(
            "warning: {threads} threads have only {:.2} times the bandwidth of one: they share cores or memory with other processes, and speeds on {threads} threads mean little",
            median / one
        );
    }
    median
}
