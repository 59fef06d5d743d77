//! Speed of the spectral elements in millions of element-steps per second, the best of several runs.
//!
//! The case is a box of slightly deformed elements with absorbing sides, a free surface, a source and receivers. It
//! runs on the processors of this machine, or with `gpus=1` (2, ...) on GPUs; these runs also print the bytes that a
//! step must move and the ratio of their rate to the speed of a copy on the same GPU.
//!
//! `gradient=y` compares a whole gradient with forward runs of the same engine; it may use `memory=1` times the bytes
//! that keeping all steps takes. With `ranks=y` each GPU has a separate rank, and halos are sent as messages from host
//! to host, as between nodes. Four kinds of exchange are then compared: overlapped as in the programs, blocking,
//! without sending anything, and without buffers (Komatitsch et al. 2010, figures 11 to 15).
//!
//! ```text
//! cargo bench -p kernels --bench elements -- [threads=1] [gpus=0] [ranks=n] [n=20,20,16: elements]
//!     [law=iso/full/loss/coarse/fluid] [points=y: constants of every point] [cpml=0: elements in perfectly matched
//!     layers along each side but the top; all elements are then straight] [degree=4] [order=1: elements of 8 nodes,
//!     2: of 27] [steps=80] [repeat=3] [jdata=10: on GPUs] [gradient=n] [memory=1]
//! ```
//!
//! Several values of `law=`, `degree=` and `threads=` are separated by a slash.

mod case;
#[path = "../../tests/support/thread_ranks.rs"]
mod thread_ranks;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use case::elements::Case;
use case::{Nothing, Words, copy_speed};
use kernels::communicator::Communicator;
use kernels::device::cpu::Cpu;
use kernels::device::cuda::{Cuda, probe};
use kernels::methods::spectral_elements::adjoint::machine::Machine;
use kernels::methods::spectral_elements::adjoint::{Adjoint, Parameters};
use kernels::methods::spectral_elements::{Engine, Quantity, Shot, gpu};
use kernels::parallel::options::{ParallelOptions, Transport};
use kernels::parallel::rank_halo::Overlap;
use kernels::time_loop::reversal::CheckpointSchedule;
use thread_ranks::{Capabilities, thread_ranks};

/// Cuts the elements into `parts` ranges of equal length; also returns the shot of the case.
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

/// The halo exchanges that [`among_ranks`] compares.
const MANNERS: [Overlap; 4] = [
    Overlap::Overlapped,
    Overlap::Blocking,
    Overlap::WithoutSends,
    Overlap::WithoutBuffers,
];

/// Measures runs with one rank for each GPU; the times are the times of the slowest rank.
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

/// Measures runs on GPUs in one process; `copy` is the speed of a copy on one of them in bytes per second.
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

/// Millions of element-steps in a second of wall clock and in a second of processor time, which does not count the
/// time of other processes, and the bytes of the engine.
struct Speed {
    wall: f64,
    busy: f64,
    bytes: usize,
}

/// Compares the times of forward runs and of gradients; the checkpoints of a gradient may occupy at most `room` bytes.
fn against<M: Machine<3>>(
    case: &Case,
    words: &Words,
    (mut adjoint, room, shot): (Adjoint<3, M>, usize, Shot<3>),
    mut forward: impl FnMut(),
) {
    let ([state, step], steps) = (adjoint.sizes(), adjoint.steps());
    let share: f64 = words.text("memory", "1").parse().expect("a number");
    let all = 2 * state + (steps + 1) * step;
    let memory = room.min((share * all as f64) as usize);
    let schedule = CheckpointSchedule::choose(steps, [state, step], memory).expect("enough memory");
    let mut gradient = || {
        let is_zero = case.with(|setup| {
            adjoint
                .gradient((setup, &shot), &schedule, Ok)
                .map(|gradient| gradient.is_zero())
        });
        assert!(!is_zero.expect("the shot runs"), "the gradient is zero");
    };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..words.number("repeat", 3) + 1 {
        let begun = Instant::now();
        forward();
        times[0].push(begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        gradient();
        times[1].push(begun.elapsed().as_secs_f64());
    }
    // The first pair is left out: it also allocates the memory.
    let best = times.map(|times| times[1..].iter().copied().fold(f64::INFINITY, f64::min));
    println!(
        "{} degree {} {} elements, {} steps: forward {:.2} ms a step, gradient {:.2}: {:.2} forward runs; {:.2} GB for the stored wavefield, {} checkpoints, {} steps computed again",
        case.law,
        case.basis.degree(),
        case.mesh.len(),
        case.count,
        best[0] / case.count as f64 * 1e3,
        best[1] / case.count as f64 * 1e3,
        best[1] / best[0],
        schedule.bytes([state, step]) as f64 / 1e9,
        schedule.checkpoints,
        schedule.extra(steps)
    );
}

/// Measures gradients on the first of `devices`, or on `threads` threads if there is none.
fn gradients(case: &Case, words: &Words, devices: &[Arc<Cuda>], threads: usize) {
    let (cuts, shot) = shares(case, words, 1);
    let shot = Shot {
        quantity: match case.law.as_str() {
            "fluid" => Quantity::Pressure,
            _ => Quantity::Velocity,
        },
        ..shot
    };
    let parameters = match case.law.as_str() {
        "full" => Parameters::Constants,
        _ => Parameters::Speeds,
    };
    let cpu = || Cpu::new(threads).expect("threads start");
    if let Some(device) = devices.first() {
        let group = case.with(|setup| gpu::subdomains(&devices[..1], setup, &shot, (&cuts, 0..1)));
        let mut group = group.expect("the set-up is sound");
        let adjoint = case.with(|setup| gpu::adjoint((device.clone(), cpu()), setup, &shot, parameters));
        let adjoint = adjoint.expect("the set-up is sound");
        let room = 0.95 * adjoint.free_bytes().expect("the GPU answers") as f64;
        against(case, words, (adjoint, room as usize, shot.clone()), || {
            group.run(&mut Nothing::default()).expect("the shot runs");
        });
        return;
    }
    let adjoint = case.with(|setup| Adjoint::new(cpu(), setup, &shot, parameters));
    let engine = case.with(|setup| Engine::new(cpu(), setup));
    let (adjoint, mut engine) = (adjoint.expect("sound"), engine.expect("sound"));
    against(case, words, (adjoint, usize::MAX, shot), || {
        (0..case.count).for_each(|_| engine.step());
    });
}

/// Processor time of this process in seconds.
fn busy() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing, and the call writes nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Measures all steps but the first on `threads` threads.
fn on_threads(case: &Case, threads: usize) -> Speed {
    let engine = case.with(|setup| Engine::new(Cpu::new(threads).expect("threads start"), setup));
    let mut engine = engine.expect("the set-up is sound");
    // The first step also allocates memory.
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
    let count = match probe() {
        Ok(properties) => properties.len(),
        Err(absent) if gpus > 0 => return println!("skipped: {absent}"),
        Err(_) => 0,
    };
    if count < gpus {
        return println!("skipped: {gpus} GPUs asked for, {count} found");
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
            if words.text("gradient", "n") == "y" {
                for threads in each("threads", if gpus > 0 { "0" } else { "1" }) {
                    gradients(&case, &words, &devices, threads.parse().expect("a number"));
                }
                continue;
            }
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
