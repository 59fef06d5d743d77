//! Speed of the displacement method on GPUs: medians of points per second, effective GB/s, and their ratio to the
//! copy speed of the same run.
//!
//! ```text
//! cargo bench -p kernels --bench accelerator -- [dim=3] [n=512] [nb=48] [sym=iso|vti|hti|ort|tri] [gpus=1] [steps=100]
//!     [deep=n: interior cells along the slowest axis] [edge=planes computed before the exchange] [noise=y] [repeat=5]
//!     [jdata=10] [absorbing=y] [tile=vec,z,rows,ahead,blocks[,bulk,form,pad,cluster]]
//! ```
//!
//! Several values of `n=` or `tile=` are separated by a slash.

mod case;

use case::{Case, Nothing, Words, copy_speed, tiles};
use kernels::Error;
use kernels::device::cuda::{Cuda, probe};
use kernels::methods::displacement::SLABS;
use std::sync::Arc;
use std::time::Instant;

fn measure(case: &Case, devices: &[Arc<Cuda>], repeat: usize, copy: f64) -> Result<(), Error> {
    let started = Instant::now();
    let mut simulation = {
        let padded = case.padded();
        let layouts = SLABS.balance(padded.planes(), padded.nb, &vec![1.0; case.gpus])?;
        case.simulation(devices, layouts)?
    };
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
    let (seconds, cells) = (times[times.len() / 2], case.padded().cells() as f64);
    let rate = cells * case.steps as f64 / seconds;
    let bytes = rate * case.words() * 4.0;
    println!(
        "{}-D n={} deep={} nb={} {:?} gpus={} absorbing={} tile={}: {:.2} Gpt/s ({:.2} to {:.2}), {:.1} us a step, {:.0} GB/s effective ({} words), {:.0} % of copy, {:.1} bytes a point, set-up {set_up:.2} s, sum {:.7e}",
        case.ndim,
        case.n,
        case.deep,
        case.nb,
        case.symmetry,
        case.gpus,
        case.absorbing,
        case.tile
            .map_or("default".into(), |t| format!("{t:?}").replace("Tile ", "")),
        rate / 1e9,
        cells * case.steps as f64 / times[times.len() - 1] / 1e9,
        cells * case.steps as f64 / times[0] / 1e9,
        seconds / case.steps as f64 * 1e6,
        bytes / 1e9,
        case.words(),
        100.0 * bytes / (copy * case.gpus as f64),
        simulation.bytes() as f64 / cells,
        sum.0,
    );
    Ok(())
}

fn main() {
    let words = Words::new();
    let properties = match probe() {
        Ok(properties) => properties,
        Err(absent) => return println!("skipped: {absent}"),
    };
    let gpus = words.number("gpus", 1);
    if properties.len() < gpus {
        return println!("skipped: {gpus} GPUs asked for, {} found", properties.len());
    }
    let devices: Vec<Arc<Cuda>> = (0..gpus)
        .map(|k| Arc::new(Cuda::open(properties[k].number).expect("a device")))
        .collect();
    let copy = copy_speed(&devices[0]).expect("memory for a copy");
    println!("{} x {}, copy {:.0} GB/s", gpus, properties[0].name, copy / 1e9);
    for n in words.text("n", "512").split('/') {
        for tile in tiles(&words.text("tile", "")) {
            let case = words.case(n.parse().expect("a number"), gpus, tile);
            if let Err(error) = measure(&case, &devices, words.number("repeat", 5), copy) {
                println!("n={n} {tile:?}: {error}");
            }
        }
    }
}
