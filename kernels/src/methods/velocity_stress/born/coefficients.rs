//! Maps a perturbation of the medium to a perturbation of the coefficients of the discretised equations, and back by
//! the transpose.
//!
//! A perturbation of the medium has for every cell of the model the stiffnesses of [`places`] and the density,
//! `[plane][cell]`, in file order. The frame repeats the edge of the model. With attenuation the stiffness is split
//! into the unrelaxed and the relaxing part, both linear in it; densities are averaged arithmetically, `b = 2 dt /
//! (rho_1 + rho_2)`, shear stiffnesses harmonically, `c = 4 dt / sum 1/mu_i`. A shear stiffness next to a fluid cell
//! is zero and stays zero.

use super::Number;
use super::parameters::Parametrisation;
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
use std::ops::Range;

/// The medium about which the program is linearised, cell by cell in file order.
pub struct Background {
    /// The unrelaxed shear stiffnesses of every cell of the model, by place.
    shears: Vec<Vec<f64>>,
    /// The relaxing shear stiffnesses of every cell, by place.
    weak_shears: Vec<Vec<f64>>,
    /// The losses of P and S waves of every cell, or a single entry for all; `None` without attenuation.
    losses: Option<Vec<[Loss; 2]>>,
    pub cells: usize,
    /// Model cells along z, rows, planes.
    n: [usize; 3],
}

/// The factors by which a cell's loss multiplies the unrelaxed and the relaxing part of a stiffness, for the P modulus
/// and for the S modulus.
fn shares([p, s]: &[Loss; 2]) -> [[f64; 2]; 2] {
    [
        [p.unrelaxed, s.unrelaxed],
        [p.unrelaxed * p.phi, s.unrelaxed * s.phi],
    ]
}

/// The losses of P and S waves of a cell, from one entry per cell or a single one for all.
fn of_cell(losses: &[[Loss; 2]], cell: usize) -> &[Loss; 2] {
    &losses[if losses.len() == 1 { 0 } else { cell }]
}

/// Number of cells in a piece of work of a thread.
const LOOKED_UP: usize = 1 << 16;

/// The losses of P and S waves for the cells `known` of `cells` cells, or a single entry if the quality factors are
/// uniform.
fn of_cells(losses: &Attenuation, ndim: usize, (cells, known): (usize, &Range<usize>)) -> Vec<[Loss; 2]> {
    let law = losses.law(ndim);
    let uniform = losses.qp.len() == 1 && losses.qs.len() == 1;
    let (cells, known) = if uniform {
        (1, 0..1)
    } else {
        (cells, known.clone())
    };
    let mut all: Vec<[Loss; 2]> = bytemuck::zeroed_vec(cells);
    let pieces = all[known.clone()].par_chunks_mut(LOOKED_UP).enumerate();
    pieces.for_each(|(piece, all)| {
        let mut by_quality = HashMap::new();
        let mut loss = |q: &[f32], cell: usize| {
            let q = if q.len() == 1 { q[0] } else { q[cell] };
            *by_quality
                .entry(q.to_bits())
                .or_insert_with(|| Law::loss(&law, f64::from(q)))
        };
        for (k, both) in all.iter_mut().enumerate() {
            let cell = known.start + piece * LOOKED_UP + k;
            *both = [loss(&losses.qp, cell), loss(&losses.qs, cell)];
        }
    });
    all
}

/// The shear stiffness contained in a coupling of two normal stresses, if the place is a coupling.
fn shear_of(place: usize) -> Option<usize> {
    matches!(place, 3..=5).then_some(place + 3)
}

impl Background {
    /// Reads the medium at every cell of these planes of its model; other cells remain unknown. It runs on the thread
    /// pool in which it is called.
    pub fn new<T: Number>(raw: &Medium<T>, planes: &Range<usize>, losses: Option<&Attenuation>) -> Self {
        let p = raw.padded();
        let ndim = p.ndim();
        let n = [p.model.n[0], lines_of_plane(p), p.model.n[ndim - 1]];
        let cells: usize = n.iter().product();
        let known = planes.start * n[0] * n[1]..planes.end * n[0] * n[1];
        let losses = losses.map(|losses| of_cells(losses, ndim, (cells, &known)));
        let order: &[usize] = if ndim == 3 { &PLACES_3D } else { &PLACES_2D };
        let shear = |place: usize, part: usize| -> Vec<f64> {
            let from = raw.stiffness_array(order[place]);
            let of = |cell: usize| {
                let (z, line) = (cell % n[0], cell / n[0]);
                let c = from[line * p.pitch() + p.low[0] + z].f64();
                c * losses
                    .as_ref()
                    .map_or(1.0, |all| shares(of_cell(all, cell))[part][1])
            };
            let mut all: Vec<f64> = bytemuck::zeroed_vec(cells);
            let numbers = all[known.clone()].par_iter_mut().enumerate();
            numbers.for_each(|(k, number)| *number = of(known.start + k));
            all
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

    /// The part of a stiffness perturbation of a cell after the split by attenuation: part 0 is unrelaxed, part 1
    /// relaxing. Normal stiffnesses relax like P waves and shear stiffnesses like S waves; a coupling `(c + 2 mu) - 2
    /// mu` has a part of each kind. `change(place)` is the perturbation of a stiffness.
    fn split(&self, part: usize, place: usize, cell: usize, change: impl Fn(usize) -> f64) -> f64 {
        let Some(losses) = &self.losses else {
            return change(place);
        };
        let [p, s] = shares(of_cell(losses, cell))[part];
        match shear_of(place) {
            Some(shear) => p * change(place) + 2.0 * (p - s) * change(shear),
            None if place >= 6 => s * change(place),
            None => p * change(place),
        }
    }

    /// The transpose of [`Background::split`] for the cells from `first` on: adds the sums `split` of each place
    /// (`[place][cell]`) to `to`.
    fn join(&self, ndim: usize, part: usize, first: usize, (split, to): (&[f64], &mut [f64])) {
        let all = places(ndim);
        let cells = split.len() / all.len();
        let Some(losses) = &self.losses else {
            return to.iter_mut().zip(split).for_each(|(to, split)| *to += split);
        };
        for (k, &place) in all.iter().enumerate() {
            let shear = shear_of(place).map(|shear| super::program::place(ndim, shear) * cells);
            for cell in 0..cells {
                let [p, s] = shares(of_cell(losses, first + cell))[part];
                let own = split[k * cells + cell];
                if let Some(shear) = shear {
                    to[shear + cell] += 2.0 * (p - s) * own;
                }
                to[k * cells + cell] += if place >= 6 { s * own } else { p * own };
            }
        }
    }
}

/// Maps the cells of the padded grid to the cells of the model that their coefficients depend on.
struct Corners<'a, T> {
    program: &'a Discrete<T>,
    n: [usize; 3],
}

impl<T: Number> Corners<'_, T> {
    /// The model cell of the padded cell `beyond` steps from a cell along z, row, plane.
    fn cell(&self, [z, row, plane]: [usize; 3], beyond: [usize; 3]) -> usize {
        let p = &self.program.rows.padded;
        let deep = (z + beyond[0]).saturating_sub(p.low[0]).min(p.model.n[0] - 1);
        let row = p.model_row((row + beyond[1]).min(p.rows() - 1));
        let plane = p.model_plane((plane + beyond[2]).min(p.planes() - 1));
        (plane * self.n[1] + row) * self.n[0] + deep
    }

    /// Sets a field at all computed cells to `value(index in a field, [z, row, plane])`.
    fn fill(&self, to: &mut [T], value: impl Fn(usize, [usize; 3]) -> f64 + Sync) {
        let (rows, known) = (&self.program.rows, self.program.known());
        let of_plane = |(plane, to): (usize, &mut [T])| {
            for row in rows.rows.clone() {
                let (first, at) = (rows.at(0, row), rows.at(plane, row));
                for z in rows.z.clone() {
                    to[first + z] = T::of(value(at + z, [z, row, plane]));
                }
            }
        };
        let a_plane = rows.padded.plane_len();
        let planes = to.par_chunks_mut(a_plane).enumerate();
        planes
            .filter(|(plane, _)| known.contains(plane))
            .for_each(of_plane);
    }

    /// The transpose of the mapping to cells `beyond` steps away: adds `value(index in a field, cell of the model)`
    /// of all grid cells that map to a plane of the model to its cells, `[row][z]`.
    fn gather(&self, plane: usize, beyond: [usize; 3], to: &mut [f64], value: impl Fn(usize, usize) -> f64) {
        let (rows, p, [nz, lines, _]) = (&self.program.rows, &self.program.rows.padded, self.n);
        // The bounds of the model along z; cells before and after them repeat its edges.
        let first = p.low[0].saturating_sub(beyond[0]).clamp(rows.z.start, rows.z.end);
        let last = (p.low[0] + nz - beyond[0]).clamp(first, rows.z.end);
        let there = |grid: &usize| p.model_plane((grid + beyond[2]).min(p.planes() - 1)) == plane;
        for grid in rows.planes.clone().filter(there) {
            for row in rows.rows.clone() {
                let line = p.model_row((row + beyond[1]).min(p.rows() - 1));
                let (at, cell) = (rows.at(grid, row), (plane * lines + line) * nz);
                let to = &mut to[line * nz..][..nz];
                for z in rows.z.start..first {
                    to[0] += value(at + z, cell);
                }
                let begin = (first + beyond[0]).saturating_sub(p.low[0]);
                for (k, to) in to[begin..].iter_mut().take(last - first).enumerate() {
                    *to += value(at + first + k, cell + begin + k);
                }
                for z in last..rows.z.end {
                    to[nz - 1] += value(at + z, cell + nz - 1);
                }
            }
        }
    }
}

/// The offset of the next cell along an axis.
fn one(axis: usize) -> [usize; 3] {
    [0, 1, 2].map(|a| usize::from(a == axis))
}

/// The offsets of the four cells around a shear stress.
fn corners_of(place: usize) -> [[usize; 3]; 4] {
    let [a, b] = [[0, 1], [0, 2], [1, 2]][place - 6];
    [[0; 3], one(a), one(b), [0, 1, 2].map(|k| one(a)[k] + one(b)[k])]
}

/// The derivative of a shear stiffness with respect to the shear stiffness of one of its four cells, `c^2 / (4 dt
/// mu_i^2)`; zero if one of them is fluid.
fn by_corner(c: f64, shear: f64, dt: f64) -> f64 {
    if c > 0.0 {
        let share = c / shear;
        share * share / (4.0 * dt)
    } else {
        0.0
    }
}

/// The sums for the gradient with respect to the parameters on a plane of the model, `[place, then density][cell]`.
struct PlaneSums {
    all: Vec<f64>,
    /// The sums of one part of the stiffness.
    part: Vec<f64>,
}

impl<T: Number> Discrete<T> {
    fn corners(&self, medium: &Background) -> Corners<'_, T> {
        Corners {
            program: self,
            n: medium.n,
        }
    }

    /// The perturbation of all coefficients by a perturbation `[parameter][cell]`. It runs on the thread pool in
    /// which it is called.
    ///
    /// # Errors
    /// Returns an error if memory is insufficient.
    pub fn changed(
        &self,
        medium: &Background,
        (parameters, perturbation): (&Parametrisation, &[T]),
    ) -> Result<Changes<T>, Error> {
        let (ndim, len, dt) = (self.ndim(), self.rows.len, self.setup.dt);
        let (mut changes, corners) = (self.changes()?, self.corners(medium));
        let parts = [&mut changes.stiffness, &mut changes.relaxing];
        for (part, to) in parts.into_iter().enumerate().filter(|(_, to)| !to.is_empty()) {
            let split = |place: usize, cell: usize| {
                let change = |place: usize| parameters.stiffness(perturbation, place, cell);
                medium.split(part, place, cell, change)
            };
            for (to, &place) in to.chunks_exact_mut(len).zip(places(ndim)) {
                if place < 6 {
                    corners.fill(to, |_, cell| dt * split(place, corners.cell(cell, [0; 3])));
                    continue;
                }
                let shears = medium.shears_of(ndim, part, place);
                let c = self.stiffness_of(part, place);
                corners.fill(to, |at, cell| {
                    let of = |beyond: [usize; 3]| {
                        let corner = corners.cell(cell, beyond);
                        by_corner(c[at].f64(), shears[corner], dt) * split(place, corner)
                    };
                    corners_of(place).map(of).iter().sum()
                });
            }
        }
        for &axis in self.rows.axes() {
            let component = velocity(ndim, axis);
            let b = self.setup.medium.buoyancy(component);
            let density = |cell: usize| parameters.density(perturbation, cell);
            corners.fill(&mut changes.buoyancy[component * len..][..len], |at, cell| {
                let sum = density(corners.cell(cell, [0; 3])) + density(corners.cell(cell, one(axis)));
                -b[at].f64().powi(2) / (2.0 * dt) * sum
            });
        }
        self.change_ratios(&mut changes);
        Ok(changes)
    }

    /// The transpose of [`Discrete::changed`]: maps sums by coefficient to sums by parameter, `[parameter][cell]`. The
    /// planes of the model are distributed over the thread pool in which it is called; each is summed in the order of
    /// the grid. The sums of the surface are zero on return, so that the same memory can receive the sums of the next
    /// shot.
    pub fn changed_transposed(
        &self,
        medium: &Background,
        parameters: &Parametrisation,
        sums: &mut Changes<T>,
    ) -> Vec<T> {
        self.change_ratios_transposed(sums);
        let [nz, lines, planes] = medium.n;
        let of_plane = nz * lines;
        let mut changes: Vec<T> = bytemuck::zeroed_vec(parameters.count() * medium.cells);
        let mut by_plane: Vec<Vec<&mut [T]>> = (0..planes).map(|_| Vec::new()).collect();
        for (k, to) in changes.chunks_exact_mut(of_plane).enumerate() {
            by_plane[k % planes].push(to);
        }
        let count = places(self.ndim()).len();
        let from = &*sums;
        let room = || PlaneSums {
            all: vec![0.0; (count + 1) * of_plane],
            part: vec![0.0; count * of_plane],
        };
        let one = |room: &mut PlaneSums, (plane, mut to): (usize, Vec<&mut [T]>)| {
            self.gather_plane(medium, (plane, parameters.isotropic()), from, room);
            parameters.transposed(plane * of_plane, &room.all, &mut to);
        };
        by_plane.into_par_iter().enumerate().for_each_init(room, one);
        // The next sums do not overwrite these entries if normal stiffnesses or couplings are summed in one place.
        self.each_ratio(|_, [coupling, normal], _| {
            sums.stiffness[coupling] = T::of(0.0);
            sums.stiffness[normal] = T::of(0.0);
        });
        changes
    }

    /// Sums all contributions to the cells of a plane of the model. Sums for parameters of an isotropic medium are
    /// `grouped` as in [`Discrete::is_summed`].
    fn gather_plane(
        &self,
        medium: &Background,
        (plane, grouped): (usize, bool),
        sums: &Changes<T>,
        room: &mut PlaneSums,
    ) {
        let (ndim, len, dt) = (self.ndim(), self.rows.len, self.setup.dt);
        let (corners, count, of_plane) = (
            self.corners(medium),
            places(ndim).len(),
            medium.n[0] * medium.n[1],
        );
        room.all.fill(0.0);
        for (part, from) in [&sums.stiffness, &sums.relaxing].into_iter().enumerate() {
            if from.is_empty() {
                continue;
            }
            room.part.fill(0.0);
            for (k, &place) in places(ndim).iter().enumerate() {
                // The surface contributes to the sums of all places.
                if grouped && self.ratios.is_empty() && !Self::is_summed(ndim, k) {
                    continue;
                }
                let (from, to) = (
                    &from[k * len..][..len],
                    &mut room.part[k * of_plane..][..of_plane],
                );
                if place < 6 {
                    corners.gather(plane, [0; 3], to, |at, _| dt * from[at].f64());
                    continue;
                }
                let shears = medium.shears_of(ndim, part, place);
                let c = self.stiffness_of(part, place);
                for beyond in corners_of(place) {
                    corners.gather(plane, beyond, to, |at, cell| {
                        by_corner(c[at].f64(), shears[cell], dt) * from[at].f64()
                    });
                }
            }
            let to = &mut room.all[..count * of_plane];
            medium.join(ndim, part, plane * of_plane, (&room.part, to));
        }
        let density = &mut room.all[count * of_plane..];
        for &axis in self.rows.axes() {
            let component = velocity(ndim, axis);
            let b = self.setup.medium.buoyancy(component);
            let from = &sums.buoyancy[component * len..][..len];
            for beyond in [[0; 3], one(axis)] {
                corners.gather(plane, beyond, density, |at, _| {
                    -b[at].f64().powi(2) / (2.0 * dt) * from[at].f64()
                });
            }
        }
    }

    /// Whether the entry with index `number` holds a sum if normal stiffnesses are summed in the place of the first
    /// normal stiffness, and couplings in the place of the first coupling.
    pub fn is_summed(ndim: usize, number: usize) -> bool {
        let place = places(ndim)[number];
        place == 0 || place >= 6 || place == places(ndim)[ndim]
    }

    fn stiffness_of(&self, part: usize, place: usize) -> &[T] {
        match (&self.setup.relaxation, part) {
            (Some(relaxing), 1) => relaxing.stiffness(place),
            _ => self.setup.medium.stiffness(place),
        }
    }

    /// Visits the nodes of the surface by horizontal axis with their index in the ratios, the indices of the coupling
    /// and of `c_zz` in the stiffnesses, and `c_zz`.
    fn each_ratio(&self, mut visit: impl FnMut(usize, [usize; 2], T)) {
        let (rows, ndim) = (&self.rows, self.ndim());
        for (k, &axis) in rows.horizontal().iter().enumerate().take(self.ratios.len()) {
            let coupling = super::program::place(ndim, PAIR[0][axis]) * rows.len;
            for plane in self.known() {
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

    fn change_ratios_transposed(&self, sums: &mut Changes<T>) {
        let ratios = self.ratios.concat();
        self.each_ratio(|number, [coupling, normal], c| {
            let share = sums.ratios[number] / c;
            sums.stiffness[coupling] += share;
            let normal = &mut sums.stiffness[normal];
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
