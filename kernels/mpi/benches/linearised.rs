//! Speed of linearised velocity-stress runs on GPUs that ranks share: `cargo bench -p ranks --features mpi --bench
//! linearised --no-run`, then `mpirun -n 4 .../linearised-... [gpus=1, per rank] [way=auto|host]` and the arguments of
//! the benchmark `linearised` in `kernels`. Every rank uses the next GPUs after the previous ranks', so that all ranks
//! must run on one host. Times are measured on the slowest rank.

#[path = "../../benches/case/mod.rs"]
mod case;
#[path = "../../benches/case/linearised.rs"]
mod runs;
#[path = "../../benches/case/watched.rs"]
mod watched;

use case::Words;
use kernels::Error;
use kernels::communicator::Communicator;
use kernels::device::cuda::{Cuda, probe};
use ranks::World;
use runs::{Place, measure};
use std::sync::Arc;
use watched::Watched;

fn run(world: &World, words: &Words) -> Result<(), Error> {
    let (rank, gpus) = (world.rank(), words.number("gpus", 1));
    let properties = probe().map_err(Error::from)?;
    let open = |k: usize| -> Result<Arc<Watched>, Error> {
        let device = Cuda::open(properties[k % properties.len()].number)?;
        Ok(Arc::new(Watched::new(device, words.text("apart", "n") == "y")))
    };
    let devices = (rank * gpus..(rank + 1) * gpus)
        .map(open)
        .collect::<Result<_, _>>()?;
    if rank == 0 {
        println!("{} ranks x {gpus} {}", world.size(), properties[0].name);
    }
    let ranks = world;
    measure(words, &Place { ranks, devices })
}

fn main() {
    let world = World::start().expect("a launcher of MPI");
    match run(&world, &Words::new()) {
        Ok(()) => world.end(),
        Err(error) => {
            println!("rank {}: {error}", world.rank());
            world.abort(1);
        }
    }
}
