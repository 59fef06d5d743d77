//! Speed of several ranks on GPUs and the cost of their exchange, measured as by Michea & Komatitsch (2010) with the
//! exchange, without sends and without buffers, and also with a blocking exchange. `cargo bench -p ranks --features mpi
//! --bench ranks --no-run`, then `mpirun -n 4 .../ranks-... [gpus=1, per rank]` and the arguments of the benchmark
//! `accelerator`; `way=auto|host` chooses how ghosts are transferred. Every rank uses the next GPUs after the previous
//! ranks', so that all ranks must run on one host. Times are medians, measured on the slowest rank.

#[path = "../../benches/case/mod.rs"]
mod case;

use case::{Nothing, Words};
use kernels::Error;
use kernels::communicator::Communicator;
use kernels::device::cuda::{Cuda, probe};
use kernels::methods::displacement::ParallelOptions;
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::gpu::Transport;
use kernels::parallel::rank_halo::Overlap;
use ranks::World;
use std::sync::Arc;
use std::time::Instant;

const MANNERS: [Overlap; 4] = [
    Overlap::Overlapped,
    Overlap::Blocking,
    Overlap::WithoutSends,
    Overlap::WithoutBuffers,
];

fn measure(world: &World, words: &Words) -> Result<(), Error> {
    let (rank, size, gpus) = (world.rank(), world.size(), words.number("gpus", 1));
    let properties = probe().map_err(Error::from)?;
    let devices = (rank * gpus..(rank + 1) * gpus)
        .map(|k| Cuda::open(properties[k % properties.len()].number).map(Arc::new))
        .collect::<Result<Vec<_>, _>>()?;
    let case = words.case(words.number("n", 512), gpus * size, None);
    let padded = case.padded();
    let layouts = SLABS.balance(padded.planes(), padded.nb, &vec![1.0; gpus * size])?;
    let own = layouts[rank * gpus..(rank + 1) * gpus].to_vec();
    let mut simulation = case.simulation(&devices, own)?;
    let way = match words.text("way", "auto").as_str() {
        "host" => Transport::HostStaged,
        _ => Transport::Auto,
    };
    let ways = simulation.connect(world, way)?;
    let work = padded.cells() as f64 * case.steps as f64;
    let mut first = None;
    for overlap in MANNERS {
        let options = ParallelOptions {
            overlap,
            transport: way,
            ..ParallelOptions::default()
        };
        let mut times = Vec::new();
        for _ in 0..=words.number("repeat", 3) {
            world.all_gather(&[])?;
            let begun = Instant::now();
            simulation.run_connected(world, &mut Nothing::default(), options)?;
            let mine = begun.elapsed().as_secs_f64();
            let all = world.all_gather(&mine.to_le_bytes())?;
            let seconds = |words: &Vec<u8>| words.as_slice().try_into().map_or(0.0, f64::from_le_bytes);
            times.push(all.iter().map(seconds).fold(0.0, f64::max));
        }
        // The first run is a warm-up.
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let seconds = times[times.len() / 2];
        let base = *first.get_or_insert(seconds);
        if rank == 0 {
            println!(
                "{}-D n={} deep={} {:?} {size} ranks x {gpus} GPUs, ways {ways:?}, {overlap:?}: {:.2} Gpt/s, {:.1} us a step, {:+.1} % of overlapped",
                case.ndim,
                case.n,
                case.deep,
                case.symmetry,
                work / seconds / 1e9,
                1e6 * seconds / case.steps as f64,
                100.0 * (seconds / base - 1.0)
            );
        }
    }
    simulation.disconnect(world)
}

fn main() {
    let world = World::start().expect("a launcher of MPI");
    match measure(&world, &Words::new()) {
        Ok(()) => world.end(),
        Err(error) => {
            println!("rank {}: {error}", world.rank());
            world.abort(1);
        }
    }
}
