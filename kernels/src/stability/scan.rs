//! One pass over all cells of a model.

use super::gate::{FLUID, Gate, LANES, LOOK, NOT_HTI, NOT_ORTHORHOMBIC, NOT_VTI};
use super::{
    WEIGHTS, christoffel, christoffel_2d, largest_rate, largest_rate_of_any, largest_symbol, slow_and_fast,
    slow_and_fast_of_any,
};
use crate::medium::{Coefficients, Fault, Stiffness, Symmetry, rotate, triclinic};

/// Largest number of values of a cell: 21 coefficients and density.
const NUMBERS: usize = 22;

/// A cell that is not a stable elastic medium.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{fault} ({values})")]
pub struct BadCell {
    /// Index of the cell in file order (z fastest).
    pub cell: usize,
    /// The reason.
    pub fault: Fault,
    /// All values of the cell as `name = value, ...`.
    pub values: String,
}

/// Extremes over all cells of a model without bad cells. Units follow the model: speeds are sqrt(stiffness / density).
#[derive(Clone, Debug, PartialEq)]
pub struct Extremes {
    /// The largest stable time step; infinite if there are no cells.
    pub dt_max: f64,
    /// The cell that sets it (index in file order).
    pub dt_cell: usize,
    /// Speed of the slowest wave along the axes and at 45 degrees between them; shear waves of fluids do not count.
    pub slowest: f64,
    /// The cell of the slowest wave.
    pub slowest_cell: usize,
    /// Speed of the fastest wave in the same directions.
    pub fastest: f64,
    /// The cell of the fastest wave.
    pub fastest_cell: usize,
    /// Number of cells without shear stiffness.
    pub fluids: usize,
    /// The narrowest symmetry class that contains all cells.
    pub symmetry: Symmetry,
}

impl Extremes {
    /// Combines the extremes with the extremes of other cells of the same model; if values are equal, the first cell
    /// counts.
    pub fn merge(&mut self, other: &Self) {
        let lower = |a: f64, i: usize, b: f64, j: usize| b < a || (b == a && j < i);
        if lower(self.dt_max, self.dt_cell, other.dt_max, other.dt_cell) {
            (self.dt_max, self.dt_cell) = (other.dt_max, other.dt_cell);
        }
        if lower(self.slowest, self.slowest_cell, other.slowest, other.slowest_cell) {
            (self.slowest, self.slowest_cell) = (other.slowest, other.slowest_cell);
        }
        if lower(
            -self.fastest,
            self.fastest_cell,
            -other.fastest,
            other.fastest_cell,
        ) {
            (self.fastest, self.fastest_cell) = (other.fastest, other.fastest_cell);
        }
        self.fluids += other.fluids;
        self.symmetry = self.symmetry.joined(other.symmetry);
    }
}

/// A value and the first cell that has it.
#[derive(Clone, Copy, Debug)]
struct Peak {
    value: f64,
    cell: usize,
}

impl Peak {
    /// Takes the other value when `wins(other, own)`, or the smaller cell number when they are equal.
    fn take(&mut self, other: Peak, wins: fn(&f64, &f64) -> bool) -> bool {
        let better = wins(&other.value, &self.value) || (other.value == self.value && other.cell < self.cell);
        if better {
            *self = other;
        }
        better
    }
}

/// A pass in progress. Rows may be distributed over several scans (one per thread) that are then merged; the result
/// does not depend on the distribution, provided that each scan receives its rows in ascending order.
#[derive(Clone, Debug)]
pub struct Scan {
    ndim: usize,
    /// Wave vector of the corner (x, y, z), scaled by the smallest spacing.
    k: [f64; 3],
    smallest_spacing: f64,
    gate: Gate,
    rate: Peak,
    slow: Peak,
    fast: Peak,
    bad: Option<BadCell>,
    fluids: usize,
    classes: u32,
    /// The last cell checked in float64; in homogeneous regions the same cell follows.
    last: [f32; NUMBERS],
}

impl Scan {
    /// Begins a pass over a model of `ndim` 2 (x-z) or 3 dimensions with the grid `spacings` `[dz, dx, dy]` (dy is
    /// ignored in 2-D).
    pub fn new(ndim: usize, spacings: [f64; 3]) -> Self {
        assert!(
            ndim == 2 || ndim == 3,
            "a model has 2 or 3 dimensions, not {ndim}"
        );
        let [dz, dx, dy] = spacings.map(f64::abs);
        let smallest_spacing = if ndim == 2 { dz.min(dx) } else { dz.min(dx).min(dy) };
        let ky = if ndim == 2 { 0.0 } else { smallest_spacing / dy };
        let k = [smallest_spacing / dx, ky, smallest_spacing / dz];
        Self {
            ndim,
            k,
            smallest_spacing,
            gate: Gate::open(k),
            rate: Peak {
                value: 0.0,
                cell: usize::MAX,
            },
            slow: Peak {
                value: f64::INFINITY,
                cell: usize::MAX,
            },
            fast: Peak {
                value: 0.0,
                cell: usize::MAX,
            },
            bad: None,
            fluids: 0,
            classes: 0,
            last: [f32::NAN; NUMBERS],
        }
    }

    /// Checks cells from `first_cell` on, in file order. `c` holds their coefficients in memory order (four or six
    /// arrays in 2-D, nine or 21 in 3-D), each as long as `rho`, which need not be as long as a row of the grid.
    ///
    /// # Panics
    /// Panics if the number of arrays is different or their lengths disagree.
    pub fn rows(&mut self, c: &[&[f32]], rho: &[f32], first_cell: usize) {
        let plane = |i: usize| if i < c.len() { c[i] } else { rho };
        let kind = Coefficients::of_count(self.ndim, c.len());
        assert!(
            c.iter().all(|p| p.len() == rho.len()),
            "planes and density of different lengths"
        );
        let arch = pulp::Arch::new();
        match (self.ndim, kind) {
            (2, Some(Coefficients::Orthorhombic)) => {
                let planes: [&[f32]; 5] = std::array::from_fn(plane);
                arch.dispatch(|| self.sweep(&planes, first_cell, Gate::flags_2d));
            }
            (2, Some(Coefficients::All)) => {
                let planes: [&[f32]; 7] = std::array::from_fn(plane);
                arch.dispatch(|| self.sweep(&planes, first_cell, Gate::flags_2d_of_any));
            }
            (_, Some(Coefficients::Orthorhombic)) => {
                let planes: [&[f32]; 10] = std::array::from_fn(plane);
                arch.dispatch(|| self.sweep(&planes, first_cell, Gate::flags_3d));
            }
            (_, Some(Coefficients::All)) => {
                let planes: [&[f32]; NUMBERS] = std::array::from_fn(plane);
                arch.dispatch(|| self.sweep(&planes, first_cell, Gate::flags_3d_of_any));
            }
            (ndim, None) => panic!("{} planes of a {ndim}-D model", c.len()),
        }
    }

    #[inline(always)]
    fn sweep<const P: usize>(
        &mut self,
        planes: &[&[f32]; P],
        first_cell: usize,
        flags: impl Fn(&Gate, &[&[f32; LANES]; P]) -> [u32; LANES],
    ) {
        let split = planes.map(|p| p.as_chunks::<LANES>());
        let whole = split[0].0.len();
        for i in 0..whole {
            let chunk: [&[f32; LANES]; P] = std::array::from_fn(|p| &split[p].0[i]);
            let flagged = flags(&self.gate, &chunk);
            self.absorb(&flagged, &chunk, first_cell + i * LANES);
        }
        let rest = split[0].1.len();
        if rest > 0 {
            let padded = split.map(|(_, tail)| std::array::from_fn(|l| tail[l.min(rest - 1)]));
            let chunk = std::array::from_fn(|p| &padded[p]);
            let flagged = flags(&self.gate, &chunk);
            self.absorb(&flagged[..rest], &chunk, first_cell + whole * LANES);
        }
    }

    #[inline(always)]
    fn absorb<const P: usize>(&mut self, flags: &[u32], chunk: &[&[f32; LANES]; P], first_cell: usize) {
        let any = flags.iter().fold(0, |a, f| a | f);
        self.classes |= any & (NOT_VTI | NOT_HTI | NOT_ORTHORHOMBIC);
        if any & FLUID != 0 {
            self.fluids += flags.iter().filter(|&f| f & FLUID != 0).count();
        }
        if any & LOOK != 0 {
            for (l, _) in flags.iter().enumerate().filter(|(_, f)| **f & LOOK != 0) {
                let mut values = [0.0; NUMBERS];
                values[..P].copy_from_slice(&chunk.map(|p| p[l]));
                if values != self.last {
                    self.judge(values, P - 1, first_cell + l);
                }
            }
        }
    }

    /// Checks one cell of `count` coefficients in float64.
    #[inline(never)]
    fn judge(&mut self, values: [f32; NUMBERS], count: usize, cell: usize) {
        self.last = values;
        let wide = values.map(f64::from);
        let (c, rho) = (&wide[..count], wide[count]);
        // The shorter formulas give the same result if the other coefficients are zero.
        let plain = triclinic::is_orthorhombic(self.ndim, c);
        let s = if self.ndim == 2 {
            Stiffness::from_planes_2d(std::array::from_fn(|i| c[i]))
        } else {
            Stiffness::from_planes(std::array::from_fn(|i| c[i]))
        };
        let fault = density_fault(rho).or_else(|| match plain {
            true => s.fault(self.ndim),
            false => triclinic::fault(self.ndim, c),
        });
        if let Some(fault) = fault {
            if self.bad.as_ref().is_none_or(|b| cell < b.cell) {
                self.bad = Some(BadCell {
                    cell,
                    fault,
                    values: listed(self.ndim, c, rho),
                });
            }
            return;
        }
        let full = rotate::matrix(self.ndim, c);
        let ((slow, fast), rate) = match plain {
            true => (slow_and_fast(&s, self.ndim), largest_rate(&s, self.k, self.ndim)),
            false => (
                slow_and_fast_of_any(&full, self.ndim),
                largest_rate_of_any(&full, self.k, self.ndim),
            ),
        };
        let rate = rate / rho;
        self.slow.take(
            Peak {
                value: slow / rho,
                cell,
            },
            f64::lt,
        );
        self.fast.take(
            Peak {
                value: fast / rho,
                cell,
            },
            f64::gt,
        );
        if self.rate.take(Peak { value: rate, cell }, f64::gt) && plain {
            self.gate.weigh(self.k, self.dominant(&s));
        }
        self.gate.close(self.rate.value, self.slow.value, self.fast.value);
    }

    /// The dominant eigenvector of the Christoffel matrix with absolute values as entries; its components are kept
    /// away from zero.
    fn dominant(&self, s: &Stiffness) -> [f64; 3] {
        let g = if self.ndim == 2 {
            let [xx, zz, xz] = christoffel_2d(s, self.k);
            [[xx, 0.0, xz], [0.0, 0.0, 0.0], [xz, 0.0, zz]]
        } else {
            christoffel(s, self.k)
        };
        let mut w = self.k;
        for _ in 0..24 {
            let next: [f64; 3] = std::array::from_fn(|i| (0..3).map(|j| g[i][j].abs() * w[j]).sum());
            let top = next.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            w = next.map(|v| (v / top).max(1e-3));
        }
        w
    }

    /// Begins a pass over later cells with the extremes found so far, so that cells within these extremes need no
    /// check in float64.
    pub(crate) fn heir(&self) -> Self {
        Self {
            bad: None,
            fluids: 0,
            classes: 0,
            ..self.clone()
        }
    }

    /// Adds the results of a pass over other cells of the same model.
    pub fn merge(&mut self, other: &Self) {
        if self.rate.take(other.rate, f64::gt) {
            self.gate = other.gate.clone();
        }
        self.slow.take(other.slow, f64::lt);
        self.fast.take(other.fast, f64::gt);
        self.fluids += other.fluids;
        self.classes |= other.classes;
        let earlier = |b: &&BadCell| self.bad.as_ref().is_none_or(|own| b.cell < own.cell);
        if let Some(bad) = other.bad.as_ref().filter(earlier) {
            self.bad = Some(bad.clone());
        }
        self.gate.close(self.rate.value, self.slow.value, self.fast.value);
    }

    /// Ends the pass and returns the extremes over all of its cells.
    ///
    /// # Errors
    /// Returns an error for the first cell (in file order) with a value that is not finite, without a positive density,
    /// or with an indefinite stiffness.
    pub fn finish(self) -> Result<Extremes, BadCell> {
        if let Some(bad) = self.bad {
            return Err(bad);
        }
        let rate = self.rate.value.sqrt() * largest_symbol(&WEIGHTS) / self.smallest_spacing;
        let symmetry = match (self.classes & NOT_VTI != 0, self.classes & NOT_HTI != 0) {
            _ if self.classes & NOT_ORTHORHOMBIC != 0 => Symmetry::Triclinic,
            (false, false) => Symmetry::Isotropic,
            (false, true) => Symmetry::Vti,
            (true, false) => Symmetry::Hti,
            (true, true) => Symmetry::Orthorhombic,
        };
        Ok(Extremes {
            dt_max: 2.0 / rate,
            dt_cell: self.rate.cell,
            slowest: self.slow.value.sqrt(),
            slowest_cell: self.slow.cell,
            fastest: self.fast.value.sqrt(),
            fastest_cell: self.fast.cell,
            fluids: self.fluids,
            symmetry,
        })
    }
}

fn density_fault(rho: f64) -> Option<Fault> {
    if !rho.is_finite() {
        Some(Fault::NotFinite {
            name: "the density",
            value: rho,
        })
    } else if rho <= 0.0 {
        Some(Fault::Density(rho))
    } else {
        None
    }
}

/// `c11 = 1, ..., density = 2`.
fn listed(ndim: usize, c: &[f64], rho: f64) -> String {
    let names = Coefficients::All.table(ndim).names.iter();
    let named = names.zip(c).chain([(&"density", &rho)]);
    named
        .map(|(n, v)| format!("{n} = {}", *v as f32))
        .collect::<Vec<_>>()
        .join(", ")
}
