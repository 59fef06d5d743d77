//! The parameters with respect to which the program is linearised, cell by cell.
//!
//! With the modulus `M = rho vp^2`, `mu = rho vs^2` and the impedances `ip = rho vp`, `is = rho vs`:
//! `dM = 2 rho vp dvp + vp^2 drho = dlambda + 2 dmu = 2 vp dip - vp^2 drho`, and likewise for `mu`. A coupling of two
//! normal stresses is `M - 2 mu`. Fluid cells stay fluid: a perturbation of `mu` has no effect in them.

use super::Number;
use super::program::places;
use crate::medium::{Medium, lines_of_plane};
use crate::methods::velocity_stress::medium::{PLACES_2D, PLACES_3D};
use rayon::prelude::*;
use std::ops::Range;

/// The parameters of a perturbation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// P speed, S speed, density.
    Speeds,
    /// Lame's lambda and mu, density.
    Lame,
    /// Impedances of P and S waves, density.
    Impedances,
    /// Stiffnesses in the order of the planes of a model file (2-D c11 c33 c55 c13; 3-D c11 c22 c33 c44 c55 c66 c12 c13
    /// c23), then density.
    Stiffness,
}

pub struct Parametrisation {
    parameters: Parameters,
    ndim: usize,
    cells: usize,
    /// P speed, S speed and density of every cell of the model.
    medium: Vec<[f64; 3]>,
    /// The plane among the parameters of every place of a run.
    order: Vec<usize>,
}

impl Parametrisation {
    /// The parameters of a medium whose model is known on these planes. It runs on the thread pool in which it is
    /// called.
    pub fn new<T: Number>(raw: &Medium<T>, planes: &Range<usize>, parameters: Parameters) -> Self {
        let p = raw.padded();
        let ndim = p.ndim();
        let order: &[usize] = if ndim == 3 { &PLACES_3D } else { &PLACES_2D };
        let n = [p.model.n[0], lines_of_plane(p), p.model.n[ndim - 1]];
        let cells: usize = n.iter().product();
        let shear = places(ndim)[places(ndim).len() - 1];
        let of = |cell: usize| {
            let at = cell / n[0] * p.pitch() + p.low[0] + cell % n[0];
            let density = raw.density()[at].f64();
            let speed = |place: usize| (raw.stiffness_array(order[place])[at].f64() / density).sqrt();
            [speed(0), speed(shear), density]
        };
        let known = planes.start * n[0] * n[1]..planes.end * n[0] * n[1];
        let mut medium: Vec<[f64; 3]> = bytemuck::zeroed_vec(cells);
        let numbers = medium[known.clone()].par_iter_mut().enumerate();
        numbers.for_each(|(k, numbers)| *numbers = of(known.start + k));
        Self {
            parameters,
            ndim,
            cells,
            medium,
            // The planes of a file of an orthorhombic medium are in the order of memory.
            order: places(ndim).iter().map(|&place| order[place]).collect(),
        }
    }

    /// Number of parameters per cell of the model.
    pub fn count(&self) -> usize {
        match self.parameters {
            Parameters::Stiffness => places(self.ndim).len() + 1,
            _ => 3,
        }
    }

    /// Whether the parameters change all normal stiffnesses alike, and all couplings.
    pub fn isotropic(&self) -> bool {
        self.parameters != Parameters::Stiffness
    }

    /// The derivatives of `M` and `mu` with respect to the first two parameters and the density.
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

    /// The factors of `M` and `mu` in the stiffness of a place.
    fn shares(place: usize) -> [f64; 2] {
        match place {
            0..3 => [1.0, 0.0],
            3..6 => [1.0, -2.0],
            _ => [0.0, 1.0],
        }
    }

    /// The change of a stiffness of a cell by a perturbation `[parameter][cell]`.
    pub fn stiffness<T: Number>(&self, perturbation: &[T], place: usize, cell: usize) -> f64 {
        let given = |k: usize| perturbation[k * self.cells + cell].f64();
        if self.parameters == Parameters::Stiffness {
            return given(self.order[super::program::place(self.ndim, place)]);
        }
        let shares = Self::shares(place);
        let rows = self.derivatives(self.medium[cell]);
        let moduli = rows.map(|row| row[0] * given(0) + row[1] * given(1) + row[2] * given(2));
        shares[0] * moduli[0] + shares[1] * moduli[1]
    }

    /// The change of the density of a cell by a perturbation.
    pub fn density<T: Number>(&self, perturbation: &[T], cell: usize) -> f64 {
        perturbation[(self.count() - 1) * self.cells + cell].f64()
    }

    /// The transpose for the cells from `first` on: converts the sums by stiffness in the order of [`places`] and by
    /// density, `[place][cell]`, to sums by parameter, one slice each.
    pub fn transposed<T: Number>(&self, first: usize, sums: &[f64], to: &mut [&mut [T]]) {
        let places = places(self.ndim);
        let cells = sums.len() / (places.len() + 1);
        let (stiffness, density) = sums.split_at(places.len() * cells);
        if self.parameters == Parameters::Stiffness {
            let order = self.order.iter().copied().chain([places.len()]);
            for (parameter, sums) in order.zip(sums.chunks_exact(cells)) {
                for (to, &sum) in to[parameter].iter_mut().zip(sums) {
                    *to = T::of(sum);
                }
            }
            return;
        }
        for cell in 0..cells {
            let mut moduli = [0.0; 2];
            for (k, &place) in places.iter().enumerate() {
                let [normal, shear] = Self::shares(place);
                moduli[0] += normal * stiffness[k * cells + cell];
                moduli[1] += shear * stiffness[k * cells + cell];
            }
            let [of_normal, of_shear] = self.derivatives(self.medium[first + cell]);
            for (k, to) in to.iter_mut().enumerate() {
                let density = if k == 2 { density[cell] } else { 0.0 };
                to[cell] = T::of(density + of_normal[k] * moduli[0] + of_shear[k] * moduli[1]);
            }
        }
    }
}
