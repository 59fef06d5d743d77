//! Small heterogeneous grids, and shots that touch every boundary; all parity tests use them.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use crate::shots::{Ricker, Tape, magnitude, medium, oblique_medium, run_on, shot};
use kernels::boundary::free_surface::Surface;
use kernels::device::simd::Real;
use kernels::grid::points::Point;
use kernels::grid::{Grid, Padded};
use kernels::medium::rotate::{rotated, rotation};
use kernels::medium::{Medium, Speeds, Stiffness, Tsvankin};
use kernels::methods::displacement::{Shot, Snapshots, SourceKind};

/// Every boundary setting with every kind of source.
pub fn settings() -> Vec<(bool, Surface, SourceKind)> {
    let surfaces = [Surface::None, Surface::Vacuum, Surface::Traction];
    let kinds = [SourceKind::Stress, SourceKind::Force];
    let each = |absorbing| {
        surfaces
            .into_iter()
            .flat_map(move |s| kinds.into_iter().map(move |k| (absorbing, s, k)))
    };
    [true, false].into_iter().flat_map(each).collect()
}

/// A different orthorhombic medium in every cell.
fn rough(at: [f64; 3]) -> (Stiffness, f64) {
    let [z, x, y] = at;
    let wave = |k: f64| (0.7 * k * z + 0.9 * x - 0.5 * k * y + k).sin();
    let rho = 2.0 + 0.3 * wave(1.3);
    let speeds = Speeds {
        vp: 3.0 + 0.5 * wave(0.6),
        vs: 1.6 + 0.2 * wave(1.9),
        rho,
    };
    let t = Tsvankin {
        eps1: 0.1,
        eps2: 0.2,
        del1: 0.05,
        del2: 0.1,
        del3: -0.05,
        gam1: 0.1,
        gam2: 0.05,
    };
    (Stiffness::orthorhombic(speeds, t).expect("a real medium"), rho)
}

/// A grid, two sources (one between cells), and receivers all along the slowest axis, some of them in the frame.
pub struct World {
    pub padded: Padded,
    pub sources: Vec<Point>,
    pub receivers: Vec<Point>,
    pub steps: usize,
}

impl World {
    /// A plane of 60 lines, 12 of which are frame on each side.
    pub fn plane() -> Self {
        let padded = Padded::new(&Grid::new_2d([23, 36], [0.0; 2], [1.0, 0.9]), 12);
        let receivers = along(&padded, |at| [9.3, at, 0.0]);
        Self {
            padded,
            sources: vec![[8.0, 13.5, 0.0], [11.4, 22.0, 0.0]],
            receivers,
            steps: 90,
        }
    }

    /// A volume of 52 planes, 10 of which are frame on each side.
    pub fn volume() -> Self {
        let padded = Padded::new(&Grid::new_3d([13, 11, 32], [0.0; 3], [1.0, 1.1, 0.9]), 10);
        let receivers = along(&padded, |at| [5.3, 4.4, at]);
        Self {
            padded,
            sources: vec![[4.0, 5.5, 12.6], [6.4, 3.0, 20.1]],
            receivers,
            steps: 60,
        }
    }

    /// A grid of few cells for slow machines: three tiles of a sweep along z, and frames of the smallest thickness that
    /// keeps the faces apart.
    pub fn small(ndim: usize) -> Self {
        let mut world = if ndim == 2 { Self::plane() } else { Self::volume() };
        let grid = match ndim {
            2 => Grid::new_2d([250, 24], [0.0; 2], [1.0, 0.9]),
            _ => Grid::new_3d([22, 8, 14], [0.0; 3], [1.0, 1.1, 0.9]),
        };
        world.padded = Padded::new(&grid, 7);
        let axis = ndim - 1;
        let end = world.padded.bounds(axis).1 - 1.0;
        world.receivers = along(&world.padded, |at| {
            if ndim == 2 { [9.3, at, 0.0] } else { [5.3, 4.4, at] }
        });
        world.receivers.retain(|r| r[axis] < end);
        world.sources = vec![[8.0, 6.5, 5.0], [11.4, 4.0, 7.3]];
        world.steps = if ndim == 2 { 60 } else { 25 };
        world
    }

    /// A grid of few cells that can be cut into five slabs: 46 planes in 2-D and 40 in 3-D, with frames of 7 planes on
    /// each side.
    pub fn slender(ndim: usize) -> Self {
        let mut world = Self::small(ndim);
        let grid = match ndim {
            2 => Grid::new_2d([21, 32], [0.0; 2], [1.0, 0.9]),
            _ => Grid::new_3d([9, 6, 26], [0.0; 3], [1.0, 1.1, 0.9]),
        };
        world.padded = Padded::new(&grid, 7);
        world.receivers = along(&world.padded, |at| {
            if ndim == 2 { [9.3, at, 0.0] } else { [5.3, 2.4, at] }
        });
        // The bells cover planes 8 to 19 and 17 to 28 in 2-D, and 8 to 19 and 16 to 27 in 3-D.
        world.sources = match ndim {
            2 => vec![[8.0, 5.5, 0.0], [11.4, 14.0, 0.0]],
            _ => vec![[4.0, 2.5, 5.6], [5.4, 2.0, 12.7]],
        };
        world
    }

    /// A model of few cells in a frame of four: faces are close to each other or overlap. There are two point sources,
    /// one of them in the frame, and receivers from corner to corner.
    pub fn tiny(n: &[usize]) -> Self {
        let grid = match *n {
            [z, x] => Grid::new_2d([z, x], [0.0; 2], [1.0, 0.9]),
            [z, x, y] => Grid::new_3d([z, x, y], [0.0; 3], [1.0, 1.1, 0.9]),
            _ => panic!("two or three axes"),
        };
        let padded = Padded::new(&grid, 4);
        let at = |share: f32| {
            let one = |a: usize| {
                let (low, high) = padded.bounds(a);
                low + share * (high - low)
            };
            [0, 1, 2].map(|a| if a < n.len() { one(a) } else { 0.0 })
        };
        Self {
            sources: vec![at(0.5), at(0.3)],
            receivers: (0..9).map(|k| at(k as f32 * 0.12)).collect(),
            steps: 45,
            padded,
        }
    }

    /// A grid wide enough in all directions for several tiles and many threads.
    pub fn wide(ndim: usize, steps: usize) -> Self {
        let mut world = if ndim == 2 { Self::plane() } else { Self::volume() };
        let grid = match ndim {
            2 => Grid::new_2d([700, 150], [0.0; 2], [1.0, 0.9]),
            _ => Grid::new_3d([70, 60, 80], [0.0; 3], [1.0, 1.1, 0.9]),
        };
        world.padded = Padded::new(&grid, 10);
        world.receivers = along(&world.padded, |at| {
            if ndim == 2 { [9.3, at, 0.0] } else { [5.3, 4.4, at] }
        });
        world.steps = steps;
        world
    }

    pub fn medium(&self) -> Medium<f32> {
        self.medium_of()
    }

    /// Like [`World::medium`], in any precision.
    pub fn medium_of<T: Real>(&self) -> Medium<T> {
        medium(&self.padded, rough)
    }

    /// A different medium without symmetry planes in every cell, in any precision.
    pub fn oblique<T: Real>(&self) -> Medium<T> {
        oblique_medium(&self.padded, |at| {
            let ((stiffness, rho), [z, x, y]) = (rough(at), at);
            let turn = rotation(40.0 * (0.8 * z + x).sin(), 70.0 * (0.5 * x - y).sin());
            (rotated(&stiffness.voigt(), &turn), rho)
        })
    }

    /// A shot with traces of every step and whole snapshots of every 19th step.
    pub fn shot(&self, (absorbing, surface, kind): (bool, Surface, SourceKind)) -> Shot {
        let (ndim, dt) = (self.padded.ndim(), 0.06);
        let one = Ricker::starting_at_zero(0.5).samples(self.steps, dt, &[1.0, -0.6, 0.4][..ndim]);
        // The second source has half the strength of the first, the third a third.
        let loud = (1..=self.sources.len()).map(|k| k as f32);
        let wavelet = one.iter().flat_map(|&w| loud.clone().map(move |k| w / k));
        let wavelet = wavelet.collect();
        let snapshots = Some(Snapshots {
            every: 19,
            window: self.padded.n.map(|n| 0..n),
        });
        let quiet = shot(dt, wavelet, self.sources.clone(), self.receivers.clone());
        Shot {
            absorbing,
            surface,
            kind,
            snapshots,
            ..quiet
        }
    }

    /// Everything that is recorded with these threads and slabs.
    pub fn run(&self, shot: &Shot, threads: usize, slabs: &[usize]) -> Tape<f32> {
        let tape = run_on(shot, self.medium(), threads, slabs).expect("the shot runs");
        assert!(tape.peak() > 0.0 && tape.snapshots.len() > 1);
        tape
    }
}

/// Receivers on every plane except the last, and between all neighbouring planes, from one end of the grid to the
/// other.
fn along(padded: &Padded, point: impl Fn(f32) -> Point) -> Vec<Point> {
    let axis = padded.ndim() - 1;
    let step = 0.5 * padded.d()[axis];
    (0..2 * padded.planes() - 3)
        .map(|i| point(padded.o[axis] + i as f32 * step))
        .collect()
}

/// The first position at which two tapes differ in their bits; the first tape must not be all zeros.
pub fn difference<T: Real>(a: &Tape<T>, b: &Tape<T>) -> Option<String> {
    let snapshots = a.snapshots.iter().flat_map(|(_, snapshot)| snapshot);
    magnitude(a.traces.iter().flatten().chain(snapshots).map(|x| x.f64()));
    let bits = |v: &[T]| v.iter().map(|x| x.f64().to_bits()).collect::<Vec<_>>();
    let counts = |tape: &Tape<T>| [tape.traces.len(), tape.snapshots.len()];
    if a.steps != b.steps || counts(a) != counts(b) {
        return Some("not the same records".into());
    }
    let traces = a.steps.iter().zip(a.traces.iter().zip(&b.traces));
    let snapshots = a.snapshots.iter().zip(&b.snapshots);
    let mut differences = traces
        .filter(|(_, (x, y))| bits(x) != bits(y))
        .map(|(it, _)| format!("traces differ after step {it}"))
        .chain(
            snapshots
                .filter(|(x, y)| x.0 != y.0 || bits(&x.1) != bits(&y.1))
                .map(|(x, _)| format!("snapshots differ after step {}", x.0)),
        );
    differences.next()
}
