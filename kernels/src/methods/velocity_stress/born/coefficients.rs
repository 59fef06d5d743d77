//! From a change of the medium to that of the coefficients of the discrete program, and back by the transpose.
//!
//! A change of the medium has for every cell of the model the stiffnesses of [`places`] and the density, `[plane][cell]`, in
//! file order. The frame repeats the edge of the model. With attenuation the stiffness is split into the unrelaxed part and
//! what relaxes of it, both linear in it; densities are averaged arithmetically, `b = 2 dt / (rho_1 + rho_2)`, shears
//! harmonically, `c = 4 dt / sum 1/mu_i`. A shear with a fluid cell is zero, and stays so.

use super::Number;
use super::program::{Changes, Discrete, places};
use crate::Error;
use crate::medium::attenuation::{Law, Loss};
use crate::medium::{Medium, lines_of_plane};
use crate::methods::velocity_stress::Attenuation;
use crate::methods::velocity_stress::layout::velocity;
use crate::methods::velocity_stress::medium::{PLACES_2D, PLACES_3D};
use crate::methods::velocity_stress::rows::PAIR;
use rayon::prelude::*;
use std::collections::HashMap;

/// The medium about which is linearised, cell by cell in file order.
pub struct Background {
    /// By place: the stiffness of every cell of the model, unrelaxed.
    shears: Vec<Vec<f64>>,
    /// The same of what relaxes.
    weak_shears: Vec<Vec<f64>>,
    /// Shares of the stiffness that are unrelaxed and relax, of P and S waves; one for all cells without attenuation.
    losses: Option<Vec<[Loss; 2]>>,
    /// Cells of the model.
    pub cells: usize,
    /// Model cells along z, rows, planes.
    n: [usize; 3],
}

/// What a cell's loss makes of a stiffness: the unrelaxed part of P and S moduli, and what relaxes.
fn shares([p, s]: &[Loss; 2]) -> [[f64; 2]; 2] {
    [
        [p.unrelaxed, s.unrelaxed],
        [p.unrelaxed * p.phi, s.unrelaxed * s.phi],
    ]
}

/// The shear place that a coupling of two normal stresses contains, if the place is one.
fn shear_of(ndim: usize, place: usize) -> Option<usize> {
    match (ndim, place) {
        (_, 3..=5) => Some(place + 3),
        _ => None,
    }
}

impl Background {
    /// Reads the medium at every cell of its model.
    pub fn new<T: Number>(raw: &Medium<T>, losses: Option<&Attenuation>) -> Self {
        let p = raw.padded();
        let ndim = p.ndim();
        let n = [p.model.n[0], lines_of_plane(p), p.model.n[ndim - 1]];
        let cells = n.iter().product();
        let losses = losses.map(|losses| {
            let law = losses.law(ndim);
            let mut known = HashMap::new();
            let mut loss = |q: &[f32], cell: usize| {
                let q = if q.len() == 1 { q[0] } else { q[cell] };
                *known
                    .entry(q.to_bits())
                    .or_insert_with(|| Law::loss(&law, f64::from(q)))
            };
            let both = |cell| [loss(&losses.qp, cell), loss(&losses.qs, cell)];
            (0..cells).map(both).collect::<Vec<_>>()
        });
        let order: &[usize] = if ndim == 3 { &PLACES_3D } else { &PLACES_2D };
        let shear = |place: usize, part: usize| -> Vec<f64> {
            let from = raw.stiffness_array(order[place]);
            let of = |cell: usize| {
                let (z, line) = (cell % n[0], cell / n[0]);
                let c = from[line * p.pitch() + p.low[0] + z].f64();
                c * losses.as_ref().map_or(1.0, |all| shares(&all[cell])[part][1])
            };
            (0..cells).map(of).collect()
        };
        let all = |part: usize| {
            let shears = places(ndim).iter().filter(|&&place| place >= 6);
            shears.map(|&place| shear(place, part)).collect::<Vec<_>>()
        };
        Self {
            shears: all(0),
            weak_shears: if losses.is_some() { all(1) } else { Vec::new() },
            losses,
            cells,
            n,
        }
    }

    /// A change of the stiffness planes split by attenuation: part 0 is the unrelaxed one, part 1 what relaxes. Normal
    /// stiffnesses relax like P waves, shears like S waves, of a coupling `(c + 2 mu) - 2 mu` each like its own.
    fn split<T: Number>(&self, ndim: usize, part: usize, change: &[T]) -> Vec<T> {
        let mut made = change[..places(ndim).len() * self.cells].to_vec();
        if self.losses.is_none() {
            return made;
        }
        self.each_plane(ndim, part, |plane, shear, cell, [p, s]| {
            let at = plane * self.cells + cell;
            let own = change[at].f64();
            made[at] = T::of(match shear {
                Some(shear) => p * own + 2.0 * (p - s) * change[shear * self.cells + cell].f64(),
                None if places(ndim)[plane] >= 6 => s * own,
                None => p * own,
            });
        });
        made
    }

    /// The transpose of [`Background::split`], added to `to`.
    fn join<T: Number>(&self, ndim: usize, part: usize, split: &[T], to: &mut [T]) {
        if self.losses.is_none() {
            let pairs = to.par_iter_mut().zip(split);
            return pairs.for_each(|(to, split)| *to += *split);
        }
        self.each_plane(ndim, part, |plane, shear, cell, [p, s]| {
            let at = plane * self.cells + cell;
            let own = split[at].f64();
            match shear {
                Some(shear) => {
                    to[at] += T::of(p * own);
                    to[shear * self.cells + cell] += T::of(2.0 * (p - s) * own);
                }
                None if places(ndim)[plane] >= 6 => to[at] += T::of(s * own),
                None => to[at] += T::of(p * own),
            }
        });
    }

    /// Visits every plane and cell with the shares of P and S moduli; couplings with the plane of their shear.
    fn each_plane(
        &self,
        ndim: usize,
        part: usize,
        mut visit: impl FnMut(usize, Option<usize>, usize, [f64; 2]),
    ) {
        let all = places(ndim);
        for (plane, &place) in all.iter().enumerate() {
            let shear = shear_of(ndim, place).and_then(|shear| all.iter().position(|&p| p == shear));
            for cell in 0..self.cells {
                let losses = self.losses.as_ref().map(|losses| shares(&losses[cell])[part]);
                visit(plane, shear, cell, losses.unwrap_or([1.0, 1.0]));
            }
        }
    }
}

/// Where the coefficients of a padded cell come from: cells of the model.
struct Corners<'a, T> {
    program: &'a Discrete<T>,
    n: [usize; 3],
}

impl<T: Number> Corners<'_, T> {
    /// The model cell of the padded cell that lies `beyond` a cell along z, row, plane.
    fn cell(&self, [z, row, plane]: [usize; 3], beyond: [usize; 3]) -> usize {
        let p = &self.program.rows.padded;
        let deep = (z + beyond[0]).saturating_sub(p.low[0]).min(p.model.n[0] - 1);
        let row = p.model_row((row + beyond[1]).min(p.rows() - 1));
        let plane = p.model_plane((plane + beyond[2]).min(p.planes() - 1));
        (plane * self.n[1] + row) * self.n[0] + deep
    }

    /// Calls `visit(place in a field, [z, row, plane])` for every cell that is computed.
    fn each(&self, mut visit: impl FnMut(usize, [usize; 3])) {
        let rows = &self.program.rows;
        for plane in rows.planes.clone() {
            for row in rows.rows.clone() {
                for z in rows.z.clone() {
                    visit(rows.at(plane, row) + z, [z, row, plane]);
                }
            }
        }
    }
}

/// One step along an axis.
fn one(axis: usize) -> [usize; 3] {
    [0, 1, 2].map(|a| usize::from(a == axis))
}

/// The axes of a shear's place.
fn axes_of(place: usize) -> [usize; 2] {
    [[0, 1], [0, 2], [1, 2]][place - 6]
}

impl<T: Number> Discrete<T> {
    fn corners(&self, medium: &Background) -> Corners<'_, T> {
        Corners {
            program: self,
            n: medium.n,
        }
    }

    /// The derivative of every shear by those of its four cells, `c^2 / (4 dt mu_i^2)`, and the cells.
    fn harmonic(
        &self,
        (place, shears, c): (usize, &[f64], &[T]),
        corners: &Corners<'_, T>,
        mut visit: impl FnMut(usize, usize, f64),
    ) {
        let [a, b] = axes_of(place);
        let both = [0, 1, 2].map(|k| one(a)[k] + one(b)[k]);
        corners.each(|at, cell| {
            let mean = c[at].f64();
            if mean > 0.0 {
                for beyond in [[0; 3], one(a), one(b), both] {
                    let corner = corners.cell(cell, beyond);
                    let share = mean / shears[corner];
                    visit(at, corner, share * share / (4.0 * self.setup.dt));
                }
            }
        });
    }

    /// The changes of all coefficients.
    ///
    /// # Errors
    /// Too little memory.
    pub fn changed(&self, medium: &Background, change: &[T]) -> Result<Changes<T>, Error> {
        let (ndim, len, cells) = (self.ndim(), self.rows.len, medium.cells);
        let (mut made, corners, planes) = (self.changes()?, self.corners(medium), places(ndim).len());
        let parts = [&mut made.stiffness, &mut made.relaxing];
        for (part, to) in parts.into_iter().enumerate().filter(|(_, to)| !to.is_empty()) {
            let split = medium.split(ndim, part, change);
            for (k, &place) in places(ndim).iter().enumerate() {
                let (from, to) = (&split[k * cells..][..cells], &mut to[k * len..][..len]);
                match place {
                    0..6 => corners.each(|at, cell| {
                        to[at] = T::of(self.setup.dt * from[corners.cell(cell, [0; 3])].f64());
                    }),
                    _ => {
                        let of = (
                            place,
                            medium.shears_of(ndim, part, place),
                            self.stiffness_of(part, place),
                        );
                        let add = |at: usize, cell: usize, by: f64| to[at] += T::of(by * from[cell].f64());
                        self.harmonic(of, &corners, add);
                    }
                }
            }
        }
        let density = &change[planes * cells..];
        for &axis in self.rows.axes() {
            let component = velocity(ndim, axis);
            let (b, to) = (
                self.setup.medium.buoyancy(component),
                &mut made.buoyancy[component * len..][..len],
            );
            corners.each(|at, cell| {
                let sum =
                    density[corners.cell(cell, [0; 3])].f64() + density[corners.cell(cell, one(axis))].f64();
                to[at] = T::of(-b[at].f64().powi(2) / (2.0 * self.setup.dt) * sum);
            });
        }
        self.change_ratios(&mut made);
        Ok(made)
    }

    /// The transpose of [`Discrete::changed`].
    pub fn changed_transposed(&self, medium: &Background, mut waits: Changes<T>) -> Vec<T> {
        let (ndim, len, cells) = (self.ndim(), self.rows.len, medium.cells);
        let (corners, planes) = (self.corners(medium), places(ndim).len());
        self.change_ratios_transposed(&mut waits);
        let mut made = vec![T::of(0.0); (planes + 1) * cells];
        for (part, from) in [&waits.stiffness, &waits.relaxing].into_iter().enumerate() {
            if from.is_empty() {
                continue;
            }
            let mut split = vec![0.0f64; planes * cells];
            let transposed = |(k, to): (usize, &mut [f64])| {
                let (from, place) = (&from[k * len..][..len], places(ndim)[k]);
                match place {
                    0..6 => corners.each(|at, cell| {
                        to[corners.cell(cell, [0; 3])] += self.setup.dt * from[at].f64();
                    }),
                    _ => {
                        let of = (
                            place,
                            medium.shears_of(ndim, part, place),
                            self.stiffness_of(part, place),
                        );
                        self.harmonic(of, &corners, |at, cell, by| to[cell] += by * from[at].f64());
                    }
                }
            };
            self.setup
                .cpu
                .install(|| split.par_chunks_mut(cells).enumerate().for_each(transposed));
            self.setup.cpu.install(|| {
                let split: Vec<T> = split.into_par_iter().map(T::of).collect();
                medium.join(ndim, part, &split, &mut made);
            });
        }
        let mut density = vec![0.0f64; ndim * cells];
        let along = |(component, density): (usize, &mut [f64])| {
            let axis = self.rows.axes()[component];
            let (b, from) = (
                self.setup.medium.buoyancy(component),
                &waits.buoyancy[component * len..][..len],
            );
            corners.each(|at, cell| {
                let share = -b[at].f64().powi(2) / (2.0 * self.setup.dt) * from[at].f64();
                density[corners.cell(cell, [0; 3])] += share;
                density[corners.cell(cell, one(axis))] += share;
            });
        };
        self.setup
            .cpu
            .install(|| density.par_chunks_mut(cells).enumerate().for_each(along));
        for (cell, to) in made[planes * cells..].iter_mut().enumerate() {
            let sums = (0..ndim).map(|component| density[component * cells + cell]);
            *to = T::of(sums.sum::<f64>());
        }
        made
    }

    fn stiffness_of(&self, part: usize, place: usize) -> &[T] {
        match (&self.setup.relaxation, part) {
            (Some(relaxing), 1) => relaxing.stiffness(place),
            _ => self.setup.medium.stiffness(place),
        }
    }

    /// Nodes of the surface by horizontal axis: their places in the ratios and in a field, with the planes of the coupling
    /// and of `c_zz`, and `c_zz`.
    fn each_ratio(&self, mut visit: impl FnMut(usize, [usize; 2], T)) {
        let (rows, ndim) = (&self.rows, self.ndim());
        for (k, &axis) in rows.horizontal().iter().enumerate().take(self.ratios.len()) {
            let coupling = super::program::place(ndim, PAIR[0][axis]) * rows.len;
            for plane in rows.planes.clone() {
                for row in rows.rows.clone() {
                    let at = rows.at(plane, row) + rows.padded.low[0];
                    let number = k * rows.count() + rows.number(plane, row);
                    visit(number, [coupling + at, at], self.setup.medium.stiffness(0)[at]);
                }
            }
        }
    }

    /// `dq = (dc_za - q dc_zz) / c_zz`.
    fn change_ratios(&self, changes: &mut Changes<T>) {
        let ratios = self.ratios.concat();
        self.each_ratio(|number, [coupling, normal], c| {
            let change = changes.stiffness[coupling] - ratios[number] * changes.stiffness[normal];
            changes.ratios[number] = change / c;
        });
    }

    fn change_ratios_transposed(&self, waits: &mut Changes<T>) {
        let ratios = self.ratios.concat();
        self.each_ratio(|number, [coupling, normal], c| {
            let share = waits.ratios[number] / c;
            waits.stiffness[coupling] += share;
            let normal = &mut waits.stiffness[normal];
            *normal = *normal - ratios[number] * share;
        });
    }
}

impl Background {
    fn shears_of(&self, ndim: usize, part: usize, place: usize) -> &[f64] {
        let number = if ndim == 3 { place - 6 } else { 0 };
        match part {
            0 => &self.shears[number],
            _ => &self.weak_shears[number],
        }
    }
}
