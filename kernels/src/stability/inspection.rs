//! The inspection of every cell of a model while it is read: stability limit, speeds, symmetry, bad cells, density
//! jumps.

use super::{BadCell, Extremes, Scan};
use crate::device::cpu::Cpu;
use crate::grid::Padded;
use crate::medium::{Coefficients, Symmetry, lines_of_plane};
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of all arrays together that a thread fills and inspects at a time, so that they stay in its cache.
const PIECE_BYTES: usize = 1 << 19;

/// Properties of a model without bad cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Limits and symmetry class over all cells.
    pub extremes: Extremes,
    /// The largest ratio of the densities of two neighbouring cells.
    pub density_jump: f32,
    /// The smallest and the largest density.
    pub densities: [f32; 2],
}

/// An inspection in progress of a model that is read in blocks of whole `z` lines, in file order.
///
/// The findings depend neither on the blocks nor on the number of threads.
pub struct Inspection {
    nz: usize,
    /// Number of arrays: stiffness coefficients and density.
    arrays: usize,
    /// Number of lines in a plane, which is the distance in lines of neighbours along the slowest axis.
    rows: usize,
    /// The first line of the inspected part.
    begin: usize,
    /// Lines whose cells are checked; the others serve only for the comparison of densities.
    judged: Range<usize>,
    /// The next line.
    done: usize,
    scan: Scan,
    jump: f32,
    /// The smallest and the largest density so far.
    densities: [f32; 2],
    /// Densities of the last line read of every row.
    behind: Vec<f32>,
}

impl Findings {
    /// Length of the result of [`Findings::to_words`].
    pub const WORDS: usize = 10;

    /// Combines the findings with the findings for other cells of the same model.
    pub fn merge(&mut self, other: &Self) {
        self.extremes.merge(&other.extremes);
        self.density_jump = self.density_jump.max(other.density_jump);
        self.densities = wider(self.densities, other.densities);
    }

    /// Encodes the findings for another process.
    pub fn to_words(&self) -> [u64; Self::WORDS] {
        let e = &self.extremes;
        [
            e.dt_max.to_bits(),
            e.dt_cell as u64,
            e.slowest.to_bits(),
            e.slowest_cell as u64,
            e.fastest.to_bits(),
            e.fastest_cell as u64,
            e.fluids as u64,
            Symmetry::ALL.iter().position(|s| *s == e.symmetry).unwrap_or(0) as u64,
            u64::from(self.density_jump.to_bits()),
            bytemuck::cast(self.densities.map(f32::to_bits)),
        ]
    }

    /// Decodes the result of [`Findings::to_words`]; `None` for other numbers.
    pub fn from_words(words: &[u64; Self::WORDS]) -> Option<Self> {
        let [
            dt,
            dt_cell,
            slow,
            slow_cell,
            fast,
            fast_cell,
            fluids,
            class,
            jump,
            densities,
        ] = *words;
        Some(Self {
            extremes: Extremes {
                dt_max: f64::from_bits(dt),
                dt_cell: dt_cell as usize,
                slowest: f64::from_bits(slow),
                slowest_cell: slow_cell as usize,
                fastest: f64::from_bits(fast),
                fastest_cell: fast_cell as usize,
                fluids: fluids as usize,
                symmetry: *Symmetry::ALL.get(class as usize)?,
            },
            density_jump: f32::from_bits(u32::try_from(jump).ok()?),
            densities: bytemuck::cast::<u64, [u32; 2]>(densities).map(f32::from_bits),
        })
    }
}

impl Inspection {
    /// Begins the inspection of a whole model with these coefficients.
    pub fn new(padded: &Padded, kind: Coefficients) -> Self {
        let lines = padded.model.cells() / padded.model.n[0];
        Self::part(padded, kind, 0, 0..lines)
    }

    /// Begins the inspection of a part of a model, from line `begin` on, which must be the first of a plane. Only
    /// cells of the lines `judged` are checked, so that the findings of overlapping parts can be merged.
    pub fn part(padded: &Padded, kind: Coefficients, begin: usize, judged: Range<usize>) -> Self {
        let (model, ndim) = (&padded.model, padded.ndim());
        let rows = lines_of_plane(padded);
        assert_eq!(begin % rows, 0, "the first line of a plane");
        Self {
            nz: model.n[0],
            arrays: kind.count(ndim) + 1,
            rows,
            begin,
            judged,
            done: begin,
            scan: Scan::new(ndim, model.d.map(f64::from)),
            jump: 1.0,
            densities: NONE,
            behind: vec![0.0; rows * model.n[0]],
        }
    }

    /// Fills the next block and inspects it. `values` is `[array][line][z of the model]`; the arrays are the stiffness
    /// coefficients in memory order, then density. `load(array, first line, to)` fills whole lines of one array;
    /// threads call it for pieces that they inspect while the values are still in their caches. Lines are counted
    /// from the model's first (`x + nx*y`).
    ///
    /// # Errors
    /// Returns the error of `load`.
    ///
    /// # Panics
    /// Panics if `values` does not hold whole lines of all arrays.
    pub fn block<E: Send>(
        &mut self,
        cpu: &Cpu,
        values: &mut [f32],
        load: impl Fn(usize, usize, &mut [f32]) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let (nz, first) = (self.nz, self.done);
        assert_eq!(values.len() % (nz * self.arrays), 0, "whole lines of all arrays");
        if values.is_empty() {
            return Ok(());
        }
        let len = values.len() / self.arrays;
        let step = (PIECE_BYTES / (4 * nz * self.arrays)).max(1);
        let look = |(piece, mut arrays): (usize, Vec<&mut [f32]>)| {
            let line = first + piece * step;
            for (array, to) in arrays.iter_mut().enumerate() {
                load(array, line, to)?;
            }
            let mut scan = self.scan.heir();
            let lines = arrays[0].len() / nz;
            let cut = |l: usize| l.clamp(line, line + lines) - line;
            let judged = cut(self.judged.start) * nz..cut(self.judged.end) * nz;
            if !judged.is_empty() {
                let planes: Vec<&[f32]> = arrays.iter().map(|a| &a[judged.clone()]).collect();
                let (density, stiffness) = planes.split_last().expect("density is there");
                scan.rows(stiffness, density, line * nz + judged.start);
            }
            Ok(scan)
        };
        let pieces = pieces(values, len, step * nz);
        let scans: Vec<Scan> = cpu.install(|| {
            let pieces = pieces.into_par_iter().enumerate().with_max_len(1);
            pieces.map(look).collect::<Result<_, E>>()
        })?;
        scans.iter().for_each(|scan| self.scan.merge(scan));
        self.compare(cpu, &values[(self.arrays - 1) * len..]);
        self.done += len / nz;
        Ok(())
    }

    /// Compares the density of every cell of a block with the density of the preceding neighbour along each axis.
    fn compare(&mut self, cpu: &Cpu, density: &[f32]) {
        let (nz, rows, first) = (self.nz, self.rows, self.done);
        let step = (PIECE_BYTES / (4 * nz)).max(1);
        let (count, behind) = (density.len() / nz, &self.behind);
        // The line is in this block, or it is the last line of its row from earlier blocks.
        let line = |l: usize| match l.checked_sub(first) {
            Some(here) => &density[here * nz..][..nz],
            None => &behind[l % rows * nz..][..nz],
        };
        let most = |start: usize| {
            let (mut most, mut densities) = (1.0f32, NONE);
            for l in first + start..first + (start + step).min(count) {
                let here = line(l);
                densities = here.iter().fold(densities, |all, &rho| wider(all, [rho; 2]));
                most = most.max(largest_ratio(&here[1..], &here[..nz - 1]));
                if l % rows > 0 {
                    most = most.max(largest_ratio(here, line(l - 1)));
                }
                if l >= self.begin + rows {
                    most = most.max(largest_ratio(here, line(l - rows)));
                }
            }
            (most, densities)
        };
        let (jump, densities) = cpu.install(|| {
            let starts = (0..count.div_ceil(step)).into_par_iter();
            let both = |a: (f32, [f32; 2]), b: (f32, [f32; 2])| (a.0.max(b.0), wider(a.1, b.1));
            starts
                .map(|piece| most(piece * step))
                .reduce(|| (1.0, NONE), both)
        });
        self.jump = self.jump.max(jump);
        self.densities = wider(self.densities, densities);
        let end = first + count;
        let keep = |(row, kept): (usize, &mut [f32])| {
            let last = (end - 1).checked_sub((end - 1 + rows - row) % rows);
            if let Some(here) = last.and_then(|l| l.checked_sub(first)) {
                kept.copy_from_slice(&density[here * nz..][..nz]);
            }
        };
        let kept = self.behind.par_chunks_mut(nz).enumerate();
        cpu.install(|| kept.with_min_len(step).for_each(keep));
    }

    /// Ends the inspection and returns the findings.
    ///
    /// # Errors
    /// Returns an error for the first cell (in file order) that is not a stable elastic medium.
    pub fn finish(self) -> Result<Findings, BadCell> {
        Ok(Findings {
            extremes: self.scan.finish()?,
            density_jump: self.jump,
            densities: self.densities,
        })
    }
}

/// The neutral element of [`wider`].
const NONE: [f32; 2] = [f32::INFINITY, 0.0];

/// The smallest and the largest density of two sets of cells, from the extremes of each set.
fn wider(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// Divides consecutive arrays of `len` values into pieces that have `step` values of every array.
fn pieces(values: &mut [f32], len: usize, step: usize) -> Vec<Vec<&mut [f32]>> {
    let mut pieces: Vec<Vec<&mut [f32]>> = Vec::new();
    pieces.resize_with(len.div_ceil(step), Vec::new);
    for array in values.chunks_mut(len) {
        for (piece, part) in pieces.iter_mut().zip(array.chunks_mut(step)) {
            piece.push(part);
        }
    }
    pieces
}

/// The largest ratio, larger over smaller, of numbers at the same index.
fn largest_ratio(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let ratio = |a: f32, b: f32| if a > b { a / b } else { b / a };
    pulp::Arch::new().dispatch(|| {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut most = [1.0f32; LANES];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                let r = ratio(a[lane], b[lane]);
                most[lane] = if r > most[lane] { r } else { most[lane] };
            }
        }
        let rest = a_rest.iter().zip(b_rest).map(|(&a, &b)| ratio(a, b));
        rest.chain(most).fold(1.0, f32::max)
    })
}

#[cfg(test)]
mod tests;
