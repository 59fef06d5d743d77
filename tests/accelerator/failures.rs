//! Failures during a run are reported as on the CPU, and the records made before them are handed over.

use crate::cases::{World, settings};
use crate::element_worlds::{self, Recipe};
use crate::elements::{WET, on_devices};
use crate::runs::{How, Machines, on, prepare, run};
use crate::shots::{Tape, medium, shot};
use kernels::Error;
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Medium, Speeds, Stiffness};
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::{self, Shot};
use kernels::time_loop::Recorder;

/// Step, cell and medium of a wavefield that is not finite.
fn noticed(result: Result<(), Error>) -> (usize, String, String) {
    match result {
        Err(Error::NotFinite { step, cell, medium }) => (step, cell, medium),
        other => panic!("the run must end with NotFinite: {other:?}"),
    }
}

/// The message about the medium without the name of its symmetry class, which the CPU engine does not report.
fn numbers(medium: &str) -> Option<&str> {
    medium.split_once(": ").map(|(_, numbers)| numbers)
}

fn on_cpu(shot: &Shot, medium: Medium<f32>) -> (Tape<f32>, Result<(), Error>) {
    let slabs = SLABS
        .partition(medium.padded().planes(), 1)
        .expect("one slab fits");
    let cpu = Cpu::new(1).expect("threads start");
    let mut tape = Tape::default();
    let mut simulation = displacement::Simulation::new(shot, medium, cpu, slabs).expect("a valid shot");
    let result = simulation.run(&mut tape);
    (tape, result)
}

/// A shot with twice the stable time step in a fast lens around x = 30, z = 20.
fn lens(jcheck: usize) -> (Shot, Medium<f32>) {
    let padded = Padded::new(&Grid::new_2d([40, 60], [0.0; 2], [1.0; 2]), 8);
    let earth = |at: [f64; 3]| {
        let inside = (at[0] - 20.0).powi(2) + (at[1] - 30.0).powi(2) < 100.0;
        let vp = if inside { 4.0 } else { 1.0 };
        let speeds = Speeds {
            vp,
            vs: 0.5 * vp,
            rho: 2.0,
        };
        (Stiffness::isotropic(speeds), 2.0)
    };
    let mut wavelet = vec![0.0; 2 * 1000];
    wavelet[0] = 1.0;
    let mut s = shot(0.4, wavelet, vec![[20.0, 30.0, 0.0]], vec![[20.0, 30.0, 0.0]]);
    (s.nbell, s.absorbing, s.jcheck, s.jdata) = (0, true, jcheck, 3);
    (s, medium(&padded, earth))
}

pub fn an_unstable_run_is_noticed<A: Accelerator>(machines: &Machines<A>) {
    let (_, first) = on_cpu(&lens(1).0, lens(1).1);
    let (first, ..) = noticed(first);
    for jcheck in [7, 50, 1000] {
        let (s, earth) = lens(jcheck);
        let (cpu, failure) = on_cpu(&s, lens(jcheck).1);
        let (step, ..) = noticed(failure);
        let mut cells = Vec::new();
        for slabs in [&[][..], &[8, 30, 38], &[10, 12, 20, 16, 18]] {
            let (tape, failure) = run(machines, &s, &earth, on(slabs));
            let (here, cell, medium) = noticed(failure);
            assert_eq!(
                here, step,
                "jcheck {jcheck}, first {first}, slabs {slabs:?}: {cell}"
            );
            assert_eq!(tape.steps, cpu.steps, "all records made before are handed over");
            assert!(medium.contains("density=") && medium.contains("c55="), "{medium}");
            cells.push((cell, medium));
        }
        assert!(
            cells.iter().all(|c| *c == cells[0]),
            "different cells on different slabs: {cells:?}"
        );
    }
}

/// A force at one cell that is too large for float32 in one step.
fn burst(small: &World, step: usize, jcheck: usize) -> Shot {
    let mut shot = small.shot(settings()[1]);
    let parts = small.padded.ndim() * small.sources.len();
    // This is the first component of the second source.
    shot.wavelet[step * parts + 1] = 3e38;
    (shot.nbell, shot.jcheck, shot.jdata) = (0, jcheck, 4);
    shot
}

pub fn the_first_cell_that_overflows_is_named<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, cut) in [(2, [8, 9, 12, 8, 9]), (3, [8; 5])] {
        let mut small = World::slender(ndim);
        // The density is so small that the force overflows at once; the speeds are typical of rock.
        let rho = 1e-4;
        let speeds = Speeds {
            vp: 3.0,
            vs: 1.5,
            rho,
        };
        small.steps = 30;
        // The first slab ends with the first plane on which the source acts.
        let (axis, model) = (ndim - 1, &small.padded.model);
        let cells = (small.sources[1][axis] - model.o[axis]) / model.d[axis];
        let end = small.padded.low[axis] + cells as usize + 1;
        let behind = [end, small.padded.planes() - end];
        for (step, jcheck) in [(0, 1), (5, 1), (11, 4), (14, 4), (17, 100), (29, 1)] {
            let shot = burst(&small, step, jcheck);
            let earth = || medium::<f32>(&small.padded, |_| (Stiffness::isotropic(speeds), rho));
            let (cpu, failure) = on_cpu(&shot, earth());
            let failure = noticed(failure);
            for slabs in [&[][..], &cut, &behind] {
                let (tape, here) = run(machines, &shot, &earth(), on(slabs));
                let here = noticed(here);
                let what = format!("{ndim}-D step {step}, jcheck {jcheck}, slabs {slabs:?}");
                assert_eq!(here.0, failure.0, "{what}");
                // Later the overflow has reached the outermost cells, which engines may or may not multiply by zero.
                if here.0 < step + 2 {
                    assert_eq!(
                        (&here.1, numbers(&here.2)),
                        (&failure.1, numbers(&failure.2)),
                        "{what}"
                    );
                }
                assert_eq!(tape.steps, cpu.steps, "{what}");
                assert_eq!(tape.snapshots.len(), cpu.snapshots.len(), "{what}");
            }
        }
    }
}

/// The message about an overflow has the density of the cell that it names, which no other cell has.
pub fn the_density_of_the_cell_is_named<A: Accelerator>(machines: &Machines<A>) {
    let number = |text: &str, key: &str| -> Option<f64> {
        let (_, rest) = text.split_once(key)?;
        rest.split([' ', ',']).next()?.parse().ok()
    };
    // The density is so small that the force overflows at once.
    let density = |at: [f64; 3]| 1e-4 * (1.0 + 0.01 * at[0] + 0.0031 * at[1] + 0.0017 * at[2]);
    for ndim in [2, 3] {
        let small = World::slender(ndim);
        let shot = burst(&small, 5, 1);
        let earth = || {
            medium::<f32>(&small.padded, |at| {
                let rho = density(at);
                let (vp, vs) = (3.0, 1.5);
                (Stiffness::isotropic(Speeds { vp, vs, rho }), rho)
            })
        };
        let mut ends = vec![on_cpu(&shot, earth()).1];
        for slabs in [
            &[][..],
            &[8, small.padded.planes() - 8],
            &[small.padded.planes() - 8, 8],
        ] {
            ends.push(run(machines, &shot, &earth(), on(slabs)).1);
        }
        for end in ends {
            let (_, cell, medium) = noticed(end);
            let at = ["z=", "x=", "y="].map(|axis| number(&cell, axis).unwrap_or(0.0));
            let named = number(&medium, "density=").expect("a density");
            assert!(
                (named / density(at) - 1.0).abs() < 1e-5,
                "{ndim}-D, {cell}: {medium}"
            );
        }
    }
}

/// A recorder whose disk fills up: only `left` more calls succeed.
struct Full {
    left: usize,
    tape: Tape<f32>,
}

impl Full {
    fn write(&mut self) -> Result<(), Error> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::Recorder("no space left on device".into())),
        }
    }
}

impl Recorder<f32> for Full {
    fn traces(&mut self, it: usize, traces: &[f32]) -> Result<(), Error> {
        self.write()?;
        self.tape.traces(it, traces)
    }
    fn snapshot(&mut self, it: usize, piece: &[f32]) -> Result<(), Error> {
        self.write()?;
        self.tape.snapshot(it, piece)
    }
}

pub fn a_recorder_that_fails_ends_the_run<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, cut) in [(2, [12, 9, 25]), (3, [12, 8, 20])] {
        let small = World::slender(ndim);
        let shot = small.shot(settings()[0]);
        for slabs in [&[][..], &cut] {
            let how = How { slabs, ..How::PLAIN };
            let (mut simulation, devices) =
                prepare(machines, &shot, &small.medium(), how).expect("a valid shot");
            for left in [0, 1, 5, 20, 27] {
                let mut full = Full {
                    left,
                    tape: Tape::default(),
                };
                let outcome = simulation.run(&mut full);
                let message = outcome.expect_err("the recorder failed").to_string();
                assert_eq!(message, "no space left on device");
                let steps = &full.tape.steps;
                assert!(
                    steps.len() <= left && steps.iter().copied().eq(0..steps.len()),
                    "{steps:?}"
                );
            }
            // The devices and the simulation are still usable: the next run delivers all its own records and no record
            // of the earlier run.
            let mut tape = Tape::<f32>::default();
            simulation.run(&mut tape).expect("it runs");
            assert_eq!(tape.steps, (0..small.steps).collect::<Vec<_>>());
            let cells: usize = small.padded.n.iter().product::<usize>() * ndim;
            assert!(tape.snapshots.iter().all(|s| s.1.len() == cells));
            drop(simulation);
            devices
                .iter()
                .for_each(|d| d.finish().expect("no damage was done"));
        }
    }
}

pub fn elements_that_grow_are_noticed<A: Accelerator>(machines: &Machines<A>) {
    let mut world = element_worlds::World::new(Recipe {
        rocks: WET,
        ..Recipe::plain([6, 4])
    });
    (world.dt, world.shot.nt, world.shot.jcheck) = (4.0 * world.dt, 400, 1);
    let place = |cuts: &[usize]| -> usize {
        let (mut group, _devices) = on_devices(machines, &world, (cuts, 0..cuts.len() + 1));
        let error = group.run(&mut Tape::default()).expect_err("the step is too long");
        let words = error.to_string();
        assert!(
            matches!(error, Error::NotFinite { .. }) && words.contains("region"),
            "{words}"
        );
        let element = words
            .split_once("element ")
            .and_then(|(_, rest)| rest.split(' ').next());
        element
            .and_then(|number| number.parse().ok())
            .expect("an element is named")
    };
    // Whichever part contains it, the reported element is the same, or its neighbour in a row of six, with which it
    // shares points.
    let whole = place(&[]);
    for cuts in [&[1][..], &[7], &[7, 17]] {
        let here = place(cuts);
        assert!(
            here / 6 == whole / 6 && here.abs_diff(whole) <= 1,
            "{cuts:?}: {here}, {whole}"
        );
    }
}
