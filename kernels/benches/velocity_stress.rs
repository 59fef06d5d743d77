//! Speed of the velocity-stress method on the processors of this machine: millions of points of the padded grid a
//! second, the best of several runs. A receiver is recorded every step.
//!
//! `cargo bench -p kernels --bench velocity_stress -- [threads=1] [slabs=1] [dim=3/2] [n=200, 2-D 1200]
//! [size=nz,nx,ny of the model, instead of n] [order=2/4/8] [frame=none/cpml10/cpml16/sponge20] [loss=none/coarse/one/three]
//! [free=n] [points=60: millions of points and steps a run] [repeat=5] [device=cpu]`; several values are separated by a
//! slash. `tile=z,x`, `registers=256`, `cache=assumed KiB of the second-level cache` and `triad=n` are as in the
//! benchmark `displacement`.

mod case;
#[path = "case/machine.rs"]
mod machine;

use case::Words;
use kernels::Error;
use kernels::boundary::cpml::Layer;
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::grid::stencil::Family;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Destination, Filler, Medium, Symmetry, plane_names};
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, Shot, Simulation};
use kernels::source::{Action, Source};
use kernels::time_loop::Recorder;
use std::time::Instant;

struct Nothing;

impl Recorder<f32> for Nothing {
    fn traces(&mut self, _: usize, _: &[f32]) -> Result<(), Error> {
        Ok(())
    }

    fn snapshot(&mut self, _: usize, _: &[f32]) -> Result<(), Error> {
        Ok(())
    }
}

/// The case that is measured.
struct Case {
    grid: Grid,
    order: usize,
    frame: Frame,
    loss: Option<Mechanisms>,
    surface: bool,
}

/// Parses a value of `frame=`; all faces but a free surface have the same number of cells.
fn frame(word: &str, surface: bool) -> Option<Frame> {
    let digits = word.trim_start_matches(char::is_alphabetic);
    let layers = Absorber::Cpml(Layer {
        reflection: 1e-4,
        kappa_max: 1.0,
        frequency: 0.1,
        fastest: 1.8,
    });
    let (absorber, cells) = match word.strip_suffix(digits)? {
        "none" => (layers, 0),
        "cpml" => (layers, digits.parse().ok()?),
        "sponge" => (Absorber::Sponge(0.92), digits.parse().ok()?),
        _ => return None,
    };
    let mut faces = [[cells; 2]; 3];
    if surface {
        faces[0][0] = 0;
    }
    Some(Frame {
        cells: faces,
        absorber,
    })
}

/// Parses a value of `loss=`.
fn loss(word: &str) -> Option<Option<Mechanisms>> {
    match word {
        "none" => Some(None),
        "coarse" => Some(Some(Mechanisms::Coarse)),
        "one" => Some(Some(Mechanisms::Everywhere(1))),
        "three" => Some(Some(Mechanisms::Everywhere(3))),
        _ => None,
    }
}

/// A homogeneous isotropic medium.
fn medium(case: &Case, cpu: &Cpu) -> Result<Medium<f32>, Error> {
    let grid = &case.grid;
    let mut medium = Medium::new(&case.frame.around(grid))?;
    let (nz, lines) = (grid.n[0], grid.cells() / grid.n[0]);
    let arrays: &[f32] = if grid.ndim == 3 {
        &[3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    } else {
        &[3.0, 3.0, 1.0, 1.0, 1.0]
    };
    assert_eq!(arrays.len(), plane_names(grid.ndim).len() + 1);
    let mut filler = Filler::new(&mut medium, cpu);
    for first in (0..lines).step_by(1000) {
        let count = 1000.min(lines - first);
        let block = filler.block(count)?;
        block
            .chunks_mut(count * nz)
            .zip(arrays)
            .for_each(|(array, &x)| array.fill(x));
        filler.commit(first, count)?;
    }
    Ok(medium)
}

fn shot(case: &Case, nt: usize) -> Shot {
    let middle = [0, 1, 2].map(|a| (case.grid.n[a] / 2) as f32);
    let attenuation = case.loss.map(|mechanisms| Attenuation {
        qp: [100.0].into(),
        qs: [50.0].into(),
        mechanisms,
        band: [0.01, 0.1],
        reference: 0.03,
    });
    Shot {
        dt: 0.2,
        nt,
        order: case.order,
        family: Family::Taylor,
        frame: case.frame,
        attenuation,
        surface: case.surface,
        sources: vec![Source {
            point: middle,
            action: Action::explosion(1.0),
            series: 0,
        }],
        series: vec![vec![1.0; nt]],
        receivers: vec![middle],
        quantity: Quantity::Velocity,
        jdata: 1,
        snapshots: None,
        peaks: false,
        shears_in_place: false,
        jcheck: nt,
    }
}

/// The threads, with the tile, registers and cache size that the arguments give.
fn processors(words: &Words) -> Result<Cpu, Error> {
    let sizes = [words.number("registers", 512), words.number("cache", 0)];
    machine::processors(words.number("threads", 1), &words.text("tile", ""), sizes)
}

/// Millions of points of the padded grid per second.
fn speed(case: &Case, words: &Words) -> Result<f64, Error> {
    let cpu = processors(words)?;
    let padded = case.frame.around(&case.grid);
    let nt = (words.number("points", 60) * 1_000_000 / padded.cells()).max(4);
    let slabs = SLABS.partition(padded.planes(), words.number("slabs", 1))?;
    let medium = medium(case, &cpu)?;
    let mut engine = Simulation::new(&shot(case, nt), medium, Symmetry::Isotropic, cpu, slabs)?;
    let mut best = f64::INFINITY;
    for _ in 0..words.number("repeat", 5) {
        let begun = Instant::now();
        engine.run(&mut Nothing)?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(1e-6 * (padded.cells() * nt) as f64 / best)
}

/// The grid of the model in `dim` dimensions.
fn grid(dim: &str, words: &Words) -> Grid {
    let n = words.number("n", if dim == "2" { 1200 } else { 200 });
    let size: Vec<usize> = words
        .text("size", "")
        .split(',')
        .filter_map(|n| n.parse().ok())
        .collect();
    match (dim, size.as_slice()) {
        ("2", &[nz, nx]) => Grid::new_2d([nz, nx], [0.0; 2], [1.0; 2]),
        ("2", _) => Grid::new_2d([n; 2], [0.0; 2], [1.0; 2]),
        (_, &[nz, nx, ny]) => Grid::new_3d([nz, nx, ny], [0.0; 3], [1.0; 3]),
        _ => Grid::new_3d([n; 3], [0.0; 3], [1.0; 3]),
    }
}

fn main() -> Result<(), Error> {
    let words = Words::new();
    let device = words.text("device", "cpu");
    if device != "cpu" {
        return Err(Error::setup(format!(
            "device={device} must be cpu in this benchmark"
        )));
    }
    machine::describe(&processors(&words)?);
    if words.text("triad", "y") == "y" {
        machine::print_triad(words.number("threads", 1), None);
    }
    let surface = words.text("free", "n") == "y";
    let bad = |key: &str, word: &str| {
        Error::setup(format!(
            "{key}={word} is unknown; the documentation of benches/velocity_stress.rs lists the values"
        ))
    };
    for dim in words.text("dim", "3/2").split('/') {
        for order in words.text("order", "2/4/8").split('/') {
            for around in words.text("frame", "none/cpml10/cpml16/sponge20").split('/') {
                for lost in words.text("loss", "none").split('/') {
                    let case = Case {
                        grid: grid(dim, &words),
                        order: order.parse().map_err(|_| bad("order", order))?,
                        frame: frame(around, surface).ok_or_else(|| bad("frame", around))?,
                        loss: loss(lost).ok_or_else(|| bad("loss", lost))?,
                        surface,
                    };
                    let n = &case.grid.n[..case.grid.ndim];
                    println!(
                        "{dim}-D {n:?} order {order} {around} loss {lost}: {:.1} Mpt/s",
                        speed(&case, &words)?
                    );
                }
            }
        }
    }
    Ok(())
}
