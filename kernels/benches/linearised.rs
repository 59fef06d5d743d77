//! Speed of linearised velocity-stress runs on GPUs: milliseconds per step of forward runs and of gradients, or of
//! images instead of gradients; with `apart=y` also the times of each kernel, for which the host then waits.
//!
//! ```text
//! cargo bench -p kernels --bench linearised -- [dim=3] [n=256, or z,x,y: cells of the model] [nb=10] [order=4]
//!     [absorb=cpml|sponge|none] [free=n] [q=none|1|2|3|4] [steps=140] [memory=GB of the reverse sweep]
//!     [keep=steps|boundary, of gradients] [image=none|pp|energy] [repeat=2] [gpus=1: GPUs that share the shot]
//!     [apart=y]
//! ```
//!
//! The benchmark `linearised` of the crate `ranks` has the same arguments, and its ranks share the shot.

mod case;
#[path = "case/linearised.rs"]
mod runs;
#[path = "case/watched.rs"]
mod watched;

use case::{Words, copy_speed};
use kernels::communicator::Alone;
use kernels::device::accelerator::Properties;
use kernels::device::cuda::{Cuda, probe};
use runs::{Place, measure};
use std::sync::Arc;
use watched::Watched;

fn main() {
    let words = Words::new();
    let properties = match probe() {
        Ok(properties) => properties,
        Err(absent) => return println!("skipped: {absent}"),
    };
    let open = |properties: &Properties| {
        let device = Cuda::open(properties.number).expect("a device");
        Arc::new(Watched::new(device, words.text("apart", "n") == "y"))
    };
    let count = words.number("gpus", 1);
    if count == 0 || count > properties.len() {
        return println!("gpus={count}: there are {}", properties.len());
    }
    let devices: Vec<_> = properties[..count].iter().map(open).collect();
    let copy = copy_speed(&devices[0].device).expect("memory for a copy");
    println!("{} x {}, copy {:.0} GB/s", count, properties[0].name, copy / 1e9);
    let place = Place {
        ranks: &Alone,
        devices,
    };
    if let Err(error) = measure(&words, &place) {
        println!("{error}");
    }
}
