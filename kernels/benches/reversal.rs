//! Cost of gradients and images on the processors of this machine, in forward runs of the production engine over the
//! same model. Gradients are measured with all steps kept and with boundary saving. Each figure is the best
//! wall-clock time of several runs, which take turns.
//!
//! `cargo bench -p kernels --bench reversal -- [threads=1/2] [dim=2/3] [size=281,1361 or 120,120,120: cells of the model] [order=4/8]
//! [frame=20 in 2-D, 10 in 3-D] [loss=none/three] [free=n] [steps=200 in 2-D, 40 in 3-D] [repeat=3]`; several values are separated by a
//! slash. The first run of each kind also allocates memory; its time is printed as well.

mod case;
#[path = "case/machine.rs"]
mod machine;

use case::{Nothing, Words};
use kernels::Error;
use kernels::boundary::cpml::Layer;
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::grid::stencil::Family;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Destination, Filler, Medium, Symmetry};
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, ImageRequest, Parameters};
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, SLABS, Shot, Simulation};
use kernels::source::{Action, Source};
use std::time::Instant;

/// The case that is measured.
struct Case {
    grid: Grid,
    order: usize,
    frame: usize,
    loss: Option<Mechanisms>,
    surface: bool,
    steps: usize,
    threads: usize,
}

impl Case {
    fn shot(&self) -> Shot {
        let mut cells = [[self.frame; 2]; 3];
        if self.surface {
            cells[0][0] = 0;
        }
        let n = self.grid.n;
        let along = n[if self.grid.ndim == 3 { 2 } else { 1 }];
        let middle = [0, 1, 2].map(|a| (n[a] / 2) as f32);
        let receiver = |k: usize| match self.grid.ndim {
            3 => [2.0, middle[1], k as f32],
            _ => [2.0, k as f32, 0.0],
        };
        Shot {
            dt: 0.2,
            nt: self.steps,
            order: self.order,
            family: Family::Taylor,
            frame: Frame {
                cells,
                absorber: Absorber::Cpml(Layer {
                    reflection: 1e-4,
                    kappa_max: 1.0,
                    frequency: 0.1,
                    fastest: 1.8,
                }),
            },
            attenuation: self.loss.map(|mechanisms| Attenuation {
                qp: [100.0].into(),
                qs: [50.0].into(),
                mechanisms,
                band: [0.01, 0.1],
                reference: 0.03,
            }),
            surface: self.surface,
            sources: vec![Source {
                point: middle,
                action: Action::explosion(1.0),
                series: 0,
            }],
            series: vec![(0..self.steps).map(|it| (0.3 * it as f32).sin()).collect()],
            receivers: (0..along).step_by(2).map(receiver).collect(),
            quantity: Quantity::Velocity,
            jdata: 4,
            snapshots: None,
            peaks: false,
            shears_in_place: false,
            jcheck: 100,
        }
    }

    /// An isotropic medium of two layers with an interface at half the depth.
    fn medium(&self, shot: &Shot, cpu: &Cpu) -> Result<Medium<f32>, Error> {
        let mut medium = Medium::new(&shot.frame.around(&self.grid))?;
        let (nz, lines) = (self.grid.n[0], self.grid.cells() / self.grid.n[0]);
        let arrays: &[f32] = match self.grid.ndim {
            3 => &[2.89, 2.89, 2.89, 1.0, 1.0, 1.0, 0.89, 0.89, 0.89, 1.0],
            _ => &[2.89, 2.89, 1.0, 0.89, 1.0],
        };
        let mut filler = Filler::new(&mut medium, cpu);
        for first in (0..lines).step_by(1000) {
            let count = 1000.min(lines - first);
            let block = filler.block(count)?;
            for (array, &x) in block.chunks_mut(count * nz).zip(arrays) {
                for line in array.chunks_mut(nz) {
                    line[..nz / 2].fill(0.9 * x);
                    line[nz / 2..].fill(x);
                }
            }
            filler.commit(first, count)?;
        }
        drop(filler);
        Ok(medium)
    }
}

/// Milliseconds per step of the first and of the fastest of several runs.
struct Times {
    first: f64,
    best: f64,
}

impl Times {
    fn new() -> Self {
        Self {
            first: 0.0,
            best: f64::INFINITY,
        }
    }

    fn take(&mut self, steps: usize, run: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let begun = Instant::now();
        run()?;
        let taken = begun.elapsed().as_secs_f64() * 1e3 / steps as f64;
        if self.best.is_infinite() {
            self.first = taken;
        }
        self.best = self.best.min(taken);
        Ok(())
    }

    fn line(&self, name: &str, forward: f64) {
        println!(
            "  {name:<22} {:>8.3} ms a step: {:.2} forward runs (the first one {:.3}: {:.2})",
            self.best,
            self.best / forward,
            self.first,
            self.first / forward
        );
    }
}

fn measure(case: &Case, words: &Words) -> Result<(), Error> {
    let shot = case.shot();
    let cpu = Cpu::new(case.threads)?;
    let padded = shot.frame.around(&case.grid);
    let slabs = SLABS.partition(padded.planes(), 1)?;
    let raw = case.medium(&shot, &cpu)?;
    let mut engine = Simulation::new(&shot, raw, Symmetry::Isotropic, cpu.another()?, slabs)?;
    let raw = case.medium(&shot, &cpu)?;
    let born = Born::new(&shot, raw, (Symmetry::Isotropic, Parameters::Speeds), cpu)?;
    let data: Vec<f32> = (0..born.records() * born.values())
        .map(|k| ((k as f32 * 12.9898).sin() * 43_758.547).fract())
        .collect();
    let steps = case.steps;
    let all = CheckpointSchedule::choose(steps, born.sizes(), usize::MAX / 4)?;
    let plain = ImageRequest::plain();
    let of_images = CheckpointSchedule::choose(steps, born.sizes_of_images(&plain), usize::MAX / 4)?;
    let boundary = born
        .boundary_sizes()
        .ok()
        .map(|(sizes, _)| {
            CheckpointSchedule::choose(steps, sizes, usize::MAX / 4)
                .map(CheckpointSchedule::with_boundary_saving)
        })
        .transpose()?;
    let names = ["forward", "gradient, steps", "gradient, boundary", "image"];
    let mut times = names.map(|_| Times::new());
    let gradient = |schedule: &CheckpointSchedule| {
        let mut residual = |_: &[f32]| Ok(data.clone());
        born.gradient(&mut residual, schedule).map(drop)
    };
    for _ in 0..words.number("repeat", 3) {
        times[0].take(steps, || engine.run(&mut Nothing::default()))?;
        times[1].take(steps, || gradient(&all))?;
        if let Some(boundary) = &boundary {
            times[2].take(steps, || gradient(boundary))?;
        }
        times[3].take(steps, || born.images(&data, &of_images, &plain).map(drop))?;
    }
    let cells = padded.planes() * padded.plane_len();
    println!(
        "{}-D {:?} order {} frame {}{}, {} thread{}: {:.2} numbers a cell of a recorded step",
        case.grid.ndim,
        &case.grid.n[..case.grid.ndim],
        case.order,
        case.frame,
        if case.loss.is_some() {
            " with attenuation"
        } else {
            ""
        },
        case.threads,
        if case.threads == 1 { "" } else { "s" },
        born.sizes()[1] as f64 / 4.0 / cells as f64
    );
    let forward = times[0].best;
    let measured = names
        .iter()
        .zip(&times)
        .filter(|(_, times)| times.best.is_finite());
    measured.for_each(|(name, times)| times.line(name, forward));
    Ok(())
}

fn main() -> Result<(), Error> {
    let words = Words::new();
    machine::describe(&Cpu::new(0)?);
    machine::print_triad(1, None);
    let number = |key: &str, word: &str| {
        let refused = || Error::setup(format!("{key}={word}: a number is needed"));
        word.parse::<usize>().map_err(|_| refused())
    };
    for dim in words.text("dim", "2/3").split('/') {
        let (size, frame, steps) = match dim {
            "3" => ("120,120,120", 10, 40),
            _ => ("281,1361", 20, 200),
        };
        let size = words.text("size", size);
        let size: Vec<usize> = size
            .split(',')
            .map(|n| number("size", n))
            .collect::<Result<_, _>>()?;
        let grid = match size[..] {
            [z, x, y] => Grid::new_3d([z, x, y], [0.0; 3], [1.0; 3]),
            [z, x] => Grid::new_2d([z, x], [0.0; 2], [1.0; 2]),
            _ => return Err(Error::setup("size= has two or three numbers")),
        };
        for order in words.text("order", "4/8").split('/') {
            for loss in words.text("loss", "none").split('/') {
                for threads in words.text("threads", "1/2").split('/') {
                    let case = Case {
                        grid: grid.clone(),
                        order: number("order", order)?,
                        frame: words.number("frame", frame),
                        loss: (loss == "three").then_some(Mechanisms::Everywhere(3)),
                        surface: words.text("free", "n") == "y",
                        steps: words.number("steps", steps),
                        threads: number("threads", threads)?,
                    };
                    measure(&case, &words)?;
                }
            }
        }
    }
    Ok(())
}
