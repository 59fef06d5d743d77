//! The medium on its nodes, from which accelerators compute the means that processors hold as arrays.

use super::Number;
use super::grid::Rows;
use crate::device::cpu::{Buffer, Cpu};
use crate::medium::{Medium, Symmetry, lines_of_plane};
use crate::methods::velocity_stress::medium::{PLACES_2D, PLACES_3D};
use rayon::prelude::*;
use std::ops::Range;

/// Values on the lines of the model, `[plane][row][padded z]`; the frame repeats its edge.
pub struct Nodes<T> {
    density: Buffer<T>,
    /// Shear stiffnesses of an isotropic medium: the unrelaxed one, then the relaxing one.
    shears: Vec<Buffer<T>>,
}

impl<T: Number> Nodes<T> {
    /// Takes the density of an unrelaxed medium and, if it is isotropic, its shear stiffnesses and those of its
    /// relaxing part.
    pub fn new(raw: Medium<T>, weak: Option<Medium<T>>, class: Symmetry) -> Self {
        let shear = match raw.padded().ndim() {
            3 => PLACES_3D[6],
            _ => PLACES_2D[6],
        };
        let [density, unrelaxed] = raw.into_density_and(shear);
        let mut shears = Vec::new();
        if class == Symmetry::Isotropic {
            let relaxing = weak.map(|weak| weak.into_density_and(shear));
            shears.extend([unrelaxed].into_iter().chain(relaxing.map(|[_, shear]| shear)));
        }
        Self { density, shears }
    }

    /// Whether the medium is isotropic, so that shear stiffnesses are stored on its nodes.
    pub fn isotropic(&self) -> bool {
        !self.shears.is_empty()
    }

    /// `rho / (2 dt)` at every cell of some planes of the grid: the inverse of the sum at two nodes is `dt/rho`
    /// between them.
    pub fn density(&self, on: (&Rows<T>, &Cpu), planes: &Range<usize>, dt: f64) -> Vec<T> {
        spread(&self.density, on, planes, |rho| rho / (2.0 * dt))
    }

    /// `1 / (4 dt mu)` at every cell of some planes of the grid, of the unrelaxed medium (part 0) or of the relaxing
    /// part (1): the inverse of the sum at four nodes is `dt mu` between them. It is infinite in a fluid.
    pub fn shear(&self, part: usize, on: (&Rows<T>, &Cpu), planes: &Range<usize>, dt: f64) -> Vec<T> {
        spread(&self.shears[part], on, planes, |mu| 1.0 / (4.0 * dt * mu))
    }
}

/// Applies `form` to the values of the model and spreads them over every row of some planes of the grid.
fn spread<T: Number>(
    from: &[T],
    (rows, cpu): (&Rows<T>, &Cpu),
    planes: &Range<usize>,
    form: impl Fn(f64) -> f64 + Sync,
) -> Vec<T> {
    let p = &rows.padded;
    let mut coefficients = vec![T::of(0.0); planes.len() * p.plane_len()];
    let row = |(number, to): (usize, &mut [T])| {
        let (plane, row) = (planes.start + number / p.rows(), number % p.rows());
        let line = p.model_plane(plane) * lines_of_plane(p) + p.model_row(row);
        for (to, from) in to.iter_mut().zip(&from[line * p.pitch()..]) {
            *to = T::of(form(from.f64()));
        }
    };
    cpu.install(|| {
        coefficients
            .par_chunks_mut(p.pitch())
            .enumerate()
            .with_min_len(16)
            .for_each(row);
    });
    coefficients
}
