//! Elastic modelling: the common code of the modelling programs. Each method has its own folder.

mod acquisition;
mod checkpoint;
mod checksum;
mod components;
pub mod displacement;
mod divide;
mod exact_time;
mod fibre;
mod growth;
mod linearised;
mod losses;
mod machine;
pub(crate) mod model;
mod observed;
mod params;
mod part;
mod picks;
mod plan;
mod progress;
mod quantity;
mod record;
mod resample;
mod settings;
mod shots;
mod snapshots;
mod sources;
#[cfg(feature = "spectral-elements")]
pub mod spectral_elements;
mod spreads;
mod survey;
mod turn;
pub(crate) mod units;
#[cfg(feature = "velocity-stress")]
pub mod velocity_stress;
mod words;
mod world;

use kernels::parallel::options::Transport;
use rsf_io::{Job, Program};
use std::process::ExitCode;
pub use world::World;

/// Runs a modelling program from its command line to its exit code, alone or as one of several ranks.
pub fn main(program: &'static Program, run: fn(&mut Job, &World) -> anyhow::Result<()>) -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let name = rsf_io::name_of(program, &words);
    let world = match World::start() {
        Ok(world) => world,
        Err(error) => return rsf_io::end(&name, Err(error)),
    };
    // Only the first of several ranks prints messages.
    rsf_io::second(!world.leads());
    let mut begun = false;
    let all = |job: &mut Job| {
        begun = true;
        world.begin(true, Ok(()))?;
        run(job, &world)
    };
    let outcome = rsf_io::attempt(program, all, words);
    let outcome = if begun {
        outcome
    } else {
        world.begin(false, outcome)
    };
    rsf_io::end(&name, world.close(outcome).map_err(words::explain))
}

/// The transport of ghost cells that `exchange=` requests.
fn transport(job: &Job) -> anyhow::Result<Transport> {
    Ok(match job.choice("exchange")? {
        "peer" => Transport::Ipc,
        "device" => Transport::CudaAware,
        "host" => Transport::HostStaged,
        _ => Transport::Auto,
    })
}
