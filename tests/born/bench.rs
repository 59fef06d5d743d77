//! Shots with every option, in a medium with a gradient, a dipping interface and, if requested, a fluid.

use crate::desk::{frame, isotropic, layer, shot};
use crate::shots::{kept, magnitude, medium};
use kernels::device::cpu::Cpu;
use kernels::device::simd::Real;
use kernels::grid::Grid;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Medium, Stiffness, Symmetry, needed};
use kernels::methods::velocity_stress::born::{Born, CheckpointSchedule, Number, Parameters};
use kernels::methods::velocity_stress::{Absorber, Attenuation, Quantity, Shot};
use kernels::source::{Action, Source};
use std::ops::Range;

/// The options of a test case.
#[derive(Clone, Debug)]
pub struct Case {
    pub ndim: usize,
    /// Additional cells of the grid along each axis; along the second axis in 3-D a third as many.
    pub more: usize,
    pub order: usize,
    pub sponge: bool,
    /// Thickness of the frame in cells.
    pub frame: usize,
    pub surface: bool,
    pub mechanisms: Option<Mechanisms>,
    pub fluid: bool,
    pub anisotropic: bool,
    pub quantity: Quantity,
    pub parameters: Parameters,
    pub jdata: usize,
    pub nt: usize,
    /// Offset of the sources and receivers from the nodes, in cells.
    pub off: f32,
    /// Depth of the sources in cells below the top nodes of the model.
    pub depth: f32,
}

/// A case with no options.
pub fn plain(ndim: usize) -> Case {
    Case {
        ndim,
        more: 0,
        order: 4,
        sponge: false,
        frame: 4,
        surface: false,
        mechanisms: None,
        fluid: false,
        anisotropic: false,
        quantity: Quantity::Velocity,
        parameters: Parameters::Speeds,
        jdata: 1,
        nt: if ndim == 3 { 24 } else { 60 },
        off: 0.3,
        depth: 4.0,
    }
}

impl Case {
    pub fn grid(&self) -> Grid {
        match self.ndim {
            3 => Grid::new_3d(
                [12 + self.more, 11 + self.more / 3, 10 + self.more],
                [0.0, 2.0, -1.0],
                [1.0, 1.1, 0.9],
            ),
            _ => Grid::new_2d([22, 26].map(|n| n + self.more), [0.0, 3.0], [1.0, 1.1]),
        }
    }

    /// A point at a distance in cells from the first node of the model.
    fn point(&self, cells: [f32; 3]) -> [f32; 3] {
        let grid = self.grid();
        [0, 1, 2].map(|a| grid.o[a] + cells[a] * grid.d[a])
    }

    pub fn class(&self) -> Symmetry {
        match self.anisotropic {
            true => Symmetry::Orthorhombic,
            false => Symmetry::Isotropic,
        }
    }

    pub fn shot(&self) -> Shot {
        let absorber = match self.sponge {
            true => Absorber::Sponge(0.9),
            false => match layer(3.2, 0.1) {
                Absorber::Cpml(mut layer) => {
                    layer.kappa_max = 1.5;
                    Absorber::Cpml(layer)
                }
                other => other,
            },
        };
        let mut frame = frame(self.frame, absorber);
        if self.surface {
            frame.cells[0][0] = 0;
        }
        let mut s = shot(0.12, self.nt, frame);
        (s.order, s.surface, s.quantity, s.jdata) = (self.order, self.surface, self.quantity, self.jdata);
        s.attenuation = self.mechanisms.map(|mechanisms| {
            let q = |from: f32| (0..self.grid().cells()).map(move |k| from + (k % 7) as f32);
            Attenuation {
                qp: q(60.0).collect(),
                qs: q(55.0).collect(),
                mechanisms,
                band: [0.02, 0.3],
                reference: 0.1,
            }
        });
        let pulse = |k: f64, it: usize| {
            let t = (it as f64 * 0.12 - 1.5) / (0.5 + 0.2 * k);
            ((1.0 - 2.0 * t * t) * (-t * t).exp()) as f32
        };
        s.series = (0..2)
            .map(|k| (0..self.nt).map(|it| pulse(f64::from(k), it)).collect())
            .collect();
        let middle = self.grid().n.map(|n| n as f32 / 2.0);
        let at = |across: f32| {
            self.point([
                self.depth + self.off,
                middle[1] + across + self.off,
                middle[2] - self.off,
            ])
        };
        let along = if self.ndim == 3 { 0.7 } else { 0.0 };
        s.sources = vec![
            Source {
                point: at(0.0),
                action: Action::Moment([1.0, along, 0.5, 0.3 * along, 0.4, 0.6 * along]),
                series: 0,
            },
            Source {
                point: at(1.0),
                action: Action::Force([0.5, along, 1.0]),
                series: 1,
            },
        ];
        let receiver = |k: usize| {
            self.point([
                self.off + 2.0 + k as f32,
                3.0 + 2.0 * k as f32 + self.off,
                middle[2] + 0.4,
            ])
        };
        s.receivers = (0..3).map(receiver).collect();
        s
    }

    /// The medium at a point.
    pub fn cell(&self, at: [f64; 3]) -> (Stiffness, f64) {
        let below = at[0] + 0.15 * at[1] + 0.1 * at[2] > 9.0;
        let (vp, vs, rho) = match below {
            true => (2.9 + 0.01 * at[0], 1.6 + 0.005 * at[1], 2.4),
            false => (2.4 + 0.01 * at[1], 1.3 - 0.005 * at[0], 2.0 + 0.01 * at[1]),
        };
        let (stiffness, rho) = isotropic(vp, if self.fluid && below { 0.0 } else { vs }, rho);
        if !self.anisotropic {
            return (stiffness, rho);
        }
        let tilted = Stiffness {
            c11: 1.1 * stiffness.c11,
            c22: 1.05 * stiffness.c22,
            ..stiffness
        };
        (tilted, rho)
    }

    /// Runs on one thread, because tests run in parallel.
    pub fn born<T: Number>(&self, shot: &Shot, raw: Medium<T>) -> Born<T> {
        self.born_with(shot, raw, 1)
    }

    pub fn born_with<T: Number>(&self, shot: &Shot, raw: Medium<T>, threads: usize) -> Born<T> {
        let cpu = Cpu::new(threads).expect("threads start");
        Born::new(shot, raw, (self.class(), self.parameters), cpu).expect("a valid shot")
    }

    pub fn medium<T: Real>(&self) -> Medium<T> {
        let padded = self.shot().frame.around(&self.grid());
        medium(&padded, |at| self.cell(at))
    }

    /// The operator of a rank that has the medium only on the planes that are needed for the `prepared` planes;
    /// elsewhere the medium is NaN.
    pub fn born_on(&self, shot: &Shot, prepared: &Range<usize>) -> Born<f32> {
        let padded = self.shot().frame.around(&self.grid());
        let (grid, known) = (&padded.model, needed(&padded, prepared));
        let axis = grid.ndim - 1;
        let raw = medium(&padded, |at| {
            // Coordinates are z, x, y.
            let plane = (at[axis] - f64::from(grid.o[axis])) / f64::from(grid.d[axis]);
            let (stiffness, density) = self.cell(at);
            match known.contains(&(plane.round() as usize)) {
                true => (stiffness, density),
                false => isotropic(f64::NAN, f64::NAN, f64::NAN),
            }
        });
        let (cpu, of) = (
            Cpu::new(1).expect("threads start"),
            (self.class(), self.parameters),
        );
        Born::on_planes(shot, raw, of, (cpu, prepared)).expect("a valid shot")
    }

    /// The medium plus `share` times a perturbation of its parameters.
    pub fn perturbed(&self, perturbation: &[f64], share: f64) -> Medium<f64> {
        let grid = self.grid();
        let padded = self.shot().frame.around(&grid);
        let cells = grid.cells();
        medium(&padded, |at| {
            // Coordinates are z, x, y; cells lie in file order.
            let index =
                [0, 1, 2].map(|a| ((at[a] - f64::from(grid.o[a])) / f64::from(grid.d[a])).round() as usize);
            let cell = (index[2] * grid.n[1] + index[1]) * grid.n[0] + index[0];
            let change = |k: usize| share * perturbation[k * cells + cell];
            let here = self.cell(at);
            match self.parameters {
                Parameters::Stiffness => self.stiffer(here, &change),
                _ => self.faster(here, &change),
            }
        })
    }

    fn stiffer(&self, (c, rho): (Stiffness, f64), change: &dyn Fn(usize) -> f64) -> (Stiffness, f64) {
        match self.ndim {
            3 => {
                let mut planes = c.planes();
                planes.iter_mut().enumerate().for_each(|(k, c)| *c += change(k));
                (Stiffness::from_planes(planes), rho + change(9))
            }
            _ => {
                let mut planes = c.planes_2d();
                planes.iter_mut().enumerate().for_each(|(k, c)| *c += change(k));
                (Stiffness::from_planes_2d(planes), rho + change(4))
            }
        }
    }

    fn faster(&self, (c, rho): (Stiffness, f64), change: &dyn Fn(usize) -> f64) -> (Stiffness, f64) {
        let (modulus, shear) = (c.c33, c.c55);
        let [one, other, density] = [change(0), change(1), rho + change(2)];
        let (vp, vs) = match self.parameters {
            Parameters::Speeds => ((modulus / rho).sqrt() + one, (shear / rho).sqrt() + other),
            Parameters::Impedances => {
                let (p, s) = ((modulus * rho).sqrt() + one, (shear * rho).sqrt() + other);
                (p / density, s / density)
            }
            _ => {
                // A fluid remains a fluid.
                let other = if shear > 0.0 { other } else { 0.0 };
                let (lambda, mu) = (modulus - 2.0 * shear + one, shear + other);
                (((lambda + 2.0 * mu) / density).sqrt(), (mu / density).sqrt())
            }
        };
        isotropic(vp, vs, density)
    }

    /// A random perturbation of the size of the parameters.
    pub fn perturbation<T: Number>(&self, born: &Born<T>, random: &mut Random) -> Vec<T> {
        let cells = self.grid().cells();
        let count = born.perturbation_len() / cells;
        let scale = |parameter: usize| match parameter + 1 == count {
            true => 0.2,
            false => 1.0,
        };
        let numbers = (0..born.perturbation_len()).map(|k| T::of(scale(k / cells) * (random.next() - 0.3)));
        numbers.collect()
    }
}

/// Random numbers from 0 to 1, the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A schedule of boundary saving with these numbers of segments and checkpoints.
pub fn with_segments(
    all: CheckpointSchedule,
    nt: usize,
    [segments, checkpoints]: [usize; 2],
) -> CheckpointSchedule {
    let segment = nt.div_ceil(segments);
    CheckpointSchedule {
        segment,
        segments,
        checkpoints,
        ..all
    }
    .with_boundary_saving()
}

/// The records of the background, and the changes due to a perturbation.
pub fn records<T: Number>(born: &Born<T>, perturbation: Option<&[T]>) -> [Vec<T>; 2] {
    let (mut background, mut change) = (Vec::new(), Vec::new());
    let mut take = |_: usize, one: &[T], other: &[T]| {
        background.extend_from_slice(one);
        change.extend_from_slice(other);
        Ok(())
    };
    born.forward(perturbation, &mut take).expect("the shot runs");
    let [background, change] = [kept(&background), kept(&change)];
    let count = born.records() * born.values();
    assert_eq!([background.len(), change.len()], [count; 2]);
    magnitude(background.iter().map(|x| x.f64()));
    [background, change]
}

pub fn dot<T: Number>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.f64() * b.f64()).sum()
}
