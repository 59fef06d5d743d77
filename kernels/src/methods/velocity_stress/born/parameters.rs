//! The parameters by which is linearised, cell by cell.
//!
//! With the modulus `M = rho vp^2`, `mu = rho vs^2` and the impedances `ip = rho vp`, `is = rho vs`:
//! `dM = 2 rho vp dvp + vp^2 drho = dlambda + 2 dmu = 2 vp dip - vp^2 drho`, and `mu` alike. A coupling of two normal stresses is
//! `M - 2 mu`. A fluid stays a fluid: in its cells a change of `mu` does nothing.

use super::Number;
use super::program::places;
use crate::medium::{Medium, lines_of_plane};
use crate::methods::velocity_stress::medium::{PLACES_2D, PLACES_3D};
use rayon::prelude::*;

/// What a perturbation is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// P speed, S speed, density.
    Speeds,
    /// Lame's lambda and mu, density.
    Lame,
    /// Impedances of P and S waves, density.
    Impedances,
    /// Stiffnesses in the order of the planes of a model file (2-D c11 c33 c55 c13; 3-D c11 c22 c33 c44 c55 c66 c12 c13 c23), then
    /// density.
    Stiffness,
}

/// Parameters of a medium.
pub struct Parametrisation {
    parameters: Parameters,
    ndim: usize,
    cells: usize,
    /// P speed, S speed and density of every cell of the model.
    medium: Vec<[f64; 3]>,
    /// For every place of a run its plane among the parameters.
    order: Vec<usize>,
}

impl Parametrisation {
    /// For a medium.
    pub fn new<T: Number>(raw: &Medium<T>, parameters: Parameters) -> Self {
        let p = raw.padded();
        let ndim = p.ndim();
        let order: &[usize] = if ndim == 3 { &PLACES_3D } else { &PLACES_2D };
        let n = [p.model.n[0], lines_of_plane(p), p.model.n[ndim - 1]];
        let cells = n.iter().product();
        let shear = places(ndim)[places(ndim).len() - 1];
        let of = |cell: usize| {
            let at = cell / n[0] * p.pitch() + p.low[0] + cell % n[0];
            let density = raw.density()[at].f64();
            let speed = |place: usize| (raw.stiffness_array(order[place])[at].f64() / density).sqrt();
            [speed(0), speed(shear), density]
        };
        Self {
            parameters,
            ndim,
            cells,
            medium: (0..cells).map(of).collect(),
            // A file of an orthorhombic medium has its planes in the order of memory.
            order: places(ndim).iter().map(|&place| order[place]).collect(),
        }
    }

    /// Numbers of a perturbation for each cell of the model.
    pub fn count(&self) -> usize {
        match self.parameters {
            Parameters::Stiffness => places(self.ndim).len() + 1,
            _ => 3,
        }
    }

    /// Whether they change all normal stiffnesses alike, and all couplings.
    pub fn isotropic(&self) -> bool {
        self.parameters != Parameters::Stiffness
    }

    /// `dM` and `dmu` by the first two parameters and the density.
    fn derivatives(&self, [p, s, density]: [f64; 3]) -> [[f64; 3]; 2] {
        match self.parameters {
            Parameters::Speeds => [[2.0 * density * p, 0.0, p * p], [0.0, 2.0 * density * s, s * s]],
            Parameters::Impedances => [[2.0 * p, 0.0, -p * p], [0.0, 2.0 * s, -s * s]],
            _ => {
                let solid = f64::from(u8::from(s > 0.0));
                [[1.0, 2.0 * solid, 0.0], [0.0, solid, 0.0]]
            }
        }
    }

    /// What `M` and `mu` are in the stiffness of a place.
    fn shares(place: usize) -> [f64; 2] {
        match place {
            0..3 => [1.0, 0.0],
            3..6 => [1.0, -2.0],
            _ => [0.0, 1.0],
        }
    }

    /// A perturbation `[parameter][cell]` as a change of stiffnesses and density, in the order of [`places`].
    pub fn change<T: Number>(&self, perturbation: &[T]) -> Vec<T> {
        let (cells, planes) = (self.cells, places(self.ndim).len());
        let mut made = vec![T::of(0.0); (planes + 1) * cells];
        if self.parameters == Parameters::Stiffness {
            for (k, &from) in self.order.iter().chain([&planes]).enumerate() {
                made[k * cells..][..cells].copy_from_slice(&perturbation[from * cells..][..cells]);
            }
            return made;
        }
        for (cell, &medium) in self.medium.iter().enumerate() {
            let given = [0, 1, 2].map(|k| perturbation[k * cells + cell].f64());
            let moduli = self
                .derivatives(medium)
                .map(|row| row.iter().zip(given).map(|(d, x)| d * x).sum::<f64>());
            for (k, &place) in places(self.ndim).iter().enumerate() {
                let [normal, shear] = Self::shares(place);
                made[k * cells + cell] = T::of(normal * moduli[0] + shear * moduli[1]);
            }
            made[planes * cells + cell] = T::of(given[2]);
        }
        made
    }

    /// The transpose of [`Parametrisation::change`], on the threads of the pool that it is called in.
    pub fn change_transposed<T: Number>(&self, waits: &[T]) -> Vec<T> {
        let (cells, planes) = (self.cells, places(self.ndim).len());
        let mut made = vec![T::of(0.0); self.count() * cells];
        if self.parameters == Parameters::Stiffness {
            for (k, &to) in self.order.iter().chain([&planes]).enumerate() {
                made[to * cells..][..cells].copy_from_slice(&waits[k * cells..][..cells]);
            }
            return made;
        }
        let sum = |k: usize, cell: usize| {
            let mut moduli = [0.0; 2];
            for (place_number, &place) in places(self.ndim).iter().enumerate() {
                let share = Self::shares(place);
                let waits = waits[place_number * cells + cell].f64();
                (0..2).for_each(|m| moduli[m] += share[m] * waits);
            }
            let rows = self.derivatives(self.medium[cell]);
            let density = if k == 2 {
                waits[planes * cells + cell].f64()
            } else {
                0.0
            };
            rows.iter()
                .zip(moduli)
                .fold(density, |sum, (row, modulus)| sum + row[k] * modulus)
        };
        let parameter = |(k, to): (usize, &mut [T])| {
            let cells = to.par_iter_mut().enumerate();
            cells.for_each(|(cell, to)| *to = T::of(sum(k, cell)));
        };
        made.par_chunks_mut(cells).enumerate().for_each(parameter);
        made
    }
}
