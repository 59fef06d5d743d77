//! Cost of saving the state of a run while it continues, on the processors of this machine.
//!
//! `cargo bench -p kernels --bench states -- [n=300] [nb=16] [every=100] [states=2] [pairs=3] [threads=0] [folder=.] [sync=y]`
//!
//! Both finite-difference methods are measured in 3-D, with their frames. Runs without and with saving take turns. A
//! run has `states + 1` times `every` steps and saves `states` times into the same file in `folder`; each state is
//! flushed to the disk unless `sync=n`. The cost of a state is the additional time relative to that of `every` steps;
//! the median, the least and the largest of the pairs are printed.
//!
//! If other programs run on the machine, this difference is mostly noise. Two parts of it are therefore also measured
//! separately: how long the run waits until its state has been copied and writing begins, and the processor time of
//! the writing thread, which it may take from the threads of the run. The second line prints both relative to `every`
//! steps.

use kernels::Error;
use kernels::boundary::{cpml::Layer, free_surface::Surface, one_way::Form};
use kernels::communicator::Alone;
use kernels::device::cpu::Cpu;
use kernels::grid::stencil::Family;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Medium, Property, Symmetry, plane_names};
use kernels::methods::displacement::SLABS;
use kernels::methods::velocity_stress::{self, Absorber, Frame};
use kernels::methods::{displacement, displacement::SourceKind};
use kernels::parallel::options::ParallelOptions;
use kernels::source::{Action, Source};
use kernels::time_loop::Recorder;
use kernels::time_loop::state::{Checkpoints, Every, StateSink, StateStore};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

struct Nothing;

impl Recorder<f32> for Nothing {
    fn traces(&mut self, _it: usize, _traces: &[f32]) -> Result<(), Error> {
        Ok(())
    }
    fn snapshot(&mut self, _it: usize, _piece: &[f32]) -> Result<(), Error> {
        Ok(())
    }
}

/// Seconds that each state cost.
#[derive(Default)]
struct Taken {
    begun: Option<Instant>,
    /// Time that the run waited until writing began.
    still: Vec<f64>,
    /// Processor time of the writing thread; empty if the system does not report it.
    written: Vec<f64>,
}

struct Store {
    path: PathBuf,
    sync: bool,
    taken: Arc<Mutex<Taken>>,
}

struct Sink {
    file: File,
    sync: bool,
    taken: Arc<Mutex<Taken>>,
}

/// Processor time of the calling thread in seconds.
fn thread_seconds() -> Option<f64> {
    let about = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = about.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

impl StateSink for Sink {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        let mut taken = self.taken.lock().expect("nobody panics with it");
        if let Some(begun) = taken.begun.take() {
            taken.still.push(begun.elapsed().as_secs_f64());
        }
        drop(taken);
        self.file.write_all_at(bytes, offset)
    }
    fn finish(&mut self) -> std::io::Result<()> {
        if self.sync {
            self.file.sync_data()?;
        }
        let mut taken = self.taken.lock().expect("nobody panics with it");
        taken.written.extend(thread_seconds());
        Ok(())
    }
}

impl StateStore for Store {
    fn labels(&self, _step: usize) -> Vec<(String, String)> {
        self.taken.lock().expect("nobody panics with it").begun = Some(Instant::now());
        Vec::new()
    }
    fn create(&self, _bytes: u64) -> std::io::Result<Box<dyn StateSink>> {
        Ok(Box::new(Sink {
            file: File::create(&self.path)?,
            sync: self.sync,
            taken: self.taken.clone(),
        }))
    }
    fn join(&self) -> std::io::Result<Box<dyn StateSink>> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
    fn commit(&self, _step: usize) -> std::io::Result<()> {
        Ok(())
    }
    fn failed(&self, step: usize, reason: &str) {
        panic!("the state after step {step} could not be saved: {reason}");
    }
}

fn medium(padded: &Padded) -> Medium<f32> {
    let mut medium = Medium::new(padded).expect("it fits memory");
    let planes: [f32; 9] = [22.0, 22.0, 22.0, 5.0, 5.0, 5.0, 12.0, 12.0, 12.0];
    assert_eq!(planes.len(), plane_names(3).len());
    let nz = padded.model.n[0];
    for line in 0..padded.model.cells() / nz {
        for (k, &c) in planes.iter().enumerate() {
            medium.fill(Property::Stiffness(k), line, &vec![c; nz]);
        }
        medium.fill(Property::Density, line, &vec![2.0; nz]);
    }
    medium
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs one of the methods, saving its state if checkpoints are given.
type Run = Box<dyn FnMut(Option<&mut Checkpoints<'_>>) -> Result<(), Error>>;

fn displaced(n: usize, nb: usize, steps: usize, threads: usize) -> (Run, usize) {
    let padded = Padded::new(&Grid::new_3d([n; 3], [0.0; 3], [0.01; 3]), nb);
    let centre = n as f32 * 0.005;
    let shot = displacement::Shot {
        dt: 0.0012,
        wavelet: (0..steps * 3).map(|k| (k as f32 * 0.01).sin()).collect(),
        sources: vec![[centre; 3]],
        receivers: vec![[centre; 3]],
        kind: SourceKind::Stress,
        nbell: 5,
        absorbing: true,
        one_way: Form::Box,
        surface: Surface::None,
        interpolate: true,
        quantity: kernels::receiver::Quantity::Displacement,
        jdata: 10,
        snapshots: None,
        jcheck: 100,
    };
    let (cpu, raw) = (Cpu::new(threads).expect("threads start"), medium(&padded));
    let slabs = SLABS.partition(padded.planes(), 1).expect("one slab fits");
    let mut simulation = displacement::Simulation::new(&shot, raw, cpu, slabs).expect("a sound shot");
    let bytes = simulation.state_bytes();
    let run = move |c: Option<&mut Checkpoints<'_>>| {
        simulation.run_saving(&Alone, &mut Nothing, ParallelOptions::default(), c)
    };
    (Box::new(run), bytes)
}

fn staggered(n: usize, nb: usize, steps: usize, threads: usize) -> (Run, usize) {
    let frame = Frame {
        cells: [[nb; 2]; 3],
        absorber: Absorber::Cpml(Layer {
            reflection: 1e-5,
            kappa_max: 1.0,
            frequency: 20.0,
            fastest: 3.4,
        }),
    };
    let padded = frame.around(&Grid::new_3d([n; 3], [0.0; 3], [0.01; 3]));
    let centre = n as f32 * 0.005;
    let shot = velocity_stress::Shot {
        dt: 0.001,
        nt: steps,
        order: 4,
        family: Family::Taylor,
        frame,
        attenuation: None,
        surface: false,
        sources: vec![Source {
            point: [centre; 3],
            action: Action::Force([1.0, 0.0, 0.0]),
            series: 0,
        }],
        series: vec![(0..steps).map(|k| (k as f32 * 0.01).sin()).collect()],
        receivers: vec![[centre; 3]],
        quantity: velocity_stress::Quantity::Velocity,
        jdata: 10,
        snapshots: None,
        peaks: false,
        shears_in_place: false,
        jcheck: 100,
    };
    let (cpu, raw) = (Cpu::new(threads).expect("threads start"), medium(&padded));
    let slabs = SLABS.partition(padded.planes(), 1).expect("one slab fits");
    let mut simulation =
        velocity_stress::Simulation::new(&shot, raw, Symmetry::Isotropic, cpu, slabs).expect("a sound shot");
    let bytes = simulation.state_bytes();
    let run = move |c: Option<&mut Checkpoints<'_>>| {
        simulation.run_saving(&Alone, &mut Nothing, ParallelOptions::default(), c)
    };
    (Box::new(run), bytes)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let text = |key: &str, default: &str| {
        let value = words.iter().find_map(|w| w.strip_prefix(&format!("{key}=")));
        value.unwrap_or(default).to_string()
    };
    let number = |key: &str, default: &str| text(key, default).parse::<usize>().expect("a number");
    let (n, nb, threads) = (number("n", "300"), number("nb", "16"), number("threads", "0"));
    let (every, states) = (number("every", "100"), number("states", "2"));
    let steps = every * (states + 1);
    let store = Arc::new(Store {
        path: PathBuf::from(text("folder", ".")).join("state.new"),
        sync: text("sync", "y") == "y",
        taken: Arc::default(),
    });
    type Make = fn(usize, usize, usize, usize) -> (Run, usize);
    for (name, make) in [
        ("displacement", displaced as Make),
        ("velocity-stress", staggered),
    ] {
        if !text("methods", name).contains(name) {
            continue;
        }
        let (mut run, bytes) = make(n, nb, steps, threads);
        let mut seconds = |saves: bool| {
            let begun = Instant::now();
            let mut checkpoints = Checkpoints::new(&Alone, store.clone(), Every::Steps(every));
            run(saves.then_some(&mut checkpoints)).expect("the run is stable");
            begun.elapsed().as_secs_f64()
        };
        seconds(false);
        let mut costs = Vec::new();
        let mut plain = 0.0;
        for _ in 0..number("pairs", "3") {
            let (without, with) = (seconds(false), seconds(true));
            plain = without;
            costs.push(100.0 * (with - without) / without * (states + 1) as f64 / states as f64);
        }
        let step = plain / steps as f64;
        let taken = std::mem::take(&mut *store.taken.lock().expect("nobody panics with it"));
        let (still, written) = (median(taken.still), median(taken.written));
        let share = |seconds: f64| 100.0 * seconds / (step * every as f64);
        let cores = Cpu::new(threads).expect("threads start").threads() as f64;
        println!(
            "{name} {n}^3 nb={nb} threads={cores}: {:.1} ms a step, a state of {:.0} MB every {every} steps costs {:.2} % ({:.2} to {:.2})",
            1e3 * step,
            bytes as f64 / 1e6,
            median(costs.clone()),
            costs.iter().copied().fold(f64::INFINITY, f64::min),
            costs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        println!(
            "    by parts: the run stands still for {:.0} ms, the writing thread takes {:.0} ms of a processor: {:.2} + {:.2} %",
            1e3 * still,
            1e3 * written,
            share(still),
            share(written / cores),
        );
    }
    let _ = std::fs::remove_file(&store.path);
}
